//! Ranks that take turns on one CPU, where the last rank to arrive folds for all: whichever rank that is, all ranks get
//! the fold in rank order, exactly one rank folds, and if that one fails, no rank hangs.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::machine::Cpus;
use rankfold::{Bind, Comm, Error, ErrorKind, Outcome, Result, World, op};
use support::{guarded, scale};

/// Returns a world whose ranks share one CPU.
fn crowd(ranks: usize) -> World {
    let cpu = Cpus::here().mask.first().copied();
    World::new(ranks).bind(cpu.map_or(Bind::None, |cpu| Bind::Cpus(vec![cpu])))
}

/// x -> a x + b, modulo 2^32: composition is associative and does not commute.
type Map = (u32, u32);

fn after(first: Map, then: Map) -> Map {
    let (a, b) = then;
    (
        first.0.wrapping_mul(a),
        first.1.wrapping_mul(a).wrapping_add(b),
    )
}

fn brings(rank: usize, time: usize, place: usize) -> Map {
    let odd = 2 * (rank * 31 + time * 7 + place) + 3;
    (odd as u32, (rank + 5 * time + place) as u32)
}

fn folded(ranks: usize, time: usize, place: usize) -> Map {
    (1..ranks).fold(brings(0, time, place), |all, rank| {
        after(all, brings(rank, time, place))
    })
}

/// Calls that use the cells in other ways, so that the next call begins at any of a rank's places.
fn between(comm: &Comm, time: usize) -> Result<()> {
    let root = time % comm.size();
    match time % 5 {
        0 => comm.barrier(),
        1 => comm.broadcast(root, &mut [time; 3]),
        2 => comm.reduce(root, &mut [time as u64; 9], op::Sum),
        3 => comm.all_gather(&[time; 2], &mut vec![0; 2 * comm.size()]),
        _ => Ok(()),
    }
}

#[test]
fn all_get_the_fold_in_rank_order_whoever_comes_last() {
    let times = (40.0 * scale()).ceil() as usize;
    for (ranks, length) in [(3, 1), (3, 512), (4, 4), (5, 5), (6, 0), (9, 40), (16, 512)] {
        let ran = guarded(&|| format!("{ranks} ranks, {length} elements"), || {
            crowd(ranks).run(|comm| {
                let call = Call::new(Collective::AllReduce, ranks, length);
                assert_eq!(comm.explain::<Map>(&call)?.algorithm, Algorithm::Cells);
                for time in 0..times {
                    let mut mine: Vec<Map> =
                        (0..length).map(|i| brings(comm.rank(), time, i)).collect();
                    let want: Vec<Map> = (0..length).map(|i| folded(ranks, time, i)).collect();
                    let mut all = vec![(0, 0); length];
                    comm.all_reduce_into(&mine, &mut all, after)?;
                    assert_eq!(all, want, "apart, time {time}");
                    between(comm, time)?;
                    comm.all_reduce(&mut mine, after)?;
                    assert_eq!(mine, want, "in place, time {time}");
                }
                Ok(())
            })
        });
        ran.unwrap();
    }
}

#[test]
fn one_rank_folds_for_all_and_no_other() {
    const RANKS: usize = 5;
    let calls: Vec<_> = (0..RANKS).map(|_| AtomicUsize::new(0)).collect();
    crowd(RANKS)
        .run(|comm| {
            for _ in 0..20 {
                comm.all_reduce(&mut [1u32; 7], |a, b| {
                    calls[comm.rank()].fetch_add(1, Ordering::Relaxed);
                    a + b
                })?;
                comm.barrier()?;
                if comm.rank() == 0 {
                    let folds: Vec<_> = calls
                        .iter()
                        .map(|calls| calls.swap(0, Ordering::Relaxed))
                        .collect();
                    let folders = folds.iter().filter(|&&folds| folds > 0).count();
                    assert_eq!(
                        (folders, folds.iter().sum()),
                        (1, 7 * (RANKS - 1)),
                        "{folds:?}"
                    );
                }
                comm.barrier()?;
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn an_operator_that_panics_in_the_last_to_come_fails_the_call_on_all_others() {
    for (ranks, length) in [(3, 1), (5, 40), (16, 512)] {
        let panicked = AtomicUsize::new(0);
        let report = guarded(&|| format!("{ranks} ranks, {length} elements"), || {
            crowd(ranks).run_each(|comm| {
                let call = AssertUnwindSafe(|| {
                    comm.all_reduce(&mut vec![1u64; length], |_, _| {
                        panic!("an operator that panics")
                    })
                });
                match catch_unwind(call) {
                    Err(_) => _ = panicked.fetch_add(1, Ordering::Relaxed),
                    Ok(result) => assert!(matches!(
                        result.unwrap_err().kind(),
                        ErrorKind::RankGone { .. }
                    )),
                }
                assert!(comm.barrier().is_err(), "the communicator is broken");
                Ok(())
            })
        });
        assert_eq!(panicked.into_inner(), 1);
        assert!(
            report.outcomes.iter().all(|rank| rank.value().is_some()),
            "{report:?}"
        );
    }
}

#[test]
fn a_call_of_another_length_is_a_mismatch_for_all() {
    for (ranks, odd) in [(3, 0), (4, 3), (5, 2)] {
        let report = guarded(&|| format!("{ranks} ranks, rank {odd} is odd"), || {
            crowd(ranks).check(false).run_each(|comm| {
                let length = 8 + usize::from(comm.rank() == odd);
                comm.all_reduce(&mut vec![1u32; length], op::Sum)
            })
        });
        let is_mismatch = |error: &Error| matches!(error.kind(), ErrorKind::Mismatch(_));
        for outcome in &report.outcomes {
            assert!(
                matches!(outcome, Outcome::Failed(error) if is_mismatch(error)),
                "{outcome:?}"
            );
        }
    }
}

#[test]
fn a_rank_that_never_comes_is_missed_by_all() {
    for ranks in [3, 6] {
        let report = guarded(&|| format!("{ranks} ranks"), || {
            crowd(ranks).run_each(|comm| {
                comm.all_reduce(&mut [1u8; 100], op::Sum)?;
                if comm.rank() == 1 {
                    return Ok(());
                }
                comm.all_reduce(&mut [1u8; 100], op::Sum)
            })
        });
        for (rank, outcome) in report.outcomes.iter().enumerate() {
            let gone = |error: &Error| matches!(error.kind(), ErrorKind::RankGone { rank: 1, .. });
            match outcome {
                Outcome::Returned(()) => assert_eq!(rank, 1),
                Outcome::Failed(error) => assert!(gone(error), "rank {rank}: {error}"),
                other => panic!("rank {rank}: {other:?}"),
            }
        }
    }
}

#[test]
fn messages_are_counted_the_same_whoever_folds() {
    let times = (20.0 * scale()).ceil() as u64;
    let report = guarded(&|| "5 ranks".into(), || {
        crowd(5)
            .run_each(|comm| (0..times).try_for_each(|_| comm.all_reduce(&mut [1u32, 2], op::Sum)))
    });
    for (rank, counts) in report.counts.iter().enumerate() {
        let messages = if rank == 0 { 4 * times } else { times };
        assert_eq!((counts.messages, counts.bytes), (messages, 8 * messages));
        assert_eq!(counts.operations, report.counts[0].operations);
    }
}
