//! Ranks that are not pinned, wait for each other and find themselves on one CPU: one of them goes elsewhere.
//!
//! ```text
//! CPU 0   rank 0 looks, looks, yields │ rank 1 runs, answers, looks, yields │ rank 0 …
//! CPU 1   idle
//! ```
//!
//! They would stay there: each gives way to the other before the system finds that either has waited for long, and has
//! just run whenever it looks for somebody to move. What takes two lines from one CPU to the other takes two switches
//! of threads then, and the spins before them.
//!
//! So whoever begins to yield notes where it is, and when. If another has noted the same CPU just before, it moves
//! itself, but not often: those who wait because of somebody else's threads would only drive each other round. Notes
//! are hints; nothing depends on them but where threads run.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use crate::Rank;
use crate::machine::{cpu, step_aside};
use crate::transport::progress::wait::{Live, are_crowded};
use crate::transport::trace::clock::Clock;

/// How old a note may be, and how long a rank stays at least, in nanoseconds: some of the kernel's ticks.
const FRESH: u64 = 10_000_000;
const STAY: u64 = 20_000_000;
/// The part of a note that is the CPU; the time stands above it.
const CPU: u64 = (1 << 16) - 1;

/// Where the ranks of a world were when they last began to yield.
#[derive(Debug)]
pub(crate) struct WaitingCpus {
    each: Box<[CachePadded<Spot>]>,
    /// The first rank whose thread is ours to move.
    ours: Rank,
    /// How many CPUs there are for them.
    room: usize,
    clock: Clock,
}

#[derive(Debug, Default)]
struct Spot {
    /// 0: nowhere yet.
    note: AtomicU64,
    /// When it may move again.
    stays: AtomicU64,
}

impl WaitingCpus {
    /// For so many ranks on so many CPUs. The threads of those before `ours` are never moved.
    pub(crate) fn new(ranks: usize, ours: Rank, room: usize) -> WaitingCpus {
        WaitingCpus {
            each: (0..ranks).map(|_| CachePadded::default()).collect(),
            ours,
            room,
            clock: Clock::new(),
        }
    }

    /// Notes where `me` begins to yield, and moves it if another has just done so there.
    #[cold]
    pub(crate) fn part(&self, me: Rank) {
        let Some(here) = cpu().filter(|cpu| (*cpu as u64) < CPU) else {
            return;
        };
        let now = self.clock.cheap();
        // Relaxed, here and below: hints.
        let spot = &self.each[me];
        spot.note.store(note(now, here), Ordering::Relaxed);
        if me < self.ours
            || now < spot.stays.load(Ordering::Relaxed)
            || are_crowded(Live::count(), self.room)
            || !self.others(me, now).any(|cpu| cpu == here)
        {
            return;
        }
        spot.stays.store(now + STAY, Ordering::Relaxed);
        if step_aside(self.others(me, now)) || step_aside([here].into_iter()) {
            // Who comes here now is not to move because of this one.
            spot.note.store(0, Ordering::Relaxed);
        }
    }

    /// The CPUs that others have noted just before.
    fn others(&self, me: Rank, now: u64) -> impl Iterator<Item = usize> {
        let notes = self.each.iter().enumerate();
        let others = notes.filter(move |(rank, _)| *rank != me);
        others.filter_map(move |(_, spot)| fresh(spot.note.load(Ordering::Relaxed), now))
    }
}

fn note(now: u64, cpu: usize) -> u64 {
    (now & !CPU) | (cpu as u64 + 1)
}

/// The CPU of a note that is not old.
fn fresh(note: u64, now: u64) -> Option<usize> {
    let cpu = (note & CPU).checked_sub(1)?;
    (now.saturating_sub(note & !CPU) < FRESH).then_some(cpu as usize)
}

#[cfg(all(test, not(loom)))]
mod tests {
    #[cfg(target_os = "linux")]
    use std::thread;

    use super::*;
    #[cfg(target_os = "linux")]
    use crate::machine::Cpus;

    #[test]
    fn a_note_is_read_as_it_was_written_until_it_is_old() {
        for (cpu, now) in [(0, 0), (1, 5 * FRESH), (CPU as usize - 1, 123_456_789)] {
            let written = note(now, cpu);
            assert_eq!(fresh(written, now), Some(cpu));
            assert_eq!(fresh(written, now + FRESH / 2), Some(cpu));
            assert_eq!(fresh(written, now + FRESH + CPU), None);
        }
        assert_eq!(fresh(0, 0), None);
    }

    /// Whether `me` of two ranks moves, or would if it could, when it finds the other where it is itself.
    #[cfg(target_os = "linux")]
    fn moves(spots: &WaitingCpus, me: Rank) -> bool {
        let stays = &spots.each[me].stays;
        let before = stays.load(Ordering::Relaxed);
        // The system may move this thread between the note and the look.
        (0..100).any(|_| {
            let there = note(spots.clock.cheap(), cpu().unwrap());
            spots.each[1 - me].note.store(there, Ordering::Relaxed);
            spots.part(me);
            stays.load(Ordering::Relaxed) != before
        })
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_rank_whose_thread_is_ours_leaves_another_one_and_may_run_where_it_might_before() {
        let life = || {
            let mask = Cpus::here().mask;
            let spots = WaitingCpus::new(2, 1, usize::MAX);
            assert!(!moves(&spots, 0), "the caller's thread");
            assert!(moves(&spots, 1));
            spots.each[1].stays.store(u64::MAX, Ordering::Relaxed);
            assert!(!moves(&spots, 1), "so soon again");
            let _live = Live::new(2);
            assert!(!moves(&WaitingCpus::new(2, 1, 1), 1), "there is no room");
            assert_eq!(Cpus::here().mask, mask);
        };
        thread::spawn(life).join().unwrap();
    }
}
