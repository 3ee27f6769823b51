//! Compares two programs by one run of each or by several: ratios, and whether they are more than chance.

use std::fmt;

use super::change::{self, CONFIDENCE, Difference, FEWEST_PASSES, RunTimes, holm};
use super::record::{Measured, Run};
use super::statistics::{Interval, mean, median, rank_sum, sorted};

/// Name and version of the format of a comparison, see [`Comparison::JSON_SCHEMA`].
pub const COMPARE_SCHEMA: &str = "rankfold.compare/1";

impl Comparison {
    /// The JSON schema of the output of `rankfold compare --format json`.
    pub const JSON_SCHEMA: &str = include_str!("../../docs/compare.schema.json");
}

/// A difference with a higher probability than this, over all points together, is not distinguished from chance.
const CHANCE: f64 = 0.05;
/// One pair of runs whose passes differ with at most this probability by chance is worth a second pair.
const PASSES_CHANCE: f64 = 0.01;
/// Times that differ by no more than this share count as the same.
const SAME: f64 = 0.05;

/// The results of all runs, with caveats for the reader.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The points that all runs measured, in the order of the first run.
    pub points: Vec<ComparedPoint>,
    /// Number of runs before, and after.
    pub runs: (usize, usize),
    /// Number of points of the runs before, and of the runs after, that not all runs have.
    pub alone: (usize, usize),
    /// Why the ratios may mean less than they seem to, one sentence each.
    pub remarks: Vec<String>,
}

/// The conclusion for a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It takes less time than before.
    Faster,
    /// It takes more time than before.
    Slower,
    /// The interval of its ratio lies within 5 % of 1.
    Same,
    /// The measurements show none of these.
    Inconclusive,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Verdict; 4] = [
        Verdict::Faster,
        Verdict::Slower,
        Verdict::Same,
        Verdict::Inconclusive,
    ];

    /// Returns its word, in text and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A point of all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedPoint {
    /// The first run's result before.
    pub before: Measured,
    /// The first run's result after.
    pub after: Measured,
    /// The geometric means of the runs' medians, before and after, in microseconds.
    pub time_us: (f64, f64),
    /// Time after divided by time before: below 1 it is faster.
    pub ratio: f64,
    /// Confidence interval of the ratio of the two programs; `None` where the runs have too few passes.
    pub interval: Option<Interval>,
    /// Probability that, without any difference, some point of the comparison is as far from 1 relative to its own
    /// scatter: corrected for the number of points.
    pub chance: f64,
    /// The conclusion.
    pub verdict: Verdict,
}

impl ComparedPoint {
    fn new(point: &Point<'_>, of: Difference, chance: f64) -> ComparedPoint {
        let interval = of.interval().map(|(low, high)| Interval {
            low: low.exp(),
            high: high.exp(),
            confidence: CONFIDENCE,
        });
        ComparedPoint {
            before: point.before[0].clone(),
            after: point.after[0].clone(),
            time_us: (middle(&point.before), middle(&point.after)),
            ratio: of.ratio.exp(),
            interval,
            chance,
            verdict: verdict(of.ratio, interval, chance),
        }
    }

    /// Returns whether the passes of the first runs differ by more than chance. One pair of runs cannot tell that from
    /// the difference between two runs of one program.
    fn may_matter(&self) -> bool {
        self.verdict == Verdict::Inconclusive
            && rank_sum(&self.before.passes_us, &self.after.passes_us) < PASSES_CHANCE
    }
}

fn verdict(ratio: f64, interval: Option<Interval>, chance: f64) -> Verdict {
    let same =
        |interval: Interval| interval.low >= 1.0 - SAME && interval.high <= 1.0 / (1.0 - SAME);
    match interval {
        _ if chance < CHANCE && ratio < 0.0 => Verdict::Faster,
        _ if chance < CHANCE => Verdict::Slower,
        Some(interval) if same(interval) => Verdict::Same,
        _ => Verdict::Inconclusive,
    }
}

/// Compares two runs, or several of each program.
///
/// The difference between one process and the next shifts all passes of a run, so the run is what counts, not the pass.
/// One run of each program shows only differences far beyond that: a factor of 1.5 to 2 in runs whose passes agree. Two
/// or more of each, best taken in turn, show how much runs of one program differ, and so reveal smaller differences.
///
/// A point is faster or slower if chance gives such a ratio to any point at all with a probability below 5 % (t-test on
/// the logarithms of the runs' medians, corrected by Holm's method). It is the same if the 95 % interval of its ratio
/// lies within 5 % of 1. Otherwise it is inconclusive.
pub fn compare(before: &[Run], after: &[Run]) -> Comparison {
    let points = points(before, after);
    let sides: Vec<(RunTimes, RunTimes)> = points.iter().map(Point::sides).collect();
    let differences = change::differences(&sides, drift(before, after));
    let chances = holm(
        &differences
            .iter()
            .map(Difference::chance)
            .collect::<Vec<_>>(),
    );
    let of = |at: usize| ComparedPoint::new(&points[at], differences[at], chances[at]);
    let lines: Vec<ComparedPoint> = (0..points.len()).map(of).collect();
    Comparison {
        alone: (alone(before, &lines), alone(after, &lines)),
        runs: (before.len(), after.len()),
        remarks: remarks(before, after, &lines),
        points: lines,
    }
}

/// One point in every run.
struct Point<'a> {
    before: Vec<&'a Measured>,
    after: Vec<&'a Measured>,
}

impl Point<'_> {
    fn sides(&self) -> (RunTimes, RunTimes) {
        let of = |runs: &[&Measured]| {
            let runs = runs.iter();
            RunTimes::of(runs.map(|one| (one.time_us.p50, one.passes_us.as_slice())))
        };
        (of(&self.before), of(&self.after))
    }
}

/// Returns the geometric mean of the runs' medians, in microseconds.
fn middle(runs: &[&Measured]) -> f64 {
    match runs {
        [one] => one.time_us.p50,
        _ => mean(
            &runs
                .iter()
                .map(|one| one.time_us.p50.ln())
                .collect::<Vec<_>>(),
        )
        .exp(),
    }
}

fn points<'a>(before: &'a [Run], after: &'a [Run]) -> Vec<Point<'a>> {
    let (Some(first), false) = (before.first(), after.is_empty()) else {
        return Vec::new();
    };
    let timed = |one: &&Measured| one.time_us.p50 > 0.0 && one.time_us.p50.is_finite();
    let in_all = |runs: &'a [Run], key: &Measured| -> Option<Vec<&'a Measured>> {
        let found = |run: &'a Run| {
            run.results
                .iter()
                .filter(timed)
                .find(|one| one.key() == key.key())
        };
        runs.iter().map(found).collect()
    };
    let point = |one: &Measured| {
        Some(Point {
            before: in_all(before, one)?,
            after: in_all(after, one)?,
        })
    };
    first.results.iter().filter_map(point).collect()
}

/// Returns the number of points of these runs that are not compared.
fn alone(runs: &[Run], lines: &[ComparedPoint]) -> usize {
    let mut others: Vec<&Measured> = Vec::new();
    for one in runs.iter().flat_map(|run| &run.results) {
        let known = |other: &Measured| other.key() == one.key();
        if !lines.iter().any(|line| known(&line.before)) && !others.iter().any(|other| known(other))
        {
            others.push(one);
        }
    }
    others.len()
}

/// Returns the median time of a cache line in a run, in nanoseconds; `None` where it was not measured.
fn cache_line(run: &Run) -> Option<f64> {
    Some(median(&sorted(run.noise.line_ns.iter().copied()))).filter(|ns| *ns > 0.0)
}

/// Returns the logarithm of the factor by which a cache line took longer after than before; 0 where it is unknown.
fn drift(before: &[Run], after: &[Run]) -> f64 {
    let of = |runs: &[Run]| {
        let all: Vec<f64> = runs.iter().filter_map(cache_line).map(f64::ln).collect();
        (!all.is_empty()).then(|| mean(&all))
    };
    of(before)
        .zip(of(after))
        .map_or(0.0, |(before, after)| after - before)
}

fn remarks(before: &[Run], after: &[Run], lines: &[ComparedPoint]) -> Vec<String> {
    let mut remarks = Vec::new();
    if let (Some(first), Some(second)) = (before.first(), after.first()) {
        remarks.extend(unlike(first, second, "differ"));
    }
    for (runs, which) in [(before, "before"), (after, "after")] {
        let others = runs.iter().skip(1);
        remarks.extend(
            others
                .flat_map(|other| unlike(&runs[0], other, &format!("of the runs {which} differ"))),
        );
    }
    let drift = drift(before, after).exp();
    if !(1.0 / 1.5..=1.5).contains(&drift) {
        remarks.push(format!(
            "a cache line took {drift:.2} times as long after as before: the machine has changed, and short vectors with it"
        ));
    }
    for (runs, which) in [(before, "before"), (after, "after")] {
        for (at, run) in runs.iter().enumerate() {
            let which = match runs.len() {
                1 => format!("the run {which}"),
                _ => format!("run {} {which}", at + 1),
            };
            remarks.extend(
                run.remarks
                    .iter()
                    .map(|remark| format!("{which}: {remark}")),
            );
            if run.interrupted {
                remarks.push(format!("{which} was interrupted"));
            }
        }
    }
    remarks.extend(few(lines, before.len() + after.len()));
    remarks.extend(again(lines, before.len() + after.len()));
    remarks
}

/// Describes how two runs differ in what they should have in common.
fn unlike(first: &Run, second: &Run, how: &str) -> Vec<String> {
    let (a, b) = (&first.machine, &second.machine);
    let (p, q) = (program(first), program(second));
    let pairs = [
        ("models", &a.model, &b.model),
        ("machines' parts", &a.parts, &b.parts),
        ("usable CPUs", &a.may_use, &b.may_use),
        ("systems", &a.system, &b.system),
        ("programs", &p, &q),
        ("bindings", &first.settings.bind, &second.settings.bind),
    ];
    let differ = pairs.iter().filter(|(_, a, b)| a != b);
    differ
        .map(|(what, a, b)| format!("the {what} {how}: {a}; {b}"))
        .collect()
}

/// Warns of too few passes: with one run of each program, the passes must show the scatter.
fn few(lines: &[ComparedPoint], runs: usize) -> Option<String> {
    let few = |line: &&ComparedPoint| {
        line.before.passes_us.len().min(line.after.passes_us.len()) < FEWEST_PASSES
    };
    let line = lines.iter().find(few).filter(|_| runs == 2)?;
    let (a, b) = (line.before.passes_us.len(), line.after.passes_us.len());
    Some(format!(
        "{a} and {b} passes are too few to tell a difference from chance: take {FEWEST_PASSES} of each, or several runs"
    ))
}

/// Advises a second pair of runs where it would tell more.
fn again(lines: &[ComparedPoint], runs: usize) -> Option<String> {
    let count = lines.iter().filter(|line| line.may_matter()).count();
    (runs == 2 && count > 0).then(|| {
        let points = if count == 1 { "1 point differs" } else { &format!("{count} points differ") };
        format!(
            "{points} by more than passes do by chance, but one pair of runs does not tell that from what two runs of one \
             program differ by: measure a second pair, and compare BEFORE BEFORE2 --against AFTER AFTER2"
        )
    })
}

fn program(run: &Run) -> String {
    let Run { build, .. } = run;
    let git = build.git.as_deref().unwrap_or("unknown commit");
    let how = if build.optimised {
        "optimised"
    } else {
        "not optimised"
    };
    format!("{} ({git}, {how})", build.version)
}
