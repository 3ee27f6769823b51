//! Trees whose subtrees are contiguous ranges of ranks for *any* root, built from the bits of rank numbers.
//!
//! A family rotated to another root wraps around behind the last rank, which breaks rank order. These trees do not
//! rotate: neighbouring blocks of ranks merge, and the root leads every block that contains it.

use std::ops::Range;

use super::Pattern;
use crate::Rank;

/// A pattern into a root in which every message carries a contiguous range of ranks: the sender's subtree.
pub trait Subtrees: Pattern {
    /// The rank at which every path ends.
    fn root(&self) -> Rank;

    /// The ranks whose operands `from` carries when it sends in `step`.
    fn behind(&self, from: Rank, step: usize) -> Range<Rank>;

    /// The ranks whose path to the root leads through `rank`, including `rank` itself.
    fn subtree(&self, rank: Rank) -> Range<Rank>;
}

/// The least `d` with `2^d ≥ n`, for `n ≥ 1`.
fn ceil_log2(n: usize) -> usize {
    (n - 1).checked_ilog2().map_or(0, |log| log as usize + 1)
}

#[track_caller]
fn assert_root(ranks: usize, root: Rank) {
    assert!(root < ranks, "root {root} of {ranks} ranks");
}

/// The binomial tree to any root: in step `s` the leaders of neighbouring blocks of `2^s` ranks merge their blocks.
///
/// The leader of a block is the root if the block contains it, else its lowest rank. With root 0 this is
/// [`Topology::binomial`](super::Topology::binomial).
///
/// ```text
/// to rank 5 of 8    step 0   1▶0   3▶2   4▶5   7▶6
///                   step 1   2────▶0     6────▶5
///                   step 2   0────────────────▶5
/// ```
///
/// Only neighbouring blocks merge, so operands stay in rank order, whatever the root.
///
/// # Cost
///
/// `⌈log₂ n⌉` steps.
///
/// # Examples
///
/// ```
/// use rankfold::topology::{BinomialTo, Pattern};
///
/// let tree = BinomialTo::new(8, 5);
/// assert_eq!((tree.to(4, 0), tree.to(0, 2), tree.from(5, 1)), (Some(5), Some(5), Some(6)));
/// ```
///
/// # Source
///
/// Träff, *Practical, distributed, low overhead algorithms for irregular gather and scatter
/// collectives*, Parallel Computing 75, 2018: trees of consecutive ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinomialTo {
    ranks: usize,
    root: Rank,
}

impl BinomialTo {
    /// The tree among `ranks` ranks to `root`.
    ///
    /// # Panics
    ///
    /// If `root` is not one of the ranks.
    #[track_caller]
    pub fn new(ranks: usize, root: Rank) -> BinomialTo {
        assert_root(ranks, root);
        BinomialTo { ranks, root }
    }

    /// The leader of a block of `2^s` ranks, by the block's number.
    fn leader(&self, block: usize, s: usize) -> Rank {
        if self.root >> s == block {
            self.root
        } else {
            block << s
        }
    }

    /// The rank's partner in a step, and whether the rank receives.
    fn meets(&self, p: Rank, s: usize) -> Option<(Rank, bool)> {
        if s >= self.steps() || self.leader(p >> s, s) != p {
            return None;
        }
        let other = (p >> s) ^ 1;
        let there = other <= (self.ranks - 1) >> s;
        let after = s + 1;
        there.then(|| (self.leader(other, s), self.leader(p >> s >> 1, after) == p))
    }
}

impl Pattern for BinomialTo {
    fn ranks(&self) -> usize {
        self.ranks
    }
    fn steps(&self) -> usize {
        ceil_log2(self.ranks)
    }
    fn to(&self, p: Rank, s: usize) -> Option<Rank> {
        let (peer, receives) = self.meets(p, s)?;
        (!receives).then_some(peer)
    }
    fn from(&self, q: Rank, s: usize) -> Option<Rank> {
        let (peer, receives) = self.meets(q, s)?;
        receives.then_some(peer)
    }
}

impl Subtrees for BinomialTo {
    fn root(&self) -> Rank {
        self.root
    }
    fn behind(&self, from: Rank, step: usize) -> Range<Rank> {
        let start = from >> step << step;
        start..self.ranks.min(start + (1 << step))
    }
    fn subtree(&self, rank: Rank) -> Range<Rank> {
        let sends = |&s: &usize| self.to(rank, s).is_some();
        match (0..self.steps()).find(sends) {
            Some(step) => self.behind(rank, step),
            None => 0..self.ranks,
        }
    }
}

/// The hypercube's tree to any root: in step `s` the ranks that agree with the root in all lower bits send across
/// dimension `s`.
///
/// Run backwards, it is the one-to-all broadcast: rank `v xor root` has number `v`, and in every step the set of ranks
/// that have the message doubles.
///
/// ```text
/// to rank 5 of 8    step 0   0▶1   2▶3   4▶5   6▶7
///                   step 1   3────▶1     7────▶5
///                   step 2   1────────────────▶5
/// ```
///
/// If the number of ranks is not a power of two, `v = (rank - root) mod ranks`, and partners that do not exist are
/// skipped. This rotation breaks rank order unless the root is 0.
///
/// # Cost
///
/// `⌈log₂ n⌉` steps.
///
/// # Examples
///
/// ```
/// use rankfold::topology::{CubeTo, Pattern};
///
/// let cube = CubeTo::new(8, 5);
/// assert_eq!((cube.to(4, 0), cube.to(1, 2), cube.from(5, 1)), (Some(5), Some(5), Some(7)));
/// ```
///
/// # Source
///
/// Grama, Gupta, Karypis and Kumar, *Introduction to Parallel Computing*, 4.1; the guard of the published code lacks
/// parentheses, `(v & mask) == 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubeTo {
    ranks: usize,
    root: Rank,
}

impl CubeTo {
    /// The tree among `ranks` ranks to `root`.
    ///
    /// # Panics
    ///
    /// If `root` is not one of the ranks.
    #[track_caller]
    pub fn new(ranks: usize, root: Rank) -> CubeTo {
        assert_root(ranks, root);
        CubeTo { ranks, root }
    }

    /// Whether the ranks form a full hypercube, so that numbering does not rotate.
    fn is_cube(&self) -> bool {
        self.ranks.is_power_of_two()
    }

    fn number(&self, p: Rank) -> usize {
        if self.is_cube() {
            p ^ self.root
        } else if p >= self.root {
            p - self.root
        } else {
            p + (self.ranks - self.root)
        }
    }

    fn rank(&self, v: usize) -> Rank {
        let before_wrap = self.ranks - self.root;
        if self.is_cube() {
            v ^ self.root
        } else if v < before_wrap {
            v + self.root
        } else {
            v - before_wrap
        }
    }

    /// The number of the rank, if it takes part in the step.
    fn active(&self, p: Rank, s: usize) -> Option<usize> {
        let v = self.number(p);
        (s < self.steps() && v.is_multiple_of(1 << s)).then_some(v)
    }
}

impl Pattern for CubeTo {
    fn ranks(&self) -> usize {
        self.ranks
    }
    fn steps(&self) -> usize {
        ceil_log2(self.ranks)
    }
    fn to(&self, p: Rank, s: usize) -> Option<Rank> {
        let v = self.active(p, s)?;
        (v >> s & 1 == 1).then(|| self.rank(v ^ 1 << s))
    }
    fn from(&self, q: Rank, s: usize) -> Option<Rank> {
        let v = self.active(q, s)?;
        let partner = v | 1 << s;
        (partner != v && partner < self.ranks).then(|| self.rank(partner))
    }
}

/// Subtrees are contiguous ranges where the number of ranks is a power of two or the root is 0.
impl Subtrees for CubeTo {
    fn root(&self) -> Rank {
        self.root
    }
    fn behind(&self, from: Rank, step: usize) -> Range<Rank> {
        let start = from >> step << step;
        start..self.ranks.min(start + (1 << step))
    }
    fn subtree(&self, rank: Rank) -> Range<Rank> {
        match self.number(rank) {
            0 => 0..self.ranks,
            v => self.behind(rank, v.trailing_zeros() as usize),
        }
    }
}

/// Every rank sends to the root directly, one per step: first the ranks below it, in descending order, then those above
/// it, in ascending order.
///
/// ```text
/// to rank 2 of 5    1 ─0▶ 2    0 ─1▶ 2    3 ─2▶ 2    4 ─3▶ 2
/// ```
///
/// Each arriving operand is adjacent to those the root already holds, so operands stay in rank order.
///
/// # Cost
///
/// `n - 1` steps.
///
/// # Examples
///
/// ```
/// use rankfold::topology::{Pattern, StarTo};
///
/// let star = StarTo::new(5, 2);
/// assert_eq!((0..4).map(|s| star.from(2, s).unwrap()).collect::<Vec<_>>(), [1, 0, 3, 4]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StarTo {
    ranks: usize,
    root: Rank,
}

impl StarTo {
    /// The star among `ranks` ranks to `root`.
    ///
    /// # Panics
    ///
    /// If `root` is not one of the ranks.
    #[track_caller]
    pub fn new(ranks: usize, root: Rank) -> StarTo {
        assert_root(ranks, root);
        StarTo { ranks, root }
    }

    /// The step in which a rank other than the root sends.
    fn step_of(&self, p: Rank) -> usize {
        if p < self.root {
            self.root - 1 - p
        } else {
            p - 1
        }
    }
}

impl Pattern for StarTo {
    fn ranks(&self) -> usize {
        self.ranks
    }
    fn steps(&self) -> usize {
        self.ranks - 1
    }
    fn to(&self, p: Rank, s: usize) -> Option<Rank> {
        (p != self.root && self.step_of(p) == s).then_some(self.root)
    }
    fn from(&self, q: Rank, s: usize) -> Option<Rank> {
        if q != self.root || s >= self.steps() {
            return None;
        }
        let below = self.root.checked_sub(s + 1);
        Some(below.unwrap_or(s + 1))
    }
    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let least = super::least_after(after)?;
        let step = if rank == self.root {
            least
        } else {
            self.step_of(rank)
        };
        (step >= least && step < self.steps()).then_some(step)
    }
}

impl Subtrees for StarTo {
    fn root(&self) -> Rank {
        self.root
    }
    fn behind(&self, from: Rank, _: usize) -> Range<Rank> {
        from..from + 1
    }
    fn subtree(&self, rank: Rank) -> Range<Rank> {
        if rank == self.root {
            0..self.ranks
        } else {
            self.behind(rank, 0)
        }
    }
}
