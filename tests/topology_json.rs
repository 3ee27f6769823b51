//! Topologies as JSON: read back as written, and accepted whole or not at all.
#![cfg(feature = "json")]

mod common;

use common::{any_tree, cases, families};
use proptest::{prelude::*, sample::Index};
use rankfold::topology::{Formal, Topology, TopologyError};

fn said(json: &str) -> String {
    Topology::from_json(json).unwrap_err().to_string()
}

/// Returns the refusal of an object of 3 ranks with these triples.
fn said_of(triples: &str) -> String {
    said(&format!(r#"{{"ranks": 3, "triples": [{triples}]}}"#))
}

#[test]
fn every_family_reads_back_with_its_name_and_root() {
    for tree in (1..=40).flat_map(families) {
        let turned = tree.rooted(tree.ranks() / 2);
        let again = Topology::from_json(&turned.to_json()).unwrap();
        assert_eq!((again.name(), &again), (turned.name(), &turned));
        assert_eq!(again.to_json(), turned.to_json());
    }
}

#[test]
fn a_name_and_the_order_of_fields_and_triples_change_nothing() {
    let json = r#"{"triples": [{"to": 0, "step": 1, "from": 1}, {"step": 0, "from": 2, "to": 1}],
        "ranks": 3, "name": "my \"first\" tree"}"#;
    assert_eq!(Topology::from_json(json), Ok(Topology::chain(3)));
    assert_eq!(
        Topology::from_json(r#"{"ranks": 1, "triples": []}"#),
        Ok(Topology::chain(1))
    );
}

#[test]
fn a_family_stands_for_its_triples_and_must_agree_with_them() {
    let read = |json: &str| Topology::from_json(json).unwrap();
    assert_eq!(
        read(r#"{"ranks": 8, "family": "k-tree:2"}"#),
        Topology::k_tree(8, 2)
    );
    let million = read(r#"{"ranks": 1000000, "family": "chain", "root": 7}"#);
    assert_eq!(million.successor(8), Some((999_998, 7)));
    let pair = r#"{"ranks": 3, "family": "chain", "triples": [
        {"from": 2, "step": 0, "to": 1}, {"from": 1, "step": 2, "to": 0}]}"#;
    assert_eq!(
        said(pair),
        "triples[1]: <1,2,0> is not in chain, where <1,1,0> is"
    );
}

/// Values that are no rank, and what their refusals call them.
const NO_RANKS: [(&str, &str); 9] = [
    ("-1", "-1"),
    ("0.0", "0.0"),
    ("1e1", "10.0"),
    ("18446744073709551616", "1.8446744073709552e19"),
    ("null", "null"),
    ("true", "true"),
    (r#""0""#, r#""0""#),
    ("[0]", "a list"),
    ("{}", "an object"),
];

/// Texts with a value of the wrong kind in another place, and their refusals.
const WRONG_KINDS: [(&str, &str); 7] = [
    ("[]", "this is a list, not an object"),
    (
        r#"{"ranks": "3", "triples": []}"#,
        r#"ranks: this is "3", not a whole number from 0 to 2^64 - 1"#,
    ),
    (
        r#"{"ranks": 3, "root": [], "triples": []}"#,
        "root: this is a list, not a whole number from 0 to 2^64 - 1",
    ),
    (
        r#"{"ranks": 3, "triples": {}}"#,
        "triples: this is an object, not a list of triples",
    ),
    (
        r#"{"ranks": 3, "name": 3, "triples": []}"#,
        "name: this is 3, not a text",
    ),
    (
        r#"{"schema": "rankfold.topology/2", "ranks": 3, "triples": []}"#,
        r#"schema: this is "rankfold.topology/2", not "rankfold.topology/1""#,
    ),
    (
        r#"{"ranks": 3, "family": null}"#,
        "family: this is null, not a text",
    ),
];

#[test]
fn a_value_of_the_wrong_kind_is_refused_with_its_path() {
    for (value, named) in NO_RANKS {
        assert_eq!(
            said_of(&format!(r#"{{"from": 1, "step": 0, "to": {value}}}"#)),
            format!("triples[0].to: this is {named}, not a whole number from 0 to 2^64 - 1")
        );
    }
    assert_eq!(said_of("7"), "triples[0]: this is 7, not an object");
    for (json, wanted) in WRONG_KINDS {
        assert_eq!(said(json), wanted);
    }
}

#[test]
fn fields_that_are_unknown_missing_or_there_twice_are_refused_by_name() {
    assert_eq!(
        said(r#"{"rank": 3}"#),
        "no field is called `rank` (known: schema, name, ranks, root, family, triples)"
    );
    assert_eq!(said("{}"), "`ranks` is missing");
    assert_eq!(said(r#"{"ranks": 3}"#), "`triples` is missing");
    assert_eq!(
        said(r#"{"ranks": 3, "triples": [], "ranks": 3}"#),
        "`ranks` is given twice"
    );
    let good = r#"{"from": 1, "step": 0, "to": 0}, "#;
    assert_eq!(
        said_of(&format!(r#"{good}{{"from": 2, "step": 0}}"#)),
        "triples[1]: `to` is missing"
    );
    assert_eq!(
        said_of(&format!(
            r#"{good}{{"from": 2, "step": 0, "to": 0, "too": 0}}"#
        )),
        "triples[1]: no field is called `too` (known: from, step, to)"
    );
    assert_eq!(
        said_of(&format!(
            r#"{good}{{"from": 2, "to": 0, "step": 0, "to": 1}}"#
        )),
        "triples[1]: `to` is given twice"
    );
}

#[test]
fn what_is_no_json_is_refused_with_line_and_column() {
    for (json, wanted) in [
        ("", "line 1, column 1: EOF while parsing a value"),
        ("{\n  \"ranks\": 3,\n}", "line 3, column 1: trailing comma"),
        ("{\"ranks\": 03}", "line 1, column 12: invalid number"),
        ("{\n\"ranks\" 3}", "line 2, column 9: expected `:`"),
        ("{} {}", "line 1, column 4: trailing characters"),
        ("1 0 0", "line 1, column 3: trailing characters"),
        (
            "{\"ranks\": 1e999}",
            "line 1, column 15: number out of range",
        ),
    ] {
        assert_eq!(said(json), wanted, "{json}");
    }
    assert!(said(&"[".repeat(100_000)).starts_with("line 1, column 128: recursion limit"));
}

/// From, step and to.
type Triple = (usize, usize, usize);

/// Pairs of triples that are no topology of 3 ranks, and their refusals.
const WRONG_TRIPLES: [([Triple; 2], &str); 8] = [
    (
        [(1, 0, 2), (2, 0, 1)],
        "triples[0]: rank 1 never reaches the root: its path ends in the cycle 1 → 2 → 1",
    ),
    (
        [(1, 0, 0), (1, 1, 2)],
        "triples[1]: rank 1 has two successors, <1,0,0> and <1,1,2>",
    ),
    (
        [(2, 0, 1), (2, 0, 1)],
        "triples[1]: triple <2,0,1> is given twice",
    ),
    (
        [(2, 1, 1), (1, 0, 0)],
        "triples[1]: rank 1 sends <1,0,0> no later than <2,1,1> arrives: steps must rise along every path",
    ),
    (
        [(1, 0, 0), (2, 0, 3)],
        "triples[1].to: rank 3 is not one of the 3 ranks",
    ),
    (
        [(1, 0, 0), (4, 0, 3)],
        "triples[1].from: rank 4 is not one of the 3 ranks",
    ),
    (
        [(1, 0, 0), (2, usize::MAX, 0)],
        "triples[1].step: the step of <2,18446744073709551615,0> is too large",
    ),
    (
        [(1, 2, 0), (2, 1, 0)],
        "triples[1].step: no rank sends in step 0: the first to send is <2,1,0>",
    ),
];

/// Objects that are no topology, and their refusals.
const WRONG_OBJECTS: [(&str, &str); 7] = [
    (
        r#"{"ranks": 0, "triples": []}"#,
        "ranks: a topology has at least one rank",
    ),
    (
        r#"{"ranks": 1, "root": 1, "triples": []}"#,
        "root: rank 1 is not one of the 1 ranks",
    ),
    (
        r#"{"ranks": 2, "root": 1, "triples": [{"from": 1, "step": 0, "to": 0}]}"#,
        "triples[0]: the root has a successor, <1,0,0>",
    ),
    (
        r#"{"ranks": 18446744073709551615, "triples": []}"#,
        "no root is given, and ranks 0 and 1 both send nothing",
    ),
    (
        r#"{"ranks": 0, "family": "chain"}"#,
        "ranks: a topology has at least one rank",
    ),
    (
        r#"{"ranks": 2, "root": 2, "family": "chain"}"#,
        "root: rank 2 is not one of the 2 ranks",
    ),
    (
        r#"{"ranks": 2, "family": "k-tree"}"#,
        "family: `k-tree`: wants a colon and a width of at least 1, as in `k-tree:3`",
    ),
];

#[test]
fn what_is_no_topology_is_refused_with_the_path_to_blame() {
    let triples = |all: &[Triple]| {
        let one = |&(from, step, to): &Triple| {
            format!(r#"{{"from": {from}, "step": {step}, "to": {to}}}"#)
        };
        all.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    for (all, wanted) in WRONG_TRIPLES {
        assert_eq!(said_of(&triples(&all)), wanted);
    }
    for (object, wanted) in WRONG_OBJECTS {
        assert_eq!(said(object), wanted);
    }
}

/// From, into, step and process.
type Edge = (usize, usize, usize, usize);

/// Returns a formal definition on 4 ranks.
fn formal(nodes: &str, edges: &[Edge]) -> String {
    let one = |&(from, into, step, process): &Edge| {
        format!(r#"{{"from": {from}, "into": {into}, "step": {step}, "process": {process}}}"#)
    };
    let edges = edges.iter().map(one).collect::<Vec<_>>().join(", ");
    format!(r#"{{"ranks": 4, "nodes": {nodes}, "edges": [{edges}]}}"#)
}

/// Lists of nodes that are no partition of 4 ranks, and their refusals.
const NO_PARTITIONS: [(&str, &str); 6] = [
    ("[[0], [1, 2], []]", "nodes[2]: node 2 has no ranks"),
    (
        "[[0], [1, 2], [3, 1]]",
        "nodes[2]: rank 1 is in nodes 1 and 2",
    ),
    ("[[0], [1, 2]]", "rank 3 is in no node"),
    (
        "[[0], [1, 2], [3, 4]]",
        "nodes[2]: rank 4 is not one of the 4 ranks",
    ),
    (
        "[[0, 3], [1, 2]]",
        "nodes[0]: node 0 is the root's alone, but is {0,3}",
    ),
    (
        "[[0], [1, -2], [3]]",
        "nodes[1][1]: this is -2, not a whole number from 0 to 2^64 - 1",
    ),
];

/// The partition that all edges below are given with.
const NODES: &str = "[[0], [1, 2], [3]]";

/// Pairs of edges that are no definition on these nodes, and their refusals.
const WRONG_EDGES: [([Edge; 2], &str); 6] = [
    (
        [(1, 0, 1, 0), (2, 3, 0, 2)],
        "edges[1]: node 3 is not one of the 3 nodes",
    ),
    (
        [(1, 0, 1, 0), (2, 1, 0, 3)],
        "edges[1]: the edge from node 2 goes to rank 3, which is not in node 1",
    ),
    (
        [(1, 0, 1, 0), (1, 0, 1, 0)],
        "edges[1]: the edge from node 1 has two processes",
    ),
    (
        [(1, 0, 0, 0), (2, 1, 0, 2)],
        "edges[0]: rank 2 sends <2,0,0> no later than <3,0,2> arrives: steps must rise along every path",
    ),
    (
        [(1, 2, 0, 3), (2, 1, 0, 2)],
        "edges[1]: rank 1 never reaches the root: its path ends in the cycle 3 → 2 → 3",
    ),
    (
        [(1, 0, 2, 0), (2, 1, 1, 2)],
        "edges[1]: no rank sends in step 0: the first to send is <3,1,2>",
    ),
];

#[test]
fn a_formal_definition_is_its_topology_or_refused_with_its_path() {
    let tree = formal(NODES, &[(1, 0, 1, 0), (2, 1, 0, 2)]);
    let triples = Topology::from_text("3 0 2\n1 1 0\n2 1 0");
    assert_eq!(Topology::from_json(&tree), triples);
    for (nodes, wanted) in NO_PARTITIONS {
        assert_eq!(said(&formal(nodes, &[])), wanted);
    }
    for (edges, wanted) in WRONG_EDGES {
        assert_eq!(said(&formal(NODES, &edges)), wanted);
    }
    assert_eq!(
        said(&formal(NODES, &[(1, 0, 1, 0), (2, 1, 0, 2), (0, 1, 9, 1)])),
        "edges[2]: the root has a successor, <0,9,1>"
    );
    assert_eq!(
        said(r#"{"ranks": 1, "nodes": [[0]]}"#),
        "`edges` is missing"
    );
    assert_eq!(
        said(r#"{"ranks": 1, "nodes": [[0]], "edges": [], "root": 0}"#),
        "no field is called `root` (known: schema, name, ranks, nodes, edges)"
    );
    assert_eq!(
        said(r#"{"ranks": 1, "nodes": 0, "edges": []}"#),
        "nodes: this is 0, not a list of nodes"
    );
}

#[test]
fn a_path_has_the_error_as_its_source() {
    let error = Topology::from_json(r#"{"ranks": 0, "triples": []}"#).unwrap_err();
    assert!(matches!(&error, TopologyError::At { path, .. } if path == "ranks"));
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "a topology has at least one rank");
}

#[test]
fn the_schema_names_the_fields_that_the_reader_knows() {
    let schema: serde_json::Value = serde_json::from_str(Topology::JSON_SCHEMA).unwrap();
    let names = |object: &serde_json::Value| {
        let properties = object["properties"].as_object().unwrap();
        let mut names: Vec<_> = properties.keys().cloned().collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!(
        names(&schema),
        "edges family name nodes ranks root schema triples"
    );
    assert_eq!(names(&schema["$defs"]["triple"]), "from step to");
    assert_eq!(names(&schema["$defs"]["edge"]), "from into process step");
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn any_topology_reads_back(
        (order, parents, gaps) in (1..40usize).prop_flat_map(|n| {
            let order = Just((0..n).collect::<Vec<_>>()).prop_shuffle();
            let numbers = || proptest::collection::vec(0..100usize, n);
            (order, numbers(), proptest::collection::vec(0..3usize, n))
        })
    ) {
        let tree = any_tree(&order, &parents, &gaps);
        prop_assert_eq!(Topology::from_json(&tree.to_json()), Ok(tree));
    }

    #[test]
    fn json_with_a_hole_is_read_as_the_same_or_refused(n in 1..6usize, at in any::<Index>(), by in "[0-9{}\\[\\]:,\" a-z]?") {
        let tree = Topology::binomial(n);
        let mut json = tree.to_json();
        let at = at.index(json.len());
        json.replace_range(at..at + 1, &by);
        if let Ok(read) = Topology::from_json(&json) {
            prop_assert_eq!(Topology::from_json(&read.to_json()), Ok(read));
        }
    }
}

#[test]
fn a_definition_keeps_its_partition_through_json() {
    for n in 1..=12 {
        let formal = Topology::k_tree(n, 2).formal();
        let read = Formal::from_json(&formal.to_json()).unwrap();
        assert_eq!(read.nodes(), formal.nodes());
        assert!(read.edges().eq(formal.edges()));
    }
}

#[test]
fn triples_are_no_definition() {
    let refused = Formal::from_json(&Topology::chain(3).to_json()).unwrap_err();
    assert!(refused.to_string().contains("nodes"), "{refused}");
}
