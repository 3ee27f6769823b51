//! Posted receives: each is a slot that takes the first message it accepts, whatever its rank is doing at that moment.
//!
//! A message that arrives is offered to the open slots in the order in which they were posted, and only then to the
//! receive that is being waited for, which was posted last. A message in a slot has been received: the rank owns it
//! from then on, and its sender is free.

use std::cell::{Cell, Ref, RefCell};
use std::collections::VecDeque;
use std::mem;
use std::rc::Rc;

use crate::transport::matching::want::Want;
use crate::transport::memory::head::Head;
use crate::transport::memory::lenders::Lenders;
use crate::transport::memory::packet::Packet;

/// One posted receive, shared with the caller that posted it.
pub(crate) struct Slot {
    /// The [words](Want::words) of what it accepts.
    head: Cell<Head>,
    mask: Cell<Head>,
    filled: Cell<bool>,
    /// The message in the slot, and its place in the order of arrival.
    message: RefCell<(Packet, u64)>,
}

impl Slot {
    fn new(head: Head, mask: Head) -> Rc<Slot> {
        Rc::new(Slot {
            head: Cell::new(head),
            mask: Cell::new(mask),
            filled: Cell::new(false),
            message: RefCell::new((Packet::empty(), 0)),
        })
    }

    /// Puts a message into an empty slot, and what was there into `packet`: nothing. A swap of what was written a while
    /// ago does not stall.
    fn fill(&self, packet: &mut Packet, arrival: u64) {
        let mut message = self.message.borrow_mut();
        mem::swap(&mut message.0, packet);
        message.1 = arrival;
        self.filled.set(true);
    }

    /// Puts a message into an empty slot that is not open.
    pub(crate) fn put(&self, packet: Packet, arrival: u64) {
        let mut packet = packet;
        self.fill(&mut packet, arrival);
    }

    /// Lets `fill` put a message into an empty slot; it returns the place in the order of arrival if there was one.
    /// Returns whether there was.
    pub(in crate::transport) fn fill_in_place(
        &self,
        fill: impl FnOnce(&mut Packet) -> Option<u64>,
    ) -> bool {
        let mut message = self.message.borrow_mut();
        let arrival = fill(&mut message.0);
        message.1 = arrival.unwrap_or_default();
        self.filled.set(arrival.is_some());
        arrival.is_some()
    }

    /// Lets `next` move a message into this empty slot, which keeps it if it wants it.
    #[inline]
    pub(in crate::transport) fn take_next(
        &self,
        arrival: u64,
        lenders: &impl Lenders,
        next: impl FnOnce(&mut Packet) -> bool,
    ) -> Next {
        let mut message = self.message.borrow_mut();
        let (packet, place) = &mut *message;
        if !next(packet) {
            return Next::Nothing;
        }
        if !(self.want().accepts(packet.head) && packet.make_own(lenders)) {
            return Next::Other(mem::replace(packet, Packet::empty()));
        }
        *place = arrival;
        self.filled.set(true);
        Next::Kept
    }

    /// Its message, which stays there.
    pub(crate) fn message(&self) -> Ref<'_, Packet> {
        Ref::map(self.message.borrow(), |(packet, _)| packet)
    }

    /// Which messages it accepts.
    #[inline]
    pub(crate) fn want(&self) -> Want {
        Want::of_words(self.head.get(), self.mask.get())
    }

    /// Whether its message has arrived.
    pub(crate) fn is_filled(&self) -> bool {
        self.filled.get()
    }

    /// Drops its message, once it was read in place, and returns its head.
    pub(crate) fn empty(&self) -> Head {
        let packet = &mut self.message.borrow_mut().0;
        packet.empty_in_place();
        packet.head
    }

    /// The place of its message in the order of arrival.
    pub(crate) fn arrival(&self) -> u64 {
        self.message.borrow().1
    }

    /// Takes its message, with the place in the order of arrival. Once, and only when it [is filled](Self::is_filled).
    pub(crate) fn take(&self) -> (Packet, u64) {
        self.message.replace((Packet::empty(), 0))
    }
}

/// What has become of the next message.
pub(in crate::transport) enum Next {
    /// There is none.
    Nothing,
    /// A slot has kept it.
    Kept,
    /// It is for another receive, or its sender has revoked it.
    Other(Packet),
}

/// The result of offering a message.
pub(in crate::transport) enum Offered {
    /// A slot has taken it.
    Taken,
    /// A slot wants it, but its sender has revoked it.
    Dead,
    /// No slot wants it.
    Unwanted,
}

/// The open slots of a rank, in the order in which they were posted.
#[derive(Default)]
pub(in crate::transport) struct Posted {
    open: VecDeque<Rc<Slot>>,
    /// Slots whose messages were taken, for receives that are posted later.
    spare: Vec<Rc<Slot>>,
}

/// Maximum number of spare slots.
const SPARE: usize = 128;

impl Posted {
    #[inline]
    pub(in crate::transport) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// A slot that no receive has, or a new one: empty, and not open.
    #[inline]
    pub(in crate::transport) fn slot(&mut self, head: Head, mask: Head) -> Rc<Slot> {
        let Some(slot) = self.spare.pop() else {
            return Slot::new(head, mask);
        };
        slot.head.set(head);
        slot.mask.set(mask);
        slot.filled.set(false);
        slot
    }

    /// Keeps a slot whose message was taken, if nothing else refers to it.
    pub(in crate::transport) fn recycle(&mut self, slot: Rc<Slot>) {
        if Rc::strong_count(&slot) == 1 && self.spare.len() < SPARE {
            slot.message.borrow_mut().0.empty_in_place();
            self.spare.push(slot);
        }
    }

    /// The first open slot.
    #[inline]
    pub(in crate::transport) fn first_open(&self) -> Option<&Slot> {
        self.open.front().map(|slot| &**slot)
    }

    /// Closes the first open slot, which has been filled.
    #[inline]
    pub(in crate::transport) fn close_first(&mut self) {
        self.open.pop_front();
    }

    /// Opens a slot behind all others.
    pub(in crate::transport) fn open(&mut self, slot: Rc<Slot>) -> Rc<Slot> {
        self.open.push_back(slot.clone());
        slot
    }

    /// Whether a slot wants a message; if so, `Some(true)` where that slot accepts any source.
    pub(in crate::transport) fn wants(&self, packet: &Packet) -> Option<bool> {
        self.first(packet).map(|want| want.source().is_none())
    }

    /// The messages that the first open slot accepts.
    pub(in crate::transport) fn first(&self, packet: &Packet) -> Option<Want> {
        let mut wants = self.open.iter().map(|slot| slot.want());
        wants.find(|want| want.accepts(packet.head))
    }

    /// The messages that the slots for any source accept.
    pub(in crate::transport) fn wild(&self) -> impl Iterator<Item = Want> {
        let wants = self.open.iter().map(|slot| slot.want());
        wants.filter(|want| want.source().is_none())
    }

    /// Closes a slot: it takes no message any more.
    pub(in crate::transport) fn close(&mut self, slot: &Rc<Slot>) {
        self.open.retain(|other| !Rc::ptr_eq(other, slot));
    }

    /// Offers a message to the first slot that wants it. The message stays in `packet` unless it is taken.
    pub(in crate::transport) fn offer(
        &mut self,
        packet: &mut Packet,
        arrival: u64,
        lenders: &impl Lenders,
    ) -> Offered {
        let Some(first) = self
            .open
            .iter()
            .position(|slot| slot.want().accepts(packet.head))
        else {
            return Offered::Unwanted;
        };
        if !packet.make_own(lenders) {
            return Offered::Dead;
        }
        // The first, almost always: a queue loses that at once.
        if let Some(slot) = self.open.remove(first) {
            slot.fill(packet, arrival);
        }
        Offered::Taken
    }
}
