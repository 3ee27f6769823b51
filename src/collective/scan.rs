//! The scan across the dimensions of a hypercube.

use crate::Rank;
use crate::schedule::{Combine, Lengths, LocalCopy, Region, Schedule, Step, Transfer};

/// Inclusive scan of `2^d` ranks by exchange: in step `s` the halves of subcubes of `2^(s+1)` ranks exchange their
/// totals, and the upper half prepends the lower half's total to its prefix.
///
/// ```text
/// four ranks          0           1           2           3
/// at first            a | a       b | b       c | c       d | d          prefix | total
/// step 0  0↔1  2↔3    a | ab      ab | ab     c | cd      cd | cd
/// step 1  0▶2  1▶3    a           ab          abc         abcd
/// ```
///
/// An arriving message is folded into one region, so the lower half sends its total twice, for prefix and total. The
/// last step needs no data from the upper half, and no total.
///
/// # Cost
///
/// `d` steps with messages. In step `s` a rank with bit `s` clear sends `2N` elements, and one with bit `s` set sends
/// `N`; in the last step they send `N` and nothing. Two copies of the vector come before, one after, and one with each
/// message.
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, 11.1, with the prefix rule as the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeScan {
    dimensions: u32,
    length: usize,
}

/// Vectors in the scratch space: the prefix, the total, and the total again.
const PREFIX: usize = 0;
const TOTAL: usize = 1;
const AGAIN: usize = 2;

/// The number of steps before the messages.
const BEFORE: usize = 2;

impl ExchangeScan {
    /// The scan among `2^dimensions` ranks, of vectors of `length` elements.
    ///
    /// # Panics
    ///
    /// If there are more ranks than a `usize` can count.
    #[track_caller]
    pub fn new(dimensions: u32, length: usize) -> ExchangeScan {
        assert!(dimensions < usize::BITS, "2^{dimensions} ranks");
        ExchangeScan { dimensions, length }
    }

    /// `count` vectors of the scratch space.
    fn vectors(&self, first: usize, count: usize) -> Region {
        let start = |vector: usize| vector.saturating_mul(self.length);
        Region::scratch(start(first)..start(first + count))
    }

    fn copy(&self, from: Region, to: Region) -> Step {
        Step {
            local: (self.length > 0).then_some(LocalCopy::new(from, to)),
            ..Step::IDLE
        }
    }

    fn output(&self) -> Region {
        Region::output(0..self.length)
    }

    fn exchange(&self, rank: Rank, dimension: u32) -> Step {
        let peer = rank ^ 1 << dimension;
        let upper = rank > peer;
        let last = dimension + 1 == self.dimensions;
        let transfer = |region| Some(Transfer { peer, region });
        let sent = match (upper, last) {
            (true, true) => None,
            (false, false) => transfer(self.vectors(TOTAL, 2)),
            (true, false) | (false, true) => transfer(self.vectors(TOTAL, 1)),
        };
        let received = match (upper, last) {
            (true, true) => transfer(self.vectors(PREFIX, 1)),
            (true, false) => transfer(self.vectors(PREFIX, 2)),
            (false, false) => transfer(self.vectors(TOTAL, 1)),
            (false, true) => None,
        };
        let again = self.copy(self.vectors(TOTAL, 1), self.vectors(AGAIN, 1));
        Step {
            local: again.local.filter(|_| !upper && !last),
            send: sent,
            recv: received,
            combine: received.map_or(Combine::Replace, |_| Combine::by_rank(rank, peer)),
            ..Step::IDLE
        }
    }
}

impl Schedule for ExchangeScan {
    fn ranks(&self) -> usize {
        1 << self.dimensions
    }

    fn steps(&self) -> usize {
        match self.dimensions {
            0 => 0,
            d => BEFORE + d as usize + 1,
        }
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        if step >= self.steps() {
            return Step::IDLE;
        }
        match step.checked_sub(BEFORE) {
            None => self.copy(self.output(), self.vectors(step, 1)),
            Some(dimension) if dimension < self.dimensions as usize => {
                self.exchange(rank, dimension as u32)
            }
            Some(_) => self.copy(self.vectors(PREFIX, 1), self.output()),
        }
    }

    fn lengths(&self, _: Rank) -> Lengths {
        Lengths {
            input: 0,
            output: self.length,
            scratch: if self.dimensions > 0 {
                self.length.saturating_mul(3)
            } else {
                0
            },
        }
    }

    fn copies_first(&self) -> bool {
        true
    }
}
