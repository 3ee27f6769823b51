//! The cost of ranks themselves: start them, let them do nothing, and end.
//!
//! ```text
//! World::run, empty         spawn n ┃ live ┃ join
//! World::run, one barrier   spawn n ┃ live ┃ meet ┃ join
//! Team::run, empty                  ┃ wake ┃ done ┃           the threads stay
//! Team::run, one barrier            ┃ wake ┃ meet ┃ done ┃    in the fabric of the last run, or in a new one
//! std::thread::scope        spawn n ┃ join                    the lower bound
//! two kinds of worlds       a world of two ranks, then one of one
//! bound                             ┃ wake ┃ done ┃           the caller pinned as rank 0, or anywhere
//! after a pause             1 ms ┃ wake ┃ done ┃             ranks that sleep by then, and ranks that look for so long
//! dup                       a communicator made and dropped, while others are held
//! ```
//!
//! These are whole calls, so the clock is the caller's.

mod common;

use std::hint::spin_loop;
use std::thread;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use rankfold::{Bind, Team, World};

fn world(n: usize) {
    let ranks = World::new(n).run(|comm| Ok(comm.rank()));
    assert_eq!(ranks.expect("no rank fails").len(), n);
}

fn world_with_barrier(n: usize) {
    let ranks = World::new(n).run(|comm| comm.barrier());
    assert_eq!(ranks.expect("no rank fails").len(), n);
}

fn team(team: &Team) {
    let ranks = team.run(|comm| Ok(comm.rank()));
    assert_eq!(ranks.expect("no rank fails").len(), team.size());
}

fn team_with_barrier(team: &Team) {
    let ranks = team.run(|comm| comm.barrier());
    assert_eq!(ranks.expect("no rank fails").len(), team.size());
}

/// A report owns the ranks' records, so the next run begins in a new fabric.
fn team_reported(team: &Team) {
    let report = team.try_run_each(|comm| comm.barrier());
    assert_eq!(report.expect("a report").outcomes.len(), team.size());
}

fn threads(n: usize) {
    let started = thread::scope(|scope| {
        let all: Vec<_> = (0..n).map(|me| scope.spawn(move || me)).collect();
        let ranks = all
            .into_iter()
            .map(|one| one.join().expect("no thread fails"));
        ranks.max().map_or(0, |last| last + 1)
    });
    assert_eq!(started, n);
}

/// Runs a team `times` times, and before each run keeps the caller busy for a millisecond, which is not timed.
fn after_pauses(stays: &Team, times: u64) -> Duration {
    let run = |_| {
        let pause = Instant::now();
        while pause.elapsed() < Duration::from_millis(1) {
            spin_loop();
        }
        let begin = Instant::now();
        team(stays);
        begin.elapsed()
    };
    (0..times).map(run).sum()
}

/// Makes and drops a communicator `times` times, while `held` others are there.
fn dups(held: usize, times: u64) -> Duration {
    let took = World::new(2).run(|comm| {
        let others = (0..held)
            .map(|_| comm.dup())
            .collect::<Result<Vec<_>, _>>()?;
        comm.barrier()?;
        let begin = Instant::now();
        for _ in 0..times {
            comm.dup()?;
        }
        let took = begin.elapsed();
        drop(others);
        Ok(took)
    });
    took.expect("no rank fails")
        .into_iter()
        .max()
        .expect("there are ranks")
}

/// Empty runs of teams whose ranks are bound.
fn bound(c: &mut Criterion) {
    for n in [1, 2] {
        let mut group = c.benchmark_group(format!("launch/{n} bound"));
        let stays = World::new(n).bind(Bind::Compact).start();
        let stays = stays.expect("there are threads");
        group.bench_function("Team, empty", |b| b.iter(|| team(&stays)));
        let _pinned = stays.pin_caller();
        group.bench_function("Team, empty, caller pinned", |b| b.iter(|| team(&stays)));
        group.finish();
    }
}

fn launch(c: &mut Criterion) {
    common::cpus();
    for n in [2, 16, 64, 1024] {
        let mut group = c.benchmark_group(format!("launch/{n}"));
        group.bench_function("World, empty", |b| b.iter(|| world(n)));
        group.bench_function("World, barrier", |b| b.iter(|| world_with_barrier(n)));
        let stays = World::new(n).start().expect("there are threads");
        group.bench_function("Team, empty", |b| b.iter(|| team(&stays)));
        group.bench_function("Team, barrier", |b| b.iter(|| team_with_barrier(&stays)));
        group.bench_function("Team, barrier, new fabric", |b| {
            b.iter(|| team_reported(&stays));
        });
        drop(stays);
        group.bench_function("std::thread::scope", |b| b.iter(|| threads(n)));
        group.finish();
    }
    bound(c);
    c.bench_function("launch/2 and 1 in turn/World, empty", |b| {
        b.iter(|| [2, 1].map(world));
    });
    let mut group = c.benchmark_group("launch/2 after a pause");
    let stays = World::new(2).start().expect("there are threads");
    group.bench_function("asleep", |b| {
        b.iter_custom(|times| after_pauses(&stays, times));
    });
    stays.linger(Duration::from_millis(5));
    group.bench_function("lingering", |b| {
        b.iter_custom(|times| after_pauses(&stays, times));
    });
    group.finish();
    let mut group = c.benchmark_group("launch/dup of 2 ranks");
    for held in [0, 10_000] {
        group.bench_function(format!("{held} held"), |b| {
            b.iter_custom(|times| dups(held, times));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    targets = launch
}
criterion_main!(benches);
