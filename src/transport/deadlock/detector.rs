//! Which ranks wait for which, and which have ended and why: the registry that is opened when a rank goes to sleep,
//! wakes up or ends, and never on the fast path.
//!
//! # The detector is exact
//!
//! A rank goes to sleep under the registry's lock: it marks itself asleep (see
//! [`sleeper`](crate::transport::wakeup::sleeper)), looks for a post once more, records what it waits for, and then
//! asks which ranks are [`stuck`](wait_for_graph::stuck). Suppose the answer names rank r as stuck though a message
//! that frees r was posted. The poster's fence came after r marked itself asleep, otherwise r's own last look would
//! have found the message; so the poster saw the flag and marks r awake in the same call, before it can itself take the
//! registry's lock and go to sleep. Either it has not done so yet, then it is awake and counts as running; or the mark
//! was made before the question was asked, then r counts as running. Both contradict the assumption.
//!
//! Three events free *several* ranks before each of them can be marked: a gate that turns, an epoch at which the last
//! rank arrives, and a communicator that breaks. A rank that noticed by itself may be asleep again, waiting for a rank
//! that has not been marked yet; so a wait that is over in this way counts as running without a mark. No rank can have
//! passed such an event without the detector seeing the event: that rank went to sleep under the same lock. A shrink
//! that completes frees several ranks too; each rank that leaves it marks all others first. Conversely, the last rank
//! of a deadlock to go to sleep finds all others asleep: every deadlock is found, by one of its own ranks, while other
//! ranks run on.
//!
//! A rank in another collective call may bring what a sleeper needs without waking it, since it does not know that the
//! sleeper is one of its readers. If that happens after the sleeper's last look and before its needs are recorded, the
//! needs are empty, which the walk would take for a wait that can end. So a rank that needs nothing looks once more.
//!
//! # Started collectives
//!
//! A collective that a rank has started goes on while the rank sleeps in another call: a message that arrives for it
//! wakes the rank, which takes it, perhaps sends others, and sleeps again (`progress/started.rs`). So each started
//! collective of a sleeping rank is a node of the graph, with the state at its rank's last look. A rank that goes to
//! sleep asks for itself and for each of its started collectives. All argued above for a rank and what it waits for
//! holds for such a node too, since the rank wakes for both.
//!
//! # Ends that are not in the registry yet
//!
//! ```text
//! returns:   posts;  endpoint ← gone;   light();  waiting > 0?   then: opens the registry
//! sleeper:   (registry open)  waiting + 1;  flag ← ASLEEP;  heavy();  takes in the ends;  looks;  walks
//! ```
//!
//! A rank that returns while no rank waits leaves the registry closed. One of the two fences comes first. If it is that
//! of the returning rank, the sleeper takes in its end, and finds everything that it had posted before. Otherwise the
//! returning rank sees that a rank waits, and opens the registry after the sleeper has released it. Whoever opens the
//! registry takes in such ends, and wakes the ranks that need them. To the sleeper the returning rank was running until
//! then.

use std::ops::DerefMut;
use std::sync::Arc;
use std::time::Instant;

use crate::Rank;
use crate::error::{Cause, Deadlock, Error, Gone, Stuck};
use crate::sync::Ordering;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::wakeup::sleeper::RunNumber;
use crate::transport::{CommShared, Fabric, wakeup::fences};

use crate::transport::deadlock::registry::{Registry, Wait};

/// Describes the wait; `None` if `look` has found what the rank was looking for.
fn look_or_describe(
    wait: &mut dyn FnMut() -> Wait,
    look: &mut dyn FnMut() -> bool,
) -> Option<Wait> {
    if look() {
        return None;
    }
    let wait = wait();
    // If it needs nothing, it arrived after the look, perhaps from a rank in another call, which does not know that
    // this one needs it and so does not wake it.
    let found = wait.needs.is_nothing() && look();
    (!found).then_some(wait)
}

impl Fabric {
    /// Puts `me` to sleep: `Ok(false)` means that it must park now. Otherwise it is awake again: `look` has found what
    /// it was looking for, or the error says why that will not arrive.
    pub(crate) fn lie_down(
        &self,
        me: Rank,
        wait: &mut dyn FnMut() -> Wait,
        look: &mut dyn FnMut() -> bool,
    ) -> Result<bool, Error> {
        let mut registry = self.open_registry();
        if let Some(end) = registry.end(me) {
            // A destructor that waits while its rank unwinds: the others know already that the rank has ended.
            return match look() {
                true => Ok(true),
                false => Err(end.gone(me).into()),
            };
        }
        // Relaxed: the fence in `lie_down` orders it before the look at the ends.
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.endpoints[me].sleeper.lie_down();
        // A rank that returns after this sees that a rank waits, and opens the registry.
        self.take_in_ends(&mut registry);
        // The look comes after that: a rank that has ended posted everything before it ended.
        let answer = match look_or_describe(wait, look) {
            None => Ok(true),
            Some(wait) => self
                .may_sleep(&mut registry, me, wait)
                .map_or(Ok(false), Err),
        };
        if !matches!(answer, Ok(false)) {
            self.rise(&mut registry, me);
        }
        answer
    }

    /// `me` is awake again. Returns what others decided about it meanwhile.
    pub(crate) fn get_up(&self, me: Rank) -> Option<Error> {
        let mut registry = self.open_registry();
        self.rise(&mut registry, me);
        registry.entries[me].verdict.take().map(Error::from)
    }

    pub(in crate::transport) fn rise(&self, registry: &mut Registry, me: Rank) {
        registry.entries[me].wait = None;
        registry.entries[me].bound = None;
        self.endpoints[me].sleeper.get_up();
        // Relaxed: a rank that reads it late opens the registry without need.
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Records the wait. Returns the reason not to sleep, if there is one.
    pub(in crate::transport) fn may_sleep(
        &self,
        registry: &mut Registry,
        me: Rank,
        wait: Wait,
    ) -> Option<Error> {
        if let Some(cause) = wait.broken() {
            return Some(cause.clone().into());
        }
        if wait.choice.is_none()
            && let Some(gone) = registry.lost(me, &wait.needs)
        {
            return Some(gone);
        }
        registry.entries[me].wait = Some(wait);
        let found = self.find_stuck(registry, me);
        let error = found.and_then(|found| self.sentence(registry, me, found));
        if error.is_none() {
            self.control(registry);
        }
        error
    }

    /// Puts `me` to sleep in a bound wait, which nothing ends early. Returns whether what it waits for is there after
    /// all, and `me` awake.
    ///
    /// If it is one of a set of ranks that can never move, those of them whose waits can be ended are told.
    pub(crate) fn lie_down_bound(
        &self,
        me: Rank,
        since: Instant,
        needs: impl FnOnce() -> Needs,
        done: impl FnOnce() -> bool,
    ) -> bool {
        let mut registry = self.open_registry();
        // Relaxed: as in `lie_down`.
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.endpoints[me].sleeper.lie_down();
        if done() {
            self.rise(&mut registry, me);
            return true;
        }
        registry.entries[me].bound = Some((needs(), since));
        // A rank that unwinds counts as ended.
        if registry.end(me).is_none()
            && let Some(found) = self.find_stuck(&mut registry, me)
        {
            self.sentence(&mut registry, me, found);
        }
        false
    }

    /// `me` is awake again after a bound wait.
    pub(crate) fn get_up_bound(&self, me: Rank) {
        self.rise(&mut self.open_registry(), me);
    }

    /// The ranks that can never move, if `me` is among them and the wait of any of them can be ended; with the cause to
    /// tell them.
    pub(in crate::transport) fn find_stuck(
        &self,
        registry: &mut Registry,
        me: Rank,
    ) -> Option<(Cause, Vec<Rank>)> {
        let (stuck, cycle) = self.stuck(registry, me)?;
        let has_way_out = |rank: &Rank| registry.entries[*rank].wait.is_some();
        let ways_out: Vec<Rank> = stuck.iter().copied().filter(has_way_out).collect();
        if ways_out.is_empty() {
            return None;
        }
        let mismatch = self.mismatch(registry, &ways_out);
        Some(mismatch.unwrap_or_else(|| (self.deadlock(registry, &stuck, cycle), ways_out)))
    }

    /// Tells `ranks` why they are woken; `me` gets its own copy as the return value.
    pub(in crate::transport) fn sentence(
        &self,
        registry: &mut Registry,
        me: Rank,
        (cause, ranks): (Cause, Vec<Rank>),
    ) -> Option<Error> {
        for &rank in ranks.iter().filter(|&&rank| rank != me) {
            registry.entries[rank].verdict = Some(cause.clone());
            self.endpoints[rank].sleeper.rouse();
        }
        ranks.contains(&me).then(|| cause.into())
    }

    pub(in crate::transport) fn deadlock(
        &self,
        registry: &mut Registry,
        stuck: &[Rank],
        cycle: Vec<Rank>,
    ) -> Cause {
        let rows = stuck
            .iter()
            .filter_map(|&rank| Some((rank, registry.entries[rank].wait.as_ref()?)));
        let alone = registry.ended + 1 >= registry.entries.len();
        let row = |(rank, wait): (Rank, &Wait)| Stuck {
            rank,
            call: wait.call.clone(),
            site: wait.site.into(),
            comm: wait.comm_name(),
            note: (!cycle.contains(&rank)).then(|| wait.needs.note(alone)),
            needs_buffer: wait.needs_buffer,
        };
        let deadlock = Arc::new(Deadlock {
            stuck: rows.map(row).collect(),
            others: registry.entries.len() - stuck.len() - registry.ended,
            cycle: cycle.clone(),
            unreceived: None,
        });
        registry.deadlocks.push(deadlock.clone());
        self.note_deadlock(&deadlock);
        Cause::Deadlock(deadlock)
    }

    /// Collective calls among the stuck ranks that do not match, with the ranks in that communicator.
    ///
    /// Breaks the communicator, unless other ranks may still arrive and decide which are odd, or ranks of other processes
    /// may have arrived there, which cannot be asked here: then a rank that is told waits for those before it fails.
    pub(in crate::transport) fn mismatch(
        &self,
        registry: &Registry,
        stuck: &[Rank],
    ) -> Option<(Cause, Vec<Rank>)> {
        let collectives = |rank: &Rank| {
            let wait = registry.entries[*rank].wait.as_ref();
            wait.into_iter().flat_map(Wait::calls)
        };
        let (comm, found) = stuck
            .iter()
            .flat_map(collectives)
            .find_map(|(comm, number)| Some((comm.clone(), self.compare_back(comm, number)?)))?;
        let is_known = !comm.spans() || !found.mismatch.odd.is_empty();
        let cause = Cause::Mismatch(Arc::new(found.mismatch));
        if found.awaited.is_empty() && is_known {
            comm.cause.get_or_init(|| cause.clone());
        }
        let inside = |rank: &&Rank| collectives(rank).any(|(theirs, _)| Arc::ptr_eq(theirs, &comm));
        Some((cause, stuck.iter().filter(inside).copied().collect()))
    }

    /// Opens the registry, and takes in the ends of ranks that have just [returned](Self::record_return).
    pub(crate) fn open_registry(&self) -> impl DerefMut<Target = Registry> {
        let mut registry = self.registry.lock();
        self.take_in_ends(&mut registry);
        registry
    }

    /// Records the ranks that have returned and marked this only at their endpoints, and wakes the ranks that need
    /// them. The rank that opens the registry may come before the rank that returned and would wake them: it must not
    /// take them for stuck.
    pub(in crate::transport) fn take_in_ends(&self, registry: &mut Registry) {
        let run = self.run();
        for (rank, endpoint) in self.endpoints.iter().enumerate() {
            if registry.entries[rank].end.is_none() && endpoint.sleeper.has_left(run) {
                registry.write_end(rank, Gone::Returned, None, None);
                self.wake_if(registry, |wait| wait.involves(rank));
            }
        }
    }

    /// Records that a rank has returned, and waits for nothing any more; only the first record of its end counts. Wakes
    /// the ranks that need it.
    ///
    /// Usually there is none, and the registry stays closed: the rank marks its endpoint as gone, and checks whether
    /// any rank sleeps. See the head for why no rank that goes to sleep meanwhile misses it.
    pub(crate) fn record_return(&self, rank: Rank) {
        self.record_return_in(self.run(), rank);
    }

    /// The same, for a rank that knows the current run.
    #[inline]
    pub(crate) fn record_return_in(&self, run: RunNumber, rank: Rank) {
        let sleeper = &self.endpoints[rank].sleeper;
        if self.is_controlled() {
            return self.record_end(rank, Gone::Returned, None, None);
        }
        if sleeper.is_gone(run) {
            return;
        }
        self.tell_end(rank, &Gone::Returned, None, None);
        // Not later: another run may begin once all ranks have departed.
        self.tell_yielding();
        sleeper.depart(run);
        // Pairs with the heavy half in `Sleeper::lie_down`, between the increment of `waiting` and the look at the
        // ends.
        fences::light();
        // Relaxed: the fence orders it.
        if self.waiting.load(Ordering::Relaxed) > 0 {
            // Opening it takes in this end, and wakes the ranks that need this one.
            drop(self.open_registry());
        }
    }

    /// Records that a rank has ended; only the first record counts. Wakes the ranks that need it.
    pub(crate) fn record_end(
        &self,
        rank: Rank,
        why: Gone,
        site: Option<Arc<str>>,
        follows: Option<Cause>,
    ) {
        self.tell_end(rank, &why, site.as_ref(), follows.as_ref());
        let mut registry = self.open_registry();
        if registry.entries[rank].end.is_some() {
            return;
        }
        registry.write_end(rank, why, site, follows);
        self.endpoints[rank].sleeper.depart(self.run());
        self.wake_if(&registry, |wait| wait.involves(rank));
        self.control(&mut registry);
    }

    /// Records that ranks of another process have ended, for these reasons, at once: all ranks that wait look again.
    #[cfg(feature = "mpi")]
    pub(crate) fn record_far_ends(
        &self,
        ends: impl IntoIterator<Item = (Rank, Gone, Option<Cause>)>,
    ) {
        let mut registry = self.open_registry();
        for (rank, why, follows) in ends {
            if registry.end(rank).is_none() {
                registry.write_end(rank, why, None, follows);
                self.endpoints[rank].sleeper.depart(self.run());
            }
        }
        self.wake_if(&registry, |_| true);
    }

    /// The error for a rank that has ended.
    pub(crate) fn gone(&self, rank: Rank) -> Error {
        let cause = self.open_registry().end(rank).map(|end| end.cause(rank));
        let returned = || Cause::Gone {
            rank,
            why: Gone::Returned,
            site: None,
        };
        cause.unwrap_or_else(returned).into()
    }

    /// The error for senders to a rank that has failed, if it has.
    pub(crate) fn check_failed(&self, rank: Rank) -> Result<(), Error> {
        let returned = self
            .open_registry()
            .end(rank)
            .is_none_or(|end| end.why == Gone::Returned);
        if returned {
            Ok(())
        } else {
            Err(self.gone(rank))
        }
    }

    /// Records that a collective failed, and wakes all members inside one.
    pub(crate) fn break_comm(&self, comm: &Arc<CommShared>, error: &Error, rank: Rank) {
        comm.cause.get_or_init(|| Cause::of(error, rank));
        self.wake_if(&self.open_registry(), |wait| wait.is_in(comm));
        self.tell_broken(comm, error, rank);
    }

    /// Revokes a communicator, which ends everything on it, and wakes all members inside any call on it.
    pub(crate) fn revoke_comm(&self, comm: &Arc<CommShared>, rank: Rank) {
        let cause = comm.cause.get_or_init(|| Cause::Revoked { rank }).clone();
        comm.revoked.get_or_init(|| cause);
        let inside =
            |wait: &Wait| wait.is_in(comm) || wait.comms().any(|theirs| Arc::ptr_eq(theirs, comm));
        self.wake_if(&self.open_registry(), inside);
    }

    /// Wakes every rank that waits for the surviving members of a communicator: one more has come.
    pub(crate) fn rouse_shrinking(&self, context: u32) {
        let waits =
            |wait: &Wait| matches!(wait.needs, Needs::Shrink((theirs, ..), _) if theirs == context);
        self.wake_if(&self.open_registry(), waits);
    }

    /// Wakes the ranks in waits that are concerned; those that yield for long come and look.
    pub(in crate::transport) fn wake_if(
        &self,
        registry: &Registry,
        concerned: impl Fn(&Wait) -> bool,
    ) {
        self.tell_yielding();
        for (entry, endpoint) in registry.entries.iter().zip(self.endpoints.iter()) {
            if entry.wait.as_ref().is_some_and(&concerned) {
                endpoint.sleeper.rouse();
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::transport::Settings;

    /// What a rank waits for may arrive between its look and the description of its wait, from a rank in another call
    /// that does not wake it.
    #[test]
    fn a_rank_that_needs_nothing_any_more_looks_again_and_does_not_sleep() {
        let fabric = Fabric::new(2, Settings::default());
        let wait = &mut || Wait::for_needs(Needs::All(Vec::new()));
        let mut looks = 0;
        let look = &mut || {
            looks += 1;
            looks > 1
        };
        assert!(matches!(fabric.lie_down(0, wait, look), Ok(true)));
    }
}
