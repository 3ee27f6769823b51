//! A rank dies among messages and requests.

use rankfold::{Request, Result, Source, Tag, op};

use super::{LENGTHS, every, left, right};
use crate::support::Spoiled;
use crate::support::sweep::{assert_from, assert_sum, buffer, element, sweep_bufferings};

#[test]
fn in_send_and_recv() {
    every("send, recv", |comm| {
        for length in LENGTHS {
            comm.send(right(comm), 1, &buffer(comm.rank(), length))?;
            let (got, _) = comm.recv::<u64>(left(comm), 1)?;
            assert_from(left(comm), &got, length);
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_recv_into() {
    every("send, recv_into", |comm| {
        for length in LENGTHS {
            comm.send(right(comm), 1, &buffer(comm.rank(), length))?;
            let mut got = Spoiled::new(vec![0; length + 2]);
            let status = comm.recv_into(left(comm), Tag::Any, &mut got)?;
            assert_from(left(comm), &got[..status.count], length);
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_sendrecv() {
    every("sendrecv", |comm| {
        for length in LENGTHS {
            let mine = buffer(comm.rank(), length);
            let (got, _) = comm.sendrecv(right(comm), 1, &mine, left(comm), 1)?;
            assert_from(left(comm), &got, length);
        }
        Ok(comm.rank() as u64)
    });
}

/// A moved value need not be plain data.
struct Parcel(Spoiled);

#[test]
fn in_send_value_and_recv_value() {
    every("send_value, recv_value", |comm| {
        for length in LENGTHS {
            comm.send_value(right(comm), 1, Parcel(buffer(comm.rank(), length)))?;
            let (got, _) = comm.recv_value::<Parcel>(left(comm), 1)?;
            assert_from(left(comm), &got.0, length);
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_probe_and_discard() {
    every("probe, discard", |comm| {
        for length in LENGTHS {
            comm.send(right(comm), 1, &buffer(comm.rank(), length))?;
            comm.send(right(comm), 2, &[0u8])?;
            assert_eq!(comm.probe(left(comm), 1)?.count, length);
            comm.discard(left(comm), 2)?;
            assert_from(left(comm), &comm.recv::<u64>(left(comm), 1)?.0, length);
        }
        Ok(comm.rank() as u64)
    });
}

/// A rank that fails far up the line is named at its end, not the neighbour that failed because of it.
#[test]
fn in_a_line_of_ranks_where_each_waits_for_the_one_before() {
    every("line", |comm| {
        for length in LENGTHS {
            let mut sum = buffer(comm.rank(), length);
            if comm.rank() > 0 {
                let (got, _) = comm.recv::<u64>(comm.rank() - 1, 1)?;
                sum.iter_mut().zip(&got).for_each(|(a, b)| *a += b);
            }
            assert_sum(0..=comm.rank(), &sum);
            if comm.rank() + 1 < comm.size() {
                comm.send(comm.rank() + 1, 1, &sum)?;
            }
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_a_server_of_any_source() {
    every("any source", |comm| {
        if comm.rank() > 0 {
            comm.send(0, 1, &buffer(comm.rank(), LENGTHS[comm.rank() % 2]))?;
            return Ok(comm.recv::<u64>(0, 2)?.0[0]);
        }
        for _ in 1..comm.size() {
            let (got, status) = comm.recv::<u64>(Source::Any, 1)?;
            assert_from(status.source, &got, LENGTHS[status.source % 2]);
            comm.send(status.source, 2, &[7u64])?;
        }
        Ok(0)
    });
}

#[test]
fn in_requests() {
    sweep_bufferings("isend, irecv", |comm| {
        for length in LENGTHS {
            let coming = comm.irecv::<u64>(left(comm), 1)?;
            let sent = comm.isend(right(comm), 1, buffer(comm.rank(), length).to_vec())?;
            assert_from(left(comm), &coming.wait()?.0, length);
            assert_from(comm.rank(), &sent.wait()?, length);
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_synchronous_sends() {
    sweep_bufferings("ssend, issend", |comm| {
        for length in LENGTHS {
            let sent = comm.issend(right(comm), 1, buffer(comm.rank(), length).to_vec())?;
            assert_from(left(comm), &comm.recv::<u64>(left(comm), 1)?.0, length);
            assert_from(comm.rank(), &sent.wait()?, length);
            let coming = comm.irecv::<u64>(left(comm), 2)?;
            comm.ssend(right(comm), 2, &buffer(comm.rank(), length))?;
            assert_from(left(comm), &coming.wait()?.0, length);
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_requests_of_values() {
    sweep_bufferings("isend_value, irecv_value", |comm| {
        for length in LENGTHS {
            let parcel = Parcel(buffer(comm.rank(), length));
            let sent = comm.isend_value(right(comm), 1, parcel)?;
            let (got, _) = comm.irecv_value::<Parcel>(left(comm), 1)?.wait()?;
            assert_from(left(comm), &got.0, length);
            sent.wait()?;
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_waits_for_several_requests() {
    sweep_bufferings("wait_all, wait_any", |comm| {
        let sends = (0..comm.size()).map(|to| comm.isend(to, 1, vec![element(comm.rank(), 0)]));
        let sends: Vec<_> = sends.collect::<Result<_>>()?;
        let receives = (0..comm.size()).map(|from| comm.irecv::<u64>(from, 1));
        let mut receives: Vec<_> = receives.collect::<Result<_>>()?;
        while let Some((from, (got, _))) = Request::wait_any(&mut receives)? {
            assert_from(from, &got, 1);
        }
        Request::wait_all(sends)?;
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_tests_and_probes_again_and_again() {
    sweep_bufferings("test, iprobe", |comm| {
        // Always the same number of operations, however often the request is polled.
        let mut coming = comm.irecv::<u64>(left(comm), 1)?;
        let sent = comm.isend(right(comm), 1, vec![element(comm.rank(), 0)])?;
        let mut got = None;
        for _ in 0..3 {
            match got {
                None => got = coming.test()?,
                Some(_) => comm.progress()?,
            }
        }
        let (got, _) = match got {
            None => coming.wait()?,
            Some(got) => comm.progress().map(|()| got)?,
        };
        assert_from(left(comm), &got, 1);
        sent.wait()?;
        let sent = comm.isend(right(comm), 2, vec![element(comm.rank(), 0)])?;
        for _ in 0..3 {
            comm.iprobe(left(comm), 2)?;
        }
        assert_from(left(comm), &comm.probe_matched(left(comm), 2)?.recv()?, 1);
        sent.wait()?;
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_scopes() {
    sweep_bufferings("scope", |comm| {
        for length in LENGTHS {
            let mine = buffer(comm.rank(), length);
            let mut from_left = buffer(comm.rank(), length);
            let mut from_right = buffer(comm.rank(), length);
            comm.scope(|s| {
                s.irecv_into(left(comm), 1, &mut from_left)?;
                let coming = s.irecv_into(right(comm), 2, &mut from_right)?;
                s.isend(right(comm), 1, &mine)?;
                comm.send(left(comm), 2, &mine)?;
                coming.wait().map(|_| ())
            })?;
            assert_from(left(comm), &from_left, length);
            assert_from(right(comm), &from_right, length);
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_collectives_while_requests_go_on() {
    sweep_bufferings("requests and collectives", |comm| {
        let coming = comm.irecv::<u64>(left(comm), 1)?;
        comm.send(right(comm), 1, &buffer(comm.rank(), 600))?;
        let mut sum = buffer(comm.rank(), 20);
        comm.all_reduce(&mut sum, op::Sum)?;
        assert_sum(0..comm.size(), &sum);
        comm.barrier()?;
        assert_from(left(comm), &coming.wait()?.0, 600);
        Ok(sum[0])
    });
}
