//! Requests that can never complete, with the report that each must cause.

use rankfold::error::Deadlock;
use rankfold::{Buffering, Comm, ErrorKind, Outcome, Rank, Report, Request, Result, World};

use super::{BUFFERINGS, left, right};
use crate::support::guarded;

/// The result of a wrong program.
struct Run {
    ranks: usize,
    case: String,
    report: Report<()>,
}

/// Runs a wrong program from `least` to 8 ranks at these bufferings.
fn each(
    least: usize,
    bufferings: &[Buffering],
    program: fn(&Comm) -> Result<()>,
    judge: impl Fn(&Run),
) {
    for ranks in least..=8 {
        for &buffering in bufferings {
            let case = format!("{ranks} ranks, {buffering:?}");
            let world = World::new(ranks).buffering(buffering).check(false);
            let report = guarded(&|| case.clone(), || world.run_each(program));
            judge(&Run {
                ranks,
                case,
                report,
            });
        }
    }
}

impl Run {
    /// Checks that there is one knot of exactly these ranks, and that all others returned.
    fn knot(&self, stuck: &[Rank]) -> &Deadlock {
        let knots = &self.report.deadlocks;
        assert_eq!(knots.len(), 1, "{}: {knots:?}", self.case);
        let found: Vec<Rank> = knots[0].stuck.iter().map(|stuck| stuck.rank).collect();
        assert_eq!(found, stuck, "{}: {}", self.case, knots[0]);
        for (rank, outcome) in self.report.outcomes.iter().enumerate() {
            let fine = match outcome {
                Outcome::Returned(()) => !stuck.contains(&rank),
                Outcome::Failed(error) => {
                    stuck.contains(&rank) && matches!(error.kind(), ErrorKind::Deadlock(_))
                }
                _ => false,
            };
            assert!(fine, "{}: rank {rank}: {outcome:?}", self.case);
        }
        &knots[0]
    }

    /// Checks that the sends of exactly these ranks are named as needing a buffer.
    fn needs_buffer(&self, senders: &[Rank]) {
        let knot = &self.report.deadlocks[0];
        let named = knot.stuck.iter().filter(|stuck| stuck.needs_buffer);
        let named: Vec<Rank> = named.map(|stuck| stuck.rank).collect();
        assert_eq!(named, senders, "{}: {knot}", self.case);
        let says = knot.to_string().matches("this send needs a buffer").count();
        assert_eq!(says, senders.len(), "{}: {knot}", self.case);
    }
}

fn all(run: &Run) -> Vec<Rank> {
    (0..run.ranks).collect()
}

#[test]
fn everybody_waits_for_a_request_round_a_ring() {
    let program = |comm: &Comm| {
        let coming = comm.irecv::<u8>(right(comm), 0)?;
        coming.wait()?;
        comm.send(left(comm), 0, &[0u8])
    };
    each(1, &BUFFERINGS, program, |run| {
        let knot = run.knot(&all(run));
        assert_eq!(knot.cycle, all(run));
        assert!(
            knot.stuck[0].call.starts_with("wait for irecv(from"),
            "{knot}"
        );
        run.needs_buffer(&[]);
    });
}

#[test]
fn one_of_all_requests_never_completes() {
    let program = |comm: &Comm| match comm.rank() {
        0 => {
            let receives = [comm.irecv::<u8>(1, 0)?, comm.irecv::<u8>(2, 0)?];
            Request::wait_all(receives).map(|_| ())
        }
        // Rank 0 may have failed by then: the knot exists without this message.
        1 => comm.send(0, 0, &[1u8]).or(Ok(())),
        2 => comm.recv::<u8>(0, 0).map(|_| ()),
        _ => Ok(()),
    };
    each(3, &BUFFERINGS, program, |run| {
        assert_eq!(run.knot(&[0, 2]).cycle, [0, 2]);
    });
}

#[test]
fn none_of_several_requests_can_complete() {
    let program = |comm: &Comm| {
        if comm.rank() > 0 {
            return comm.recv::<u8>(0, 0).map(|_| ());
        }
        let receives = (1..comm.size()).map(|from| comm.irecv::<u8>(from, 0));
        let mut receives: Vec<_> = receives.collect::<Result<_>>()?;
        let result = Request::wait_any(&mut receives).map(|_| ());
        receives
            .into_iter()
            .try_for_each(|never| never.cancel().map(|_| ()))?;
        result
    };
    each(2, &BUFFERINGS, program, |run| {
        // A rank that is late may get the report of the knot that was found without it.
        assert_eq!(run.knot(&all(run)).cycle, [0, 1]);
    });
}

#[test]
fn everybody_sends_first_round_a_ring() {
    let program = |comm: &Comm| {
        comm.send(right(comm), 0, &[comm.rank()])?;
        comm.recv::<usize>(left(comm), 0).map(|_| ())
    };
    each(1, &[Buffering::Zero, Buffering::Bytes(7)], program, |run| {
        assert_eq!(run.knot(&all(run)).cycle, all(run));
        run.needs_buffer(&all(run));
    });
}

#[test]
fn everybody_waits_for_its_send_before_it_receives() {
    let program = |comm: &Comm| {
        comm.isend_value(right(comm), 0, comm.rank())?.wait()?;
        comm.recv_value::<usize>(left(comm), 0).map(|_| ())
    };
    each(1, &[Buffering::Zero, Buffering::Bytes(7)], program, |run| {
        assert_eq!(run.knot(&all(run)).cycle, all(run));
        run.needs_buffer(&all(run));
    });
}

#[test]
fn a_send_comes_before_the_barrier_and_its_receive_after_it() {
    let program = |comm: &Comm| {
        if comm.rank() == 0 {
            comm.send(1, 0, &[0; 500])?;
        }
        comm.barrier()?;
        match comm.rank() {
            1 => comm.recv::<i32>(0, 0).map(|_| ()),
            _ => Ok(()),
        }
    };
    each(
        2,
        &[Buffering::Zero, Buffering::Bytes(100)],
        program,
        |run| {
            let knot = &run.report.deadlocks[0];
            assert!(knot.stuck.iter().any(|stuck| stuck.rank == 1), "{knot}");
            assert_eq!(knot.cycle, [0, 1]);
            run.needs_buffer(&[0]);
        },
    );
}

#[test]
fn messages_are_received_in_the_wrong_order() {
    let program = |comm: &Comm| match comm.rank() {
        0 => {
            comm.send(1, 1, &[1u8])?;
            comm.send(1, 2, &[2u8])
        }
        1 => {
            comm.recv::<u8>(0, 2)?;
            comm.recv::<u8>(0, 1).map(|_| ())
        }
        _ => Ok(()),
    };
    each(2, &[Buffering::Zero], program, |run| {
        assert_eq!(run.knot(&[0, 1]).cycle, [0, 1]);
        run.needs_buffer(&[0]);
    });
}

#[test]
fn a_scope_waits_at_its_end_for_what_never_comes() {
    let program = |comm: &Comm| {
        let mut buf = [0u8];
        comm.scope(|s| s.irecv_into(right(comm), 0, &mut buf).map(|_| ()))
    };
    each(1, &BUFFERINGS, program, |run| {
        let knot = run.knot(&all(run));
        assert!(
            knot.stuck[0]
                .call
                .starts_with("scope, at its end, for irecv_into"),
            "{knot}"
        );
    });
}

#[test]
fn a_request_needs_a_rank_that_has_returned() {
    let program = |comm: &Comm| match comm.rank() {
        0 => comm.irecv::<u8>(1, 0)?.wait().map(|_| ()),
        _ => Ok(()),
    };
    each(2, &BUFFERINGS, program, |run| {
        let error = run.report.outcomes[0].error().unwrap();
        assert!(
            matches!(error.kind(), ErrorKind::RankGone { rank: 1, .. }),
            "{error}"
        );
        assert_eq!(run.report.culprit, Some(1), "{}", run.case);
    });
}

#[test]
fn who_tests_for_a_message_of_a_rank_that_has_returned_is_told() {
    type Poll = fn(&Comm) -> Result<bool>;
    let polls: [Poll; 3] = [
        |comm| Ok(comm.iprobe(1, 0)?.is_some()),
        |comm| Ok(comm.iprobe_matched(1, 0)?.is_some()),
        |comm| {
            let mut coming = comm.irecv::<u8>(1, 0)?;
            while !coming.is_done() {}
            Ok(coming.test()?.is_some())
        },
    ];
    for poll in polls {
        let report = World::new(2).run_each(|comm| match comm.rank() {
            0 => loop {
                if poll(comm)? {
                    return Ok(());
                }
            },
            _ => Ok(()),
        });
        let error = report.outcomes[0].error().unwrap();
        assert!(
            matches!(error.kind(), ErrorKind::RankGone { rank: 1, .. }),
            "{error}"
        );
    }
}

#[test]
fn a_send_without_a_buffer_needs_a_receiver_that_stays() {
    let program = |comm: &Comm| match comm.rank() {
        0 => comm.send(1, 0, &[1u8]),
        _ => Ok(()),
    };
    each(2, &[Buffering::Zero], program, |run| {
        let error = run.report.outcomes[0].error().unwrap();
        assert!(
            matches!(error.kind(), ErrorKind::RankGone { rank: 1, .. }),
            "{error}"
        );
        assert!(
            run.report.lost.is_empty(),
            "{}: it was taken back",
            run.case
        );
    });
}

#[test]
fn either_of_two_ranks_would_do_and_both_are_gone() {
    let report = World::new(3).run_each(|comm| match comm.rank() {
        0 => {
            let mut either = [comm.irecv::<u8>(1, 0)?, comm.irecv::<u8>(2, 0)?];
            let error = Request::wait_any(&mut either).unwrap_err();
            either
                .into_iter()
                .try_for_each(|never| never.cancel().map(|_| ()))?;
            Err::<(), _>(error)
        }
        1 => panic!("of itself"),
        _ => Ok(()),
    });
    let error = report.outcomes[0].error().unwrap();
    assert!(
        matches!(error.kind(), ErrorKind::RankGone { .. }),
        "{error}"
    );
    assert_eq!(report.culprit, Some(1));
}
