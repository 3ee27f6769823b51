//! The number of a rank's last collective call on each of its communicators, for the time after its record has left the
//! [log](super::call_log). A table of words, in which a communicator has a few places that it shares with others.

use crate::sync::{AtomicU64, Ordering, fence};

/// Number of places: several times the communicators that most programs have.
const PLACES: usize = if cfg!(all(test, loom)) { 2 } else { 128 };
/// Number of them at which a communicator may be.
const PROBES: usize = if cfg!(all(test, loom)) { 2 } else { 8 };
const NONE: u64 = u64::MAX;

/// Written by the rank alone.
pub(super) struct PastCalls {
    /// The context of a communicator, and the number of a call on it.
    last: [AtomicU64; PLACES],
    /// The greatest context that had to go for another one, and one more; 0: none has.
    forgotten: AtomicU64,
}

impl PastCalls {
    pub(super) fn new() -> Self {
        PastCalls {
            last: std::array::from_fn(|_| AtomicU64::new(NONE)),
            forgotten: AtomicU64::new(0),
        }
    }

    /// Notes the number of a call whose record is overwritten next.
    #[inline]
    pub(super) fn note(&self, context: u32, number: u32) {
        // Relaxed, all: only the rank itself writes them, and the fence orders them before what it writes next.
        let is_free = |it: &&AtomicU64| {
            let word = it.load(Ordering::Relaxed);
            word == NONE || of(word) == context
        };
        let place = self.places(context).find(is_free);
        let place = place.unwrap_or_else(|| self.forget_one(context));
        let word = u64::from(context) << 32 | u64::from(number);
        // Release: pairs with the acquire in `knows_all`.
        place.store(word, Ordering::Release);
        // Release: pairs with the acquire in `number`.
        fence(Ordering::Release);
    }

    /// A place of this communicator's, from which the oldest of those that share it goes.
    #[cold]
    fn forget_one(&self, context: u32) -> &AtomicU64 {
        // Relaxed, all: as in `note`, whose store of the place publishes it. No place is free.
        let (mut oldest, mut gone) = (&self.last[first_place(context)], u64::MAX);
        for place in self.places(context) {
            let word = place.load(Ordering::Relaxed);
            if word < gone {
                (oldest, gone) = (place, word);
            }
        }
        let forgotten = u64::from(of(gone)) + 1;
        let before = self.forgotten.load(Ordering::Relaxed);
        self.forgotten
            .store(before.max(forgotten), Ordering::Relaxed);
        oldest
    }

    /// The number of a call on this communicator: of its last one, for a reader that did not find that in the log.
    pub(super) fn number(&self, context: u32) -> Option<u32> {
        // Acquire: pairs with the release in `note`, after which the log, where the reader has looked, was overwritten.
        fence(Ordering::Acquire);
        let mut words = self.places(context).map(|it| it.load(Ordering::Relaxed));
        let found = words.find(|word| *word != NONE && of(*word) == context);
        found.map(|word| word as u32)
    }

    /// The contexts of all communicators here, each with the number of its last call, and the context from which on no
    /// communicator was forgotten; for a reader that has read the log.
    #[cfg(feature = "mpi")]
    pub(super) fn all(&self) -> (Vec<(u32, u32)>, u64) {
        // Acquire: as in `number`.
        fence(Ordering::Acquire);
        let words = self.last.iter().map(|it| it.load(Ordering::Relaxed));
        let there = words.filter(|word| *word != NONE);
        let numbers = there.map(|word| (of(word), word as u32)).collect();
        // Acquire: as in `knows_all`.
        fence(Ordering::Acquire);
        (numbers, self.forgotten.load(Ordering::Relaxed))
    }

    /// Whether no call on this communicator was forgotten, for a reader that has found no [number](Self::number). Later
    /// communicators have greater contexts, so it is known again of those.
    pub(super) fn knows_all(&self, context: u32) -> bool {
        // Acquire: if the place of a communicator was seen to be another's, this is seen, too.
        fence(Ordering::Acquire);
        self.forgotten.load(Ordering::Relaxed) <= u64::from(context)
    }

    fn places(&self, context: u32) -> impl Iterator<Item = &AtomicU64> {
        let first = first_place(context);
        (0..PROBES).map(move |ahead| &self.last[(first + ahead) % PLACES])
    }
}

/// The context in a word.
fn of(word: u64) -> u32 {
    (word >> 32) as u32
}

/// Contexts are even, or multiples of eight: their high bits are mixed in.
fn first_place(context: u32) -> usize {
    (context.wrapping_mul(0x9E37_79B1) >> 16) as usize % PLACES
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_of_each_of_many_communicators_is_kept() {
        let past = PastCalls::new();
        let contexts = || (0..32).map(|it| 8 * it);
        for number in 0..3 {
            contexts().for_each(|context| past.note(context, number + context));
        }
        for context in contexts() {
            assert_eq!(past.number(context), Some(2 + context));
        }
        assert_eq!((past.number(3), past.knows_all(0)), (None, true));
        #[cfg(feature = "mpi")]
        {
            let (mut all, complete_from) = past.all();
            all.sort_unstable();
            let expected = contexts().map(|context| (context, 2 + context));
            assert_eq!((all, complete_from), (expected.collect(), 0));
        }
    }

    #[test]
    fn the_oldest_go_and_it_says_so() {
        let (past, count) = (PastCalls::new(), 4 * PLACES as u32);
        (0..count).for_each(|context| past.note(context, context));
        let lost = (0..count).filter(|context| past.number(*context).is_none());
        assert!(lost.clone().all(|context| !past.knows_all(context)));
        assert!(lost.count() >= count as usize - PLACES && past.knows_all(count));
    }
}
