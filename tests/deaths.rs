//! One rank fails at each of its operations, in every program, in every world and by every fault. No rank hangs, every
//! other rank has a right result or an error that names the failed rank, and so does the report.

mod again;
#[path = "deaths/cells.rs"]
mod cells;
#[path = "deaths/collectives.rs"]
mod collectives;
#[path = "deaths/culprits.rs"]
mod culprits;
#[path = "deaths/destructors.rs"]
mod destructors;
#[path = "deaths/messages.rs"]
mod messages;
#[path = "deaths/operators.rs"]
mod operators;
mod support;

use rankfold::{Comm, Error, Rank, Report, Result, World};
use support::guarded;
use support::sweep::sweep;

/// Short enough to travel in its packet, and long enough to be lent.
const LENGTHS: [usize; 2] = [3, 1500];

/// Fails every rank at each of its operations for 2 and 3 ranks, and at a fixed part of them for 4 to 9; at all of them
/// with `RANKFOLD_SCALE=10`.
fn every(name: &str, program: fn(&Comm) -> Result<u64>) {
    sweep(name, 2..=9, 1.0, program);
}

fn right(comm: &Comm) -> Rank {
    (comm.rank() + 1) % comm.size()
}

fn left(comm: &Comm) -> Rank {
    (comm.rank() + comm.size() - 1) % comm.size()
}

fn error_of<R>(report: &Report<R>, rank: Rank) -> &Error {
    let outcome = report.outcomes[rank].error();
    outcome.unwrap_or_else(|| panic!("rank {rank} did not fail"))
}

/// Runs `program` for 2 to 9 ranks, checked and not.
fn for_all_sizes<R: Send>(
    name: &str,
    program: impl Fn(&Comm) -> Result<R> + Sync,
    judge: impl Fn(usize, Report<R>),
) {
    for ranks in 2..=9 {
        for check in [false, true] {
            let case = || format!("{name}, {ranks} ranks, check({check})");
            let run = || World::new(ranks).check(check).run_each(&program);
            judge(ranks, guarded(&case, run));
        }
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}

#[test]
fn all_of_it_holds_where_each_rank_has_a_cpu() {
    again::where_each_rank_has_a_cpu(&[]);
}
