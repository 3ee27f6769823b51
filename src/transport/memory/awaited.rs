//! The number of ranks that wait for others to leave a call.

use crate::sync::{AtomicU32, Ordering};

/// Counts the ranks that wait for others to leave a call: while there are any, ranks that leave must check whether one
/// sleeps.
pub(crate) struct Awaited(AtomicU32);

impl Awaited {
    pub(crate) fn new() -> Awaited {
        Awaited(AtomicU32::new(0))
    }

    /// Announces a rank that waits for others to leave a call, until the result is dropped.
    pub(crate) fn announce(&self) -> Waiting<'_> {
        // Relaxed: a rank that waits goes through the handshake of `sleeper` before it sleeps.
        self.0.fetch_add(1, Ordering::Relaxed);
        Waiting(self)
    }

    #[inline]
    pub(crate) fn any(&self) -> bool {
        // Relaxed: the fence before it orders it after the word that counts the calls left.
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// A rank that waits for others to leave a call.
pub(crate) struct Waiting<'a>(&'a Awaited);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // Relaxed: a rank that sees it late only checks a flag without need.
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
