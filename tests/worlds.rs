//! Worlds, teams and seats: results in rank order, run after run, world beside world and world inside world; reports of
//! placement and of messages that no rank received.

mod again;
#[path = "worlds/binding.rs"]
mod binding;
mod common;
#[path = "worlds/errors.rs"]
mod errors;
#[path = "worlds/inner.rs"]
mod inner;
#[path = "worlds/seats.rs"]
mod seats;
#[path = "worlds/teams.rs"]
mod teams;

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::mpsc;
use std::thread;

use common::{assert_usage, scaled};
use rankfold::{
    Comm, Error, ErrorKind, Outcome, Rank, Result, Seat, Source, Tag, World, WorldError, op,
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

/// Each thread takes four mappings of memory. Without any left, std aborts the process in a thread that has just begun.
#[cfg(target_os = "linux")]
#[test]
fn a_world_of_more_threads_than_there_are_mappings_for_is_refused() {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let ranks = limit.trim().parse::<usize>().unwrap() / 4;
    if (1001..1 << 16).contains(&ranks) {
        let says = |error: &WorldError| {
            let why = "sysctl vm.max_map_count";
            matches!(error, WorldError::Usage(what) if what.contains(why))
        };
        assert!(says(&World::new(ranks).run(|_| Ok(())).unwrap_err()));
        assert!(says(&World::new(ranks).start().unwrap_err()));
    }
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

/// Returns whether rank 0's wait for rank 1 reports that it is gone.
fn is_gone(comm: &Comm) -> bool {
    let error = comm.recv::<u8>(1, 0).unwrap_err();
    matches!(error.kind(), ErrorKind::RankGone { rank: 1, .. })
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
    again::over_channels(&[]);
}
