//! Running any schedule: the caller's own, or one of [`collective`](crate::collective).

use std::panic::Location;
use std::sync::Arc;

use super::Comm;
use crate::Rank;
use crate::check::{Goal, check};
use crate::engine::call::{InCall, elements};
use crate::engine::combine::{commutes, kind_of};
use crate::engine::resolved::Steps;
use crate::error::{Error, Result, Site};
use crate::execute::{Buffers, execute, execute_steps};
use crate::op::elements::{Elements, ElementsMut};
use crate::op::folds::{FoldsOf, Operands};
use crate::op::{Element, Operator};
use crate::schedule::{Lengths, Schedule, Step};
use crate::transport::communicator::call::{Call, Verb, Verdict, digest};
use crate::unwind;

/// # Schedules
///
/// The actions of each rank in each step, as data.
impl Comm {
    /// Runs a schedule on all ranks.
    ///
    /// The goal says what the schedule is for. Where the world [checks](crate::World::check), the schedule is
    /// [certified](check) first, and one that does not reach its goal is refused on every rank, with its fault, before
    /// anything is sent; so are schedules that are not the same on every rank. Otherwise the schedule is trusted to be
    /// correct and the same on every rank: a wrong one gives wrong results or an error, but no rank waits for ever.
    ///
    /// # Shape
    ///
    /// `input` and `output` have the lengths that [`Schedule::lengths`] gives for this rank; goals that work in place
    /// have no input.
    ///
    /// # Cost
    ///
    /// A message up to [`EAGER_BYTES`](crate::EAGER_BYTES) is copied. A longer one is read by its receiver straight out
    /// of the sender's buffer, and the sender's step lasts until then. Nothing is allocated from the second call of its
    /// kind on.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the schedule is for another number of ranks or other lengths. If the
    /// schedule is wrong: [`Refused`](crate::ErrorKind::Refused) with its fault where the world checks, and
    /// [`Usage`](crate::ErrorKind::Usage) or [`Mismatch`](crate::ErrorKind::Mismatch) where it does not.
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if the schedules differ; otherwise as [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::check::Goal;
    /// use rankfold::schedule::{FoldAlong, Schedule};
    /// use rankfold::topology::Topology;
    /// use rankfold::{World, op};
    ///
    /// let reduce = FoldAlong::new(Topology::fibonacci(7).single_port(), 2);
    /// let all_reduce = reduce.clone().then(reduce.reversed());
    /// let sums = World::new(7).run(|comm| {
    ///     let mut v = [comm.rank() as u32, 1];
    ///     comm.run_schedule(&all_reduce, &Goal::all_reduce(2), &[], &mut v, op::Sum)?;
    ///     Ok(v)
    /// })?;
    /// assert_eq!(sums, [[21, 7]; 7]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn run_schedule<T: Element>(
        &self,
        schedule: &(impl Schedule + ?Sized),
        goal: &Goal,
        input: &[T],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        let (schedule, commutes): (&dyn Schedule, _) = (&Theirs(schedule), commutes(&op));
        let exact = op.exact_of();
        let shape = self.check_shape(schedule, input.len(), output.len());
        let checks = self.fabric().settings.check && shape.is_ok();
        let call = Call {
            op: kind_of(&op),
            algorithm: digest(&(
                goal,
                schedule.ranks(),
                schedule.steps(),
                commutes,
                exact.is_some(),
            )),
            part: if checks {
                part(schedule, self.rank())
            } else {
                0
            },
            ..self.describe_goal::<T>(goal, Location::caller())
        };
        self.collective(
            call,
            || shape,
            |inside| {
                inside.agree_that(|| inside.examine(schedule, goal, commutes))?;
                inside.execute_with(schedule, input, output, &op)
            },
        )
    }

    fn describe_goal<T: Element>(&self, goal: &Goal, site: Site) -> Call {
        Call {
            root: goal.root(),
            ..elements::<T>(self.call(Verb::RunSchedule, site), goal.length())
        }
    }

    /// Checks that a schedule is made for this communicator and these buffers.
    fn check_shape(&self, schedule: &dyn Schedule, input: usize, output: usize) -> Result<()> {
        if schedule.ranks() != self.size() {
            return Err(Error::usage(format!(
                "the schedule is for {} ranks, not for {}",
                schedule.ranks(),
                self.size()
            )));
        }
        let lengths = schedule.lengths(self.rank());
        if (lengths.input, lengths.output) == (input, output) {
            return Ok(());
        }
        Err(Error::usage(format!(
            "the schedule wants {} elements of input and {} of output, not {input} and {output}",
            lengths.input, lengths.output
        )))
    }
}

/// A schedule that may be the caller's own code: like an operator, it may not call a communicator.
struct Theirs<'a, S: ?Sized>(&'a S);

impl<S: Schedule + ?Sized> Schedule for Theirs<'_, S> {
    fn ranks(&self) -> usize {
        unwind::operator(|| self.0.ranks())
    }

    fn steps(&self) -> usize {
        unwind::operator(|| self.0.steps())
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        unwind::operator(|| self.0.step(rank, step))
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        unwind::operator(|| self.0.next_active(rank, after))
    }

    fn last_active(&self, rank: Rank, before: usize) -> Option<usize> {
        unwind::operator(|| self.0.last_active(rank, before))
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        unwind::operator(|| self.0.lengths(rank))
    }

    fn copies_first(&self) -> bool {
        unwind::operator(|| self.0.copies_first())
    }

    fn may_copy(&self) -> bool {
        unwind::operator(|| self.0.may_copy())
    }
}

/// A hash of what a rank does, step by step. It ends with a step that is none: a schedule may name others for ever.
fn part(schedule: &dyn Schedule, rank: Rank) -> u32 {
    let mut part = digest(&schedule.lengths(rank));
    let (steps, mut next) = (schedule.steps(), schedule.next_active(rank, None));
    while let Some(step) = next {
        if step >= steps {
            return digest(&(part, step));
        }
        part = digest(&(part, step, schedule.step(rank, step)));
        let later = schedule.next_active(rank, Some(step));
        next = later.filter(|later| *later > step);
    }
    part
}

impl InCall<'_> {
    /// Certifies a schedule, in rank order if the operator requires that, and checks that all ranks have the same one.
    fn examine(&self, schedule: &dyn Schedule, goal: &Goal, commutes: bool) -> Verdict {
        let goal = if commutes {
            *goal
        } else {
            goal.in_rank_order()
        };
        if let Err(fault) = check(&schedule, &goal) {
            return Verdict::Fault(Arc::new(fault));
        }
        let mismatch = self.compare_parts(|rank| part(schedule, rank));
        mismatch.map_or(Verdict::Right, |found| Verdict::Mismatch(Arc::new(found)))
    }

    fn execute_with<T: Element>(
        &self,
        schedule: &dyn Schedule,
        input: &[T],
        output: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        match op.exact_of() {
            None => self.execute(schedule, input, output, op),
            Some(of) => {
                let (input, output) = (Elements::of(input), ElementsMut::of(output));
                self.execute_exactly(of, schedule, input, output)
            }
        }
    }

    /// Runs this rank's steps of a schedule.
    pub(super) fn execute<T: Element>(
        &self,
        schedule: &dyn Schedule,
        input: &[T],
        output: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        let mut operands = Operands {
            input: Elements::of(input),
            output: ElementsMut::of(output),
            folds: &FoldsOf::<T, _>::new(op),
        };
        self.execute_by_elements(schedule, &mut operands)
    }

    /// The same, compiled once for all types of elements and operators.
    pub(super) fn execute_by_elements(
        &self,
        schedule: &dyn Schedule,
        operands: &mut Operands<'_>,
    ) -> Result<()> {
        let Lengths { scratch, .. } = schedule.lengths(self.rank());
        let folds = operands.folds;
        self.comm
            .core
            .workspace
            .with(operands.input.info(), |rooms| {
                let buffers = Buffers::new(operands, rooms, scratch);
                execute(schedule, self.rank(), self, buffers, folds)
            })
    }

    /// Runs the steps of a plan.
    pub(super) fn execute_steps(&self, steps: &Steps, operands: &mut Operands<'_>) -> Result<()> {
        if let Some(exchange) = steps.exchange()
            && exchange.run(self, operands)?
        {
            return Ok(());
        }
        let folds = operands.folds;
        let rooms = &self.comm.core.workspace;
        rooms.with(operands.input.info(), |rooms| {
            let buffers = Buffers::new(operands, rooms, steps.scratch());
            execute_steps(steps, self, buffers, folds)
        })
    }
}
