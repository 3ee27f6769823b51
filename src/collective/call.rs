//! The shape of a call: everything that an algorithm must know about it.

use std::sync::Arc;

use super::Collective;
use crate::Rank;
use crate::names::Transport;
use crate::span::{Blocks, Pieces};
use crate::topology::Levels;

/// The shape of a collective call.
///
/// The collective determines where vectors are:
///
/// | collective | starts from | ends in |
/// |---|---|---|
/// | broadcast | the root's output | all outputs |
/// | reduce | the root's output, the others' inputs | the root's output |
/// | all_reduce, scan, exclusive_scan | outputs | outputs |
/// | all_reduce [from inputs](Self::from_input) | inputs | outputs |
/// | reduce_scatter | inputs, the whole vector | outputs, a block each |
/// | all_gather | inputs, a block each | outputs, the whole vector |
/// | gather | inputs, a block each | the root's output |
/// | scatter | the root's input | outputs, a block each |
/// | all_to_all | inputs, a block for each rank | outputs, a piece from each rank |
///
/// Inputs are read-only. [`check::Goal::of`](crate::check::Goal::of) states the same for the checker.
///
/// # Examples
///
/// ```
/// use rankfold::collective::{Call, Collective};
///
/// let call = Call::new(Collective::Reduce, 8, 100).to_root(3).commuting();
/// assert_eq!((call.ranks(), call.length(), call.root), (8, 100, 3));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// The collective that is called.
    pub collective: Collective,
    /// The whole vector, cut into the blocks that ranks own.
    pub blocks: Blocks,
    /// For an all-to-all with a count for each pair of ranks: these counts, which replace the blocks.
    pub pieces: Option<Pieces>,
    /// The root; 0 if the collective has none.
    pub root: Rank,
    /// Whether the operator commutes; ignored if the collective does not fold.
    pub commutes: bool,
    /// Whether an all-reduce starts from inputs.
    pub from_input: bool,
    /// Whether the ranks take turns on too few CPUs, where every synchronization costs a round of turns.
    pub crowded: bool,
    /// Whether one rank folds for all in an all-reduce by [`Cells`](super::Algorithm::Cells), though the ranks take no turns;
    /// otherwise every rank there reads the vectors of all others.
    pub folds_at_one: bool,
    /// What carries the messages: over channels no rank reads the memory of another.
    pub transport: Transport,
    /// The groups of nearby ranks, for algorithms that follow the machine; without it, all ranks are equally near.
    pub levels: Option<Arc<Levels>>,
}

impl Call {
    /// A call of `ranks` ranks with vectors of `length` elements, with root 0 and an operator that does not commute, in
    /// place if the collective allows both forms.
    ///
    /// `length` is that of the whole vector, even if a rank passes only one block of it.
    pub const fn new(collective: Collective, ranks: usize, length: usize) -> Call {
        Call {
            collective,
            blocks: Blocks::even(length, ranks),
            pieces: None,
            root: 0,
            commutes: false,
            from_input: false,
            crowded: false,
            folds_at_one: false,
            transport: Transport::Memory,
            levels: None,
        }
    }

    /// The same call for ranks in groups, which algorithms that follow the machine use.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::{Algorithm, Call, Collective};
    /// use rankfold::topology::Levels;
    ///
    /// let call = Call::new(Collective::AllReduce, 16, 1).on(Levels::runs(16, &[8]));
    /// let schedule = "hierarchical".parse::<Algorithm>()?.schedule(&call)?;
    /// assert_eq!(rankfold::schedule::Schedule::steps(&schedule), 3 + 1 + 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on(self, levels: impl Into<Arc<Levels>>) -> Call {
        Call {
            levels: Some(levels.into()),
            ..self
        }
    }

    /// The same call with other blocks, for collectives with a count for each rank.
    pub fn with_blocks(self, blocks: Blocks) -> Call {
        Call { blocks, ..self }
    }

    /// An all-to-all with a count for each pair of ranks.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::check::check_pieces;
    /// use rankfold::collective::{Algorithm, Call};
    /// use rankfold::span::Pieces;
    ///
    /// let pieces = Pieces::of(&[1, 2, 3, 0]).unwrap();
    /// let schedule = Algorithm::Pairwise.schedule(&Call::of_pieces(pieces.clone())).unwrap();
    /// assert_eq!(check_pieces(&schedule, pieces).unwrap().elements(), 2 + 3);
    /// ```
    pub fn of_pieces(pieces: Pieces) -> Call {
        Call {
            blocks: Blocks::even(0, pieces.ranks()),
            pieces: Some(pieces),
            ..Call::new(Collective::AllToAll, 0, 0)
        }
    }

    /// The same call with another root.
    pub fn to_root(self, root: Rank) -> Call {
        Call { root, ..self }
    }

    /// The same call with an operator that commutes.
    pub fn commuting(self) -> Call {
        Call {
            commutes: true,
            ..self
        }
    }

    /// The same call from inputs, for the all-reduce.
    pub fn from_input(self) -> Call {
        Call {
            from_input: true,
            ..self
        }
    }

    /// The same call for more ranks than there are CPUs.
    pub fn crowded(self) -> Call {
        Call {
            crowded: true,
            ..self
        }
    }

    /// The same call, in which an all-reduce by [`Cells`](super::Algorithm::Cells) is folded at one rank, as it is where ranks
    /// take turns, and in a started call.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::{Algorithm, Call, Collective};
    /// use rankfold::schedule::Schedule;
    ///
    /// let call = Call::new(Collective::AllReduce, 8, 1);
    /// let messages = |call: &Call| {
    ///     let schedule = Algorithm::Cells.schedule(call).unwrap();
    ///     let steps = (0..8).flat_map(|rank| (0..schedule.steps()).map(move |step| (rank, step)));
    ///     steps.filter(|&(rank, step)| schedule.step(rank, step).send.is_some()).count()
    /// };
    /// assert_eq!(messages(&call), 8 * 7);
    /// assert_eq!(messages(&call.clone().folding_at_one()), 2 * 7);
    /// assert_eq!(messages(&call.crowded()), 2 * 7);
    /// ```
    pub fn folding_at_one(self) -> Call {
        Call {
            folds_at_one: true,
            ..self
        }
    }

    /// The same call in a world with this [transport](crate::World::transport).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::Transport;
    /// use rankfold::collective::{Algorithm, Call, Choice, Collective};
    ///
    /// let call = Call::new(Collective::AllReduce, 8, 1);
    /// assert_eq!(Choice::of(&call, 8).algorithm, Algorithm::Cells);
    /// let call = call.over(Transport::Channels);
    /// assert_eq!(Choice::of(&call, 8).algorithm, Algorithm::Exchange);
    /// ```
    pub fn over(self, transport: Transport) -> Call {
        Call { transport, ..self }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.blocks.parts()
    }

    /// The numbers of elements of a rank's input and output.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::{Call, Collective};
    ///
    /// let gather = Call::new(Collective::Gather, 4, 12);
    /// assert_eq!((gather.buffers(0), gather.buffers(1)), ((3, 12), (3, 0)));
    /// ```
    pub fn buffers(&self, rank: Rank) -> (usize, usize) {
        let (all, own) = (self.length(), || self.blocks.count(rank));
        let at_root = |length: usize| if rank == self.root { length } else { 0 };
        match self.collective {
            Collective::Barrier => (0, 0),
            Collective::AllReduce if self.from_input => (all, all),
            Collective::Reduce => (all - at_root(all), at_root(all)),
            Collective::ReduceScatter => (all, own()),
            Collective::AllGather => (own(), all),
            Collective::Gather => (own(), at_root(all)),
            Collective::Scatter => (at_root(all), own()),
            Collective::AllToAll => match &self.pieces {
                Some(pieces) => (pieces.input(rank), pieces.output(rank)),
                None => (all, own().saturating_mul(self.ranks())),
            },
            _ => (0, all),
        }
    }

    /// The number of elements of the whole vector; 0 for a barrier, and for calls that have only pieces.
    pub fn length(&self) -> usize {
        match self.collective {
            Collective::Barrier => 0,
            _ => self.blocks.length(),
        }
    }

    /// The maximum number of elements that a rank publishes when it publishes the same data to all others: its data for
    /// all of them, side by side. With only one other rank, that is the block for that rank alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::{Call, Collective};
    ///
    /// assert_eq!(Call::new(Collective::AllGather, 4, 12).most_written(), 3);
    /// assert_eq!(Call::new(Collective::AllReduce, 4, 12).most_written(), 12);
    /// assert_eq!(Call::new(Collective::Scatter, 4, 12).most_written(), 12);
    /// assert_eq!(Call::new(Collective::Scatter, 2, 12).most_written(), 6);
    /// ```
    pub fn most_written(&self) -> usize {
        use Collective::*;
        match self.collective {
            AllGather | Gather => self.blocks.longest(),
            Scatter | ReduceScatter | AllToAll if self.ranks() == 2 => self.blocks.longest(),
            _ => self.length(),
        }
    }
}
