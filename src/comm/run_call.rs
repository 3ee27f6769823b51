//! The path of every collective of elements: its shape is checked, an algorithm is chosen or refused, and the resulting
//! schedule runs.

use std::rc::Rc;

use super::Comm;
use crate::collective::{Algorithm, Call as Shape, Choice, Collective, TuningTable};
use crate::engine::at_cells::AtCellPort;
use crate::engine::call::{Described, InCall};
use crate::engine::combine::kind_of;
use crate::engine::kept::{Ask, CallPath, Kept, Plan, With};
use crate::error::{Error, Result};
use crate::execute::{RankAtCells, over_cells};
use crate::op::elements::{Elements, ElementsMut, Info};
use crate::op::folds::{FoldsOf, Operands};
use crate::op::signature::Signature;
use crate::op::{Element, Operator, OperatorKind};
use crate::span::Blocks;
use crate::transport::communicator::call::{Call, Detail, Verb, digest};

/// # Introspection: algorithms
///
/// Which algorithm a call runs, and why.
impl Comm {
    /// Returns the algorithm that a call runs if none is requested, and why; and the [groups](Self::levels) of ranks
    /// that it may follow, or why there are none. In a [tuned](crate::World::tuned) world the reason is the
    /// measurement. A call with [levels of its own](Shape::on) is explained by those.
    ///
    /// Calls that are started (`iall_reduce`, persistent ones, ...) choose among the algorithms that send messages, and
    /// follow no table; sums by [`op::SumExact`](crate::op::SumExact) too.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the call is for another number of ranks.
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
    ///     assert_eq!(choice.algorithm, Algorithm::Cells);
    ///     println!("{choice}"); // cells: 80 bytes fit into the cells that all ranks can read: ...
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    pub fn explain<T: Element>(&self, call: &Shape) -> Result<Choice> {
        if call.ranks() == self.size() {
            return Ok(self.choice::<T>(call));
        }
        let ranks = call.ranks();
        Err(Error::usage(format!(
            "the call is of {ranks} ranks, and here are {}",
            self.size()
        )))
    }

    /// The shape of a requested call.
    pub(super) fn shape(&self, ask: &Ask) -> Shape {
        Shape {
            root: ask.root,
            commutes: ask.commutes,
            // A reduce may have a separate input at its root alone, which concerns no other rank.
            from_input: ask.from_input && ask.collective == Collective::AllReduce,
            levels: self.own_levels().cloned(),
            crowded: self.is_crowded(),
            transport: self.carrier(),
            ..Shape::new(ask.collective, self.size(), ask.length)
        }
    }

    /// The choice for a call, with the levels of the ranks here unless it brings its own.
    fn choice<T: Element>(&self, call: &Shape) -> Choice {
        let mut call = call.clone();
        call.crowded |= self.is_crowded();
        call.transport = self.carrier();
        let choice = |call: &Shape| Choice::for_elements::<T>(self.tuning(), call);
        match (&call.levels, self.own_levels()) {
            (None, Some(levels)) => choice(&call.on(levels.clone())),
            (None, None) => choice(&call).on_flat(self.why_alike()),
            (Some(_), _) => choice(&call),
        }
    }

    /// The table that choices follow in this world, if there is one.
    fn tuning(&self) -> Option<&TuningTable> {
        self.fabric().settings.tuning.as_ref()?.downcast_ref()
    }

    /// Runs a call.
    #[inline]
    pub(super) fn run_call<T: Element, O: Operator<T>>(
        &self,
        ask: Ask,
        input: &[T],
        output: &mut [T],
        op: &O,
        cells: impl CellPath<T, O>,
    ) -> Result<()> {
        match op.exact_of() {
            None => self.run_folding(ask, input, output, op, cells),
            Some(of) => self.run_exact(of, ask, None, Elements::of(input), ElementsMut::of(output)),
        }
    }

    /// The same by the operator, whatever it is.
    #[inline]
    pub(super) fn run_folding<T: Element, O: Operator<T>>(
        &self,
        ask: Ask,
        input: &[T],
        output: &mut [T],
        op: &O,
        cells: impl CellPath<T, O>,
    ) -> Result<()> {
        let kept = self.kept::<T>(&ask, kind_of(op), (input.len(), output.len()))?;
        self.again(
            &kept.described,
            || Ok(()),
            |inside| inside.go(&kept.plan, input, output, op, cells),
        )
    }

    /// Runs a reduce at its root, where input and output are separate. Only an algorithm that reads all vectors in
    /// place uses both.
    pub(super) fn run_reduce_into<T: Element, O: Operator<T>>(
        &self,
        ask: Ask,
        input: &[T],
        output: &mut [T],
        op: &O,
        cells: impl CellPath<T, O>,
    ) -> Result<()> {
        match op.exact_of() {
            None => self.run_folding_into(ask, input, output, op, cells),
            Some(of) => self.run_exact(of, ask, None, Elements::of(input), ElementsMut::of(output)),
        }
    }

    /// The same by the operator, whatever it is.
    pub(super) fn run_folding_into<T: Element, O: Operator<T>>(
        &self,
        ask: Ask,
        input: &[T],
        output: &mut [T],
        op: &O,
        cells: impl CellPath<T, O>,
    ) -> Result<()> {
        let kept = self.kept::<T>(&ask, kind_of(op), (input.len(), output.len()))?;
        self.again(
            &kept.described,
            || Ok(()),
            |inside| {
                let mut input = input;
                if !matches!(kept.plan.path, CallPath::Direct) {
                    output.copy_from_slice(input);
                    input = &[];
                }
                inside.go(&kept.plan, input, output, op, cells)
            },
        )
    }

    /// Returns the cached description of a call, and caches it first if there is none. `lengths` are those of input and
    /// output.
    #[inline(always)]
    pub(super) fn kept<T: Element>(
        &self,
        ask: &Ask,
        op: OperatorKind,
        lengths: (usize, usize),
    ) -> Result<Rc<Kept>> {
        self.kept_with(ask, With::new::<T>(self, op, lengths))
    }

    /// The same with all that the cache knows it by.
    #[inline(always)]
    pub(super) fn kept_with(&self, ask: &Ask, with: With) -> Result<Rc<Kept>> {
        match self.core.kept.find(ask, &with) {
            Some(kept) => Ok(kept),
            None => self.keep(*ask, with),
        }
    }

    /// Describes and checks a call, chooses its algorithm, and caches the result.
    pub(crate) fn keep(&self, ask: Ask, with: With) -> Result<Rc<Kept>> {
        self.keep_by(ask, with, |algorithm| algorithm)
    }

    /// The same with a substitute for some algorithms.
    pub(super) fn keep_by(
        &self,
        ask: Ask,
        with: With,
        substitute: fn(Algorithm) -> Algorithm,
    ) -> Result<Rc<Kept>> {
        let choose = |shape: &Shape| {
            let choice = || Choice::looked_up(self.tuning(), shape, with.info);
            substitute(ask.algorithm.unwrap_or_else(choice))
        };
        self.keep_as(ask, with, with.info, &choose)
    }

    /// The same by the algorithm of `choose`, for a call that is described as one of elements of the type `named`.
    #[cold]
    pub(super) fn keep_as(
        &self,
        ask: Ask,
        with: With,
        named: &'static Info,
        choose: &dyn Fn(&Shape) -> Algorithm,
    ) -> Result<Rc<Kept>> {
        let shape = self.shape(&ask);
        let described = self.describe_call(&ask, &shape, &with, (named, false));
        if let Err(refused) = self.check_call(&shape, &ask, &with) {
            return Err(self.refusal(&described, refused));
        }
        let algorithm = choose(&shape);
        // Where the ranks of each process take turns, those that have nothing to do spare a turn.
        let is_part = with
            .whole()
            .is_some_and(|(whole, _)| whole == Collective::AllReduce);
        let is_by_root = is_part && self.fabric().settings.in_turns;
        match Plan::new(algorithm, shape, self.rank()).map(Plan::for_later) {
            Err(refused) => Err(self.refusal(&described, refused)),
            Ok(plan) => Ok(self.core.kept.put(Kept {
                ask,
                with,
                plan: plan.by_root(is_by_root),
                described,
            })),
        }
    }

    /// The error of a call that was refused, recorded as one that was made.
    #[cold]
    pub(super) fn refusal(&self, described: &Described, refused: Error) -> Error {
        let never = |_: &InCall<'_>| -> Result<Error> { unreachable!("it was refused") };
        let refused = self.again(described, || Err(refused), never);
        refused.unwrap_or_else(|error| error)
    }

    /// Runs a call with a count for each rank.
    pub(super) fn run_call_v<T: Element, O: Operator<T>>(
        &self,
        ask: Ask,
        blocks: Result<Blocks>,
        input: &[T],
        output: &mut [T],
        op: &O,
        cells: impl CellPath<T, O>,
    ) -> Result<()> {
        match op.exact_of() {
            None => self.run_folding_v(ask, blocks, input, output, op, cells),
            Some(of) => {
                let (input, output) = (Elements::of(input), ElementsMut::of(output));
                self.run_exact(of, ask, Some(blocks), input, output)
            }
        }
    }

    /// The same by the operator, whatever it is.
    pub(super) fn run_folding_v<T: Element, O: Operator<T>>(
        &self,
        ask: Ask,
        blocks: Result<Blocks>,
        input: &[T],
        output: &mut [T],
        op: &O,
        cells: impl CellPath<T, O>,
    ) -> Result<()> {
        let with = With::new::<T>(self, kind_of(op), (input.len(), output.len()));
        let choose = |shape: &Shape| Choice::looked_up(self.tuning(), shape, with.info);
        let (described, plan) = self.plan_v(&ask, blocks, &with, with.info, &choose);
        self.run_plan(&described, plan, |inside, plan| {
            inside.go(&plan, input, output, op, cells)
        })
    }

    /// Describes and checks a call with a count for each rank, and chooses its algorithm; the call is described as one
    /// of elements of the type `named`.
    pub(super) fn plan_v(
        &self,
        ask: &Ask,
        blocks: Result<Blocks>,
        with: &With,
        named: &'static Info,
        choose: &dyn Fn(&Shape) -> Algorithm,
    ) -> (Described, Result<Plan>) {
        let mut shape = self.shape(ask);
        let checked = blocks.and_then(|blocks| {
            shape.blocks = blocks;
            self.check_call(&shape, ask, with)
        });
        let described = self.describe_call(ask, &shape, with, (named, false));
        let plan = checked.and_then(|()| Plan::new(choose(&shape), shape, self.rank()));
        (described, plan)
    }

    /// Runs a call as planned, or refuses it.
    pub(super) fn run_plan<P, R>(
        &self,
        described: &Described,
        plan: Result<P>,
        go: impl FnOnce(&InCall<'_>, P) -> Result<R>,
    ) -> Result<R> {
        match plan {
            Ok(plan) => self.again(described, || Ok(()), |inside| go(inside, plan)),
            Err(refused) => Err(self.refusal(described, refused)),
        }
    }

    /// The properties that must be the same on all ranks: also whether they exchange elements of the type that is
    /// `named`, or of another one.
    pub(super) fn describe_call(
        &self,
        ask: &Ask,
        shape: &Shape,
        with: &With,
        (named, started): (&'static Info, bool),
    ) -> Described {
        let whole = with.whole();
        let (collective, root) = whole.unwrap_or((shape.collective, shape.root));
        let verb = match started {
            true => Verb::Started(collective),
            false => Verb::Collective(collective),
        };
        let others = !named.is(with.info);
        let call = Call {
            root: collective.has_root().then_some(root),
            op: if collective.folds() && shape.collective.folds() {
                with.op
            } else {
                OperatorKind::None
            },
            algorithm: match whole {
                None => fingerprint(shape, ask.algorithm, others),
                Some(_) => digest(&(shape.collective, shape.root, shape.commutes)),
            },
            ..self.call(verb, ask.site)
        };
        let call = match (ask.fused, collective) {
            (Some(signature), _) => fused(call, signature),
            (None, Collective::Barrier) => call,
            (None, _) => Call {
                length: Some(shape.length()),
                info: Some(named),
                ..call
            },
        };
        self.describe(call).written_when_it_waits()
    }
}

/// A call that reduces the vectors of a signature at once.
fn fused(call: Call, signature: &'static Signature) -> Call {
    Call {
        verb: Verb::Fused,
        op: OperatorKind::None,
        algorithm: digest(&(call.algorithm, signature.id())),
        detail: Detail::Fused(signature),
        ..call
    }
}

/// A digest of what must be equal on all ranks besides collective, root, length, type and operator. Whether the
/// operator commutes affects the automatic choice; `others`: elements of another type are exchanged.
fn fingerprint(shape: &Shape, algorithm: Option<Algorithm>, others: bool) -> u32 {
    let uneven = (!shape.blocks.is_even()).then_some(&shape.blocks);
    match (algorithm, uneven, others) {
        (None, None, false) => shape.commutes.into(),
        (.., false) => digest(&(algorithm, uneven, shape.commutes)),
        (.., true) => digest(&((algorithm, uneven), shape.commutes, others)),
    }
}

/// One of the functions of [`over_cells`](mod@crate::execute::over_cells): how the collective of a call runs over
/// cells.
pub(super) trait CellPath<T, O>:
    FnOnce(&mut RankAtCells<'_, '_>, &[T], &mut [T], &O) -> Result<()>
{
}

impl<T, O, F: FnOnce(&mut RankAtCells<'_, '_>, &[T], &mut [T], &O) -> Result<()>> CellPath<T, O>
    for F
{
}

impl InCall<'_> {
    /// Runs the call as planned.
    #[inline]
    pub(super) fn go<T: Element, O: Operator<T>>(
        &self,
        plan: &Plan,
        input: &[T],
        output: &mut [T],
        op: &O,
        cells: impl CellPath<T, O>,
    ) -> Result<()> {
        let shape = &plan.shape;
        match plan.path {
            CallPath::Cells => over_cells(&mut AtCellPort::new(self), shape, |table| {
                cells(table, input, output, op)
            }),
            CallPath::Gate => self.pass_gate(),
            CallPath::Direct | CallPath::Steps(_) => {
                let mut operands = Operands {
                    input: Elements::of(input),
                    output: ElementsMut::of(output),
                    folds: &FoldsOf::<T, _>::new(op),
                };
                self.go_by_elements(plan, &mut operands)
            }
        }
    }

    /// The paths that are compiled once for all types of elements and operators.
    #[inline(never)]
    pub(super) fn go_by_elements(&self, plan: &Plan, operands: &mut Operands<'_>) -> Result<()> {
        match &plan.steps {
            Some(steps) => self.execute_steps(steps, operands),
            None => self.run_direct(plan, operands),
        }
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

/// The buffers of a call that works in place at one rank; the buffers of the other ranks are inputs.
pub(super) fn kept_unless<T>(at: bool, buf: &mut [T]) -> (&[T], &mut [T]) {
    if at { (&[], buf) } else { (buf, &mut []) }
}
