//! Letters from one process to another of the same node, in memory that both have mapped.
//!
//! ```text
//! ends      how many letters have been read; whether there are a writer and a reader
//! slots     a short letter │ stamp    a short letter │ stamp    …    in turn; the stamp is the number of the letter and its length
//! arena     long letters, one behind the other, from the beginning once all have been read; a slot says where
//! ```
//!
//! # Why this is sound
//!
//! - There is one writer and one reader, in whichever processes: either end is claimed in the memory itself, once.
//! - Letters are numbered from 1, and number n is in slot n modulo `SLOTS`. The writer writes a slot or a part of the arena
//!   only once it knows that the letter before there was read: it loads `read` by acquire, which pairs with the release by
//!   which the reader stores it after the last access to a letter.
//! - A stamp is stored by release after the letter, and loaded by acquire before: the reader accesses a letter that is
//!   whole, and is not written again before it stores `read`. A slot has the stamp of the letter that is sought or of one
//!   `SLOTS` before, so none is taken for another.
//! - A length and a place are compared with the room before they are used, so no memory besides is accessed, whatever is
//!   in the ring.
//! - Memory of zeros is an empty ring: letter 0 is in no turn until the numbers wrap, and its slot has another one's stamp
//!   by then.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::ops::{Deref, Range};
use std::{ptr, slice};

use crate::sync::{AtomicU64, Ordering, Place};

/// The bytes of the longest letter in a slot.
pub(crate) const SHORT: usize = 120;
/// Number of slots, a power of two.
pub(crate) const SLOTS: usize = if cfg!(all(test, loom)) { 2 } else { 128 };
/// A long letter has a number of blocks of as many bytes.
pub(super) const BLOCK: usize = 128;
/// The bytes of the longest page.
pub(super) const PAGE: usize = 1 << 16;
/// The bytes of the arena: of two messages of a megabyte, and what makes a ring a number of the longest pages. In a model a
/// letter has one block, and there is room for one.
pub(crate) const ARENA: usize = if cfg!(all(test, loom)) {
    BLOCK
} else {
    33 * PAGE - size_of::<RingEnds>() - SLOTS * size_of::<LetterSlot>()
};

/// What two builds must have in common that share a ring; the first number is another one for other rules.
pub(super) const LAYOUT: [u8; 4] = [1, SLOTS as u8, SHORT as u8, BLOCK as u8];

/// A ring of letters.
#[repr(C, align(128))]
pub(crate) struct LetterRing {
    ends: RingEnds,
    slots: [LetterSlot; SLOTS],
    arena: [ArenaBlock; ARENA / BLOCK],
}

/// In lines of its own, as the reader writes it.
#[repr(C, align(128))]
struct RingEnds {
    read: AtomicU64,
    claimed: AtomicU64,
}

/// The ends that can be claimed.
const WRITER: u64 = 1;
const READER: u64 = 2;

/// A short letter, or where a long one begins in the arena.
#[repr(C, align(128))]
struct LetterSlot {
    letter: Place<[MaybeUninit<u8>; SHORT]>,
    stamp: AtomicU64,
}

#[repr(C, align(128))]
struct ArenaBlock(Place<[MaybeUninit<u8>; BLOCK]>);

/// The end of a ring that writes.
pub(crate) struct LetterWriter<R> {
    ring: R,
    /// How many letters were written, and how many were read as far as the writer knows. They wrap.
    written: u32,
    read: u32,
    /// The bytes of the arena that it uses.
    arena: usize,
    /// The long letters that were not read as far as it knows, with their numbers and places.
    long: VecDeque<(u32, Range<usize>)>,
}

/// The end of a ring that reads.
pub(crate) struct LetterReader<R> {
    ring: R,
    /// How many letters were read. It wraps.
    read: u32,
}

// SAFETY: the ends may be in different threads, see the head of this file.
unsafe impl Sync for LetterRing {}

impl LetterRing {
    #[cfg(all(test, loom))]
    pub(crate) fn new() -> LetterRing {
        let slot = |_| LetterSlot {
            letter: Place::new([MaybeUninit::zeroed(); SHORT]),
            stamp: AtomicU64::new(0),
        };
        LetterRing {
            ends: RingEnds {
                read: AtomicU64::new(0),
                claimed: AtomicU64::new(0),
            },
            slots: std::array::from_fn(slot),
            arena: std::array::from_fn(|_| ArenaBlock(Place::new([MaybeUninit::zeroed(); BLOCK]))),
        }
    }

    /// Claims an end. Returns whether it was free.
    fn claim(&self, end: u64) -> bool {
        // Relaxed: an end is claimed once, so there is nothing to know of a claim before.
        self.ends.claimed.fetch_or(end, Ordering::Relaxed) & end == 0
    }

    #[inline]
    fn slot(&self, number: u32) -> &LetterSlot {
        &self.slots[number as usize % SLOTS]
    }

    /// The memory of a part of the arena, which begins at a block.
    #[cfg(not(all(test, loom)))]
    #[inline]
    fn with_arena<T>(&self, part: Range<usize>, f: impl FnOnce(*mut u8) -> T) -> T {
        assert!(part.end <= ARENA);
        // SAFETY: within the arena.
        f(unsafe { self.arena.as_ptr().cast::<u8>().add(part.start).cast_mut() })
    }

    /// The same in a model, where a part is a block.
    #[cfg(all(test, loom))]
    fn with_arena<T>(&self, part: Range<usize>, f: impl FnOnce(*mut u8) -> T) -> T {
        self.arena[part.start / BLOCK].0.with_mut(|it| f(it.cast()))
    }
}

fn stamp(number: u32, length: usize) -> u64 {
    u64::from(number) << 32 | length as u64
}

impl<R: Deref<Target = LetterRing>> LetterWriter<R> {
    /// The writer of a ring, unless there is one, which uses `arena` bytes of its arena.
    pub(crate) fn of(ring: R, arena: usize) -> Option<LetterWriter<R>> {
        ring.claim(WRITER).then(|| LetterWriter {
            ring,
            written: 0,
            read: 0,
            arena: arena.min(ARENA),
            long: VecDeque::new(),
        })
    }

    /// Writes a letter of these parts, unless there is no room before others are read. Returns whether it did.
    #[inline]
    pub(crate) fn write(&mut self, parts: [&[MaybeUninit<u8>]; 3]) -> bool {
        let length = parts.iter().map(|part| part.len()).sum();
        if self.written.wrapping_sub(self.read) as usize >= SLOTS || length > SHORT {
            self.learn();
            if self.written.wrapping_sub(self.read) as usize >= SLOTS {
                return false;
            }
        }
        let number = self.written.wrapping_add(1);
        let slot = self.ring.slot(number);
        let copy = |mut at: *mut u8| {
            for part in parts {
                // SAFETY: there is room for all parts, and the letter before in this memory was read.
                unsafe {
                    ptr::copy_nonoverlapping(part.as_ptr().cast(), at, part.len());
                    at = at.add(part.len());
                }
            }
        };
        if length <= SHORT {
            slot.letter.with_mut(|it| copy(it.cast()));
        } else {
            let Some(begin) = self.room(length) else {
                return false;
            };
            self.ring.with_arena(begin..begin + length, copy);
            // SAFETY: a word fits.
            slot.letter
                .with_mut(|it| unsafe { it.cast::<u64>().write(begin as u64) });
            let end = begin + length.next_multiple_of(BLOCK);
            self.long.push_back((number, begin..end));
        }
        slot.stamp.store(stamp(number, length), Ordering::Release); // Pairs with the load of `LetterReader::read`.
        self.written = number;
        true
    }

    /// Learns what was read.
    fn learn(&mut self) {
        self.read = self.ring.ends.read.load(Ordering::Acquire) as u32; // Pairs with the store of `LetterReader::read`.
        let unread = self.written.wrapping_sub(self.read);
        while let Some((number, _)) = self.long.front()
            && self.written.wrapping_sub(*number) >= unread
        {
            self.long.pop_front();
        }
    }

    /// Where there is room in the arena for a letter.
    fn room(&self, length: usize) -> Option<usize> {
        let (Some((_, first)), Some((_, last))) = (self.long.front(), self.long.back()) else {
            return (length <= self.arena).then_some(0);
        };
        let fits = |begin: usize, end: usize| length <= end.saturating_sub(begin);
        match last.end > first.start {
            true if fits(last.end, self.arena) => Some(last.end),
            true => fits(0, first.start).then_some(0),
            false => fits(last.end, first.start).then_some(last.end),
        }
    }
}

impl<R: Deref<Target = LetterRing>> LetterReader<R> {
    /// The reader of a ring, unless there is one.
    pub(crate) fn of(ring: R) -> Option<LetterReader<R>> {
        ring.claim(READER).then(|| LetterReader { ring, read: 0 })
    }

    /// Reads the next letter, if it is there. One that does not fit where it is said to be reads as an empty one.
    #[inline]
    pub(crate) fn read(&mut self, read: impl FnOnce(&[u8])) -> bool {
        let number = self.read.wrapping_add(1);
        let slot = self.ring.slot(number);
        let stamp = slot.stamp.load(Ordering::Acquire); // Pairs with the store of `LetterWriter::write`.
        if (stamp >> 32) as u32 != number {
            return false;
        }
        let length = stamp as u32 as usize;
        let begin = (length > SHORT).then(|| {
            slot.letter.with(|it| {
                // SAFETY: a word fits, and was written.
                unsafe { it.cast::<u64>().read() }
            })
        });
        let at = |at: Option<*const u8>| {
            // SAFETY: as many bytes are there, written by the other process, and not again before `read` is stored.
            read(at.map_or(&[], |at| unsafe { slice::from_raw_parts(at, length) }));
        };
        match begin.map(|begin| place(begin, length)) {
            None => slot.letter.with(|it| at(Some(it.cast()))),
            Some(Some(part)) => self.ring.with_arena(part, |it| at(Some(it.cast_const()))),
            Some(None) => at(None),
        }
        self.read = number;
        let read = u64::from(number);
        self.ring.ends.read.store(read, Ordering::Release); // Pairs with the load of `LetterWriter::learn`.
        true
    }
}

/// The place of a letter in the arena, if it may be there.
fn place(begin: u64, length: usize) -> Option<Range<usize>> {
    let begin = usize::try_from(begin).ok()?;
    let fits = begin.is_multiple_of(BLOCK) && begin < ARENA && length <= ARENA - begin;
    fits.then(|| begin..begin + length)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::super::super::message::as_padded;
    use super::*;

    fn ring() -> Arc<LetterRing> {
        // SAFETY: memory of zeros is an empty ring.
        unsafe { Arc::new_zeroed().assume_init() }
    }

    fn ends() -> (LetterWriter<Arc<LetterRing>>, LetterReader<Arc<LetterRing>>) {
        let ring = ring();
        let ends = (
            LetterWriter::of(ring.clone(), ARENA).unwrap(),
            LetterReader::of(ring.clone()).unwrap(),
        );
        assert!(
            LetterWriter::of(ring.clone(), ARENA).is_none() && LetterReader::of(ring).is_none()
        );
        ends
    }

    /// Writes letter `number` of this length in parts.
    fn write(writer: &mut LetterWriter<Arc<LetterRing>>, number: usize, length: usize) -> bool {
        let letter: Vec<u8> = (0..length).map(|at| (at + number) as u8).collect();
        let (first, last) = letter.split_at(length / 3);
        writer.write([as_padded(first), &[], as_padded(last)])
    }

    fn read(reader: &mut LetterReader<Arc<LetterRing>>, number: usize, length: usize) -> bool {
        reader.read(|letter| {
            let mut whole = letter.iter().enumerate();
            assert!(whole.all(|(at, byte)| *byte == (at + number) as u8));
            assert_eq!(letter.len(), length, "letter {number}");
        })
    }

    const LENGTHS: [usize; 9] = [
        0,
        1,
        SHORT,
        SHORT + 1,
        64,
        5000,
        ARENA / 5,
        ARENA / 2 + 1,
        8,
    ];

    #[test]
    fn letters_are_read_in_order_and_refused_while_there_is_no_room() {
        for length in LENGTHS {
            let (mut writer, mut reader) = ends();
            let most = ARENA / length.next_multiple_of(BLOCK).max(1);
            let room = if length <= SHORT {
                SLOTS
            } else {
                most.min(SLOTS)
            };
            for lap in 0..3 {
                let first = lap * room;
                assert!((first..first + room).all(|number| write(&mut writer, number, length)));
                assert!(!write(&mut writer, 0, length), "{length} bytes");
                assert!((first..first + room).all(|number| read(&mut reader, number, length)));
                assert!(!read(&mut reader, 0, length));
            }
        }
    }

    #[test]
    fn no_letter_is_written_where_an_unread_one_is() {
        let (mut writer, mut reader) = ends();
        let lengths = [
            ARENA / 2,
            ARENA / 3,
            ARENA / 4,
            ARENA / 5,
            ARENA / 3,
            ARENA / 2,
        ];
        let (mut written, mut read_before) = (0, 0);
        while read_before < 100 {
            while write(&mut writer, written, lengths[written % lengths.len()]) {
                written += 1;
            }
            let length = lengths[read_before % lengths.len()];
            assert!(read(&mut reader, read_before, length));
            read_before += 1;
        }
        assert!(
            written > read_before,
            "some were unread while others were written"
        );
    }

    #[test]
    fn letters_of_all_lengths_pass_between_threads_and_numbers_wrap() {
        let (mut writer, mut reader) = ends();
        let begin = u32::MAX - 100;
        (writer.written, writer.read, reader.read) = (begin, begin, begin);
        reader.ring.ends.read.store(begin.into(), Ordering::Relaxed);
        let length = |number: usize| LENGTHS[number % LENGTHS.len()];
        thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0..1000 {
                    while !write(&mut writer, number, length(number)) {
                        thread::yield_now();
                    }
                }
            });
            for number in 0..1000 {
                while !read(&mut reader, number, length(number)) {
                    thread::yield_now();
                }
            }
        });
    }

    #[test]
    fn what_is_no_letter_reads_as_an_empty_one() {
        let (mut writer, mut reader) = ends();
        // Memory of zeros says that it begins at the beginning of the arena.
        let spoiled = [(1, ARENA + 1), (2, u32::MAX as usize)];
        for (number, length) in spoiled {
            let slot = reader.ring.slot(number);
            slot.stamp.store(stamp(number, length), Ordering::Relaxed);
            assert!(reader.read(|letter| assert!(letter.is_empty())));
        }
        writer.written = 2;
        assert!(write(&mut writer, 3, 8) && read(&mut reader, 3, 8));
        for (begin, length) in [
            (ARENA - BLOCK, BLOCK + 1),
            (ARENA, 1),
            (1, 1),
            (usize::MAX, 1),
        ] {
            assert_eq!(place(begin as u64, length), None);
        }
    }
}
