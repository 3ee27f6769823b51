//! Messages of far ranks that go straight to the rank that takes them in, because it waits for them: past its mailbox or
//! its lane from that rank, which is empty, so that nothing is overtaken.

use std::time::{Duration, Instant};

use super::far::Far;
use super::lanes_into::LanesInto;
use super::session::pause;
use super::wire::{self, Envelope, Kind};
use crate::Rank;
use crate::mpi::{Deliver, Left, Lent, Message, Received, StraightBody};
use crate::transport::Fabric;
use crate::transport::matching::receive_buffer::ReceiveBuffer;
use crate::transport::matching::want::Want;
use crate::transport::memory::packet::Packet;
use crate::transport::port::Port;

/// For how long a rank stays for bodies that are not its own: some ten megabytes through shared memory.
const STAY: Duration = Duration::from_millis(10);

/// The rank that takes in messages, and what it waits for.
pub(super) trait Taker {
    /// Takes a message with these contents, or leaves it.
    fn take(&mut self, envelope: &Envelope, contents: &[u8]) -> bool;

    /// Where the contents of a message go that are on their way and have this length, if the rank takes it.
    fn room(&mut self, _: &Envelope, _length: usize) -> Option<Lent> {
        None
    }
}

/// What becomes of messages that arrive while a rank waits for one.
struct Straight<'f, T> {
    far: &'f Far,
    fabric: &'f Fabric,
    /// The kind of messages that are offered, to this near rank.
    whose: (Rank, Kind),
    taker: T,
    /// Whether the rank may take one, and whether it has.
    is_open: bool,
    is_taken: bool,
    /// The sender of the message that goes into memory of the rank.
    sender: Rank,
}

impl<T: Taker> Deliver for Straight<'_, T> {
    #[inline]
    fn deliver(&mut self, from: usize, letter: &[u8], body: Option<Message>) {
        if self.is_open && body.is_none() && self.takes(from, letter) {
            self.far.has_received(from);
            (self.is_open, self.is_taken) = (false, true);
        } else {
            self.far.arrived(Some(self.fabric), from, letter, body);
        }
    }

    fn room(&mut self, from: usize, letter: &[u8], length: usize) -> Option<Lent> {
        let (envelope, _) = Envelope::open(letter)?;
        self.sender = envelope.head.source();
        if !self.is_open || !self.far.is_next(from, &envelope, self.whose) {
            return None;
        }
        let room = self.taker.room(&envelope, length);
        // From now on MPI has the place where messages are taken.
        self.is_open = room.is_none();
        room
    }
}

impl<T: Taker> Straight<'_, T> {
    #[inline]
    fn takes(&mut self, from: usize, letter: &[u8]) -> bool {
        Envelope::open(letter).is_some_and(|(envelope, contents)| {
            let is_next = self.far.is_next(from, &envelope, self.whose);
            is_next && self.taker.take(&envelope, contents)
        })
    }
}

impl Far {
    /// Takes in one message, and what a body held up. Those that are of this kind and for this near rank, which calls this,
    /// are offered to `taker`, inside MPI, until it takes one. Returns whether it did.
    #[inline]
    pub(super) fn poll_for(&self, fabric: &Fabric, whose: (Rank, Kind), taker: impl Taker) -> bool {
        let mut straight = Straight {
            far: self,
            fabric,
            whose,
            taker,
            is_open: true,
            is_taken: false,
            sender: 0,
        };
        let mut left = Left::default();
        self.poll_once(Some(fabric), false, &mut straight, &mut left);
        if let Some(body) = left.straight {
            straight.is_taken = self.stay_for(fabric, straight.sender, body);
        } else if left.wants_bodies {
            self.stay(Some(fabric));
        }
        straight.is_taken
    }

    /// Takes in messages until no sender waits for this process to take in its own, or for a moment: a copy may not arrive
    /// before its sender looks for messages itself, and later looks take it in as well.
    #[inline(never)]
    pub(super) fn stay(&self, fabric: Option<&Fabric>) {
        let (mut looks, mut begin) = (0, None);
        while self.session.processes.wants_bodies()
            && begin.get_or_insert_with(Instant::now).elapsed() < STAY
        {
            self.look(fabric, false);
            pause(&mut looks);
        }
        // Another thread may have found MPI's lock taken by the last look whether there are any.
        self.tell_received_later();
    }

    /// The same until a message of a rank has arrived where it is wanted. Returns whether it has. What was never sent is not
    /// waited for without end.
    fn stay_for(&self, fabric: &Fabric, sender: Rank, mut body: StraightBody<'_>) -> bool {
        let (from, mut looks) = (body.from(), 0);
        let has_arrived = loop {
            if let Some(has_arrived) = body.is_over() {
                break has_arrived;
            }
            self.look(Some(fabric), false);
            let membership = &self.session.membership;
            let is_over = membership.has_left(from) || membership.is_dropped(from);
            body.recall_late(self.is_ended(sender) || is_over);
            pause(&mut looks);
        };
        match has_arrived {
            Received::All => self.has_received(from),
            // As good as none.
            Received::OtherLength => self.arrived(Some(fabric), from, &[], None),
            // The next look tells of it.
            Received::MpiFailed => {}
        }
        self.stay(Some(fabric));
        has_arrived == Received::All
    }

    /// Whether a message from a process is the next one of this kind for this near rank, which calls this.
    #[inline]
    fn is_next(&self, from: usize, envelope: &Envelope, (me, kind): (Rank, Kind)) -> bool {
        (envelope.kind, envelope.to, envelope.world) == (kind, me, self.world)
            && self.ranks_of(from).contains(&envelope.head.source())
            && !self.held.any()
            && !self.session.membership.is_dropped(from)
    }

    /// Takes the next packet of a lane into a near rank, which calls this, after taking in one message.
    pub(super) fn take_from_lane(
        &self,
        fabric: &Fabric,
        me: Rank,
        key: (u32, Rank),
        place: &mut Packet,
    ) -> bool {
        let lanes = &self.lanes[me - self.near.start];
        let is_there = self.takes_past_lane(fabric, me, key, place);
        is_there || lanes.take(key).map(|packet| *place = packet).is_some()
    }

    /// Takes in one message. Returns whether it is the next one of a lane into a near rank, which calls this.
    #[inline]
    fn takes_past_lane(
        &self,
        fabric: &Fabric,
        me: Rank,
        key: (u32, Rank),
        place: &mut Packet,
    ) -> bool {
        let lanes = &self.lanes[me - self.near.start];
        self.poll_for(fabric, (me, Kind::Lane), OfLane { lanes, key, place })
    }
}

/// The end of a lane, and the place for its next packet.
struct OfLane<'l> {
    lanes: &'l LanesInto,
    key: (u32, Rank),
    place: &'l mut Packet,
}

impl Taker for OfLane<'_> {
    #[inline]
    fn take(&mut self, envelope: &Envelope, contents: &[u8]) -> bool {
        let head = envelope.head;
        let is_next = (head.context(), head.source()) == self.key && self.lanes.is_empty(self.key);
        match is_next.then(|| wire::packet(envelope, contents, None)) {
            Some(Some(packet)) => {
                *self.place = packet;
                true
            }
            _ => false,
        }
    }
}

impl Port {
    /// Takes in one message from another process: straight into the buffer if a message of its source alone is wanted, it fits
    /// there, and nothing is in the mailbox. Returns whether it is there. For a rank without posted receives that has nothing
    /// wanted set aside.
    #[inline]
    pub(in crate::transport) fn pump_into(
        &self,
        want: &Want,
        into: &mut ReceiveBuffer<'_>,
    ) -> bool {
        let Some(far) = &self.fabric.far else {
            return false;
        };
        let port = self;
        let taker = IntoBuffer { port, want, into };
        far.poll_for(&self.fabric, (self.me, Kind::Mail), taker)
    }
}

/// The buffer of a receive.
struct IntoBuffer<'r, 'b> {
    port: &'r Port,
    want: &'r Want,
    into: &'r mut ReceiveBuffer<'b>,
}

impl IntoBuffer<'_, '_> {
    #[inline]
    fn is_next(&self, envelope: &Envelope) -> bool {
        // A receive from any source looks at the fast box, where an earlier message may be, before it takes the mailbox's.
        let is_alone = self.want.source().is_some();
        is_alone && self.want.accepts(envelope.head) && self.port.endpoint.mail.is_empty()
    }
}

impl Taker for IntoBuffer<'_, '_> {
    #[inline]
    fn take(&mut self, envelope: &Envelope, contents: &[u8]) -> bool {
        self.is_next(envelope) && fill(self.into, envelope, contents)
    }

    fn room(&mut self, envelope: &Envelope, length: usize) -> Option<Lent> {
        match self.is_next(envelope) {
            true => wire::room(self.into, envelope, length),
            false => None,
        }
    }
}

/// Copies the elements of a message into a buffer of their type that has room for them.
fn fill(into: &mut ReceiveBuffer<'_>, envelope: &Envelope, contents: &[u8]) -> bool {
    let Some(elements) = wire::elements(envelope, contents) else {
        return false;
    };
    let room = into.elements.reborrow().get(0..elements.len());
    match room.filter(|room| room.info().is(elements.info())) {
        Some(mut room) => {
            room.copy_from(elements);
            (into.head, into.count) = (envelope.head, elements.len());
            true
        }
        None => false,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::ops::Deref;
    use std::sync::Arc;

    use super::*;
    use crate::mpi::Processes;
    use crate::op::elements::{Elements, ElementsMut};
    use crate::transport::Settings;
    use crate::transport::memory::head::{Head, OF_COLLECTIVES};
    use crate::transport::processes::notes::Hello;
    use crate::transport::processes::session::Session;

    const FAR: Rank = 2;

    /// A message of one number from the first rank of the other process.
    fn letter(kind: Kind, place: (Rank, u32, u32), number: u64) -> Vec<u8> {
        letter_of(kind, place, (number, Elements::of(&[number])))
    }

    /// The same of a number that these elements are.
    fn letter_of(
        kind: Kind,
        (to, context, tag): (Rank, u32, u32),
        (number, elements): (u64, Elements<'_>),
    ) -> Vec<u8> {
        let head = Head::new(context, FAR, tag, 0);
        let envelope = wire::envelope(kind, 1, to, head, elements);
        let mut letter = envelope.expect("numbers are plain").bytes().to_vec();
        letter.extend(number.to_le_bytes());
        letter
    }

    /// Two processes of two ranks, and what arrives at the first one.
    fn world(letters: impl IntoIterator<Item = Vec<u8>>) -> (Alone, Port) {
        let letters = letters.into_iter().map(|letter| (1, letter));
        let processes = Processes::without_mpi((0, 2), letters);
        let session: &'static Session = Box::leak(Box::new(Session::new(processes)));
        let hello = || Hello {
            ranks: 2,
            ..Hello::default()
        };
        let far = Arc::new(Far::new(session, 1, &[hello(), hello()]));
        let port = Fabric::spread(far.clone(), Settings::default()).port(0);
        (Alone(far), port)
    }

    /// The other process has exited at the end of a test, also of one that fails: it is not waited for.
    struct Alone(Arc<Far>);

    impl Deref for Alone {
        type Target = Far;

        fn deref(&self) -> &Far {
            &self.0
        }
    }

    impl Drop for Alone {
        fn drop(&mut self) {
            self.has_ended(FAR);
            self.has_ended(FAR + 1);
            self.session.membership.leave(1);
        }
    }

    /// What a look for a message with this tag puts into a buffer of this length.
    fn pumped(port: &Port, tag: u32, room: usize) -> Option<u64> {
        pumped_by(port, Want::new(0, Some(FAR), Some(tag)), room)
    }

    fn pumped_by(port: &Port, want: Want, room: usize) -> Option<u64> {
        let mut buffer = vec![0u64; room];
        let mut into = ReceiveBuffer {
            elements: ElementsMut::of(&mut buffer),
            head: Head::default(),
            count: 0,
        };
        let is_there = port.pump_into(&want, &mut into);
        assert!(!is_there || want.accepts(into.head) && into.count == 1);
        is_there.then(|| buffer[0])
    }

    fn mailed(port: &Port, tag: u32) -> Option<u64> {
        let mut packet = Packet::empty();
        let is_there = port.receive_now(&Want::new(0, Some(FAR), Some(tag)), &mut packet);
        is_there.then(|| packet.open(&*port.fabric, |data: &[u64]| data[0]).unwrap())
    }

    #[test]
    fn a_message_goes_straight_into_a_buffer_unless_it_would_overtake_another() {
        let of = |tag, number| letter(Kind::Mail, (0, 0, tag), number);
        let letters = [of(1, 10), of(1, 11), of(2, 20), of(1, 12), of(1, 13)];
        let (far, port) = world(letters);
        assert_eq!(pumped(&port, 1, 1), Some(10));
        assert_eq!(pumped(&port, 1, 0), None, "it is too long for the buffer");
        assert_eq!((pumped(&port, 2, 1), pumped(&port, 1, 1)), (None, None));
        assert_eq!(far.count().received, 4);
        assert_eq!(
            [1, 2, 1].map(|tag| mailed(&port, tag)),
            [Some(11), Some(20), Some(12)]
        );
        assert_eq!((pumped(&port, 1, 2), pumped(&port, 1, 2)), (Some(13), None));
        assert_eq!(far.count().received, 5);
    }

    #[test]
    fn a_message_that_waits_for_another_receive_does_not_hold_up_the_way() {
        let of = |tag, number| letter(Kind::Mail, (0, 0, tag), number);
        let (_far, port) = world([of(7, 70), of(1, 10), of(1, 11)]);
        // Nobody asks for it yet.
        assert_eq!((pumped(&port, 1, 1), mailed(&port, 1)), (None, None));
        assert_eq!(
            [pumped(&port, 1, 1), pumped(&port, 1, 1)],
            [Some(10), Some(11)]
        );
        assert_eq!(mailed(&port, 7), Some(70));
    }

    #[test]
    fn a_receive_takes_no_message_straight_that_is_not_its_own() {
        let place = (0, 0, 1);
        let of_another_type = letter_of(Kind::Mail, place, (1, Elements::of(&[1i64])));
        let in_another_comm = letter(Kind::Mail, (0, 8, 1), 2);
        let synchronous = letter(Kind::Synchronous(0), place, 3);
        let of_a_lane = letter(Kind::Lane, place, 4);
        for (case, other) in [of_another_type, in_another_comm, synchronous, of_a_lane]
            .into_iter()
            .enumerate()
        {
            let (_far, port) = world([other, letter(Kind::Mail, place, 5)]);
            assert_eq!(pumped(&port, 1, 1), None, "{case}");
            let lane = case == 3;
            assert_eq!(port.endpoint.mail.is_empty(), lane, "{case}");
            let mut packet = Packet::empty();
            let is_left = port.receive_now(&Want::new(0, None, None), &mut packet);
            assert_eq!(
                (is_left, pumped(&port, 1, 1)),
                (case != 1 && !lane, Some(5)),
                "{case}"
            );
        }
    }

    #[test]
    fn no_process_is_blamed_where_mpi_has_failed_while_its_message_was_received() {
        let (far, port) = world([]);
        let body = StraightBody::of_failed(&far.session.processes, 1);
        assert!(!far.stay_for(&port.fabric, FAR, body));
        assert!(!far.session.membership.is_excluded(1));
        assert_eq!(far.count().received, 0);
    }

    /// An earlier message from another rank may be in the fast box.
    #[test]
    fn a_receive_takes_messages_with_any_tag_straight_and_none_from_any_source() {
        let of = |tag, number| letter(Kind::Mail, (0, 0, tag), number);
        let (_far, port) = world([of(1, 10), of(2, 20), of(3, 30)]);
        let any_tag = Want::new(0, Some(FAR), None);
        assert_eq!(
            [1, 2].map(|_| pumped_by(&port, any_tag, 1)),
            [Some(10), Some(20)]
        );
        assert_eq!(pumped_by(&port, Want::new(0, None, Some(3)), 1), None);
        assert_eq!(mailed(&port, 3), Some(30));
    }

    #[test]
    fn what_is_held_or_for_another_rank_goes_its_usual_way() {
        let other = letter(Kind::Mail, (1, 0, 1), 1);
        let (far, port) = world([other, letter(Kind::Mail, (0, 0, 1), 2)]);
        assert_eq!(pumped(&port, 1, 1), None);
        assert!(!port.fabric.endpoints[1].mail.is_empty());
        far.held.begin(1);
        assert_eq!((pumped(&port, 1, 1), far.count().received), (None, 1));
        far.take_held(Some(&port.fabric), true);
        assert_eq!((mailed(&port, 1), far.count().received), (Some(2), 2));
    }

    /// Looks for the next packet of a lane, and tells its tag.
    fn next(far: &Far, port: &Port, context: u32) -> Option<u32> {
        let mut packet = Packet::empty();
        let key = (context + OF_COLLECTIVES, FAR);
        let is_there = far.take_from_lane(&port.fabric, 0, key, &mut packet);
        is_there.then(|| packet.head.tag())
    }

    fn in_lane(context: u32, tag: u32) -> Vec<u8> {
        letter(Kind::Lane, (0, context + OF_COLLECTIVES, tag), tag.into())
    }

    #[test]
    fn packets_of_a_lane_are_taken_in_their_order() {
        let letters = [(0, 1), (8, 2), (0, 3), (0, 4), (0, 5), (8, 6)];
        let (far, port) = world(letters.map(|(context, tag)| in_lane(context, tag)));
        let taken = [0, 0, 0, 8, 0, 0, 8, 0].map(|context| next(&far, &port, context));
        let wanted = [
            Some(1),
            None,
            Some(3),
            Some(2),
            Some(4),
            Some(5),
            Some(6),
            None,
        ];
        assert_eq!(taken, wanted);
        assert!(far.lanes[0].drain().next().is_none());
    }

    #[test]
    fn a_packet_that_is_never_taken_holds_up_no_other_lane() {
        let (far, port) = world([in_lane(8, 1), in_lane(0, 2), in_lane(8, 3)]);
        assert_eq!(next(&far, &port, 0), None);
        let straight = |context| {
            let mut packet = Packet::empty();
            let key = (context + OF_COLLECTIVES, FAR);
            let is_there = far.takes_past_lane(&port.fabric, 0, key, &mut packet);
            is_there.then(|| packet.head.tag())
        };
        assert_eq!(
            [straight(0), straight(8)],
            [Some(2), None],
            "it does in its own lane"
        );
        assert_eq!(
            [8, 8].map(|context| next(&far, &port, context)),
            [Some(1), Some(3)]
        );
    }
}
