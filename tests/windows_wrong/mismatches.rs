//! Calls that do not match, and arguments and places that do not exist.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::{AtomicWindow, Outcome, World, op};

use super::{calls, error, run};
use crate::common::assert_usage;
use crate::support::guarded;

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
        let end = format!(
            "2 elements from {} on are not all in the part of rank 0, which has 4",
            usize::MAX
        );
        assert_usage(epoch.put(0, usize::MAX, &[1, 2]), &end);
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
fn exact_sums_are_refused_where_numbers_are_folded_one_after_the_other() {
    let report = run("exact sums", 2, |comm| {
        let told = "op::SumExact adds the numbers of all ranks at once";
        let mut win = comm.window(vec![0.5; 2])?;
        let epoch = win.fence()?;
        assert_usage(epoch.accumulate(0, 1, &[1e16], op::SumExact), told);
        epoch.close()?;
        let (exposed, access) = (win.post(&[comm.rank()])?, win.start(&[comm.rank()])?);
        let refused = access.accumulate(comm.rank(), 1, &[1e16], op::SumExact);
        assert_usage(refused, told);
        access.complete()?;
        exposed.wait()?;
        assert_eq!(win.local_mut()?[..], [0.5; 2]);
        let atomic = AtomicWindow::new(comm, vec![0.5; 2])?;
        let mut before = [0.0];
        assert_usage(atomic.accumulate(0, 1, &[1e16], op::SumExact), told);
        assert_usage(atomic.fetch_and_op(0, 1, 1e16, op::SumExact), told);
        let refused = atomic.get_accumulate(0, 1, &[1e16], &mut before, op::SumExact);
        assert_usage(refused, told);
        assert_eq!(atomic.get(0, 1)?, 0.5);
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
            assert_usage(win.lock_shared(0), "may not call a communicator");
            assert_usage(win.fence(), "may not call a communicator");
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
