//! The last operations of one rank, as plain words: the rank writes, any thread may read meanwhile.
//!
//! # How a reader validates what it has read
//!
//! ```text
//! writer   number ← 0;     fence;  words;          number ← n
//! reader   number = n?     words;  fence;          number = n still?
//! ```
//!
//! The writer clears the number of a slot before it overwrites the words, and stores the new number when they are all
//! written. A reader that has seen any of the new words sees, after its fence, that the old number is gone. What it
//! returns is therefore the words of one operation; a slot that is being written is skipped. No thread waits, and
//! nothing is locked.
//!
//! The progress of an operation ([`Ring::note`]) changes while its entry stays. Those words are independent of each
//! other: a reader may see one of them a moment older than another.

use crate::sync::{AtomicU64, Ordering, fence};

/// Number of operations that the ring keeps. In models every operation overwrites the one before.
pub(crate) const DEPTH: usize = if cfg!(all(test, loom)) { 1 } else { 64 };
/// Number of words of an operation that do not change.
pub(crate) const FIXED: usize = 4;
/// Number of words that do.
pub(crate) const NOTES: usize = 3;

/// One operation, in a cache line of its own.
#[repr(align(64))]
struct Slot {
    /// 0: empty, or being written.
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

    /// Hides everything written so far. Call it only while the rank does not write.
    pub(crate) fn close(&self) {
        // Relaxed: whatever lets the rank write again makes this visible to it.
        self.last.store(0, Ordering::Relaxed);
    }

    /// Forgets the operations up to number `greatest`, so that their numbers can be used again. For the rank itself,
    /// after [`close`](Self::close).
    pub(crate) fn forget(&self, greatest: u64) {
        // Relaxed: a reader looks only at a rank that has entered the run (`Present::is`), and that comes later.
        let slots = greatest.min(DEPTH as u64);
        (1..=slots).for_each(|number| self.slot(number).number.store(0, Ordering::Relaxed));
    }

    #[inline]
    fn slot(&self, number: u64) -> &Slot {
        &self.slots[number as usize % DEPTH]
    }

    /// Number of operations written. For the rank itself, or while it does not write.
    #[inline]
    pub(crate) fn written(&self) -> u64 {
        // Relaxed: only this rank writes it.
        self.last.load(Ordering::Relaxed)
    }

    /// Writes operation `number`, one of the last [`DEPTH`]. Operations are numbered from 1 without gaps, but one may be
    /// written after those inside it.
    #[inline]
    pub(crate) fn write(&self, number: u64, fixed: [u64; FIXED], notes: [u64; NOTES]) {
        let slot = self.slot(number);
        // Relaxed: the fence orders it before the words.
        slot.number.store(0, Ordering::Relaxed);
        // Release: pairs with the acquire fence in `read`, through any of the words that is read.
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
        self.last
            .store(number.max(self.written()), Ordering::Relaxed);
    }

    /// Changes the notes of operation `number`, one of the last that this rank has written.
    #[inline]
    pub(crate) fn note(&self, number: u64, notes: [u64; NOTES]) {
        for (place, word) in self.slot(number).notes.iter().zip(notes) {
            // Relaxed: every note is independent.
            place.store(word, Ordering::Relaxed);
        }
    }

    /// Operation `number`, if it is still in the ring.
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

    /// The operations in the ring, oldest first.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let last = self.last.load(Ordering::Relaxed);
        let first = last.saturating_sub(DEPTH as u64) + 1;
        let all = (first..=last).filter_map(|number| self.read(number));
        all.collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_operation_that_is_written_after_those_inside_it_hides_none_of_them() {
        let ring = Ring::new();
        for number in [1, 3, 4, 2] {
            ring.write(number, [number; FIXED], [0; NOTES]);
        }
        let entries = ring.entries();
        let numbers: Vec<u64> = entries.iter().map(|entry| entry.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
    }
}
