//! A long message that both ends copy: its borrower to the destination, and its lender, which waits for that anyway.
//!
//! # Why this is sound
//!
//! Between its claim of the loan and its settling, the borrower publishes the destination. It holds the destination as
//! a unique borrow, and accesses it through one raw pointer from then on, as the lender does. Each end writes the parts
//! that it has [taken](crate::transport::memory::copy_claims), and no part is taken twice. The borrower stays until the
//! lender has reported all of its own parts; rather than unwind before, it ends the process. A lender finds these words
//! open only during their loan, whose length and type the borrower has compared. The destination of a
//! message that is not lent is filled from [`Packet::open`], which shows a lent message only between claim and
//! settling. [`help`] is called with the claims of the loan whose bytes it gets: by `port/send.rs` with the lender's own,
//! during its one blocking loan, or those of a standing loan that is not over.
#![allow(unsafe_code)]

use std::mem::{self, MaybeUninit, size_of_val};
use std::ptr;

use crate::Rank;
use crate::op::Element;
use crate::op::copies::{Copies, CopyRole, StoreKind};
use crate::op::elements::Elements;
use crate::op::kernels::copy_bytes_past_caches;
use crate::transport::memory::copy_claims::{COOPERATIVE, CopyClaims, Side, part, parts};
use crate::transport::memory::lenders::Lenders;
use crate::transport::memory::packet::Packet;
use crate::unwind::AbortOnDrop;

/// How a borrower copies, and how it waits for a lender that helps it.
pub(crate) trait Taker {
    fn me(&self) -> Rank;

    fn copies(&self) -> &Copies;

    /// Waits for a report that the lender is bound to make.
    fn stay(&self, lender: Rank, done: impl FnMut() -> bool);
}

impl Packet {
    /// Copies the elements to the front of `to`, a long loan together with its lender. Otherwise like
    /// [`open`](Self::open).
    ///
    /// # Panics
    ///
    /// If it holds more elements than `to` has, or elements of another type.
    #[inline]
    pub(crate) fn open_into<T: Element>(
        &self,
        lenders: &(impl Lenders + ?Sized),
        taker: &impl Taker,
        to: &mut [T],
    ) -> Option<()> {
        match self.copy_eager(to) {
            true => Some(()),
            false => self.open_any_into(lenders, taker, to),
        }
    }

    /// [`open_into`](Self::open_into) of any packet.
    #[inline(never)]
    fn open_any_into<T: Element>(
        &self,
        lenders: &(impl Lenders + ?Sized),
        taker: &impl Taker,
        to: &mut [T],
    ) -> Option<()> {
        self.open(lenders, |data: &[T]| {
            let to = &mut to[..data.len()];
            let elements = Elements::of(data);
            let long = size_of_val(data) >= COOPERATIVE;
            let claims = long.then(|| self.claims(lenders, elements)).flatten();
            let Some(claims) = claims else {
                return taker.copies().copy(to, data);
            };
            let (source, to): (_, *mut [T]) = (self.source(), to);
            // SAFETY: `to` is as long as `data`, which is a loan that was claimed and is not yet settled; the borrow of
            // `to` lasts as long as this call, and no other reference is made from it meanwhile.
            unsafe { copy_cooperatively(claims, source, taker, to.cast(), elements.bytes()) }
        })
    }
}

/// Copies what is lent, and lets its lender help.
///
/// # Safety
///
/// `claims` are those of the loan of `from` by `lender`. The caller has claimed that loan and not settled it. `to` has as
/// many bytes as `from`, and no other code accesses them.
unsafe fn copy_cooperatively(
    claims: &CopyClaims,
    lender: Rank,
    taker: &impl Taker,
    to: *mut u8,
    from: &[MaybeUninit<u8>],
) {
    let side = Side::of(taker.me(), lender);
    // The borrower may not abandon a destination that its lender may still write to.
    let until_all_is_copied = AbortOnDrop;
    // SAFETY: the caller's promise; the lender does not access the parts that are taken here.
    let copy = || unsafe { copy_parts(claims, side, CopyRole::Received, taker.copies(), to, from) };
    claims.borrow(to, parts(from.len()), copy, |done| taker.stay(lender, done));
    mem::forget(until_all_is_copied);
}

/// The lender's side: copies the parts that the borrower of `from` leaves, if the borrower has published a destination.
/// Returns whether it copied any. `claims` must be those of this loan: the lender's own, or the standing loan's.
pub(in crate::transport) fn help(
    from: &[MaybeUninit<u8>],
    claims: &CopyClaims,
    side: Side,
    copies: &Copies,
) -> bool {
    // SAFETY: what is open is this loan, see the head of `copy_claims`. Its borrower has published a destination of its
    // length, and keeps it valid until the parts taken here are reported.
    let copy = |to| unsafe { copy_parts(claims, side, CopyRole::Helped, copies, to, from) };
    from.len() >= COOPERATIVE && claims.help(copy)
}

/// Takes parts from the end of `side` and copies them, until none are left. Returns how many it took.
///
/// # Safety
///
/// `claims` was opened for a copy of `from` to `to`, which is as long. It stays open, and both stay valid, until all
/// parts are copied.
unsafe fn copy_parts(
    claims: &CopyClaims,
    side: Side,
    what: CopyRole,
    copies: &Copies,
    to: *mut u8,
    from: &[MaybeUninit<u8>],
) -> usize {
    let (bytes, mut taken) = (from.len(), 0);
    copies.timed(what, bytes, |kind| {
        let mut copied = 0;
        taken = claims.take_all(side, parts(bytes), |number| {
            let run = part(bytes, number);
            // SAFETY: the range is inside both, and no other thread has taken it.
            unsafe {
                let (to, from) = (to.add(run.start), from.as_ptr().add(run.start).cast::<u8>());
                match kind {
                    StoreKind::Plain => ptr::copy_nonoverlapping(from, to, run.len()),
                    StoreKind::PastCaches => copy_bytes_past_caches(to, from, run.len()),
                }
            }
            copied += run.len();
        });
        copied
    });
    taken
}
