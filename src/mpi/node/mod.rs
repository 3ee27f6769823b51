//! The processes of this node with which this one shares memory: letters between them go through that instead of MPI.
//!
//! - `segment`: the memory; `ring`: letters in it
//!
//! Each process offers its segment to all others by a letter over MPI. Who can map it says so by its last letter over
//! MPI, and sends all others through the segment: what it has sent before comes before that one, so its letters stay in
//! order. Either direction is on its own. Bodies of messages that are too long for a letter go over MPI.
//!
//! A letter that finds no room waits until its receiver has read others, for polls or sends of its sender.

pub(crate) mod ring;
#[cfg(target_os = "linux")]
mod segment;
#[cfg(not(target_os = "linux"))]
#[path = "no_segment.rs"]
mod segment;

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::mem::MaybeUninit;

use ring::{ARENA, BLOCK, LetterReader, LetterRing, LetterWriter};
pub(super) use segment::ADDRESS;
use segment::Address;

use super::Bytes;
use crate::environment;

/// The bytes of all arenas that a process writes to, which stay memory of the node, and the least bytes of one.
const ARENAS: usize = 1 << 27;
const LEAST: usize = 1 << 14;

/// Says by `off` that this process shares no memory with others, by `on` that it does.
const CHOICE: &str = "RANKFOLD_SHARED_MEMORY";

/// The letters to and from processes of this node.
pub(super) struct NodeLetters {
    /// The segment of this process: a ring for each process.
    own: Option<(Address, &'static [LetterRing])>,
    me: usize,
    /// The bytes of an arena that it uses.
    arena: usize,
    outboxes: Vec<Option<Outbox>>,
    /// Number of letters that wait for room.
    waiting: usize,
    /// Those whose letters come through this process's segment, and whose turn it is.
    pub readers: Readers,
}

/// The letters to a process.
pub(super) struct Outbox {
    writer: LetterWriter<&'static LetterRing>,
    waiting: VecDeque<Bytes>,
}

/// The rings in which letters arrive, with their processes.
#[derive(Default)]
pub(super) struct Readers {
    all: Vec<(usize, LetterReader<&'static LetterRing>)>,
    next: usize,
}

impl NodeLetters {
    /// Of process `me` of `count`, which shares memory or does not.
    pub(super) fn new((me, count): (usize, usize), shares: bool) -> NodeLetters {
        let shares = shares && count > 1;
        NodeLetters {
            own: shares.then(|| segment::create(count)).flatten(),
            me,
            arena: (ARENAS / count).clamp(LEAST, ARENA) & !(2 * BLOCK - 1),
            outboxes: (0..count).map(|_| None).collect(),
            waiting: 0,
            readers: Readers::default(),
        }
    }

    /// The address of this process's segment, for others.
    pub(super) fn offer(&self) -> Option<[u8; ADDRESS]> {
        self.own.map(|(address, _)| address.bytes())
    }

    /// Maps the segment that a process offers, if that can be done, for all letters to it.
    pub(super) fn map(&self, from: usize, offer: &[u8; ADDRESS]) -> Option<Outbox> {
        // A process that shares no memory itself uses none of others.
        if self.own.is_none() || self.reaches(from) {
            return None;
        }
        let ring = segment::open(&Address::of(offer), self.me)?;
        Some(Outbox {
            writer: LetterWriter::of(ring, self.arena)?,
            waiting: VecDeque::new(),
        })
    }

    /// Letters to a process go there from now on.
    pub(super) fn accept(&mut self, from: usize, outbox: Outbox) {
        self.outboxes[from] = Some(outbox);
    }

    /// The letters of a process come through this process's segment from now on. Returns whether that may be.
    pub(super) fn moves(&mut self, from: usize) -> bool {
        let reader = self
            .own
            .and_then(|(_, rings)| LetterReader::of(&rings[from]));
        let may_move = reader.is_some();
        self.readers.all.extend(reader.map(|reader| (from, reader)));
        may_move
    }

    /// Whether the letters of a process come through this process's segment.
    pub(super) fn has_moved(&self, from: usize) -> bool {
        self.readers.all.iter().any(|(process, _)| *process == from)
    }

    /// Whether letters to a process go through its segment.
    #[inline]
    pub(super) fn reaches(&self, to: usize) -> bool {
        self.outboxes[to].is_some()
    }

    /// The bytes of the longest letter to a process, if it [reaches](Self::reaches) that: two of them fit.
    #[inline]
    pub(super) fn longest(&self, to: usize) -> Option<usize> {
        self.reaches(to).then_some(self.arena / 2)
    }

    /// Sends a letter of these parts to a process that it [reaches](Self::reaches).
    #[inline]
    pub(super) fn send(&mut self, to: usize, parts: [&[MaybeUninit<u8>]; 3]) {
        let outbox = self.outboxes[to].as_mut().expect("a process of this node");
        if !outbox.waiting.is_empty() {
            self.waiting -= outbox.waiting.len();
            self.waiting += outbox.send_waiting();
        }
        if !outbox.waiting.is_empty() || !outbox.writer.write(parts) {
            outbox.waiting.push_back(parts.concat());
            self.waiting += 1;
        }
    }

    /// Sends letters that wait, as far as there is room.
    #[inline]
    pub(super) fn send_waiting(&mut self) {
        if self.waiting > 0 {
            self.waiting = self
                .outboxes
                .iter_mut()
                .flatten()
                .map(Outbox::send_waiting)
                .sum();
        }
    }

    /// The processes for which letters wait.
    pub(super) fn receivers(&self) -> impl Iterator<Item = usize> {
        let outboxes = self.outboxes.iter().enumerate();
        let outboxes = outboxes.filter(|_| self.waiting > 0);
        let waits =
            |outbox: &Option<Outbox>| outbox.as_ref().is_some_and(|it| !it.waiting.is_empty());
        outboxes
            .filter(move |(_, outbox)| waits(outbox))
            .map(|(to, _)| to)
    }
}

/// Whether this process is to share memory, by its environment.
pub(super) fn is_wanted() -> Result<bool, String> {
    chosen(environment::value(CHOICE).as_deref())
}

/// The same by the value of the variable.
fn chosen(value: Option<&OsStr>) -> Result<bool, String> {
    match value.map(OsStr::as_encoded_bytes) {
        None | Some(b"on") => Ok(true),
        Some(b"off") => Ok(false),
        Some(_) => Err(format!(
            "{CHOICE} is {:?} in the environment: it may be on or off",
            value.unwrap_or_default()
        )),
    }
}

impl Outbox {
    /// Returns how many still wait.
    fn send_waiting(&mut self) -> usize {
        while let Some(letter) = self.waiting.front()
            && self.writer.write([letter, &[], &[]])
        {
            self.waiting.pop_front();
        }
        self.waiting.len()
    }
}

impl Readers {
    /// How many processes send their letters so.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// Reads at most `most` letters, and none after `most_bytes`, of all processes in turn, each with its sender. Returns how
    /// many.
    #[inline]
    pub(super) fn read(
        &mut self,
        (most, most_bytes): (usize, usize),
        mut read: impl FnMut(usize, &[u8]),
    ) -> usize {
        let (mut count, mut empty, mut bytes) = (0, 0, 0);
        while count < most && bytes < most_bytes && empty < self.all.len() {
            let place = self.next;
            self.next = if place + 1 < self.all.len() {
                place + 1
            } else {
                0
            };
            let (from, reader) = &mut self.all[place];
            let is_there = reader.read(|letter| {
                bytes += letter.len();
                read(*from, letter);
            });
            match is_there {
                true => (count, empty) = (count + 1, 0),
                false => empty += 1,
            }
        }
        count
    }
}

#[cfg(all(test, target_os = "linux", not(loom)))]
mod tests {
    use super::super::message::as_padded;
    use super::*;

    fn accept(node: &mut NodeLetters, other: usize, offer: &[u8; ADDRESS]) {
        let outbox = node.map(other, offer).expect("it is of this node");
        node.accept(other, outbox);
    }

    /// Two processes that share memory.
    fn two() -> [NodeLetters; 2] {
        let mut nodes = [0, 1].map(|me| NodeLetters::new((me, 2), true));
        let offers = [0, 1].map(|me: usize| nodes[me].offer().expect("Linux has such memory"));
        for (me, other) in [(0, 1), (1, 0)] {
            assert!(!nodes[me].reaches(other));
            accept(&mut nodes[me], other, &offers[other]);
            assert!(nodes[other].moves(me) && nodes[me].reaches(other));
            assert!(nodes[me].map(other, &offers[other]).is_none(), "it has one");
            assert!(!nodes[other].moves(me), "it has moved");
        }
        nodes
    }

    #[test]
    fn memory_is_shared_unless_the_environment_says_off() {
        let chosen = |value: &str| chosen(Some(value.as_ref()));
        assert_eq!(["on", "off"].map(chosen), [Ok(true), Ok(false)]);
        let error = chosen("no").unwrap_err();
        assert_eq!(
            error,
            r#"RANKFOLD_SHARED_MEMORY is "no" in the environment: it may be on or off"#
        );
    }

    #[test]
    fn letters_that_find_no_room_wait_for_it_in_order() {
        let [mut first, mut second] = two();
        let letters: Vec<Vec<u8>> = (0..1000u64)
            .map(|number| number.to_le_bytes().repeat(1 + number as usize * 37 % 500))
            .collect();
        for letter in &letters {
            first.send(1, [&[], as_padded(letter), &[]]);
        }
        let mut read = Vec::new();
        while first.receivers().eq([1]) {
            let before = read.len();
            second.readers.read((7, 1 << 20), |from, letter| {
                read.push((from, letter.to_vec()))
            });
            assert!(read.len() > before);
            first.send_waiting();
        }
        second.readers.read((1000, 1 << 30), |from, letter| {
            read.push((from, letter.to_vec()))
        });
        assert!(read.iter().map(|(from, _)| *from).eq([0; 1000]));
        assert!(read.into_iter().map(|(_, letter)| letter).eq(letters));
    }

    #[test]
    fn letters_of_all_processes_are_read_in_turn() {
        let mut nodes: Vec<_> = (0..3).map(|me| NodeLetters::new((me, 3), true)).collect();
        let offer = nodes[0].offer().unwrap();
        for other in [1, 2] {
            accept(&mut nodes[other], 0, &offer);
            assert!(nodes[0].moves(other));
            (0..3).for_each(|_| nodes[other].send(0, [&[], &[], &[]]));
        }
        let mut read = Vec::new();
        while nodes[0].readers.read((1, 1), |from, _| read.push(from)) > 0 {}
        assert_eq!(read, [1, 2, 1, 2, 1, 2]);
    }
}
