//! How a rank that has found something wrong asks the other processes what they know of their ranks: whose calls are
//! compared is known only where they were made.
//!
//! A question is answered by whoever takes in messages in the other process. One that is not answered in time, since all
//! ranks there are busy elsewhere, is given up: then less is known, and the next questions do not wait for that process,
//! until it has answered one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::far::Far;
use super::judgement::Case;
use super::local_state::LocalState;
use super::session::Nap;
use super::silence::{Say, To};
use crate::Rank;
use crate::error::Mismatch;
use crate::transport::Fabric;
use crate::transport::communicator::call_log::LastNumbers;
use crate::transport::deadlock::record::CallRecord;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::port::Port;

/// Maximum time for which a rank waits for answers.
const PATIENCE: Duration = Duration::from_secs(1);

/// The question that each process answers unasked, once its ranks have ended.
const LAST: u32 = u32::MAX;

impl Far {
    /// Answers the questions of other processes. Not where the registry may be open, nor inside MPI.
    #[cold]
    pub(super) fn answer(&self, fabric: Option<&Fabric>) {
        for (from, question) in self.questions.take() {
            self.tell_seen(To::One(from), question, fabric);
        }
    }

    fn tell_seen(&self, to: To, question: u32, fabric: Option<&Fabric>) {
        let local_state = fabric.map_or_else(LocalState::default, Fabric::local_state_now);
        let say = Say::Seen {
            question,
            local_state,
        };
        self.tell_silence(to, &say);
    }

    /// The near ranks have ended: tells all processes what they have called.
    pub(super) fn tell_last(&self, fabric: Option<&Fabric>) {
        self.tell_seen(To::All, LAST, fabric);
    }

    /// Whether all processes have done so.
    pub(super) fn knows_last(&self) -> bool {
        self.questions.is_answered(LAST, &self.live_others())
    }

    /// Whether a process has told its last, also what it has found.
    pub(super) fn has_told_all(&self, process: usize) -> bool {
        let (_, processes) = self.process();
        let wanted: Vec<bool> = (0..processes).map(|one| one == process).collect();
        self.questions.is_answered(LAST, &wanted) && self.questions.found.lock()[process].is_some()
    }

    /// Tells all processes which mismatch was found here when all ranks had ended, the first time.
    pub(super) fn tell_found(&self, found: Option<Arc<Mismatch>>) {
        let (me, _) = self.process();
        if self.questions.found.lock()[me].is_none() {
            self.tell_silence(To::All, &Say::Found(found.clone()));
            self.questions.find(me, found);
        }
    }

    /// What the first process has found that has found anything, once all have said so.
    fn found(&self) -> Option<Option<Arc<Mismatch>>> {
        let found = self.questions.found.lock();
        let live = self.live();
        let said = found
            .iter()
            .zip(live)
            .all(|(one, live)| one.is_some() || !live);
        said.then(|| found.iter().flatten().flatten().next().cloned())
    }

    /// The other processes that have not left.
    fn live_others(&self) -> Vec<bool> {
        let mut live = self.live();
        live[self.process().0] = false;
        live
    }
}

impl Fabric {
    /// The local state of this process. Not where the registry may be open.
    fn local_state_now(&self) -> LocalState {
        // Kept until the registry is closed: the last reference to one may be here.
        let comms = self.comms();
        self.local_state(&self.open_registry(), &comms)
    }

    /// Whether the calls of a rank are known here.
    pub(in crate::transport) fn knows_calls_of(&self, rank: Rank) -> bool {
        self.asked_of(rank, |_| ()).is_some() || !self.is_far(rank)
    }

    /// The last calls of a far rank, as far as its process has told.
    pub(in crate::transport) fn far_records(
        &self,
        rank: Rank,
        context: u32,
    ) -> Vec<(u32, CallRecord)> {
        let records = self.asked_of(rank, |local_state| local_state.records_of(rank, context));
        records.unwrap_or_default()
    }

    /// The numbers of the last calls of a far rank, as far as its process has told.
    pub(in crate::transport) fn far_numbers(&self, rank: Rank, context: u32) -> Vec<u32> {
        let of = |numbers: &LastNumbers| numbers.of(context);
        let told = self.asked_of(rank, |told| told.numbers_of(rank).map(of));
        told.flatten().unwrap_or_default()
    }

    /// Whether these tell of every call on this communicator whether the rank has made it.
    pub(in crate::transport) fn knows_all_far_calls(&self, rank: Rank, context: u32) -> bool {
        let knows = |numbers: &LastNumbers| numbers.knows_all_of(context);
        let told = self.asked_of(rank, |told| told.numbers_of(rank).is_some_and(knows));
        told.unwrap_or(false)
    }

    /// What far ranks needed when their processes told.
    pub(in crate::transport) fn far_needs(&self) -> Vec<(Rank, Needs)> {
        let Some(far) = &self.far else {
            return Vec::new();
        };
        let seen = far.questions.seen.lock();
        let rows = seen
            .iter()
            .flatten()
            .flat_map(|(_, local_state)| &local_state.rows);
        let rows = rows.filter(|row| !row.may_move);
        rows.map(|row| (row.rank, row.needs.clone())).collect()
    }

    /// Whether a rank had ended, and made its last call, when its calls became known here.
    pub(in crate::transport) fn is_over(&self, rank: Rank) -> bool {
        let told = self.asked_of(rank, |local_state| local_state.ended.contains(&rank));
        told.unwrap_or_else(|| !self.is_there(rank))
    }

    /// A mismatch by the last calls of all ranks, once all have ended: with all odd ranks, if those are known now. The same
    /// in all processes.
    pub(crate) fn naming_the_odd(&self, found: &Mismatch) -> Option<Mismatch> {
        let Some(far) = &self.far else {
            return self.naming_the_odd_here(found);
        };
        let mut states = vec![self.local_state_now()];
        let seen = far.questions.seen.lock();
        let last = seen.iter().flatten().filter(|(of, _)| *of == LAST);
        states.extend(last.map(|(_, local_state)| local_state.clone()));
        drop(seen);
        Case::new(far.ranks(), &states).naming_the_odd(found)
    }

    /// The mismatch that some process has found when all ranks had ended, `found` by this one: the same in all processes.
    pub(crate) fn found_anywhere(&self, found: Option<Arc<Mismatch>>) -> Option<Arc<Mismatch>> {
        let Some(far) = &self.far else {
            return found;
        };
        far.tell_found(found);
        let mut nap = Nap::default();
        loop {
            if let Some(found) = far.found()
                && far.session.has_sent_all()
            {
                // What was let go of in the last look may have excluded a process.
                far.session.tell_excluded();
                far.release();
                return found;
            }
            far.poll(Some(self), true);
            nap.pass();
        }
    }

    /// Reads what the process of a far rank has answered.
    fn asked_of<R>(&self, rank: Rank, read: impl FnOnce(&LocalState) -> R) -> Option<R> {
        let far = self.far.as_ref().filter(|_| self.is_far(rank))?;
        let seen = far.questions.seen.lock();
        seen[far.process_of(rank)]
            .as_ref()
            .map(|(_, local_state)| read(local_state))
    }
}

impl Port {
    /// Asks the other processes where their ranks are and what they have called, and waits a while for the answers. Not
    /// where the registry may be open.
    #[cold]
    pub(crate) fn ask_far(&self) {
        let Some(far) = &self.fabric.far else {
            return;
        };
        let question = far.questions.next();
        far.tell_silence(To::All, &Say::Look(question));
        let begin = Instant::now();
        let mut nap = Nap::default();
        // Where all others are late, too: what they have answered since counts again.
        self.pump();
        while !far.questions.is_settled(question, &far.live_others()) {
            if begin.elapsed() >= PATIENCE {
                return far.questions.give_up(question);
            }
            self.pump();
            nap.pass();
        }
    }
}
