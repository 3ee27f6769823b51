//! Blocks that travel around a ring.

use crate::Rank;
use crate::schedule::{Combine, Lengths, Region, Schedule, Step, Transfer};
use crate::span::Blocks;

/// Reduce-scatter on a ring: in every step a rank sends one block to the next rank, which folds its own contribution
/// into it. Reversed, it is the all-gather on a ring; followed by that, the all-reduce.
///
/// ```text
/// four ranks     0 ▶ 1    1 ▶ 2    2 ▶ 3    3 ▶ 0
/// step 0           3        0        1        2       the block that is sent
/// step 1           2        3        0        1
/// step 2           1        2        3        0       then rank r has block r
/// ```
///
/// Block `r` is folded in the order `r+1, ..., r`, around the ring, so the operator must commute.
///
/// # Cost
///
/// `P - 1` steps; a rank sends all blocks except its own.
///
/// # Source
///
/// Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations in MPICH*,
/// 2005, section 4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingReduceScatter {
    blocks: Blocks,
}

impl RingReduceScatter {
    /// The reduce-scatter among `ranks` ranks, of vectors of `length` elements.
    ///
    /// # Panics
    ///
    /// If `ranks` is 0.
    #[track_caller]
    pub fn new(ranks: usize, length: usize) -> RingReduceScatter {
        RingReduceScatter::to_blocks(Blocks::even(length, ranks))
    }

    /// The reduce-scatter among as many ranks as there are blocks.
    ///
    /// # Panics
    ///
    /// If there are no blocks.
    #[track_caller]
    pub fn to_blocks(blocks: Blocks) -> RingReduceScatter {
        assert!(blocks.parts() > 0, "a ring of 0 ranks");
        RingReduceScatter { blocks }
    }

    /// The block that a rank sends in a step.
    fn sent(&self, rank: Rank, step: usize) -> Region {
        let ranks = self.ranks();
        Region::output(self.blocks.block((rank + ranks - 1 - step) % ranks))
    }
}

impl Schedule for RingReduceScatter {
    fn ranks(&self) -> usize {
        self.blocks.parts()
    }

    fn steps(&self) -> usize {
        self.ranks() - 1
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        if step >= self.steps() {
            return Step::IDLE;
        }
        let ranks = self.ranks();
        let next = (rank + 1) % ranks;
        let previous = (rank + ranks - 1) % ranks;
        let transfer = |peer, region| Some(Transfer { peer, region });
        Step {
            send: transfer(next, self.sent(rank, step)),
            recv: transfer(previous, self.sent(previous, step)),
            combine: Combine::FoldLeft,
            ..Step::IDLE
        }
    }

    fn may_copy(&self) -> bool {
        false
    }

    fn lengths(&self, _: Rank) -> Lengths {
        Lengths::in_place(self.blocks.length())
    }
}
