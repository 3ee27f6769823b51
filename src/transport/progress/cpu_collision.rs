//! Separates unpinned ranks that wait for each other on the same CPU: one of them moves to another CPU.
//!
//! ```text
//! CPU 0   rank 0 looks, looks, yields │ rank 1 runs, answers, looks, yields │ rank 0 …
//! CPU 1   idle
//! ```
//!
//! Without help they would stay there. Each yields to the other before the kernel finds that either has waited for
//! long, and each has just run whenever the kernel looks for a thread to migrate. An exchange that takes two cache-line
//! transfers between two CPUs then takes two thread switches, plus the spins before them.
//!
//! So a rank that begins to yield notes its CPU and the time. If another rank has noted the same CPU just before, the
//! first one moves itself, but not often: ranks that wait because of threads outside their world would only drive each
//! other round. Notes are hints; nothing depends on them but where threads run.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use crate::Rank;
use crate::machine::{cpu, step_aside};
use crate::transport::progress::live::{Live, are_crowded};
use crate::transport::trace::clock::Clock;

/// Maximum age of a note, and the minimum time between two moves of a rank, in nanoseconds: a few kernel ticks.
const FRESH: u64 = 10_000_000;
const STAY: u64 = 20_000_000;
/// The bits of a note that hold the CPU; the time is above them.
const CPU: u64 = (1 << 16) - 1;

/// The CPU of each rank of a world when it last began to yield.
#[derive(Debug)]
pub(crate) struct WaitingCpus {
    each: Box<[CachePadded<Spot>]>,
    /// The first rank whose thread belongs to the library and may be moved.
    ours: Rank,
    /// Number of CPUs available to the ranks.
    room: usize,
    clock: Clock,
}

#[derive(Debug, Default)]
struct Spot {
    /// 0: no note yet.
    note: AtomicU64,
    /// The time from which it may move again.
    stays: AtomicU64,
}

impl WaitingCpus {
    /// For `ranks` ranks on `room` CPUs. The threads of ranks below `ours` are never moved.
    pub(crate) fn new(ranks: usize, ours: Rank, room: usize) -> WaitingCpus {
        WaitingCpus {
            each: (0..ranks).map(|_| CachePadded::default()).collect(),
            ours,
            room,
            clock: Clock::new(),
        }
    }

    /// Notes where `me` begins to yield, and moves it if another rank has just begun to yield on the same CPU.
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
            // A rank that comes to this CPU now must not move because of this one.
            spot.note.store(0, Ordering::Relaxed);
        }
    }

    /// The CPUs that other ranks have noted just before.
    fn others(&self, me: Rank, now: u64) -> impl Iterator<Item = usize> {
        let notes = self.each.iter().enumerate();
        let others = notes.filter(move |(rank, _)| *rank != me);
        others.filter_map(move |(_, spot)| fresh(spot.note.load(Ordering::Relaxed), now))
    }
}

fn note(now: u64, cpu: usize) -> u64 {
    (now & !CPU) | (cpu as u64 + 1)
}

/// The CPU of a note, unless the note is old.
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

    /// Whether rank `me` of two moves, or would if it could, when it finds the other on its own CPU.
    #[cfg(target_os = "linux")]
    fn moves(spots: &WaitingCpus, me: Rank) -> bool {
        let stays = &spots.each[me].stays;
        let before = stays.load(Ordering::Relaxed);
        // The system may move this thread between the note and the check.
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
