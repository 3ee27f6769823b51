//! Collectives of owned values: any type that can be sent to another thread, moved along a tree.
//!
//! Values need not be plain data: they may be vectors, maps or boxes. Nothing is serialised. A value for one rank is
//! moved there, and a value for all ranks is cloned on the way.
//!
//! The methods hold the values and the function of a call themselves, and lend them to its body. So whatever the
//! destructors of values and functions do, they run after the communicator knows that the call has failed, or that the
//! rank has ended.

use std::fmt;
use std::panic::Location;

use super::Comm;
use super::order::Order;
use super::reduce_loop::{fold_values, taken};
use crate::Rank;
use crate::collective::Collective;
use crate::engine::call::{From, InCall};
use crate::error::{Error, Result, Site};
use crate::op::OperatorKind;
use crate::op::elements::Info;
use crate::topology::{Topology, Triple};
use crate::transport::communicator::call::{Call, Verb};
use crate::unwind;

/// # Collectives of owned values
///
/// Values of any type, which are moved and not copied.
impl Comm {
    /// Returns the collectives of this communicator for owned values.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let all = World::new(3).run(|comm| comm.values().all_gather(comm.rank().to_string()))?;
    /// assert_eq!(all[0].join(" "), "0 1 2");
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    pub fn values(&self) -> Values<'_> {
        Values { comm: self }
    }
}

/// The collectives of a communicator for owned values; see [`Comm::values`].
///
/// A value is of any type that can be sent to another thread: a string, a map, a box. It is moved, and where several
/// ranks get it, cloned. Functions fold with the value of the lower ranks on the left. Reports print these calls as
/// `broadcast_value`, `reduce_value`, ...
///
/// Functions and `clone` run inside the call, and may not call a communicator of this rank, as an
/// [operator](crate::op::Operator#calls-from-inside) may not.
///
/// Messages of one value are [`send_value`](Comm::send_value) and [`recv_value`](Comm::recv_value).
#[derive(Clone, Copy)]
#[must_use = "it does nothing until one of its collectives is called"]
pub struct Values<'a> {
    pub(super) comm: &'a Comm,
}

impl fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.comm.show(f, "Values")
    }
}

impl Values<'_> {
    /// Gives every rank a clone of the root's value. The root passes it, the other ranks pass `None`.
    ///
    /// # Cost
    ///
    /// ⌈log₂ P⌉ steps; P - 1 clones.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the root passes none, or if another rank passes one; otherwise as
    /// [`Comm::broadcast`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let words = World::new(4).run(|comm| {
    ///     let mine = (comm.rank() == 2).then(|| vec!["to".to_string(), "all".to_string()]);
    ///     comm.values().broadcast(2, mine)
    /// })?;
    /// assert!(words.iter().all(|words| words.join(" ") == "to all"));
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn broadcast<V: Clone + Send + 'static>(&self, root: Rank, value: Option<V>) -> Result<V> {
        let call = self
            .comm
            .value_call::<V>(Collective::Broadcast, Some(root), Location::caller());
        let checked = self.comm.check_passed(root, value.is_some());
        let mut held = value;
        self.comm
            .collective(call, || checked, |inside| inside.send_down(root, &mut held))
            .map(|()| taken(held))
    }

    /// Folds the values of all ranks into one at the root, with operands in rank order; the other ranks get `None`.
    ///
    /// # Cost
    ///
    /// ⌈log₂ P⌉ steps, one more for a root that is not rank 0. No value is cloned.
    ///
    /// # Errors
    ///
    /// As [`Comm::broadcast`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let text = World::new(4).run(|comm| {
    ///     comm.values().reduce(1, comm.rank().to_string(), |left, right| left + &right)
    /// })?;
    /// assert_eq!(text[1].as_deref(), Some("0123"));
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn reduce<V: Send + 'static>(
        &self,
        root: Rank,
        value: V,
        mut fold: impl FnMut(V, V) -> V,
    ) -> Result<Option<V>> {
        let call = self
            .comm
            .value_call::<V>(Collective::Reduce, Some(root), Location::caller());
        let call = Call {
            op: OperatorKind::Closure,
            ..call
        };
        let checked = self.comm.check_rank("the root", root);
        let mut held = Some(value);
        let body = |inside: &InCall<'_>| inside.fold_up(root, &mut held, &mut fold);
        self.comm.collective(call, || checked, body).map(|()| held)
    }

    /// Folds the values of all ranks, with operands in rank order, and gives every rank a clone of the result.
    ///
    /// # Cost
    ///
    /// 2 ⌈log₂ P⌉ steps; P - 1 clones.
    ///
    /// # Errors
    ///
    /// As [`Comm::broadcast`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    /// use std::collections::BTreeSet;
    ///
    /// let seen = World::new(4).run(|comm| {
    ///     let mine = BTreeSet::from([comm.rank() % 3]);
    ///     comm.values().all_reduce(mine, |mut left, right| {
    ///         left.extend(right);
    ///         left
    ///     })
    /// })?;
    /// assert!(seen.iter().all(|set| *set == BTreeSet::from([0, 1, 2])));
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn all_reduce<V: Clone + Send + 'static>(
        &self,
        value: V,
        mut fold: impl FnMut(V, V) -> V,
    ) -> Result<V> {
        let call = self
            .comm
            .value_call::<V>(Collective::AllReduce, None, Location::caller());
        let call = Call {
            op: OperatorKind::Closure,
            ..call
        };
        let mut held = Some(value);
        let body = |inside: &InCall<'_>| {
            inside.fold_up(0, &mut held, &mut fold)?;
            inside.send_down(0, &mut held)
        };
        self.comm
            .collective(call, || Ok(()), body)
            .map(|()| taken(held))
    }

    /// Collects the values of all ranks, in rank order, at the root; the other ranks get `None`.
    ///
    /// # Cost
    ///
    /// ⌈log₂ P⌉ steps, one more for a root that is not rank 0. No value is cloned.
    ///
    /// # Errors
    ///
    /// As [`Comm::broadcast`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let names = World::new(3).run(|comm| comm.values().gather(0, format!("rank {}", comm.rank())))?;
    /// assert_eq!(names[0].as_ref().unwrap().join(", "), "rank 0, rank 1, rank 2");
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn gather<V: Send + 'static>(&self, root: Rank, value: V) -> Result<Option<Vec<V>>> {
        let call = self
            .comm
            .value_call::<V>(Collective::Gather, Some(root), Location::caller());
        let checked = self.comm.check_rank("the root", root);
        let mut held = Some(vec![value]);
        let body = |inside: &InCall<'_>| inside.fold_up(root, &mut held, &mut append);
        self.comm.collective(call, || checked, body).map(|()| held)
    }

    /// Collects the values of all ranks, in rank order, and gives every rank clones of them.
    ///
    /// # Cost
    ///
    /// 2 ⌈log₂ P⌉ steps; each value is cloned P - 1 times.
    ///
    /// # Errors
    ///
    /// As [`Comm::broadcast`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let all = World::new(3).run(|comm| comm.values().all_gather(vec![comm.rank(); comm.rank()]))?;
    /// assert_eq!(all[0], [vec![], vec![1], vec![2, 2]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn all_gather<V: Clone + Send + 'static>(&self, value: V) -> Result<Vec<V>> {
        let call = self
            .comm
            .value_call::<V>(Collective::AllGather, None, Location::caller());
        let mut held = Some(vec![value]);
        let body = |inside: &InCall<'_>| {
            inside.fold_up(0, &mut held, &mut append)?;
            inside.send_down(0, &mut held)
        };
        self.comm
            .collective(call, || Ok(()), body)
            .map(|()| taken(held))
    }

    /// Distributes the root's values, one to each rank. The root passes one value per rank, the other ranks pass
    /// `None`.
    ///
    /// # Cost
    ///
    /// ⌈log₂ P⌉ steps. No value is cloned.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the root passes none or the wrong number of values, or if another rank
    /// passes any; otherwise as [`Comm::broadcast`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let jobs = World::new(3).run(|comm| {
    ///     let all = (comm.rank() == 0).then(|| vec!["sow".to_string(), "reap".into(), "rest".into()]);
    ///     comm.values().scatter(0, all)
    /// })?;
    /// assert_eq!(jobs, ["sow", "reap", "rest"]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn scatter<V: Send + 'static>(&self, root: Rank, all: Option<Vec<V>>) -> Result<V> {
        let call = self
            .comm
            .value_call::<V>(Collective::Scatter, Some(root), Location::caller());
        let given = all.as_ref().map_or(self.comm.size(), Vec::len);
        let checked = self.comm.check_passed(root, all.is_some());
        let checked = checked.and_then(|()| self.comm.check_one_for_each(given));
        let mut held = all;
        self.comm
            .collective(call, || checked, |inside| inside.deal_out(root, &mut held))
            .map(|()| taken(held.and_then(|mut held| held.pop())))
    }
}

impl Comm {
    pub(super) fn value_call<V: 'static>(
        &self,
        collective: Collective,
        root: Option<Rank>,
        site: Site,
    ) -> Call {
        Call {
            root,
            info: Some(Info::of_value::<V>()),
            ..self.call(Verb::Values(collective), site)
        }
    }

    /// Checks that this rank has passed a value for each rank.
    pub(super) fn check_one_for_each(&self, given: usize) -> Result<()> {
        match self.size() {
            ranks if ranks == given => Ok(()),
            ranks => Err(Error::usage(format!(
                "there must be a value for each of {ranks} ranks, and there are {given}"
            ))),
        }
    }

    /// Checks that the root has passed a value, and that no other rank has.
    fn check_passed(&self, root: Rank, passed: bool) -> Result<()> {
        self.check_rank("the root", root)?;
        match (self.rank() == root, passed) {
            (true, false) => Err(Error::usage(
                "the root must pass something, and passes `None`",
            )),
            (false, true) => Err(Error::usage(format!(
                "only the root, rank {root}, passes something; the others pass `None`"
            ))),
            _ => Ok(()),
        }
    }
}

/// A clone for another rank. It is made by user code, which runs inside a call.
pub(super) fn cloned<V: Clone>(held: &Option<V>) -> V {
    taken(unwind::operator(|| held.clone()))
}

pub(super) fn append<V>(mut left: Vec<V>, right: Vec<V>) -> Vec<V> {
    left.extend(right);
    left
}

impl InCall<'_> {
    /// Folds all values on the way to rank 0, in rank order, and passes the result on to the root. The value of each
    /// rank is taken out of `held`; the root's then holds the result.
    pub(super) fn fold_up<V: Send + 'static>(
        &self,
        root: Rank,
        held: &mut Option<V>,
        fold: &mut impl FnMut(V, V) -> V,
    ) -> Result<()> {
        let tree = Topology::binomial(self.size());
        fold_values(self, &tree, Order::Rank, held, fold)?;
        if root == 0 {
            return Ok(());
        }
        if let Some(folded) = held.take() {
            self.hand_on(root, folded)?;
        }
        if self.rank() == root {
            *held = Some(self.expect_value(&From::Rank(0))?.1);
        }
        Ok(())
    }

    /// Sends the value that the root holds down the tree: every rank then holds it.
    pub(super) fn send_down<V: Clone + Send + 'static>(
        &self,
        root: Rank,
        held: &mut Option<V>,
    ) -> Result<()> {
        let tree = Topology::binomial(self.size()).rooted(root);
        if let Some((_, above)) = tree.successor(self.rank()) {
            *held = Some(self.expect_value(&From::Rank(above))?.1);
        }
        let below: Vec<Triple> = tree.predecessors(self.rank()).collect();
        let mut below = below.iter().rev();
        below.try_for_each(|triple| self.hand_on(triple.from, cloned(held)))
    }

    /// Scatters the values that the root holds down the tree, one for each rank, which then holds it alone: a rank
    /// passes on those of the ranks below it.
    ///
    /// Ranks are numbered from the root, so the ranks below a rank directly follow it.
    pub(super) fn deal_out<V: Send + 'static>(
        &self,
        root: Rank,
        held: &mut Option<Vec<V>>,
    ) -> Result<()> {
        let (ranks, tree) = (self.size(), Topology::binomial(self.size()));
        let rank = |v: Rank| (v + root) % ranks;
        let me = (self.rank() + ranks - root) % ranks;
        match tree.successor(me) {
            Some((_, above)) => *held = Some(self.expect_value(&From::Rank(rank(above)))?.1),
            None => held.iter_mut().for_each(|all| all.rotate_left(root)),
        }
        let mut below: Vec<Rank> = tree.predecessors(me).map(|triple| triple.from).collect();
        below.sort_unstable();
        for v in below.into_iter().rev() {
            let theirs = held.as_mut().map(|held| held.split_off(v - me));
            self.hand_on(rank(v), taken(theirs))?;
        }
        Ok(())
    }

    /// Moves a value to a rank that must not have ended.
    pub(super) fn hand_on<V: Send + 'static>(&self, to: Rank, value: V) -> Result<()> {
        if self.send_value(to, value)? {
            Ok(())
        } else {
            Err(self.gone(to))
        }
    }
}
