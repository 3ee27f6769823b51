//! The last collective calls of one rank. The rank writes what it is about to do into a log of its own; others read the
//! log only after something went wrong.

use super::call::Call;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// Number of calls that the log keeps.
pub(in crate::transport) const DEPTH: usize = 8;

/// The last collective calls of one rank, for others to read after something went wrong.
///
/// A call without its number is entered once, and referred to by the number of its entry from then on. Logging the same
/// call again writes one word and locks nothing.
pub(crate) struct CallLog {
    /// The last calls, a [word](Self::word) each, in a ring; 0: none.
    last: [AtomicU64; DEPTH],
    /// Number of calls written so far.
    written: AtomicU64,
    known: Mutex<Known>,
}

/// The last entries.
struct Known {
    entries: [Option<Call>; CallLog::ENTRIES],
    next: u64,
}

impl CallLog {
    /// Number of entries kept.
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

    /// An entry can still be [written](Self::write) after `LASTING` newer entries: the entries of the last calls are
    /// never overwritten.
    pub(crate) const LASTING: u64 = (Self::ENTRIES - DEPTH - 1) as u64;

    /// Enters a call, to be [written](Self::write) each time that it is made. Entries are numbered from 0.
    pub(crate) fn enter(&self, call: &Call) -> u64 {
        let mut known = self.known.lock();
        let entry = known.next;
        known.next += 1;
        known.entries[entry as usize % Self::ENTRIES] = Some(*call);
        entry
    }

    /// Logs that the rank makes the call of `entry`, as collective `number` of its communicator.
    #[inline]
    pub(crate) fn write(&self, entry: u64, number: u32) {
        // Relaxed, all three: only this rank writes them, and a rank that looks for a call it has heard of through a
        // message finds what was written before that message.
        let written = self.written.load(Ordering::Relaxed);
        let place = &self.last[written as usize % DEPTH];
        place.store(Self::word(entry, number), Ordering::Relaxed);
        self.written.store(written + 1, Ordering::Relaxed);
    }

    /// The word for call `number`, whose description is `entry`. It holds the number's 32 bits.
    #[inline]
    fn word(entry: u64, number: u32) -> u64 {
        (entry + 1) << 32 | u64::from(number)
    }

    /// The last calls on this communicator, with their numbers.
    pub(crate) fn last_of(&self, context: u32) -> Vec<(u32, Call)> {
        // Nothing is entered while the lock is held, so every word that is now visible refers to a known entry.
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

    /// The call with this number on this communicator, if the rank has made it recently.
    pub(crate) fn find(&self, context: u32, number: u32) -> Option<Call> {
        // Nothing is entered while the lock is held, so every word that is now visible refers to a known entry.
        let known = self.known.lock();
        let oldest = known.next.saturating_sub(Self::ENTRIES as u64);
        // Relaxed: a word is complete by itself.
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
