//! The types of numbers that are summed exactly, and the sums of few of them.
//!
//! # Why few numbers are rounded right
//!
//! [`Partial`] adds numbers by Knuth's two-sum, whose error is a number again: `sum + rest` is the sum so far, except
//! that `rest` is itself a sum of errors, whose own errors have the absolute sum `E`. That holds for any numbers as
//! long as no operation overflows; additions never underflow. `lost` is `E` as added in floating point, which is more
//! than `E / 2` for fewer than `2^52` numbers. So the exact sum `S` is between `sum + (rest - 2 lost)` and `sum + (rest
//! + 2 lost)`.
//!
//! - *Nothing lost* (`lost = 0`): `S = sum + rest`, and the one addition of the two rounds it once.
//! - *Otherwise* both ends of `rest ± 2 lost` are moved to the next number outwards, which makes up for their own
//!   rounding. Rounding is monotonic, so if `sum` plus either end gives the same number, `S` gives it, too.
//! - *Neither*: the two differ, or something was not finite. Then the numbers are added by an accumulator
//!   ([`Wide`](super::wide::Wide)). An overflow or a NaN anywhere ends here: it makes the result infinite or a NaN.
//! - *Zeros*: `sum` is `-0` if all numbers are, and only then, since `x + y` is `-0` only for two of them. A sum that
//!   is 0 otherwise is found as the addition of two numbers that cancel, which gives `+0`.
//!
//! For `f32` all of this is done in `f64`. The result is then rounded a second time, so it is taken only if `S` is one
//! `f64`, or if both ends, moved outwards once more, give the same `f32`.
//!
//! Sources: Knuth, *The Art of Computer Programming* 2, section 4.2.2, theorem B; Ogita, Rump and Oishi, *Accurate Sum
//! and Dot Product*, 2005, for the sum of the errors; Ziv 1991 for the test whether both ends round to one number.

use super::wide::{Merges, NumberParts, Value, Wide};
use crate::op::Element;

/// What is known of the sum of some numbers.
#[derive(Clone, Copy)]
pub(crate) struct Partial {
    /// The sum, rounded after each addition.
    pub(super) sum: f64,
    /// The sum of the errors of these additions, rounded after each.
    pub(super) rest: f64,
    /// The sum of the absolute errors of those.
    pub(super) lost: f64,
}

/// The sum of two numbers, rounded, and its error.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

impl Partial {
    /// The sum of two numbers.
    #[inline(always)]
    pub(crate) fn of_two(x: f64, y: f64) -> Partial {
        let (sum, rest) = two_sum(x, y);
        Partial {
            sum,
            rest,
            lost: 0.0,
        }
    }

    #[inline(always)]
    pub(crate) fn plus(self, x: f64) -> Partial {
        let (sum, error) = two_sum(self.sum, x);
        let (rest, lost) = two_sum(self.rest, error);
        let lost = self.lost + lost.abs();
        Partial { sum, rest, lost }
    }

    /// Numbers between which the part of the sum besides `sum` is, inclusive.
    #[inline(always)]
    fn rest_between(self) -> (f64, f64) {
        let (low, high) = (self.rest - 2.0 * self.lost, self.rest + 2.0 * self.lost);
        match self.lost == 0.0 {
            true => (self.rest, self.rest),
            false => (low.next_down(), high.next_up()),
        }
    }

    #[inline(always)]
    fn is_one_number(self) -> bool {
        self.rest == 0.0 && self.lost == 0.0
    }
}

/// A type of numbers of which [`SumExact`](crate::op::SumExact) forms sums.
pub(crate) trait Summand: Element {
    /// Its accumulators.
    type Wide: Merges;
    const EMPTY: Self::Wide;
    /// A NaN.
    const UNKNOWN: Self;

    fn add_to(self, wide: &mut Self::Wide);

    fn value_of(wide: &Self::Wide) -> Self;

    fn widened(self) -> f64;

    /// A sum, rounded once; wrong if `false` is beside it.
    fn nearest(partial: Partial) -> (Self, bool);

    fn is_unknown(self) -> bool;

    /// The same number; of all NaNs the one that every sum yields.
    fn canonical(self) -> Self;

    /// An accumulator of one number.
    #[inline]
    fn lifted(self) -> Self::Wide {
        let mut wide = Self::EMPTY;
        self.add_to(&mut wide);
        wide
    }

    /// The sum of numbers, of which there is one at least, by an accumulator.
    #[cold]
    fn sum_of(numbers: impl Iterator<Item = Self>) -> Self {
        let mut wide = Self::EMPTY;
        numbers.for_each(|x| x.add_to(&mut wide));
        Self::value_of(&wide)
    }
}

macro_rules! summand {
    ($t:ty: $bits:ty, $limbs:literal limbs, $between:expr) => {
        impl Summand for $t {
            type Wide = Wide<$limbs>;
            const EMPTY: Wide<$limbs> = Wide::ZERO;
            const UNKNOWN: $t = <$t>::NAN;

            #[inline]
            fn add_to(self, wide: &mut Wide<$limbs>) {
                let bits = self.to_bits();
                wide.add(NumberParts::of(
                    bits.into(),
                    <$t>::MANTISSA_DIGITS - 1,
                    <$bits>::BITS,
                ));
            }

            fn value_of(wide: &Wide<$limbs>) -> $t {
                let infinite = <$t>::INFINITY.to_bits().into();
                match wide.round(<$t>::MANTISSA_DIGITS - 1, infinite) {
                    Value::Nan => <$t>::NAN,
                    Value::Bits(minus, size) => {
                        let size = <$t>::from_bits(size as $bits);
                        if minus { -size } else { size }
                    }
                }
            }

            #[inline(always)]
            fn widened(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn nearest(partial: Partial) -> ($t, bool) {
                let between: fn(Partial) -> ($t, $t) = $between;
                let (low, high) = between(partial);
                let all_minus_zero = partial.sum.to_bits() == (-0.0f64).to_bits();
                let value = if all_minus_zero { -0.0 } else { low };
                (value, low.to_bits() == high.to_bits() && low.is_finite())
            }

            #[inline(always)]
            fn is_unknown(self) -> bool {
                self.is_nan()
            }

            #[inline(always)]
            fn canonical(self) -> $t {
                if self.is_nan() { Self::UNKNOWN } else { self }
            }
        }
    };
}

summand!(f64: u64, 34 limbs, |partial| {
    let (low, high) = partial.rest_between();
    (partial.sum + low, partial.sum + high)
});
summand!(f32: u32, 5 limbs, |partial| {
    let (low, high) = partial.rest_between();
    let (low, high) = ((partial.sum + low).next_down(), (partial.sum + high).next_up());
    match partial.is_one_number() {
        true => (partial.sum as f32, partial.sum as f32),
        false => (low as f32, high as f32),
    }
});
