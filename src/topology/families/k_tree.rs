//! The k-tree: each step merges runs of neighbours into runs k + 1 times as long.
//!
//! In radix `b = k + 1`, the number of trailing zeros of a rank gives the step in which it sends, and its last nonzero
//! digit gives its index among its siblings.

use super::family::{Family, SenderRun, width};
use crate::Rank;

#[derive(Clone, Copy, Hash)]
pub(in crate::topology) struct KTree {
    n: usize,
    k: usize,
}

/// A rank other than 0, written `unit * (b * rest + digit)` with `unit = b^zeros`, `1 ≤ digit ≤ k`.
struct Digits {
    zeros: usize,
    unit: usize,
    digit: usize,
    rest: usize,
}

impl KTree {
    #[track_caller]
    pub(super) fn new(n: usize, k: usize) -> KTree {
        KTree { n, k: width(n, k) }
    }

    pub(super) fn k(&self) -> usize {
        self.k
    }

    fn digits(&self, v: Rank) -> Digits {
        let b = self.k + 1;
        let (mut zeros, mut unit, mut w) = (0, 1, v);
        while w.is_multiple_of(b) {
            (zeros, unit, w) = (zeros + 1, unit * b, w / b);
        }
        Digits {
            zeros,
            unit,
            digit: w % b,
            rest: w / b,
        }
    }

    /// `b^exponent`, or `None` on overflow.
    fn power(&self, exponent: usize) -> Option<usize> {
        (self.k + 1).checked_pow(u32::try_from(exponent).ok()?)
    }

    /// Whether `q` still receives in step `t`, i.e. whether its first `t + 1` digits are zero.
    fn receives(&self, q: Rank, t: usize) -> bool {
        q == 0
            || self
                .power(t + 1)
                .is_some_and(|block| q.is_multiple_of(block))
    }
}

impl Family for KTree {
    fn steps(&self) -> usize {
        let (mut u, mut reach) = (0, 1usize);
        while reach < self.n {
            (u, reach) = (u + 1, reach.saturating_mul(self.k + 1));
        }
        u
    }

    fn successor(&self, p: Rank) -> (usize, Rank) {
        let at = self.digits(p);
        (at.zeros, p - at.digit * at.unit)
    }

    fn arrivals(&self, q: Rank, least: usize) -> Option<SenderRun> {
        let unit = self.power(least)?;
        let count = self.k.min((self.n - 1 - q) / unit);
        (count > 0 && self.receives(q, least)).then(|| SenderRun {
            step: least,
            count,
            first: q + unit,
            stride: unit,
        })
    }

    fn in_order_from(&self, c: Rank) -> bool {
        c == 0 || self.digits(c).rest == 0
    }

    // All earlier subtrees are full: at p's successor each of the `zeros` earlier steps took k port steps.
    fn port_step(&self, p: Rank) -> usize {
        let at = self.digits(p);
        self.k * at.zeros + at.digit - 1
    }

    fn port_steps(&self) -> usize {
        let u = self.steps();
        if u == 0 {
            return 0;
        }
        let unit = self.power(u - 1).unwrap_or(usize::MAX);
        self.k * (u - 1) + self.n.div_ceil(unit) - 1
    }
}
