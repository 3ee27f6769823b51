//! Ranks that die with windows.

use rankfold::{AtomicWindow, op};

use super::{every, left, right, run};
use crate::common::{await_signal, signal};

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
