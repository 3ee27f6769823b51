//! The end of a job that a caller gave to several servers, where the caller sleeps until it: a number that each server
//! decrements, and the last one wakes the caller.
//!
//! ```text
//! caller   left ← n;  gives the jobs                 left = 0?  no: park
//! server                      job;  left − 1         the last: unpark the caller
//! ```
//!
//! The caller is woken once, and not by each server. The parker keeps an unpark that comes before the park, so neither
//! side needs a flag or a fence.

use crate::sync::{AtomicUsize, Ordering, Parker, Unparker};

/// Number of servers that have not done their jobs, and the caller to wake.
pub(crate) struct CountDown {
    left: AtomicUsize,
    caller: Unparker,
}

impl CountDown {
    /// A count of 0, for the caller that owns this parker.
    pub(crate) fn new(caller: &Parker) -> CountDown {
        CountDown {
            left: AtomicUsize::new(0),
            caller: caller.unparker().clone(),
        }
    }

    /// For the caller: begins to count, before the jobs are given.
    pub(crate) fn begin(&self, servers: usize) {
        // Relaxed: the jobs are given by stores with release, which order it.
        self.left.store(servers, Ordering::Relaxed);
    }

    /// For a server: its job is done.
    pub(crate) fn decrement(&self) {
        // Release: pairs with the acquire in `wait`. A decrement after it passes on what it released.
        if self.left.fetch_sub(1, Ordering::Release) == 1 {
            self.caller.unpark();
        }
    }

    /// For the caller: waits until all jobs are done. An unpark that is left from before only makes it look once more.
    pub(crate) fn wait(&self, parker: &Parker) {
        // Acquire: pairs with the release in `decrement`: everything that the servers did is visible.
        while self.left.load(Ordering::Acquire) > 0 {
            parker.park();
        }
    }
}
