//! Copies of long messages that a rank sends without waiting: in vectors that it shares with their receivers and keeps,
//! so that later messages need no new memory.
//!
//! A vector is used again once nothing else has a share of it (`Arc::get_mut`), so no receiver is ever told. Messages
//! are mostly received in the order in which they are sent: the vector that was used longest ago is looked at, no other.

use crate::op::elements::{Elements, SharedVec};
use crate::op::vectors::{refill, shared_copy};

/// Number of vectors kept; messages in flight beyond it have vectors of their own.
const MOST: usize = 128;
/// Number of bytes kept.
const BYTES: usize = 32 << 20;

/// The vectors that a rank keeps.
#[derive(Default)]
pub(in crate::transport) struct SharedCopies {
    kept: Vec<Kept>,
    /// Index of the vector that was used longest ago.
    next: usize,
    /// Bytes of all.
    bytes: usize,
}

struct Kept {
    vector: SharedVec,
    /// Bytes of the longest message that it held.
    bytes: usize,
}

impl SharedCopies {
    /// A copy of elements.
    pub(in crate::transport) fn copy(&mut self, elements: Elements<'_>) -> SharedVec {
        if self.next >= self.kept.len() {
            self.next = 0;
        }
        self.copy_to_oldest(elements)
            .unwrap_or_else(|| self.keep(shared_copy(elements), elements.size()))
    }

    /// Copies elements to the vector that was used longest ago, if nothing else has a share of it and there is room.
    fn copy_to_oldest(&mut self, elements: Elements<'_>) -> Option<SharedVec> {
        let oldest = self.kept.get_mut(self.next)?;
        let vector = SharedVec::get_mut(&mut oldest.vector)?;
        let more = elements.size().saturating_sub(oldest.bytes);
        if self.bytes + more > BYTES {
            return None;
        }
        if !refill(vector, elements) {
            oldest.vector = shared_copy(elements);
        }
        oldest.bytes += more;
        self.bytes += more;
        self.next += 1;
        Some(oldest.vector.clone())
    }

    /// Keeps a new vector, as the one that was used last, if there is room.
    fn keep(&mut self, vector: SharedVec, bytes: usize) -> SharedVec {
        if self.kept.len() < MOST && self.bytes + bytes <= BYTES {
            let kept = vector.clone();
            self.kept.insert(
                self.next,
                Kept {
                    vector: kept,
                    bytes,
                },
            );
            self.bytes += bytes;
            self.next += 1;
        }
        vector
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn copy(copies: &mut SharedCopies, data: &[u32]) -> Arc<Vec<u32>> {
        copies
            .copy(Elements::of(data))
            .downcast()
            .expect("of this type")
    }

    #[test]
    fn a_vector_is_used_again_once_its_receiver_has_dropped_it() {
        let mut copies = SharedCopies::default();
        let first = copy(&mut copies, &[1, 2, 3]);
        let second = copy(&mut copies, &[4, 5]);
        let address = Arc::as_ptr(&first);
        drop(first);
        let third = copy(&mut copies, &[6, 7, 8, 9]);
        assert_eq!((&second[..], &third[..]), (&[4, 5][..], &[6, 7, 8, 9][..]));
        assert_eq!(Arc::as_ptr(&third), address);
        assert_eq!(copies.kept.len(), 2);
    }

    #[test]
    fn a_vector_of_another_type_is_replaced() {
        let mut copies = SharedCopies::default();
        drop(copy(&mut copies, &[1, 2]));
        let bytes: Arc<Vec<u8>> = copies
            .copy(Elements::of(&[7u8; 3]))
            .downcast()
            .expect("bytes");
        assert_eq!((&bytes[..], copies.kept.len()), (&[7u8; 3][..], 1));
    }

    #[test]
    fn no_more_than_so_many_vectors_and_bytes_are_kept() {
        let mut copies = SharedCopies::default();
        let long = vec![0u32; BYTES / 4 / size_of::<u32>()];
        let held: Vec<_> = (0..10).map(|_| copy(&mut copies, &long)).collect();
        assert_eq!((copies.kept.len(), copies.bytes), (4, BYTES));
        drop(held);
        let held: Vec<_> = (0..300).map(|_| copy(&mut copies, &[1])).collect();
        assert!(copies.kept.len() <= MOST && copies.bytes <= BYTES);
        assert!(held.iter().all(|one| one[..] == [1]));
    }
}
