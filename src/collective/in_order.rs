//! Folds in rank order from the left, as ranks fold that read each other's memory: `((x0 ⊕ x1) ⊕ x2) ⊕ …`, whichever rank
//! folds.
//!
//! A rank in the middle of the order takes rank 0's elements first and folds its own when its turn comes. Where it folds
//! in place, it saves its own elements to scratch space before.

use crate::Rank;
use crate::schedule::{
    Buffer, Combine, Lengths, LocalCopy, Region, Schedule, Step, Transfer, least_after,
};

/// The buffer in which a rank folds the elements that it takes from all others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fold {
    pub(super) rank: Rank,
    /// The rank's own contribution.
    pub(super) own: Region,
    /// The result.
    pub(super) result: Region,
}

impl Fold {
    fn in_place(&self) -> bool {
        self.own == self.result
    }

    /// Whether the rank's own elements would be overwritten before their turn.
    fn saves(&self) -> bool {
        self.in_place() && self.rank >= 2
    }

    /// The number of elements of scratch space in which the rank's own elements are saved.
    pub(super) fn scratch(&self) -> usize {
        match self.saves() {
            true => self.own.elements(),
            false => 0,
        }
    }

    /// The combination of elements from another rank with the result so far.
    pub(super) fn combine(&self, peer: Rank) -> Combine {
        match peer {
            0 if self.in_place() && self.rank == 1 => Combine::FoldLeft,
            0 => Combine::Replace,
            _ => Combine::FoldRight,
        }
    }

    /// The local copy or fold in the step in which it is the turn of `peer`, which may be the rank itself.
    pub(super) fn local(&self, peer: Rank) -> Option<LocalCopy> {
        let saved = Region::scratch(0..self.own.elements());
        if self.own.is_empty() {
            return None;
        }
        match peer {
            0 if self.saves() => Some(LocalCopy::new(self.own, saved)),
            _ if peer != self.rank => None,
            _ if self.saves() => Some(LocalCopy::fold_right(saved, self.result)),
            _ if self.in_place() => None,
            0 => Some(LocalCopy::new(self.own, self.result)),
            _ => Some(LocalCopy::fold_right(self.own, self.result)),
        }
    }
}

/// The location of the vectors of a [`StarFold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoldedFrom {
    /// In the outputs of all ranks.
    Outputs,
    /// In the output of the root, and in the inputs of all others.
    AtRoot,
    /// In the inputs of all ranks.
    Inputs,
}

/// The root takes the whole vectors of all ranks, in rank order, and folds them into its output.
///
/// ```text
/// four ranks, root 2     step 0   2◀0, its own vector saved
///                        step 1   2◀1
///                        step 2   its own vector folded
///                        step 3   2◀3
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct StarFold {
    pub(super) ranks: usize,
    pub(super) root: Rank,
    pub(super) length: usize,
    pub(super) vectors: FoldedFrom,
}

impl StarFold {
    /// The vector of a rank before the fold.
    fn vector(&self, rank: Rank) -> Region {
        let buffer = match self.vectors {
            FoldedFrom::Outputs => Buffer::Output,
            FoldedFrom::AtRoot if rank == self.root => Buffer::Output,
            FoldedFrom::AtRoot | FoldedFrom::Inputs => Buffer::Input,
        };
        Region::new(buffer, 0..self.length)
    }

    fn fold(&self) -> Fold {
        Fold {
            rank: self.root,
            own: self.vector(self.root),
            result: Region::output(0..self.length),
        }
    }

    /// Whether the root's own elements have a turn: not if they are folded where they are.
    fn own_turn(&self) -> bool {
        let fold = self.fold();
        fold.saves() || !fold.in_place()
    }

    /// The step in which it is the turn of a rank.
    fn turn_of(&self, rank: Rank) -> usize {
        rank - usize::from(!self.own_turn() && rank > self.root)
    }

    /// The root's actions in a step.
    fn step_of_root(&self, step: usize) -> Step {
        let fold = self.fold();
        let peer = step + usize::from(!self.own_turn() && step >= self.root);
        Step {
            local: fold.local(peer),
            recv: (peer != self.root).then_some(Transfer {
                peer,
                region: fold.result,
            }),
            combine: fold.combine(peer),
            ..Step::IDLE
        }
    }
}

impl Schedule for StarFold {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn steps(&self) -> usize {
        self.ranks - usize::from(!self.own_turn())
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        match rank {
            _ if step >= self.steps() => Step::IDLE,
            _ if rank == self.root => self.step_of_root(step),
            _ if self.turn_of(rank) != step => Step::IDLE,
            _ => Step {
                send: Some(Transfer {
                    peer: self.root,
                    region: self.vector(rank),
                }),
                ..Step::IDLE
            },
        }
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let least = least_after(after)?;
        let turn = self.turn_of(rank);
        let mut steps = match rank == self.root {
            true => least..self.steps(),
            false => least.max(turn)..turn + 1,
        };
        steps.find(|&step| !self.step(rank, step).is_idle())
    }

    fn copies_first(&self) -> bool {
        self.step(self.root, 0).local.is_some()
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        let held = self.vector(rank).buffer == Buffer::Output;
        Lengths {
            input: if held { 0 } else { self.length },
            output: match held || rank == self.root || self.vectors == FoldedFrom::Inputs {
                true => self.length,
                false => 0,
            },
            scratch: if rank == self.root {
                self.fold().scratch()
            } else {
                0
            },
        }
    }
}
