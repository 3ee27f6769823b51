//! Which message a request or a matched probe takes, and what is left where it was.

use std::sync::Arc;

use rankfold::{
    Buffering, Comm, ErrorKind, Rank, Request, Result, Source, Tag, World, WorldError, op,
};

use super::{BUFFERINGS, left, right, stays_silent};

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

/// Rank 2 fails, and the others leave a communicator for one without it: requests of the one that they leave fail, and a
/// message of another communicator arrives all the same. Returns the number of ranks of the new one.
fn leaves_a_twin(comm: &Comm) -> Result<usize> {
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
}

#[test]
fn requests_of_a_communicator_that_is_left_fail_and_others_go_on() {
    for buffering in BUFFERINGS {
        let report = World::new(3).buffering(buffering).run_each(leaves_a_twin);
        for rank in [0, 1] {
            let outcome = &report.outcomes[rank];
            assert_eq!(outcome.value(), Some(&2), "{buffering:?}: {outcome:?}");
        }
        assert!(report.deadlocks.is_empty() && report.unfinished.is_empty());
    }
}

/// Sends rank 0 messages of different tags, cancels some, and then sends it the tags and contents of all others.
fn sends_many_and_cancels_some(comm: &Comm) -> Result<()> {
    let (mut sent, mut open) = (Vec::new(), Vec::new());
    for i in 0..60_u32 {
        let tag = i * i % 7 % 3;
        let request = comm.isend(0, tag, vec![i])?;
        if i % 5 < 2 {
            if !request.cancel()? {
                sent.extend([tag, i]);
            }
        } else {
            sent.extend([tag, i]);
            open.push(request);
        }
    }
    open.push(comm.isend(0, 9, sent)?);
    Request::wait_all(open).map(drop)
}

/// The messages that are kept at rank 0, by sender: their tags and contents, in their order.
fn receives_all_of(mut early: Vec<Vec<(u32, u32)>>, comm: &Comm) -> Result<()> {
    for turn in 0_usize.. {
        if early.iter().all(Vec::is_empty) {
            break;
        }
        let source = Some(turn * 7 % 11 % early.len()).filter(|_| turn % 3 > 0);
        let tag = Some((turn * 5 % 13 % 3) as u32).filter(|_| turn % 4 > 0);
        let accepts = |one: &(u32, u32)| tag.is_none_or(|tag| one.0 == tag);
        let is_there = |from: Rank| early[from].iter().any(accepts);
        let any = || (0..early.len()).any(is_there);
        if !source.map_or_else(any, is_there) {
            continue;
        }
        let (source, wanted) = (
            source.map_or(Source::Any, Source::from),
            tag.map_or(Tag::Any, Tag::from),
        );
        let (got, status) = comm.recv::<u32>(source, wanted)?;
        let queue = &mut early[status.source];
        let first = queue.iter().position(accepts).unwrap();
        assert_eq!(queue.remove(first), (status.tag, got[0]));
    }
    assert!(comm.iprobe(Source::Any, Tag::Any)?.is_none());
    Ok(())
}

#[test]
fn of_many_messages_that_came_early_each_receive_takes_the_first_of_a_sender_that_it_accepts() {
    stays_silent(2, |comm| {
        if comm.rank() > 0 {
            return sends_many_and_cancels_some(comm);
        }
        let mut early = vec![Vec::new()];
        for from in 1..comm.size() {
            let (sent, _) = comm.recv::<u32>(from, 9)?;
            early.push(sent.chunks(2).map(|one| (one[0], one[1])).collect());
        }
        receives_all_of(early, comm)
    });
}
