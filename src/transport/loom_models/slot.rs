//! Proves that what two ranks hand each other through slots is read whole, once and in order, whichever path it takes:
//! no rank reads a cell or a half while the other writes it, and none is overwritten unread.
//!
//! The cells and halves are the real ones, in loom's cells, which report every access that is not ordered with the ones
//! before. Rings have two cells here, so that they are soon overwritten.
//!
//! Checked by hand: the models fail with the release of a turn, of a word or of the read count relaxed, or the acquire
//! of any of them; with a word posted before the other's last was read; with words or with turns that do not say how
//! many messages of the other path came before.

use loom::thread;

use super::explore;
use crate::transport::lanes::lane::Form::{self, Exchange, OneWay};
use crate::transport::lanes::slot::{PairEnd, ends};
use crate::transport::memory::head::Head;
use crate::transport::memory::lenders::Nobody;
use crate::transport::memory::packet::Packet;

fn post(end: &mut PairEnd, form: Form, number: u32, count: usize) {
    let head = Head::new(1, 0, number, number);
    end.post(form, head, &vec![number; count]);
}

/// Takes message `number`, however long it has to wait for it.
fn take(end: &mut PairEnd, form: Form, number: u32, count: usize) {
    let mut place = Packet::empty();
    while !end.take(form, &mut place) {
        thread::yield_now();
    }
    assert_eq!((place.head.tag(), place.head.print()), (number, number));
    let whole = place.open(&Nobody, |data: &[u32]| data == vec![number; count]);
    assert_eq!(whole, Some(true));
}

/// Two ranks that exchange `times` times, with `counts` elements from each: more than two elements go through the ring.
fn exchanges(times: u32, counts: [fn(u32) -> usize; 2]) {
    let [first, second] = ends();
    let life = move |mut end: PairEnd, me: usize| {
        for number in 0..times {
            post(&mut end, Exchange, number, counts[me](number));
            take(&mut end, Exchange, number, counts[1 - me](number));
        }
    };
    let second = thread::spawn(move || life(second, 1));
    life(first, 0);
    second.join().unwrap();
}

#[test]
fn short_exchanges_are_read_before_they_are_overwritten() {
    explore(Some(3), || exchanges(5, [|_| 1, |_| 2]));
}

#[test]
fn exchanges_of_several_lengths_stay_in_order() {
    explore(Some(3), || {
        exchanges(5, [|number| 1 + 2 * (number as usize % 2), |_| 1]);
    });
}

#[test]
fn a_stream_is_read_before_it_is_overwritten() {
    explore(Some(3), || {
        let [mut sender, mut reader] = ends();
        let reader = thread::spawn(move || {
            for number in 0..4 {
                take(&mut reader, OneWay, number, 3);
            }
        });
        for number in 0..4 {
            while !sender.has_room() {
                thread::yield_now();
            }
            post(&mut sender, OneWay, number, 3);
        }
        reader.join().unwrap();
    });
}

#[test]
fn a_rank_that_runs_ahead_overwrites_nothing_unread() {
    explore(Some(3), || {
        let [mut first, mut second] = ends();
        let second = thread::spawn(move || {
            for number in 0..4 {
                take(&mut second, Exchange, number, 1);
            }
        });
        // Announced, in the line, and the others in the ring: the other rank posts nothing.
        for number in 0..4 {
            while !first.has_room() {
                thread::yield_now();
            }
            post(&mut first, Exchange, number, 1);
        }
        second.join().unwrap();
    });
}

#[test]
fn a_reader_that_expects_another_form_gets_what_comes_in_order() {
    explore(Some(3), || {
        let [mut first, mut second] = ends();
        let second = thread::spawn(move || {
            post(&mut second, Exchange, 0, 1);
            for number in 0..4 {
                take(&mut second, OneWay, number, 1);
            }
        });
        // Announced, in the line, in the ring, in the line if the other's first message has arrived.
        post(&mut first, Exchange, 0, 1);
        post(&mut first, Exchange, 1, 1);
        while !first.has_room() {
            thread::yield_now();
        }
        post(&mut first, OneWay, 2, 1);
        take(&mut first, Exchange, 0, 1);
        while !first.has_room() {
            thread::yield_now();
        }
        post(&mut first, Exchange, 3, 1);
        second.join().unwrap();
    });
}
