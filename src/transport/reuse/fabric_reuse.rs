//! The fabric of a run that ended clean serves the next one.
//!
//! A run ended clean if all ranks returned, took part in the same collectives, and left nothing behind: no message
//! unread, no request open, no communicator alive or broken, no knot. Then whatever counts (calls, their fingerprints,
//! packets, cells, contexts) goes on from where it is, on all ranks alike, so nothing of one run can be taken for
//! something of another; and what is told about a run begins anew.

use crate::sync::Ordering;
use crate::transport::memory::cells::Stamp;
use crate::transport::wakeup::sleeper::Run;
use crate::transport::{Endpoint, Fabric, Tally};

/// Where a rank stands that has returned and left nothing that it knows of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndState {
    /// How many collectives of the world's communicator it has begun, and the fingerprint of all.
    pub calls: (u32, u32),
    /// The last of them at the cells.
    pub cells: Option<Stamp>,
    /// Packets that it has put into lanes, and that it has taken.
    pub lanes: (u32, u32),
}

impl EndState {
    /// Whether ranks that stand so can begin another run together: they made the same calls, and every packet
    /// was taken. In no lane can more have been taken than put, so the sums tell.
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

/// What a rank must know of a run that begins in the fabric of another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reuse {
    pub(in crate::transport) run: Run,
    /// When it begins, as the clock [notes](crate::transport::trace::clock::Clock::note) it.
    pub(in crate::transport) begin: u64,
}

impl Fabric {
    /// Whether a world with these settings may use its fabric again at all. What is chosen, traced or
    /// printed on demand is of one run.
    pub(crate) fn is_lasting(&self) -> bool {
        let settings = &self.settings;
        settings.chooser.is_none() && !settings.trace
    }

    /// Whether the next run can [begin](Self::begin_again) here, once all ranks have let go: `rests` is where each
    /// of them stands.
    pub(crate) fn ended_clean(&self, rests: impl Iterator<Item = EndState>) -> bool {
        self.is_lasting()
            && EndState::agree(rests)
            && (!self.was_used() || self.endpoints.iter().all(|endpoint| endpoint.is_clean()))
            && self.registry.lock().deadlocks.is_empty()
            && self.unfinished.lock().is_empty()
            && self.only_all_is_left()
    }

    /// Whether nobody holds another communicator than that of all, none has anything to tell, and there are
    /// numbers for more.
    fn only_all_is_left(&self) -> bool {
        let mut comms = self.comms.lock();
        if comms.len() > 1 {
            self.sweep(&mut comms);
        }
        // Relaxed: the number alone counts.
        let room = self.contexts.load(Ordering::Relaxed) < u32::MAX / 2;
        let whole = self.all.cause.get().is_none() && self.all.revoked.get().is_none();
        comms.len() == 1 && room && whole && self.all.lanes.channels_are_empty()
    }

    /// Whether any rank has begun an operation in this run.
    pub(crate) fn was_used(&self) -> bool {
        self.endpoints.iter().any(|endpoint| endpoint.was_used())
    }

    /// Begins another run after one that [ended clean](Self::ended_clean), or after a quiet one: no rank had begun
    /// an operation, and nobody has looked who has ended. No rank is in it yet.
    ///
    /// After a quiet one nothing is written that ranks look at all the time.
    pub(crate) fn begin_again(&self, quiet: bool) -> Reuse {
        if !quiet {
            self.endpoints
                .iter()
                .for_each(|endpoint| endpoint.begin_again());
            self.registry.lock().forget_ends();
        }
        // Relaxed: as below.
        if self.printed.load(Ordering::Relaxed) {
            self.printed.store(false, Ordering::Relaxed);
        }
        let begin = self.clock.note();
        // Relaxed: whoever starts the ranks orders it.
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

    fn begin_again(&self) {
        if let Some(record) = self.record.get() {
            record.close();
        }
        if self.begun() > 0 {
            self.tally.begin_again();
        }
    }
}

impl Tally {
    fn begin_again(&self) {
        for count in self.counts() {
            count.store(0, Ordering::Relaxed);
        }
    }
}
