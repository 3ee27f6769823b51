//! Parts that are never ready, and waits that cannot end.

use rankfold::partitioned::{RecvParts, SendParts};
use rankfold::{Buffering, World};

use super::{left, right, run};
use crate::common::assert_usage;
use crate::support::guarded;

#[test]
fn a_part_that_is_never_ready_is_a_deadlock_that_names_both_lines() {
    let mut lines = [0; 2];
    let first = line!();
    let report = run("never ready", 2, |comm| {
        if comm.rank() == 0 {
            let mut sent = SendParts::new(comm, 1, 6, 3, vec![0; 3])?;
            sent.start()?;
            sent.ready(0)?;
            sent.ready(2)?;
            comm.recv::<u8>(1, 0)?; // 7 lines below `first`
            return sent.ready(1);
        }
        let mut received = RecvParts::new(comm, 0, 6, 3, vec![0; 3])?;
        received.start()?;
        received.wait()?; // 12 lines below
        comm.send(0, 0, &[0_u8])
    });
    lines[0] = first + 7;
    lines[1] = first + 12;
    assert_eq!(report.deadlocks.len(), 1, "{report:?}");
    let knot = &report.deadlocks[0];
    assert_eq!(knot.cycle, [0, 1]);
    let found: Vec<_> = knot
        .stuck
        .iter()
        .map(|one| (one.call.as_str(), one.site.line()))
        .collect();
    assert_eq!(
        found,
        [
            ("recv(from 1, tag 0)", lines[0]),
            ("recv_parts(from 0, tag 6)", lines[1])
        ]
    );
}

#[test]
fn two_that_wait_before_they_declare_ready_are_a_deadlock() {
    for ranks in [2, 3, 7] {
        let report = run("all wait", ranks, |comm| {
            let mut sent = SendParts::new(comm, right(comm), 0, 2, vec![0; 2])?;
            let mut received = RecvParts::new(comm, left(comm), 0, 2, vec![0; 2])?;
            sent.start()?;
            received.start()?;
            sent.ready(0)?;
            received.wait()?;
            sent.ready(1)?;
            sent.wait()
        });
        let all: Vec<usize> = (0..ranks).collect();
        let mut cycle = report.deadlocks[0].cycle.to_vec();
        cycle.sort_unstable();
        assert_eq!(cycle, all, "{report:?}");
    }
}

#[test]
fn without_room_two_that_wait_for_their_sends_are_a_deadlock_over_the_parts() {
    let report = guarded(&|| "no room".into(), || {
        World::new(2).buffering(Buffering::Zero).run_each(|comm| {
            let other = 1 - comm.rank();
            let mut sent = SendParts::new(comm, other, 4, 1, vec![0])?;
            let mut received = RecvParts::new(comm, other, 4, 1, vec![0])?;
            sent.start()?;
            received.start()?;
            sent.ready(0)?;
            assert!(!sent.test()?);
            sent.wait()?;
            received.wait()
        })
    });
    let knot = &report.deadlocks[0];
    assert_eq!(knot.cycle, [0, 1], "{report:?}");
    assert!(knot.to_string().contains("ready(to 1, tag 4)"), "{knot}");
}

// ── wrong use ──

#[test]
fn a_wait_for_a_part_that_is_not_ready_is_refused_at_once() {
    let report = run("wait too early", 1, |comm| {
        let mut sent = SendParts::new(comm, 0, 0, 4, vec![1, 2, 3, 4])?;
        let mut received = RecvParts::new(comm, 0, 0, 4, vec![0; 4])?;
        sent.wait()?; // inactive
        received.wait()?;
        sent.start()?;
        assert_usage(sent.wait(), "part 0 and 3 more are not ready");
        assert!(!sent.test()?);
        (0..3).try_for_each(|part| sent.ready(part))?;
        let error = sent.wait().unwrap_err().to_string();
        assert!(
            error.contains("wait of send_parts(to 0, tag 0) at tests/partitioned/deadlocks.rs"),
            "{error}"
        );
        assert!(error.contains("part 3 is not ready"), "{error}");
        sent.ready(3)?;
        received.start()?;
        received.wait()?;
        assert!(sent.test()?);
        assert!(sent.test()? && received.test()?);
        Ok(())
    });
    report.into_result().unwrap();
}
