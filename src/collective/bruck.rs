//! All-gather in the minimum number of steps, for any number of ranks.

use std::ops::Range;

use super::ceil_log2;
use crate::Rank;
use crate::schedule::{Buffer, Lengths, LocalCopy, Region, Schedule, Step, Transfer};
use crate::span::Blocks;

/// Bruck's all-gather: every rank collects the blocks in the order that starts with its own, doubles their number in
/// every step, and rotates them into place at the end.
///
/// ```text
/// five ranks      rank 0        rank 1        rank 2        rank 3        rank 4
/// at first        0             1             2             3             4
/// step 0  +1      0 1           1 2           2 3           3 4           4 0
/// step 1  +2      0 1 2 3       1 2 3 4       2 3 4 0       3 4 0 1       4 0 1 2
/// step 2  +4      0 1 2 3 4     1 2 3 4 0     2 3 4 0 1     3 4 0 1 2     4 0 1 2 3
/// rotated         0 1 2 3 4     on every rank
/// ```
///
/// # Cost
///
/// `⌈log₂ P⌉` steps with messages, in which a rank receives all blocks except its own, and two steps with a local copy
/// each.
///
/// # Source
///
/// Bruck, Ho, Kipnis, Upfal and Weathersby, *Efficient algorithms for all-to-all communications in
/// multiport message-passing systems*, 1997.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BruckAllGather {
    blocks: Blocks,
    source: Buffer,
}

impl BruckAllGather {
    /// The all-gather among `ranks` ranks, of vectors of `length` elements.
    ///
    /// # Panics
    ///
    /// If `ranks` is 0.
    #[track_caller]
    pub fn new(ranks: usize, length: usize) -> BruckAllGather {
        BruckAllGather::of_blocks(Blocks::even(length, ranks))
    }

    /// The all-gather among as many ranks as there are blocks, in place.
    ///
    /// # Panics
    ///
    /// If there are no blocks.
    #[track_caller]
    pub fn of_blocks(blocks: Blocks) -> BruckAllGather {
        assert!(blocks.parts() > 0, "an all-gather of 0 ranks");
        BruckAllGather {
            blocks,
            source: Buffer::Output,
        }
    }

    /// The same all-gather from inputs that are the ranks' blocks.
    pub fn from_input(self) -> BruckAllGather {
        BruckAllGather {
            source: Buffer::Input,
            ..self
        }
    }

    /// The start of `block` in the scratch space of `rank`; block numbers continue past the last block.
    fn offset(&self, rank: Rank, block: usize) -> usize {
        let cut = |block| self.blocks.cut(block);
        match block.checked_sub(self.ranks()) {
            None => cut(block) - cut(rank),
            Some(wrapped) => self.blocks.length() - cut(rank) + cut(wrapped),
        }
    }

    /// The region of `blocks` in the scratch space of `rank`.
    fn blocks(&self, rank: Rank, blocks: Range<usize>) -> Region {
        Region::scratch(self.offset(rank, blocks.start)..self.offset(rank, blocks.end))
    }

    /// The rank's own block, where it is initially.
    fn own(&self, rank: Rank) -> Region {
        let block = self.blocks.block(rank);
        match self.source {
            Buffer::Input => Region::input(0..block.len()),
            _ => Region::output(block),
        }
    }

    /// Copies the rank's own block to its first position in scratch space, or to its final position if there are no
    /// other ranks.
    fn load(&self, rank: Rank) -> LocalCopy {
        let start = self.blocks(rank, rank..rank + 1);
        let to = match self.ranks() {
            1 => start.moved_to(Buffer::Output),
            _ => start,
        };
        LocalCopy::new(self.own(rank), to)
    }

    /// The first or the second half of the rotation: the blocks up to the last, or those that wrapped around.
    fn turn(&self, rank: Rank, wrapped: bool) -> Option<LocalCopy> {
        let cut = self.blocks.cut(rank);
        let (blocks, place) = if wrapped {
            (self.ranks()..self.ranks() + rank, 0..cut)
        } else {
            (rank..self.ranks(), cut..self.blocks.length())
        };
        let copy = LocalCopy::new(self.blocks(rank, blocks), Region::output(place));
        (!copy.to.is_empty()).then_some(copy)
    }

    fn exchange(&self, rank: Rank, step: usize) -> Step {
        let n = self.ranks();
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
        self.blocks.parts()
    }

    fn steps(&self) -> usize {
        match self.ranks() {
            1 => usize::from(self.source == Buffer::Input),
            n => ceil_log2(n) + 2,
        }
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        if step >= self.steps() {
            return Step::IDLE;
        }
        if self.ranks() == 1 {
            return Step {
                local: Some(self.load(rank)),
                ..Step::IDLE
            };
        }
        match step.checked_sub(ceil_log2(self.ranks())) {
            None => self.exchange(rank, step),
            Some(after) => Step {
                local: self.turn(rank, after == 1),
                ..Step::IDLE
            },
        }
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        Lengths {
            input: match self.source {
                Buffer::Input => self.blocks.count(rank),
                _ => 0,
            },
            output: self.blocks.length(),
            scratch: self.blocks.length(),
        }
    }

    fn copies_first(&self) -> bool {
        true
    }
}
