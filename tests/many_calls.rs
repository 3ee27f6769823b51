//! Thousands of collectives in a row, of all kinds, over lanes and mailboxes, without a barrier between them; and ranks
//! that leave before or after any of them.

mod again;
mod common;
mod support;

use common::scaled;
use rankfold::topology::Topology;
use rankfold::{Comm, Outcome, Rank, Result, World, WorldError, op};
use support::{guarded, mix};

/// Runs one of the collectives and checks its result.
fn call(comm: &Comm, number: usize, n: usize) -> Result<()> {
    let (p, root) = (comm.size(), number % comm.size());
    match number % KINDS {
        0 => comm.barrier(),
        1 => all_reduce(comm, n),
        2 => broadcast(comm, root, n),
        3 => reduce(comm, root, n),
        4 => reduce_over(comm, &Topology::chain(p).rooted(root), n),
        5 => scan(comm, n),
        6 => all_gather(comm, n),
        7 => gather_values(comm, root),
        8 => reduce_scatter(comm, n),
        9 => all_to_all(comm, n),
        10 => exclusive_scan(comm, n),
        _ => gather(comm, root, n),
    }
}

const KINDS: usize = 12;

/// Returns a rank's elements: its number from 1.
fn numbers(comm: &Comm, n: usize) -> Vec<u64> {
    vec![comm.rank() as u64 + 1; n]
}

/// Returns the sum of the numbers of all ranks.
fn sum(comm: &Comm) -> u64 {
    (1..=comm.size() as u64).sum()
}

fn all_reduce(comm: &Comm, n: usize) -> Result<()> {
    let mut v = numbers(comm, n);
    comm.all_reduce(&mut v, op::Sum)?;
    assert_eq!(v, vec![sum(comm); n]);
    Ok(())
}

fn broadcast(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    let mut v = numbers(comm, n);
    comm.broadcast(root, &mut v)?;
    assert_eq!(v, vec![root as u64 + 1; n]);
    Ok(())
}

fn reduce(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    let mut v = numbers(comm, n);
    comm.reduce(root, &mut v, op::Sum)?;
    let at_root = comm.rank() == root;
    let expected = if at_root {
        vec![sum(comm); n]
    } else {
        numbers(comm, n)
    };
    assert_eq!(v, expected);
    Ok(())
}

/// The elements of other ranks than the root are those of some rank.
fn reduce_over(comm: &Comm, tree: &Topology, n: usize) -> Result<()> {
    let mut v = numbers(comm, n);
    comm.reduce_over(tree, &mut v, op::Max).run()?;
    let at_root = comm.rank() == tree.root();
    let all = if at_root { comm.size() as u64 } else { v[0] };
    assert_eq!(v, vec![all; n]);
    Ok(())
}

fn scan(comm: &Comm, n: usize) -> Result<()> {
    let (me, mut v) = (comm.rank() as u64, numbers(comm, n));
    comm.scan(&mut v, op::Sum)?;
    assert_eq!(v, vec![(me + 1) * (me + 2) / 2; n]);
    Ok(())
}

fn all_gather(comm: &Comm, n: usize) -> Result<()> {
    let mut all = vec![0; n * comm.size()];
    comm.all_gather(&numbers(comm, n), &mut all)?;
    let right = |(i, x): (usize, &u64)| *x == (i / n) as u64 + 1;
    assert!(all.iter().enumerate().all(right));
    Ok(())
}

fn gather_values(comm: &Comm, root: Rank) -> Result<()> {
    let all = comm.values().gather(root, comm.rank() as u64)?;
    let ranks = || (0..comm.size() as u64).collect();
    assert_eq!(all, (comm.rank() == root).then(ranks));
    Ok(())
}

fn reduce_scatter(comm: &Comm, n: usize) -> Result<()> {
    let mut mine = vec![0; n];
    let input = numbers(comm, n * comm.size());
    comm.reduce_scatter(&input, &mut mine, op::Sum)?;
    assert_eq!(mine, vec![sum(comm); n]);
    Ok(())
}

fn all_to_all(comm: &Comm, n: usize) -> Result<()> {
    let (me, p) = (comm.rank(), comm.size());
    let input: Vec<u64> = (0..n * p).map(|i| (me * p + i / n) as u64).collect();
    let mut output = vec![0; n * p];
    comm.all_to_all(&input, &mut output)?;
    let right = |(i, x): (usize, &u64)| *x == (i / n * p + me) as u64;
    assert!(output.iter().enumerate().all(right));
    Ok(())
}

fn exclusive_scan(comm: &Comm, n: usize) -> Result<()> {
    let (me, mut v) = (comm.rank() as u64, numbers(comm, n));
    comm.exclusive_scan(&mut v, 0, op::Sum)?;
    assert_eq!(v, vec![me * (me + 1) / 2; n]);
    Ok(())
}

fn gather(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    let all = comm.gather(root, &numbers(comm, n))?;
    let right = |all: Vec<u64>| all.iter().sum::<u64>() == n as u64 * sum(comm);
    assert!(all.is_none_or(right));
    Ok(())
}

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
    again::over_channels(&[]);
}
