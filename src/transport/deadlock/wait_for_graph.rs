//! Finds the ranks that can never move again: the greatest fixpoint over the wait-for graph. Pure computation.
//!
//! A rank that runs may still do anything. A rank that waits can be freed if what it needs can come: *one* rank, *any*
//! other member of a communicator (OR arcs), *all* of some ranks (AND arcs), every other member's arrival at the same
//! gate, or every other surviving member's arrival at the same shrink; or *every* or *either* one of several such
//! needs, for a rank that waits for several requests. Every rank that cannot be freed, starting from the ranks that
//! run, is stuck.
//!
//! A started collective goes on while its rank sleeps in another call, and sends then. So each started collective of a
//! sleeping rank is a node of its own, after the ranks. It needs the same collective of the ranks whose messages it
//! awaits; where such a rank sleeps and has not started it, it needs that rank.

use crate::Rank;
use crate::transport::communicator::members::Members;

/// What a waiting rank needs to proceed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// This rank must act.
    One(Rank),
    /// Any other of these ranks may act.
    Any(Members),
    /// Each of these ranks must act.
    All(Vec<Rank>),
    /// Every other of these ranks must come to the gate, for the call with this (context, number, fingerprint).
    Gate(Call, Members),
    /// Every other of these ranks must come to the same shrink, or have ended.
    Shrink(Call, Members),
    /// All of these needs, of several requests.
    Every(Vec<Needs>),
    /// One of these needs, of several requests.
    Either(Vec<Needs>),
    /// The end of a collective that this rank has started.
    Started(StartedKey),
}

/// Context and number of a started collective, alike on all its ranks.
pub(crate) type StartedKey = (u32, u32);

/// Context, number and fingerprint.
type Call = (u32, u32, u32);

impl Needs {
    /// Whether no rank need act any more.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Needs::All(all) => all.is_empty(),
            Needs::Any(of) => of.size() == 0,
            _ => false,
        }
    }

    /// Whether the end of `rank` affects these needs.
    pub(crate) fn involves(&self, rank: Rank) -> bool {
        match self {
            Needs::One(one) => *one == rank,
            Needs::All(all) => all.contains(&rank),
            Needs::Every(arms) | Needs::Either(arms) => arms.iter().any(|arm| arm.involves(rank)),
            Needs::Any(of) | Needs::Gate(_, of) | Needs::Shrink(_, of) => of.contains(rank),
            Needs::Started(_) => false,
        }
    }

    /// The event that a rank outside a cycle waits for; `alone` if every other rank has ended.
    pub(in crate::transport) fn note(&self, alone: bool) -> String {
        match self {
            Needs::One(one) => format!("waits for rank {one}"),
            Needs::Any(_) if alone => "every other rank has ended".into(),
            Needs::Any(_) => "no rank that could send will come".into(),
            Needs::All(_)
            | Needs::Gate(..)
            | Needs::Shrink(..)
            | Needs::Every(_)
            | Needs::Either(_)
            | Needs::Started(_) => "waits for ranks that will not come".into(),
        }
    }

    /// Whether both wait at the same gate, or for the same shrink.
    fn meets(&self, other: &Needs) -> bool {
        match (self, other) {
            (Needs::Gate(a, _), Needs::Gate(b, _)) => a == b,
            (Needs::Shrink(a, _), Needs::Shrink(b, _)) => a == b,
            _ => false,
        }
    }
}

/// A started collective of a rank that sleeps.
#[derive(Clone, Debug)]
pub(crate) struct Started {
    pub rank: Rank,
    pub key: StartedKey,
    /// The ranks whose messages it awaits.
    pub awaits: Vec<Rank>,
}

/// The nodes of started collectives, which come after those of the ranks, and the needs that refer to them.
pub(crate) struct StartedNodes {
    ranks: usize,
    started: Vec<Started>,
    /// What each of them needs.
    pub needs: Vec<Needs>,
}

impl StartedNodes {
    pub(crate) fn new(ranks: usize, started: Vec<Started>) -> StartedNodes {
        let mut nodes = StartedNodes {
            ranks,
            started,
            needs: Vec::new(),
        };
        nodes.needs = nodes
            .started
            .iter()
            .map(|one| nodes.needs_of(one))
            .collect();
        nodes
    }

    fn needs_of(&self, one: &Started) -> Needs {
        let node = |&rank: &Rank| self.node(rank, one.key).unwrap_or(rank);
        Needs::All(one.awaits.iter().map(node).collect())
    }

    fn node(&self, rank: Rank, key: StartedKey) -> Option<usize> {
        let is = |one: &Started| one.rank == rank && one.key == key;
        Some(self.ranks + self.started.iter().position(is)?)
    }

    /// The node of `rank` and those of its started collectives.
    pub(crate) fn of(&self, rank: Rank) -> Vec<usize> {
        let started = self.started.iter().enumerate();
        let its = started.filter(|(_, one)| one.rank == rank);
        std::iter::once(rank)
            .chain(its.map(|(place, _)| self.ranks + place))
            .collect()
    }

    /// The rank of a node.
    pub(crate) fn rank(&self, node: usize) -> Rank {
        match node.checked_sub(self.ranks) {
            Some(place) => self.started[place].rank,
            None => node,
        }
    }

    /// The needs of `rank` with the nodes of its started collectives in them; `None` if there are none in them.
    pub(crate) fn resolved(&self, rank: Rank, needs: &Needs) -> Option<Needs> {
        let all = |arms: &[Needs]| {
            let some = arms.iter().any(|arm| self.resolved(rank, arm).is_some());
            let arm = |arm: &Needs| self.resolved(rank, arm).unwrap_or_else(|| arm.clone());
            some.then(|| arms.iter().map(arm).collect())
        };
        match needs {
            Needs::Every(arms) => all(arms).map(Needs::Every),
            Needs::Either(arms) => all(arms).map(Needs::Either),
            // One that has no node is over.
            Needs::Started(key) => {
                let node = self.node(rank, *key);
                Some(Needs::All(node.into_iter().collect()))
            }
            _ => None,
        }
    }
}

/// What a rank or a started collective is doing, as far as the detector is concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NodeState<'a> {
    /// Running, or waiting with a deadline: it may do anything.
    Running,
    /// It will do nothing any more.
    Ended,
    /// It waits without a deadline.
    Waiting(&'a Needs),
}

/// The nodes that can never move, if one of `mine` is among them. The first `ranks` nodes are the ranks.
pub(crate) fn stuck(states: &[NodeState<'_>], ranks: usize, mine: &[usize]) -> Option<Vec<usize>> {
    if mine.iter().all(|&node| leads_to_a_runner(states, node)) {
        return None;
    }
    let mut free: Vec<bool> = states
        .iter()
        .map(|state| matches!(state, NodeState::Running))
        .collect();
    let all_free = |free: &[bool]| mine.iter().all(|&node| free[node]);
    while !all_free(&free) && free_some(states, ranks, &mut free) {}
    let waits = |node: &usize| matches!(states[*node], NodeState::Waiting(_)) && !free[*node];
    (!all_free(&free)).then(|| (0..states.len()).filter(waits).collect())
}

/// The common case without the fixpoint: a chain of single needs that ends at a running rank, or a gate or choice with
/// a running rank in reach.
fn leads_to_a_runner(states: &[NodeState<'_>], me: Rank) -> bool {
    let mut rank = me;
    for _ in 0..states.len() {
        match states[rank] {
            NodeState::Running => return true,
            NodeState::Ended => return false,
            NodeState::Waiting(Needs::One(next)) => rank = *next,
            NodeState::Waiting(needs) => {
                let runs = |rank: Rank| matches!(states[rank], NodeState::Running);
                return can_be_freed(states, rank, needs, runs);
            }
        }
    }
    false
}

/// One pass. Returns whether it freed any rank.
fn free_some(states: &[NodeState<'_>], ranks: usize, free: &mut [bool]) -> bool {
    let census = Census::of(&states[..ranks], &free[..ranks]);
    let mut any = false;
    for rank in 0..states.len() {
        if let (false, NodeState::Waiting(needs)) = (free[rank], states[rank]) {
            free[rank] = census.frees(states, rank, needs, free);
            any |= free[rank];
        }
    }
    any
}

/// What a pass needs to know of all ranks at once, so that in the communicator of all ranks it looks once at each rank
/// and not once at each pair.
struct Census {
    /// Ranks that are not free: stuck as far as is known, or ended.
    bound: usize,
    some_free: bool,
    /// Number of bound ranks at each gate.
    gates: Vec<(Call, usize)>,
}

impl Census {
    fn of(states: &[NodeState<'_>], free: &[bool]) -> Census {
        let bound = free.iter().filter(|free| !**free).count();
        let mut census = Census {
            bound,
            some_free: bound < free.len(),
            gates: Vec::new(),
        };
        for (state, _) in states.iter().zip(free).filter(|(_, free)| !**free) {
            if let NodeState::Waiting(Needs::Gate(gate, _)) = state {
                census.count(*gate);
            }
        }
        census
    }

    fn count(&mut self, gate: Call) {
        match self.gates.iter_mut().find(|(other, _)| *other == gate) {
            Some((_, count)) => *count += 1,
            None => self.gates.push((gate, 1)),
        }
    }

    /// Whether a rank that is not free and has these needs can be freed. A gate opens if all ranks that are not free
    /// are at it.
    fn frees(&self, states: &[NodeState<'_>], me: Rank, needs: &Needs, free: &[bool]) -> bool {
        let here = |gate| self.gates.iter().find(|(other, _)| *other == gate);
        match needs {
            Needs::Any(Members::All(_)) => self.some_free,
            // It is over.
            Needs::Started(_) => true,
            Needs::Gate(gate, Members::All(_)) => {
                here(*gate).is_some_and(|(_, count)| *count == self.bound)
            }
            Needs::Every(arms) => arms.iter().all(|arm| self.frees(states, me, arm, free)),
            Needs::Either(arms) => arms.iter().any(|arm| self.frees(states, me, arm, free)),
            _ => can_be_freed(states, me, needs, |rank| free[rank]),
        }
    }
}

/// The same for one rank alone, by looking at every other one.
fn can_be_freed(
    states: &[NodeState<'_>],
    me: Rank,
    needs: &Needs,
    free: impl Fn(Rank) -> bool + Copy,
) -> bool {
    let meets_me =
        |rank: Rank| matches!(states[rank], NodeState::Waiting(other) if other.meets(needs));
    let ended = |rank: Rank| matches!(states[rank], NodeState::Ended);
    match needs {
        Needs::One(one) => free(*one),
        Needs::All(all) => all.iter().all(|&rank| free(rank)),
        Needs::Any(of) => others(of, me).any(free),
        Needs::Gate(_, of) => others(of, me).all(|rank| free(rank) || meets_me(rank)),
        Needs::Shrink(_, of) => {
            others(of, me).all(|rank| free(rank) || ended(rank) || meets_me(rank))
        }
        Needs::Every(arms) => arms.iter().all(|arm| can_be_freed(states, me, arm, free)),
        Needs::Either(arms) => arms.iter().any(|arm| can_be_freed(states, me, arm, free)),
        Needs::Started(_) => true,
    }
}

fn others(of: &Members, me: Rank) -> impl Iterator<Item = Rank> {
    of.iter().filter(move |&rank| rank != me)
}

/// A cycle in `stuck`: each rank waits for the next and the last for the first. Empty if the trail ends at a rank that
/// has ended.
pub(crate) fn cycle(states: &[NodeState<'_>], stuck: &[Rank]) -> Vec<Rank> {
    let mut trail: Vec<Rank> = stuck.first().copied().into_iter().collect();
    while let Some(next) = trail
        .last()
        .and_then(|&last| next_stuck(states, stuck, last))
    {
        if let Some(start) = trail.iter().position(|&rank| rank == next) {
            let around = trail.split_off(start);
            return from_the_lowest(around);
        }
        trail.push(next);
    }
    Vec::new()
}

fn from_the_lowest(mut around: Vec<Rank>) -> Vec<Rank> {
    let lowest = around
        .iter()
        .enumerate()
        .min_by_key(|(_, rank)| **rank)
        .map_or(0, |(place, _)| place);
    around.rotate_left(lowest);
    around
}

/// A stuck rank that `rank` waits for.
fn next_stuck(states: &[NodeState<'_>], stuck: &[Rank], rank: Rank) -> Option<Rank> {
    match states[rank] {
        NodeState::Waiting(needs) => next_needed(states, stuck, rank, needs),
        _ => None,
    }
}

/// One of `stuck` that keeps `rank` from what it needs.
fn next_needed(
    states: &[NodeState<'_>],
    stuck: &[Rank],
    rank: Rank,
    needs: &Needs,
) -> Option<Rank> {
    let here =
        |other: &Rank| matches!(states[*other], NodeState::Waiting(theirs) if theirs.meets(needs));
    let mut others = stuck.iter().copied().filter(|&other| other != rank);
    match needs {
        Needs::One(one) => stuck.contains(one).then_some(*one),
        Needs::All(all) => others.find(|other| all.contains(other)),
        Needs::Any(of) => others.find(|other| of.contains(*other)),
        Needs::Gate(_, of) | Needs::Shrink(_, of) => {
            others.find(|other| of.contains(*other) && !here(other))
        }
        // Among requests, only one that cannot complete keeps it.
        Needs::Every(arms) | Needs::Either(arms) => arms
            .iter()
            .find_map(|arm| next_needed(states, stuck, rank, arm)),
        Needs::Started(_) => None,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: the largest set of waiting ranks none of which can be freed from outside. All subsets are tried.
    fn naive(states: &[NodeState<'_>]) -> Vec<Rank> {
        let n = states.len();
        let waiting = |set: u32, rank: Rank| set >> rank & 1 == 1;
        let is_knot = |set: u32| {
            (0..n)
                .filter(|&rank| waiting(set, rank))
                .all(|rank| match states[rank] {
                    NodeState::Waiting(needs) => !can_be_freed(states, rank, needs, |r| {
                        !waiting(set, r) && !matches!(states[r], NodeState::Ended)
                    }),
                    _ => false,
                })
        };
        let largest = (0..1u32 << n)
            .filter(|&set| is_knot(set))
            .max_by_key(|set| set.count_ones())
            .unwrap_or(0);
        (0..n).filter(|&rank| waiting(largest, rank)).collect()
    }

    /// All ranks, or some.
    fn members(n: usize) -> impl Strategy<Value = Members> {
        let some = proptest::collection::vec(any::<bool>(), n);
        some.prop_map(move |inside| match inside[0] {
            true => Members::All(n),
            false => Members::of((0..n).rev().filter(|&rank| inside[rank]).collect()),
        })
    }

    /// What a request needs.
    fn arm(n: usize) -> impl Strategy<Value = Needs> {
        prop_oneof![5 => (0..n).prop_map(Needs::One), 1 => members(n).prop_map(Needs::Any)]
    }

    fn arms(n: usize) -> impl Strategy<Value = Vec<Needs>> {
        proptest::collection::vec(arm(n), 1..4)
    }

    fn needs(n: usize) -> impl Strategy<Value = Option<Option<Needs>>> {
        let waiting = prop_oneof![
            4 => (0..n).prop_map(Needs::One),
            1 => members(n).prop_map(Needs::Any),
            2 => proptest::collection::vec(0..n, 1..3).prop_map(Needs::All),
            2 => (0..2u32, members(n)).prop_map(|(call, of)| Needs::Gate((1, call, 0), of)),
            1 => (0..2u32, members(n)).prop_map(|(call, of)| Needs::Shrink((1, call, 0), of)),
            2 => arms(n).prop_map(Needs::Every),
            2 => arms(n).prop_map(Needs::Either),
        ];
        prop_oneof![
            1 => Just(None),
            1 => Just(Some(None)),
            12 => waiting.prop_map(|needs| Some(Some(needs))),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn the_stuck_set_is_the_largest_knot(all in (2usize..8).prop_flat_map(|n| proptest::collection::vec(needs(n), n))) {
            let states: Vec<NodeState<'_>> = all.iter().map(|state| match state {
                None => NodeState::Running,
                Some(None) => NodeState::Ended,
                Some(Some(needs)) => NodeState::Waiting(needs),
            }).collect();
            let want = naive(&states);
            for me in (0..states.len()).filter(|&me| matches!(states[me], NodeState::Waiting(_))) {
                let got = stuck(&states, states.len(), &[me]);
                prop_assert_eq!(got, want.contains(&me).then(|| want.clone()), "rank {} of {:?}", me, states);
            }
            for pair in cycle(&states, &want).windows(2) {
                prop_assert!(want.contains(&pair[0]) && next_stuck(&states, &want, pair[0]).is_some());
            }
        }
    }
}
