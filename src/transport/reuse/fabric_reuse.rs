//! The fabric of a run that ended clean serves the next run.
//!
//! A run ended clean if all ranks returned, took part in the same collectives, and left nothing behind: no message
//! unread, no request open, no communicator alive or broken, no deadlock. Then every counter (calls, their
//! fingerprints, packets, cells, contexts) continues from its value, alike on all ranks, so nothing of one run can be
//! mistaken for something of another. What is reported about a run starts anew.

use crate::Rank;
use crate::sync::Ordering;
use crate::transport::memory::stamp::Stamp;
use crate::transport::wakeup::sleeper::RunNumber;
use crate::transport::{Endpoint, Fabric, Tally};

/// The state of a rank that has returned and, as far as it knows, has left nothing behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndState {
    /// Number of collectives it has begun on the world's communicator, and the fingerprint of all of them.
    pub calls: (u32, u32),
    /// The last of those that used the cells.
    pub cells: Option<Stamp>,
    /// Numbers of packets that it has put into lanes, and that it has taken.
    pub lanes: (u32, u32),
}

impl EndState {
    /// Whether ranks in these states can begin another run together: they made the same calls, and every packet was
    /// taken. No lane can have had more packets taken than put, so comparing the sums suffices.
    fn agree(mut rests: impl Iterator<Item = EndState>) -> bool {
        let Some(first) = rests.next() else {
            return false;
        };
        let (sent, taken) = first.lanes;
        let same = |rest: &EndState| (rest.calls, rest.cells) == (first.calls, first.cells);
        let open = rests.try_fold(sent.wrapping_sub(taken), |open, rest| {
            let open = open.wrapping_add(rest.lanes.0).wrapping_sub(rest.lanes.1);
            same(&rest).then_some(open)
        });
        open == Some(0)
    }
}

/// The numbers that a rank must know of a run that begins in the fabric of another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reuse {
    pub(in crate::transport) run: RunNumber,
    /// When it begins, as a [note](crate::transport::trace::clock::Clock::note) of the clock.
    pub(in crate::transport) begin: u64,
}

impl Fabric {
    /// Whether a world with these settings may reuse its fabric at all. Choices and traces belong to a single run.
    pub(crate) fn is_lasting(&self) -> bool {
        let settings = &self.settings;
        settings.chooser.is_none() && !settings.trace
    }

    /// Whether a rank has ended, and what it left is where a report counts it.
    pub(crate) fn has_emptied(&self, rank: Rank) -> bool {
        self.endpoints[rank].has_emptied(self.run())
    }

    /// Whether the next run can [begin](Self::begin_again) here, once all ranks have released the fabric. `rests`
    /// yields the state of each of them.
    pub(crate) fn ended_clean(&self, rests: impl Iterator<Item = EndState>) -> bool {
        self.is_lasting()
            && EndState::agree(rests)
            && (!self.was_used() || self.endpoints.iter().all(|endpoint| endpoint.is_clean()))
            && self.registry.lock().deadlocks.is_empty()
            && self.unfinished.lock().is_empty()
            && self.only_all_is_left()
    }

    /// Whether the world's communicator is the only one held, no communicator has anything to report, and there are
    /// contexts left for more.
    fn only_all_is_left(&self) -> bool {
        let mut comms = self.comms.lock();
        if comms.len() > 1 {
            self.sweep(&mut comms);
        }
        // Relaxed: only the number matters.
        let room = self.contexts.load(Ordering::Relaxed) < u32::MAX / 2;
        let whole = self.all.cause.get().is_none() && self.all.revoked.get().is_none();
        comms.len() == 1 && room && whole && self.all.lanes.channels_are_empty()
    }

    /// Whether any rank has begun an operation in this run.
    pub(crate) fn was_used(&self) -> bool {
        self.endpoints.iter().any(|endpoint| endpoint.was_used())
    }

    /// Begins another run after one that [ended clean](Self::ended_clean), or after a quiet one, in which no rank has
    /// begun an operation and nothing has asked which ranks have ended. No rank is in the new run yet.
    ///
    /// Nothing of a rank is written: each rank clears its own counts when it [begins](Endpoint::begin_again), and until
    /// then reports say that it [has not](Endpoint::is_in).
    pub(crate) fn begin_again(&self, quiet: bool) -> Reuse {
        if !quiet {
            self.registry.lock().forget_ends();
        }
        for flag in [&*self.printed, &self.has_ends] {
            // Relaxed: as below.
            if flag.load(Ordering::Relaxed) {
                flag.store(false, Ordering::Relaxed);
            }
        }
        let begin = self.clock.note();
        // Relaxed: starting the ranks orders it.
        self.present.begin.store(begin, Ordering::Relaxed);
        let run = self.present.run.begin_again();
        Reuse { run, begin }
    }
}

impl Endpoint {
    fn was_used(&self) -> bool {
        let record = self.record.get();
        self.begun() > 0 || record.is_some_and(|record| record.is_used())
    }

    fn is_clean(&self) -> bool {
        self.left.is_empty() && self.fast_box.is_empty() && self.account.is_empty()
    }

    /// For the rank itself: begins another run. After a quiet one there is nothing to clear.
    pub(in crate::transport) fn begin_again(&self, quiet: bool) {
        if !quiet {
            if let Some(record) = self.record.get() {
                record.close();
            }
            self.tally.begin_again();
        }
    }

    /// Whether its counts and records are of this run, and not of the one before.
    pub(in crate::transport) fn is_in(&self, run: RunNumber) -> bool {
        self.tally.run.is(run)
    }
}

impl Tally {
    fn begin_again(&self) {
        for count in self.counts() {
            count.store(0, Ordering::Relaxed);
        }
    }
}
