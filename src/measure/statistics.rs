//! Medians, quantiles, confidence intervals, and a test of whether two sets of figures differ.
//!
//! Nothing here assumes that times are normally distributed, since they are not. Everything is exact and depends on
//! order alone.

/// Returns the figures in ascending order.
pub fn sorted(figures: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = figures.into_iter().collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

/// Returns the smallest figure such that a `share` of all, which are sorted, does not exceed it: the minimum for share
/// 0, the maximum for share 1. NaN if there are no figures.
///
/// # Examples
///
/// ```
/// use rankfold::measure::quantile;
///
/// assert_eq!(quantile(&[1.0, 2.0, 3.0, 10.0], 0.75), 3.0);
/// assert_eq!(quantile(&[1.0, 2.0, 3.0, 10.0], 0.99), 10.0);
/// ```
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let count = sorted.len();
    // A product that should be a whole number may exceed it by the last bit.
    let whole = share * count as f64 * (1.0 - 4.0 * f64::EPSILON);
    let place = whole.ceil() as usize;
    let place = place.clamp(1, count.max(1)) - 1;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

/// Returns the median of sorted figures: the middle one, or the mean of the two in the middle. NaN if there are none.
pub fn median(sorted: &[f64]) -> f64 {
    match sorted {
        [] => f64::NAN,
        some if some.len() % 2 == 1 => some[some.len() / 2],
        some => {
            let upper = some.len() / 2;
            (some[upper - 1] + some[upper]) / 2.0
        }
    }
}

/// Returns the mean; NaN if there are no figures.
pub fn mean(figures: &[f64]) -> f64 {
    figures.iter().sum::<f64>() / figures.len() as f64
}

/// An interval that contains something with some probability.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The probability that it contains it.
    pub confidence: f64,
}

/// A power of two, so that dividing by it is exact.
const GREAT: f64 = (1u128 << GREAT_POWER) as f64;
const GREAT_POWER: i32 = 100;

/// Returns the narrowest interval between two of the sorted figures, equally far from either end, that contains the
/// median of their distribution with at least the wanted probability. If even the interval of
/// all figures falls short, returns that one, with the probability that it has.
///
/// The median lies outside `x₍ₖ₎ .. x₍ₙ₊₁₋ₖ₎` only if fewer than k figures are on one side of it, and each figure is on
/// either side with probability ½. So the interval of all six of six figures contains it with probability 1 - 2·2⁻⁶ =
/// 97 %.
///
/// # Examples
///
/// ```
/// use rankfold::measure::median_interval;
///
/// let six = median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 9.0], 0.95);
/// assert_eq!((six.low, six.high, six.confidence), (1.0, 9.0, 0.96875));
/// ```
///
/// # Source
///
/// Thompson, *On confidence ranges for the median and other expectation distributions for populations of
/// unknown distribution form*, Ann. Math. Stat. 7(3), 1936.
pub fn median_interval(sorted: &[f64], wanted: f64) -> Interval {
    let count = sorted.len();
    let (Some(&least), Some(&greatest)) = (sorted.first(), sorted.last()) else {
        let (low, high) = (f64::NAN, f64::NAN);
        return Interval {
            low,
            high,
            confidence: 0.0,
        };
    };
    let mut best = Interval {
        low: least,
        high: greatest,
        confidence: 0.0,
    };
    // The probability that fewer than k of all figures are on one side, times a power of two: 2⁻ⁿ alone is 0 for many.
    let (mut below, mut term) = (0.0, 1.0);
    let mut power = count.min(i32::MAX as usize) as i32;
    for k in 1..=count.div_ceil(2) {
        below += term;
        term *= (count + 1 - k) as f64 / k as f64;
        if term > GREAT {
            (below, term, power) = (below / GREAT, term / GREAT, power - GREAT_POWER);
        }
        let confidence = (1.0 - 2.0 * below * 0.5f64.powi(power)).max(0.0);
        if k > 1 && confidence < wanted {
            break;
        }
        best = Interval {
            low: sorted[k - 1],
            high: sorted[count - k],
            confidence,
        };
    }
    best
}

/// Figures beyond this number on a side are left out of [`rank_sum`], so that it stays exact and fast.
const MOST: usize = 50;

/// Returns the probability that two sets of figures differ in rank by at least as much as these do if both are drawn
/// from the same distribution: the two-sided rank-sum test, exact even with ties. Returns 1 if a set is empty. Only the
/// first 50 figures of each side count.
///
/// # Examples
///
/// ```
/// use rankfold::measure::rank_sum;
///
/// // Of the 20 ways to choose 3 of 6 ranks, 2 are as extreme.
/// assert_eq!(rank_sum(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 0.1);
/// ```
///
/// # Source
///
/// Wilcoxon, *Individual comparisons by ranking methods*, Biometrics Bulletin 1(6), 1945; Mann and Whitney,
/// Ann. Math. Stat. 18(1), 1947.
pub fn rank_sum(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (&a[..a.len().min(MOST)], &b[..b.len().min(MOST)]);
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let ranks = doubled_ranks(a.iter().chain(b));
    let found: usize = ranks[..a.len()].iter().sum();
    let expected = a.len() * (ranks.len() + 1);
    let ways = ways(&ranks, a.len());
    let distance = found.abs_diff(expected);
    let all: f64 = ways.iter().sum();
    let far = ways.iter().enumerate();
    let far = far.filter(|(sum, _)| sum.abs_diff(expected) >= distance);
    far.map(|(_, ways)| ways).sum::<f64>() / all
}

/// Returns twice the rank of each figure, counted from 1; equal figures share their mean rank.
fn doubled_ranks<'a>(figures: impl Iterator<Item = &'a f64> + Clone) -> Vec<usize> {
    let rank = |x: &f64| {
        let less = figures.clone().filter(|y| *y < x).count();
        let equal = figures.clone().filter(|y| *y == x).count().max(1);
        2 * less + equal + 1
    };
    figures.clone().map(rank).collect()
}

/// Returns, for each sum, the number of ways in which `chosen` of the numbers add up to it.
fn ways(numbers: &[usize], chosen: usize) -> Vec<f64> {
    let most: usize = numbers.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for &number in numbers {
        for count in (1..=chosen).rev() {
            for sum in (number..=most).rev() {
                ways[count][sum] += ways[count - 1][sum - number];
            }
        }
    }
    ways.swap_remove(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns all subsets of `n` places.
    fn subsets(n: usize) -> impl Iterator<Item = Vec<bool>> {
        (0..1u32 << n).map(move |bits| (0..n).map(|i| bits >> i & 1 == 1).collect())
    }

    /// Returns the sum of ranks minus the expected sum, by the definition.
    fn distance(figures: &[f64], marked: &[bool]) -> f64 {
        let rank = |x: f64| {
            let less = figures.iter().filter(|y| **y < x).count() as f64;
            let equal = figures.iter().filter(|y| **y == x).count() as f64;
            less + (equal + 1.0) / 2.0
        };
        let marks = || figures.iter().zip(marked).filter(|(_, m)| **m);
        let sum: f64 = marks().map(|(x, _)| rank(*x)).sum();
        (sum - marks().count() as f64 * (figures.len() as f64 + 1.0) / 2.0).abs()
    }

    fn naive_rank_sum(a: &[f64], b: &[f64]) -> f64 {
        let all = [a, b].concat();
        let own: Vec<bool> = (0..all.len()).map(|i| i < a.len()).collect();
        let found = distance(&all, &own);
        let same = |marked: &Vec<bool>| marked.iter().filter(|m| **m).count() == a.len();
        let every: Vec<_> = subsets(all.len()).filter(same).collect();
        let far = every.iter().filter(|m| distance(&all, m) >= found - 1e-9);
        far.count() as f64 / every.len() as f64
    }

    fn figures(most: usize) -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec((0..20u8).prop_map(f64::from), 1..=most)
    }

    proptest! {
        #[test]
        fn the_rank_sum_test_counts_what_listing_all_cases_counts(a in figures(6), b in figures(6)) {
            prop_assert!((rank_sum(&a, &b) - naive_rank_sum(&a, &b)).abs() < 1e-9);
            prop_assert_eq!(rank_sum(&a, &b), rank_sum(&b, &a));
        }

        #[test]
        fn a_quantile_is_the_least_figure_with_enough_below_it(all in figures(40), percent in 0..=100u32) {
            let all = sorted(all);
            let share = f64::from(percent) / 100.0;
            let enough = |x: &&f64| {
                let below = all.iter().filter(|y| y <= x).count();
                100 * below as u64 >= u64::from(percent) * all.len() as u64
            };
            prop_assert_eq!(Some(&quantile(&all, share)), all.iter().find(enough));
        }

        #[test]
        fn half_of_the_figures_are_on_each_side_of_the_median(all in figures(40)) {
            let all = sorted(all);
            let middle = median(&all);
            prop_assert!(2 * all.iter().filter(|x| **x <= middle).count() >= all.len());
            prop_assert!(2 * all.iter().filter(|x| **x >= middle).count() >= all.len());
        }
    }

    #[test]
    fn a_quantile_is_at_its_place_where_share_and_count_make_a_whole_number() {
        for count in 1..=400u32 {
            let all: Vec<f64> = (1..=count).map(f64::from).collect();
            for percent in 0..=100 {
                let place = (percent * count).div_ceil(100).max(1);
                let found = quantile(&all, f64::from(percent) / 100.0);
                assert_eq!(found, f64::from(place), "{percent} % of {count}");
            }
        }
    }

    /// Returns the share of all equally probable ways in which figures can lie about the median for which the interval
    /// from the k-th smallest to the k-th greatest contains it.
    fn naive_confidence(n: usize, k: usize) -> f64 {
        let holds = |below: &Vec<bool>| {
            let low = below.iter().filter(|b| **b).count();
            low >= k && n - low >= k
        };
        subsets(n).filter(holds).count() as f64 / (1u64 << n) as f64
    }

    #[test]
    fn the_interval_of_the_median_has_the_confidence_that_counting_gives() {
        for n in 1..=14usize {
            let all: Vec<f64> = (1..=n).map(|x| x as f64).collect();
            for wanted in [0.5, 0.9, 0.95, 0.99] {
                let Interval {
                    low,
                    high,
                    confidence,
                } = median_interval(&all, wanted);
                let k = low as usize;
                assert_eq!(high as usize, n + 1 - k, "{n} figures");
                assert!((confidence - naive_confidence(n, k)).abs() < 1e-12);
                assert!(k == 1 || confidence >= wanted);
                let narrower = 2 * (k + 1) <= n + 1;
                assert!(
                    !narrower || naive_confidence(n, k + 1) < wanted,
                    "{n} {wanted} {k}"
                );
            }
        }
    }

    /// For many figures, half of the interval is 0.98 √n of them on each side of the median.
    #[test]
    fn the_interval_of_the_median_narrows_with_the_root_of_the_number_of_figures() {
        for n in [100usize, 1000, 1073, 1074, 1075, 1076, 3000, 100_000] {
            let all: Vec<f64> = (1..=n).map(|x| x as f64).collect();
            let found = median_interval(&all, 0.95);
            assert!((0.95..0.97).contains(&found.confidence), "{n}: {found:?}");
            let half = (found.high - found.low) / 2.0;
            let wanted = 0.98 * (n as f64).sqrt();
            assert!((half - wanted).abs() <= 1.0, "{n}: {half} and {wanted}");
            assert_eq!(found.low + found.high, (n + 1) as f64);
        }
    }

    #[test]
    fn nothing_comes_of_no_figures() {
        assert!(median(&[]).is_nan() && quantile(&[], 0.5).is_nan());
        assert!(median_interval(&[], 0.95).low.is_nan());
        assert_eq!(rank_sum(&[], &[1.0]), 1.0);
    }
}
