//! The cost of ranks themselves: start them, let them do nothing, and end.
//!
//! ```text
//! World::run, empty         spawn n ┃ live ┃ join
//! World::run, one barrier   spawn n ┃ live ┃ meet ┃ join
//! Team::run, empty                  ┃ wake ┃ done ┃           the threads stay
//! Team::run, one barrier            ┃ wake ┃ meet ┃ done ┃    in the fabric of the last run, or in a new one
//! std::thread::scope        spawn n ┃ join                    the lower bound
//! ```
//!
//! These are whole calls, so the clock is the caller's.

mod common;

use std::thread;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use rankfold::{Team, World};

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
