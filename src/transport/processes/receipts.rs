//! The receipts of synchronous sends to ranks of other processes.
//!
//! Such a message carries a number. In the process of its receiver it has a receipt of its own, and once that is accepted
//! the number goes back, for the sender's receipt to be accepted. A sender that revokes its receipt, since its wait has
//! failed, tells the other process to revoke the one there. It does not learn whether the message was received before.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Rank;
use crate::transport::memory::receipt::Receipt;

/// A near sender, the process of the receiver, and the receipt.
type Awaited = (Rank, usize, Arc<Receipt>);

/// The receipts of one world that are open.
#[derive(Default)]
pub(super) struct Receipts {
    /// The number of the last message that was sent.
    last: u32,
    /// Those of near senders, by number, and the processes of the receivers.
    awaited: HashMap<u32, Awaited>,
    /// Those of messages from other processes: the process, the number there, the receipt here.
    owed: Vec<(usize, u32, Arc<Receipt>)>,
}

impl Receipts {
    /// The number of a message for whose receipt a near rank waits.
    pub(super) fn wait_for(&mut self, sender: Rank, process: usize, receipt: Arc<Receipt>) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.awaited.insert(self.last, (sender, process, receipt));
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

    /// The near rank that waits for the receipt with this number from a process, which is accepted now. If its sender has
    /// revoked it, it no longer waits.
    pub(super) fn accept(&mut self, from: usize, number: u32) -> Option<Rank> {
        self.awaited
            .get(&number)
            .filter(|(_, process, _)| *process == from)?;
        let (sender, _, receipt) = self.awaited.remove(&number)?;
        receipt.accept();
        Some(sender)
    }

    /// The messages that near senders have revoked: the processes and numbers.
    pub(super) fn revoked(&mut self) -> Vec<(usize, u32)> {
        let over = self
            .awaited
            .extract_if(|_, (.., receipt)| receipt.is_revoked());
        over.map(|(number, (_, process, _))| (process, number))
            .collect()
    }

    /// A sender in this process has revoked its message with this number, which has arrived here.
    pub(super) fn revoke(&mut self, process: usize, number: u32) -> bool {
        let is = |owed: &(usize, u32, Arc<Receipt>)| (owed.0, owed.1) == (process, number);
        let place = self.owed.iter().position(is);
        let revoked = place.filter(|place| self.owed[*place].2.revoke());
        revoked.map(|place| self.owed.swap_remove(place)).is_some()
    }

    /// Whether a message was received and its sender was not told.
    pub(super) fn has_to_tell(&self) -> bool {
        self.owed.iter().any(|owed| owed.2.is_accepted())
    }
}
