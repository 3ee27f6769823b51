//! Every algorithm for every collective that it serves, proved as it is called: with every root, and with operators
//! that commute and operators that do not.

use proptest::prelude::*;
use rankfold::check::{Certificate, CheckError, Goal, check, check_pieces, check_with};
use rankfold::collective::{
    Algorithm, BruckAllToAll, Call, Collective, Refusal, Root, UnknownAlgorithm,
};
use rankfold::schedule::Schedule;
use rankfold::span::{Blocks, Pieces};

use common::goal;

mod common;

/// The numbers of ranks: every one up to 40 and some up to 130, fewer without optimisation.
fn worlds() -> impl Iterator<Item = usize> {
    let dense = if cfg!(debug_assertions) { 16 } else { 40 };
    let sparse = [31, 32, 33, 40, 64, 65, 97, 128, 130];
    let most = if cfg!(debug_assertions) { 40 } else { 130 };
    (1..=most).filter(move |p| *p <= dense || sparse.contains(p))
}

fn lengths(p: usize) -> Vec<usize> {
    let mut lengths = vec![0, 1, 2, p - 1, p, p + 1, 97, 1000];
    if cfg!(debug_assertions) && p > 8 {
        lengths = vec![1, p + 1];
    }
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

fn roots(collective: Collective, p: usize) -> Vec<usize> {
    let some = if p <= 9 && (p % 2 == 1 || !cfg!(debug_assertions)) {
        (0..p).collect()
    } else {
        vec![0, 1, p - 1]
    };
    if collective.has_root() { some } else { vec![0] }
}

/// Returns the calls of a collective by `p` ranks.
fn calls(collective: Collective, p: usize) -> impl Iterator<Item = Call> {
    let orders: &[bool] = if collective.folds() {
        &[false, true]
    } else {
        &[false]
    };
    let forms: &[bool] = match collective {
        Collective::AllReduce => &[false, true],
        _ => &[false],
    };
    let lengths = match collective {
        Collective::Barrier => vec![0],
        _ => lengths(p),
    };
    lengths.into_iter().flat_map(move |n| {
        roots(collective, p).into_iter().flat_map(move |root| {
            orders.iter().flat_map(move |&commutes| {
                forms.iter().map(move |&from_input| Call {
                    root,
                    commutes,
                    from_input,
                    ..Call::new(collective, p, n)
                })
            })
        })
    })
}

#[track_caller]
fn proved(algorithm: Algorithm, call: &Call, schedule: &dyn Schedule) -> Certificate {
    check(schedule, &goal(call)).unwrap_or_else(|fault| panic!("{algorithm} for {call:?}: {fault}"))
}

fn prove_all(collective: Collective) {
    for p in worlds() {
        for call in calls(collective, p) {
            for algorithm in Algorithm::all(collective) {
                if let Ok(schedule) = algorithm.schedule(&call) {
                    let proof = proved(algorithm, &call, &schedule);
                    assert_eq!(proof.ranks(), p);
                }
            }
        }
    }
}

#[test]
fn every_barrier_is_proved() {
    prove_all(Collective::Barrier);
}

#[test]
fn every_broadcast_is_proved() {
    prove_all(Collective::Broadcast);
}

#[test]
fn every_reduce_is_proved() {
    prove_all(Collective::Reduce);
}

#[test]
fn every_all_reduce_is_proved() {
    prove_all(Collective::AllReduce);
}

#[test]
fn every_reduce_scatter_is_proved() {
    prove_all(Collective::ReduceScatter);
}

#[test]
fn every_all_gather_is_proved() {
    prove_all(Collective::AllGather);
}

#[test]
fn every_gather_and_scatter_is_proved() {
    prove_all(Collective::Gather);
    prove_all(Collective::Scatter);
}

#[test]
fn every_all_to_all_is_proved() {
    prove_all(Collective::AllToAll);
}

#[test]
fn every_scan_is_proved() {
    prove_all(Collective::Scan);
    prove_all(Collective::ExclusiveScan);
}

#[test]
fn what_is_refused_is_what_the_table_says() {
    for collective in Collective::all() {
        for p in 1..=17 {
            for call in calls(collective, p).filter(|call| call.length() <= 2) {
                for algorithm in Algorithm::all(collective) {
                    let needs = algorithm.needs(collective).unwrap();
                    let refused = algorithm.refused(&call);
                    let want = match &refused {
                        None => {
                            !needs.power_of_two
                                || p.is_power_of_two()
                                    && (!needs.commutative || call.commutes || p == 1)
                        }
                        Some(Refusal::NoPowerOfTwo { .. }) => {
                            needs.power_of_two && !p.is_power_of_two()
                        }
                        Some(Refusal::MustCommute { .. }) => needs.commutative && !call.commutes,
                        Some(Refusal::TooManyStages { stages, .. }) => 1 << stages > p,
                        Some(_) => false,
                    };
                    assert!(want, "{algorithm} for {call:?}: {refused:?}");
                    assert_eq!(needs.root == Root::None, !collective.has_root());
                    assert_eq!(algorithm.schedule(&call).err(), refused);
                }
            }
        }
    }
}

/// The same with a count for each rank.
fn proved_with_counts(collective: Collective, counts: &[usize], root: usize) {
    let blocks = Blocks::of(counts).unwrap();
    let call = Call::new(collective, 0, 0)
        .with_blocks(blocks.clone())
        .to_root(root);
    let length = call.length();
    for algorithm in Algorithm::all(collective) {
        for call in [call.clone(), call.clone().commuting()] {
            let Ok(schedule) = algorithm.schedule(&call) else {
                continue;
            };
            let goal = Goal::of(collective, root, length);
            let ordered = collective.folds() && !call.commutes;
            let goal = if ordered { goal.in_rank_order() } else { goal };
            let proof = check_with(&schedule, &goal, blocks.clone());
            proof.unwrap_or_else(|fault| panic!("{algorithm} for {call:?}: {fault}"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 60 } else { 1000 }))]

    #[test]
    fn a_count_for_each_rank_is_as_good_as_even_blocks(
        counts in prop::collection::vec(0usize..5, 1..20),
        root in any::<prop::sample::Index>(),
    ) {
        let root = root.index(counts.len());
        proved_with_counts(Collective::Gather, &counts, root);
        proved_with_counts(Collective::Scatter, &counts, root);
        proved_with_counts(Collective::AllGather, &counts, 0);
        proved_with_counts(Collective::ReduceScatter, &counts, 0);
    }

    #[test]
    fn a_count_for_each_pair_is_as_good_as_blocks(
        counts in (1usize..8).prop_flat_map(|p| prop::collection::vec(0usize..5, p * p)),
    ) {
        let pieces = Pieces::of(&counts).unwrap();
        let call = Call::of_pieces(pieces.clone());
        let p = call.ranks();
        let proof = check_pieces(&Algorithm::Pairwise.schedule(&call).unwrap(), pieces).unwrap();
        let moved = |rank: usize| (0..p).filter(|&to| to != rank).map(|to| counts[rank * p + to]).sum::<usize>();
        prop_assert!(proof.traffic.iter().enumerate().all(|(rank, t)| t.elements_out == moved(rank)));
    }

    #[test]
    fn no_text_makes_the_parser_panic(name in "\\PC*") {
        let _ = name.parse::<Algorithm>();
        let _ = name.parse::<Collective>();
    }
}

#[test]
fn blocks_that_are_not_those_of_the_ranks_are_a_fault() {
    let schedule = Algorithm::Ring
        .schedule(&Call::new(Collective::AllGather, 3, 9))
        .unwrap();
    let blocks = Blocks::of(&[4, 5]).unwrap();
    let fault = check_with(&schedule, &Goal::of(Collective::AllGather, 0, 9), blocks).unwrap_err();
    assert!(matches!(
        fault,
        CheckError::OtherBlocks {
            parts: 2,
            ranks: 3,
            ..
        }
    ));
    assert_eq!(
        fault.to_string(),
        "2 blocks of 9 elements for 3 ranks and vectors of 9"
    );
}

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

// ── counts ──

fn counted(algorithm: &str, call: &Call) -> Certificate {
    let algorithm: Algorithm = algorithm.parse().unwrap();
    let schedule = algorithm.schedule(call).unwrap();
    proved(algorithm, call, &schedule)
}

fn ceil_log2(n: usize) -> usize {
    n.next_power_of_two().ilog2() as usize
}

#[test]
fn a_reduce_for_operators_that_do_not_commute_takes_one_step_more_to_another_root() {
    for p in 2..=17 {
        for name in [
            "chain",
            "k-tree:2",
            "in-order",
            "fibonacci",
            "chain:segments=4",
        ] {
            let call = Call::new(Collective::Reduce, p, 40);
            let to_0 = counted(name, &call);
            let turned = counted(name, &call.clone().to_root(1).commuting());
            let passed_on = counted(name, &call.to_root(1));
            assert_eq!(turned.steps, to_0.steps);
            assert_eq!(passed_on.steps, to_0.steps + 1, "{name} {p}");
            assert_eq!(passed_on.elements(), to_0.elements() + 40);
        }
        // Blocks of neighbours work for any root.
        for root in 0..p {
            let call = Call::new(Collective::Reduce, p, 40).to_root(root);
            assert_eq!(counted("binomial", &call).steps, ceil_log2(p));
        }
    }
}

#[test]
fn halving_to_one_rank_moves_two_shares_at_the_root() {
    for d in 1..=6u32 {
        let (p, n) = (1usize << d, 3 << d);
        for root in [0, 1, p - 1] {
            let proof = counted(
                "halving",
                &Call::new(Collective::Reduce, p, n).to_root(root),
            );
            let share = n / p * (p - 1);
            assert_eq!(proof.steps, 2 * d as usize);
            let at_root = proof.traffic[root];
            assert_eq!(
                [at_root.elements_in, at_root.elements_out, at_root.folded],
                [2 * share, share, share]
            );
        }
    }
}

#[test]
fn gathers_and_scatters_to_any_root_move_as_much_as_they_must() {
    for p in 1..=20 {
        for (root, n) in (0..p).flat_map(|root| [(root, p), (root, 5 * p + 2)]) {
            let own = rankfold::span::block(n, p, root).len();
            for (name, messages) in [("binomial", ceil_log2(p)), ("flat", p - 1)] {
                let gather = counted(name, &Call::new(Collective::Gather, p, n).to_root(root));
                let scatter = counted(name, &Call::new(Collective::Scatter, p, n).to_root(root));
                assert_eq!(gather.message_steps, messages);
                assert_eq!(gather.messages(), p - 1);
                assert_eq!(gather.traffic[root].elements_in, n - own);
                assert_eq!(scatter.traffic[root].elements_out, n - own);
                assert_eq!(
                    (gather.message_steps, gather.elements()),
                    (scatter.message_steps, scatter.elements())
                );
            }
        }
    }
}

#[test]
fn a_scatter_takes_the_steps_of_its_tree_and_none_to_copy_a_ranks_own_block() {
    for p in 2..=40 {
        let taken = |name: &str| {
            let call = Call::new(Collective::Scatter, p, 3 * p).to_root(p / 2);
            counted(name, &call).steps
        };
        assert_eq!(taken("binomial"), p.next_power_of_two().ilog2() as usize);
        assert_eq!(taken("flat"), p - 1);
        if p.is_power_of_two() {
            assert_eq!(taken("hypercube"), p.ilog2() as usize);
        }
    }
}

#[test]
fn doubling_takes_no_step_to_bring_blocks_home() {
    for p in 1..=40usize {
        let proof = counted("doubling", &Call::new(Collective::AllGather, p, 3 * p));
        let beyond = if p.is_power_of_two() { 0 } else { 2 };
        assert_eq!(proof.message_steps, p.ilog2() as usize + beyond);
    }
}

#[test]
fn a_broadcast_by_scatter_and_doubling_moves_two_shares() {
    for d in 1..=6 {
        let (p, n) = (1usize << d, 5 << d);
        for root in [0, 1, p - 1] {
            let call = Call::new(Collective::Broadcast, p, n).to_root(root);
            let proof = counted("scatter-doubling", &call);
            let share = n / p * (p - 1);
            assert_eq!(proof.steps, 2 * d);
            assert_eq!(proof.traffic[root].elements_out, 2 * share);
            let ring = counted("scatter-ring", &call);
            assert_eq!(ring.steps, d + p - 1);
            assert_eq!(ring.traffic[root].elements_out, 2 * share);
        }
    }
}

#[test]
fn bruck_sends_few_messages_of_at_most_half_the_blocks() {
    for p in 1..=40usize {
        for n in [0, 1, p, 3 * p, 3 * p + 1] {
            let proof = counted("bruck", &Call::new(Collective::AllToAll, p, n));
            assert_eq!(proof.message_steps, ceil_log2(p));
            let slot = n.div_ceil(p);
            // The distances below p that have the bit set.
            let moved = |bit: usize| (0..p).filter(|j| j >> bit & 1 == 1).count();
            let all: usize = (0..ceil_log2(p)).map(moved).sum();
            assert!((0..ceil_log2(p)).all(|bit| moved(bit) <= p / 2));
            assert!(proof.traffic.iter().all(|t| t.elements_out == all * slot));
            let most = BruckAllToAll::new(p, n);
            assert!((0..p).all(|rank| most.lengths(rank).scratch <= 2 * p * slot));
        }
    }
}

#[test]
fn scans_count_as_they_should() {
    for d in 1..=6u32 {
        let (p, n) = (1usize << d, 7);
        let proof = counted("exchange", &Call::new(Collective::Scan, p, n));
        assert_eq!(proof.message_steps, d as usize);
        let sent = |rank: usize, s: u32| match (rank >> s & 1 == 1, s + 1 == d) {
            (true, true) => 0,
            (true, false) | (false, true) => n,
            (false, false) => 2 * n,
        };
        let all = |rank| (0..d).map(|s| sent(rank, s)).sum::<usize>();
        assert!(
            proof
                .traffic
                .iter()
                .enumerate()
                .all(|(rank, t)| t.elements_out == all(rank))
        );
    }
    for p in 2..=20 {
        for k in [1, 2, 5] {
            let name = format!("chain:segments={k}");
            let scan = counted(&name, &Call::new(Collective::Scan, p, 40));
            assert_eq!(scan.steps, p + k - 2);
            let exclusive = counted(&name, &Call::new(Collective::ExclusiveScan, p, 40));
            assert_eq!(exclusive.steps, if p == 2 { 1 } else { 1 + p - 1 + k - 2 });
        }
    }
}

#[test]
fn calls_that_leave_inputs_as_they_are_have_no_more_room_than_they_need() {
    let lengths = |algorithm: Algorithm, call: Call, rank| {
        let schedule = algorithm.schedule(&call).unwrap();
        let lengths = schedule.lengths(rank);
        [lengths.input, lengths.output, lengths.scratch]
    };
    let chain = "chain".parse().unwrap();
    let reduce = || Call::new(Collective::Reduce, 4, 9).to_root(2).commuting();
    let room = |rank| lengths(chain, reduce(), rank);
    assert_eq!(
        [2, 3, 0, 1].map(room),
        [[0, 9, 0], [9, 0, 9], [9, 0, 9], [9, 0, 0]]
    );
    let binomial = Algorithm::tree(rankfold::topology::TreeName::BINOMIAL);
    let gather = || Call::new(Collective::Gather, 8, 80).to_root(0);
    let room = |rank| lengths(binomial, gather(), rank);
    assert_eq!(
        [0, 1, 2, 4].map(room),
        [[10, 80, 0], [10, 0, 0], [10, 0, 20], [10, 0, 40]]
    );
    let pairwise = Call::new(Collective::ReduceScatter, 8, 80).commuting();
    assert_eq!(lengths(Algorithm::Pairwise, pairwise, 3), [80, 10, 0]);
    let into = Call::new(Collective::AllReduce, 8, 80).from_input();
    assert_eq!(lengths(Algorithm::Halving, into, 3), [80, 80, 0]);
}
