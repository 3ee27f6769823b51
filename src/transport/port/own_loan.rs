//! A loan of memory that its lender owns and keeps in its place: no frame has to stay until it is over.
//!
//! # Why this is sound
//!
//! The loan is a [standing one](crate::transport::memory::standing_loan). What is lent is read only by a receiver that
//! has claimed it, and until the loan is [ended](Port::end_own), or for as long as there is a packet if its memory was
//! [left](OwnLoan::leave). Until then the elements stay where they are and are not written: the caller of
//! [`Port::send_own`] promises this.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::mem;

use crate::Rank;
use crate::op::elements::Elements;
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;
use crate::transport::memory::standing_loan::SharedMemory;
use crate::transport::port::Port;
use crate::transport::port::standing::Open;
use crate::unwind::AbortOnDrop;

/// Shorter messages, in bytes, are copied.
const LONG: usize = 64 << 10;

/// A loan that is open.
pub(crate) struct OwnLoan(Open<'static>);

impl OwnLoan {
    /// Whether the message was read.
    pub(crate) fn is_settled(&self) -> bool {
        self.0.is_settled()
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
    /// Whether a message to `to` is better lent than copied, and may be. Where the other ranks' cores are far, they read a
    /// copy that was stored past the caches faster than what is in the cache of this one.
    pub(crate) fn lends_own(&self, to: Rank, data: Elements<'_>) -> bool {
        let bytes = data.size();
        // Tests lend wherever their ranks are.
        let has_near_readers = || cfg!(debug_assertions) || self.copies.has_near_readers(bytes);
        bytes >= LONG && self.may_lend_to(to) && has_near_readers()
    }

    /// Lends a message, and does not wait for its receiver. Returns the loan, and whether the receiver had not ended before.
    ///
    /// # Safety
    ///
    /// The elements stay where they are, and are not written, until the loan is [ended](Self::end_own). A loan that is
    /// not ended is [left](OwnLoan::leave) the memory in which they lie, or that is never freed.
    pub(crate) unsafe fn send_own(
        &self,
        to: Rank,
        head: Head,
        data: Elements<'_>,
    ) -> (OwnLoan, bool) {
        // SAFETY: the caller's promise.
        let (loan, packet) = unsafe { self.lend_own(to, head, data) };
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
    ) -> (OwnLoan, Packet) {
        // SAFETY: elements of this type, which stay where they are for as long as the result is used, as promised.
        let data = unsafe { Elements::from_raw(data.first(), data.len(), data.info()) };
        let (open, packet) = self.open_loan(to, head, data);
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
