//! Synthetic runs, stored and drawn, and `measure::compare` on them: how often it calls identical programs different, and whether it finds real
//! differences. Times are drawn from seeds: each process has a shift of its own, which affects all its passes.
#![cfg(feature = "json")]

use std::slice::from_ref;
use std::sync::LazyLock;

use rankfold::measure::{Comparison, Run, Verdict, chart, compare};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a normal variate with a standard deviation of 1, by the method of Box and Muller.
    fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.next(), self.next());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

/// The scatter of a program's times, as standard deviations of logarithms.
#[derive(Clone, Copy)]
struct Scatter {
    /// Of the shift that all points of a process share.
    process: f64,
    /// Of the shift of a point of a process.
    point: f64,
    /// Of passes.
    pass: f64,
}

const QUIET: Scatter = Scatter {
    process: 0.05,
    point: 0.05,
    pass: 0.03,
};

const POINTS: usize = 9;
const PASSES: usize = 6;

fn median(passes: &[f64]) -> f64 {
    let mut sorted = passes.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}

/// A run whose points are replaced.
static TEMPLATE: LazyLock<Run> =
    LazyLock::new(|| serde_json::from_str(include_str!("golden/cli/before.json")).unwrap());

/// Returns a run of a program whose points take `factors` times as long as those of the first program.
fn run(random: &mut Random, scatter: Scatter, factors: &[f64]) -> Run {
    let mut run = TEMPLATE.clone();
    let one = run.results[0].clone();
    run.results.clear();
    let process = scatter.process * random.normal();
    for (at, factor) in factors.iter().enumerate() {
        let shift = process + scatter.point * random.normal();
        let pass = |_| factor * (shift + scatter.pass * random.normal()).exp();
        let mut own = one.clone();
        own.bytes = 8 << at;
        own.passes_us = (0..PASSES).map(pass).collect();
        own.time_us.p50 = median(&own.passes_us);
        run.results.push(own);
    }
    run
}

/// Compares `pairs` pairs of runs, taken in turn.
fn compared(seed: u64, pairs: usize, scatter: Scatter, factors: &[f64]) -> Comparison {
    let mut random = Random(seed);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for _ in 0..pairs {
        before.push(run(&mut random, scatter, &vec![1.0; factors.len()]));
        after.push(run(&mut random, scatter, factors));
    }
    compare(&before, &after)
}

fn count(comparison: &Comparison, verdict: Verdict) -> usize {
    let points = comparison.points.iter();
    points.filter(|point| point.verdict == verdict).count()
}

fn changes(comparison: &Comparison) -> usize {
    count(comparison, Verdict::Faster) + count(comparison, Verdict::Slower)
}

/// Returns in how many of 300 comparisons of identical programs some point is called changed.
fn false_alarms(pairs: usize, scatter: Scatter) -> usize {
    let of = |seed: &u64| changes(&compared(*seed, pairs, scatter, &[1.0; POINTS])) > 0;
    (0..300).filter(of).count()
}

#[test]
fn identical_programs_are_hardly_ever_called_different() {
    let shifted = Scatter {
        process: 0.1,
        point: 0.0,
        ..QUIET
    };
    let noisy = Scatter {
        process: 0.3,
        point: 0.3,
        pass: 0.5,
    };
    for scatter in [QUIET, shifted, noisy] {
        for pairs in 1..=4 {
            let found = false_alarms(pairs, scatter);
            // One in fifty with one pair, and one in twenty, as promised, with more.
            let most = if pairs == 1 { 6 } else { 15 };
            assert!(found <= most, "{found} of 300 with {pairs} pairs");
        }
    }
}

#[test]
fn passes_that_agree_in_each_of_two_runs_do_not_make_a_change() {
    // A shift of 20 % that all passes of a process share: the rank-sum test on passes gives it 0.2 % by chance.
    let mut random = Random(1);
    let still = Scatter {
        process: 0.0,
        point: 0.0,
        pass: 0.01,
    };
    let before = run(&mut random, still, &[1.0; POINTS]);
    let after = run(&mut random, still, &[0.828; POINTS]);
    let comparison = compare(&[before], &[after]);
    assert_eq!(count(&comparison, Verdict::Inconclusive), POINTS);
    let advice = comparison.remarks.last().unwrap();
    assert!(advice.contains("measure a second pair"), "{advice}");
}

#[test]
fn one_pair_of_quiet_runs_shows_what_takes_twice_as_long() {
    let mut factors = [1.0; 24];
    (factors[3], factors[7]) = (2.2, 1.0 / 2.2);
    let still = Scatter {
        process: 0.02,
        point: 0.02,
        pass: 0.03,
    };
    for seed in 0..100 {
        let comparison = compared(seed, 1, still, &factors);
        let verdict = |at: usize| comparison.points[at].verdict;
        assert_eq!(
            (verdict(3), verdict(7)),
            (Verdict::Slower, Verdict::Faster),
            "seed {seed}"
        );
        assert_eq!(changes(&comparison), 2, "seed {seed}");
    }
}

#[test]
fn more_pairs_show_less() {
    let still = Scatter {
        process: 0.02,
        point: 0.01,
        pass: 0.02,
    };
    let found = |pairs: usize| {
        let of = |seed: &u64| changes(&compared(*seed, pairs, still, &[1.25; POINTS])) == POINTS;
        (0..100).filter(of).count()
    };
    let (one, four) = (found(1), found(4));
    assert!(one == 0 && four >= 95, "one pair: {one}, four: {four}");
}

#[test]
fn the_same_is_said_only_of_runs_that_agree_closely() {
    let still = Scatter {
        process: 0.005,
        point: 0.005,
        pass: 0.005,
    };
    for seed in 0..50 {
        let pair = |pairs| count(&compared(seed, pairs, still, &[1.0; POINTS]), Verdict::Same);
        assert_eq!((pair(1), pair(4)), (0, POINTS), "seed {seed}");
        let noisy = compared(seed, 4, QUIET, &[1.0; POINTS]);
        assert!(count(&noisy, Verdict::Same) < POINTS, "seed {seed}");
    }
}

#[test]
fn a_machine_that_changed_between_the_runs_is_not_a_program_that_did() {
    let mut random = Random(5);
    let still = Scatter {
        process: 0.0,
        point: 0.0,
        pass: 0.01,
    };
    let before = run(&mut random, still, &[1.0; POINTS]);
    let mut after = run(&mut random, still, &[2.5; POINTS]);
    assert_eq!(
        changes(&compare(from_ref(&before), from_ref(&after))),
        POINTS
    );
    after.noise.line_ns = before.noise.line_ns.iter().map(|ns| 4.0 * ns).collect();
    let comparison = compare(&[before], &[after]);
    assert_eq!(changes(&comparison), 0);
    assert!(
        comparison
            .remarks
            .iter()
            .any(|remark| remark.contains("4.00 times as long"))
    );
}

#[test]
fn few_passes_of_one_pair_say_nothing_and_points_of_one_side_are_counted() {
    let mut random = Random(9);
    let mut before = run(&mut random, QUIET, &[1.0; POINTS]);
    let mut after = run(&mut random, QUIET, &[9.0; POINTS]);
    for one in before.results.iter_mut().chain(&mut after.results) {
        one.passes_us.truncate(4);
    }
    after.results.truncate(5);
    let comparison = compare(&[before], &[after]);
    assert_eq!(count(&comparison, Verdict::Inconclusive), 5);
    assert!(
        comparison
            .points
            .iter()
            .all(|point| point.interval.is_none() && point.chance == 1.0)
    );
    assert_eq!(comparison.alone, (POINTS - 5, 0));
    assert!(
        comparison
            .remarks
            .iter()
            .any(|remark| remark.contains("too few to tell"))
    );
}

#[test]
fn nothing_is_compared_with_nothing() {
    let comparison = compare(&[], &[]);
    assert!(comparison.points.is_empty() && comparison.remarks.is_empty());
}

#[test]
fn a_stored_run_comes_back_to_the_last_bit() {
    let mut random = Random(1);
    for _ in 0..100 {
        let factors: Vec<f64> = (0..POINTS)
            .map(|_| (20.0 * random.normal()).exp())
            .collect();
        let run = run(&mut random, QUIET, &factors);
        let text = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<Run>(&text).unwrap(), run);
    }
}

#[test]
fn curves_go_from_left_to_right_in_whatever_order_points_were_asked_for() {
    let mut random = Random(2);
    for over_ranks in [false, true] {
        let mut run = run(&mut random, QUIET, &[1.0; POINTS]);
        for (at, one) in run.results.iter_mut().enumerate() {
            (one.bytes, one.ranks) = if over_ranks {
                (8, 2 + at)
            } else {
                (8 << at, 2)
            };
        }
        let wanted = chart(&run).unwrap();
        for _ in 0..20 {
            let first = (random.next() * POINTS as f64) as usize;
            run.results.rotate_left(first);
            run.results.swap(0, POINTS / 2);
            assert_eq!(chart(&run).unwrap().curves, wanted.curves);
        }
    }
}
