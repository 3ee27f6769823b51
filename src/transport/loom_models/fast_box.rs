//! Proves that messages through a fast box arrive in one order with those through the mailbox; also where the fast box
//! passes from one rank to another. That they arrive whole is proved in `ring`.
//!
//! The fast box and the rule by which its reader looks at both paths are the real ones, in loom's cells, which report
//! every access that is not ordered with the ones before. It has two cells here, so that they are soon overwritten. The
//! mailbox is a model of the channel: places are counted before they are filled, and taken before they are read.
//!
//! Checked by hand: the models fail with a fast box that is used while there is mail; with mail that is taken though it
//! was not there before the look at the fast box, or before any look at the fast box. That senders look at the mailbox
//! is their own rule, which the model repeats; `tests/two_ways.rs` tests the real one.

use std::sync::Arc;

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::explore;
use crate::Rank;
use crate::op::elements::Elements;
use crate::transport::matching::incoming::{Incoming, Mail};
use crate::transport::memory::fast_box::{FastBox, Out};
use crate::transport::memory::head::Head;
use crate::transport::memory::lenders::Nobody;
use crate::transport::memory::packet::Packet;

/// The rank whose fast box it is.
const READER: Rank = 0;
/// A rank that takes no part.
const NOT_HERE: Rank = 3;
/// Number of elements of a message.
const LENGTH: usize = 3;
/// Number of looks that each of three ranks takes: unlimited looks would have too many orders.
const FEW: usize = 3;

/// A mailbox for a few messages, which are numbers from 1 on.
struct Letters {
    posted: AtomicU32,
    taken: AtomicU32,
    places: [AtomicU32; 4],
}

impl Letters {
    fn new() -> Letters {
        Letters {
            posted: AtomicU32::new(0),
            taken: AtomicU32::new(0),
            places: std::array::from_fn(|_| AtomicU32::new(0)),
        }
    }

    fn post(&self, number: u32) {
        let place = self.posted.fetch_add(1, Ordering::AcqRel);
        self.places[place as usize].store(number, Ordering::Release);
    }
}

impl Mail for Arc<Letters> {
    fn is_empty(&self) -> bool {
        let taken = self.taken.load(Ordering::Acquire);
        taken == self.posted.load(Ordering::Acquire)
    }

    fn take(&self, place: &mut Packet) -> bool {
        if self.is_empty() {
            return false;
        }
        let next = self.taken.fetch_add(1, Ordering::AcqRel) as usize;
        let read = || self.places[next].load(Ordering::Acquire);
        while read() == 0 {
            thread::yield_now();
        }
        *place = Packet::eager(head(read()), Elements::of(&message(read())));
        true
    }
}

fn head(number: u32) -> Head {
    Head::new(0, 1, number, 0)
}

fn message(number: u32) -> [u32; LENGTH] {
    [number; LENGTH]
}

/// What all ranks see.
#[derive(Clone)]
struct Shared {
    mail: Arc<Letters>,
    fast_box: Arc<FastBox>,
    /// A flag by which one sender signals another.
    said: Arc<AtomicU32>,
}

impl Shared {
    fn new() -> Shared {
        let shared = Shared {
            mail: Arc::new(Letters::new()),
            fast_box: FastBox::new(),
            said: Arc::new(AtomicU32::new(0)),
        };
        // Loom does not see what creates the ring for the first rank that takes the fast box.
        drop(shared.out(NOT_HERE));
        shared
    }

    /// The end of a rank that has just taken the fast box, if it was free.
    fn out(&self, me: Rank) -> Out {
        let mut out = Out::new(me);
        out.goes_by_mailbox(READER, &self.fast_box);
        out
    }

    /// Sends a message through the fast box if it may go there, otherwise through the mailbox.
    fn send(&self, out: &mut Out, number: u32) {
        let (head, message) = (head(number), message(number));
        let (data, is_empty) = (Elements::of(&message), || self.mail.is_empty());
        if !out.post(READER, head, data, false, is_empty) {
            self.mail.post(number);
        }
        out.prepare(0, true);
    }

    fn say(&self) {
        self.said.store(1, Ordering::Release);
    }

    fn hears(&self) -> bool {
        let mut looks = 0..FEW;
        looks.any(|_| {
            thread::yield_now();
            self.said.load(Ordering::Acquire) == 1
        })
    }

    fn incoming(&self) -> Incoming<Arc<Letters>> {
        Incoming::new(self.mail.clone(), self.fast_box.clone())
    }

    /// The numbers of the messages that arrive in a few looks.
    fn some(&self) -> Vec<u32> {
        let mut incoming = self.incoming();
        let mut come = Vec::new();
        for _ in 0..FEW {
            match next(&mut incoming) {
                Some(number) => come.push(number),
                None => thread::yield_now(),
            }
        }
        come
    }
}

/// The number of the next message, which must be whole.
fn next(incoming: &mut Incoming<Arc<Letters>>) -> Option<u32> {
    let packet = incoming.pop()?;
    let number = packet.head.tag();
    let whole = packet.open(&Nobody, |data: &[u32]| data == message(number));
    assert_eq!(whole, Some(true));
    Some(number)
}

/// One sender, whose messages with the numbers in `mailed` always go through the mailbox.
fn in_order(mailed: &'static [u32]) {
    explore(Some(3), || {
        let shared = Shared::new();
        let mut out = shared.out(1);
        let reader = shared.clone();
        let reader = thread::spawn(move || {
            let mut incoming = reader.incoming();
            for number in 1..=4 {
                let mut come = next(&mut incoming);
                while come.is_none() {
                    thread::yield_now();
                    come = next(&mut incoming);
                }
                assert_eq!(come, Some(number));
            }
        });
        for number in 1..=4 {
            match mailed.contains(&number) {
                true => shared.mail.post(number),
                false => shared.send(&mut out, number),
            }
        }
        reader.join().unwrap();
    });
}

#[test]
fn more_than_fit_into_the_fast_box_come_in_order() {
    in_order(&[]);
}

#[test]
fn what_goes_by_the_mailbox_in_between_comes_in_between() {
    in_order(&[2]);
}

#[test]
fn what_was_mailed_before_comes_before() {
    in_order(&[1, 3]);
}

/// Two senders, one of which sends as a consequence of what the other has sent.
fn because_of(first: fn(&Shared, &mut Out), second: fn(&Shared, &mut Out)) {
    explore(Some(3), move || {
        let shared = Shared::new();
        let (teller, hearer) = (shared.clone(), shared.clone());
        let teller = thread::spawn(move || {
            let mut out = Out::new(1);
            first(&teller, &mut out);
            teller.say();
            out
        });
        let hearer = thread::spawn(move || {
            let mut out = Out::new(2);
            if hearer.hears() {
                second(&hearer, &mut out);
            }
        });
        let come = shared.some();
        assert!(
            come.is_empty() || come[0] == 1,
            "an effect came before its cause"
        );
        hearer.join().unwrap();
        teller.join().unwrap();
    });
}

#[test]
fn mail_that_follows_from_what_came_by_the_fast_box_comes_after_it() {
    because_of(
        |shared, out| {
            out.goes_by_mailbox(READER, &shared.fast_box);
            shared.send(out, 1);
        },
        |shared, _| shared.mail.post(2),
    );
}

#[test]
fn what_comes_by_the_fast_box_comes_after_mail_that_it_follows_from() {
    because_of(
        |shared, _| shared.mail.post(1),
        |shared, out| {
            out.goes_by_mailbox(READER, &shared.fast_box);
            shared.send(out, 2);
        },
    );
}

#[test]
fn a_fast_box_goes_from_one_rank_to_another() {
    explore(Some(3), || {
        let shared = Shared::new();
        let lives = [1, 2].map(|me: Rank| {
            let shared = shared.clone();
            move || {
                let mut out = shared.out(me);
                shared.send(&mut out, me as u32);
            }
        });
        let senders = lives.map(thread::spawn);
        let mut come = shared.some();
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
        let mut incoming = shared.incoming();
        come.extend(std::iter::from_fn(|| next(&mut incoming)));
        come.sort_unstable();
        assert_eq!(come, [1, 2]);
    });
}
