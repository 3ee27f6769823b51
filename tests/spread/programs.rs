//! What the processes of a launch run.

#[path = "programs/collectives.rs"]
mod collectives;
#[path = "programs/communicators.rs"]
mod communicators;
#[path = "programs/messages.rs"]
mod messages;

use std::process;
use std::time::Duration;

use collectives::{algorithms, collectives};
use communicators::communicators;
use messages::point_to_point;
use rankfold::{Comm, ErrorKind, Fault, Rank, Result, Spread, World, WorldError, op};

use super::{corrupt, ends, leaders, random_programs, reports, straight, traces};

/// A name, and what a process with this number of ranks runs.
type Program = (&'static str, fn(usize));

pub const PROGRAMS: &[Program] = &[
    ("point_to_point", point_to_point),
    ("collectives", collectives),
    ("algorithms", algorithms),
    ("communicators", communicators),
    ("refusals", refusals),
    ("deaths", deaths),
    ("deadlocks", deadlocks),
    ("reports_of_deadlocks", reports::deadlocks),
    ("reports_of_mismatches", reports::mismatches),
    ("odd_ranks", reports::odd_ranks),
    ("unknown_types", reports::unknown_types),
    ("straight", straight::straight),
    ("leaders_that_fail", leaders::leaders_that_fail),
    ("broadcasts_without_end", leaders::broadcasts_without_end),
    ("lengths_across_a_bound", leaders::lengths_across_a_bound),
    ("leaders_by_number", leaders::leaders_by_number),
    ("long_sums", leaders::long_sums),
    ("shares", shares),
    ("random_right", random_programs::right),
    ("random_wrong", random_programs::wrong),
    ("panics", panics),
    ("exits", exits),
    ("stays_away", stays_away),
    ("exits_while_a_rank_sends", ends::exits_while_a_rank_sends),
    ("exits_after_a_verdict", ends::exits_after_a_verdict),
    (
        "another_thread_opens_the_next_world",
        ends::another_thread_opens_the_next_world,
    ),
    ("cannot_start", ends::cannot_start),
    ("excluded", corrupt::excluded),
    ("spoiled", corrupt::spoiled),
    ("waits_for_another_body", corrupt::waits_for_another_body),
    ("nonsense_of_memory", ends::nonsense_of_memory),
    ("waits_for_a_long_body", corrupt::waits_for_a_long_body),
    ("exits_unread", corrupt::exits_unread),
    ("exits_without_a_body", corrupt::exits_without_a_body),
    ("ends_unread", corrupt::ends_unread),
    ("traces", traces::traces),
    ("revoked", traces::revoked),
];

pub fn world(ranks: usize) -> World {
    // Only a fault would wait as long.
    World::new(ranks)
        .spread(Spread::Must)
        .timeout(Duration::from_secs(20))
}

fn number(rank: Rank, i: usize) -> u64 {
    let mixed = (rank as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (i as u64).wrapping_mul(0xff51_afd7);
    mixed.rotate_left(23).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

pub fn numbers(rank: Rank, length: usize) -> Vec<u64> {
    (0..length).map(|i| number(rank, i)).collect()
}

// ── refusals ──

#[derive(Clone, Copy)]
struct Unknown(#[allow(dead_code)] u64);

fn usage(result: Result<()>) {
    let error = result.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
}

fn not_plain(result: Result<()>) {
    let error = result.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::NotPlain { .. }),
        "{error}"
    );
}

/// What cannot be sent to another process.
fn refused_elements(comm: &Comm) {
    let far = (comm.rank() + comm.size() / 2) % comm.size();
    assert!(!comm.is_near(far));
    not_plain(comm.send(far, 0, &["text"]));
    not_plain(comm.isend(far, 0, vec![Unknown(1)]).map(drop));
    not_plain(comm.broadcast(0, &mut ["text"]));
    not_plain(comm.all_reduce(&mut [Unknown(1)], |a, _| a));
    not_plain(comm.ibroadcast(0, vec!["text"]).map(drop));
    usage(comm.send_value(far, 0, String::new()));
    usage(comm.isend_value(far, 0, String::new()).map(drop));
    not_plain(comm.ssend(far, 0, &["text"]));
    not_plain(comm.issend(far, 0, vec!["text"]).map(drop));
    usage(comm.values().all_gather(String::new()).map(drop));
    usage(comm.values().all_reduce(1, |a, b| a + b).map(drop));
}

/// Calls that are refused to ranks in several processes.
fn refused_calls(comm: &Comm) {
    usage(comm.shrink().map(drop));
    usage(comm.window(vec![0; 4]).map(drop));
    usage(comm.subset(&[0, comm.size() - 1]).map(drop));
    usage(comm.split_by(rankfold::Level::Numa).map(drop));
    usage(rankfold::AtomicWindow::<u64>::new(comm, vec![0; 4]).map(drop));
    let tree = rankfold::topology::Topology::binomial(comm.size());
    let survivors = comm.reduce_over(&tree, &mut [1], op::Sum).survivors();
    usage(survivors.map(drop));
    not_plain(
        comm.values()
            .reduce_over(&tree, 1u64, |a, b| a + b)
            .run()
            .map(drop),
    );
}

/// Worlds that cannot be in several processes.
fn refused_worlds(ranks: usize) {
    let refused = |error: WorldError| assert!(matches!(error, WorldError::Usage(_)), "{error}");
    refused(world(ranks).seed(1).run(|_| Ok(())).unwrap_err());
    refused(
        world(ranks)
            .buffering(rankfold::Buffering::Zero)
            .run(|_| Ok(()))
            .unwrap_err(),
    );
    refused(world(ranks).start().map(drop).unwrap_err());
    refused(world(ranks).seats().map(drop).unwrap_err());
    let inside =
        World::new(1).run(|_| Ok(world(ranks).run(|_| Ok(())).map_err(|it| it.to_string())));
    assert!(inside.unwrap()[0].is_err());
}

fn refusals(ranks: usize) {
    world(ranks)
        .run(|comm| {
            refused_elements(comm);
            refused_calls(comm);
            let mut sum = [1];
            comm.all_reduce(&mut sum, op::Sum)?;
            assert_eq!(sum[0], comm.size());
            Ok(())
        })
        .unwrap();
    refused_worlds(ranks);
    world(ranks).run(|comm| comm.barrier()).unwrap();
}

// ── failures ──

/// A program of several calls, in which each rank needs the others.
fn talk(comm: &Comm) -> Result<u64> {
    let (me, size) = (comm.rank(), comm.size());
    let mut sum = numbers(me, 30);
    comm.all_reduce(&mut sum, op::Sum)?;
    let (got, _) = comm.sendrecv((me + 1) % size, 0, &[me], (me + size - 1) % size, 0)?;
    let half = comm.split(me as u32 % 2, 0)?;
    half.barrier()?;
    let sent = comm.iall_reduce(vec![me as u64], op::Sum)?.wait()?;
    comm.barrier()?;
    // Of two ranks in each process, one leads the first of these, and the other one the second.
    for least in 0..2 {
        let mut last = [me as u64 + least];
        comm.all_reduce(&mut last, op::Max)?;
        assert_eq!(last[0], size as u64 - 1 + least);
    }
    Ok(sent[0] + got[0] as u64)
}

fn deaths(ranks: usize) {
    let report = world(ranks).run_each(talk);
    assert!(report.culprit.is_none());
    let first = report.first_rank;
    let most = report
        .counts
        .iter()
        .map(|counts| counts.operations)
        .min()
        .unwrap();
    let mine = most.min(40);
    // All processes try the same: as many operations as any rank is sure to have.
    let least = world(ranks).run(|comm| {
        let mut least = [mine];
        comm.all_reduce(&mut least, op::Min)?;
        Ok((least[0], comm.size()))
    });
    let (least, size) = least.unwrap()[0];
    for victim in 0..size {
        for nth in 1..=least {
            for fault in [Fault::Panic, Fault::Error, Fault::Return] {
                let report = world(ranks).inject(victim, nth, fault).run_each(talk);
                let case = format!("{fault:?} of rank {victim} at {nth}, seen from {first}");
                if fault == Fault::Return && report.culprit.is_none() {
                    // It returned after everything that the ranks here needed of it.
                    assert!(!(first..first + ranks).contains(&victim), "{case}");
                    report.into_result().unwrap();
                    continue;
                }
                assert_eq!(report.culprit, Some(victim), "{case}: {report}");
                let error = report.into_result().unwrap_err();
                assert_eq!(error.culprit(), Some(victim), "{case}: {error}");
            }
        }
    }
}

/// Ranks of different processes that wait for each other learn it; those that do not are not disturbed.
fn deadlocks(ranks: usize) {
    let stuck = |error: WorldError| {
        assert!(matches!(error, WorldError::Deadlock(_)), "{error}");
        assert!(error.to_string().contains("recv(from"), "{error}");
    };
    // Each waits for the next.
    let cycle = |comm: &Comm| {
        comm.recv::<u8>((comm.rank() + 1) % comm.size(), 0)
            .map(drop)
    };
    stuck(world(ranks).run(cycle).unwrap_err());
    // The same after messages, and one rank has ended.
    let error = world(ranks).run(|comm| {
        for _ in 0..100 {
            ring_once(comm)?;
        }
        match comm.rank() {
            0 => Ok(()),
            1 => comm.recv::<u8>(comm.size() - 1, 0).map(drop),
            _ => comm.recv::<u8>(1, 0).map(drop),
        }
    });
    if ranks * 2 > 2 {
        stuck(error.unwrap_err());
    }
    // Every rank but one sleeps most of the time, and nothing is wrong.
    let turns = world(ranks).run(|comm| {
        for turn in 0..20 {
            for rank in 0..comm.size() {
                if rank == comm.rank() {
                    (0..2_000u64 * turn).for_each(|i| _ = std::hint::black_box(i));
                }
                comm.broadcast(rank, &mut [0])?;
            }
            ring_once(comm)?;
        }
        Ok(())
    });
    turns.unwrap();
}

fn ring_once(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    comm.sendrecv((me + 1) % size, 1, &[me], (me + size - 1) % size, 1)
        .map(drop)
}

fn shares(ranks: usize) {
    let report = world(ranks).run_each(|comm| comm.barrier());
    assert_eq!(report.placement.cpu.len(), ranks);
    assert_eq!(report.counts.len(), ranks);
    report.into_result().unwrap();
    let done = world(ranks).run(|comm| {
        for _ in 0..1000 {
            comm.all_reduce(&mut [comm.rank()], op::Sum)?;
        }
        Ok(())
    });
    done.unwrap();
}

fn panics(ranks: usize) {
    let run = world(ranks).run(|comm| {
        assert_ne!(comm.rank(), 1, "boom");
        comm.barrier()
    });
    run.unwrap();
}

fn exits(ranks: usize) {
    let run = world(ranks).run(|comm| {
        if comm.rank() == 1 {
            process::exit(3);
        }
        comm.recv::<u8>(1, 0).map(drop)
    });
    run.unwrap();
}

fn stays_away(ranks: usize) {
    let process = world(ranks).run(|comm| Ok(comm.process())).unwrap()[0];
    assert_ne!(process, 1, "process 1 stays away");
    world(ranks).run(|comm| comm.barrier()).unwrap();
}
