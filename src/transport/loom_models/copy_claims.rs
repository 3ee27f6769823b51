//! Proves that what both ends of a loan copy together is copied once and whole: no part is written by both, the
//! borrower has its destination to itself again when it settles, and the next loan finds nothing of this one.
//!
//! The words are those of a lender, for one blocking send after another, or those of a standing loan, which serves one
//! message after another.
//!
//! Both ends run the real code ([`CopyClaims::borrow`], [`CopyClaims::help`]), except for the copying and for the wait,
//! which yields; the model of a borrower that sleeps has those, too. The parts are loom cells, which report two accesses
//! that are not ordered. The packet travels unordered. A destination is identified by the ticket of its loan, and a message that follows another one is longer.
//!
//! Checked by hand: the models fail with a relaxed store or load in `open`, `goes_to`, `report` or `has_helped`; with a
//! destination that is stored after the word that publishes it; with words that stay open, or help that stays reported,
//! after the loan; with a borrower that does not wait for what its lender has taken; with a part of closed words that
//! counts; with one end that does not count what the other has taken; and with a load and a store instead of the
//! addition in `take`; and, in the model of a borrower that sleeps, with help that does not wake it.

use std::ptr;

use loom::cell::Cell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::{explore, world};
use crate::op::elements::Elements;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::copy_claims::{COOPERATIVE, CopyClaims, Side};
use crate::transport::memory::loan::{LoanWord, Ticket};
use crate::transport::port::Port;

/// Number of parts of the longest message.
const PARTS: usize = 2;

/// The words of a lender, and the destination of its messages.
struct Between {
    /// The side of the lender.
    lender: Side,
    word: LoanWord,
    claims: CopyClaims,
    posted: AtomicU32,
    places: [Cell<u64>; PARTS],
}

/// The content of a part of a message.
fn content(ticket: Ticket, part: usize) -> u64 {
    10 * ticket + part as u64
}

/// The destination of a message.
fn place(ticket: Ticket) -> *mut u8 {
    ptr::without_provenance_mut(ticket as usize)
}

impl Between {
    fn copy(&self, side: Side, (ticket, parts): (Ticket, usize), to: *mut u8) -> usize {
        self.claims.take_all(side, parts, |part| {
            assert_eq!(to, place(ticket), "the place of another message");
            let old = self.places[part].replace(content(ticket, part));
            assert_eq!(old, 0, "a part that is written twice");
        })
    }

    /// Lends a message of `parts` parts, and helps at each look. Returns whether it was borrowed.
    fn lend(&self, parts: usize) -> bool {
        let ticket = self.word.offer();
        self.posted.fetch_add(1, Ordering::Relaxed);
        let help = || {
            let copy = |to| self.copy(self.lender, (ticket, parts), to);
            self.claims.help(copy);
        };
        help();
        if self.word.revoke(ticket) {
            return false;
        }
        while !self.word.is_settled(ticket) {
            help();
            thread::yield_now();
        }
        true
    }

    /// Borrows a message, and clears its destination before and after. Returns whether it could.
    fn borrow(&self, ticket: Ticket, parts: usize) -> bool {
        if self.posted.load(Ordering::Relaxed) < ticket as u32 || !self.word.claim(ticket) {
            return false;
        }
        self.places.iter().for_each(|place| place.set(0));
        let borrower = match self.lender {
            Side::Front => Side::Back,
            Side::Back => Side::Front,
        };
        let copy = || self.copy(borrower, (ticket, parts), place(ticket));
        self.claims.borrow(place(ticket), parts, copy, |done| {
            while !done() {
                thread::yield_now();
            }
        });
        for part in 0..parts {
            let copied = self.places[part].replace(0);
            assert_eq!(copied, content(ticket, part), "part {part}");
        }
        self.word.settle(ticket);
        true
    }
}

/// Messages with these numbers of parts, one after the other.
fn loans(lender: Side, messages: &'static [usize]) {
    let between = Arc::new(Between {
        lender,
        word: LoanWord::new(),
        claims: CopyClaims::new(),
        posted: AtomicU32::new(0),
        places: std::array::from_fn(|_| Cell::new(0)),
    });
    let lender = between.clone();
    let lent = thread::spawn(move || messages.iter().filter(|parts| lender.lend(**parts)).count());
    let tickets = messages.iter().zip(1..);
    let borrowed = tickets.filter(|(parts, ticket)| between.borrow(*ticket, **parts));
    let borrowed = borrowed.count();
    assert_eq!(lent.join().unwrap(), borrowed);
}

#[test]
fn every_part_is_copied_once_by_one_of_the_two() {
    explore(None, || loans(Side::Back, &[2]));
}

#[test]
fn every_part_is_copied_once_where_the_lender_begins_at_the_front() {
    explore(None, || loans(Side::Front, &[2]));
}

#[test]
fn the_next_loan_is_shared_as_if_it_were_the_first() {
    explore(Some(3), || loans(Side::Back, &[1, 2]));
}

#[test]
fn what_was_helped_in_one_loan_is_not_taken_for_help_in_the_next() {
    loom::model(|| {
        let claims = CopyClaims::new();
        claims.open(place(1));
        claims.report(1);
        claims.close();
        claims.open(place(2));
        assert!(!claims.has_helped(1));
    });
}

const MESSAGE: [usize; COOPERATIVE / size_of::<usize>()] = [7; COOPERATIVE / size_of::<usize>()];

/// Helps at each look until the borrower is done.
fn help_until(port: &Port, is_over: &AtomicU32) {
    let (from, claims) = (Elements::of(&MESSAGE), &port.endpoint.claims);
    while is_over.load(Ordering::Acquire) == 0 {
        port.help_copy(1, from.bytes(), claims);
        thread::yield_now();
    }
}

/// Copies the parts that it takes, and sleeps until rank 0 has copied the others.
fn borrow_asleep(port: &Port, is_over: &AtomicU32) {
    let (claims, mut to) = (&port.fabric.endpoints[0].claims, [0_usize; MESSAGE.len()]);
    let mut own = [false; PARTS];
    let copy = || claims.take_all(Side::Back, PARTS, |part| own[part] = true);
    let sleep = |done: &dyn Fn() -> bool| port.sleep_bound(&|| Needs::One(0), done);
    claims.borrow(to.as_mut_ptr().cast(), PARTS, copy, sleep);
    is_over.store(1, Ordering::Release);
    for (part, copied) in to.chunks(MESSAGE.len() / PARTS).enumerate() {
        let expected = if own[part] { 0 } else { 7 };
        assert!(copied.iter().all(|it| *it == expected));
    }
}

#[test]
fn a_borrower_that_sleeps_is_woken_by_the_lender_that_helps_it() {
    explore(Some(3), || {
        let is_over = AtomicU32::new(0);
        world(2, move |port| match port.me {
            0 => help_until(port, &is_over),
            _ => borrow_asleep(port, &is_over),
        });
    });
}
