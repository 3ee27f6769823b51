//! One rank's part of a window: elements that its owner has brought and all ranks can reach.
//!
//! # Why this is sound
//!
//! - The elements are reached only through [`SharedElements`] and [`ExclusiveElements`], and each of these contains a
//!   [`Held`]: the proof that a rank holds the lock of *this* part in the mode that the access needs. Both are compared
//!   when it is made. The lock gives out one proof for each holder, and none beside an exclusive one
//!   ([`part_lock`](super::part_lock), whose fields are private).
//! - A reference to the elements borrows from one of these two, so it ends before the proof is dropped. The proof is
//!   dropped with them and not before, on every exit, also while the rank unwinds. If one of them is forgotten, its
//!   references have ended all the same, and the lock stays taken: no rank gets an access that it should not have.
//! - What a holder did happens before what the next one does: both go through the mutex of the lock.
//! - The number of elements never changes. The part lives as long as any rank can reach it: it is in an `Arc`, and both
//!   accesses borrow from it.
//! - Elements are plain data, `Send` and `Sync`. They are initialised from the beginning: the owner brings a vector.
//!
//! Nothing here depends on whether fences and epochs are right: they only decide who asks for the lock, and when.
#![allow(unsafe_code)]

use crate::op::Element;
use crate::sync::Place;
use crate::transport::memory::part_lock::{Held, Mode, PartLock};
use crate::transport::memory::puts::{EpochEnd, PutInbox};

/// The part of one rank.
pub(crate) struct WindowPart<T> {
    pub(crate) lock: PartLock,
    /// What other ranks put here, until it is written.
    pub(crate) inbox: PutInbox<T>,
    length: usize,
    elements: Place<Vec<T>>,
}

// SAFETY: the elements are the only field that is not `Sync` by itself. They are reached under the lock, by many ranks
// that read or by one that writes; see the head.
unsafe impl<T: Element> Sync for WindowPart<T> {}

impl<T: Element> WindowPart<T> {
    pub(crate) fn new(elements: Vec<T>) -> Self {
        WindowPart {
            lock: PartLock::new(),
            inbox: PutInbox::new(),
            length: elements.len(),
            elements: Place::new(elements),
        }
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// The elements, to read.
    ///
    /// # Panics
    ///
    /// Panics unless the shared lock of this part is held.
    pub(crate) fn shared<'a>(&'a self, held: Held<'a>) -> SharedElements<'a, T> {
        assert!(held.is(&self.lock, Mode::Shared));
        SharedElements {
            part: self,
            _held: held,
        }
    }

    /// The elements, to read and to write.
    ///
    /// # Panics
    ///
    /// Panics unless the exclusive lock of this part is held.
    pub(crate) fn exclusive<'a>(&'a self, held: Held<'a>) -> ExclusiveElements<'a, T> {
        assert!(held.is(&self.lock, Mode::Exclusive));
        ExclusiveElements {
            part: self,
            _held: held,
        }
    }
}

/// A part that is locked beside others who read it.
pub(crate) struct SharedElements<'a, T: Element> {
    part: &'a WindowPart<T>,
    _held: Held<'a>,
}

impl<T: Element> SharedElements<'_, T> {
    #[inline]
    pub(crate) fn elements(&self) -> &[T] {
        // SAFETY: the shared lock is held at least as long as `self` is borrowed, so no rank writes the elements.
        self.part
            .elements
            .with(|elements| unsafe { (*elements).as_slice() })
    }
}

/// A part that is locked by one rank alone.
pub(crate) struct ExclusiveElements<'a, T: Element> {
    part: &'a WindowPart<T>,
    _held: Held<'a>,
}

impl<T: Element> ExclusiveElements<'_, T> {
    #[inline]
    pub(crate) fn elements(&self) -> &[T] {
        // SAFETY: the exclusive lock is held at least as long as `self` is borrowed, and this rank, which has the only
        // proof of that, writes through a mutable borrow of it alone.
        self.part
            .elements
            .with(|elements| unsafe { (*elements).as_slice() })
    }

    #[inline]
    pub(crate) fn elements_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed mutably: no other reference to the elements is alive. The slice
        // cannot change the vector's length.
        self.part
            .elements
            .with_mut(|elements| unsafe { (*elements).as_mut_slice() })
    }

    /// Writes what other ranks have put here in the epoch that ends so.
    pub(crate) fn write_puts(&mut self, end: EpochEnd) {
        let part = self.part;
        part.inbox.write_all(end, self.elements_mut());
    }
}
