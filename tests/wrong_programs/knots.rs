//! Ranks that return too early, and knots beside each other.

use std::sync::Barrier;

use rankfold::topology::Topology;
use rankfold::{ErrorKind, World, WorldError, op};

use super::{Wrong, all, differs, each, last, left, right};
use crate::support::guarded;

#[test]
fn a_rank_returns_before_a_barrier() {
    let program: Wrong = |comm, lines| {
        if last(comm) {
            return Ok(());
        }
        here!(lines, comm);
        comm.barrier()
    };
    each(2, program, |run| {
        assert_eq!(run.report.culprit, Some(run.ranks - 1), "{}", run.case);
        for rank in 0..run.ranks - 1 {
            let error = run.error(rank);
            assert_eq!(
                error.culprit(),
                Some(run.ranks - 1),
                "{}: {error}",
                run.case
            );
            assert!(run.lines.is(rank, error.site().unwrap()));
        }
    });
}

#[test]
fn a_rank_returns_before_it_has_sent() {
    let program: Wrong = |comm, lines| {
        if comm.rank() > 0 {
            return Ok(());
        }
        here!(lines, comm);
        comm.recv::<u8>(comm.size() - 1, 0).map(|_| ())
    };
    each(2, program, |run| {
        assert_eq!(run.error(0).culprit(), Some(run.ranks - 1));
        assert_eq!(run.report.culprit, Some(run.ranks - 1));
        assert!(run.report.deadlocks.is_empty());
    });
}

#[test]
fn a_deadlock_that_the_program_handles() {
    let program: Wrong = |comm, lines| {
        here!(lines, comm);
        let knot = comm.recv::<u8>(right(comm), 0).unwrap_err();
        assert!(matches!(knot.kind(), ErrorKind::Deadlock(_)), "{knot}");
        let (got, _) = comm.sendrecv(right(comm), 0, &[comm.rank()], left(comm), 0)?;
        assert_eq!(got, [left(comm)]);
        comm.barrier()
    };
    each(2, program, |run| {
        run.knot(&all(run), []);
        run.returned(all(run));
    });
}

#[test]
fn two_knots_that_know_nothing_of_each_other() {
    let program: Wrong = |comm, lines| {
        if comm.rank() > 3 {
            return Ok(());
        }
        here!(lines, comm);
        comm.recv::<u8>(comm.rank() ^ 1, 0).map(|_| ())
    };
    each(4, program, |run| {
        let mut cycles: Vec<_> = run
            .report
            .deadlocks
            .iter()
            .map(|knot| knot.cycle.clone())
            .collect();
        cycles.sort();
        assert_eq!(cycles, [[0, 1], [2, 3]], "{}", run.case);
        for rank in 0..4 {
            let ErrorKind::Deadlock(knot) = run.error(rank).kind() else {
                panic!("{}", run.case);
            };
            assert!(knot.cycle.contains(&rank));
        }
        run.returned(4..run.ranks);
    });
}

#[test]
fn one_of_two_worlds_is_in_a_knot() {
    for ranks in 2..=8 {
        let case = || format!("two worlds of {ranks} ranks");
        let (wrong, fine) = guarded(&case, || {
            std::thread::scope(|scope| {
                let wrong = scope.spawn(|| {
                    World::new(ranks).run(|comm| comm.recv::<u8>(right(comm), 0).map(|_| ()))
                });
                let fine = scope.spawn(|| {
                    World::new(ranks).run(|comm| (0..50).try_for_each(|_| comm.barrier()))
                });
                (wrong.join().unwrap(), fine.join().unwrap())
            })
        });
        assert!(matches!(wrong, Err(WorldError::Deadlock(knot)) if knot.stuck.len() == ranks));
        fine.expect("the other world is right");
    }
}

#[test]
fn a_rank_that_waits_for_a_knot_is_told_of_it() {
    let program: Wrong = |comm, lines| {
        let from = [1, 0, 0, 2][comm.rank().min(3)];
        here!(lines, comm);
        comm.recv::<u8>(from, 0).map(|_| ())
    };
    each(3, program, |run| {
        let knot = run.knot(&[0, 1], all(run));
        assert_eq!(knot.cycle, [0, 1]);
        let outside = knot.stuck.iter().filter(|stuck| stuck.rank > 1);
        outside.for_each(|stuck| assert!(stuck.note.is_some()));
    });
}

#[test]
fn a_survivors_reduction_where_others_want_everybody() {
    differs(
        |comm, lines| {
            let chain = Topology::chain(comm.size());
            let mut one = [1u8; 40];
            here!(lines, comm);
            let sum = comm.reduce_over(&chain, &mut one, op::Sum);
            sum.run()?;
            comm.all_reduce(&mut one, op::Sum)
        },
        |comm, lines| {
            let chain = Topology::chain(comm.size());
            let mut one = [1u8; 40];
            here!(lines, comm);
            let sum = comm.reduce_over(&chain, &mut one, op::Sum);
            sum.survivors()?;
            comm.all_reduce(&mut one, op::Sum)
        },
    );
}

/// Only the last rank of a knot to go to sleep finds it: no rank wakes up to look, so none sleeps twice.
#[test]
fn a_knot_is_reported_as_soon_as_its_last_rank_lies_down() {
    for ranks in 2..=8 {
        let all_here = Barrier::new(ranks);
        let report = guarded(&|| format!("a knot of {ranks}"), || {
            World::new(ranks).run_each(|comm| {
                all_here.wait();
                comm.recv::<u8>(right(comm), 0).map(|_| ())
            })
        });
        assert_eq!(report.deadlocks.len(), 1, "{report:?}");
        for (outcome, counts) in report.outcomes.iter().zip(&report.counts) {
            let error = outcome.error().expect("nothing was sent");
            assert!(matches!(error.kind(), ErrorKind::Deadlock(_)), "{error}");
            assert_eq!(counts.sleeps, 1, "{report:?}");
        }
    }
}
