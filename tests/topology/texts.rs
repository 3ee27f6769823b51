//! Topologies as text, and texts that are none.

use rankfold::topology::{Topology, TopologyError};

use super::families;

#[test]
fn text_reads_back_as_the_same_topology() {
    for tree in (1..=40).flat_map(families) {
        let turned = tree.rooted(tree.ranks() / 2);
        assert_eq!(
            Topology::from_text(&turned.to_text()),
            Ok(turned.clone()),
            "{turned:?}"
        );
        let bare: String = turned
            .to_text()
            .lines()
            .skip(2)
            .map(|line| format!("{line}  # as is\r\n\n"))
            .collect();
        if tree.ranks() > 1 {
            assert_eq!(bare.parse(), Ok(turned));
        }
    }
}

#[test]
fn headers_may_stand_anywhere() {
    let tree = Topology::chain(3);
    assert_eq!(
        Topology::from_text("2 0 1\nroot 0\n1 1 0\nranks 3"),
        Ok(tree)
    );
    assert_eq!(Topology::from_text("root 0"), Ok(Topology::chain(1)));
    assert_eq!(Topology::from_text("ranks 1"), Ok(Topology::chain(1)));
}

/// Returns the line that a refusal blames, and its error.
fn blamed(text: &str) -> (usize, TopologyError) {
    match Topology::from_text(text).unwrap_err() {
        TopologyError::Line { line, error } => (line, *error),
        other => (0, other),
    }
}

#[test]
fn text_that_is_no_topology_is_refused_with_its_line() {
    use TopologyError::*;
    assert!(matches!(blamed("# nothing\n\n"), (0, NoRanks)));
    assert!(matches!(blamed("\nranks 0"), (2, NoRanks)));
    assert!(matches!(blamed("1 0 0\n# fine\n2 0"), (3, BadLine { text, .. }) if text == "2 0"));
    assert!(matches!(blamed("1 0 0 0"), (1, BadLine { .. })));
    assert!(matches!(blamed("1 -1 0"), (1, BadLine { .. })));
    assert!(matches!(blamed("ranks many"), (1, BadLine { .. })));
    assert!(matches!(
        blamed("ranks 2\n1 0 0\nranks 2"),
        (3, BadLine { .. })
    ));
}

#[test]
fn a_line_that_contradicts_another_is_blamed() {
    use TopologyError::*;
    assert!(matches!(
        blamed("ranks 2\n1 0 0\n2 0 0"),
        (3, RankOutOfRange { rank: 2, ranks: 2 })
    ));
    assert!(matches!(
        blamed("ranks 2\n1 0 0\nroot 7"),
        (3, RankOutOfRange { rank: 7, ranks: 2 })
    ));
    assert!(matches!(
        blamed("2 0 0\n1 0 0\n\n2 1 1"),
        (4, TwoSuccessors { .. })
    ));
    assert!(matches!(blamed("1 0 0\n1 0 0"), (2, TwoSuccessors { .. })));
    assert!(matches!(
        blamed("root 0\n1 0 0\n0 0 1"),
        (3, RootHasSuccessor { .. })
    ));
}

#[test]
fn lines_that_are_no_tree_in_order_are_refused_with_the_one_to_blame() {
    use TopologyError::*;
    assert!(matches!(
        blamed("1 0 2\n2 0 1\n3 0 0"),
        (1, Cycle { rank: 1, .. })
    ));
    assert!(matches!(
        blamed("1 0 0\n\n2 0 1"),
        (1, StepDoesNotRise { .. })
    ));
    assert!(matches!(blamed("1 1 0"), (1, NoStepZero { .. })));
    assert!(matches!(
        blamed(&format!("1 {} 0", usize::MAX)),
        (1, StepTooLarge { .. })
    ));
    assert!(
        matches!(blamed("1 0 0\n3 0 0"), (0, NoSingleRoot { candidates }) if candidates == [0, 2])
    );
    assert!(matches!(
        blamed("1 0 0\n0 0 1"),
        (2, Cycle { rank: 0, cycle }) if cycle == [0, 1]
    ));
    assert!(matches!(blamed("1 0 0\n1 1 2"), (2, TwoSuccessors { .. })));
    assert!(matches!(
        blamed("root 0\nranks 3\n1 0 0"),
        (0, Orphan { rank: 2, .. })
    ));
}

#[test]
fn a_text_error_names_line_rank_and_rule() {
    let said = |text: &str| Topology::from_text(text).unwrap_err().to_string();
    assert_eq!(
        said("1 0 0\n2 0 3\n3 0 2\n"),
        "line 2: rank 2 never reaches the root: its path ends in the cycle 2 → 3 → 2"
    );
    assert_eq!(
        said("0 0 1\n# everybody sends\n1 1 2\n2 2 0\n"),
        "line 1: rank 0 never reaches the root: its path ends in the cycle 0 → 1 → 2 → 0"
    );
    assert_eq!(
        said("ranks 3\n1 0 0\n2 0 0\n2 1 1\n"),
        "line 4: rank 2 has two successors, <2,0,0> and <2,1,1>"
    );
    assert_eq!(
        said("ranks 3\n1 2 0\n2 3 1\n"),
        "line 2: rank 1 sends <1,2,0> no later than <2,3,1> arrives: steps must rise along every path"
    );
    assert_eq!(
        said("ranks 3\nroot 0\n1 0 0\n2 0 9\n"),
        "line 4: rank 9 is not one of the 3 ranks"
    );
    assert_eq!(
        said("1 0 0\n\u{1b}[31m"),
        "line 2: `\\u{1b}[31m` is not `p t q`, `ranks N` or `root R`"
    );
}

#[test]
fn a_line_error_has_the_error_as_its_source() {
    let error = Topology::from_text("1 1 0").unwrap_err();
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(
        source.to_string(),
        "no rank sends in step 0: the first to send is <1,1,0>"
    );
}
