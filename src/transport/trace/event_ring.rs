//! The last operations of one rank, as plain words: the rank writes, anybody may read meanwhile.
//!
//! # How a reader knows what it has read
//!
//! ```text
//! writer   number ← 0;     fence;  words;          number ← n
//! reader   number = n?     words;  fence;          number = n still?
//! ```
//!
//! The writer takes the number off a slot before it overwrites the words, and puts the new one on when they
//! are all there. A reader that has seen any of the new words sees, behind its fence, that the old
//! number is gone. So what it returns is the words of one operation; a slot that is being written is skipped.
//! Nobody waits, and nothing is locked.
//!
//! How far an operation has come ([`Ring::note`]) changes while it stands there. Those words are each
//! for itself: a reader may see one of them a moment older than the other.

use crate::sync::{AtomicU64, Ordering, fence};

/// How many operations back one can look. In models every operation overwrites the one before.
pub(crate) const DEPTH: usize = if cfg!(all(test, loom)) { 1 } else { 64 };
/// Words of an operation that do not change.
pub(crate) const FIXED: usize = 4;
/// And those that do.
pub(crate) const NOTES: usize = 3;

/// One operation, in a line of its own.
#[repr(align(64))]
struct Slot {
    /// 0: none, or it is being written.
    number: AtomicU64,
    fixed: [AtomicU64; FIXED],
    notes: [AtomicU64; NOTES],
}

impl Slot {
    fn new() -> Slot {
        Slot {
            number: AtomicU64::new(0),
            fixed: std::array::from_fn(|_| AtomicU64::new(0)),
            notes: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

/// An operation as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub number: u64,
    pub fixed: [u64; FIXED],
    pub notes: [u64; NOTES],
}

/// The last operations of one rank. Only the rank writes.
pub(crate) struct Ring {
    slots: Box<[Slot; DEPTH]>,
    last: AtomicU64,
}

impl Ring {
    pub(crate) fn new() -> Ring {
        Ring {
            slots: Box::new(std::array::from_fn(|_| Slot::new())),
            last: AtomicU64::new(0),
        }
    }

    /// Shows nothing of what was written so far. For when the rank does not write.
    pub(crate) fn close(&self) {
        // Relaxed: whoever lets the rank write again lets it see this.
        self.last.store(0, Ordering::Relaxed);
    }

    /// Forgets the operations up to this number, so that others may have their numbers. For the rank itself, once
    /// it is [closed](Self::close).
    pub(crate) fn forget(&self, greatest: u64) {
        // Relaxed: nobody looks before something is written.
        let slots = greatest.min(DEPTH as u64);
        (1..=slots).for_each(|number| self.slot(number).number.store(0, Ordering::Relaxed));
    }

    #[inline]
    fn slot(&self, number: u64) -> &Slot {
        &self.slots[number as usize % DEPTH]
    }

    /// How many have been written. For the rank itself, or when it does not write.
    #[inline]
    pub(crate) fn written(&self) -> u64 {
        // Relaxed: it is the rank's own.
        self.last.load(Ordering::Relaxed)
    }

    /// Writes operation `number`; they are numbered from 1, without a gap.
    #[inline]
    pub(crate) fn write(&self, number: u64, fixed: [u64; FIXED], notes: [u64; NOTES]) {
        let slot = self.slot(number);
        // Relaxed: the fence orders it before the words.
        slot.number.store(0, Ordering::Relaxed);
        // Release: pairs with the acquire fence in `read`, through whichever of the words is read.
        fence(Ordering::Release);
        for (place, word) in slot.fixed.iter().zip(fixed) {
            place.store(word, Ordering::Relaxed);
        }
        for (place, word) in slot.notes.iter().zip(notes) {
            place.store(word, Ordering::Relaxed);
        }
        // Release: pairs with the acquire in `read`.
        slot.number.store(number, Ordering::Release);
        // Relaxed: a hint where to begin.
        self.last.store(number, Ordering::Relaxed);
    }

    /// Changes the notes of operation `number`, one of the last that this rank has written.
    #[inline]
    pub(crate) fn note(&self, number: u64, notes: [u64; NOTES]) {
        for (place, word) in self.slot(number).notes.iter().zip(notes) {
            // Relaxed: every note stands for itself.
            place.store(word, Ordering::Relaxed);
        }
    }

    /// Operation `number`, if it is there still.
    fn read(&self, number: u64) -> Option<Entry> {
        let slot = self.slot(number);
        // Acquire: pairs with the release in `write`.
        if slot.number.load(Ordering::Acquire) != number {
            return None;
        }
        let read = |place: &AtomicU64| place.load(Ordering::Relaxed);
        let fixed = slot.fixed.each_ref().map(read);
        let notes = slot.notes.each_ref().map(read);
        // Acquire: pairs with the release fence in `write`.
        fence(Ordering::Acquire);
        let same = slot.number.load(Ordering::Relaxed) == number;
        same.then_some(Entry {
            number,
            fixed,
            notes,
        })
    }

    /// What is there, the oldest first.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let last = self.last.load(Ordering::Relaxed);
        let first = last.saturating_sub(DEPTH as u64) + 1;
        let all = (first..=last).filter_map(|number| self.read(number));
        all.collect()
    }
}
