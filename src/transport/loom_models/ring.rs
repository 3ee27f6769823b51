//! Proves that what one rank hands another through a ring is read whole, once and in order: no rank reads a cell while
//! the other writes it, and none is overwritten unread.
//!
//! The rings are the real ones, in loom's cells, which report every access that is not ordered with the ones before.
//! They have two cells here, one near annex and two far ones, so that they are soon overwritten.
//!
//! Checked by hand: the models fail with the release of a turn or of the read count relaxed, or the acquire of either;
//! with a turn that is stored before the content, or a count before the content is read; with a cell that is written
//! while one more packet is unread than there are cells; with turns that do not say which packet it is; with a label
//! that loses its count or its kind; with a count that is stored before a message is copied to a buffer, or for one that
//! does not suit; with a near annex that is used while as many packets as there are near ones are unread, or with one far
//! annex for all cells.

use loom::thread;

use super::explore;
use crate::op::elements::{Elements, ElementsMut};
use crate::transport::lanes::slot::{PairEnd, ends};
use crate::transport::memory::head::Head;
use crate::transport::memory::lenders::Nobody;
use crate::transport::memory::packet::{EAGER_BYTES, Packet};
use crate::transport::memory::ring::{Reader, Writer, ring};

/// Number of cells of a ring.
const CELLS: usize = 2;

/// Bytes that a cell of the fast box's kind holds, in short.
const LONGER: usize = 2 * EAGER_BYTES;

fn head(number: u32) -> Head {
    Head::new(1, 0, number, number)
}

/// Compares the packet with message `number`.
fn check(place: &Packet, number: u32, count: usize) {
    assert_eq!(place.head, head(number));
    let whole = place.open(&Nobody, |data: &[u32]| data == vec![number; count]);
    assert_eq!(whole, Some(true));
}

/// Takes message `number`, however long it has to wait for it.
fn take(number: u32, count: usize, mut look: impl FnMut(&mut Packet) -> bool) {
    let mut place = Packet::empty();
    while !look(&mut place) {
        thread::yield_now();
    }
    check(&place, number, count);
}

/// Takes message `number` into a buffer, however long it has to wait for it.
fn take_into<const BYTES: usize>(reader: &mut Reader<BYTES, CELLS>, number: u32, count: usize) {
    let mut buf = vec![u32::MAX; count + 1];
    let taken = loop {
        let accepts = |found| found == head(number);
        match reader.take_into(&mut ElementsMut::of(&mut buf), accepts) {
            Some(taken) => break taken,
            None => thread::yield_now(),
        }
    };
    assert_eq!(taken, (head(number), count));
    assert_eq!(buf[..count], vec![number; count]);
    assert_eq!(buf[count], u32::MAX);
}

/// A stream of messages, the next of which is posted as soon as a cell is free. Longer ones land. `take` takes message
/// `number` of so many elements.
fn stream_to<const BYTES: usize>(
    packets: u32,
    count: fn(u32) -> usize,
    take: fn(&mut Reader<BYTES, CELLS>, u32, usize),
) {
    explore(Some(3), move || {
        let (mut writer, mut reader): (Writer<BYTES, CELLS>, Reader<BYTES, CELLS>) = ring(packets);
        let reader = thread::spawn(move || {
            for number in 0..4 {
                take(&mut reader, number, count(number));
            }
            assert!(reader.is_empty());
        });
        for number in 0..4 {
            while !writer.has_room() && writer.look() == CELLS as u32 {
                thread::yield_now();
            }
            let message = vec![number; count(number)];
            let data = Elements::of(&message);
            writer.post_copy(head(number), data);
        }
        reader.join().unwrap();
        assert!(writer.ring().is_empty());
    });
}

/// The same, with packets.
fn stream<const BYTES: usize>(packets: u32, count: fn(u32) -> usize) {
    stream_to::<BYTES>(packets, count, |reader, number, count| {
        take(number, count, |place| reader.take(place));
    });
}

#[test]
fn a_stream_is_copied_to_buffers_before_it_is_overwritten() {
    stream_to::<LONGER>(
        0,
        |number| [1, 20, 3, 30][number as usize],
        |reader, number, count| match number {
            2 => take(number, count, |place| reader.take(place)),
            _ => take_into(reader, number, count),
        },
    );
}

#[test]
fn a_message_that_does_not_suit_stays_where_it_is() {
    explore(None, || {
        let (mut writer, mut reader): (Writer<LONGER, CELLS>, Reader<LONGER, CELLS>) = ring(0);
        let reader = thread::spawn(move || {
            let (mut short, mut other) = ([0_u32; 2], [0_u64; 3]);
            let any = |_: Head| true;
            for _ in 0..2 {
                assert_eq!(
                    reader.take_into(&mut ElementsMut::of(&mut short), any),
                    None
                );
                assert_eq!(
                    reader.take_into(&mut ElementsMut::of(&mut other), any),
                    None
                );
                let none = |found: Head| found != head(0);
                let mut buf = [0_u32; 3];
                assert_eq!(reader.take_into(&mut ElementsMut::of(&mut buf), none), None);
            }
            take_into(&mut reader, 0, 3);
        });
        writer.post(head(0), Elements::of(&[0_u32; 3]));
        reader.join().unwrap();
    });
}

#[test]
fn a_stream_is_read_before_it_is_overwritten() {
    stream::<EAGER_BYTES>(0, |_| 3);
}

#[test]
fn a_stream_of_several_lengths_lands_whole() {
    stream::<LONGER>(0, |number| [1, 12, 3, 16][number as usize]);
}

#[test]
fn messages_that_do_not_fit_into_their_cells_are_read_whole() {
    stream::<LONGER>(0, |number| [20, 1, 30, 20][number as usize]);
}

#[test]
fn a_stream_goes_on_behind_the_last_number() {
    stream::<EAGER_BYTES>(u32::MAX - 1, |_| 1);
}

#[test]
fn two_ranks_that_exchange_get_each_others_messages() {
    explore(Some(3), || {
        let [first, second] = ends();
        let life = move |mut end: PairEnd| {
            for number in 0..4 {
                while !end.has_room() {
                    thread::yield_now();
                }
                end.post(head(number), Elements::of(&[number]));
                take(number, 1, |place| end.take(place));
            }
        };
        let second = thread::spawn(move || life(second));
        life(first);
        second.join().unwrap();
    });
}

#[test]
fn a_packet_that_owns_its_elements_is_moved() {
    explore(Some(3), || {
        let [mut first, mut second] = ends();
        let second = thread::spawn(move || take(1, 20, |place| second.take(place)));
        first.post_packet(Packet::copied(head(1), vec![1_u32; 20]));
        second.join().unwrap();
    });
}
