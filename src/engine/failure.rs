//! How a collective fails: the mismatch that a message or a rank's end proves, and the end of the communicator.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Comm;
use super::call::InCall;
use crate::Rank;
use crate::error::{Called, Error, ErrorKind, Gone, Mismatch, Result};
use crate::transport::CommShared;
use crate::transport::communicator::call::Call;
use crate::transport::communicator::members::Members;
use crate::transport::deadlock::mismatch::{Compared, earlier};
use crate::transport::deadlock::record::CallRecord;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::packet::Packet;
use crate::transport::memory::stamp::Label;
use crate::transport::port::Port;
use crate::transport::progress::reason::Reason;

/// Maximum time for which a rank that has found a mismatch waits for other ranks to reach the call.
const PATIENCE: Duration = Duration::from_secs(2);
/// Initial time before it looks again.
const SLICE: Duration = Duration::from_millis(1);
/// The time between two looks from which the waits of ranks in other processes are believed.
const SETTLED: Duration = Duration::from_millis(16);

impl Comm {
    /// Breaks the communicator after a call has failed, so that all other calls on it fail too.
    #[cold]
    fn break_here(&self, error: &Error) {
        // A refusal reaches every rank, before anything is sent.
        if !matches!(error.kind(), ErrorKind::Refused(_)) {
            self.fabric()
                .break_comm(&self.shared, error, self.core.port.me)
        }
    }
}

impl InCall<'_> {
    /// Handles the failure of the call, which breaks the communicator.
    #[cold]
    pub(crate) fn fails(&self, error: Error) -> Error {
        let error = self.blaming_the_odd(error);
        self.comm.break_here(&error);
        error
    }

    /// A rank that returned is missed if it has made another call than this one. Then the records of both prove a
    /// mismatch, and the rank that returned may be right. So it may be if most ranks have returned without this call.
    ///
    /// While it is undecided which rank is odd, this rank waits a while for the ranks that have not arrived: they reach
    /// this call, or end, or wait for something that never comes.
    fn blaming_the_odd(&self, error: Error) -> Error {
        let shared = &self.comm.shared;
        // Most ranks of a part may be few ranks of the whole communicator, whose call compares all.
        if shared.is_part() {
            return error;
        }
        let gone = match error.kind() {
            ErrorKind::Mismatch(_) if shared.spans() => None,
            ErrorKind::Mismatch(found) if found.odd.is_empty() => None,
            ErrorKind::RankGone { rank, why, .. } if *why == Gone::Returned => Some(*rank),
            _ => return error,
        };
        if shared.cause.get().is_none() {
            self.ask_far();
            self.await_records(gone);
        }
        // The rank that broke it has waited for the records too.
        if let Some(cause) = shared.cause.get() {
            return cause.clone().into();
        }
        let compared = self.differing(gone).filter(|found| !found.is_open);
        let compared = compared.map(|found| found.mismatch);
        let mismatch = compared.or_else(|| self.far_ahead(gone?));
        mismatch.map_or(error, |found| {
            Error::new(ErrorKind::Mismatch(Arc::new(found)))
        })
    }

    fn differing(&self, gone: Option<Rank>) -> Option<Compared> {
        self.received().differing(gone.is_some())
    }

    /// The mismatch with a rank that returned after later calls than this one, which it must have made differently if
    /// this call waits for it: not if its own record is there and agrees, nor if the rank waited for may have ended
    /// because of it.
    fn far_ahead(&self, gone: Rank) -> Option<Mismatch> {
        let (fabric, context) = (self.comm.fabric(), self.comm.shared.context);
        let differs = fabric.has_passed(gone, context, self.number)
            && fabric.record_of(gone, context, self.number).is_none()
            && !fabric.open_registry().is_followed(gone);
        differs.then(|| self.against(gone, "", "another call, many calls ago".into()))
    }

    /// Waits until it is decided which rank is odd, or cannot be decided; no longer than the [patience](PATIENCE).
    fn await_records(&self, gone: Option<Rank>) {
        let (fabric, me) = (self.comm.fabric(), self.comm.core.port.me);
        let patience = fabric.settings.timeout.unwrap_or(PATIENCE).min(PATIENCE);
        let begin = Instant::now();
        let mut slice = SLICE;
        while begin.elapsed() < patience && self.comm.shared.cause.get().is_none() {
            let Some(found) = self.differing(gone) else {
                return;
            };
            // Those that wait for this rank do not come. What others said of their waits is believed after a while, in
            // which messages to them arrive.
            let is_young = slice < SETTLED && self.comm.shared.spans();
            if found.awaited.is_empty() || !is_young && !fabric.may_come(me, &found.awaited) {
                return;
            }
            match self.await_some(&found, Instant::now() + slice.min(patience)) {
                Ok(()) => {}
                // A rank that makes the call and goes on does not wake this one.
                Err(error) if matches!(error.kind(), ErrorKind::TimedOut { .. }) => slice *= 2,
                Err(_) => return,
            }
            self.ask_far();
        }
    }

    /// Asks other processes for the records of their ranks, if members are there.
    fn ask_far(&self) {
        if self.comm.shared.spans() {
            self.comm.core.port.ask_far();
        }
    }

    /// Waits until some of the awaited ranks have come to this call or have ended, or the communicator breaks.
    fn await_some(&self, found: &Compared, deadline: Instant) -> Result<()> {
        let (fabric, shared) = (self.comm.fabric(), &self.comm.shared);
        let to_come = || fabric.to_come(shared, self.number).len();
        let before = to_come();
        let settled = || {
            let compared = fabric.compare_back(shared, self.number);
            compared.is_some_and(|found| found.awaited.is_empty())
        };
        let needs = || Needs::Any(Members::of(found.awaited.clone()));
        self.with_reason(&needs, None, |reason| {
            let reason = Reason {
                deadline: Some(deadline),
                // Ranks that wait for this one are not stuck: if no mismatch shows, it fails and they learn why.
                collective: reason.collective.filter(|_| !found.is_open),
                ..*reason
            };
            let over = || to_come() != before || shared.cause.get().is_some() || settled();
            self.comm.core.port.wait(&reason, || over().then_some(()))
        })
    }

    /// The mismatch proved by a packet of another call.
    pub(crate) fn strange(&self, packet: &Packet) -> Error {
        self.ask_far();
        let fabric = self.comm.fabric();
        let first = earlier(self.number, packet.head.tag());
        let compared = fabric.compare_back(&self.comm.shared, first);
        let mismatch = compared.map_or_else(|| self.two_views(packet), |found| found.mismatch);
        Error::new(ErrorKind::Mismatch(Arc::new(mismatch)))
    }

    /// The mismatch as far as it is known when the other rank is many calls ahead and its record is overwritten.
    fn two_views(&self, packet: &Packet) -> Mismatch {
        let (theirs, mine) = (packet.head.tag(), self.number);
        let source = packet.source();
        self.against(source, "", format!("its collective {theirs}, not {mine}"))
    }

    /// The mismatch proved by a cell of another call.
    #[cold]
    pub(crate) fn strange_cell(&self, from: Rank, label: Label) -> Error {
        let fabric = self.comm.fabric();
        let first = earlier(self.number, label.stamp.number);
        let compared = fabric.compare_back(&self.comm.shared, first);
        let compared = compared.map(|found| found.mismatch);
        let mismatch = compared.unwrap_or_else(|| {
            let theirs = format!("another call, with {} x {}", label.count, label.info.name());
            self.against(self.comm.to_world(from), "", theirs)
        });
        Error::new(ErrorKind::Mismatch(Arc::new(mismatch)))
    }

    /// The mismatch of a message of this call whose length differs from this rank's schedule.
    pub(crate) fn unequal(&self, packet: &Packet, count: usize) -> Error {
        self.ask_far();
        self.received().unequal(packet, count)
    }

    fn against(&self, source: Rank, mine: &str, theirs: String) -> Mismatch {
        self.received().against(source, mine, theirs)
    }

    fn received(&self) -> Received<'_> {
        Received {
            port: &self.comm.core.port,
            comm: &self.comm.shared,
            call: self.call,
            number: self.number,
        }
    }
}

/// A call of this rank, to be compared with what the messages of other ranks say, whether it blocks or was started.
pub(crate) struct Received<'a> {
    pub port: &'a Port,
    pub comm: &'a CommShared,
    pub call: &'a Call,
    pub number: u32,
}

impl Received<'_> {
    /// The mismatch of a message of this call whose length differs from this rank's schedule.
    pub(crate) fn unequal(&self, packet: &Packet, count: usize) -> Error {
        let source = packet.source();
        let awaits = format!(" awaits {count} elements from rank {source}");
        let record = self.record_of(source);
        let theirs = record.map_or_else(|| self.call.to_string(), |it| it.call.to_string());
        let theirs = format!("{theirs} sends {}", packet.contents());
        let found = self.against(source, &awaits, theirs);
        Error::new(ErrorKind::Mismatch(Arc::new(found)))
    }

    /// This rank's call and what it does, against what another rank's message says.
    pub(crate) fn against(&self, source: Rank, mine: &str, theirs: String) -> Mismatch {
        let mine = Called {
            rank: self.port.me,
            call: format!("{}{mine}", self.call),
            site: Some(self.call.site.into()),
        };
        let other = Called {
            rank: source,
            call: theirs,
            site: self.record_of(source).map(|record| record.site),
        };
        Mismatch {
            calls: vec![mine, other],
            odd: Vec::new(),
            comm: self.comm.name(),
        }
    }

    /// The record of world rank `rank` for its call of this number.
    fn record_of(&self, rank: Rank) -> Option<CallRecord> {
        let fabric = &self.port.fabric;
        fabric.record_of(rank, self.comm.context, self.number)
    }

    /// The calls of this number or before it that differ; if a rank is `missed` that returned, also this call, if most
    /// ranks may have returned without it.
    pub(crate) fn differing(&self, missed: bool) -> Option<Compared> {
        let fabric = &self.port.fabric;
        let compared = fabric.compare_back(self.comm, self.number);
        let too_many = || fabric.call_too_many(self.comm, self.number);
        compared.or_else(|| missed.then(too_many)?)
    }
}
