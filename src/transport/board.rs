//! What all ranks of a communicator can see: the gate they pass together, and the last collective
//! calls of each rank.
//!
//! # The gate
//!
//! A barrier in one word, `fingerprint << 32 | arrived`. Who arrives adds one; the last sets the word
//! back to 0 and turns the other word, which everybody else looks at. The fingerprint holds the call's
//! number too: a rank that is in another call does not count, so nobody leaves a barrier that the
//! others have not entered.
//!
//! # Call records
//!
//! Each rank writes what it is about to do into a log of its own; others read it only when something
//! went wrong.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use super::head::Info;
use crate::Rank;
use crate::error::Site;
use crate::names::Collective;
use crate::op::Kind;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Where the ranks of a communicator meet.
#[derive(Debug)]
pub(crate) struct Gate {
    word: CachePadded<AtomicU64>,
    turn: CachePadded<AtomicU32>,
}

/// How an arrival went.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Everybody is here and has been let go.
    Last,
    /// Wait until [`Gate::has_turned`] from this turn.
    Early(u32),
    /// Those who are here are in another call.
    Strange,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Gate {
            word: CachePadded::new(AtomicU64::new(0)),
            turn: CachePadded::new(AtomicU32::new(0)),
        }
    }

    /// One of `size` ranks arrives for the call with this fingerprint.
    pub(crate) fn arrive(&self, size: usize, print: u32) -> Arrival {
        // Acquire: pairs with the release below; the turn cannot change before we have arrived.
        let turn = self.turn.load(Ordering::Acquire);
        let mut word = self.word.load(Ordering::Relaxed);
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
                Ok(_) if last => {
                    // Release: pairs with the acquire in `has_turned`.
                    self.turn.store(turn.wrapping_add(1), Ordering::Release);
                    return Arrival::Last;
                }
                Ok(_) => return Arrival::Early(turn),
            }
        }
    }

    /// Whether the ranks that met in this turn have been let go.
    #[inline]
    pub(crate) fn has_turned(&self, turn: u32) -> bool {
        // Acquire: pairs with the release in `arrive`.
        self.turn.load(Ordering::Acquire) != turn
    }
}

/// What the examination of a call has found, for all its ranks: nothing, or a fault.
pub(crate) type Verdict = Option<Arc<dyn std::error::Error + Send + Sync>>;

/// The collectives, as they print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    Collective(Collective),
    /// One of them with owned values.
    Values(Collective),
    ReduceOver,
    RunSchedule,
    Hypercube,
    Split,
    Neighbors,
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Verb::Collective(collective) | Verb::Values(collective) => collective.name(),
            Verb::ReduceOver => "reduce_over",
            Verb::RunSchedule => "run_schedule",
            Verb::Hypercube => "hypercube",
            Verb::Split => "split",
            Verb::Neighbors => "neighbors",
        }
    }
}

/// What a collective call is: two ranks are in the same call if all of this is equal but the site.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub verb: Verb,
    pub context: u32,
    /// The how-many-th collective of this communicator.
    pub number: u32,
    pub root: Option<Rank>,
    /// Elements; `None` where there are none or they may differ.
    pub length: Option<usize>,
    pub info: Option<&'static Info>,
    pub op: Kind,
    /// What distinguishes algorithms, as a hash: 0 for the automatic choice.
    pub algorithm: u32,
    /// Whether it goes on without ranks that are gone.
    pub tolerant: bool,
    pub site: Site,
}

impl Call {
    /// The 32 bits by which calls are compared in packets and at the gate.
    pub(crate) fn print(&self) -> u32 {
        let place = (self.verb, self.context, self.number);
        let data = (self.root, self.length, self.info.map(Info::id), self.op);
        digest(&(place, data, self.algorithm, self.tolerant))
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verb.name())?;
        let root = self.root.map(|root| format!("root {root}"));
        let data = match (self.length, self.info) {
            (Some(length), Some(info)) => Some(format!("{length} x {}", info.name())),
            (None, Some(info)) => Some(info.name().to_owned()),
            _ => None,
        };
        let op = (self.op != Kind::None).then(|| format!("{:?}", self.op));
        let parts: Vec<_> = [root, data, op].into_iter().flatten().collect();
        if parts.is_empty() {
            Ok(())
        } else {
            write!(f, "({})", parts.join(", "))
        }
    }
}

/// A few bits of anything, the same in every rank.
pub(crate) fn digest(what: &impl Hash) -> u32 {
    let mut hash = Mix(0x9e37_79b9_7f4a_7c15);
    what.hash(&mut hash);
    (hash.0 >> 32) as u32
}

/// A multiplicative hash: a few nanoseconds, and the same in every rank, which is all it must be.
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }
    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }
    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0 ^ n)
            .wrapping_mul(0xff51_afd7_ed55_8ccd)
            .rotate_left(29);
    }
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
}

/// How many calls back others can look.
const DEPTH: usize = 8;

/// The last collective calls of one rank, for others to read when something went wrong.
///
/// A mutex that only its own rank takes while all is well: some ten nanoseconds a collective.
pub(crate) struct CallLog(parking_lot::Mutex<([Option<Call>; DEPTH], usize)>);

impl CallLog {
    pub(crate) fn new() -> Self {
        CallLog(parking_lot::Mutex::new(([None; DEPTH], 0)))
    }

    pub(crate) fn write(&self, call: Call) {
        let (calls, next) = &mut *self.0.lock();
        calls[*next % DEPTH] = Some(call);
        *next += 1;
    }

    /// The call with this number on this communicator, if the rank has made it, and not long ago.
    pub(crate) fn find(&self, context: u32, number: u32) -> Option<Call> {
        let (calls, _) = &*self.0.lock();
        calls
            .iter()
            .flatten()
            .find(|call| call.context == context && call.number == number)
            .copied()
    }
}
