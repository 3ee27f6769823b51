//! What a process knows of its ranks once something went wrong: where they sleep, what they need there, and which
//! collective calls they have made. Its *local state* (Chandy, Lamport, *Distributed snapshots*, 1985).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crate::Rank;
use crate::error::{SourceLine, Stuck};
use crate::transport::communicator::call_log::LastNumbers;
use crate::transport::deadlock::record::{CallRecord, CommRecord};
use crate::transport::deadlock::registry::{Registry, Wait};
use crate::transport::deadlock::wait_for_graph::{Needs, Started, StartedKey};
use crate::transport::{CommShared, Fabric};

/// What a process tells of its ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LocalState {
    /// The ranks that have ended.
    pub ended: Vec<Rank>,
    /// Those that sleep.
    pub rows: Vec<SleepingRank>,
    /// The communicators of which its ranks are members, with their last calls there.
    pub calls: Vec<Calls>,
    /// The numbers of the calls of each of its ranks, also of those that are no longer on record.
    pub numbers: Vec<(Rank, LastNumbers)>,
}

/// A rank that sleeps, and its call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SleepingRank {
    pub rank: Rank,
    pub call: String,
    pub site: SourceLine,
    pub comm: Option<Arc<str>>,
    pub needs: Needs,
    pub needs_buffer: bool,
    /// The contexts of the communicators on which it is in a collective, or has started one. A call of a part is one of
    /// the whole communicator, too.
    pub contexts: Vec<u32>,
    /// Whether it wakes by itself, at a time that its call has set.
    pub may_move: bool,
    /// The started collectives, and the ranks whose messages they await.
    pub awaiting: Vec<(StartedKey, Vec<Rank>)>,
    /// Since when it waits, in its own process.
    pub since: Option<Instant>,
}

/// The last collective calls on one communicator.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Calls {
    pub group: CommRecord,
    /// Whether the communicator is broken.
    pub broken: bool,
    /// The number of each call, and who made it.
    pub records: Vec<(u32, Rank, CallRecord)>,
}

impl LocalState {
    /// Whether it tells of these ranks alone.
    pub(super) fn is_of(&self, ranks: &Range<Rank>) -> bool {
        let rows = self.rows.iter().map(|row| row.rank);
        let records = self.calls.iter().flat_map(|calls| &calls.records);
        let numbers = self.numbers.iter().map(|(rank, _)| *rank);
        let told = rows.chain(records.map(|(_, rank, _)| *rank));
        let mut told = told.chain(numbers);
        told.all(|rank| ranks.contains(&rank)) && self.ended.iter().all(|rank| ranks.contains(rank))
    }

    /// The last calls of a rank on the communicator with this context.
    pub(super) fn records_of(&self, rank: Rank, context: u32) -> Vec<(u32, CallRecord)> {
        let calls = self
            .calls
            .iter()
            .filter(|calls| calls.group.context == context);
        let records = calls.flat_map(|calls| &calls.records);
        let mine = records.filter(|(_, of, _)| *of == rank);
        mine.map(|(number, _, record)| (*number, record.clone()))
            .collect()
    }

    /// The numbers of a rank's calls, if they are told.
    pub(super) fn numbers_of(&self, rank: Rank) -> Option<&LastNumbers> {
        let mut mine = self.numbers.iter().filter(|(of, _)| *of == rank);
        mine.next().map(|(_, numbers)| numbers)
    }
}

impl SleepingRank {
    fn of(rank: Rank, wait: &Wait, may_move: bool, comms: &[Arc<CommShared>]) -> SleepingRank {
        let on = |comm: &Arc<CommShared>| [Some(comm.context), whole_of(comm, comms)];
        let contexts = wait.calls().flat_map(|(comm, _)| on(comm)).flatten();
        let awaiting = wait.awaiting.iter();
        SleepingRank {
            rank,
            call: wait.call.clone(),
            site: wait.site.into(),
            comm: wait.comm_name(),
            needs: wait.needs.clone(),
            needs_buffer: wait.needs_buffer,
            contexts: contexts.collect(),
            may_move,
            awaiting: awaiting
                .map(|call| (call.key(), call.ranks.clone()))
                .collect(),
            since: Some(wait.since),
        }
    }

    /// Whether another rank matters to this one.
    pub(super) fn involves(&self, rank: Rank) -> bool {
        let awaits = |(_, ranks): &(StartedKey, Vec<Rank>)| ranks.contains(&rank);
        self.needs.involves(rank) || self.awaiting.iter().any(awaits)
    }

    /// Its started collectives as nodes of the wait-for graph.
    pub(super) fn started(&self) -> impl Iterator<Item = Started> {
        self.awaiting.iter().map(|(key, awaits)| Started {
            rank: self.rank,
            key: *key,
            awaits: awaits.clone(),
        })
    }

    /// The rank as one of a deadlock.
    pub(super) fn stuck(&self, note: Option<String>) -> Stuck {
        Stuck {
            rank: self.rank,
            call: self.call.clone(),
            site: self.site,
            comm: self.comm.clone(),
            note,
            needs_buffer: self.needs_buffer,
        }
    }
}

/// The context of the communicator that this one is a part of.
fn whole_of(part: &Arc<CommShared>, comms: &[Arc<CommShared>]) -> Option<u32> {
    let has_it = |comm: &&Arc<CommShared>| {
        let parts = comm.parts.get();
        parts.is_some_and(|parts| parts.all().any(|one| Arc::ptr_eq(one, part)))
    };
    let whole = comms.iter().find(has_it).filter(|_| part.is_part());
    whole.map(|comm| comm.context)
}

impl Fabric {
    /// The local state of this process. `comms` are those of the fabric, which the caller keeps until it has closed
    /// the registry.
    pub(super) fn local_state(&self, registry: &Registry, comms: &[Arc<CommShared>]) -> LocalState {
        let asleep = |rank: &Rank| self.endpoints[*rank].sleeper.asleep();
        let near = self.near();
        let rows = registry
            .living()
            .filter(|(rank, _)| near.contains(rank) && asleep(rank))
            .map(|(rank, wait)| {
                SleepingRank::of(rank, wait, registry.wakes_by_itself(rank), comms)
            });
        let ended = |rank: &Rank| registry.end(*rank).is_some();
        LocalState {
            // Before their calls are read, which are then their last.
            ended: near.clone().filter(ended).collect(),
            rows: rows.collect(),
            calls: self.last_calls(comms),
            numbers: near.map(|rank| (rank, self.last_numbers(rank))).collect(),
        }
    }

    fn last_numbers(&self, rank: Rank) -> LastNumbers {
        self.endpoints[rank].log.last_numbers()
    }

    /// The last calls of near ranks on communicators with far members.
    fn last_calls(&self, comms: &[Arc<CommShared>]) -> Vec<Calls> {
        let mut all: BTreeMap<(u32, Option<Rank>), Calls> = BTreeMap::new();
        for rank in self.near() {
            for (context, number, call) in self.endpoints[rank].log.last() {
                let is_it = |comm: &&Arc<CommShared>| {
                    comm.context == context && comm.spans && comm.members.contains(rank)
                };
                let Some(comm) = comms.iter().find(is_it) else {
                    continue;
                };
                // The columns of a communicator have one context.
                let key = (context, comm.members.iter().next());
                let calls = all.entry(key).or_insert_with(|| Calls {
                    group: CommRecord::of(comm),
                    broken: comm.cause.get().is_some(),
                    records: Vec::new(),
                });
                calls.records.push((number, rank, CallRecord::of(&call)));
            }
        }
        all.into_values().collect()
    }
}
