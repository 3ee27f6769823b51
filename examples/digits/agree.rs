//! Checks that the number of ranks changes what is learned only by rounding: the losses after each step, with any
//! number of ranks, are within [`TOLERANCE`] of each other.

use std::fmt;

use crate::train::Run;

/// Maximum difference between two losses. The same numbers added in another order differ by some 1e-16 per step; a
/// digit that is left out or counted twice makes more than 1e-4.
pub const TOLERANCE: f64 = 1e-9;

/// Where two loss curves differ most.
#[derive(Debug, PartialEq)]
pub struct Apart {
    pub by: f64,
    step: usize,
    /// The two numbers of ranks.
    ranks: [usize; 2],
}

impl Apart {
    /// Returns whether it is no more than rounding. A loss that is NaN is more.
    pub fn is_rounding(&self) -> bool {
        self.by <= TOLERANCE
    }
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Apart {
            by,
            step,
            ranks: [a, b],
        } = self;
        write!(
            f,
            "the losses with {a} and {b} ranks are {by:.1e} apart after step {step}; {TOLERANCE:.0e} is allowed"
        )
    }
}

/// Returns the greatest difference between any two runs after any step; `None` if there are fewer than two runs.
pub fn furthest_apart(runs: &[Run]) -> Option<Apart> {
    let curves: Vec<_> = runs.iter().map(|run| (run.ranks, &*run.losses)).collect();
    furthest(&curves)
}

/// The same for bare curves, each with its number of ranks.
fn furthest(curves: &[(usize, &[f64])]) -> Option<Apart> {
    let pairs = (1..curves.len()).flat_map(|b| (0..b).map(move |a| (curves[a], curves[b])));
    let all = pairs.flat_map(|((p, left), (q, right))| {
        let steps = left.iter().zip(right).enumerate();
        steps.map(move |(step, (a, b))| Apart {
            by: (a - b).abs(),
            step,
            ranks: [p, q],
        })
    });
    // In the total order, NaN is greater than every number.
    all.max_by(|a, b| a.by.total_cmp(&b.by))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_that_are_furthest_apart_are_found_and_named() {
        let apart = furthest(&[(1, &[3.0, 2.0]), (2, &[3.0, 2.0]), (4, &[3.0, 2.5])]).unwrap();
        assert_eq!((apart.by, apart.step, apart.ranks[1]), (0.5, 1, 4));
        assert!(!apart.is_rounding());
        let apart = furthest(&[(1, &[3.0]), (8, &[3.25])]).unwrap();
        let what = "the losses with 1 and 8 ranks are 2.5e-1 apart after step 0; 1e-9 is allowed";
        assert_eq!(apart.to_string(), what);
    }

    #[test]
    fn rounding_is_allowed() {
        let apart = furthest(&[(1, &[2.0, 1.0]), (2, &[2.0, 1.0 + 1e-12])]).unwrap();
        assert!(apart.is_rounding() && apart.by > 0.0, "{apart:?}");
    }

    #[test]
    fn a_loss_that_is_no_number_agrees_with_nothing() {
        for wild in [f64::NAN, f64::INFINITY] {
            let apart = furthest(&[(1, &[1.0, wild, 9.0]), (2, &[1.0, wild, 1.0])]).unwrap();
            assert!(!apart.is_rounding() && apart.step == 1, "{apart:?}");
        }
    }

    #[test]
    fn one_curve_has_none_to_differ_from() {
        assert_eq!(furthest(&[(1, &[1.0])]), None);
    }
}
