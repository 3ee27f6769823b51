//! Duplicates that are made without waiting for other ranks: which calls give the same one, whatever the ranks do between
//! them, and what is told where they do not match.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rankfold::attribute::Key;
use rankfold::testing::explore;
use rankfold::{Comm, Outcome, Source, World};

use super::all_goes_well_in;
use crate::common::{noise, team};

fn world_ranks(comm: &Comm) -> Vec<usize> {
    (0..comm.size()).map(|rank| comm.world_rank(rank)).collect()
}

#[test]
fn the_nth_duplicate_of_each_rank_is_the_same_however_far_others_are() {
    for p in [1, 2, 3, 8] {
        let run = team(p).run(|comm| {
            let mut all: Vec<Comm> = Vec::new();
            for step in 0..40 {
                // Some ranks make theirs at once, others one before each use.
                let ahead = noise(p as u64, comm.rank() as u64) as usize % 4;
                while all.len() <= step + ahead {
                    all.push(comm.idup()?);
                }
                all_goes_well_in(&all[step], &world_ranks(comm))?;
            }
            while all.len() < 44 {
                all.push(comm.idup()?);
            }
            let of_part = all[7].split(comm.rank() as u32 % 2, 0)?.idup()?;
            all_goes_well_in(&of_part, &world_ranks(&of_part))
        });
        run.unwrap();
    }
}

#[test]
fn a_thousand_duplicates_that_are_dropped_leave_the_later_ones_right() {
    let run = team(3).run(|comm| {
        for number in 0..1000_usize {
            let duplicate = comm.idup()?;
            let (me, right) = (comm.rank(), (comm.rank() + 1) % 3);
            if number % 100 == me {
                duplicate.send(right, 0, &[number])?;
            }
            if number % 100 == (me + 2) % 3 {
                assert_eq!(duplicate.recv::<usize>(Source::Any, 0)?.0, [number]);
            }
        }
        all_goes_well_in(&comm.idup()?, &[0, 1, 2])
    });
    run.unwrap();
}

/// A run in which the ranks made unequal numbers leaves nothing to the next one.
#[test]
fn each_run_of_a_team_counts_its_duplicates_anew() {
    let team = World::new(2).strict().start().unwrap();
    for run in 0..6 {
        let unequal = |comm: &Comm| {
            let number = (run + comm.rank()) % 3;
            (0..number).try_for_each(|_| comm.idup().map(drop))
        };
        team.run(unequal).unwrap();
        let equal = |comm: &Comm| {
            let duplicate = comm.idup()?;
            duplicate.send(1 - comm.rank(), 0, &[run])?;
            assert_eq!(duplicate.recv::<usize>(Source::Any, 0)?.0, [run]);
            all_goes_well_in(&duplicate, &[0, 1])
        };
        team.run(equal).unwrap();
    }
}

#[test]
fn a_collective_that_a_rank_never_comes_to_is_reported_with_the_line_of_the_duplicate() {
    let line = line!() + 2;
    let report = World::new(2).run_each(|comm| {
        let duplicate = comm.idup()?;
        if comm.rank() == 0 {
            return duplicate.recv::<u8>(1, 0).map(drop);
        }
        comm.recv::<u8>(0, 0).map(drop)
    });
    let text = format!("{}", report.deadlocks[0]);
    let name = format!("tests/communicators/idup.rs:{line}");
    assert!(text.contains(&name), "{text}");
    assert_eq!(report.deadlocks[0].cycle.len(), 2, "{text}");
}

#[test]
fn a_rank_that_makes_one_too_few_is_missing_in_the_collective() {
    let report = World::new(3).run_each(|comm| {
        let first = comm.idup()?;
        if comm.rank() == 2 {
            return first.barrier();
        }
        comm.idup()?.barrier()
    });
    for outcome in &report.outcomes {
        assert!(outcome.error().is_some(), "{report:?}");
    }
}

#[test]
fn what_was_sent_on_one_that_the_receiver_never_makes_is_lost() {
    let report = World::new(2).run_each(|comm| match comm.rank() {
        0 => comm.idup()?.send(1, 3, &[1]),
        _ => Ok(()),
    });
    assert_eq!(report.lost.len(), 1, "{report:?}");
    let text = report.lost[0].to_string();
    assert!(text.contains("tests/communicators/idup.rs"), "{text}");
}

#[test]
fn the_sender_may_have_ended_when_the_receiver_makes_its_own() {
    let run = World::new(2).run(|comm| {
        if comm.rank() == 0 {
            return comm.idup()?.send(1, 3, &[5]);
        }
        // Its end is seen here.
        assert!(comm.recv::<u8>(0, 9).is_err());
        assert_eq!(comm.idup()?.recv::<i32>(0, 3)?.0, [5]);
        Ok(())
    });
    run.unwrap();
}

#[test]
fn survivors_shrink_a_duplicate_that_the_dead_rank_had_or_never_made() {
    for had in [false, true] {
        let report = World::new(3).run_each(|comm| {
            if comm.rank() == 1 {
                if had {
                    _ = comm.idup()?;
                }
                panic!("on purpose");
            }
            let duplicate = comm.idup()?;
            assert!(duplicate.barrier().is_err());
            let small = duplicate.shrink()?;
            all_goes_well_in(&small, &[0, 2])?;
            all_goes_well_in(&small.idup()?, &[0, 2])
        });
        for rank in [0, 2] {
            let outcome = &report.outcomes[rank];
            assert!(matches!(outcome, Outcome::Returned(())), "{outcome:?}");
        }
    }
}

/// It is no part of the operation, and its panic is the program's own.
#[test]
fn a_rule_of_an_attribute_that_panics_leaves_the_rank_where_it_was() {
    let make: [fn(&Comm) -> rankfold::Result<Comm>; 2] = [Comm::dup, Comm::idup];
    for make in make {
        let report = World::new(2).run_each(|comm| {
            let me = comm.rank();
            let key = Key::copied_by(move |_: &i32| match me {
                1 => resume_unwind(Box::new("no copy")),
                _ => Some(1),
            });
            key.set(comm, 0);
            let made = catch_unwind(AssertUnwindSafe(|| make(comm).map(drop)));
            assert_eq!(made.is_err(), me == 1);
            key.delete(comm);
            comm.barrier()?;
            all_goes_well_in(&make(comm)?, &world_ranks(comm))
        });
        report.into_result().unwrap();
    }
}

#[test]
fn all_orders_of_messages_on_duplicates_are_explored() {
    let explored = explore(3, |comm| {
        let duplicate = comm.idup()?;
        if comm.rank() > 0 {
            return duplicate.send(0, 0, &[comm.rank()]);
        }
        let mut sum = 0;
        for _ in 0..2 {
            sum += duplicate.recv::<usize>(Source::Any, 0)?.0[0];
        }
        assert_eq!(sum, 3);
        Ok(())
    });
    assert!(explored.complete, "{explored:?}");
    assert_eq!(explored.runs, 2, "{explored:?}");
}
