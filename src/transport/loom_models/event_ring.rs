//! Proves that no operation is read half overwritten: whatever a reader returns of a ring while its rank writes, all
//! words of it belong to one operation. In a run that reuses the fabric, that is one of this run.
//!
//! Checked by hand: without either fence, with the number not cleared before the words are written, or with the last
//! store relaxed, a reader returns words of two operations. With a run that is entered before the ring forgets the last
//! one, it returns an operation of that one.

use loom::sync::Arc;
use loom::thread;

use super::explore;
use crate::transport::trace::event_ring::{FIXED, NOTES, Ring};
use crate::transport::wakeup::sleeper::{Present, RunNumber};

fn read_whole(ring: &Ring) {
    for entry in ring.entries() {
        assert_eq!(entry.fixed, [entry.number; FIXED]);
        let is_own = |note: &u64| [0, entry.number].contains(note);
        assert!(entry.notes.iter().all(is_own));
    }
}

/// The writer reads places before it writes there, so it runs first: see [`explore`].
#[test]
fn no_operation_is_read_half_overwritten() {
    explore(Some(3), || {
        let ring = Arc::new(Ring::new());
        let reader = {
            let ring = ring.clone();
            thread::spawn(move || read_whole(&ring))
        };
        for number in 1..=2 {
            ring.write(number, [number; FIXED], [0; NOTES]);
            ring.note(number, [number; NOTES]);
        }
        reader.join().unwrap();
        let left = ring.entries();
        assert!(matches!(&left[..], [entry] if entry.number == 2 && entry.notes == [2; NOTES]));
    });
}

#[test]
fn no_operation_of_the_last_run_is_read_in_the_next() {
    explore(Some(3), || {
        let (shared, next) = (Arc::new((Ring::new(), Present::new())), Present::new());
        let next = next.begin_again();
        shared.0.write(1, [1; FIXED], [0; NOTES]);
        shared.0.close();
        let writer = {
            let shared = shared.clone();
            thread::spawn(move || begin_again_and_write(&shared.0, &shared.1, next))
        };
        if shared.1.is(next) {
            let read = shared.0.entries();
            assert!(read.iter().all(|entry| entry.fixed == [2; FIXED]));
        }
        writer.join().unwrap();
    });
}

/// What a rank does, in this order, when it [begins again](crate::transport::port::Port::begin_again).
fn begin_again_and_write(ring: &Ring, run: &Present, next: RunNumber) {
    ring.forget(1);
    run.enter(next);
    ring.write(1, [2; FIXED], [0; NOTES]);
}
