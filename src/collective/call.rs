//! The shape of a call: all that an algorithm must know of it.

use std::sync::Arc;

use super::Collective;
use crate::Rank;
use crate::span::{Blocks, Pieces};
use crate::topology::Levels;

/// The shape of a collective call.
///
/// Where vectors lie follows from the collective:
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
/// Inputs are only read. [`check::Goal::of`](crate::check::Goal::of) says the same to the checker.
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
    /// What it does.
    pub collective: Collective,
    /// The whole vector, cut into the blocks that ranks own.
    pub blocks: Blocks,
    /// For an all-to-all with a count for each pair of ranks: these, instead of blocks.
    pub pieces: Option<Pieces>,
    /// The root; 0 where there is none.
    pub root: Rank,
    /// Whether the operator commutes; of no account where nothing is folded.
    pub commutes: bool,
    /// Whether an all-reduce starts from inputs.
    pub from_input: bool,
    /// Whether the ranks take turns on too few CPUs, where every meeting costs a round of turns.
    pub crowded: bool,
    /// Who is near to whom, for algorithms that follow the machine; without it, all are alike.
    pub levels: Option<Arc<Levels>>,
}

impl Call {
    /// A call of so many ranks with vectors of so many elements, with root 0 and an operator that does
    /// not commute, in place if it has the choice.
    ///
    /// The length is that of the whole vector, also where a rank passes one block of it.
    pub const fn new(collective: Collective, ranks: usize, length: usize) -> Call {
        Call {
            collective,
            blocks: Blocks::even(length, ranks),
            pieces: None,
            root: 0,
            commutes: false,
            from_input: false,
            crowded: false,
            levels: None,
        }
    }

    /// The same for ranks in groups: algorithms that follow the machine follow these.
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

    /// The same with blocks cut in another way, for the forms with a count for each rank.
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

    /// The same with another root.
    pub fn to_root(self, root: Rank) -> Call {
        Call { root, ..self }
    }

    /// The same with an operator that commutes.
    pub fn commuting(self) -> Call {
        Call {
            commutes: true,
            ..self
        }
    }

    /// The same from inputs: for the all-reduce.
    pub fn from_input(self) -> Call {
        Call {
            from_input: true,
            ..self
        }
    }

    /// The same for more ranks than there are CPUs.
    pub fn crowded(self) -> Call {
        Call {
            crowded: true,
            ..self
        }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.blocks.parts()
    }

    /// How many elements a rank's input and output have.
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

    /// The elements of the whole vector; 0 in a barrier, and where there is no whole but only pieces.
    pub fn length(&self) -> usize {
        match self.collective {
            Collective::Barrier => 0,
            _ => self.blocks.length(),
        }
    }

    /// How many elements the rank that says most has to say, where it says the same to all others: what it has
    /// for each of them lies side by side. For one other rank that is its block alone.
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
