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
//!
//! An [exclusive](StandingLoan::offer) loan may be written by its borrower, which says before it settles that what it
//! has [stored](StandingLoan::set_stored) there is the result. Its lender does not even read meanwhile: it copies only
//! after the word says *replaced*, and holds the lock from before, so a receiver waits there for the copy.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use crate::op::elements::SharedVec;
use crate::sync::{AtomicBool, Mutex, Ordering};
use crate::transport::memory::copy_claims::CopyClaims;
use crate::transport::memory::loan::{LoanWord, Ticket};

/// What lender and borrower share of one loan.
pub(crate) struct StandingLoan {
    word: LoanWord,
    /// Where its borrower lets the lender help to copy.
    claims: CopyClaims,
    copy: Mutex<Option<SharedVec>>,
    /// Written once, by the lender, and never taken out.
    memory: OnceLock<SharedMemory>,
    /// Whether the borrower may write. Written while nothing is offered.
    exclusive: AtomicBool,
    /// Whether the borrower has stored a result.
    stored: AtomicBool,
}

/// Memory that is freed when its last share is dropped.
pub(crate) type SharedMemory = Arc<dyn Any + Send + Sync>;

impl StandingLoan {
    pub(in crate::transport) fn new() -> Arc<StandingLoan> {
        Arc::new(StandingLoan {
            word: LoanWord::new(),
            claims: CopyClaims::new(),
            copy: Mutex::new(None),
            memory: OnceLock::new(),
            exclusive: AtomicBool::new(false),
            stored: AtomicBool::new(false),
        })
    }

    /// The lender opens a loan, which its borrower may write if it is `exclusive`.
    #[inline]
    pub(in crate::transport) fn offer(&self, exclusive: bool) -> Ticket {
        // Relaxed, both: the release in `LoanWord::offer` follows, and pairs with the acquire of a claim.
        self.exclusive.store(exclusive, Ordering::Relaxed);
        self.stored.store(false, Ordering::Relaxed);
        self.word.offer()
    }

    /// Whether the borrower may write.
    #[inline]
    pub(in crate::transport) fn is_exclusive(&self) -> bool {
        // Relaxed: asked by the lender, and by the receiver of the packet, which was posted after it was written.
        self.exclusive.load(Ordering::Relaxed)
    }

    /// The borrower has stored a result, and will settle.
    pub(in crate::transport) fn set_stored(&self) {
        // Relaxed: the release in `LoanWord::settle` follows.
        self.stored.store(true, Ordering::Relaxed);
    }

    /// Whether the loan is settled, and its borrower has stored a result.
    pub(in crate::transport) fn is_stored(&self, ticket: Ticket) -> bool {
        // Relaxed: after the acquire in `LoanWord::is_settled`.
        self.word.is_settled(ticket) && self.stored.load(Ordering::Relaxed)
    }

    /// The word, to claim and settle by.
    #[inline]
    pub(in crate::transport) fn word(&self) -> &LoanWord {
        &self.word
    }

    /// The words by which both ends share the copy of what is lent; closed while nothing is claimed.
    #[inline]
    pub(in crate::transport) fn claims(&self) -> &CopyClaims {
        &self.claims
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
        if self.is_exclusive() {
            return self.replace_exclusive(ticket, copy);
        }
        *self.copy.lock() = Some(copy());
        let ours = self.word.revoke(ticket);
        if !ours {
            *self.copy.lock() = None;
        }
        ours
    }

    /// The same for a buffer that its borrower may write: it is not read before the borrower can no longer claim it.
    fn replace_exclusive(&self, ticket: Ticket, copy: impl FnOnce() -> SharedVec) -> bool {
        // A receiver that finds it revoked locks after this, and so finds the copy.
        let mut place = self.copy.lock();
        let ours = self.word.revoke(ticket);
        if ours {
            *place = Some(copy());
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
