//! Tuning tables: which algorithm was quickest on a machine, by collective, ranks and bytes; and the look-up,
//! a pure function that allocates nothing.
//!
//! - `fingerprint`: of which machine a table is; `error`: what is wrong with one;
//! - `text`, `json`: how it is written and read; `guidelines`: what no good table breaks.

use std::fmt;

use super::{Algorithm, Call, Collective};
use crate::machine::Bytes;

mod error;
mod fingerprint;
mod guidelines;
#[cfg(feature = "json")]
mod json;
mod text;

pub use error::TableError;
pub use fingerprint::{Fingerprint, Foreign};
pub use guidelines::{Guideline, Violation, violations};

/// Which algorithm was quickest, by collective, number of ranks and length: what the automatic choice looks at in
/// a world that is [tuned](crate::World::tuned).
///
/// `rankfold tune` and [`tune`](crate::tune) measure one. Written by hand it serves as well: without a
/// fingerprint it is good for any machine.
///
/// The look-up, for a call of P ranks:
///
/// 1. The entry of P ranks; where there is none, the nearest one with fewer ranks and the nearest with more, the
///    nearer by ratio first, the smaller if both are as near. An entry counts as near only if it has at most
///    twice, and at least half as many ranks, and if neither or both have a core for each rank.
/// 2. Of an entry the last rule that begins at or below the call's bytes: the length of the whole vector.
/// 3. Of a rule its algorithm, or else its runner-up: what [refuses](Algorithm::refused) the call is passed
///    over, and so are `cells` without room, and `hierarchical` where ranks are in no groups.
///
/// Where nothing is found so, the choice is as without a table.
///
/// # Examples
///
/// ```
/// use rankfold::collective::{Algorithm, Call, Choice, Collective, TuningTable};
///
/// let table: TuningTable = "
///     rankfold tuning 1
///     all_reduce on 4 ranks
///       from 0 bytes: cells, 412 ns at 8 bytes; then exchange, 620 ns
///       from 6000 bytes: ring
/// ".parse()?;
/// let call = Call::new(Collective::AllReduce, 4, 1000).commuting();
/// assert_eq!(Choice::by(Some(&table), &call, 8).algorithm, Algorithm::Ring);
/// let shorter = Choice::by(Some(&table), &Call::new(Collective::AllReduce, 4, 1), 8);
/// assert_eq!(shorter.reason, "412 ns against 620 ns were measured at 8 B on 4 ranks");
/// # Ok::<(), rankfold::collective::TableError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TuningTable {
    fingerprint: Option<Fingerprint>,
    remarks: Vec<String>,
    /// By collective, then by ranks.
    entries: Vec<Entry>,
}

/// What a table has for a collective among so many ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The collective.
    pub collective: Collective,
    /// Among how many ranks.
    pub ranks: usize,
    /// The rules, by the bytes from which they hold.
    pub rules: Vec<Rule>,
}

/// What is best from so many bytes on, up to where the next rule begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Bytes of the whole vector from which it holds.
    pub from: usize,
    /// What is best.
    pub best: Timed,
    /// What comes next.
    pub next: Option<Timed>,
    /// The bytes for which both were measured.
    pub at: Option<usize>,
}

/// An algorithm, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Nanoseconds of a call, where it was measured.
    pub ns: Option<u64>,
}

impl From<Algorithm> for Timed {
    fn from(algorithm: Algorithm) -> Timed {
        Timed {
            algorithm,
            ns: None,
        }
    }
}

impl TuningTable {
    /// A table of these entries, in any order, of a machine or of any.
    ///
    /// # Errors
    ///
    /// The first thing that makes no sense; see [`TableError`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::{Algorithm, Collective, Entry, Rule, TuningTable};
    ///
    /// let rule = Rule { from: 0, best: Algorithm::Bruck.into(), next: None, at: None };
    /// let entry = Entry { collective: Collective::Scan, ranks: 4, rules: vec![rule] };
    /// let refused = TuningTable::new(None, vec![entry]).unwrap_err();
    /// assert!(refused.to_string().starts_with("scan on 4 ranks: bruck does not do scan"));
    /// ```
    pub fn new(
        fingerprint: Option<Fingerprint>,
        mut entries: Vec<Entry>,
    ) -> Result<TuningTable, TableError> {
        if let Some(fingerprint) = &fingerprint {
            fingerprint.check()?;
        }
        entries.iter().try_for_each(Entry::check)?;
        entries.sort_by_key(Entry::key);
        let twice = entries.windows(2).find(|two| two[0].key() == two[1].key());
        if let Some(two) = twice {
            return Err(TableError::Twice {
                entry: two[0].key(),
            });
        }
        Ok(TuningTable {
            fingerprint,
            remarks: Vec::new(),
            entries,
        })
    }

    /// Reads a table as text, or what begins with a brace as JSON, if feature `json` is there.
    ///
    /// # Errors
    ///
    /// Those of both; without the feature [`TableError::Json`] for what would be JSON.
    pub fn read(written: &str) -> Result<TuningTable, TableError> {
        match written.trim_start().starts_with('{') {
            true => read_json(written),
            false => written.parse(),
        }
    }

    /// The same with what a reader should know of it, a sentence each.
    ///
    /// # Errors
    ///
    /// [`TableError::Words`] for what is not one line.
    pub fn with_remarks(self, remarks: Vec<String>) -> Result<TuningTable, TableError> {
        let good = |remark: &String| !remark.is_empty() && error::is_line(remark);
        match remarks.iter().all(good) {
            true => Ok(TuningTable { remarks, ..self }),
            false => Err(TableError::Words { field: "a remark" }),
        }
    }

    /// Of which machine it is; `None`: of any.
    pub fn fingerprint(&self) -> Option<&Fingerprint> {
        self.fingerprint.as_ref()
    }

    /// What a reader should know of it.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// All entries, by collective and ranks.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry for a collective among exactly so many ranks.
    pub fn entry(&self, collective: Collective, ranks: usize) -> Option<&Entry> {
        let key = (collective, ranks);
        let place = self.entries.binary_search_by_key(&key, Entry::key).ok()?;
        self.entries.get(place)
    }

    /// What it has for a call of so many bytes, among what is usable.
    pub(super) fn find(
        &self,
        call: &Call,
        bytes: usize,
        usable: impl Fn(Algorithm) -> bool,
    ) -> Option<Found> {
        let near = self.near(call.collective, call.ranks());
        let mut found = near.into_iter().flatten();
        found.find_map(|entry| entry.found(bytes, &usable))
    }

    /// The entry of so many ranks, or else the nearest two that may stand in for it, the nearer first.
    fn near(&self, collective: Collective, ranks: usize) -> [Option<&Entry>; 2] {
        let key = (collective, ranks);
        let place = self.entries.partition_point(|entry| entry.key() < key);
        let above = self.entries.get(place);
        if let Some(entry) = above.filter(|entry| entry.key() == key) {
            return [Some(entry), None];
        }
        let below = place.checked_sub(1).and_then(|i| self.entries.get(i));
        let serves = |entry: &&Entry| entry.collective == collective && self.near_by(entry, ranks);
        let (below, above) = (below.filter(serves), above.filter(serves));
        match (below, above) {
            (Some(low), Some(high)) if is_nearer(high.ranks, low.ranks, ranks) => [above, below],
            _ => [below, above],
        }
    }

    /// Whether an entry may stand in for so many ranks.
    fn near_by(&self, entry: &Entry, ranks: usize) -> bool {
        let (few, many) = (entry.ranks.min(ranks), entry.ranks.max(ranks));
        let room = self.fingerprint.as_ref().map_or(0, |of| of.room);
        let crowded = |ranks: usize| ranks > room;
        many / 2 <= few && many <= few.saturating_mul(2) && crowded(few) == crowded(many)
    }
}

#[cfg(feature = "json")]
fn read_json(json: &str) -> Result<TuningTable, TableError> {
    TuningTable::from_json(json)
}

#[cfg(not(feature = "json"))]
fn read_json(_: &str) -> Result<TuningTable, TableError> {
    let what =
        "it is JSON, and this program was built without the feature `json`: write it as text";
    Err(TableError::Json { what: what.into() })
}

/// Whether the higher number is nearer than the lower one to what lies between them, by ratio.
fn is_nearer(high: usize, low: usize, to: usize) -> bool {
    (high as u128) * (low as u128) < (to as u128) * (to as u128)
}

impl Entry {
    fn key(&self) -> (Collective, usize) {
        (self.collective, self.ranks)
    }

    /// The rule for so many bytes.
    pub fn rule(&self, bytes: usize) -> Option<&Rule> {
        let after = self.rules.partition_point(|rule| rule.from <= bytes);
        self.rules[..after].last()
    }

    fn found(&self, bytes: usize, usable: impl Fn(Algorithm) -> bool) -> Option<Found> {
        let rule = *self.rule(bytes)?;
        let next = rule.next.filter(|next| usable(next.algorithm));
        let ranks = self.ranks;
        match (usable(rule.best.algorithm), next) {
            (true, next) => Some(Found {
                ranks,
                rule: Rule { next, ..rule },
                passed_over: None,
            }),
            (false, Some(best)) => Some(Found {
                ranks,
                rule: Rule {
                    best,
                    next: None,
                    ..rule
                },
                passed_over: Some(rule.best.algorithm),
            }),
            (false, None) => None,
        }
    }

    /// Whether it makes sense by itself.
    fn check(&self) -> Result<(), TableError> {
        let entry = self.key();
        if self.ranks == 0 || self.rules.is_empty() {
            return Err(TableError::Empty { entry });
        }
        if let Some(two) = self.rules.windows(2).find(|two| two[0].from >= two[1].from) {
            let from = two[1].from;
            return Err(TableError::Order { entry, from });
        }
        self.rules.iter().try_for_each(|rule| self.check_rule(rule))
    }

    fn check_rule(&self, rule: &Rule) -> Result<(), TableError> {
        let entry = self.key();
        let both = [Some(rule.best), rule.next];
        let serves = |timed: &&Timed| timed.algorithm.needs(self.collective).is_none();
        if let Some(timed) = both.iter().flatten().find(serves) {
            let algorithm = timed.algorithm;
            return Err(TableError::NotFor { entry, algorithm });
        }
        match rule.next {
            Some(next) if next.algorithm == rule.best.algorithm => {
                let algorithm = next.algorithm;
                Err(TableError::Same { entry, algorithm })
            }
            _ => Ok(()),
        }
    }
}

/// What was found for a call: a rule of which what cannot be used is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The ranks of the entry.
    pub(super) ranks: usize,
    pub(super) rule: Rule,
    /// What would have been better, and cannot be used.
    pub(super) passed_over: Option<Algorithm>,
}

/// As a reason.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule { best, next, at, .. } = self.rule;
        match (best.ns, next.and_then(|next| next.ns)) {
            (Some(ns), Some(against)) => {
                write!(f, "{} against {} were measured", Time(ns), Time(against))?;
            }
            (Some(ns), None) => write!(f, "{} were measured", Time(ns))?,
            (None, _) => f.write_str("the tuning table says so")?,
        }
        if let Some(at) = at {
            write!(f, " at {}", Bytes(at as u64))?;
        }
        write!(f, " on {} ranks", self.ranks)?;
        match self.passed_over {
            Some(other) => write!(f, "; {other} would be quicker, and cannot be used"),
            None => Ok(()),
        }
    }
}

/// Nanoseconds, in units that fit.
struct Time(u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ns @ 0..1_000 => write!(f, "{ns} ns"),
            ns @ 1_000..10_000 => write!(f, "{:.1} µs", ns as f64 / 1e3),
            ns @ 10_000..1_000_000 => write!(f, "{:.0} µs", ns as f64 / 1e3),
            ns => write!(f, "{:.1} ms", ns as f64 / 1e6),
        }
    }
}
