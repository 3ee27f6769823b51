//! Opening a packet: its elements, shown as the type that they were sent as, wherever they are.
//!
//! # Why this is sound
//!
//! What `body` returns holds as many elements as it says, of the type that it says; [`Packet::open_elements`] compares
//! that type before anything is shown. Lent elements are shown only between the claim of the loan and its settling;
//! where a standing loan cannot be claimed, its copy is shown. What an exclusive loan lends may be written then: its lender
//! does not access it meanwhile, and has lent it to no other
//! ([`send_own`](crate::transport::port::Port::send_own)).
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr;

use super::body::{BODY_ALIGN, Lent, Packet, Standing};
use super::label::EAGER_BYTES;
use crate::error::Result;
use crate::op::Element;
use crate::op::elements::{Elements, ElementsMut, Info, copy_bytes};
use crate::op::vectors::shown;
use crate::transport::memory::bytes::landed;
use crate::transport::memory::copy_claims::CopyClaims;
use crate::transport::memory::lenders::{Lenders, Settle};
use crate::transport::memory::loan::LoanWord;

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
        self.open_elements(Info::of::<T>(), lenders, |elements| {
            arrived(elements.typed().expect("elements of this type"))
        })
    }

    /// The same for elements of a type known at run time.
    #[inline]
    pub(crate) fn open_elements<R>(
        &self,
        info: &'static Info,
        lenders: &(impl Lenders + ?Sized),
        arrived: impl FnOnce(Elements<'_>) -> R,
    ) -> Option<R> {
        assert!(
            self.holds_elements(info),
            "a message opened as another type"
        );
        if let Some(eager) = self.as_eager() {
            // SAFETY: these are this packet's own bytes, and its type was compared above.
            return Some(unsafe { self.land(info, eager, arrived) });
        }
        if let Some(lent) = self.as_lent() {
            let word = lenders.word(self.source());
            return word
                .claim(lent.ticket)
                .then(|| self.show_claimed(info, lent, word, lenders, arrived));
        }
        if let Some(standing) = self.as_standing() {
            return self.open_standing(info, standing, lenders, arrived);
        }
        if let Some(pad) = self.as_landed() {
            // SAFETY: there are `count` elements of this type, whose alignment is at most that of a piece, or which
            // have no bytes.
            let elements = unsafe { landed(pad.as_ptr().cast(), self.short_count(), info) };
            return Some(arrived(elements));
        }
        if let Some(shared) = self.as_shared() {
            return shown(info, &**shared).map(arrived);
        }
        if !self.accept(lenders) {
            return None;
        }
        self.as_copied()
            .and_then(|vector| info.shown(vector))
            .map(arrived)
    }

    /// Copies the elements of an eager message to the front of `to`, the most frequent way of receiving one. `false`: it
    /// is no such message of this type, or has more elements.
    #[inline]
    pub(in crate::transport) fn copy_eager<T: Element>(&self, to: &mut [T]) -> bool {
        let Some(eager) = self.as_eager() else {
            return false;
        };
        let count = self.short_count();
        if !self.holds_elements(Info::of::<T>()) || count > to.len() {
            return false;
        }
        let (to, from) = (to.as_mut_ptr().cast(), eager.as_ptr().cast());
        // SAFETY: the packet holds `count` elements of this type, as just compared, and `to` has space for them.
        unsafe { copy_bytes(to, from, count * size_of::<T>()) };
        true
    }

    /// Shows the elements inside the packet: in place if they are aligned there, otherwise in an aligned copy.
    ///
    /// # Safety
    ///
    /// `eager` is what [`as_eager`](Self::as_eager) returns for this packet, whose elements are of the type `info`.
    #[inline]
    unsafe fn land<R>(
        &self,
        info: &'static Info,
        eager: &MaybeUninit<[u8; EAGER_BYTES]>,
        arrived: impl FnOnce(Elements<'_>) -> R,
    ) -> R {
        let count = self.short_count();
        if info.align() <= BODY_ALIGN {
            // SAFETY: there are `count` elements of this type, as the caller promises. The body is aligned for them, as
            // just checked.
            return arrived(unsafe { landed(eager.as_ptr().cast(), count, info) });
        }
        let landing = Landing(*eager);
        // SAFETY: as above; the alignment of a `Landing` is `EAGER_BYTES`, which is at least the size of an element
        // that fitted, hence its alignment.
        arrived(unsafe { landed(landing.0.as_ptr().cast(), count, info) })
    }

    /// Claims what a standing loan lends, shows it and settles; otherwise shows its copy.
    fn open_standing<R>(
        &self,
        info: &'static Info,
        Standing { lent, loan }: &Standing,
        lenders: &(impl Lenders + ?Sized),
        arrived: impl FnOnce(Elements<'_>) -> R,
    ) -> Option<R> {
        if loan.word().claim(lent.ticket) {
            return Some(self.show_claimed(info, *lent, loan.word(), lenders, arrived));
        }
        let copy = loan.take_copy()?;
        info.shown(&*copy).map(arrived)
    }

    /// The words by which a receiver that has claimed these elements shares their copy with their lender; `None`: they are
    /// not what this packet lends.
    #[inline]
    pub(in crate::transport) fn claims<'a>(
        &'a self,
        lenders: &'a (impl Lenders + ?Sized),
        elements: Elements<'_>,
    ) -> Option<&'a CopyClaims> {
        if self.is_lent() {
            return Some(lenders.claims(self.source()));
        }
        let Standing { lent, loan } = self.as_standing()?;
        // Otherwise they are the copy that its lender has left.
        let are_lent = ptr::eq(elements.first(), lent.data);
        are_lent.then(|| loan.claims())
    }

    /// Whether the elements are lent, and a receiver that claims them may write.
    #[inline]
    pub(crate) fn is_lent_exclusively(&self) -> bool {
        self.as_standing()
            .is_some_and(|standing| standing.loan.is_exclusive())
    }

    /// Shows what is lent exclusively to `fold`, which stores a result there, and settles. `None`: it is not, or its
    /// lender has left; then nothing has happened, and it is opened in another way.
    ///
    /// # Panics
    ///
    /// As [`open`](Self::open).
    pub(crate) fn open_exclusive(
        &self,
        info: &'static Info,
        lenders: &(impl Lenders + ?Sized),
        fold: impl FnOnce(ElementsMut<'_>) -> Result<()>,
    ) -> Option<Result<()>> {
        assert!(
            self.holds_elements(info),
            "a message opened as another type"
        );
        let Standing { lent, loan } = self.as_standing()?;
        if !loan.is_exclusive() || !loan.word().claim(lent.ticket) {
            return None;
        }
        let source = self.source();
        let _settle = Settle {
            word: loan.word(),
            ticket: lent.ticket,
            wake: || lenders.settled(source),
        };
        // SAFETY: as in `show_claimed`; nothing else accesses the elements meanwhile, see the head.
        let theirs = unsafe { ElementsMut::from_raw(lent.data.cast_mut(), lent.count, info) };
        let folded = fold(theirs);
        if folded.is_ok() {
            loan.set_stored();
        }
        Some(folded)
    }

    /// Shows what is lent, and settles. The loan was claimed by `word`.
    #[inline]
    fn show_claimed<R>(
        &self,
        info: &'static Info,
        lent: Lent,
        word: &LoanWord,
        lenders: &(impl Lenders + ?Sized),
        arrived: impl FnOnce(Elements<'_>) -> R,
    ) -> R {
        let source = self.source();
        let _settle = Settle {
            word,
            ticket: lent.ticket,
            wake: || lenders.settled(source),
        };
        // SAFETY: the claim succeeded, so the lender keeps `count` elements of this type (`open_elements` has compared
        // the types) at `data` borrowed until `_settle` drops, which is after `arrived`.
        arrived(unsafe { Elements::from_raw(lent.data, lent.count, info) })
    }
}
