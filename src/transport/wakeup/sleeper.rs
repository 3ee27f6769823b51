//! Whether a rank is awake, and how to wake it: the flag that every poster looks at after a post.
//!
//! # The handshake
//!
//! ```text
//! sleeper:  flag ← ASLEEP;  fence;  look for a post;  nothing: park
//! poster:   post;           fence;  flag = ASLEEP?    flag ← AWAKE, unpark
//! ```
//!
//! One of the two fences comes first in the single order of sequentially consistent fences. If it is the sleeper's, the
//! poster's load after its own fence sees `ASLEEP` (or something newer) and it wakes the sleeper. If it is the
//! poster's, the sleeper's look after its own fence sees the post. Either way no post is slept through. Where the
//! system supports it, the sleeper's fence does the work of both and the poster's costs nothing:
//! [`fences`](crate::transport::wakeup::fences) explains why that is equivalent.
//!
//! The flag also serves the [deadlock detector](crate::transport::deadlock::detector): a poster marks the sleeper awake
//! *before* it can itself go to sleep, so a rank whose flag says `ASLEEP` has no message on its way from a rank that
//! sleeps too.
//!
//! Whether a rank has ended is kept in other bits of the flag than whether it is asleep: a rank that unwinds counts as
//! ended and may still sleep until others no longer use its memory. Two values say that a rank has ended, and runs use
//! them alternately. A flag that says so for one run therefore says nothing in the next, and no thread has to reset
//! every rank's flag in between. All changes after that are read-modify-writes, so a thread that sees that the
//! rank has ended sees what it did before.

use std::num::NonZeroU32;

use crate::sync::{AtomicU32, Ordering, Parker, Unparker};
use crate::transport::wakeup::fences;

const AWAKE: u32 = 0;
/// A bit beside the one of the last run in which the rank has ended.
const ASLEEP: u32 = 1;
const GONE: [NonZeroU32; 2] = [NonZeroU32::new(2).unwrap(), NonZeroU32::new(4).unwrap()];

/// Identifies a run among two consecutive ones, by the flag of a rank that has ended in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunNumber(NonZeroU32);

impl RunNumber {
    pub(in crate::transport) const FIRST: RunNumber = RunNumber(GONE[0]);

    /// The run after it.
    #[inline]
    fn next(self) -> RunNumber {
        RunNumber(GONE[usize::from(self == RunNumber::FIRST)])
    }
}

/// The current run, or the one that a rank is in.
pub(in crate::transport) struct Present(AtomicU32);

impl Present {
    pub(in crate::transport) fn new() -> Self {
        Present(AtomicU32::new(RunNumber::FIRST.0.get()))
    }

    #[inline]
    pub(in crate::transport) fn run(&self) -> RunNumber {
        // Relaxed: it changes only while no rank runs, and starting the ranks orders it.
        RunNumber(NonZeroU32::new(self.0.load(Ordering::Relaxed)).unwrap_or(GONE[0]))
    }

    /// A rank is in `run` now.
    #[inline]
    pub(in crate::transport) fn enter(&self, run: RunNumber) {
        // Release: pairs with the acquire in `is`: what the rank wrote before is visible.
        self.0.store(run.0.get(), Ordering::Release);
    }

    /// Whether the rank is in `run`.
    pub(in crate::transport) fn is(&self, run: RunNumber) -> bool {
        // Acquire: pairs with the release in `enter`.
        self.0.load(Ordering::Acquire) == run.0.get()
    }

    /// Begins another run, after one in which every rank has [departed](Sleeper::depart). No rank runs at the moment.
    #[inline]
    pub(in crate::transport) fn begin_again(&self) -> RunNumber {
        let run = self.run().next();
        self.0.store(run.0.get(), Ordering::Relaxed);
        run
    }
}

/// The flag of one rank, and the unparker that wakes it.
#[derive(Debug)]
pub(crate) struct Sleeper {
    flag: AtomicU32,
    bell: Unparker,
}

impl Sleeper {
    pub(crate) fn new(parker: &Parker) -> Self {
        Sleeper {
            flag: AtomicU32::new(AWAKE),
            bell: parker.unparker().clone(),
        }
    }

    /// The sleeper's half: after this it must look once more before it parks.
    pub(crate) fn lie_down(&self) {
        // Relaxed: the fence orders it before the look that follows.
        self.flag.fetch_or(ASLEEP, Ordering::Relaxed);
        // Pairs with the light half in `rouse`, see the handshake above.
        fences::heavy();
    }

    /// The sleeper is awake again, by itself.
    pub(crate) fn get_up(&self) {
        // Relaxed: only this rank acts on its being awake; a poster that reads the flag late only wakes it without
        // need.
        self.flag.fetch_and(!ASLEEP, Ordering::Relaxed);
    }

    /// The poster's half, after the post.
    #[inline]
    pub(crate) fn rouse(&self) {
        // Pairs with the heavy half in `lie_down`.
        fences::light();
        self.rouse_fenced();
    }

    /// The same, after a fence that the poster has executed for several sleepers at once.
    #[inline]
    pub(crate) fn rouse_fenced(&self) {
        // Relaxed: the fence before it orders it after the post.
        if self.flag.load(Ordering::Relaxed) & ASLEEP != 0 {
            self.wake();
        }
    }

    /// Wakes a thread that parks without lying down first. The parker keeps an unpark that comes before the park.
    pub(in crate::transport) fn unpark(&self) {
        self.bell.unpark();
    }

    /// Marks the rank awake first, then unparks it: the detector must not take it for asleep meanwhile.
    #[cold]
    fn wake(&self) {
        // AcqRel: the mark precedes everything that this rank does later, such as going to sleep itself; the next
        // holder of the registry's lock sees it.
        let before = self.flag.fetch_and(!ASLEEP, Ordering::AcqRel);
        if before & ASLEEP != 0 {
            self.bell.unpark();
        }
    }

    /// Whether the rank has gone to sleep and has not been roused since.
    pub(crate) fn asleep(&self) -> bool {
        // Acquire: pairs with the mark in `wake`; called under the registry's lock.
        self.flag.load(Ordering::Acquire) & ASLEEP != 0
    }

    /// Whether the rank has ended in `run`, the current run.
    #[inline]
    pub(crate) fn is_gone(&self, run: RunNumber) -> bool {
        // Relaxed: either answer is right for a rank that is just ending.
        self.flag.load(Ordering::Relaxed) & !ASLEEP == run.0.get()
    }

    /// The same; if so, what the rank did before is visible.
    #[inline]
    pub(crate) fn has_left(&self, run: RunNumber) -> bool {
        // Acquire: pairs with the release in `depart`.
        self.flag.load(Ordering::Acquire) & !ASLEEP == run.0.get()
    }

    /// The rank has ended: nothing posted from now on in this run is read.
    #[inline]
    pub(crate) fn depart(&self, run: RunNumber) {
        // Release: pairs with the acquire in `has_left`: what the rank has posted is visible.
        self.flag.store(run.0.get(), Ordering::Release);
    }
}
