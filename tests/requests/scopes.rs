//! Scopes of requests: what is left open in them, and scopes that unwind.

use rankfold::{Result, World};

use super::{LENGTHS, left, right, stays_silent};

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
