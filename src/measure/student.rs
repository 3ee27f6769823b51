//! Student's t distribution for whole degrees of freedom, in closed form.
//!
//! # Source
//!
//! Abramowitz and Stegun, *Handbook of Mathematical Functions*, 1964, 26.7.3 and 26.7.4.

use std::f64::consts::FRAC_2_PI;

/// Returns the probability that |t| is at least this great.
pub(super) fn two_sided(t: f64, freedom: usize) -> f64 {
    if freedom == 0 || t.is_nan() {
        return 1.0;
    }
    if t.is_infinite() {
        return 0.0;
    }
    (1.0 - within(t.abs(), freedom)).clamp(0.0, 1.0)
}

/// Returns the t that is exceeded, on either side, with this probability.
pub(super) fn critical(probability: f64, freedom: usize) -> f64 {
    if freedom == 0 || probability <= 0.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided(high, freedom) > probability && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        match two_sided(middle, freedom) > probability {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// Returns the probability of |t| below this: a finite series in the angle whose tangent is t / √ν.
fn within(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    // Terms cos^k with factors 2·4·…/(3·5·…) for odd ν, 1·3·…/(2·4·…) for even ν.
    let (mut term, mut power) = if odd { (cosine, 1) } else { (1.0, 0) };
    let mut sum = 0.0;
    while power + 2 <= freedom {
        sum += term;
        power += 2;
        term *= cosine * cosine * (power - 1) as f64 / power as f64;
    }
    match odd {
        true => FRAC_2_PI * (angle + sine * sum),
        false => sine * sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        // Two-sided 5 % and 1 %, from the table of the Biometrika tables, vol. 1, table 12.
        let printed = [
            (1, 12.706, 63.657),
            (2, 4.303, 9.925),
            (3, 3.182, 5.841),
            (4, 2.776, 4.604),
            (5, 2.571, 4.032),
            (10, 2.228, 3.169),
            (30, 2.042, 2.750),
            (120, 1.980, 2.617),
        ];
        for (freedom, five, one) in printed {
            assert!((critical(0.05, freedom) - five).abs() < 6e-4, "{freedom}");
            assert!((critical(0.01, freedom) - one).abs() < 6e-4, "{freedom}");
        }
    }

    #[test]
    fn a_probability_and_its_quantile_belong_to_each_other() {
        for freedom in 1..60 {
            for probability in [0.5, 0.1, 0.01, 1e-4, 1e-7] {
                let back = two_sided(critical(probability, freedom), freedom);
                assert!(
                    (back / probability - 1.0).abs() < 1e-6,
                    "{freedom} {probability}"
                );
            }
            assert_eq!(two_sided(0.0, freedom), 1.0);
        }
    }

    #[test]
    fn without_a_degree_of_freedom_nothing_is_improbable() {
        assert_eq!(two_sided(1e9, 0), 1.0);
        assert_eq!(critical(0.05, 0), f64::INFINITY);
    }
}
