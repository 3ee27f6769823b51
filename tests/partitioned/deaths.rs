//! Ranks that die or leave while parts are on the way.

use rankfold::partitioned::{RecvParts, SendParts};
use rankfold::{ErrorKind, Outcome};

use super::{around, around_by_threads, left, right, run};
use crate::support::sweep::{sweep, sweep_bufferings};

#[test]
fn a_rank_dies_in_partitioned_messages() {
    sweep("partitioned", 2..=5, 1.0, |comm| {
        around(comm, (2, 4, 8), 2)?;
        Ok(comm.rank() as u64)
    });
}

#[test]
fn a_rank_dies_in_partitioned_messages_without_room() {
    sweep_bufferings("partitioned", |comm| {
        let mut sent = SendParts::new(comm, right(comm), 0, 2, vec![comm.rank() as u64; 30])?;
        let mut received = RecvParts::new(comm, left(comm), 0, 3, vec![0; 30])?;
        for _ in 0..2 {
            sent.start()?;
            received.start()?;
            sent.ready(1)?;
            sent.ready(0)?;
            received.wait()?;
            sent.wait()?;
        }
        Ok(received.elements()?.iter().sum())
    });
}

#[test]
fn a_rank_dies_while_its_threads_work() {
    sweep("partitioned, threads", 2..=3, 1.0, |comm| {
        around_by_threads(comm, 2, 1)?;
        Ok(comm.rank() as u64)
    });
}

#[test]
fn a_receiver_learns_that_the_sender_has_left_without_a_part() {
    let report = run("left", 2, |comm| {
        if comm.rank() == 0 {
            let mut sent = SendParts::new(comm, 1, 0, 2, vec![1, 2])?;
            sent.start()?;
            return sent.ready(1);
        }
        let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        received.start()?;
        let error = loop {
            match received.arrived(0) {
                Ok(there) => assert!(!there),
                Err(error) => break error,
            }
        };
        assert!(
            matches!(error.kind(), ErrorKind::RankGone { .. }),
            "{error}"
        );
        assert!(received.arrived(1)?);
        assert_eq!(received.part(1)?, [2]);
        received.wait()
    });
    let Outcome::Failed(error) = &report.outcomes[1] else {
        panic!("{report:?}");
    };
    assert_eq!(error.culprit(), Some(0));
    assert!(
        error.to_string().contains("tests/partitioned/deaths.rs"),
        "{error}"
    );
}
