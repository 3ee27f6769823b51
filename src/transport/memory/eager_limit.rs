//! How much the library buffers until it is received: the buffering mode of a world, and the account of a receiver.

use std::sync::Arc;

use crate::sync::{AtomicU64, Ordering};

/// How many messages between two ranks the library buffers until they are received, see
/// [`World::buffering`](crate::World::buffering).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Buffering {
    /// All messages: no send waits for its receiver.
    #[default]
    Unbounded,
    /// No message: every send waits until it is received, as [`ssend`](crate::Comm::ssend) does.
    Zero,
    /// At most this many bytes for each receiver; a message counts as at least one byte. A send that finds no space
    /// waits until it is received.
    Bytes(usize),
}

impl Buffering {
    /// Maximum number of bytes buffered for one receiver; `None`: no limit.
    #[inline]
    pub(crate) fn limit(self) -> Option<u64> {
        match self {
            Buffering::Unbounded => None,
            Buffering::Zero => Some(0),
            Buffering::Bytes(bytes) => Some(bytes as u64),
        }
    }
}

/// The bytes that are buffered for one receiver.
#[derive(Clone, Debug)]
pub(crate) struct Account(Arc<AtomicU64>);

impl Account {
    pub(in crate::transport) fn new() -> Account {
        Account(Arc::new(AtomicU64::new(0)))
    }

    /// Whether nothing is charged.
    pub(in crate::transport) fn is_empty(&self) -> bool {
        // Relaxed: called while no rank sends.
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Charges a message of `bytes` bytes if it fits below `limit`.
    pub(in crate::transport) fn charge(&self, limit: u64, bytes: usize) -> Option<Charge> {
        let bytes = bytes.max(1) as u64;
        // Relaxed, here and in `Charge::drop`: a counter that hands over no memory.
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        let registry = |used: u64| used.checked_add(bytes).filter(|&used| used <= limit);
        self.0.fetch_update(set, fetch, registry).ok()?;
        Some(Charge {
            account: self.clone(),
            bytes,
        })
    }
}

/// The share of one message in an account, given back when this is dropped.
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
