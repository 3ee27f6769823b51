//! Messages between processes as bytes: an envelope of fixed size, then elements or a [note](super::notes), which are in
//! memory of their own if they are long.
//!
//! # Why this is sound
//!
//! The elements of a message are shown as the type that its number names. They are the bytes of as many elements of the
//! same type in another process of this program, whose author promises that they mean the same here
//! ([`Plain`](crate::op::Plain)). They begin at a multiple of 16 bytes, which is enough for any plain type, and there are
//! as many of them as the message says, which is checked. The same holds of those that are received where they are wanted.
//!
//! What is [lent](lent) belongs to a rank that does not return from `Processes::send_announced` before it is sent; and a
//! [room](room) is lent by a rank that is in `Far::poll_for` until the receive is over, which has the buffer to itself.
#![allow(unsafe_code)]

use std::sync::Arc;

use crate::Rank;

use crate::mpi::{HEAD, Lent, Message};
use crate::op::elements::Elements;
use crate::op::plain::{self, Received};
use crate::transport::matching::receive_buffer::ReceiveBuffer;
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Elements for a mailbox.
    Mail,
    /// Elements for a mailbox; their sender waits for the receipt of this number.
    Synchronous(u32),
    /// The message with this number was received.
    Received(u32),
    /// The message with this number was revoked.
    Revoked(u32),
    /// Elements for a lane.
    Lane,
    /// The process opens a world.
    Hello,
    /// A rank has ended.
    End,
    /// A communicator has broken.
    Broken,
    /// What processes say of their [silence](super::silence).
    Silence,
    /// The process exits.
    Bye,
    /// A process takes [no part](super::membership) any more.
    Excluded,
}

/// The kinds of messages, in the order of their numbers.
const KINDS: [Kind; 11] = [
    Kind::Mail,
    Kind::Lane,
    Kind::Hello,
    Kind::End,
    Kind::Broken,
    Kind::Silence,
    Kind::Bye,
    Kind::Synchronous(0),
    Kind::Received(0),
    Kind::Revoked(0),
    Kind::Excluded,
];

impl Kind {
    /// The number of the kind, and of the receipt.
    fn numbers(self) -> (u32, u32) {
        match self {
            Kind::Mail => (0, 0),
            Kind::Lane => (1, 0),
            Kind::Hello => (2, 0),
            Kind::End => (3, 0),
            Kind::Broken => (4, 0),
            Kind::Silence => (5, 0),
            Kind::Bye => (6, 0),
            Kind::Synchronous(receipt) => (7, receipt),
            Kind::Received(receipt) => (8, receipt),
            Kind::Revoked(receipt) => (9, receipt),
            Kind::Excluded => (10, 0),
        }
    }

    /// The kind with these numbers.
    fn of((kind, receipt): (u32, u32)) -> Option<Kind> {
        Some(match *KINDS.get(kind as usize)? {
            Kind::Synchronous(_) => Kind::Synchronous(receipt),
            Kind::Received(_) => Kind::Received(receipt),
            Kind::Revoked(_) => Kind::Revoked(receipt),
            other => other,
        })
    }
}

/// What comes before the contents of every message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Envelope {
    pub kind: Kind,
    /// The number of the world that the message is of.
    pub world: u32,
    /// The receiver of elements, a rank of the world.
    pub to: Rank,
    pub head: Head,
    /// The number of the elements' type, and how many there are.
    pub plain: u64,
    pub count: u64,
}

pub(super) const LENGTH: usize = HEAD;

impl Envelope {
    /// The envelope of a note.
    pub(super) fn of_note(kind: Kind, world: u32) -> Envelope {
        Envelope {
            kind,
            world,
            to: 0,
            head: Head::default(),
            plain: 0,
            count: 0,
        }
    }

    /// The envelope as bytes.
    pub(super) fn bytes(&self) -> [u8; LENGTH] {
        let Envelope { head, .. } = *self;
        let half = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let (kind, receipt) = self.kind.numbers();
        let words = [
            half(self.world, kind),
            half(receipt, self.to as u32),
            half(head.context(), head.source() as u32),
            half(head.tag(), head.print()),
            self.plain,
            self.count,
        ];
        let mut bytes = [0; LENGTH];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The envelope of a message and its contents.
    pub(super) fn open(letter: &[u8]) -> Option<(Envelope, &[u8])> {
        let (envelope, contents) = letter.split_first_chunk::<LENGTH>()?;
        let (words, _) = envelope.as_chunks();
        let word = |place: usize| u64::from_le_bytes(words[place]);
        let [first, to, line, call] = [word(0), word(1), word(2), word(3)];
        let (plain, count) = (word(4), word(5));
        let high = |word: u64| (word >> 32) as u32;
        let envelope = Envelope {
            kind: Kind::of((first as u32, high(to)))?,
            world: high(first),
            to: to as u32 as Rank,
            head: Head::new(high(line), line as u32 as Rank, high(call), call as u32),
            plain,
            count,
        };
        Some((envelope, contents))
    }
}

/// The envelope of a message of elements; `None` if their type is not known as plain.
pub(super) fn envelope(
    kind: Kind,
    world: u32,
    to: Rank,
    head: Head,
    elements: Elements<'_>,
) -> Option<Envelope> {
    Some(Envelope {
        kind,
        world,
        to,
        head,
        plain: plain::number_of(elements.info())?,
        count: elements.len() as u64,
    })
}

/// The shortest contents of a letter that are copied into memory that is kept for others.
const KEPT: usize = 1 << 15;

/// The packet of a message of elements; `None` if their type is not known here, or if they are not as many as it says.
pub(super) fn packet(
    envelope: &Envelope,
    contents: &[u8],
    body: Option<Message>,
) -> Option<Packet> {
    // A packet with a receipt owns its elements.
    let may_share = !matches!(envelope.kind, Kind::Synchronous(_));
    let is_long = may_share && contents.len() >= KEPT;
    let body = body.or_else(|| is_long.then(|| Message::of(contents)));
    let elements = elements(envelope, body.as_ref().map_or(contents, Message::bytes))?;
    if may_share && body.is_some() {
        let (count, info) = (elements.len(), elements.info());
        // SAFETY: these bytes are elements of this type, see the head.
        let received = unsafe { Received::new(Box::new(body?), count, info) };
        return Some(Packet::shared(envelope.head, info, Arc::new(received)));
    }
    Some(match may_share && Packet::fits(elements) {
        true => Packet::eager(envelope.head, elements),
        false => Packet::copy_of(envelope.head, elements),
    })
}

/// The elements of a message that is sent from where they are.
pub(super) fn lent(elements: Elements<'_>) -> Lent {
    // SAFETY: they are read, by a caller that is told to wait.
    unsafe { Lent::new(elements.first().cast_mut(), elements.size()) }
}

/// Where a message with contents of this length goes in a buffer; notes that it is there. `None` if its elements are of
/// another type, or if there is no room for them.
pub(super) fn room(
    into: &mut ReceiveBuffer<'_>,
    envelope: &Envelope,
    length: usize,
) -> Option<Lent> {
    let info = plain::type_of(envelope.plain)?;
    let count = usize::try_from(envelope.count).ok()?;
    let is_whole = count.checked_mul(info.size()) == Some(length);
    let fits = into.elements.info().is(info) && count <= into.elements.len();
    if !is_whole || !fits {
        return None;
    }
    (into.head, into.count) = (envelope.head, count);
    // SAFETY: room for as many elements of this type, of a caller that is told to wait.
    Some(unsafe { Lent::new(into.elements.first(), length) })
}

/// The elements of a message in these bytes; `None` as above.
#[inline]
pub(super) fn elements<'b>(envelope: &Envelope, bytes: &'b [u8]) -> Option<Elements<'b>> {
    let info = plain::type_of(envelope.plain)?;
    let count = usize::try_from(envelope.count).ok()?;
    let first = bytes.as_ptr();
    let is_whole = count.checked_mul(info.size()) == Some(bytes.len());
    // SAFETY: these bytes are `count` elements of this type, see the head, and the pointer is aligned, as is checked.
    (is_whole && first.addr().is_multiple_of(info.align()))
        .then(|| unsafe { Elements::from_raw(first, count, info) })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_is_the_same_after_it_was_sent() {
        let with_receipts = [
            Kind::Synchronous(7),
            Kind::Received(u32::MAX),
            Kind::Revoked(2),
        ];
        for kind in KINDS.into_iter().chain(with_receipts) {
            let sent = Envelope {
                kind,
                world: 3,
                to: 70_000,
                head: Head::new(8, 5, u32::MAX, 6),
                plain: u64::MAX,
                count: 1 << 40,
            };
            let letter = [&sent.bytes()[..], &[1, 2]].concat();
            assert_eq!(Envelope::open(&letter), Some((sent, &[1, 2][..])));
        }
        assert_eq!(Envelope::open(&[0; LENGTH - 1]), None);
    }
}
