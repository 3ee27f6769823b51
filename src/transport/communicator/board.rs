//! What all ranks of a communicator can see: the gate they pass together, and the last collective
//! calls of each rank.
//!
//! # The gate
//!
//! A barrier in one word, `fingerprint << 32 | arrived`. Who arrives adds one; the last sets the word
//! back to 0, does what is to be done before anybody leaves, if there is something, and turns the other word, which
//! everybody else looks at. The fingerprint holds the call's number too: a rank that is in another call does not
//! count, so nobody leaves a barrier that the others have not entered.
//!
//! # Call records
//!
//! Each rank writes what it is about to do into a log of its own; others read it only when something
//! went wrong.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::Rank;
use crate::error::{Mismatch, Site};
use crate::names::Collective;
use crate::op::Kind;
use crate::sync::{AtomicU64, Mutex, Ordering};
use crate::transport::memory::head::Info;
use crate::transport::trace::record::{Deed, Peer};

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

/// What the examination of a call has found, for all its ranks.
#[derive(Clone, Default)]
pub(crate) enum Verdict {
    #[default]
    Right,
    /// What they are all about to do is wrong.
    Fault(Arc<dyn std::error::Error + Send + Sync>),
    /// They are not all about to do the same.
    Mismatch(Arc<Mismatch>),
}

/// The collectives, as they print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    Collective(Collective),
    /// One of them with owned values.
    Values(Collective),
    ReduceOver,
    RunSchedule,
    Hypercube,
    Dup,
    Split,
    SplitBy,
    Cartesian,
    NeighborAllToAll,
    NeighborAllGather,
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Verb::Collective(collective) => collective.name(),
            Verb::Values(collective) => values_name(collective),
            Verb::ReduceOver => "reduce_over",
            Verb::RunSchedule => "run_schedule",
            Verb::Hypercube => "hypercube",
            Verb::Dup => "dup",
            Verb::Split => "split",
            Verb::SplitBy => "split_by",
            Verb::Cartesian => "cartesian",
            Verb::NeighborAllToAll => "neighbor_all_to_all",
            Verb::NeighborAllGather => "neighbor_all_gather",
        }
    }
}

/// A collective as it is called with owned values.
fn values_name(collective: Collective) -> &'static str {
    match collective {
        Collective::Broadcast => "broadcast_value",
        Collective::Reduce => "reduce_value",
        Collective::AllReduce => "all_reduce_value",
        Collective::Gather => "gather_value",
        Collective::AllGather => "all_gather_value",
        Collective::Scatter => "scatter_value",
        other => other.name(),
    }
}

/// Arguments of a call that print and are not compared: where ranks must agree on them, the
/// [algorithm](Call::algorithm)'s hash covers them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Detail {
    None,
    /// The colour and the key that a rank passes to a split.
    Part(Option<u32>, i64),
    /// The kind of part to split by.
    Level(&'static str),
    Grid(Grid),
}

/// The first dimensions of a grid, and how many there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    dims: [u32; Grid::SHOWN],
    periodic: [bool; Grid::SHOWN],
    count: usize,
}

impl Grid {
    const SHOWN: usize = 6;

    pub(crate) fn new(dims: &[usize], periodic: &[bool]) -> Grid {
        let mut grid = Grid {
            dims: [0; Grid::SHOWN],
            periodic: [false; Grid::SHOWN],
            count: dims.len(),
        };
        for (to, dim) in grid.dims.iter_mut().zip(dims) {
            *to = *dim as u32;
        }
        for (to, ends) in grid.periodic.iter_mut().zip(periodic) {
            *to = *ends;
        }
        grid
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.count.min(Grid::SHOWN);
        let more = if self.count > shown { ", .." } else { "" };
        let list = |items: Vec<String>| format!("[{}{more}]", items.join(", "));
        let dims = self.dims[..shown].iter().map(u32::to_string).collect();
        let periodic = self.periodic[..shown].iter().map(bool::to_string).collect();
        write!(f, "{}, {}", list(dims), list(periodic))
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Detail::None => Ok(()),
            Detail::Part(Some(colour), key) => write!(f, "colour {colour}, key {key}"),
            Detail::Part(None, key) => write!(f, "no colour, key {key}"),
            Detail::Level(kind) => f.write_str(kind),
            Detail::Grid(grid) => grid.fmt(f),
        }
    }
}

/// What a collective call is: two ranks are in the same call if all of this is equal but the site
/// and the part.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub verb: Verb,
    pub context: u32,
    pub root: Option<Rank>,
    /// Elements; `None` where there are none or they may differ.
    pub length: Option<usize>,
    pub info: Option<&'static Info>,
    pub op: Kind,
    /// What distinguishes algorithms, as a hash: 0 for the automatic choice.
    pub algorithm: u32,
    /// The part of this rank in what they all do, as a hash: for the examination of the call, and not
    /// compared here.
    pub part: u32,
    /// Whether it goes on without ranks that are gone.
    pub tolerant: bool,
    pub detail: Detail,
    pub site: Site,
}

/// What is equal in all ranks' records of a call, but for its number, in a few bits.
#[derive(Clone, Copy)]
pub(crate) struct Digest(u64);

impl Digest {
    /// The 32 bits by which calls are compared in packets, cells and at the gate: of this call as the `number`-th
    /// collective of its communicator, and of all that it had before, whose last print was `before`.
    #[inline]
    pub(crate) fn print(self, number: u32, before: u32) -> u32 {
        let place = u64::from(number) << 32 | u64::from(before);
        ((self.0 ^ place).wrapping_mul(Mix::ODD) >> 32) as u32
    }
}

impl Call {
    pub(crate) fn digest(&self) -> Digest {
        let data = (self.root, self.length, self.info.map(Info::id), self.op);
        let all = (self.verb, self.context, data, self.algorithm, self.tolerant);
        Digest(Mix::of(&all).finish())
    }
}

impl Call {
    /// How a call differs from one that prints alike and is not the same.
    pub(crate) fn unlike(&self) -> &'static str {
        match self.verb {
            Verb::ReduceOver => " over another topology, or in another order",
            Verb::RunSchedule => " with another goal or schedule",
            Verb::Cartesian => " with other dimensions or ends",
            _ => " by another algorithm, or with other counts",
        }
    }

    /// What the recorder is to know of it.
    #[inline]
    pub(crate) fn deed(&self) -> Deed {
        Deed {
            verb: self.verb.name(),
            info: self.info,
            peer: self.root.map_or(Peer::None, Peer::Root),
            count: self.length,
            context: self.context,
            ..Deed::at(self.site)
        }
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
        let detail = !matches!(self.detail, Detail::None);
        let detail = detail.then(|| self.detail.to_string());
        let parts: Vec<_> = [root, data, op, detail].into_iter().flatten().collect();
        if parts.is_empty() {
            Ok(())
        } else {
            write!(f, "({})", parts.join(", "))
        }
    }
}

/// A few bits of anything, the same in every rank.
pub(crate) fn digest(what: &impl Hash) -> u32 {
    Mix::of(what).bits()
}

/// A multiplicative hash: a few nanoseconds, and the same in every rank, which is all it must be.
#[derive(Clone, Copy)]
struct Mix(u64);

impl Mix {
    const ODD: u64 = 0xff51_afd7_ed55_8ccd;

    fn of(what: &impl Hash) -> Mix {
        let mut mix = Mix(0x9e37_79b9_7f4a_7c15);
        what.hash(&mut mix);
        mix
    }

    #[inline]
    fn bits(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

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
    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }
    #[inline]
    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0 ^ n).wrapping_mul(Mix::ODD).rotate_left(29);
    }
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
}

/// How many calls back others can look.
pub(in crate::transport) const DEPTH: usize = 8;

/// The last collective calls of one rank, for others to read when something went wrong.
///
/// What a call is, its number apart, is entered once and then known by the number of that entry: the same
/// call again is one word, and nothing is locked.
pub(crate) struct CallLog {
    /// The last calls, a [word](Self::word) each, at their places in turn; 0: none.
    last: [AtomicU64; DEPTH],
    /// How many there were.
    written: AtomicU64,
    known: Mutex<Known>,
}

/// The last entries.
struct Known {
    entries: [Option<Call>; CallLog::ENTRIES],
    next: u64,
}

impl CallLog {
    /// How many calls are known at a time.
    pub(in crate::transport) const ENTRIES: usize = 32;

    pub(crate) fn new() -> Self {
        CallLog {
            last: std::array::from_fn(|_| AtomicU64::new(0)),
            written: AtomicU64::new(0),
            known: Mutex::new(Known {
                entries: [None; Self::ENTRIES],
                next: 0,
            }),
        }
    }

    /// After so many other entries one can still be [written](Self::write): those that the last calls have
    /// are never overwritten.
    pub(crate) const LASTING: u64 = (Self::ENTRIES - DEPTH - 1) as u64;

    /// Enters a call, to be [written](Self::write) each time that it is made. Entries are numbered from 0.
    pub(crate) fn enter(&self, call: &Call) -> u64 {
        let mut known = self.known.lock();
        let entry = known.next;
        known.next += 1;
        known.entries[entry as usize % Self::ENTRIES] = Some(*call);
        entry
    }

    /// The rank makes this call, and it is its communicator's `number`-th.
    #[inline]
    pub(crate) fn write(&self, entry: u64, number: u32) {
        // Relaxed, all three: only this rank writes them, and whoever looks for a call that has been heard of
        // through a message finds what was written before that.
        let written = self.written.load(Ordering::Relaxed);
        let place = &self.last[written as usize % DEPTH];
        place.store(Self::word(entry, number), Ordering::Relaxed);
        self.written.store(written + 1, Ordering::Relaxed);
    }

    /// The call `number` that is this entry, of whose number the last bits tell.
    #[inline]
    fn word(entry: u64, number: u32) -> u64 {
        (entry + 1) << 32 | u64::from(number)
    }

    /// The last calls on this communicator, with their numbers.
    pub(crate) fn last_of(&self, context: u32) -> Vec<(u32, Call)> {
        // Nothing is entered meanwhile, so what is written now is known.
        let known = self.known.lock();
        let oldest = known.next.saturating_sub(Self::ENTRIES as u64);
        let call = |word: u64| {
            let is = |entry: &u64| Self::word(*entry, word as u32) == word;
            let entry = (oldest..known.next).find(is)?;
            let call = known.entries[entry as usize % Self::ENTRIES]?;
            (call.context == context).then_some((word as u32, call))
        };
        // Relaxed: as in `find`.
        let words = self.last.iter().map(|word| word.load(Ordering::Relaxed));
        words.filter_map(call).collect()
    }

    /// The call with this number on this communicator, if the rank has made it, and not long ago.
    pub(crate) fn find(&self, context: u32, number: u32) -> Option<Call> {
        // Nothing is entered meanwhile, so what is written now is known.
        let known = self.known.lock();
        let oldest = known.next.saturating_sub(Self::ENTRIES as u64);
        // Relaxed: a word tells everything by itself.
        let written = self
            .last
            .each_ref()
            .map(|word| word.load(Ordering::Relaxed));
        let entries =
            (oldest..known.next).filter(|entry| written.contains(&Self::word(*entry, number)));
        let mut calls = entries.filter_map(|entry| known.entries[entry as usize % Self::ENTRIES]);
        calls.find(|call| call.context == context)
    }
}
