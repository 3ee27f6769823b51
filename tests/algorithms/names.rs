//! Names of algorithms, as they are written, read, completed and refused.

use rankfold::collective::{Algorithm, Call, Collective, UnknownAlgorithm};
use rankfold::span::{Blocks, Pieces};

#[test]
fn every_name_that_is_written_is_read_again() {
    for collective in Collective::all() {
        assert_eq!(collective.to_string().parse(), Ok(collective));
        for algorithm in Algorithm::all(collective) {
            assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
        }
    }
    assert_eq!(
        "k-tree:1".parse::<Algorithm>().unwrap().to_string(),
        "binomial"
    );
    let ring = "k-ring:3:segments=8".parse::<Algorithm>().unwrap();
    assert_eq!(ring.to_string(), "k-ring:3:segments=8");
}

#[test]
fn names_that_none_has_are_refused_with_what_is_wrong() {
    let said = |name: &str| name.parse::<Algorithm>().unwrap_err().to_string();
    for (name, nearest) in [
        ("halvings", "halving"),
        ("bruk", "bruck"),
        ("k-tre", "k-tree:K"),
    ] {
        let start = format!("no algorithm is called `{name}`; did you mean `{nearest}`? (known: ");
        assert!(said(name).starts_with(&start), "{}", said(name));
    }
    assert!(said("zzzzzz").starts_with("no algorithm is called `zzzzzz` (known: hypercube, "));
    for name in ["hybrid", "hybrid:", "hybrid:-1", "hybrid:x"] {
        assert!(
            said(name).contains("a number of stages, as in `hybrid:2`"),
            "{}",
            said(name)
        );
    }
    for name in ["chain:segments=0", "chain:segments=", "chain:segments=x"] {
        assert!(
            said(name).contains("at least 1, as in `chain:segments=16`"),
            "{}",
            said(name)
        );
    }
    for name in ["k-tree", "k-tree:0", "chain:3", "chain:seg=3"] {
        assert!(
            said(name).contains("a family is followed by `:K`"),
            "{}",
            said(name)
        );
    }
    assert!(said("ring:segments=4").contains("only a family is pipelined"));
    let error = "Ring".parse::<Algorithm>().unwrap_err();
    assert_eq!(
        error,
        UnknownAlgorithm::NoSuchName {
            name: "Ring".into()
        }
    );
    assert!("".parse::<Collective>().is_err());
}

#[test]
fn names_are_completed_for_their_collective() {
    let offered = |typed, collective| Algorithm::completions(typed, collective);
    assert_eq!(offered("k-", None), ["k-ring:K", "k-tree:K", "k-ary:K"]);
    assert_eq!(offered("h", Some(Collective::Barrier)), ["hierarchical"]);
    assert_eq!(
        offered("h", Some(Collective::AllReduce)),
        ["halving", "hierarchical", "hybrid:K"]
    );
    assert_eq!(offered("", None).len(), Algorithm::known().count());
}

#[test]
fn every_refusal_says_what_and_what_to_do() {
    let said = |algorithm: &str, call: Call| {
        let algorithm: Algorithm = algorithm.parse().unwrap();
        let refusal = algorithm.schedule(&call).err().expect("it is refused");
        assert_eq!(algorithm.refused(&call).as_ref(), Some(&refusal));
        refusal.to_string()
    };
    let reduce = |p| Call::new(Collective::Reduce, p, 10);
    let all_reduce = |p| Call::new(Collective::AllReduce, p, 10);
    assert_eq!(said("halving", all_reduce(0)), "a collective of 0 ranks");
    assert_eq!(
        said("halving", reduce(4).to_root(4)),
        "root 4 is not one of the 4 ranks"
    );
    assert_eq!(
        said("halving", all_reduce(4).to_root(1)),
        "all_reduce has no root, and root 1 was given"
    );
    assert_eq!(
        said("bruck", Call::new(Collective::Barrier, 4, 0)),
        "bruck does not do barrier; these do: cells, gate, exchange, dissemination, hierarchical, chain, decreasing-ring, \
         split-ring, k-ring:K, k-tree:K, binomial, flat, flat-serial, k-ary:K, in-order, fibonacci"
    );
    assert_eq!(
        said("k-tree:2:segments=3", reduce(4)),
        "k-tree:2 cannot be pipelined in reduce: leave out `:segments=`"
    );
    assert_eq!(
        said("hypercube", reduce(6)),
        "hypercube needs a number of ranks that is a power of two, and there are 6"
    );
    assert_eq!(
        said("split-ring", reduce(6)),
        "split-ring does not keep operands in rank order: the operator must commute"
    );
    assert_eq!(
        said("hybrid:3", all_reduce(6)),
        "hybrid:3 has more stages than 6 ranks have dimensions: at most 2"
    );
    assert_eq!(
        said("halving", reduce(6).from_input()),
        "reduce has one form only: only all_reduce is both in place and from inputs"
    );
    let uneven = Blocks::of(&[1, 2]).unwrap();
    assert_eq!(
        said(
            "bruck",
            Call::new(Collective::AllToAll, 2, 0).with_blocks(uneven)
        ),
        "bruck does all_to_all only with blocks that are cut evenly"
    );
    let pieces = || Call::of_pieces(Pieces::of(&[1, 2, 3, 4]).unwrap());
    assert_eq!(
        said("bruck", pieces()),
        "bruck does all_to_all only with blocks that are cut evenly"
    );
    let scan = Call {
        collective: Collective::Scan,
        ..pieces()
    };
    assert_eq!(
        said("doubling", scan),
        "scan has no counts for pairs of ranks: only all_to_all has"
    );
}
