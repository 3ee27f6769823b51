//! The binomial tree with a block for every rank.

use crate::Rank;
use crate::schedule::{Lengths, Region, Schedule, Step, Transfer};
use crate::span;
use crate::topology::{Pattern, SinglePort, Topology};

/// Gather to rank 0 along the binomial tree: a rank sends the blocks of its whole subtree, a run of
/// ranks. Reversed, it is the scatter: every subtree's part is carved off on the way down.
///
/// ```text
/// step 0    1──▶0   3──▶2   5──▶4   7──▶6       one block
/// step 1    2──────▶0       6──────▶4           blocks 2 3 and 6 7
/// step 2    4──────────────▶0                   blocks 4 5 6 7
/// ```
///
/// # Cost
///
/// `⌈log₂ P⌉` steps; the root receives all blocks but its own.
///
/// # Source
///
/// Grama, Gupta, Karypis and Kumar, *Introduction to Parallel Computing*, 4.4.
#[derive(Clone, Debug)]
pub struct BinomialGather {
    tree: SinglePort,
    length: usize,
}

impl BinomialGather {
    /// Among so many ranks, of vectors of so many elements.
    ///
    /// # Panics
    ///
    /// If there is no rank.
    pub fn new(ranks: usize, length: usize) -> BinomialGather {
        BinomialGather {
            tree: Topology::binomial(ranks).single_port(),
            length,
        }
    }

    /// The blocks below a rank that is not the root, its own included.
    fn subtree(&self, rank: Rank) -> Region {
        let end = (rank + (1 << rank.trailing_zeros())).min(self.ranks());
        let cut = |block| span::cut(self.length, self.ranks(), block);
        Region::output(cut(rank)..cut(end))
    }
}

impl Schedule for BinomialGather {
    fn ranks(&self) -> usize {
        self.tree.ranks()
    }

    fn steps(&self) -> usize {
        self.tree.steps()
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let transfer = |peer, below| Transfer {
            peer,
            region: self.subtree(below),
        };
        Step {
            send: self.tree.to(rank, step).map(|peer| transfer(peer, rank)),
            recv: self.tree.from(rank, step).map(|peer| transfer(peer, peer)),
            ..Step::IDLE
        }
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        Pattern::next_active(&self.tree, rank, after)
    }

    fn lengths(&self, _: Rank) -> Lengths {
        Lengths::in_place(self.length)
    }
}
