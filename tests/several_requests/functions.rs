//! Requests whose results pass through functions, and operators that look at requests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rankfold::{ErrorKind, Request, World, WorldError};

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
