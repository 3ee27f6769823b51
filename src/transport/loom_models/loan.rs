//! Proves that lent memory is never read after its lender has left, that exactly one of revoke and claim succeeds, and
//! that the lender always leaves, wherever either end dies.
//!
//! The lent memory is a loom cell, which reports every access that is not ordered with the lender's writes before and
//! after the loan. The packet travels unordered, so that the word alone must order them. [`lend`], [`Packet::open`] and
//! the sleep of the lender are the real ones.
//!
//! To die here is to leave early. The guards of both ends do the same whether a frame is left by `return` or by
//! unwinding, and loom's threads share one real thread, which cannot unwind two at once.
//!
//! Checked by hand: with a relaxed `offer`, `claim`, `settle` or `is_settled` the accesses race, as they do with a
//! guard that does not wait for a claimed loan. With a `settle` that does not rouse, the lender sleeps for ever. If
//! each loan had the same ticket, a stale packet would open a later one.

use std::sync::Mutex;

use loom::cell::Cell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};

use super::{explore, world};
use crate::op::elements::Elements;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::head::Head;
use crate::transport::memory::lend::{Loan, lend};
use crate::transport::memory::packet::Packet;
use crate::transport::port::Port;

/// What the two ranks share: the lent buffers, one per loan, and the packets on their way.
pub(super) struct Between {
    pub(super) buffers: [Cell<u32>; 2],
    /// Not loom's: it orders nothing.
    packets: Mutex<Vec<Packet>>,
    posted: AtomicU32,
}

impl Between {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Between {
            buffers: [Cell::new(0), Cell::new(0)],
            packets: Mutex::new(Vec::new()),
            posted: AtomicU32::new(0),
        })
    }

    pub(super) fn post(&self, packet: Packet) {
        self.packets.lock().unwrap().push(packet);
        self.posted.fetch_add(1, Ordering::Relaxed);
    }

    /// The next packet, if one has arrived.
    fn take(&self) -> Option<Packet> {
        let posted = self.posted.load(Ordering::Relaxed) > 0;
        let mut packets = self.packets.lock().unwrap();
        (posted && !packets.is_empty()).then(|| packets.remove(0))
    }

    /// Lends buffer `which` for as long as `during` takes, and writes it again as soon as it may.
    fn lend(&self, port: &Port, which: usize, during: impl FnOnce(&Loan<'_>)) {
        self.buffers[which].set(1);
        let word = &*port.fabric.endpoints[port.me].loan;
        let wait = |word: &crate::transport::memory::loan::LoanWord, ticket| {
            port.sleep_bound(&|| Needs::One(1 - port.me), || word.is_settled(ticket))
        };
        lend(
            word,
            Head::new(0, 0, 0, 0),
            Elements::of(&[which; 100]),
            wait,
            |packet, loan| {
                self.post(packet);
                during(loan);
            },
        );
        self.buffers[which].set(2);
    }

    /// Reads what the next packet lends. Returns whether it could; `None`: no packet yet.
    pub(super) fn read(&self, port: &Port) -> Option<bool> {
        let packet = self.take()?;
        let read = packet.open(&*port.fabric, |which: &[usize]| {
            assert_eq!(self.buffers[which[0]].get(), 1, "read outside of the loan");
        });
        Some(read.is_some())
    }
}

/// One loan: `during` at the lender, `borrow` at the borrower, which returns whether it had the loan.
fn one_loan(during: fn(&Loan<'_>), borrow: fn(&Between, &Port) -> Option<bool>) {
    let between = Between::new();
    let (fabric, had) = world(2, move |port| match port.me {
        0 => {
            between.lend(port, 0, during);
            None
        }
        _ => borrow(&between, port),
    });
    let (word, first) = (&fabric.endpoints[0].loan, 1);
    let (settled, revoked) = (word.is_settled(first), word.is_revoked(first));
    assert!(settled != revoked, "exactly one of claim and revoke wins");
    assert_eq!(settled, had[1] == Some(true));
}

#[test]
fn a_lender_that_leaves_at_once_is_never_read_later() {
    explore(None, || one_loan(|_| (), Between::read));
}

#[test]
fn a_lender_that_gives_up_is_never_read_later() {
    explore(None, || {
        let give_up = |loan: &Loan<'_>| {
            let settled = loan.is_settled();
            assert!(
                !(settled && loan.revoke()),
                "a settled loan cannot be taken back"
            );
            loan.revoke();
        };
        one_loan(give_up, Between::read);
    });
}

#[test]
fn a_borrower_that_refuses_lets_the_lender_go() {
    explore(None, || {
        one_loan(
            |_| (),
            |between, port| Some(between.take()?.refuse(&*port.fabric).is_some()),
        );
    });
}

#[test]
fn a_borrower_that_dies_between_claim_and_read_lets_the_lender_go() {
    explore(None, || {
        one_loan(
            |_| (),
            |between, port| {
                let packet = between.take()?;
                // Settled by the guard in `open`, which is all that a dying borrower has left to do.
                Some(packet.open(&*port.fabric, |_: &[usize]| ()).is_some())
            },
        );
    });
}

#[test]
fn a_borrower_that_dies_before_it_claims_lets_the_lender_go() {
    explore(None, || {
        one_loan(|_| (), |between, _| between.take().map(|_| false))
    });
}

#[test]
fn a_stale_packet_never_opens_a_later_loan() {
    explore(Some(5), || {
        let between = Between::new();
        let (fabric, had) = world(2, move |port| {
            if port.me == 0 {
                (0..2).for_each(|which| between.lend(port, which, |_| ()));
                return [None; 2];
            }
            [between.read(port), between.read(port)]
        });
        // The word shows the second loan: the second packet settled it, or nothing did.
        let second = had[1].iter().flatten().nth(1) == Some(&true);
        assert_eq!(fabric.endpoints[0].loan.is_settled(2), second);
        assert_eq!(fabric.endpoints[0].loan.is_revoked(2), !second);
    });
}
