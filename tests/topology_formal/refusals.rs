//! Definitions that are none, with the rule that each breaks.

use rankfold::{
    Rank,
    topology::{Formal, TopologyError},
};

use super::nodes;
use crate::formal::with_edge;

#[test]
fn a_partition_that_is_none_is_refused_by_name() {
    use TopologyError::*;
    let refused = |ranks, blocks: &[&[Rank]]| nodes(ranks, blocks).general().unwrap_err();
    assert!(matches!(refused(0, &[]), NoRanks));
    assert!(matches!(refused(1, &[]), RankInNoBlock { rank: 0 }));
    assert!(matches!(
        refused(2, &[&[0], &[], &[1]]),
        EmptyBlock { node: 1 }
    ));
    assert!(matches!(
        refused(3, &[&[0], &[1, 2], &[1]]),
        BlocksOverlap {
            rank: 1,
            first: 1,
            second: 2
        }
    ));
    assert!(matches!(
        refused(2, &[&[0], &[1, 1]]),
        BlocksOverlap {
            rank: 1,
            first: 1,
            second: 1
        }
    ));
    assert!(matches!(
        refused(4, &[&[0], &[1, 3]]),
        RankInNoBlock { rank: 2 }
    ));
    assert!(matches!(
        refused(usize::MAX, &[&[0], &[1]]),
        RankInNoBlock { rank: 2 }
    ));
    assert!(matches!(
        refused(2, &[&[0], &[1, 2]]),
        RankOutOfRange { rank: 2, ranks: 2 }
    ));
    assert!(matches!(refused(3, &[&[0, 1], &[2]]), RootNotAlone { block } if block == [0, 1]));
}

#[test]
fn association_maps_that_are_none_are_refused_by_name() {
    use TopologyError::*;
    let start = || nodes(4, &[&[0], &[1], &[2, 3]]);
    let refused = |formal: Formal| formal.general().unwrap_err();
    assert!(matches!(
        refused(start().edge(1, 0, 0)),
        AssociationMissing { node: 1 }
    ));
    assert!(matches!(
        refused(start().edge(1, 9, 0)),
        NodeOutOfRange { node: 9, nodes: 3 }
    ));
    assert!(matches!(
        refused(start().associate(3, 0)),
        NodeOutOfRange { node: 3, nodes: 3 }
    ));
    assert!(matches!(
        refused(start().associate(2, 0)),
        AssociationWithoutEdge { node: 2 }
    ));
    assert!(matches!(
        refused(with_edge(start(), 1, 0, 0, 0).associate(1, 0)),
        AssociationTwice { node: 1 }
    ));
    let outside = refused(with_edge(start(), 1, 0, 0, 3));
    assert!(matches!(
        outside,
        AssociationOutside {
            node: 1,
            into: 0,
            rank: 3
        }
    ));
    assert!(matches!(
        refused(with_edge(start(), 1, 0, 0, 99)),
        AssociationOutside { rank: 99, .. }
    ));
}

#[test]
fn a_tree_that_is_none_is_refused_by_its_ranks() {
    use TopologyError::*;
    let start = || with_edge(nodes(4, &[&[0], &[1], &[2, 3]]), 1, 0, 1, 0);
    let refused = |formal: Formal| formal.general().unwrap_err();
    assert!(matches!(refused(start()), Orphan { rank: 2, root: 0 }));
    assert!(
        matches!(refused(with_edge(start(), 2, 2, 0, 3)), Cycle { rank: 2, cycle } if cycle == [3])
    );
    assert!(matches!(
        refused(with_edge(with_edge(start(), 2, 1, 0, 1), 0, 1, 2, 1)),
        RootHasSuccessor { .. }
    ));
    assert!(matches!(
        refused(with_edge(start(), 2, 1, 0, 1).edge(2, 1, 0)),
        TwoSuccessors { .. }
    ));
    assert!(matches!(
        refused(with_edge(start(), 2, 1, 1, 1)),
        StepDoesNotRise { .. }
    ));
    assert!(matches!(
        refused(with_edge(start(), 2, 0, 1, 0)),
        NoStepZero { .. }
    ));
}

/// The sending node, the node and the step that it sends into, and the process there.
type Edge = (usize, usize, usize, Rank);

fn with_edges(formal: Formal, edges: &[Edge]) -> Formal {
    let edges = edges.iter();
    edges.fold(formal, |formal, &(from, into, step, process)| {
        with_edge(formal, from, into, step, process)
    })
}

/// Edges among nodes of one rank each: the property that they break, and at which node.
const WRONG_AMONG_THREE: [([Edge; 2], u8, Rank); 5] = [
    ([(1, 0, 1, 0), (2, 0, 2, 0)], 1, 1),
    ([(1, 0, 0, 0), (2, 1, 0, 1)], 2, 1),
    ([(1, 0, 0, 0), (2, 0, 0, 0)], 3, 0),
    ([(1, 0, 0, 0), (2, 0, 2, 0)], 4, 0),
    ([(1, 0, 2, 0), (2, 1, 0, 1)], 6, 1),
];

#[test]
fn each_property_of_the_strict_form_is_refused_by_its_number() {
    let broken = |formal: Formal| match formal.strict() {
        Err(TopologyError::NotStrict { property, node }) => (property, node),
        other => panic!("{other:?}"),
    };
    for (edges, property, rank) in WRONG_AMONG_THREE {
        let three = nodes(3, &[&[0], &[1], &[2]]);
        let found = broken(with_edges(three, &edges));
        assert_eq!(found, (property, vec![rank]), "{edges:?}");
    }

    // Two edges of one weight fit into {1,2}, but not both into process 1.
    let four = |edges: [Edge; 3]| with_edges(nodes(5, &[&[0], &[2, 1], &[3], &[4]]), &edges);
    assert!(
        four([(1, 0, 1, 0), (2, 1, 0, 1), (3, 1, 0, 2)])
            .strict()
            .is_ok()
    );
    assert_eq!(
        broken(four([(1, 0, 1, 0), (2, 1, 0, 1), (3, 1, 0, 1)])),
        (4, vec![1, 2])
    );

    assert_eq!(
        broken(four([(1, 0, 2, 0), (2, 1, 0, 1), (3, 1, 1, 2)])),
        (5, vec![1, 2])
    );
}

#[test]
fn refusals_read_as_sentences() {
    let said = |formal: Formal| formal.general().unwrap_err().to_string();
    assert_eq!(
        said(nodes(3, &[&[0], &[1, 2], &[1]])),
        "rank 1 is in nodes 1 and 2"
    );
    assert_eq!(
        said(nodes(2, &[&[0], &[1, 1]])),
        "rank 1 is twice in node 1"
    );
    assert_eq!(
        said(nodes(3, &[&[0, 1], &[2]])),
        "node 0 is the root's alone, but is {0,1}"
    );
    let start = || nodes(3, &[&[0], &[1], &[2]]);
    assert_eq!(
        said(start().edge(1, 0, 0)),
        "the edge from node 1 has no process"
    );
    let outside = with_edge(start(), 1, 0, 0, 2);
    assert_eq!(
        said(outside),
        "the edge from node 1 goes to rank 2, which is not in node 0"
    );
}
