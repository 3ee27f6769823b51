//! All-gather in the least number of steps, for any number of ranks.

use std::ops::Range;

use super::ceil_log2;
use crate::Rank;
use crate::schedule::{Lengths, LocalCopy, Region, Schedule, Step, Transfer};
use crate::span;

/// Bruck's all-gather: every rank collects the blocks in the order that starts with its own, twice as
/// many in every step, and turns them round at the end.
///
/// ```text
/// five ranks      rank 0        rank 1        rank 2        rank 3        rank 4
/// at first        0             1             2             3             4
/// step 0  +1      0 1           1 2           2 3           3 4           4 0
/// step 1  +2      0 1 2 3       1 2 3 4       2 3 4 0       3 4 0 1       4 0 1 2
/// step 2  +4      0 1 2 3 4     1 2 3 4 0     2 3 4 0 1     3 4 0 1 2     4 0 1 2 3
/// turned          0 1 2 3 4     everywhere
/// ```
///
/// # Cost
///
/// `⌈log₂ P⌉` steps with messages, in which a rank receives all blocks but its own; and two steps with
/// a local copy each.
///
/// # Source
///
/// Bruck, Ho, Kipnis, Upfal and Weathersby, *Efficient algorithms for all-to-all communications in
/// multiport message-passing systems*, 1997.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BruckAllGather {
    ranks: usize,
    length: usize,
}

impl BruckAllGather {
    /// Among so many ranks, of vectors of so many elements.
    ///
    /// # Panics
    ///
    /// If there is no rank.
    pub fn new(ranks: usize, length: usize) -> BruckAllGather {
        assert!(ranks > 0, "an all-gather of 0 ranks");
        BruckAllGather { ranks, length }
    }

    /// Where block `block` starts in the scratch room of `rank`, the blocks counted on past the last.
    fn offset(&self, rank: Rank, block: usize) -> usize {
        let cut = |block| span::cut(self.length, self.ranks, block);
        match block.checked_sub(self.ranks) {
            None => cut(block) - cut(rank),
            Some(wrapped) => self.length - cut(rank) + cut(wrapped),
        }
    }

    /// So many blocks from `first` on, as they lie in the scratch room of `rank`.
    fn blocks(&self, rank: Rank, blocks: Range<usize>) -> Region {
        Region::scratch(self.offset(rank, blocks.start)..self.offset(rank, blocks.end))
    }

    /// The rank's own block, to where it starts.
    fn load(&self, rank: Rank) -> LocalCopy {
        LocalCopy {
            from: Region::output(span::block(self.length, self.ranks, rank)),
            to: self.blocks(rank, rank..rank + 1),
        }
    }

    /// The first or the second half of the turn: the blocks up to the last, or those that wrapped.
    fn turn(&self, rank: Rank, wrapped: bool) -> Option<LocalCopy> {
        let cut = span::cut(self.length, self.ranks, rank);
        let (blocks, place) = if wrapped {
            (self.ranks..self.ranks + rank, 0..cut)
        } else {
            (rank..self.ranks, cut..self.length)
        };
        let copy = LocalCopy {
            from: self.blocks(rank, blocks),
            to: Region::output(place),
        };
        (!copy.to.is_empty()).then_some(copy)
    }

    fn exchange(&self, rank: Rank, step: usize) -> Step {
        let n = self.ranks;
        let have = 1 << step;
        let moved = have.min(n - have);
        Step {
            local: (step == 0).then(|| self.load(rank)),
            send: Some(Transfer {
                peer: (rank + n - have) % n,
                region: self.blocks(rank, rank..rank + moved),
            }),
            recv: Some(Transfer {
                peer: (rank + have) % n,
                region: self.blocks(rank, rank + have..rank + have + moved),
            }),
            ..Step::IDLE
        }
    }
}

impl Schedule for BruckAllGather {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn steps(&self) -> usize {
        match self.ranks {
            1 => 0,
            n => ceil_log2(n) + 2,
        }
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let after_messages = match step.checked_sub(ceil_log2(self.ranks)) {
            None => return self.exchange(rank, step),
            Some(after) => after,
        };
        if step >= self.steps() {
            return Step::IDLE;
        }
        Step {
            local: self.turn(rank, after_messages == 1),
            ..Step::IDLE
        }
    }

    fn lengths(&self, _: Rank) -> Lengths {
        Lengths {
            input: 0,
            output: self.length,
            scratch: self.length,
        }
    }
}
