//! A deadlock, and the table of the ranks in it.

use std::fmt;
use std::sync::Arc;

use super::rows::{Row, SourceLine, table};
use crate::Rank;

/// A deadlock: ranks that wait for each other, so that none of them can ever proceed.
///
/// It prints as a table with the call and the line of every rank in it, and the communicators unless all calls are on
/// the world.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Deadlock {
    /// The ranks that cannot proceed, in rank order.
    pub stuck: Vec<Stuck>,
    /// A cycle of the wait-for graph: each rank waits for the next, and the last for the first. Empty if the ranks wait
    /// for a rank that has ended.
    pub cycle: Vec<Rank>,
    /// The number of ranks that were still running, or waiting for something that could still come, when the deadlock
    /// was found.
    pub others: usize,
    /// The messages that were sent and never received, as they print. These are known when the run has ended, so only
    /// the [`WorldError`](crate::WorldError) of the run has them.
    pub unreceived: Option<String>,
}

/// One rank of a [`Deadlock`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stuck {
    /// The rank.
    pub rank: Rank,
    /// The call that it is in, as printed.
    pub call: String,
    /// The line of that call.
    pub site: SourceLine,
    /// The communicator of the call, such as `dup of world at src/main.rs:7:20`; `None` for the world.
    pub comm: Option<Arc<str>>,
    /// The ranks or events that it waits for, unless it is part of the cycle.
    pub note: Option<String>,
    /// Whether it is in a send that waits to be received because the world's [buffering](crate::World::buffering) has
    /// no room for the message: the program needs a buffer here.
    pub needs_buffer: bool,
}

impl Stuck {
    fn remark(&self) -> Option<String> {
        let needs_buffer = "this send needs a buffer: its message has not been received";
        let buffer = self.needs_buffer.then_some(needs_buffer);
        let parts: Vec<_> = buffer.into_iter().chain(self.note.as_deref()).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl std::error::Error for Deadlock {}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.others {
            0 => write!(f, "deadlock: no rank can move")?,
            others => write!(
                f,
                "deadlock: {} of {} ranks cannot move",
                self.stuck.len(),
                self.stuck.len() + others
            )?,
        }
        let remarks: Vec<_> = self.stuck.iter().map(Stuck::remark).collect();
        let rows = self.stuck.iter().zip(&remarks);
        let all_on_world = self.stuck.iter().all(|s| s.comm.is_none());
        let rows = rows.map(|(s, remark)| Row {
            rank: s.rank,
            call: &s.call,
            site: Some(s.site),
            comm: (!all_on_world).then(|| s.comm.as_deref().unwrap_or("world")),
            note: remark.as_deref(),
        });
        table(f, &rows.collect::<Vec<_>>())?;
        if let Some(first) = self.cycle.first() {
            let around: Vec<_> = self
                .cycle
                .iter()
                .chain([first])
                .map(Rank::to_string)
                .collect();
            write!(f, "\ncycle: {}", around.join(" -> "))?;
        }
        let unreceived = self.unreceived.iter();
        unreceived
            .into_iter()
            .try_for_each(|what| write!(f, "\n{what}"))
    }
}
