//! The time that recorders write down: nanoseconds since the run began, exact or cheap.
//!
//! Asking a clock costs tens of nanoseconds, a tenth of a short message. What the flight recorder wants to
//! know is which of the last seconds something happened in, so it reads the time that the kernel keeps for
//! such questions: a few nanoseconds to read, and some milliseconds old at most. A trace, and whoever waits
//! for long anyway, ask for the exact time.

use std::time::{Duration, Instant};

/// When a run began, by both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// When the first run of the world began, exactly and as the kernel had it.
    first: (Instant, u64),
    /// When this one did, as the kernel had it.
    begin: u64,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        let now = Instant::now();
        let begin = kept::now(now);
        Clock {
            first: (now, begin),
            begin,
        }
    }

    /// What the kernel's clock says now, to [begin again](Self::beginning) from there.
    #[inline]
    pub(crate) fn note(&self) -> u64 {
        kept::now(self.first.0)
    }

    /// The clock of a later run, which began at that [note](Self::note): to some milliseconds, also for
    /// [`exact`](Self::exact).
    #[inline]
    pub(crate) fn beginning(self, begin: u64) -> Clock {
        Clock { begin, ..self }
    }

    /// Nanoseconds since the run began. The same on all ranks: of two readings where one happened before
    /// the other, it is not the greater.
    #[inline]
    pub(crate) fn exact(&self) -> u64 {
        let (first, kept) = self.first;
        let before = Duration::from_nanos(self.begin.saturating_sub(kept));
        first.elapsed().saturating_sub(before).as_nanos() as u64
    }

    /// The same, perhaps some milliseconds too early.
    #[inline]
    pub(crate) fn cheap(&self) -> u64 {
        self.note().saturating_sub(self.begin)
    }
}

/// The time that the kernel has noted at its last tick.
#[cfg(target_os = "linux")]
mod kept {
    use std::time::Instant;

    use rustix::time::{ClockId, clock_gettime};

    #[inline]
    pub(in crate::transport) fn now(_: Instant) -> u64 {
        let time = clock_gettime(ClockId::MonotonicCoarse);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

/// No system but Linux is known to keep a cheaper time: nanoseconds since that moment.
#[cfg(not(target_os = "linux"))]
mod kept {
    use std::time::Instant;

    #[inline]
    pub(in crate::transport) fn now(since: Instant) -> u64 {
        since.elapsed().as_nanos() as u64
    }
}
