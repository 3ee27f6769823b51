//! The goals of collectives: the initial contents of the buffers and the required results.

use std::ops::Range;

use crate::Rank;
use crate::names::Collective;
use crate::schedule::{Buffer, Region};
use crate::span::{Blocks, Pieces};

/// The specification of a collective on vectors of `length` elements.
///
/// Goals are *in place*: every rank starts from its output, and a block that a rank owns lies at its position in the
/// vector. [`from_input`](Self::from_input) changes that, and [`Goal::of`](Self::of) returns the goal of a call. Block
/// `b` of `N` elements is [`span::block(N, ranks, b)`](crate::span::block), or block `b` of those passed to
/// [`check_with`](super::check_with).
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check};
/// use rankfold::collective::BinomialGather;
/// use rankfold::schedule::Schedule;
///
/// let gather = BinomialGather::new(6, 60);
/// check(&gather, &Goal::gather(0, 60)).unwrap();
/// check(&gather.reversed(), &Goal::scatter(0, 60)).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Goal {
    what: What,
    length: usize,
    starts: Starts,
    ordered: bool,
}

/// The buffer that holds a rank's initial data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Starts {
    InPlace,
    InInput,
    /// In the output at the root, in the inputs elsewhere.
    RootInPlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Broadcast { root: Rank },
    Reduce { root: Rank },
    AllReduce,
    ReduceScatter,
    AllGather,
    Gather { root: Rank },
    Scatter { root: Rank },
    AllToAll,
    Scan,
    ExclusiveScan,
    Barrier,
}

/// The cuts of vectors in which ranks own blocks, or have pieces for each other.
pub(super) struct Cut {
    pub(super) blocks: Blocks,
    pub(super) pieces: Pieces,
}

/// The initial elements of one rank: position `x` of the region holds index `x + shift`.
pub(super) struct Source {
    pub(super) region: Region,
    pub(super) contributor: Rank,
    pub(super) shift: isize,
}

/// A required result: position `x` of the output holds index `x + shift`, folded from all these ranks.
pub(super) struct Want {
    pub(super) run: Range<usize>,
    pub(super) contributors: Range<Rank>,
    pub(super) shift: isize,
}

impl Goal {
    fn new(what: What, length: usize) -> Goal {
        Goal {
            what,
            length,
            starts: Starts::InPlace,
            ordered: false,
        }
    }

    /// The goal of a call of the collective, with vectors where calls pass them: in place, except for collectives whose
    /// result differs in length from their initial data (reduce_scatter, all_gather, gather, scatter, all_to_all),
    /// which go [from inputs](Self::from_input) to outputs. In a reduce the root's vector is
    /// [in place](Self::at_root_in_place), and the other vectors stay unchanged.
    ///
    /// `root` matters only for collectives that have one. `length` is that of the whole vector.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::check::Goal;
    /// use rankfold::collective::Collective;
    ///
    /// assert_eq!(Goal::of(Collective::AllGather, 0, 9), Goal::all_gather(9).from_input());
    /// ```
    pub fn of(collective: Collective, root: Rank, length: usize) -> Goal {
        match collective {
            Collective::Barrier => Goal::barrier(),
            Collective::Broadcast => Goal::broadcast(root, length),
            Collective::Reduce => Goal::reduce(root, length).at_root_in_place(),
            Collective::AllReduce => Goal::all_reduce(length),
            Collective::ReduceScatter => Goal::reduce_scatter(length).from_input(),
            Collective::AllGather => Goal::all_gather(length).from_input(),
            Collective::Gather => Goal::gather(root, length).from_input(),
            Collective::Scatter => Goal::scatter(root, length).from_input(),
            Collective::AllToAll => Goal::all_to_all(length),
            Collective::Scan => Goal::scan(length),
            Collective::ExclusiveScan => Goal::exclusive_scan(length),
        }
    }

    /// Every rank ends with the root's vector.
    pub fn broadcast(root: Rank, length: usize) -> Goal {
        Goal::new(What::Broadcast { root }, length)
    }

    /// The root ends with the fold of all vectors; the outputs of other ranks are unspecified.
    pub fn reduce(root: Rank, length: usize) -> Goal {
        Goal::new(What::Reduce { root }, length)
    }

    /// Every rank ends with the fold of all vectors.
    pub fn all_reduce(length: usize) -> Goal {
        Goal::new(What::AllReduce, length)
    }

    /// Rank `r` ends with block `r` of the fold of all vectors.
    pub fn reduce_scatter(length: usize) -> Goal {
        Goal::new(What::ReduceScatter, length)
    }

    /// Rank `r` starts with block `r`, and every rank ends with all blocks.
    pub fn all_gather(length: usize) -> Goal {
        Goal::new(What::AllGather, length)
    }

    /// Rank `r` starts with block `r`, and the root ends with all blocks.
    pub fn gather(root: Rank, length: usize) -> Goal {
        Goal::new(What::Gather { root }, length)
    }

    /// The root starts with all blocks, and rank `r` ends with block `r`.
    pub fn scatter(root: Rank, length: usize) -> Goal {
        Goal::new(What::Scatter { root }, length)
    }

    /// Block `q` of rank `r`'s input becomes piece `r` of rank `q`'s output; all pieces of a rank have the length of
    /// its block.
    pub fn all_to_all(length: usize) -> Goal {
        Goal::new(What::AllToAll, length).from_input()
    }

    /// Rank `r` ends with the fold of the vectors of ranks `0..=r`.
    pub fn scan(length: usize) -> Goal {
        Goal::new(What::Scan, length)
    }

    /// Rank `r` ends with the fold of the vectors of ranks `0..r`; the output of rank 0 is unspecified.
    pub fn exclusive_scan(length: usize) -> Goal {
        Goal::new(What::ExclusiveScan, length)
    }

    /// Every rank hears from every other, directly or indirectly.
    pub fn barrier() -> Goal {
        Goal::new(What::Barrier, 0)
    }

    /// The same goal starting from the inputs, which stay unchanged. A block that a rank starts from or ends with is
    /// then a buffer of its own.
    pub fn from_input(self) -> Goal {
        Goal {
            starts: Starts::InInput,
            ..self
        }
    }

    /// The same goal starting from the inputs, which stay unchanged, except at the root, which starts in place. Without
    /// a root this is [`from_input`](Self::from_input).
    pub fn at_root_in_place(self) -> Goal {
        Goal {
            starts: Starts::RootInPlace,
            ..self
        }
    }

    /// The same goal with all operands in rank order, for operators that do not commute.
    pub fn in_rank_order(self) -> Goal {
        Goal {
            ordered: true,
            ..self
        }
    }

    /// The number of elements of the vector.
    pub fn length(&self) -> usize {
        self.length
    }

    pub(super) fn wants_order(&self) -> bool {
        self.ordered
    }

    pub(super) fn is_barrier(&self) -> bool {
        self.what == What::Barrier
    }

    /// The root, if the collective has one.
    pub fn root(&self) -> Option<Rank> {
        match self.what {
            What::Broadcast { root } | What::Reduce { root } => Some(root),
            What::Gather { root } | What::Scatter { root } => Some(root),
            _ => None,
        }
    }

    /// The buffer in which the rank has its initial data.
    fn buffer(&self, rank: Rank) -> Buffer {
        match self.starts {
            Starts::InPlace => Buffer::Output,
            Starts::RootInPlace if self.root() == Some(rank) => Buffer::Output,
            Starts::InInput | Starts::RootInPlace => Buffer::Input,
        }
    }

    /// The initial elements of a rank, for vectors cut by `cut`.
    pub(super) fn source(&self, cut: &Cut, rank: Rank) -> Option<Source> {
        let (index, place) = match self.what {
            What::Barrier => return None,
            What::Broadcast { root } | What::Scatter { root } if root != rank => return None,
            What::AllGather | What::Gather { .. } => self.block(&cut.blocks, rank),
            What::AllToAll => (0, 0..cut.pieces.input(rank)),
            _ => (0, 0..self.length),
        };
        Some(Source {
            shift: index as isize - place.start as isize,
            region: Region::new(self.buffer(rank), place),
            contributor: rank,
        })
    }

    /// The start of a rank's own block in the vector, and its range in the buffer.
    fn block(&self, blocks: &Blocks, rank: Rank) -> (usize, Range<usize>) {
        let block = blocks.block(rank);
        match self.buffer(rank) {
            Buffer::Output => (block.start, block),
            _ => (block.start, 0..block.len()),
        }
    }

    /// The results that a rank must have at the end.
    pub(super) fn wants(&self, cut: &Cut, rank: Rank) -> Vec<Want> {
        let blocks = &cut.blocks;
        let ranks = blocks.parts();
        match self.what {
            What::Barrier => Vec::new(),
            What::Reduce { root } | What::Gather { root } if root != rank => Vec::new(),
            What::Reduce { .. } | What::AllReduce => vec![self.whole(0..ranks)],
            What::Broadcast { root } => vec![self.whole(root..root + 1)],
            What::Scan => vec![self.whole(0..rank + 1)],
            What::ExclusiveScan if rank == 0 => Vec::new(),
            What::ExclusiveScan => vec![self.whole(0..rank)],
            What::ReduceScatter => vec![self.own_block(blocks, rank, 0..ranks)],
            What::Scatter { root } => vec![self.own_block(blocks, rank, root..root + 1)],
            What::AllGather | What::Gather { .. } => all_blocks(blocks),
            What::AllToAll => all_pieces(&cut.pieces, rank),
        }
    }

    fn whole(&self, contributors: Range<Rank>) -> Want {
        Want {
            run: 0..self.length,
            contributors,
            shift: 0,
        }
    }

    fn own_block(&self, blocks: &Blocks, rank: Rank, contributors: Range<Rank>) -> Want {
        let (index, run) = self.block(blocks, rank);
        Want {
            shift: index as isize - run.start as isize,
            run,
            contributors,
        }
    }
}

fn all_blocks(blocks: &Blocks) -> Vec<Want> {
    let block = |rank| Want {
        run: blocks.block(rank),
        contributors: rank..rank + 1,
        shift: 0,
    };
    (0..blocks.parts()).map(block).collect()
}

fn all_pieces(pieces: &Pieces, rank: Rank) -> Vec<Want> {
    let piece = |from: Rank| {
        let run = pieces.put(rank, from);
        Want {
            shift: pieces.sent(from, rank).start as isize - run.start as isize,
            run,
            contributors: from..from + 1,
        }
    };
    (0..pieces.ranks()).map(piece).collect()
}
