//! The lanes of a communicator: slots, or channels in a world whose transport is channels.

pub(crate) mod lane;
pub(crate) mod slot;
pub(crate) mod slot_lanes;

use std::sync::Arc;

use crate::Rank;
use crate::names::Transport;
use crate::op::elements::Elements;
use crate::transport::lanes::lane::{ChannelLanes, LaneBook, Lanes};
use crate::transport::lanes::slot_lanes::{SlotBook, SlotLanes};
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;

/// The lanes of a communicator, of either make.
#[derive(Default)]
pub(crate) struct Books {
    slots: Arc<SlotBook>,
    channels: Arc<LaneBook>,
}

impl Books {
    /// Whether every packet has been taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.channels.is_empty()
    }

    /// Whether two ranks have lanes made of slots.
    pub(in crate::transport) fn have_slots(&self) -> bool {
        self.slots.has_lanes()
    }

    /// Whether the channel lanes are empty, whichever ranks hold their ends.
    pub(in crate::transport) fn channels_are_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// The packets that were never taken, by receiver and then by sender.
    pub(crate) fn drain(&self) -> Vec<(Rank, Packet)> {
        let mut left = self.slots.drain();
        left.extend(self.channels.drain());
        left
    }

    /// Creates lanes into the calling rank before they are requested, so that their memory is near it. Slots are
    /// created by the rank that requests them first: both ranks write them.
    pub(crate) fn offer(&self, me: Rank, count: usize, over: Transport) {
        if over == Transport::Channels {
            self.channels.offer(me, count);
        }
    }

    /// A rank's ends.
    pub(crate) fn ends(&self, me: Rank, over: Transport) -> Ends {
        match over {
            Transport::Memory => Ends::Slots(SlotLanes::new(me, self.slots.clone())),
            Transport::Channels => {
                let lanes = ChannelLanes::new(me, self.channels.clone());
                Ends::Channels(Box::new(OutOfLine(lanes)))
            }
        }
    }
}

/// A rank's ends of the lanes of a communicator.
pub(crate) enum Ends {
    Slots(SlotLanes),
    Channels(Box<OutOfLine>),
    /// Those of a communicator with members in other processes.
    #[cfg(feature = "mpi")]
    Spread(Box<dyn Lanes + Send>),
}

impl Ends {
    /// Numbers of packets put into slots here, and taken; the numbers wrap.
    pub(crate) fn traffic(&self) -> (u32, u32) {
        match self {
            Ends::Slots(lanes) => lanes.traffic(),
            Ends::Channels(_) => (0, 0),
            #[cfg(feature = "mpi")]
            Ends::Spread(_) => (0, 0),
        }
    }
}

/// Channel lanes out of line: inlined, they would lengthen the usual path.
pub(crate) struct OutOfLine(ChannelLanes);

impl Lanes for OutOfLine {
    #[inline(never)]
    fn has_room(&self, to: Rank) -> bool {
        self.0.has_room(to)
    }

    #[inline(never)]
    fn post(&self, to: Rank, head: Head, data: Elements<'_>) {
        self.0.post(to, head, data);
    }

    #[inline(never)]
    fn post_packet(&self, to: Rank, packet: Packet) {
        self.0.post_packet(to, packet);
    }

    #[inline(never)]
    fn take(&self, from: Rank, place: &mut Packet) -> bool {
        self.0.take(from, place)
    }
}

impl Lanes for Ends {
    #[inline]
    fn has_room(&self, to: Rank) -> bool {
        match self {
            Ends::Slots(lanes) => lanes.has_room(to),
            Ends::Channels(lanes) => lanes.has_room(to),
            #[cfg(feature = "mpi")]
            Ends::Spread(lanes) => lanes.has_room(to),
        }
    }

    #[inline]
    fn post(&self, to: Rank, head: Head, data: Elements<'_>) {
        match self {
            Ends::Slots(lanes) => lanes.post(to, head, data),
            Ends::Channels(lanes) => lanes.post(to, head, data),
            #[cfg(feature = "mpi")]
            Ends::Spread(lanes) => lanes.post(to, head, data),
        }
    }

    fn post_packet(&self, to: Rank, packet: Packet) {
        match self {
            Ends::Slots(lanes) => lanes.post_packet(to, packet),
            Ends::Channels(lanes) => lanes.post_packet(to, packet),
            #[cfg(feature = "mpi")]
            Ends::Spread(lanes) => lanes.post_packet(to, packet),
        }
    }

    #[cfg(feature = "mpi")]
    fn post_long(&self, to: Rank, head: Head, data: Elements<'_>) {
        match self {
            Ends::Spread(lanes) => lanes.post_long(to, head, data),
            _ => self.post_packet(to, Packet::copy_of(head, data)),
        }
    }

    #[inline]
    fn take(&self, from: Rank, place: &mut Packet) -> bool {
        match self {
            Ends::Slots(lanes) => lanes.take(from, place),
            Ends::Channels(lanes) => lanes.take(from, place),
            #[cfg(feature = "mpi")]
            Ends::Spread(lanes) => lanes.take(from, place),
        }
    }

    #[cfg(feature = "mpi")]
    fn take_in(&self, from: Rank, place: &mut Packet) -> bool {
        match self {
            Ends::Spread(lanes) => lanes.take_in(from, place),
            _ => self.take(from, place),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::VecDeque;
    use std::num::NonZeroU8;
    use std::thread;

    use proptest::prelude::*;

    use super::*;
    use crate::op::Element;
    use crate::op::elements::Info;
    use crate::transport::lanes::slot_lanes;
    use crate::transport::memory::lenders::Nobody;

    /// Creates the ends of two ranks, and reports the packets that were never taken.
    struct Subject {
        name: &'static str,
        books: Books,
        over: Transport,
    }

    impl Subject {
        fn new(name: &'static str, over: Transport) -> Subject {
            let books = Books::default();
            Subject { name, books, over }
        }

        fn ends(&self) -> [Ends; 2] {
            [0, 1].map(|me| self.books.ends(me, self.over))
        }
    }

    /// Every test runs over each of these.
    fn subjects() -> [Subject; 3] {
        let late = Books {
            slots: Arc::new(slot_lanes::near_the_end_of_numbers()),
            ..Books::default()
        };
        [
            Subject::new("channels", Transport::Channels),
            Subject::new("slots", Transport::Memory),
            Subject {
                books: late,
                ..Subject::new("slots near the end of numbers", Transport::Memory)
            },
        ]
    }

    /// Elements with uninitialised bytes, and elements that contain pointers.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Padded(u8, u32);
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(16))]
    struct Wide(u64);

    static WORDS: [u64; 3] = [7, 8, 9];

    /// A message to be created and to be recognised.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Message {
        kind: u8,
        count: usize,
        tag: u32,
        print: u32,
    }

    /// Calls `$f` with elements of the message's type.
    macro_rules! with_elements {
        ($message:expr, $f:ident, $($args:expr),*) => {{
            let Message { kind, count, print, .. } = $message;
            let small = print as u8;
            match kind {
                0 => $f(&vec![small; count], $($args),*),
                1 => $f(&vec![u64::from(print); count], $($args),*),
                2 => $f(&vec![Padded(small, print); count], $($args),*),
                3 => $f(&vec![&WORDS[print as usize % 3]; count], $($args),*),
                4 => $f(&vec![(); count], $($args),*),
                5 => $f(&vec![NonZeroU8::new(small); count], $($args),*),
                6 => $f(&vec![Wide(print.into()); count], $($args),*),
                7 => $f(&vec![f32::from(small); count], $($args),*),
                _ => $f(&vec!["a word"; count], $($args),*),
            }
        }};
    }

    fn post_to<T: Element>(data: &[T], head: Head, ends: &Ends, to: Rank) {
        let elements = Elements::of(data);
        match Packet::fits(elements) {
            true => ends.post(to, head, elements),
            false => ends.post_packet(to, Packet::copied(head, data.to_vec())),
        }
    }

    fn compare<T: Element + PartialEq>(data: &[T], packet: &Packet) -> bool {
        packet.holds_elements(Info::of::<T>())
            && packet.open(&Nobody, |found: &[T]| found == data) == Some(true)
    }

    impl Message {
        fn post(self, ends: &Ends, to: Rank) {
            let head = Head::new(9, 1 - to, self.tag, self.print);
            with_elements!(self, post_to, head, ends, to);
        }

        fn is_in(self, packet: &Packet, from: Rank) -> bool {
            packet.head == Head::new(9, from, self.tag, self.print)
                && with_elements!(self, compare, packet)
        }
    }

    fn message() -> impl Strategy<Value = Message> {
        let tag = prop_oneof![4 => 0..3_u32, 1 => 250..260_u32, 1 => any::<u32>()];
        let count = prop_oneof![5 => 0..2_usize, 2 => 2..10_usize, 1 => 15..18_usize];
        let kind = 0..9_u8;
        (kind, count, tag, any::<u32>()).prop_map(|(kind, count, tag, print)| Message {
            kind,
            count,
            tag,
            print,
        })
    }

    /// What one rank does next.
    #[derive(Clone, Copy, Debug)]
    enum Action {
        Post(Message),
        Take,
    }

    fn action() -> impl Strategy<Value = (Rank, Action)> {
        let action = prop_oneof![message().prop_map(Action::Post), Just(Action::Take),];
        (0..2_usize, action)
    }

    /// Messages on their way from a rank, and whether the last was posted without room.
    #[derive(Default)]
    struct Line {
        queue: VecDeque<Message>,
        crowded: bool,
    }

    /// Performs the action, and compares with the queues.
    fn act(ends: &[Ends; 2], lines: &mut [Line; 2], me: Rank, action: Action) {
        match action {
            Action::Post(message) => {
                let room = ends[me].has_room(1 - me);
                assert!(room || lines[me].queue.len() >= 4, "room for a few");
                // Where there is no room, one more is lent, and its sender waits for it.
                if room || !lines[me].crowded {
                    message.post(&ends[me], 1 - me);
                    lines[me].crowded = !room;
                    lines[me].queue.push_back(message);
                }
            }
            Action::Take => {
                let mut place = Packet::empty();
                let there = ends[me].take(1 - me, &mut place);
                let line = &mut lines[1 - me];
                let expected = line.queue.pop_front();
                line.crowded &= !line.queue.is_empty();
                assert_eq!(there, expected.is_some());
                assert!(expected.is_none_or(|message| message.is_in(&place, 1 - me)));
            }
        }
    }

    proptest! {
        #[test]
        fn messages_arrive_whole_and_in_order_and_what_nobody_took_is_found(
            actions in prop::collection::vec(action(), 0..120)
        ) {
            for subject in subjects() {
                let (ends, mut lines) = (subject.ends(), <[Line; 2]>::default());
                for &(me, action) in &actions {
                    act(&ends, &mut lines, me, action);
                }
                drop(ends);
                let empty = lines.iter().all(|line| line.queue.is_empty());
                prop_assert_eq!(subject.books.is_empty(), empty, "{}", subject.name);
                let left = subject.books.drain();
                // By receiver: first what rank 1 sent.
                let expected: Vec<_> = [1, 0].into_iter().flat_map(|from: usize| {
                    lines[from].queue.iter().map(move |message| (from, *message))
                }).collect();
                prop_assert_eq!(left.len(), expected.len(), "{}", subject.name);
                for ((to, packet), (from, message)) in left.iter().zip(&expected) {
                    prop_assert!(*to == 1 - from && message.is_in(packet, *from));
                }
                prop_assert!(subject.books.is_empty());
            }
        }

        #[test]
        fn two_threads_that_post_and_take_in_turn_get_each_others_messages(
            steps in prop::collection::vec((message(), message()), 1..60)
        ) {
            for subject in subjects() {
                let [first, second] = subject.ends();
                let run = |ends: Ends, me: Rank| {
                    for (step, (mine, theirs)) in steps.iter().enumerate() {
                        let [mine, theirs] = if me == 0 { [mine, theirs] } else { [theirs, mine] };
                        assert!(ends.has_room(1 - me), "all before the last were taken");
                        mine.post(&ends, 1 - me);
                        let mut place = Packet::empty();
                        while !ends.take(1 - me, &mut place) {
                            thread::yield_now();
                        }
                        assert!(theirs.is_in(&place, 1 - me), "step {step} of {}", subject.name);
                    }
                };
                thread::scope(|scope| {
                    scope.spawn(|| run(second, 1));
                    run(first, 0);
                });
                prop_assert!(subject.books.is_empty());
            }
        }
    }

    #[test]
    fn a_stream_runs_ahead_by_what_there_is_room_for_and_goes_on_when_it_is_read() {
        for subject in subjects() {
            let [sender, reader] = subject.ends();
            let mut place = Packet::empty();
            let message = |number| Message {
                kind: 1,
                count: 4,
                tag: 0,
                print: number,
            };
            let (mut sent, mut read) = (0, 0);
            for _ in 0..50 {
                while sender.has_room(1) {
                    message(sent).post(&sender, 1);
                    sent += 1;
                }
                assert!((4..8).contains(&(sent - read)), "{}", subject.name);
                while read < sent {
                    assert!(reader.take(0, &mut place));
                    assert!(message(read).is_in(&place, 0));
                    read += 1;
                }
            }
            assert!(!reader.take(0, &mut place));
        }
    }

    #[test]
    fn ends_that_were_given_back_go_on_where_they_were() {
        for subject in subjects() {
            let message = |print| Message {
                kind: 1,
                count: 1,
                tag: 5,
                print,
            };
            for print in 0..10 {
                let [first, _second] = subject.ends();
                message(print).post(&first, 1);
                drop(first);
                let [_first, second] = subject.ends();
                let mut place = Packet::empty();
                assert!(second.take(0, &mut place));
                assert!(message(print).is_in(&place, 0));
            }
        }
    }
}
