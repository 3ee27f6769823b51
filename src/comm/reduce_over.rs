//! Reductions over a topology that the caller chooses: arguments and refusals. The loop itself is in `reduce_loop`.

use std::fmt;
use std::panic::Location;

use super::Comm;
use super::order::{Order, Survivors};
use super::reduce_loop::{fold_elements, fold_survivors, fold_values};
use super::values::Values;
use crate::engine::call::{InCall, elements};
use crate::engine::combine::{commutes, kind_of};
use crate::error::{Error, Result, Site};
use crate::op::elements::{ElementsMut, Info};
use crate::op::{Element, Operator, OperatorKind, copied, fold_right};
use crate::topology::Topology;
use crate::transport::communicator::call::{Call, Verb};

/// # Reduction over a topology
///
/// Any reduction algorithm as data: who sends to whom at which step.
impl Comm {
    /// Builds a reduction of elements over a topology that the caller chooses. Set its [order](ReduceOver::order) if
    /// the default does not fit, then [`run`](ReduceOver::run) it, or run it without the ranks that have ended
    /// ([`survivors`](ReduceOver::survivors)).
    ///
    /// The root of the topology gets the result in its buffer; the buffers of the other ranks are unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op, topology::Topology};
    ///
    /// let sums = World::new(8).run(|comm| {
    ///     let mut v = [comm.rank()];
    ///     comm.reduce_over(&Topology::k_tree(8, 2), &mut v, op::Sum).run()?;
    ///     Ok(v[0])
    /// })?;
    /// assert_eq!(sums[0], 28);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    ///
    /// # Source
    ///
    /// Xiong 2015.
    #[track_caller]
    pub fn reduce_over<'a, T: Element, O: Operator<T>>(
        &'a self,
        topology: &'a Topology,
        buf: &'a mut [T],
        op: O,
    ) -> ReduceOver<'a, T, O> {
        let order = if commutes(&op) {
            Order::Step
        } else {
            Order::Rank
        };
        ReduceOver {
            comm: self,
            topology,
            buf,
            op,
            order,
            site: Location::caller(),
        }
    }
}

impl<'a> Values<'a> {
    /// Builds a reduction of owned values, by move, over a topology. `fold` must be associative. The operands stay in
    /// rank order unless [`order`](ReduceValueOver::order) sets another order.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, topology::Topology};
    ///
    /// let texts = World::new(5).run(|comm| {
    ///     let mine = comm.rank().to_string();
    ///     comm.values().reduce_over(&Topology::fibonacci(5), mine, |a, b| a + &b).run()
    /// })?;
    /// assert_eq!(texts[0].as_deref(), Some("01234"));
    /// assert_eq!(texts[1], None);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn reduce_over<V: Send + 'static, F: FnMut(V, V) -> V>(
        &self,
        topology: &'a Topology,
        value: V,
        fold: F,
    ) -> ReduceValueOver<'a, V, F> {
        let site = Location::caller();
        ReduceValueOver {
            comm: self.comm,
            topology,
            value,
            fold,
            order: Order::Rank,
            site,
        }
    }
}

/// A reduction of elements that is about to run; see [`Comm::reduce_over`].
#[must_use = "a reduction happens when it is run"]
pub struct ReduceOver<'a, T, O> {
    comm: &'a Comm,
    topology: &'a Topology,
    buf: &'a mut [T],
    op: O,
    order: Order,
    site: Site,
}

impl<T, O> fmt::Debug for ReduceOver<'_, T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.comm.show(f, "ReduceOver")
    }
}

impl<T: Element, O: Operator<T>> ReduceOver<'_, T, O> {
    /// Sets the order of folding. The default is by step if the operator commutes, and by rank otherwise.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Runs the reduction.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the topology is for another number of ranks, or if the order does not suit
    /// the operator or the topology; otherwise as [`Comm::reduce`].
    pub fn run(self) -> Result<()> {
        let Self {
            comm,
            topology,
            buf,
            op,
            order,
            site,
        } = self;
        let call = elements::<T>(comm.call(Verb::ReduceOver, site), buf.len());
        let call = folding(over(call, topology, order, false), &op);
        let check = || suits(comm, topology, order, commutes(&op));
        comm.collective(call, check, |inside| match op.exact_of() {
            None => fold_elements(inside, topology, order, buf, &op),
            Some(of) => inside.sum_over(of, topology, order, ElementsMut::of(buf)),
        })
    }

    /// Runs the reduction over the ranks that are left: contributions held by a rank that has ended are missing,
    /// everything else is folded. The root gets the list of contributors, the other ranks get `None`.
    ///
    /// Each rank sends its fold to its successor; if the successor has ended, the whole subtree is missing.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), except that ranks that have ended are no error.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op, topology::Topology};
    ///
    /// let report = World::new(4).run_each(|comm| {
    ///     if comm.rank() == 2 {
    ///         return Err(rankfold::Error::user("out of memory"));
    ///     }
    ///     let mut v = [1];
    ///     let who = comm.reduce_over(&Topology::flat(4), &mut v, op::Sum).survivors()?;
    ///     Ok((v[0], who))
    /// });
    /// let (sum, who) = report.outcomes[0].value().unwrap();
    /// assert_eq!((*sum, &who.as_ref().unwrap().contributors), (3, &vec![0, 1, 3]));
    /// ```
    pub fn survivors(self) -> Result<Option<Survivors>> {
        let Self {
            comm,
            topology,
            buf,
            op,
            order,
            site,
        } = self;
        let call = elements::<T>(comm.call(Verb::ReduceOver, site), buf.len());
        let call = folding(over(call, topology, order, true), &op);
        let check = || suits(comm, topology, order, commutes(&op));
        comm.collective(call, check, |inside| match op.exact_of() {
            None => fold_left_over(inside, topology, order, buf, &op),
            Some(of) => inside.sum_left_over(of, topology, order, ElementsMut::of(buf)),
        })
    }
}

/// Folds the elements of the ranks that are left. The root's are then in `buf`.
fn fold_left_over<T: Element>(
    inside: &InCall<'_>,
    topology: &Topology,
    order: Order,
    buf: &mut [T],
    op: &impl Operator<T>,
) -> Result<Option<Survivors>> {
    let mut fold = |mut left: Vec<T>, right: Vec<T>| {
        fold_right(op, &mut left, &right);
        left
    };
    let mut held = Some(copied(buf));
    let survivors = fold_survivors(inside, topology, order, &mut held, &mut fold)?;
    if let (Some(folded), Some(_)) = (held, &survivors) {
        buf.copy_from_slice(&folded);
    }
    Ok(survivors)
}

/// A reduction of owned values that is about to run; see [`Values::reduce_over`].
#[must_use = "a reduction happens when it is run"]
pub struct ReduceValueOver<'a, V, F> {
    comm: &'a Comm,
    topology: &'a Topology,
    value: V,
    fold: F,
    order: Order,
    site: Site,
}

impl<V, F> fmt::Debug for ReduceValueOver<'_, V, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.comm.show(f, "ReduceValueOver")
    }
}

impl<V: Send + 'static, F: FnMut(V, V) -> V> ReduceValueOver<'_, V, F> {
    /// Sets the order of folding. Any order except [`Order::Rank`] asserts that `fold` commutes.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Runs the reduction: the root gets the result, the other ranks get `None`.
    ///
    /// # Errors
    ///
    /// As [`ReduceOver::run`].
    pub fn run(self) -> Result<Option<V>> {
        let Self {
            comm,
            topology,
            value,
            mut fold,
            order,
            site,
        } = self;
        let mut held = Some(value);
        let call = values::<V>(comm, site, topology, order, false);
        let check = || suits(comm, topology, order, order != Order::Rank);
        let body = |inside: &InCall<'_>| fold_values(inside, topology, order, &mut held, &mut fold);
        comm.collective(call, check, body).map(|()| held)
    }

    /// Runs the reduction over the ranks that are left, as [`ReduceOver::survivors`] does.
    ///
    /// # Errors
    ///
    /// As [`ReduceOver::survivors`].
    pub fn survivors(self) -> Result<Option<(V, Survivors)>> {
        let Self {
            comm,
            topology,
            value,
            mut fold,
            order,
            site,
        } = self;
        let mut held = Some(value);
        let call = values::<V>(comm, site, topology, order, true);
        let check = || suits(comm, topology, order, order != Order::Rank);
        let survivors = comm.collective(call, check, |inside| {
            fold_survivors(inside, topology, order, &mut held, &mut fold)
        })?;
        Ok(held.zip(survivors))
    }
}

/// Adds the topology and the way it is run to the description of a call.
fn over(call: Call, topology: &Topology, order: Order, tolerant: bool) -> Call {
    let algorithm = topology.fingerprint() as u32 ^ order as u32;
    Call {
        root: Some(topology.root()),
        algorithm,
        tolerant,
        ..call
    }
}

/// The same with an operator. Ranks that exchange accumulators are not in one call with others.
fn folding<T: Element>(call: Call, op: &impl Operator<T>) -> Call {
    let algorithm = call.algorithm ^ u32::from(op.exact_of().is_some()) << 31;
    Call {
        op: kind_of(op),
        algorithm,
        ..call
    }
}

fn values<V: 'static>(
    comm: &Comm,
    site: Site,
    topology: &Topology,
    order: Order,
    tolerant: bool,
) -> Call {
    let call = comm.call(Verb::ReduceOver, site);
    Call {
        op: OperatorKind::Closure,
        info: Some(Info::of_value::<V>()),
        ..over(call, topology, order, tolerant)
    }
}

/// Refuses a topology or an order that does not guarantee the result.
fn suits(comm: &Comm, topology: &Topology, order: Order, commutes: bool) -> Result<()> {
    let wrong = if topology.ranks() != comm.size() {
        format!(
            "a topology of {} ranks in a world of {}",
            topology.ranks(),
            comm.size()
        )
    } else if order != Order::Rank && !commutes {
        format!(
            "{order:?} order is only for operators that commute: see op::commutative, or use Order::Rank"
        )
    } else if order == Order::Rank && !topology.is_in_rank_order() {
        let name = topology.name();
        format!(
            "the subtrees of {name} are not runs of neighbouring ranks, so it cannot keep rank order"
        )
    } else {
        return Ok(());
    };
    Err(Error::usage(wrong))
}
