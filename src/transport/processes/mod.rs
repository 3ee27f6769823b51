//! Ranks of other processes, as the ranks of this one see them.
//!
//! All ranks of a world are numbered over its processes, and each has an endpoint here. That of a *far* rank, one of
//! another process, gets no message: a post to it becomes a message between processes ([`wire`]). What arrives is put,
//! in order of arrival, into the mailbox or the lane of its *near* receiver, so that matching, order, probes and requests
//! are the same as between threads; a message for which the rank that takes it in waits goes past them while they are
//! empty. The ends of far ranks are recorded like those of near ones, and a far rank that has not ended counts as running:
//! so failures reach the ranks that wait, and a deadlock of near ranks is found.
//!
//! - `session`: the processes, from the first world to the exit; `membership`: which of them take part; `wire`: messages
//!   as bytes; `notes`: what processes tell each other besides, with their `reports`
//! - `silence`: when no rank of any process can move; `local_state`: what each process knows of its ranks then;
//!   `judgement`: what the ranks are told by all local states, `judged` once a round; `rest`: when a process does so, and
//!   `held`: messages that wait until it has
//! - `asking`: what a rank asks the other processes when calls do not match; `questions`: those that are open
//! - `far`: the far ranks of a world; `arrival`: what becomes of what arrives, and `straight`: of what the rank waits for
//!   that takes it in; `spread_lanes`: lanes of a communicator with far members, and `lanes_into`: what waits there;
//!   `parts`: the parts of such a communicator; `synchronous`: synchronous sends, and `receipts`: those that are open
//!
//! A rank takes in what has arrived in the one wait loop, and when it tests or makes progress ([`Fabric::pump`]). So it
//! does for all near ranks. The loop's last stage sleeps for a millisecond at most in a world with far ranks, as nothing
//! of another process wakes a thread here; where many near ranks sleep, for longer, as any of them looks for all.

mod arrival;
mod asking;
mod far;
mod held;
mod judged;
mod judgement;
mod lanes_into;
mod local_state;
mod membership;
#[cfg(all(test, loom))]
pub(in crate::transport) mod model;
mod notes;
mod parts;
mod questions;
mod receipts;
mod reports;
mod rest;
mod session;
mod silence;
mod spread_lanes;
mod straight;
mod synchronous;
#[cfg(all(test, not(loom)))]
mod tests;
mod wire;

use std::ops::Range;
use std::sync::Arc;
use std::thread::yield_now;
use std::time::Instant;

pub(crate) use far::Far;
pub(crate) use notes::Hello;
pub(crate) use parts::Parts;
use spread_lanes::SpreadLanes;

use crate::Rank;
use crate::error::{Cause, Deadlock, Error, Gone};
use crate::op::elements::{Elements, Info};
use crate::op::plain;
use crate::transport::communicator::members::Members;
use crate::transport::lanes::lane::Lanes;
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;
use crate::transport::port::Port;
use crate::transport::progress::wait::PATIENT;
use crate::transport::trace::origin::Origin;
use crate::transport::trace::part::WorldPart;
use crate::transport::{CommShared, Fabric};

/// How often a rank that would give way at once looks first for a message from another process, which takes as long as a
/// few turns of the ranks here: they mostly wait for this one. And how often it gives way and does so again.
const FAR_SPINS: usize = 64;
const FAR_TURNS: usize = 100;
/// The number of ranks of a process that sleep and wake once a millisecond to look; more wake less often.
const LOOK_IN_TURN: usize = 4;
/// How often a rank that would sleep looks again at once for a long message.
const LOOKS: u32 = 200;

impl Fabric {
    /// The ranks of this process.
    pub(crate) fn near(&self) -> Range<Rank> {
        let all = 0..self.endpoints.len();
        self.far.as_ref().map_or(all, |far| far.near.clone())
    }

    /// Whether a rank is in another process.
    #[inline]
    pub(crate) fn is_far(&self, rank: Rank) -> bool {
        self.far
            .as_ref()
            .is_some_and(|far| !far.near.contains(&rank))
    }

    /// Whether there are ranks in other processes.
    pub(crate) fn has_far(&self) -> bool {
        self.far.is_some()
    }

    /// This process, and how many there are.
    pub(crate) fn process(&self) -> (usize, usize) {
        self.far.as_ref().map_or((0, 1), |far| far.process())
    }

    /// The part of the world that is in this process, if there are others.
    pub(crate) fn part(&self) -> Option<WorldPart> {
        self.far.as_ref().map(|far| far.part())
    }

    /// The process of a rank.
    pub(crate) fn process_of(&self, rank: Rank) -> usize {
        self.far.as_ref().map_or(0, |far| far.process_of(rank))
    }

    /// Whether elements of this type may leave the process.
    pub(crate) fn may_leave(&self, info: &'static Info) -> bool {
        plain::number_of(info).is_some()
    }

    /// Takes in what has arrived from other processes, all of it or one message.
    #[inline]
    fn pump(&self, all: bool) {
        if let Some(far) = &self.far {
            far.poll(Some(self), all);
        }
    }

    /// Keeps a deadlock of near ranks, for other processes to be told.
    pub(in crate::transport) fn note_deadlock(&self, deadlock: &Arc<Deadlock>) {
        if let Some(far) = &self.far {
            far.note_deadlock(deadlock);
        }
    }

    /// Posts a packet of plain elements to a far rank. Returns whether the rank had not ended before.
    #[cold]
    pub(in crate::transport) fn post_far(&self, to: Rank, mut packet: Packet) -> bool {
        let there = self.is_there(to);
        if let Some(far) = &self.far {
            match packet.take_receipt() {
                None => far.send(self, to, &packet, wire::Kind::Mail),
                Some(receipt) => far.send_synchronous(self, to, &packet, receipt),
            }
        }
        there
    }

    /// A message of a far rank was received that waits for its receipt, or whose loan was settled.
    #[cold]
    pub(in crate::transport) fn settled_far(&self) {
        if let Some(far) = &self.far {
            far.tell_received();
        }
    }

    /// A near rank has revoked a synchronous message, which may be one to a far rank.
    #[cold]
    pub(crate) fn tell_revoked(&self) {
        if let Some(far) = &self.far {
            far.tell_revoked();
        }
    }

    /// The same as [`post_far`](Self::post_far) for elements.
    #[cold]
    pub(in crate::transport) fn post_elements_far(
        &self,
        to: Rank,
        head: Head,
        data: Elements<'_>,
    ) -> bool {
        let there = self.is_there(to);
        if let Some(far) = &self.far {
            far.send_elements(self, to, head, data, wire::Kind::Mail);
        }
        there
    }

    /// Tells the other processes how a near rank has ended.
    pub(in crate::transport) fn tell_end(
        &self,
        rank: Rank,
        why: &Gone,
        site: Option<&Arc<str>>,
        follows: Option<&Cause>,
    ) {
        if let Some(far) = &self.far {
            far.tell_end(rank, why, site, follows);
        }
    }

    /// Tells the other processes that a communicator has broken.
    pub(in crate::transport) fn tell_broken(&self, comm: &CommShared, error: &Error, rank: Rank) {
        if let Some(far) = self.far.as_ref().filter(|_| comm.spans) {
            let cause = Cause::of(error, rank);
            self.break_parts(comm, &cause);
            far.tell_broken(comm, &cause);
        }
    }

    /// Whether some of these members are far.
    pub(in crate::transport) fn spans(&self, members: &Members) -> bool {
        self.far.is_some() && members.iter().any(|rank| self.is_far(rank))
    }

    /// A near rank's ends of the lanes of a communicator with far members, in which it has the number `me`.
    pub(crate) fn spread_lanes(
        self: &Arc<Self>,
        comm: &Arc<CommShared>,
        me: Rank,
    ) -> Box<dyn Lanes + Send> {
        Box::new(SpreadLanes::new(self.clone(), comm.clone(), me))
    }

    /// The communicator with this context, for one of its near members: made by the first of them that asks.
    pub(crate) fn adopt_comm(
        &self,
        context: u32,
        members: Members,
        origin: Arc<Origin>,
    ) -> Arc<CommShared> {
        match &self.far {
            Some(far) => far.adopt(self, context, members, origin),
            None => self.comm_of(context, members, origin),
        }
    }

    /// Waits until all ranks of all processes have ended, and all that was sent has left.
    pub(crate) fn close_far(&self) {
        if let Some(far) = &self.far {
            far.close(Some(self));
        }
    }

    /// The messages of collectives from far ranks that were never taken.
    pub(in crate::transport) fn left_by_far(&self) -> Vec<(Rank, Packet)> {
        self.far.as_ref().map_or_else(Vec::new, |far| far.left())
    }

    /// An injected fault ends a near rank early.
    pub(crate) fn leaves_early(&self, rank: Rank) {
        if let Some(far) = &self.far {
            far.leaves_early(rank);
        }
    }

    /// The far ranks that an injected fault has ended early, once all have ended.
    pub(crate) fn left_early(&self) -> Vec<Rank> {
        let far = self.far.iter();
        far.flat_map(|far| (0..far.ranks()).filter(|rank| far.has_left_early(*rank)))
            .filter(|rank| self.is_far(*rank))
            .collect()
    }

    /// How far ranks have ended, once all have.
    pub(crate) fn far_ends(&self) -> Vec<Option<(Gone, Option<Arc<str>>)>> {
        let registry = self.open_registry();
        let end = |rank| {
            let end = registry.end(rank).filter(|_| self.is_far(rank))?;
            Some((end.why.clone(), end.site.clone()))
        };
        (0..self.endpoints.len()).map(end).collect()
    }
}

impl CommShared {
    /// Whether some members are in other processes than others.
    #[inline]
    pub(crate) fn spans(&self) -> bool {
        self.spans
    }

    /// Whether it is a part of such a communicator, whose calls are parts of the whole one's.
    pub(crate) fn is_part(&self) -> bool {
        self.part.get().is_some()
    }
}

impl Port {
    /// Whether there are ranks in other processes.
    #[inline]
    pub(crate) fn has_far(&self) -> bool {
        self.fabric.far.is_some()
    }

    /// Sends elements to a far rank that has not ended, as operation number `count` of this rank. Returns whether it did; if
    /// not, nothing has happened.
    #[inline]
    pub(in crate::transport) fn send_far_at_once(
        &self,
        to: Rank,
        head: Head,
        data: Elements<'_>,
        count: u64,
    ) -> bool {
        let far = self.fabric.far.as_ref();
        let Some(far) = far.filter(|_| self.fabric.is_far(to) && self.fabric.is_there(to)) else {
            return false;
        };
        let Some(envelope) = wire::envelope(wire::Kind::Mail, far.world, to, head, data) else {
            return false;
        };
        self.begin(count);
        far.send_waiting(&self.fabric, &envelope, data);
        self.count(data.size());
        true
    }

    /// Takes in what has arrived from other processes. Not where the registry may be open, as in the look of a wait: a
    /// rank's end may be among it.
    #[inline]
    pub(crate) fn pump(&self) {
        self.fabric.pump(true);
    }

    /// The same for a look that is one of many: it takes in one message, which may be the one that is looked for.
    #[inline]
    pub(crate) fn pump_one(&self) {
        self.fabric.pump(false);
    }

    /// Looks for a message from another process, where ranks take turns on the CPUs: by `look`, which takes in what arrives.
    /// Returns whether it was found.
    pub(crate) fn spin_for_far(&self, look: &mut dyn FnMut() -> bool) -> bool {
        if !PATIENT || !self.crowded() || self.is_controlled() {
            return false;
        }
        let mut spin = || (0..FAR_SPINS).any(|_| look());
        spin() || !self.has_started() && self.spin_in_turns(&mut spin)
    }

    /// The same in turns with the other ranks.
    #[inline(never)]
    fn spin_in_turns(&self, spin: &mut dyn FnMut() -> bool) -> bool {
        let begin = Instant::now();
        self.recorder.catch_up();
        let mut turn = || {
            yield_now();
            spin()
        };
        let found = (0..FAR_TURNS).any(|_| turn());
        self.count_wait(begin);
        found
    }

    /// When a rank that sleeps must look again, after `naps` sleeps without success: in a world with far ranks soon, and
    /// for a while at once where a long message is on its way, of which MPI moves a part with each look.
    pub(in crate::transport) fn nap(&self, naps: u32) -> Option<Instant> {
        let far = self.fabric.far.as_ref()?;
        let is_busy = naps < LOOKS && far.session.processes.is_busy();
        far.tell_received_later();
        if is_busy {
            yield_now();
            return Some(Instant::now());
        }
        let naps = naps.saturating_sub(LOOKS);
        let time = session::SHORT * 2u32.saturating_pow(naps.min(10));
        Instant::now().checked_add(time.min(session::LONG * self.sharers()))
    }

    /// By how many times longer a rank sleeps because others of its process sleep as well: each looks for all, and where many
    /// wake all the time there is no moment at which all are at rest.
    fn sharers(&self) -> u32 {
        let endpoints = &self.fabric.endpoints;
        let asleep = |rank: &Rank| endpoints[*rank].sleeper.asleep();
        let asleep = self.fabric.near().filter(asleep).count();
        (asleep / LOOK_IN_TURN).max(1) as u32
    }
}
