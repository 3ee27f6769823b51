//! The gate that all ranks of a communicator pass together: a barrier in one word, `fingerprint << 32 | arrived`.
//!
//! Who arrives adds one; the last sets the word
//! back to 0, does what is to be done before anybody leaves, if there is something, and turns the other word, which
//! everybody else looks at. The fingerprint holds the call's number too: a rank that is in another call does not
//! count, so nobody leaves a barrier that the others have not entered.

use crossbeam_utils::CachePadded;

use crate::Rank;
use crate::sync::{AtomicU64, Ordering};

/// Where the ranks of a communicator meet.
#[derive(Debug)]
pub(crate) struct Gate {
    word: CachePadded<AtomicU64>,
    /// How many turns there were, `<< 32`, and who turned it last.
    turn: CachePadded<AtomicU64>,
}

/// How an arrival went.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Everybody is here, and waits for this rank to [turn](Gate::turn) the gate from this turn.
    Last(u32),
    /// Wait until it [is turned](Gate::turned_by) from this turn.
    Early(u32),
    /// Those who are here are in another call.
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
        // A guess that is mostly wrong: who is told so has the line, and who had asked would have to ask once more to
        // write.
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
            // AcqRel: whoever is last has seen all that the others did before they arrived.
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

    /// The rank that came last in this turn lets all go.
    pub(crate) fn turn(&self, turn: u32, me: Rank) {
        let next = u64::from(turn.wrapping_add(1)) << 32 | me as u64;
        // Release: pairs with the acquire in `turned_by`.
        self.turn.store(next, Ordering::Release);
    }

    /// Who has let the ranks go that met in this turn, if they are. Asked by one of them: nobody turns the gate again
    /// before it arrives again.
    #[inline]
    pub(crate) fn turned_by(&self, turn: u32) -> Option<Rank> {
        // Acquire: pairs with the release in `turn`.
        let word = self.turn.load(Ordering::Acquire);
        ((word >> 32) as u32 != turn).then_some(word as u32 as Rank)
    }
}
