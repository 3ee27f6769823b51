//! How the caller of a team and the ranks wait for each other: the ranks for their next part, the caller for the end.
//!
//! Where there is a CPU for each, both look for a while before they sleep, and each rank wakes the caller if it sleeps.
//! In a crowded team no side looks: the caller wakes each rank, and the last rank to end wakes the caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;

use crate::Rank;
use crate::sync::Parker;
use crate::transport::progress::cpu_collision::WaitingCpus;
use crate::transport::progress::idle::{LINGERING, Patience};
use crate::transport::reuse::count_down::CountDown;
use crate::transport::reuse::job_slot::JobSlot;
use crate::transport::wakeup::sleeper::Sleeper;

/// What the caller of a team and all of its ranks share to wait for each other.
pub(super) struct HandOver {
    /// The caller of a run.
    caller: CachePadded<Sleeper>,
    /// The ranks that have not done their part, in a crowded team.
    left: CachePadded<CountDown>,
    /// By whether the caller is one of the ranks; [`Patience::None`] either way in a crowded team.
    patience: [Patience; 2],
    /// Whether it was one in the last run.
    caller_is_rank: AtomicBool,
    /// For how many nanoseconds both sides look before they sleep.
    linger: AtomicU64,
    /// The CPUs on which they wait, if they may have to move apart.
    spots: Option<Arc<WaitingCpus>>,
}

impl HandOver {
    /// For a caller that owns this parker.
    pub(super) fn new(
        caller: &Parker,
        patience: [Patience; 2],
        spots: Option<Arc<WaitingCpus>>,
    ) -> HandOver {
        HandOver {
            caller: CachePadded::new(Sleeper::new(caller)),
            left: CachePadded::new(CountDown::new(caller)),
            patience,
            caller_is_rank: AtomicBool::new(false),
            linger: AtomicU64::new(nanoseconds(LINGERING)),
            spots,
        }
    }

    /// Sets for how long both sides look before they sleep, from the next wait on.
    pub(super) fn set_linger(&self, time: Duration) {
        // Relaxed: it orders nothing.
        self.linger.store(nanoseconds(time), Ordering::Relaxed);
    }

    /// For the caller: whether it is one of the ranks in the run that begins.
    #[inline]
    pub(super) fn set_caller_is_rank(&self, is_rank: bool) {
        // Relaxed, here and below: it orders nothing, and a rank that reads an older value only spins instead of yielding,
        // or yields instead of spinning. The value seldom changes, and the line stays with all who read it.
        if self.caller_is_rank.load(Ordering::Relaxed) != is_rank {
            self.caller_is_rank.store(is_rank, Ordering::Relaxed);
        }
    }

    #[inline]
    fn patience(&self) -> Patience {
        self.patience[usize::from(self.caller_is_rank.load(Ordering::Relaxed))]
    }

    fn linger(&self) -> Duration {
        Duration::from_nanos(self.linger.load(Ordering::Relaxed))
    }

    /// Called in long waits: a rank may have to move away from the CPU of another one.
    fn part(&self, rank: Rank) {
        if let Some(spots) = &self.spots {
            spots.part(rank);
        }
    }

    /// For the caller: a run begins, in which so many ranks get a part.
    #[inline]
    pub(super) fn begin(&self, ranks: usize) {
        if self.patience() == Patience::None {
            self.left.begin(ranks);
        }
    }

    /// For the caller: gives a rank its part.
    #[inline]
    pub(super) fn give<T>(&self, job_slot: &JobSlot<T>, job: *const T) {
        job_slot.give(job, self.patience());
    }

    /// For the caller: no more parts follow.
    pub(super) fn close<T>(&self, job_slot: &JobSlot<T>) {
        job_slot.close(self.patience());
    }

    /// For a rank: waits for its next part.
    pub(super) fn next<T>(
        &self,
        rank: Rank,
        job_slot: &JobSlot<T>,
        parker: &Parker,
    ) -> Option<*const T> {
        job_slot.next(parker, self.patience(), self.linger(), || self.part(rank))
    }

    /// For a rank: its part is done.
    #[inline]
    pub(super) fn done<T>(&self, job_slot: &JobSlot<T>) {
        match self.patience() {
            Patience::None => {
                job_slot.empty();
                self.left.decrement();
            }
            _ => job_slot.done(&self.caller),
        }
    }

    /// For the caller: waits until all ranks have done their parts.
    pub(super) fn wait<'a, T: 'a>(
        &self,
        job_slots: impl Iterator<Item = &'a JobSlot<T>>,
        parker: &Parker,
    ) {
        let patience = self.patience();
        if patience == Patience::None {
            return self.left.wait(parker);
        }
        for job_slot in job_slots {
            job_slot.wait(&self.caller, parker, patience, self.linger(), || {
                self.part(0);
            });
        }
    }
}

/// Saturates at some centuries.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
