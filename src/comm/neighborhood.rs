//! [`Neighborhood`]: a communicator whose ranks have neighbours, and the collectives among these.

use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use super::Comm;
use super::rounds::{Cut, Exchange, Leg, Rounds, StartedExchange};
use crate::error::{Error, Result, Site};
use crate::op::elements::{Elements, ElementsMut, Info};
use crate::op::folds::{FoldsOf, Operands};
use crate::op::{Element, First};
use crate::schedule::Schedule;
use crate::span::Blocks;
use crate::transport::communicator::call::{Call, Detail, Verb};
use crate::transport::lanes::lane::Lanes;
use crate::transport::memory::packet::Packet;

/// A communicator whose ranks have neighbours: a [`Graph`](crate::Graph) or a [`Cartesian`](crate::Cartesian) grid,
/// which dereference to it. It dereferences to [`Comm`].
///
/// All its ranks call its collectives, in the same order. Each exchanges messages with its neighbours alone, and a rank
/// without neighbours waits for none, except in a world that [checks](crate::World::check), where all ranks meet before
/// the blocking ones.
///
/// # Blocks
///
/// A buffer has a block for each neighbour.
///
/// - Of a graph: one from each of its [sources](crate::Graph::sources) and one for each of its
///   [destinations](crate::Graph::destinations), in their order. If ranks are neighbours several times, the first
///   block for a rank is the first that it gets from this one, and so on.
/// - Of a grid: two for each dimension, the first for the neighbour below and the second for the one above. What a rank
///   sends up arrives from below, and the other way round, also where both neighbours are the same rank. Where there is
///   no neighbour, the block is not sent, and the one to be received stays unchanged.
///
/// # Examples
///
/// Halos on a grid of two by two ranks, whose first dimension is periodic. Each rank has three by three cells, sends
/// those at its edges and receives those beside them:
///
/// ```
/// use rankfold::{Cartesian, World};
///
/// let halos = World::new(4).run(|comm| {
///     let grid = Cartesian::new(comm, &[2, 2], &[true, false])?;
///     let cells: [[usize; 3]; 3] = std::array::from_fn(|y| [0, 1, 2].map(|x| 100 * grid.rank() + 10 * y + x));
///     let column = |x| cells.map(|row| row[x]);
///     let edges = [cells[0], cells[2], column(0), column(2)];
///     let mut halo = [[0; 3]; 4];
///     grid.neighbor_all_to_all(&edges, &mut halo)?;
///     Ok(halo)
/// })?;
/// // Rank 0 has rank 2 below and above it in the first dimension, and rank 1 above it in the second.
/// assert_eq!(halos[0], [[220, 221, 222], [200, 201, 202], [0, 0, 0], [100, 110, 120]]);
/// # Ok::<(), rankfold::WorldError>(())
/// ```
pub struct Neighborhood {
    comm: Comm,
    rounds: Arc<Rounds>,
    /// Number of blocks in a buffer to send, and in one to receive.
    outgoing: usize,
    incoming: usize,
    /// Whether every rank knows the length of equal blocks, so that it is compared.
    grid: bool,
}

impl fmt::Debug for Neighborhood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.comm.show(f, "Neighborhood")
    }
}

impl Deref for Neighborhood {
    type Target = Comm;

    fn deref(&self) -> &Comm {
        &self.comm
    }
}

impl Neighborhood {
    /// A grid of `pieces` blocks to send and as many to receive; missing neighbours have no legs.
    pub(super) fn of_grid(
        comm: Comm,
        pieces: usize,
        sends: Vec<Leg>,
        receives: Vec<Leg>,
    ) -> Neighborhood {
        Neighborhood {
            rounds: Arc::new(Rounds::new(comm.rank(), comm.size(), sends, receives)),
            comm,
            outgoing: pieces,
            incoming: pieces,
            grid: true,
        }
    }

    /// A graph with a leg for each edge.
    pub(super) fn of_graph(comm: Comm, sends: Vec<Leg>, receives: Vec<Leg>) -> Neighborhood {
        Neighborhood {
            outgoing: sends.len(),
            incoming: receives.len(),
            rounds: Arc::new(Rounds::new(comm.rank(), comm.size(), sends, receives)),
            comm,
            grid: false,
        }
    }

    /// The number of blocks in a buffer to send, and in one to receive.
    pub(super) fn pieces(&self) -> [usize; 2] {
        [self.outgoing, self.incoming]
    }

    /// Which of the blocks to receive come from a neighbour; none comes for one that is missing.
    pub(super) fn coming(&self) -> Vec<bool> {
        self.rounds.coming(self.incoming)
    }

    /// Sends a block to each neighbour and receives one from each.
    ///
    /// # Shape
    ///
    /// `block` has the same length on every rank. `all` has room for one [block](Self#blocks) from each neighbour.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the buffers do not fit; [`Mismatch`](crate::ErrorKind::Mismatch), with
    /// both lines, if a neighbour is in another call or has blocks of another length; otherwise as
    /// [`broadcast`](Comm::broadcast).
    ///
    /// # Examples
    ///
    /// Each rank of a ring of three gets the values of its left and right neighbours:
    ///
    /// ```
    /// use rankfold::{Cartesian, World};
    ///
    /// let sides = World::new(3).run(|comm| {
    ///     let ring = Cartesian::new(comm, &[3], &[true])?;
    ///     let mut sides = [0; 2];
    ///     ring.neighbor_all_gather(&[10 * ring.rank()], &mut sides)?;
    ///     Ok(sides)
    /// })?;
    /// assert_eq!(sides, [[20, 10], [0, 20], [10, 0]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Neighbor_allgather")]
    #[track_caller]
    pub fn neighbor_all_gather<T: Element>(&self, block: &[T], all: &mut [T]) -> Result<()> {
        let cuts = self.equal_to_all(block.len(), all.len());
        let called = (Verb::NeighborAllGather, Location::caller());
        self.exchange(called, cuts, block, all)
    }

    /// [`neighbor_all_gather`](Self::neighbor_all_gather) with blocks of any lengths: `counts[i]` elements from
    /// neighbour `i`.
    ///
    /// # Shape
    ///
    /// The length of `all` is the sum of the counts, one for each [block](Self#blocks).
    ///
    /// # Errors
    ///
    /// As [`neighbor_all_gather`](Self::neighbor_all_gather); a [`Mismatch`](crate::ErrorKind::Mismatch) too if a
    /// neighbour's block has another length than its count.
    ///
    /// # Examples
    ///
    /// Each rank sends its number as often as that says, to the next rank:
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let got = World::new(3).run(|comm| {
    ///     let (me, n) = (comm.rank(), comm.size());
    ///     let left = (me + n - 1) % n;
    ///     let ring = comm.graph(&[left], &[(me + 1) % n])?;
    ///     let mut got = vec![0; left];
    ///     ring.neighbor_all_gather_v(&vec![me; me], &[left], &mut got)?;
    ///     Ok(got)
    /// })?;
    /// assert_eq!(got, [vec![2, 2], vec![], vec![1]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Neighbor_allgatherv")]
    #[track_caller]
    pub fn neighbor_all_gather_v<T: Element>(
        &self,
        block: &[T],
        counts: &[usize],
        all: &mut [T],
    ) -> Result<()> {
        let cuts = self.counted_to_all(block.len(), counts, all.len());
        let called = (Verb::NeighborAllGatherV, Location::caller());
        self.exchange(called, cuts, block, all)
    }

    /// Sends another piece to each neighbour and receives one from each.
    ///
    /// # Shape
    ///
    /// All pieces have the same length. `input` has a [block](Self#blocks) for each neighbour that this rank sends to,
    /// and `output` one for each that it receives from.
    ///
    /// # Errors
    ///
    /// As [`neighbor_all_gather`](Self::neighbor_all_gather).
    ///
    /// # Examples
    ///
    /// Each rank has three cells, and one cell of each neighbour on either side:
    ///
    /// ```
    /// use rankfold::{Cartesian, World};
    ///
    /// let cells = World::new(2).run(|comm| {
    ///     let line = Cartesian::new(comm, &[2], &[false])?;
    ///     let mut cells = [0; 5];
    ///     (1..4).for_each(|i| cells[i] = 10 * line.rank() + i);
    ///     let mut halo = [99; 2]; // beyond the ends of the line
    ///     line.neighbor_all_to_all(&[cells[1], cells[3]], &mut halo)?;
    ///     (cells[0], cells[4]) = (halo[0], halo[1]);
    ///     Ok(cells)
    /// })?;
    /// assert_eq!(cells, [[99, 1, 2, 3, 11], [3, 11, 12, 13, 99]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Neighbor_alltoall")]
    #[track_caller]
    pub fn neighbor_all_to_all<T: Element>(&self, input: &[T], output: &mut [T]) -> Result<()> {
        let cuts = self.equal_pieces(input.len(), output.len());
        let called = (Verb::NeighborAllToAll, Location::caller());
        self.exchange(called, cuts, input, output)
    }

    /// [`neighbor_all_to_all`](Self::neighbor_all_to_all) with pieces of any lengths: `to[i]` elements for neighbour
    /// `i`, one piece after another in `input`, and `from[i]` elements from neighbour `i`, likewise in `output`.
    ///
    /// # Shape
    ///
    /// What this rank passes as `to` for a neighbour, that passes as its `from` for this rank. The lengths of the
    /// buffers are the sums of the counts, one for each [block](Self#blocks).
    ///
    /// # Errors
    ///
    /// As [`neighbor_all_gather`](Self::neighbor_all_gather); a [`Mismatch`](crate::ErrorKind::Mismatch) too if two
    /// neighbours disagree about the length of a piece.
    ///
    /// # Examples
    ///
    /// Rank 0 has two elements for rank 1 and none for rank 2, which has one for rank 0:
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let got = World::new(3).run(|comm| {
    ///     let (sources, destinations) = [(&[2][..], &[1, 2][..]), (&[0], &[]), (&[0], &[0])][comm.rank()];
    ///     let graph = comm.graph(sources, destinations)?;
    ///     let (input, to, from) = [("ab", &[2, 0][..], 1), ("", &[], 2), ("c", &[1], 0)][comm.rank()];
    ///     let mut got = vec![0; from];
    ///     graph.neighbor_all_to_all_v(input.as_bytes(), to, &mut got, &[from])?;
    ///     Ok(String::from_utf8_lossy(&got).into_owned())
    /// })?;
    /// assert_eq!(got, ["c", "ab", ""]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Neighbor_alltoallv")]
    #[track_caller]
    pub fn neighbor_all_to_all_v<T: Element>(
        &self,
        input: &[T],
        to: &[usize],
        output: &mut [T],
        from: &[usize],
    ) -> Result<()> {
        let cuts = self.counted_pieces((to, input.len()), (from, output.len()));
        let called = (Verb::NeighborAllToAllV, Location::caller());
        self.exchange(called, cuts, input, output)
    }
}

/// The blocks of a call: to send, to receive, and their length if all are equal.
pub(super) struct Cuts {
    out: Cut,
    into: Cut,
    length: Option<usize>,
}

impl Cuts {
    fn uneven(out: Cut, into: Cut) -> Cuts {
        Cuts {
            out,
            into,
            length: None,
        }
    }
}

/// The blocks of these lengths, one after another in a buffer of `given` elements.
fn cut(which: &str, counts: &[usize], blocks: usize, given: usize) -> Result<Cut> {
    if counts.len() != blocks {
        let counts = counts.len();
        return Err(Error::usage(format!(
            "there must be {blocks} counts of the {which}, one a neighbour, and not {counts}"
        )));
    }
    let cut = Blocks::of(counts);
    let cut = cut.ok_or_else(|| Error::usage("the counts add up to more than can be counted"))?;
    match cut.length() {
        wanted if wanted == given => Ok(Cut::Blocks(cut)),
        wanted => Err(Error::usage(format!(
            "the counts of the {which} add up to {wanted}, and it has {given} elements"
        ))),
    }
}

impl Neighborhood {
    /// The whole input for each neighbour, and a block of the same length from each.
    pub(super) fn equal_to_all(&self, input: usize, output: usize) -> Result<Cuts> {
        let Neighborhood {
            incoming, outgoing, ..
        } = *self;
        let length = output.checked_div(incoming).unwrap_or(input);
        // A rank that sends nothing may pass anything.
        let fits = output == length * incoming && (outgoing == 0 || length == input);
        let cuts = Cuts {
            out: Cut::Whole(input),
            into: Cut::Blocks(Blocks::even(output, incoming)),
            length: Some(length),
        };
        fits.then_some(cuts).ok_or_else(|| {
            Error::usage(format!(
                "{incoming} blocks as long as the input, which has {input} elements, do not fit an output of {output}"
            ))
        })
    }

    /// The whole input for each neighbour, and a block of its own length from each.
    pub(super) fn counted_to_all(
        &self,
        input: usize,
        counts: &[usize],
        output: usize,
    ) -> Result<Cuts> {
        let into = cut("output", counts, self.incoming, output)?;
        Ok(Cuts::uneven(Cut::Whole(input), into))
    }

    /// A piece of its own length for each neighbour, and from each: the counts and the length of both buffers.
    pub(super) fn counted_pieces(
        &self,
        (to, input): (&[usize], usize),
        (from, output): (&[usize], usize),
    ) -> Result<Cuts> {
        let out = cut("input", to, self.outgoing, input)?;
        Ok(Cuts::uneven(
            out,
            cut("output", from, self.incoming, output)?,
        ))
    }

    /// Equal blocks for all neighbours, and from all.
    pub(super) fn equal_pieces(&self, input: usize, output: usize) -> Result<Cuts> {
        let Neighborhood {
            incoming, outgoing, ..
        } = *self;
        let sent = input.checked_div(outgoing);
        let length = sent.or(output.checked_div(incoming)).unwrap_or(0);
        // Of elements without size a slice may have more than can be multiplied.
        let takes = |pieces: usize, all: usize| length.checked_mul(pieces) == Some(all);
        let fits = takes(outgoing, input) && takes(incoming, output);
        let cuts = Cuts {
            out: Cut::Blocks(Blocks::even(input, outgoing)),
            into: Cut::Blocks(Blocks::even(output, incoming)),
            length: Some(length),
        };
        fits.then_some(cuts).ok_or_else(|| {
            Error::usage(format!(
                "{outgoing} equal pieces do not fit an input of {input} elements, with {incoming} as long in an \
                 output of {output}"
            ))
        })
    }

    /// Exchanges blocks with all neighbours.
    fn exchange<T: Element>(
        &self,
        called: (Verb, Site),
        cuts: Result<Cuts>,
        input: &[T],
        output: &mut [T],
    ) -> Result<()> {
        let mut operands = Operands {
            input: Elements::of(input),
            output: ElementsMut::of(output),
            folds: &FoldsOf::<T, _>::new(&First),
        };
        self.exchange_elements(called, cuts, &mut operands)
    }

    /// The same, compiled once for all types of elements.
    fn exchange_elements(
        &self,
        called: (Verb, Site),
        cuts: Result<Cuts>,
        operands: &mut Operands<'_>,
    ) -> Result<()> {
        let (call, cuts) = self.call_of(called, cuts, operands.input.info());
        let described = self.comm.describe(call);
        self.comm.run_plan(&described, cuts, |inside, cuts| {
            inside.execute_by_elements(&self.plan(&cuts, operands), operands)
        })
    }

    /// The schedule of a call that is started, and its description.
    pub(super) fn started(
        &self,
        called: (Verb, Site),
        cuts: Result<Cuts>,
        info: &'static Info,
    ) -> (Call, Result<Rc<dyn Schedule>>) {
        let (call, cuts) = self.call_of(called, cuts, info);
        let schedule = cuts.map(|Cuts { out, into, .. }| {
            let rounds = self.rounds.clone();
            Rc::new(StartedExchange { rounds, out, into }) as Rc<dyn Schedule>
        });
        (call, schedule)
    }

    /// The description of a call, and its blocks, or why it is refused.
    fn call_of(
        &self,
        (verb, site): (Verb, Site),
        cuts: Result<Cuts>,
        info: &'static Info,
    ) -> (Call, Result<Cuts>) {
        let cuts = cuts.and_then(|cuts| self.with_own_pieces(cuts));
        let length = cuts.as_ref().ok().and_then(|cuts| cuts.length);
        let detail = length.filter(|_| !self.grid).map(Detail::Blocks);
        let call = Call {
            length: length.filter(|_| self.grid),
            info: Some(info),
            detail: detail.unwrap_or(Detail::None),
            ..self.comm.call(verb, site)
        };
        (call, cuts)
    }

    /// Checks that what this rank sends to itself is as long as what it receives from itself.
    fn with_own_pieces(&self, cuts: Cuts) -> Result<Cuts> {
        for &[out, into] in self.rounds.copies() {
            let (to, from) = (cuts.out.count(out), cuts.into.count(into));
            if to != from {
                return Err(Error::usage(format!(
                    "this rank's piece for itself has {to} elements going out and {from} coming in"
                )));
            }
        }
        Ok(cuts)
    }

    fn plan<'a>(&'a self, cuts: &'a Cuts, operands: &Operands<'_>) -> Exchange<'a> {
        let longest = operands.input.get(0..cuts.out.longest());
        // Without buffering, a send waits for its receive.
        let short = longest.is_some_and(Packet::fits) && !self.comm.core.synchronous;
        let has_room = |to| self.comm.lanes.has_room(to);
        Exchange {
            rounds: &self.rounds,
            out: &cuts.out,
            into: &cuts.into,
            sends_first: short && self.rounds.may_send_first(has_room),
        }
    }
}
