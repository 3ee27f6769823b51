//! Where a rank is, as one row of a table: its call, its source line and its communicator.

use std::fmt;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

use crate::Rank;

/// A line of the caller's program.
pub type Site = &'static Location<'static>;

/// A line of the program as reports name it: in this process or in another one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine {
    file: &'static str,
    line: u32,
    column: u32,
}

impl SourceLine {
    /// The file, as the compiler was told of it.
    pub fn file(&self) -> &'static str {
        self.file
    }

    /// The number of the line, from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The column, from 1.
    pub fn column(&self) -> u32 {
        self.column
    }

    /// A line of another process, by what it prints. The name of each file is kept for good, once.
    pub(crate) fn elsewhere(printed: &str) -> Option<SourceLine> {
        let mut parts = printed.rsplitn(3, ':');
        let mut number = || parts.next()?.parse().ok();
        let (column, line) = (number()?, number()?);
        Some(SourceLine {
            file: kept(parts.next()?),
            line,
            column,
        })
    }
}

/// The name of a file, for good.
fn kept(file: &str) -> &'static str {
    static FILES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = files.iter().find(|known| **known == file).copied();
    known.unwrap_or_else(|| {
        let kept: &'static str = String::leak(file.to_owned());
        files.push(kept);
        kept
    })
}

impl From<Site> for SourceLine {
    fn from(site: Site) -> Self {
        SourceLine {
            file: site.file(),
            line: site.line(),
            column: site.column(),
        }
    }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl fmt::Debug for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The suffix that names the communicator of a call; empty for the world.
pub(crate) fn on(comm: Option<&str>) -> String {
    comm.map_or_else(String::new, |comm| format!(" on {comm}"))
}

/// A row of a table: the call that a rank is in.
pub(super) struct Row<'a> {
    pub(super) rank: Rank,
    pub(super) call: &'a str,
    pub(super) site: Option<SourceLine>,
    pub(super) comm: Option<&'a str>,
    pub(super) note: Option<&'a str>,
}

impl Row<'_> {
    /// Whether they differ in nothing but their ranks.
    fn is_like(&self, other: &Row<'_>) -> bool {
        let (call, place) = (self.call == other.call, self.site == other.site);
        call && place && self.comm == other.comm && self.note == other.note
    }

    fn place(&self) -> String {
        let site = self.site.map_or_else(String::new, |site| site.to_string());
        site + &on(self.comm)
    }
}

/// With more rows than this, neighbouring ranks with equal rows share one.
const MANY: usize = 16;

/// The rows with the last rank of each, in the order of the rows.
fn folded<'r, 'a>(rows: &'r [Row<'a>]) -> Vec<(&'r Row<'a>, Rank)> {
    let mut folded: Vec<(&Row<'_>, Rank)> = Vec::new();
    for row in rows {
        match folded.last_mut() {
            Some((first, last))
                if rows.len() > MANY && row.rank == *last + 1 && row.is_like(first) =>
            {
                *last = row.rank;
            }
            _ => folded.push((row, row.rank)),
        }
    }
    folded
}

/// Writes rank, call, place and note in aligned columns, one row per rank, or for neighbours of many.
pub(super) fn table(f: &mut fmt::Formatter<'_>, rows: &[Row<'_>]) -> fmt::Result {
    let rows = folded(rows);
    let ranks = |(row, last): &(&Row<'_>, Rank)| match row.rank == *last {
        true => format!("rank {last}"),
        false => format!("ranks {}-{last}", row.rank),
    };
    let widest = |width: &dyn Fn(&Row<'_>) -> usize| {
        rows.iter().map(|(row, _)| width(row)).max().unwrap_or(0)
    };
    let call_width = widest(&|row| row.call.chars().count());
    let place_width = widest(&|row| row.place().chars().count());
    let rank_width = rows.iter().map(|row| ranks(row).len()).max().unwrap_or(0);
    for folded in &rows {
        let (rank, (row, _)) = (ranks(folded), folded);
        let Row { call, note, .. } = row;
        let place = row.place();
        write!(f, "\n  {rank:<rank_width$}  {call:<call_width$}  ")?;
        match note {
            Some(note) => write!(f, "{place:<place_width$}  <- {note}")?,
            None => f.write_str(&place)?,
        }
    }
    Ok(())
}
