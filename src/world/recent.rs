//! The ranks' records after a run: their last operations, as a failed run prints them, and the full trace.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::trace::Trace;
use crate::Rank;
use crate::names::Transport;
use crate::transport::Fabric;
use crate::transport::trace::operation::{self, Operation};
use crate::transport::trace::origin::Names;
use crate::transport::trace::part::WorldPart;
use crate::transport::trace::record::Record;

/// The records of the ranks of a run that has ended.
#[derive(Debug)]
pub(super) struct Recent {
    /// The names of communicators.
    pub names: Names,
    records: Vec<Option<Arc<Record>>>,
    transport: Transport,
    part: Option<WorldPart>,
    /// When the ranks had ended, since the world began.
    end: Duration,
}

/// The number of last operations of each rank that are printed.
const SHOWN: usize = 6;

impl Recent {
    pub(super) fn of(fabric: &Fabric) -> Recent {
        Recent {
            names: fabric.names(),
            records: fabric.records().collect(),
            transport: fabric.settings.transport,
            part: fabric.part(),
            end: Duration::from_nanos(fabric.clock().exact()),
        }
    }

    /// The last operations of each rank.
    pub(super) fn operations(&self) -> Vec<Vec<Operation>> {
        let of = |(rank, record): (Rank, &Option<Arc<Record>>)| {
            let recent = record.as_ref();
            let recent = recent.map(|record| record.recent(rank, &self.names));
            recent.unwrap_or_default()
        };
        self.records.iter().enumerate().map(of).collect()
    }

    /// Whether the ranks kept their last operations.
    pub(super) fn is_kept(&self) -> bool {
        let mut records = self.records.iter().flatten();
        records.any(|record| record.keeps_recent())
    }

    pub(super) fn trace(&self) -> Option<Trace> {
        Trace::of(&self.records, self.transport, self.part.clone())
    }
}

impl fmt::Display for Recent {
    /// Writes the last few operations of each rank.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the last operations of each rank")?;
        if self.transport == Transport::Channels {
            write!(f, " over {}", self.transport)?;
        }
        f.write_str(", and how long before the end")?;
        for (rank, operations) in self.operations().iter().enumerate() {
            write!(f, "\n  rank {rank}")?;
            for line in operation::lines(operations, SHOWN, self.end, |time| format!("-{time}")) {
                write!(f, "\n{line}")?;
            }
        }
        Ok(())
    }
}
