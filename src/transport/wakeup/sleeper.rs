//! Whether a rank is awake, and how to wake it: the flag that every poster looks at after a post.
//!
//! # The hand-shake
//!
//! ```text
//! sleeper:  flag ← ASLEEP;  fence;  look for a post;  nothing: park
//! poster:   post;           fence;  flag = ASLEEP?    flag ← AWAKE, unpark
//! ```
//!
//! One of the two fences comes first in the single order of sequentially consistent fences. If it is
//! the sleeper's, the poster's load after its own fence sees `ASLEEP` (or something newer) and it
//! wakes the sleeper. If it is the poster's, the sleeper's look after its own fence sees the post.
//! Either way no post is slept through. Where the system helps, the sleeper's fence does the work of
//! both and the poster's costs nothing: [`fences`](crate::transport::wakeup::fences) says why that is as good.
//!
//! The flag also serves the deadlock detector (`monitor`): a poster marks the sleeper awake
//! *before* it can itself go to sleep, so a rank whose flag says `ASLEEP` has no message on its way
//! from a rank that sleeps too.
//!
//! That a rank has ended is said by one of two values in turns: so a flag that says it of one run says nothing in the
//! next, and nobody has to write every rank's flag in between.

use std::num::NonZeroU32;

use crate::sync::{AtomicU32, Ordering, Parker, Unparker};
use crate::transport::wakeup::fences;

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;
const GONE: [NonZeroU32; 2] = [NonZeroU32::new(2).unwrap(), NonZeroU32::new(3).unwrap()];

/// Which of two runs that follow each other, as the flag of a rank that has ended in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run(NonZeroU32);

impl Run {
    pub(in crate::transport) const FIRST: Run = Run(GONE[0]);

    /// The one after it.
    #[inline]
    fn next(self) -> Run {
        Run(GONE[usize::from(self == Run::FIRST)])
    }
}

/// The present run.
pub(in crate::transport) struct Present(AtomicU32);

impl Present {
    pub(in crate::transport) fn new() -> Self {
        Present(AtomicU32::new(Run::FIRST.0.get()))
    }

    #[inline]
    pub(in crate::transport) fn run(&self) -> Run {
        // Relaxed: it changes while no rank runs, and whoever starts them orders it.
        Run(NonZeroU32::new(self.0.load(Ordering::Relaxed)).unwrap_or(GONE[0]))
    }

    /// Another run begins, after one in which every rank has [departed](Sleeper::depart). None runs just now.
    #[inline]
    pub(in crate::transport) fn begin_again(&self) -> Run {
        let run = self.run().next();
        self.0.store(run.0.get(), Ordering::Relaxed);
        run
    }
}

/// The flag of one rank, and the bell to wake it with.
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
        self.flag.store(ASLEEP, Ordering::Relaxed);
        // Pairs with the light half in `rouse`, see the hand-shake above.
        fences::heavy();
    }

    /// The sleeper is up again, by itself.
    pub(crate) fn get_up(&self) {
        // Relaxed: only this rank acts on its being awake; whoever reads it late wakes it for nothing.
        self.flag.store(AWAKE, Ordering::Relaxed);
    }

    /// The poster's half, after the post.
    #[inline]
    pub(crate) fn rouse(&self) {
        // Pairs with the heavy half in `lie_down`.
        fences::light();
        self.rouse_fenced();
    }

    /// The same after a fence that the poster has made for several sleepers at once.
    #[inline]
    pub(crate) fn rouse_fenced(&self) {
        // Relaxed: the fence before it orders it after the post.
        if self.flag.load(Ordering::Relaxed) == ASLEEP {
            self.wake();
        }
    }

    /// Marks the rank awake first, then rings: the detector must not take it for asleep while the bell rings.
    #[cold]
    fn wake(&self) {
        // AcqRel: the mark is made before anything this rank does later, such as lying down itself; who then
        // holds the registry's lock sees it.
        let mark = self
            .flag
            .compare_exchange(ASLEEP, AWAKE, Ordering::AcqRel, Ordering::Relaxed);
        if mark.is_ok() {
            self.bell.unpark();
        }
    }

    /// Whether the rank has lain down and nobody has roused it since.
    pub(crate) fn asleep(&self) -> bool {
        // Acquire: pairs with the mark in `wake`; it is asked under the registry's lock.
        self.flag.load(Ordering::Acquire) == ASLEEP
    }

    /// Whether the rank has ended in that run, the present one.
    #[inline]
    pub(crate) fn is_gone(&self, run: Run) -> bool {
        // Relaxed: a rank that ends just now may be told so or not.
        self.flag.load(Ordering::Relaxed) == run.0.get()
    }

    /// The same, and what it did before is seen.
    pub(crate) fn has_left(&self, run: Run) -> bool {
        // Acquire: pairs with the release in `depart`.
        self.flag.load(Ordering::Acquire) == run.0.get()
    }

    /// The rank has ended: nothing posted from now on in this run will be read.
    #[inline]
    pub(crate) fn depart(&self, run: Run) {
        // Release: pairs with the acquire in `has_left`: what it has posted is there.
        self.flag.store(run.0.get(), Ordering::Release);
    }
}
