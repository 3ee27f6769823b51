//! Calls that match or not by what their operators and schedules say of themselves.

use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::check::Goal;
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::op::{self, Operator, Sum};
use rankfold::schedule::FoldAlong;
use rankfold::topology::Topology;
use rankfold::{Comm, Rank, Report, Result, World, WorldError};

use super::LENGTHS;
use crate::support::guarded;

/// A sum for which each rank chooses whether it is declared commutative.
#[derive(Clone, Copy)]
struct SaysSo {
    commutes: bool,
}

impl Operator<u64> for SaysSo {
    fn combine(&self, left: u64, right: u64) -> u64 {
        left + right
    }
    fn commutes(&self) -> bool {
        self.commutes
    }
}

/// Returns whether all ranks have the right sums, or a mismatch was found.
fn right_or_mismatch(case: &str, ranks: usize, report: Report<Vec<u64>>) -> bool {
    let sum = (1..=ranks as u64).sum::<u64>();
    match report.into_result() {
        Ok(values) => {
            let right = values.iter().flatten().all(|x| *x == sum);
            assert!(right, "{case}: {values:?}");
            true
        }
        Err(WorldError::Mismatch(_)) => false,
        Err(other) => panic!("{case}: {other}"),
    }
}

/// In place and from an input are two ways to make the same call.
#[test]
fn all_reduces_in_place_match_those_from_an_input() {
    for ranks in 2..=7 {
        for algorithm in Algorithm::all(Collective::AllReduce) {
            for n in [1, 5, 40] {
                let shape = Call::new(Collective::AllReduce, ranks, n).commuting();
                if algorithm.refused(&shape).is_some() {
                    continue;
                }
                let case = format!("{algorithm}, {n} elements, {ranks} ranks");
                let world = World::new(ranks).check(false);
                let report = guarded(&|| case.clone(), || {
                    world.run_each(|comm| {
                        let input = vec![comm.rank() as u64 + 1; n];
                        let mut v = input.clone();
                        if comm.rank() % 2 == 0 {
                            comm.using(algorithm).all_reduce(&mut v, Sum)?;
                        } else {
                            comm.using(algorithm).all_reduce_into(&input, &mut v, Sum)?;
                        }
                        Ok(v)
                    })
                });
                assert!(right_or_mismatch(&case, ranks, report), "{case}");
            }
        }
    }
}

#[test]
fn ranks_whose_operators_say_different_things_of_themselves_mismatch() {
    let reduce: fn(&Comm, &mut [u64], SaysSo) -> Result<()> = |comm, v, op| comm.all_reduce(v, op);
    let scatter: fn(&Comm, &mut [u64], SaysSo) -> Result<()> = |comm, v, op| {
        let (input, n) = (v.to_vec(), v.len() / comm.size());
        comm.reduce_scatter(&input, &mut v[..n], op)?;
        let sum = v[0];
        v.fill(sum);
        Ok(())
    };
    for ranks in [2, 3, 4, 8] {
        for call in [reduce, scatter] {
            let case = || format!("{ranks} ranks");
            let world = World::new(ranks).check(false);
            let report = guarded(&case, || {
                world.run_each(|comm| {
                    let mut v = vec![comm.rank() as u64 + 1; ranks * 5];
                    let commutes = comm.rank() > 0;
                    call(comm, &mut v, SaysSo { commutes })?;
                    Ok(v)
                })
            });
            assert!(!right_or_mismatch(&case(), ranks, report), "{}", case());
        }
    }
}

/// Two ranks that differ about one piece detect it, and both are named with their lines.
#[test]
fn pieces_of_other_lengths_than_expected() {
    for ranks in 2..=5 {
        for check in [false, true] {
            for n in LENGTHS {
                let case = || format!("{ranks} ranks, {n} elements, check({check})");
                let world = World::new(ranks).check(check);
                let report = guarded(&case, || {
                    world.run_each(|comm| {
                        let (me, p) = (comm.rank(), comm.size());
                        let (mut to, from) = (vec![n; p], vec![n; p]);
                        if me == 0 {
                            to[p - 1] += 1;
                        }
                        let input = vec![me as u64; to.iter().sum()];
                        let mut output = vec![0; n * p];
                        comm.all_to_all_v(&input, &to, &mut output, &from)?;
                        comm.barrier()
                    })
                });
                assert!(report.outcomes.iter().all(|out| out.value().is_none()));
                let found = report.mismatch.unwrap_or_else(|| panic!("{}", case()));
                let ranks_named: Vec<Rank> = found.calls.iter().map(|call| call.rank).collect();
                assert!(ranks_named.contains(&0), "{}: {found}", case());
                let lines = found.calls.iter().filter_map(|call| call.site);
                assert_eq!(lines.count(), found.calls.len(), "{}: {found}", case());
            }
        }
    }
}

/// The goal and the number of steps are the same, the steps are not.
#[test]
fn ranks_that_run_different_schedules_for_one_goal_are_told_where_the_world_checks() {
    for ranks in 3..=6 {
        let case = || format!("{ranks} ranks");
        let folds = AtomicUsize::new(0);
        let report = guarded(&case, || {
            World::new(ranks).check(true).run_each(|comm| {
                let mut v = [1u64; 4];
                let families = [Topology::chain, Topology::decreasing_ring];
                let tree = families[usize::from(comm.rank() == 1)](ranks);
                let down = FoldAlong::new(tree.single_port(), 4);
                let count = op::commutative(|a: u64, b| {
                    folds.fetch_add(1, Ordering::Relaxed);
                    a + b
                });
                comm.run_schedule(&down, &Goal::reduce(0, 4), &[], &mut v, count)
            })
        });
        assert!(
            report.outcomes.iter().all(|out| out.value().is_none()),
            "{}: {:?}",
            case(),
            report.outcomes
        );
        assert_eq!(folds.load(Ordering::Relaxed), 0);
    }
}
