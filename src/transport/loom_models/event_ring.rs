//! Proves that no operation is read half overwritten: whatever a reader returns of a ring while its rank writes, all
//! words of it belong to one operation.
//!
//! Checked by hand: without either fence, with the number not cleared before the words are written, or with the last
//! store relaxed, a reader returns words of two operations.

use loom::sync::Arc;
use loom::thread;

use super::explore;
use crate::transport::trace::event_ring::{FIXED, NOTES, Ring};

#[test]
fn no_operation_is_read_half_overwritten() {
    explore(Some(3), || {
        let ring = Arc::new(Ring::new());
        let writer = {
            let ring = ring.clone();
            thread::spawn(move || {
                for number in 1..=2 {
                    ring.write(number, [number; FIXED], [0; NOTES]);
                    ring.note(number, [number; NOTES]);
                }
            })
        };
        for entry in ring.entries() {
            assert_eq!(entry.fixed, [entry.number; FIXED]);
            assert!(
                entry
                    .notes
                    .iter()
                    .all(|note| [0, entry.number].contains(note))
            );
        }
        writer.join().unwrap();
        let left = ring.entries();
        assert!(matches!(&left[..], [entry] if entry.number == 2 && entry.notes == [2; NOTES]));
    });
}
