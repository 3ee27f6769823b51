//! Programs that look suspicious and are right: they end, with right results, no report and no leftover message; and
//! random ones that are right by construction.
//!
//! `RANKFOLD_CASES` and `RANKFOLD_SEED` set how many random programs run, and the first seed.

mod again;
#[path = "right_programs/endings.rs"]
mod endings;
#[path = "right_programs/patience.rs"]
mod patience;
mod support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rankfold::partitioned::{RecvParts, SendParts};
use rankfold::topology::Topology;
use rankfold::{Comm, Order, Rank, Result, Source, Tag, World, op};
use support::random::{Calls, Kinds};
use support::random_draft::draw;
use support::{guarded, scale, setting};

/// Runs `program` from the smallest meaningful world to 9 ranks, checked and not.
fn stays_silent(least: usize, program: impl Fn(&Comm) -> Result<()> + Sync) {
    for ranks in least..=9 {
        for check in [false, true] {
            let case = format!("{ranks} ranks, check({check})");
            let world = World::new(ranks).check(check).strict();
            let report = guarded(&|| case.clone(), || world.run_each(&program));
            assert!(
                report.deadlocks.is_empty(),
                "{case}: {:?}",
                report.deadlocks
            );
            assert_eq!(report.culprit, None, "{case}");
            assert!(report.mismatch.is_none(), "{case}");
            report
                .into_result()
                .unwrap_or_else(|error| panic!("{case}: {error}"));
        }
    }
}

fn right(comm: &Comm) -> Rank {
    (comm.rank() + 1) % comm.size()
}

fn left(comm: &Comm) -> Rank {
    (comm.rank() + comm.size() - 1) % comm.size()
}

const LONG: usize = 5000;

#[test]
fn a_ring_of_sendrecv() {
    stays_silent(1, |comm| {
        for length in [1, LONG] {
            let (got, _) =
                comm.sendrecv(right(comm), 0, &vec![comm.rank(); length], left(comm), 0)?;
            assert_eq!(got, vec![left(comm); length]);
        }
        Ok(())
    });
}

#[test]
fn everybody_sends_a_long_message_before_anybody_receives() {
    stays_silent(1, |comm| {
        for to in 0..comm.size() {
            comm.send(to, 1, &vec![comm.rank(); LONG])?;
        }
        comm.barrier()?;
        for from in (0..comm.size()).rev() {
            assert_eq!(comm.recv::<usize>(from, 1)?.0, vec![from; LONG]);
        }
        Ok(())
    });
}

#[test]
fn threads_of_one_rank_bring_the_last_parts_while_all_other_ranks_sleep() {
    stays_silent(2, |comm| {
        let parts = comm.size() - 1;
        if comm.rank() > 0 {
            let mut received = RecvParts::new(comm, 0, 0, 2, vec![0; 2])?;
            received.start()?;
            received.wait()?;
            assert_eq!(received.elements()?, [comm.rank(); 2]);
            return comm.barrier();
        }
        let new = |to| SendParts::new(comm, to, 0, 2, vec![to; 2]);
        let mut sent = (1..=parts).map(new).collect::<Result<Vec<_>>>()?;
        for sent in &mut sent {
            sent.start()?;
            sent.ready(1)?;
            let (given, ready) = sent.split()?;
            std::thread::scope(|threads| {
                for part in given {
                    threads.spawn(move || {
                        (0..3000).for_each(|_| std::thread::yield_now());
                        part.ready();
                    });
                }
                ready.send()
            })?;
        }
        sent.iter_mut().try_for_each(|sent| sent.wait())?;
        comm.barrier()
    });
}

#[test]
fn a_part_is_ready_only_after_an_answer_about_another_part() {
    stays_silent(2, |comm| {
        let mut sent = SendParts::new(comm, right(comm), 0, 2, vec![0; 2])?;
        let mut received = RecvParts::new(comm, left(comm), 0, 2, vec![0; 2])?;
        sent.start()?;
        received.start()?;
        sent.ready(1)?;
        while !received.arrived(1)? {}
        comm.send(left(comm), 0, &[1u8])?;
        comm.recv::<u8>(right(comm), 0)?;
        sent.ready(0)?;
        received.wait()?;
        sent.wait()
    });
}

#[test]
fn a_rank_sends_to_itself_before_it_receives() {
    stays_silent(1, |comm| {
        comm.send(comm.rank(), 1, &vec![1u8; LONG])?;
        comm.recv::<u8>(comm.rank(), 1).map(|_| ())
    });
}

#[test]
fn a_server_with_wildcards_and_clients_that_leave() {
    stays_silent(2, |comm| {
        if comm.rank() > 0 {
            return comm.send(0, comm.rank() as u32, &[1u64]);
        }
        (1..comm.size()).try_for_each(|_| comm.recv::<u64>(Source::Any, Tag::Any).map(|_| ()))
    });
}

#[test]
fn a_pipeline_whose_first_ranks_leave_early() {
    stays_silent(2, |comm| {
        for item in 0..5u32 {
            let got = match comm.rank() {
                0 => vec![item; LONG],
                rank => comm.recv::<u32>(rank - 1, item)?.0,
            };
            assert_eq!(got, vec![item; LONG]);
            if comm.rank() + 1 < comm.size() {
                comm.send(comm.rank() + 1, item, &got)?;
            }
        }
        Ok(())
    });
}

/// Keeps a core busy for some milliseconds, so that waiting ranks go to sleep.
fn compute() -> u64 {
    let steps = (3e6 * scale()) as u64;
    (0..steps).fold(1, |x, i| std::hint::black_box(x.wrapping_mul(3) ^ i))
}

#[test]
fn a_storm_of_barriers() {
    stays_silent(1, |comm| (0..500).try_for_each(|_| comm.barrier()));
}

/// Several worlds at once, so that the rank that opens the gate is often preempted before it has woken all others.
#[test]
fn storms_of_barriers_in_many_worlds_at_once() {
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| stays_silent(5, |comm| (0..100).try_for_each(|_| comm.barrier())));
        }
    });
}

#[test]
fn barriers_between_which_ranks_compute_in_turn() {
    stays_silent(2, |comm| {
        for turn in 0..comm.size() {
            if comm.rank() == turn {
                compute();
            }
            comm.barrier()?;
        }
        Ok(())
    });
}

#[test]
fn many_tags_received_from_the_last_to_the_first() {
    stays_silent(1, |comm| {
        for tag in 0..200u32 {
            comm.send(right(comm), tag, &[tag])?;
        }
        for tag in (0..200).rev() {
            assert_eq!(comm.recv::<u32>(left(comm), tag as u32)?.0, [tag as u32]);
        }
        Ok(())
    });
}

#[test]
fn a_master_hands_out_work_until_it_says_stop() {
    stays_silent(2, |comm| {
        if comm.rank() > 0 {
            loop {
                comm.send(0, 1, &[comm.rank()])?;
                if comm.recv::<u32>(0, 2)?.0[0] == u32::MAX {
                    return Ok(());
                }
            }
        }
        let mut left = 50 + comm.size() as u32;
        let mut working = comm.size() - 1;
        while working > 0 {
            let who = comm.recv::<usize>(Source::Any, 1)?.1.source;
            let stop = left == 0;
            comm.send(who, 2, &[if stop { u32::MAX } else { left }])?;
            working -= usize::from(stop);
            left = left.saturating_sub(1);
        }
        Ok(())
    });
}

#[test]
fn worlds_inside_a_rank() {
    stays_silent(2, |comm| {
        if comm.rank() == 0 {
            let inner = World::new(3).run(|comm| {
                comm.barrier()?;
                comm.sendrecv(right(comm), 0, &[1u8], left(comm), 0)
                    .map(|_| ())
            });
            inner.expect("the inner world is right");
        }
        comm.barrier()
    });
}

#[test]
fn ranks_that_hear_each_other_through_memory() {
    for ranks in 2..=5 {
        let ready = AtomicBool::new(false);
        let run = || {
            World::new(ranks).run(|comm| {
                if comm.rank() > 0 {
                    ready.fetch_or(comm.rank() + 1 == comm.size(), Ordering::Release);
                    return comm.recv::<u8>(0, 0).map(|_| ());
                }
                while !ready.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                (1..comm.size()).try_for_each(|to| comm.send(to, 0, &[0u8]))
            })
        };
        guarded(&|| format!("{ranks} ranks"), run).expect("nothing is wrong");
    }
}

#[test]
fn a_broadcast_whose_root_runs_far_ahead() {
    stays_silent(2, |comm| {
        for turn in 0..50u32 {
            let mut data = [if comm.rank() == 0 { turn } else { 0 }; 9];
            comm.broadcast(0, &mut data)?;
            assert_eq!(data, [turn; 9]);
        }
        Ok(())
    });
}

#[test]
fn reductions_whose_leaves_run_far_ahead() {
    stays_silent(2, |comm| {
        let flat = Topology::flat(comm.size());
        for order in [Order::Arrival, Order::Step].repeat(10) {
            let mut data = vec![1u64; 30];
            comm.reduce_over(&flat, &mut data, op::Sum)
                .order(order)
                .run()?;
            assert!(comm.rank() > 0 || data == [comm.size() as u64; 30]);
        }
        Ok(())
    });
}

#[test]
fn messages_between_collectives_arrive_before_during_and_after_them() {
    stays_silent(2, |comm| {
        comm.send(right(comm), 1, &vec![1u64; LONG])?;
        let mut data = [1u64];
        comm.all_reduce(&mut data, op::Sum)?;
        comm.send(right(comm), 2, &data)?;
        comm.barrier()?;
        assert_eq!(comm.recv::<u64>(left(comm), 2)?.0, data);
        comm.recv::<u64>(left(comm), 1).map(|_| ())
    });
}

#[test]
fn a_team_begins_afresh_after_a_deadlock() {
    let team = World::new(3).start().expect("threads");
    for _ in 0..20 {
        let run = || team.run(|comm| comm.recv::<u8>(right(comm), 0).map(|_| ()));
        assert!(guarded(&|| "a team in a knot".into(), run).is_err());
        let run = || team.run(|comm| comm.barrier());
        guarded(&|| "a team".into(), run).expect("the knot is forgotten");
    }
}

#[test]
fn random_programs_that_are_right_stay_silent() {
    let cases = setting("RANKFOLD_CASES").unwrap_or(200);
    let first: u64 = setting("RANKFOLD_SEED").unwrap_or(1);
    let ends = AtomicUsize::new(0);
    for seed in first..first + cases {
        let kinds = Kinds {
            rich: true,
            calls: Calls::All,
            spins: seed % 2 == 0,
        };
        let program = draw(seed, kinds);
        let world = World::new(program.ranks.len())
            .check(seed % 3 == 0)
            .strict();
        let run = || {
            world.run(|comm| {
                program.play(comm)?;
                ends.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        };
        let ended = guarded(&|| format!("RANKFOLD_SEED={seed}"), run);
        if let Err(error) = ended {
            panic!("RANKFOLD_SEED={seed} RANKFOLD_CASES=1: {error}\n{program:?}");
        }
    }
    assert!(ends.into_inner() as u64 >= 2 * cases);
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
