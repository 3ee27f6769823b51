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

/// Misspelt names, and the nearest name that there is.
const MISSPELT: [(&str, &str); 3] = [
    ("halvings", "halving"),
    ("bruk", "bruck"),
    ("k-tre", "k-tree:K"),
];

/// Names whose numbers are wrong, and what is said of each.
const WRONG_NUMBERS: [(&[&str], &str); 4] = [
    (
        &["hybrid", "hybrid:", "hybrid:-1", "hybrid:x"],
        "a number of stages, as in `hybrid:2`",
    ),
    (
        &["chain:segments=0", "chain:segments=", "chain:segments=x"],
        "at least 1, as in `chain:segments=16`",
    ),
    (
        &["k-tree", "k-tree:0", "chain:3", "chain:seg=3"],
        "a family is followed by `:K`",
    ),
    (&["ring:segments=4"], "only a family is pipelined"),
];

#[test]
fn names_that_none_has_are_refused_with_what_is_wrong() {
    let said = |name: &str| name.parse::<Algorithm>().unwrap_err().to_string();
    for (name, nearest) in MISSPELT {
        let start = format!("no algorithm is called `{name}`; did you mean `{nearest}`? (known: ");
        assert!(said(name).starts_with(&start), "{}", said(name));
    }
    assert!(said("zzzzzz").starts_with("no algorithm is called `zzzzzz` (known: hypercube, "));
    for (names, what) in WRONG_NUMBERS {
        for name in names {
            assert!(said(name).contains(what), "{}", said(name));
        }
    }
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

/// An algorithm, a call that it refuses, and what it says.
type Refusal = (&'static str, Call, &'static str);

fn reduce(p: usize) -> Call {
    Call::new(Collective::Reduce, p, 10)
}

fn all_reduce(p: usize) -> Call {
    Call::new(Collective::AllReduce, p, 10)
}

/// Calls that no algorithm can do.
fn of_every_algorithm() -> [Refusal; 4] {
    [
        ("halving", all_reduce(0), "a collective of 0 ranks"),
        (
            "halving",
            reduce(4).to_root(4),
            "root 4 is not one of the 4 ranks",
        ),
        (
            "halving",
            all_reduce(4).to_root(1),
            "all_reduce has no root, and root 1 was given",
        ),
        (
            "halving",
            reduce(6).from_input(),
            "reduce has one form only: only all_reduce is both in place and from inputs",
        ),
    ]
}

/// Calls that other algorithms can do.
fn of_one_algorithm() -> [Refusal; 5] {
    [
        (
            "bruck",
            Call::new(Collective::Barrier, 4, 0),
            "bruck does not do barrier; these do: cells, gate, exchange, dissemination, hierarchical, chain, \
             decreasing-ring, split-ring, k-ring:K, k-tree:K, binomial, flat, flat-serial, k-ary:K, in-order, fibonacci",
        ),
        (
            "k-tree:2:segments=3",
            reduce(4),
            "k-tree:2 cannot be pipelined in reduce: leave out `:segments=`",
        ),
        (
            "hypercube",
            reduce(6),
            "hypercube needs a number of ranks that is a power of two, and there are 6",
        ),
        (
            "split-ring",
            reduce(6),
            "split-ring does not keep operands in rank order: the operator must commute",
        ),
        (
            "hybrid:3",
            all_reduce(6),
            "hybrid:3 has more stages than 6 ranks have dimensions: at most 2",
        ),
    ]
}

/// Calls with lengths that the algorithm, or the collective, does not have.
fn of_lengths() -> [Refusal; 3] {
    let uneven = Blocks::of(&[1, 2]).unwrap();
    let pieces = || Call::of_pieces(Pieces::of(&[1, 2, 3, 4]).unwrap());
    let scan = Call {
        collective: Collective::Scan,
        ..pieces()
    };
    let only_even = "bruck does all_to_all only with blocks that are cut evenly";
    [
        (
            "bruck",
            Call::new(Collective::AllToAll, 2, 0).with_blocks(uneven),
            only_even,
        ),
        ("bruck", pieces(), only_even),
        (
            "doubling",
            scan,
            "scan has no counts for pairs of ranks: only all_to_all has",
        ),
    ]
}

#[test]
fn every_refusal_says_what_and_what_to_do() {
    let refusals = of_every_algorithm()
        .into_iter()
        .chain(of_one_algorithm())
        .chain(of_lengths());
    for (name, call, said) in refusals {
        let algorithm: Algorithm = name.parse().unwrap();
        let refusal = algorithm.schedule(&call).err().expect("it is refused");
        assert_eq!(algorithm.refused(&call).as_ref(), Some(&refusal));
        assert_eq!(refusal.to_string(), said, "{name}");
    }
}
