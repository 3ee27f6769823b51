//! New communicators from old ones: dup, split, shrink.

use std::panic::Location;
use std::sync::Arc;

use super::Comm;
use super::values::append;
use crate::Rank;
use crate::engine::call::InCall;
use crate::error::{Result, Site};
use crate::machine::{Cpus, Machine, Object, ObjectKind};
use crate::sort;
use crate::transport::CommShared;
use crate::transport::communicator::call::{Call, Detail, Verb, digest};
use crate::transport::communicator::members::Members;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::progress::reason::Reason;
use crate::transport::trace::origin::{Birth, Origin};

/// The colour and key that a rank passes to a split, and the place it gets.
pub(super) type Wish = (Option<u32>, i64);
pub(super) type Place = Option<(Arc<CommShared>, Rank)>;

/// A part of the machine whose ranks share a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Level {
    /// A physical package.
    Package,
    /// A NUMA node, that is, memory.
    Numa,
    /// A third-level cache.
    L3,
    /// A process, that is, memory that ranks share.
    Process,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Package => "package",
            Level::Numa => "NUMA node",
            Level::L3 => "L3 cache",
            Level::Process => "process",
        }
    }

    /// The part that each rank is in, given the CPUs on which it may run. All ranks that may run in more than one part
    /// form a part of their own.
    fn parts(self, machine: &Machine, ranks: &[Vec<usize>]) -> Vec<u32> {
        let kind = match self {
            Level::Package => ObjectKind::Package,
            Level::Numa => ObjectKind::Node,
            Level::L3 => ObjectKind::L3,
            // Asked where all ranks are in one.
            Level::Process => return vec![0; ranks.len()],
        };
        let parts = machine.tree.all(kind);
        let inside =
            |part: &&Object, cpus: &[usize]| cpus.iter().all(|cpu| part.cpus.contains(cpu));
        let part = |cpus: &Vec<usize>| {
            let found = parts
                .iter()
                .position(|part| !cpus.is_empty() && inside(part, cpus));
            found.unwrap_or(parts.len()) as u32
        };
        ranks.iter().map(part).collect()
    }
}

/// # Communicators
///
/// New communicators from this one: a duplicate, parts of it, and the ranks that have not failed.
impl Comm {
    /// Duplicates the communicator: the same ranks, with messages and collectives of their own. Messages and
    /// collectives on the one never match those on the other. All ranks call it together. The duplicate gets the
    /// [attributes](crate::attribute) whose keys say so.
    ///
    /// # Errors
    ///
    /// As [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(2).run(|comm| {
    ///     let library = comm.dup()?; // its messages are separate
    ///     if comm.rank() == 0 {
    ///         comm.send(1, 7, &[1])?;
    ///         library.send(1, 7, &[2])?;
    ///     } else {
    ///         assert_eq!(library.recv::<i32>(0, 7)?.0, [2]);
    ///         assert_eq!(comm.recv::<i32>(0, 7)?.0, [1]);
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Comm_dup")]
    #[track_caller]
    pub fn dup(&self) -> Result<Comm> {
        let call = self.call(Verb::Dup, Location::caller());
        let duplicate = self.once_more(call, &Birth::Dup)?;
        self.attributes.copy_to(&duplicate.attributes);
        Ok(duplicate)
    }

    /// Makes a communicator of the same ranks by `call`.
    pub(super) fn once_more(&self, call: Call, birth: &Birth) -> Result<Comm> {
        let wish = (Some(0), self.rank() as i64);
        let place = self.collective(
            call,
            || Ok(()),
            |inside| match self.shared.spans() {
                true => inside.duplicate_spread(birth.clone()),
                false => inside.find_place(wish, |wishes| wishes, |_| birth.clone()),
            },
        )?;
        let mut duplicate = self.at_place(place);
        duplicate.alike = self.alike;
        Ok(duplicate)
    }

    /// This rank's end of a communicator in which it has asked for a place.
    pub(super) fn at_place(&self, place: Place) -> Comm {
        let (shared, me) = place.unwrap_or_else(|| unreachable!("this rank asked for a place"));
        Comm::of(self.core.clone(), shared, me)
    }

    /// Splits the ranks: those that pass the same colour form one new communicator, in the order of their keys, and of
    /// their old ranks where keys are equal. All ranks call it together.
    ///
    /// # Errors
    ///
    /// As [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(6).run(|comm| {
    ///     let row = comm.split(comm.rank() as u32 / 3, 0)?;
    ///     let mut v = [comm.rank()];
    ///     row.all_reduce(&mut v, op::Sum)?;
    ///     Ok((row.rank(), v[0]))
    /// })?;
    /// assert_eq!(sums, [(0, 3), (1, 3), (2, 3), (0, 12), (1, 12), (2, 12)]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Comm_split")]
    #[track_caller]
    pub fn split(&self, color: u32, key: i64) -> Result<Comm> {
        let part = self.split_at((Some(color), key), Location::caller())?;
        Ok(part.unwrap_or_else(|| unreachable!("this rank asked for a place")))
    }

    /// [`split`](Self::split) from which ranks may stay out: those that pass no colour get `None`.
    ///
    /// # Errors
    ///
    /// As [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let sizes = World::new(3).run(|comm| {
    ///     let some = comm.split_if((comm.rank() > 0).then_some(0), 0)?;
    ///     Ok(some.map(|some| some.size()))
    /// })?;
    /// assert_eq!(sizes, [None, Some(2), Some(2)]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_UNDEFINED")]
    #[track_caller]
    pub fn split_if(&self, color: Option<u32>, key: i64) -> Result<Option<Comm>> {
        self.split_at((color, key), Location::caller())
    }

    /// Splits the ranks by the part of the machine to which they are pinned: those that share a package, a NUMA node or
    /// a third-level cache form one new communicator, in their old order. Ranks that are not pinned to one part form a
    /// communicator of their own. By [`Level::Process`], the ranks of each process form one; ranks of several processes
    /// are split by nothing else. All ranks call it together.
    ///
    /// It is this machine that counts, also where [`World::machine`](crate::World::machine) has collectives plan for
    /// another one: its ranks are not pinned, and form one communicator.
    ///
    /// # Errors
    ///
    /// As [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Level, World};
    ///
    /// let sizes = World::new(4).run(|comm| Ok(comm.split_by(Level::Numa)?.size()))?;
    /// assert!(sizes.iter().all(|size| (1..=4).contains(size)));
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Comm_split_type")]
    #[track_caller]
    pub fn split_by(&self, level: Level) -> Result<Comm> {
        #[cfg(feature = "mpi")]
        if level == Level::Process && self.shared.spans() {
            return self.split(self.process() as u32, 0);
        }
        let call = Call {
            detail: Detail::Level(level.name()),
            algorithm: digest(&level),
            ..self.call(Verb::SplitBy, Location::caller())
        };
        let birth = |part| Birth::SplitBy(level.name(), part);
        let decide = |masks: Vec<Vec<usize>>| {
            let parts = level.parts(&Machine::here(), &masks).into_iter();
            parts.map(|part| (Some(part), 0)).collect()
        };
        let mask = Cpus::here().mask;
        let part = self.collective(
            call,
            || Ok(()),
            |inside| inside.find_place(mask, decide, birth),
        )?;
        Ok(self.at_place(part))
    }

    fn split_at(&self, wish: Wish, site: Site) -> Result<Option<Comm>> {
        let call = Call {
            detail: Detail::Part(wish.0, wish.1),
            ..self.call(Verb::Split, site)
        };
        let place = self.collective(
            call,
            || Ok(()),
            |inside| inside.find_wished(wish, Birth::Split),
        )?;
        Ok(place.map(|(shared, me)| Comm::of(self.core.clone(), shared, me)))
    }

    /// Makes a communicator of the ranks that have not ended, in their old order. The old communicator is revoked: a
    /// rank that waits in one of its calls gets its first failure.
    ///
    /// Use it on a communicator some of whose ranks have ended, and which may be broken. It completes once every rank
    /// of the communicator has called `shrink` or has ended. Ranks that end meanwhile are left out too.
    ///
    /// # Errors
    ///
    /// [`Deadlock`](crate::ErrorKind::Deadlock) if a rank that has not ended waits for something else that can never
    /// come; [`TimedOut`](crate::ErrorKind::TimedOut), by [`World::timeout`](crate::World::timeout);
    /// [`Usage`](crate::ErrorKind::Usage) if ranks are in several processes.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Comm, World, op};
    ///
    /// let report = World::new(4).run_each(|comm| {
    ///     let sum = |comm: &Comm| {
    ///         let mut v = [comm.size()];
    ///         comm.all_reduce(&mut v, op::Sum).map(|()| v[0])
    ///     };
    ///     assert_ne!(comm.rank(), 2, "rank 2 fails");
    ///     match sum(comm) {
    ///         Ok(all) => Ok(all),
    ///         Err(_) => sum(&comm.shrink()?), // continue without rank 2
    ///     }
    /// });
    /// assert_eq!(report.outcomes[0].value(), Some(&9)); // three ranks, each with size 3
    /// ```
    #[doc(alias = "MPI_Comm_shrink")]
    #[doc(alias = "MPIX_Comm_shrink")]
    #[track_caller]
    pub fn shrink(&self) -> Result<Comm> {
        let site = Location::caller();
        self.op(site, &|| "shrink".into(), || {
            self.check_within("shrink")?;
            let number = self.shrinks.get();
            self.fabric().revoke_comm(&self.shared, self.core.port.me);
            let shared = self.meet_the_living(number, site)?;
            // An attempt that failed is made again under its number.
            self.shrinks.set(number + 1);
            let me = shared.members.member(self.core.port.me);
            let me = me.unwrap_or_else(|| unreachable!("this rank has come"));
            Ok(Comm::of(self.core.clone(), shared, me))
        })
    }

    /// Arrives at a shrink, and waits for every rank that has not ended.
    fn meet_the_living(&self, number: u32, site: Site) -> Result<Arc<CommShared>> {
        let (fabric, members) = (self.fabric(), &self.shared.members);
        let look = || {
            let gone = |rank| !fabric.is_there(rank);
            let origin = || self.shared.origin.child(Birth::Shrink, site);
            let make = |come| fabric.new_comm(Members::of(come), origin());
            let shrinking = &self.shared.shrinking;
            self.core.port.progress();
            shrinking.result(number, members.iter(), gone, make)
        };
        self.shared.shrinking.come(number, self.core.port.me);
        fabric.rouse_shrinking(self.shared.context);
        let call = (self.shared.context, number, 0);
        let reason = Reason {
            call: &|| "shrink".into(),
            site,
            needs: &|| Needs::Shrink(call, members.clone()),
            comm: Some(&self.shared),
            also: &[],
            needs_buffer: false,
            collective: None,
            turn: None,
            deadline: None,
            choice: None,
        };
        let shrunk = self.core.port.wait(&reason, look);
        if shrunk.is_err() {
            self.shared.shrinking.withdraw(number, self.core.port.me);
        }
        // Before this rank can go to sleep again: the last rank to come may not have woken the others yet, and the
        // detector must not take them for waiting still.
        fabric.rouse_shrinking(self.shared.context);
        shrunk
    }
}

impl InCall<'_> {
    /// Rank 0 collects what all ranks ask for, decides the wish of each rank from that, makes the communicators, and
    /// scatters them. `birth` is the origin of the communicator of one colour.
    pub(super) fn find_place<A: Send + 'static>(
        &self,
        asked: A,
        decide: impl FnOnce(Vec<A>) -> Vec<Wish>,
        birth: impl Fn(u32) -> Birth,
    ) -> Result<Place> {
        let mut all = Some(vec![asked]);
        self.fold_up(0, &mut all, &mut append)?;
        let mut places = all.map(|all| self.make_places(&decide(all), birth));
        self.deal_out(0, &mut places)?;
        Ok(places.and_then(|mut place| place.pop()).flatten())
    }

    /// The same for what the rank wishes itself, also where the ranks are in several processes.
    pub(super) fn find_wished(&self, wish: Wish, birth: impl Fn(u32) -> Birth) -> Result<Place> {
        match self.comm.shared.spans() {
            true => self.find_place_spread(wish, birth),
            false => self.find_place(wish, |wishes| wishes, birth),
        }
    }

    /// The members of a new communicator, and where it comes from.
    pub(super) fn members_of(
        &self,
        ranks: impl Iterator<Item = Rank>,
        birth: Birth,
    ) -> (Members, Arc<Origin>) {
        let world = |rank| self.comm.to_world(rank);
        let origin = self.comm.shared.origin.child(birth, self.call.site);
        (Members::of(ranks.map(world).collect()), origin)
    }

    /// Makes the communicators that all ranks together have asked for; the result has one place per rank.
    fn make_places(&self, wishes: &[Wish], birth: impl Fn(u32) -> Birth) -> Vec<Place> {
        let mut places: Vec<Place> = vec![None; wishes.len()];
        for group in grouped(wishes) {
            let ranks = group.iter().map(|(.., rank)| *rank);
            let (members, origin) = self.members_of(ranks, birth(group[0].0));
            let shared = self.comm.fabric().new_comm(members, origin);
            for (member, (.., rank)) in group.iter().enumerate() {
                places[*rank] = Some((shared.clone(), member));
            }
        }
        places
    }
}

/// The ranks that wish to be together, with their colour and key, in their new order.
pub(super) fn grouped(wishes: &[Wish]) -> Vec<Vec<(u32, i64, Rank)>> {
    let mut asked: Vec<(u32, i64, Rank)> = wishes
        .iter()
        .zip(0..)
        .filter_map(|((color, key), rank)| Some(((*color)?, *key, rank)))
        .collect();
    sort::by_signed(&mut asked, |&(_, key, _)| key);
    sort::by_numbers(&mut asked, |&(color, ..)| [color as usize]);
    let groups = asked.chunk_by(|a, b| a.0 == b.0);
    groups.map(<[_]>::to_vec).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::World;

    #[test]
    fn ranks_are_together_that_share_a_part_of_the_machine() {
        let machine = Machine::from_text("package:2 numa:2 l3:2 core:2").unwrap();
        let ranks = [
            vec![0],
            vec![1],
            vec![2],
            vec![4, 5],
            vec![9],
            vec![3, 4],
            vec![],
        ];
        assert_eq!(
            Level::Package.parts(&machine, &ranks),
            [0, 0, 0, 0, 1, 0, 2]
        );
        assert_eq!(Level::Numa.parts(&machine, &ranks), [0, 0, 0, 1, 2, 4, 4]);
        assert_eq!(Level::L3.parts(&machine, &ranks), [0, 0, 1, 2, 4, 8, 8]);
        let nothing_known = Machine::from_text("cpu:4").unwrap();
        assert_eq!(Level::L3.parts(&nothing_known, &ranks[..2]), [0, 0]);
    }

    #[test]
    fn communicators_are_forgotten_once_enough_of_them_are_let_go() {
        let left = World::new(2).run(|comm| {
            let all = (0..300).map(|_| comm.dup()).collect::<Result<Vec<_>>>()?;
            let held = comm.fabric().comms().len();
            // One rank after the other, so that the last one knows that it is the last.
            if comm.rank() == 0 {
                drop(all);
                comm.barrier()?;
            } else {
                comm.barrier()?;
                drop(all);
            }
            comm.barrier()?;
            Ok((held, comm.fabric().comms().len()))
        });
        for (held, left) in left.unwrap() {
            assert!(held > 300);
            assert!(left < 160, "{left} of {held} are left");
        }
    }
}
