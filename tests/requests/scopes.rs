//! Scopes of requests: what is left open in them, and scopes that unwind.

use rankfold::{Buffering, Comm, ErrorKind, Result, World};

use super::{LENGTHS, left, right, stays_silent};
use crate::support::guarded;

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

/// The messages that a scope's receives get from rank 1, with the tags of their places; one does not fit.
fn one_of_three_fails(comm: &Comm, bad: u32, length: usize, wrong_type: bool) -> Result<()> {
    if comm.rank() == 1 {
        for tag in 0..3 {
            match (tag == bad, wrong_type) {
                (true, true) => comm.send(0, tag, &vec![1u8; length])?,
                (is_bad, _) => comm.send(0, tag, &vec![1u64; length + usize::from(is_bad)])?,
            }
        }
        return comm.send(0, 3, &[0u8]);
    }
    comm.recv::<u8>(1, 3)?;
    let mut bufs = vec![vec![0u64; length]; 3];
    let line = line!() + 3; // of the receives
    let failed = comm.scope(|s| {
        for (buf, tag) in bufs.iter_mut().zip(0..) {
            s.irecv_into(1, tag, buf)?;
        }
        Ok(())
    });
    let error = failed.unwrap_err();
    let kind = match error.kind() {
        ErrorKind::WrongType { .. } => wrong_type,
        ErrorKind::TooShort { .. } => !wrong_type,
        _ => false,
    };
    let call = format!("scope, at its end, for irecv_into(from 1, tag {bad}) of line {line} at");
    let text = error.to_string();
    assert!(kind && text.contains(&call), "{text} names not {call}");
    (0..3).try_for_each(|tag| match (tag == bad, wrong_type) {
        (true, _) => comm.discard(1, tag).map(drop),
        // Those before it were received.
        _ if tag > bad => comm.recv::<u64>(1, tag).map(drop),
        _ => Ok(()),
    })
}

#[test]
fn a_scope_names_the_operation_that_failed_at_its_end() {
    for length in LENGTHS {
        for bad in 0..3 {
            for wrong_type in [false, true] {
                let case = || format!("{length} elements, {bad}, {wrong_type}");
                let world = World::new(2).strict();
                let program = |comm: &Comm| one_of_three_fails(comm, bad, length, wrong_type);
                let ended = guarded(&case, || world.run(program));
                ended.unwrap_or_else(|error| panic!("{}: {error}", case()));
            }
        }
    }
}

/// The message of rank 1 does not fit; that of rank 2 comes only after the scope has failed.
fn one_does_not_fit_and_the_other_comes_after(comm: &Comm) -> Result<()> {
    if comm.rank() == 1 {
        comm.send(0, 7, &[1u64, 2])?;
        return comm.send(2, 6, &[0u8]);
    }
    if comm.rank() == 2 {
        // Without that message ranks 0 and 2 would wait for each other.
        comm.recv::<u8>(1, 6)?;
        comm.recv::<u8>(0, 9)?;
        return comm.send(0, 8, &[5u64]);
    }
    let (mut first, mut second) = ([0u64], [0u64]);
    let failed = comm.scope(|s| {
        s.irecv_into(2, 8, &mut first)?;
        s.irecv_into(1, 7, &mut second).map(drop)
    });
    let error = failed.unwrap_err();
    let text = error.to_string();
    let is_named = text.contains("for irecv_into(from 1, tag 7) of line");
    let too_short = matches!(error.kind(), ErrorKind::TooShort { .. });
    assert!(too_short && is_named, "{text}");
    comm.send(2, 9, &[0u8])?;
    assert_eq!(comm.recv::<u64>(2, 8)?.0, [5]);
    assert_eq!(comm.recv::<u64>(1, 7)?.0, [1, 2]);
    Ok(())
}

#[test]
fn a_scope_ends_as_soon_as_a_message_does_not_fit() {
    for buffering in [Buffering::Unbounded, Buffering::Bytes(2000)] {
        for seed in [None, Some(1), Some(2)] {
            let world = World::new(3).buffering(buffering).strict();
            let world = match seed {
                Some(seed) => world.seed(seed),
                None => world,
            };
            let case = || format!("{buffering:?}, seed {seed:?}");
            let ended = guarded(&case, || {
                world.run(one_does_not_fit_and_the_other_comes_after)
            });
            ended.unwrap_or_else(|error| panic!("{}: {error}", case()));
        }
    }
}
