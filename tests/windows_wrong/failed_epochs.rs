//! Epochs of some ranks that have failed, and those that come after them.

use rankfold::{Comm, ErrorKind, Fault, Result, World};

use super::run;
use crate::common::{assert_usage, await_signal, signal};
use crate::support::guarded;

#[test]
fn what_was_put_for_an_exposure_that_failed_is_not_written_by_the_next() {
    let report = run("puts of a failed exposure", 2, |comm| {
        let win = comm.window(vec![0_u64; 1])?;
        if comm.rank() == 1 {
            let access = win.start(&[0])?;
            access.put(0, 0, &[111])?;
            access.complete()?;
            win.start(&[0])?.complete()?;
            return Ok(0);
        }
        let exposure = win.post(&[1])?;
        let mine = win.lock_shared(0)?;
        assert_usage(exposure.wait(), "locked the part already");
        drop(mine);
        win.local_mut()?[0] = 5;
        win.post(&[1])?.wait()?;
        Ok(win.local_mut()?[0])
    });
    assert_eq!(report.outcomes[0].value(), Some(&5), "{report:?}");
}

#[test]
fn an_access_to_an_exposure_that_has_failed_does_not_complete_the_next() {
    let report = run("access to a failed exposure", 3, |comm| {
        let win = comm.window(vec![0_u64; 1])?;
        match comm.rank() {
            2 => await_signal(comm, 1)?,
            1 => {
                let access = win.start(&[0])?;
                access.put(0, 0, &[7])?;
                signal(comm, 2)?;
                await_signal(comm, 0)?; // rank 0 has posted anew
                access.complete()?;
                let access = win.start(&[0])?;
                access.put(0, 0, &[8])?;
                access.complete()?;
            }
            _ => {
                let failed = win.post(&[1, 2])?.wait().unwrap_err();
                assert_eq!(failed.culprit(), Some(2), "{failed}");
                let exposure = win.post(&[1])?;
                signal(comm, 1)?;
                exposure.wait()?;
            }
        }
        if comm.rank() == 0 {
            return Ok(win.local_mut()?[0]);
        }
        Ok(0)
    });
    assert_eq!(report.outcomes[0].value(), Some(&8), "{report:?}");
    assert_eq!(report.outcomes[1].value(), Some(&0), "{report:?}");
}

#[test]
fn a_start_that_fails_at_one_target_can_be_made_again_for_the_others() {
    let report = run("failed start", 3, |comm| {
        let win = comm.window(vec![0_u64; 1])?;
        match comm.rank() {
            0 => {
                let exposure = win.post(&[1])?;
                exposure.wait()?;
                return Ok(win.local_mut()?[0]);
            }
            1 => {
                let failed = win.start(&[0, 2]).err().unwrap();
                assert_eq!(failed.culprit(), Some(2), "{failed}");
                let access = win.start(&[0])?;
                access.put(0, 0, &[7])?;
                access.complete()?;
            }
            _ => {}
        }
        Ok(0)
    });
    assert_eq!(report.outcomes[0].value(), Some(&7), "{report:?}");
}

#[test]
fn a_start_of_a_part_that_this_rank_has_locked_can_be_made_again_later() {
    let report = run("start of a locked part", 2, |comm| {
        let win = comm.window(vec![0_u64; 1])?;
        if comm.rank() == 0 {
            win.post(&[1])?.wait()?;
            return Ok(win.local_mut()?[0]);
        }
        let locked = win.lock_shared(0)?;
        assert_usage(win.start(&[0]).map(drop), "locked the part already");
        drop(locked);
        let access = win.start(&[0])?;
        access.put(0, 0, &[7])?;
        access.complete()?;
        Ok(0)
    });
    assert_eq!(report.outcomes[0].value(), Some(&7), "{report:?}");
}

/// Whether the own part can be exposed again after an error of rank 0's operation `at`.
fn exposed_again(comm: &Comm, polls: bool) -> Result<()> {
    let win = comm.window(vec![0_u64; 1])?;
    if comm.rank() == 1 {
        return comm.barrier();
    }
    let mut exposure = win.post(&[])?;
    let ended = match polls {
        true => exposure.test().map(drop),
        false => exposure.wait(),
    };
    if let Err(error) = &ended {
        assert!(matches!(error.kind(), ErrorKind::Injected), "{error}");
    }
    win.post(&[])?.wait()?;
    comm.barrier()?;
    ended
}

#[test]
fn a_wait_or_a_test_that_is_refused_ends_the_exposure() {
    for polls in [false, true] {
        let refused = (1..20).filter(|at| {
            let case = || format!("error at operation {at}, polls: {polls}");
            let report = guarded(&case, || {
                let world = World::new(2).inject(0, *at, Fault::Error);
                world.run_each(|comm| exposed_again(comm, polls))
            });
            let Some(error) = report.outcomes[0].error() else {
                return false;
            };
            assert!(matches!(error.kind(), ErrorKind::Injected), "{error}");
            let text = error.to_string();
            text.contains("wait at") || text.contains("test at")
        });
        assert!(refused.count() > 0);
    }
}

#[test]
fn a_wait_inside_an_operator_ends_the_exposure() {
    let report = run("wait inside an operator", 2, |comm| {
        let win = comm.window(vec![0_u64; 1])?;
        let exposure = std::cell::RefCell::new(Some(win.post(&[])?));
        let mut sum = [1];
        comm.all_reduce(&mut sum, |a: i32, b: i32| {
            if let Some(exposure) = exposure.take() {
                assert_usage(exposure.wait(), "may not call a communicator");
            }
            a + b
        })?;
        if exposure.take().is_none() {
            win.post(&[])?.wait()?;
        }
        Ok(())
    });
    report.into_result().unwrap();
}
