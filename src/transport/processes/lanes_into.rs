//! What waits in the lanes from far ranks into one near rank.
//!
//! Put there by whichever thread takes it in, inside MPI or after it was [held](super::held), and taken by the near rank
//! alone.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use crate::Rank;
use crate::sync::{AtomicUsize, Mutex, Ordering};
use crate::transport::matching::by_source::BySource;
use crate::transport::memory::packet::Packet;

/// So many lanes keep the memory of their packets once they are empty. Beyond that an empty one is forgotten: perhaps its
/// communicator is, too.
const KEPT: usize = 64;

/// The lanes into one near rank.
pub(super) struct LanesInto {
    /// Number of packets in all lanes, changed under the lock: a look that finds none takes no lock.
    count: AtomicUsize,
    /// By context and world rank of the sender.
    lanes: Mutex<BySource<VecDeque<Packet>>>,
}

impl LanesInto {
    pub(super) fn new() -> LanesInto {
        LanesInto {
            count: AtomicUsize::new(0),
            lanes: Mutex::new(BySource::default()),
        }
    }

    /// Whether a lane has no packet; inside MPI, while nothing is held, that stays so. What other lanes have does not matter
    /// to it, and may stay there for long: of a call that this rank has not begun, or never will.
    #[inline]
    pub(super) fn is_empty(&self, key: (u32, Rank)) -> bool {
        self.are_empty() || self.has_none_of(key)
    }

    #[inline(never)]
    fn has_none_of(&self, key: (u32, Rank)) -> bool {
        self.lanes.lock().get(&key).is_none_or(VecDeque::is_empty)
    }

    /// Whether there is no packet in any lane.
    #[inline]
    fn are_empty(&self) -> bool {
        // Relaxed: inside MPI this thread has that lock after all that have put something there, or has seen, by an acquire,
        // that nothing is held any more. A rank that sleeps looks again after a fence, which pairs with that of the thread that
        // rouses it after the post.
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Puts a packet behind those of its lane.
    pub(super) fn put(&self, packet: Packet) {
        let key = (packet.head.context(), packet.source());
        let mut lanes = self.lanes.lock();
        lanes.entry(key).or_default().push_back(packet);
        self.add(1);
    }

    /// The first packet of a lane.
    pub(super) fn take(&self, key: (u32, Rank)) -> Option<Packet> {
        if self.are_empty() {
            return None;
        }
        let mut lanes = self.lanes.lock();
        let is_many = lanes.len() > KEPT;
        let Entry::Occupied(mut lane) = lanes.entry(key) else {
            return None;
        };
        let packet = lane.get_mut().pop_front();
        if is_many && lane.get().is_empty() {
            lane.remove();
        }
        let packet = packet?;
        self.add(-1);
        Some(packet)
    }

    /// Takes all packets.
    pub(super) fn drain(&self) -> impl Iterator<Item = Packet> + use<> {
        let mut lanes = self.lanes.lock();
        // Relaxed: as in `add`.
        self.count.store(0, Ordering::Relaxed);
        std::mem::take(&mut *lanes).into_values().flatten()
    }

    /// Counts packets, under the lock.
    fn add(&self, packets: isize) {
        // Relaxed: changed under the lock alone; for who reads it without, see `are_empty`.
        let count = self.count.load(Ordering::Relaxed);
        self.count
            .store(count.wrapping_add_signed(packets), Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::op::elements::Elements;
    use crate::transport::memory::head::Head;

    #[test]
    fn empty_lanes_of_many_communicators_are_forgotten() {
        let lanes = LanesInto::new();
        let put = |context| {
            let head = Head::new(context, 1, 0, 0);
            lanes.put(Packet::copy_of(head, Elements::of(&[context])));
        };
        (0..1000).for_each(put);
        put(7);
        for context in 0..1000 {
            assert!(lanes.take((context, 1)).is_some(), "{context}");
        }
        assert!(lanes.take((8, 1)).is_none());
        assert!(!lanes.is_empty((7, 1)), "it has a second packet");
        assert!(lanes.take((7, 1)).is_some());
        assert!(lanes.lanes.lock().len() <= KEPT);
        assert!(lanes.is_empty((7, 1)));
    }
}
