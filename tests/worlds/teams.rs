//! Teams: runs on the same threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rankfold::{Comm, Error, ErrorKind, Result, Source, Tag, Team, World, WorldError};

use super::{all_sum, triangle_by_message};
use crate::common::scaled;

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
