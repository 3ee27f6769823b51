//! The receipts of synchronous sends to ranks of other processes.
//!
//! Such a message carries a number. In the process of its receiver it has a receipt of its own, and once that is accepted
//! the number goes back, for the sender's receipt to be accepted. A sender that has revoked its receipt meanwhile, since
//! its wait has failed, does not learn that the message was received.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Rank;
use crate::transport::memory::receipt::Receipt;

/// The receipts of one world that are open.
#[derive(Default)]
pub(super) struct Receipts {
    /// The number of the last message that was sent.
    last: u32,
    /// Those of near senders, by number.
    awaited: HashMap<u32, (Rank, Arc<Receipt>)>,
    /// Those of messages from other processes: the process, the number there, the receipt here.
    owed: Vec<(usize, u32, Arc<Receipt>)>,
}

impl Receipts {
    /// The number of a message for whose receipt a near rank waits.
    pub(super) fn wait_for(&mut self, sender: Rank, receipt: Arc<Receipt>) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.awaited.insert(self.last, (sender, receipt));
        self.last
    }

    /// The receipt of a message that has arrived.
    pub(super) fn owe(&mut self, process: usize, number: u32) -> Arc<Receipt> {
        let receipt = Receipt::new(None);
        self.owed.push((process, number, receipt.clone()));
        receipt
    }

    /// A message that was received, and that its sender was not told of: its process and number.
    pub(super) fn accepted(&mut self) -> Option<(usize, u32)> {
        let place = self.owed.iter().position(|owed| owed.2.is_accepted())?;
        let (process, number, _) = self.owed.swap_remove(place);
        Some((process, number))
    }

    /// The near rank that waits for the receipt with this number, which is accepted now. If its sender has revoked it, it
    /// no longer waits.
    pub(super) fn accept(&mut self, number: u32) -> Option<Rank> {
        let (sender, receipt) = self.awaited.remove(&number)?;
        receipt.accept();
        Some(sender)
    }

    /// Whether a message was received and its sender was not told.
    pub(super) fn has_to_tell(&self) -> bool {
        self.owed.iter().any(|owed| owed.2.is_accepted())
    }
}
