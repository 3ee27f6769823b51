//! Whether anything was put in the epoch that a fence ends: all ranks must know the same, since they meet once more if
//! so.

use crate::sync::{AtomicU32, Ordering};

/// The number of the last fence that ended an epoch in which anything was put, plus one.
///
/// It is written before the ranks meet in that fence and read after it. Until all have read it, no rank writes it again
/// if it is the number of this fence, since then they meet once more; otherwise any other number says the same.
pub(crate) struct PutsIn(AtomicU32);

impl PutsIn {
    pub(crate) fn new() -> Self {
        PutsIn(AtomicU32::new(0))
    }

    /// A rank has put something in the epoch that this fence ends.
    pub(crate) fn note(&self, fence: u32) {
        // Relaxed: the gate orders it before the reads.
        self.0.store(fence.wrapping_add(1), Ordering::Relaxed);
    }

    /// Whether any rank has. Asked after all ranks have met.
    pub(crate) fn is(&self, fence: u32) -> bool {
        // Relaxed: the gate orders it after the writes.
        self.0.load(Ordering::Relaxed) == fence.wrapping_add(1)
    }
}
