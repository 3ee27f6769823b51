//! Owned values are reduced by move.

use std::collections::BTreeSet;

use rankfold::topology::Topology;
use rankfold::{Comm, Order, Rank, Result};

use super::trees;
use crate::common::{assert_usage, subtrees_are_runs, team};

/// Strings in rank order where the tree allows it, sets in the other orders.
fn values(comm: &Comm, tree: &Topology, in_rank_order: bool) -> Result<()> {
    let (me, n) = (comm.rank(), comm.size());
    let is_root = me == tree.root();
    let set: BTreeSet<Rank> = (0..n).collect();
    for order in [Order::Arrival, Order::Step] {
        let unite = |mut a: BTreeSet<Rank>, b| {
            a.extend(b);
            a
        };
        let got = comm
            .values()
            .reduce_over(tree, BTreeSet::from([me]), unite)
            .order(order)
            .run()?;
        assert_eq!(
            got,
            is_root.then(|| set.clone()),
            "{} in {order:?} order",
            tree.name()
        );
    }
    let text = comm
        .values()
        .reduce_over(tree, format!("<{me}>"), |a, b| a + &b)
        .run();
    if in_rank_order {
        let whole: String = (0..n).map(|rank| format!("<{rank}>")).collect();
        assert_eq!(text?, is_root.then_some(whole), "{}", tree.name());
    } else {
        assert_usage(text, "not runs of neighbouring ranks");
    }
    Ok(())
}

#[test]
fn owned_values_reduce_by_move_over_every_family() {
    for n in 1..=12 {
        let cases: Vec<_> = trees(n)
            .into_iter()
            .map(|tree| (subtrees_are_runs(&tree), tree))
            .collect();
        team(n)
            .run(|comm| {
                cases
                    .iter()
                    .try_for_each(|(runs, tree)| values(comm, tree, *runs))
            })
            .unwrap();
    }
}

#[test]
fn a_closure_that_folds_values_may_count() {
    let folds = team(9).run(|comm| {
        let mut folds = 0;
        let count = |a: Vec<Rank>, b: Vec<Rank>| {
            folds += 1;
            [a, b].concat()
        };
        comm.values()
            .reduce_over(&Topology::k_tree(9, 2), vec![comm.rank()], count)
            .run()?;
        Ok(folds)
    });
    assert_eq!(folds.unwrap().iter().sum::<usize>(), 8); // one fold for each triple
}
