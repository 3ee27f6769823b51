//! Error-free extraction: the leading parts of many numbers, summed without rounding by loops that compilers vectorize.
//! (Rump, Ogita and Oishi, *Accurate Floating-Point Summation, Part I*, 2008, section 3.)
//!
//! # Why the sums are exact
//!
//! - *One part.* Let numbers be at most `2^e` in absolute value, and `M = 3/2 · 2^(e + 10)`. Then `x + M` is between
//!   `2^(e + 10)` and `2^(e + 11)`, where an `f64` is a multiple of `u = 2^(e - 42)`. So `q = (x + M) - M` is exact, a
//!   multiple of `u`, and at most `2^e`. The rest `x - q` is exact, too: it is a multiple of the last bit of `x`, and at most
//!   `u / 2` and at most `x` (which it is where `q` is zero), so it has no more bits than `x`.
//! - *Its sum.* At most `2^11` parts are at most `2^(e + 11) = 2^53 u` together, and so is the sum of any of them: every
//!   partial sum is a multiple of `u` with at most 53 bits, in any order.
//! - *Two parts.* The same again for the rests, with `e - 43`. What is left then is at most `2^(e - 86)`, and zero where
//!   the number is a multiple of `2^(e - 85)`.
//! - *The range.* `e` is such that neither `M` overflows, and `2^(e - 85)` is an `f64`.

/// The greatest number of numbers whose parts are summed at once.
pub(crate) const MOST: usize = 1 << 11;

/// Number of sums at the same time: enough for compilers to make vectors of them.
const LANES: usize = 64;

/// The bits of an `f64` below its exponent.
const BELOW: u32 = 52;

/// What is to be known of numbers before their parts are summed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Survey {
    /// The greatest absolute value; of no meaning if one is not finite.
    greatest: f64,
    /// Whether some are not finite, and whether some are not `-0`.
    pub(super) is_unusual: bool,
    pub(super) is_other: bool,
}

/// The sums of the leading parts of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Leading {
    /// The `M` of each part.
    by: [f64; 2],
    /// Their sums, in lanes, and how many rests are not zero.
    sums: [[f64; LANES]; 2],
    rests: [u64; LANES],
}

/// Numbers in lanes, with zeros behind the last ones.
#[inline(always)]
fn in_lanes(numbers: &[f64], mut each: impl FnMut(&[f64; LANES])) {
    let (whole, last) = numbers.as_chunks();
    whole.iter().for_each(&mut each);
    if !last.is_empty() {
        let mut padded = [0.0; LANES];
        padded[..last.len()].copy_from_slice(last);
        each(&padded);
    }
}

impl Survey {
    /// Looks at numbers.
    #[inline(always)]
    pub(crate) fn meet(&mut self, numbers: &[f64]) {
        let infinite = f64::INFINITY.to_bits();
        let (mut greatest, mut unusual, mut other) = ([0.0; LANES], [0; LANES], [0; LANES]);
        in_lanes(numbers, |lanes| {
            for (lane, x) in lanes.iter().enumerate() {
                let (bits, size) = (x.to_bits(), x.abs());
                greatest[lane] = if size > greatest[lane] {
                    size
                } else {
                    greatest[lane]
                };
                unusual[lane] |= u64::from(bits & infinite == infinite);
                other[lane] |= bits ^ 1 << 63;
            }
        });
        self.greatest = greatest.into_iter().fold(self.greatest, f64::max);
        self.is_unusual |= unusual != [0; LANES];
        // Numbers are padded by `+0`.
        self.is_other = match numbers.len().is_multiple_of(LANES) {
            true => self.is_other || other != [0; LANES],
            false => self.is_other || numbers.iter().any(|x| x.to_bits() != 1 << 63),
        };
    }

    /// Sums of the parts of such numbers, to be filled; `None` if they are too large or too small for that.
    pub(crate) fn leading(&self) -> Option<Leading> {
        // All are below 2^(exponent - 1022).
        let exponent = self.greatest.to_bits() >> BELOW;
        let fits = !self.is_unusual && (43 - 10..=2045 - 11).contains(&exponent);
        let by = |exponent: u64| f64::from_bits(exponent << BELOW | 1 << (BELOW - 1));
        fits.then(|| Leading {
            by: [by(exponent + 11), by(exponent + 11 - 43)],
            sums: [[0.0; LANES]; 2],
            rests: [0; LANES],
        })
    }

    /// Whether all are zeros.
    pub(super) fn is_zero(&self) -> bool {
        !self.is_unusual && self.greatest == 0.0
    }
}

impl Leading {
    /// Adds the parts of numbers: of at most [`MOST`] in all.
    #[inline(always)]
    pub(crate) fn add(&mut self, numbers: &[f64]) {
        assert!(numbers.len() <= MOST);
        let Leading {
            by,
            sums: [mut first, mut second],
            mut rests,
        } = *self;
        in_lanes(numbers, |lanes| {
            for (lane, x) in lanes.iter().enumerate() {
                let [high, low, rest] = parts(*x, by);
                first[lane] += high;
                second[lane] += low;
                rests[lane] += u64::from(rest != 0.0);
            }
        });
        (self.sums, self.rests) = ([first, second], rests);
    }

    /// The sums of both parts.
    pub(super) fn sums(&self) -> [f64; 2] {
        self.sums.map(|lanes| lanes.iter().sum())
    }

    /// How many numbers have a rest.
    pub(super) fn rests(&self) -> usize {
        self.rests.iter().sum::<u64>() as usize
    }

    /// The rest of a number.
    pub(super) fn rest(&self, x: f64) -> f64 {
        parts(x, self.by)[2]
    }
}

/// The two parts of a number, and its rest.
#[inline(always)]
fn parts(x: f64, [first, second]: [f64; 2]) -> [f64; 3] {
    let high = (x + first) - first;
    let rest = x - high;
    let low = (rest + second) - second;
    [high, low, rest - low]
}
