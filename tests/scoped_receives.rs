//! Short messages that go straight into the buffers of a scope's receives, before these are posted and after it:
//! whatever is done with the handle, each message is received once, whole and in its order.

mod support;

use rankfold::{Comm, Error, ErrorKind, Request, Result, Scope, ScopedRequest, Status, World};
use support::guarded;

/// From empty messages to those that are longer than a cell.
const LENGTHS: [usize; 7] = [0, 1, 4, 8, 12, 36, 128];
/// After so many messages the sender has the fast box of the receiver.
const WARM: u64 = 20;
const MESSAGES: u64 = 40;

fn message(seed: u64, length: usize) -> Vec<u64> {
    (0..length as u64).map(|i| seed * 1_000 + i).collect()
}

/// Rank 0 sends messages of a length with tag 3; rank 1 receives them by `receive`, after all have come if `late`.
fn receives(late: bool, length: usize, receive: impl Fn(&Comm) -> Result<()> + Sync) {
    let run = |comm: &Comm| {
        for seed in 0..WARM {
            match comm.rank() {
                0 => comm.send(1, 1, &[seed])?,
                _ => _ = comm.recv::<u64>(0, 1)?,
            }
        }
        if comm.rank() == 0 {
            let all: Vec<_> = (0..MESSAGES).map(|seed| message(seed, length)).collect();
            comm.scope(|s| all.iter().try_for_each(|one| s.isend(1, 3, one).map(drop)))?;
        }
        if late {
            comm.barrier()?;
        }
        if comm.rank() == 1 {
            receive(comm)?;
            assert!(comm.iprobe(0, 3)?.is_none(), "a message is left");
        }
        // A rank that has ended cannot be probed for.
        comm.barrier()
    };
    let case = format!("{length} elements, late {late}");
    guarded(&|| case.clone(), || World::new(2).strict().run(run)).unwrap();
}

fn each(receive: impl Fn(&Comm, usize) -> Result<()> + Sync) {
    for length in LENGTHS {
        for late in [false, true] {
            receives(late, length, |comm| receive(comm, length));
        }
    }
}

type Received<'s, 'env> = ScopedRequest<'s, (&'env mut [u64], Status)>;

fn post<'s, 'env>(
    scope: &'s Scope<'s, 'env>,
    bufs: &'env mut [Vec<u64>],
) -> Result<Vec<Received<'s, 'env>>> {
    let receive = |buf: &'env mut Vec<u64>| scope.irecv_into(0, 3, buf);
    bufs.iter_mut().map(receive).collect()
}

/// One element more than a message has.
fn bufs(length: usize) -> Vec<Vec<u64>> {
    vec![vec![7; length + 1]; MESSAGES as usize]
}

fn check(bufs: &[Vec<u64>], length: usize) {
    for (seed, buf) in bufs.iter().enumerate() {
        let (got, rest) = buf.split_at(length);
        assert_eq!((got, rest), (&message(seed as u64, length)[..], &[7][..]));
    }
}

fn check_status(status: Status, length: usize) {
    let Status {
        source, tag, count, ..
    } = status;
    assert_eq!((source, tag, count), (0, 3, length));
    assert_eq!(status.type_name(), "u64");
}

#[test]
fn a_scope_receives_what_nobody_waits_for() {
    each(|comm, length| {
        let mut bufs = bufs(length);
        comm.scope(|s| post(s, &mut bufs).map(drop))?;
        check(&bufs, length);
        Ok(())
    });
}

#[test]
fn each_is_waited_for_tested_or_asked() {
    each(|comm, length| {
        let mut bufs = bufs(length);
        comm.scope(|s| {
            for (seed, mut one) in post(s, &mut bufs)?.into_iter().enumerate() {
                assert!(format!("{one:?}").starts_with("irecv_into(from 0, tag 3)"));
                let (buf, status) = match seed % 4 {
                    0 => one.wait()?,
                    1 => loop {
                        if let Some(got) = one.test()? {
                            break got;
                        }
                    },
                    2 => {
                        while !one.is_done() {}
                        one.wait()?
                    }
                    _ => Request::from(one).wait()?,
                };
                check_status(status, length);
                assert_eq!(buf[..length], message(seed as u64, length));
            }
            Ok(())
        })?;
        check(&bufs, length);
        Ok(())
    });
}

#[test]
fn all_are_waited_for_at_once_or_at_once_posted_and_waited_for() {
    each(|comm, length| {
        let mut bufs = bufs(length);
        let (first, last) = bufs.split_at_mut(MESSAGES as usize / 2);
        comm.scope(|s| {
            let requests: Vec<_> = post(s, first)?.into_iter().map(Request::from).collect();
            let all: Vec<(_, Status)> = Request::wait_all(requests)?;
            all.iter()
                .for_each(|(_, status)| check_status(*status, length));
            for buf in last {
                check_status(s.irecv_into(0, 3, buf)?.wait()?.1, length);
            }
            Ok(())
        })?;
        check(&bufs, length);
        Ok(())
    });
}

/// Receives all messages without a scope.
fn drain(comm: &Comm, length: usize) -> Result<()> {
    for seed in 0..MESSAGES {
        assert_eq!(comm.recv::<u64>(0, 3)?.0, message(seed, length));
    }
    Ok(())
}

#[test]
fn what_is_cancelled_is_received_later_in_order() {
    each(|comm, length| {
        let mut bufs = bufs(length);
        comm.scope(|s| {
            // The last first: each message goes back to its place.
            let posted = post(s, &mut bufs)?.into_iter().rev();
            posted
                .into_iter()
                .try_for_each(|one| one.cancel().map(|cancelled| assert!(cancelled)))
        })?;
        drain(comm, length)
    });
}

#[test]
fn a_scope_that_fails_gives_back_what_was_not_waited_for() {
    each(|comm, length| {
        let mut bufs = bufs(length);
        let failed = comm.scope(|s| {
            post(s, &mut bufs)?;
            Err::<(), _>(Error::user("on purpose"))
        });
        assert!(failed.is_err());
        drain(comm, length)
    });
}

#[test]
fn a_receive_that_outlives_a_scope_that_fails_gets_the_first_of_its_messages() {
    each(|comm, length| {
        for seed in 0..MESSAGES - 2 {
            assert_eq!(comm.recv::<u64>(0, 3)?.0, message(seed, length));
        }
        let (mut bufs, mut outside) = (bufs(length), None);
        let failed = comm.scope(|s| {
            // The third one awaits a message that does not come, and is offered those of the first two.
            post(s, &mut bufs[..3])?;
            outside = Some(comm.irecv::<u64>(0, 3)?);
            Err::<(), _>(Error::user("on purpose"))
        });
        assert!(failed.is_err());
        let (first, _) = outside.expect("it was posted").wait()?;
        assert_eq!(first, message(MESSAGES - 2, length));
        assert_eq!(comm.recv::<u64>(0, 3)?.0, message(MESSAGES - 1, length));
        Ok(())
    });
}

#[test]
fn a_message_that_does_not_fit_stays_first_and_those_behind_it_come_back() {
    each(|comm, length| {
        if length == 0 {
            return drain(comm, length);
        }
        let (mut short, mut wrong, mut long) =
            (vec![0u64; length - 1], vec![0f32; length], bufs(length));
        let error = comm.scope(|s| {
            s.irecv_into(0, 3, &mut short)?;
            post(s, &mut long[1..]).map(drop)
        });
        let error = error.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::TooShort { .. }),
            "{error}"
        );
        let error = comm
            .scope(|s| s.irecv_into(0, 3, &mut wrong).map(drop))
            .unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::WrongType { .. }),
            "{error}"
        );
        drain(comm, length)
    });
}

#[test]
fn receives_match_in_their_order_with_wildcards_and_inner_scopes() {
    each(|comm, length| {
        let mut bufs = bufs(length);
        let (outer, inner) = bufs.split_at_mut(MESSAGES as usize / 2);
        comm.scope(|s| {
            for (i, buf) in outer.iter_mut().enumerate() {
                match i % 2 {
                    0 => s.irecv_into(rankfold::Source::Any, rankfold::Tag::Any, buf)?,
                    _ => s.irecv_into(0, 3, buf)?,
                };
            }
            comm.scope(|t| post(t, inner).map(drop))
        })?;
        check(&bufs, length);
        Ok(())
    });
}
