//! The complete k-ary tree, numbered in breadth-first order like a heap.

use super::{Family, Run, Shape, width};
use crate::{Rank, topology::Topology};

impl Topology {
    /// The complete k-ary tree: rank v sends to `⌊(v-1)/k⌋`, the deepest level first.
    ///
    /// ```text
    /// k = 2    step 0    7──▶3
    ///          step 1    3,4──▶1    5,6──▶2
    ///          step 2    1,2──▶0
    /// ```
    ///
    /// With k ≥ `n - 1` it is flat: a larger `k` counts as `n - 1`. With k = 1 it is the chain.
    ///
    /// # Cost
    ///
    /// ⌊log_k of (n-1)(k-1)+1⌋ steps for k ≥ 2, the number of levels below the root; not in rank order, unless it is
    /// the chain or flat.
    ///
    /// # Panics
    ///
    /// If `n` or `k` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::k_ary(8, 2).successor(7), Some((0, 3)));
    /// assert_eq!(Topology::k_ary(8, 1), Topology::chain(8));
    /// ```
    ///
    /// # Source
    ///
    /// The heap's numbering of a complete tree: Knuth, *The Art of Computer Programming* 1, 2.3.4.5.
    #[track_caller]
    pub fn k_ary(n: usize, k: usize) -> Topology {
        let k = width(n, k);
        Topology::new(
            n,
            Shape::KAry(KAry {
                n,
                k,
                height: depth(n - 1, k),
            }),
        )
    }
}

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

    fn arrivals(&self, q: Rank, least: usize) -> Option<Run> {
        let (first, count) = self.children(q)?;
        let step = self.height - depth(first, self.k);
        (step >= least).then_some(Run {
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
