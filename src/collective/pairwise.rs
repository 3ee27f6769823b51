//! All-to-all, one partner a step.

use crate::Rank;
use crate::schedule::{Lengths, LocalCopy, Region, Schedule, Step, Transfer};
use crate::span;

/// Pairwise all-to-all: block `q` of rank `r`'s input becomes piece `r` of rank `q`'s output.
///
/// The input is a vector of `length` elements, cut into a block for each rank; the output holds a
/// piece from every rank, each as long as the rank's block.
///
/// ```text
/// four ranks     step 0   0▶1  1▶2  2▶3  3▶0
///                step 1   0▶2  1▶3  2▶0  3▶1
///                step 2   0▶3  1▶0  2▶1  3▶2
/// ```
///
/// # Cost
///
/// `P - 1` steps, in which a rank sends all blocks but its own. One rank copies in one step.
///
/// # Source
///
/// Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations in MPICH*,
/// 2005, section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairwiseAllToAll {
    ranks: usize,
    length: usize,
}

impl PairwiseAllToAll {
    /// Among so many ranks, of inputs of so many elements.
    ///
    /// # Panics
    ///
    /// If there is no rank.
    pub fn new(ranks: usize, length: usize) -> PairwiseAllToAll {
        assert!(ranks > 0, "an all-to-all of 0 ranks");
        PairwiseAllToAll { ranks, length }
    }

    /// What a rank has for another.
    fn block(&self, to: Rank) -> Region {
        Region::input(span::block(self.length, self.ranks, to))
    }

    /// Where a rank puts what it has from another.
    fn piece(&self, rank: Rank, from: Rank) -> Region {
        let piece = self.block(rank).length;
        Region::output(from * piece..(from + 1) * piece)
    }
}

impl Schedule for PairwiseAllToAll {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn steps(&self) -> usize {
        (self.ranks - 1).max(1)
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let (n, ahead) = (self.ranks, step + 1);
        let own = LocalCopy {
            from: self.block(rank),
            to: self.piece(rank, rank),
        };
        let (to, from) = ((rank + ahead) % n, (rank + n - ahead % n) % n);
        let talks = ahead < n;
        Step {
            local: (step == 0).then_some(own),
            send: talks.then(|| Transfer {
                peer: to,
                region: self.block(to),
            }),
            recv: talks.then(|| Transfer {
                peer: from,
                region: self.piece(rank, from),
            }),
            ..Step::IDLE
        }
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        Lengths {
            input: self.length,
            output: self.block(rank).length * self.ranks,
            scratch: 0,
        }
    }
}
