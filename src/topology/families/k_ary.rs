//! The complete k-ary tree, numbered in breadth-first order like a heap.

use super::family::{Family, SenderRun, width};
use crate::Rank;

/// The number of edges from `v` up to the root.
fn depth(v: Rank, k: usize) -> usize {
    if k == 1 {
        return v;
    }
    std::iter::successors(Some(v), |&v| (v > 0).then(|| (v - 1) / k)).count() - 1
}

#[derive(Clone, Copy, Hash)]
pub(in crate::topology) struct KAry {
    n: usize,
    k: usize,
    /// The depth of the last rank, the greatest of all.
    height: usize,
}

impl KAry {
    #[track_caller]
    pub(super) fn new(n: usize, k: usize) -> KAry {
        let k = width(n, k);
        KAry {
            n,
            k,
            height: depth(n - 1, k),
        }
    }

    pub(super) fn k(&self) -> usize {
        self.k
    }

    fn parent(&self, v: Rank) -> Rank {
        (v - 1) / self.k
    }

    /// The lowest child of `v` and the number of children.
    fn children(&self, v: Rank) -> Option<(Rank, usize)> {
        let first = v.checked_mul(self.k)?.checked_add(1)?;
        (first < self.n).then(|| (first, self.k.min(self.n - first)))
    }

    /// The port step after the last arrival at `v`.
    ///
    /// A lowest child's subtree is at least as deep as its siblings', so the siblings are ready when their turn comes:
    /// only the counts along the path of lowest children add up.
    fn ready(&self, v: Rank) -> usize {
        if self.k == 1 {
            return self.n - 1 - v;
        }
        let down = |&(first, _): &(Rank, usize)| self.children(first);
        std::iter::successors(self.children(v), down)
            .map(|(_, count)| count)
            .sum()
    }
}

impl Family for KAry {
    fn steps(&self) -> usize {
        self.height
    }

    fn successor(&self, p: Rank) -> (usize, Rank) {
        (self.height - depth(p, self.k), self.parent(p))
    }

    fn arrivals(&self, q: Rank, least: usize) -> Option<SenderRun> {
        let (first, count) = self.children(q)?;
        let step = self.height - depth(first, self.k);
        (step >= least).then_some(SenderRun {
            step,
            count,
            first,
            stride: 1,
        })
    }

    fn in_order_from(&self, c: Rank) -> bool {
        let (is_chain, is_flat) = (self.k == 1, self.n - 1 <= self.k);
        is_flat || (is_chain && c <= 1)
    }

    fn port_step(&self, p: Rank) -> usize {
        let lowest = self.parent(p) * self.k + 1;
        self.ready(lowest) + (p - lowest)
    }

    fn port_steps(&self) -> usize {
        self.ready(0)
    }
}
