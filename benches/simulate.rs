//! The time that the simulator takes for a million ranks: `cargo bench --bench simulate`.
//!
//! Each time is the minimum of three runs, since the machine may have other work. No time is asserted; the verdict is
//! for the reader. The process fails if a simulated time differs from the closed formula.

use std::env;
use std::hint::black_box;
use std::time::{Duration, Instant};

use rankfold::collective::halving_all_reduce;
use rankfold::schedule::{FoldAlong, Schedule};
use rankfold::simulate::{MachineModel, busy_times, critical_path, simulate};
use rankfold::topology::{OwnSteps, Topology};

const ALPHA: f64 = 1000.0;
const BETA: f64 = 3.0;
/// Segments on the chain.
const ON_CHAIN: usize = 64;
/// Segments in the tree: its schedule has to descend to a rank for every query about it.
const IN_TREE: usize = 8;

/// How much to do.
#[derive(Clone, Copy)]
struct Effort {
    /// Base-2 logarithm of the number of ranks.
    log: u32,
    runs: usize,
}

impl Effort {
    fn ranks(self) -> usize {
        1 << self.log
    }
}

fn main() {
    let effort = if env::args().any(|arg| arg == "--test") {
        Effort { log: 6, runs: 1 }
    } else {
        Effort { log: 20, runs: 3 }
    };
    println!("{} ranks", effort.ranks());
    row("schedule", "active", "ours", "a visit", "bound", "verdict");
    halving(effort);
    trees(effort);
    pipelines(effort);
    more(effort);
}

/// A machine on which times are whole numbers, so that formulas hold to the last bit.
fn machine() -> MachineModel {
    MachineModel::alpha_beta_gamma(ALPHA, BETA, 0.0)
}

/// The length of a vector with 16 elements for each rank.
fn length(effort: Effort) -> usize {
    effort.ranks() << 4
}

fn halving(effort: Effort) {
    let (p, n) = (effort.ranks() as f64, length(effort));
    let total = 2.0 * (effort.log as f64 * ALPHA + (n as f64 - n as f64 / p) * BETA);
    let schedule = halving_all_reduce(effort.ranks(), n);
    time("halving and doubling", 0.3, effort, &schedule, total);
    time::<dyn Schedule>("  behind dyn", 10.0, effort, &schedule, total);
}

fn trees(effort: Effort) {
    let n = length(effort);
    let binomial = FoldAlong::new(Topology::binomial(effort.ranks()).single_port(), n);
    let total = 2.0 * effort.log as f64 * (ALPHA + n as f64 * BETA);
    let both = binomial.clone().then(binomial.reversed());
    time("binomial there and back", 10.0, effort, &both, total);
    let fibonacci = Topology::fibonacci(effort.ranks());
    let total = fibonacci.steps() as f64 * (ALPHA + n as f64 * BETA);
    let reduce = FoldAlong::new(fibonacci.single_port(), n);
    time("fibonacci", 10.0, effort, &reduce, total);
    time("  reversed", 10.0, effort, &reduce.reversed(), total);
}

fn pipelines(effort: Effort) {
    let (p, n) = (effort.ranks(), length(effort));
    let segment = |segments: usize| ALPHA + (n / segments) as f64 * BETA;
    let chain = FoldAlong::new(OwnSteps::new(Topology::chain(p)), n);
    let total = (p + ON_CHAIN - 2) as f64 * segment(ON_CHAIN);
    let reduce = chain.clone().pipelined(ON_CHAIN, 1);
    time("chain, 64 segments", 10.0, effort, &reduce, total);
    let broadcast = chain.reversed().pipelined(ON_CHAIN, 1);
    time("  reversed", 10.0, effort, &broadcast, total);
    let tree = Topology::fibonacci(p);
    let total = (tree.steps() + 2 * IN_TREE - 2) as f64 * segment(IN_TREE);
    let tree = FoldAlong::new(OwnSteps::new(tree), n);
    let reduce = tree.clone().pipelined(IN_TREE, 2);
    time("fibonacci, 8 segments", 10.0, effort, &reduce, total);
    let broadcast = tree.reversed().pipelined(IN_TREE, 2);
    time("  reversed", 10.0, effort, &broadcast, total);
}

/// Prints further facts about a run.
fn more(effort: Effort) {
    let schedule = halving_all_reduce(effort.ranks(), length(effort));
    let spent = least(effort, || busy_times(&schedule, &machine()).unwrap().total);
    row("loads of halving", "", &shown(spent.0), "", "", "");
    let spent = least(effort, || {
        critical_path(&schedule, &machine()).unwrap().total
    });
    row("critical path of halving", "", &shown(spent.0), "", "", "");
}

fn time<S: Schedule + ?Sized>(name: &str, bound: f64, effort: Effort, schedule: &S, total: f64) {
    let (spent, timing) = least(effort, || simulate(schedule, &machine()).unwrap());
    assert_eq!(timing.total, total, "{name}");
    let visit = spent.as_secs_f64() * 1e9 / timing.active as f64;
    let verdict = if spent.as_secs_f64() <= bound {
        "within"
    } else {
        "OVER"
    };
    row(
        name,
        &timing.active.to_string(),
        &shown(spent),
        &format!("{visit:.1} ns"),
        &format!("{bound} s"),
        verdict,
    );
}

/// Returns the minimum time of some runs, and the last result.
fn least<T>(effort: Effort, run: impl Fn() -> T) -> (Duration, T) {
    let one = || {
        let begin = Instant::now();
        let result = black_box(run());
        (begin.elapsed(), result)
    };
    let (mut spent, mut result) = one();
    for _ in 1..effort.runs {
        let (time, again) = one();
        (spent, result) = (spent.min(time), again);
    }
    (spent, result)
}

fn shown(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}

fn row(name: &str, active: &str, ours: &str, visit: &str, bound: &str, verdict: &str) {
    println!("{name:<28} {active:>12} {ours:>10} {visit:>12} {bound:>8}  {verdict}");
}
