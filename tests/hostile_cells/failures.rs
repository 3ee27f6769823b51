//! Operators that panic or run worlds, communicators that are forgotten, and what nobody read.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rankfold::op::Sum;
use rankfold::{Comm, ErrorKind, Result, World, WorldError};

use crate::support::guarded;

/// Calls on a communicator inside calls on others, with an operator that enters a world of its own.
#[test]
fn a_whole_world_inside_an_operator_has_cells_of_its_own() {
    let run = World::new(2).run(|comm| {
        let mut v = [comm.rank() as u64 + 1];
        comm.all_reduce(&mut v, |a, b| {
            let inner = World::new(2).run(|comm| {
                let mut v = [a + comm.rank() as u64];
                comm.all_reduce(&mut v, Sum)?;
                Ok(v[0])
            });
            assert_eq!(inner.unwrap(), [2 * a + 1; 2]);
            assert!(comm.barrier().is_err());
            a + b
        })?;
        Ok(v[0])
    });
    assert_eq!(run.unwrap(), [3, 3]);
}

#[test]
fn an_operator_that_panics_in_a_cell_breaks_its_communicator_and_hurts_no_other() {
    // Of more than two ranks that take turns one folds for all, the last to arrive; otherwise each that comes to it.
    for (ranks, n, villain) in [
        (2, 1, Some(0)),
        (2, 512, Some(1)),
        (3, 1, None),
        (5, 40, None),
    ] {
        let panicked = AtomicUsize::new(0);
        let report = guarded(&|| format!("{ranks} ranks, {n}, {villain:?}"), || {
            World::new(ranks).run_each(|comm| {
                let apart = comm.dup()?;
                let folded = catch_unwind(AssertUnwindSafe(|| {
                    comm.all_reduce(&mut vec![1u64; n], |a, b| {
                        let panics = villain.is_none_or(|villain| comm.rank() == villain);
                        assert!(!panics, "an operator that panics");
                        a + b
                    })
                }));
                // It has ended, whatever it caught.
                let then = apart.barrier();
                panicked.fetch_add(folded.is_err().into(), Ordering::Relaxed);
                assert!(villain.is_none_or(|villain| folded.is_err() == (comm.rank() == villain)));
                assert!(then.is_err(), "the rank is gone");
                assert!(comm.barrier().is_err());
                Ok(())
            })
        });
        assert!(report.outcomes.iter().all(|rank| rank.value().is_some()));
        let most = if villain.is_none() { ranks } else { 1 };
        assert!((1..=most).contains(&panicked.into_inner()));
    }
}

#[test]
fn a_communicator_that_is_forgotten_harms_nobody() {
    let run = World::new(3).run(|comm| {
        for turn in 0..20 {
            let other = comm.dup()?;
            let mut v = [comm.rank()];
            other.broadcast(turn % 3, &mut v)?;
            assert_eq!(v, [turn % 3]);
            if comm.rank() == 1 {
                mem::forget(other);
            }
        }
        comm.barrier()
    });
    run.unwrap();
}

/// Each rank is the root of its own broadcast: none waits, and none reads.
fn each_is_a_root(comm: &Comm) -> Result<()> {
    comm.broadcast(comm.rank(), &mut [comm.rank()])
}

fn is_mismatch<R: std::fmt::Debug>(result: std::result::Result<R, WorldError>) {
    assert!(matches!(result, Err(WorldError::Mismatch(_))), "{result:?}");
}

#[test]
fn what_nobody_read_on_a_communicator_that_is_gone_is_told_at_the_end() {
    is_mismatch(World::new(2).check(false).run(|comm| {
        each_is_a_root(&comm.dup()?)?;
        // A new one reuses the place of old ones.
        (0..3).try_for_each(|_| comm.dup()?.barrier())
    }));
}

#[test]
fn what_nobody_read_is_told_though_the_call_is_long_ago() {
    is_mismatch(World::new(2).check(false).run(|comm| {
        let other = comm.dup()?;
        each_is_a_root(&other)?;
        (0..100).try_for_each(|_| comm.barrier())
    }));
}

#[test]
fn more_ranks_than_cells_serve_see_at_the_gate_that_an_earlier_call_differed() {
    is_mismatch(World::new(65).check(false).run(|comm| {
        each_is_a_root(comm)?;
        comm.barrier()
    }));
}

#[test]
fn who_has_waited_too_long_at_a_cell_breaks_the_call_for_who_comes_later() {
    let late = AtomicBool::new(false);
    let report = World::new(2)
        .timeout(Duration::from_millis(20))
        .run_each(|comm| {
            if comm.rank() == 0 {
                let error = comm.all_reduce(&mut [1], Sum).unwrap_err();
                assert!(
                    matches!(error.kind(), ErrorKind::TimedOut { .. }),
                    "{error}"
                );
                late.store(true, Ordering::Release);
                return Ok(());
            }
            while !late.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            assert!(comm.all_reduce(&mut [1], Sum).is_err());
            Ok(())
        });
    assert!(
        report
            .outcomes
            .iter()
            .all(|outcome| outcome.value().is_some()),
        "{report:?}"
    );
}
