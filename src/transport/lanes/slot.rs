//! Slots: the two [rings](crate::transport::memory::ring) between two ranks, one each way, whose cells are one cache
//! line. A message costs a store and a load at each end, and moves one line.

use crate::op::elements::Elements;
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::{EAGER_BYTES, Packet};
use crate::transport::memory::ring::{self, ring};

/// Number of cells of a ring.
const CELLS: usize = if cfg!(all(test, loom)) { 2 } else { 8 };

/// Number of messages of a ring that may be short. The last cell is for a lent message, see
/// [`lane`](crate::transport::lanes::lane).
const CREDIT: u32 = CELLS as u32 - 1;

type Writer = ring::Writer<EAGER_BYTES, CELLS>;
type Reader = ring::Reader<EAGER_BYTES, CELLS>;

/// One rank's end of everything between two ranks.
pub(in crate::transport) struct PairEnd {
    out: Writer,
    into: Reader,
}

/// The two ends for a pair of ranks.
pub(in crate::transport) fn ends() -> [PairEnd; 2] {
    ends_after(0)
}

/// The same, as if `messages` messages had gone each way already.
pub(in crate::transport) fn ends_after(messages: u32) -> [PairEnd; 2] {
    let [there, back] = [(); 2].map(|()| ring(messages));
    [(there.0, back.1), (back.0, there.1)].map(|(out, into)| PairEnd { out, into })
}

impl PairEnd {
    /// Whether a short message may be posted now.
    #[inline]
    pub(in crate::transport) fn has_room(&mut self) -> bool {
        self.out.unread() < CREDIT || self.out.look() < CREDIT
    }

    /// Posts a copy of a short message, right after [`has_room`](Self::has_room) returned `true`.
    #[inline]
    pub(in crate::transport) fn post(&mut self, head: Head, data: Elements<'_>) {
        self.out.post(head, data);
    }

    /// Posts any packet, after [`has_room`](Self::has_room) returned `true`; a lent one at any time.
    #[inline]
    pub(in crate::transport) fn post_packet(&mut self, packet: Packet) {
        self.out.post_packet(packet);
    }

    /// Moves the next packet into `place`. Returns whether there was one.
    #[inline]
    pub(in crate::transport) fn take(&mut self, place: &mut Packet) -> bool {
        self.into.take(place)
    }

    /// Numbers of messages sent and taken; the numbers wrap.
    pub(in crate::transport) fn traffic(&self) -> (u32, u32) {
        (self.out.written(), self.into.read())
    }

    /// Whether there is nothing to take.
    pub(in crate::transport) fn is_empty(&self) -> bool {
        self.into.is_empty()
    }

    /// Takes everything that is left.
    pub(in crate::transport) fn drain(&mut self) -> Vec<Packet> {
        let next = || {
            let mut place = Packet::empty();
            self.take(&mut place).then_some(place)
        };
        std::iter::from_fn(next).collect()
    }
}
