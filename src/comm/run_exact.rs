//! Collectives with [`SumExact`], compiled once for each type of numbers: an operator folds two numbers into one, which
//! rounds, so these calls take other ways.
//!
//! - *Two ranks, or one*: every number of the result is the sum of two numbers, which the plain sum rounds once. They
//!   run as any other call.
//! - *Vectors that are read in place* (algorithm `direct`): the rank that forms a sum reads the numbers of all ranks, and
//!   rounds once ([`ExactSums`]). Nothing else moves than in other sums.
//! - *Anything else*, scans among it: ranks exchange accumulators instead of numbers
//!   ([`wide`](crate::op::exact::wide)), which the ordinary algorithms fold, and round them at the end. They are
//!   thirty-five times as long as `f64`, so long vectors go piece by piece, each by the whole schedule: the memory is
//!   that of a piece, and stays in a near cache.
//!
//! Whichever way, it is one call, described by the caller's line, type, lengths and operator.

use std::ops::Range;
use std::rc::Rc;

use super::Comm;
use super::order::{Order, Survivors};
use super::reduce_loop::{fold_elements, fold_survivors};
use crate::collective::{Algorithm, Call as Shape, Choice, Collective};
use crate::engine::call::InCall;
use crate::engine::kept::{Ask, CallPath, Kept, Plan, With};
use crate::error::Result;
use crate::execute::over_cells;
use crate::op::elements::{Elements, ElementsMut, Info};
use crate::op::exact::ExactOf;
use crate::op::exact::summand::Summand;
use crate::op::exact::wide::Merge;
use crate::op::folds::{ExactSums, FoldsOf, Operands};
use crate::op::{Operator, OperatorKind, SumExact, fold_right};
use crate::schedule::Schedule;
use crate::span::Blocks;
use crate::topology::Topology;

/// The bytes of accumulators that are exchanged at once where the vectors may be cut.
const PIECE: usize = 256 << 10;

/// The arguments of a call.
struct Exactly<'a, T> {
    ask: Ask,
    /// The blocks, if there is a count for each rank.
    blocks: Option<Result<Blocks>>,
    input: &'a [T],
    output: &'a mut [T],
}

impl Comm {
    /// Runs a call with [`SumExact`], `_into` and with counts among them.
    #[inline(never)]
    pub(super) fn run_exact(
        &self,
        of: ExactOf,
        ask: Ask,
        blocks: Option<Result<Blocks>>,
        input: Elements<'_>,
        output: ElementsMut<'_>,
    ) -> Result<()> {
        match of {
            ExactOf::F32 => self.run_exact_of::<f32>(ask, blocks, input, output),
            ExactOf::F64 => self.run_exact_of::<f64>(ask, blocks, input, output),
        }
    }

    #[inline]
    fn run_exact_of<T: Summand>(
        &self,
        ask: Ask,
        blocks: Option<Result<Blocks>>,
        input: Elements<'_>,
        output: ElementsMut<'_>,
    ) -> Result<()>
    where
        SumExact: Operator<T>,
    {
        let call = Exactly {
            ask,
            blocks,
            input: input.typed().expect(TYPED),
            output: numbers(output),
        };
        match self.size() {
            0..=2 => self.run_rounding(call),
            _ => self.run_wide(call),
        }
    }

    /// Runs a call of at most two ranks.
    #[inline]
    fn run_rounding<T: Summand>(&self, call: Exactly<'_, T>) -> Result<()>
    where
        SumExact: Operator<T>,
    {
        let Exactly {
            ask,
            blocks,
            input,
            output,
        } = call;
        let alone = match ask.collective {
            Collective::Scan => self.rank() == 0,
            Collective::ExclusiveScan => self.rank() == 1,
            _ => self.size() == 1,
        };
        match blocks {
            Some(blocks) => {
                self.run_folding_v(ask, blocks, input, output, &SumExact, over_cells::folding)?
            }
            None if ask.collective == Collective::Reduce && ask.from_input => {
                self.run_folding_into(ask, input, output, &SumExact, over_cells::folding)?;
            }
            None => self.run_folding(ask, input, output, &SumExact, over_cells::folding)?,
        }
        if alone {
            // What was added to nothing may be any NaN.
            output.iter_mut().for_each(|x| *x = x.canonical());
        }
        Ok(())
    }

    /// Runs a call of more ranks.
    fn run_wide<T: Summand>(&self, call: Exactly<'_, T>) -> Result<()>
    where
        SumExact: Operator<T>,
    {
        let Exactly {
            ask,
            blocks,
            input,
            output,
        } = call;
        let lengths = (input.len(), output.len());
        match blocks {
            None => {
                let kept = self.kept_wide::<T>(&ask, lengths)?;
                let go = |inside: &InCall<'_>| inside.go_exactly(&kept.plan, input, output);
                self.again(&kept.described, || Ok(()), go)
            }
            Some(blocks) => {
                let (op, choose) = (OperatorKind::SumExact, &wide_choice::<T>);
                let with = With::new::<T::Wide>(self, op, lengths);
                let (described, plan) = self.plan_v(&ask, blocks, &with, Info::of::<T>(), choose);
                let go = |inside: &InCall<'_>, plan: Plan| inside.go_exactly(&plan, input, output);
                self.run_plan(&described, plan, go)
            }
        }
    }

    /// As `kept`: the description has the numbers of the caller, and the choice is for accumulators.
    fn kept_wide<T: Summand>(&self, ask: &Ask, lengths: (usize, usize)) -> Result<Rc<Kept>> {
        let with = With::new::<T::Wide>(self, OperatorKind::SumExact, lengths);
        match self.core.kept.find(ask, &with) {
            Some(kept) => Ok(kept),
            None => {
                let choose = |shape: &Shape| {
                    let choice = || wide_choice::<T>(shape);
                    ask.algorithm.unwrap_or_else(choice)
                };
                self.keep_as(*ask, with, Info::of::<T>(), &choose)
            }
        }
    }
}

/// The algorithm where none is named.
fn wide_choice<T: Summand>(shape: &Shape) -> Algorithm {
    Choice::of_few_messages::<T::Wide>(shape)
}

impl InCall<'_> {
    /// Runs the call as planned.
    fn go_exactly<T: Summand>(&self, plan: &Plan, input: &[T], output: &mut [T]) -> Result<()>
    where
        SumExact: Operator<T>,
    {
        // A scan folds results further: they are accumulators.
        let scans = plan.shape.collective.is_scan();
        if matches!(plan.path, CallPath::Direct) && !scans {
            let mut operands = Operands {
                input: Elements::of(input),
                output: ElementsMut::of(output),
                folds: &ExactSums::<T>::new(),
            };
            return self.go_by_elements(plan, &mut operands);
        }
        let mut input = input;
        if input.len() == output.len() && plan.shape.collective == Collective::Reduce {
            // The root of a reduce from one buffer into another.
            output.copy_from_slice(input);
            input = &[];
        }
        match plan.path {
            CallPath::Steps(algorithm) if may_be_cut(&plan.shape) => {
                self.exchange_pieces(algorithm, &plan.shape, input, output)
            }
            _ => exchange(input, output, input.is_empty(), |input, output| {
                self.go(plan, input, output, &Merge, over_cells::folding)
            }),
        }
    }

    /// Runs the schedule for one piece of the vectors after the other.
    fn exchange_pieces<T: Summand>(
        &self,
        algorithm: Algorithm,
        shape: &Shape,
        input: &[T],
        output: &mut [T],
    ) -> Result<()> {
        let step = (PIECE / size_of::<T::Wide>()).max(1);
        let n = shape.length();
        for begin in (0..n.max(1)).step_by(step) {
            let piece = begin..n.min(begin + step);
            let blocks = Blocks::even(piece.len(), shape.ranks());
            let plan = Plan::by_steps(algorithm, shape.clone().with_blocks(blocks), self.rank())?;
            let (input, output) = (&input[part(input.len(), &piece)], {
                let part = part(output.len(), &piece);
                &mut output[part]
            });
            exchange(input, output, input.is_empty(), |input, output| {
                let mut operands = Operands {
                    input: Elements::of(input),
                    output: ElementsMut::of(output),
                    folds: &FoldsOf::<T::Wide, _>::new(&Merge),
                };
                self.go_by_elements(&plan, &mut operands)
            })?;
        }
        Ok(())
    }
}

/// The same for a reduction over a topology, and for any schedule: always with accumulators.
impl InCall<'_> {
    /// The root's sums are then in `buf`.
    pub(super) fn sum_over(
        &self,
        of: ExactOf,
        topology: &Topology,
        order: Order,
        buf: ElementsMut<'_>,
    ) -> Result<()> {
        match of {
            ExactOf::F32 => self.sum_over_of::<f32>(topology, order, numbers(buf)),
            ExactOf::F64 => self.sum_over_of::<f64>(topology, order, numbers(buf)),
        }
    }

    fn sum_over_of<T: Summand>(
        &self,
        topology: &Topology,
        order: Order,
        buf: &mut [T],
    ) -> Result<()> {
        let mut wide = lifted(buf);
        fold_elements(self, topology, order, &mut wide, &Merge)?;
        if self.rank() == topology.root() {
            round(&wide, buf);
        }
        Ok(())
    }

    /// The same without the ranks that have ended.
    pub(super) fn sum_left_over(
        &self,
        of: ExactOf,
        topology: &Topology,
        order: Order,
        buf: ElementsMut<'_>,
    ) -> Result<Option<Survivors>> {
        match of {
            ExactOf::F32 => self.sum_left_over_of::<f32>(topology, order, numbers(buf)),
            ExactOf::F64 => self.sum_left_over_of::<f64>(topology, order, numbers(buf)),
        }
    }

    fn sum_left_over_of<T: Summand>(
        &self,
        topology: &Topology,
        order: Order,
        buf: &mut [T],
    ) -> Result<Option<Survivors>> {
        let mut fold = |mut left: Vec<T::Wide>, right: Vec<T::Wide>| {
            fold_right(&Merge, &mut left, &right);
            left
        };
        let mut held = Some(lifted(buf));
        let survivors = fold_survivors(self, topology, order, &mut held, &mut fold)?;
        if let (Some(sums), Some(_)) = (held, &survivors) {
            round(&sums, buf);
        }
        Ok(survivors)
    }

    pub(super) fn execute_exactly(
        &self,
        of: ExactOf,
        schedule: &dyn Schedule,
        input: Elements<'_>,
        output: ElementsMut<'_>,
    ) -> Result<()> {
        match of {
            ExactOf::F32 => self.execute_exactly_of::<f32>(schedule, input, numbers(output)),
            ExactOf::F64 => self.execute_exactly_of::<f64>(schedule, input, numbers(output)),
        }
    }

    fn execute_exactly_of<T: Summand>(
        &self,
        schedule: &dyn Schedule,
        input: Elements<'_>,
        output: &mut [T],
    ) -> Result<()> {
        let input = input.typed().expect(TYPED);
        exchange(input, output, true, |input, output| {
            self.execute(schedule, input, output, &Merge)
        })
    }
}

const TYPED: &str = "the operator is on elements of this type";

fn numbers<T: Summand>(elements: ElementsMut<'_>) -> &mut [T] {
    elements.typed().expect(TYPED)
}

/// Whether each element is folded by itself, so that a vector may be reduced piece by piece.
fn may_be_cut(shape: &Shape) -> bool {
    shape.blocks.is_even() && shape.collective != Collective::ReduceScatter
}

/// The piece of a vector, which is as long as that of other ranks or empty.
fn part(length: usize, piece: &Range<usize>) -> Range<usize> {
    if length == 0 { 0..0 } else { piece.clone() }
}

/// Runs a call on accumulators of the numbers, and rounds what is in the output then. If the call `reads` no output, it
/// writes all of it.
fn exchange<T: Summand>(
    input: &[T],
    output: &mut [T],
    reads: bool,
    call: impl FnOnce(&[T::Wide], &mut [T::Wide]) -> Result<()>,
) -> Result<()> {
    let wide_input = lifted(input);
    let mut wide_output = match reads {
        true => lifted(output),
        false => vec![T::EMPTY; output.len()],
    };
    call(&wide_input, &mut wide_output)?;
    round(&wide_output, output);
    Ok(())
}

fn lifted<T: Summand>(numbers: &[T]) -> Vec<T::Wide> {
    numbers.iter().map(|x| x.lifted()).collect()
}

fn round<T: Summand>(sums: &[T::Wide], numbers: &mut [T]) {
    for (x, wide) in numbers.iter_mut().zip(sums) {
        *x = T::value_of(wide);
    }
}
