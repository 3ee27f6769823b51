//! What is known of collective calls once something went wrong: the records of ranks in this process and, as far as they
//! were told, in others, and the communicator on which calls are compared.

use std::sync::Arc;

use crate::Rank;
use crate::error::SourceLine;
use crate::transport::communicator::call::Call;
use crate::transport::communicator::members::Members;
use crate::transport::{CommShared, Fabric};

/// One rank's record of a collective call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallRecord {
    /// What is equal in all ranks' records of the call, as a hash.
    pub print: u32,
    /// The call, as it prints.
    pub call: Arc<str>,
    /// How it differs from another one that prints alike and is not the same.
    pub unlike: Arc<str>,
    /// Whether it continues without ranks that have ended.
    pub tolerant: bool,
    pub site: SourceLine,
}

impl CallRecord {
    pub(crate) fn of(call: &Call) -> CallRecord {
        CallRecord {
            print: call.digest().print(0, 0),
            call: call.to_string().into(),
            unlike: call.unlike().into(),
            tolerant: call.tolerant,
            site: call.site.into(),
        }
    }
}

/// A communicator, as far as calls on it are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommRecord {
    pub context: u32,
    pub members: Members,
    /// Its name; `None` for the world.
    pub name: Option<Arc<str>>,
}

impl CommRecord {
    pub(crate) fn of(comm: &CommShared) -> CommRecord {
        CommRecord {
            context: comm.context,
            members: comm.members.clone(),
            name: comm.name(),
        }
    }
}

impl Fabric {
    /// The last calls of a rank on the communicator with this context, with their numbers.
    pub(super) fn records_of(&self, rank: Rank, context: u32) -> Vec<(u32, CallRecord)> {
        if self.is_far(rank) {
            return self.far_records(rank, context);
        }
        let calls = self.endpoints[rank].log.last_of(context).into_iter();
        calls
            .map(|(number, call)| (number, CallRecord::of(&call)))
            .collect()
    }

    /// The record of a rank for its call of this number, if it has made the call recently and that is known here.
    pub(crate) fn record_of(&self, rank: Rank, context: u32, number: u32) -> Option<CallRecord> {
        if !self.is_far(rank) {
            let call = self.endpoints[rank].log.find(context, number);
            return call.map(|call| CallRecord::of(&call));
        }
        let records = self.far_records(rank, context).into_iter();
        let mut found = records.filter(|(other, _)| *other == number);
        found.next().map(|(_, record)| record)
    }

    /// The numbers of the last calls of a rank on the communicator with this context, or that of the last one if it was long
    /// ago.
    pub(super) fn numbers_of(&self, rank: Rank, context: u32) -> Vec<u32> {
        if !self.is_far(rank) {
            return self.endpoints[rank].log.numbers_of(context);
        }
        self.far_numbers(rank, context)
    }

    /// Whether the [numbers](Self::numbers_of) tell of every call on this communicator whether a rank has made it.
    pub(super) fn knows_all_calls(&self, rank: Rank, context: u32) -> bool {
        match self.is_far(rank) {
            true => self.knows_all_far_calls(rank, context),
            false => self.endpoints[rank].log.knows_all_of(context),
        }
    }
}
