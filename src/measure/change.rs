//! Decides whether runs of two programs differ by more than runs of one program do.
//!
//! A run is a process, and the placement of its threads and its memory shifts all its passes alike. So the passes of a
//! run are not independent samples of its program: the run is. A t-test compares the logarithms of the runs' medians.
//! The scatter between runs is estimated from the runs of each side and of all points together, since a side has few
//! runs (Smyth, *Linear models and empirical Bayes methods*, 2004). One run of each side tells nothing about that
//! scatter; then a spread is assumed that pairs of identical runs were seen to stay within.

use super::statistics::{mean, median, sorted};
use super::student::{critical, two_sided};
use crate::sort;

/// Assumed standard deviation of the logarithms of two runs' medians where it was not observed; a lower bound.
const ASSUMED: f64 = 0.1;
/// Degrees of freedom of that assumption: as if it were known from this many pairs of runs.
const ASSUMED_FREEDOM: usize = 30;
/// Runs that agree better than this do so by luck.
const LEAST: f64 = 0.01;
/// Fewer passes do not show how a run scatters.
pub(super) const FEWEST_PASSES: usize = 5;
/// The confidence of the interval of a ratio.
pub(super) const CONFIDENCE: f64 = 0.95;

/// The times of a point in the runs before a change, or after it.
#[derive(Clone, Debug, Default)]
pub(super) struct RunTimes {
    /// The logarithm of the median of each run.
    medians: Vec<f64>,
    /// The scatter of each run's passes, as a standard deviation of logarithms.
    scatter: Vec<f64>,
    /// The number of passes of the run that has the fewest.
    fewest: usize,
}

impl RunTimes {
    /// Builds them from the median and the passes of each run.
    pub(super) fn of<'a>(runs: impl Iterator<Item = (f64, &'a [f64])>) -> RunTimes {
        let mut times = RunTimes {
            fewest: usize::MAX,
            ..RunTimes::default()
        };
        for (middle, passes) in runs {
            times.medians.push(middle.ln());
            times.scatter.push(scatter(passes));
            times.fewest = times.fewest.min(passes.len());
        }
        times
    }

    pub(super) fn middle(&self) -> f64 {
        mean(&self.medians)
    }

    fn squares(&self) -> f64 {
        let middle = self.middle();
        self.medians.iter().map(|x| (x - middle).powi(2)).sum()
    }

    /// Returns the uncertainty of a run's median by its passes alone.
    fn of_passes(&self) -> f64 {
        // The variance of a median is π/2 times that of a mean.
        let factor = (std::f64::consts::FRAC_PI_2 / self.fewest.max(1) as f64).sqrt();
        factor * self.most_scatter()
    }

    fn most_scatter(&self) -> f64 {
        self.scatter.iter().copied().fold(0.0, f64::max)
    }
}

/// Returns the standard deviation of the passes' logarithms. It is deliberately not a robust one: a pass that was
/// disturbed shows that the next run may be disturbed in most of its passes.
fn scatter(passes: &[f64]) -> f64 {
    let logarithms: Vec<f64> = passes.iter().map(|pass| pass.ln()).collect();
    let middle = mean(&logarithms);
    let squares: f64 = logarithms.iter().map(|x| (x - middle).powi(2)).sum();
    match passes.len() {
        0 | 1 => 0.0,
        some => (squares / (some - 1) as f64).sqrt(),
    }
}

/// The estimated difference of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Difference {
    /// The logarithm of the ratio, after over before.
    pub(super) ratio: f64,
    /// Its standard error, and the degrees of freedom of that; `None` where nothing can be said.
    pub(super) error: Option<(f64, usize)>,
}

impl Difference {
    /// Returns the probability of a ratio at least this far from 1 without a difference, for this point alone.
    pub(super) fn chance(&self) -> f64 {
        match self.error {
            Some((error, freedom)) => two_sided(self.ratio / error, freedom),
            None => 1.0,
        }
    }

    /// Returns the logarithms between which the ratio lies with [`CONFIDENCE`].
    pub(super) fn interval(&self) -> Option<(f64, f64)> {
        let (error, freedom) = self.error?;
        let reach = critical(1.0 - CONFIDENCE, freedom) * error;
        Some((self.ratio - reach, self.ratio + reach))
    }
}

/// Returns the differences of all points. `drift` is the logarithm of the change of the machine itself between the two
/// sides.
pub(super) fn differences(points: &[(RunTimes, RunTimes)], drift: f64) -> Vec<Difference> {
    let runs = points.first().map_or((0, 0), |(before, after)| {
        (before.medians.len(), after.medians.len())
    });
    let freedom = (runs.0 + runs.1).saturating_sub(2);
    let variance = |(before, after): &(RunTimes, RunTimes)| {
        (before.squares() + after.squares()) / freedom as f64
    };
    let pooled = mean(&points.iter().map(variance).collect::<Vec<_>>());
    let shares = (1.0 / runs.0 as f64 + 1.0 / runs.1 as f64).sqrt();
    let usual = usual_scatter(points);
    let drift = drift.abs() / std::f64::consts::SQRT_2;
    let one = |point: &(RunTimes, RunTimes)| {
        let (before, after) = point;
        let spread = match freedom {
            0 => assumed(before, after, usual),
            // The other points count as much as the point itself.
            _ if points.len() > 1 => {
                let both = (variance(point) + pooled) / 2.0;
                Some((both.sqrt(), 2 * freedom))
            }
            _ => Some((variance(point).sqrt(), freedom)),
        };
        let least = before
            .of_passes()
            .max(after.of_passes())
            .max(drift)
            .max(LEAST);
        Difference {
            ratio: after.middle() - before.middle(),
            error: spread.map(|(spread, freedom)| (shares * spread.max(least), freedom)),
        }
    };
    points.iter().map(one).collect()
}

/// Returns the scatter of the median point's passes, since the few passes of one point may agree by luck.
fn usual_scatter(points: &[(RunTimes, RunTimes)]) -> f64 {
    let all = points
        .iter()
        .map(|(before, after)| before.most_scatter().max(after.most_scatter()));
    let all = sorted(all);
    match all.is_empty() {
        true => 0.0,
        false => median(&all),
    }
}

/// Returns the assumed spread of single runs: at least the scatter of this point's passes and of the others'.
fn assumed(before: &RunTimes, after: &RunTimes, usual: f64) -> Option<(f64, usize)> {
    if before.fewest.min(after.fewest) < FEWEST_PASSES {
        return None;
    }
    let seen = before.most_scatter().max(after.most_scatter());
    Some((ASSUMED.max(seen).max(usual), ASSUMED_FREEDOM))
}

/// Returns the probabilities corrected for their number: if all hypotheses whose corrected probability is below a limit
/// are rejected, a true one is among them with at most that probability.
///
/// # Source
///
/// Holm, *A simple sequentially rejective multiple test procedure*, Scand. J. Stat. 6, 1979.
pub(super) fn holm(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    sort::by_float(&mut order, |&at| (chances[at], 0));
    let mut corrected = vec![1.0; chances.len()];
    let mut most = 0.0f64;
    for (place, &at) in order.iter().enumerate() {
        let factor = (chances.len() - place) as f64;
        most = most.max((factor * chances[at]).min(1.0));
        corrected[at] = most;
    }
    corrected
}
