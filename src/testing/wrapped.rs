//! Calls whose numbers wrap: the 2³² calls before them are not made, but counted.

use std::sync::Arc;

use crate::error::Mismatch;
use crate::{Comm, Rank, Result, World, WorldError, op};

const ODD: Rank = 2;

/// Calls of which the one after `before` others is another one on the odd rank; the last of all calls tells it to ranks
/// that have only sent.
fn differ(comm: &Comm, before: u32, started: bool) -> Result<()> {
    for _ in 0..before {
        comm.all_reduce(&mut [1], op::Sum)?;
    }
    match (comm.rank() == ODD, started) {
        (false, false) => comm.broadcast(0, &mut [1; 40])?,
        (true, false) => _ = comm.gather(0, &[1; 10])?,
        (false, true) => {
            let first = comm.iall_reduce(vec![1; 40], op::Sum)?;
            comm.ibarrier()?.wait()?;
            first.wait()?;
        }
        (true, true) => {
            let first = comm.ibarrier()?;
            comm.iall_reduce(vec![1; 40], op::Sum)?.wait()?;
            first.wait()?;
        }
    }
    comm.barrier()
}

/// The mismatch of such calls where the number of the first one is `first`.
fn found(first: u32, before: u32, started: bool) -> Arc<Mismatch> {
    let report = World::new(4).check(false).run_each(|comm| {
        comm.calls.set(first);
        differ(comm, before, started)
    });
    match (report.mismatch.clone(), report.into_result()) {
        (Some(found), _) | (None, Err(WorldError::Mismatch(found))) => found,
        (None, other) => panic!("{first}, {before}, {started}: {other:?}"),
    }
}

#[test]
fn a_mismatch_is_named_as_elsewhere() {
    for started in [false, true] {
        for first in [0, u32::MAX - 2, u32::MAX - 1, u32::MAX] {
            for before in 0..4 {
                let found = found(first, before, started);
                let case = format!("{first}, {before}, {started}: {found}");
                let [theirs, its] = match started {
                    true => ["iall_reduce", "ibarrier"],
                    false => ["broadcast", "gather"],
                };
                for called in &found.calls {
                    let made = if called.rank == ODD { its } else { theirs };
                    assert!(called.call.starts_with(made), "{case}");
                }
                // A started call waits for no records of others.
                let decided = !started || !found.odd.is_empty();
                assert!(!decided || found.odd == [ODD], "{case}");
            }
        }
    }
}
