//! Copies of long messages that a rank sends without waiting: in vectors that it shares with their receivers and keeps,
//! so that later messages need no new memory.
//!
//! A vector is used again once nothing else has a share of it (`Arc::get_mut`), so no receiver is ever told. Messages
//! are mostly received in the order in which they are sent: the vectors that were used longest ago are looked at, a few.
//! A vector much longer than its next message is replaced where kept memory is short.

use crate::op::copies::Copies;
use crate::op::elements::{Elements, SharedVec};
use crate::op::vectors::{refill, shared_copy};

/// Number of vectors kept; messages in flight beyond it have vectors of their own.
const MOST: usize = 128;
/// Number of bytes that all ranks of a world keep, and that one of them keeps at most.
const OF_WORLD: usize = 64 << 20;
const OF_RANK: usize = 32 << 20;
/// The part of them that one vector may have.
const PART: usize = 8;
/// Number of vectors that are looked at.
const LOOKS: usize = 4;

/// The vectors that a rank keeps.
pub(in crate::transport) struct SharedCopies {
    kept: Vec<CopyBuffer>,
    /// Index of the vector that was used longest ago.
    next: usize,
    /// Bytes of all.
    bytes: usize,
    /// Maximum of `bytes`.
    limit: usize,
}

struct CopyBuffer {
    vector: SharedVec,
    /// Bytes of the longest message that it held.
    bytes: usize,
}

impl SharedCopies {
    /// Those of one rank in a world of `ranks`.
    pub(in crate::transport) fn new(ranks: usize) -> SharedCopies {
        SharedCopies {
            kept: Vec::new(),
            next: 0,
            bytes: 0,
            limit: (OF_WORLD / ranks.max(1)).min(OF_RANK),
        }
    }

    /// Drops all.
    pub(in crate::transport) fn clear(&mut self) {
        self.kept = Vec::new();
        self.bytes = 0;
    }

    /// A copy of elements.
    pub(in crate::transport) fn copy(
        &mut self,
        elements: Elements<'_>,
        copies: &Copies,
    ) -> SharedVec {
        if elements.size() > self.limit / PART {
            return shared_copy(elements);
        }
        match self.find_free() {
            Some(place) => self.copy_to(place, elements, copies),
            None => self.keep(shared_copy(elements), elements.size()),
        }
    }

    /// One of the vectors that were used longest ago, if nothing else has a share of it.
    fn find_free(&mut self) -> Option<usize> {
        let count = self.kept.len();
        let mut places = (0..count.min(LOOKS)).map(|look| (self.next + look) % count);
        places.find(|&place| SharedVec::get_mut(&mut self.kept[place].vector).is_some())
    }

    /// Copies elements to a vector that nothing else has a share of.
    fn copy_to(&mut self, place: usize, elements: Elements<'_>, copies: &Copies) -> SharedVec {
        let (kept, bytes) = (&mut self.kept[place], elements.size());
        let is_short = self.bytes > self.limit / 2;
        let fits = kept.bytes.max(bytes) <= bytes * PART || !is_short;
        let room = self.bytes - kept.bytes + bytes.max(kept.bytes) <= self.limit;
        let vector = SharedVec::get_mut(&mut kept.vector).filter(|_| fits && room);
        if !vector.is_some_and(|vector| refill(vector, elements, copies)) {
            let old = self.kept.remove(place);
            self.bytes -= old.bytes;
            self.next = place;
            return self.keep(shared_copy(elements), bytes);
        }
        self.bytes += bytes.saturating_sub(kept.bytes);
        kept.bytes = kept.bytes.max(bytes);
        self.next = place + 1;
        kept.vector.clone()
    }

    /// Keeps a new vector, as the one that was used last, if there is room.
    fn keep(&mut self, vector: SharedVec, bytes: usize) -> SharedVec {
        let place = self.next.min(self.kept.len());
        if self.kept.len() < MOST && self.bytes + bytes <= self.limit {
            let kept = vector.clone();
            self.kept.insert(
                place,
                CopyBuffer {
                    vector: kept,
                    bytes,
                },
            );
            self.bytes += bytes;
        }
        self.next = place + 1;
        vector
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn copy(copies: &mut SharedCopies, data: &[u32]) -> Arc<Vec<u32>> {
        copies
            .copy(Elements::of(data), &Copies::default())
            .downcast()
            .expect("of this type")
    }

    /// Sends a window of messages, all in flight at once; the number of vectors that were new.
    fn window(copies: &mut SharedCopies, data: &[u32]) -> usize {
        let before: Vec<_> = copies.kept.iter().map(|it| address(&it.vector)).collect();
        let held: Vec<SharedVec> = (0..64).map(|_| copy(copies, data) as SharedVec).collect();
        let new = held.iter().filter(|it| !before.contains(&address(it)));
        new.count()
    }

    fn address(vector: &SharedVec) -> *const () {
        Arc::as_ptr(vector).cast()
    }

    #[test]
    fn a_vector_is_used_again_once_its_receiver_has_dropped_it() {
        let mut copies = SharedCopies::new(2);
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
        let mut copies = SharedCopies::new(2);
        drop(copy(&mut copies, &[1, 2]));
        let bytes: Arc<Vec<u8>> = copies
            .copy(Elements::of(&[7u8; 3]), &Copies::default())
            .downcast()
            .expect("bytes");
        assert_eq!((&bytes[..], copies.kept.len()), (&[7u8; 3][..], 1));
    }

    #[test]
    fn no_more_than_so_many_vectors_and_bytes_are_kept() {
        let mut copies = SharedCopies::new(64);
        let long = vec![0u32; (1 << 20) / PART / size_of::<u32>()];
        let held: Vec<_> = (0..20).map(|_| copy(&mut copies, &long)).collect();
        assert_eq!((copies.kept.len(), copies.bytes), (PART, 1 << 20));
        drop(held);
        let held: Vec<_> = (0..300).map(|_| copy(&mut copies, &[1])).collect();
        assert!(copies.kept.len() <= MOST && copies.bytes <= 1 << 20);
        assert!(held.iter().all(|one| one[..] == [1]));
    }

    #[test]
    fn after_long_messages_short_ones_find_their_vectors_again() {
        let mut copies = SharedCopies::new(64);
        let long = vec![0u32; (1 << 20) / PART / size_of::<u32>()];
        drop(
            (0..20)
                .map(|_| copy(&mut copies, &long))
                .collect::<Vec<_>>(),
        );
        copy(&mut copies, &vec![0; 1 << 20]);
        window(&mut copies, &[1; 1024]);
        window(&mut copies, &[1; 1024]);
        assert_eq!(window(&mut copies, &[1; 1024]), 0);
    }

    #[test]
    fn a_message_that_is_not_received_for_long_keeps_no_other_from_being_used_again() {
        let mut copies = SharedCopies::new(2);
        let _late = copy(&mut copies, &[9]);
        window(&mut copies, &[1; 1024]);
        window(&mut copies, &[1; 1024]);
        assert_eq!(window(&mut copies, &[1; 1024]), 0);
        assert_eq!(copies.kept.len(), 65);
    }
}
