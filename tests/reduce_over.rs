//! The unified reduce loop against plain folds: over every family and random trees, with several roots, in every order
//! of folding, with elements and with owned values, and with failed ranks.

mod again;
mod common;
#[path = "reduce_over/survivors.rs"]
mod survivors;
#[path = "reduce_over/values.rs"]
mod values;

use std::collections::BTreeSet;

use common::{
    Compose, Map, any_tree, assert_usage, cases, compose, families, fold, map, scaled,
    subtrees_are_runs, team,
};
use proptest::prelude::*;
use rankfold::topology::Topology;
use rankfold::{Comm, Order, Rank, Result, Team, World, op};
use survivors::mourn;

/// Returns all families on `n` ranks, as they are and re-rooted.
fn trees(n: usize) -> Vec<Topology> {
    let roots = BTreeSet::from([0, 1 % n, n / 2, n - 1]);
    let turned = |tree: &Topology| {
        roots
            .iter()
            .map(|&root| tree.rooted(root))
            .collect::<Vec<_>>()
    };
    families(n).iter().flat_map(turned).collect()
}

// ── elements ──

fn numbers(rank: Rank, call: usize) -> Vec<u64> {
    let len = [1, 4, 5, 90][call % 4];
    (0..len)
        .map(|i| common::noise(rank as u64, (call * 100 + i) as u64))
        .collect()
}

fn maps(rank: Rank, call: usize) -> Vec<Map> {
    (0..[1, 3, 40][call % 3])
        .map(|i| map(rank, call * 100 + i))
        .collect()
}

fn all<T>(ranks: usize, of: impl Fn(Rank) -> T) -> Vec<T> {
    (0..ranks).map(of).collect()
}

/// One reduction of numbers, in one of the orders that need a commutative operator.
fn sum(comm: &Comm, tree: &Topology, order: Order, call: usize) -> Result<()> {
    let mine = numbers(comm.rank(), call);
    let mut buf = mine.clone();
    comm.reduce_over(tree, &mut buf, op::Sum)
        .order(order)
        .run()?;
    let is_root = comm.rank() == tree.root();
    let want = if is_root {
        fold(&all(comm.size(), |r| numbers(r, call)), u64::wrapping_add)
    } else {
        mine
    };
    assert_eq!(
        buf,
        want,
        "{} in {order:?} order, rank {}",
        tree.name(),
        comm.rank()
    );
    Ok(())
}

/// One reduction of maps in rank order, by closure and by operator in turn.
fn composition(comm: &Comm, tree: &Topology, call: usize) -> Result<()> {
    let mine = maps(comm.rank(), call);
    let mut buf = mine.clone();
    match call % 2 {
        0 => comm.reduce_over(tree, &mut buf, compose).run()?,
        _ => comm
            .reduce_over(tree, &mut buf, Compose)
            .order(Order::Rank)
            .run()?,
    }
    let is_root = comm.rank() == tree.root();
    let want = if is_root {
        fold(&all(comm.size(), |r| maps(r, call)), compose)
    } else {
        mine
    };
    assert_eq!(
        buf,
        want,
        "{} in rank order, rank {}",
        tree.name(),
        comm.rank()
    );
    Ok(())
}

/// Runs every order over one tree, several times and without a pause. Rank order is refused exactly where a subtree is
/// not a run of neighbours.
fn every_order(comm: &Comm, tree: &Topology, in_rank_order: bool) -> Result<()> {
    for call in 0..4 {
        sum(comm, tree, Order::Arrival, call)?;
        sum(comm, tree, Order::Step, call)?;
        if in_rank_order {
            sum(comm, tree, Order::Rank, call)?;
            composition(comm, tree, call)?;
        }
    }
    if !in_rank_order {
        let mut v = [comm.rank() as u64];
        let refused = comm
            .reduce_over(tree, &mut v, op::Sum)
            .order(Order::Rank)
            .run();
        assert_usage(refused, "not runs of neighbouring ranks");
    }
    Ok(())
}

fn every_tree(team: &Team, trees: &[Topology]) {
    let cases: Vec<_> = trees
        .iter()
        .map(|tree| (tree, subtrees_are_runs(tree)))
        .collect();
    team.run(|comm| {
        cases
            .iter()
            .try_for_each(|(tree, runs)| every_order(comm, tree, *runs))
    })
    .unwrap();
}

#[test]
fn every_family_reduces_in_every_order_for_up_to_17_ranks() {
    (1..=17).for_each(|n| every_tree(&team(n), &trees(n)));
}

#[test]
fn every_family_reduces_with_a_round_of_agreement_before_each_call() {
    let checked = |n| World::new(n).check(true).start().unwrap();
    [1, 2, 5, 9]
        .iter()
        .for_each(|&n| every_tree(&checked(n), &trees(n)));
}

/// Returns a tree drawn from the order in which ranks join, the rank that each joins, and the gaps between its steps.
fn any_tree_of(max: usize) -> impl Strategy<Value = Topology> {
    (1..=max).prop_flat_map(|n| {
        let order = Just((0..n).collect::<Vec<_>>()).prop_shuffle();
        let parents = proptest::collection::vec(0..n, n);
        let gaps = proptest::collection::vec(0..3usize, n);
        (order, parents, gaps).prop_map(|(order, parents, gaps)| any_tree(&order, &parents, &gaps))
    })
}

/// Returns a tree whose subtrees are runs of neighbours: every part chooses its own root, and so do the parts on both
/// sides of it.
fn rank_ordered_tree(n: usize, choices: &[usize]) -> Topology {
    let (mut order, mut parents) = (Vec::new(), Vec::new());
    let mut parts = vec![(0, n, 0)];
    while let Some((low, high, parent)) = parts.pop() {
        if low < high {
            let root = low + choices[order.len()] % (high - low);
            let place = order.len();
            order.push(root);
            parents.push(parent);
            parts.extend([(low, root, place), (root + 1, high, place)]);
        }
    }
    any_tree(&order, &parents, &vec![0; n])
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn random_trees_reduce_in_every_order(tree in any_tree_of(12)) {
        every_tree(&team(tree.ranks()), &[tree]);
    }

    #[test]
    fn random_trees_of_runs_keep_rank_order(n in 1usize..12, choices in proptest::collection::vec(0usize..100, 12)) {
        let tree = rank_ordered_tree(n, &choices);
        prop_assert!(subtrees_are_runs(&tree));
        every_tree(&team(n), &[tree]);
    }

    #[test]
    fn random_trees_lose_the_subtrees_of_the_dead_and_nothing_else(
        tree in any_tree_of(9), dead in proptest::collection::btree_set(0usize..9, 0..5),
    ) {
        let dead: BTreeSet<Rank> = dead.into_iter().filter(|&rank| rank < tree.ranks() && rank != tree.root()).collect();
        mourn(&team(tree.ranks()), &tree, &dead);
    }
}

// ── bits ──

#[test]
fn a_sum_by_step_has_the_same_bits_in_every_run() {
    for n in [2, 5, 9, 16] {
        let team = team(n);
        for tree in trees(n) {
            let run = || {
                let sums = team.run(|comm| {
                    let mut v = [1.0 / (3.0 + comm.rank() as f64), 0.1 * comm.rank() as f64];
                    comm.reduce_over(&tree, &mut v, op::Sum).run()?;
                    Ok(v.map(f64::to_bits))
                });
                sums.unwrap()[tree.root()]
            };
            assert_eq!(run(), run(), "{}", tree.name());
        }
    }
}

// ── ranks that run ahead ──

#[test]
fn leaves_may_be_many_calls_ahead_of_a_root_that_takes_messages_as_they_arrive() {
    let calls = scaled(100);
    for tree in [
        Topology::flat(6),
        Topology::flat_serial(6),
        Topology::flat(6).rooted(4),
    ] {
        team(6)
            .run(|comm| {
                let (me, root) = (comm.rank(), tree.root());
                if me == root {
                    // Each of them sends this message only after all its calls.
                    let others = (0..6).filter(|&rank| rank != root);
                    others
                        .into_iter()
                        .try_for_each(|rank| common::await_signal(comm, rank))?;
                }
                (0..calls).try_for_each(|call| sum(comm, &tree, Order::Arrival, call))?;
                if me == root {
                    Ok(())
                } else {
                    common::signal(comm, root)
                }
            })
            .unwrap();
    }
}

#[test]
fn one_subtree_may_be_many_calls_ahead_of_another() {
    let calls = scaled(100);
    let tree = any_tree(&[0, 1, 2, 3, 4], &[0, 0, 1, 0, 3], &[0; 5]); // 0 receives from 1 and 3, 1 from 2, 3 from 4
    team(5)
        .run(|comm| {
            if comm.rank() == 4 {
                common::await_signal(comm, 1)?; // after rank 1's last call
            }
            for call in 0..calls {
                sum(
                    comm,
                    &tree,
                    [Order::Arrival, Order::Step][call / 7 % 2],
                    call,
                )?;
            }
            if comm.rank() == 1 {
                common::signal(comm, 4)
            } else {
                Ok(())
            }
        })
        .unwrap();
}

#[test]
fn many_calls_in_arrival_order_follow_each_other_over_changing_trees() {
    for n in [2, 3, 7, 12] {
        let trees = trees(n);
        team(n)
            .run(|comm| {
                (0..scaled(300)).try_for_each(|call| {
                    sum(comm, &trees[call * 7 % trees.len()], Order::Arrival, call)
                })
            })
            .unwrap();
    }
}

// ── refusals ──

#[test]
fn what_a_topology_or_an_order_cannot_do_is_refused_on_every_rank_and_breaks_nothing() {
    for check in [false, true] {
        World::new(5)
            .check(check)
            .run(|comm| {
                let mut v = [map(comm.rank(), 0)];
                let [other, chain] = [4, 5].map(Topology::chain);
                let tree = Topology::k_ary(5, 2);
                let size = comm.reduce_over(&other, &mut v, Compose).run();
                assert_usage(size, "a topology of 4 ranks in a world of 5");
                let size = comm.reduce_over(&other, &mut v, Compose).survivors();
                assert_usage(size, "a topology of 4 ranks in a world of 5");
                for order in [Order::Arrival, Order::Step] {
                    let closure = comm.reduce_over(&chain, &mut v, compose).order(order);
                    assert_usage(closure.run(), "only for operators that commute");
                    let own = comm.reduce_over(&chain, &mut v, Compose).order(order);
                    assert_usage(own.survivors(), "only for operators that commute");
                }
                assert_usage(
                    comm.reduce_over(&tree, &mut v, Compose).run(),
                    "neighbouring ranks",
                );
                let text = comm
                    .values()
                    .reduce_over(&tree, String::new(), |a, b| a + &b);
                assert_usage(text.survivors(), "neighbouring ranks");
                assert_eq!(v, [map(comm.rank(), 0)]);
                let most = op::commutative(|a: Map, b: Map| a.max(b));
                comm.reduce_over(&tree, &mut v.clone(), most)
                    .order(Order::Arrival)
                    .run()?;
                composition(comm, &Topology::fibonacci(5), 3)?;
                sum(comm, &tree, Order::Arrival, 3)
            })
            .unwrap();
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
