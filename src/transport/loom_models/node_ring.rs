//! Proves that letters between processes of one node are read whole, once and in order, and that none is written where an
//! unread one is.
//!
//! The ring is the real one, in loom's cells, which report every access that is not ordered with the ones before: it has
//! two slots here, and room for one long letter. Memory that two processes share is to them as that of two threads is.
//!
//! Checked by hand: the models fail with the release of a stamp or of the read count relaxed, or the acquire of either;
//! with a stamp that is stored before the letter, or a count before the letter is read; with a letter that is written
//! while one more is unread than there are slots, or in the arena while a long one is unread there, or once any letter was
//! read; with stamps that do not say which letter it is; with an end that is claimed without a look, or by a load and a
//! store. Where in the arena letters go they do not see: the unit tests do.

use std::mem::MaybeUninit;
use std::sync::Arc;

use loom::thread;

use super::explore;
use crate::mpi::node::ring::{ARENA, LetterReader, LetterRing, LetterWriter, SHORT};

/// A letter of `length` bytes, each of which is its number.
fn write(writer: &mut LetterWriter<Arc<LetterRing>>, number: u8, length: usize) {
    let letter = vec![MaybeUninit::new(number); length];
    while !writer.write([&letter, &[], &[]]) {
        thread::yield_now();
    }
}

fn read(reader: &mut LetterReader<Arc<LetterRing>>, number: u8, length: usize) {
    let whole = |letter: &[u8]| assert_eq!(letter, vec![number; length]);
    while !reader.read(whole) {
        thread::yield_now();
    }
}

/// Letters of these lengths pass.
fn pass(lengths: &'static [usize]) {
    explore(None, move || {
        let ring = Arc::new(LetterRing::new());
        let mut writer = LetterWriter::of(ring.clone(), ARENA).unwrap();
        let mut reader = LetterReader::of(ring).unwrap();
        let numbered = move || (1..).zip(lengths);
        let writes = thread::spawn(move || {
            numbered().for_each(|(number, length)| write(&mut writer, number, *length));
        });
        numbered().for_each(|(number, length)| read(&mut reader, number, *length));
        writes.join().unwrap();
    });
}

#[test]
fn short_letters_pass_whole_and_in_order() {
    pass(&[1, 8, 2]);
}

#[test]
fn long_letters_wait_for_room_and_pass_whole() {
    pass(&[SHORT + 1, SHORT + 2, 1]);
}

#[test]
fn each_long_letter_waits_for_room() {
    pass(&[SHORT + 1, SHORT + 2, SHORT + 3]);
}

#[test]
fn either_end_is_claimed_once() {
    claimed_once(|ring| LetterWriter::of(ring, ARENA).is_some());
    claimed_once(|ring| LetterReader::of(ring).is_some());
}

fn claimed_once(claim: fn(Arc<LetterRing>) -> bool) {
    explore(None, move || {
        let ring = Arc::new(LetterRing::new());
        let other = ring.clone();
        let claims = thread::spawn(move || claim(other));
        let here = claim(ring);
        assert_ne!(here, claims.join().unwrap());
    });
}
