//! The cost model that best fits measured times, and how well it fits.

use crate::cost::{Cost, Model};

/// Cost of a call in closed form, and the seconds it took.
pub type Sample = (Cost, f64);

/// Returns the model whose times come closest to the measured ones, if a fold takes `gamma` seconds per element.
///
/// It minimises the squares of the relative errors, so that short messages count as much as long ones. Neither `alpha`
/// nor `beta` is negative. Returns `None` if the samples do not tell the two apart: fewer than two samples, or all with
/// the same number of elements per message.
///
/// # Examples
///
/// ```
/// use rankfold::cost::{self, Model};
/// use rankfold::measure::fit;
///
/// let machine = Model { alpha: 1e-6, beta: 1e-9, gamma: 1e-10 };
/// let sample = |length| {
///     let form = cost::simple_exchange(8, length);
///     (form.cost(), form.time(&machine))
/// };
/// let found = fit(&[1, 100, 10_000].map(sample), machine.gamma).unwrap();
/// assert!((found.alpha / machine.alpha - 1.0).abs() < 1e-9);
/// assert!((found.beta / machine.beta - 1.0).abs() < 1e-9);
/// ```
pub fn fit(samples: &[Sample], gamma: f64) -> Option<Model> {
    // Each sample is divided by its time: a x + b y = z, where z is 1 except for the folds.
    let rows: Vec<[f64; 3]> = samples
        .iter()
        .filter(|(_, seconds)| *seconds > 0.0)
        .map(|(cost, seconds)| {
            let rest = (seconds - gamma * cost.folded).max(0.0);
            [cost.messages as f64, cost.moved, rest].map(|part| part / seconds)
        })
        .collect();
    let sum = |f: fn(&[f64; 3]) -> f64| rows.iter().map(f).sum::<f64>();
    let (xx, xy, yy) = (
        sum(|r| r[0] * r[0]),
        sum(|r| r[0] * r[1]),
        sum(|r| r[1] * r[1]),
    );
    let (xz, yz) = (sum(|r| r[0] * r[2]), sum(|r| r[1] * r[2]));
    let determinant = xx * yy - xy * xy;
    if determinant.partial_cmp(&(1e-9 * xx * yy)) != Some(std::cmp::Ordering::Greater) {
        return None;
    }
    let (alpha, beta) = (
        (xz * yy - yz * xy) / determinant,
        (yz * xx - xz * xy) / determinant,
    );
    let (alpha, beta) = match (alpha < 0.0, beta < 0.0) {
        (true, _) => (0.0, yz / yy),
        (_, true) => (xz / xx, 0.0),
        _ => (alpha, beta),
    };
    Some(Model { alpha, beta, gamma })
}

/// Returns the median and the maximum factor between the two times of each pair, whichever is greater; `None` without
/// pairs.
///
/// # Examples
///
/// ```
/// assert_eq!(rankfold::measure::worst(&[(2.0, 1.0), (1.0, 1.0), (1.0, 3.0)]), Some((2.0, 3.0)));
/// ```
pub fn worst(pairs: &[(f64, f64)]) -> Option<(f64, f64)> {
    let factors = pairs.iter().map(|(a, b)| (a / b).max(b / a));
    let factors = super::sorted(factors);
    Some((super::median(&factors), *factors.last()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::simple_exchange;

    fn sample(length: usize, seconds: f64) -> Sample {
        (simple_exchange(4, length).cost(), seconds)
    }

    #[test]
    fn what_does_not_tell_alpha_from_beta_is_no_fit() {
        assert_eq!(fit(&[], 0.0), None);
        assert_eq!(fit(&[sample(8, 1.0)], 0.0), None);
        assert_eq!(fit(&[sample(8, 1.0), sample(8, 2.0)], 0.0), None);
        assert_eq!(fit(&[sample(8, f64::NAN), sample(80, 2.0)], 0.0), None);
    }

    #[test]
    fn no_part_of_a_model_is_below_zero() {
        let falls = fit(&[sample(1, 2.0), sample(1000, 1.0)], 0.0).unwrap();
        assert!(falls.alpha > 0.0 && falls.beta == 0.0);
        let grows = fit(&[sample(1, 1e-3), sample(10, 1.0), sample(100, 100.0)], 0.0).unwrap();
        assert!(grows.alpha >= 0.0 && grows.beta > 0.0);
    }

    #[test]
    fn a_fit_is_no_worse_than_its_neighbours() {
        let samples = [
            sample(1, 1.1e-6),
            sample(100, 1.0e-6),
            sample(10_000, 2.2e-5),
        ];
        let error = |model: &Model| {
            let of = |(cost, seconds): &Sample| (cost.time(model) / seconds - 1.0).powi(2);
            samples.iter().map(of).sum::<f64>()
        };
        let best = fit(&samples, 1e-11).unwrap();
        for (a, b) in [(1.01, 1.0), (0.99, 1.0), (1.0, 1.01), (1.0, 0.99)] {
            let other = Model {
                alpha: a * best.alpha,
                beta: b * best.beta,
                ..best
            };
            assert!(error(&best) < error(&other));
        }
    }
}
