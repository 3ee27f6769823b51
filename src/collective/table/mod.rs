//! Tuning tables: the fastest algorithm on a machine, by collective, ranks and bytes. The look-up is a pure function
//! that allocates nothing.
//!
//! - `fingerprint`: the machine that a table belongs to; `error`: the error type;
//! - `text`, `json`: reading and writing; `guidelines`: properties of every good table.

use std::fmt;

use super::{Algorithm, Call, Collective};
use crate::machine::Bytes;
use crate::sort;

mod error;
mod fingerprint;
mod guidelines;
#[cfg(feature = "json")]
mod json;
mod text;

pub use error::TableError;
pub use fingerprint::{Fingerprint, Foreign};
pub use guidelines::{Guideline, Violation, violations};

/// The fastest algorithm by collective, number of ranks and length. The automatic choice consults it in a world that is
/// [tuned](crate::World::tuned).
///
/// `rankfold tune` and `rankfold::tune` (feature `measure`) measure a table. A table may also be written by hand: without a
/// fingerprint it applies to any machine.
///
/// The look-up, for a call of P ranks:
///
/// 1. The entry of P ranks; if there is none, the nearest entry with fewer ranks and the nearest with more, in order of
///    their ratio to P, the smaller first in a tie. An entry qualifies only if it has at most twice and at least half
///    as many ranks, and if neither or both have a core for each rank.
/// 2. Of an entry, the last rule that begins at or below the call's bytes: the length of the whole vector.
/// 3. Of a rule, its algorithm, else its runner-up. An algorithm that [refuses](Algorithm::refused) the call is
///    skipped, and so are `cells` if the data does not fit, and `hierarchical` if ranks have no groups.
///
/// If this finds nothing, the choice is made as without a table.
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
    /// Sorted by collective, then by ranks.
    entries: Vec<Entry>,
}

/// The rules for a collective among `ranks` ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The collective.
    pub collective: Collective,
    /// The number of ranks.
    pub ranks: usize,
    /// The rules, sorted by the bytes from which they apply.
    pub rules: Vec<Rule>,
}

/// The best algorithm from a number of bytes up to the start of the next rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The number of bytes of the whole vector from which the rule applies.
    pub from: usize,
    /// The best algorithm.
    pub best: Timed,
    /// The runner-up.
    pub next: Option<Timed>,
    /// The number of bytes at which both were measured.
    pub at: Option<usize>,
}

/// An algorithm and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The time of a call in nanoseconds, if measured.
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
    /// A table of these entries, in any order, for one machine or for any.
    ///
    /// # Errors
    ///
    /// The first inconsistency; see [`TableError`].
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
        sort::by_numbers(&mut entries, |one| [one.collective as usize, one.ranks]);
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

    /// Reads a table as text, or as JSON if it begins with a brace and feature `json` is enabled.
    ///
    /// # Errors
    ///
    /// Those of both formats; without the feature, [`TableError::Json`] for a table that begins with a brace.
    pub fn read(written: &str) -> Result<TuningTable, TableError> {
        match written.trim_start().starts_with('{') {
            true => read_json(written),
            false => written.parse(),
        }
    }

    /// The same table with remarks for its reader, one sentence each.
    ///
    /// # Errors
    ///
    /// [`TableError::Words`] for a remark that is not a single line.
    pub fn with_remarks(self, remarks: Vec<String>) -> Result<TuningTable, TableError> {
        let good = |remark: &String| !remark.is_empty() && error::is_line(remark);
        match remarks.iter().all(good) {
            true => Ok(TuningTable { remarks, ..self }),
            false => Err(TableError::Words { field: "a remark" }),
        }
    }

    /// The machine that the table belongs to; `None` for any.
    pub fn fingerprint(&self) -> Option<&Fingerprint> {
        self.fingerprint.as_ref()
    }

    /// The remarks for the table's reader.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// All entries, sorted by collective and ranks.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry for a collective among exactly `ranks` ranks.
    pub fn entry(&self, collective: Collective, ranks: usize) -> Option<&Entry> {
        let key = (collective, ranks);
        let place = self.entries.binary_search_by_key(&key, Entry::key).ok()?;
        self.entries.get(place)
    }

    /// The first rule for a call of `bytes` bytes with a usable algorithm.
    pub(super) fn find(
        &self,
        call: &Call,
        bytes: usize,
        usable: impl Fn(Algorithm) -> bool,
    ) -> Option<LookedUp> {
        let near = self.near(call.collective, call.ranks());
        let mut found = near.into_iter().flatten();
        found.find_map(|entry| entry.found(bytes, &usable))
    }

    /// The entry for `ranks` ranks, or else the nearest two that may replace it, the nearer first.
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

    /// Whether an entry may stand in for one of `ranks` ranks.
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

/// Whether `high` is nearer than `low` to the number between them, by ratio.
fn is_nearer(high: usize, low: usize, to: usize) -> bool {
    (high as u128) * (low as u128) < (to as u128) * (to as u128)
}

impl Entry {
    fn key(&self) -> (Collective, usize) {
        (self.collective, self.ranks)
    }

    /// The rule for `bytes` bytes.
    pub fn rule(&self, bytes: usize) -> Option<&Rule> {
        let after = self.rules.partition_point(|rule| rule.from <= bytes);
        self.rules[..after].last()
    }

    fn found(&self, bytes: usize, usable: impl Fn(Algorithm) -> bool) -> Option<LookedUp> {
        let rule = *self.rule(bytes)?;
        let next = rule.next.filter(|next| usable(next.algorithm));
        let ranks = self.ranks;
        match (usable(rule.best.algorithm), next) {
            (true, next) => Some(LookedUp {
                ranks,
                rule: Rule { next, ..rule },
                passed_over: None,
            }),
            (false, Some(best)) => Some(LookedUp {
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

    /// Checks the entry by itself.
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

/// The result of a look-up: a rule without its unusable algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LookedUp {
    /// The ranks of the entry.
    pub(super) ranks: usize,
    pub(super) rule: Rule,
    /// A better algorithm that cannot be used.
    pub(super) passed_over: Option<Algorithm>,
}

/// The result as a reason.
impl fmt::Display for LookedUp {
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

/// Nanoseconds, in suitable units.
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
