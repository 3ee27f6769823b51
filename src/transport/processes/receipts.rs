//! The receipts of synchronous sends to ranks of other processes.
//!
//! Such a message carries a number. In the process of its receiver it has a receipt of its own, and once that is accepted
//! the number goes back, for the sender's receipt to be accepted. A sender that revokes its receipt, since its wait has
//! failed, tells the other process to revoke the one there. It does not wait to learn whether the message was received
//! before; if it was, its number comes back all the same, for the trace.

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
    /// Those of near senders that have revoked them, by number, with the processes of the receivers.
    retracted: HashMap<u32, (usize, Arc<Receipt>)>,
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
    /// revoked it, it no longer waits, and was too late.
    pub(super) fn accept(&mut self, from: usize, number: u32) -> Option<Rank> {
        let is_of = |process: &usize| *process == from;
        let was_retracted = self.retracted.get(&number).is_some_and(|it| is_of(&it.0));
        let retracted = was_retracted.then(|| self.retracted.remove(&number));
        if let Some((_, receipt)) = retracted.flatten() {
            receipt.was_received_before();
        }
        self.awaited.get(&number).filter(|it| is_of(&it.1))?;
        let (sender, _, receipt) = self.awaited.remove(&number)?;
        if !receipt.accept() {
            receipt.was_received_before();
        }
        Some(sender)
    }

    /// The messages that near senders have revoked: the processes and numbers.
    pub(super) fn revoked(&mut self) -> Vec<(usize, u32)> {
        let over = self
            .awaited
            .extract_if(|_, (.., receipt)| receipt.is_revoked());
        let over: Vec<_> = over.collect();
        let told = over
            .iter()
            .map(|(number, (_, process, _))| (*process, *number));
        let told = told.collect();
        let kept = over.into_iter();
        let kept = kept.map(|(number, (_, process, receipt))| (number, (process, receipt)));
        self.retracted.extend(kept);
        told
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_was_received_before_its_sender_revoked_it_was_not_retracted() {
        let mut receipts = Receipts::default();
        let (sender, process) = (3, 1);
        let sent = [(); 3].map(|()| Receipt::new(None));
        let numbers = sent
            .clone()
            .map(|receipt| receipts.wait_for(sender, process, receipt));
        assert!(sent[0].revoke() && sent[1].revoke());
        assert_eq!(receipts.revoked().len(), 2);
        // Revoked, and the other process is not told yet.
        assert!(sent[2].revoke());
        assert_eq!(receipts.accept(process, numbers[1]), None);
        assert_eq!(receipts.accept(process + 1, numbers[0]), None);
        assert_eq!(receipts.accept(process, numbers[2]), Some(sender));
        let retracted = sent.map(|receipt| receipt.is_retracted());
        assert_eq!(retracted, [true, false, false]);
    }
}
