//! The binary in-order tree: every rank except 0 lies between its left and its right subtree.
//!
//! The number of trailing zeros of a rank is its height: at height j the full subtree of v is the 2^(j+1) - 1 ranks
//! around v. Nodes above the last rank are cut away, and a subtree whose parent is cut away is attached to its nearest
//! existing ancestor.

use super::family::{Family, SenderRun, first_of_two};
use crate::Rank;

/// The tree on ranks `1..=last`, plus rank 0.
#[derive(Clone, Copy, Hash)]
pub(in crate::topology) struct InOrder {
    last: Rank,
}

/// The number of levels below `v` in its full subtree; `v` is not 0.
fn height(v: Rank) -> usize {
    v.trailing_zeros() as usize
}

impl InOrder {
    /// The tree on ranks `1..=last`.
    pub(in crate::topology) fn to(last: Rank) -> InOrder {
        InOrder { last }
    }

    /// The children of a rank; rank 0 has one.
    pub(in crate::topology) fn children(&self, v: Rank) -> [Option<Rank>; 2] {
        match v {
            0 => [self.top(), None],
            _ => [self.left(v), self.right(v)],
        }
    }

    /// The child of rank 0.
    fn top(&self) -> Option<Rank> {
        self.last.checked_ilog2().map(|i| 1 << i)
    }

    pub(in crate::topology) fn parent(&self, v: Rank) -> Rank {
        let bit = 1usize << height(v);
        let above = v ^ bit;
        match bit.checked_mul(2) {
            Some(next) if above | next <= self.last => above | next,
            _ => above,
        }
    }

    fn left(&self, v: Rank) -> Option<Rank> {
        (height(v) > 0).then(|| v - (1 << (height(v) - 1)))
    }

    /// The top of what remains of the right subtree after the cut.
    fn right(&self, v: Rank) -> Option<Rank> {
        let beyond = (self.last - v).checked_ilog2()? as usize;
        let below = height(v).checked_sub(1)?;
        Some(v + (1 << beyond.min(below)))
    }

    /// The broadcast step in which `v` is served: a left child first, a right child second.
    fn served(&self, v: Rank) -> usize {
        let (mut at, mut step) = (v, 0);
        loop {
            let parent = self.parent(at);
            if parent == 0 {
                return step;
            }
            step += if at < parent { 1 } else { 2 };
            at = parent;
        }
    }

    fn step(&self, v: Rank) -> usize {
        self.steps() - 1 - self.served(v)
    }

    fn is_full(&self, v: Rank) -> bool {
        v + ((1 << height(v)) - 1) <= self.last
    }

    /// The port step after the last arrival at `v`.
    ///
    /// A full subtree of height j takes 2j steps. A cut one takes one less: its left half is full and ready after
    /// 2(j-1) steps, and the remainder of its right half has been ready and taken by then.
    fn ready(&self, v: Rank) -> usize {
        (2 * height(v)).saturating_sub(usize::from(!self.is_full(v)))
    }
}

impl Family for InOrder {
    fn steps(&self) -> usize {
        self.port_steps()
    }

    fn successor(&self, p: Rank) -> (usize, Rank) {
        (self.step(p), self.parent(p))
    }

    fn arrivals(&self, q: Rank, least: usize) -> Option<SenderRun> {
        let (later, earlier) = if q == 0 {
            (self.top(), None)
        } else {
            (self.left(q), self.right(q))
        };
        let with_step = |child: Rank| (self.step(child), child);
        first_of_two([earlier.map(with_step), later.map(with_step)], least)
    }

    fn in_order_from(&self, c: Rank) -> bool {
        c <= 1
    }

    // The right child is taken as soon as it is ready, and the left one, which is full, after it.
    fn port_step(&self, p: Rank) -> usize {
        let parent = self.parent(p);
        if p > parent {
            return self.ready(p);
        }
        2 * height(p) + usize::from(self.is_full(parent))
    }

    fn port_steps(&self) -> usize {
        self.top().map_or(0, |top| self.ready(top) + 1)
    }
}
