//! Sums of many numbers, one for each sign and exponent: two additions to memory for each number.
//!
//! Numbers of one sign and exponent are multiples of the same unit, below `2^53` of them each. The low 32 bits and the others
//! are summed apart, so `2^31` numbers fit into 64 bits, and only then their sums are added to the digits. (Neal 2015,
//! section 3, whose counts of numbers are not needed here: the leading bit of a number is added with it.)

use super::digits::{Digits, HIDDEN, MANTISSA};

/// The number of numbers after which the sums must be added to the digits.
const MOST: usize = 1 << 31;
/// The bits of a number in the first of two sums.
const LOW: u64 = u32::MAX as u64;

const PLACES: usize = 1 << 12;
const EXPONENTS: usize = 1 << 11;
/// Places for each bit of `touched`.
const GROUP: usize = PLACES / 64;

pub(super) struct ByExponent {
    /// The sums of the low and of the high bits of the mantissas, for each sign and exponent as they stand in the bits of a
    /// number.
    sums: Box<[[u64; 2]; PLACES]>,
    /// How many numbers were added.
    added: usize,
    /// The groups of places that have been added to.
    touched: u64,
}

impl ByExponent {
    pub(super) fn new() -> ByExponent {
        ByExponent {
            sums: Box::new([[0; 2]; PLACES]),
            added: 0,
            touched: 0,
        }
    }

    /// Adds numbers; anything that is not finite counts as 0. To the digits it adds once there is no room for them.
    pub(super) fn add_all<const N: usize>(&mut self, numbers: &[f64], digits: &mut Digits<N>) {
        for some in numbers.chunks(MOST) {
            if self.added > MOST - some.len() {
                self.flush(digits);
            }
            self.added += some.len();
            some.iter().for_each(|x| self.add(*x));
        }
    }

    #[inline]
    fn add(&mut self, x: f64) {
        let bits = x.to_bits();
        let place = (bits >> 52) as usize;
        let hidden = match place % EXPONENTS {
            0 => 0,
            _ => HIDDEN,
        };
        let mantissa = bits & MANTISSA | hidden;
        let [low, high] = &mut self.sums[place];
        *low += mantissa & LOW;
        *high += mantissa >> 32;
        self.touched |= 1 << (place / GROUP);
    }

    /// Adds the sums to digits, moves their carries up, and begins anew.
    pub(super) fn flush<const N: usize>(&mut self, digits: &mut Digits<N>) {
        digits.carry();
        self.added = 0;
        while self.touched != 0 {
            let group = self.touched.trailing_zeros() as usize * GROUP;
            for place in group..group + GROUP {
                let [low, high] = std::mem::take(&mut self.sums[place]);
                let sum = u128::from(low) + (u128::from(high) << 32);
                let (exponent, minus) = (place % EXPONENTS, -((place / EXPONENTS) as i64));
                if sum != 0 && exponent != EXPONENTS - 1 {
                    let shift = exponent.saturating_sub(1) as u32;
                    digits.add_integer(sum, shift, minus);
                }
            }
            self.touched &= self.touched - 1;
        }
        digits.carry();
    }
}
