//! Ranks that wait long for one that computes, or with a deadline.

use std::time::Duration;

use rankfold::{ErrorKind, Source};

use super::{compute, right, stays_silent};

#[test]
fn all_wait_long_for_one_that_computes() {
    stays_silent(2, |comm| {
        let mut data = [0];
        if comm.rank() + 1 == comm.size() {
            data[0] = compute();
        }
        comm.broadcast(comm.size() - 1, &mut data)?;
        assert_ne!(data[0], 0);
        Ok(())
    });
}

#[test]
fn a_chain_of_waits_that_ends_at_one_that_computes() {
    stays_silent(2, |comm| {
        if comm.rank() + 1 == comm.size() {
            compute();
        } else {
            comm.recv::<u8>(comm.rank() + 1, 0)?;
        }
        match comm.rank() {
            0 => Ok(()),
            rank => comm.send(rank - 1, 0, &[0u8]),
        }
    });
}

#[test]
fn a_wildcard_waits_for_one_that_computes_while_all_others_wait_for_the_wildcard() {
    stays_silent(2, |comm| match comm.rank() {
        0 => {
            comm.recv::<u8>(Source::Any, 1)?;
            (1..comm.size()).try_for_each(|to| comm.send(to, 2, &[0u8]))
        }
        1 => {
            compute();
            comm.send(0, 1, &[0u8])?;
            comm.recv::<u8>(0, 2).map(|_| ())
        }
        _ => comm.recv::<u8>(0, 2).map(|_| ()),
    });
}

#[test]
fn a_ping_pong_while_all_others_are_parked() {
    stays_silent(2, |comm| {
        for turn in 0..300u32 {
            match comm.rank() {
                0 => {
                    comm.send(1, turn, &[turn])?;
                    comm.recv::<u32>(1, turn)?;
                }
                1 => {
                    comm.recv::<u32>(0, turn)?;
                    comm.send(0, turn, &[turn])?;
                }
                _ => {}
            }
        }
        comm.barrier()
    });
}

#[test]
fn ranks_that_poll_with_a_deadline() {
    stays_silent(2, |comm| {
        if comm.rank() == 0 {
            compute();
            return (1..comm.size()).try_for_each(|to| comm.send(to, 0, &[7u8]));
        }
        loop {
            match comm.recv_timeout::<u8>(0, 0, Duration::from_micros(300)) {
                Ok(_) => return Ok(()),
                Err(error) if matches!(error.kind(), ErrorKind::TimedOut { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    });
}

#[test]
fn a_deadline_breaks_what_would_be_a_cycle() {
    stays_silent(2, |comm| {
        if comm.rank() > 0 {
            comm.recv::<u8>(comm.rank() - 1, 0)?;
        } else {
            let last = comm.size() - 1;
            let late = comm
                .recv_timeout::<u8>(last, 0, Duration::from_millis(3))
                .unwrap_err();
            assert!(matches!(late.kind(), ErrorKind::TimedOut { .. }), "{late}");
        }
        comm.send(right(comm), 0, &[0u8])?;
        match comm.rank() {
            0 => comm.recv::<u8>(comm.size() - 1, 0).map(|_| ()),
            _ => Ok(()),
        }
    });
}
