//! What collectives take on the machine of the closed formulas.

use rankfold::collective::{
    BinomialGather, Pairwise, RingReduceScatter, halving_all_reduce, hybrid_all_reduce,
    simple_exchange,
};
use rankfold::schedule::{FoldAlong, Schedule};
use rankfold::simulate::{MachineModel, critical_path, simulate};
use rankfold::span::Blocks;
use rankfold::topology::{Circle, Shift, Topology};

use crate::common::families;
use crate::zoo::{ceil_log2, own_steps, tree};

const ALPHA: f64 = 1000.0;
const BETA: f64 = 7.0;
const GAMMA: f64 = 3.0;

fn closed() -> MachineModel {
    MachineModel::alpha_beta_gamma(ALPHA, BETA, GAMMA)
}

fn total(schedule: &impl Schedule) -> f64 {
    let known = simulate(schedule, &closed()).unwrap();
    let behind_dyn = simulate::<dyn Schedule>(schedule, &closed()).unwrap();
    assert_eq!(known, behind_dyn);
    known.total
}

/// Returns the time of a message of `n` elements, and the same with a fold.
fn message(n: usize) -> f64 {
    ALPHA + n as f64 * BETA
}

fn folded(n: usize) -> f64 {
    message(n) + n as f64 * GAMMA
}

/// Returns the cost of ranks beyond a power of two.
fn folding(p: usize, n: usize) -> f64 {
    if p.is_power_of_two() {
        0.0
    } else {
        message(n) + folded(n)
    }
}

#[test]
fn trees_take_their_port_steps() {
    for p in 1..=70usize {
        for family in families(p) {
            let reduce = FoldAlong::new(family.single_port(), 12);
            let steps = family.port_steps() as f64;
            assert_eq!(total(&reduce), steps * folded(12), "{family:?}");
            assert_eq!(total(&reduce.reversed()), steps * message(12), "{family:?}");
        }
    }
}

#[test]
fn exchanges_take_what_their_formulas_say() {
    for p in 2..=70usize {
        let d = p.ilog2();
        let cube = 1 << d;
        let n = 3 * cube;
        let rest = |x: usize| (n - x) as f64 * (2.0 * BETA + GAMMA);
        let exchange = d as f64 * folded(n) + folding(p, n);
        assert_eq!(total(&simple_exchange(p, n)), exchange, "{p}");
        let halving = 2.0 * ALPHA * d as f64 + rest(n / cube) + folding(p, n);
        assert_eq!(total(&halving_all_reduce(p, n)), halving, "{p}");
        for s in 0..=d {
            let x = n >> s;
            let middle = (d - s) as f64 * x as f64 * (BETA + GAMMA);
            let hybrid = (d + s) as f64 * ALPHA + rest(x) + middle + folding(p, n);
            assert_eq!(total(&hybrid_all_reduce(p, n, s)), hybrid, "{p} {s}");
        }
    }
}

#[test]
fn rings_and_the_rest_take_what_their_formulas_say() {
    for p in 1..=70usize {
        let (n, block) = (5 * p, 5);
        let hops = (p - 1) as f64;
        let ring = RingReduceScatter::new(p, n);
        let both = hops * (folded(block) + message(block));
        assert_eq!(total(&ring.clone().then(ring.reversed())), both, "{p}");
        assert_eq!(
            total(&Pairwise::all_to_all(Blocks::even(n, p))),
            hops * message(block),
            "{p}"
        );
        let logs = ceil_log2(p) as f64;
        assert_eq!(
            total(&FoldAlong::new(Circle::new(p), 0)),
            logs * ALPHA,
            "{p}"
        );
        assert_eq!(
            total(&FoldAlong::new(Shift::new(p), n)),
            logs * folded(n),
            "{p}"
        );
        if p.is_power_of_two() {
            let gather = logs * ALPHA + (n - block) as f64 * BETA;
            assert_eq!(total(&BinomialGather::new(p, n)), gather, "{p}");
            assert_eq!(total(&BinomialGather::new(p, n).reversed()), gather, "{p}");
        }
    }
}

#[test]
fn pipelines_take_what_their_formulas_say() {
    for p in (2..=20usize).chain([31, 32, 33, 54, 70]) {
        for k in [1, 2, 5] {
            let n = 4 * k;
            let chain = (p + k - 2) as f64;
            let pipe = |name: &str, period| {
                let reduce = own_steps(name, p, n);
                let both = [
                    total(&reduce.clone().pipelined(k, period)) / folded(4),
                    total(&reduce.reversed().pipelined(k, period)) / message(4),
                ];
                assert_eq!(both[0], both[1], "{name} {p} {k}");
                both[0]
            };
            assert_eq!(pipe("chain", 1), chain, "{p} {k}");
            // In smaller worlds no rank has two children, and no port is used twice per segment.
            if p >= 4 {
                for name in ["in-order", "fibonacci"] {
                    let d = Topology::by_name(name, p).unwrap().steps();
                    assert_eq!(pipe(name, 2), (d + 2 * k - 2) as f64, "{name} {p} {k}");
                }
            }
        }
    }
}

#[test]
fn many_ranks_are_quick_even_here() {
    let p = 1 << 14;
    let chain = own_steps("chain", p, 8).reversed().pipelined(4, 1);
    assert_eq!(total(&chain), (p + 2) as f64 * message(2));
    let steps = critical_path(&chain, &closed()).unwrap().steps;
    assert_eq!(steps.len(), p + 2);
    assert!(steps.windows(2).all(|two| two[0].end == two[1].start));
    let flat = tree("flat", p, 1);
    assert_eq!(total(&flat), (p - 1) as f64 * folded(1));
}
