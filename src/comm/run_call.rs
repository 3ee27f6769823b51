//! The way of every collective of elements: its shape is checked, an algorithm is chosen or refused, and
//! the schedule that comes of both is run.

use std::panic::Location;

use super::Comm;
use super::call::{InCall, elements};
use crate::collective::{Algorithm, Call as Shape, Choice, Collective, WithSchedule};
use crate::error::{Error, Result, Site};
use crate::op::{Element, Kind, Operator};
use crate::schedule::Schedule;
use crate::span::Blocks;
use crate::transport::board::{Call, Verb, digest};

/// What a call asks for besides its data.
pub(super) struct Ask {
    pub site: Site,
    pub shape: Shape,
    /// `None`: the automatic choice.
    pub algorithm: Option<Algorithm>,
    /// What is wrong with it already.
    pub wrong: Option<Error>,
}

impl Ask {
    /// The same with blocks of other lengths, if these are any.
    pub(super) fn counts(&mut self, blocks: Result<Blocks>) {
        match blocks {
            Ok(blocks) => self.shape.blocks = blocks,
            Err(error) => self.wrong = Some(error),
        }
    }
}

impl Comm {
    /// Which algorithm a call runs if none is asked for, and why.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the call has another number of ranks.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    /// use rankfold::collective::{Algorithm, Call, Collective};
    ///
    /// World::new(5).run(|comm| {
    ///     let call = Call::new(Collective::AllReduce, comm.size(), 10).commuting();
    ///     let choice = comm.explain::<f64>(&call)?;
    ///     assert_eq!(choice.algorithm, Algorithm::Exchange);
    ///     assert_eq!(choice.reason, "80 bytes are short: the fewest steps win");
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    pub fn explain<T: Element>(&self, call: &Shape) -> Result<Choice> {
        if call.ranks() == self.size() {
            return Ok(Choice::of(call, size_of::<T>()));
        }
        let ranks = call.ranks();
        Err(Error::usage(format!(
            "the call is of {ranks} ranks, and here are {}",
            self.size()
        )))
    }

    /// The shape of a call of all ranks here.
    pub(super) fn shape(&self, collective: Collective, length: usize) -> Shape {
        Shape::new(collective, self.size(), length)
    }

    /// Runs a call.
    pub(super) fn run_call<T: Element>(
        &self,
        ask: Ask,
        input: &[T],
        output: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        let call = self.describe::<T>(&ask, op.kind());
        let Ask {
            shape,
            algorithm,
            wrong,
            ..
        } = ask;
        let checked = wrong.map_or_else(
            || self.check_call(&shape, algorithm, input.len(), output.len()),
            Err,
        );
        let algorithm = algorithm.unwrap_or_else(|| Choice::quickly(&shape, size_of::<T>()));
        self.collective(
            call,
            || checked,
            |inside| inside.run_algorithm(algorithm, &shape, input, output, op),
        )
    }

    /// What must be the same on all ranks.
    fn describe<T: Element>(&self, ask: &Ask, op: Kind) -> Call {
        let shape = &ask.shape;
        let collective = shape.collective;
        Call {
            root: collective.has_root().then_some(shape.root),
            op: if collective.folds() { op } else { Kind::None },
            algorithm: fingerprint(shape, ask.algorithm),
            ..elements::<T>(
                self.call(Verb::Collective(collective), ask.site),
                shape.length(),
            )
        }
    }

    /// Whether root, algorithm and buffers are such that the call can be made.
    fn check_call(
        &self,
        shape: &Shape,
        algorithm: Option<Algorithm>,
        input: usize,
        output: usize,
    ) -> Result<()> {
        if shape.collective.has_root() {
            self.check_rank("the root", shape.root)?;
        }
        if let Some(refusal) = algorithm.and_then(|algorithm| algorithm.refused(shape)) {
            return Err(Error::usage(refusal.to_string()));
        }
        let wanted = shape.buffers(self.rank());
        if wanted == (input, output) {
            return Ok(());
        }
        Err(wrong_lengths(wanted, (input, output)))
    }
}

#[cold]
fn wrong_lengths(wanted: (usize, usize), given: (usize, usize)) -> Error {
    let [input, output] = [(wanted.0, given.0), (wanted.1, given.1)];
    let (which, (wanted, given)) = match input.0 != input.1 {
        true => ("input", input),
        false => ("output", output),
    };
    Error::usage(format!(
        "this rank's {which} must have {wanted} elements, and has {given}"
    ))
}

/// What must be equal in all ranks besides collective, root, length, type and operator. Whether the
/// operator commutes decides about the automatic choice.
fn fingerprint(shape: &Shape, algorithm: Option<Algorithm>) -> u32 {
    let uneven = (!shape.blocks.is_even()).then_some(&shape.blocks);
    match (algorithm, uneven) {
        (None, None) => shape.commutes.into(),
        both => digest(&(both, shape.commutes)),
    }
}

impl InCall<'_> {
    fn run_algorithm<T: Element>(
        &self,
        algorithm: Algorithm,
        shape: &Shape,
        input: &[T],
        output: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        if algorithm == Algorithm::Direct && self.size() > 1 {
            return self.run_direct(shape, input, output, op);
        }
        let mut result = Ok(());
        let mut run = |schedule: &dyn Schedule| {
            result = self.execute(schedule, input, output, op);
        };
        match algorithm.visit(shape, Behind(&mut run)) {
            Ok(()) => result,
            Err(refusal) => Err(Error::usage(refusal.to_string())),
        }
    }
}

/// Takes a schedule and passes it on without its type, so that what runs it is compiled once for each
/// type of elements and operator, and not for each algorithm as well.
struct Behind<'a>(&'a mut dyn FnMut(&dyn Schedule));

impl WithSchedule for Behind<'_> {
    type Out = ();

    fn with<S: Schedule + 'static>(self, schedule: S) {
        (self.0)(&schedule)
    }
}

/// A call at the caller's line.
#[track_caller]
pub(super) fn ask(shape: Shape, algorithm: Option<Algorithm>) -> Ask {
    let site = Location::caller();
    Ask {
        site,
        shape,
        algorithm,
        wrong: None,
    }
}

/// Blocks of these lengths for all ranks.
pub(super) fn blocks_of(comm: &Comm, counts: &[usize]) -> Result<Blocks> {
    let ranks = comm.size();
    if counts.len() != ranks {
        let given = counts.len();
        return Err(Error::usage(format!(
            "there must be {ranks} counts, one a rank, and not {given}"
        )));
    }
    Blocks::of(counts).ok_or_else(|| Error::usage("the counts add up to more than can be counted"))
}

/// The buffers of a rank in a call that works in place at one rank: the others' are inputs.
pub(super) fn kept_unless<T>(at: bool, buf: &mut [T]) -> (&[T], &mut [T]) {
    if at { (&[], buf) } else { (buf, &mut []) }
}
