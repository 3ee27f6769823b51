//! Worlds, teams and seats: results in rank order, run after run, world beside world and world inside world; reports of
//! placement and of messages that no rank received.

mod channels;
mod common;

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use common::{assert_usage, scaled};
use rankfold::machine::{Cpus, Unpinned};
use rankfold::{
    Bind, Comm, Error, ErrorKind, Outcome, Rank, Result, Seat, Source, Tag, Team, World,
    WorldError, op,
};

fn all_sum(comm: &Comm, x: u64) -> Result<u64> {
    let mut v = [x];
    comm.all_reduce(&mut v, op::Sum)?;
    Ok(v[0])
}

/// Returns the sum over all ranks of rank + 1.
fn triangle(ranks: usize) -> u64 {
    (ranks * (ranks + 1) / 2) as u64
}

fn triangle_by_message(comm: &Comm) -> Result<u64> {
    all_sum(comm, comm.rank() as u64 + 1)
}

// ── one run ──

#[test]
fn results_come_in_rank_order_from_threads_named_after_their_ranks() {
    let names = World::new(12).run(|comm| {
        let name = thread::current().name().unwrap_or_default().to_owned();
        Ok((comm.rank(), comm.size(), name))
    });
    let want: Vec<_> = (0..12)
        .map(|rank| (rank, 12, format!("rank-{rank}")))
        .collect();
    assert_eq!(names.unwrap(), want);
}

#[test]
fn every_rank_is_a_thread_of_its_own() {
    let ids = World::new(9).run(|_| Ok(thread::current().id())).unwrap();
    let distinct = (0..9).all(|i| (0..i).all(|j| ids[i] != ids[j]));
    assert!(distinct && !ids.contains(&thread::current().id()));
}

#[test]
fn ranks_borrow_what_their_caller_owns_each_its_own_cell() {
    let words = [String::from("a"), String::from("b"), String::from("c")];
    let cells: Vec<Mutex<String>> = words.iter().cloned().map(Mutex::new).collect();
    let world = World::new(3);
    let lengths = world.run(|comm| {
        let mut mine = cells[comm.rank()].lock().unwrap();
        mine.push_str(&words[(comm.rank() + 1) % 3]);
        Ok(&words[comm.rank()][..]) // results may borrow too
    });
    assert_eq!(lengths.unwrap(), ["a", "b", "c"]);
    let cells: Vec<_> = cells
        .into_iter()
        .map(|cell| cell.into_inner().unwrap())
        .collect();
    assert_eq!(cells, ["ab", "bc", "ca"]);
}

#[test]
fn a_team_lets_ranks_borrow_mutably_and_gives_all_back() {
    let team = World::new(4).start().unwrap();
    let mut totals = vec![0u64; 4];
    for round in 1..=scaled(20) as u64 {
        let cells: Vec<_> = totals.iter_mut().map(Mutex::new).collect();
        let add = |comm: &Comm| {
            **cells[comm.rank()].lock().unwrap() += all_sum(comm, round)?;
            Ok(())
        };
        team.run(add).unwrap();
        drop(cells);
        assert_eq!(totals, vec![2 * round * (round + 1); 4]);
    }
}

#[test]
fn a_world_may_be_run_again_and_each_run_is_its_own() {
    let world = World::new(3).strict();
    for _ in 0..scaled(20) {
        let lost = world.run(|comm| {
            comm.send((comm.rank() + 1) % 3, 9, &[1u8])?;
            comm.barrier()
        });
        assert!(matches!(lost, Err(WorldError::Lost(lost)) if lost.len() == 3));
        assert_eq!(world.run(triangle_by_message).unwrap(), [6; 3]);
    }
}

#[test]
fn callers_keep_their_own_error_type() {
    #[derive(Debug, PartialEq)]
    struct Mine(u8);
    impl std::fmt::Display for Mine {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "mine {}", self.0)
        }
    }
    let ok: Result<Vec<Rank>, WorldError<Mine>> = World::new(2).try_run(|comm| Ok(comm.rank()));
    assert_eq!(ok.unwrap(), [0, 1]);
    let report = World::new(2).try_run_each(|comm| {
        if comm.rank() == 1 {
            Err(Mine(7))
        } else {
            Ok(())
        }
    });
    let report = report.unwrap();
    assert_eq!(
        (report.outcomes[1].error(), report.culprit),
        (Some(&Mine(7)), Some(1))
    );
    let error = report.into_result().unwrap_err();
    assert!(
        matches!(
            &error,
            WorldError::Failed {
                rank: 1,
                error: Mine(7)
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("mine 7"), "{error}");
}

#[test]
fn a_report_tells_what_came_of_every_rank() {
    let report = World::new(4).run_each(|comm| match comm.rank() {
        1 => Err(Error::user("no luck")),
        2 => panic!("boom {}", 2),
        rank => Ok(rank * 10),
    });
    assert_eq!(
        (report.outcomes[0].value(), report.outcomes[3].value()),
        (Some(&0), Some(&30))
    );
    assert!(matches!(
        report.outcomes[1].error().unwrap().kind(),
        ErrorKind::User(_)
    ));
    let Outcome::Panicked { message, site } = &report.outcomes[2] else {
        panic!("{:?}", report.outcomes[2]);
    };
    assert_eq!(&**message, "boom 2");
    assert!(
        site.as_ref().is_some_and(|site| site.contains("worlds.rs")),
        "{site:?}"
    );
    assert!(matches!(report.culprit, Some(1 | 2)));
    assert_eq!((report.placement.cpu.len(), report.counts.len()), (4, 4));
}

#[test]
fn operations_are_counted_rank_by_rank() {
    let report = World::new(2).check(false).run_each(|comm| {
        for _ in 0..comm.rank() * 5 {
            comm.send(comm.rank(), 1, &[0u8])?;
        }
        Ok(())
    });
    let counts: Vec<_> = report
        .counts
        .iter()
        .map(|counts| counts.operations)
        .collect();
    assert_eq!(counts, [0, 5]);
    assert_eq!(report.lost.len(), 5);
}

#[test]
fn a_world_of_no_ranks_cannot_start() {
    let says = |error: &WorldError| matches!(error, WorldError::Usage(what) if what.contains("at least one rank"));
    assert!(says(&World::new(0).run(|_| Ok(())).unwrap_err()));
    assert!(says(&World::new(0).start().unwrap_err()));
    assert!(says(&World::new(0).seats().err().unwrap()));
    let panics = || drop(World::new(0).run_each(|_| Ok(())));
    assert!(std::panic::catch_unwind(panics).is_err());
}

#[test]
fn a_world_that_cannot_start_has_no_seats_and_says_why() {
    for (ranks, why) in [
        (0, "a world has at least one rank"),
        (usize::MAX, "more threads than a process can have"),
    ] {
        let seats = World::connect(ranks);
        assert_eq!(seats.size(), 0);
        assert_usage(seats.take(0).map(|_| ()), why);
        assert!(seats.into_iter().next().is_none());
    }
}

#[test]
fn a_thread_that_is_a_rank_already_gets_an_error_and_stays_that_rank() {
    let seats = World::connect(2);
    let comm = seats.take(0).unwrap().try_enter().unwrap();
    let again = seats.take(1).unwrap().try_enter();
    assert_usage(
        again.map(|_| ()),
        "this thread already is a rank of this world",
    );
    // The other seat counts as dropped.
    assert_eq!(comm.rank(), 0);
    assert!(is_gone(&comm));
}

/// An error that cannot be printed.
#[derive(Debug)]
struct Unspeakable;

impl std::fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("no words");
    }
}

impl std::error::Error for Unspeakable {}

#[test]
fn an_error_whose_display_panics_is_told_as_that() {
    let check = |message: &str, others: String| {
        assert!(
            message.contains("the Display of the error that it returned panicked"),
            "{message}"
        );
        assert!(message.contains("no words"), "{message}");
        assert!(others.contains("rank 1 is gone: it panicked"), "{others}");
    };
    let report = World::new(2).try_run_each(|comm| match comm.rank() {
        0 => Ok(comm.barrier().unwrap_err().to_string()),
        _ => Err(Unspeakable),
    });
    let mut outcomes = report.unwrap().outcomes.into_iter();
    let (Some(Outcome::Returned(others)), Some(Outcome::Panicked { message, site })) =
        (outcomes.next(), outcomes.next())
    else {
        panic!("both ranks have other ends");
    };
    check(&message, others);
    assert!(site.is_some_and(|site| site.contains("worlds.rs")));
    // The same for an error of the program inside one of ours, and in a team.
    let team = World::new(2).start().unwrap();
    let error = team.run(|comm| match comm.rank() {
        0 => comm.barrier(),
        _ => Err(Error::user(Unspeakable)),
    });
    let Err(WorldError::Panicked {
        rank: 1, message, ..
    }) = error
    else {
        panic!("{error:?}");
    };
    check(&message, "rank 1 is gone: it panicked".into());
}

#[test]
fn a_world_of_1024_ranks_meets_and_sums() {
    let ranks = scaled(1024);
    let sums = World::new(ranks).check(false).run(|comm| {
        comm.barrier()?;
        let left = comm.sendrecv(
            (comm.rank() + 1) % ranks,
            0,
            &[comm.rank()],
            Source::Any,
            Tag::Any,
        )?;
        assert_eq!(left.0[0], (comm.rank() + ranks - 1) % ranks);
        triangle_by_message(comm)
    });
    assert_eq!(sums.unwrap(), vec![triangle(ranks); ranks]);
}

// ── lost messages ──

#[test]
fn messages_nobody_received_are_errors_only_in_strict_worlds() {
    let leave = |comm: &Comm| {
        comm.send(1 - comm.rank(), 4, &[comm.rank(); 2])?;
        comm.barrier()
    };
    assert!(World::new(2).run(leave).is_ok());
    let error = World::new(2).strict().run(leave).unwrap_err();
    let WorldError::Lost(lost) = &error else {
        panic!("{error}")
    };
    let seen: Vec<_> = lost
        .iter()
        .map(|lost| (lost.from, lost.to, lost.tag, &*lost.contents))
        .collect();
    assert_eq!(seen, [(1, 0, 4, "2 x usize"), (0, 1, 4, "2 x usize")]);
    let text = error.to_string();
    assert!(
        text.contains("2 messages") && text.contains("rank 1 sent 2 x usize to rank 0 with tag 4"),
        "{text}"
    );
}

#[test]
fn a_failure_counts_more_than_a_lost_message() {
    let error = World::new(2).strict().run(|comm| {
        comm.send(comm.rank(), 1, &[1u8])?;
        if comm.rank() == 1 {
            Err(Error::user("no luck"))
        } else {
            Ok(())
        }
    });
    assert!(matches!(error, Err(WorldError::Failed { rank: 1, .. })));
}

// ── where ranks run ──

/// Returns the CPUs that each rank's thread may use, and the placement.
fn masks(world: &World) -> (Vec<Vec<usize>>, rankfold::machine::Placement) {
    let report = world.run_each(|_| Ok(Cpus::here().mask));
    let masks = common::values(&report).into_iter().cloned().collect();
    (masks, report.placement.clone())
}

#[test]
fn unpinned_ranks_may_use_every_cpu_and_the_report_says_why() {
    let (masks, placement) = masks(&World::new(3).bind(Bind::None));
    let here = Cpus::here().mask;
    assert!(masks.iter().all(|mask| *mask == here));
    assert_eq!(
        (placement.cpu, placement.why_unpinned),
        (vec![None; 3], Some(Unpinned::NotAsked))
    );
}

#[test]
fn automatic_binding_pins_or_says_why_not() {
    let (masks, placement) = masks(&World::new(1));
    match (placement.cpu[0], &placement.why_unpinned) {
        (Some(cpu), None) => assert_eq!(masks, [[cpu]]),
        (None, Some(_)) => assert_eq!(masks, [Cpus::here().mask]),
        _ => panic!("{placement:?}"),
    }
}

#[test]
fn ranks_are_pinned_to_the_cpus_that_were_asked_for() {
    let here = Cpus::here().mask;
    let Some(&last) = here.last() else { return };
    let (seen, placement) = masks(&World::new(3).bind(Bind::Cpus(vec![last])));
    assert_eq!(
        (seen, placement.cpu),
        (vec![vec![last]; 3], vec![Some(last); 3])
    );
    let (seen, placement) = masks(&World::new(here.len()).bind(Bind::Compact));
    assert_eq!(seen, here.iter().map(|&cpu| vec![cpu]).collect::<Vec<_>>());
    assert_eq!(
        (
            placement.cpu.into_iter().flatten().collect::<Vec<_>>(),
            placement.why_unpinned
        ),
        (here.clone(), None)
    );
    // The caller's own thread has its affinity back.
    assert_eq!(Cpus::here().mask, here);
}

#[test]
fn more_ranks_than_cpus_are_not_pinned_one_by_one() {
    let ranks = Cpus::here().mask.len() + 1;
    let (_, placement) = masks(&World::new(ranks).bind(Bind::Compact));
    assert_eq!(placement.cpu, vec![None; ranks]);
    assert!(matches!(
        placement.why_unpinned,
        Some(Unpinned::Crowded { .. } | Unpinned::MaskUnknown)
    ));
}

#[test]
fn a_binding_to_a_cpu_that_is_not_there_is_refused_before_anything_runs() {
    let ran = AtomicUsize::new(0);
    for list in [
        vec![],
        vec![100_000],
        vec![Cpus::here().mask[0], usize::MAX],
    ] {
        let world = World::new(2).bind(Bind::Cpus(list));
        let count = |_: &Comm| {
            ran.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        assert!(
            matches!(world.run(count), Err(WorldError::Usage(what)) if what.contains("cannot bind"))
        );
        assert!(matches!(world.start(), Err(WorldError::Usage(_))));
        assert!(world.seats().is_ok()); // seats are never pinned
    }
    assert_eq!(ran.into_inner(), 0);
}

// ── teams ──

#[test]
fn a_team_runs_many_times_on_the_same_threads() {
    let team = World::new(3).start().unwrap();
    let ids = || team.run(|_| Ok(thread::current().id())).unwrap();
    let first = ids();
    for round in 0..scaled(200) as u64 {
        assert_eq!(
            team.run(|comm| all_sum(comm, round)).unwrap(),
            [3 * round; 3]
        );
    }
    assert_eq!(ids(), first);
    assert_eq!(
        team.run(|_| Ok(thread::current().name().map(str::to_owned)))
            .unwrap()[2]
            .as_deref(),
        Some("rank-2")
    );
}

#[test]
fn no_run_of_a_team_sees_what_another_left_behind() {
    let team = World::new(3).start().unwrap();
    let failures: [fn(&Comm) -> Result<()>; 5] = [
        |comm| {
            if comm.rank() == 1 {
                panic!("boom")
            } else {
                comm.barrier()
            }
        },
        |comm| {
            if comm.rank() == 2 {
                Err(Error::user("no luck"))
            } else {
                comm.barrier()
            }
        },
        |comm| comm.recv::<u8>(comm.rank(), 1).map(|_| ()),
        |comm| comm.broadcast(0, &mut vec![0u8; comm.rank()]),
        |comm| {
            comm.send(0, 5, &vec![1u8; 1000])
                .and_then(|()| Err(Error::user("left a message")))
        },
    ];
    for fail in failures.iter().cycle().take(scaled(25)) {
        assert!(team.run(fail).is_err());
        let clean = team.run(|comm| {
            let nothing = comm.recv_timeout::<u8>(Source::Any, Tag::Any, Duration::ZERO);
            assert!(matches!(
                nothing.unwrap_err().kind(),
                ErrorKind::TimedOut { .. }
            ));
            comm.barrier()?;
            triangle_by_message(comm)
        });
        assert_eq!(clean.unwrap(), [6; 3]);
    }
}

#[test]
fn callers_of_one_team_take_turns() {
    let team = World::new(3).start().unwrap();
    let inside = AtomicUsize::new(0);
    let caller = |x: u64| {
        for _ in 0..scaled(50) {
            let sums = team.run(|comm| {
                assert!(
                    inside.fetch_add(1, Ordering::Relaxed) < 3,
                    "two runs at once"
                );
                let sum = all_sum(comm, x)?;
                inside.fetch_sub(1, Ordering::Relaxed);
                Ok(sum)
            });
            assert_eq!(sums.unwrap(), [3 * x; 3]);
        }
    };
    thread::scope(|scope| {
        (1..5).for_each(|x| drop(scope.spawn(move || caller(x))));
    });
}

#[test]
fn a_team_may_not_be_run_by_its_own_ranks() {
    let team = World::new(2).start().unwrap();
    let refused = team.run(|comm| {
        let inner = team.run(|_| Ok(()));
        assert!(matches!(inner, Err(WorldError::Usage(what)) if what.contains("same team")));
        triangle_by_message(comm)
    });
    assert_eq!(refused.unwrap(), [3, 3]);
}

#[test]
fn a_rank_may_run_another_team() {
    let (outer, inner) = (
        World::new(2).start().unwrap(),
        World::new(3).start().unwrap(),
    );
    let sums = outer.run(|comm| {
        let sums = inner
            .run(triangle_by_message)
            .map_err(|error| Error::user(error.to_string()))?;
        all_sum(comm, sums[0])
    });
    assert_eq!(sums.unwrap(), [12, 12]);
}

#[test]
fn a_team_may_move_to_another_thread_and_ends_where_it_is_dropped() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Team>();
    let team = World::new(2).start().unwrap();
    let moved = thread::spawn(move || team.run(triangle_by_message).unwrap());
    assert_eq!(moved.join().unwrap(), [3, 3]);
}

/// Runs a team repeatedly: mostly without a pause, sometimes after a whole world has run and the team's ranks may have
/// fallen asleep, and sometimes a rank panics. What the ranks borrow belongs to that run alone.
fn runs_of_a_team(ranks: usize) {
    let team = World::new(ranks).start().unwrap();
    for run in 0..scaled(60) as u64 {
        if run % 4 == 3 {
            assert_eq!(World::new(2).run(triangle_by_message).unwrap(), [3, 3]);
        }
        let panics = run % 5 == 4;
        let cells: Vec<Mutex<u64>> = (0..ranks).map(|_| Mutex::new(0)).collect();
        let ended = team.run(|comm| {
            *cells[comm.rank()].lock().unwrap() += run + 1;
            assert!(!panics || comm.rank() + 1 < ranks, "boom");
            Ok(())
        });
        assert_eq!(ended.is_err(), panics, "run {run} of {ranks} ranks");
        let left = |cell: Mutex<u64>| cell.into_inner().unwrap();
        assert!(cells.into_iter().all(|cell| left(cell) == run + 1));
    }
}

#[test]
fn a_team_is_ready_whether_its_ranks_still_look_or_sleep() {
    for ranks in [1, 2, 5] {
        runs_of_a_team(ranks);
        // From a new thread each time, too: the end of a run finds the thread that waits for it.
        thread::scope(|scope| drop(scope.spawn(|| runs_of_a_team(ranks))));
    }
}

#[test]
fn a_team_ends_though_its_ranks_were_just_started_or_have_just_run() {
    for ranks in [1, 2, 5] {
        for _ in 0..scaled(10) {
            drop(World::new(ranks).start().unwrap());
            let team = World::new(ranks).start().unwrap();
            team.run(|comm| comm.barrier()).unwrap();
        }
    }
}

// ── seats ──

#[test]
fn seats_make_ranks_of_threads_that_somebody_else_started() {
    let seats = World::connect(5);
    assert_eq!(seats.size(), 5);
    let sums: Vec<u64> = thread::scope(|scope| {
        let enter = |seat: Seat| scope.spawn(move || (seat.rank(), seat.enter()).1.rank());
        let ranks: Vec<_> = World::connect(5).into_iter().map(enter).collect();
        let ranks: Vec<_> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
        assert_eq!(ranks, [0, 1, 2, 3, 4]);
        let run = |seat: Seat| scope.spawn(move || triangle_by_message(&seat.enter()).unwrap());
        let running: Vec<_> = seats.into_iter().map(run).collect();
        running
            .into_iter()
            .map(|rank| rank.join().unwrap())
            .collect()
    });
    assert_eq!(sums, [15; 5]);
}

/// A pool of threads, each doing the same jobs in turn, as a work-stealing pool's broadcast does.
#[test]
fn a_pool_takes_seats_by_number_and_its_threads_can_be_ranks_again() {
    let worlds: Vec<_> = (0..scaled(10)).map(|_| World::connect(4)).collect();
    let gate = Barrier::new(4);
    thread::scope(|scope| {
        for worker in 0..4 {
            let (worlds, gate) = (&worlds, &gate);
            scope.spawn(move || {
                for (turn, seats) in worlds.iter().enumerate() {
                    let comm = seats.take((worker + turn) % 4).unwrap().enter();
                    assert_eq!(comm.rank(), (worker + turn) % 4);
                    assert_eq!(triangle_by_message(&comm).unwrap(), 10);
                    drop(comm);
                    gate.wait(); // between jobs no thread is a rank
                }
            });
        }
    });
}

#[test]
fn a_thread_may_be_a_rank_of_two_worlds() {
    let (here, there) = (World::connect(2), World::connect(2));
    thread::scope(|scope| {
        for rank in 0..2 {
            let (here, there) = (&here, &there);
            scope.spawn(move || {
                let (a, b) = (
                    here.take(rank).unwrap().enter(),
                    there.take(1 - rank).unwrap().enter(),
                );
                let (sum, left) = (
                    all_sum(&a, 5).unwrap(),
                    b.sendrecv(rank, 1, &[a.rank()], rank, 1).unwrap(),
                );
                assert_eq!((sum, left.0), (10, vec![1 - rank]));
                drop(a); // in the order of entry, not in reverse
                assert_eq!(all_sum(&b, 1).unwrap(), 2);
            });
        }
    });
}

#[test]
fn a_seat_is_taken_once_and_only_if_there_is_one() {
    let seats = World::connect(2);
    let seat = seats.take(1).unwrap();
    assert_eq!(seat.rank(), 1);
    assert_usage(seats.take(1).map(|_| ()), "seat 1 is taken");
    assert_usage(seats.take(2).map(|_| ()), "seat 2 is not one of 2");
    let left: Vec<_> = seats.into_iter().map(|seat| seat.rank()).collect();
    assert_eq!(left, [0]);
}

#[test]
fn the_main_thread_may_be_a_rank() {
    let seats = World::connect(2);
    let other = seats.take(1).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| all_sum(&other.enter(), 1).unwrap());
        assert_eq!(all_sum(&seats.take(0).unwrap().enter(), 2).unwrap(), 3);
    });
}

/// Returns whether rank 0's wait for rank 1 reports that it is gone.
fn is_gone(comm: &Comm) -> bool {
    let error = comm.recv::<u8>(1, 0).unwrap_err();
    matches!(error.kind(), ErrorKind::RankGone { rank: 1, .. })
}

#[test]
fn a_seat_that_is_dropped_unused_is_a_rank_that_has_left() {
    let seats = World::connect(2);
    let comm = seats.take(0).unwrap().enter();
    drop(seats.take(1));
    assert!(is_gone(&comm));
    assert!(comm.barrier().is_err());
    // All of them at once, together with the world that holds them.
    let seats = World::connect(2);
    let comm = seats.take(0).unwrap().enter();
    drop(seats);
    assert!(is_gone(&comm));
}

#[test]
fn a_thread_that_ends_with_its_comm_forgotten_is_noticed() {
    let seats = World::connect(2);
    let comm = seats.take(0).unwrap().enter();
    let seat = seats.take(1).unwrap();
    let thread = thread::spawn(move || {
        let comm = seat.enter();
        comm.send(0, 7, &[1u8]).unwrap();
        mem::forget(comm);
    });
    assert!(is_gone(&comm)); // nothing with tag 0 can come
    assert_eq!(comm.recv::<u8>(1, 7).unwrap().0, [1]); // what it sent before is there
    thread.join().unwrap();
}

#[test]
fn a_comm_kept_in_a_thread_local_ends_with_its_thread() {
    thread_local! {
        static KEPT: RefCell<Option<Comm>> = const { RefCell::new(None) };
    }
    let seats = World::connect(2);
    let comm = seats.take(0).unwrap().enter();
    let seat = seats.take(1).unwrap();
    thread::spawn(move || KEPT.set(Some(seat.enter())))
        .join()
        .unwrap();
    assert!(is_gone(&comm));
}

#[test]
fn a_thread_that_panics_as_a_rank_is_noticed_and_its_message_known() {
    let seats = World::connect(2);
    let comm = seats.take(0).unwrap().enter();
    let seat = seats.take(1).unwrap();
    let thread = thread::spawn(move || {
        let _comm = seat.enter();
        panic!("out of memory");
    });
    let error = comm.recv::<u8>(1, 0).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("panicked with \"out of memory\""),
        "{error}"
    );
    assert!(thread.join().is_err());
}

// ── worlds beside and inside each other ──

#[test]
fn eight_worlds_run_at_once() {
    let sums: Vec<Vec<u64>> = thread::scope(|scope| {
        let run = |ranks: usize| {
            scope.spawn(move || {
                let world = World::new(ranks).check(false);
                (0..scaled(20))
                    .map(|_| world.run(triangle_by_message).unwrap()[ranks - 1])
                    .collect()
            })
        };
        let worlds: Vec<_> = (1..=8).map(run).collect();
        worlds
            .into_iter()
            .map(|world| world.join().unwrap())
            .collect()
    });
    for (i, sums) in sums.iter().enumerate() {
        assert!(sums.iter().all(|&sum| sum == triangle(i + 1)), "{sums:?}");
    }
}

#[test]
fn a_rank_may_run_a_world_of_its_own_which_is_not_pinned() {
    let sums = World::new(3).strict().run(|comm| {
        let inner = World::new(comm.rank() + 1).strict().run_each(|inner| {
            inner.sendrecv(inner.rank(), 1, &[0u8], inner.rank(), 1)?;
            triangle_by_message(inner)
        });
        assert!(
            inner.placement.cpu.iter().all(Option::is_none),
            "{:?}",
            inner.placement
        );
        let sums = inner
            .into_result()
            .map_err(|error| Error::user(error.to_string()))?;
        all_sum(comm, sums[0])
    });
    assert_eq!(sums.unwrap(), [1 + 3 + 6; 3]);
}

#[test]
fn the_failure_of_an_inner_world_is_a_value_to_the_outer_one() {
    let outer = World::new(2).run(|comm| {
        let inner = World::new(2).run(|inner| {
            assert_ne!(inner.rank(), 1, "inner trouble");
            inner.barrier()
        });
        assert!(matches!(inner, Err(WorldError::Panicked { rank: 1, .. })));
        triangle_by_message(comm)
    });
    assert_eq!(outer.unwrap(), [3, 3]);
}

// ── types that stay on their thread ──

/// Tells whether a type is `Send`, and whether it is `Sync`: the inherent constant takes precedence where it applies.
struct Of<T>(std::marker::PhantomData<T>);
trait Not {
    const SEND: bool = false;
    const SYNC: bool = false;
}
impl<T> Not for Of<T> {}
struct OfSend<T>(std::marker::PhantomData<T>);
impl<T> Not for OfSend<T> {}
impl<T: Send> OfSend<T> {
    const SEND: bool = true;
}
impl<T: Sync> Of<T> {
    const SYNC: bool = true;
}

#[test]
fn a_comm_stays_on_its_thread_and_all_else_may_travel() {
    const { assert!(!OfSend::<Comm>::SEND && !Of::<Comm>::SYNC) };
    const { assert!(!OfSend::<&Comm>::SEND) };
    const {
        assert!(
            OfSend::<Seat>::SEND && OfSend::<rankfold::Seats>::SEND && Of::<rankfold::Seats>::SYNC
        )
    };
    const { assert!(OfSend::<Error>::SEND && Of::<Error>::SYNC && OfSend::<WorldError>::SEND) };
    const { assert!(OfSend::<World>::SEND && Of::<World>::SYNC) };
    let (send, receive) = mpsc::channel::<Box<dyn Any + Send>>();
    send.send(Box::new(
        World::new(1)
            .run(|comm| comm.send(3, 0, &[0u8]))
            .unwrap_err(),
    ))
    .unwrap();
    assert!(receive.recv().unwrap().downcast::<WorldError>().is_ok());
    let names: BTreeSet<_> = World::connect(3)
        .into_iter()
        .map(|seat| seat.rank())
        .collect();
    assert_eq!(names.len(), 3);
}

#[test]
fn all_of_it_holds_over_channels() {
    channels::again(&[]);
}
