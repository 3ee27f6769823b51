//! The gate that all ranks of a communicator pass together: a barrier in one word, `fingerprint << 32 | arrived`.
//!
//! Each arrival adds one. The last one resets the word to 0, does whatever has to happen before any rank leaves, and
//! then turns a second word, which all other ranks watch. The fingerprint covers the number of the call: a rank in
//! another call does not count, so no rank leaves a barrier that the others have not entered.

use crossbeam_utils::CachePadded;

use crate::Rank;
use crate::sync::{AtomicU64, Ordering};

/// The word at which the ranks of a communicator meet.
#[derive(Debug)]
pub(crate) struct Gate {
    word: CachePadded<AtomicU64>,
    /// The number of turns, `<< 32`, and the rank that turned it last.
    turn: CachePadded<AtomicU64>,
}

/// The outcome of an arrival.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// All ranks have arrived, and wait for this one to [turn](Gate::turn) the gate from this turn.
    Last(u32),
    /// The rank waits until the gate [is turned](Gate::turned_by) from this turn.
    Early(u32),
    /// The ranks that have arrived are in another call.
    Strange,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Gate {
            word: CachePadded::new(AtomicU64::new(0)),
            turn: CachePadded::new(AtomicU64::new(0)),
        }
    }

    /// One of `size` ranks arrives for the call with this fingerprint.
    pub(crate) fn arrive(&self, size: usize, print: u32) -> Arrival {
        // Acquire: pairs with the release in `turn`; the turn cannot change before we have arrived.
        let turn = (self.turn.load(Ordering::Acquire) >> 32) as u32;
        // A guess that is usually wrong. The failed exchange fetches the cache line for writing; a load first would
        // fetch it for reading only, and the write would fetch it again.
        let mut word = 0;
        loop {
            let arrived = word & 0xffff_ffff;
            if arrived > 0 && (word >> 32) as u32 != print {
                return Arrival::Strange;
            }
            let last = arrived + 1 == size as u64;
            let next = if last {
                0
            } else {
                u64::from(print) << 32 | (arrived + 1)
            };
            // AcqRel: the last rank sees everything that the others did before they arrived.
            match self
                .word
                .compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Err(now) => word = now,
                Ok(_) if last => return Arrival::Last(turn),
                Ok(_) => return Arrival::Early(turn),
            }
        }
    }

    /// The rank that arrived last in this turn lets all ranks go.
    pub(crate) fn turn(&self, turn: u32, me: Rank) {
        let next = u64::from(turn.wrapping_add(1)) << 32 | me as u64;
        // Release: pairs with the acquire in `turned_by`.
        self.turn.store(next, Ordering::Release);
    }

    /// The rank that let go the ranks that met in this turn, if they may go. Asked by one of those ranks: the gate is
    /// not turned again before that rank arrives again.
    #[inline]
    pub(crate) fn turned_by(&self, turn: u32) -> Option<Rank> {
        // Acquire: pairs with the release in `turn`.
        let word = self.turn.load(Ordering::Acquire);
        ((word >> 32) as u32 != turn).then_some(word as u32 as Rank)
    }
}
