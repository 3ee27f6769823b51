//! The thread that calls a team is its rank 0, also inside other teams and while it panics.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, ThreadId};

use rankfold::machine::Cpus;
use rankfold::{Bind, Comm, Error, Result, Team, World, WorldError};

use super::{CLEAN, triangle};
use crate::common::scaled;

fn ids(team: &Team) -> Vec<ThreadId> {
    team.run(|_| Ok(thread::current().id())).unwrap()
}

#[test]
fn the_caller_is_rank_0_unless_a_binding_was_asked_for() {
    let here = thread::current().id();
    for ranks in [1, 2, 9] {
        for bind in [Bind::Auto, Bind::None] {
            let team = World::new(ranks).bind(bind).start().unwrap();
            assert_eq!(ids(&team)[0], here);
            let placement = team.try_run_each(|_| Ok::<_, Error>(())).unwrap().placement;
            assert_eq!(placement.caller, Some(0));
            assert_eq!(placement.cpu, vec![None; ranks]);
            assert!(placement.to_string().contains("the caller's thread"));
            let elsewhere = thread::scope(|scope| {
                scope
                    .spawn(|| (ids(&team)[0], thread::current().id()))
                    .join()
            });
            let (rank, caller) = elsewhere.unwrap();
            assert!(rank == caller && rank != here);
        }
        let team = World::new(ranks).bind(Bind::Compact).start().unwrap();
        assert!(!ids(&team).contains(&here));
        let placement = team.try_run_each(|_| Ok::<_, Error>(())).unwrap().placement;
        assert_eq!(placement.caller, None);
    }
}

#[test]
fn no_run_changes_where_its_caller_may_run() {
    let before = Cpus::here();
    let team = World::new(2).start().unwrap();
    let inside = team.run(|_| Ok(Cpus::here().mask)).unwrap();
    assert_eq!(inside[0], before.mask);
    drop(team);
    assert_eq!(Cpus::here(), before);
}

#[test]
fn callers_hand_rank_0_on_to_each_other() {
    let team = World::new(3).check(false).start().unwrap();
    let turn = Barrier::new(2);
    thread::scope(|scope| {
        for caller in 0..2 {
            let (team, turn) = (&team, &turn);
            scope.spawn(move || {
                for run in 0..scaled(40) {
                    if run % 2 == caller {
                        assert_eq!(team.run(CLEAN[run % CLEAN.len()]).unwrap().len(), 3);
                        assert_eq!(team.run(triangle).unwrap(), [6; 3]);
                    }
                    turn.wait();
                }
            });
        }
    });
}

#[test]
fn a_rank_may_run_other_teams_and_is_as_before_afterwards() {
    let (outer, inner, third) = (
        World::new(2).start().unwrap(),
        World::new(2).start().unwrap(),
        World::new(1).start().unwrap(),
    );
    let report = outer.try_run_each(|comm| {
        // It follows from the end of rank 1, and remains.
        let follows = match comm.rank() {
            0 => comm.recv::<u8>(1, 0).map(|_| ()),
            _ => Err(Error::user("the culprit")),
        };
        for _ in 0..3 {
            assert_eq!(inner.run(triangle).unwrap(), [3, 3]);
            let failed = inner.run(|comm| {
                assert_eq!(third.run(triangle).unwrap(), [1]);
                assert!(comm.rank() == 1, "boom");
                comm.barrier()
            });
            assert!(matches!(failed, Err(WorldError::Panicked { rank: 0, .. })));
        }
        follows
    });
    let report = report.unwrap();
    assert_eq!(report.culprit, Some(1), "{report}");
}

#[test]
fn an_operator_may_run_a_team_and_no_communicator() {
    let (outer, inner) = (
        World::new(2).start().unwrap(),
        World::new(2).start().unwrap(),
    );
    let sums = outer.run(|comm| {
        let mut v = [comm.rank() as u64 + 1];
        comm.all_reduce(&mut v, |a, b| {
            assert_eq!(inner.run(triangle).unwrap(), [3, 3]);
            assert!(comm.barrier().is_err(), "inside an operator still");
            a + b
        })?;
        Ok(v[0])
    });
    assert_eq!(sums.unwrap(), [3, 3]);
}

/// Runs a team when it is dropped, and keeps the result.
struct RunsAtTheEnd<'a>(&'a Team, &'a Mutex<Vec<Result<Vec<u64>, WorldError>>>);

impl Drop for RunsAtTheEnd<'_> {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0.run(triangle));
    }
}

#[test]
fn a_destructor_may_run_a_team_while_its_thread_panics() {
    let (team, ran) = (World::new(2).start().unwrap(), Mutex::default());
    for _ in 0..3 {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _runs = RunsAtTheEnd(&team, &ran);
            panic!("on the way");
        }));
        assert!(panicked.is_err());
        assert_eq!(team.run(triangle).unwrap(), [3, 3]);
    }
    // A rank of another team may do so too, but not one of the same team.
    let other = World::new(2).start().unwrap();
    let failed = other.run(|_| -> Result<()> {
        let _runs = RunsAtTheEnd(&team, &ran);
        panic!("on the way");
    });
    assert!(matches!(failed, Err(WorldError::Panicked { .. })));
    let ran: Vec<_> = mem::take(&mut *ran.lock().unwrap());
    assert_eq!(ran.len(), 5);
    assert!(ran.into_iter().all(|sums| sums.unwrap() == [3, 3]));
    let refused = Mutex::default();
    let failed = team.run(|_| -> Result<()> {
        let _runs = RunsAtTheEnd(&team, &refused);
        panic!("on the way");
    });
    assert!(matches!(failed, Err(WorldError::Panicked { .. })));
    let usage = |ran: &Result<_, _>| matches!(ran, Err(WorldError::Usage(_)));
    assert!(refused.lock().unwrap().iter().all(usage));
}

/// A message whose destructor runs the team that it was sent in.
struct RunsItsTeam(Arc<(Team, AtomicUsize)>);

impl Drop for RunsItsTeam {
    fn drop(&mut self) {
        let (team, ran) = &*self.0;
        if team.run(triangle).is_ok_and(|sums| sums == [3, 3]) {
            ran.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_message_that_is_never_received_may_run_its_team_when_it_is_dropped() {
    let shared = Arc::new((World::new(2).start().unwrap(), AtomicUsize::new(0)));
    let (team, ran) = &*shared;
    let sends = |comm: &Comm| match comm.rank() {
        0 => comm.send_value(1, 0, RunsItsTeam(shared.clone())),
        _ => Ok(()),
    };
    assert!(team.run(sends).is_ok());
    let report = team.try_run_each(sends).unwrap();
    assert_eq!(report.lost.len(), 1);
    assert_eq!(ran.load(Ordering::Relaxed), 2);
    assert_eq!(team.run(triangle).unwrap(), [3, 3]);
}

#[test]
fn a_rank_is_refused_its_own_team_also_through_another_one() {
    let (team, other) = (
        World::new(2).start().unwrap(),
        World::new(1).start().unwrap(),
    );
    let inside = team.run(|comm| {
        let refused =
            |ran| matches!(ran, Err(WorldError::Usage(what)) if what.contains("same team"));
        assert!(refused(team.run(|_| Ok(()))));
        // The one rank of the other team is this thread.
        let through = other.run(|_| Ok(refused(team.run(|_| Ok(())))));
        assert_eq!(through.unwrap(), [true]);
        triangle(comm)
    });
    assert_eq!(inside.unwrap(), [3, 3]);
}

#[test]
fn a_panic_in_the_caller_is_a_panic_of_rank_0_and_later_ones_are_its_own() {
    let team = World::new(3).start().unwrap();
    for _ in 0..scaled(10) {
        let failed = team.run(|comm| {
            assert!(comm.rank() > 0, "boom in the caller");
            comm.barrier()
        });
        assert!(
            matches!(failed, Err(WorldError::Panicked { rank: 0, message, site: Some(site) })
                if message.contains("boom in the caller") && site.contains("team_runs/callers.rs"))
        );
        assert!(catch_unwind(|| panic!("not in a run")).is_err());
        assert_eq!(team.run(triangle).unwrap(), [6; 3]);
    }
}
