//! What a collective starts from, and what it must leave where.

use std::ops::Range;

use crate::Rank;
use crate::schedule::{Buffer, Region};
use crate::span;

/// What a collective must do with vectors of so many elements.
///
/// Goals are *in place*: everything starts in the outputs, and where a rank owns a block of the
/// vector, it lies at its own place in it. [`from_input`](Self::from_input) says otherwise. Block
/// `b` of `N` elements is [`span::block(N, ranks, b)`](crate::span::block).
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
    source: Buffer,
    ordered: bool,
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
            source: Buffer::Output,
            ordered: false,
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
            source: Buffer::Input,
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

    /// What a rank has at first.
    pub(super) fn source(&self, ranks: usize, rank: Rank) -> Option<Source> {
        let (index, place) = match self.what {
            What::Barrier => return None,
            What::Broadcast { root } | What::Scatter { root } if root != rank => return None,
            What::AllGather | What::Gather { .. } => self.block(ranks, rank),
            _ => (0, 0..self.length),
        };
        Some(Source {
            shift: index as isize - place.start as isize,
            region: Region::new(self.source, place),
            contributor: rank,
        })
    }

    /// Where a rank's own block starts in the vector, and where it lies in the buffer.
    fn block(&self, ranks: usize, rank: Rank) -> (usize, Range<usize>) {
        let block = span::block(self.length, ranks, rank);
        match self.source {
            Buffer::Output => (block.start, block),
            _ => (block.start, 0..block.len()),
        }
    }

    /// What a rank must have in the end.
    pub(super) fn wants(&self, ranks: usize, rank: Rank) -> Vec<Want> {
        match self.what {
            What::Barrier => Vec::new(),
            What::Reduce { root } | What::Gather { root } if root != rank => Vec::new(),
            What::Reduce { .. } | What::AllReduce => vec![self.whole(0..ranks)],
            What::Broadcast { root } => vec![self.whole(root..root + 1)],
            What::Scan => vec![self.whole(0..rank + 1)],
            What::ExclusiveScan if rank == 0 => Vec::new(),
            What::ExclusiveScan => vec![self.whole(0..rank)],
            What::ReduceScatter => vec![self.own_block(ranks, rank, 0..ranks)],
            What::Scatter { root } => vec![self.own_block(ranks, rank, root..root + 1)],
            What::AllGather | What::Gather { .. } => self.all_blocks(ranks),
            What::AllToAll => self.pieces(ranks, rank),
        }
    }

    fn whole(&self, contributors: Range<Rank>) -> Want {
        Want {
            run: 0..self.length,
            contributors,
            shift: 0,
        }
    }

    fn own_block(&self, ranks: usize, rank: Rank, contributors: Range<Rank>) -> Want {
        let (index, run) = self.block(ranks, rank);
        Want {
            shift: index as isize - run.start as isize,
            run,
            contributors,
        }
    }

    fn all_blocks(&self, ranks: usize) -> Vec<Want> {
        let block = |rank| Want {
            run: span::block(self.length, ranks, rank),
            contributors: rank..rank + 1,
            shift: 0,
        };
        (0..ranks).map(block).collect()
    }

    fn pieces(&self, ranks: usize, rank: Rank) -> Vec<Want> {
        let block = span::block(self.length, ranks, rank);
        let piece = |from: Rank| {
            let start = from * block.len();
            Want {
                run: start..start + block.len(),
                contributors: from..from + 1,
                shift: block.start as isize - start as isize,
            }
        };
        (0..ranks).map(piece).collect()
    }
}
