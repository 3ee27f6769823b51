//! A loan that its lender does not revoke but replaces by a copy: *offered → claimed → settled*, or *offered → replaced*.
//!
//! A message that is started within a scope travels as a pointer into the sender's buffer, as that of a blocking send
//! ([`loan`](super::loan)) does. But other messages follow before it is received, so a copy cannot be sent after it: it
//! would arrive behind them. Instead, the packet stays where it is, and a sender that wants to leave puts a copy beside
//! the word, where the receiver finds it. So such a packet never dies, and its receiver may open it at any time.
//!
//! The word is that of a loan, *replaced* being its *revoked*: exactly one of claim and replacement succeeds. The copy is
//! there before the word says so; the lock around it orders the two ends, and is taken only for a replacement.
//!
//! A lender that owns what it has lent, and needs it no longer, may also [leave](StandingLoan::leave) the memory itself
//! beside the word: then nothing is copied, no receiver is waited for, and the memory is freed with the packet.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use crate::op::elements::SharedVec;
use crate::sync::Mutex;
use crate::transport::memory::loan::{LoanWord, Ticket};

/// What lender and borrower share of one loan.
pub(crate) struct StandingLoan {
    word: LoanWord,
    copy: Mutex<Option<SharedVec>>,
    /// Written once, by the lender, and never taken out.
    memory: OnceLock<SharedMemory>,
}

/// Memory that is freed when its last share is dropped.
pub(crate) type SharedMemory = Arc<dyn Any + Send + Sync>;

impl StandingLoan {
    pub(in crate::transport) fn new() -> Arc<StandingLoan> {
        Arc::new(StandingLoan {
            word: LoanWord::new(),
            copy: Mutex::new(None),
            memory: OnceLock::new(),
        })
    }

    /// The word, to claim and settle by.
    #[inline]
    pub(in crate::transport) fn word(&self) -> &LoanWord {
        &self.word
    }

    /// The borrower takes the copy, after its claim has failed.
    #[cold]
    pub(in crate::transport) fn take_copy(&self) -> Option<SharedVec> {
        self.copy.lock().take()
    }

    /// The lender leaves a copy and takes its buffer back; `false`: the buffer is being read, or has been.
    pub(in crate::transport) fn replace(
        &self,
        ticket: Ticket,
        copy: impl FnOnce() -> SharedVec,
    ) -> bool {
        if !self.word.is_offered(ticket) {
            return false;
        }
        *self.copy.lock() = Some(copy());
        let ours = self.word.revoke(ticket);
        if !ours {
            *self.copy.lock() = None;
        }
        ours
    }

    /// The lender leaves the memory in which the buffer lies. It outlives the packet, which has a share of this loan: its
    /// receiver may claim and read at any time.
    pub(in crate::transport) fn leave(&self, memory: SharedMemory) {
        let first = self.memory.set(memory);
        debug_assert!(first.is_ok(), "a loan has one lender, which leaves once");
    }
}
