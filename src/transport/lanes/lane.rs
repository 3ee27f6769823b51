//! Lanes: the FIFO queues of collective packets, one direction between two ranks each.
//!
//! A lane is created when a pair first communicates, and each end keeps it in a short sorted list: a rank that
//! communicates with a few ranks has a few lanes, and there is no table of all pairs.
//!
//! # Why a lane is never full
//!
//! It has space for [`CREDIT`] short messages and one more packet. A sender that has used up its credit, and finds that
//! the receiver has not caught up, *lends* its message instead of posting a copy, and then waits until the loan is
//! settled: that is the one more packet. (Over channels, where nothing is lent, it is a copy with a receipt, for which
//! its sender waits.) So a rank runs ahead of another by at most a few short messages, nothing is
//! allocated on the way, and the only wait is the one for a loan, which the rank that settles it ends. (A call that
//! fails leaves packets behind, but its communicator is broken then and posts no more.)

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;

use crate::Rank;
use crate::op::elements::Elements;
use crate::sort;
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;

/// Number of messages that a rank may post before the receiver takes one: short ones, and over channels any.
const CREDIT: usize = 4;

/// A rank's ends of the lanes of one communicator.
pub(crate) trait Lanes {
    /// Whether a short message may be posted now. If not, lend it.
    fn has_room(&self, to: Rank) -> bool;

    /// Posts a copy of a short message, right after [`has_room`](Self::has_room) returned `true`.
    fn post(&self, to: Rank, head: Head, data: Elements<'_>);

    /// Posts a packet: one for which its sender waits at any time, another one under the rules for a short message.
    fn post_packet(&self, to: Rank, packet: Packet);

    /// Posts a copy of a message that is not short, under the rules for one that is; for lanes that lend nothing.
    fn post_long(&self, to: Rank, head: Head, data: Elements<'_>) {
        self.post_packet(to, Packet::copy_of(head, data));
    }

    /// Moves the next packet from a rank into `place`. Returns whether there was one.
    fn take(&self, from: Rank, place: &mut Packet) -> bool;

    /// The same, and takes in one message from another process meanwhile; not where the registry may be open.
    fn take_in(&self, from: Rank, place: &mut Packet) -> bool {
        self.take(from, place)
    }
}

/// Both ends of one lane. The receiving end stays here, so a post never fails, and packets that were never taken can be
/// found at the end.
#[derive(Clone)]
struct Ends {
    post: Sender<Packet>,
    take: Receiver<Packet>,
}

impl Ends {
    fn new() -> Ends {
        let (post, take) = bounded(CREDIT + 1);
        Ends { post, take }
    }
}

/// All lanes of a communicator, by (from, to).
#[derive(Default)]
pub(crate) struct LaneBook {
    lanes: Mutex<HashMap<(Rank, Rank), Ends>>,
    /// Lanes into a rank that it has created before they were requested.
    spares: Mutex<HashMap<Rank, Vec<Ends>>>,
}

impl LaneBook {
    /// The lane of a pair: created by the end that requests it first, or earlier by its receiver.
    fn lane(&self, from: Rank, to: Rank) -> Ends {
        let mut lanes = self.lanes.lock();
        let spare = || self.spares.lock().get_mut(&to).and_then(Vec::pop);
        let make = || spare().unwrap_or_else(Ends::new);
        lanes.entry((from, to)).or_insert_with(make).clone()
    }

    /// Creates `count` lanes for the ranks that will first send to `to`, which is the calling rank. A page of memory is
    /// near the thread that first writes to it, and a lane should be near the rank that polls it.
    pub(crate) fn offer(&self, to: Rank, count: usize) {
        let made: Vec<Ends> = (0..count).map(|_| Ends::new()).collect();
        self.spares.lock().insert(to, made);
    }

    /// Whether every packet has been taken.
    pub(crate) fn is_empty(&self) -> bool {
        let lanes = self.lanes.lock();
        lanes.values().all(|ends| ends.take.is_empty())
    }

    /// The packets that were never taken, by receiver and then by sender.
    pub(crate) fn drain(&self) -> Vec<(Rank, Packet)> {
        let lanes = self.lanes.lock();
        let mut pairs: Vec<_> = lanes.iter().collect();
        sort::by_numbers(&mut pairs, |&(&(from, to), _)| [to, from]);
        let left = |(&(_, to), ends): (&(Rank, Rank), &Ends)| {
            let packets: Vec<Packet> = ends.take.try_iter().collect();
            packets.into_iter().map(move |packet| (to, packet))
        };
        pairs.into_iter().flat_map(left).collect()
    }
}

/// Lanes made of crossbeam channels, through which all messages go in a world whose transport is channels.
pub(crate) struct ChannelLanes {
    me: Rank,
    registry: Arc<LaneBook>,
    out: RefCell<Peers<Out>>,
    into: RefCell<Peers<Receiver<Packet>>>,
}

/// The sending end.
struct Out {
    post: Sender<Packet>,
    /// Number of short messages that may be posted before the next look at the channel.
    credit: Cell<usize>,
}

impl Out {
    fn new(post: Sender<Packet>) -> Out {
        let credit = Cell::new(CREDIT);
        Out { post, credit }
    }

    fn has_room(&self) -> bool {
        if self.credit.get() == 0 {
            self.credit.set(CREDIT.saturating_sub(self.post.len()));
        }
        self.credit.get() > 0
    }

    fn post(&self, packet: Packet) {
        let credit = self.credit.get();
        self.credit.set(credit.saturating_sub(1));
        let posted = self.post.try_send(packet);
        assert!(posted.is_ok(), "a lane is full, see above why it is not");
    }
}

impl ChannelLanes {
    pub(crate) fn new(me: Rank, registry: Arc<LaneBook>) -> ChannelLanes {
        ChannelLanes {
            me,
            registry,
            out: RefCell::default(),
            into: RefCell::default(),
        }
    }

    #[inline]
    fn out<R>(&self, to: Rank, f: impl FnOnce(&Out) -> R) -> R {
        let mut out = self.out.borrow_mut();
        f(out.get(to, || Out::new(self.registry.lane(self.me, to).post)))
    }
}

impl Lanes for ChannelLanes {
    fn has_room(&self, to: Rank) -> bool {
        self.out(to, Out::has_room)
    }

    #[inline]
    fn post(&self, to: Rank, head: Head, data: Elements<'_>) {
        self.post_packet(to, Packet::eager(head, data));
    }

    fn post_packet(&self, to: Rank, packet: Packet) {
        self.out(to, |out| out.post(packet));
    }

    fn take(&self, from: Rank, place: &mut Packet) -> bool {
        let mut into = self.into.borrow_mut();
        let lane = into.get(from, || self.registry.lane(from, self.me).take);
        let Ok(packet) = lane.try_recv() else {
            return false;
        };
        *place = packet;
        true
    }
}

/// A value for each rank that one communicates with, sorted by rank.
pub(in crate::transport) struct Peers<L> {
    all: Vec<(Rank, L)>,
    /// The places where some ranks were last found, by the low bits of their numbers.
    recent: [usize; RECENT],
}

/// A power of two.
const RECENT: usize = 8;

impl<L> Default for Peers<L> {
    fn default() -> Self {
        Peers {
            all: Vec::new(),
            recent: [0; RECENT],
        }
    }
}

impl<L> Peers<L> {
    pub(in crate::transport) fn iter(&self) -> impl Iterator<Item = &L> {
        self.all.iter().map(|(_, lane)| lane)
    }

    #[inline]
    pub(in crate::transport) fn get(&mut self, rank: Rank, make: impl FnOnce() -> L) -> &mut L {
        let place = self.place(rank).unwrap_or_else(|| self.find(rank, make));
        self.at(place)
    }

    /// The place of a rank, if it was found there last.
    #[inline]
    pub(in crate::transport) fn place(&self, rank: Rank) -> Option<usize> {
        let recent = self.recent[Self::recent(rank)];
        let there = self.all.get(recent)?;
        (there.0 == rank).then_some(recent)
    }

    #[inline]
    pub(in crate::transport) fn at(&mut self, place: usize) -> &mut L {
        &mut self.all[place].1
    }

    /// Partners in an exchange differ in one bit, so higher bits are mixed in.
    #[inline]
    fn recent(rank: Rank) -> usize {
        (rank ^ rank >> 3 ^ rank >> 6) % RECENT
    }

    /// The place of a rank, for which a value is made if there is none.
    #[cold]
    pub(in crate::transport) fn find(&mut self, rank: Rank, make: impl FnOnce() -> L) -> usize {
        let place = self.all.partition_point(|(other, _)| *other < rank);
        if self.all.get(place).is_none_or(|(other, _)| *other != rank) {
            self.all.insert(place, (rank, make()));
        }
        self.recent[Self::recent(rank)] = place;
        place
    }

    /// Takes all values out.
    pub(in crate::transport) fn take(&mut self) -> Vec<(Rank, L)> {
        std::mem::take(&mut self.all)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_sends_first_takes_a_lane_that_its_receiver_has_made() {
        let registry = LaneBook::default();
        registry.offer(2, 2);
        let left = |to| registry.spares.lock().get(&to).map_or(0, Vec::len);
        let sender = ChannelLanes::new(0, Arc::default());
        assert!(sender.has_room(2), "without any it makes one");
        registry.lane(0, 2);
        registry.lane(0, 2);
        assert_eq!(left(2), 1, "one for each pair");
        registry.lane(2, 0);
        assert_eq!(left(2), 1, "those into other ranks are not touched");
        registry.lane(1, 2);
        registry.lane(3, 2);
        assert_eq!((left(2), registry.lanes.lock().len()), (0, 4));
    }
}
