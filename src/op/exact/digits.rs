//! The digits of an accumulator, and what it has met besides finite numbers.

use super::extraction::Survey;

/// The number of additions after which the carries must be moved up.
const MOST: usize = 1000;
/// The bit of an accumulator of products whose weight is `2^-1074`.
pub(super) const LEAST_BIT: usize = 1074;

/// The bits of a number that hold its mantissa, and the leading bit of it, which is not stored.
pub(super) const MANTISSA: u64 = HIDDEN - 1;
pub(super) const HIDDEN: u64 = 1 << 52;
const LOW: u64 = u32::MAX as u64;

/// A fixed-point number: the sum of `digit[j] · 2^(32 j)`, in units of its lowest bit.
#[derive(Clone, Copy)]
pub(super) struct Digits<const N: usize> {
    digit: [i64; N],
    /// Additions since the carries were moved up.
    added: usize,
}

/// The integer `m` and the shift `s` such that a finite number is `± m · 2^(s - 1074)`; 0 for infinities and NaN.
#[inline]
fn parts(x: f64) -> (u64, u32) {
    let bits = x.to_bits();
    let (exponent, fraction) = ((bits >> 52) as u32 & 0x7ff, bits & MANTISSA);
    match exponent {
        0 => (fraction, 0),
        0x7ff => (0, 0),
        _ => (fraction | HIDDEN, exponent - 1),
    }
}

/// `value` if `minus` is 0, `-value` if it is -1.
#[inline]
fn signed(value: u64, minus: i64) -> i64 {
    (value as i64 ^ minus) - minus
}

impl<const N: usize> Digits<N> {
    pub(super) const ZERO: Digits<N> = Digits {
        digit: [0; N],
        added: 0,
    };

    /// Adds a finite number; anything else counts as 0. There must be room.
    #[inline]
    pub(super) fn add(&mut self, x: f64) {
        let ((mantissa, shift), minus) = (parts(x), x.to_bits() as i64 >> 63);
        let (j, within) = (shift as usize / 32, shift % 32);
        self.digit[j] += signed(mantissa << within & LOW, minus);
        // At most 53 bits: `within` is at most 31.
        self.digit[j + 1] += signed(mantissa >> (32 - within), minus);
    }

    /// Adds the product of two finite numbers; anything else counts as 0. There must be room.
    pub(super) fn add_product(&mut self, x: f64, y: f64) {
        let ((m, s), (n, t)) = (parts(x), parts(y));
        let minus = (x.to_bits() ^ y.to_bits()) as i64 >> 63;
        self.add_integer(u128::from(m) * u128::from(n), s + t, minus);
    }

    /// Adds `± value · 2^shift` units, negative if `minus` is -1: less than `2^33` to any digit. There must be room.
    #[inline]
    pub(super) fn add_integer(&mut self, mut value: u128, shift: u32, minus: i64) {
        let (mut j, within) = (shift as usize / 32, shift % 32);
        while value != 0 {
            let piece = (value as u64 & LOW) << within;
            self.digit[j] += signed(piece & LOW, minus);
            self.digit[j + 1] += signed(piece >> 32, minus);
            value >>= 32;
            j += 1;
        }
    }

    /// Makes room for an addition.
    #[inline]
    pub(super) fn make_room(&mut self) {
        if self.added >= MOST {
            self.carry();
        }
        self.added += 1;
    }

    /// Moves the carries up: every digit but the highest is then in `0..2^32`.
    pub(super) fn carry(&mut self) {
        let mut carry = 0;
        let (highest, lower) = self.digit.split_last_mut().expect("there are digits");
        for digit in lower {
            let all = *digit + carry;
            (*digit, carry) = (all & LOW as i64, all >> 32);
        }
        *highest += carry;
        self.added = 0;
    }

    pub(super) fn merge(&mut self, other: &Digits<N>) {
        let mut other = *other;
        other.carry();
        self.carry();
        for (mine, theirs) in self.digit.iter_mut().zip(other.digit) {
            *mine += theirs;
        }
        self.carry();
    }

    /// Rounds to nearest, ties to even; bit `least` has the weight `2^-1074`.
    pub(super) fn round(&self, least: usize) -> f64 {
        let mut digits = *self;
        digits.carry();
        let minus = digits.digit[N - 1] < 0;
        if minus {
            digits.digit.iter_mut().for_each(|digit| *digit = -*digit);
            digits.carry();
        }
        let size = f64::from_bits(digits.round_absolute(least));
        if minus { -size } else { size }
    }

    /// The bits of the absolute value. The digits are not negative.
    fn round_absolute(&self, least: usize) -> u64 {
        let Some(top) = self.digit.iter().rposition(|digit| *digit != 0) else {
            return 0;
        };
        let highest = 32 * top + self.digit[top].ilog2() as usize;
        // The lowest bit that an `f64` of this size has.
        let last = highest.saturating_sub(52).max(least);
        let kept = self.bits_from(last);
        let half = last > 0 && self.bit(last - 1);
        let up = half && (kept & 1 == 1 || last > 1 && self.any_below(last - 1));
        // Mantissa and exponent side by side: a mantissa that is rounded up to 2^53 raises the exponent. The bit that
        // is not stored counts as 1 in the exponent.
        let exponent = (last - least) as u64;
        let infinite = f64::INFINITY.to_bits();
        let bits = kept + u64::from(up);
        match exponent {
            0..0x7ff => (bits + (exponent << 52)).min(infinite),
            _ => infinite,
        }
    }

    fn bit(&self, place: usize) -> bool {
        self.digit[place / 32] >> (place % 32) & 1 == 1
    }

    /// Whether any bit below `place` is set.
    fn any_below(&self, place: usize) -> bool {
        let (j, within) = (place / 32, place % 32);
        let part = self.digit[j] & ((1 << within) - 1);
        part != 0 || self.digit[..j].iter().any(|digit| *digit != 0)
    }

    /// The number that begins at a bit. It is below `2^53`: the caller knows the highest bit.
    fn bits_from(&self, place: usize) -> u64 {
        let (j, within) = (place / 32, place % 32);
        let digits = self.digit[j..].iter().take(4).rev();
        let all = digits.fold(0u128, |all, digit| all << 32 | *digit as u128);
        (all >> within) as u64
    }
}

/// What a sum has met besides finite numbers that are not zero.
#[derive(Clone, Copy)]
pub(super) struct Special {
    nan: bool,
    plus: bool,
    minus: bool,
    /// Whether it has met a number that is not `-0`, and whether any.
    other: bool,
    any: bool,
}

impl Special {
    pub(super) const NONE: Special = Special {
        nan: false,
        plus: false,
        minus: false,
        other: false,
        any: false,
    };

    #[inline]
    pub(super) fn meet(&mut self, x: f64) {
        self.any = true;
        self.other |= x.to_bits() != (-0.0f64).to_bits();
        self.nan |= x.is_nan();
        self.plus |= x == f64::INFINITY;
        self.minus |= x == f64::NEG_INFINITY;
    }

    /// The same for several numbers that were surveyed: looks at each only if some of them are not finite.
    pub(super) fn meet_surveyed(&mut self, numbers: &[f64], survey: &Survey) {
        self.any |= !numbers.is_empty();
        self.other |= survey.is_other;
        if survey.is_unusual {
            numbers.iter().for_each(|x| self.meet(*x));
        }
    }

    pub(super) fn with(self, other: Special) -> Special {
        Special {
            nan: self.nan | other.nan,
            plus: self.plus | other.plus,
            minus: self.minus | other.minus,
            other: self.other | other.other,
            any: self.any | other.any,
        }
    }

    /// The value that these decide, or that of the digits.
    pub(super) fn or(self, finite: impl FnOnce() -> f64) -> f64 {
        match self {
            Special { nan: true, .. } => f64::NAN,
            Special {
                plus: true,
                minus: true,
                ..
            } => f64::NAN,
            Special { plus: true, .. } => f64::INFINITY,
            Special { minus: true, .. } => f64::NEG_INFINITY,
            Special {
                any: true,
                other: false,
                ..
            } => -0.0,
            _ => finite(),
        }
    }
}

/// A number that is NaN, infinite or zero, with its sign, where the exact product of two numbers is, and otherwise
/// another one.
pub(super) fn kind_of_product(x: f64, y: f64) -> f64 {
    let finite = x.is_finite() && y.is_finite();
    if finite && x != 0.0 && y != 0.0 {
        // Their product as rounded may be infinite or zero.
        return 1.0;
    }
    x * y
}
