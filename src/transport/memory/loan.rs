//! The word that decides which rank may access lent memory: *offered → claimed → settled*, or *offered → revoked*.
//!
//! A long message travels as a pointer into the sender's buffer (the rendezvous protocol). The receiver claims the loan
//! by compare-and-swap before it reads; the sender revokes it by compare-and-swap whenever it wants to leave. Exactly
//! one of the two succeeds:
//!
//! - *revoked*: the packet is dead; a receiver that finds it drops it without reading;
//! - *claimed*: the sender waits until *settled*, because its buffer is being read. That depends on no other rank: a
//!   receiver that has claimed copies, or runs the operator, and settles, also while unwinding. (A user's operator that
//!   never returns keeps the sender for ever; nothing can be done about that.)
//!
//! Each rank has one word and lends one buffer at a time: while a buffer is lent, the lender only waits or receives,
//! and neither lends; [`offer`](LoanWord::offer) checks this. The word counts its loans, and the packet carries the
//! count as its ticket: a stale packet never matches a later loan.

use crate::sync::{AtomicU64, Ordering};

const OFFERED: u64 = 0;
const CLAIMED: u64 = 1;
const SETTLED: u64 = 2;
const REVOKED: u64 = 3;
const STATES: u64 = 4;

/// The loan of a rank that a packet stands for.
pub(crate) type Ticket = u64;

/// The state of the one loan that a rank has given.
#[derive(Debug)]
pub(crate) struct LoanWord(AtomicU64);

impl LoanWord {
    #[inline]
    pub(crate) fn new() -> Self {
        LoanWord(AtomicU64::new(REVOKED))
    }

    /// The lender opens its next loan.
    #[inline]
    pub(crate) fn offer(&self) -> Ticket {
        // Relaxed: only the lender writes the word while nothing is offered or claimed.
        let last = self.0.load(Ordering::Relaxed);
        assert!(last % STATES >= SETTLED, "a second loan while one is open");
        let ticket = last / STATES + 1;
        // Release: pairs with the acquire in `claim`; the buffer was written before.
        self.0.store(ticket * STATES + OFFERED, Ordering::Release);
        ticket
    }

    /// Whether anything was ever lent.
    pub(crate) fn was_offered(&self) -> bool {
        // Relaxed: asked when its rank has ended.
        self.0.load(Ordering::Relaxed) >= STATES
    }

    /// The borrower asks to read. After `true` it must settle; after `false` it must not read.
    #[inline]
    pub(crate) fn claim(&self, ticket: Ticket) -> bool {
        let (from, to) = (ticket * STATES + OFFERED, ticket * STATES + CLAIMED);
        // Acquire: pairs with the release in `offer`.
        self.0
            .compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// The borrower has read its last byte.
    #[inline]
    pub(crate) fn settle(&self, ticket: Ticket) {
        // Release: the borrower's reads happen before the lender sees it settled.
        self.0.store(ticket * STATES + SETTLED, Ordering::Release);
    }

    /// Whether the lender has its buffer back.
    #[inline]
    pub(crate) fn is_settled(&self, ticket: Ticket) -> bool {
        // Acquire: pairs with the release in `settle`.
        self.0.load(Ordering::Acquire) == ticket * STATES + SETTLED
    }

    /// The lender wants its buffer back now; `false`: the borrower was faster.
    #[inline]
    pub(crate) fn revoke(&self, ticket: Ticket) -> bool {
        let (from, to) = (ticket * STATES + OFFERED, ticket * STATES + REVOKED);
        // Relaxed: a loan that was never claimed has never been read, so there is nothing to order.
        self.0
            .compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Whether the lender has revoked this loan.
    #[inline]
    pub(crate) fn is_revoked(&self, ticket: Ticket) -> bool {
        // Relaxed: called by the lender, which wrote it.
        self.0.load(Ordering::Relaxed) == ticket * STATES + REVOKED
    }

    /// Whether the lender has its buffer back, or has revoked this loan.
    pub(crate) fn is_over(&self, ticket: Ticket) -> bool {
        self.is_settled(ticket) || self.is_revoked(ticket)
    }

    /// Whether a packet with this ticket can still be claimed; a hint, only `claim` decides.
    #[inline]
    pub(crate) fn is_offered(&self, ticket: Ticket) -> bool {
        self.0.load(Ordering::Relaxed) == ticket * STATES + OFFERED
    }
}
