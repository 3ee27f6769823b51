//! Triples that are no topology.

use rankfold::{
    Rank,
    topology::{Topology, TopologyError, Triple},
};

use super::triples;

fn refusal(ranks: usize, root: Rank, all: &[(Rank, usize, Rank)]) -> TopologyError {
    Topology::from_triples(ranks, root, triples(all)).unwrap_err()
}

#[test]
fn triples_that_are_no_topology_are_refused_by_name() {
    use TopologyError::*;
    assert!(matches!(refusal(0, 0, &[]), NoRanks));
    assert!(matches!(
        refusal(2, 2, &[(1, 0, 0)]),
        RankOutOfRange { rank: 2, ranks: 2 }
    ));
    assert!(matches!(
        refusal(2, 0, &[(1, 0, 5)]),
        RankOutOfRange { rank: 5, ranks: 2 }
    ));
    assert!(matches!(
        refusal(2, 0, &[(1, usize::MAX, 0)]),
        StepTooLarge {
            triple: Triple { from: 1, .. }
        }
    ));
    assert!(matches!(
        refusal(2, 0, &[(1, 0, 0), (0, 1, 1)]),
        RootHasSuccessor {
            triple: Triple { step: 1, .. }
        }
    ));
}

#[test]
fn triples_that_are_no_tree_in_order_are_refused_by_name() {
    use TopologyError::*;
    let two = refusal(3, 0, &[(2, 0, 1), (1, 1, 0), (2, 2, 0)]);
    assert!(matches!(
        two,
        TwoSuccessors {
            first: Triple { from: 2, .. },
            second: Triple { step: 2, .. }
        }
    ));
    let twice = refusal(2, 0, &[(1, 0, 0), (1, 0, 0)]);
    assert!(matches!(twice, TwoSuccessors { first, second } if first == second));
    assert!(matches!(
        refusal(4, 0, &[(1, 0, 0), (3, 0, 0)]),
        Orphan { rank: 2, root: 0 }
    ));
    let cycle = refusal(5, 0, &[(1, 0, 2), (2, 1, 3), (3, 2, 4), (4, 3, 2)]);
    assert!(matches!(cycle, Cycle { rank: 1, cycle } if cycle == [2, 3, 4]));
    assert!(matches!(refusal(2, 0, &[(1, 0, 1)]), Cycle { rank: 1, cycle } if cycle == [1]));
    let falls = refusal(3, 0, &[(2, 1, 1), (1, 1, 0)]);
    assert!(matches!(
        falls,
        StepDoesNotRise {
            before: Triple { from: 2, .. },
            after: Triple { from: 1, .. }
        }
    ));
    assert!(matches!(
        refusal(3, 0, &[(1, 1, 0), (2, 2, 0)]),
        NoStepZero {
            least: Triple { from: 1, .. }
        }
    ));
}

#[test]
fn a_number_of_ranks_that_no_memory_holds_is_refused_without_trying() {
    let refused = refusal(usize::MAX, 0, &[(1, 0, 0)]);
    assert!(matches!(refused, TopologyError::Orphan { rank: 2, .. }));
    assert!(Topology::from_text(&format!("ranks {}\n1 0 0", usize::MAX)).is_err());
    assert!(Topology::from_text(&format!("{} 0 0", usize::MAX)).is_err());
}

#[test]
fn refusals_read_as_sentences() {
    let said = |error: TopologyError| error.to_string();
    assert_eq!(
        said(refusal(2, 0, &[(1, 0, 0), (1, 0, 0)])),
        "triple <1,0,0> is given twice"
    );
    assert_eq!(
        said(refusal(2, 0, &[(1, 0, 5)])),
        "rank 5 is not one of the 2 ranks"
    );
    assert_eq!(
        said(refusal(3, 0, &[(2, 1, 1), (1, 1, 0)])),
        "rank 1 sends <1,1,0> no later than <2,1,1> arrives: steps must rise along every path"
    );
    assert_eq!(
        said(refusal(3, 0, &[(1, 0, 0)])),
        "rank 2 sends nothing, but the root is 0"
    );
}
