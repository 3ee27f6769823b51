//! Requests that outlive their communicator, rank or run.

use std::cell::RefCell;

use rankfold::{ErrorKind, Outcome, Request, World};

use super::{Received, succeeds};
use crate::support::guarded;

#[test]
fn requests_of_a_revoked_communicator_are_over_and_others_stay() {
    World::new(1)
        .strict()
        .run(|comm| {
            let twin = comm.dup()?;
            let mut both = [twin.irecv::<u8>(0, 0)?, comm.irecv::<u8>(0, 0)?];
            twin.shrink()?;
            assert!(Request::test_any(&mut both).is_err());
            assert!(Request::test_any(&mut both)?.is_none());
            comm.send(0, 0, &[1u8])?;
            assert_eq!(Request::test_any(&mut both)?.unwrap().0, 1);
            Ok(())
        })
        .unwrap();
}

/// The destructors of a thread's variables run after the rank's function.
struct Kept(Vec<Request<'static, Received>>);

thread_local! {
    static KEPT: RefCell<Kept> = const { RefCell::new(Kept(Vec::new())) };
}

#[test]
fn a_request_outlives_its_communicator() {
    succeeds(3, |comm| {
        let (right, left) = ((comm.rank() + 1) % 3, (comm.rank() + 2) % 3);
        let twin = comm.dup()?;
        let coming = twin.irecv::<usize>(left, 0)?;
        let moved = twin.irecv_value::<String>(left, 1)?;
        let sent = twin.issend(right, 0, vec![comm.rank()])?;
        let value = twin.isend_value(right, 1, comm.rank().to_string())?;
        drop(twin);
        comm.barrier()?;
        let (got, status) = coming.wait()?;
        assert_eq!((got, status.source), (vec![left], left));
        assert_eq!(moved.wait()?.0, left.to_string());
        assert_eq!(sent.wait()?, [comm.rank()]);
        value.wait()
    });
}

#[test]
fn a_request_of_a_rank_that_has_ended_is_over() {
    let seats = World::connect(1);
    let comm = seats.take(0).unwrap().enter();
    let twin = comm.dup().unwrap();
    let mut coming = comm.irecv::<usize>(0, 0).unwrap();
    let never = comm.irecv::<usize>(0, 0).unwrap();
    comm.send(0, 0, &[5usize]).unwrap();
    drop(comm);
    assert_eq!(coming.test().unwrap().unwrap().0, [5]); // the rank still has a communicator
    drop(twin);
    assert!(never.is_done());
    let error = never.wait().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
}

#[test]
fn requests_left_in_a_thread_s_variables_hang_no_rank_and_end_with_it() {
    for round in 0..3 {
        let case = || format!("round {round}");
        let report = guarded(&case, || {
            World::new(2).run_each(|comm| {
                let never = comm.irecv::<usize>(1 - comm.rank(), 0)?;
                KEPT.with(|kept| kept.borrow_mut().0.push(never));
                match comm.rank() {
                    0 => Ok(()),
                    _ => comm.recv::<u8>(0, 1).map(drop), // rank 0 has returned
                }
            })
        });
        assert!(matches!(report.outcomes[0], Outcome::Returned(())));
        let error = report.outcomes[1].error().unwrap();
        assert_eq!(error.culprit(), Some(0), "{error}");
    }
}

#[test]
fn a_request_of_an_earlier_run_is_over_in_the_next() {
    let team = World::new(2).start().unwrap();
    for run in 0..4 {
        let result = team.run(|comm| {
            let left = KEPT.with(|kept| std::mem::take(&mut kept.borrow_mut().0));
            assert_eq!(left.len(), run.min(1));
            for one in left {
                assert!(one.wait().is_err(), "its run has ended");
            }
            let never = comm.irecv::<usize>(1 - comm.rank(), 0)?;
            KEPT.with(|kept| kept.borrow_mut().0.push(never));
            comm.send(1 - comm.rank(), 1, &[run])?;
            assert_eq!(comm.recv::<usize>(1 - comm.rank(), 1)?.0, [run]);
            comm.barrier()
        });
        result.unwrap();
    }
    // Rank 0 of a team runs on this thread.
    KEPT.with(|kept| kept.borrow_mut().0.clear());
}

/// Another of the requests would complete only after that.
#[test]
fn all_end_as_soon_as_a_message_does_not_fit() {
    succeeds(3, |comm| match comm.rank() {
        0 => {
            let other = comm.irecv::<u64>(2, 8)?;
            let failed = Request::wait_all([other, comm.irecv::<u64>(1, 7)?]);
            let error = failed.unwrap_err();
            let wrong_type = matches!(error.kind(), ErrorKind::WrongType { .. });
            assert!(wrong_type, "{error}");
            comm.send(2, 9, &[0u8])?;
            assert_eq!(comm.recv::<u64>(2, 8)?.0, [5]);
            assert_eq!(comm.recv::<u8>(1, 7)?.0, [1]);
            Ok(())
        }
        1 => {
            let bad = comm.isend(0, 7, vec![1u8])?;
            comm.send(2, 6, &[0u8])?;
            bad.wait().map(drop)
        }
        _ => {
            // Without that message ranks 0 and 2 would wait for each other.
            comm.recv::<u8>(1, 6)?;
            comm.recv::<u8>(0, 9)?;
            comm.send(0, 8, &[5u64])
        }
    });
}
