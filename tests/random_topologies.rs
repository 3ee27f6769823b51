//! Ten thousand random formal topologies reduce correctly, on symbols and on threads; ten thousand with one triple
//! changed are refused with the culprit, or still reduce correctly.

mod again;
mod common;
mod formal;

use common::{cases, noise};
use formal::{blames_justly, definitions, edited, edits};
use proptest::prelude::*;
use rankfold::check::{Certificate, CheckError, Goal, check};
use rankfold::schedule::FoldAlong;
use rankfold::topology::{Topology, Triple};
use rankfold::{Rank, World, op};

/// The paper's conditions for a topology, checked by execution: every rank but the root sends once and the root never,
/// some rank sends in step 0, and a rank sends what it has at the start of the step. At the end the root has every
/// rank's contribution once.
fn is_right(ranks: usize, root: Rank, triples: &[Triple]) -> bool {
    let sends = |p: Rank| triples.iter().filter(|t| t.from == p).count();
    let once = (0..ranks).all(|p| sends(p) == usize::from(p != root));
    let in_range = triples.iter().all(|t| t.from < ranks && t.to < ranks);
    let starts = ranks == 1 || triples.iter().any(|t| t.step == 0);
    once && in_range && starts && gathered(ranks, root, triples) == (0..ranks).collect::<Vec<_>>()
}

/// Returns the contributions that the root has at the end, sorted. A sender keeps what it sends.
fn gathered(ranks: usize, root: Rank, triples: &[Triple]) -> Vec<Rank> {
    let mut held: Vec<Vec<Rank>> = (0..ranks).map(|rank| vec![rank]).collect();
    let last = triples.iter().map(|t| t.step).max().unwrap_or(0);
    for step in 0..=last {
        let before = held.clone();
        for t in triples.iter().filter(|t| t.step == step) {
            held[t.to].extend(&before[t.from]);
        }
    }
    held[root].sort();
    held.swap_remove(root)
}

/// Proves the reduction of two elements along a topology, on symbols.
fn proved(tree: &Topology) -> Result<Certificate, CheckError> {
    let schedule = FoldAlong::new(tree.single_port(), 2);
    check(&schedule, &Goal::reduce(tree.root(), 2))
}

fn input(rank: Rank) -> [u64; 3] {
    [0, 1, 2].map(|i| noise(rank as u64, i))
}

/// Returns every rank's result of the reduction on threads.
fn run(tree: &Topology) -> Vec<[u64; 3]> {
    World::new(tree.ranks())
        .check(false)
        .run(|comm| {
            let mut v = input(comm.rank());
            comm.reduce_over(tree, &mut v, op::Sum).run()?;
            Ok(v)
        })
        .unwrap()
}

/// Returns every rank's expected result: ranks other than the root keep their own elements.
fn wanted(tree: &Topology) -> Vec<[u64; 3]> {
    let mut all: Vec<_> = (0..tree.ranks()).map(input).collect();
    let sum = |i: usize| all.iter().fold(0u64, |sum, v| sum.wrapping_add(v[i]));
    all[tree.root()] = [sum(0), sum(1), sum(2)];
    all
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn a_formal_topology_is_accepted_and_proved_to_reduce(definition in definitions(16)) {
        let (ranks, root) = (definition.ranks(), definition.blocks[0][0]);
        let tree = definition.formal().general().unwrap();
        prop_assert!(is_right(ranks, root, &definition.triples()));
        let proof = proved(&tree).unwrap();
        prop_assert_eq!((proof.messages(), proof.steps), (ranks - 1, tree.single_port().steps()));
        prop_assert!(tree.is_in_rank_order() || !proof.ordered);
    }

    #[test]
    fn one_changed_triple_is_refused_with_its_culprit_or_does_no_harm(
        definition in definitions(12), edit in edits()
    ) {
        let (ranks, root) = (definition.ranks(), definition.blocks[0][0]);
        let triples = edited(definition.triples(), &edit);
        let in_range = triples.iter().all(|t| t.from < ranks && t.to < ranks);
        match Topology::from_triples(ranks, root, triples.clone()) {
            Ok(tree) => {
                prop_assert!(in_range && is_right(ranks, root, &triples));
                prop_assert!(proved(&tree).is_ok());
            }
            Err(error) => {
                prop_assert!(!in_range || !is_right(ranks, root, &triples), "refused for nothing: {}", error);
                prop_assert!(blames_justly(&error, ranks, root, &triples), "{}", error);
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_formal_topology_reduces_on_threads(definition in definitions(12)) {
        let tree = definition.formal().general().unwrap();
        prop_assert_eq!(run(&tree), wanted(&tree));
    }

    #[test]
    fn a_changed_topology_that_is_accepted_reduces_on_threads(
        definition in definitions(8), edit in edits()
    ) {
        let (ranks, root) = (definition.ranks(), definition.blocks[0][0]);
        if let Ok(tree) = Topology::from_triples(ranks, root, edited(definition.triples(), &edit)) {
            prop_assert_eq!(run(&tree), wanted(&tree));
        }
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
