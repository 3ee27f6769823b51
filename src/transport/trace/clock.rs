//! The time that recorders record: nanoseconds since the run began, exact or cheap.
//!
//! Reading a precise clock costs tens of nanoseconds, a tenth of a short message. The flight recorder only needs to
//! know in which of the last seconds something happened. It therefore reads the coarse time that the kernel keeps: a
//! few nanoseconds to read, and at most some milliseconds old. A trace, and a rank that waits for long anyway, read the
//! exact time.

use std::time::{Duration, Instant};

/// When a run began, by both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// When the first run of the world began, exactly and by the kernel's coarse clock.
    first: (Instant, u64),
    /// When the current run began, by the coarse clock.
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

    /// The current reading of the coarse clock, from which a later run can [begin](Self::beginning).
    #[inline]
    pub(crate) fn note(&self) -> u64 {
        kept::now(self.first.0)
    }

    /// The clock of a later run, which began at that [note](Self::note). Its start is accurate to some milliseconds,
    /// also for [`exact`](Self::exact).
    #[inline]
    pub(crate) fn beginning(self, begin: u64) -> Clock {
        Clock { begin, ..self }
    }

    /// Nanoseconds since the run began. The clock is the same on all ranks: if one reading happened before another, it
    /// is not the greater one.
    #[inline]
    pub(crate) fn exact(&self) -> u64 {
        let (first, kept) = self.first;
        let before = Duration::from_nanos(self.begin.saturating_sub(kept));
        first.elapsed().saturating_sub(before).as_nanos() as u64
    }

    /// The same, possibly some milliseconds too early.
    #[inline]
    pub(crate) fn cheap(&self) -> u64 {
        self.note().saturating_sub(self.begin)
    }
}

/// The time that the kernel stored at its last tick.
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

/// Only Linux is known to keep a cheaper time. Elsewhere: nanoseconds since `since`.
#[cfg(not(target_os = "linux"))]
mod kept {
    use std::time::Instant;

    #[inline]
    pub(in crate::transport) fn now(since: Instant) -> u64 {
        since.elapsed().as_nanos() as u64
    }
}
