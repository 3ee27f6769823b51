//! The k-tree: each step merges runs of neighbours into runs k + 1 times as long.
//!
//! In radix `b = k + 1`, the number of trailing zeros of a rank gives the step in which it sends, and its last nonzero
//! digit gives its index among its siblings.

use super::{Family, Run, Shape, width};
use crate::{Rank, topology::Topology};

impl Topology {
    /// The k-tree: rank `b^(t+1) i + s b^t` sends to `b^(t+1) i` in step t, for `1 ≤ s ≤ k`, b = k + 1.
    ///
    /// ```text
    /// k = 2    step 0    1,2──▶0    4,5──▶3    7──▶6
    ///          step 1    3,6──▶0
    /// ```
    ///
    /// With k ≥ `n - 1` it is flat: a larger `k` counts as `n - 1`.
    ///
    /// # Cost
    ///
    /// With u the least number such that `b^u ≥ n`: u steps, `k (u-1) + ⌈n / b^(u-1)⌉ - 1` in the single-port form; in
    /// rank order.
    ///
    /// # Panics
    ///
    /// If `n` or `k` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let tree = Topology::k_tree(8, 2);
    /// assert_eq!(tree.successor(5), Some((0, 3)));
    /// assert_eq!(tree.successor(6), Some((1, 0)));
    /// ```
    ///
    /// # Source
    ///
    /// The 2-tree of Xiong 1999 and 2015, generalized to any k. The closed form differs from that of the 1999 text,
    /// whose case list uses the wrong exponent.
    #[track_caller]
    pub fn k_tree(n: usize, k: usize) -> Topology {
        Topology::new(n, Shape::KTree(KTree { n, k: width(n, k) }))
    }

    /// The binomial tree, the k-tree with k = 1: each rank sends across its lowest set bit.
    ///
    /// ```text
    /// step 0    1──▶0   3──▶2   5──▶4   7──▶6
    /// step 1    2──────▶0       6──────▶4
    /// step 2    4──────────────▶0
    /// ```
    ///
    /// # Cost
    ///
    /// ⌈log₂ n⌉ steps, in the single-port form too; in rank order.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::binomial(8).successor(4), Some((2, 0)));
    /// ```
    ///
    /// # Source
    ///
    /// P. Sanders, lecture notes on parallel algorithms (KIT), where the tree is used for broadcast.
    #[track_caller]
    pub fn binomial(n: usize) -> Topology {
        Topology::k_tree(n, 1)
    }
}

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

    fn arrivals(&self, q: Rank, least: usize) -> Option<Run> {
        let unit = self.power(least)?;
        let count = self.k.min((self.n - 1 - q) / unit);
        (count > 0 && self.receives(q, least)).then(|| Run {
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
