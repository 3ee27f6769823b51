//! Partitioned messages: what arrives against what was sent, for all numbers of ranks and of parts, by one thread and by
//! several; what is read while parts are on the way; deaths, deadlocks and every other wrong use.

mod channels;
mod common;
mod support;

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use common::{assert_usage, await_signal, signal};
use rankfold::partitioned::{RecvParts, SendParts};
use rankfold::testing::explore;
use rankfold::{Buffering, Comm, ErrorKind, Outcome, Report, Result, Source, Tag, World, op};
use support::sweep::{sweep, sweep_bufferings};
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
    assert!(explored.complete, "{explored:?}");
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
fn threads_of_a_rank_hand_over_its_parts() {
    for ranks in 1..=17 {
        let report = run(&format!("{ranks} ranks"), ranks, |comm| {
            around_by_threads(comm, 4, 2)
        });
        report.into_result().unwrap();
    }
}

#[test]
fn a_part_leaves_while_another_thread_still_works() {
    let report = run("early", 2, |comm| {
        if comm.rank() == 1 {
            let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
            received.start()?;
            while !received.arrived(0)? {}
            assert_eq!(received.part(0)?, [7]);
            comm.send(0, 1, &[1])?;
            received.wait()?;
            assert_eq!(received.elements()?, [7, 8]);
            return Ok(());
        }
        let mut sent = SendParts::new(comm, 1, 0, 2, vec![7, 8])?;
        sent.start()?;
        sent.ready(0)?;
        comm.recv::<i32>(1, 1)?; // part 0 was read
        let (given, ready) = sent.split()?;
        assert_eq!(
            given.iter().map(|part| part.number()).collect::<Vec<_>>(),
            [1]
        );
        let met = Barrier::new(2);
        thread::scope(|threads| {
            for part in given {
                threads.spawn(|| {
                    met.wait();
                    part.ready();
                });
            }
            met.wait();
            ready.send()
        })?;
        sent.wait()
    });
    report.into_result().unwrap();
}

#[test]
fn a_part_that_its_thread_drops_is_reported_and_can_still_be_declared_ready() {
    let report = run("dropped", 2, |comm| {
        if comm.rank() == 1 {
            let mut received = RecvParts::new(comm, 0, 0, 3, vec![0; 3])?;
            received.start()?;
            received.wait()?;
            assert_eq!(received.elements()?, [1, 2, 3]);
            return Ok(());
        }
        let mut sent = SendParts::new(comm, 1, 0, 3, vec![1, 2, 3])?;
        sent.start()?;
        let (given, ready) = sent.split()?;
        let refused = thread::scope(|threads| {
            for part in given {
                threads.spawn(move || {
                    if part.number() == 1 {
                        part.ready();
                    }
                });
            }
            ready.send()
        });
        assert_usage(refused, "part 0 and 1 more are not ready");
        sent.ready(2)?;
        // The rank does not send: what is declared ready is not.
        let (given, ready) = sent.split()?;
        drop(ready);
        given.into_iter().for_each(|part| part.ready());
        assert_usage(sent.wait(), "part 0 is not ready");
        sent.ready(0)?;
        sent.wait()
    });
    report.into_result().unwrap();
}

#[test]
fn a_part_that_the_rank_itself_keeps_is_waited_for_until_the_timeout() {
    for forgets in [false, true] {
        let report = guarded(&|| format!("forgets: {forgets}"), || {
            let world = World::new(1).timeout(Duration::from_millis(20));
            world.run_each(|comm| {
                let mut sent = SendParts::new(comm, 0, 0, 2, vec![0_u64; 2])?;
                sent.start()?;
                let (mut parts, ready) = sent.split()?;
                let kept = parts.remove(1);
                parts.remove(0).ready();
                if forgets {
                    std::mem::forget(kept);
                    return ready.send();
                }
                ready.send().inspect_err(|_| drop(kept))
            })
        });
        let error = report.outcomes[0].error();
        let kind = error.map(|error| error.kind());
        assert!(
            matches!(kind, Some(ErrorKind::TimedOut { .. })),
            "{report:?}"
        );
    }
}

#[test]
fn parts_of_no_elements_are_given_to_threads_too() {
    let report = run("no elements", 1, |comm| {
        let mut sent = SendParts::<u8>::new(comm, 0, 0, 3, Vec::new())?;
        let mut received = RecvParts::<u8>::new(comm, 0, 0, 2, Vec::new())?;
        sent.start()?;
        let (given, ready) = sent.split()?;
        assert_eq!(given.len(), 3);
        given.into_iter().for_each(|part| part.ready());
        ready.send()?;
        sent.wait()?;
        received.start()?;
        assert!(received.arrived(1)?);
        received.wait()
    });
    report.into_result().unwrap();
}

// ── deaths ──

#[test]
fn a_rank_dies_in_partitioned_messages() {
    sweep("partitioned", 2..=5, 1.0, |comm| {
        around(comm, (2, 4, 8), 2)?;
        Ok(comm.rank() as u64)
    });
}

#[test]
fn a_rank_dies_in_partitioned_messages_without_room() {
    sweep_bufferings("partitioned", |comm| {
        let mut sent = SendParts::new(comm, right(comm), 0, 2, vec![comm.rank() as u64; 30])?;
        let mut received = RecvParts::new(comm, left(comm), 0, 3, vec![0; 30])?;
        for _ in 0..2 {
            sent.start()?;
            received.start()?;
            sent.ready(1)?;
            sent.ready(0)?;
            received.wait()?;
            sent.wait()?;
        }
        Ok(received.elements()?.iter().sum())
    });
}

#[test]
fn a_rank_dies_while_its_threads_work() {
    sweep("partitioned, threads", 2..=3, 1.0, |comm| {
        around_by_threads(comm, 2, 1)?;
        Ok(comm.rank() as u64)
    });
}

#[test]
fn a_receiver_learns_that_the_sender_has_left_without_a_part() {
    let report = run("left", 2, |comm| {
        if comm.rank() == 0 {
            let mut sent = SendParts::new(comm, 1, 0, 2, vec![1, 2])?;
            sent.start()?;
            return sent.ready(1);
        }
        let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        received.start()?;
        let error = loop {
            match received.arrived(0) {
                Ok(there) => assert!(!there),
                Err(error) => break error,
            }
        };
        assert!(
            matches!(error.kind(), ErrorKind::RankGone { .. }),
            "{error}"
        );
        assert!(received.arrived(1)?);
        assert_eq!(received.part(1)?, [2]);
        received.wait()
    });
    let Outcome::Failed(error) = &report.outcomes[1] else {
        panic!("{report:?}");
    };
    assert_eq!(error.culprit(), Some(0));
    assert!(
        error.to_string().contains("tests/partitioned.rs"),
        "{error}"
    );
}

// ── deadlocks ──

#[test]
fn a_part_that_is_never_ready_is_a_deadlock_that_names_both_lines() {
    let mut lines = [0; 2];
    let first = line!();
    let report = run("never ready", 2, |comm| {
        if comm.rank() == 0 {
            let mut sent = SendParts::new(comm, 1, 6, 3, vec![0; 3])?;
            sent.start()?;
            sent.ready(0)?;
            sent.ready(2)?;
            comm.recv::<u8>(1, 0)?; // 7 lines below `first`
            return sent.ready(1);
        }
        let mut received = RecvParts::new(comm, 0, 6, 3, vec![0; 3])?;
        received.start()?;
        received.wait()?; // 12 lines below
        comm.send(0, 0, &[0_u8])
    });
    lines[0] = first + 7;
    lines[1] = first + 12;
    assert_eq!(report.deadlocks.len(), 1, "{report:?}");
    let knot = &report.deadlocks[0];
    assert_eq!(knot.cycle, [0, 1]);
    let found: Vec<_> = knot
        .stuck
        .iter()
        .map(|one| (one.call.as_str(), one.site.line()))
        .collect();
    assert_eq!(
        found,
        [
            ("recv(from 1, tag 0)", lines[0]),
            ("recv_parts(from 0, tag 6)", lines[1])
        ]
    );
}

#[test]
fn two_that_wait_before_they_declare_ready_are_a_deadlock() {
    for ranks in [2, 3, 7] {
        let report = run("all wait", ranks, |comm| {
            let mut sent = SendParts::new(comm, right(comm), 0, 2, vec![0; 2])?;
            let mut received = RecvParts::new(comm, left(comm), 0, 2, vec![0; 2])?;
            sent.start()?;
            received.start()?;
            sent.ready(0)?;
            received.wait()?;
            sent.ready(1)?;
            sent.wait()
        });
        let all: Vec<usize> = (0..ranks).collect();
        let mut cycle = report.deadlocks[0].cycle.to_vec();
        cycle.sort_unstable();
        assert_eq!(cycle, all, "{report:?}");
    }
}

#[test]
fn without_room_two_that_wait_for_their_sends_are_a_deadlock_over_the_parts() {
    let report = guarded(&|| "no room".into(), || {
        World::new(2).buffering(Buffering::Zero).run_each(|comm| {
            let other = 1 - comm.rank();
            let mut sent = SendParts::new(comm, other, 4, 1, vec![0])?;
            let mut received = RecvParts::new(comm, other, 4, 1, vec![0])?;
            sent.start()?;
            received.start()?;
            sent.ready(0)?;
            assert!(!sent.test()?);
            sent.wait()?;
            received.wait()
        })
    });
    let knot = &report.deadlocks[0];
    assert_eq!(knot.cycle, [0, 1], "{report:?}");
    assert!(knot.to_string().contains("ready(to 1, tag 4)"), "{knot}");
}

// ── wrong use ──

#[test]
fn a_wait_for_a_part_that_is_not_ready_is_refused_at_once() {
    let report = run("wait too early", 1, |comm| {
        let mut sent = SendParts::new(comm, 0, 0, 4, vec![1, 2, 3, 4])?;
        let mut received = RecvParts::new(comm, 0, 0, 4, vec![0; 4])?;
        sent.wait()?; // inactive
        received.wait()?;
        sent.start()?;
        assert_usage(sent.wait(), "part 0 and 3 more are not ready");
        assert!(!sent.test()?);
        (0..3).try_for_each(|part| sent.ready(part))?;
        let error = sent.wait().unwrap_err().to_string();
        assert!(
            error.contains("wait of send_parts(to 0, tag 0) at tests/partitioned.rs"),
            "{error}"
        );
        assert!(error.contains("part 3 is not ready"), "{error}");
        sent.ready(3)?;
        received.start()?;
        received.wait()?;
        assert!(sent.test()?);
        assert!(sent.test()? && received.test()?);
        Ok(())
    });
    report.into_result().unwrap();
}

#[test]
fn parts_and_states_that_do_not_exist_are_refused_with_the_reason() {
    let report = run("wrong calls", 1, |comm| {
        assert_usage(
            SendParts::new(comm, 1, 0, 1, vec![0]),
            "the receiver 1 is not one of the 1 ranks",
        );
        assert_usage(
            RecvParts::new(comm, 1, 0, 1, vec![0]),
            "the sender 1 is not one of the 1 ranks",
        );
        assert_usage(
            SendParts::new(comm, 0, 0, 0, vec![0]),
            "1 to 1048576 parts, and not 0",
        );
        assert_usage(
            RecvParts::new(comm, 0, 0, 1 << 21, vec![0; 1 << 21]),
            "and not 2097152",
        );
        assert_usage(
            RecvParts::new(comm, 0, 0, 2, vec![0; 3]),
            "3 elements are not 2 parts of the same length",
        );
        let mut sent = SendParts::new(comm, 0, 0, 2, vec![5, 6])?;
        let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        assert_usage(sent.ready(0), "it is not active: start it first");
        assert_usage(sent.split().map(drop), "it is not active: start it first");
        assert_usage(received.arrived(0), "it is not active: start it first");
        assert_usage(received.elements(), "it is not active: start it first");
        assert_usage(received.part(0), "part 0 has not arrived");
        sent.start()?;
        received.start()?;
        assert_usage(sent.start(), "it is active: wait for it first");
        assert_usage(received.start(), "it is active: wait for it first");
        assert_usage(received.elements(), "it is active: wait for it first");
        assert_usage(sent.ready(2), "part 2 is not one of the 2 parts");
        assert_usage(received.arrived(2), "part 2 is not one of the 2 parts");
        assert_usage(received.part(2), "part 2 is not one of the 2 parts");
        sent.ready(1)?;
        assert_usage(sent.ready(1), "part 1 is ready already");
        assert_usage(sent.part_mut(1), "part 1 is ready already");
        sent.ready(0)?;
        sent.wait()?;
        sent.part_mut(1)?[0] = 9; // it is inactive
        received.wait()?;
        assert_eq!(received.elements()?, [5, 6]);
        Ok(())
    });
    report.into_result().unwrap();
}

/// A rank that sends itself parts in this order: the numbers of parts and of elements at either end.
fn differing(out: (usize, usize), into: (usize, usize), order: &[usize]) -> Report<()> {
    run("ends that differ", 1, |comm| {
        let mut sent = SendParts::new(comm, 0, 0, out.0, vec![0_u8; out.1])?;
        let mut received = RecvParts::new(comm, 0, 0, into.0, vec![0_u8; into.1])?;
        sent.start()?;
        order.iter().try_for_each(|part| sent.ready(*part))?;
        sent.wait()?;
        received.start()?;
        received.wait()
    })
}

#[test]
fn a_part_outside_of_the_buffer_is_refused_and_one_that_is_not_wanted_any_more_is_reported() {
    let report = differing((2, 8), (2, 4), &[1, 0]);
    let error = report.outcomes[0].error().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
    let says = "the sender's part 1 of 4 elements is not in the message, which has 4 here";
    assert!(error.to_string().contains(says), "{error}");
    assert_eq!(report.lost.len(), 2, "{report:?}");
    // The first part fills the buffer.
    let report = differing((2, 8), (2, 4), &[0, 1]);
    assert!(report.outcomes[0].value().is_some(), "{report:?}");
    assert_eq!(report.lost.len(), 1, "{report:?}");
}

#[test]
fn a_message_shorter_than_the_buffer_is_waited_for_in_vain() {
    let report = differing((2, 4), (2, 8), &[0, 1]);
    assert_eq!(report.deadlocks[0].cycle, [0], "{report:?}");
}

#[test]
fn elements_of_another_type_are_refused_and_stay() {
    let report = run("types", 1, |comm| {
        let mut sent = SendParts::new(comm, 0, 0, 1, vec![1_u8])?;
        sent.start()?;
        sent.ready(0)?;
        sent.wait()?;
        let mut wrong = RecvParts::new(comm, 0, 0, 1, vec![1_i8])?;
        wrong.start()?;
        for _ in 0..2 {
            let error = wrong.wait().unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::WrongType { .. }),
                "{error}"
            );
            assert!(wrong.arrived(0).is_err());
        }
        let mut received = RecvParts::new(comm, 0, 0, 1, vec![0_u8])?;
        received.start()?;
        received.wait()?;
        assert_eq!(received.elements()?, [1]);
        Ok(())
    });
    report.into_result().unwrap();
}

#[test]
fn parts_of_two_messages_with_one_tag_are_not_mixed() {
    let report = run("two with one tag", 1, |comm| {
        let mut one = SendParts::new(comm, 0, 0, 2, vec![1, 1])?;
        let mut two = SendParts::new(comm, 0, 0, 2, vec![2, 2])?;
        let mut other = SendParts::new(comm, 0, 1, 2, vec![3, 3])?;
        one.start()?;
        two.start()?;
        other.start()?;
        one.ready(0)?;
        assert_usage(
            two.ready(1),
            "parts of another message to this rank with this tag have left, and not all",
        );
        other.ready(0)?;
        one.ready(1)?;
        two.ready(1)?;
        two.ready(0)?;
        other.ready(1)?;
        for (tag, want) in [(0, 1), (0, 2), (1, 3)] {
            let mut received = RecvParts::new(comm, 0, tag, 2, vec![0; 2])?;
            received.start()?;
            received.wait()?;
            assert_eq!(received.elements()?, [want, want]);
        }
        Ok(())
    });
    report.into_result().unwrap();
}

#[test]
fn elements_too_many_do_not_become_part_of_another_message_however_many_lie_between() {
    let report = run("left over", 1, |comm| {
        let mut long = SendParts::new(comm, 0, 0, 3, vec![1; 3])?;
        long.start()?;
        for part in 0..3 {
            long.ready(part)?;
        }
        long.wait()?;
        let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        received.start()?;
        received.wait()?;
        // As many as a number in the label of a part could not count.
        let mut others = SendParts::new(comm, 0, 1, 1, vec![2])?;
        let mut taken = RecvParts::new(comm, 0, 1, 1, vec![2])?;
        for _ in 0..(1 << 12) - 1 {
            others.start()?;
            taken.start()?;
            others.ready(0)?;
            others.wait()?;
            taken.wait()?;
        }
        let mut next = SendParts::new(comm, 0, 0, 2, vec![3; 2])?;
        next.start()?;
        next.ready(0)?;
        next.ready(1)?;
        next.wait()?;
        // What was left over comes first.
        let mut received = RecvParts::new(comm, 0, 0, 3, vec![0; 3])?;
        received.start()?;
        assert_usage(
            received.wait(),
            "part 0 belongs to another start of the sender than the parts before it, and 2 of 3",
        );
        let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        received.start()?;
        received.wait()?;
        assert_eq!(received.elements()?, [3, 3]);
        Ok(())
    });
    report.into_result().unwrap();
}

#[test]
fn a_message_that_was_dropped_half_sent_does_not_become_part_of_the_next() {
    let report = run("dropped half sent", 1, |comm| {
        let mut sent = SendParts::new(comm, 0, 0, 2, vec![1, 1])?;
        sent.start()?;
        sent.ready(1)?;
        drop(sent);
        let mut others = SendParts::new(comm, 0, 1, 1, vec![0])?;
        let mut taken = RecvParts::new(comm, 0, 1, 1, vec![0])?;
        for _ in 0..(1 << 12) - 1 {
            others.start()?;
            taken.start()?;
            others.ready(0)?;
            others.wait()?;
            taken.wait()?;
        }
        let mut sent = SendParts::new(comm, 0, 0, 2, vec![2, 2])?;
        sent.start()?;
        sent.ready(0)?;
        sent.ready(1)?;
        sent.wait()?;
        let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        received.start()?;
        assert_usage(
            received.wait(),
            "another start of the sender than the parts before it, and 1 of 2 elements are",
        );
        // Given up, and begun anew.
        let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
        received.start()?;
        received.wait()?;
        assert_eq!(received.elements()?, [2, 2]);
        Ok(())
    });
    report.into_result().unwrap();
}

#[test]
fn calls_inside_an_operator_are_refused() {
    let report = run("inside an operator", 2, |comm| {
        let mut received = RecvParts::new(comm, comm.rank(), 0, 1, vec![0])?;
        received.start()?;
        let received = std::cell::RefCell::new(received);
        let mut v = [1];
        comm.all_reduce(&mut v, |a: i32, b: i32| {
            assert_usage(received.borrow_mut().arrived(0), "an operator may not call");
            a + b
        })?;
        assert_eq!(v, [2]);
        Ok(())
    });
    report.into_result().unwrap();
}

#[test]
fn all_of_it_holds_over_channels() {
    channels::again(&[]);
}
