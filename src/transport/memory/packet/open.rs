//! Opening a packet: its elements, shown as the type that they were sent as, wherever they are.
//!
//! # Why this is sound
//!
//! What `body` returns holds as many elements as it says, of the type that it says; [`Packet::open`] compares that type
//! before anything is viewed. Lent elements are viewed only between the claim of the loan and its settling.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::slice;

use super::body::{BODY_ALIGN, Lent, Packet};
use super::label::EAGER_BYTES;
use crate::op::Element;
use crate::transport::memory::bytes::{Piece, landed};
use crate::transport::memory::lenders::{Lenders, Settle};

/// Space for the largest eager message, aligned for any element that fits into it: an element that is not zero-sized is
/// at least as large as its alignment.
#[repr(align(32))]
struct Landing(MaybeUninit<[u8; EAGER_BYTES]>);

impl Packet {
    /// Shows the elements to `arrived`, and settles the loan if they are lent. `None`: the sender has revoked the
    /// message; if it was lent, it arrives again in another packet.
    ///
    /// # Panics
    ///
    /// If the packet does not hold elements of type `T`: check with [`holds_elements`](Self::holds_elements) first.
    #[inline]
    pub(crate) fn open<T: Element, R>(
        &self,
        lenders: &(impl Lenders + ?Sized),
        arrived: impl FnOnce(&[T]) -> R,
    ) -> Option<R> {
        assert!(
            self.holds_elements::<T>(),
            "a message opened as another type"
        );
        if let Some(eager) = self.as_eager() {
            // SAFETY: these are this packet's own bytes, and its type was compared above.
            return Some(unsafe { self.land(eager, arrived) });
        }
        if let Some(lent) = self.as_lent() {
            return self.borrow(lent, lenders, arrived);
        }
        if let Some(pad) = self.as_landed() {
            // SAFETY: as above.
            return Some(arrived(unsafe { self.landed(pad) }));
        }
        if !self.accept(lenders) {
            return None;
        }
        let copied = self.as_copied()?;
        copied
            .downcast_ref::<Vec<T>>()
            .map(|elements| arrived(elements))
    }

    /// Shows the elements inside the packet: in place if they are aligned there, otherwise in an aligned copy.
    ///
    /// # Safety
    ///
    /// `eager` is what [`as_eager`](Self::as_eager) returns for this packet, whose elements are of type `T`.
    #[inline]
    unsafe fn land<T: Element, R>(
        &self,
        eager: &MaybeUninit<[u8; EAGER_BYTES]>,
        arrived: impl FnOnce(&[T]) -> R,
    ) -> R {
        let count = self.short_count();
        if align_of::<T>() <= BODY_ALIGN {
            // SAFETY: there are `count` elements of this type, as the caller promises. The body is aligned for them, as
            // just checked.
            return arrived(unsafe { landed(eager, count) });
        }
        let landing = Landing(*eager);
        // SAFETY: as above; the alignment of a `Landing` is `EAGER_BYTES`, which is at least the size of an element
        // that fitted, hence its alignment.
        arrived(unsafe { landed(&landing.0, count) })
    }

    /// The elements of a landed message of this type.
    ///
    /// # Safety
    ///
    /// `pad` is what [`as_landed`](Self::as_landed) returns for this packet, whose elements are of type `T`.
    unsafe fn landed<T: Element>(&self, pad: &[Piece]) -> &[T] {
        // SAFETY: there are `count` elements of this type, as the caller promises, whose alignment is at most that of a
        // piece.
        unsafe { slice::from_raw_parts(pad.as_ptr().cast(), self.short_count()) }
    }

    /// Claims what is lent, shows it and settles.
    fn borrow<T: Element, R>(
        &self,
        lent: Lent,
        lenders: &(impl Lenders + ?Sized),
        arrived: impl FnOnce(&[T]) -> R,
    ) -> Option<R> {
        let source = self.source();
        let word = lenders.word(source);
        if !word.claim(lent.ticket) {
            return None;
        }
        let _settle = Settle {
            word,
            ticket: lent.ticket,
            wake: || lenders.settled(source),
        };
        // SAFETY: the claim succeeded, so the lender keeps `count` elements of type `T` (`open` has compared the types)
        // at `data` borrowed until `_settle` drops, which is after `arrived`.
        Some(arrived(unsafe {
            slice::from_raw_parts(lent.data.cast::<T>(), lent.count)
        }))
    }
}
