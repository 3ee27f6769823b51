//! The first culprit is the rank that is named, whatever failed after it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::topology::Topology;
use rankfold::{
    Comm, Error, ErrorKind, Fault, Order, Outcome, Result, Source, Tag, World, WorldError, op,
};

use super::{LENGTHS, error_of, for_all_sizes, left, right};
use crate::support::guarded;
use crate::support::sweep::{assert_from, assert_sum, buffer};

#[test]
fn a_rank_that_unwraps_the_failure_of_another_is_not_the_culprit() {
    let program = |comm: &Comm| {
        if comm.rank() == 1 {
            return Err(Error::user("the first"));
        }
        comm.barrier().unwrap();
        Ok(())
    };
    for_all_sizes("unwrap", program, |ranks, report| {
        assert_eq!(report.culprit, Some(1));
        for rank in (0..ranks).filter(|&rank| rank != 1) {
            assert!(matches!(report.outcomes[rank], Outcome::Panicked { .. }));
        }
        let error = report.into_result().unwrap_err();
        assert!(
            matches!(error, WorldError::Failed { rank: 1, .. }),
            "{error}"
        );
    });
}

/// Each rank waits for the next one. Those at the far end must learn of the last, which panicked, even when the ranks
/// between unwrapped their errors.
#[test]
fn the_first_culprit_is_named_along_a_line_of_ranks_that_unwrap() {
    let program = |comm: &Comm| {
        assert_ne!(comm.rank() + 1, comm.size(), "the first");
        comm.recv::<u8>(comm.rank() + 1, 0).unwrap();
        Ok(())
    };
    for_all_sizes("a line that unwraps", program, |ranks, report| {
        assert_eq!(report.culprit, Some(ranks - 1));
        for rank in 0..ranks - 1 {
            let wanted = format!("rank {} is gone: it panicked", ranks - 1);
            assert!(
                matches!(&report.outcomes[rank], Outcome::Panicked { message, .. } if message.contains(&wanted)),
                "{:?}",
                report.outcomes[rank]
            );
        }
    });
}

#[test]
fn the_culprit_is_the_rank_that_was_missed_not_the_one_that_returned_first() {
    let program = |comm: &Comm| match comm.rank() {
        0 => {
            // By the barrier of errors: the others have ended before rank 1 is told to go.
            for rank in 2..comm.size() {
                assert!(comm.recv::<u8>(rank, 0).is_err());
            }
            comm.send(1, 0, &[0u8])?;
            comm.recv::<u8>(1, 1).map(|_| ())
        }
        1 => comm.recv::<u8>(0, 0).map(|_| ()),
        _ => Ok(()),
    };
    let run = || World::new(2).run_each(program);
    assert_eq!(guarded(&|| "missed".into(), run).culprit, Some(1));
    // Ranks 2 and 3 return before rank 1 does, with all their work done.
    let done = AtomicUsize::new(0);
    let program = |comm: &Comm| match comm.rank() {
        0 => {
            assert!(comm.recv::<u8>(2, 9).is_err());
            done.store(1, Ordering::Release);
            comm.send(1, 0, &[0u8])?;
            Ok(())
        }
        1 => comm.recv::<u8>(0, 0).map(|_| ()),
        2 => Ok(()),
        _ => comm.recv::<u8>(1, 1).map(|_| ()),
    };
    let run = || World::new(4).run_each(program);
    let report = guarded(&|| "missed among others".into(), run);
    assert_eq!(error_of(&report, 3).culprit(), Some(1));
    assert_eq!(report.culprit, Some(1));
}

/// Every refused call, one after the other: each is as if it had not been made.
fn refused_calls(comm: &Comm) -> Vec<Result<()>> {
    let n = comm.size();
    let mut one = [1u64];
    let mut two = [1u64, 2];
    let chain = Topology::chain(n + 1);
    let k_ary = Topology::k_ary(9, 2);
    let mut calls = vec![
        comm.send(n, 0, &[1u8]),
        comm.recv::<u8>(n, 0).map(|_| ()),
        comm.recv::<u8>(-1, 0).map(|_| ()),
        comm.recv_into(n, 0, &mut one).map(|_| ()),
        comm.send_value(n, 0, String::new()),
        comm.recv_value::<String>(n, 0).map(|_| ()),
        comm.sendrecv(n, 0, &[1u8], 0, 0).map(|_| ()),
        comm.sendrecv(0, 0, &[1u8], n, 0).map(|_| ()),
        comm.probe(n, 0).map(|_| ()),
        comm.discard(n, 0).map(|_| ()),
        comm.broadcast(n, &mut one),
        comm.reduce(n, &mut one, op::Sum),
        comm.all_reduce_into(&one.clone(), &mut two, op::Sum),
        comm.reduce_over(&chain, &mut one, op::Sum).run(),
        comm.reduce_over(&chain, &mut one, op::Sum)
            .survivors()
            .map(|_| ()),
    ];
    let binomial = Topology::binomial(n);
    let by_arrival = comm.reduce_over(&binomial, &mut one, |a, _| a);
    calls.push(by_arrival.order(Order::Arrival).run());
    if n == 9 {
        calls.push(comm.reduce_over(&k_ary, &mut one, |a, _| a).run());
    }
    calls
}

#[test]
fn a_call_with_wrong_arguments_is_as_if_not_made() {
    let program = |comm: &Comm| {
        if comm.rank().is_multiple_of(2) {
            for (i, call) in refused_calls(comm).into_iter().enumerate() {
                let error = call.expect_err("refused");
                assert!(
                    matches!(error.kind(), ErrorKind::Usage(_)),
                    "call {i}: {error}"
                );
                assert!(error.site().unwrap().file().ends_with("culprits.rs"));
            }
        }
        let mut data = buffer(comm.rank(), LENGTHS[1]);
        comm.all_reduce(&mut data, op::Sum)?;
        assert_sum(0..comm.size(), &data);
        comm.sendrecv(right(comm), 0, &[1u8], left(comm), 0)
            .map(|_| ())
    };
    for_all_sizes("refused", program, |_, report| {
        assert!(report.lost.is_empty());
        report.into_result().expect("all goes on");
    });
}

/// Rank 1 fails inside the first collective and goes on: later collectives of all members fail with that cause, and
/// messages still pass.
fn goes_on_after_a_broken_collective(comm: &Comm) -> Result<()> {
    let mut data = buffer(comm.rank(), LENGTHS[1]);
    let _first = comm
        .all_reduce(&mut data, op::Sum)
        .and_then(|()| comm.barrier());
    let (_, from) = comm.sendrecv(right(comm), 0, &[comm.rank()], left(comm), 0)?;
    assert_eq!(from.source, left(comm));
    for _ in 0..2 {
        let again = comm.barrier().unwrap_err();
        assert!(
            matches!(again.kind(), ErrorKind::Broken { rank: 1, .. }),
            "{again}"
        );
        let again = comm.broadcast(0, &mut data).unwrap_err();
        assert_eq!(again.culprit(), Some(1), "{again}");
    }
    let (got, _) = comm.sendrecv(
        right(comm),
        0,
        &buffer(comm.rank(), LENGTHS[1]),
        left(comm),
        0,
    )?;
    assert_from(left(comm), &got, LENGTHS[1]);
    Ok(())
}

#[test]
fn a_broken_communicator_fails_all_later_collectives_with_the_first_cause() {
    for ranks in 2..=9 {
        for check in [false, true] {
            // Operation 1 is the call itself, which is as if it had not been made; operation 2 is inside it.
            let world = World::new(ranks).check(check).inject(1, 2, Fault::Error);
            let run = || world.run_each(goes_on_after_a_broken_collective);
            let report = guarded(&|| format!("broken, {ranks} ranks, {check}"), run);
            report.into_result().expect("every rank handled it");
        }
    }
}

#[test]
fn what_was_sent_before_a_death_is_delivered_first() {
    let program = |comm: &Comm| {
        if comm.rank() == 0 {
            for to in 1..comm.size() {
                for length in LENGTHS {
                    comm.send(to, 1, &buffer(0, length))?;
                }
            }
            panic!("after all was sent");
        }
        for length in LENGTHS {
            assert_from(0, &comm.recv::<u64>(Source::Any, Tag::Any)?.0, length);
        }
        let gone = comm.recv::<u64>(Source::Any, 1).unwrap_err();
        assert_eq!(gone.culprit(), Some(0));
        Ok(())
    };
    for_all_sizes("delivered first", program, |ranks, report| {
        assert_eq!(report.culprit, Some(0));
        assert!((1..ranks).all(|rank| report.outcomes[rank].value().is_some()));
    });
}

#[test]
fn two_deaths_leave_nobody_waiting() {
    for ranks in 3..=9 {
        let seen = Arc::new(AtomicUsize::new(0));
        let world = World::new(ranks)
            .inject(1, 3, Fault::Panic)
            .inject(2, 2, Fault::Error);
        let run = || {
            world.run_each(|comm| {
                for _ in 0..4 {
                    let mut data = buffer(comm.rank(), LENGTHS[1]);
                    comm.all_reduce(&mut data, op::Sum)?;
                }
                seen.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        };
        let report = guarded(&|| format!("two deaths, {ranks} ranks"), run);
        assert!(
            matches!(report.culprit, Some(1 | 2)),
            "{:?}",
            report.culprit
        );
        assert_eq!(seen.load(Ordering::Relaxed), 0);
    }
}
