//! One rank fails at each of its operations, in every program, in every world and by every fault. No rank hangs, every
//! other rank has a right result or an error that names the failed rank, and so does the report.

mod channels;
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::error::Gone;
use rankfold::topology::Topology;
use rankfold::{
    Comm, Error, ErrorKind, Fault, Order, Outcome, Rank, Report, Request, Result, Source, Tag,
    World, WorldError, op,
};
use support::sweep::{assert_from, assert_sum, buffer, element, sweep, sweep_bufferings};
use support::{Spoiled, guarded};

/// Short enough to travel in its packet, and long enough to be lent.
const LENGTHS: [usize; 2] = [3, 1500];

/// Fails every rank at each of its operations for 2 to 5 ranks, and at a fixed quarter of them for 6 to 9; at all of
/// them with `RANKFOLD_SCALE=4`.
fn every(name: &str, program: fn(&Comm) -> Result<u64>) {
    sweep(name, 2..=5, 1.0, program);
    sweep(name, 6..=9, 0.25, program);
}

fn right(comm: &Comm) -> Rank {
    (comm.rank() + 1) % comm.size()
}

fn left(comm: &Comm) -> Rank {
    (comm.rank() + comm.size() - 1) % comm.size()
}

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
fn in_barriers() {
    every("barrier", |comm| {
        for _ in 0..3 {
            comm.barrier()?;
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_broadcasts() {
    every("broadcast", |comm| {
        for (length, root) in LENGTHS.into_iter().zip([0, comm.size() - 1]) {
            let mut data = buffer(comm.rank(), length);
            comm.broadcast(root, &mut data)?;
            assert_from(root, &data, length);
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_reduces() {
    every("reduce", |comm| {
        for (length, root) in LENGTHS.into_iter().zip([0, comm.size() - 1]) {
            let mut data = buffer(comm.rank(), length);
            comm.reduce(root, &mut data, op::Sum)?;
            if comm.rank() == root {
                assert_sum(0..comm.size(), &data);
            } else {
                assert_from(comm.rank(), &data, length);
            }
        }
        Ok(comm.rank() as u64)
    });
}

/// Composition of maps x -> 2 x + b: any other order gives another map.
fn compose(f: (u64, u64), g: (u64, u64)) -> (u64, u64) {
    (
        f.0.wrapping_mul(g.0),
        f.0.wrapping_mul(g.1).wrapping_add(f.1),
    )
}

fn composed(ranks: usize) -> (u64, u64) {
    let maps = (0..ranks).map(|rank| (2, rank as u64));
    maps.reduce(compose).expect("there is a rank")
}

#[test]
fn in_reduces_that_keep_the_order() {
    every("reduce with a closure", |comm| {
        for (length, root) in LENGTHS.into_iter().zip([0, comm.size() - 1]) {
            let mut maps = vec![(2, comm.rank() as u64); length];
            comm.reduce(root, &mut maps, compose)?;
            if comm.rank() == root {
                assert!(maps.iter().all(|map| *map == composed(comm.size())));
            }
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_all_reduces() {
    every("all_reduce", |comm| {
        for length in LENGTHS {
            let mut data = buffer(comm.rank(), length);
            comm.all_reduce(&mut data, op::Sum)?;
            assert_sum(0..comm.size(), &data);
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_all_reduces_from_one_buffer_into_another() {
    every("all_reduce_into", |comm| {
        let mut sums = Spoiled::new(vec![0; LENGTHS[1]]);
        comm.all_reduce_into(&buffer(comm.rank(), LENGTHS[1]), &mut sums, op::Sum)?;
        assert_sum(0..comm.size(), &sums);
        Ok(comm.rank() as u64)
    });
}

/// Returns one topology of each family.
fn topologies(n: usize) -> [Topology; 7] {
    [
        Topology::chain(n),
        Topology::binomial(n).rooted(n - 1),
        Topology::k_tree(n, 2),
        Topology::flat(n),
        Topology::k_ary(n, 2),
        Topology::fibonacci(n),
        Topology::in_order(n),
    ]
}

fn sum_over(comm: &Comm, order: Order) -> Result<u64> {
    for (i, topology) in topologies(comm.size()).iter().enumerate() {
        if order == Order::Rank && !topology.is_in_rank_order() {
            continue;
        }
        let mut data = buffer(comm.rank(), LENGTHS[i % 2]);
        comm.reduce_over(topology, &mut data, op::Sum)
            .order(order)
            .run()?;
        if comm.rank() == topology.root() {
            assert_sum(0..comm.size(), &data);
        }
    }
    Ok(comm.rank() as u64)
}

#[test]
fn in_reductions_over_topologies_by_arrival() {
    every("by arrival", |comm| sum_over(comm, Order::Arrival));
}

#[test]
fn in_reductions_over_topologies_by_step() {
    every("by step", |comm| sum_over(comm, Order::Step));
}

#[test]
fn in_reductions_over_topologies_by_rank() {
    every("by rank", |comm| sum_over(comm, Order::Rank));
}

#[test]
fn in_reductions_of_values() {
    every("values", |comm| {
        let text: String = (0..comm.size()).map(|rank| format!("{rank},")).collect();
        for topology in topologies(comm.size())
            .iter()
            .filter(|topology| topology.is_in_rank_order())
        {
            let mine = Box::new(format!("{},", comm.rank()));
            let all = comm
                .values()
                .reduce_over(topology, mine, |a, b| Box::new(*a + &b));
            let all = all.run()?;
            assert_eq!(all.is_some(), comm.rank() == topology.root());
            assert!(all.is_none_or(|all| *all == text));
        }
        Ok(comm.rank() as u64)
    });
}

/// The sum must be that of the contributors that it names, whichever they are.
#[test]
fn in_reductions_over_survivors() {
    every("survivors", |comm| {
        for (i, topology) in topologies(comm.size()).iter().enumerate() {
            let mut data = buffer(comm.rank(), LENGTHS[i % 2]);
            let sum = comm
                .reduce_over(topology, &mut data, op::Sum)
                .order(Order::Arrival);
            if let Some(who) = sum.survivors()? {
                assert_sum(who.contributors.iter().copied(), &data);
                assert_eq!(who.contributors.len() + who.missing.len(), comm.size());
            }
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_a_program_of_everything() {
    every("everything", |comm| {
        let mut data = buffer(comm.rank(), LENGTHS[1]);
        comm.barrier()?;
        comm.broadcast(1, &mut data)?;
        let (got, _) = comm.sendrecv(right(comm), 3, &data, left(comm), 3)?;
        assert_from(1, &got, LENGTHS[1]);
        let mut ones = [1u64; 2];
        comm.all_reduce(&mut ones, op::Sum)?;
        let chain = Topology::chain(comm.size());
        comm.reduce_over(&chain, &mut ones, op::Max).run()?;
        comm.send_value(left(comm), 4, ones.to_vec())?;
        Ok(comm.recv_value::<Vec<u64>>(right(comm), 4)?.0[0])
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

fn error_of<R>(report: &Report<R>, rank: Rank) -> &Error {
    let outcome = report.outcomes[rank].error();
    outcome.unwrap_or_else(|| panic!("rank {rank} did not fail"))
}

/// Runs `program` for 2 to 9 ranks, checked and not.
fn for_all_sizes<R: Send>(
    name: &str,
    program: impl Fn(&Comm) -> Result<R> + Sync,
    judge: impl Fn(usize, Report<R>),
) {
    for ranks in 2..=9 {
        for check in [false, true] {
            let case = || format!("{name}, {ranks} ranks, check({check})");
            let run = || World::new(ranks).check(check).run_each(&program);
            judge(ranks, guarded(&case, run));
        }
    }
}

/// An operator that panics on the contribution of the last rank.
fn fragile(a: u64, b: u64) -> u64 {
    assert!(a < 1 << 40 && b < 1 << 40, "too much");
    a + b
}

fn big_in_the_last(comm: &Comm) -> u64 {
    if comm.rank() + 1 == comm.size() {
        1 << 40
    } else {
        1
    }
}

/// A rank that applied the operator panicked, the first of them is the culprit, and all others name one of them.
fn judge_fragile<R>(ranks: usize, report: Report<R>) {
    let culprit = report.culprit.expect("the operator panicked in a rank");
    let panicked = |rank: usize| matches!(&report.outcomes[rank], Outcome::Panicked { message, .. } if &**message == "too much");
    assert!(panicked(culprit));
    for rank in (0..ranks).filter(|&rank| !panicked(rank)) {
        let outcome = &report.outcomes[rank];
        let named = outcome.error().and_then(Error::culprit);
        assert!(outcome.value().is_some() || named.is_some_and(panicked));
    }
    assert!(
        matches!(report.into_result(), Err(WorldError::Panicked { rank, .. }) if rank == culprit)
    );
}

#[test]
fn an_operator_that_panics_is_the_failure_of_the_rank_that_ran_it() {
    let all_reduce = |comm: &Comm| {
        let mut data = vec![big_in_the_last(comm); LENGTHS[1]];
        comm.all_reduce(&mut data, fragile)
    };
    let reduce = |comm: &Comm| {
        let mut data = vec![big_in_the_last(comm); LENGTHS[0]];
        comm.reduce(comm.size() - 1, &mut data, fragile)
    };
    let over = |comm: &Comm| {
        let mut data = vec![big_in_the_last(comm); LENGTHS[1]];
        let flat = Topology::flat(comm.size());
        comm.reduce_over(&flat, &mut data, op::commutative(fragile))
            .run()
    };
    let values = |comm: &Comm| {
        let chain = Topology::chain(comm.size());
        let mine = Box::new(big_in_the_last(comm)); // owned, and not copied
        let sum = comm
            .values()
            .reduce_over(&chain, mine, |a, b| Box::new(fragile(*a, *b)));
        sum.run().map(|_| ())
    };
    for_all_sizes("all_reduce", all_reduce, judge_fragile);
    for_all_sizes("reduce", reduce, judge_fragile);
    for_all_sizes("reduce_over", over, judge_fragile);
    for_all_sizes("reduce_value_over", values, judge_fragile);
}

/// Panics when it is dropped, unless the thread is already panicking.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

#[test]
fn a_destructor_that_panics_is_the_failure_of_its_rank() {
    let program = |comm: &Comm| {
        let bomb = (comm.rank() == 1).then(|| Bomb);
        drop(bomb);
        comm.barrier()
    };
    for_all_sizes("a local", program, |ranks, report| {
        assert_eq!(report.culprit, Some(1));
        for rank in (0..ranks).filter(|&rank| rank != 1) {
            assert_eq!(error_of(&report, rank).culprit(), Some(1));
        }
    });
}

#[test]
fn a_message_whose_destructor_panics_fails_the_rank_that_drops_it() {
    let program = |comm: &Comm| match comm.rank() {
        0 => comm.send_value(1, 1, Bomb).and_then(|()| comm.barrier()),
        1 => comm.discard(0, 1).and_then(|_| comm.barrier()),
        _ => comm.barrier(),
    };
    for_all_sizes("a message", program, |ranks, report| {
        assert_eq!(report.culprit, Some(1));
        for rank in (0..ranks).filter(|&rank| rank != 1) {
            assert_eq!(error_of(&report, rank).culprit(), Some(1));
        }
    });
}

/// Waits in its destructor, like a guard that wants an answer before it releases something.
struct Waits<'a>(&'a Comm, Source);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let _ = self.0.recv::<u8>(self.1, 9);
    }
}

/// Rank 1 panics, outside our calls or inside one, while its own guard waits for a message from others, which wait for
/// rank 1.
fn panics_while_a_guard_waits(comm: &Comm, from: Source, inside: bool) -> Result<()> {
    if comm.rank() != 1 {
        return comm.recv::<u8>(1, 8).map(|_| ());
    }
    let _guard = Waits(comm, from);
    if inside {
        let mut one = [1];
        return comm.all_reduce(&mut one, |_, _| panic!("in an operator"));
    }
    panic!("in the program")
}

#[test]
fn a_panic_is_known_to_the_others_before_destructors_wait_for_them() {
    for source in [Source::Rank(0), Source::Any, Source::Rank(1)] {
        let program = |comm: &Comm| panics_while_a_guard_waits(comm, source, false);
        for_all_sizes("a guard waits", program, |ranks, report| {
            assert_eq!(report.culprit, Some(1));
            assert!(report.deadlocks.is_empty(), "{:?}", report.deadlocks);
            for rank in (0..ranks).filter(|&rank| rank != 1) {
                let error = error_of(&report, rank);
                assert!(
                    matches!(
                        error.kind(),
                        ErrorKind::RankGone {
                            rank: 1,
                            why: Gone::Panicked(_),
                            ..
                        }
                    ),
                    "rank {rank}: {error}"
                );
            }
        });
    }
}

#[test]
fn an_injected_end_is_known_to_the_others_before_destructors_wait_for_them() {
    for (source, fault) in [Source::Rank(0), Source::Any]
        .into_iter()
        .flat_map(|source| [(source, Fault::Panic), (source, Fault::Return)])
    {
        let run = || {
            World::new(3).inject(1, 1, fault).run_each(|comm| {
                if comm.rank() != 1 {
                    return Ok(());
                }
                let _guard = Waits(comm, source);
                comm.send(1, 0, &[1u8])
            })
        };
        let report = guarded(&|| format!("{source}, {fault:?}"), run);
        assert_eq!(report.culprit, Some(1));
        assert!(report.deadlocks.is_empty(), "{:?}", report.deadlocks);
    }
}

#[test]
fn a_rank_that_unwraps_the_failure_of_another_is_not_the_culprit() {
    let program = |comm: &Comm| {
        if comm.rank() == 1 {
            return Err(Error::user("the first"));
        }
        comm.barrier().unwrap();
        Ok(())
    };
    for_all_sizes("unwrap", program, |ranks, report| {
        assert_eq!(report.culprit, Some(1));
        for rank in (0..ranks).filter(|&rank| rank != 1) {
            assert!(matches!(report.outcomes[rank], Outcome::Panicked { .. }));
        }
        let error = report.into_result().unwrap_err();
        assert!(
            matches!(error, WorldError::Failed { rank: 1, .. }),
            "{error}"
        );
    });
}

/// Each rank waits for the next one. Those at the far end must learn of the last, which panicked, even when the ranks
/// between unwrapped their errors.
#[test]
fn the_first_culprit_is_named_along_a_line_of_ranks_that_unwrap() {
    let program = |comm: &Comm| {
        assert_ne!(comm.rank() + 1, comm.size(), "the first");
        comm.recv::<u8>(comm.rank() + 1, 0).unwrap();
        Ok(())
    };
    for_all_sizes("a line that unwraps", program, |ranks, report| {
        assert_eq!(report.culprit, Some(ranks - 1));
        for rank in 0..ranks - 1 {
            let wanted = format!("rank {} is gone: it panicked", ranks - 1);
            assert!(
                matches!(&report.outcomes[rank], Outcome::Panicked { message, .. } if message.contains(&wanted)),
                "{:?}",
                report.outcomes[rank]
            );
        }
    });
}

#[test]
fn the_culprit_is_the_rank_that_was_missed_not_the_one_that_returned_first() {
    let program = |comm: &Comm| match comm.rank() {
        0 => {
            // By the barrier of errors: the others have ended before rank 1 is told to go.
            for rank in 2..comm.size() {
                assert!(comm.recv::<u8>(rank, 0).is_err());
            }
            comm.send(1, 0, &[0u8])?;
            comm.recv::<u8>(1, 1).map(|_| ())
        }
        1 => comm.recv::<u8>(0, 0).map(|_| ()),
        _ => Ok(()),
    };
    let run = || World::new(2).run_each(program);
    assert_eq!(guarded(&|| "missed".into(), run).culprit, Some(1));
    // Ranks 2 and 3 return before rank 1 does, with all their work done.
    let done = AtomicUsize::new(0);
    let program = |comm: &Comm| match comm.rank() {
        0 => {
            assert!(comm.recv::<u8>(2, 9).is_err());
            done.store(1, Ordering::Release);
            comm.send(1, 0, &[0u8])?;
            Ok(())
        }
        1 => comm.recv::<u8>(0, 0).map(|_| ()),
        2 => Ok(()),
        _ => comm.recv::<u8>(1, 1).map(|_| ()),
    };
    let run = || World::new(4).run_each(program);
    let report = guarded(&|| "missed among others".into(), run);
    assert_eq!(error_of(&report, 3).culprit(), Some(1));
    assert_eq!(report.culprit, Some(1));
}

#[test]
fn an_operator_may_not_call_a_communicator() {
    let program = |comm: &Comm| {
        let mut data = [1u32];
        let refused = AtomicUsize::new(0);
        comm.all_reduce(&mut data, |a, b| {
            let error = comm.send(0, 1, &[0u8]).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
            assert!(matches!(
                comm.barrier().unwrap_err().kind(),
                ErrorKind::Usage(_)
            ));
            refused.fetch_add(1, Ordering::Relaxed);
            a + b
        })?;
        comm.barrier()?;
        Ok((data[0], refused.into_inner()))
    };
    for_all_sizes("operator", program, |ranks, report| {
        let values = report.into_result().expect("an operator may try");
        assert!(values.iter().all(|(sum, _)| *sum as usize == ranks));
        let refused = values.iter().map(|(_, refused)| refused).sum::<usize>();
        assert!(refused >= ranks - 1, "{refused} of {ranks}");
    });
}

/// Every refused call, one after the other: each is as if it had not been made.
fn refused_calls(comm: &Comm) -> Vec<Result<()>> {
    let n = comm.size();
    let mut one = [1u64];
    let mut two = [1u64, 2];
    let chain = Topology::chain(n + 1);
    let k_ary = Topology::k_ary(9, 2);
    let mut calls = vec![
        comm.send(n, 0, &[1u8]),
        comm.recv::<u8>(n, 0).map(|_| ()),
        comm.recv::<u8>(-1, 0).map(|_| ()),
        comm.recv_into(n, 0, &mut one).map(|_| ()),
        comm.send_value(n, 0, String::new()),
        comm.recv_value::<String>(n, 0).map(|_| ()),
        comm.sendrecv(n, 0, &[1u8], 0, 0).map(|_| ()),
        comm.sendrecv(0, 0, &[1u8], n, 0).map(|_| ()),
        comm.probe(n, 0).map(|_| ()),
        comm.discard(n, 0).map(|_| ()),
        comm.broadcast(n, &mut one),
        comm.reduce(n, &mut one, op::Sum),
        comm.all_reduce_into(&one.clone(), &mut two, op::Sum),
        comm.reduce_over(&chain, &mut one, op::Sum).run(),
        comm.reduce_over(&chain, &mut one, op::Sum)
            .survivors()
            .map(|_| ()),
    ];
    let binomial = Topology::binomial(n);
    let by_arrival = comm.reduce_over(&binomial, &mut one, |a, _| a);
    calls.push(by_arrival.order(Order::Arrival).run());
    if n == 9 {
        calls.push(comm.reduce_over(&k_ary, &mut one, |a, _| a).run());
    }
    calls
}

#[test]
fn a_call_with_wrong_arguments_is_as_if_not_made() {
    let program = |comm: &Comm| {
        if comm.rank().is_multiple_of(2) {
            for (i, call) in refused_calls(comm).into_iter().enumerate() {
                let error = call.expect_err("refused");
                assert!(
                    matches!(error.kind(), ErrorKind::Usage(_)),
                    "call {i}: {error}"
                );
                assert!(error.site().unwrap().file().ends_with("deaths.rs"));
            }
        }
        let mut data = buffer(comm.rank(), LENGTHS[1]);
        comm.all_reduce(&mut data, op::Sum)?;
        assert_sum(0..comm.size(), &data);
        comm.sendrecv(right(comm), 0, &[1u8], left(comm), 0)
            .map(|_| ())
    };
    for_all_sizes("refused", program, |_, report| {
        assert!(report.lost.is_empty());
        report.into_result().expect("all goes on");
    });
}

/// Rank 1 fails inside the first collective and goes on: later collectives of all members fail with that cause, and
/// messages still pass.
fn goes_on_after_a_broken_collective(comm: &Comm) -> Result<()> {
    let mut data = buffer(comm.rank(), LENGTHS[1]);
    let _first = comm
        .all_reduce(&mut data, op::Sum)
        .and_then(|()| comm.barrier());
    let (_, from) = comm.sendrecv(right(comm), 0, &[comm.rank()], left(comm), 0)?;
    assert_eq!(from.source, left(comm));
    for _ in 0..2 {
        let again = comm.barrier().unwrap_err();
        assert!(
            matches!(again.kind(), ErrorKind::Broken { rank: 1, .. }),
            "{again}"
        );
        let again = comm.broadcast(0, &mut data).unwrap_err();
        assert_eq!(again.culprit(), Some(1), "{again}");
    }
    let (got, _) = comm.sendrecv(
        right(comm),
        0,
        &buffer(comm.rank(), LENGTHS[1]),
        left(comm),
        0,
    )?;
    assert_from(left(comm), &got, LENGTHS[1]);
    Ok(())
}

#[test]
fn a_broken_communicator_fails_all_later_collectives_with_the_first_cause() {
    for ranks in 2..=9 {
        for check in [false, true] {
            // Operation 1 is the call itself, which is as if it had not been made; operation 2 is inside it.
            let world = World::new(ranks).check(check).inject(1, 2, Fault::Error);
            let run = || world.run_each(goes_on_after_a_broken_collective);
            let report = guarded(&|| format!("broken, {ranks} ranks, {check}"), run);
            report.into_result().expect("every rank handled it");
        }
    }
}

#[test]
fn what_was_sent_before_a_death_is_delivered_first() {
    let program = |comm: &Comm| {
        if comm.rank() == 0 {
            for to in 1..comm.size() {
                for length in LENGTHS {
                    comm.send(to, 1, &buffer(0, length))?;
                }
            }
            panic!("after all was sent");
        }
        for length in LENGTHS {
            assert_from(0, &comm.recv::<u64>(Source::Any, Tag::Any)?.0, length);
        }
        let gone = comm.recv::<u64>(Source::Any, 1).unwrap_err();
        assert_eq!(gone.culprit(), Some(0));
        Ok(())
    };
    for_all_sizes("delivered first", program, |ranks, report| {
        assert_eq!(report.culprit, Some(0));
        assert!((1..ranks).all(|rank| report.outcomes[rank].value().is_some()));
    });
}

#[test]
fn two_deaths_leave_nobody_waiting() {
    for ranks in 3..=9 {
        let seen = Arc::new(AtomicUsize::new(0));
        let world = World::new(ranks)
            .inject(1, 3, Fault::Panic)
            .inject(2, 2, Fault::Error);
        let run = || {
            world.run_each(|comm| {
                for _ in 0..4 {
                    let mut data = buffer(comm.rank(), LENGTHS[1]);
                    comm.all_reduce(&mut data, op::Sum)?;
                }
                seen.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        };
        let report = guarded(&|| format!("two deaths, {ranks} ranks"), run);
        assert!(
            matches!(report.culprit, Some(1 | 2)),
            "{:?}",
            report.culprit
        );
        assert_eq!(seen.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    channels::again(&[]);
}
