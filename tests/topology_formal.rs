//! The formal definition, and random topologies: accepted when right, refused with the culprit when one thing is
//! changed.

mod formal;
#[path = "topology_formal/random.rs"]
mod random;
#[path = "topology_formal/refusals.rs"]
mod refusals;

use formal::with_edge;
use rankfold::{
    Rank,
    topology::{Formal, Topology, TopologyError},
};

/// The example of both papers.
fn example() -> Formal {
    Formal::new(8)
        .node([0])
        .node([1, 2])
        .node([3, 6])
        .node([4, 5])
        .node([7])
        .edge(1, 0, 0)
        .associate(1, 0)
        .edge(2, 0, 1)
        .associate(2, 0)
        .edge(3, 2, 0)
        .associate(3, 3)
        .edge(4, 2, 0)
        .associate(4, 6)
}

/// Nodes without edges.
fn nodes(ranks: usize, blocks: &[&[Rank]]) -> Formal {
    blocks.iter().fold(Formal::new(ranks), |formal, block| {
        formal.node(block.iter().copied())
    })
}

#[test]
fn the_worked_example_is_strict_and_the_2_tree() {
    assert_eq!(example().strict(), Ok(Topology::k_tree(8, 2)));
    assert_eq!(example().general(), Ok(Topology::k_tree(8, 2)));
}

#[test]
fn one_rank_is_the_empty_topology() {
    let alone = Formal::new(1).node([0]).strict().unwrap();
    assert_eq!(alone, Topology::chain(1));
    assert_eq!(
        (alone.steps(), alone.port_steps(), alone.triples().count()),
        (0, 0, 0)
    );
}

#[test]
fn the_root_need_not_be_rank_0() {
    let star = with_edge(nodes(3, &[&[2], &[0, 1]]), 1, 0, 0, 2)
        .strict()
        .unwrap();
    assert_eq!(star, Topology::flat(3).rooted(2));
}

// ── the way back from triples ──

const FAMILIES: &str =
    "chain split-ring k-ring:3 binomial k-tree:2 k-tree:3 flat k-ary:2 in-order fibonacci";

#[test]
fn a_topology_is_defined_by_the_definition_read_back_from_it() {
    for n in 1..=40 {
        for name in FAMILIES.split(' ') {
            let tree = Topology::by_name(name, n).unwrap().rooted(n / 2);
            let formal = tree.formal();
            assert_eq!(formal.general().as_ref(), Ok(&tree), "{name} on {n}");
            assert_eq!(formal.strict().is_ok(), tree.check_strict().is_ok());
            assert_eq!(formal.edges().count() + 1, formal.nodes().len());
        }
    }
}

#[test]
fn a_finer_partition_may_break_what_the_triples_alone_keep() {
    let apart = with_edge(nodes(3, &[&[0], &[1], &[2]]), 1, 0, 0, 0);
    let apart = with_edge(apart, 2, 0, 0, 0);
    let property_3 = TopologyError::NotStrict {
        property: 3,
        node: vec![0],
    };
    assert_eq!(apart.strict(), Err(property_3));
    let together = apart.general().unwrap();
    assert_eq!(together.check_strict(), Ok(()));
    assert_eq!(together.formal().nodes(), [vec![0], vec![1, 2]]);
}
