//! A pattern as an algorithm: fold the whole vector along every triple.

use super::{Combine, Lengths, Region, Schedule, Step, Transfer};
use crate::Rank;
use crate::topology::Pattern;

/// Every rank sends its whole vector along every triple `<p, t, q>` of a pattern, and folds what arrives: on the right
/// if the sender is a higher rank, else on the left.
///
/// ```text
/// tree, single port     a reduce to the root
///   reversed            a broadcast
/// hypercube             an all-reduce
/// shift p ▶ p + 2^t     an inclusive scan
/// circle, no elements   a barrier
/// ```
///
/// It works in place, and leaves partial results in the outputs of ranks that send.
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check};
/// use rankfold::schedule::FoldAlong;
/// use rankfold::topology::{Circle, Shift};
///
/// let scan = FoldAlong::new(Shift::new(13), 7);
/// assert!(check(&scan, &Goal::scan(7)).unwrap().ordered);
/// assert_eq!(check(&FoldAlong::new(Circle::new(13), 0), &Goal::barrier()).unwrap().steps, 4);
/// ```
///
/// # Source
///
/// Xiong, *Towards Unified Description for Reduction Algorithms*, 2015: the reduce loop over a
/// topology. Foster, *Designing and Building Parallel Programs*, 11.1: the hypercube template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldAlong<P> {
    pattern: P,
    length: usize,
}

impl<P: Pattern> FoldAlong<P> {
    /// A fold of vectors of `length` elements.
    pub fn new(pattern: P, length: usize) -> FoldAlong<P> {
        FoldAlong { pattern, length }
    }

    /// The pattern.
    pub fn pattern(&self) -> &P {
        &self.pattern
    }
}

impl<P: Pattern> Schedule for FoldAlong<P> {
    fn ranks(&self) -> usize {
        self.pattern.ranks()
    }

    fn steps(&self) -> usize {
        self.pattern.steps()
    }

    #[inline]
    fn step(&self, rank: Rank, step: usize) -> Step {
        let region = Region::output(0..self.length);
        let from = self.pattern.from(rank, step);
        Step {
            send: (self.pattern.to(rank, step)).map(|peer| Transfer { peer, region }),
            recv: from.map(|peer| Transfer { peer, region }),
            combine: from.map_or(Combine::Replace, |peer| Combine::by_rank(rank, peer)),
            ..Step::IDLE
        }
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        self.pattern.next_active(rank, after)
    }

    fn last_active(&self, rank: Rank, before: usize) -> Option<usize> {
        self.pattern.last_active(rank, before)
    }

    fn may_copy(&self) -> bool {
        false
    }

    fn lengths(&self, _: Rank) -> Lengths {
        Lengths::in_place(self.length)
    }
}
