//! Sending: a rank posts a message, or lends it until its receiver has read it.

use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use crate::Rank;
use crate::error::Result;
use crate::op::copies::Copies;
use crate::op::elements::Elements;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::cooperative_copy::{self, Taker};
use crate::transport::memory::copy_claims::{CopyClaims, Side};
use crate::transport::memory::head::Head;
use crate::transport::memory::lend::{Loan, lend};
use crate::transport::memory::loan::{LoanWord, Ticket};
use crate::transport::memory::packet::Packet;

use crate::transport::port::Port;
use crate::transport::progress::wait::{PATIENT, SPINS};

/// Copy bandwidth into unmapped memory, in bytes per nanosecond (approximate): the kernel has to map its pages first.
const COPIED_IN_ONE: usize = 4;
/// Spinning has already taken as long as this.
const SHORT_PATIENCE: Duration = Duration::from_micros(10);

/// Where a message that is too long for a packet is copied to.
#[derive(Clone, Copy)]
pub(crate) enum CopyTo {
    /// A new vector, which a receiver that wants a vector takes without another copy.
    Receiver,
    /// A vector that the sender keeps for later messages, for a receiver that has memory of its own.
    Kept,
}

impl Port {
    /// Sends elements: eagerly if they are short, otherwise lent to a receiver that takes them at once, otherwise as a
    /// copy. Never waits for a receiver that is not there. `meanwhile` runs after the post. Returns whether the
    /// receiver can still get the message.
    #[inline]
    pub(crate) fn send<R>(
        &self,
        to: Rank,
        head: Head,
        data: Elements<'_>,
        meanwhile: impl FnOnce() -> Result<R>,
    ) -> Result<(R, bool)> {
        if let Some(there) = self.send_by_fast_box(to, head, data, false) {
            return Ok((meanwhile()?, there));
        }
        if !Packet::fits(data) || self.fabric.is_far(to) {
            return self.send_long(to, head, data, meanwhile);
        }
        let there = self.post(to, Packet::eager(head, data), data.size());
        Ok((meanwhile()?, there))
    }

    /// Sends a short message through the fast box, or any to another process, if nothing stands in its way, as operation
    /// number `count` of this rank: everything that the receiver need not wait for comes after the post. Returns whether it
    /// did; if not, nothing has happened.
    #[inline]
    pub(crate) fn send_at_once(
        &self,
        to: Rank,
        head: Head,
        data: Elements<'_>,
        count: u64,
    ) -> bool {
        let (endpoint, mut fast_box) = (&*self.fabric.endpoints[to], self.fast_box.borrow_mut());
        let Some(writer) = fast_box.free_for(to, data, self.row.get()) else {
            return self.send_far_at_once(to, head, data, count);
        };
        // The mailbox last, see `fast_box`.
        if endpoint.sleeper.is_gone(self.fabric.run()) || !endpoint.mail.is_empty() {
            return false;
        }
        self.begin(count);
        writer.post_copy(head, data);
        endpoint.sleeper.rouse();
        fast_box.prepare(data.size(), self.row.replace(true));
        self.count(data.size());
        true
    }

    /// Sends a copy of elements, and never waits. Returns whether the receiver had not ended before.
    pub(crate) fn send_copy(&self, to: Rank, head: Head, data: Elements<'_>, copy: CopyTo) -> bool {
        if let Some(there) = self.send_by_fast_box(to, head, data, true) {
            return there;
        }
        if self.fabric.is_far(to) {
            return self.send_far(to, head, data);
        }
        let packet = match copy {
            _ if Packet::fits(data) => Packet::eager(head, data),
            CopyTo::Receiver => Packet::copy_of(head, data),
            CopyTo::Kept => {
                let copy = self.shared_copies.borrow_mut().copy(data, &self.copies);
                Packet::shared(head, data.info(), copy)
            }
        };
        self.post(to, packet, data.size())
    }

    /// Sends a short message through the fast box in its receiver's endpoint, if this rank has taken that box and the
    /// mailbox is empty. Returns what [`send`](Self::send) returns.
    #[inline]
    pub(in crate::transport) fn send_by_fast_box(
        &self,
        to: Rank,
        head: Head,
        data: Elements<'_>,
        may_not_wait: bool,
    ) -> Option<bool> {
        let mut fast_box = self.fast_box.borrow_mut();
        let (endpoint, bytes) = (&self.fabric.endpoints[to], data.size());
        // Checked before the post, as in `Fabric::post`.
        let there = !endpoint.sleeper.is_gone(self.fabric.run());
        let is_empty = || {
            let is_empty = endpoint.mail.is_empty();
            if is_empty {
                self.recorder.sends(to, || head, bytes);
            }
            is_empty
        };
        let row = may_not_wait || self.row.get();
        if fast_box.post(to, head, data, row, is_empty) {
            endpoint.sleeper.rouse();
            fast_box.prepare(bytes, self.row.replace(true));
            self.recorder.has_sent(to);
            self.count(bytes);
            return Some(there);
        }
        None
    }

    /// Whether a message will be posted without a wait, as far as can be told in advance.
    #[inline]
    pub(crate) fn posts_at_once(&self, to: Rank, data: Elements<'_>) -> bool {
        Packet::fits(data)
            || self.fabric.is_over_channels()
            || self.fabric.is_far(to)
            || self.fast_box.borrow().has_room(to, data, self.row.get())
    }

    /// Posts a packet of `bytes` bytes, through the fast box on the same conditions. Only a trace is written before the
    /// post: the receiver would wait for everything else.
    #[inline]
    pub(in crate::transport) fn post(&self, to: Rank, packet: Packet, bytes: usize) -> bool {
        self.recorder.sends(to, || packet.head, bytes);
        let there = self.post_packet(to, packet);
        self.recorder.has_sent(to);
        self.count(bytes);
        there
    }

    /// Sends elements to a rank of another process. Returns whether the rank had not ended before.
    #[cold]
    fn send_far(&self, to: Rank, head: Head, data: Elements<'_>) -> bool {
        self.recorder.sends(to, || head, data.size());
        let there = self.fabric.post_elements_far(to, head, data);
        self.recorder.has_sent(to);
        self.count(data.size());
        there
    }

    fn post_packet(&self, to: Rank, packet: Packet) -> bool {
        let (mut fast_box, endpoint) = (self.fast_box.borrow_mut(), &self.fabric.endpoints[to]);
        // Checked before the post, as in `Fabric::post`.
        let there = !endpoint.sleeper.is_gone(self.fabric.run());
        match fast_box.post_packet(to, packet, || endpoint.mail.is_empty()) {
            Ok(()) => {
                endpoint.sleeper.rouse();
                fast_box.prepare(0, self.row.replace(true));
                there
            }
            Err(packet) => {
                if to != self.me && !self.has_one_path_to(to) {
                    fast_box.goes_by_mailbox(to, &endpoint.fast_box);
                }
                self.fabric.post(to, packet)
            }
        }
    }

    /// Moves a value to `to`. Returns what [`send`](Self::send) returns.
    #[inline]
    pub(crate) fn send_value<V: Send + 'static>(&self, to: Rank, head: Head, value: V) -> bool {
        self.recorder.sent(to, head, size_of::<V>());
        self.fabric.post(to, Packet::value(head, value))
    }

    // A separate function, so that the head of a short message can stay in registers.
    #[inline(never)]
    pub(in crate::transport) fn send_long<R>(
        &self,
        to: Rank,
        head: Head,
        data: Elements<'_>,
        meanwhile: impl FnOnce() -> Result<R>,
    ) -> Result<(R, bool)> {
        if self.fabric.is_far(to) {
            let there = self.send_far(to, head, data);
            return Ok((meanwhile()?, there));
        }
        if to == self.me || self.crowded() || self.has_one_path_to(to) {
            let packet = Packet::copy_of(head, data);
            let there = self.post(to, packet, data.size());
            return Ok((meanwhile()?, there));
        }
        let word = &*self.endpoint.loan;
        lend(
            word,
            head,
            data,
            |word, ticket| self.wait_settled(to, word, ticket),
            |packet, loan| {
                let there = self.post(to, packet, data.size());
                let result = meanwhile()?;
                // A receiver that has ended also leaves a copy behind, which is counted as lost.
                Ok((result, there & self.settle_or_copy(to, head, data, loan)))
            },
        )
    }

    /// Lends `data` to `to`, which is bound to come. `post` sends the packet, `meanwhile` runs after that, and
    /// `settled` waits until the receiver is done, or can no longer take it.
    pub(crate) fn lend(
        &self,
        to: Rank,
        head: Head,
        data: Elements<'_>,
        post: impl FnOnce(Packet) -> Result<()>,
        meanwhile: impl FnOnce() -> Result<()>,
        settled: impl FnOnce(&Loan<'_>) -> Result<()>,
    ) -> Result<()> {
        lend(
            &self.endpoint.loan,
            head,
            data,
            |word, ticket| self.wait_settled(to, word, ticket),
            |packet, loan| {
                post(packet)?;
                meanwhile()?;
                settled(loan)
            },
        )
    }

    /// Gives the receiver a moment to take what is lent, and helps it to copy; otherwise posts a copy.
    pub(in crate::transport) fn settle_or_copy(
        &self,
        to: Rank,
        head: Head,
        data: Elements<'_>,
        loan: &Loan<'_>,
    ) -> bool {
        let mut look = || {
            self.help_copy(to, loan.bytes(), &self.endpoint.claims);
            loan.is_settled().then_some(())
        };
        if self.spin(&self.lending, &mut look).is_some()
            || self.stay_patient(data.size(), &mut || look().is_some())
        {
            return true;
        }
        if !loan.revoke() {
            // Copied outside of the waits, whose looks may hold the registry.
            let (needs, claims) = (|| Needs::One(to), &self.endpoint.claims);
            self.wait_bound(&needs, || loan.is_settled() || claims.is_open());
            if look().is_none() {
                self.wait_bound(&needs, || loan.is_settled());
            }
            return true;
        }
        self.fabric.post(to, Packet::copy_of(head, data))
    }

    /// Helps `to` to copy `from`, which it borrows from this rank, if it has published a destination in `claims`, those of
    /// that loan. Returns whether it copied any part.
    #[inline]
    pub(in crate::transport) fn help_copy(
        &self,
        to: Rank,
        from: &[MaybeUninit<u8>],
        claims: &CopyClaims,
    ) -> bool {
        let helped = cooperative_copy::help(from, claims, Side::of(self.me, to), &self.copies);
        if helped {
            self.fabric.endpoints[to].sleeper.rouse();
        }
        helped
    }

    /// Waits for a receiver for as long as it would take to copy the message and leave it there: the longer the
    /// message, the more a copy costs. The wait is shorter if receivers have mostly come too late.
    pub(super) fn stay_patient(&self, bytes: usize, look: &mut dyn FnMut() -> bool) -> bool {
        let tried = self.lending.get().max(SPINS / 8);
        let patience = Duration::from_nanos((bytes / COPIED_IN_ONE) as u64) * tried / SPINS;
        if !PATIENT || patience < SHORT_PATIENCE {
            return false;
        }
        let found = self.give_way_for(patience, Instant::now(), look);
        if found {
            self.lending.set(SPINS);
        }
        found
    }

    /// Waits for a borrower that is reading.
    pub(in crate::transport) fn wait_settled(
        &self,
        borrower: Rank,
        word: &LoanWord,
        ticket: Ticket,
    ) {
        self.wait_bound(&|| Needs::One(borrower), || word.is_settled(ticket));
    }
}

impl Taker for Port {
    fn me(&self) -> Rank {
        self.me
    }

    fn copies(&self) -> &Copies {
        &self.copies
    }

    fn stay(&self, lender: Rank, done: impl FnMut() -> bool) {
        self.wait_bound(&|| Needs::One(lender), done);
    }
}
