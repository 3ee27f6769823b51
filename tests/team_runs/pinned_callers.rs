//! A caller that pins itself to the CPU of rank 0 is rank 0 of a team whose ranks are bound.

use std::thread::{self, ThreadId};

use rankfold::machine::{Cpus, PinnedCaller};
use rankfold::{Bind, Error, Team, World, WorldError};

use super::{CLEAN, triangle};
use crate::common::scaled;

/// A team with one rank on each CPU, at most three.
fn bound() -> Team {
    let ranks = Cpus::here().mask.len().clamp(1, 3);
    World::new(ranks).bind(Bind::Compact).start().unwrap()
}

/// Pins this thread as rank 0; `None` where no thread can be pinned.
fn pin(team: &Team) -> Option<PinnedCaller> {
    team.pin_caller().ok().flatten()
}

/// The thread and the mask of rank 0.
fn first(team: &Team) -> (ThreadId, Vec<usize>) {
    let seen = team.run(|_| Ok((thread::current().id(), Cpus::here().mask)));
    seen.unwrap().swap_remove(0)
}

/// Whether each run of the program is right.
fn adds_up(team: &Team) -> bool {
    let n = team.size() as u64;
    team.run(triangle).unwrap() == vec![n * (n + 1) / 2; team.size()]
}

#[test]
fn a_caller_that_is_pinned_is_rank_0_and_any_other_is_not() {
    let (team, here, before) = (bound(), thread::current().id(), Cpus::here().mask);
    assert_ne!(first(&team).0, here);
    let Some(pinned) = pin(&team) else {
        return;
    };
    let placement = team.try_run_each(|_| Ok::<_, Error>(())).unwrap().placement;
    let cpu = placement.cpu[0].unwrap();
    assert_eq!(placement.caller, Some(0));
    let line = format!("cpu {cpu}, the caller's thread");
    assert!(placement.to_string().contains(&line), "{placement}");
    assert_eq!(first(&team), (here, vec![cpu]));
    let elsewhere = thread::scope(|scope| {
        let caller = || (first(&team), thread::current().id());
        scope.spawn(caller).join()
    });
    let ((rank, mask), caller) = elsewhere.unwrap();
    assert!(rank != caller && rank != here && mask == [cpu]);
    drop(pinned);
    assert_eq!(Cpus::here().mask, before);
    assert_ne!(first(&team).0, here);
}

#[test]
fn rank_0_goes_to_and_fro_between_the_caller_and_its_thread() {
    let team = bound();
    for run in 0..scaled(60) {
        let pinned = (run % 3 > 0).then(|| pin(&team)).flatten();
        let program = CLEAN[run % CLEAN.len()];
        if team.size() > 1 {
            assert_eq!(team.run(program).unwrap().len(), team.size());
        }
        assert!(adds_up(&team));
        if run % 5 == 4 {
            let failed = team.run(|comm| -> rankfold::Result<()> {
                panic!("boom on rank {}", comm.rank());
            });
            assert!(matches!(failed, Err(WorldError::Panicked { .. })));
        }
        drop(pinned);
        assert!(adds_up(&team));
    }
}

#[test]
fn an_inner_pin_ends_before_an_outer_one() {
    let (team, other) = (bound(), World::new(1).bind(Bind::Compact).start().unwrap());
    let before = Cpus::here().mask;
    let here = thread::current().id();
    let Some(outer) = pin(&team) else {
        return;
    };
    let inner = pin(&other);
    assert_eq!(first(&other).0, here);
    drop(inner);
    assert_eq!(first(&team).0, here);
    drop(outer);
    assert_eq!(Cpus::here().mask, before);
}

#[test]
fn pins_may_end_in_any_order_and_leave_the_thread_where_it_was() {
    let (team, other) = (bound(), World::new(1).bind(Bind::Compact).start().unwrap());
    let (before, here) = (Cpus::here().mask, thread::current().id());
    let Some(mut pinned) = pin(&team) else {
        return;
    };
    // The new value is made before the old one is dropped.
    for _ in 0..3 {
        pinned = pin(&other).unwrap();
        assert_eq!(first(&other).0, here);
        pinned = pin(&team).unwrap_or(pinned);
        assert_eq!(first(&team).0, here);
    }
    drop(pinned);
    assert_eq!(Cpus::here().mask, before);
    let mut several: Vec<_> = (0..4).filter_map(|_| pin(&team)).collect();
    several.swap(0, 2);
    drop(several.remove(1));
    assert_eq!(first(&team).0, here);
    drop(several);
    assert_eq!(Cpus::here().mask, before);
    assert_ne!(first(&team).0, here);
}

#[test]
fn there_is_nothing_to_pin_in_a_team_that_is_not_bound() {
    let (team, before) = (World::new(2).start().unwrap(), Cpus::here().mask);
    assert!(matches!(team.pin_caller(), Ok(None)));
    assert_eq!(Cpus::here().mask, before);
    assert_eq!(first(&team).0, thread::current().id());
}

#[test]
fn a_pinned_caller_is_refused_its_own_team_inside_a_run() {
    let team = bound();
    let _pinned = pin(&team);
    let refused = team.run(|_| Ok(matches!(team.run(|_| Ok(())), Err(WorldError::Usage(_)))));
    assert!(refused.unwrap().into_iter().all(|refused| refused));
}
