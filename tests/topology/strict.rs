//! Which families are strict or in the order of ranks, and which properties the others break.

use rankfold::{
    Rank,
    topology::{Topology, TopologyError},
};

use super::{as_table, families};

/// The condition on the digits of `n - 1` under which a k-tree is strict.
fn no_zero_before_a_nonzero_digit(n: usize, k: usize) -> bool {
    let digits = std::iter::successors(Some(n - 1), |&rest| Some(rest / (k + 1)))
        .take_while(|&rest| rest > 0);
    let mut digits: Vec<_> = digits.map(|rest| rest % (k + 1)).collect();
    digits.reverse();
    !digits.windows(2).any(|two| two[0] == 0 && two[1] != 0)
}

#[test]
fn every_family_but_the_k_tree_is_strict() {
    for n in 1..=130 {
        for tree in families(n)
            .iter()
            .filter(|tree| !tree.name().starts_with("k-tree") && tree.name() != "binomial")
        {
            assert_eq!(tree.check_strict(), Ok(()), "{tree:?}");
        }
    }
}

#[test]
fn a_k_tree_is_strict_only_where_the_digits_allow() {
    for (n, k) in (1..=300).flat_map(|n| (1..=5).map(move |k| (n, k))) {
        let strict = Topology::k_tree(n, k).check_strict();
        assert_eq!(
            strict.is_ok(),
            no_zero_before_a_nonzero_digit(n, k.min(n.max(2) - 1)),
            "{k}-tree on {n}: {strict:?}"
        );
    }
}

#[test]
fn the_named_counterexamples_break_the_named_properties() {
    let broken = |tree: Topology| match tree.check_strict() {
        Err(TopologyError::NotStrict { property, node }) => (property, node),
        other => panic!("{tree:?}: {other:?}"),
    };
    assert_eq!(broken(Topology::binomial(6)), (6, vec![4]));
    assert_eq!(broken(Topology::k_tree(11, 2)).0, 6);
    assert_eq!(broken(Topology::k_tree(20, 2)).0, 5);
}

/// Properties 4 to 6, node by node as they read; 1 to 3 hold for any topology's own nodes.
fn strict_properties_broken(tree: &Topology) -> Vec<u8> {
    let node_of = |p: Rank| tree.successor(p);
    let steps_at = |p: Rank| {
        let mut all: Vec<_> = tree.predecessors(p).map(|t| t.step).collect();
        all.dedup();
        all
    };
    let mut broken = Vec::new();
    for p in 0..tree.ranks() {
        let mine = steps_at(p);
        if mine.windows(2).any(|two| two[0] + 1 != two[1]) {
            broken.push(4);
        }
        let node = (0..tree.ranks()).filter(|&q| node_of(q) == node_of(p));
        let ends: Vec<_> = node.filter_map(|q| steps_at(q).last().copied()).collect();
        if ends.iter().any(|end| *end != ends[0]) {
            broken.push(5);
        }
        if let (Some(last), Some((sends, _))) = (ends.iter().max(), tree.successor(p))
            && sends != last + 1
        {
            broken.push(6);
        }
    }
    broken.sort();
    broken
}

#[test]
fn the_first_property_broken_is_the_one_reported() {
    for tree in (1..=40).flat_map(families) {
        let first = strict_properties_broken(&tree).first().copied();
        let reported = match tree.check_strict() {
            Err(TopologyError::NotStrict { property, .. }) => Some(property),
            _ => None,
        };
        assert_eq!(reported, first, "{tree:?}");
    }
}

// ── rank order ──

/// Returns whether every subtree is an interval, by collecting each.
fn subtrees_are_intervals(tree: &Topology) -> bool {
    let mut gathered = vec![Vec::new(); tree.ranks()];
    for p in 0..tree.ranks() {
        let path = std::iter::successors(Some(p), |&at| tree.successor(at).map(|(_, to)| to));
        path.for_each(|at| gathered[at].push(p));
    }
    gathered
        .iter()
        .all(|ranks| ranks.windows(2).all(|two| two[0] + 1 == two[1]))
}

#[test]
fn rank_order_is_what_the_subtrees_say_under_every_root() {
    for tree in (1..=40).flat_map(families) {
        for r in 0..tree.ranks() {
            let turned = tree.rooted(r);
            let want = subtrees_are_intervals(&turned);
            assert_eq!(turned.is_in_rank_order(), want, "{turned:?}");
            assert_eq!(
                as_table(&turned).is_in_rank_order(),
                want,
                "{turned:?} as a table"
            );
            assert_eq!(
                as_table(&tree).rooted(r).is_in_rank_order(),
                want,
                "{turned:?} as a turned table"
            );
        }
    }
}

#[test]
fn all_families_but_the_k_ary_tree_are_in_rank_order() {
    for tree in (1..=64).flat_map(families) {
        let in_order = tree.is_in_rank_order();
        assert!(in_order || tree.name().starts_with("k-ary"), "{tree:?}");
        assert_eq!(in_order, subtrees_are_intervals(&tree), "{tree:?}");
    }
}
