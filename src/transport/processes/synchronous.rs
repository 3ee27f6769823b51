//! Synchronous sends to ranks of other processes: how their [receipts](super::receipts) go back.
//!
//! A receipt is accepted by a rank that may hold the lock of the registry. So that rank does not wait for the lock of MPI:
//! where it finds that taken, the thread that holds it tells of the receipt when it is done. Before a rank's end is told,
//! all receipts are.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use super::far::Far;
use super::notes::Writer;
use super::wire::{Envelope, Kind};
use crate::Rank;
use crate::mpi::HEAD;
use crate::transport::Fabric;
use crate::transport::memory::packet::Packet;
use crate::transport::memory::receipt::Receipt;

impl Far {
    /// Sends a message whose sender waits for its receipt.
    pub(super) fn send_synchronous(
        &self,
        fabric: &Fabric,
        to: Rank,
        packet: &Packet,
        receipt: Arc<Receipt>,
    ) {
        let (sender, process) = (packet.source(), self.process_of(to));
        let number = self.receipts.lock().wait_for(sender, process, receipt);
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
        loop {
            // Pairs with itself in another thread: this one finds the lock free, or the other one, after it was inside
            // MPI, the receipt.
            fence(Ordering::SeqCst);
            if !self
                .session
                .processes
                .try_send(&mut || self.next_received())
            {
                return;
            }
            fence(Ordering::SeqCst);
            if !self.has_to_tell() {
                return;
            }
        }
    }

    /// The same after this thread was inside MPI, for others that have found it there.
    #[inline]
    pub(super) fn tell_received_later(&self) {
        // Relaxed: what arrived while another thread was inside MPI, that one sees.
        if self.owed.load(Ordering::Relaxed) > 0 {
            self.tell_received();
        }
    }

    /// Tells all that was received, before what is sent next. Waits for a thread that is inside MPI: not where the
    /// registry is open.
    pub(super) fn tell_received_before(&self) {
        // Relaxed: this rank has counted what it has received, or has it from the thread that has.
        if self.owed.load(Ordering::Relaxed) > 0 {
            let processes = &self.session.processes;
            processes.send_each(&mut || self.next_received());
        }
    }

    /// The next message that was received: the process of its sender, and the letter that says so. Inside MPI.
    fn next_received(&self) -> Option<(usize, [u8; HEAD])> {
        let (process, number) = self.receipts.lock().accepted()?;
        // Relaxed: changed under the lock of MPI.
        self.owed.fetch_sub(1, Ordering::Relaxed);
        self.will_send(process);
        let note = Envelope::of_note(Kind::Received(number), self.world);
        Some((process, note.bytes()))
    }

    /// Tells other processes of the messages that near senders have revoked, before any of these senders goes on.
    pub(super) fn tell_revoked(&self) {
        let _telling = self.revoking.lock();
        let revoked = self.receipts.lock().revoked();
        for (process, number) in revoked {
            self.tell(
                Kind::Revoked(number),
                [process].into_iter(),
                Writer::default(),
            );
        }
    }

    /// A sender has revoked its message, which has arrived here: it is dead, unless it was received.
    pub(super) fn take_revoked(&self, from: usize, number: u32) {
        if self.receipts.lock().revoke(from, number) {
            // Relaxed: as in `tell_received`.
            self.owed.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether a message was received and its sender was not told, as another thread was inside MPI.
    pub(super) fn has_to_tell(&self) -> bool {
        self.receipts.lock().has_to_tell()
    }

    /// A message was received whose sender, a near rank, may wait for that.
    pub(super) fn take_received(&self, fabric: Option<&Fabric>, from: usize, number: u32) {
        let sender = self.receipts.lock().accept(from, number);
        if let (Some(sender), Some(fabric)) = (sender, fabric) {
            fabric.endpoints[sender].sleeper.rouse();
        }
    }
}
