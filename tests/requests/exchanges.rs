//! Right programs of requests: none of them is reported at any buffering.

use rankfold::{ErrorKind, Request, Result, Source, Tag, op};

use super::{LENGTHS, left, right, stays_silent};

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
