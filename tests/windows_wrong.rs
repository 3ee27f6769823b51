//! Windows in wrong programs: ranks that die, deadlocks over locks, forgotten results, calls that do not match, places
//! that do not exist; each with the error that it must cause.

mod common;
#[path = "windows_wrong/deaths.rs"]
mod deaths;
#[path = "windows_wrong/failed_epochs.rs"]
mod failed_epochs;
#[path = "windows_wrong/locks.rs"]
mod locks;
#[path = "windows_wrong/mismatches.rs"]
mod mismatches;
#[path = "windows_wrong/polling.rs"]
mod polling;
mod support;

use std::cell::RefCell;

use rankfold::error::Deadlock;
use rankfold::{AtomicWindow, Comm, Error, ErrorKind, Rank, Report, Result, Window, World};
use support::guarded;
use support::sweep::sweep;

// ── deaths ──

/// Fails every rank at each of its operations for 2 to 5 ranks, and at a fixed tenth of them for 6 to 8.
fn every(name: &str, program: fn(&Comm) -> Result<u64>) {
    sweep(name, 2..=5, 1.0, program);
    sweep(name, 6..=8, 0.1, program);
}

fn right(comm: &Comm) -> Rank {
    (comm.rank() + 1) % comm.size()
}

fn left(comm: &Comm) -> Rank {
    (comm.rank() + comm.size() - 1) % comm.size()
}

// ── deadlocks over locks ──

fn run<R: Send>(
    name: &str,
    ranks: usize,
    program: impl Fn(&Comm) -> Result<R> + Sync,
) -> Report<R> {
    let case = format!("{name}, {ranks} ranks");
    guarded(&|| case.clone(), || World::new(ranks).run_each(program))
}

fn error<R: std::fmt::Debug>(report: &Report<R>, rank: Rank) -> &Error {
    let outcome = &report.outcomes[rank];
    outcome
        .error()
        .unwrap_or_else(|| panic!("rank {rank}: {outcome:?}"))
}

/// The calls of the ranks in a deadlock.
fn calls(knot: &Deadlock) -> Vec<(Rank, &str)> {
    let stuck = knot.stuck.iter();
    stuck.map(|stuck| (stuck.rank, &*stuck.call)).collect()
}

// ── windows without their world ──

#[test]
fn a_window_outlives_its_communicator_its_rank_and_its_world() {
    thread_local! {
        static KEPT: RefCell<Option<(Window<u64>, AtomicWindow<u64>)>> = const { RefCell::new(None) };
    }
    let values = World::new(2).start().unwrap().run(|comm| {
        let both = comm.dup()?;
        let windows = (both.window(vec![3; 5])?, AtomicWindow::new(&both, vec![4])?);
        KEPT.set(Some(windows));
        both.barrier()
    });
    values.unwrap();
    // The caller was rank 0, whose run has ended.
    if let Some((win, atomic)) = KEPT.take() {
        assert_eq!((win.len(1), atomic.get(1, 0).unwrap()), (5, 4));
        let gone = win.lock_shared(1).err().unwrap();
        assert!(
            matches!(gone.kind(), ErrorKind::RankGone { rank: 0, .. }),
            "{gone}"
        );
        assert!(atomic.fence().is_err());
    }
}

#[test]
fn others_access_the_part_of_a_window_that_its_rank_has_dropped() {
    let values = World::new(4).run(|comm| {
        let win = comm.window(vec![comm.rank(); 300])?;
        if comm.rank() == 3 {
            drop(win);
            comm.barrier()?;
            return Ok(0);
        }
        comm.barrier()?;
        win.lock_exclusive(3)?[comm.rank()] += comm.rank();
        Ok(win.lock_shared(3)?[comm.rank()])
    });
    assert_eq!(values.unwrap(), [3, 4, 5, 0]);
}
