//! Exact sums of `f64` and of products of two `f64`, as elements that [`Sum`] folds.
//!
//! # Why the sums are exact
//!
//! An accumulator is a fixed-point number wide enough for every sum: its digits have 32 bits, and digit `j` counts
//! multiples of `2^(32 j - low)`, where `2^-low` is the least positive number that can be added (`2^-1074`, or its
//! square).
//!
//! - *Nothing is lost.* Every finite `f64` is an integer below `2^53` times `2^-1074` shifted left by 0 to 2045 bits. It
//!   is cut where the digits meet, and its parts are added to digits that are 64 bits wide. No part is rounded.
//! - *No digit overflows.* A part is below `2^53` in absolute value (`2^33` for products). After 1,000 additions a digit
//!   is below `2^32 + 1,000 · 2^53 < 2^63`, and then the carries are moved up: every digit but the highest becomes its
//!   residue modulo `2^32`. The highest digit takes carries alone. It weighs `2^1070` (`2^2108` for products), so it
//!   takes `2^100` numbers of the greatest absolute value to overflow it. The sums by exponent of a long slice are
//!   below `2^84` each; at most 2 · 116 of them have a part in one digit, so it stays below `2^32 + 232 · 2^33 < 2^63`.
//! - *One rounding.* The value of the digits is rounded to an `f64` once, to nearest, ties to even, as IEEE 754 defines
//!   it for one operation.
//!
//! A superaccumulator with carries moved up now and then, and not at every addition, is from Neal, *Fast Exact
//! Summation Using Small and Large Superaccumulators*, 2015, section 2; one sum for each sign and exponent is from
//! section 3. The leading parts of numbers that differ little in size are summed by `extraction`.

pub(crate) mod block;
mod by_exponent;
mod digits;
pub(crate) mod extraction;
mod sum_exact;
pub(crate) mod summand;
pub(crate) mod wide;

use std::fmt;

use super::{Operator, OperatorKind, Sum, kernels};
use by_exponent::ByExponent;
use digits::{Digits, Special};
use extraction::Survey;
pub use sum_exact::{ExactOf, SumExact};

/// The number of digits of a sum: 2,098 bits of the numbers, 64 for their count, and a sign.
const SUM: usize = 68;
/// That of a sum of products: 4,196 bits, 64 and a sign.
const DOT: usize = 134;
/// The shortest slice for which a look at all numbers pays.
const FEW: usize = 32;
/// The shortest slice for which a sum for each exponent pays: it takes memory for 4,096 of them.
const MANY: usize = 1 << 12;
/// How many parts of a slice are added by exponent after one whose numbers are of very different sizes.
const WIDE: usize = 15;

/// The exact sum of any number of `f64`: rounded once, so it has the same bits for every order of the numbers, and for
/// every number of ranks and distribution among them.
///
/// It is an element of messages and collectives, and [`Sum`] folds it. [`Comm::sum_exact`](crate::Comm::sum_exact) sums
/// the numbers of all ranks in one call.
///
/// # Special values
///
/// The value is that of the exact sum, rounded once: a NaN, or infinities of both signs, give NaN; otherwise an
/// infinity gives itself. Intermediate sums do not overflow. A sum that is zero is `+0`, except that a sum of one or
/// more numbers that are all `-0` is `-0`.
///
/// # Examples
///
/// ```
/// use rankfold::op::ExactSum;
///
/// let sum: ExactSum = [1e100, 1.0, -1e100, 1e-300].into_iter().collect();
/// assert_eq!(sum.value(), 1.0);
/// ```
#[derive(Clone, Copy)]
pub struct ExactSum {
    digits: Digits<SUM>,
    special: Special,
}

impl ExactSum {
    /// The empty sum.
    pub const fn new() -> ExactSum {
        ExactSum {
            digits: Digits::ZERO,
            special: Special::NONE,
        }
    }

    /// Adds a number.
    #[inline]
    pub fn add(&mut self, x: f64) {
        self.digits.make_room();
        self.special.meet(x);
        self.digits.add(x);
    }

    /// Adds all numbers of a slice: many of them faster than one by one.
    pub fn add_all(&mut self, numbers: &[f64]) {
        if numbers.len() < FEW {
            return numbers.iter().for_each(|x| self.add(*x));
        }
        let mut sums = None;
        // Numbers of very different sizes are mostly followed by others.
        let mut wide = 0;
        for some in numbers.chunks(extraction::MOST) {
            let survey = kernels::survey(some);
            self.special.meet_surveyed(some, &survey);
            if wide > 0 || !self.add_leading(some, &survey) {
                wide = if wide > 0 { wide - 1 } else { WIDE };
                match numbers.len() < MANY {
                    true => some.iter().for_each(|x| self.add_finite(*x)),
                    false => sums
                        .get_or_insert_with(ByExponent::new)
                        .add_all(some, &mut self.digits),
                }
            }
        }
        if let Some(sums) = &mut sums {
            sums.flush(&mut self.digits);
        }
    }

    /// Adds numbers that differ little in size. Returns whether they are such.
    fn add_leading(&mut self, numbers: &[f64], survey: &Survey) -> bool {
        let Some(mut leading) = survey.leading() else {
            return survey.is_zero();
        };
        kernels::extract(numbers, &mut leading);
        let rests = leading.rests();
        if rests > numbers.len() / 16 {
            return false;
        }
        leading
            .sums()
            .into_iter()
            .for_each(|sum| self.add_finite(sum));
        if rests > 0 {
            numbers
                .iter()
                .for_each(|x| self.add_finite(leading.rest(*x)));
        }
        true
    }

    /// Adds a number that was met; anything that is not finite counts as 0.
    fn add_finite(&mut self, x: f64) {
        if x != 0.0 {
            self.digits.make_room();
            self.digits.add(x);
        }
    }

    /// Adds what another accumulator holds.
    pub fn merge(&mut self, other: &ExactSum) {
        self.digits.merge(&other.digits);
        self.special = self.special.with(other.special);
    }

    /// The sum, rounded to nearest, ties to even.
    pub fn value(&self) -> f64 {
        self.special.or(|| self.digits.round(0))
    }
}

/// The exact sum of any number of products of two `f64`; otherwise as [`ExactSum`]. See
/// [`Comm::dot_exact`](crate::Comm::dot_exact).
///
/// # Examples
///
/// ```
/// use rankfold::op::ExactDot;
///
/// let mut dot = ExactDot::new();
/// dot.add_all(&[1e200, 3.0, -1e200], &[1e200, 5.0, 1e200]);
/// assert_eq!(dot.value(), 15.0);
/// ```
#[derive(Clone, Copy)]
pub struct ExactDot {
    digits: Digits<DOT>,
    special: Special,
}

impl ExactDot {
    /// The empty sum.
    pub const fn new() -> ExactDot {
        ExactDot {
            digits: Digits::ZERO,
            special: Special::NONE,
        }
    }

    /// Adds the product of two numbers.
    #[inline]
    pub fn add(&mut self, x: f64, y: f64) {
        self.digits.make_room();
        // A product is not finite, or is zero, where that of the exact factors is: only its sign and that are looked
        // at.
        self.special.meet(digits::kind_of_product(x, y));
        self.digits.add_product(x, y);
    }

    /// Adds the products of the numbers at each index.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[track_caller]
    pub fn add_all(&mut self, x: &[f64], y: &[f64]) {
        assert_eq!(x.len(), y.len(), "the two vectors have different lengths");
        x.iter().zip(y).for_each(|(x, y)| self.add(*x, *y));
    }

    /// Adds what another accumulator holds.
    pub fn merge(&mut self, other: &ExactDot) {
        self.digits.merge(&other.digits);
        self.special = self.special.with(other.special);
    }

    /// The sum, rounded to nearest, ties to even.
    pub fn value(&self) -> f64 {
        self.special.or(|| self.digits.round(digits::LEAST_BIT))
    }
}

/// The exact sum of two exact sums.
macro_rules! sum_of {
    ($t:ty) => {
        impl Operator<$t> for Sum {
            fn combine(&self, mut left: $t, right: $t) -> $t {
                left.merge(&right);
                left
            }
            #[inline]
            fn commutes(&self) -> bool {
                true
            }
            #[inline]
            fn kind(&self) -> OperatorKind {
                OperatorKind::Sum
            }
        }
    };
}
sum_of!(ExactSum);
sum_of!(ExactDot);

impl Default for ExactSum {
    fn default() -> ExactSum {
        ExactSum::new()
    }
}

impl Default for ExactDot {
    fn default() -> ExactDot {
        ExactDot::new()
    }
}

impl From<f64> for ExactSum {
    fn from(x: f64) -> ExactSum {
        let mut sum = ExactSum::new();
        sum.add(x);
        sum
    }
}

impl Extend<f64> for ExactSum {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, numbers: I) {
        numbers.into_iter().for_each(|x| self.add(x));
    }
}

impl FromIterator<f64> for ExactSum {
    fn from_iter<I: IntoIterator<Item = f64>>(numbers: I) -> ExactSum {
        let mut sum = ExactSum::new();
        sum.extend(numbers);
        sum
    }
}

impl fmt::Debug for ExactSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExactSum").field(&self.value()).finish()
    }
}

impl fmt::Debug for ExactDot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExactDot").field(&self.value()).finish()
    }
}
