//! Guidelines for good tuning tables: no time exceeds that of an available substitute.

use std::fmt;

use super::error::On;
use super::{Entry, Rule, TuningTable};
use crate::collective::Collective;
use crate::machine::Bytes;

/// The factor by which a time may exceed its bound: both scatter between passes.
const TOLERANCE: f64 = 1.25;

/// The additional slack: calls with a root are timed one by one, so the clock's overhead counts.
const SLACK_NS: f64 = 300.0;

/// The factor by which a time may change from one number of ranks to the next.
const CLIFF: f64 = 2.0;

/// The bounds that the times of a table are compared with.
///
/// # Source
///
/// Träff, Gropp and Thakur, *Self-consistent MPI performance guidelines*, IEEE TPDS 21(5), 2010.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Guideline {
    /// An all_reduce takes no longer than a reduce and a broadcast.
    ReduceAndBroadcast,
    /// A broadcast takes no longer than a scatter and an all_gather.
    ScatterAndAllGather,
    /// Fewer bytes take no longer than more.
    FewerBytes,
    /// A power of two, plus or minus one rank, makes no cliff.
    NextToAPowerOfTwo,
}

impl fmt::Display for Guideline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Guideline::ReduceAndBroadcast => "a reduce and a broadcast are quicker",
            Guideline::ScatterAndAllGather => "a scatter and an all_gather are quicker",
            Guideline::FewerBytes => "more bytes are quicker",
            Guideline::NextToAPowerOfTwo => "one rank more or less makes a cliff",
        })
    }
}

/// A time that breaks a guideline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The guideline.
    pub guideline: Guideline,
    /// The collective.
    pub collective: Collective,
    /// The number of ranks.
    pub ranks: usize,
    /// The number of bytes.
    pub bytes: usize,
    /// The time in nanoseconds.
    pub ns: u64,
    /// The bound in nanoseconds, before the allowance for scatter.
    pub bound_ns: u64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} takes {} ns at {}: {}, {} ns",
            On((self.collective, self.ranks)),
            self.ns,
            Bytes(self.bytes as u64),
            self.guideline,
            self.bound_ns
        )
    }
}

/// The times of a table that break a guideline, ordered by collective and ranks. Each is a sign that another algorithm
/// should be in its place, or that the machine was disturbed during the measurement.
///
/// Rules without times break nothing. A time may exceed its bound by a quarter plus 300 ns. Next to a power of two the
/// bound is doubled first; this comparison is made only if both numbers of ranks, or neither, have a core for each
/// rank.
///
/// # Examples
///
/// ```
/// use rankfold::collective::{Guideline, TuningTable, violations};
///
/// let table: TuningTable = "
///     rankfold tuning 1
///     scan on 4 ranks
///       from 0 bytes: doubling, 9000 ns at 64 bytes
///       from 128 bytes: doubling, 3000 ns at 256 bytes
/// ".parse()?;
/// let found = violations(&table);
/// assert_eq!((found.len(), found[0].guideline, found[0].bytes), (1, Guideline::FewerBytes, 64));
/// # Ok::<(), rankfold::collective::TableError>(())
/// ```
pub fn violations(table: &TuningTable) -> Vec<Violation> {
    let entries = table.entries().iter();
    entries.flat_map(|entry| of_entry(table, entry)).collect()
}

fn of_entry(table: &TuningTable, entry: &Entry) -> Vec<Violation> {
    let mut found = Vec::new();
    for rule in &entry.rules {
        let (Some(bytes), Some(ns)) = (rule.at, rule.best.ns) else {
            continue;
        };
        let bounds = bounds(table, entry, bytes);
        found.extend(bounds.into_iter().flatten().filter_map(|bound| {
            let most = bound.times * bound.ns as f64 + SLACK_NS;
            (ns as f64 > most).then_some(Violation {
                guideline: bound.guideline,
                collective: entry.collective,
                ranks: entry.ranks,
                bytes,
                ns,
                bound_ns: bound.ns,
            })
        }));
    }
    found
}

struct Bound {
    guideline: Guideline,
    ns: u64,
    times: f64,
}

/// The bounds for an entry's time at `bytes` bytes.
fn bounds(table: &TuningTable, entry: &Entry, bytes: usize) -> [Option<Bound>; 4] {
    use Collective::*;
    let time = |collective| time(table.entry(collective, entry.ranks)?, bytes);
    let both = |a, b| Some(time(a)?.saturating_add(time(b)?));
    let instead = match entry.collective {
        AllReduce => (Guideline::ReduceAndBroadcast, both(Reduce, Broadcast)),
        _ => (
            Guideline::ScatterAndAllGather,
            match entry.collective {
                Broadcast => both(Scatter, AllGather),
                _ => None,
            },
        ),
    };
    let bound = |guideline, times, ns: Option<u64>| {
        ns.map(|ns| Bound {
            guideline,
            ns,
            times,
        })
    };
    let beside = |ranks| cliff(table, entry, ranks, bytes);
    [
        bound(instead.0, TOLERANCE, instead.1),
        bound(Guideline::FewerBytes, TOLERANCE, of_more(entry, bytes)),
        bound(
            Guideline::NextToAPowerOfTwo,
            CLIFF * TOLERANCE,
            beside(entry.ranks - 1),
        ),
        bound(
            Guideline::NextToAPowerOfTwo,
            CLIFF * TOLERANCE,
            beside(entry.ranks.saturating_add(1)),
        ),
    ]
}

/// The time for `bytes` bytes, or for the next larger size measured, at most twice `bytes`: equal blocks may round up.
fn time(entry: &Entry, bytes: usize) -> Option<u64> {
    let near = |rule: &&Rule| rule.at.is_some_and(|at| at >= bytes && at / 2 <= bytes);
    entry.rules.iter().find(near)?.best.ns
}

/// The minimum time for more bytes.
fn of_more(entry: &Entry, bytes: usize) -> Option<u64> {
    let more = entry.rules.iter().filter(|rule| rule.at > Some(bytes));
    more.filter_map(|rule| rule.best.ns).min()
}

/// The time of another number of ranks, if one of the two is a power of two, and either both or neither have a core for
/// each rank.
fn cliff(table: &TuningTable, entry: &Entry, ranks: usize, bytes: usize) -> Option<u64> {
    let room = table.fingerprint().map_or(0, |of| of.room);
    let alike = (ranks > room) == (entry.ranks > room);
    let beside = ranks.is_power_of_two() || entry.ranks.is_power_of_two();
    let other = table
        .entry(entry.collective, ranks)
        .filter(|_| alike && beside)?;
    time(other, bytes)
}
