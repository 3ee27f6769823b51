//! Where a rank is, as one row of a table: its call, its source line and its communicator.

use std::fmt;
use std::panic::Location;

use crate::Rank;

/// A line of the caller's program.
pub type Site = &'static Location<'static>;

/// The suffix that names the communicator of a call; empty for the world.
pub(crate) fn on(comm: Option<&str>) -> String {
    comm.map_or_else(String::new, |comm| format!(" on {comm}"))
}

/// A row of a table: the call that a rank is in.
pub(super) struct Row<'a> {
    pub(super) rank: Rank,
    pub(super) call: &'a str,
    pub(super) site: Option<Site>,
    pub(super) comm: Option<&'a str>,
    pub(super) note: Option<&'a str>,
}

impl Row<'_> {
    fn place(&self) -> String {
        let site = self.site.map_or_else(String::new, |site| site.to_string());
        site + &on(self.comm)
    }
}

/// Writes rank, call, place and note in aligned columns, one row per rank.
pub(super) fn table(f: &mut fmt::Formatter<'_>, rows: &[Row<'_>]) -> fmt::Result {
    let widest = |width: &dyn Fn(&Row<'_>) -> usize| rows.iter().map(width).max().unwrap_or(0);
    let call_width = widest(&|row| row.call.chars().count());
    let place_width = widest(&|row| row.place().chars().count());
    let rank_width = widest(&|row| row.rank.to_string().len());
    for row in rows {
        let Row {
            rank, call, note, ..
        } = row;
        let place = row.place();
        write!(f, "\n  rank {rank:<rank_width$}  {call:<call_width$}  ")?;
        match note {
            Some(note) => write!(f, "{place:<place_width$}  <- {note}")?,
            None => f.write_str(&place)?,
        }
    }
    Ok(())
}
