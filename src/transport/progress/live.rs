//! How many ranks of the process run, over all worlds, and whether they fit on the CPUs.

use std::sync::atomic::AtomicUsize;

use crossbeam_utils::CachePadded;

use crate::sync::Ordering;

/// Number of ranks of this process that are running a job, over all worlds. It has a cache line of its own, since the
/// caller of a team's run writes it.
static LIVE: CachePadded<AtomicUsize> = CachePadded::new(AtomicUsize::new(0));

/// Counts `ranks` ranks as live until it is dropped.
pub(crate) struct Live(usize);

impl Live {
    pub(crate) fn new(ranks: usize) -> Self {
        // Relaxed: a hint for the policy below.
        LIVE.fetch_add(ranks, Ordering::Relaxed);
        Live(ranks)
    }

    /// Number of live ranks.
    #[inline]
    pub(crate) fn count() -> usize {
        LIVE.load(Ordering::Relaxed)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        LIVE.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Whether `live` ranks exceed `room`, the number of CPUs: then no rank spins.
#[inline]
pub(crate) fn are_crowded(live: usize, room: usize) -> bool {
    live > room
}
