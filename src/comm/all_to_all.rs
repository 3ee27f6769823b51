//! All-to-all: every rank sends a piece to every rank.
//!
//! Of pieces of any lengths ([`Comm::all_to_all_v`]), only the two ranks of a piece know its length.

use std::panic::Location;
use std::rc::Rc;

use super::Comm;
use super::request::Request;
use super::run_call::blocks_of;
use super::started::{Begun, Vectors};
use super::using::Using;
use crate::Rank;
use crate::collective::Collective;
use crate::engine::call::elements;
use crate::engine::kept::ask;
use crate::error::{Error, Result};
use crate::execute::over_cells;
use crate::op::elements::Info;
use crate::op::{Element, First};
use crate::schedule::{Lengths, LocalCopy, Region, Schedule, Step, Transfer};
use crate::span::Blocks;
use crate::transport::communicator::call::{Call, Verb};

/// # All-to-all
///
/// Every rank sends a piece to every rank.
impl Comm {
    /// Sends block `q` of every rank's input to rank `q`, which stores them in the order of their senders.
    ///
    /// # Shape
    ///
    /// `input` has the same length N on every rank, and is cut into one block for each rank. `output` holds one piece
    /// from each rank, each of the length of this rank's own block, [`span::block(N, size, rank)`](crate::span::block).
    ///
    /// # Cost
    ///
    /// P - 1 steps; every element is moved once.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the output has another length; otherwise as
    /// [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let all = World::new(3).run(|comm| {
    ///     let mine = [10, 20, 30].map(|column| column + comm.rank());
    ///     let mut transposed = [0; 3];
    ///     comm.all_to_all(&mine, &mut transposed)?;
    ///     Ok(transposed)
    /// })?;
    /// assert_eq!(all, [[10, 11, 12], [20, 21, 22], [30, 31, 32]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Alltoall")]
    #[track_caller]
    pub fn all_to_all<T: Element>(&self, input: &[T], output: &mut [T]) -> Result<()> {
        self.automatic().all_to_all(input, output)
    }

    /// [`all_to_all`](Self::all_to_all) with pieces of any lengths: `to[q]` elements for rank `q`, one piece after
    /// another in `input`, and `from[q]` elements from rank `q`, likewise in `output`.
    ///
    /// # Shape
    ///
    /// What this rank passes as `to[q]`, rank `q` passes as its `from` of this rank. The lengths of the buffers are the
    /// sums of the counts.
    ///
    /// # Cost
    ///
    /// P - 1 steps; every element is moved once.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if a buffer does not fit its counts; [`Mismatch`](crate::ErrorKind::Mismatch)
    /// if two ranks disagree about the length of a piece; otherwise as [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// // Every rank has one word for rank 0 and two for rank 1.
    /// let got = World::new(2).run(|comm| {
    ///     let mine = [["for 0", "a", "b"], ["zero", "c", "d"]][comm.rank()];
    ///     let each = [1, 2][comm.rank()];
    ///     let mut got = vec![""; 2 * each];
    ///     comm.all_to_all_v(&mine, &[1, 2], &mut got, &[each, each])?;
    ///     Ok(got)
    /// })?;
    /// assert_eq!(got, [vec!["for 0", "zero"], vec!["a", "b", "c", "d"]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Alltoallv")]
    #[track_caller]
    pub fn all_to_all_v<T: Element>(
        &self,
        input: &[T],
        to: &[usize],
        output: &mut [T],
        from: &[usize],
    ) -> Result<()> {
        let site = ask(Collective::AllToAll, 0).site;
        let pieces = Pieces::new(self, to, from);
        let checked = pieces.as_ref().map_or_else(
            |error| Err(Error::usage(error.to_string())),
            |pieces| pieces.fit(input.len(), output.len()),
        );
        let call = Call {
            length: None,
            ..elements::<T>(self.call(Verb::Collective(Collective::AllToAll), site), 0)
        };
        self.collective(
            call,
            || checked,
            |inside| inside.execute(&pieces?, input, output, &First),
        )
    }
}

/// # Started all-to-all with counts
///
/// See [started reductions](Self::ireduce).
impl Comm {
    /// Starts an [`all_to_all_v`](Self::all_to_all_v) into `output`, which the request returns.
    ///
    /// # Errors
    ///
    /// As [`ireduce`](Self::ireduce).
    #[doc(alias = "MPI_Ialltoallv")]
    #[track_caller]
    pub fn iall_to_all_v<T: Element>(
        &self,
        input: Vec<T>,
        to: &[usize],
        output: Vec<T>,
        from: &[usize],
    ) -> Result<Request<'static, Vec<T>>> {
        let begun = self.start_pieces((input, output), to, from)?;
        Ok(self.request_of::<T, _>(&begun, |(_, output)| output))
    }

    #[track_caller]
    pub(super) fn start_pieces<T: Element>(
        &self,
        vectors: Vectors<T>,
        to: &[usize],
        from: &[usize],
    ) -> Result<Begun> {
        let lengths = (vectors.0.len(), vectors.1.len());
        let (call, pieces) = self.started_pieces::<T>(lengths, to, from);
        self.start_scheduled(call, pieces, vectors)
    }

    /// The schedule of a call that is started, and its description.
    #[track_caller]
    pub(super) fn started_pieces<T: Element>(
        &self,
        (input, output): (usize, usize),
        to: &[usize],
        from: &[usize],
    ) -> (Call, Result<Rc<dyn Schedule>>) {
        let verb = Verb::Started(Collective::AllToAll);
        let call = Call {
            info: Some(Info::of::<T>()),
            ..self.call(verb, Location::caller())
        };
        let pieces = Pieces::new(self, to, from).and_then(|pieces| {
            pieces.fit(input, output)?;
            Ok(Rc::new(pieces) as Rc<dyn Schedule>)
        });
        (call, pieces)
    }
}

/// The schedule of one rank: one partner per step, its own piece first. It is valid only for that rank, which does not
/// know the pieces of the others.
struct Pieces {
    me: Rank,
    to: Blocks,
    from: Blocks,
}

impl Pieces {
    fn new(comm: &Comm, to: &[usize], from: &[usize]) -> Result<Pieces> {
        Ok(Pieces {
            me: comm.rank(),
            to: blocks_of(comm, to)?,
            from: blocks_of(comm, from)?,
        })
    }

    fn fit(&self, input: usize, output: usize) -> Result<()> {
        let fits = |which: &str, given: usize, counts: &Blocks| match counts.length() {
            wanted if wanted == given => Ok(()),
            wanted => Err(Error::usage(format!(
                "the counts of the {which} add up to {wanted}, and it has {given} elements"
            ))),
        };
        let (to, from) = (self.to.count(self.me), self.from.count(self.me));
        fits("input", input, &self.to)?;
        fits("output", output, &self.from)?;
        if to == from {
            return Ok(());
        }
        Err(Error::usage(format!(
            "this rank's piece for itself has {to} elements going out and {from} coming in"
        )))
    }
}

impl Schedule for Pieces {
    fn ranks(&self) -> usize {
        self.to.parts()
    }

    fn steps(&self) -> usize {
        self.ranks()
    }

    fn step(&self, me: Rank, step: usize) -> Step {
        let ranks = self.ranks();
        let (to, from) = ((me + step) % ranks, (me + ranks - step) % ranks);
        let out = Region::input(self.to.block(to));
        let into = Region::output(self.from.block(from));
        if step == 0 {
            return Step {
                local: Some(LocalCopy::new(out, into)),
                ..Step::IDLE
            };
        }
        Step {
            send: Some(Transfer {
                peer: to,
                region: out,
            }),
            recv: Some(Transfer {
                peer: from,
                region: into,
            }),
            ..Step::IDLE
        }
    }

    fn lengths(&self, _: Rank) -> Lengths {
        Lengths {
            input: self.to.length(),
            output: self.from.length(),
            scratch: 0,
        }
    }
}

impl Using<'_> {
    /// [`Comm::all_to_all`].
    #[inline]
    #[track_caller]
    pub fn all_to_all<T: Element>(&self, input: &[T], output: &mut [T]) -> Result<()> {
        let ask = ask(Collective::AllToAll, input.len()).by(self.algorithm);
        self.comm
            .run_call(ask, input, output, &First, over_cells::all_to_all)
    }
}
