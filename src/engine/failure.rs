//! How a collective fails: the mismatch that a message or a rank's end proves, and the end of the communicator.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Comm;
use super::call::InCall;
use crate::Rank;
use crate::error::{Called, Error, ErrorKind, Gone, Mismatch};
use crate::transport::communicator::members::Members;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::packet::Packet;
use crate::transport::memory::stamp::Label;
use crate::transport::progress::wait::Reason;

/// Maximum time for which a rank that has found a mismatch waits for other ranks to reach the call.
const PATIENCE: Duration = Duration::from_secs(2);
/// Initial time before it looks again.
const SLICE: Duration = Duration::from_millis(1);

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
    /// mismatch, and the rank that returned may be right.
    ///
    /// While it is undecided which rank is odd, this rank waits a while for the ranks that have not arrived: they reach
    /// this call, or end, or wait for something that never comes.
    fn blaming_the_odd(&self, error: Error) -> Error {
        let shared = &self.comm.shared;
        let gone = match error.kind() {
            ErrorKind::Mismatch(found) if found.odd.is_empty() => None,
            ErrorKind::RankGone { rank, why, .. } if *why == Gone::Returned => Some(*rank),
            _ => return error,
        };
        let fabric = self.comm.fabric();
        if shared.cause.get().is_none() && fabric.compare_back(shared, self.number).is_some() {
            self.await_records();
        }
        // The rank that broke it has waited for the records too.
        if let Some(cause) = shared.cause.get() {
            return cause.clone().into();
        }
        let compared = fabric.compare_back(shared, self.number);
        let compared = compared.map(|found| found.mismatch);
        let mismatch = compared.or_else(|| self.far_ahead(gone?));
        mismatch.map_or(error, |found| {
            Error::new(ErrorKind::Mismatch(Arc::new(found)))
        })
    }

    /// The mismatch with a rank that returned after later calls than this one, which it must have made differently if
    /// this call waits for it: not if its own record is there and agrees, nor if the rank waited for may have ended
    /// because of it.
    fn far_ahead(&self, gone: Rank) -> Option<Mismatch> {
        let (fabric, context) = (self.comm.fabric(), self.call.context);
        let differs = fabric.has_passed(gone, context, self.number)
            && fabric.call_of(gone, context, self.number).is_none()
            && !fabric.open_registry().is_followed(gone);
        differs.then(|| self.against(gone, "", "another call, many calls ago".into()))
    }

    /// Waits until it is decided which rank is odd, or cannot be decided; no longer than the [patience](PATIENCE).
    fn await_records(&self) {
        let (fabric, shared) = (self.comm.fabric(), &self.comm.shared);
        let awaited = || {
            let compared = fabric.compare_back(shared, self.number);
            compared.map_or_else(Vec::new, |found| found.awaited)
        };
        let patience = fabric.settings.timeout.unwrap_or(PATIENCE).min(PATIENCE);
        let begin = Instant::now();
        let mut slice = SLICE;
        while begin.elapsed() < patience && !awaited().is_empty() {
            let needs = || Needs::Any(Members::of(awaited()));
            let deadline = Instant::now() + slice.min(patience);
            let waited = self.with_reason(&needs, None, |reason| {
                let reason = Reason {
                    deadline: Some(deadline),
                    ..*reason
                };
                let port = &self.comm.core.port;
                port.wait(&reason, || awaited().is_empty().then_some(()))
            });
            match waited {
                // A rank that makes the call and goes on does not wake this one.
                Err(error) if matches!(error.kind(), ErrorKind::TimedOut { .. }) => slice *= 2,
                _ => return,
            }
        }
    }

    /// The mismatch proved by a packet of another call.
    pub(crate) fn strange(&self, packet: &Packet) -> Error {
        let fabric = self.comm.fabric();
        let first = self.number.min(packet.head.tag());
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
        let first = self.number.min(label.stamp.number);
        let compared = fabric.compare_back(&self.comm.shared, first);
        let compared = compared.map(|found| found.mismatch);
        let mismatch = compared.unwrap_or_else(|| {
            let theirs = format!("another call, with {} x {}", label.count, label.info.name());
            self.against(self.comm.world_rank(from), "", theirs)
        });
        Error::new(ErrorKind::Mismatch(Arc::new(mismatch)))
    }

    /// The mismatch of a message of this call whose length differs from this rank's schedule.
    pub(crate) fn unequal(&self, packet: &Packet, count: usize) -> Error {
        let awaits = format!(" awaits {count} elements from rank {}", packet.source());
        let theirs = format!("{} sends {}", self.call, packet.contents());
        Error::new(ErrorKind::Mismatch(Arc::new(self.against(
            packet.source(),
            &awaits,
            theirs,
        ))))
    }

    /// This rank's call and what it does, against what another rank's message says.
    fn against(&self, source: Rank, mine: &str, theirs: String) -> Mismatch {
        let mine = Called {
            rank: self.comm.core.port.me,
            call: format!("{}{mine}", self.call),
            site: Some(self.call.site),
        };
        let other = Called {
            rank: source,
            call: theirs,
            site: self.record_of(source).map(|call| call.site),
        };
        Mismatch {
            calls: vec![mine, other],
            odd: Vec::new(),
            comm: self.comm.shared.name(),
        }
    }
}
