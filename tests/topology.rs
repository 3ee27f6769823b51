//! Topologies: every family for every small number of ranks, against definitions in plain code.

#[path = "topology/definitions.rs"]
mod definitions;
#[path = "topology/refusals.rs"]
mod refusals;
#[path = "topology/single_port.rs"]
mod single_port;
#[path = "topology/strict.rs"]
mod strict;
#[path = "topology/texts.rs"]
mod texts;

use rankfold::{
    Rank,
    topology::{Topology, TopologyError, Triple},
};

/// Returns every family on `n` ranks, with k up to 5 where there is one.
fn families(n: usize) -> Vec<Topology> {
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
    for k in 1..=5 {
        all.extend([
            Topology::k_ring(n, k),
            Topology::k_tree(n, k),
            Topology::k_ary(n, k),
        ]);
    }
    all
}

/// Returns the same tree as a table.
fn as_table(tree: &Topology) -> Topology {
    Topology::from_triples(tree.ranks(), tree.root(), tree.triples()).unwrap()
}

fn triple((from, step, to): (Rank, usize, Rank)) -> Triple {
    Triple { from, step, to }
}

fn triples(all: &[(Rank, usize, Rank)]) -> Vec<Triple> {
    all.iter().copied().map(triple).collect()
}

fn sorted(tree: &Topology) -> Vec<Triple> {
    let mut all: Vec<_> = tree.triples().collect();
    all.sort();
    all
}

fn floor_log2(n: usize) -> usize {
    n.ilog2() as usize
}

// ── laws ──

/// Checks the laws of all topologies one by one.
fn assert_laws(tree: &Topology) {
    let n = tree.ranks();
    for q in 0..n {
        let mut want: Vec<_> = tree.triples().filter(|t| t.to == q).collect();
        want.sort_by_key(|t| (t.step, t.from));
        let got: Vec<_> = tree.predecessors(q).collect();
        assert_eq!(got, want, "{tree:?}, rank {q}");
        assert_eq!(tree.predecessor_count(q), want.len(), "{tree:?}, rank {q}");
        assert_next_steps(tree, q, &want);
        assert_eq!(
            tree.successor(q).is_none(),
            q == tree.root(),
            "{tree:?}, rank {q}"
        );
        assert_path_to_root(tree, q);
    }
    assert_eq!(tree.triples().count(), n - 1);
    assert_eq!(
        tree.triples().map(|t| t.step + 1).max().unwrap_or(0),
        tree.steps(),
        "{tree:?}"
    );
    assert!(n == 1 || tree.triples().any(|t| t.step == 0), "{tree:?}");
}

fn assert_next_steps(tree: &Topology, q: Rank, entering: &[Triple]) {
    let mut want: Vec<_> = entering.iter().map(|t| t.step).collect();
    want.dedup();
    let first = tree.next_step(q, None);
    let got: Vec<_> = std::iter::successors(first, |&s| tree.next_step(q, Some(s))).collect();
    assert_eq!(got, want, "{tree:?}, rank {q}");
}

fn assert_path_to_root(tree: &Topology, start: Rank) {
    let (mut at, mut hops, mut last) = (start, 0, None);
    while let Some((step, to)) = tree.successor(at) {
        assert!(
            last < Some(step) && to < tree.ranks(),
            "{tree:?}, path of {start}"
        );
        (at, hops, last) = (to, hops + 1, Some(step));
        assert!(hops < tree.ranks(), "{tree:?}, path of {start}");
    }
    assert_eq!(at, tree.root());
}

#[test]
fn every_family_keeps_the_laws() {
    (1..=64)
        .flat_map(families)
        .for_each(|tree| assert_laws(&tree));
}

#[test]
fn every_family_keeps_the_laws_under_every_root_and_so_does_its_table() {
    for tree in (1..=20).flat_map(families) {
        for r in 0..tree.ranks() {
            let turned = tree.rooted(r);
            assert_eq!(turned.root(), r);
            assert_laws(&turned);
            let table = as_table(&turned);
            assert_laws(&table);
            assert_eq!(table, turned);
            assert_laws(&table.rooted(0));
            assert_eq!(table.rooted(0), tree);
        }
    }
}

#[test]
fn turning_renames_ranks_and_nothing_else() {
    for tree in (1..=16).flat_map(families) {
        let n = tree.ranks();
        for (r, then) in (0..n).map(|r| (r, (r * 7 + 3) % n)) {
            let renamed = |t: Triple, by: usize| Triple {
                from: (t.from + by) % n,
                to: (t.to + by) % n,
                ..t
            };
            let mut want: Vec<_> = tree.triples().map(|t| renamed(t, then)).collect();
            want.sort();
            assert_eq!(sorted(&tree.rooted(then)), want);
            assert_eq!(tree.rooted(r).rooted(then), tree.rooted(then));
        }
    }
}

#[test]
fn a_million_ranks_need_no_table() {
    let n = 1 << 20;
    for tree in families(n) {
        for p in [0, 1, 2, 3, n / 2 - 1, n / 2, n / 2 + 1, n - 2, n - 1] {
            assert!(
                tree.predecessors(p)
                    .take(9)
                    .all(|t| tree.successor(t.from) == Some((t.step, p)))
            );
            if let Some((step, q)) = tree.successor(p) {
                assert!(step < tree.steps() && q < n);
                assert_eq!(
                    tree.single_port().from(q, tree.port_step(p).unwrap()),
                    Some(p),
                    "{tree:?}"
                );
            }
        }
    }
}

#[test]
fn a_width_beyond_the_ranks_counts_as_the_ranks() {
    for n in 2..=20 {
        for k in [n - 1, n, usize::MAX] {
            for tree in [
                Topology::k_ring(n, k),
                Topology::k_tree(n, k),
                Topology::k_ary(n, k),
            ] {
                assert_eq!(tree, Topology::flat(n), "{tree:?}");
                assert_laws(&tree);
            }
        }
    }
}

#[test]
#[should_panic(expected = "a topology of 0 ranks")]
fn no_ranks_is_a_mistake() {
    Topology::fibonacci(0);
}

#[test]
#[should_panic(expected = "width k = 0 on 8 ranks")]
fn no_width_is_a_mistake() {
    Topology::k_tree(8, 0);
}

#[test]
#[should_panic(expected = "rank 8 of a topology with 8 ranks")]
fn a_rank_that_is_not_there_is_a_mistake() {
    Topology::chain(8).rooted(3).successor(8);
}

#[test]
fn every_family_is_found_by_its_name() {
    for tree in (1..=20).flat_map(families) {
        let again = Topology::by_name(&tree.name(), tree.ranks()).unwrap();
        assert_eq!((again.name(), &again), (tree.name(), &tree));
    }
    assert_eq!(as_table(&Topology::chain(3)).name(), "custom");
    assert_eq!(Topology::k_tree(8, 2).rooted(3).name(), "k-tree:2");
}

#[test]
fn names_that_no_family_has_are_refused_with_the_nearest() {
    use TopologyError::*;
    let refused = |name| Topology::by_name(name, 8).unwrap_err();
    assert!(matches!(
        refused("chian"),
        UnknownName {
            nearest: Some("chain"),
            ..
        }
    ));
    assert!(matches!(
        refused("k_tree:2"),
        UnknownName {
            nearest: Some("k-tree:K"),
            ..
        }
    ));
    assert!(matches!(
        refused("fibonaci"),
        UnknownName {
            nearest: Some("fibonacci"),
            ..
        }
    ));
    assert!(
        matches!(refused("zzzz"), UnknownName { nearest: None, known, .. } if known.len() == 11)
    );
    assert!(matches!(
        refused("serial"),
        UnknownName { nearest: None, .. }
    ));
    assert!(matches!(refused(""), UnknownName { nearest: None, .. }));
    assert!(matches!(refused("k-tree"), BadWidth { .. }));
    assert!(matches!(refused("k-tree:0"), BadWidth { .. }));
    assert!(matches!(refused("k-ary:two"), BadWidth { .. }));
    assert!(matches!(refused("chain:2"), BadWidth { .. }));
    assert!(matches!(Topology::by_name("chain", 0), Err(NoRanks)));
}
