//! Every algorithm for every collective that it serves, proved as it is called: with every root, and with operators
//! that commute and operators that do not.

mod common;
#[path = "algorithms/counts.rs"]
mod counts;
#[path = "algorithms/names.rs"]
mod names;

use common::goal;
use proptest::prelude::*;
use rankfold::check::{Certificate, CheckError, Goal, check, check_pieces, check_with};
use rankfold::collective::{Algorithm, Call, Collective, Refusal, Root};
use rankfold::schedule::Schedule;
use rankfold::span::{Blocks, Pieces};

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
