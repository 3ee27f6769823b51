//! Short messages that are copied from the fast box straight into the buffers of receives that are posted: no packet and
//! no slot holds them meanwhile.
//!
//! A message is taken in this way only by the receive that would get it otherwise: one that nothing is posted before,
//! and that wants no message that is kept. Whatever does not fit stays where it is, and goes the other way.

use std::ptr;
use std::rc::Rc;

use crate::op::elements::ElementsMut;
use crate::transport::matching::mailbox::Inbox;
use crate::transport::matching::posted_receives::Slot;
use crate::transport::matching::want::Want;
use crate::transport::memory::head::Head;

/// A message that was copied into the buffer of its receive.
#[derive(Clone, Copy, Default)]
pub(crate) struct InPlace {
    pub head: Head,
    /// Number of elements.
    pub count: usize,
    /// Its place in the order of arrival.
    pub arrival: u64,
}

impl Inbox {
    /// Takes the message of a receive that is about to be posted, if it is the next one.
    #[inline]
    pub(crate) fn take_at_once(
        &mut self,
        want: &Want,
        into: &mut ElementsMut<'_>,
    ) -> Option<InPlace> {
        let is_first = !self.controlled && self.posted.is_empty() && self.early.is_empty();
        is_first.then(|| self.copy_next(want, into))?
    }

    /// Takes the message of a posted receive, if that is the first one that is open and the message is the next one. Its
    /// slot is closed then, and stays empty.
    #[inline]
    pub(crate) fn take_in_place(
        &mut self,
        slot: &Slot,
        into: &mut ElementsMut<'_>,
    ) -> Option<InPlace> {
        let first = self.posted.first_open()?;
        if self.controlled || !ptr::eq(first, slot) {
            return None;
        }
        let taken = self.copy_next(&slot.want(), into)?;
        self.posted.close_first();
        Some(taken)
    }

    /// A slot that is not open, for a message that was taken without one.
    pub(crate) fn closed_slot(&mut self, want: &Want) -> Rc<Slot> {
        let (head, mask) = want.words();
        self.posted.slot(head, mask)
    }

    #[inline]
    fn copy_next(&mut self, want: &Want, into: &mut ElementsMut<'_>) -> Option<InPlace> {
        let (head, count) = self.mail.next_into(into, |head| want.accepts(head))?;
        self.arrivals += 1;
        Some(InPlace {
            head,
            count,
            arrival: self.arrivals,
        })
    }
}
