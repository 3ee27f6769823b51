//! A communicator of some ranks, made by these alone.

use std::panic::Location;
use std::sync::Arc;

use super::Comm;
use super::group::check_members;
use crate::Rank;
use crate::error::{Called, Error, ErrorKind, Mismatch, Result, Site};
use crate::sort;
use crate::transport::CommShared;
use crate::transport::communicator::members::Members;
use crate::transport::communicator::subsets::{Caller, LedTo};
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::progress::reason::Reason;
use crate::transport::trace::origin::Birth;

/// # Communicators: subsets
///
/// A communicator of some ranks, made by these alone.
impl Comm {
    /// Makes a communicator of these ranks of this one, in this order. Only they call it, all with the same list; other
    /// ranks may do anything meanwhile, and need not know of it.
    ///
    /// # Errors
    ///
    /// [`Usage`](ErrorKind::Usage) if this rank is not in the list, if there is no such rank, or if one occurs twice;
    /// [`Mismatch`](ErrorKind::Mismatch), with all lists and lines, if two ranks in such a call wait for each other
    /// with different lists. If ranks wait for each other in other ways, that is a
    /// [`Deadlock`](ErrorKind::Deadlock).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(5).run(|comm| {
    ///     let mut sum = [comm.rank()];
    ///     if comm.rank() % 2 == 0 {
    ///         comm.subset(&[4, 2, 0])?.all_reduce(&mut sum, op::Sum)?;
    ///     }
    ///     Ok(sum[0])
    /// })?;
    /// assert_eq!(sums, [6, 1, 6, 3, 6]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Comm_create_group")]
    #[track_caller]
    pub fn subset(&self, ranks: &[Rank]) -> Result<Comm> {
        let site = Location::caller();
        let show = || text(ranks);
        self.op(site, &show, || {
            check_members(ranks, self.size())?;
            let me = ranks.iter().position(|rank| *rank == self.rank());
            let me = me.ok_or_else(|| {
                let rank = self.rank();
                Error::usage(format!("rank {rank} calls it, and is not in the list"))
            })?;
            self.check_peer("the member", self.rank())?;
            if let Some(far) = ranks.iter().find(|rank| self.is_elsewhere(**rank)) {
                return Err(Error::usage(format!(
                    "rank {far} is in another process, where a subset cannot be met: use split"
                )));
            }
            let shared = self.meet(ranks.into(), &show, site)?;
            Ok(Comm::of(self.core.clone(), shared, me))
        })
    }

    /// Comes to the meeting of a list, and waits until all have come.
    fn meet(
        &self,
        list: Arc<[Rank]>,
        show: &dyn Fn() -> String,
        site: Site,
    ) -> Result<Arc<CommShared>> {
        let subsets = &self.shared.subsets;
        let caller = Caller {
            rank: self.rank(),
            site,
            list: list.clone(),
        };
        let make = || self.make_subset(&list, site);
        let number = subsets.come(caller, make, |callers| self.differing_lists(callers));
        self.shared.rouse_others(self.rank());
        let waited = self.await_meeting(number, show, site);
        let led_to = subsets.leave(number, self.rank());
        if led_to.is_none() {
            // The others wait for this rank again.
            self.shared.rouse_others(self.rank());
        }
        match (led_to, waited) {
            (Some(LedTo::Made(shared)), _) => Ok(shared),
            (Some(LedTo::Differs(found)), _) => Err(Error::new(ErrorKind::Mismatch(found))),
            (None, waited) => Err(waited.err().unwrap_or_else(|| {
                unreachable!("a wait ends well only after the meeting has led to something")
            })),
        }
    }

    fn await_meeting(&self, number: u64, show: &dyn Fn() -> String, site: Site) -> Result<()> {
        let (subsets, port) = (&self.shared.subsets, &self.core.port);
        let missing = || {
            let missing = subsets.missing(number).into_iter();
            missing.map(|rank| self.to_world(rank)).collect()
        };
        let reason = Reason {
            call: show,
            site,
            needs: &|| Needs::All(missing()),
            comm: Some(&self.shared),
            also: &[],
            needs_buffer: false,
            collective: None,
            turn: None,
            deadline: None,
            choice: None,
        };
        port.wait(&reason, || {
            port.progress();
            subsets.led_to(number).map(drop)
        })
    }

    fn make_subset(&self, list: &[Rank], site: Site) -> Arc<CommShared> {
        let world = list.iter().map(|rank| self.to_world(*rank));
        let origin = self.shared.origin.child(Birth::Subset, site);
        self.fabric().new_comm(Members::of(world.collect()), origin)
    }

    /// The mismatch of ranks that wait for each other with different lists. Those are odd who are on the list of most
    /// of the ranks in all lists together, and have another one.
    fn differing_lists(&self, mut callers: Vec<Caller>) -> Mismatch {
        sort::by_numbers(&mut callers, |caller| [caller.rank]);
        let mut all: Vec<Rank> = callers.iter().flat_map(|it| it.list.to_vec()).collect();
        all.sort_unstable();
        all.dedup();
        let votes = |list: &[Rank]| callers.iter().filter(|it| *it.list == *list).count();
        let majority = callers.iter().find(|it| votes(&it.list) * 2 > all.len());
        let differs = |it: &&Caller| {
            majority.is_some_and(|most| most.list != it.list && most.list.contains(&it.rank))
        };
        let called = |it: &Caller| Called {
            rank: self.to_world(it.rank),
            call: text(&it.list),
            site: Some(it.site.into()),
        };
        Mismatch {
            calls: callers.iter().map(called).collect(),
            odd: callers
                .iter()
                .filter(differs)
                .map(|it| self.to_world(it.rank))
                .collect(),
            comm: self.shared.name(),
        }
    }
}

/// The call as errors print it: the first ranks of the list, and how many there are.
fn text(ranks: &[Rank]) -> String {
    const SHOWN: usize = 16;
    let first: Vec<String> = ranks.iter().take(SHOWN).map(Rank::to_string).collect();
    let first = first.join(", ");
    match ranks.len() > SHOWN {
        true => format!("subset([{first}, ..], {} ranks)", ranks.len()),
        false => format!("subset([{first}])"),
    }
}
