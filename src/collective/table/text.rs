//! Tuning tables as text, one rule per line.
//!
//! ```text
//! rankfold tuning 1
//! version: 0.1.0                   # the machine it belongs to: all six lines, or none
//! processor: Some CPU
//! machine: package 1, core 4
//! cpus: 4 CPUs (0-3), no quota, 4 usable
//! room: 4
//! binding: auto
//! remark: measured in 60 s
//!
//! all_reduce on 4 ranks
//!   from 0 bytes: cells, 412 ns at 8 bytes; then exchange, 620 ns
//!   from 6000 bytes: ring
//! ```

use std::fmt;
use std::str::FromStr;

use super::error::On;
use super::{Entry, Fingerprint, Rule, TableError, Timed, TuningTable};

const HEAD: &str = "rankfold tuning 1";
const REMARK: &str = "remark: ";

impl fmt::Display for TuningTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}")?;
        for (name, value) in self.fingerprint.iter().flat_map(Fingerprint::named) {
            writeln!(f, "{name}: {value}")?;
        }
        for remark in &self.remarks {
            writeln!(f, "{REMARK}{remark}")?;
        }
        for entry in &self.entries {
            writeln!(f, "\n{}", On(entry.key()))?;
            entry.rules.iter().try_for_each(|rule| rule.fmt(f))?;
        }
        Ok(())
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  from {} bytes: {}", self.from, self.best)?;
        if let Some(at) = self.at {
            write!(f, " at {at} bytes")?;
        }
        if let Some(next) = self.next {
            write!(f, "; then {next}")?;
        }
        writeln!(f)
    }
}

impl fmt::Display for Timed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.algorithm)?;
        self.ns.map_or(Ok(()), |ns| write!(f, ", {ns} ns"))
    }
}

impl FromStr for TuningTable {
    type Err = TableError;

    /// Reads the format that [`Display`](fmt::Display) writes. Blank lines and lines that begin with `#` are skipped.
    fn from_str(text: &str) -> Result<TuningTable, TableError> {
        let mut reading = Reading::default();
        let lines = (1..).zip(text.lines());
        let mut lines = lines
            .map(|(number, line)| (number, line.trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        match lines.next() {
            Some((_, HEAD)) => {}
            Some((line, _)) => {
                let what = format!("a tuning table begins with `{HEAD}`");
                return Err(TableError::Line { line, what });
            }
            None => {
                let what = format!("it is empty: a tuning table begins with `{HEAD}`");
                return Err(TableError::Line { line: 1, what });
            }
        }
        for (line, text) in lines {
            let taken = reading.take(text);
            taken.map_err(|what| TableError::Line { line, what })?;
        }
        reading.table()
    }
}

/// The state of the reader.
#[derive(Default)]
struct Reading {
    named: [Option<String>; 6],
    remarks: Vec<String>,
    entries: Vec<Entry>,
}

const NAMES: [&str; 6] = ["version", "processor", "machine", "cpus", "room", "binding"];

impl Reading {
    fn take(&mut self, text: &str) -> Result<(), String> {
        if let Some(rule) = text.strip_prefix("from ") {
            let entry = self.entries.last_mut();
            let entry = entry.ok_or("a rule before the first `COLLECTIVE on N ranks`")?;
            entry.rules.push(rule_of(rule)?);
            return Ok(());
        }
        if let Some(remark) = text.strip_prefix(REMARK) {
            self.remarks.push(remark.trim().to_owned());
            return Ok(());
        }
        if let Some(place) = NAMES.iter().position(|name| named(text, name).is_some()) {
            let value = named(text, NAMES[place]).unwrap_or_default();
            return match self.named[place].replace(value.to_owned()) {
                None => Ok(()),
                Some(_) => Err(format!("`{}` a second time", NAMES[place])),
            };
        }
        self.entries.push(entry_of(text)?);
        Ok(())
    }

    fn table(self) -> Result<TuningTable, TableError> {
        let table = TuningTable::new(self.fingerprint()?, self.entries)?;
        table.with_remarks(self.remarks)
    }

    /// All six lines, or none.
    fn fingerprint(&self) -> Result<Option<Fingerprint>, TableError> {
        if self.named.iter().all(Option::is_none) {
            return Ok(None);
        }
        let whole = |what: String| TableError::Line { line: 1, what };
        let get = |place: usize| {
            let missing = || whole(format!("there is no line `{}: ...`", NAMES[place]));
            self.named[place].clone().ok_or_else(missing)
        };
        let room = get(4)?;
        Ok(Some(Fingerprint {
            version: get(0)?,
            model: get(1)?,
            parts: get(2)?,
            cpus: get(3)?,
            room: number(&room).ok_or_else(|| whole(format!("room: {}", no_number(&room))))?,
            bind: get(5)?,
        }))
    }
}

/// The text after a name and a colon.
fn named<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.strip_prefix(name)?.strip_prefix(':').map(str::trim)
}

/// `all_reduce on 4 ranks`
fn entry_of(text: &str) -> Result<Entry, String> {
    let expected = || {
        format!(
            "`{}` is no line of a tuning table: neither `COLLECTIVE on N ranks` nor `from N bytes: ALGORITHM`",
            text.escape_debug()
        )
    };
    let (collective, ranks) = text.split_once(" on ").ok_or_else(expected)?;
    let ranks = ranks.strip_suffix(" ranks").or(ranks.strip_suffix(" rank"));
    let ranks = ranks.ok_or_else(expected)?;
    Ok(Entry {
        collective: collective.trim().parse().map_err(said)?,
        ranks: number(ranks).ok_or_else(|| no_number(ranks))?,
        rules: Vec::new(),
    })
}

/// `0 bytes: cells, 412 ns at 8 bytes; then exchange, 620 ns`, after `from`
fn rule_of(text: &str) -> Result<Rule, String> {
    let expected = "a rule is written `from N bytes: ALGORITHM, N ns at N bytes; then ALGORITHM, N ns`, or as much of \
                    that as is known";
    let (from, rest) = text.split_once(" bytes: ").ok_or(expected)?;
    let (best, next) = match rest.split_once("; then ") {
        Some((best, next)) => (best, Some(next)),
        None => (rest, None),
    };
    let (best, at) = match best.split_once(" at ") {
        Some((best, at)) => (best, Some(at.strip_suffix(" bytes").ok_or(expected)?)),
        None => (best, None),
    };
    Ok(Rule {
        from: number(from).ok_or_else(|| no_number(from))?,
        best: timed_of(best)?,
        next: next.map(timed_of).transpose()?,
        at: match at {
            Some(at) => Some(number(at).ok_or_else(|| no_number(at))?),
            None => None,
        },
    })
}

/// `cells, 412 ns`, or without the time
fn timed_of(text: &str) -> Result<Timed, String> {
    let Some((algorithm, ns)) = text.split_once(", ") else {
        let algorithm = text.trim().parse().map_err(said)?;
        return Ok(Timed {
            algorithm,
            ns: None,
        });
    };
    let digits = ns.trim().strip_suffix(" ns");
    let ns = digits.and_then(number).ok_or_else(|| no_number(ns))?;
    Ok(Timed {
        algorithm: algorithm.trim().parse().map_err(said)?,
        ns: Some(ns),
    })
}

fn said(error: impl fmt::Display) -> String {
    error.to_string()
}

fn no_number(text: &str) -> String {
    let text = text.escape_debug();
    format!(
        "`{text}` should be a whole number that fits into 64 bits, with its unit where there is one"
    )
}

/// A number of digits only: no sign.
fn number<N: FromStr>(text: &str) -> Option<N> {
    let text = text.trim();
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::super::error::is_line;
    use super::*;

    #[test]
    fn all_lines_of_a_fingerprint_are_read_by_the_names_they_are_written_by() {
        let machine = crate::machine::Machine::from_text("core:4").unwrap();
        let of = Fingerprint::of(&machine, &crate::Bind::Auto);
        assert_eq!(of.named().map(|(name, _)| name), NAMES);
        assert!(of.named().iter().all(|(_, value)| is_line(value)));
    }
}
