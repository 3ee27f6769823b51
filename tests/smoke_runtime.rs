//! One walk through the runtime for the sanitizers: every protocol between threads runs often enough to expose races,
//! and rarely enough to be bearable fifty times slower.
//!
//! `RANKFOLD_SCALE` scales the rounds (1 if unset): 0.1 under valgrind and ThreadSanitizer.

mod again;
mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rankfold::topology::Topology;
use rankfold::{
    Comm, ErrorKind, Fault, Order, Outcome, Result, Source, Tag, World, WorldError, op,
};

/// Too long for a packet: lent, or copied where the receiver is late.
const LONG: usize = 1000;

/// Returns `full` rounds at scale 1, and always some.
fn rounds(full: usize) -> usize {
    common::scaled(full).max(2)
}

fn worlds() -> impl Iterator<Item = World> {
    [2, 3, 4, 8].into_iter().map(World::new)
}

#[test]
fn messages_short_and_long_go_around_the_ring() {
    for world in worlds() {
        let sent = world.run(|comm| (0..rounds(200)).try_for_each(|round| pass_on(comm, round)));
        assert!(sent.is_ok(), "{sent:?}");
    }
}

/// Sends a short and a long message to the right, and receives the same from the left, in either order.
fn pass_on(comm: &Comm, round: usize) -> Result<()> {
    let (me, n) = (comm.rank(), comm.size());
    let (left, right) = ((me + n - 1) % n, (me + 1) % n);
    comm.send(right, 1, &[me, round])?;
    comm.send(right, 2, &[me + round; LONG])?;
    let mut long = [0; LONG];
    comm.recv_into(left, 2, &mut long)?;
    let (short, _) = comm.recv::<usize>(left, 1)?;
    assert_eq!(short, [left, round]);
    assert!(long.iter().all(|&x| x == left + round));
    Ok(())
}

#[test]
fn a_buffer_is_written_again_as_soon_as_send_returns() {
    for world in worlds() {
        let done = world.run(|comm| {
            if comm.rank() > 0 {
                return lend_again_and_again(comm);
            }
            for _ in 0..rounds(200) * (comm.size() - 1) {
                let (v, _) = comm.recv::<usize>(Source::Any, Tag::Any)?;
                assert!(v.iter().all(|&x| x == v[0]), "a torn buffer");
            }
            Ok(())
        });
        assert!(done.is_ok(), "{done:?}");
    }
}

fn lend_again_and_again(comm: &Comm) -> Result<()> {
    let mut buffer = vec![0; LONG];
    for round in 0..rounds(200) {
        buffer.fill(round);
        comm.send(0, 1, &buffer)?;
    }
    Ok(())
}

#[test]
fn values_are_moved_and_their_owner_may_change_twice() {
    let sums = World::new(3).run(|comm| {
        let (me, n) = (comm.rank(), comm.size());
        let mut mine = vec![me.to_string()];
        for _ in 0..rounds(100) {
            comm.send_value((me + 1) % n, 3, mine)?;
            (mine, _) = comm.recv_value::<Vec<String>>((me + n - 1) % n, 3)?;
            mine.push(me.to_string());
        }
        Ok(mine.len())
    });
    assert_eq!(sums.unwrap(), [rounds(100) + 1; 3]);
}

#[test]
fn nobody_leaves_a_barrier_early_and_what_was_written_before_is_seen() {
    for n in [2, 3, 4, 8] {
        let here = AtomicUsize::new(0);
        let passed = World::new(n).run(|comm| {
            for round in 1..=rounds(200) {
                here.fetch_add(1, Ordering::Relaxed);
                comm.barrier()?;
                assert!(here.load(Ordering::Relaxed) >= round * n);
                comm.barrier()?;
            }
            Ok(())
        });
        assert!(passed.is_ok(), "{passed:?}");
    }
}

#[test]
fn collectives_agree_with_arithmetic() {
    for world in worlds() {
        let done = world.run(|comm| {
            (0..rounds(60)).try_for_each(|round| {
                collectives(comm, round, 2)?;
                collectives(comm, round, LONG)
            })
        });
        assert!(done.is_ok(), "{done:?}");
    }
}

fn collectives(comm: &Comm, round: usize, length: usize) -> Result<()> {
    let (me, n) = (comm.rank(), comm.size());
    let total = n * (n - 1) / 2 + n * round;
    let root = round % n;

    let mut v = vec![me + round; length];
    comm.all_reduce(&mut v, op::Sum)?;
    assert_eq!(v, vec![total; length]);

    let mut v = vec![me; length];
    comm.broadcast(root, &mut v)?;
    assert_eq!(v, vec![root; length]);

    let mut v = vec![me + round; length];
    comm.reduce(root, &mut v, op::Sum)?;
    assert_eq!(v[0], if me == root { total } else { me + round });
    Ok(())
}

#[test]
fn the_unified_loop_folds_in_every_order() {
    for world in worlds() {
        let done = world.run(|comm| (0..rounds(40)).try_for_each(|_| fold_in_every_order(comm)));
        assert!(done.is_ok(), "{done:?}");
    }
}

fn fold_in_every_order(comm: &Comm) -> Result<()> {
    let n = comm.size();
    for topology in [Topology::flat(n), Topology::k_tree(n, 2)] {
        for order in [Order::Arrival, Order::Step, Order::Rank] {
            let mut v = vec![comm.rank(); LONG];
            comm.reduce_over(&topology, &mut v, op::Sum)
                .order(order)
                .run()?;
            if comm.rank() == 0 {
                assert_eq!(v, vec![n * (n - 1) / 2; LONG]);
            }
        }
    }
    Ok(())
}

#[test]
fn every_death_at_every_moment_ends_the_world() {
    for n in [2, 3, 5] {
        for fault in [Fault::Panic, Fault::Error, Fault::Return] {
            for nth in 1..=rounds(20) as u64 {
                die(n, nth, fault);
            }
        }
    }
}

/// Rank 1 fails at its operation `nth`; the others learn of it or finish without it.
fn die(n: usize, nth: u64, fault: Fault) {
    let world = World::new(n)
        .check(nth.is_multiple_of(2))
        .inject(1, nth, fault);
    let report = world.run_each(|comm| {
        pass_on(comm, 1)?;
        collectives(comm, 1, LONG)?;
        fold_in_every_order(comm)
    });
    let culprit = report.culprit;
    for (rank, outcome) in report
        .outcomes
        .iter()
        .enumerate()
        .filter(|(rank, _)| *rank != 1)
    {
        match outcome {
            Outcome::Returned(()) => {}
            Outcome::Failed(error) => assert!(error.is_consequence(), "rank {rank}: {error}"),
            other => panic!("rank {rank} of {n}, {fault:?} at {nth}: {other:?}"),
        }
    }
    assert!(
        culprit.is_none_or(|culprit| culprit == 1),
        "{culprit:?} of {n}, {fault:?} at {nth}"
    );
}

#[test]
fn a_knot_is_reported_once_and_all_of_it_gets_out() {
    for n in [2, 3, 8] {
        for _ in 0..rounds(30) {
            let report = World::new(n).run_each(|comm| {
                let right = (comm.rank() + 1) % comm.size();
                comm.recv::<u8>(right, 0).map(|_| ())
            });
            assert_eq!(report.deadlocks.len(), 1);
            assert_eq!(report.deadlocks[0].stuck.len(), n);
            assert!(report.outcomes.iter().all(is_deadlock), "{report:?}");
        }
    }
}

fn is_deadlock(outcome: &Outcome<()>) -> bool {
    outcome
        .error()
        .is_some_and(|error| matches!(error.kind(), ErrorKind::Deadlock(_)))
}

#[test]
fn a_token_that_wakes_rank_after_rank_is_no_knot() {
    for n in [2, 4, 8] {
        let done = World::new(n).run(|comm| {
            let (me, n) = (comm.rank(), comm.size());
            for _ in 0..rounds(100) {
                if me == 0 {
                    comm.send(1, 0, &[0u8])?;
                }
                comm.recv::<u8>((me + n - 1) % n, 0)?;
                if me > 0 {
                    comm.send((me + 1) % n, 0, &[0u8])?;
                }
            }
            Ok(())
        });
        assert!(done.is_ok(), "{done:?}");
    }
}

#[test]
fn ranks_in_different_calls_hear_of_it() {
    for check in [false, true] {
        for _ in 0..rounds(30) {
            let error = World::new(4).check(check).run(|comm| match comm.rank() {
                2 => comm.broadcast(0, &mut [1.0]),
                _ => comm.all_reduce(&mut [1.0], op::Sum),
            });
            assert!(matches!(error, Err(WorldError::Mismatch(_))), "{error:?}");
        }
    }
}

#[test]
fn a_team_runs_many_times_and_survives_a_panic() {
    let team = World::new(4).start().unwrap();
    for round in 0..rounds(60) {
        let local = vec![round; LONG];
        let done = team.run(|comm| {
            assert!(round % 5 != 4 || comm.rank() != 3, "as planned");
            let mut v = local.clone();
            comm.all_reduce(&mut v, op::Max)?;
            Ok(v == local)
        });
        match done {
            Ok(same) => assert_eq!(same, [true; 4]),
            Err(error) => assert!(round % 5 == 4 && error.culprit() == Some(3), "{error}"),
        }
    }
}

#[test]
fn seats_serve_threads_of_others_and_an_empty_seat_is_a_rank_that_left() {
    for _ in 0..rounds(40) {
        let seats = World::connect(3);
        thread::scope(|scope| {
            let spawn = |rank: usize| {
                let seat = seats.take(rank).unwrap();
                scope.spawn(move || {
                    let comm = seat.enter();
                    let first = comm.sendrecv(1 - comm.rank(), 0, &[1; LONG], 1 - comm.rank(), 0);
                    (first.is_ok(), comm.barrier().is_err())
                })
            };
            let ranks = [spawn(0), spawn(1)];
            drop(seats.take(2).unwrap());
            for rank in ranks {
                assert_eq!(rank.join().unwrap(), (true, true));
            }
        });
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
