//! How a collective is started: its buffers and its operator move into it, and its request gives the buffers back.

use std::rc::Rc;

use super::Comm;
use super::request::{Finish, Request};
use crate::collective::{Call as Shape, Choice};
use crate::engine::call::Described;
use crate::engine::combine::kind_of;
use crate::engine::kept::{Ask, Kept, Plan, With};
use crate::engine::request_state::{Direction, RequestState};
use crate::engine::resolved::Steps;
use crate::error::{Error, Result, Site};
use crate::execute::Started;
use crate::op::elements::Info;
use crate::op::owned::Owned;
use crate::op::{Element, First, Operator, OperatorKind};
use crate::schedule::Schedule;
use crate::span::Blocks;
use crate::transport::communicator::call::Call;
use crate::transport::port::Port;
use crate::transport::progress::started::StartedCall;

/// The input and the output of a started collective.
pub(super) type Vectors<T> = (Vec<T>, Vec<T>);

/// A call that can be started any number of times.
pub(super) struct Prepared {
    described: Described,
    steps: Steps,
    info: &'static Info,
    pub site: Site,
}

/// A started collective whose request has still to be made.
pub(super) struct Begun {
    pub state: Rc<RequestState>,
}

impl Begun {
    /// How its request ends: with what `f` makes of its buffers. It is not allocated unless `f` is.
    pub(super) fn finish<'c, T: Element, R>(f: impl FnOnce(Vectors<T>) -> R + 'c) -> Finish<'c, R> {
        Box::new(move |_, here| ended::<T, R>(&here.core.port, &**started_of(here.state), f))
    }
}

/// The call of a request.
#[inline]
pub(super) fn started_of(state: &RequestState) -> &Rc<dyn StartedCall> {
    let started = state.collective();
    started.expect("the request of a started collective")
}

/// What `f` makes of the buffers of a call that is over. Its memory remains, for the next call.
#[inline(always)]
pub(super) fn ended<T: Element, R>(
    port: &Port,
    started: &dyn StartedCall,
    f: impl FnOnce(Vectors<T>) -> R,
) -> Result<R> {
    started.outcome()?;
    let mut owned = started.operands(port);
    match owned.as_deref_mut().and_then(|owned| owned.take(f)) {
        Some(result) => Ok(result),
        None => Err(taken()),
    }
}

/// Takes what a call that is over owned.
pub(super) fn owned_by(port: &Port, started: &dyn StartedCall) -> Result<Box<Owned>> {
    started.outcome()?;
    let owned = started.operands(port).take();
    owned.ok_or_else(taken)
}

#[cold]
fn taken() -> Error {
    Error::usage("the buffers of this call were taken already")
}

/// Puts the buffers and the operator of a call there, into the memory of those of the last call.
#[inline]
fn fill<T: Element>(
    port: &Port,
    started: &dyn StartedCall,
    (input, output): Vectors<T>,
    op: impl Operator<T> + 'static,
) {
    let mut place = started.operands(port);
    match &mut *place {
        Some(last) => last.refill(input, output, op),
        None => *place = Some(Box::new(Owned::new(input, output, op))),
    }
}

fn steps_of(plan: &Plan) -> &Steps {
    let steps = plan.steps.as_ref();
    steps.expect("the plan of a started call has its steps")
}

impl Comm {
    /// Starts a collective.
    #[inline]
    pub(super) fn start_call<T: Element, O: Operator<T> + 'static>(
        &self,
        ask: &Ask,
        (input, output): Vectors<T>,
        op: O,
    ) -> Result<Begun> {
        self.check_started(ask, &op)?;
        let kept = self.kept_started::<T>(ask, kind_of(&op), (input.len(), output.len()))?;
        let state = self.state_of(
            &kept.described,
            (steps_of(&kept.plan), true),
            kept.with.info,
        );
        fill(&self.core.port, &**started_of(&state), (input, output), op);
        self.begin(&kept.described, state)
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
        let kept = self.started_v::<T>(ask, blocks, kind_of(&op), lengths)?;
        let state = self.state_of(
            &kept.described,
            (steps_of(&kept.plan), false),
            kept.with.info,
        );
        fill(&self.core.port, &**started_of(&state), (input, output), op);
        self.begin(&kept.described, state)
    }

    /// Starts a call that was prepared. A start that is refused leaves what it owns where it is.
    pub(super) fn start_prepared(
        &self,
        prepared: &Prepared,
        owned: &mut Option<Box<Owned>>,
    ) -> Result<Begun> {
        let Prepared {
            described,
            steps,
            info,
            ..
        } = prepared;
        let state = self.state_of(described, (steps, true), info);
        *started_of(&state).operands(&self.core.port) = owned.take();
        let begun = self.begin(described, state.clone());
        if begun.is_err() {
            *owned = started_of(&state).operands(&self.core.port).take();
        }
        begun
    }

    /// The state of a call before it begins: that of the last such call, if nothing refers to it any more.
    fn state_of(
        &self,
        described: &Described,
        (steps, is_kept): (&Steps, bool),
        info: &'static Info,
    ) -> Rc<RequestState> {
        match is_kept.then(|| self.core.spares.take(steps)).flatten() {
            Some(spare) => spare,
            None => self.new_state(described, (steps.clone(), is_kept), info),
        }
    }

    fn new_state(
        &self,
        described: &Described,
        (steps, is_kept): (Steps, bool),
        info: &'static Info,
    ) -> Rc<RequestState> {
        let (call, kept) = (described.call(), is_kept.then(|| steps.clone()));
        let started = Started::new(call, &self.handle, self.me, steps, info);
        let direction = Direction::Collective(started, kept);
        RequestState::new(direction, &self.handle, call.site)
    }

    /// Begins a call that has its operands.
    fn begin(&self, described: &Described, state: Rc<RequestState>) -> Result<Begun> {
        self.again(
            described,
            || Ok(()),
            |inside| {
                let port = &self.core.port;
                let started = started_of(&state);
                started.begin(port, inside.number, inside.print);
                port.carry_on(started);
                self.core.open(state.clone());
                Ok(())
            },
        )?;
        Ok(Begun { state })
    }

    /// Starts a collective that has a schedule of its own, or was refused.
    pub(super) fn start_scheduled<T: Element>(
        &self,
        call: Call,
        schedule: Result<Rc<dyn Schedule>>,
        vectors: Vectors<T>,
    ) -> Result<Begun> {
        let described = self.describe(call);
        let steps = match schedule {
            Ok(schedule) => Steps::Of(schedule, self.me),
            Err(refused) => return Err(self.refusal(&described, refused)),
        };
        let state = self.new_state(&described, (steps, false), Info::of::<T>());
        fill(&self.core.port, &**started_of(&state), vectors, First);
        self.begin(&described, state)
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
            steps: steps_of(&kept.plan).clone(),
            described: kept.described,
            info: kept.with.info,
            site: ask.site,
        })
    }

    /// Prepares a collective that has a schedule of its own, or was refused.
    pub(super) fn prepare_scheduled<T: Element>(
        &self,
        call: Call,
        schedule: Result<Rc<dyn Schedule>>,
    ) -> Result<Prepared> {
        let (site, described) = (call.site, self.describe(call));
        match schedule {
            Err(refused) => Err(self.refusal(&described, refused)),
            Ok(schedule) => Ok(Prepared {
                described,
                steps: Steps::Of(schedule, self.me),
                info: Info::of::<T>(),
                site,
            }),
        }
    }

    /// The request of a call, which returns what `f` makes of its buffers.
    #[inline]
    pub(super) fn request_of<T: Element, R>(
        &self,
        begun: &Begun,
        f: impl FnOnce(Vectors<T>) -> R + 'static,
    ) -> Request<'static, R> {
        let finish = Begun::finish::<T, R>(f);
        Request::new(&self.core, begun.state.clone(), finish)
    }

    /// The cached description of a started call, with its schedule.
    fn kept_started<T: Element>(
        &self,
        ask: &Ask,
        op: OperatorKind,
        lengths: (usize, usize),
    ) -> Result<Rc<Kept>> {
        // Its states are used again, which are of one communicator.
        let with = With::new::<T>(self, op, lengths).only_on(self);
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
        // Messages of all to all, which are received one after the other, take longer than two hops.
        let shape = shape.folding_at_one();
        match checked.and_then(|()| Plan::started(algorithm, shape, self.me)) {
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
