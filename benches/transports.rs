//! Vector reductions over crossbeam channels beside memory, the transport that worlds have by default.
//!
//! ```text
//! reduce loop        0 ◀── 1   0 ◀── 2   …   one loop along a topology, here the binomial tree
//! butterfly          0 ⇄ 1     0 ⇄ 2     …   hypercube, whole vectors in each dimension
//! recursive halving  0 ⇄ 1     0 ⇄ 2     …   half of the rest in each dimension, then back
//! hybrid             0 ⇄ 1     0 ⇄ 2     …   one stage of halving, then the butterfly, then back
//! ```
//!
//! Both transports run the same algorithm by messages: over memory through slots, long ones lent; over channels every
//! message is a copy. `default` names no algorithm, so it shows what each transport chooses. Time is taken inside the
//! ranks; the slowest counts. Each subject is checked before it is timed.

mod common;

use std::time::Duration;

use common::On::{self, Any, Each};
use common::ranks_of;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rankfold::collective::Algorithm;
use rankfold::topology::Topology;
use rankfold::{Comm, Result, Transport, World, op};

/// A reduction of a vector, whose result at rank 0 is the sum.
type Reduction = fn(&Comm, &Topology, &mut [f64]) -> Result<()>;

const REDUCTIONS: [(&str, Reduction); 5] = [
    ("reduce loop", |comm, tree, v| {
        comm.reduce_over(tree, v, op::Sum).run()
    }),
    ("butterfly", |comm, _, v| {
        comm.using(Algorithm::Exchange).all_reduce(v, op::Sum)
    }),
    ("recursive halving", |comm, _, v| {
        comm.using(Algorithm::Halving).all_reduce(v, op::Sum)
    }),
    ("hybrid", |comm, _, v| {
        let hybrid = Algorithm::Hybrid { stages: 1 };
        comm.using(hybrid).all_reduce(v, op::Sum)
    }),
    ("default", |comm, _, v| comm.all_reduce(v, op::Sum)),
];

/// Returns the time of as many reductions of `length` numbers.
fn timed(on: On, world: World, length: usize, reduction: Reduction, times: u64) -> Duration {
    ranks_of(on, world, |comm| {
        let tree = Topology::binomial(comm.size());
        // Zeros: sums of sums would not stay finite.
        let mut v = vec![0.0; length];
        (0..times).try_for_each(|_| reduction(comm, &tree, &mut v))
    })
}

/// Compares every element of the sum at rank 0, of the first reduction and of a later one.
fn check(on: On, world: World, length: usize, reduction: Reduction) {
    ranks_of(on, world, |comm| {
        let tree = Topology::binomial(comm.size());
        for call in 1..=2 {
            let mut v = vec![(call * comm.rank()) as f64; length];
            reduction(comm, &tree, &mut v)?;
            let sum = (call * comm.size() * (comm.size() - 1) / 2) as f64;
            assert!(comm.rank() > 0 || v.iter().all(|x| *x == sum));
        }
        Ok(())
    });
}

fn among(c: &mut Criterion, on: On, ranks: usize) {
    for (name, reduction) in REDUCTIONS {
        let mut group = c.benchmark_group(format!("{ranks} ranks/{name}"));
        for (size, bytes) in [("8 B", 8), ("4 KiB", 4 << 10), ("256 KiB", 256 << 10)] {
            group.throughput(Throughput::Bytes(bytes as u64));
            for over in Transport::all() {
                let world = || World::new(ranks).transport(over);
                check(on, world(), bytes / 8, reduction);
                group.bench_function(BenchmarkId::new(over.name(), size), |b| {
                    b.iter_custom(|times| timed(on, world(), bytes / 8, reduction, times));
                });
            }
        }
        group.finish();
    }
}

fn transports(c: &mut Criterion) {
    among(c, Each, 2);
    among(c, Any, 8);
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(150))
        .measurement_time(Duration::from_millis(600));
    targets = transports
}
criterion_main!(benches);
