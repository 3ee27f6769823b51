//! Requests, probes and buffering, program by program: right programs that cause no report at any buffering, wrong ones
//! with the report that each must cause, and requests that are never waited for.

mod channels;
mod support;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::error::Deadlock;
use rankfold::{
    Buffering, Comm, ErrorKind, Outcome, Rank, Report, Request, Result, Source, Tag, World,
    WorldError, op,
};
use support::guarded;

/// Every way of buffering: none, a little, unlimited.
const BUFFERINGS: [Buffering; 4] = [
    Buffering::Zero,
    Buffering::Bytes(16),
    Buffering::Bytes(2000),
    Buffering::Unbounded,
];

/// Short enough to travel in its packet, and long enough to be lent.
const LENGTHS: [usize; 2] = [2, 1500];

fn right(comm: &Comm) -> Rank {
    (comm.rank() + 1) % comm.size()
}

fn left(comm: &Comm) -> Rank {
    (comm.rank() + comm.size() - 1) % comm.size()
}

// ── right programs ──

/// Runs a program on up to 8 ranks at every buffering, checked and not: all ranks return, and no message is left.
fn stays_silent(least: usize, program: impl Fn(&Comm) -> Result<()> + Sync) {
    for ranks in least..=8 {
        for buffering in BUFFERINGS {
            for check in [false, true] {
                let case = format!("{ranks} ranks, {buffering:?}, check({check})");
                let world = World::new(ranks).check(check).buffering(buffering).strict();
                let report = guarded(&|| case.clone(), || world.run_each(&program));
                report
                    .into_result()
                    .unwrap_or_else(|error| panic!("{case}: {error}"));
            }
        }
    }
}

#[test]
fn a_ring_that_receives_while_it_sends() {
    stays_silent(1, |comm| {
        for length in LENGTHS {
            let sent = comm.isend(right(comm), 0, vec![comm.rank(); length])?;
            let (got, status) = comm.recv::<usize>(left(comm), 0)?;
            assert_eq!((got, status.source), (vec![left(comm); length], left(comm)));
            assert_eq!(sent.wait()?, vec![comm.rank(); length]);
        }
        Ok(())
    });
}

#[test]
fn a_ring_that_posts_its_receive_and_then_blocks_in_its_send() {
    stays_silent(1, |comm| {
        for length in LENGTHS {
            let coming = comm.irecv::<usize>(left(comm), 0)?;
            comm.send(right(comm), 0, &vec![comm.rank(); length])?;
            assert_eq!(coming.wait()?.0, vec![left(comm); length]);
        }
        Ok(())
    });
}

#[test]
fn a_ring_of_sendrecv_needs_no_buffer() {
    stays_silent(1, |comm| {
        for length in LENGTHS {
            let mine = vec![comm.rank(); length];
            let (got, _) = comm.sendrecv(right(comm), 0, &mine, left(comm), 0)?;
            assert_eq!(got, vec![left(comm); length]);
        }
        Ok(())
    });
}

#[test]
fn everybody_sends_to_everybody_at_once() {
    stays_silent(1, |comm| {
        for length in LENGTHS {
            let receives = (0..comm.size()).map(|from| comm.irecv::<usize>(from, 3));
            let receives: Vec<_> = receives.collect::<Result<_>>()?;
            let sends = (0..comm.size()).map(|to| comm.isend(to, 3, vec![comm.rank(); length]));
            let sends: Vec<_> = sends.collect::<Result<_>>()?;
            for (from, (got, _)) in Request::wait_all(receives)?.into_iter().enumerate() {
                assert_eq!(got, vec![from; length]);
            }
            Request::wait_all(sends)?;
        }
        Ok(())
    });
}

#[test]
fn values_are_moved_by_requests() {
    stays_silent(1, |comm| {
        let coming = comm.irecv_value::<String>(left(comm), Tag::Any)?;
        let sent = comm.isend_value(right(comm), 4, format!("from {}", comm.rank()))?;
        let (text, status) = coming.wait()?;
        assert_eq!((text, status.tag), (format!("from {}", left(comm)), 4));
        sent.wait()
    });
}

#[test]
fn a_server_takes_whatever_request_is_complete() {
    stays_silent(2, |comm| {
        if comm.rank() > 0 {
            return comm.send(0, 0, &[comm.rank()]);
        }
        let clients = (1..comm.size()).map(|from| comm.irecv::<usize>(from, 0));
        let mut clients: Vec<_> = clients.collect::<Result<_>>()?;
        let mut served = vec![false; comm.size()];
        while let Some((place, (got, _))) = Request::wait_any(&mut clients)? {
            assert_eq!(got, [place + 1]);
            assert!(!std::mem::replace(&mut served[place + 1], true));
        }
        assert!(served[1..].iter().all(|&served| served));
        assert!(Request::wait_some(&mut clients)?.is_empty());
        Ok(())
    });
}

#[test]
fn a_server_takes_all_requests_that_are_complete() {
    stays_silent(2, |comm| {
        if comm.rank() > 0 {
            return comm.send(0, 0, &[comm.rank()]);
        }
        let clients = (1..comm.size()).map(|from| comm.irecv::<usize>(from, 0));
        let mut clients: Vec<_> = clients.collect::<Result<_>>()?;
        let mut served = Vec::new();
        while served.len() + 1 < comm.size() {
            let some = Request::wait_some(&mut clients)?;
            assert!(!some.is_empty());
            served.extend(some.into_iter().map(|(place, _)| place + 1));
        }
        served.sort();
        assert_eq!(served, (1..comm.size()).collect::<Vec<_>>());
        Ok(())
    });
}

#[test]
fn one_of_two_requests_is_enough_though_the_other_can_never_complete() {
    stays_silent(3, |comm| match comm.rank() {
        0 => {
            // Rank 2 may have ended or not: it sends nothing.
            let mut either = [comm.irecv::<u8>(2, 0)?, comm.irecv::<u8>(1, 0)?];
            let (place, _) = Request::wait_any(&mut either)?.unwrap();
            assert_eq!(place, 1);
            let [never, _] = either;
            assert!(never.cancel()?);
            Ok(())
        }
        1 => comm.send(0, 0, &[1u8]),
        _ => Ok(()),
    });
}

#[test]
fn a_test_does_not_wait_and_ends_the_request_when_it_gives_its_result() {
    stays_silent(2, |comm| match comm.rank() {
        0 => {
            let mut coming = comm.irecv::<u8>(1, 0)?;
            assert!(coming.test()?.is_none() && !coming.is_done());
            comm.send(1, 1, &[0u8])?;
            let got = loop {
                if let Some((got, _)) = coming.test()? {
                    break got;
                }
            };
            assert!(got == [7] && coming.is_done());
            let over = coming.wait().unwrap_err();
            assert!(matches!(over.kind(), ErrorKind::Usage(_)), "{over}");
            Ok(())
        }
        1 => {
            comm.recv::<u8>(0, 1)?;
            comm.send(0, 0, &[7u8])
        }
        _ => Ok(()),
    });
}

#[test]
fn posted_receives_match_in_the_order_of_posting_and_before_later_blocking_ones() {
    stays_silent(1, |comm| {
        let me = comm.rank();
        let posted = [
            comm.irecv::<usize>(Source::Any, Tag::Any)?,
            comm.irecv::<usize>(me, 1)?,
            comm.irecv::<usize>(Source::Any, 1)?,
        ];
        let sends = (0..4).map(|i| comm.isend(me, 1, vec![i as usize]));
        let sends: Vec<_> = sends.collect::<Result<_>>()?;
        assert_eq!(comm.recv::<usize>(me, 1)?.0, [3]);
        let got = Request::wait_all(posted)?;
        let got: Vec<_> = got.into_iter().map(|(got, _)| got[0]).collect();
        assert_eq!(got, [0, 1, 2]);
        Request::wait_all(sends)?;
        Ok(())
    });
}

#[test]
fn a_receive_that_is_posted_late_takes_the_first_message_that_came() {
    stays_silent(1, |comm| {
        let me = comm.rank();
        let sends = [(9, 0), (8, 1), (9, 2)].map(|(tag, i)| comm.isend(me, tag, vec![i]));
        let first_nine = comm.irecv::<i32>(me, 9)?;
        let first_left = comm.irecv::<i32>(me, Tag::Any)?;
        let last = comm.irecv::<i32>(me, Tag::Any)?;
        let got = Request::wait_all([last, first_left, first_nine])?;
        let got: Vec<_> = got.into_iter().map(|(got, _)| got[0]).collect();
        assert_eq!(got, [2, 1, 0]);
        Request::wait_all(sends.into_iter().collect::<Result<Vec<_>>>()?)?;
        Ok(())
    });
}

#[test]
fn a_receive_that_is_taken_back_leaves_its_message_to_the_next_in_line() {
    stays_silent(1, |comm| {
        let me = comm.rank();
        let first = comm.irecv::<u8>(me, 1)?;
        let second = comm.irecv::<u8>(me, 1)?;
        let third = comm.irecv::<u8>(me, 1)?;
        let sends = [comm.isend(me, 1, vec![1u8])?, comm.isend(me, 1, vec![2u8])?];
        comm.progress()?;
        assert!(first.is_done() && second.is_done() && !third.is_done());
        // Its message goes to the receive that is still open, although it arrived before the second's.
        assert!(first.cancel()?);
        assert_eq!(third.wait()?.0, [1]);
        assert_eq!(second.wait()?.0, [2]);
        Request::wait_all(sends)?;
        Ok(())
    });
}

#[test]
fn requests_go_on_while_their_rank_is_in_other_calls() {
    stays_silent(2, |comm| {
        // At zero buffering the barrier is reached only if it lets the receives progress.
        let coming = comm.irecv::<usize>(left(comm), 0)?;
        comm.send(right(comm), 0, &[comm.rank(); 100])?;
        comm.barrier()?;
        let second = comm.irecv::<usize>(left(comm), 1)?;
        if comm.rank() == 0 {
            comm.send(right(comm), 1, &[0usize])?;
        }
        let mut sum = [comm.rank()];
        comm.all_reduce(&mut sum, op::Sum)?;
        if comm.rank() > 0 {
            comm.send(right(comm), 1, &[comm.rank()])?;
        }
        comm.all_gather(&[comm.rank()], &mut vec![0; comm.size()])?;
        assert_eq!(coming.wait()?.0, [left(comm); 100]);
        assert_eq!(second.wait()?.0, [left(comm)]);
        Ok(())
    });
}

#[test]
fn collectives_give_the_same_at_every_buffering() {
    stays_silent(1, |comm| {
        let (me, n) = (comm.rank(), comm.size());
        for length in [1, 7, 3000] {
            let mut v = vec![me; length];
            comm.all_reduce(&mut v, op::Sum)?;
            assert_eq!(v, vec![n * (n - 1) / 2; length]);
            let mut v = vec![me; length];
            comm.broadcast(n - 1, &mut v)?;
            assert_eq!(v, vec![n - 1; length]);
            let mut all = vec![0; length * n];
            comm.all_to_all(&vec![me; length * n], &mut all)?;
            assert!((0..n).all(|from| all[from * length] == from));
        }
        let value = comm.values().all_reduce(me.to_string(), |a, b| a + &b)?;
        assert_eq!(value.len(), n);
        comm.barrier()
    });
}

#[test]
fn a_scope_waits_for_what_nobody_has_waited_for() {
    stays_silent(1, |comm| {
        for length in LENGTHS {
            let mine = vec![comm.rank(); length];
            let (mut from_left, mut from_right) = (vec![0; length + 1], vec![0; length]);
            let count = comm.scope(|s| {
                let first = s.irecv_into(left(comm), 0, &mut from_left)?;
                s.irecv_into(right(comm), 1, &mut from_right)?;
                let _never_waited_for = s.isend(right(comm), 0, &mine)?;
                let sent = s.isend(left(comm), 1, &mine)?;
                let (buf, status) = first.wait()?;
                assert_eq!(buf[..status.count], vec![left(comm); length]);
                assert_eq!(sent.wait()?, mine);
                Ok(status.count)
            })?;
            assert_eq!((count, from_left[length]), (length, 0));
            assert_eq!(from_right, vec![right(comm); length]);
        }
        Ok(())
    });
}

#[test]
fn a_request_of_a_scope_that_is_forgotten_or_cancelled_leaves_the_scope_in_order() {
    stays_silent(1, |comm| {
        let (mut first, mut second) = ([0], [0]);
        comm.scope(|s| {
            std::mem::forget(s.irecv_into(comm.rank(), 0, &mut first)?);
            let never = s.irecv_into(comm.rank(), 1, &mut second)?;
            s.isend(comm.rank(), 0, &[5])?;
            assert!(never.cancel()?);
            Ok(())
        })?;
        assert_eq!((first, second), ([5], [0]));
        Ok(())
    });
}

#[test]
fn scopes_within_scopes() {
    stays_silent(1, |comm| {
        let (mut outer, mut inner) = ([0], [0]);
        comm.scope(|s| {
            s.irecv_into(comm.rank(), 0, &mut outer)?;
            comm.scope(|t| {
                t.irecv_into(comm.rank(), 1, &mut inner)?;
                t.isend(comm.rank(), 1, &[1])?;
                t.isend(comm.rank(), 0, &[2])?;
                Ok(())
            })
        })?;
        assert_eq!((outer, inner), ([2], [1]));
        Ok(())
    });
}

#[test]
fn a_matched_message_is_nobody_elses() {
    stays_silent(1, |comm| {
        let me = comm.rank();
        let sends = [1, 2, 3].map(|i| comm.isend(me, 6, vec![i; i]));
        let sends = sends.into_iter().collect::<Result<Vec<_>>>()?;
        let first = comm.probe_matched(me, 6)?;
        assert_eq!((first.status().count, first.status().tag), (1, 6));
        assert_eq!(comm.recv::<usize>(me, 6)?.0, [2, 2]);
        assert_eq!(comm.iprobe(me, Tag::Any)?.unwrap().count, 3);
        // Once dropped, it is first in the queue again.
        drop(first);
        let first = comm.iprobe_matched(Source::Any, 6)?.unwrap();
        let mut buf = [0usize; 4];
        first.recv_into(&mut buf)?;
        assert_eq!(buf, [1, 0, 0, 0]);
        assert_eq!(comm.recv::<usize>(me, 6)?.0, [3; 3]);
        assert!(comm.iprobe_matched(me, 6)?.is_none() && comm.iprobe(me, 6)?.is_none());
        Request::wait_all(sends).map(|_| ())
    });
}

#[test]
fn a_matched_message_that_does_not_fit_is_where_it_was() {
    stays_silent(1, |comm| {
        let me = comm.rank();
        let sends = [
            comm.isend(me, 0, vec![1u8, 2])?,
            comm.isend(me, 0, vec![3u8, 4])?,
        ];
        let wrong = comm.probe_matched(me, 0)?.recv::<i8>().unwrap_err();
        assert!(
            matches!(wrong.kind(), ErrorKind::WrongType { .. }),
            "{wrong}"
        );
        let short = comm
            .probe_matched(me, 0)?
            .recv_into(&mut [0u8])
            .unwrap_err();
        assert!(
            matches!(short.kind(), ErrorKind::TooShort { .. }),
            "{short}"
        );
        let value = comm.probe_matched(me, 0)?.recv_value::<u8>().unwrap_err();
        assert!(
            matches!(value.kind(), ErrorKind::WrongType { .. }),
            "{value}"
        );
        // A request that was posted while the message was matched gets it when it is returned.
        let matched = comm.probe_matched(me, 0)?;
        let posted = [comm.irecv::<u8>(me, 0)?, comm.irecv::<u8>(me, 0)?];
        drop(matched);
        let [(second, _), (first, _)] = &Request::wait_all(posted)?[..] else {
            panic!("two were asked for");
        };
        assert_eq!((&first[..], &second[..]), (&[1u8, 2][..], &[3u8, 4][..]));
        Request::wait_all(sends).map(|_| ())
    });
}

#[test]
fn a_request_for_the_wrong_type_leaves_the_message_first_in_line() {
    stays_silent(1, |comm| {
        let me = comm.rank();
        let sends = [comm.isend(me, 0, vec![1u8])?, comm.isend(me, 0, vec![2u8])?];
        let wrong = comm.irecv::<u16>(me, 0)?.wait().unwrap_err();
        assert!(
            matches!(wrong.kind(), ErrorKind::WrongType { .. }),
            "{wrong}"
        );
        assert!(wrong.to_string().contains("wait for irecv(from"), "{wrong}");
        let short = comm.scope(|s| s.irecv_into::<u8>(me, 0, &mut []).map(|_| ()));
        let short = short.unwrap_err();
        assert!(
            matches!(short.kind(), ErrorKind::TooShort { .. }),
            "{short}"
        );
        assert_eq!(comm.recv::<u8>(me, 0)?.0, [1]);
        assert_eq!(comm.recv::<u8>(me, 0)?.0, [2]);
        Request::wait_all(sends).map(|_| ())
    });
}

#[test]
fn what_fits_into_the_buffer_does_not_wait() {
    let program = |comm: &Comm| {
        let other = 1 - comm.rank();
        for part in 0..10 {
            comm.send(other, part, &[0u8; 10])?;
        }
        (0..10).try_for_each(|part| comm.recv::<u8>(other, part).map(|_| ()))
    };
    let world = |bytes| World::new(2).buffering(Buffering::Bytes(bytes));
    assert!(world(100).run(program).is_ok());
    assert!(matches!(
        world(99).run(program),
        Err(WorldError::Deadlock(_))
    ));
    // A received message makes room.
    let world = world(10);
    let in_turn = |comm: &Comm| {
        let other = 1 - comm.rank();
        (0..10).try_for_each(|part| {
            comm.send(other, part, &[0u8; 10])?;
            comm.recv::<u8>(other, part)?;
            // The other rank may send its next message only when its last one has been received.
            comm.barrier()
        })
    };
    assert!(world.run(in_turn).is_ok());
}

#[test]
fn a_send_without_a_buffer_can_be_taken_back_until_it_is_received() {
    let taken_back = World::new(1)
        .buffering(Buffering::Zero)
        .strict()
        .run(|comm| {
            let sent = comm.isend(0, 0, vec![1])?;
            assert!(!sent.is_done() && sent.cancel()?);
            let dropped = Arc::new(());
            let value = comm.isend_value(0, 0, dropped.clone())?;
            assert!(value.cancel()?);
            let sent = comm.isend(0, 0, vec![2])?;
            assert_eq!(comm.recv::<i32>(0, 0)?.0, [2]);
            assert!(sent.is_done() && !sent.cancel()?);
            Ok(dropped)
        });
    // The cancelled value was dropped once, with its world at the latest.
    assert_eq!(Arc::strong_count(&taken_back.unwrap()[0]), 1);
}

#[test]
fn requests_of_several_communicators_do_not_meet() {
    stays_silent(2, |comm| {
        let twin = comm.dup()?;
        let half = comm.split(comm.rank() as u32 % 2, -(comm.rank() as i64))?;
        // The same tags everywhere, and any sender: only the communicators distinguish them.
        let receives = [&half, &twin, comm].map(|of| of.irecv::<usize>(Source::Any, 0));
        let receives = receives.into_iter().collect::<Result<Vec<_>>>()?;
        let sends = [(comm, 1), (&twin, 2), (&half, 3)];
        let sends = sends.map(|(of, mark)| of.isend(right(of), 0, vec![mark, of.rank()]));
        for (place, (got, status)) in Request::wait_all(receives)?.into_iter().enumerate() {
            let of = [&half, &twin, comm][place];
            assert_eq!(
                (&got[..], status.source),
                (&[3 - place, left(of)][..], left(of))
            );
        }
        Request::wait_all(sends.into_iter().collect::<Result<Vec<_>>>()?)?;
        let sent = half.isend_value(right(&half), 1, half.rank())?;
        let message = half.probe_matched(Source::Any, 1)?;
        assert_eq!(message.status().source, left(&half));
        assert!(comm.iprobe(Source::Any, Tag::Any)?.is_none());
        assert_eq!(message.recv_value::<usize>()?, left(&half));
        sent.wait()
    });
}

#[test]
fn requests_of_a_communicator_that_is_left_fail_and_others_go_on() {
    for buffering in BUFFERINGS {
        let report = World::new(3).buffering(buffering).run_each(|comm| {
            let twin = comm.dup()?;
            if comm.rank() == 2 {
                return Err(rankfold::Error::user("of itself"));
            }
            let other = 1 - comm.rank();
            let kept = comm.isend(other, 0, vec![comm.rank()])?;
            // No rank sends this: it ends because the other rank leaves the communicator.
            let mut either = [
                twin.irecv::<usize>(other, 1)?,
                comm.irecv::<usize>(other, 1)?,
            ];
            if comm.rank() == 0 {
                comm.send(1, 2, &[0u8])?;
                let left = Request::wait_any(&mut either).unwrap_err();
                assert!(left.is_consequence(), "{left}");
                assert!(!matches!(left.kind(), ErrorKind::Deadlock(_)), "{left}");
            } else {
                // Not before the other has posted its requests.
                comm.recv::<u8>(0, 2)?;
            }
            let small = twin.shrink()?;
            let [of_twin, of_all] = either;
            of_twin.cancel()?;
            of_all.cancel()?;
            assert_eq!(comm.recv::<usize>(other, 0)?.0, [other]);
            kept.wait()?;
            assert!(matches!(twin.irecv::<u8>(other, 0), Err(error) if error.is_consequence()));
            let mut sum = [1];
            small.all_reduce(&mut sum, op::Sum)?;
            Ok(sum[0])
        });
        for rank in [0, 1] {
            let outcome = &report.outcomes[rank];
            assert_eq!(outcome.value(), Some(&2), "{buffering:?}: {outcome:?}");
        }
        assert!(report.deadlocks.is_empty() && report.unfinished.is_empty());
    }
}

// ── wrong programs ──

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

#[test]
fn calls_with_wrong_arguments_are_refused() {
    World::new(2)
        .strict()
        .run(|comm| {
            let usage = |error: rankfold::Error| {
                assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
            };
            usage(comm.isend(2, 0, vec![0]).unwrap_err());
            usage(comm.isend_value(2, 0, 0).unwrap_err());
            usage(comm.irecv::<u8>(-1, 0).unwrap_err());
            usage(comm.irecv_value::<u8>(2, 0).unwrap_err());
            usage(comm.iprobe(2, 0).unwrap_err());
            usage(comm.probe_matched(2, 0).unwrap_err());
            usage(comm.scope(|s| s.isend(2, 0, &[0]).map(|_| ())).unwrap_err());
            let mut inside = Ok(());
            let inside = RefCell::new(&mut inside);
            comm.send(comm.rank(), 0, &[1])?;
            comm.send(comm.rank(), 0, &[1])?;
            comm.all_reduce(&mut [1, 2], |a, b| {
                **inside.borrow_mut() = comm.progress();
                a + b
            })?;
            usage(inside.into_inner().as_ref().err().map_or_else(
                || rankfold::Error::user("not refused"),
                |error| {
                    assert!(error.to_string().contains("operator"), "{error}");
                    comm.isend(9, 0, vec![0]).unwrap_err()
                },
            ));
            comm.discard(comm.rank(), 0)?;
            comm.discard(comm.rank(), 0).map(|_| ())
        })
        .unwrap();
}

#[test]
fn a_request_of_another_world_is_refused() {
    let [one, two] = [World::connect(1), World::connect(1)];
    let (one, two) = (one.take(0).unwrap().enter(), two.take(0).unwrap().enter());
    let foreign = two.irecv::<u8>(0, 0).unwrap();
    let mut both = [one.irecv::<u8>(0, 0).unwrap(), foreign];
    let refused = Request::wait_any(&mut both).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Usage(_)), "{refused}");
    let refused = Request::test_all(&mut both[..]).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Usage(_)), "{refused}");
}

// ── requests that are never waited for ──

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
            .all(|one| one.site.file().ends_with("requests.rs"))
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

#[test]
fn a_scope_that_unwinds_takes_everything_back() {
    let world = World::new(1).strict();
    let caught = world.run(|comm| {
        let mut buf = [0u8; 2];
        let scope = std::panic::AssertUnwindSafe(|| {
            comm.scope(|s| -> Result<()> {
                s.irecv_into(0, 0, &mut buf)?;
                std::panic::resume_unwind(Box::new("on purpose"))
            })
        });
        std::panic::catch_unwind(scope).unwrap_err();
        comm.send(0, 0, &[3u8])?;
        assert_eq!(comm.recv::<u8>(0, 0)?.0, [3]);
        assert_eq!(buf, [0; 2]);
        Ok(())
    });
    caught.unwrap();
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

/// One request of each kind, leaked with `forget` at the point where most is in flight. Run these alone under a memory
/// checker, without leak detection: they leak, as documented, and touch no freed memory.
mod forgotten {
    use super::*;
    use std::mem::forget;

    type Kind = fn(&Comm) -> Result<()>;

    const KINDS: [(&str, Kind); 8] = [
        ("isend", |comm| {
            forget(comm.isend(right(comm), 0, vec![comm.rank(); 500])?);
            comm.discard(left(comm), 0).map(|_| ())
        }),
        ("isend that nobody receives", |comm| {
            forget(comm.isend(right(comm), 0, vec![comm.rank(); 500])?);
            Ok(())
        }),
        ("isend_value", |comm| {
            forget(comm.isend_value(right(comm), 0, vec![comm.rank(); 500])?);
            comm.discard(left(comm), 0).map(|_| ())
        }),
        ("irecv", |comm| {
            forget(comm.irecv::<usize>(left(comm), 0)?);
            comm.send(right(comm), 0, &[comm.rank(); 500])
        }),
        ("irecv that never completes", |comm| {
            forget(comm.irecv::<usize>(left(comm), 0)?);
            Ok(())
        }),
        ("irecv_value", |comm| {
            forget(comm.irecv_value::<String>(left(comm), 0)?);
            comm.send_value(right(comm), 0, String::from("forgotten"))
        }),
        ("a request that has given its result", |comm| {
            let mut coming = comm.irecv::<usize>(left(comm), 0)?;
            comm.send(right(comm), 0, &[comm.rank(); 500])?;
            while coming.test()?.is_none() {}
            forget(coming);
            Ok(())
        }),
        ("a matched message", |comm| {
            let sent = comm.isend(right(comm), 0, vec![comm.rank(); 500])?;
            forget(comm.probe_matched(left(comm), 0)?);
            sent.wait().map(|_| ())
        }),
    ];

    #[test]
    fn requests_of_each_kind_leave_nothing_dangling() {
        for ranks in [1, 2, 5] {
            for buffering in BUFFERINGS {
                for (name, kind) in KINDS {
                    let case = format!("{name}, {ranks} ranks, {buffering:?}");
                    let world = World::new(ranks).buffering(buffering);
                    let report = guarded(&|| case.clone(), || {
                        world.run_each(|comm| {
                            kind(comm)?;
                            // Messages and loans of all kinds pass meanwhile.
                            let mut sum = vec![1; 300];
                            comm.all_reduce(&mut sum, op::Sum)?;
                            let (up, down) = (right(comm), left(comm));
                            comm.sendrecv(up, 7, &sum, down, 7).map(|_| ())
                        })
                    });
                    let all = report
                        .outcomes
                        .iter()
                        .all(|outcome| outcome.value().is_some());
                    assert!(all, "{case}: {:?}", report.outcomes);
                    let told = match name {
                        "a matched message" | "a request that has given its result" => 0,
                        _ => ranks,
                    };
                    assert_eq!(report.unfinished.len(), told, "{case}");
                }
            }
        }
    }

    #[test]
    fn borrowed_requests_are_complete_when_their_scope_ends() {
        for buffering in BUFFERINGS {
            World::new(2)
                .buffering(buffering)
                .strict()
                .run(|comm| {
                    let mut buf = vec![0; 500];
                    let mine = vec![comm.rank(); 500];
                    comm.scope(|s| {
                        forget(s.irecv_into(left(comm), 0, &mut buf)?);
                        forget(s.isend(right(comm), 0, &mine)?);
                        Ok(())
                    })?;
                    drop(mine);
                    assert_eq!(buf, vec![left(comm); 500]);
                    Ok(())
                })
                .unwrap();
        }
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    channels::again(&[]);
}
