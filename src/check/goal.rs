//! What a collective starts from, and what it must leave where.

use std::ops::Range;

use crate::Rank;
use crate::names::Collective;
use crate::schedule::{Buffer, Region};
use crate::span::{Blocks, Pieces};

/// What a collective must do with vectors of so many elements.
///
/// Goals are *in place*: everything starts in the outputs, and where a rank owns a block of the
/// vector, it lies at its own place in it. [`from_input`](Self::from_input) says otherwise, and
/// [`Goal::of`](Self::of) is the goal of a call. Block `b` of `N` elements is
/// [`span::block(N, ranks, b)`](crate::span::block), or one of those of
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

/// Where ranks have what they start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Starts {
    InPlace,
    InInput,
    /// The root in place, the others in their inputs.
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

/// How vectors are cut where ranks own blocks, or have pieces for each other.
pub(super) struct Cut {
    pub(super) blocks: Blocks,
    pub(super) pieces: Pieces,
}

/// Elements of one rank: at place `x` of the region, index `x + shift`.
pub(super) struct Source {
    pub(super) region: Region,
    pub(super) contributor: Rank,
    pub(super) shift: isize,
}

/// A result: at place `x` of the output, index `x + shift` of all these ranks.
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

    /// What a call of the collective must do, as calls pass their vectors: in place, but for those whose
    /// result is of another length than what they start from (reduce_scatter, all_gather, gather,
    /// scatter, all_to_all), which go [from inputs](Self::from_input) to outputs; and in a reduce the
    /// root's vector is [in place](Self::at_root_in_place) and the others are left as they are.
    ///
    /// The root counts only where there is one. `length` is that of the whole vector.
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

    /// What the root has, everybody has.
    pub fn broadcast(root: Rank, length: usize) -> Goal {
        Goal::new(What::Broadcast { root }, length)
    }

    /// The root has the fold of all vectors; what the others have is left open.
    pub fn reduce(root: Rank, length: usize) -> Goal {
        Goal::new(What::Reduce { root }, length)
    }

    /// Everybody has the fold of all vectors.
    pub fn all_reduce(length: usize) -> Goal {
        Goal::new(What::AllReduce, length)
    }

    /// Rank `r` has block `r` of the fold of all vectors.
    pub fn reduce_scatter(length: usize) -> Goal {
        Goal::new(What::ReduceScatter, length)
    }

    /// Rank `r` has block `r` at first, and everybody has all in the end.
    pub fn all_gather(length: usize) -> Goal {
        Goal::new(What::AllGather, length)
    }

    /// Rank `r` has block `r` at first, and the root has all in the end.
    pub fn gather(root: Rank, length: usize) -> Goal {
        Goal::new(What::Gather { root }, length)
    }

    /// The root has all at first, and rank `r` has block `r` in the end.
    pub fn scatter(root: Rank, length: usize) -> Goal {
        Goal::new(What::Scatter { root }, length)
    }

    /// Block `q` of rank `r`'s input is piece `r` of rank `q`'s output, all pieces of a rank being as
    /// long as its block.
    pub fn all_to_all(length: usize) -> Goal {
        Goal::new(What::AllToAll, length).from_input()
    }

    /// Rank `r` has the fold of the vectors of ranks `0..=r`.
    pub fn scan(length: usize) -> Goal {
        Goal::new(What::Scan, length)
    }

    /// Rank `r` has the fold of the vectors of ranks `0..r`; what rank 0 has is left open.
    pub fn exclusive_scan(length: usize) -> Goal {
        Goal::new(What::ExclusiveScan, length)
    }

    /// Everybody has heard from everybody, directly or through others.
    pub fn barrier() -> Goal {
        Goal::new(What::Barrier, 0)
    }

    /// The same from the inputs, which are left as they are. A block that a rank starts from or ends
    /// with is then a buffer of its own.
    pub fn from_input(self) -> Goal {
        Goal {
            starts: Starts::InInput,
            ..self
        }
    }

    /// The same from the inputs, which are left as they are, but at the root in place. Without a root
    /// this is [`from_input`](Self::from_input).
    pub fn at_root_in_place(self) -> Goal {
        Goal {
            starts: Starts::RootInPlace,
            ..self
        }
    }

    /// The same, with all operands in rank order: for operators that do not commute.
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

    /// The root, where there is one.
    pub fn root(&self) -> Option<Rank> {
        match self.what {
            What::Broadcast { root } | What::Reduce { root } => Some(root),
            What::Gather { root } | What::Scatter { root } => Some(root),
            _ => None,
        }
    }

    /// Where the rank has what it starts from.
    fn buffer(&self, rank: Rank) -> Buffer {
        match self.starts {
            Starts::InPlace => Buffer::Output,
            Starts::RootInPlace if self.root() == Some(rank) => Buffer::Output,
            Starts::InInput | Starts::RootInPlace => Buffer::Input,
        }
    }

    /// What a rank has at first, vectors being cut like this.
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

    /// Where a rank's own block starts in the vector, and where it lies in the buffer.
    fn block(&self, blocks: &Blocks, rank: Rank) -> (usize, Range<usize>) {
        let block = blocks.block(rank);
        match self.buffer(rank) {
            Buffer::Output => (block.start, block),
            _ => (block.start, 0..block.len()),
        }
    }

    /// What a rank must have in the end.
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
