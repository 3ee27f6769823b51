//! Thousands of collectives in a row, of all kinds, over lanes and mailboxes, without a barrier between them; and ranks
//! that leave before or after any of them.

mod channels;
mod common;
mod support;

use common::scaled;
use rankfold::topology::Topology;
use rankfold::{Comm, Outcome, Result, World, WorldError, op};
use support::{guarded, mix};

/// Runs one of the collectives and checks its result.
fn call(comm: &Comm, number: usize, n: usize) -> Result<()> {
    let (me, p) = (comm.rank() as u64, comm.size());
    let (ranks, root) = (p as u64, number % p);
    let sum = ranks * (ranks + 1) / 2;
    let mut v = vec![me + 1; n];
    match number % KINDS {
        0 => comm.barrier()?,
        1 => {
            comm.all_reduce(&mut v, op::Sum)?;
            assert_eq!(v, vec![sum; n]);
        }
        2 => {
            comm.broadcast(root, &mut v)?;
            assert_eq!(v, vec![root as u64 + 1; n]);
        }
        3 => {
            comm.reduce(root, &mut v, op::Sum)?;
            let mine = if comm.rank() == root { sum } else { me + 1 };
            assert_eq!(v, vec![mine; n]);
        }
        4 => {
            comm.reduce_over(&Topology::chain(p).rooted(root), &mut v, op::Max)
                .run()?;
            let mine = if comm.rank() == root { ranks } else { v[0] };
            assert_eq!(v, vec![mine; n]);
        }
        5 => {
            comm.scan(&mut v, op::Sum)?;
            assert_eq!(v, vec![(me + 1) * (me + 2) / 2; n]);
        }
        6 => {
            let mut all = vec![0; n * p];
            comm.all_gather(&v, &mut all)?;
            assert!(
                all.iter()
                    .enumerate()
                    .all(|(i, x)| *x == (i / n) as u64 + 1)
            );
        }
        7 => {
            let all = comm.values().gather(root, me)?;
            assert_eq!(all, (comm.rank() == root).then(|| (0..ranks).collect()));
        }
        8 => {
            let mut mine = vec![0; n];
            let input = vec![me + 1; n * p];
            comm.reduce_scatter(&input, &mut mine, op::Sum)?;
            assert_eq!(mine, vec![sum; n]);
        }
        9 => {
            let input: Vec<u64> = (0..n * p).map(|i| me * ranks + (i / n) as u64).collect();
            let mut output = vec![0; n * p];
            comm.all_to_all(&input, &mut output)?;
            let right = |(i, x): (usize, &u64)| *x == (i / n) as u64 * ranks + me;
            assert!(output.iter().enumerate().all(right));
        }
        10 => {
            comm.exclusive_scan(&mut v, 0, op::Sum)?;
            assert_eq!(v, vec![me * (me + 1) / 2; n]);
        }
        _ => {
            let all = comm.gather(root, &v)?;
            let right = |all: Vec<u64>| all.iter().sum::<u64>() == n as u64 * sum;
            assert!(all.is_none_or(right));
        }
    }
    Ok(())
}

const KINDS: usize = 12;

/// Returns lengths of elements that travel in their packet, mixed with lengths of elements that are lent.
fn length(number: usize) -> usize {
    if mix(number as u64).is_multiple_of(4) {
        40
    } else {
        2
    }
}

fn in_a_row(ranks: usize, calls: usize, check: bool) {
    let case = || format!("{calls} calls of {ranks} ranks, check({check})");
    let run = guarded(&case, || {
        World::new(ranks).check(check).run(|comm| {
            (0..calls).try_for_each(|number| {
                let kind = mix(number as u64 + 99) as usize % (KINDS * 1000);
                call(comm, kind, length(number))
            })
        })
    });
    run.unwrap_or_else(|error| panic!("{}: {error}", case()));
}

#[test]
fn ten_thousand_calls_of_two_ranks() {
    in_a_row(2, scaled(10_000), false);
    in_a_row(2, scaled(2_000), true);
}

#[test]
fn ten_thousand_calls_of_eight_ranks() {
    in_a_row(8, scaled(10_000), false);
    in_a_row(8, scaled(1_000), true);
}

#[test]
fn many_calls_of_sixty_four_ranks() {
    in_a_row(64, scaled(500), false);
    in_a_row(64, scaled(100), true);
}

/// Lanes and mailboxes carry the calls of one communicator in turn; neither overtakes the other.
#[test]
fn reductions_over_topologies_and_over_lanes_back_to_back() {
    for ranks in [2, 3, 8] {
        World::new(ranks)
            .check(false)
            .run(|comm| {
                for number in 0..scaled(500) {
                    for kind in [1, 4, 7, 3] {
                        call(comm, kind + KINDS * number, length(number))?;
                    }
                }
                Ok(())
            })
            .unwrap();
    }
}

/// A rank leaves before one of the calls, the others do not.
fn leaves_before(ranks: usize, kind: usize, check: bool) {
    let case = || format!("kind {kind}, {ranks} ranks, check({check})");
    let leaver = ranks / 2;
    let report = guarded(&case, || {
        World::new(ranks).check(check).run_each(|comm| {
            call(comm, kind, 40)?;
            if comm.rank() == leaver {
                return Ok(());
            }
            call(comm, kind + KINDS, 40)?;
            // A rank that has only sent may not have noticed; no rank gets past this barrier.
            comm.barrier()
        })
    });
    for (rank, outcome) in report.outcomes.iter().enumerate() {
        let fine = match outcome {
            Outcome::Returned(()) => rank == leaver,
            Outcome::Failed(error) => error.culprit() == Some(leaver),
            _ => false,
        };
        assert!(fine, "{}: rank {rank}: {outcome:?}", case());
    }
    let error = report.into_result().unwrap_err();
    let named = matches!(error, WorldError::ReturnedEarly { rank, .. } if rank == leaver);
    assert!(named, "{}: {error}", case());
}

#[test]
fn a_rank_that_leaves_before_a_call_is_named_by_all_others() {
    for ranks in [2, 3, 4, 5, 8] {
        for kind in 0..KINDS {
            for check in [false, true] {
                leaves_before(ranks, kind, check);
            }
        }
    }
}

/// A rank that has done its part may leave while others are still in the call.
#[test]
fn a_rank_that_leaves_after_its_last_call_disturbs_nobody() {
    for ranks in [2, 3, 4, 5, 8] {
        for kind in 0..KINDS {
            for check in [false, true] {
                for n in [1, 40] {
                    let case = || format!("kind {kind}, {ranks} ranks, check({check}), {n}");
                    let world = World::new(ranks).check(check);
                    let done = guarded(&case, || world.run(|comm| call(comm, kind, n)));
                    done.unwrap_or_else(|error| panic!("{}: {error}", case()));
                }
            }
        }
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    channels::again(&[]);
}
