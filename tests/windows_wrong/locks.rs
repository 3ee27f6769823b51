//! Deadlocks over locks, locks taken twice, and locks that were forgotten.

use std::mem;

use rankfold::error::Gone;
use rankfold::{ErrorKind, Rank, World, op};

use super::{calls, error, right, run};
use crate::common::{assert_usage, await_signal, signal};

#[test]
fn two_that_lock_in_opposite_orders_are_named_with_their_lines() {
    let report = run("AB, BA", 4, |comm| {
        let win = comm.window(vec![0; 1])?;
        if comm.rank() < 2 {
            let _first = win.lock_exclusive(comm.rank())?;
            comm.sendrecv(1 - comm.rank(), 0, &[0u8], 1 - comm.rank(), 0)?;
            win.lock_exclusive(1 - comm.rank())?[0] = 1;
        }
        Ok(())
    });
    assert_eq!(report.deadlocks.len(), 1, "{report:?}");
    let knot = &report.deadlocks[0];
    let want = [(0, "lock_exclusive(part 1)"), (1, "lock_exclusive(part 0)")];
    assert_eq!((calls(knot), &*knot.cycle), (want.to_vec(), &[0, 1][..]));
    for stuck in &knot.stuck {
        assert!(stuck.site.file().ends_with("windows_wrong/locks.rs"));
        assert!(stuck.comm.as_ref().unwrap().starts_with("window of world"));
    }
    for rank in 0..2 {
        assert!(matches!(
            error(&report, rank).kind(),
            ErrorKind::Deadlock(_)
        ));
    }
    assert!(report.outcomes[2..].iter().all(|it| it.value().is_some()));
}

#[test]
fn a_ring_of_readers_that_all_want_to_write_is_a_deadlock() {
    for ranks in [2, 3, 7] {
        let report = run("a ring of locks", ranks, |comm| {
            let win = comm.window(vec![0; 1])?;
            let _mine = win.lock_shared(comm.rank())?;
            comm.barrier()?;
            win.lock_exclusive(right(comm)).map(drop)
        });
        let all: Vec<Rank> = (0..ranks).collect();
        assert_eq!(report.deadlocks[0].cycle, all, "{report:?}");
    }
}

#[test]
fn a_holder_that_waits_for_a_message_of_the_waiter_is_in_a_deadlock_with_it() {
    let report = run("lock and message", 3, |comm| {
        let win = comm.window(vec![0; 1])?;
        if comm.rank() == 0 {
            let part = win.lock_shared(2)?;
            signal(comm, 1)?;
            comm.recv::<u8>(1, 0)?;
            drop(part);
        } else if comm.rank() == 1 {
            await_signal(comm, 0)?;
            win.lock_exclusive(2)?[0] = 1;
            comm.send(0, 0, &[0u8])?;
        }
        Ok(())
    });
    assert_eq!(report.deadlocks[0].cycle, [0, 1], "{report:?}");
    assert_eq!(calls(&report.deadlocks[0])[1].1, "lock_exclusive(part 2)");
}

#[test]
fn a_second_lock_of_one_part_is_refused_with_the_line_of_the_first() {
    let report = run("lock twice", 2, |comm| {
        let win = comm.window(vec![0; 1])?;
        let line = line!() + 1;
        let _held = win.lock_shared(0)?;
        let here = format!("already, at {}:{line}:", file!());
        assert_usage(win.lock_exclusive(0), &here);
        assert_usage(win.lock_shared(0), &here);
        assert_usage(win.lock_all(), &here);
        // Rank 0 cannot lock its own part twice either.
        if comm.rank() == 0 {
            assert_usage(win.local_mut(), &here);
        }
        Ok(())
    });
    report.into_result().unwrap();
}

// ── what is forgotten ──

#[test]
fn a_lock_that_was_forgotten_stays_taken_until_its_rank_ends() {
    let report = run("forgotten lock", 3, |comm| {
        let win = comm.window(vec![0; 1])?;
        if comm.rank() == 1 {
            mem::forget(win.lock_exclusive(2)?);
            signal(comm, 0)?;
            signal(comm, 2)?;
            assert_usage(win.lock_shared(2), "already");
            return Ok(());
        }
        await_signal(comm, 1)?;
        win.lock_shared(2).map(drop)
    });
    for rank in [0, 2] {
        let kind = error(&report, rank).kind();
        let gone = matches!(
            kind,
            ErrorKind::RankGone {
                rank: 1,
                why: Gone::Returned,
                ..
            }
        );
        assert!(gone, "{report:?}");
    }
}

#[test]
fn who_waits_for_a_forgotten_lock_is_in_a_deadlock_with_its_holder() {
    let report = run("forgotten lock, barrier", 2, |comm| {
        let win = comm.window(vec![0; 1])?;
        if comm.rank() == 1 {
            mem::forget(win.lock_shared(0)?);
        }
        comm.barrier()?;
        if comm.rank() == 0 {
            win.local_mut()?[0] = 1;
        }
        comm.barrier()
    });
    assert_eq!(report.deadlocks[0].cycle, [0, 1], "{report:?}");
    assert_eq!(calls(&report.deadlocks[0])[0].1, "local_mut");
}

#[test]
fn an_epoch_that_was_forgotten_keeps_writers_from_what_it_read() {
    let report = run("forgotten epoch", 3, |comm| {
        let mut win = comm.window(vec![comm.rank()])?;
        let epoch = win.fence()?;
        if comm.rank() == 0 {
            assert_eq!(epoch.read(2)?, [2]);
            mem::forget(epoch);
        } else {
            drop(epoch);
        }
        comm.barrier()?;
        match comm.rank() {
            1 => win.lock_shared(2).map(|part| part[0]),
            2 => win.local_mut().map(|mut part| mem::take(&mut part[0])),
            _ => Ok(0),
        }
    });
    assert_eq!(report.outcomes[1].value(), Some(&2), "{report:?}");
    let kind = error(&report, 2).kind();
    assert!(
        matches!(kind, ErrorKind::RankGone { rank: 0, .. }),
        "{report:?}"
    );
}

#[test]
fn an_access_that_was_dropped_leaves_its_target_with_an_error() {
    let report = run("dropped access", 2, |comm| {
        let win = comm.window(vec![0; 1])?;
        if comm.rank() == 0 {
            return win.post(&[1])?.wait();
        }
        drop(win.start(&[0])?);
        Ok(())
    });
    let kind = error(&report, 0).kind();
    assert!(
        matches!(kind, ErrorKind::RankGone { rank: 1, .. }),
        "{report:?}"
    );
}

#[test]
fn puts_of_an_epoch_that_was_dropped_are_lost() {
    let values = World::new(3).run(|comm| {
        let mut win = comm.window(vec![0; 1])?;
        let epoch = win.fence()?;
        epoch.put(0, 0, &[1])?;
        drop(epoch);
        let epoch = win.fence()?;
        epoch.accumulate(0, 0, &[10], op::Sum)?;
        epoch.close()?;
        let value = win.lock_shared(0)?[0];
        Ok(value)
    });
    assert_eq!(values.unwrap(), [30; 3]);
}
