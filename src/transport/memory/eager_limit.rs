//! How much of what is sent the library keeps until somebody receives it: the mode of a world, and the
//! account of a receiver.

use std::sync::Arc;

use crate::sync::{AtomicU64, Ordering};

/// How many messages between two ranks the library keeps until they are received, see
/// [`World::buffering`](crate::World::buffering).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buffering {
    /// All of them: no send waits for its receiver.
    #[default]
    Unbounded,
    /// None: every send waits until it is received.
    Zero,
    /// So many bytes for each receiver; a message counts as one byte at least. A send that finds no room
    /// waits until it is received.
    Bytes(usize),
}

impl Buffering {
    /// The most that is kept for one receiver, in bytes; `None`: anything.
    #[inline]
    pub(crate) fn limit(self) -> Option<u64> {
        match self {
            Buffering::Unbounded => None,
            Buffering::Zero => Some(0),
            Buffering::Bytes(bytes) => Some(bytes as u64),
        }
    }
}

/// The bytes that are kept for one receiver.
#[derive(Clone, Debug)]
pub(crate) struct Account(Arc<AtomicU64>);

impl Account {
    pub(in crate::transport) fn new() -> Account {
        Account(Arc::new(AtomicU64::new(0)))
    }

    /// Whether nothing is booked.
    pub(in crate::transport) fn is_empty(&self) -> bool {
        // Relaxed: asked when nobody sends.
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Books a message of so many bytes if it fits below the limit.
    pub(in crate::transport) fn charge(&self, limit: u64, bytes: usize) -> Option<Charge> {
        let bytes = bytes.max(1) as u64;
        // Relaxed, here and in `Charge::drop`: a count, which no memory is handed over by.
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        let registry = |used: u64| used.checked_add(bytes).filter(|&used| used <= limit);
        self.0.fetch_update(set, fetch, registry).ok()?;
        Some(Charge {
            account: self.clone(),
            bytes,
        })
    }
}

/// What one message takes of an account, given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    account: Account,
    bytes: u64,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_account_never_holds_more_than_its_limit() {
        let account = Account::new();
        let first = account.charge(10, 7);
        assert!(first.is_some() && account.charge(10, 4).is_none());
        let empty: Vec<_> = (0..3).map(|_| account.charge(10, 0)).collect();
        assert!(empty.iter().all(Option::is_some) && account.charge(10, 0).is_none());
        drop(first);
        assert!(account.charge(10, 7).is_some());
        assert!(account.charge(10, usize::MAX).is_none());
    }
}
