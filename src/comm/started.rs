//! How a collective is started: its buffers and its operator move into it, and its request gives the buffers back.

use std::any::Any;
use std::mem;
use std::rc::Rc;

use super::Comm;
use super::request::{Finish, Request};
use crate::collective::{Call as Shape, Choice};
use crate::engine::call::Described;
use crate::engine::kept::{Ask, Kept, Plan, With};
use crate::engine::request_state::{Direction, RequestState};
use crate::error::{Error, Result, Site};
use crate::execute::{Data, Started};
use crate::op::elements::{Elements, ElementsMut, Info};
use crate::op::folds::{FoldsOf, Operands};
use crate::op::{Element, First, Operator, OperatorKind};
use crate::schedule::Schedule;
use crate::span::Blocks;
use crate::transport::communicator::call::Call;
use crate::transport::progress::started::StartedCall;

/// The input and the output of a started collective.
pub(super) type Vectors<T> = (Vec<T>, Vec<T>);

/// Buffers and operator of a started collective.
struct Owned<T, O> {
    vectors: Vectors<T>,
    op: O,
}

impl<T: Element, O: Operator<T> + 'static> Data for Owned<T, O> {
    fn info(&self) -> &'static Info {
        Info::of::<T>()
    }

    fn with(&mut self, f: &mut dyn FnMut(&mut Operands<'_>)) {
        let (input, output) = &mut self.vectors;
        f(&mut Operands {
            input: Elements::of(input),
            output: ElementsMut::of(output),
            folds: &FoldsOf::<T, _>::new(&self.op),
        });
    }

    fn vectors(&mut self) -> &mut dyn Any {
        &mut self.vectors
    }
}

/// What a started collective needs besides its description.
pub(super) fn owned<T: Element>(
    vectors: Vectors<T>,
    op: impl Operator<T> + 'static,
) -> Box<dyn Data> {
    Box::new(Owned { vectors, op })
}

/// The input and the output in the data of a collective of elements of type `T`.
pub(super) fn vectors_in<'d, T: Element>(data: &'d mut (dyn Data + 'static)) -> &'d mut Vectors<T> {
    let vectors = data.vectors().downcast_mut();
    vectors.expect("its elements are of this type")
}

/// A call that can be started any number of times.
pub(super) struct Prepared {
    described: Described,
    schedule: Rc<dyn Schedule>,
    pub site: Site,
}

/// A started collective whose request has still to be made.
pub(super) struct Begun {
    pub state: Rc<RequestState>,
    pub started: Rc<Started>,
}

impl Begun {
    /// How its request ends: with what `f` makes of its buffers.
    pub(super) fn finish<'c, T: Element, R>(
        &self,
        f: impl FnOnce(Vectors<T>) -> R + 'c,
    ) -> Finish<'c, R> {
        let started = self.started.clone();
        Box::new(move |_, _| Ok(f(ended::<T>(&started)?)))
    }
}

/// The buffers of a call that is over.
pub(super) fn ended<T: Element>(started: &Started) -> Result<Vectors<T>> {
    let mut data = data_of(started)?;
    Ok(mem::take(vectors_in(&mut *data)))
}

/// The data of a call that is over.
pub(super) fn data_of(started: &Started) -> Result<Box<dyn Data>> {
    started.outcome()?;
    let data = started.take();
    data.ok_or_else(|| Error::usage("the buffers of this call were taken already"))
}

fn schedule_of(plan: &Plan) -> Rc<dyn Schedule> {
    let schedule = plan.schedule.clone();
    schedule.expect("the plan of a started call has a schedule")
}

impl Comm {
    /// Starts a collective.
    pub(super) fn start_call<T: Element, O: Operator<T> + 'static>(
        &self,
        ask: &Ask,
        (input, output): Vectors<T>,
        op: O,
    ) -> Result<Begun> {
        self.check_started(ask, &op)?;
        let kept = self.kept_started::<T>(ask, op.kind(), (input.len(), output.len()))?;
        self.start_kept(&kept, &mut Some(owned((input, output), op)))
    }

    /// Starts a collective with a count for each rank.
    pub(super) fn start_call_v<T: Element, O: Operator<T> + 'static>(
        &self,
        ask: &Ask,
        blocks: Result<Blocks>,
        (input, output): Vectors<T>,
        op: O,
    ) -> Result<Begun> {
        let lengths = (input.len(), output.len());
        self.check_started(ask, &op)?;
        let kept = self.started_v::<T>(ask, blocks, op.kind(), lengths)?;
        self.start_kept(&kept, &mut Some(owned((input, output), op)))
    }

    fn start_kept(&self, kept: &Kept, data: &mut Option<Box<dyn Data>>) -> Result<Begun> {
        let schedule = schedule_of(&kept.plan);
        self.start_described(&kept.described, Ok(schedule), data)
    }

    pub(super) fn start_prepared(
        &self,
        prepared: &Prepared,
        data: &mut Option<Box<dyn Data>>,
    ) -> Result<Begun> {
        let schedule = prepared.schedule.clone();
        self.start_described(&prepared.described, Ok(schedule), data)
    }

    fn start_described(
        &self,
        described: &Described,
        schedule: Result<Rc<dyn Schedule>>,
        data: &mut Option<Box<dyn Data>>,
    ) -> Result<Begun> {
        self.run_plan(described, schedule, |inside, schedule| {
            let data = data.take().expect("a call starts with its data");
            let id = (inside.number, inside.print);
            let started = Started::new(inside.call, &self.shared, self.me, id, schedule, data);
            let direction = Direction::Collective {
                call: *inside.call,
                started: started.clone(),
            };
            self.core.port.start(started.clone());
            let state = self.core.ask(direction, &self.shared, inside.call.site);
            Ok(Begun { state, started })
        })
    }

    /// Starts a collective that has a schedule of its own, or was refused.
    pub(super) fn start_scheduled<T: Element>(
        &self,
        call: Call,
        schedule: Result<Rc<dyn Schedule>>,
        (input, output): Vectors<T>,
    ) -> Result<Begun> {
        let mut data = Some(owned((input, output), First));
        self.start_described(&self.describe(call), schedule, &mut data)
    }

    /// Prepares a collective, which is started later; with a count for each rank if there are `blocks`.
    pub(super) fn prepare<T: Element>(
        &self,
        ask: &Ask,
        blocks: Option<Result<Blocks>>,
        op: OperatorKind,
        lengths: (usize, usize),
    ) -> Result<Prepared> {
        let with = With::new::<T>(self, op, lengths);
        let kept = match blocks {
            None => self.describe_started::<T>(ask, with, self.shape(ask))?,
            Some(blocks) => self.started_v::<T>(ask, blocks, op, lengths)?,
        };
        Ok(Prepared {
            schedule: schedule_of(&kept.plan),
            described: kept.described,
            site: ask.site,
        })
    }

    /// Prepares a collective that has a schedule of its own, or was refused.
    pub(super) fn prepare_scheduled(
        &self,
        call: Call,
        schedule: Result<Rc<dyn Schedule>>,
    ) -> Result<Prepared> {
        let (site, described) = (call.site, self.describe(call));
        match schedule {
            Err(refused) => Err(self.refusal(&described, refused)),
            Ok(schedule) => Ok(Prepared {
                described,
                schedule,
                site,
            }),
        }
    }

    /// The request of a call, which returns what `f` makes of its buffers.
    pub(super) fn request_of<T: Element, R>(
        &self,
        begun: &Begun,
        f: impl FnOnce(Vectors<T>) -> R + 'static,
    ) -> Request<'static, R> {
        let finish = begun.finish::<T, R>(f);
        Request::new(&self.core, begun.state.clone(), finish)
    }

    /// The cached description of a started call, with its schedule.
    fn kept_started<T: Element>(
        &self,
        ask: &Ask,
        op: OperatorKind,
        lengths: (usize, usize),
    ) -> Result<Rc<Kept>> {
        let with = With::new::<T>(self, op, lengths);
        if let Some(kept) = self.core.kept_started.find(ask, &with) {
            return Ok(kept);
        }
        let kept = self.describe_started::<T>(ask, with, self.shape(ask))?;
        Ok(self.core.kept_started.put(kept))
    }

    /// The description of a started call with a count for each rank.
    fn started_v<T: Element>(
        &self,
        ask: &Ask,
        blocks: Result<Blocks>,
        op: OperatorKind,
        lengths: (usize, usize),
    ) -> Result<Kept> {
        let with = With::new::<T>(self, op, lengths);
        let mut shape = self.shape(ask);
        match blocks {
            Ok(blocks) => shape.blocks = blocks,
            Err(refused) => {
                let described = self.describe_call(ask, &shape, &with, (with.info, true));
                return Err(self.refusal(&described, refused));
            }
        }
        self.describe_started::<T>(ask, with, shape)
    }

    /// Describes and checks a started call, and chooses its algorithm.
    #[cold]
    fn describe_started<T: Element>(&self, ask: &Ask, with: With, shape: Shape) -> Result<Kept> {
        let described = self.describe_call(ask, &shape, &with, (with.info, true));
        let checked = self.check_call(&shape, ask, &with);
        let algorithm = ask
            .algorithm
            .unwrap_or_else(|| Choice::started::<T>(&shape));
        match checked.and_then(|()| Plan::by_steps(algorithm, shape)) {
            Err(refused) => Err(self.refusal(&described, refused)),
            Ok(plan) => Ok(Kept {
                ask: *ask,
                with,
                plan,
                described,
            }),
        }
    }

    /// Refuses an operator for which the ranks would have to exchange other elements than those of the vectors.
    pub(super) fn check_started<T: Element>(&self, ask: &Ask, op: &impl Operator<T>) -> Result<()> {
        if op.exact_of().is_none() {
            return Ok(());
        }
        let show = || format!("a started {}", ask.collective.name());
        self.op(ask.site, &show, || {
            Err(Error::usage(
                "op::SumExact is for blocking calls: start one of elements op::ExactSum, by op::Sum",
            ))
        })
    }
}
