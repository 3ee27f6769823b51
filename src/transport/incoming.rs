//! What comes to a rank, by its mailbox and by its [`hatch`](super::hatch), in one order.

use std::mem;
use std::sync::Arc;

use crossbeam_channel::Receiver;

use super::hatch::{Hatch, In};
use super::packet::Packet;

/// The receiving end of all that is sent to one rank.
pub(super) struct Incoming {
    mail: Receiver<Packet>,
    hatch: In,
}

impl Incoming {
    pub(super) fn new(mail: Receiver<Packet>, hatch: Arc<Hatch>) -> Incoming {
        Incoming {
            mail,
            hatch: In::new(hatch),
        }
    }

    /// Moves the next message into `place`; whether there was one. What was in `place` must own nothing.
    ///
    /// What is in the mailbox now is taken only if the hatch is found empty after that, see there.
    #[inline]
    pub(super) fn next(&mut self, place: &mut Packet) -> bool {
        let mailed = !self.mail.is_empty();
        self.hatch.take(place) || mailed && self.next_mailed(place)
    }

    #[inline]
    fn next_mailed(&mut self, place: &mut Packet) -> bool {
        let Ok(packet) = self.mail.try_recv() else {
            return false;
        };
        mem::forget(mem::replace(place, packet));
        true
    }

    /// The same for whoever keeps it.
    pub(super) fn pop(&mut self) -> Option<Packet> {
        let mut place = Packet::empty();
        self.next(&mut place).then_some(place)
    }
}
