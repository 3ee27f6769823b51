//! Synchronous sends: complete only once their message is received, in order with all other messages; wrong programs and
//! their reports.

mod again;
mod support;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rankfold::error::Deadlock;
use rankfold::testing::Explore;
use rankfold::{
    Buffering, Comm, ErrorKind, Outcome, Rank, Report, Request, Result, Source, Tag, World,
    WorldError,
};
use support::{Random, guarded, scale};

const BUFFERINGS: [Buffering; 3] = [Buffering::Zero, Buffering::Bytes(100), Buffering::Unbounded];

/// In its packet, lent, and copied by both ranks.
const LENGTHS: [usize; 4] = [0, 2, 1500, 200_000];

fn right(comm: &Comm) -> Rank {
    (comm.rank() + 1) % comm.size()
}

fn left(comm: &Comm) -> Rank {
    (comm.rank() + comm.size() - 1) % comm.size()
}

fn data(seed: usize, length: usize) -> Vec<u64> {
    (0..length).map(|i| (seed * 1_000_003 + i) as u64).collect()
}

/// Runs a program that must succeed, in every buffering, checked and not, in the threads' own order and in one drawn
/// from a seed.
fn succeeds(ranks: usize, program: impl Fn(&Comm) -> Result<()> + Sync) {
    for buffering in BUFFERINGS {
        for (check, seed) in [(false, None), (true, None), (false, Some(7))] {
            let case = format!("{ranks} ranks, {buffering:?}, check({check}), seed {seed:?}");
            let world = World::new(ranks).check(check).buffering(buffering).strict();
            let world = match seed {
                Some(seed) => world.seed(seed),
                None => world,
            };
            let report = guarded(&|| case.clone(), || world.run_each(&program));
            report
                .into_result()
                .unwrap_or_else(|error| panic!("{case}: {error}"));
        }
    }
}

// ── when a send is complete ──

type Take = fn(&Comm, &AtomicBool, usize) -> Result<Vec<u64>>;

/// Every way to receive a message; each sets `reached` right before.
const TAKES: [(&str, Take); 7] = [
    ("recv", |comm, reached, _| {
        reached.store(true, Ordering::Relaxed);
        Ok(comm.recv(0, 3)?.0)
    }),
    ("recv from any", |comm, reached, _| {
        reached.store(true, Ordering::Relaxed);
        Ok(comm.recv(Source::Any, Tag::Any)?.0)
    }),
    ("recv_into", |comm, reached, length| {
        let mut buf = vec![0; length];
        reached.store(true, Ordering::Relaxed);
        comm.recv_into(0, 3, &mut buf)?;
        Ok(buf)
    }),
    ("irecv", |comm, reached, _| {
        reached.store(true, Ordering::Relaxed);
        Ok(comm.irecv(0, 3)?.wait()?.0)
    }),
    ("irecv and a barrier", |comm, reached, _| {
        reached.store(true, Ordering::Relaxed);
        let coming = comm.irecv(0, 3)?;
        comm.send(0, 9, &[0u8])?; // any call takes the message in
        Ok(coming.wait()?.0)
    }),
    ("matched probe", |comm, reached, _| {
        reached.store(true, Ordering::Relaxed);
        let message = comm.probe_matched(0, 3)?;
        message.recv::<u64>()
    }),
    ("probe first", |comm, reached, length| {
        assert_eq!(comm.probe(0, 3)?.count, length);
        reached.store(true, Ordering::Relaxed);
        Ok(comm.recv(0, 3)?.0)
    }),
];

#[test]
fn a_synchronous_send_returns_only_after_its_receiver_has_come_to_the_receive() {
    for (name, take) in TAKES {
        for length in LENGTHS {
            for nonblocking in [false, true] {
                let reached = [const { AtomicBool::new(false) }; 16];
                let runs = std::sync::atomic::AtomicUsize::new(0);
                succeeds(2, |comm| {
                    let run = runs.load(Ordering::Relaxed);
                    if comm.rank() == 0 {
                        let sent = data(length, length);
                        match nonblocking {
                            false => comm.ssend(1, 3, &sent)?,
                            true => assert_eq!(comm.issend(1, 3, sent.clone())?.wait()?, sent),
                        }
                        assert!(reached[run].load(Ordering::Relaxed), "{name}, {length}");
                        if name == "irecv and a barrier" {
                            comm.recv::<u8>(1, 9)?;
                        }
                    } else {
                        assert_eq!(take(comm, &reached[run], length)?, data(length, length));
                    }
                    comm.barrier()?;
                    if comm.rank() == 0 {
                        runs.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                });
            }
        }
    }
}

#[test]
fn an_issend_is_open_until_its_message_is_received() {
    succeeds(2, |comm| {
        let other = 1 - comm.rank();
        let mut sent = comm.issend(other, 1, vec![comm.rank(); 10])?;
        assert!(!sent.is_done());
        assert!(sent.test()?.is_none());
        comm.barrier()?; // both have looked, and neither has received
        assert_eq!(comm.recv::<usize>(other, 1)?.0, [other; 10]);
        comm.barrier()?; // both have received
        assert_eq!(sent.test()?.expect("it is received"), [comm.rank(); 10]);
        Ok(())
    });
}

#[test]
fn a_scope_waits_for_its_synchronous_sends() {
    let reached = AtomicU32::new(0);
    succeeds(2, |comm| {
        if comm.rank() == 0 {
            let before = reached.load(Ordering::Relaxed);
            let mine = data(1, 300);
            comm.scope(|s| {
                s.issend(1, 0, &mine)?;
                s.issend(1, 1, &mine)?;
                comm.send(1, 2, &[0u8]) // without room the scope's own messages go first
            })?;
            assert!(reached.load(Ordering::Relaxed) > before);
        } else {
            assert_eq!(comm.recv::<u64>(0, 0)?.0, data(1, 300));
            comm.recv::<u8>(0, 2)?;
            reached.fetch_add(1, Ordering::Relaxed);
            assert_eq!(comm.recv::<u64>(0, 1)?.0, data(1, 300));
        }
        comm.barrier()
    });
}

#[test]
fn a_rank_sends_to_itself_where_a_receive_is_posted() {
    succeeds(1, |comm| {
        for length in LENGTHS {
            let coming = comm.irecv::<u64>(0, 0)?;
            comm.ssend(0, 0, &data(2, length))?;
            assert_eq!(coming.wait()?.0, data(2, length));
            let sent = comm.issend(0, 0, data(3, length))?;
            assert_eq!(comm.recv::<u64>(0, 0)?.0, data(3, length));
            sent.wait()?;
        }
        Ok(())
    });
}

// ── order ──

#[test]
fn synchronous_sends_keep_their_place_among_other_sends() {
    succeeds(2, |comm| {
        for number in 0..400u32 {
            // Short messages in a row go past the mailbox after a while.
            let length = if number % 50 == 49 { 700 } else { 1 };
            let kind = if number % 23 == 22 { 1 } else { 0 };
            match (comm.rank(), kind) {
                (0, 0) => comm.send(1, number % 3, &vec![number; length])?,
                (0, _) => comm.ssend(1, number % 3, &vec![number; length])?,
                _ => assert_eq!(comm.recv::<u32>(0, Tag::Any)?.0, vec![number; length]),
            }
        }
        Ok(())
    });
}

/// One message of a random program: everything happens in the order of the list, so no rank waits for a later one.
struct Planned {
    from: Rank,
    to: Rank,
    length: usize,
    send: u64,
    receive: u64,
}

fn plan(seed: u64, ranks: usize) -> Vec<Planned> {
    let mut random = Random::new(seed);
    let mut below = |limit: usize| (random.next() % limit as u64) as usize;
    let message = |_| {
        let from = below(ranks);
        Planned {
            from,
            to: (from + 1 + below(ranks - 1)) % ranks,
            length: LENGTHS[below(3)],
            send: below(3) as u64,
            receive: below(3) as u64,
        }
    };
    (0..60).map(message).collect()
}

fn run_planned(comm: &Comm, plan: &[Planned]) -> Result<()> {
    let mut open: Vec<Request<'_, Vec<u64>>> = Vec::new();
    for (number, message) in plan.iter().enumerate() {
        let tag = number as u32;
        let content = data(number, message.length);
        if message.from == comm.rank() {
            match message.send {
                0 => comm.ssend(message.to, tag, &content)?,
                1 => comm.send(message.to, tag, &content)?,
                _ => open.push(comm.issend(message.to, tag, content)?),
            }
        } else if message.to == comm.rank() {
            let got = match message.receive {
                0 => comm.recv::<u64>(message.from, tag)?.0,
                1 => comm.irecv::<u64>(Source::Any, tag)?.wait()?.0,
                _ => comm.probe_matched(message.from, tag)?.recv()?,
            };
            assert_eq!(got, content, "message {number}");
        }
    }
    Request::wait_all(open).map(drop)
}

#[test]
fn random_programs_with_synchronous_sends_run_as_planned() {
    for seed in 0..(20.0 * scale()).max(1.0) as u64 {
        let ranks = 2 + (seed % 5) as usize;
        let plan = plan(seed, ranks);
        succeeds(ranks, |comm| run_planned(comm, &plan));
    }
}

// ── wrong programs ──

fn run(buffering: Buffering, ranks: usize, program: fn(&Comm) -> Result<()>) -> Report<()> {
    let case = || format!("{ranks} ranks, {buffering:?}");
    let world = World::new(ranks).buffering(buffering).check(false);
    guarded(&case, || world.run_each(program))
}

/// The one deadlock of a run, of exactly these ranks, none of which needs a buffer.
fn knot<'a>(report: &'a Report<()>, stuck: &[Rank]) -> &'a Deadlock {
    assert_eq!(report.deadlocks.len(), 1, "{:?}", report.deadlocks);
    let knot = &*report.deadlocks[0];
    let found: Vec<Rank> = knot.stuck.iter().map(|stuck| stuck.rank).collect();
    assert_eq!(found, stuck, "{knot}");
    assert!(knot.stuck.iter().all(|stuck| !stuck.needs_buffer), "{knot}");
    assert!(report.lost.is_empty(), "{:?}", report.lost);
    knot
}

#[test]
fn ranks_that_all_send_first_are_reported_with_their_lines() {
    for ranks in 1..=8 {
        for buffering in BUFFERINGS {
            const LINE: u32 = line!() + 2;
            let report = run(buffering, ranks, |comm| {
                comm.ssend(right(comm), 4, &[comm.rank(); 40])?;
                comm.recv::<usize>(left(comm), 4).map(drop)
            });
            let all: Vec<Rank> = (0..ranks).collect();
            let knot = knot(&report, &all);
            assert_eq!(knot.cycle, all);
            for stuck in &knot.stuck {
                let call = format!("ssend(to {}, tag 4)", (stuck.rank + 1) % ranks);
                assert_eq!((stuck.call.as_str(), stuck.site.line()), (&*call, LINE));
            }
        }
    }
}

#[test]
fn ranks_that_all_wait_for_their_issends_first_are_reported() {
    for ranks in 1..=5 {
        for buffering in BUFFERINGS {
            let report = run(buffering, ranks, |comm| {
                let sent = comm.issend(right(comm), 4, vec![comm.rank(); 3])?;
                sent.wait()?;
                comm.recv::<usize>(left(comm), 4).map(drop)
            });
            let all: Vec<Rank> = (0..ranks).collect();
            let knot = knot(&report, &all);
            assert_eq!(knot.cycle, all);
            let call = &knot.stuck[0].call;
            assert!(call.starts_with("wait for issend(to"), "{knot}");
        }
    }
}

#[test]
fn a_synchronous_send_before_a_barrier_whose_receive_is_after_it_is_reported() {
    let report = run(Buffering::Unbounded, 3, |comm| {
        if comm.rank() == 0 {
            comm.ssend(1, 0, &[1u8])?;
        }
        comm.barrier()?;
        match comm.rank() {
            1 => comm.recv::<u8>(0, 0).map(drop),
            _ => Ok(()),
        }
    });
    let knot = &report.deadlocks[0];
    assert_eq!(knot.cycle, [0, 1], "{knot}");
    assert!(knot.stuck.iter().all(|stuck| !stuck.needs_buffer), "{knot}");
}

#[test]
fn a_knot_of_some_ranks_is_found_while_others_run() {
    let told = AtomicU32::new(0);
    let case = || "two of four ranks".to_string();
    let report = guarded(&case, || {
        World::new(4).run_each(|comm| {
            if comm.rank() >= 2 {
                while told.load(Ordering::Relaxed) < 2 {
                    std::thread::yield_now(); // these ranks run
                }
                return Ok(());
            }
            let sent = comm.ssend(1 - comm.rank(), 0, &[1u8]);
            told.fetch_add(1, Ordering::Relaxed);
            sent
        })
    });
    assert_eq!(knot(&report, &[0, 1]).cycle, [0, 1]);
    assert!(matches!(report.outcomes[3], Outcome::Returned(())));
}

#[test]
fn the_order_of_messages_in_which_two_ranks_send_to_each_other_is_found() {
    let program = |comm: &Comm| {
        if comm.rank() > 0 {
            comm.ssend(0, 0, &[comm.rank()])?;
            return match comm.rank() {
                1 => comm.recv::<u8>(0, 1).map(drop),
                _ => Ok(()),
            };
        }
        let (first, _) = comm.recv::<usize>(Source::Any, 0)?;
        if first == [2] {
            comm.ssend(1, 1, &[0u8])?; // rank 1 is in its own send
        }
        comm.recv::<usize>(Source::Any, 0)?;
        match first == [1] {
            true => comm.ssend(1, 1, &[0u8]),
            false => Ok(()),
        }
    };
    let found = Explore::new(3).find(program).unwrap_err();
    assert_eq!(found.choices[0].took, 2, "{found:?}");
    let WorldError::Deadlock(deadlock) = &found.error else {
        panic!("{found:?}")
    };
    assert_eq!(deadlock.cycle, [0, 1]);
}

#[test]
fn a_receiver_that_returns_panics_or_fails_is_named() {
    let ends: [fn() -> Result<()>; 3] = [
        || Ok(()),
        || panic!("of its own"),
        || Err(rankfold::Error::user("of its own")),
    ];
    for end in ends {
        for nonblocking in [false, true] {
            for buffering in BUFFERINGS {
                let case = || format!("{buffering:?}, nonblocking: {nonblocking}");
                let world = World::new(3).buffering(buffering);
                let report = guarded(&case, || {
                    world.run_each(|comm| match comm.rank() {
                        1 => end(),
                        me if nonblocking => comm.issend(1, 0, vec![me; 99])?.wait().map(drop),
                        me => comm.ssend(1, 0, &[me; 99]),
                    })
                });
                for rank in [0, 2] {
                    let error = report.outcomes[rank].error().unwrap();
                    let gone =
                        matches!(error.kind(), ErrorKind::RankGone { rank, .. } if *rank == 1);
                    assert!(gone, "{}: {error}", case());
                }
                assert!(report.lost.is_empty(), "{}: {:?}", case(), report.lost);
            }
        }
    }
}

#[test]
fn a_cancelled_issend_is_never_received() {
    succeeds(2, |comm| {
        if comm.rank() == 0 {
            let never = comm.issend(1, 0, vec![1u8])?;
            let dropped = comm.issend(1, 0, vec![2u8])?;
            assert!(never.cancel()? && dropped.cancel()?);
            comm.barrier()?;
            return comm.ssend(1, 0, &[3u8]);
        }
        comm.barrier()?;
        assert_eq!(comm.recv::<u8>(0, Tag::Any)?.0, [3]);
        Ok(())
    });
}

#[test]
fn a_forgotten_issend_is_listed_and_its_message_still_delivered() {
    let report = run(Buffering::Unbounded, 2, |comm| {
        if comm.rank() == 0 {
            std::mem::drop(comm.issend(1, 0, vec![1u8])?);
            return Ok(());
        }
        comm.recv::<u8>(0, 0).map(drop)
    });
    assert!(matches!(report.outcomes[1], Outcome::Returned(())));
    assert_eq!(report.unfinished.len(), 1);
    assert_eq!(report.unfinished[0].call, "issend(to 1, tag 0)");
}

#[test]
fn wrong_arguments_and_types_are_refused() {
    succeeds(2, |comm| {
        let usage = |error: rankfold::Error| matches!(error.kind(), ErrorKind::Usage { .. });
        assert!(usage(comm.ssend(2, 0, &[1u8]).unwrap_err()));
        assert!(usage(comm.issend(9, 0, vec![1u8]).map(drop).unwrap_err()));
        if comm.rank() == 0 {
            return comm.ssend(1, 0, &[1.5f64, 2.5]);
        }
        // A receive that does not fit leaves the message, and its sender waiting.
        let error = comm.recv::<u8>(0, 0).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::WrongType { .. }));
        let error = comm.recv_into(0, 0, &mut [0.0f64]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TooShort { .. }));
        assert_eq!(comm.recv::<f64>(0, 0)?.0, [1.5, 2.5]);
        Ok(())
    });
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}

#[test]
fn all_of_it_holds_where_each_rank_has_a_cpu() {
    again::where_each_rank_has_a_cpu(&[]);
}
