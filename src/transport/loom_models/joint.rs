//! Proves that what both ends of a loan copy together is copied once and whole: no part is written by both, the
//! borrower has its place to itself again when it settles, and the next loan finds nothing of this one.
//!
//! The parts are cells of loom's, which reports two accesses that are not ordered. The packet travels unordered.

use loom::cell::Cell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::explore;
use crate::transport::joint::{End, Joint};
use crate::transport::loan::LoanWord;

const PARTS: usize = 2;

/// Words of a lender, and where its messages go.
struct Between {
    word: LoanWord,
    joint: Joint,
    posted: AtomicU32,
    places: [Cell<u64>; PARTS],
}

impl Between {
    fn copy(&self, end: End, message: u64) -> usize {
        let mut taken = 0;
        while let Some(part) = self.joint.take(end, PARTS) {
            let old = self.places[part.number].replace(message + part.number as u64);
            assert_eq!(old, 0, "a part that is written twice");
            taken += 1;
            if part.last {
                break;
            }
        }
        taken
    }

    /// Lends a message, and helps as often as it looks; whether it was borrowed.
    fn lend(&self, message: u64) -> bool {
        let ticket = self.word.offer();
        self.posted.fetch_add(1, Ordering::Relaxed);
        let help = || {
            if self.joint.goes_to().is_some() {
                let copied = self.copy(End::Back, message);
                if copied > 0 {
                    self.joint.report(copied);
                }
            }
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

    /// Borrows a message, and clears its place before and after; whether it could.
    fn borrow(&self, ticket: u64, message: u64) -> bool {
        if self.posted.load(Ordering::Relaxed) < ticket as u32 || !self.word.claim(ticket) {
            return false;
        }
        self.places.iter().for_each(|place| place.set(0));
        self.joint.open(std::ptr::null_mut());
        let helped = PARTS - self.copy(End::Front, message);
        while helped > 0 && !self.joint.has_helped(helped) {
            thread::yield_now();
        }
        self.joint.close();
        for (part, place) in self.places.iter().enumerate() {
            assert_eq!(place.replace(0), message + part as u64, "part {part}");
        }
        self.word.settle(ticket);
        true
    }
}

fn loans(messages: &'static [u64]) {
    let between = Arc::new(Between {
        word: LoanWord::new(),
        joint: Joint::new(),
        posted: AtomicU32::new(0),
        places: std::array::from_fn(|_| Cell::new(0)),
    });
    let lender = between.clone();
    let lent = thread::spawn(move || messages.iter().filter(|m| lender.lend(**m)).count());
    let tickets = messages.iter().zip(1..);
    let borrowed = tickets.filter(|(message, ticket)| between.borrow(*ticket, **message));
    let borrowed = borrowed.count();
    assert_eq!(lent.join().unwrap(), borrowed);
}

#[test]
fn every_part_is_copied_once_by_one_of_the_two() {
    explore(None, || loans(&[10]));
}

#[test]
fn the_next_loan_is_shared_as_if_it_were_the_first() {
    explore(Some(3), || loans(&[10, 20]));
}
