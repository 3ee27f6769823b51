//! Numbers to sum, and their exact sum in integers of any size.

use std::fmt::Debug;

use num_bigint::BigInt;
use rankfold::Rank;
use rankfold::op::Element;

use crate::support::Random;

/// A type of numbers, as its bits say it.
pub trait Number: Element + Debug + PartialEq {
    /// Bits of the fraction, and of everything.
    const FRACTION: u32;
    const BITS: u32;
    fn bits(self) -> u64;
    fn from(bits: u64) -> Self;

    fn infinite() -> u64 {
        (1 << (Self::BITS - 1)) - (1 << Self::FRACTION)
    }

    /// The number in units of the least positive one.
    fn units(bits: u64) -> BigInt {
        let size = bits & ((1 << (Self::BITS - 1)) - 1);
        let (exponent, fraction) = (size >> Self::FRACTION, size & ((1 << Self::FRACTION) - 1));
        let units = match exponent {
            0 => BigInt::from(fraction),
            _ => BigInt::from(fraction | 1 << Self::FRACTION) << (exponent - 1),
        };
        if bits == size { units } else { -units }
    }
}

impl Number for f64 {
    const FRACTION: u32 = 52;
    const BITS: u32 = 64;
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn from(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
}

impl Number for f32 {
    const FRACTION: u32 = 23;
    const BITS: u32 = 32;
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
    fn from(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
}

fn sign<T: Number>() -> u64 {
    1 << (T::BITS - 1)
}

/// The bits of the one NaN that sums yield.
pub fn nan<T: Number>() -> u64 {
    T::infinite() | 1 << (T::FRACTION - 1)
}

/// The bits of the sum of some numbers, rounded to nearest, ties to even.
pub fn oracle<T: Number>(numbers: &[T]) -> u64 {
    let has = |what: &dyn Fn(u64) -> bool| numbers.iter().any(|x| what(x.bits()));
    let infinite = T::infinite();
    let (plus, minus) = (
        has(&|x| x == infinite),
        has(&|x| x == infinite | sign::<T>()),
    );
    if has(&|x| x & !sign::<T>() > infinite) || plus && minus {
        return nan::<T>();
    }
    if plus || minus {
        return infinite | u64::from(minus) << (T::BITS - 1);
    }
    if !has(&|x| x != sign::<T>()) {
        return sign::<T>();
    }
    rounded::<T>(numbers.iter().map(|x| T::units(x.bits())).sum())
}

/// The nearest number, found by halving the range of bit patterns.
fn rounded<T: Number>(units: BigInt) -> u64 {
    let minus = units < BigInt::from(0);
    let size = if minus { -units } else { units };
    let (mut low, mut high) = (0, T::infinite());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match T::units(middle) <= size {
            true => low = middle,
            false => high = middle,
        }
    }
    // Infinity counts as the next number after the greatest.
    let [down, up] = [&size - T::units(low), T::units(high) - &size];
    let nearest = match down.cmp(&up) {
        std::cmp::Ordering::Less => low,
        std::cmp::Ordering::Greater => high,
        std::cmp::Ordering::Equal => low + (low & 1),
    };
    nearest | u64::from(minus) << (T::BITS - 1)
}

/// The kinds of numbers of a position, one after the other.
const KINDS: u64 = 9;

/// The number of a rank at a position: of a kind that the position has on all ranks.
pub fn number<T: Number>(seed: u64, rank: Rank, ranks: usize, place: usize) -> T {
    let kind = place as u64 % KINDS;
    let mut random = Random::new(seed ^ (rank as u64) << 40 ^ place as u64);
    let bits = random.next() >> (64 - T::BITS);
    let (sign, one) = (sign::<T>(), T::from_parts(0));
    let fraction = bits & ((1 << T::FRACTION) - 1);
    let any = |x: u64| T::from((x % T::infinite()) | (bits & sign));
    match kind {
        // About 1, of both signs.
        0 => T::from(one.bits() | fraction | bits & sign),
        // Of any size, subnormal ones too.
        1 => any(bits),
        2 => T::from(fraction >> (bits % 40) | bits & sign),
        // What one rank adds, the next one takes away, but for the last ones.
        3 => {
            let pair = number::<T>(seed, rank / 2, ranks, KINDS as usize * (place + 1) + 1);
            T::from(pair.bits() ^ (sign * (rank as u64 % 2)))
        }
        // Ties and their neighbours: 1, half of its last place, and the least numbers.
        4 => {
            let half = T::from_parts(-(T::FRACTION as i32) - 1);
            let least = T::from((seed + place as u64) % 2 * (1 | bits & sign));
            [one, half, least, T::from(0), T::from(sign)][rank.min(3 + rank % 2)]
        }
        // Sums that overflow, or do so in between.
        5 => T::from((T::infinite() - 1 - bits % 3) | (sign * (bits >> 9 & 1))),
        // Zeros: all negative, or not.
        6 if (place / KINDS as usize).is_multiple_of(2) => T::from(sign),
        6 => T::from(bits & sign),
        // Whole numbers.
        7 => T::from(T::from_parts((bits % 20) as i32).bits() | bits << 9 & sign),
        // Infinities and NaNs of any bits, rarely.
        _ => match bits % (2 * ranks as u64) {
            0 => T::from(T::infinite() | bits & sign),
            1 => T::from(T::infinite() | fraction | 1 | bits & sign),
            _ => any(bits / 3),
        },
    }
}

trait FromParts: Number {
    /// `2^exponent`, where that is a normal number.
    fn from_parts(exponent: i32) -> Self {
        let bias = (1 << (Self::BITS - Self::FRACTION - 2)) - 1;
        Self::from(((exponent + bias) as u64) << Self::FRACTION)
    }
}
impl<T: Number> FromParts for T {}
