//! Gather along a tree whose subtrees are contiguous ranges of ranks; reversed, the scatter.

use std::ops::Range;

use crate::Rank;
use crate::schedule::{Lengths, LocalCopy, Region, Schedule, Step, Transfer};
use crate::span::Blocks;
use crate::topology::{BinomialTo, Subtrees};

/// Gather to the root of a tree: a rank sends the blocks of its whole subtree, a contiguous range of ranks. Reversed,
/// it is the scatter: every subtree's part is split off on the way down.
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

    /// Copies the rank's own block next to those that it receives, in the rank's first step.
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
