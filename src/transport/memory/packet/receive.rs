//! Receiving a packet in ways other than opening it: as a vector or a value, unread, or kept for later.

use std::any::Any;
use std::sync::Arc;

use super::body::{Packet, Standing};
use super::kind::PacketKind;
use crate::op::elements::{Elements, Info, SharedVec};
use crate::op::vectors::shown;
use crate::op::{Element, copied};
use crate::transport::memory::lenders::Lenders;
use crate::transport::memory::loan::{LoanWord, Ticket};

impl Packet {
    /// Whether it holds nothing, or nothing any more.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.kind() == PacketKind::EMPTY
    }

    /// Receives the message for a caller that will open it later: from here on it stays where it is, its sender is
    /// free, and it cannot be revoked. `false`: it has been revoked.
    #[inline]
    pub(crate) fn make_own(&mut self, lenders: &impl Lenders) -> bool {
        !(self.is_lent() || self.is_owned()) || self.take_over(lenders)
    }

    fn take_over(&mut self, lenders: &dyn Lenders) -> bool {
        if self.is_lent() {
            let copy = |elements: Elements<'_>| Packet::copy_of(self.head, elements);
            let copy = self.open_elements(self.info(), lenders, copy);
            return copy.map(|copy| *self = copy).is_some();
        }
        let ours = self.accept(lenders);
        if ours {
            self.take_receipt();
        }
        ours
    }

    /// Whether its sender has revoked it, or the loan behind it: it must not be read any more.
    #[inline]
    pub(crate) fn is_dead(&self, lenders: &impl Lenders) -> bool {
        self.kind() != PacketKind::EAGER && self.is_taken_back(lenders)
    }

    #[inline]
    fn is_taken_back(&self, lenders: &impl Lenders) -> bool {
        match self.as_lent() {
            Some(lent) => !lenders.word(self.source()).is_offered(lent.ticket),
            None => self.receipt().is_some_and(|receipt| !receipt.is_open()),
        }
    }

    /// Whether it is one moved value of type `V`.
    pub(crate) fn holds_value<V: 'static>(&self) -> bool {
        self.kind() == PacketKind::VALUE && self.info().is(Info::of_value::<V>())
    }

    /// What it holds, for reports: `4 x f64` or `a value of alloc::string::String`.
    pub(crate) fn contents(&self) -> String {
        match self.count() {
            Some(count) => format!("{count} x {}", self.info().name()),
            None => format!("a value of {}", self.info().name()),
        }
    }

    /// Takes out the moved value; `None`: it holds something else, or its sender has revoked it.
    pub(crate) fn take_value<V: 'static>(&mut self, lenders: &impl Lenders) -> Option<V> {
        if !self.holds_value::<V>() || !self.accept(lenders) {
            return None;
        }
        let value = self.take_owned()?.downcast().ok()?;
        Some(*value)
    }

    /// Settles the message unread, and returns what it owned, to be dropped by the caller. `None` as in
    /// [`open`](Self::open).
    pub(crate) fn refuse(&mut self, lenders: &impl Lenders) -> Option<Option<Box<dyn Any + Send>>> {
        if let Some(Standing { lent, loan }) = self.as_standing() {
            // If it cannot be claimed, its copy goes with the packet.
            self.settle_unread(loan.word(), lent.ticket, lenders);
            return Some(None);
        }
        let Some(lent) = self.as_lent() else {
            return self.accept(lenders).then(|| self.take_owned());
        };
        let word = lenders.word(self.source());
        self.settle_unread(word, lent.ticket, lenders)
            .then_some(None)
    }

    /// Claims and settles a loan; `false`: its lender has left.
    fn settle_unread(&self, word: &LoanWord, ticket: Ticket, lenders: &impl Lenders) -> bool {
        let claimed = word.claim(ticket);
        if claimed {
            word.settle(ticket);
            lenders.settled(self.source());
        }
        claimed
    }

    /// Takes out the elements as a vector, without a copy if the packet owns them. `None` as in [`open`](Self::open).
    pub(crate) fn take_vec<T: Element>(&mut self, lenders: &impl Lenders) -> Option<Vec<T>> {
        match self.kind() {
            PacketKind::COPIED if !self.accept(lenders) => None,
            PacketKind::COPIED => self
                .take_owned()
                .and_then(|elements| elements.downcast().ok())
                .map(|elements| *elements),
            PacketKind::SHARED => self.take_shared().and_then(unshared),
            _ => self.open(lenders, copied),
        }
    }
}

/// The elements of a vector that may be shared: the vector itself if nothing else has a share.
fn unshared<T: Element>(shared: SharedVec) -> Option<Vec<T>> {
    match shared.downcast::<Vec<T>>() {
        Ok(shared) => Some(Arc::try_unwrap(shared).unwrap_or_else(|shared| copied(&shared))),
        // In memory of another make.
        Err(other) => shown(Info::of::<T>(), &*other)?.typed().map(copied),
    }
}
