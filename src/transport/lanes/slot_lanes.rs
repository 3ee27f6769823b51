//! Lanes made of [slots](crate::transport::lanes::slot): which rank holds which end, and which packets were never
//! taken.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::Rank;
use crate::op::elements::Elements;
use crate::sort;
use crate::transport::lanes::lane::{Lanes, Peers};
use crate::transport::lanes::slot::{PairEnd, ends};
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;

/// The ends that no rank holds: for each pair the lower rank's, and the other's.
type Free = HashMap<(Rank, Rank), [Option<PairEnd>; 2]>;

/// All lanes of a communicator, by pair of ranks.
#[derive(Default)]
pub(crate) struct SlotBook(Mutex<Free>);

/// The key of a pair, and the index of rank `me`'s end in it.
fn place(me: Rank, other: Rank) -> ((Rank, Rank), usize) {
    ((me.min(other), me.max(other)), usize::from(me > other))
}

impl SlotBook {
    /// A rank's end between it and another, created by the rank that requests one first.
    fn take_end(&self, me: Rank, other: Rank) -> PairEnd {
        let (pair, place) = place(me, other);
        let mut free = self.0.lock();
        let both = free.entry(pair).or_insert_with(|| ends().map(Some));
        let end = both[place].take();
        end.expect("a rank is once in a communicator")
    }

    fn give_back(&self, me: Rank, ends: Vec<(Rank, PairEnd)>) {
        let mut free = self.0.lock();
        for (other, end) in ends {
            let (pair, place) = place(me, other);
            if let Some(both) = free.get_mut(&pair) {
                both[place] = Some(end);
            }
        }
    }

    /// Whether a lane was ever requested.
    pub(crate) fn has_lanes(&self) -> bool {
        !self.0.lock().is_empty()
    }

    /// Whether every packet has been taken. `false` while a rank holds its ends: then packets may be left.
    pub(crate) fn is_empty(&self) -> bool {
        let free = self.0.lock();
        let mut ends = free.values().flatten();
        ends.all(|end| end.as_ref().is_some_and(PairEnd::is_empty))
    }

    /// The packets that were never taken, by receiver and then by sender, of ranks that have given back their ends.
    pub(crate) fn drain(&self) -> Vec<(Rank, Packet)> {
        let mut free = self.0.lock();
        let mut ends: Vec<(Rank, Rank, &mut PairEnd)> = Vec::new();
        for (&(less, more), [first, second]) in free.iter_mut() {
            ends.extend(first.as_mut().map(|end| (less, more, end)));
            ends.extend(second.as_mut().map(|end| (more, less, end)));
        }
        sort::by_numbers(&mut ends, |&(to, from, _)| [to, from]);
        let left = ends.into_iter().flat_map(|(to, _, end)| {
            let packets = end.drain().into_iter();
            packets.map(move |packet| (to, packet))
        });
        left.collect()
    }
}

/// Lanes whose packets are in slots.
pub(crate) struct SlotLanes {
    me: Rank,
    registry: Arc<SlotBook>,
    ends: RefCell<Peers<PairEnd>>,
}

impl SlotLanes {
    pub(crate) fn new(me: Rank, registry: Arc<SlotBook>) -> SlotLanes {
        let ends = RefCell::default();
        SlotLanes { me, registry, ends }
    }

    /// Numbers of packets sent by these ends, and taken; the numbers wrap.
    pub(in crate::transport) fn traffic(&self) -> (u32, u32) {
        let ends = self.ends.borrow();
        let add = |(sent, taken): (u32, u32), end: &PairEnd| {
            let (more, less) = end.traffic();
            (sent.wrapping_add(more), taken.wrapping_add(less))
        };
        ends.iter().fold((0, 0), add)
    }

    #[inline]
    fn end<R>(&self, other: Rank, f: impl FnOnce(&mut PairEnd) -> R) -> R {
        let mut ends = self.ends.borrow_mut();
        let found = ends.place(other);
        let place = found.unwrap_or_else(|| self.find(&mut ends, other));
        f(ends.at(place))
    }

    /// Not generic: compiled once.
    #[cold]
    #[inline(never)]
    fn find(&self, ends: &mut Peers<PairEnd>, other: Rank) -> usize {
        ends.find(other, || self.registry.take_end(self.me, other))
    }
}

impl Lanes for SlotLanes {
    #[inline]
    fn has_room(&self, to: Rank) -> bool {
        self.end(to, PairEnd::has_room)
    }

    #[inline]
    fn post(&self, to: Rank, head: Head, data: Elements<'_>) {
        self.end(to, |end| end.post(head, data));
    }

    #[inline]
    fn post_packet(&self, to: Rank, packet: Packet) {
        self.end(to, |end| end.post_packet(packet));
    }

    #[inline]
    fn take(&self, from: Rank, place: &mut Packet) -> bool {
        self.end(from, |end| end.take(place))
    }
}

impl Drop for SlotLanes {
    fn drop(&mut self) {
        self.registry.give_back(self.me, self.ends.get_mut().take());
    }
}

/// A registry in which ranks 0 and 1 have exchanged almost as many messages as there are numbers.
#[cfg(all(test, not(loom)))]
pub(in crate::transport) fn near_the_end_of_numbers() -> SlotBook {
    let ends = crate::transport::lanes::slot::ends_after(u32::MAX - 5).map(Some);
    SlotBook(Mutex::new(HashMap::from([((0, 1), ends)])))
}
