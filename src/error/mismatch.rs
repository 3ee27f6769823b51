//! A mismatch of collective calls, and the table of what each rank called.

use std::fmt;
use std::sync::Arc;

use super::rows::{Row, SourceLine, on, table};
use crate::Rank;

/// Collective calls of one communicator that do not match.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Mismatch {
    /// The call of each rank, as far as it is known.
    pub calls: Vec<Called>,
    /// The ranks that differ from the strict majority, if there is one.
    pub odd: Vec<Rank>,
    /// The communicator, such as `dup of world at src/main.rs:7:20`; `None` for the world.
    pub comm: Option<Arc<str>>,
}

/// One rank of a [`Mismatch`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Called {
    /// The rank.
    pub rank: Rank,
    /// The collective with its root, length, type and operator, as printed.
    pub call: String,
    /// The line of that call; `None` if the rank is too many calls ahead to tell.
    pub site: Option<SourceLine>,
}

impl Mismatch {
    /// Whether it names no odd rank and does not know the call of `rank`.
    pub(crate) fn is_undecided_without(&self, rank: Rank) -> bool {
        self.odd.is_empty() && self.calls.iter().all(|called| called.rank != rank)
    }

    /// Whether `other` has each of its calls that has a line, made by the same rank on the same line.
    pub(crate) fn is_within(&self, other: &Mismatch) -> bool {
        let line = |called: &Called| called.site.map(|site| (called.rank, site));
        let there: Vec<_> = other.calls.iter().map(line).collect();
        let mut lines = self.calls.iter().map(line);
        lines.all(|line| line.is_none() || there.contains(&line))
    }
}

impl std::error::Error for Mismatch {}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = on(self.comm.as_deref());
        write!(
            f,
            "mismatch: the ranks are in different collective calls{on}"
        )?;
        let odd = |rank| {
            self.odd
                .contains(&rank)
                .then_some("differs from the others")
        };
        let rows = self.calls.iter().map(|called| Row {
            rank: called.rank,
            call: &called.call,
            site: called.site,
            comm: None,
            note: odd(called.rank),
        });
        table(f, &rows.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::{Called, Mismatch};

    /// A mismatch in which one of the ranks is in another call.
    fn shown(ranks: usize, odd: usize) -> Vec<String> {
        let call = |rank| if rank == odd { "gather(0)" } else { "barrier" };
        let called = |rank| Called {
            rank,
            call: call(rank).into(),
            site: None,
        };
        let mismatch = Mismatch {
            calls: (0..ranks).map(called).collect(),
            odd: vec![odd],
            comm: None,
        };
        let text = mismatch.to_string();
        text.lines()
            .skip(1)
            .map(|line| line.trim().into())
            .collect()
    }

    #[test]
    fn neighbours_with_equal_rows_share_one_where_there_are_many() {
        assert_eq!(
            shown(300, 239),
            [
                "ranks 0-238    barrier",
                "rank 239       gather(0)    <- differs from the others",
                "ranks 240-299  barrier",
            ]
        );
        assert_eq!(shown(16, 3).len(), 16);
        assert_eq!(shown(17, 3).len(), 3);
    }
}
