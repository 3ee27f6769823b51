//! Parts that the threads of a rank hand over.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use rankfold::partitioned::{RecvParts, SendParts};
use rankfold::{ErrorKind, World};

use super::{around_by_threads, run};
use crate::common::assert_usage;
use crate::support::guarded;

#[test]
fn threads_of_a_rank_hand_over_its_parts() {
    for ranks in 1..=17 {
        let report = run(&format!("{ranks} ranks"), ranks, |comm| {
            around_by_threads(comm, 4, 2)
        });
        report.into_result().unwrap();
    }
}

#[test]
fn a_part_leaves_while_another_thread_still_works() {
    let report = run("early", 2, |comm| {
        if comm.rank() == 1 {
            let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
            received.start()?;
            while !received.arrived(0)? {}
            assert_eq!(received.part(0)?, [7]);
            comm.send(0, 1, &[1])?;
            received.wait()?;
            assert_eq!(received.elements()?, [7, 8]);
            return Ok(());
        }
        let mut sent = SendParts::new(comm, 1, 0, 2, vec![7, 8])?;
        sent.start()?;
        sent.ready(0)?;
        comm.recv::<i32>(1, 1)?; // part 0 was read
        let (given, ready) = sent.split()?;
        assert_eq!(
            given.iter().map(|part| part.number()).collect::<Vec<_>>(),
            [1]
        );
        let met = Barrier::new(2);
        thread::scope(|threads| {
            for part in given {
                threads.spawn(|| {
                    met.wait();
                    part.ready();
                });
            }
            met.wait();
            ready.send()
        })?;
        sent.wait()
    });
    report.into_result().unwrap();
}

#[test]
fn a_part_that_its_thread_drops_is_reported_and_can_still_be_declared_ready() {
    let report = run("dropped", 2, |comm| {
        if comm.rank() == 1 {
            let mut received = RecvParts::new(comm, 0, 0, 3, vec![0; 3])?;
            received.start()?;
            received.wait()?;
            assert_eq!(received.elements()?, [1, 2, 3]);
            return Ok(());
        }
        let mut sent = SendParts::new(comm, 1, 0, 3, vec![1, 2, 3])?;
        sent.start()?;
        let (given, ready) = sent.split()?;
        let refused = thread::scope(|threads| {
            for part in given {
                threads.spawn(move || {
                    if part.number() == 1 {
                        part.ready();
                    }
                });
            }
            ready.send()
        });
        assert_usage(refused, "part 0 and 1 more are not ready");
        sent.ready(2)?;
        // The rank does not send: what is declared ready is not.
        let (given, ready) = sent.split()?;
        drop(ready);
        given.into_iter().for_each(|part| part.ready());
        assert_usage(sent.wait(), "part 0 is not ready");
        sent.ready(0)?;
        sent.wait()
    });
    report.into_result().unwrap();
}

#[test]
fn a_part_that_the_rank_itself_keeps_or_forgets_is_waited_for_until_the_timeout() {
    for forgets in [false, true] {
        let report = guarded(&|| format!("forgets: {forgets}"), || {
            let world = World::new(1).timeout(Duration::from_millis(20));
            world.run_each(|comm| {
                let mut sent = SendParts::new(comm, 0, 0, 2, vec![0_u64; 2])?;
                sent.start()?;
                let (mut parts, ready) = sent.split()?;
                let kept = parts.remove(1);
                parts.remove(0).ready();
                if forgets {
                    std::mem::forget(kept);
                    return ready.send();
                }
                ready.send().inspect_err(|_| drop(kept))
            })
        });
        let error = report.outcomes[0].error();
        let kind = error.map(|error| error.kind());
        assert!(
            matches!(kind, Some(ErrorKind::TimedOut { .. })),
            "{report:?}"
        );
    }
}

#[test]
fn parts_of_no_elements_are_given_to_threads_too() {
    let report = run("no elements", 1, |comm| {
        let mut sent = SendParts::<u8>::new(comm, 0, 0, 3, Vec::new())?;
        let mut received = RecvParts::<u8>::new(comm, 0, 0, 2, Vec::new())?;
        sent.start()?;
        let (given, ready) = sent.split()?;
        assert_eq!(given.len(), 3);
        given.into_iter().for_each(|part| part.ready());
        ready.send()?;
        sent.wait()?;
        received.start()?;
        assert!(received.arrived(1)?);
        received.wait()
    });
    report.into_result().unwrap();
}
