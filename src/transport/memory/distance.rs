//! Whether two ranks are far apart: whether a cache line that one of them has written takes long to come to the other.
//!
//! The cores of two ranks may share a cache or not, and a host may move them while a program runs, so no map of the machine
//! says it. One of the two times a line now and then. A line that is interrupted on its way takes long, too, and one that
//! is requested early may seem fast: what is known changes after a few looks in a row that contradict it.

use std::time::{Duration, Instant};

use crate::sync::{AtomicU32, Ordering};

/// A line of a rank that is far takes at least this long. Within one cache it takes 20 to 50 ns, otherwise 100 to 250.
const FAR: Duration = Duration::from_nanos(100);

/// The number of looks in a row after which what they say is known.
const LOOKS: u32 = 3;

/// What one rank knows of its distance to another. Only that rank reads or writes it.
#[derive(Default)]
pub(super) struct Distance {
    far: AtomicU32,
    /// The number of looks in a row that have contradicted it.
    contrary: AtomicU32,
}

impl Distance {
    // Relaxed, everywhere: one rank accesses it.

    #[inline]
    pub(super) fn is_far(&self) -> bool {
        self.far.load(Ordering::Relaxed) == 1
    }

    /// Learns from a look at a line that the other rank has written since the last one.
    #[cold]
    pub(super) fn look(&self, look: impl FnOnce()) {
        let times = [Instant::now(), Instant::now()];
        look();
        let clock = times[1] - times[0];
        self.learn(times[1].elapsed().saturating_sub(clock) >= FAR);
    }

    fn learn(&self, seems_far: bool) {
        let before = self.contrary.load(Ordering::Relaxed);
        if before > LOOKS {
            return;
        }
        let contrary = match seems_far == self.is_far() {
            true => 0,
            false => before + 1,
        };
        if contrary == LOOKS {
            self.set(seems_far);
        } else {
            self.contrary.store(contrary, Ordering::Relaxed);
        }
    }

    fn set(&self, far: bool) {
        self.far.store(far.into(), Ordering::Relaxed);
        self.contrary.store(0, Ordering::Relaxed);
    }

    /// Sets what is known for good: no look counts any more.
    #[cfg(all(test, not(loom)))]
    pub(super) fn insist(&self, far: bool) {
        self.far.store(far.into(), Ordering::Relaxed);
        self.contrary.store(LOOKS + 1, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_changes_after_a_few_looks_in_a_row() {
        let distance = Distance::default();
        let seen = [1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0].map(|far| {
            distance.learn(far == 1);
            u32::from(distance.is_far())
        });
        assert_eq!(seen, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0]);
    }
}
