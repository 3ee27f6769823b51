//! The receipt of a message that the library has no buffer for: its sender waits until it is received,
//! or takes it back.
//!
//! It is decided as for a [loan](crate::transport::memory::loan), by a word of its own: received or revoked, never both. What is in the
//! message is its own, so nothing is read between the claim and the settling, and the sender may leave,
//! or forget the receipt, at any time.

use std::sync::Arc;

use crate::transport::memory::eager_limit::Charge;
use crate::transport::memory::loan::{LoanWord, Ticket};
use parking_lot::Mutex;

/// A receipt's word decides about one message only.
const ONLY: Ticket = 1;

/// Shared by a message and its sender.
#[derive(Debug)]
pub(crate) struct Receipt {
    word: LoanWord,
    /// The room that the message takes until it is received, where it found some. A mutex that nobody
    /// waits for: only who has claimed the message looks.
    charge: Mutex<Option<Charge>>,
}

impl Receipt {
    pub(crate) fn new(charge: Option<Charge>) -> Arc<Receipt> {
        let word = LoanWord::new();
        word.offer();
        Arc::new(Receipt {
            word,
            charge: Mutex::new(charge),
        })
    }

    /// The message is received, unless its sender has taken it back. Only once true.
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

    /// Takes the message back; `false`: it has been received, or taken back before.
    pub(crate) fn revoke(&self) -> bool {
        self.word.revoke(ONLY)
    }

    /// Whether the message can still be received; a hint, only [`accept`](Self::accept) decides.
    pub(in crate::transport) fn is_open(&self) -> bool {
        self.word.is_offered(ONLY)
    }
}
