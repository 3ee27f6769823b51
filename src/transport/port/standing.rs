//! The loans of a scope: a rank lends the buffers of several started sends at once, and waits for no receiver.
//!
//! - [`Port::with_loans`] returns only when each of its loans was settled or [replaced by a
//!   copy](crate::transport::memory::standing_loan), also by unwinding. [`Loans`] never leave its frame, so they cannot
//!   be forgotten, and what they have borrowed outlives them. `packet` relies on that.
//! - The lender of a claimed loan waits for its borrower, which copies and settles, also while unwinding.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::iter::Peekable;
use std::mem;
use std::sync::Arc;

use crate::Rank;
use crate::op::elements::Elements;
use crate::transport::memory::copy_claims::COOPERATIVE;
use crate::transport::memory::fast_box::Out;
use crate::transport::memory::head::Head;
use crate::transport::memory::loan::Ticket;
use crate::transport::memory::packet::Packet;
use crate::transport::memory::standing_loan::StandingLoan;
use crate::transport::port::{CopyTo, Port};

/// Maximum number of loans that are kept for later ones.
const KEPT: usize = 128;

/// Loans that are over, for later ones. Their packets may still refer to them.
#[derive(Default)]
pub(in crate::transport) struct SpareLoans(VecDeque<Arc<StandingLoan>>);

impl SpareLoans {
    /// The loan that ended longest ago, if its packet is gone, or a new one. Only settled loans are kept: their settling,
    /// which was seen with acquire, and not the count, orders what the borrower did before.
    fn take(&mut self) -> Arc<StandingLoan> {
        let oldest = self.0.pop_front();
        let free = oldest.filter(|loan| Arc::strong_count(loan) == 1);
        free.unwrap_or_else(StandingLoan::new)
    }

    fn keep(&mut self, loan: Arc<StandingLoan>) {
        if self.0.len() < KEPT {
            self.0.push_back(loan);
        }
    }
}

/// The buffers that a rank has lent within a scope.
pub(crate) struct Loans<'a, 'env> {
    port: &'a Port,
    open: RefCell<Vec<Open<'env>>>,
}

/// A loan that is open, as its lender sees it.
pub(super) struct Open<'env> {
    pub(super) loan: Arc<StandingLoan>,
    ticket: Ticket,
    to: Rank,
    pub(super) data: Elements<'env>,
}

impl Open<'_> {
    pub(super) fn is_settled(&self) -> bool {
        self.loan.word().is_settled(self.ticket)
    }

    /// Whether its borrower has stored a result, and settled.
    pub(super) fn is_stored(&self) -> bool {
        self.loan.is_stored(self.ticket)
    }
}

impl Port {
    /// Runs `during`, which may lend what outlives this call. Returns only when no rank can read that any more.
    pub(crate) fn with_loans<'env, R>(&self, during: impl FnOnce(&Loans<'_, 'env>) -> R) -> R {
        during(&Loans {
            port: self,
            open: RefCell::default(),
        })
    }

    /// Whether a message to `to` may be lent: its receiver reads this rank's memory, and may be at work meanwhile.
    pub(super) fn may_lend_to(&self, to: Rank) -> bool {
        !self.crowded() && self.can_lend_to(to)
    }

    /// Whether the receiver of a message to `to` reads this rank's memory.
    pub(super) fn can_lend_to(&self, to: Rank) -> bool {
        to != self.me && !self.has_one_path_to(to)
    }
}

impl<'env> Loans<'_, 'env> {
    /// Whether a message is copied wherever there is space for it.
    #[inline]
    pub(crate) fn copies(data: Elements<'_>) -> bool {
        Out::copies(data, false)
    }

    /// Sends a borrowed message, and never waits: a short one as a copy, otherwise lent for as long as these loans last.
    /// Returns whether the receiver had not ended before.
    #[inline]
    pub(crate) fn send(&self, to: Rank, head: Head, data: Elements<'env>) -> bool {
        let sent = Self::copies(data).then(|| self.port.send_by_fast_box(to, head, data, false));
        match sent.flatten() {
            Some(there) => there,
            None => self.send_elsewhere(to, head, data),
        }
    }

    #[inline(never)]
    fn send_elsewhere(&self, to: Rank, head: Head, data: Elements<'env>) -> bool {
        if Packet::fits(data) || !self.port.may_lend_to(to) {
            return self.port.send_copy(to, head, data, CopyTo::Kept);
        }
        let packet = self.lend(to, head, data);
        self.port.post(to, packet, data.size())
    }

    /// Lends a message to `to` for as long as these loans last.
    pub(in crate::transport) fn lend(&self, to: Rank, head: Head, data: Elements<'env>) -> Packet {
        let (open, packet) = self.port.open_loan(to, head, data, false);
        self.open.borrow_mut().push(open);
        packet
    }

    /// Gives the receivers a moment to read what is lent.
    pub(crate) fn settle(&self) {
        let open = self.open.borrow();
        let Some(last) = open.last() else {
            return;
        };
        let bytes = open.iter().map(|one| one.data.size()).sum();
        let long = open.iter().filter(|one| one.data.size() >= COOPERATIVE);
        let long = RefCell::new(long.cycle().peekable());
        // The words of short ones stay with their receivers until the last is read.
        let are_settled = || {
            self.port.help_next(&mut long.borrow_mut());
            last.is_settled() && open.iter().all(Open::is_settled)
        };
        self.port.await_settled(bytes, &are_settled);
    }
}

impl Port {
    /// Helps the receiver of a long message to copy it, or looks at another one at the next look.
    fn help_next<'o, 'env: 'o>(&self, long: &mut Peekable<impl Iterator<Item = &'o Open<'env>>>) {
        if let Some(one) = long.peek()
            && !self.help(one)
        {
            long.next();
        }
    }

    /// Helps the receiver of what is lent to copy it, if it is copying; returns whether it was. Not where the receiver may
    /// write there: such memory is not even read.
    fn help(&self, open: &Open<'_>) -> bool {
        if open.loan.is_exclusive() {
            return false;
        }
        self.help_copy(open.to, open.data.bytes(), open.loan.claims())
    }

    /// Gives the receivers of `bytes` bytes a moment to read them.
    pub(super) fn await_settled(&self, bytes: usize, are_settled: &dyn Fn() -> bool) {
        let mut look = || {
            self.progress();
            are_settled().then_some(())
        };
        if self.spin(&self.lending, &mut look).is_none() {
            self.stay_patient(bytes, &mut || look().is_some());
        }
    }

    /// Opens a loan, which its borrower may write if it is `exclusive`.
    pub(super) fn open_loan<'a>(
        &self,
        to: Rank,
        head: Head,
        data: Elements<'a>,
        exclusive: bool,
    ) -> (Open<'a>, Packet) {
        let loan = self.spare_loans.borrow_mut().take();
        let ticket = loan.offer(exclusive);
        let packet = Packet::standing(head, data, ticket, loan.clone());
        let open = Open {
            loan,
            ticket,
            to,
            data,
        };
        (open, packet)
    }

    /// Ends a loan: leaves a copy, or waits until the receiver has read the message.
    pub(super) fn end_loan(&self, open: Open<'_>) {
        let Open {
            loan,
            ticket,
            to,
            data,
        } = open;
        let copy = || self.shared_copies.borrow_mut().copy(data, &self.copies);
        if !loan.word().is_settled(ticket) {
            if loan.replace(ticket, copy) {
                // Not kept: its packet alone has the copy, which is freed with it.
                return;
            }
            self.wait_settled(to, loan.word(), ticket);
        }
        if !loan.word().is_over(ticket) {
            // A read of freed memory would be worse than the end of the process.
            std::process::abort();
        }
        self.spare_loans.borrow_mut().keep(loan);
    }
}

impl Drop for Loans<'_, '_> {
    fn drop(&mut self) {
        // A panic in here would end the borrow of the others.
        let abort = crate::unwind::AbortOnDrop;
        for open in mem::take(self.open.get_mut()) {
            self.port.end_loan(open);
        }
        mem::forget(abort);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::transport::Fabric;
    use crate::transport::fabric::Settings;
    use crate::transport::memory::copy_claims::parts;

    #[test]
    fn a_lender_copies_the_parts_that_the_receiver_of_its_loan_leaves() {
        let port = Fabric::new(2, Settings::default()).port(0);
        let message = vec![7u8; COOPERATIVE + 1];
        let mut place = vec![0u8; message.len()];
        let (open, packet) = port.open_loan(1, Head::default(), Elements::of(&message), false);
        assert!(!port.help(&open), "no receiver has come");
        let (word, claims) = (open.loan.word(), open.loan.claims());
        assert!(word.claim(open.ticket));
        claims.open(place.as_mut_ptr());
        assert!(port.help(&open));
        assert!(!port.help(&open), "no part is left");
        assert!(claims.has_helped(parts(message.len())));
        claims.close();
        word.settle(open.ticket);
        port.end_loan(open);
        drop(packet);
        assert!(place == message);
    }
}
