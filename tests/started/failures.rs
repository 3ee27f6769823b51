//! Deaths, panics and refused arguments in started collectives.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::collective::Algorithm;
use rankfold::op::Operator;
use rankfold::{Comm, ErrorKind, Outcome, Rank, Request, Result, World, op};

use crate::support::guarded;
use crate::support::sweep::{sweep, sweep_bufferings};

fn sum_of(comm: &Comm, request: Request<'static, Vec<u64>>, n: usize) -> Result<()> {
    let got = request.wait()?;
    let p = comm.size() as u64;
    assert_eq!(got, vec![p * (p + 1) / 2; n]);
    Ok(())
}

fn after_death(comm: &Comm, done: Result<()>) -> Result<u64> {
    let Err(error) = done else {
        return Ok(comm.rank() as u64);
    };
    if !matches!(error.kind(), ErrorKind::Injected) {
        let again = comm.barrier().expect_err("the communicator is broken");
        assert_eq!(again.culprit(), error.culprit(), "{error}; then {again}");
    }
    Err(error)
}

fn three_sums(comm: &Comm) -> Result<()> {
    let mine = comm.rank() as u64 + 1;
    let short = comm.iall_reduce(vec![mine], op::Sum)?;
    let long = comm.iall_reduce(vec![mine; 2000], op::Sum)?;
    let here = comm.ibarrier()?;
    sum_of(comm, long, 2000)?;
    here.wait()?;
    sum_of(comm, short, 1)
}

#[test]
fn a_rank_that_dies_at_any_operation_is_named_by_all_others() {
    sweep("three sums", 1..=9, 0.5, |comm| {
        after_death(comm, three_sums(comm))
    });
    sweep_bufferings("three sums", |comm| after_death(comm, three_sums(comm)));
}

#[test]
fn a_panic_in_an_operator_is_its_ranks_own() {
    for p in [2, 4, 8] {
        let run = |comm: &Comm| {
            let me = comm.rank();
            // In an exchange every rank folds.
            let exchange = comm.using(Algorithm::Exchange);
            let sum = exchange.iall_reduce(vec![me; 10], move |a: Rank, b: Rank| {
                assert!(me != 1, "in the operator");
                a + b
            })?;
            if me == 1 {
                loop {
                    comm.progress()?;
                }
            }
            sum.wait()
        };
        let report = guarded(&|| format!("{p} ranks"), || World::new(p).run_each(run));
        assert!(
            matches!(report.outcomes[1], Outcome::Panicked { .. }),
            "{report}"
        );
        assert_eq!(report.culprit, Some(1), "{report}");
    }
}

#[test]
fn an_operator_may_not_call_and_the_others_are_told() {
    let run = |comm: &Comm| {
        let inner = comm.dup()?;
        let sum = comm.iall_reduce(vec![comm.rank()], move |a: Rank, b: Rank| {
            assert!(matches!(
                inner.barrier().unwrap_err().kind(),
                ErrorKind::Usage(_)
            ));
            a + b
        })?;
        assert_eq!(sum.wait()?, [3]);
        Ok(())
    };
    guarded(&|| "in an operator".into(), || World::new(3).run(run)).unwrap();
}

// ── operators that panic, and other misuse ──

/// A sum that panics where it is told to.
#[derive(Clone, Copy)]
struct Fragile(bool);

impl rankfold::op::Operator<u64> for Fragile {
    fn combine(&self, left: u64, right: u64) -> u64 {
        assert!(!self.0, "fragile");
        left.wrapping_add(right)
    }

    fn commutes(&self) -> bool {
        true
    }
}

/// A request that its destructor looks at.
struct Watched(Request<'static, Vec<u64>>);

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.is_done();
    }
}

#[test]
fn a_destructor_may_look_at_a_request_whose_operator_has_panicked() {
    for p in [2, 3, 5, 8] {
        for own in [true, false] {
            let run = |comm: &Comm| {
                let fragile = Fragile(comm.rank() == 0);
                let other = comm.dup()?;
                let healthy = other.iall_reduce(vec![1; 9], op::Sum)?;
                let broken = comm.iall_reduce(vec![1; 9], fragile)?;
                let (watched, kept) = match own {
                    true => (broken, healthy),
                    false => (healthy, broken),
                };
                let watched = Watched(watched);
                if comm.rank() > 0 {
                    while !watched.0.is_done() {}
                    return Ok(());
                }
                comm.barrier()?;
                drop(kept);
                Ok(())
            };
            let case = || format!("{p} ranks, {own}");
            let report = guarded(&case, || World::new(p).run_each(run));
            assert!(
                !matches!(report.outcomes[0], Outcome::Returned(())),
                "{report}"
            );
        }
    }
}

#[test]
fn a_rank_whose_operator_panics_in_a_look_has_ended() {
    for p in [2, 3] {
        let run = |comm: &Comm| {
            let exchange = comm.using(Algorithm::Ring);
            let sum = exchange.iall_reduce(vec![1; 9], Fragile(comm.rank() == 0))?;
            if comm.rank() == 0 {
                let looks = std::panic::AssertUnwindSafe(|| while !sum.is_done() {});
                assert!(std::panic::catch_unwind(looks).is_err());
                assert!(comm.ibarrier().and_then(Request::wait).is_err());
                return Ok(());
            }
            sum.wait().map(drop)
        };
        let report = guarded(&|| format!("{p} ranks"), || World::new(p).run_each(run));
        assert!(
            report.culprit.is_none_or(|culprit| culprit == 0),
            "{report}"
        );
    }
}

#[test]
fn counts_that_are_too_large_are_refused() {
    for count in [3, 1 << 57, usize::MAX / 2] {
        let run = |comm: &Comm| {
            let counts = [count, 0];
            let refused = comm
                .ireduce_scatter_v(vec![1u64], &counts, op::Sum)
                .map(drop);
            assert!(matches!(refused.unwrap_err().kind(), ErrorKind::Usage(_)));
            Ok(())
        };
        guarded(&|| format!("{count}"), || World::new(2).run(run)).unwrap();
    }
}

/// An operator that tells when it is dropped.
struct Dropped(Arc<AtomicUsize>);

impl Operator<u64> for Dropped {
    fn combine(&self, left: u64, right: u64) -> u64 {
        left + right
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_call_that_can_never_complete_is_let_go_when_its_wait_fails() {
    let report = World::new(2).run_each(|comm| {
        if comm.rank() == 1 {
            return comm.recv::<u64>(0, 0).map(drop);
        }
        let dropped = Arc::new(AtomicUsize::new(0));
        let started = comm.iall_reduce(vec![1u64; 3], Dropped(dropped.clone()))?;
        let error = started.wait().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Deadlock(_)), "{error}");
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        Ok(())
    });
    assert_eq!(report.deadlocks.len(), 1, "{report}");
}
