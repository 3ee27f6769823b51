//! A loan of memory that its lender owns and keeps in its place: no frame has to stay until it is over.
//!
//! # Why this is sound
//!
//! The loan is a [standing one](crate::transport::memory::standing_loan). What is lent is read only by a receiver that
//! has claimed it, and until the loan is [ended](Port::end_own), or for as long as there is a packet if its memory was
//! [left](OwnLoan::leave). Until then the elements stay where they are and are not written: the caller of
//! [`Port::send_own`] promises this. If the loan is exclusive, the borrower may write to them meanwhile, and its lender
//! does not read them either.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::mem;

use crate::Rank;
use crate::op::elements::{Elements, Info};
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;
use crate::transport::memory::standing_loan::SharedMemory;
use crate::transport::port::Port;
use crate::transport::port::standing::Open;
use crate::unwind::AbortOnDrop;

/// Shorter messages, in bytes, are copied.
const LONG: usize = 64 << 10;
/// The same for messages whose result comes back.
const LONG_EXCLUSIVE: usize = 4 << 10;

/// A loan that is open.
pub(crate) struct OwnLoan(Open<'static>);

impl OwnLoan {
    /// Whether the message was read.
    pub(crate) fn is_settled(&self) -> bool {
        self.0.is_settled()
    }

    /// Whether the receiver may write.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.0.loan.is_exclusive()
    }

    /// Whether the receiver has stored a result in place of the message.
    pub(crate) fn is_stored(&self) -> bool {
        self.0.is_stored()
    }

    /// Number of bytes.
    pub(crate) fn size(&self) -> usize {
        self.0.data.size()
    }

    /// Leaves the memory in which the elements lie to the receiver of the message.
    pub(crate) fn leave(self, memory: SharedMemory) {
        self.0.loan.leave(memory);
    }
}

/// Says `false` again when it is dropped.
struct Reset<'a>(&'a Cell<bool>);

impl Drop for Reset<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl Port {
    /// Whether a message of `bytes` bytes to `to` is better lent than copied, and may be. Where the other ranks' cores are
    /// far, they read a copy that was stored past the caches faster than what is in the cache of this one; but nothing
    /// is faster than a result that they store where the message lay.
    #[inline]
    pub(crate) fn lends_own(&self, to: Rank, bytes: usize, exclusive: bool) -> bool {
        if !exclusive && bytes < LONG {
            return false;
        }
        // Tests lend wherever their ranks are, and however few CPUs there are for them.
        if cfg!(debug_assertions) {
            return self.can_lend_to(to);
        }
        self.may_lend_to(to) && (exclusive || self.copies.has_near_readers(bytes))
    }

    /// Whether a message of `bytes` bytes is long enough to be lent exclusively.
    #[inline]
    pub(crate) fn is_long(bytes: usize) -> bool {
        bytes >= LONG_EXCLUSIVE
    }

    /// Says by an empty message that the elements of a message, of `bytes` bytes, are where they shall go already.
    pub(crate) fn send_stored(
        &self,
        to: Rank,
        head: Head,
        (info, bytes): (&'static Info, usize),
    ) -> bool {
        self.post(to, Packet::eager(head, Elements::none(info)), bytes)
    }

    /// Lends a message, and does not wait for its receiver, which may write if the loan is `exclusive`. Returns the loan,
    /// and whether the receiver had not ended before.
    ///
    /// # Safety
    ///
    /// The elements stay where they are, and are not written, until the loan is [ended](Self::end_own). A loan that is
    /// not ended is [left](OwnLoan::leave) the memory in which they lie, or that is never freed. If the loan is exclusive,
    /// the pointer to the elements may be written through, and they are not read either until then, nor is there another
    /// loan of any of them.
    pub(crate) unsafe fn send_own(
        &self,
        to: Rank,
        head: Head,
        data: Elements<'_>,
        exclusive: bool,
    ) -> (OwnLoan, bool) {
        // SAFETY: the caller's promise.
        let (loan, packet) = unsafe { self.lend_own(to, head, data, exclusive) };
        (loan, self.post(to, packet, data.size()))
    }

    /// The loan of a message, and the packet to post.
    ///
    /// # Safety
    ///
    /// As [`send_own`](Self::send_own).
    pub(in crate::transport) unsafe fn lend_own(
        &self,
        to: Rank,
        head: Head,
        data: Elements<'_>,
        exclusive: bool,
    ) -> (OwnLoan, Packet) {
        // SAFETY: elements of this type, which stay where they are for as long as the result is used, as promised. While
        // a borrower may write, nothing is read through it.
        let data = unsafe { Elements::from_raw(data.first(), data.len(), data.info()) };
        let (open, packet) = self.open_loan(to, head, data, exclusive);
        (OwnLoan(open), packet)
    }

    /// Runs `f`, in which no receiver is given a moment.
    pub(crate) fn without_moments<R>(&self, f: impl FnOnce() -> R) -> R {
        let _reset = Reset(&self.at_once);
        self.at_once.set(true);
        f()
    }

    /// Whether receivers are given a moment.
    pub(crate) fn gives_moments(&self) -> bool {
        !self.at_once.get()
    }

    /// Gives the receivers of `bytes` bytes a moment to read them.
    pub(crate) fn await_own(&self, bytes: usize, are_settled: &dyn Fn() -> bool) {
        self.await_settled(bytes, are_settled);
    }

    /// Ends a loan: leaves a copy, or waits until the receiver that reads the message has read it.
    pub(crate) fn end_own(&self, loan: OwnLoan) {
        // After a panic in here it would not be known whether the loan is over.
        let abort = AbortOnDrop;
        self.end_loan(loan.0);
        mem::forget(abort);
    }
}
