//! The last collective calls of one rank: it writes what it is about to do into a log of its own, and others read it
//! only when something went wrong.

use super::call::Call;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// How many calls back others can look.
pub(in crate::transport) const DEPTH: usize = 8;

/// The last collective calls of one rank, for others to read when something went wrong.
///
/// What a call is, its number apart, is entered once and then known by the number of that entry: the same
/// call again is one word, and nothing is locked.
pub(crate) struct CallLog {
    /// The last calls, a [word](Self::word) each, at their places in turn; 0: none.
    last: [AtomicU64; DEPTH],
    /// How many there were.
    written: AtomicU64,
    known: Mutex<Known>,
}

/// The last entries.
struct Known {
    entries: [Option<Call>; CallLog::ENTRIES],
    next: u64,
}

impl CallLog {
    /// How many calls are known at a time.
    pub(in crate::transport) const ENTRIES: usize = 32;

    pub(crate) fn new() -> Self {
        CallLog {
            last: std::array::from_fn(|_| AtomicU64::new(0)),
            written: AtomicU64::new(0),
            known: Mutex::new(Known {
                entries: [None; Self::ENTRIES],
                next: 0,
            }),
        }
    }

    /// After so many other entries one can still be [written](Self::write): those that the last calls have
    /// are never overwritten.
    pub(crate) const LASTING: u64 = (Self::ENTRIES - DEPTH - 1) as u64;

    /// Enters a call, to be [written](Self::write) each time that it is made. Entries are numbered from 0.
    pub(crate) fn enter(&self, call: &Call) -> u64 {
        let mut known = self.known.lock();
        let entry = known.next;
        known.next += 1;
        known.entries[entry as usize % Self::ENTRIES] = Some(*call);
        entry
    }

    /// The rank makes this call, and it is its communicator's `number`-th.
    #[inline]
    pub(crate) fn write(&self, entry: u64, number: u32) {
        // Relaxed, all three: only this rank writes them, and whoever looks for a call that has been heard of
        // through a message finds what was written before that.
        let written = self.written.load(Ordering::Relaxed);
        let place = &self.last[written as usize % DEPTH];
        place.store(Self::word(entry, number), Ordering::Relaxed);
        self.written.store(written + 1, Ordering::Relaxed);
    }

    /// The call `number` that is this entry, of whose number the last bits tell.
    #[inline]
    fn word(entry: u64, number: u32) -> u64 {
        (entry + 1) << 32 | u64::from(number)
    }

    /// The last calls on this communicator, with their numbers.
    pub(crate) fn last_of(&self, context: u32) -> Vec<(u32, Call)> {
        // Nothing is entered meanwhile, so what is written now is known.
        let known = self.known.lock();
        let oldest = known.next.saturating_sub(Self::ENTRIES as u64);
        let call = |word: u64| {
            let is = |entry: &u64| Self::word(*entry, word as u32) == word;
            let entry = (oldest..known.next).find(is)?;
            let call = known.entries[entry as usize % Self::ENTRIES]?;
            (call.context == context).then_some((word as u32, call))
        };
        // Relaxed: as in `find`.
        let words = self.last.iter().map(|word| word.load(Ordering::Relaxed));
        words.filter_map(call).collect()
    }

    /// The call with this number on this communicator, if the rank has made it, and not long ago.
    pub(crate) fn find(&self, context: u32, number: u32) -> Option<Call> {
        // Nothing is entered meanwhile, so what is written now is known.
        let known = self.known.lock();
        let oldest = known.next.saturating_sub(Self::ENTRIES as u64);
        // Relaxed: a word tells everything by itself.
        let written = self
            .last
            .each_ref()
            .map(|word| word.load(Ordering::Relaxed));
        let entries =
            (oldest..known.next).filter(|entry| written.contains(&Self::word(*entry, number)));
        let mut calls = entries.filter_map(|entry| known.entries[entry as usize % Self::ENTRIES]);
        calls.find(|call| call.context == context)
    }
}
