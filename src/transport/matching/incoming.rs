//! What arrives at a rank through its mailbox and through its [`fast_box`](crate::transport::memory::fast_box), in one
//! order.

use std::mem;
use std::sync::Arc;

use crossbeam_channel::Receiver;

use crate::op::elements::ElementsMut;
use crate::transport::memory::fast_box::{FastBox, In};
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;

/// The mailbox, as its rank sees it.
pub(in crate::transport) trait Mail {
    /// Whether everything that was posted has been taken.
    fn is_empty(&self) -> bool;

    /// Moves the first message into `place`, which owns nothing. Returns whether there was one.
    fn take(&self, place: &mut Packet) -> bool;
}

impl Mail for Receiver<Packet> {
    #[inline]
    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    #[inline]
    fn take(&self, place: &mut Packet) -> bool {
        let Ok(packet) = self.try_recv() else {
            return false;
        };
        mem::forget(mem::replace(place, packet));
        true
    }
}

/// The receiving end of everything sent to one rank.
pub(in crate::transport) struct Incoming<M = Receiver<Packet>> {
    mail: M,
    fast_box: In,
}

impl<M: Mail> Incoming<M> {
    pub(in crate::transport) fn new(mail: M, fast_box: Arc<FastBox>) -> Incoming<M> {
        let fast_box = In::new(fast_box);
        Incoming { mail, fast_box }
    }

    /// Moves the next message into `place`, which owns nothing. Returns whether there was one.
    ///
    /// A message that is in the mailbox now is taken only if the fast box is found empty after that: see there.
    #[inline]
    pub(in crate::transport) fn next(&mut self, place: &mut Packet) -> bool {
        let mailed = !self.mail.is_empty();
        self.fast_box.take(place) || mailed && self.mail.take(place)
    }

    /// Copies the next message into a buffer, as [`In::take_into`] does, if it is in the fast box: what is in the mailbox
    /// comes after that.
    #[inline]
    pub(in crate::transport) fn next_into(
        &mut self,
        into: &mut ElementsMut<'_>,
        accepts: impl FnOnce(Head) -> bool,
    ) -> Option<(Head, usize)> {
        self.fast_box.take_into(into, accepts)
    }

    /// Whether there is nothing to take now.
    #[inline]
    pub(in crate::transport) fn is_empty(&self) -> bool {
        self.fast_box.is_empty() && self.mail.is_empty()
    }

    /// [`next`](Self::next) for a caller that keeps the message.
    pub(in crate::transport) fn pop(&mut self) -> Option<Packet> {
        let mut place = Packet::empty();
        self.next(&mut place).then_some(place)
    }

    /// Stops taking messages from the fast box, so that the caller that counts leftovers can take them.
    pub(in crate::transport) fn leave_fast_box(&mut self) {
        self.fast_box = In::new(FastBox::new());
    }
}
