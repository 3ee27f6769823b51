//! Barriers, and the sum of a vector over all ranks, back to back.
//!
//! ```text
//! two ranks, a CPU each               16 and 64 ranks on all CPUs
//!
//! barrier            0 ┃ ┃ ┃          barrier            0 ┃ ┃ ┃
//! spinning counter   1 ┃ ┃ ┃          yielding counter   … ┃ ┃ ┃
//! std::sync::Barrier                                    63 ┃ ┃ ┃
//!
//! all_reduce   0 ╲╱ ╲╱   8 B … 1 MiB  all_reduce of 8 B: up a tree and down again
//!              1 ╱╲ ╱╲
//! ```
//!
//! Time is taken inside the threads; the slowest counts.

mod common;

use std::hint::spin_loop;
use std::thread::yield_now;
use std::time::Duration;

use common::On::{self, Any, Each};
use common::meet::{self, Witness};
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};

type Group<'a> = BenchmarkGroup<'a, criterion::measurement::WallTime>;
type Barrier = fn(On, usize, u64, Option<&Witness>) -> Duration;

fn spinning(on: On, n: usize, times: u64, witness: Option<&Witness>) -> Duration {
    meet::central(on, n, times, spin_loop, witness)
}

fn yielding(on: On, n: usize, times: u64, witness: Option<&Witness>) -> Duration {
    meet::central(on, n, times, yield_now, witness)
}

/// Checks that no thread passes early, then times.
fn barrier(group: &mut Group<'_>, name: &str, on: On, n: usize, subject: Barrier) {
    subject(on, n, 10, Some(&Witness::default()));
    group.bench_function(name, |b| b.iter_custom(|times| subject(on, n, times, None)));
}

fn all_reduce(group: &mut Group<'_>, name: &str, on: On, n: usize, bytes: usize) {
    meet::all_reduce(on, n, bytes / 8, 3);
    group.bench_function(name, |b| {
        b.iter_custom(|times| meet::all_reduce(on, n, bytes / 8, times))
    });
}

fn pair(c: &mut Criterion) {
    let mut group = c.benchmark_group("two ranks/barrier");
    barrier(&mut group, "rankfold", Each, 2, meet::barrier);
    barrier(&mut group, "spinning counter", Each, 2, spinning);
    barrier(&mut group, "std", Each, 2, meet::std_barrier);
    group.finish();

    let mut group = c.benchmark_group("two ranks/all_reduce");
    for (name, bytes) in [
        ("8B", 8),
        ("1KiB", 1 << 10),
        ("64KiB", 64 << 10),
        ("1MiB", 1 << 20),
    ] {
        group.throughput(Throughput::Bytes(bytes as u64));
        all_reduce(&mut group, name, Each, 2, bytes);
    }
    group.finish();
}

fn crowd(c: &mut Criterion) {
    for n in [16, 64] {
        let mut group = c.benchmark_group(format!("{n} ranks"));
        barrier(&mut group, "barrier", Any, n, meet::barrier);
        barrier(&mut group, "yielding counter", Any, n, yielding);
        all_reduce(&mut group, "all_reduce 8B", Any, n, 8);
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    targets = pair, crowd
}
criterion_main!(benches);
