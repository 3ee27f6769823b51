//! Sums of many numbers, one for each sign and exponent: one addition to memory for each number.
//!
//! Numbers of one sign and exponent are multiples of the same unit, below `2^53` of them each. So `2^11` numbers fit
//! into 64 bits, and only then their sums are added to the digits. (Neal 2015, section 3, whose counts of numbers are
//! not needed here: the leading bit of a number is added with it.)

use super::digits::{Digits, HIDDEN, MANTISSA};

/// The number of numbers after which the sums must be added to the digits.
pub(super) const MOST: usize = 1 << 11;

const PLACES: usize = 1 << 12;
const EXPONENTS: usize = 1 << 11;
/// Places for each bit of `touched`.
const GROUP: usize = PLACES / 64;

pub(super) struct ByExponent {
    /// The sum of the mantissas, for each sign and exponent as they stand in the bits of a number.
    sums: Box<[u64; PLACES]>,
    /// The groups of places that have been added to.
    touched: u64,
}

impl ByExponent {
    pub(super) fn new() -> ByExponent {
        ByExponent {
            sums: Box::new([0; PLACES]),
            touched: 0,
        }
    }

    #[inline]
    pub(super) fn add(&mut self, x: f64) {
        let bits = x.to_bits();
        let place = (bits >> 52) as usize;
        let hidden = match place % EXPONENTS {
            0 => 0,
            _ => HIDDEN,
        };
        self.sums[place] += bits & MANTISSA | hidden;
        self.touched |= 1 << (place / GROUP);
    }

    /// Adds the sums to digits whose carries were moved up, moves the carries up again, and begins anew.
    pub(super) fn flush<const N: usize>(&mut self, digits: &mut Digits<N>) {
        while self.touched != 0 {
            let group = self.touched.trailing_zeros() as usize * GROUP;
            for place in group..group + GROUP {
                let sum = std::mem::take(&mut self.sums[place]);
                let (exponent, minus) = (place % EXPONENTS, -((place / EXPONENTS) as i64));
                if sum != 0 && exponent != EXPONENTS - 1 {
                    let shift = exponent.saturating_sub(1) as u32;
                    digits.add_integer(sum.into(), shift, minus);
                }
            }
            self.touched &= self.touched - 1;
        }
        digits.carry();
    }
}
