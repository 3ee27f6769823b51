//! The time that recorders write down: nanoseconds since the world began, exact or cheap.
//!
//! Asking a clock costs tens of nanoseconds, a tenth of a short message. What the flight recorder wants to
//! know is which of the last seconds something happened in, so it reads the time that the kernel keeps for
//! such questions: a few nanoseconds to read, and some milliseconds old at most. A trace, and whoever waits
//! for long anyway, ask for the exact time.

use std::time::Instant;

/// When the world began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    begin: Instant,
    #[cfg(target_os = "linux")]
    kept: u64,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock {
            begin: Instant::now(),
            #[cfg(target_os = "linux")]
            kept: linux::kept(),
        }
    }

    /// When the world began.
    pub(crate) fn begin(&self) -> Instant {
        self.begin
    }

    /// Nanoseconds since the world began. The same on all ranks: of two readings where one happened before
    /// the other, it is not the greater.
    #[inline]
    pub(crate) fn exact(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }

    /// The same, perhaps some milliseconds too early.
    #[cfg(target_os = "linux")]
    #[inline]
    pub(crate) fn cheap(&self) -> u64 {
        linux::kept().saturating_sub(self.kept)
    }

    /// The same: no system but Linux is known to keep a cheaper time.
    #[cfg(not(target_os = "linux"))]
    #[inline]
    pub(crate) fn cheap(&self) -> u64 {
        self.exact()
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::time::{ClockId, clock_gettime};

    /// The time that the kernel has noted at its last tick.
    #[inline]
    pub(super) fn kept() -> u64 {
        let time = clock_gettime(ClockId::MonotonicCoarse);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}
