//! What the tests of the runtime share: the number of repetitions, data by seed, and the oracles, which compute results
//! in the plainest code.
//!
//! `RANKFOLD_SCALE=0.2` does a fifth of the repetitions, for runs under a sanitizer; 1 is all of them.
#![allow(dead_code)] // every test file is a separate crate and uses a part of this

pub mod definitions;

use std::collections::VecDeque;
use std::fmt::Debug;

use rankfold::check::Goal;
use rankfold::collective::Call;
use rankfold::op::{Element, Operator};
use rankfold::topology::{Topology, Triple};
use rankfold::{Comm, Error, ErrorKind, Rank, Report, Team, World};

/// Returns the share of the repetitions to do: 1 is all.
pub fn scale() -> f64 {
    let scale = std::env::var("RANKFOLD_SCALE").ok();
    scale.map_or(1.0, |text| {
        text.parse().expect("RANKFOLD_SCALE is a number")
    })
}

/// Returns the number of `all` repetitions that the scale asks for; at least one.
pub fn scaled(all: usize) -> usize {
    ((all as f64 * scale()) as usize).max(1)
}

/// Returns the stride at this scale for exhaustive enumerations: 1, up to 10.
pub fn stride() -> usize {
    (1.0 / scale()).clamp(1.0, 10.0) as usize
}

/// Returns the configuration of proptest: a fixed seed, so that every run tries the same cases.
pub fn cases(all: usize) -> proptest::test_runner::Config {
    proptest::test_runner::Config {
        cases: scaled(all) as u32,
        rng_seed: proptest::test_runner::RngSeed::Fixed(2015),
        failure_persistence: None,
        ..Default::default()
    }
}

/// Starts a team whose collectives begin without an agreement round, so that calls overlap.
pub fn team(ranks: usize) -> Team {
    World::new(ranks).check(false).start().unwrap()
}

/// Returns number `i` of the sequence of `seed` (splitmix64).
pub fn noise(seed: u64, i: u64) -> u64 {
    let mut x = seed.wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

// ── an operator that does not commute ──

/// The map x -> m x + c modulo a prime.
pub type Map = (u32, u32);
const PRIME: u64 = 65_521;

/// Composes two maps: associative, and wrong as soon as two ranks are swapped.
pub fn compose(f: Map, g: Map) -> Map {
    let [m, c, n, d] = [f.0, f.1, g.0, g.1].map(u64::from);
    ((m * n % PRIME) as u32, ((m * d + c) % PRIME) as u32)
}

/// Returns a map that differs from every other rank's.
pub fn map(rank: Rank, i: usize) -> Map {
    let place = noise(rank as u64, i as u64);
    (
        2 + (place % (PRIME - 2)) as u32,
        ((place >> 32) % PRIME) as u32,
    )
}

/// [`compose`] as a user-defined operator that does not declare itself commutative.
#[derive(Clone, Copy)]
pub struct Compose;

impl Operator<Map> for Compose {
    fn combine(&self, left: Map, right: Map) -> Map {
        compose(left, right)
    }
}

// ── oracles ──

/// The definition of a reduction: x₀ ⊕ x₁ ⊕ … element by element, from the left.
pub fn fold<T: Element>(inputs: &[Vec<T>], op: impl Fn(T, T) -> T) -> Vec<T> {
    let mut total = inputs[0].clone();
    for input in &inputs[1..] {
        total
            .iter_mut()
            .zip(input)
            .for_each(|(a, &b)| *a = op(*a, b));
    }
    total
}

/// Returns the ranks on the path from `rank` to the root, both included.
pub fn path(tree: &Topology, rank: Rank) -> Vec<Rank> {
    let up = |rank: &Rank| tree.successor(*rank).map(|(_, above)| above);
    std::iter::successors(Some(rank), up).collect()
}

/// Returns all ranks whose contribution passes through `top`.
pub fn subtree(tree: &Topology, top: Rank) -> Vec<Rank> {
    (0..tree.ranks())
        .filter(|&rank| path(tree, rank).contains(&top))
        .collect()
}

/// Returns whether every subtree is a run of neighbours, which rank order requires.
pub fn subtrees_are_runs(tree: &Topology) -> bool {
    let is_run = |ranks: Vec<Rank>| ranks.windows(2).all(|two| two[0] + 1 == two[1]);
    (0..tree.ranks()).all(|top| is_run(subtree(tree, top)))
}

/// A message in the model of matching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub tag: u32,
    pub len: usize,
    /// Its index in the whole program: all messages differ.
    pub id: usize,
}

impl Sent {
    /// Returns its contents.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.id as u8; self.len];
        let mark = noise(self.id as u64, self.len as u64).to_le_bytes();
        bytes
            .iter_mut()
            .zip(mark)
            .for_each(|(byte, mark)| *byte = mark);
        bytes
    }
}

/// The messages that wait for one rank, a queue per sender: MPI's order, and nothing else.
pub struct Lines(pub Vec<VecDeque<Sent>>);

impl Lines {
    /// Returns the first message of `source` with the tag, or with any tag if `None`.
    pub fn first(&self, source: Rank, tag: Option<u32>) -> Option<&Sent> {
        self.0[source]
            .iter()
            .find(|sent| tag.is_none_or(|tag| tag == sent.tag))
    }

    /// Removes the first message of `source` with exactly this tag from its queue.
    pub fn take(&mut self, source: Rank, tag: u32) -> Sent {
        let line = &mut self.0[source];
        let place = line.iter().position(|sent| sent.tag == tag);
        line.remove(place.expect("there is such a message"))
            .unwrap()
    }
}

// ── topologies ──

/// Returns every family on `n` ranks, those with a k for several values.
pub fn families(n: usize) -> Vec<Topology> {
    let mut all = vec![
        Topology::chain(n),
        Topology::decreasing_ring(n),
        Topology::split_ring(n),
        Topology::binomial(n),
        Topology::flat(n),
        Topology::flat_serial(n),
        Topology::in_order(n),
        Topology::fibonacci(n),
    ];
    for k in [2, 3, 5] {
        all.extend([
            Topology::k_ring(n, k),
            Topology::k_tree(n, k),
            Topology::k_ary(n, k),
        ]);
    }
    all
}

/// Returns a tree of any shape: the i-th rank of `order` sends to one before it, which `parents` chooses. Steps
/// increase by one more than the gaps.
pub fn any_tree(order: &[Rank], parents: &[usize], gaps: &[usize]) -> Topology {
    let parent = |i: usize| parents[i] % i;
    let mut steps = vec![0; order.len()];
    let mut triples = Vec::new();
    for i in (1..order.len()).rev() {
        triples.push(Triple {
            from: order[i],
            step: steps[i],
            to: order[parent(i)],
        });
        steps[parent(i)] = steps[parent(i)].max(steps[i] + 1 + gaps[i]);
    }
    Topology::from_triples(order.len(), order[0], triples).unwrap()
}

// ── proofs ──

/// Returns the goal of a call.
pub fn goal(call: &Call) -> Goal {
    let goal = Goal::of(call.collective, call.root, call.length());
    let goal = match call.from_input {
        true => goal.from_input(),
        false => goal,
    };
    match call.commutes || !call.collective.folds() {
        true => goal,
        false => goal.in_rank_order(),
    }
}

// ── errors ──

/// Checks that the error is the caller's own mistake, with this text.
#[track_caller]
pub fn assert_usage<T>(result: Result<T, Error>, says: &str) {
    let error = result.err().expect("the call was refused");
    assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
    assert!(error.to_string().contains(says), "{error}");
}

/// Checks that every rank has returned; returns the values, in rank order.
#[track_caller]
pub fn values<R: Debug>(report: &Report<R>) -> Vec<&R> {
    let all = report.outcomes.iter();
    all.map(|outcome| outcome.value().unwrap_or_else(|| panic!("{outcome:?}")))
        .collect()
}

/// Tag of the message "I have come this far" to another rank, which waits for it: the only way the tests order ranks.
pub const TOKEN: u32 = u32::MAX;

pub fn signal(comm: &Comm, to: Rank) -> Result<(), Error> {
    comm.send::<()>(to, TOKEN, &[])
}

pub fn await_signal(comm: &Comm, from: Rank) -> Result<(), Error> {
    comm.recv::<()>(from, TOKEN).map(|_| ())
}
