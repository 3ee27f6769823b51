//! Requests whose results pass through functions, and operators that look at requests.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rankfold::{ErrorKind, Fault, Request, World, WorldError};

use super::succeeds;
use crate::support::{guarded, scale};

#[test]
fn a_mapped_request_is_the_same_request() {
    World::new(1)
        .strict()
        .run(|comm| {
            let never = comm
                .irecv::<u8>(0, 0)?
                .map(|_| panic!("it never completes"));
            assert!(never.cancel()?);
            let wrong = comm.irecv::<u8>(0, 0)?.map(|_| panic!("it does not fit"));
            comm.send(0, 0, &[1u32])?;
            let error = wrong.wait().unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::WrongType { .. }));
            let mut fits = comm.irecv::<u32>(0, 0)?.map(|(got, _)| got[0] + 1);
            assert_eq!(fits.test()?, Some(2));
            let over = fits.map(|number| number + 1);
            assert!(over.is_done());
            assert!(matches!(
                over.wait().unwrap_err().kind(),
                ErrorKind::Usage(_)
            ));
            Ok(())
        })
        .unwrap();
    let error = World::new(1).strict().run(|comm| {
        drop(comm.irecv::<u8>(0, 3)?.map(|_| ()));
        Ok(())
    });
    let Err(WorldError::Unfinished(unfinished)) = error else {
        panic!("{error:?}")
    };
    assert_eq!(unfinished.len(), 1);
    assert_eq!(unfinished[0].call, "irecv(from 0, tag 3)");
}

#[test]
fn a_function_that_panics_or_calls_ends_as_an_operator_does() {
    let report = guarded(&|| "a panic in map".into(), || {
        World::new(2).run_each(|comm| {
            if comm.rank() == 1 {
                return comm.recv::<u8>(0, 1).map(drop);
            }
            let coming = comm.irecv::<u8>(0, 0)?.map(|_| panic!("of its own"));
            comm.send(0, 0, &[0u8])?;
            coming.wait()
        })
    });
    let error = report.into_result().unwrap_err();
    assert!(
        matches!(error, WorldError::Panicked { rank: 0, .. }),
        "{error}"
    );
    World::new(1)
        .run(|comm| {
            let coming = comm.irecv::<u8>(0, 0)?.map(|_| comm.send(0, 1, &[0u8]));
            comm.send(0, 0, &[0u8])?;
            let refused = coming.wait()?.unwrap_err();
            assert!(matches!(refused.kind(), ErrorKind::Usage(_)), "{refused}");
            let says = "a function that runs inside a call, as an operator does, may not call";
            assert!(refused.to_string().contains(says), "{refused}");
            assert!(comm.iprobe(0, 1)?.is_none());
            comm.send(0, 1, &[0u8])?; // calls are allowed again
            comm.discard(0, 1).map(drop)
        })
        .unwrap();
}

/// What a rank sent before it returned is there, although it was not when the requests were first looked at, and another
/// request stays open for long.
#[test]
fn a_rank_that_sent_and_returned_is_not_missed_while_another_request_is_open() {
    for round in 0..(2000.0 * scale()) as usize {
        let polls = AtomicUsize::new(0);
        let report = guarded(&|| format!("round {round}"), || {
            World::new(3).run_each(|comm| match comm.rank() {
                0 => {
                    let mut both = [comm.irecv::<u8>(1, 0)?, comm.irecv::<u8>(2, 0)?];
                    while Request::test_all(&mut both)?.is_none() {
                        polls.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                }
                1 => {
                    (0..round * 7919 % 3000).for_each(|_| std::hint::spin_loop());
                    comm.send(0, 0, &[1u8])
                }
                _ => {
                    while polls.load(Ordering::Relaxed) <= 1000 {
                        thread::yield_now();
                    }
                    comm.send(0, 0, &[2u8])
                }
            })
        });
        let done = report.into_result();
        done.unwrap_or_else(|error| panic!("round {round}: {error}"));
    }
}

/// Inside an operator nothing may wait for the scheduler, which waits for this rank.
#[test]
fn a_look_at_a_request_inside_an_operator_does_not_wait() {
    for length in [3, 5000] {
        succeeds(3, |comm| {
            let coming = comm.irecv::<u8>(0, 3)?;
            let mut v = vec![1u64; length];
            comm.all_reduce(&mut v, |a: u64, b: u64| a + b + u64::from(coming.is_done()))?;
            assert!(v.iter().all(|sum| *sum == 3));
            coming.cancel().map(drop)
        });
    }
}

/// As if the call had not been made.
#[test]
fn a_test_that_is_refused_ends_no_request() {
    succeeds(1, |comm| {
        let both = [comm.irecv::<u8>(0, 0)?, comm.irecv::<u8>(0, 1)?];
        let both = RefCell::new(both);
        let asks = comm.irecv::<u8>(0, 2)?.map(|_| {
            let all = Request::test_all(&mut *both.borrow_mut()).unwrap_err();
            let any = Request::test_any(&mut *both.borrow_mut()).unwrap_err();
            [all, any].map(|error| matches!(error.kind(), ErrorKind::Usage(_)))
        });
        comm.send(0, 2, &[0u8])?;
        assert_eq!(asks.wait()?, [true, true]);
        let mut both = both.into_inner();
        assert!(Request::test_all(&mut both)?.is_none());
        comm.send(0, 0, &[5u8])?;
        comm.send(0, 1, &[6u8])?;
        let all = Request::test_all(&mut both)?.expect("both are there");
        assert_eq!((all[0].0[0], all[1].0[0]), (5, 6));
        Ok(())
    });
}

#[test]
fn a_test_whose_fault_is_injected_ends_no_request() {
    // Operations 3 to 6 of the rank are its four tests that find nothing.
    for nth in 3..=6 {
        let world = World::new(1).check(false).inject(0, nth, Fault::Error);
        let report = world.run_each(|comm| {
            let mut both = [comm.irecv::<u8>(0, 0)?, comm.irecv::<u8>(0, 1)?];
            let mut refused = 0;
            for _ in 0..4 {
                match Request::test_all(&mut both) {
                    Ok(all) => assert!(all.is_none()),
                    Err(error) => {
                        assert!(matches!(error.kind(), ErrorKind::Injected), "{error}");
                        refused += 1;
                    }
                }
            }
            comm.send(0, 0, &[5u8])?;
            comm.send(0, 1, &[6u8])?;
            let all = Request::test_all(&mut both)?.expect("both are there");
            assert_eq!((all[0].0[0], all[1].0[0]), (5, 6));
            Ok(refused)
        });
        assert_eq!(report.outcomes[0].value(), Some(&1), "{nth}: {report}");
    }
}
