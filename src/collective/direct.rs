//! The reads of collectives over shared memory, where every rank folds its block of all vectors: [`DirectReduceScatter`];
//! and then stores it where it is needed: [`Spread`].

use std::ops::Range;

use super::in_order::Fold;
use crate::Rank;
use crate::schedule::{Buffer, Keep, Lengths, Region, Schedule, Step, Transfer, least_after};
use crate::span::Blocks;

/// Reduce-scatter directly between all ranks, folded in rank order from the left: in step `s`, ranks `p` and `s - p`
/// exchange their blocks. A rank so receives from all ranks in ascending order, and folds its own elements in its turn.
///
/// ```text
/// three ranks    step 0   0 its own
///                step 1   0◀▶1
///                step 2   0◀▶2, 1 its own
///                step 3   1◀▶2
///                step 4   2 its own
/// ```
///
/// Where ranks share memory there are no messages: each rank reads its block of all vectors in place, in this order.
///
/// # Cost
///
/// `2P - 1` steps; a rank sends all blocks except its own, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectReduceScatter {
    blocks: Blocks,
    keep: Option<Keep>,
}

impl DirectReduceScatter {
    /// The reduce-scatter in place, among as many ranks as there are blocks.
    ///
    /// # Panics
    ///
    /// If there are no blocks.
    #[track_caller]
    pub fn to_blocks(blocks: Blocks) -> DirectReduceScatter {
        assert!(blocks.parts() > 0, "a reduction of 0 ranks");
        DirectReduceScatter { blocks, keep: None }
    }

    /// The same reduce-scatter from inputs that stay unchanged. With [`Keep::AtRoot`], the other ranks fold in scratch
    /// space.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::check::{Goal, check};
    /// use rankfold::collective::DirectReduceScatter;
    /// use rankfold::schedule::Keep;
    /// use rankfold::span::Blocks;
    ///
    /// let blocks = Blocks::even(20, 5);
    /// let fold = DirectReduceScatter::to_blocks(blocks.clone()).keep(Keep::OwnBlock(blocks));
    /// assert!(check(&fold, &Goal::reduce_scatter(20).from_input()).unwrap().ordered);
    /// ```
    pub fn keep(self, keep: Keep) -> DirectReduceScatter {
        let keep = Some(keep);
        DirectReduceScatter { keep, ..self }
    }

    /// The buffer that holds a rank's vector.
    fn buffer(&self, rank: Rank) -> Buffer {
        match self.keep {
            None => Buffer::Output,
            Some(Keep::AtRoot(root)) if root == rank => Buffer::Output,
            Some(_) => Buffer::Input,
        }
    }

    /// A rank's contribution to the block of another, or to its own.
    fn contribution(&self, rank: Rank, block: Rank) -> Region {
        Region::new(self.buffer(rank), self.blocks.block(block))
    }

    /// The buffer in which a rank folds its block.
    fn result(&self, rank: Rank) -> Region {
        let count = self.blocks.count(rank);
        match self.keep {
            Some(Keep::OwnBlock(_)) => Region::output(0..count),
            Some(Keep::AtRoot(root)) if root != rank => Region::scratch(0..count),
            _ => Region::output(self.blocks.block(rank)),
        }
    }

    fn fold(&self, rank: Rank) -> Fold {
        Fold {
            rank,
            own: self.contribution(rank, rank),
            result: self.result(rank),
        }
    }
}

impl Schedule for DirectReduceScatter {
    fn ranks(&self) -> usize {
        self.blocks.parts()
    }

    fn steps(&self) -> usize {
        2 * self.ranks() - 1
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let Some(peer) = partner(self.ranks(), rank, step) else {
            return Step::IDLE;
        };
        let (fold, other) = (self.fold(rank), peer != rank);
        let transfer = |region| other.then_some(Transfer { peer, region });
        Step {
            local: fold.local(peer),
            send: transfer(self.contribution(rank, peer)),
            recv: transfer(fold.result),
            combine: fold.combine(peer),
            ..Step::IDLE
        }
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        first_active(self, rank, with_partner(self.ranks(), rank, after))
    }

    fn copies_first(&self) -> bool {
        self.keep.is_some()
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        let all = self.blocks.length();
        let block = self.blocks.count(rank);
        let saved = self.fold(rank).scratch();
        let (input, output, scratch) = match self.keep {
            None => (0, all, saved),
            Some(Keep::Everywhere) => (all, all, 0),
            Some(Keep::OwnBlock(_)) => (all, block, 0),
            Some(Keep::AtRoot(root)) if root == rank => (0, all, saved),
            Some(Keep::AtRoot(_)) => (all, 0, block),
        };
        Lengths {
            input,
            output,
            scratch,
        }
    }
}

/// The rank with which a rank communicates in a step: itself in one of them.
pub(super) fn partner(ranks: usize, rank: Rank, step: usize) -> Option<Rank> {
    step.checked_sub(rank).filter(|&peer| peer < ranks)
}

/// The steps after `after` in which a rank has a partner.
fn with_partner(ranks: usize, rank: Rank, after: Option<usize>) -> Range<usize> {
    let end = rank + ranks;
    least_after(after).map_or(end, |least| least.max(rank))..end
}

/// The first of these steps in which a rank is active: one of the first two, since it has itself for a partner once.
fn first_active(schedule: &impl Schedule, rank: Rank, mut steps: Range<usize>) -> Option<usize> {
    steps.find(|&step| !schedule.step(rank, step).is_idle())
}

/// The all-reduce: every rank folds its block and stores it to all. From inputs with [`Keep::Everywhere`].
pub(super) fn all_reduce(blocks: Blocks, keep: Option<Keep>) -> impl Schedule {
    let spread = Spread {
        blocks: blocks.clone(),
        root: None,
    };
    DirectReduceScatter { blocks, keep }.then(spread)
}

/// The reduce: every rank folds its block and stores it to the root.
pub(super) fn reduce(blocks: Blocks, root: Rank) -> impl Schedule {
    let spread = Spread {
        blocks: blocks.clone(),
        root: Some(root),
    };
    let keep = Some(Keep::AtRoot(root));
    DirectReduceScatter { blocks, keep }.then(spread)
}

/// Every rank's block, to the ranks that need it: to all others, in place, or to one root, from scratch space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spread {
    pub(super) blocks: Blocks,
    /// The only rank that needs the blocks, if there is one.
    pub(super) root: Option<Rank>,
}

impl Spread {
    /// The location of a rank's block.
    fn held(&self, rank: Rank) -> Region {
        match self.root {
            None => Region::output(self.blocks.block(rank)),
            Some(_) => Region::scratch(0..self.blocks.count(rank)),
        }
    }

    fn needs(&self, rank: Rank) -> bool {
        self.root.is_none_or(|root| root == rank)
    }
}

impl Schedule for Spread {
    fn ranks(&self) -> usize {
        self.blocks.parts()
    }

    fn steps(&self) -> usize {
        2 * self.ranks() - 1
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let peer = partner(self.ranks(), rank, step).filter(|&peer| peer != rank);
        let send = peer.filter(|&peer| self.needs(peer));
        let recv = peer.filter(|_| self.needs(rank));
        let transfer = |peer, region| Transfer { peer, region };
        Step {
            send: send.map(|peer| transfer(peer, self.held(rank))),
            recv: recv.map(|peer| transfer(peer, Region::output(self.blocks.block(peer)))),
            ..Step::IDLE
        }
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let steps = with_partner(self.ranks(), rank, after);
        match self.root.filter(|&root| root != rank) {
            Some(root) => Some(rank + root).filter(|step| steps.contains(step)),
            None => first_active(self, rank, steps),
        }
    }

    fn may_copy(&self) -> bool {
        false
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        let (output, scratch) = match self.root {
            Some(root) if root != rank => (0, self.blocks.count(rank)),
            _ => (self.blocks.length(), 0),
        };
        Lengths {
            input: 0,
            output,
            scratch,
        }
    }
}
