//! The judgement of a silence: what all ranks are told that sleep, by the local states of all processes.
//!
//! Each process judges for itself, by the same local states, and so comes to the same: those of the ranks that can
//! never move and wait for each other are one deadlock, or a mismatch if their collective calls differ.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::local_state::{Calls, LocalState, SleepingRank};
use crate::Rank;
use crate::error::{Cause, Deadlock, Mismatch};
use crate::transport::deadlock::mismatch::compare_records;
use crate::transport::deadlock::record::{CallRecord, CommRecord};
use crate::transport::deadlock::snapshot::ranks_around;
use crate::transport::deadlock::wait_for_graph::{self, Needs, NodeState, StartedNodes};

/// A cause, and the ranks that it concerns.
#[derive(Clone)]
pub(super) struct Judgement {
    pub cause: Cause,
    pub ranks: Vec<Rank>,
    /// The context of the communicator that it breaks.
    pub breaks: Option<u32>,
}

/// All local states of a silence.
pub(super) struct Case<'p> {
    /// Number of all ranks.
    ranks: usize,
    rows: BTreeMap<Rank, &'p SleepingRank>,
    local_states: &'p [LocalState],
}

impl<'p> Case<'p> {
    pub(super) fn new(ranks: usize, local_states: &'p [LocalState]) -> Case<'p> {
        let rows = local_states
            .iter()
            .flat_map(|local_state| &local_state.rows);
        Case {
            ranks,
            rows: rows.map(|row| (row.rank, row)).collect(),
            local_states,
        }
    }

    /// What the ranks are told, those first who include the lowest rank.
    pub(super) fn judge(&self) -> Vec<Judgement> {
        let graph = Graph::of(self);
        let stuck = graph.stuck();
        let others = self.rows.len() - stuck.len();
        let knots = self.knots(stuck).into_iter();
        knots
            .map(|knot| {
                let mismatch = self.mismatch(&knot);
                let cycle = || graph.cycle(&knot);
                mismatch.unwrap_or_else(|| self.deadlock(&knot, cycle(), others))
            })
            .collect()
    }

    /// The ranks that are stuck, apart where none of some waits for any of the others.
    fn knots(&self, mut left: Vec<Rank>) -> Vec<Vec<Rank>> {
        let touch = |one: Rank, other: Rank| {
            self.rows[&one].involves(other) || self.rows[&other].involves(one)
        };
        let mut knots = Vec::new();
        while !left.is_empty() {
            let mut knot = vec![left.remove(0)];
            let mut next = 0;
            while let Some(&one) = knot.get(next) {
                knot.extend(left.extract_if(.., |other| touch(one, *other)));
                next += 1;
            }
            knot.sort_unstable();
            knots.push(knot);
        }
        knots
    }

    /// Collective calls that differ, of a communicator on which some of these ranks are in a call.
    fn mismatch(&self, knot: &[Rank]) -> Option<Judgement> {
        let in_call = |rank: &&Rank| !self.rows[*rank].contexts.is_empty();
        let inside: Vec<Rank> = knot.iter().filter(in_call).copied().collect();
        let groups = self.groups(|calls| !calls.broken);
        let concerned = groups
            .iter()
            .filter(|group| inside.iter().any(|rank| group.members.contains(*rank)));
        let (group, found) = concerned
            .clone()
            .find_map(|group| Some((group, self.compared(group)?)))?;
        let told = inside
            .into_iter()
            .filter(|rank| self.rows[rank].contexts.contains(&group.context));
        Some(Judgement {
            cause: Cause::Mismatch(Arc::new(found)),
            ranks: told.collect(),
            breaks: Some(group.context),
        })
    }

    /// The same mismatch with the odd ranks, and with the calls of more ranks, if these are known now.
    pub(super) fn naming_the_odd(&self, found: &Mismatch) -> Option<Mismatch> {
        let groups = self.groups(|_| true).into_iter();
        let mut all = groups.filter_map(|group| self.compared(group));
        all.find(|more| !more.odd.is_empty() && found.is_within(more))
    }

    /// The communicators that are `wanted`; whole ones before their parts.
    fn groups(&self, wanted: impl Fn(&Calls) -> bool) -> Vec<&'p CommRecord> {
        let mut groups: Vec<&CommRecord> = Vec::new();
        let all = self
            .local_states
            .iter()
            .flat_map(|local_state| &local_state.calls);
        for calls in all.filter(|calls| wanted(calls)) {
            if !groups.contains(&&calls.group) {
                groups.push(&calls.group);
            }
        }
        groups.sort_by_key(|group| group.context);
        groups
    }

    fn compared(&self, group: &CommRecord) -> Option<Mismatch> {
        let calls = self
            .local_states
            .iter()
            .flat_map(|local_state| &local_state.calls);
        let calls = calls.filter(|calls| calls.group == *group);
        let mut records: Vec<(u32, Rank, CallRecord)> =
            calls.flat_map(|calls| calls.records.clone()).collect();
        records.sort_by_key(|(_, rank, _)| group.members.member(*rank));
        compare_records(group, records)
    }

    fn deadlock(&self, ranks: &[Rank], cycle: Vec<Rank>, others: usize) -> Judgement {
        let alone = self.rows.len() <= 1;
        let stuck = |rank: &Rank| {
            let row = self.rows[rank];
            row.stuck((!cycle.contains(rank)).then(|| row.needs.note(alone)))
        };
        let deadlock = Deadlock {
            stuck: ranks.iter().map(stuck).collect(),
            others,
            cycle: cycle.clone(),
            unreceived: None,
        };
        Judgement {
            cause: Cause::Deadlock(Arc::new(deadlock)),
            ranks: ranks.to_vec(),
            breaks: None,
        }
    }
}

/// The wait-for graph of all ranks.
struct Graph {
    ranks: usize,
    nodes: StartedNodes,
    /// What each rank needs that sleeps without a deadline.
    needs: BTreeMap<Rank, Needs>,
    /// The ranks that wake by themselves.
    moving: Vec<Rank>,
}

impl Graph {
    fn of(case: &Case<'_>) -> Graph {
        let (moving, waiting): (Vec<&SleepingRank>, Vec<&SleepingRank>) =
            case.rows.values().partition(|row| row.may_move);
        let started = waiting.iter().flat_map(|row| row.started()).collect();
        let nodes = StartedNodes::new(case.ranks, started);
        let needs = |row: &&SleepingRank| {
            let resolved = nodes.resolved(row.rank, &row.needs);
            (row.rank, resolved.unwrap_or_else(|| row.needs.clone()))
        };
        Graph {
            ranks: case.ranks,
            needs: waiting.iter().map(needs).collect(),
            moving: moving.iter().map(|row| row.rank).collect(),
            nodes,
        }
    }

    /// The states of all nodes.
    fn states(&self) -> Vec<NodeState<'_>> {
        let state = |rank| match self.needs.get(&rank) {
            Some(needs) => NodeState::Waiting(needs),
            None if self.moving.contains(&rank) => NodeState::Running,
            None => NodeState::Ended,
        };
        let started = self.nodes.needs.iter().map(NodeState::Waiting);
        (0..self.ranks).map(state).chain(started).collect()
    }

    /// The ranks that can never move.
    fn stuck(&self) -> Vec<Rank> {
        let mine: Vec<usize> = self
            .needs
            .keys()
            .flat_map(|rank| self.nodes.of(*rank))
            .collect();
        let stuck = wait_for_graph::stuck(&self.states(), self.ranks, &mine);
        let ranks = stuck.into_iter().flatten();
        ranks.filter(|node| *node < self.ranks).collect()
    }

    /// A cycle among these ranks.
    fn cycle(&self, ranks: &[Rank]) -> Vec<Rank> {
        let mut stuck: Vec<usize> = ranks.iter().flat_map(|rank| self.nodes.of(*rank)).collect();
        stuck.sort_unstable();
        let cycle = wait_for_graph::cycle(&self.states(), &stuck);
        ranks_around(&self.nodes, cycle, ranks)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
