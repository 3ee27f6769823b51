//! The last collective calls of one rank. The rank writes what it is about to do into a log of its own; others read the
//! log only after something went wrong.

use super::call::Call;
use super::past_calls::PastCalls;
use crate::sync::{AtomicU32, AtomicU64, Mutex, Ordering, fence};

/// Number of calls that the log keeps.
pub(in crate::transport) const DEPTH: usize = if cfg!(all(test, loom)) { 3 } else { 8 };

/// The last collective calls of one rank, for others to read after something went wrong.
///
/// A call without its number and its communicator is entered once, and referred to by the number of its entry from then
/// on. Logging the same call again, on any communicator, writes a few words and locks nothing.
pub(crate) struct CallLog {
    /// The last calls, in a ring.
    last: [Logged; DEPTH],
    /// Number of calls written so far.
    written: AtomicU64,
    known: Mutex<LastCalls>,
    /// Where none of the last calls on a communicator is in the ring.
    past: PastCalls,
}

/// A call that was made. Its rank alone writes it.
struct Logged {
    /// Its entry and number in one [word](CallLog::word); 0: none, or one that is being written.
    word: AtomicU64,
    context: AtomicU32,
}

impl Logged {
    #[inline]
    fn write(&self, word: u64, context: u32) {
        // Relaxed: the fence orders it before the context, for a reader that finds that one.
        self.word.store(0, Ordering::Relaxed);
        // Release: pairs with the acquire fence in `read`.
        fence(Ordering::Release);
        self.context.store(context, Ordering::Relaxed);
        // Release: pairs with the acquire in `read`, which then finds this context or a later one.
        self.word.store(word, Ordering::Release);
    }

    /// The word and the context of a call, if there is one.
    fn read(&self) -> Option<(u64, u32)> {
        let word = self.word.load(Ordering::Acquire);
        let context = self.context.load(Ordering::Relaxed);
        // Acquire: a context of a later call comes after its 0, or after the word that followed.
        fence(Ordering::Acquire);
        // The same word as before may be that of a later call: then both calls are of this entry and number, and the
        // context is that of either, or of one between them, which takes two turns of the ring between these loads.
        (word != 0 && self.word.load(Ordering::Relaxed) == word).then_some((word, context))
    }
}

/// On which communicators a rank has made calls, as far as that is kept: what others are told.
#[cfg(feature = "mpi")]
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::transport) struct LastNumbers {
    /// The contexts of communicators, each with the number of a call: of the last ones, or of the last one long ago.
    pub last: Vec<(u32, u32)>,
    /// From this context on, none is missing.
    pub complete_from: u64,
}

#[cfg(feature = "mpi")]
impl LastNumbers {
    /// The numbers of calls on this communicator.
    pub(in crate::transport) fn of(&self, context: u32) -> Vec<u32> {
        let mine = self.last.iter().filter(|(of, _)| *of == context);
        mine.map(|(_, number)| *number).collect()
    }

    /// Whether they tell of every call on this communicator whether the rank has made it.
    pub(in crate::transport) fn knows_all_of(&self, context: u32) -> bool {
        let is_there = self.last.iter().any(|(of, _)| *of == context);
        is_there || self.complete_from <= u64::from(context)
    }
}

/// The last entries.
struct LastCalls {
    /// A ring, once it is full.
    entries: Vec<Call>,
    next: u64,
}

impl LastCalls {
    fn call(&self, entry: u64) -> Option<Call> {
        let is_there = entry < self.next && self.next - entry <= CallLog::ENTRIES as u64;
        let place = entry as usize % CallLog::ENTRIES;
        is_there.then(|| self.entries[place])
    }
}

impl CallLog {
    /// Number of entries kept: more than the calls that most programs make in turn.
    pub(in crate::transport) const ENTRIES: usize = if cfg!(all(test, loom)) { 32 } else { 128 };

    pub(crate) fn new() -> Self {
        CallLog {
            last: std::array::from_fn(|_| Logged {
                word: AtomicU64::new(0),
                context: AtomicU32::new(0),
            }),
            written: AtomicU64::new(0),
            known: Mutex::new(LastCalls {
                entries: Vec::new(),
                next: 0,
            }),
            past: PastCalls::new(),
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
        match known.entries.get_mut(entry as usize % Self::ENTRIES) {
            Some(place) => *place = *call,
            None => {
                // All at once, so that no later call allocates.
                let missing = Self::ENTRIES - known.entries.len();
                known.entries.reserve_exact(missing);
                known.entries.push(*call);
            }
        }
        entry
    }

    /// Logs that the rank makes the call of `entry`, as collective `number` of the communicator with this context.
    #[inline]
    pub(crate) fn write(&self, entry: u64, context: u32, number: u32) {
        // Relaxed, both: only this rank writes it, and a rank that looks for a call it has heard of through a message
        // finds what was written before that message.
        let written = self.written.load(Ordering::Relaxed);
        let place = &self.last[written as usize % DEPTH];
        if place.context.load(Ordering::Relaxed) != context && written >= DEPTH as u64 {
            self.push_out(place);
        }
        place.write(Self::word(entry, number), context);
        self.written.store(written + 1, Ordering::Relaxed);
    }

    /// Notes the number of a call that is about to be overwritten.
    #[cold]
    #[inline(never)]
    fn push_out(&self, oldest: &Logged) {
        // Relaxed, both: this rank alone writes them.
        let context = oldest.context.load(Ordering::Relaxed);
        let number = oldest.word.load(Ordering::Relaxed) as u32;
        self.past.note(context, number);
    }

    /// The word for call `number`, whose description is `entry`. It holds the number's 32 bits.
    #[inline]
    fn word(entry: u64, number: u32) -> u64 {
        (entry + 1) << 32 | u64::from(number)
    }

    /// The last calls on this communicator, with their numbers.
    pub(crate) fn last_of(&self, context: u32) -> Vec<(u32, Call)> {
        let all = self.last().into_iter().filter(|(of, ..)| *of == context);
        all.map(|(_, number, call)| (number, call)).collect()
    }

    /// The last calls, with the contexts of their communicators and their numbers.
    pub(crate) fn last(&self) -> Vec<(u32, u32, Call)> {
        // Nothing is entered while the lock is held, so every word that is now visible refers to a known entry.
        let known = self.known.lock();
        let here = self.last.iter().filter_map(Logged::read);
        // A word holds the low bits of its entry.
        let entry = |word: u64| {
            let oldest = known.next.saturating_sub(Self::ENTRIES as u64);
            (oldest..known.next).find(|entry| Self::word(*entry, word as u32) == word)
        };
        here.filter_map(|(word, of)| Some((of, word as u32, known.call(entry(word)?)?)))
            .collect()
    }

    /// The numbers of the last calls on this communicator, or that of the last one if it was long ago.
    pub(crate) fn numbers_of(&self, context: u32) -> Vec<u32> {
        let last = self.last_of(context).into_iter();
        let mut numbers: Vec<u32> = last.map(|(number, _)| number).collect();
        if numbers.is_empty() {
            numbers.extend(self.past.number(context));
        }
        numbers
    }

    /// The [numbers](Self::numbers_of) of all communicators.
    #[cfg(feature = "mpi")]
    pub(in crate::transport) fn last_numbers(&self) -> LastNumbers {
        let recent = self.last().into_iter();
        let mut last: Vec<(u32, u32)> = recent.map(|(of, number, _)| (of, number)).collect();
        let recent = last.len();
        let (past, complete_from) = self.past.all();
        for (context, number) in past {
            if last[..recent].iter().all(|(of, _)| *of != context) {
                last.push((context, number));
            }
        }
        LastNumbers {
            last,
            complete_from,
        }
    }

    /// Whether it is known of every call on this communicator whether the rank has made it.
    pub(crate) fn knows_all_of(&self, context: u32) -> bool {
        !self.numbers_of(context).is_empty() || self.past.knows_all(context)
    }

    /// The call with this number on this communicator, if the rank has made it recently.
    pub(crate) fn find(&self, context: u32, number: u32) -> Option<Call> {
        let last = self.last_of(context);
        let found = last.into_iter().find(|(other, _)| *other == number);
        found.map(|(_, call)| call)
    }
}
