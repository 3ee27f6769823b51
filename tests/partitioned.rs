//! Partitioned messages: what arrives against what was sent, for all numbers of ranks and of parts, by one thread and by
//! several; what is read while parts are on the way; deaths, deadlocks and every other wrong use.

mod again;
mod common;
#[path = "partitioned/deadlocks.rs"]
mod deadlocks;
#[path = "partitioned/deaths.rs"]
mod deaths;
#[path = "partitioned/mistakes.rs"]
mod mistakes;
#[path = "partitioned/random.rs"]
mod random;
mod support;
#[path = "partitioned/threads.rs"]
mod threads;

use std::thread;

use common::{assert_usage, await_signal, signal};
use rankfold::partitioned::{RecvParts, SendParts};
use rankfold::testing::explore;
use rankfold::{Buffering, Comm, Report, Result, Source, Tag, World, op};
use support::{Random, guarded};

fn run<R: Send + Default>(
    case: &str,
    ranks: usize,
    f: impl Fn(&Comm) -> Result<R> + Sync,
) -> Report<R> {
    guarded(&|| case.into(), || World::new(ranks).run_each(f))
}

fn right(comm: &Comm) -> usize {
    (comm.rank() + 1) % comm.size()
}

fn left(comm: &Comm) -> usize {
    (comm.rank() + comm.size() - 1) % comm.size()
}

/// Element `i` of what `rank` sends in a turn.
fn element(rank: usize, turn: usize, i: usize) -> u64 {
    (rank * 1_000_000 + turn * 10_000 + i) as u64
}

fn message(rank: usize, turn: usize, length: usize) -> Vec<u64> {
    (0..length).map(|i| element(rank, turn, i)).collect()
}

/// The parts in an order of chance.
fn shuffled(parts: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..parts).collect();
    (1..parts).for_each(|last| order.swap(last, random.below(last + 1)));
    order
}

/// Sends to the right and receives from the left, `turns` times: the numbers of parts at either end, and the number of all
/// elements.
fn around(comm: &Comm, (out, into, length): (usize, usize, usize), turns: usize) -> Result<()> {
    let mut random = Random::new((comm.rank() * 100 + length) as u64);
    let mut sent = SendParts::new(comm, right(comm), 3, out, vec![0; length])?;
    let mut received = RecvParts::new(comm, left(comm), 3, into, vec![0; length])?;
    for turn in 0..turns {
        let wanted = message(left(comm), turn, length);
        sent.start()?;
        received.start()?;
        let size = length / out;
        for part in shuffled(out, &mut random) {
            for (i, place) in sent.part_mut(part)?.iter_mut().enumerate() {
                *place = element(comm.rank(), turn, part * size + i);
            }
            sent.ready(part)?;
            let look = random.below(into);
            if received.arrived(look)? {
                let size = length / into;
                assert_eq!(
                    received.part(look)?,
                    &wanted[look * size..(look + 1) * size]
                );
            }
        }
        received.wait()?;
        assert_eq!(received.elements()?, wanted);
        for part in 0..into {
            assert!(received.arrived(part)?);
        }
        sent.wait()?;
    }
    Ok(())
}

#[test]
fn every_element_arrives_whatever_the_numbers_of_ranks_and_of_parts_at_either_end() {
    for ranks in (1..=17).chain([33, 64]) {
        for cuts in [
            (1, 1, 5),
            (3, 3, 12),
            (2, 6, 12),
            (6, 4, 24),
            (8, 1, 8),
            (1, 8, 8),
            (5, 3, 0),
        ] {
            let case = format!("{ranks} ranks, {cuts:?}");
            let report = run(&case, ranks, |comm| around(comm, cuts, 3));
            let report = report.into_result();
            assert!(report.is_ok(), "{case}: {report:?}");
        }
    }
}

#[test]
fn long_parts_and_worlds_without_room_move_the_same_elements() {
    for buffering in [Buffering::Zero, Buffering::Bytes(300), Buffering::Unbounded] {
        guarded(&|| format!("{buffering:?}"), || {
            let world = World::new(3).buffering(buffering).strict();
            world.run(|comm| around(comm, (4, 2, 400_000), 2)).unwrap();
        });
    }
}

#[test]
fn a_part_is_read_while_another_is_not_ready() {
    let report = run("one part early", 2, |comm| {
        if comm.rank() == 0 {
            let mut sent = SendParts::new(comm, 1, 0, 2, vec![1, 2, 3, 4])?;
            sent.start()?;
            sent.ready(1)?;
            await_signal(comm, 1)?; // the other rank has read that part
            sent.part_mut(0)?[0] = 10;
            sent.ready(0)?;
            return sent.wait();
        }
        let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 4])?;
        received.start()?;
        while !received.arrived(1)? {}
        assert_eq!(received.part(1)?, [3, 4]);
        assert!(!received.arrived(0)?);
        assert_usage(received.part(0), "part 0 has not arrived");
        assert!(!received.test()?);
        signal(comm, 0)?;
        while !received.test()? {}
        assert_eq!(received.elements()?, [10, 2, 3, 4]);
        Ok(())
    });
    report.into_result().unwrap();
}

#[test]
fn a_sender_runs_ahead_and_its_starts_do_not_mix() {
    let report = run("ten starts ahead", 2, |comm| {
        if comm.rank() == 0 {
            let mut sent = SendParts::new(comm, 1, 0, 2, vec![0; 2])?;
            for turn in 0..10 {
                sent.start()?;
                sent.part_mut(1)?[0] = turn + 100;
                sent.ready(1)?;
                sent.part_mut(0)?[0] = turn;
                sent.ready(0)?;
                assert!(sent.test()?);
            }
            return signal(comm, 1);
        }
        await_signal(comm, 0)?;
        let mut received = RecvParts::new(comm, 0, 0, 1, vec![0; 2])?;
        for turn in 0..10 {
            received.start()?;
            received.wait()?;
            assert_eq!(received.elements()?, [turn, turn + 100]);
        }
        Ok(())
    });
    report.into_result().unwrap();
}

#[test]
fn parts_meet_no_other_receive_and_no_other_communicator() {
    let report = run("other receives", 2, |comm| {
        let other = comm.dup()?;
        if comm.rank() == 0 {
            for (comm, value) in [(&other, 1), (comm, 2)] {
                let mut sent = SendParts::new(comm, 1, 5, 1, vec![value])?;
                sent.start()?;
                sent.ready(0)?;
                sent.wait()?;
            }
            comm.send(1, 5, &[3])?;
            return await_signal(comm, 1);
        }
        let (got, status) = comm.recv::<i32>(Source::Any, Tag::Any)?;
        assert_eq!((got, status.tag), (vec![3], 5));
        assert!(comm.iprobe(0, 5)?.is_none());
        let mut sum = 0;
        for comm in [comm, &other] {
            let mut received = RecvParts::new(comm, 0, 5, 1, vec![0])?;
            received.start()?;
            received.wait()?;
            sum = 10 * sum + received.elements()?[0];
        }
        assert_eq!(sum, 21);
        signal(comm, 0)
    });
    report.into_result().unwrap();
}

#[test]
fn parts_arrive_beside_started_and_blocking_collectives() {
    for ranks in [2, 5, 8] {
        let report = run("collectives", ranks, |comm| {
            let sum = comm.iall_reduce(vec![1_u64; 9], op::Sum)?;
            around(comm, (3, 2, 6), 4)?;
            comm.barrier()?;
            assert_eq!(sum.wait()?, [ranks as u64; 9]);
            Ok(())
        });
        report.into_result().unwrap();
    }
}

#[test]
fn there_is_one_order_to_explore_and_seeded_worlds_are_right_too() {
    let explored = guarded(&|| "explore".into(), || {
        explore(3, |comm| around(comm, (2, 3, 6), 2))
    });
    // Not complete: it asks which parts have arrived.
    assert_eq!((explored.orders, explored.complete), (1, false));
    for seed in 0..20 {
        guarded(&|| format!("seed {seed}"), || {
            World::new(4)
                .seed(seed)
                .run(|comm| around(comm, (4, 2, 8), 2))
                .unwrap();
        });
    }
}

#[test]
fn a_trace_has_the_parts_as_messages_with_their_tag_from_end_to_end() {
    let report = guarded(&|| "trace".into(), || {
        World::new(2)
            .trace(true)
            .run_each(|comm| around(comm, (4, 2, 8), 1))
    });
    let trace = report.trace().expect("the world was traced");
    assert_eq!(trace.messages.len(), 8, "{trace:?}");
    for message in &trace.messages {
        assert_eq!((message.tag, message.bytes), (Some(3), 16));
        assert_eq!(message.to, 1 - message.from);
        assert!(message.received.is_some(), "{message:?}");
    }
}

// ── threads ──

/// As `around`, with a thread for each part that is sent.
fn around_by_threads(comm: &Comm, parts: usize, turns: usize) -> Result<()> {
    let length = 5 * parts;
    let mut sent = SendParts::new(comm, right(comm), 0, parts, vec![0; length])?;
    let mut received = RecvParts::new(comm, left(comm), 0, parts, vec![0; length])?;
    for turn in 0..turns {
        sent.start()?;
        received.start()?;
        let (me, (given, ready)) = (comm.rank(), sent.split()?);
        assert_eq!(given.len(), parts);
        thread::scope(|threads| {
            for mut part in given {
                threads.spawn(move || {
                    let first = 5 * part.number();
                    (0..5).for_each(|i| part[i] = element(me, turn, first + i));
                    part.ready();
                });
            }
            ready.send()
        })?;
        sent.wait()?;
        received.wait()?;
        assert_eq!(received.elements()?, message(left(comm), turn, length));
    }
    Ok(())
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
