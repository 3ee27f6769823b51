//! What both ends of a direction know of the messages so far, and the word that accompanies a very short message.
//!
//! Messages take two paths, a ring and a line (see [`slot`](crate::transport::lanes::slot)), and form one sequence.
//!
//! # A word
//!
//! The bytes of a message must never be taken for more elements than there are, nor for another type. The word beside
//! them therefore gives both exactly, and the call to which they belong:
//!
//! ```text
//! 63    56 55    48 47   40 39   36 35   32 31         0
//! │ number │ before │ calls │ type │ count │ fingerprint │
//! ```
//!
//! - *number* of the message in the line, and of those in the ring *before* it, both modulo 256. A half held nothing
//!   but number n - 2 before, and at most eight messages of the ring are unread, so both are exact.
//! - *calls*: the number of calls since that of the previous message on either path.
//! - *type*: one of the last few types that were announced. A message of the ring, which carries its whole type,
//!   announces it; both ends keep the same list, since they see the same messages in one order.

use crate::transport::memory::head::{Head, Info};

/// Number of messages of one direction that a ring holds.
pub(in crate::transport) const CELLS: u32 = if cfg!(all(test, loom)) { 2 } else { 8 };
/// Number of types that a direction remembers.
const TYPES: usize = 4;
/// Maximum number of elements that a word can express: all bits of its field.
const MOST: usize = 15;
/// Maximum number of calls between two messages that a word can express.
const CALLS: u64 = 255;

/// Numbers of messages of a direction that have gone through each path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport) struct Count {
    pub(in crate::transport) ring: u32,
    pub(in crate::transport) line: u32,
}

impl Count {
    /// The turn of the next message of the ring, if it announces nothing. Sixteen bits hold the number of messages of
    /// the line before it, since at most two of those are unread.
    #[inline]
    pub(in crate::transport) fn turn(self) -> u64 {
        u64::from(self.ring.wrapping_add(1)) << 32 | u64::from(self.line as u16) << 16
    }

    /// The top bits of the word of the next message of the line.
    #[inline]
    pub(in crate::transport) fn number(self) -> u64 {
        u64::from(self.line.wrapping_add(1) as u8) << 8 | u64::from(self.ring as u8)
    }

    /// The index of the next message in its ring.
    #[inline]
    pub(in crate::transport) fn cell(self) -> usize {
        (self.ring % CELLS) as usize
    }

    /// The index of the next message among the halves of its sender.
    #[inline]
    pub(in crate::transport) fn half(self) -> usize {
        (self.line.wrapping_add(1) % 2) as usize
    }
}

/// What both ends of a direction know of the messages so far.
#[derive(Clone, Copy)]
pub(in crate::transport) struct Known {
    pub(in crate::transport) count: Count,
    /// The number of the last message's call.
    call: u32,
    /// The announced types, and the index of the one that the next replaces.
    types: [Option<&'static Info>; TYPES],
    oldest: usize,
}

impl Known {
    pub(in crate::transport) fn new(count: Count) -> Known {
        Known {
            count,
            call: 0,
            types: [None; TYPES],
            oldest: 0,
        }
    }

    #[inline]
    pub(in crate::transport) fn knows(&self, info: &'static Info) -> bool {
        self.place_of(info).is_some()
    }

    /// Compares addresses: a type with two addresses is announced twice.
    #[inline]
    fn place_of(&self, info: &'static Info) -> Option<usize> {
        let mut types = self.types.iter();
        types.position(|known| known.is_some_and(|known| std::ptr::eq(known, info)))
    }

    #[cold]
    pub(in crate::transport) fn announce(&mut self, info: &'static Info) {
        self.types[self.oldest] = Some(info);
        self.oldest = (self.oldest + 1) % TYPES;
    }

    #[inline]
    pub(in crate::transport) fn went_by_ring(&mut self, head: Head) {
        self.count.ring = self.count.ring.wrapping_add(1);
        self.call = head.tag();
    }

    #[inline]
    pub(in crate::transport) fn went_by_line(&mut self, head: Head) {
        self.count.line = self.count.line.wrapping_add(1);
        self.call = head.tag();
    }

    /// The word of the next message in the line, which has `count` elements of the type `info`; `None`: no word can
    /// express it.
    #[inline]
    pub(in crate::transport) fn say(
        &self,
        head: Head,
        info: &'static Info,
        count: usize,
    ) -> Option<u64> {
        let place = self.place_of(info)? as u64;
        let calls = u64::from(head.tag().wrapping_sub(self.call));
        if calls > CALLS || count > MOST {
            return None;
        }
        let before = self.count.number() << 48 | calls << 40;
        Some(before | place << 36 | (count as u64) << 32 | u64::from(head.print()))
    }

    /// What a word says: the head, completed by what all heads have in common, the type and the number of elements.
    #[inline]
    pub(in crate::transport) fn hear(&self, word: u64, common: u64) -> (Head, &'static Info, u32) {
        let info = self.types[(word >> 36) as usize % TYPES];
        let calls = u32::from((word >> 40) as u8);
        let call = u64::from(self.call.wrapping_add(calls)) << 32 | u64::from(word as u32);
        (
            Head::of(common, call),
            info.expect("a word names types that were announced"),
            (word >> 32) as u32 & MOST as u32,
        )
    }
}
