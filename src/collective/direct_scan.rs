//! The reads and stores of scans over shared memory, where every rank folds its block of all vectors: [`DirectScan`].

use super::direct::partner;
use super::{Call, Collective};
use crate::Rank;
use crate::schedule::{
    Buffer, Combine, Lengths, LocalCopy, Region, Schedule, Step, Transfer, least_after,
};
use crate::span::Blocks;

/// Scans directly between all ranks. Every rank takes its block of all vectors, in rank order, and folds it from the left;
/// after each vector, or before it in an exclusive scan, it stores the fold so far to the rank of that vector.
///
/// ```text
/// turn q of rank p    take        the block of q
///                     fold        it, to those of the ranks below      (exclusive: afterwards)
///                     give back   the result to q
/// ```
///
/// Ranks `p` and `s - p` have turns with each other at the same time.
#[derive(Clone, Debug)]
pub(super) struct DirectScan {
    blocks: Blocks,
    exclusive: bool,
}

/// What a rank does with the block of another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Take,
    Fold,
    GiveBack,
}

impl DirectScan {
    pub(super) fn new(call: &Call) -> DirectScan {
        DirectScan {
            blocks: call.blocks.clone(),
            exclusive: call.collective == Collective::ExclusiveScan,
        }
    }

    fn part(&self, step: usize) -> Part {
        match (step % 3, self.exclusive) {
            (0, _) => Part::Take,
            (1, false) | (2, true) => Part::Fold,
            _ => Part::GiveBack,
        }
    }

    /// Whether the vector of a rank is folded.
    fn is_folded(&self, rank: Rank) -> bool {
        !self.exclusive || rank + 1 < self.blocks.parts()
    }

    /// A block of a rank's vector.
    fn block(&self, block: Rank) -> Region {
        Region::output(self.blocks.block(block))
    }

    /// The fold of a rank so far.
    fn folded(&self, rank: Rank) -> Region {
        Region::scratch(0..self.blocks.count(rank))
    }

    /// The block that a rank has taken last.
    fn taken(&self, rank: Rank) -> Region {
        let count = self.blocks.count(rank);
        Region::new(Buffer::Scratch, count..count.saturating_mul(2))
    }

    fn fold(&self, rank: Rank, peer: Rank) -> LocalCopy {
        let (taken, folded) = (self.taken(rank), self.folded(rank));
        match peer {
            0 => LocalCopy::new(taken, folded),
            _ => LocalCopy::fold_right(taken, folded),
        }
    }

    /// A rank's turn with itself.
    fn alone(&self, rank: Rank, part: Part) -> Option<LocalCopy> {
        let own = self.block(rank);
        match part {
            _ if own.is_empty() => None,
            Part::Take if self.is_folded(rank) => Some(LocalCopy::new(own, self.taken(rank))),
            Part::Fold if self.is_folded(rank) => Some(self.fold(rank, rank)),
            Part::GiveBack if rank > 0 => Some(LocalCopy::new(self.folded(rank), own)),
            _ => None,
        }
    }

    /// The turns of two ranks with each other.
    fn together(&self, rank: Rank, peer: Rank, part: Part) -> Step {
        let transfer = |region| Transfer { peer, region };
        let (send, recv) = match part {
            Part::Fold => {
                let folds = self.is_folded(peer) && !self.folded(rank).is_empty();
                return Step {
                    local: folds.then(|| self.fold(rank, peer)),
                    ..Step::IDLE
                };
            }
            Part::Take => (
                self.is_folded(rank).then(|| self.block(peer)),
                self.is_folded(peer).then(|| self.taken(rank)),
            ),
            Part::GiveBack => (
                (peer > 0).then(|| self.folded(rank)),
                (rank > 0).then(|| self.block(peer)),
            ),
        };
        Step {
            send: send.map(transfer),
            recv: recv.map(transfer),
            combine: Combine::Replace,
            ..Step::IDLE
        }
    }
}

impl Schedule for DirectScan {
    fn ranks(&self) -> usize {
        self.blocks.parts()
    }

    fn steps(&self) -> usize {
        3 * (2 * self.ranks() - 1)
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let part = self.part(step);
        match partner(self.ranks(), rank, step / 3) {
            None => Step::IDLE,
            Some(peer) if peer == rank => Step {
                local: self.alone(rank, part),
                ..Step::IDLE
            },
            Some(peer) => self.together(rank, peer, part),
        }
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let least = least_after(after)?;
        let mut steps = least.max(3 * rank)..3 * (rank + self.ranks());
        steps.find(|&step| !self.step(rank, step).is_idle())
    }

    fn copies_first(&self) -> bool {
        true
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        Lengths {
            input: 0,
            output: self.blocks.length(),
            scratch: self.blocks.count(rank).saturating_mul(2),
        }
    }
}
