//! Proves that memory which its lender owns is neither freed nor written while a receiver reads it, and that the message
//! is received in any case: the lender ends the loan, or leaves the memory to it and goes.
//!
//! The memory says when it is freed, and a read says when it begins and ends. What is in it, as long as the lender ends
//! the loan, is a loom cell, which the lender writes again as soon as it may. The loan, the packet and the sleep of the
//! lender are the real ones.
//!
//! A receiver of an exclusive loan writes: then the lender finds either its message or the result, and says which, and
//! the copy that it leaves is made of what no thread writes.
//!
//! Checked by hand: with a `leave` that drops the memory it is read after it was freed. With an `end_loan` that does not
//! wait for a claimed loan the accesses race. With an exclusive loan that is replaced as
//! others are, its copy before its word, copy and result race. With a `set_stored` after the loan is settled
//! the lender misses a result. With a lock that is taken after the word says replaced, a receiver finds no copy.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32 as Plain, AtomicUsize};

use loom::cell::Cell;
use loom::sync::atomic::{AtomicU32, Ordering};

use super::{explore, world};
use crate::op::elements::{Elements, Info};
use crate::transport::Fabric;
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;
use crate::transport::memory::standing_loan::StandingLoan;
use crate::transport::port::Port;

const MESSAGE: [usize; 100] = [7; 100];

/// What the ranks share. Only `posted` and `moment` are loom's: the others order nothing, and see what happens.
#[derive(Default)]
struct Between {
    freed: Arc<AtomicBool>,
    readers: Arc<Plain>,
    packets: Mutex<Vec<Packet>>,
    /// Where the memory lies.
    place: AtomicUsize,
}

/// Memory that must not be freed while it is read.
struct Memory {
    message: Box<[usize; 100]>,
    freed: Arc<AtomicBool>,
    readers: Arc<Plain>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        assert_eq!(self.readers.load(SeqCst), 0, "freed while it is read");
        self.freed.store(true, SeqCst);
    }
}

struct Model {
    between: Between,
    posted: AtomicU32,
    /// Accessed by a reader, so that the lender may run in between.
    moment: AtomicU32,
    /// What is in the memory.
    contents: Cell<u32>,
}

/// What is in the memory while it is lent, what the receiver of an exclusive loan makes of it, and what it is when its
/// lender has it back.
const LENT: u32 = 1;
const RESULT: u32 = 2;
const BACK: u32 = 3;

impl Model {
    fn new() -> Arc<Self> {
        Arc::new(Model {
            between: Between::default(),
            posted: AtomicU32::new(0),
            moment: AtomicU32::new(0),
            contents: Cell::new(0),
        })
    }

    fn lend(&self, port: &Port, leaves: bool) {
        let Between { freed, readers, .. } = &self.between;
        let memory = Memory {
            message: Box::new(MESSAGE),
            freed: freed.clone(),
            readers: readers.clone(),
        };
        self.contents.set(LENT);
        let message = Elements::of(&memory.message[..]);
        self.between.place.store(message.first().addr(), SeqCst);
        // SAFETY: the memory outlives the loan, or is left to it.
        let (loan, packet) = unsafe { port.lend_own(1, Head::default(), message, false) };
        self.between.packets.lock().unwrap().push(packet);
        self.posted.fetch_add(1, Ordering::Release);
        match leaves {
            true => loan.leave(Arc::new(memory)),
            false => {
                port.end_own(loan);
                self.contents.set(BACK);
                drop(memory);
            }
        }
    }

    fn take(&self) -> Option<Packet> {
        let posted = self.posted.load(Ordering::Acquire) > 0;
        posted.then(|| self.between.packets.lock().unwrap().pop())?
    }

    /// Receives the message if its packet is there.
    fn receive(&self, lenders: &Fabric) {
        let Some(packet) = self.take() else {
            return;
        };
        let received = packet.open(lenders, |message: &[usize]| {
            let in_place = message.as_ptr().addr() == self.between.place.load(SeqCst);
            self.between.readers.fetch_add(u32::from(in_place), SeqCst);
            self.moment.load(Ordering::Relaxed);
            assert!(
                !in_place || !self.between.freed.load(SeqCst),
                "read after it was freed"
            );
            assert_eq!(message, MESSAGE);
            self.between.readers.fetch_sub(u32::from(in_place), SeqCst);
            assert!(!in_place || self.contents.get() == LENT);
        });
        assert!(received.is_some(), "the message is there or its copy");
    }

    /// Lends exclusively and ends the loan; the copy, if one is left, is of what is in the memory.
    fn lend_exclusively(&self, port: &Port) {
        self.contents.set(LENT);
        let (loan, message) = (StandingLoan::new(), MESSAGE);
        let ticket = loan.offer(true);
        let (head, elements) = (Head::default(), Elements::of(&message));
        let packet = Packet::standing(head, elements, ticket, loan.clone());
        self.between.packets.lock().unwrap().push(packet);
        self.posted.fetch_add(1, Ordering::Release);
        let copy = || {
            assert_eq!(self.contents.get(), LENT);
            Arc::new(MESSAGE.to_vec()) as _
        };
        if !loan.replace(ticket, copy) && !loan.word().is_settled(ticket) {
            port.wait_settled(1, loan.word(), ticket);
        }
        let expected = if loan.is_stored(ticket) { RESULT } else { LENT };
        assert_eq!(self.contents.get(), expected);
        self.contents.set(BACK);
    }

    /// Receives the message, if its packet is there, and stores a result where it may; otherwise there is a copy.
    fn fold(&self, lenders: &Fabric) {
        let Some(packet) = self.take() else {
            return;
        };
        let stored = packet.open_exclusive(Info::of::<usize>(), lenders, |_| {
            assert_eq!(self.contents.get(), LENT);
            self.moment.load(Ordering::Relaxed);
            self.contents.set(RESULT);
            Ok(())
        });
        if stored.is_none() {
            let read = packet.open(lenders, |message: &[usize]| assert_eq!(message, MESSAGE));
            assert!(read.is_some(), "the message is there or its copy");
        }
    }
}

fn lender_and_reader(leaves: bool) {
    explore(None, move || {
        let model = Model::new();
        let theirs = model.clone();
        let (fabric, _) = world(2, move |port| match port.me {
            0 => theirs.lend(port, leaves),
            _ => theirs.receive(&port.fabric),
        });
        // What was not received by then is received now.
        model.receive(&fabric);
        assert!(model.between.freed.load(SeqCst));
    });
}

#[test]
fn memory_that_was_left_is_freed_once_it_was_read() {
    lender_and_reader(true);
}

#[test]
fn a_loan_that_was_ended_is_read_from_its_copy_or_was_read() {
    lender_and_reader(false);
}

#[test]
fn memory_that_was_left_is_freed_with_a_packet_that_nobody_reads() {
    explore(None, || {
        let model = Model::new();
        let theirs = model.clone();
        world(2, move |port| match port.me {
            0 => theirs.lend(port, true),
            _ => drop(theirs.take()),
        });
        drop(model.take());
        assert!(model.between.freed.load(SeqCst));
    });
}

#[test]
fn an_exclusive_loan_has_the_message_or_the_result_when_its_lender_has_it_back() {
    explore(None, || {
        let model = Model::new();
        let theirs = model.clone();
        let (fabric, _) = world(2, move |port| match port.me {
            0 => theirs.lend_exclusively(port),
            _ => theirs.fold(&port.fabric),
        });
        model.fold(&fabric);
    });
}
