//! Every algorithm for every collective that it serves: proved as a call has it, at every root, for
//! operators that commute and for those that do not.

use rankfold::check::{Certificate, Goal, check};
use rankfold::collective::{Algorithm, Call, Collective, Refusal, Root};
use rankfold::schedule::Schedule;

/// The numbers of ranks: every one up to 40 and some up to 130, fewer without optimisation.
fn worlds() -> impl Iterator<Item = usize> {
    let dense = if cfg!(debug_assertions) { 17 } else { 40 };
    let sparse = [31, 32, 33, 40, 64, 65, 97, 128, 130];
    let most = if cfg!(debug_assertions) { 40 } else { 130 };
    (1..=most).filter(move |p| *p <= dense || sparse.contains(p))
}

fn lengths(p: usize) -> Vec<usize> {
    let mut lengths = vec![0, 1, 2, p - 1, p, p + 1, 97, 1000];
    if cfg!(debug_assertions) && p > 9 {
        lengths = vec![1, p + 1, 97];
    }
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

fn roots(collective: Collective, p: usize) -> Vec<usize> {
    let some = if p <= 9 {
        (0..p).collect()
    } else {
        vec![0, 1, p - 1]
    };
    if collective.has_root() { some } else { vec![0] }
}

/// The calls of a collective by so many ranks.
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

fn goal(call: &Call) -> Goal {
    let goal = Goal::of(call.collective, call.root, call.length());
    let goal = if call.from_input {
        goal.from_input()
    } else {
        goal
    };
    if call.commutes || !call.collective.folds() {
        goal
    } else {
        goal.in_rank_order()
    }
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
