//! One operation of a rank as reports show it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Rank;
use crate::error::{Site, on};

/// The progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// The rank is still inside the operation, or ended there.
    Inside = 0,
    /// The operation returned.
    Done,
    /// The operation returned an error.
    Failed,
}

/// A message that an operation has sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Passed {
    /// The operation sent a message to this rank.
    To(Rank),
    /// The operation received a message from this rank.
    From(Rank),
}

/// One of the last operations of a rank, see [`Report::recent`](crate::Report::recent).
///
/// It prints as one line: the call, its source line, and how far it has come.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Operation {
    /// The rank that made the call.
    pub rank: Rank,
    /// The number of the call among those of this rank, from 1.
    pub number: u64,
    /// The call, as it prints.
    pub call: String,
    /// The source line of the call.
    pub site: Site,
    /// The communicator, as `dup of world at src/main.rs:7:20`; `None`: the world.
    pub comm: Option<Arc<str>>,
    /// When it began, measured from the start of the world; at most some milliseconds too early.
    pub begun: Duration,
    /// Its progress.
    pub progress: Progress,
    /// Number of messages it has sent. For an operation that has not ended: up to its last long wait.
    pub sent: u64,
    /// Number of messages it has received, with the same restriction.
    pub received: u64,
    /// The last message that it sent or received.
    pub last: Option<Passed>,
}

impl Operation {
    /// The call, its source line, and the communicator unless it is the world.
    pub(in crate::transport) fn place(&self) -> String {
        let on = on(self.comm.as_deref());
        format!("{} at {}{on}", self.call, self.site)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())?;
        match self.progress {
            Progress::Done => return Ok(()),
            Progress::Failed => f.write_str(", failed")?,
            Progress::Inside => f.write_str(", not over")?,
        }
        let last = match self.last {
            None => return Ok(()),
            Some(Passed::To(rank)) => format!("the last to rank {rank}"),
            Some(Passed::From(rank)) => format!("the last from rank {rank}"),
        };
        let (sent, received) = (self.sent, self.received);
        write!(f, ": messages sent {sent}, received {received}, {last}")
    }
}

/// The last `most` of `operations`, a line each, with how long before `now` each began, formatted by `when`.
pub(crate) fn lines(
    operations: &[Operation],
    most: usize,
    now: Duration,
    when: impl Fn(String) -> String,
) -> Vec<String> {
    let first = operations.len().saturating_sub(most);
    let line = |operation: &Operation| {
        let ago = now.saturating_sub(operation.begun);
        format!("{:>12}  {operation}", when(short(ago)))
    };
    operations[first..].iter().map(line).collect()
}

/// Formats a time with the precision that the recorder's times have.
fn short(time: Duration) -> String {
    match time.as_millis() {
        millis @ ..10_000 => format!("{millis} ms"),
        millis => format!("{} s", millis / 1000),
    }
}
