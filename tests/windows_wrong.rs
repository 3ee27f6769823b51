//! Windows in wrong programs: ranks that die, deadlocks over locks, forgotten results, calls that do not match, places
//! that do not exist; each with the error that it must cause.

mod common;
mod support;

use std::cell::RefCell;
use std::mem;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{assert_usage, await_signal, signal};
use rankfold::error::{Deadlock, Gone};
use rankfold::{
    AtomicWindow, Comm, Error, ErrorKind, Outcome, Rank, Report, Result, Window, World, op,
};
use support::guarded;
use support::sweep::sweep;

// ── deaths ──

/// Fails every rank at each of its operations for 2 to 5 ranks, and at a fixed quarter of them for 6 to 8.
fn every(name: &str, program: fn(&Comm) -> Result<u64>) {
    sweep(name, 2..=5, 1.0, program);
    sweep(name, 6..=8, 0.25, program);
}

fn right(comm: &Comm) -> Rank {
    (comm.rank() + 1) % comm.size()
}

fn left(comm: &Comm) -> Rank {
    (comm.rank() + comm.size() - 1) % comm.size()
}

#[test]
fn a_rank_dies_in_fences() {
    every("fences", |comm| {
        let mut win = comm.window(vec![comm.rank() as u64; 40])?;
        win.local_mut()?[1] = 7;
        let mut epoch = win.fence()?;
        assert_eq!(epoch.read(left(comm))?[..2], [left(comm) as u64, 7]);
        epoch.put(right(comm), 3, &[5; 20])?;
        epoch.fence()?;
        assert_eq!(epoch.read(right(comm))?[3..23], [5; 20]);
        epoch.accumulate(right(comm), 3, &[1; 20], op::Sum)?;
        epoch.close()?;
        let sum = win.local_mut()?.iter().sum::<u64>();
        Ok(sum)
    });
}

#[test]
fn a_rank_dies_in_locks() {
    every("locks", |comm| {
        let win = comm.window(vec![0u64; 2])?;
        for _ in 0..2 {
            let mut part = win.lock_exclusive(0)?;
            part[0] += 1;
            comm.send(comm.rank(), 0, &[0u8])?;
            part[1] += 1;
            drop(part);
            comm.recv::<u8>(comm.rank(), 0)?;
        }
        assert!(win.lock_shared(0)?[0] > 0);
        comm.barrier()?;
        let all = win.lock_all()?;
        Ok(all.part(0)[1] + comm.rank() as u64)
    });
}

#[test]
fn a_rank_dies_between_post_and_wait() {
    every("post, start, complete, wait", |comm| {
        let win = comm.window(vec![0u64; 3])?;
        for round in 1..3 {
            let exposure = win.post(&[left(comm)])?;
            let access = win.start(&[right(comm)])?;
            access.put(right(comm), 0, &[round])?;
            access.accumulate(right(comm), 1, &[round], op::Sum)?;
            access.complete()?;
            exposure.wait()?;
        }
        let part = win.lock_shared(comm.rank())?;
        assert_eq!(*part, [2, 3, 0]);
        Ok(comm.rank() as u64)
    });
}

#[test]
fn a_rank_dies_beside_atomics() {
    every("atomics", |comm| {
        let win = AtomicWindow::new(comm, vec![0u64; 2])?;
        for _ in 0..3 {
            win.accumulate(right(comm), 0, &[1, 2], op::Sum)?;
            win.fence()?;
        }
        Ok(win.get(comm.rank(), 0)? + win.get(comm.rank(), 1)?)
    });
}

#[test]
fn a_lock_is_given_up_while_its_holder_unwinds() {
    let report = run("unwinding", 3, |comm| {
        let win = comm.window(vec![0u64; 2])?;
        if comm.rank() == 0 {
            let mut part = win.lock_exclusive(1)?;
            part[0] = 1;
            signal(comm, 1)?;
            panic!("rank 0 ends here");
        }
        if comm.rank() == 1 {
            await_signal(comm, 0)?;
            return Ok(win.lock_exclusive(1)?[0]);
        }
        Ok(0)
    });
    // It asks for the lock before or after the end of rank 0, which gives it up before it ends.
    assert_eq!(report.outcomes[1].value(), Some(&1), "{report:?}");
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
        assert!(stuck.site.file().ends_with("windows_wrong.rs"));
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

// ── calls that do not match ──

#[test]
fn windows_of_different_elements_are_a_mismatch() {
    for check in [false, true] {
        for ranks in [3, 6] {
            let report = guarded(&|| "types".into(), || {
                World::new(ranks).check(check).run_each(|comm| {
                    if comm.rank() == 1 {
                        return comm.window(vec![1u32]).map(drop);
                    }
                    comm.window(vec![1f32]).map(drop)
                })
            });
            let found = report.mismatch.as_deref().expect("it is a mismatch");
            let text = found.to_string();
            assert!(text.contains("window(f32)"), "{text}");
            assert!(found.odd.is_empty() || found.odd == [1], "{text}");
        }
    }
}

#[test]
fn a_fence_that_some_end_and_others_continue_is_a_mismatch() {
    let report = run("fence and close", 4, |comm| {
        let mut win = comm.window(vec![0; 1])?;
        let mut epoch = win.fence()?;
        match comm.rank() {
            2 => epoch.close(),
            _ => epoch.fence(),
        }
    });
    let found = report.mismatch.as_deref().expect("it is a mismatch");
    assert!(
        found.odd == [2] && found.to_string().contains("epoch.close"),
        "{found}"
    );
    assert!(report.outcomes.iter().all(|it| it.value().is_none()));
}

#[test]
fn a_rank_that_never_fences_is_named_to_all_that_do() {
    let report = run("no fence", 5, |comm| {
        let mut win = comm.window(vec![0; 1])?;
        match comm.rank() {
            3 => Ok(()),
            _ => win.fence().map(drop),
        }
    });
    for rank in [0, 1, 2, 4] {
        assert_eq!(error(&report, rank).culprit(), Some(3), "{report:?}");
    }
}

#[test]
fn fences_of_two_windows_in_different_orders_are_a_deadlock_that_names_both() {
    let report = run("two windows", 2, |comm| {
        let (mut one, mut two) = (comm.window(vec![0])?, comm.window(vec![0])?);
        if comm.rank() == 0 {
            one.fence().map(drop)?;
            two.fence().map(drop)
        } else {
            two.fence().map(drop)?;
            one.fence().map(drop)
        }
    });
    let knot = &report.deadlocks[0];
    assert_eq!(calls(knot), [(0, "fence"), (1, "fence")]);
    assert_ne!(knot.stuck[0].comm, knot.stuck[1].comm, "{knot}");
    assert_ne!(knot.stuck[0].site.line(), knot.stuck[1].site.line());
}

#[test]
fn a_start_without_a_post_is_a_deadlock_or_names_the_target_that_ended() {
    let report = run("start alone", 2, |comm| {
        let win = comm.window(vec![0; 1])?;
        match comm.rank() {
            0 => win.start(&[1]).map(drop),
            _ => Ok(()),
        }
    });
    assert_eq!(error(&report, 0).culprit(), Some(1), "{report:?}");
    let report = run("start each other", 2, |comm| {
        let win = comm.window(vec![0; 1])?;
        win.start(&[1 - comm.rank()]).map(drop)
    });
    assert_eq!(report.deadlocks[0].cycle, [0, 1], "{report:?}");
    assert_eq!(calls(&report.deadlocks[0])[0].1, "start([1])");
}

// ── single calls that are wrong ──

#[test]
fn ranks_and_places_that_do_not_exist_are_refused() {
    let report = run("places", 3, |comm| {
        let mut win = comm.window(vec![0; 4 + comm.rank()])?;
        assert_usage(win.lock_shared(3), "the target 3 is not one of the 3 ranks");
        assert_usage(win.lock_exclusive(9), "lock_exclusive(part 9) at ");
        assert_usage(win.post(&[0, 3]), "rank 3 is not one of the 3 members");
        assert_usage(win.start(&[1, 1]), "rank 1 occurs twice");
        let epoch = win.fence()?;
        assert_usage(epoch.read(5), "the target 5 is not one of the 3 ranks");
        let part = "elements 4..6 are not all in the part of rank 1, which has 5";
        assert_usage(epoch.put(1, 4, &[1, 2]), part);
        assert_usage(epoch.put(0, usize::MAX, &[1, 2]), "rank 0, which has 4");
        assert_usage(epoch.accumulate(7, 0, &[1], op::Sum), "the target 7");
        epoch.close()?;
        let atomic = AtomicWindow::new(comm, vec![1u8; 2])?;
        assert_usage(atomic.get(0, 2), "get(part 0, at 2) at ");
        assert_usage(atomic.put(1, 1, &[1, 2]), "elements 1..3 are not all");
        assert_usage(atomic.fetch_and_op(3, 0, 1, op::Sum), "the target 3");
        let mut one = [0];
        let unequal = atomic.get_accumulate(0, 0, &[1, 2], &mut one, op::Sum);
        assert_usage(unequal, "2 elements cannot be exchanged for 1");
        comm.barrier()
    });
    report.into_result().unwrap();
}

#[test]
fn a_part_that_is_exposed_cannot_be_exposed_again() {
    let report = run("post twice", 2, |comm| {
        let win = comm.window(vec![0; 1])?;
        let (line, none) = (line!(), win.post(&[])?);
        let here = format!("{}:{line}:", file!());
        assert_usage(win.post(&[0]), &here);
        none.wait()?;
        let exposure = win.post(&[comm.rank()])?;
        let access = win.start(&[comm.rank()])?;
        assert_usage(access.read(1 - comm.rank()), "is not one of the targets");
        assert_usage(
            access.put(1 - comm.rank(), 0, &[1]),
            "is not one of the targets",
        );
        access.put(comm.rank(), 0, &[8])?;
        access.complete()?;
        exposure.wait()?;
        assert_eq!(*win.local_mut()?, [8]);
        Ok(())
    });
    report.into_result().unwrap();
}

#[test]
fn windows_are_refused_inside_operators() {
    let refused = AtomicUsize::new(0);
    let report = run("inside operators", 2, |comm| {
        let mut win = Mutex::new(comm.window(vec![0; 1])?);
        let mut v = [1];
        let op = |a, b| {
            let mut win = win.lock().unwrap();
            assert_usage(win.lock_shared(0), "an operator may not call");
            assert_usage(win.fence(), "an operator may not call");
            refused.fetch_add(1, Ordering::Relaxed);
            a + b
        };
        comm.all_reduce(&mut v, op)?;
        let win = win.get_mut().unwrap();
        win.fence()?.close()?;
        Ok(v[0])
    });
    assert_eq!(report.into_result().unwrap(), [2, 2]);
    assert!(refused.into_inner() > 0);
}

#[test]
fn an_operator_that_panics_ends_the_target_and_no_other_rank_hangs() {
    let report = run("panic in an operator", 3, |comm| {
        let mut win = comm.window(vec![1u64; 2])?;
        let epoch = win.fence()?;
        if comm.rank() == 0 {
            let op = |_: u64, _: u64| panic!("no such sum");
            epoch.accumulate(1, 0, &[1, 1], op)?;
        }
        epoch.close()
    });
    assert!(matches!(report.outcomes[1], Outcome::Panicked { .. }));
    for rank in [0, 2] {
        assert_eq!(error(&report, rank).culprit(), Some(1), "{report:?}");
    }
}

// ── epochs that are polled ──

/// Puts into the right neighbour's part, and polls the end of the own exposure.
fn polled(comm: &Comm, turns: u64) -> Result<u64> {
    let win = comm.window(vec![0_u64; 2])?;
    for turn in 1..=turns {
        let mut exposure = win.post(&[left(comm)])?;
        let access = win.start(&[right(comm)])?;
        access.put(right(comm), 1, &[turn + comm.rank() as u64])?;
        access.complete()?;
        while !exposure.test()? {}
        assert!(exposure.test()?);
        assert_eq!(win.local_mut()?[1], turn + left(comm) as u64);
    }
    Ok(comm.rank() as u64)
}

#[test]
fn an_exposure_that_is_polled_ends_when_all_origins_are_through() {
    for ranks in (1..=17).chain([33]) {
        let case = || format!("{ranks} ranks");
        guarded(&case, || {
            World::new(ranks).run(|comm| polled(comm, 3)).unwrap()
        });
    }
    for seed in 0..10 {
        let world = || World::new(4).seed(seed);
        guarded(&|| format!("seed {seed}"), || {
            world().run(|comm| polled(comm, 2)).unwrap()
        });
    }
}

#[test]
fn a_test_learns_that_an_origin_has_left_and_the_epoch_is_over_then() {
    let report = run("left", 2, |comm| {
        let win = comm.window(vec![1; 1])?;
        if comm.rank() == 1 {
            return Ok(());
        }
        let mut exposure = win.post(&[1])?;
        let error = loop {
            match exposure.test() {
                Ok(over) => assert!(!over),
                Err(error) => break error,
            }
        };
        assert_eq!(error.culprit(), Some(1), "{error}");
        assert!(exposure.test()?);
        exposure.wait()?;
        drop(win.post(&[])?);
        Err(error)
    });
    assert_eq!(report.culprit, Some(1), "{report:?}");
}

#[test]
fn an_epoch_that_a_test_has_ended_does_not_end_the_next() {
    let report = run("two epochs", 2, |comm| {
        let win = comm.window(vec![0; 1])?;
        if comm.rank() == 1 {
            for value in [3, 4] {
                let access = win.start(&[0])?;
                access.put(0, 0, &[value])?;
                access.complete()?;
                await_signal(comm, 0)?;
            }
            return Ok(0);
        }
        let mut first = win.post(&[1])?;
        while !first.test()? {}
        assert_eq!(win.local_mut()?[0], 3);
        let second = win.post(&[1])?;
        first.wait()?; // it is over: the second is not
        signal(comm, 1)?;
        second.wait()?;
        signal(comm, 1)?;
        Ok(win.local_mut()?[0])
    });
    assert_eq!(report.outcomes[0].value(), Some(&4), "{report:?}");
}
