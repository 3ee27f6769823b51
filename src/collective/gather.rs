//! Gather along a tree whose subtrees are contiguous ranges of ranks; reversed, the scatter.

use std::ops::Range;

use crate::Rank;
use crate::schedule::{Lengths, LocalCopy, Region, Schedule, Step, Transfer, least_after, swap};
use crate::span::Blocks;
use crate::topology::{BinomialTo, Subtrees};

/// Gather to the root of a tree: a rank sends the blocks of its whole subtree, a contiguous range of ranks. Reversed,
/// it is the scatter: every subtree's part is split off on the way down. From the root's input to each rank's block, the
/// scatter is [`into_scatter`](Self::into_scatter).
///
/// ```text
/// binomial, to 0    step 0    1──▶0   3──▶2   5──▶4   7──▶6       one block
///                   step 1    2──────▶0       6──────▶4           blocks 2 3 and 6 7
///                   step 2    4──────────────▶0                   blocks 4 5 6 7
/// ```
///
/// In place, a block lies at its position in the output. [From inputs](Self::from_input) that are the ranks' blocks,
/// leaves send from their inputs, and inner ranks have scratch space for exactly their subtree.
///
/// # Cost
///
/// The steps of the tree; the root receives all blocks except its own. In place nothing is copied; from inputs, every
/// rank that is not a leaf copies its own block.
///
/// # Source
///
/// Grama, Gupta, Karypis and Kumar, *Introduction to Parallel Computing*, 4.4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gather<P> {
    tree: P,
    blocks: Blocks,
    from_input: bool,
}

/// The [`Gather`] along the binomial tree.
pub type BinomialGather = Gather<BinomialTo>;

impl BinomialGather {
    /// The gather to rank 0 among `ranks` ranks, of vectors of `length` elements, in place.
    ///
    /// # Panics
    ///
    /// If `ranks` is 0.
    #[track_caller]
    pub fn new(ranks: usize, length: usize) -> BinomialGather {
        Gather::along(BinomialTo::new(ranks, 0), Blocks::even(length, ranks))
    }
}

impl<P: Subtrees> Gather<P> {
    /// The gather of `blocks` to the root of the tree, in place.
    ///
    /// # Panics
    ///
    /// If there is not exactly one block per rank.
    #[track_caller]
    pub fn along(tree: P, blocks: Blocks) -> Gather<P> {
        let (parts, ranks) = (blocks.parts(), tree.ranks());
        assert!(parts == ranks, "{parts} blocks of {ranks} ranks");
        Gather {
            tree,
            blocks,
            from_input: false,
        }
    }

    /// The same gather from inputs that are the ranks' blocks.
    pub fn from_input(self) -> Gather<P> {
        Gather {
            from_input: true,
            ..self
        }
    }

    /// The scatter from the root's input into outputs that are the ranks' blocks: this gather run backwards. A rank that
    /// passes blocks on copies its own one in the step in which it first sends.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::check::{Goal, check};
    /// use rankfold::collective::BinomialGather;
    /// use rankfold::schedule::Schedule;
    ///
    /// let scatter = BinomialGather::new(8, 20).into_scatter();
    /// check(&scatter, &Goal::scatter(0, 20).from_input()).unwrap();
    /// assert_eq!(scatter.steps(), 3);
    /// ```
    pub fn into_scatter(self) -> Scatter<P> {
        Scatter {
            gather: self.from_input(),
        }
    }

    /// The region where a rank holds the blocks of a range of ranks.
    fn region(&self, rank: Rank, ranks: Range<Rank>) -> Region {
        let run = self.blocks.run(ranks);
        if !self.from_input || rank == self.tree.root() {
            return Region::output(run);
        }
        let subtree = self.tree.subtree(rank);
        if subtree.len() == 1 {
            return Region::input(0..run.len());
        }
        let start = self.blocks.cut(subtree.start);
        Region::scratch(run.start - start..run.end - start)
    }

    /// The copy of the rank's own block next to those that it receives.
    fn load(&self, rank: Rank) -> Option<LocalCopy> {
        let copy = LocalCopy::new(
            Region::input(0..self.blocks.count(rank)),
            self.region(rank, rank..rank + 1),
        );
        let moves = copy.from != copy.to && !copy.from.is_empty();
        (self.from_input && moves).then_some(copy)
    }

    fn alone(&self) -> bool {
        self.from_input && self.ranks() == 1
    }

    fn first_active(&self, rank: Rank) -> usize {
        self.tree.next_active(rank, None).unwrap_or(0)
    }
}

impl<P: Subtrees> Schedule for Gather<P> {
    fn ranks(&self) -> usize {
        self.tree.ranks()
    }

    fn steps(&self) -> usize {
        self.tree.steps() + usize::from(self.alone())
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let transfer = |peer, sender| Transfer {
            peer,
            region: self.region(rank, self.tree.behind(sender, step)),
        };
        let opens = self.from_input && step == self.first_active(rank);
        Step {
            local: if opens { self.load(rank) } else { None },
            send: self.tree.to(rank, step).map(|peer| transfer(peer, rank)),
            recv: self.tree.from(rank, step).map(|peer| transfer(peer, peer)),
            ..Step::IDLE
        }
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let loads = self.alone() && after.is_none() && self.load(rank).is_some();
        let next = self.tree.next_active(rank, after);
        next.or(loads.then_some(0))
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        if !self.from_input {
            return Lengths::in_place(self.blocks.length());
        }
        let subtree = self.tree.subtree(rank);
        let (root, leaf) = (rank == self.tree.root(), subtree.len() == 1);
        let room = self.blocks.run(subtree).len();
        Lengths {
            input: self.blocks.count(rank),
            output: if root { room } else { 0 },
            scratch: if root || leaf { 0 } else { room },
        }
    }

    fn copies_first(&self) -> bool {
        self.from_input
    }
}

/// The scatter from the root of a tree: see [`Gather::into_scatter`].
///
/// # Cost
///
/// The steps of the tree; one for a rank alone, which copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scatter<P> {
    gather: Gather<P>,
}

impl<P: Subtrees> Scatter<P> {
    /// The last step of the gather in which a rank receives: here the first in which it sends.
    fn last_receive(&self, rank: Rank) -> Option<usize> {
        let tree = &self.gather.tree;
        let last = tree.last_active(rank, tree.steps())?;
        match tree.from(rank, last) {
            Some(_) => Some(last),
            None => tree.last_active(rank, last),
        }
    }

    /// The copy of the rank's own block to its output.
    fn keep(&self, rank: Rank) -> Option<LocalCopy> {
        let LocalCopy { from, to, .. } = self.gather.load(rank)?;
        Some(LocalCopy::new(swap(to), swap(from)))
    }
}

impl<P: Subtrees> Schedule for Scatter<P> {
    fn ranks(&self) -> usize {
        self.gather.ranks()
    }

    fn steps(&self) -> usize {
        self.gather.steps()
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let Some(mirrored) = self.steps().checked_sub(step + 1) else {
            return Step::IDLE;
        };
        let Step { send, recv, .. } = self.gather.step(rank, mirrored).map_regions(swap);
        let sends_first = recv.is_some() && self.last_receive(rank) == Some(mirrored);
        Step {
            local: match sends_first || self.gather.alone() {
                true => self.keep(rank),
                false => None,
            },
            send: recv,
            recv: send,
            ..Step::IDLE
        }
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        if self.gather.alone() {
            return self.gather.next_active(rank, after);
        }
        let bound = self.steps().checked_sub(least_after(after)?)?;
        let mirrored = self.gather.tree.last_active(rank, bound)?;
        Some(self.steps() - 1 - mirrored)
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        self.gather.lengths(rank).swapped()
    }

    fn copies_first(&self) -> bool {
        true
    }
}
