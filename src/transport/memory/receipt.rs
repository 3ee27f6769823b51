//! The receipt of a message for which the library has no buffer space: its sender waits until it is received, or
//! revokes it.
//!
//! It is decided as for a [loan](crate::transport::memory::loan), by a word of its own: received or revoked, never
//! both. The message owns its content, so nothing is read between the claim and the settling, and the sender may leave,
//! or forget the receipt, at any time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::transport::memory::eager_limit::Charge;
use crate::transport::memory::loan::{LoanWord, Ticket};
use parking_lot::Mutex;

/// A receipt's word decides about one message only.
const ONLY: Ticket = 1;

/// Shared by a message and its sender.
#[derive(Debug)]
pub(crate) struct Receipt {
    word: LoanWord,
    /// The buffer space that the message takes until it is received, if it was granted any. The mutex is never
    /// contended: only the rank that has claimed the message locks it.
    charge: Mutex<Option<Charge>>,
    /// Whether a receiver in another process was faster than its sender, which has revoked it.
    came_too_late: AtomicBool,
}

impl Receipt {
    pub(crate) fn new(charge: Option<Charge>) -> Arc<Receipt> {
        let word = LoanWord::new();
        word.offer();
        Arc::new(Receipt {
            word,
            charge: Mutex::new(charge),
            came_too_late: AtomicBool::new(false),
        })
    }

    /// Marks the message received, unless its sender has revoked it. Returns `true` only once.
    pub(in crate::transport) fn accept(&self) -> bool {
        let ours = self.word.claim(ONLY);
        if ours {
            *self.charge.lock() = None;
            self.word.settle(ONLY);
        }
        ours
    }

    /// Whether the message has been received.
    pub(crate) fn is_accepted(&self) -> bool {
        self.word.is_settled(ONLY)
    }

    /// Revokes the message; `false`: it has been received, or revoked before.
    pub(crate) fn revoke(&self) -> bool {
        self.word.revoke(ONLY)
    }

    /// Whether its sender has revoked it.
    #[cfg(feature = "mpi")]
    pub(in crate::transport) fn is_revoked(&self) -> bool {
        self.word.is_revoked(ONLY)
    }

    /// The message had been received in another process when its sender revoked it.
    #[cfg(feature = "mpi")]
    pub(in crate::transport) fn was_received_before(&self) {
        // Relaxed: only the flag matters.
        self.came_too_late.store(true, Ordering::Relaxed);
    }

    /// Whether the message was revoked and never received, once its world is over.
    pub(crate) fn is_retracted(&self) -> bool {
        // Relaxed: as above.
        self.word.is_revoked(ONLY) && !self.came_too_late.load(Ordering::Relaxed)
    }

    /// Whether the message can still be received; a hint, only [`accept`](Self::accept) decides.
    pub(in crate::transport) fn is_open(&self) -> bool {
        self.word.is_offered(ONLY)
    }
}
