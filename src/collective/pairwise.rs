//! Every rank with every other, one partner per step: all-to-all, all-gather and reduce-scatter.

use crate::Rank;
use crate::schedule::{Combine, Lengths, LocalCopy, Region, Schedule, Step, Transfer};
use crate::span::{Blocks, Pieces};

/// Pairwise exchange: in step `s` a rank sends to the rank `s + 1` places ahead on the circle its data for that rank.
///
/// ```text
/// four ranks     step 0   0▶1  1▶2  2▶3  3▶0
///                step 1   0▶2  1▶3  2▶0  3▶1
///                step 2   0▶3  1▶0  2▶1  3▶2
/// ```
///
/// All data goes directly from an input to an output, without intermediate buffers. The only copy is a rank's data for
/// itself.
///
/// # Cost
///
/// `P - 1` steps, in which a rank sends all blocks except its own (in the all-gather, its own block to all others). A
/// single rank takes one step, with one copy.
///
/// # Source
///
/// Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations in MPICH*,
/// 2005, section 3 and 4.3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairwise {
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    AllToAll(Pieces),
    AllGather(Blocks),
    ReduceScatter(Blocks),
}

impl Pairwise {
    #[track_caller]
    fn new(what: What) -> Pairwise {
        let pairwise = Pairwise { what };
        assert!(pairwise.ranks() > 0, "an exchange of 0 ranks");
        pairwise
    }

    /// Block `q` of rank `r`'s input becomes piece `r` of rank `q`'s output; all pieces of a rank have the length of
    /// its block.
    ///
    /// # Panics
    ///
    /// If there are no blocks.
    #[track_caller]
    pub fn all_to_all(blocks: Blocks) -> Pairwise {
        Pairwise::of_pieces(Pieces::alike(blocks))
    }

    /// The all-to-all with a count for each pair of ranks.
    ///
    /// # Panics
    ///
    /// If there are no ranks.
    #[track_caller]
    pub fn of_pieces(pieces: Pieces) -> Pairwise {
        Pairwise::new(What::AllToAll(pieces))
    }

    /// Rank `r`'s input becomes block `r` of all outputs.
    ///
    /// # Panics
    ///
    /// If there are no blocks.
    #[track_caller]
    pub fn all_gather(blocks: Blocks) -> Pairwise {
        Pairwise::new(What::AllGather(blocks))
    }

    /// Rank `r`'s output becomes the fold of block `r` of all inputs, starting with its own and then in descending
    /// order around the circle: for operators that commute.
    ///
    /// # Panics
    ///
    /// If there are no blocks.
    #[track_caller]
    pub fn reduce_scatter(blocks: Blocks) -> Pairwise {
        Pairwise::new(What::ReduceScatter(blocks))
    }

    /// The data that a rank has for another.
    fn sent(&self, rank: Rank, to: Rank) -> Region {
        Region::input(match &self.what {
            What::AllToAll(pieces) => pieces.sent(rank, to),
            What::AllGather(blocks) => 0..blocks.count(rank),
            What::ReduceScatter(blocks) => blocks.block(to),
        })
    }

    /// The destination of the data that a rank receives from another.
    fn put(&self, rank: Rank, from: Rank) -> Region {
        Region::output(match &self.what {
            What::AllToAll(pieces) => pieces.put(rank, from),
            What::AllGather(blocks) => blocks.block(from),
            What::ReduceScatter(blocks) => 0..blocks.count(rank),
        })
    }

    fn own(&self, rank: Rank) -> LocalCopy {
        LocalCopy::new(self.sent(rank, rank), self.put(rank, rank))
    }
}

impl Schedule for Pairwise {
    fn ranks(&self) -> usize {
        match &self.what {
            What::AllToAll(pieces) => pieces.ranks(),
            What::AllGather(blocks) | What::ReduceScatter(blocks) => blocks.parts(),
        }
    }

    fn steps(&self) -> usize {
        (self.ranks() - 1).max(1)
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let (n, ahead) = (self.ranks(), step + 1);
        let (to, from) = ((rank + ahead) % n, (rank + n - ahead % n) % n);
        let talks = ahead < n;
        Step {
            local: (step == 0).then(|| self.own(rank)),
            send: talks.then(|| Transfer {
                peer: to,
                region: self.sent(rank, to),
            }),
            recv: talks.then(|| Transfer {
                peer: from,
                region: self.put(rank, from),
            }),
            combine: match &self.what {
                What::ReduceScatter(_) if talks => Combine::by_rank(rank, from),
                _ => Combine::Replace,
            },
            ..Step::IDLE
        }
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        let (input, output) = match &self.what {
            What::AllToAll(pieces) => (pieces.input(rank), pieces.output(rank)),
            What::AllGather(blocks) => (blocks.count(rank), blocks.length()),
            What::ReduceScatter(blocks) => (blocks.length(), blocks.count(rank)),
        };
        Lengths {
            input,
            output,
            scratch: 0,
        }
    }

    fn copies_first(&self) -> bool {
        true
    }
}
