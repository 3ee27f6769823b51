//! The receipts of synchronous sends to ranks of other processes.
//!
//! Such a message carries a number. In the process of its receiver it has a receipt of its own, and once that is accepted
//! the number goes back, for the sender's receipt to be accepted. A sender that has revoked its receipt meanwhile, since
//! its wait has failed, does not learn that the message was received.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use super::far::Far;
use super::wire::{Envelope, Kind};
use crate::Rank;
use crate::transport::Fabric;
use crate::transport::memory::packet::Packet;
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
    fn wait_for(&mut self, sender: Rank, receipt: Arc<Receipt>) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.awaited.insert(self.last, (sender, receipt));
        self.last
    }

    /// The receipt of a message that has arrived.
    fn owe(&mut self, process: usize, number: u32) -> Arc<Receipt> {
        let receipt = Receipt::new(None);
        self.owed.push((process, number, receipt.clone()));
        receipt
    }

    /// A message that was received, and that its sender was not told of: its process and number.
    fn accepted(&mut self) -> Option<(usize, u32)> {
        let place = self.owed.iter().position(|owed| owed.2.is_accepted())?;
        let (process, number, _) = self.owed.swap_remove(place);
        Some((process, number))
    }
}

impl Far {
    /// Sends a message whose sender waits for its receipt.
    pub(super) fn send_synchronous(
        &self,
        fabric: &Fabric,
        to: Rank,
        packet: &Packet,
        receipt: Arc<Receipt>,
    ) {
        let number = self.receipts.lock().wait_for(packet.source(), receipt);
        self.send(fabric, to, packet, Kind::Synchronous(number));
    }

    /// Attaches a receipt to a message that has arrived, if its sender waits for one.
    pub(super) fn with_receipt(&self, from: usize, kind: Kind, packet: Packet) -> Packet {
        match kind {
            Kind::Synchronous(number) => {
                // Relaxed: as in `tell_received`.
                self.owed.fetch_add(1, Ordering::Relaxed);
                packet.with_receipt(self.receipts.lock().owe(from, number))
            }
            _ => packet,
        }
    }

    /// Tells other processes which of their messages were received. If another thread is inside MPI, that one does, once
    /// it is not. Waits for no lock that is held inside MPI: the registry may be open here.
    pub(super) fn tell_received(&self) {
        // Pairs with the fence in `tell_received_later`: this thread finds the lock free, or the other one the receipt.
        fence(Ordering::SeqCst);
        self.session.processes.try_send(&mut || {
            let (process, number) = self.receipts.lock().accepted()?;
            // Relaxed: changed under the lock of MPI.
            self.owed.fetch_sub(1, Ordering::Relaxed);
            self.will_send();
            let note = Envelope::of_note(Kind::Received(number), self.world);
            Some((process, note.bytes()))
        });
    }

    /// The same after this thread was inside MPI, for others that have found it there.
    pub(super) fn tell_received_later(&self) {
        // Relaxed: what arrived while another thread was inside MPI, that one sees.
        if self.owed.load(Ordering::Relaxed) > 0 {
            self.tell_received();
        }
    }

    /// Whether a message was received and its sender was not told, as another thread was inside MPI.
    pub(super) fn has_to_tell(&self) -> bool {
        let receipts = self.receipts.lock();
        receipts.owed.iter().any(|owed| owed.2.is_accepted())
    }

    /// A message was received whose sender, a near rank, may wait for that.
    pub(super) fn take_received(&self, fabric: Option<&Fabric>, number: u32) {
        let awaited = self.receipts.lock().awaited.remove(&number);
        if let (Some((sender, receipt)), Some(fabric)) = (awaited, fabric) {
            // If it was revoked, its sender no longer waits.
            receipt.accept();
            fabric.endpoints[sender].sleeper.rouse();
        }
    }
}
