//! The endpoint of a rank, which other ranks see: its mailbox, whether it sleeps, its counts.

use std::sync::{Arc, OnceLock};

use crossbeam_channel::{Receiver, Sender, unbounded};
use crossbeam_utils::CachePadded;

use crate::sync::{AtomicBool, AtomicU64, Ordering, Parker};
use crate::transport::communicator::call_log::CallLog;
use crate::transport::matching::incoming::Incoming;
use crate::transport::matching::mailbox::Inbox;
use crate::transport::memory::copy_claims::CopyClaims;
use crate::transport::memory::eager_limit::Account;
use crate::transport::memory::fast_box::FastBox;
use crate::transport::memory::loan::LoanWord;
use crate::transport::memory::packet::Packet;
use crate::transport::trace::record::Record;
use crate::transport::wakeup::sleeper::{Present, RunNumber, Sleeper};

/// The part of a rank that other ranks see.
pub(in crate::transport) struct Endpoint {
    /// Present until the rank enters.
    pub(in crate::transport) parker: parking_lot::Mutex<Option<Parker>>,
    pub(in crate::transport) mail: Sender<Packet>,
    /// The other end, kept so that messages that were never received can be counted at the end.
    pub(in crate::transport) left: Receiver<Packet>,
    /// The shortcut past the mailbox.
    pub(in crate::transport) fast_box: Arc<FastBox>,
    pub(in crate::transport) sleeper: CachePadded<Sleeper>,
    pub(in crate::transport) loan: CachePadded<LoanWord>,
    /// Where a borrower lets this rank help to copy what it has lent.
    pub(in crate::transport) claims: CachePadded<CopyClaims>,
    pub(in crate::transport) tally: CachePadded<Tally>,
    pub(in crate::transport) log: CachePadded<CallLog>,
    /// Accounts for the bytes buffered for this rank, where a limit applies.
    pub(in crate::transport) account: Account,
    /// Whether the rank has put back all that it had set aside, or never had a port.
    pub(in crate::transport) emptied: AtomicBool,
    /// The rank's record, from its entry on, if there is one.
    pub(in crate::transport) record: OnceLock<Arc<Record>>,
}

impl Endpoint {
    pub(in crate::transport) fn new(parker: Parker) -> Self {
        let (mail, left) = unbounded();
        Endpoint {
            mail,
            left,
            fast_box: FastBox::new(),
            sleeper: CachePadded::new(Sleeper::new(&parker)),
            parker: parking_lot::Mutex::new(Some(parker)),
            loan: CachePadded::new(LoanWord::new()),
            claims: CachePadded::new(CopyClaims::new()),
            tally: CachePadded::new(Tally::new()),
            log: CachePadded::new(CallLog::new()),
            account: Account::new(),
            emptied: AtomicBool::new(true),
            record: OnceLock::new(),
        }
    }

    /// The receiving end of everything sent to this rank. At most one may exist at a time.
    pub(in crate::transport) fn inbox(&self) -> Inbox {
        Inbox::new(self.incoming())
    }

    /// The same, for what is left when the fabric is dropped.
    pub(in crate::transport) fn incoming(&self) -> Incoming {
        Incoming::new(self.left.clone(), self.fast_box.clone())
    }

    /// Number of operations that the rank has begun in this run, which it may not have entered yet.
    pub(in crate::transport) fn begun_in(&self, run: RunNumber) -> u64 {
        match self.is_in(run) {
            true => self.begun(),
            false => 0,
        }
    }

    /// The rank has a port from now on.
    pub(in crate::transport) fn fill(&self) {
        // Relaxed: the release in `depart` publishes it.
        self.emptied.store(false, Ordering::Relaxed);
    }

    /// The rank's port has nothing any more that a report counts.
    pub(in crate::transport) fn empty(&self) {
        // Release: pairs with the acquire in `has_emptied`.
        self.emptied.store(true, Ordering::Release);
    }

    /// Whether the rank has ended, and all that it left can be seen.
    pub(in crate::transport) fn has_emptied(&self, run: RunNumber) -> bool {
        // Acquire: pairs with the release in `empty`. In this order: a rank that has ended had a port before, if ever.
        self.sleeper.has_left(run) && self.emptied.load(Ordering::Acquire)
    }

    #[inline]
    pub(in crate::transport) fn begun(&self) -> u64 {
        // Relaxed: read for reports only.
        self.tally.begun.load(Ordering::Relaxed)
    }
}

/// Counts of a rank's operations so far. Only the rank writes them; all accesses are relaxed, since they are read for
/// reports only.
pub(in crate::transport) struct Tally {
    /// Operations begun.
    pub(in crate::transport) begun: AtomicU64,
    /// Messages of elements sent.
    pub(in crate::transport) messages: AtomicU64,
    /// The bytes in them.
    pub(in crate::transport) bytes: AtomicU64,
    /// Waits in which the rank went to sleep.
    pub(in crate::transport) sleeps: AtomicU64,
    /// Nanoseconds spent in waits, after spinning failed.
    pub(in crate::transport) waited: AtomicU64,
    /// The run that all of these are counts of.
    pub(in crate::transport) run: Present,
}

impl Tally {
    pub(in crate::transport) fn new() -> Self {
        Tally {
            begun: AtomicU64::new(0),
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            sleeps: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            run: Present::new(),
        }
    }

    /// All counters, in the order that [`Fabric::tallies`] documents.
    pub(in crate::transport) fn counts(&self) -> [&AtomicU64; 5] {
        let Tally {
            begun,
            messages,
            bytes,
            sleeps,
            waited,
            run: _,
        } = self;
        [begun, messages, bytes, sleeps, waited]
    }

    /// Adds to a counter without a locked instruction: only its rank writes it.
    #[inline]
    pub(in crate::transport) fn add(count: &AtomicU64, more: u64) {
        count.store(count.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    #[inline]
    pub(in crate::transport) fn sent(&self, messages: u64, bytes: usize) {
        Tally::add(&self.messages, messages);
        Tally::add(&self.bytes, bytes as u64);
    }
}
