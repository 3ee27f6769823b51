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
use crate::engine::resolved::Steps;
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
    /// `None` once the vectors were taken.
    op: Option<O>,
}

impl<T: Element, O: Operator<T> + 'static> Data for Owned<T, O> {
    fn with(&mut self, f: &mut dyn FnMut(&mut Operands<'_>)) {
        let Owned { vectors, op } = self;
        let (input, output) = vectors;
        f(&mut Operands {
            input: Elements::of(input),
            output: ElementsMut::of(output),
            folds: &FoldsOf::<T, _>::new(op.as_ref().expect("a call has its operator")),
        });
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn drop_operator(&mut self) -> bool {
        self.op.take().is_some()
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
    let op = Some(op);
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
        Box::new(move |_, here| Ok(f(ended::<T>(started_of(here.state))?)))
    }
}

/// The call of a request.
pub(super) fn started_of(state: &RequestState) -> &Started {
    let started = match &state.direction {
        Direction::Collective(started) => started.as_any().downcast_ref(),
        _ => None,
    };
    started.expect("the request of a started collective")
}

/// The buffers of a call that is over. Its memory remains, for the next call.
pub(super) fn ended<T: Element>(started: &Started) -> Result<Vectors<T>> {
    started.outcome()?;
    let mut data = started.data();
    let data = data.as_deref_mut().ok_or_else(taken)?;
    let vectors = mem::take(vectors_in(data));
    match data.drop_operator() {
        true => Ok(vectors),
        false => Err(taken()),
    }
}

/// The data of a call that is over.
pub(super) fn data_of(started: &Started) -> Result<Box<dyn Data>> {
    started.outcome()?;
    started.take().ok_or_else(taken)
}

fn taken() -> Error {
    Error::usage("the buffers of this call were taken already")
}

/// Puts the buffers and the operator of a call there, into the memory of the last call if that had the same types.
fn fill<T: Element, O: Operator<T> + 'static>(started: &Started, vectors: Vectors<T>, op: O) {
    let mut data = started.data();
    let last = data.as_deref_mut().map(Data::as_any);
    match last.and_then(|last| last.downcast_mut::<Owned<T, O>>()) {
        Some(last) => (last.vectors, last.op) = (vectors, Some(op)),
        None => *data = Some(owned(vectors, op)),
    }
}

fn steps_of(plan: &Plan) -> &Steps {
    let steps = plan.steps.as_ref();
    steps.expect("the plan of a started call has its steps")
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
        let state = self.state_of(
            &kept.described,
            (steps_of(&kept.plan), true),
            kept.with.info,
        );
        fill(started_of(&state), (input, output), op);
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
        let kept = self.started_v::<T>(ask, blocks, op.kind(), lengths)?;
        let state = self.state_of(
            &kept.described,
            (steps_of(&kept.plan), false),
            kept.with.info,
        );
        fill(started_of(&state), (input, output), op);
        self.begin(&kept.described, state)
    }

    /// Starts a call that was prepared. A start that is refused leaves the data where it is.
    pub(super) fn start_prepared(
        &self,
        prepared: &Prepared,
        data: &mut Option<Box<dyn Data>>,
    ) -> Result<Begun> {
        let Prepared {
            described,
            steps,
            info,
            ..
        } = prepared;
        let state = self.state_of(described, (steps, true), info);
        *started_of(&state).data() = data.take();
        let begun = self.begin(described, state.clone());
        if begun.is_err() {
            *data = started_of(&state).take();
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
        let is = |call: &dyn StartedCall| {
            let started = call.as_any().downcast_ref::<Started>();
            started.is_some_and(|started| started.has(steps))
        };
        let spare = self.core.spares.take(is);
        spare.unwrap_or_else(|| {
            let steps = (steps.clone(), is_kept);
            self.new_state(described, steps, info)
        })
    }

    fn new_state(
        &self,
        described: &Described,
        steps: (Steps, bool),
        info: &'static Info,
    ) -> Rc<RequestState> {
        let call = described.call();
        let started = Started::new(call, &self.handle, self.me, steps, info);
        RequestState::new(Direction::Collective(started), &self.handle, call.site)
    }

    /// Begins a call that has its data.
    fn begin(&self, described: &Described, state: Rc<RequestState>) -> Result<Begun> {
        self.again(
            described,
            || Ok(()),
            |inside| {
                let port = &self.core.port;
                started_of(&state).begin(port, inside.number, inside.print);
                if let Direction::Collective(started) = &state.direction {
                    port.carry_on(started);
                }
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
        fill(started_of(&state), vectors, First);
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
