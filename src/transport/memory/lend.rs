//! Lending a buffer for the duration of a call, and settling what was borrowed: the guard around a loan's
//! [word](crate::transport::memory::loan). There is no `unsafe` here; `packet` and `cooperative_copy` rely on what this
//! file promises.
//!
//! - [`lend`] returns only when the loan was revoked or settled, also by unwinding. Its guard never leaves its frame,
//!   so it cannot be forgotten.
//! - A [`Loan`] is made only there, and lives only as long as that call: its holder may
//!   [help](crate::transport::memory::cooperative_copy::help) the borrower that has claimed it.
//! - A claimed loan is settled by its borrower's guard, [`Settle`](crate::transport::memory::lenders::Settle).

use std::mem::MaybeUninit;

use crate::op::elements::Elements;
use crate::transport::memory::head::Head;
use crate::transport::memory::loan::{LoanWord, Ticket};
use crate::transport::memory::packet::Packet;

/// Lends `data` for as long as `during` runs, which gets the packet to post and the loan to watch. Returns only when no
/// rank can read `data` any more; `wait` waits until a claimed loan is settled.
pub(crate) fn lend<R>(
    word: &LoanWord,
    head: Head,
    data: Elements<'_>,
    wait: impl Fn(&LoanWord, Ticket),
    during: impl FnOnce(Packet, &Loan<'_>) -> R,
) -> R {
    let ticket = word.offer();
    let guard = Guard {
        word,
        ticket,
        wait,
        _borrowed: data,
    };
    during(
        Packet::lent(head, data, ticket),
        &Loan {
            word: guard.word,
            ticket,
            bytes: data.bytes(),
        },
    )
}

/// A loan as its lender sees it.
pub(crate) struct Loan<'a> {
    word: &'a LoanWord,
    ticket: Ticket,
    /// What is lent, as bytes.
    bytes: &'a [MaybeUninit<u8>],
}

impl Loan<'_> {
    #[inline]
    pub(in crate::transport) fn bytes(&self) -> &[MaybeUninit<u8>] {
        self.bytes
    }

    /// Whether the message was read.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.word.is_settled(self.ticket)
    }

    /// Revokes the loan; `false`: it is being read or has been read.
    pub(crate) fn revoke(&self) -> bool {
        self.word.revoke(self.ticket)
    }
}

/// Keeps the lent slice borrowed until the loan is revoked or settled, also while unwinding.
struct Guard<'a, W: Fn(&LoanWord, Ticket)> {
    word: &'a LoanWord,
    ticket: Ticket,
    wait: W,
    _borrowed: Elements<'a>,
}

impl<W: Fn(&LoanWord, Ticket)> Drop for Guard<'_, W> {
    #[inline]
    fn drop(&mut self) {
        if self.word.is_offered(self.ticket) && self.word.revoke(self.ticket)
            || self.word.is_revoked(self.ticket)
        {
            return;
        }
        (self.wait)(self.word, self.ticket);
        assert_settled(self.word, self.ticket);
    }
}

/// The wait must not return early: a read of freed memory would be worse than the end of the process.
#[inline]
fn assert_settled(word: &LoanWord, ticket: Ticket) {
    if !word.is_settled(ticket) {
        std::process::abort();
    }
}
