//! Requests that nobody has waited for: in the report, and every value dropped once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::{Buffering, Comm, ErrorKind, Request, Result, World, WorldError};

use super::BUFFERINGS;

/// Returns the calls of the unfinished requests in the error of a strict world.
fn unfinished(program: impl Fn(&Comm) -> Result<()> + Sync) -> Vec<String> {
    let error = World::new(1).strict().run(program).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("neither waited for nor cancelled"),
        "{error}"
    );
    let WorldError::Unfinished(requests) = error else {
        panic!("{error}")
    };
    assert!(
        requests
            .iter()
            .all(|one| one.site.file().ends_with("leftovers.rs"))
    );
    requests.into_iter().map(|one| one.call).collect()
}

#[test]
fn requests_that_were_dropped_are_in_the_report() {
    let calls = unfinished(|comm| {
        drop(comm.isend(0, 1, vec![1])?);
        drop(comm.irecv::<i32>(0, 2)?);
        // A sent message is delivered; a message received for the dropped request waits for the next receive.
        let dropped = comm.irecv::<i32>(0, 1)?;
        assert!(dropped.is_done());
        drop(dropped);
        assert_eq!(comm.recv::<i32>(0, 1)?.0, [1]);
        Ok(())
    });
    assert_eq!(
        calls,
        [
            "isend(to 0, tag 1)",
            "irecv(from 0, tag 2)",
            "irecv(from 0, tag 1)"
        ]
    );
}

#[test]
fn what_a_failed_or_a_well_ended_request_leaves_is_not_in_the_report() {
    World::new(1)
        .strict()
        .run(|comm| {
            comm.irecv::<u8>(0, 0)?.cancel()?;
            let stuck = comm.irecv::<u8>(0, 0)?.wait().unwrap_err();
            assert!(matches!(stuck.kind(), ErrorKind::Deadlock(_)), "{stuck}");
            let both = [comm.irecv::<u8>(0, 0)?, comm.irecv::<u8>(0, 1)?];
            Request::wait_all(both).unwrap_err();
            let mut buf = [0u8];
            let failed = comm.scope(|s| {
                s.irecv_into(0, 0, &mut buf)?;
                Err::<(), _>(rankfold::Error::user("of its own"))
            });
            failed.unwrap_err();
            // None of these requests matches a message any more.
            comm.send(0, 0, &[3u8])?;
            assert_eq!(comm.recv::<u8>(0, 0)?.0, [3]);
            Ok(())
        })
        .unwrap();
}

/// Counts how often it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn every_value_of_a_request_is_dropped_once_whatever_becomes_of_it() {
    for buffering in BUFFERINGS {
        let drops = Arc::new(AtomicUsize::new(0));
        let value = || Counted(drops.clone());
        let report = World::new(2).buffering(buffering).run_each(|comm| {
            let me = comm.rank();
            // Received; received and not taken; sent and dropped; sent and cancelled, or not.
            let sent = comm.isend_value(me, 0, value())?;
            drop(comm.irecv_value::<Counted>(me, 0)?.wait()?.0);
            sent.wait()?;
            let sent = comm.isend_value(me, 1, value())?;
            drop(comm.irecv_value::<Counted>(me, 1)?);
            sent.wait()?;
            drop(comm.isend_value(me, 2, value())?);
            let taken_back = comm.isend_value(me, 3, value())?.cancel()?;
            assert!(!taken_back || buffering != Buffering::Unbounded);
            comm.iprobe(me, 4).map(|_| ())
        });
        assert!(
            report
                .outcomes
                .iter()
                .all(|outcome| outcome.value().is_some())
        );
        drop(report);
        assert_eq!(drops.load(Ordering::Relaxed), 8, "{buffering:?}");
    }
}
