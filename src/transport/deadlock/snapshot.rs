//! The wait-for graph of a registry: the states of the ranks and of the collectives that they have started.

use crate::Rank;
use crate::transport::Fabric;
use crate::transport::communicator::members::Members;
use crate::transport::deadlock::registry::{RankEntry, Registry, Wait};
use crate::transport::deadlock::wait_for_graph::{self, Needs, NodeState, Started, StartedNodes};

/// The needs of each rank that waits for one of its started collectives.
fn resolved(registry: &Registry, nodes: &StartedNodes) -> Vec<Option<Needs>> {
    let entries = registry.entries.iter().enumerate();
    let needs = |(rank, entry): (Rank, &RankEntry)| {
        let wait = entry.wait.as_ref()?;
        nodes.resolved(rank, &wait.needs)
    };
    entries.map(needs).collect()
}

/// The ranks among some nodes.
fn ranks_of(nodes: &StartedNodes, some: Vec<usize>) -> Vec<Rank> {
    some.into_iter()
        .filter(|&node| nodes.rank(node) == node)
        .collect()
}

/// The ranks of the nodes of a cycle, if all of them are stuck, each once in a row.
pub(in crate::transport) fn ranks_around(
    nodes: &StartedNodes,
    cycle: Vec<usize>,
    stuck: &[Rank],
) -> Vec<Rank> {
    let mut around: Vec<Rank> = cycle.into_iter().map(|node| nodes.rank(node)).collect();
    around.dedup();
    if around.len() > 1 && around.first() == around.last() {
        around.pop();
    }
    match around.iter().all(|rank| stuck.contains(rank)) {
        true => around,
        false => Vec::new(),
    }
}

impl Fabric {
    /// The ranks that can never move, and a cycle among them, if `me` or a collective that it has started is one of
    /// those.
    pub(in crate::transport) fn stuck(
        &self,
        registry: &Registry,
        me: Rank,
    ) -> Option<(Vec<Rank>, Vec<Rank>)> {
        let nodes = self.started_nodes(registry);
        let resolved = resolved(registry, &nodes);
        let states = self.states(registry, &nodes, &resolved);
        let stuck = wait_for_graph::stuck(&states, registry.entries.len(), &nodes.of(me))?;
        let cycle = wait_for_graph::cycle(&states, &stuck);
        let stuck = ranks_of(&nodes, stuck);
        let cycle = ranks_around(&nodes, cycle, &stuck);
        Some((stuck, cycle))
    }

    /// Whether any of `ranks` may move before `me` does, which runs.
    pub(crate) fn may_come(&self, me: Rank, ranks: &[Rank]) -> bool {
        let registry = self.open_registry();
        let needs = Needs::Any(Members::of(ranks.to_vec()));
        let nodes = self.started_nodes(&registry);
        let resolved = resolved(&registry, &nodes);
        let mut states = self.states(&registry, &nodes, &resolved);
        // What far ranks were last known to wait for: until they have ended they count as running elsewhere.
        let far = self.far_needs();
        for (rank, needs) in &far {
            if matches!(states[*rank], NodeState::Running) {
                states[*rank] = NodeState::Waiting(needs);
            }
        }
        // One that has ended since then has calls that are not known yet.
        for rank in ranks.iter().filter(|rank| !self.is_over(**rank)) {
            if matches!(states[*rank], NodeState::Ended) {
                states[*rank] = NodeState::Running;
            }
        }
        states[me] = NodeState::Waiting(&needs);
        wait_for_graph::stuck(&states, registry.entries.len(), &[me]).is_none()
    }

    /// The wait of a rank, if it has not ended, and cannot go on until others act.
    fn sleeps<'a>(&self, registry: &'a Registry, rank: Rank) -> Option<&'a Wait> {
        let RankEntry { wait, end, .. } = &registry.entries[rank];
        wait.as_ref().filter(|wait| {
            end.is_none()
                && self.endpoints[rank].sleeper.asleep()
                && !wait.ends_by_itself
                && !wait.is_over()
                && !registry.may_choose(rank, wait)
        })
    }

    /// The started collectives of all ranks that sleep.
    fn started_nodes(&self, registry: &Registry) -> StartedNodes {
        let ranks = registry.entries.len();
        let sleeping = (0..ranks).filter_map(|rank| Some((rank, self.sleeps(registry, rank)?)));
        let started = sleeping.flat_map(|(rank, wait)| {
            wait.awaiting.iter().map(move |call| Started {
                rank,
                key: call.key(),
                awaits: call.ranks.clone(),
            })
        });
        StartedNodes::new(ranks, started.collect())
    }

    /// The states of all nodes: the ranks, then the started collectives. `resolved` holds the needs of the ranks that
    /// wait for one of theirs.
    fn states<'a>(
        &self,
        registry: &'a Registry,
        nodes: &'a StartedNodes,
        resolved: &'a [Option<Needs>],
    ) -> Vec<NodeState<'a>> {
        let ranks = self.rank_states(registry, resolved);
        ranks
            .chain(nodes.needs.iter().map(NodeState::Waiting))
            .collect()
    }

    fn rank_states<'a>(
        &self,
        registry: &'a Registry,
        resolved: &'a [Option<Needs>],
    ) -> impl Iterator<Item = NodeState<'a>> {
        let state = move |(rank, entry): (Rank, &'a RankEntry)| match entry {
            RankEntry { end: Some(_), .. } => NodeState::Ended,
            RankEntry {
                wait: Some(wait), ..
            } if self.sleeps(registry, rank).is_some() => {
                NodeState::Waiting(resolved[rank].as_ref().unwrap_or(&wait.needs))
            }
            RankEntry {
                bound: Some((needs, _)),
                ..
            } if self.endpoints[rank].sleeper.asleep() && !registry.unwinds_among(needs) => {
                NodeState::Waiting(needs)
            }
            _ => NodeState::Running,
        };
        registry.entries.iter().enumerate().map(state)
    }
}
