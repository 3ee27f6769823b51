//! The names that the literature has for algorithms, families and collectives: each is read as what it stands for, and
//! those that are easily confused are told apart.

use rankfold::check::{Goal, check};
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::cost::closed_form;
use rankfold::topology::{Topology, TreeName};

fn read(name: &str) -> Algorithm {
    name.parse()
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_name_of_the_literature_is_read_as_what_it_stands_for() {
    for (name, own) in [
        ("1-ring", "chain"),
        ("increasing-ring", "chain"),
        ("2-ring", "k-ring:2"),
        ("7-ring", "k-ring:7"),
        ("1-tree", "binomial"),
        ("binomial-tree", "binomial"),
        ("2-tree", "k-tree:2"),
        ("star", "flat"),
        ("binary-tree", "k-ary:2"),
        ("butterfly", "exchange"),
        ("simple-exchange", "exchange"),
        ("all-to-all-reduction", "exchange"),
        ("recursive-halving", "halving"),
        ("rabenseifner", "halving"),
        ("recursive-doubling", "doubling"),
        ("23-broadcast:segments=5", "two-tree:segments=5"),
        ("linear-pipeline:segments=5", "chain:segments=5"),
        ("pipelined-binary-tree:segments=5", "in-order:segments=5"),
        ("2-tree:segments=5", "k-tree:2:segments=5"),
        ("hierarchical:star", "hierarchical:flat"),
    ] {
        assert_eq!(read(name), read(own), "{name}");
        assert_eq!(read(name).to_string(), own, "{name}");
    }
}

#[test]
fn a_family_of_the_literature_is_the_same_topology() {
    for (name, own) in [
        ("1-ring", Topology::chain(11)),
        ("2-ring", Topology::k_ring(11, 2)),
        ("2-tree", Topology::k_tree(11, 2)),
        ("binomial-tree", Topology::binomial(11)),
        ("star", Topology::flat(11)),
        ("binary-tree", Topology::k_ary(11, 2)),
    ] {
        assert_eq!(Topology::by_name(name, 11).unwrap(), own, "{name}");
    }
}

#[test]
fn the_2_tree_and_the_two_tree_are_told_apart() {
    let refused = "two-tree".parse::<Algorithm>().unwrap_err().to_string();
    assert!(
        refused.contains("the 2-tree of Xiong is `k-tree:2`"),
        "{refused}"
    );
    assert_ne!(read("2-tree:segments=4"), read("two-tree:segments=4"));
    assert!("two-tree".parse::<TreeName>().is_err());
}

#[test]
fn every_other_name_that_is_shown_is_read() {
    for collective in Collective::all() {
        for algorithm in Algorithm::all(collective) {
            for name in algorithm.also_called() {
                let segments = algorithm
                    .segments()
                    .map_or(String::new(), |k| format!(":segments={k}"));
                assert_eq!(read(&format!("{name}{segments}")), algorithm);
            }
        }
    }
}

#[test]
fn every_alias_is_read_with_a_number_for_its_k() {
    for alias in Algorithm::aliases() {
        let name = alias.replace('K', "3");
        let parsed: Result<Algorithm, _> = name.parse();
        let in_segments: Result<Algorithm, _> = format!("{name}:segments=3").parse();
        assert!(parsed.is_ok() || in_segments.is_ok(), "{alias}");
    }
}

#[test]
fn a_misspelt_name_of_the_literature_is_answered_with_the_right_one() {
    for (name, nearest) in [
        ("butterfyl", "butterfly"),
        ("recursive-halvin", "recursive-halving"),
        ("simple-exchang", "simple-exchange"),
        ("linear-pipline", "linear-pipeline"),
        ("strar", "star"),
    ] {
        let refused = name.parse::<Algorithm>().unwrap_err().to_string();
        let said = format!("did you mean `{nearest}`?");
        assert!(refused.contains(&said), "{refused}");
    }
}

#[test]
fn a_width_that_is_none_is_refused() {
    for name in ["0-tree", "0-ring", "99999999999999999999-tree", "-tree"] {
        assert!(name.parse::<TreeName>().is_err(), "{name}");
        assert!(name.parse::<Algorithm>().is_err(), "{name}");
    }
}

#[test]
fn recursive_doubling_is_an_all_reduce_and_the_same_as_simple_exchange() {
    for p in 1..=17 {
        let call = Call::new(Collective::AllReduce, p, 9);
        let doubling = read("recursive-doubling").schedule(&call).unwrap();
        let exchange = read("exchange").schedule(&call).unwrap();
        for step in 0..exchange.steps() {
            for rank in 0..p {
                assert_eq!(doubling.step(rank, step), exchange.step(rank, step));
            }
        }
        check(&doubling, &Goal::all_reduce(9).in_rank_order()).unwrap();
        let cost = |name| closed_form(read(name), &call).map(|form| form.cost());
        assert_eq!(cost("recursive-doubling"), cost("exchange"));
        assert!(cost("exchange").is_some());
    }
}

#[test]
fn the_collectives_of_the_literature_are_read() {
    for (name, collective) in [
        ("one-to-all-broadcast", Collective::Broadcast),
        ("all-to-one-reduction", Collective::Reduce),
        ("all-to-all-reduction", Collective::AllReduce),
        ("all-to-all-broadcast", Collective::AllGather),
    ] {
        assert_eq!(name.parse(), Ok(collective));
    }
}

#[test]
fn every_algorithm_of_messages_has_a_source() {
    let ours = ["cells", "gate", "direct", "hierarchical", "flat-serial"];
    for collective in Collective::all() {
        for algorithm in Algorithm::all(collective) {
            let name = algorithm.to_string();
            let own = ours.iter().any(|ours| name.starts_with(ours));
            assert_eq!(algorithm.source() == "-", own, "{name}");
        }
    }
}
