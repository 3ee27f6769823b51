//! The messages that a collective over shared memory stands for: every rank takes its share from every other.

use crate::Rank;
use crate::schedule::{Combine, Lengths, Region, Schedule, Step, Transfer};
use crate::span::Blocks;

/// Reduce-scatter directly from every rank to every other, with operands in rank order: a rank folds what it receives
/// from lower ranks, the nearest first, and then what it receives from higher ranks.
///
/// ```text
/// four ranks     step 0   0▶1  1▶2  2▶3        step 3   0◀1  1◀2  2◀3
///                step 1   0▶2  1▶3             step 4   0◀2  1◀3
///                step 2   0▶3                  step 5   0◀3
/// ```
///
/// Reversed, it is the all-gather; followed by that, the all-reduce. Where ranks share memory there are no messages:
/// each rank reads its share of all vectors in place.
///
/// # Cost
///
/// `2(P - 1)` steps; a rank sends all blocks except its own, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectReduceScatter {
    blocks: Blocks,
}

impl DirectReduceScatter {
    /// The reduce-scatter among as many ranks as there are blocks.
    ///
    /// # Panics
    ///
    /// If there are no blocks.
    pub fn to_blocks(blocks: Blocks) -> DirectReduceScatter {
        assert!(blocks.parts() > 0, "a reduction of 0 ranks");
        DirectReduceScatter { blocks }
    }

    /// The transfer to or from this peer: the block of the rank that receives it.
    fn transfer(&self, peer: Option<Rank>, receiver: Option<Rank>) -> Option<Transfer> {
        let region = Region::output(self.blocks.block(receiver?));
        Some(Transfer {
            peer: peer?,
            region,
        })
    }
}

impl Schedule for DirectReduceScatter {
    fn ranks(&self) -> usize {
        self.blocks.parts()
    }

    fn steps(&self) -> usize {
        2 * (self.ranks() - 1)
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let ranks = self.ranks();
        if step >= self.steps() {
            return Step::IDLE;
        }
        let far = step % (ranks - 1) + 1;
        let (above, below) = (Some(rank + far), rank.checked_sub(far));
        let above = above.filter(|&above| above < ranks);
        let up = step < ranks - 1;
        let (to, from) = if up { (above, below) } else { (below, above) };
        Step {
            send: self.transfer(to, to),
            recv: self.transfer(from, from.map(|_| rank)),
            combine: if up {
                Combine::FoldLeft
            } else {
                Combine::FoldRight
            },
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
