//! Softmax regression: a linear score for each class, the scores turned into probabilities, and the loss
//! -ln(probability of the right class). Pure functions of weights and digits, without ranks.
//!
//! # Source
//!
//! C. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 4.3.4.

use crate::data::{CLASSES, Digit, PIXELS};

/// A score for each class.
type Scores = [f64; CLASSES];

/// What one input adds to the scores: a row for each pixel, and one for an input that is always 1.
pub type Weights = [Scores; PIXELS + 1];

/// The weights before the first step: all classes are equally likely.
pub const BLANK: Weights = [[0.0; CLASSES]; PIXELS + 1];

/// Length of the sums of [`add_up`]: the gradient, and the loss.
pub const SUMS: usize = (PIXELS + 1) * CLASSES + 1;

/// The pixels, and the input that is always 1.
fn inputs(digit: &Digit) -> impl Iterator<Item = f64> {
    digit.pixels.iter().copied().chain([1.0])
}

fn scores(weights: &Weights, digit: &Digit) -> Scores {
    let mut scores = [0.0; CLASSES];
    for (input, row) in inputs(digit).zip(weights) {
        for (score, weight) in scores.iter_mut().zip(row) {
            *score += input * weight;
        }
    }
    scores
}

/// Returns the probability of each class, and the logarithm of that of `label`.
fn probabilities(scores: Scores, label: usize) -> (Scores, f64) {
    // The greatest score is subtracted in every exponent, so that none overflows.
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers = scores.map(|score| (score - top).exp());
    let sum: f64 = powers.iter().sum();
    (
        powers.map(|power| power / sum),
        scores[label] - top - sum.ln(),
    )
}

/// Adds the gradient of every digit's loss, and last the loss itself, to `sums`, each divided by `among`: the number of
/// digits over which the mean is taken.
pub fn add_up(weights: &Weights, digits: &[Digit], among: usize, sums: &mut [f64; SUMS]) {
    let share = 1.0 / among as f64;
    let (gradient, loss) = sums.split_at_mut(SUMS - 1);
    for digit in digits {
        let (mut error, ln) = probabilities(scores(weights, digit), digit.label);
        error[digit.label] -= 1.0;
        loss[0] -= share * ln;
        for (input, row) in inputs(digit).zip(gradient.chunks_exact_mut(CLASSES)) {
            for (sum, error) in row.iter_mut().zip(error) {
                *sum += share * input * error;
            }
        }
    }
}

/// Returns the class with the greatest score.
pub fn read(weights: &Weights, digit: &Digit) -> usize {
    let scores = scores(weights, digit);
    (0..CLASSES).fold(0, |best, class| {
        if scores[class] > scores[best] {
            class
        } else {
            best
        }
    })
}

/// Returns the share of the digits that are classified correctly.
pub fn accuracy(weights: &Weights, digits: &[Digit]) -> f64 {
    let right = digits
        .iter()
        .filter(|digit| read(weights, digit) == digit.label);
    right.count() as f64 / digits.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns pseudo-random numbers from -1 to 1: Knuth's linear congruential generator, high bits.
    fn noise(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }

    fn some_digits(seed: u64, n: usize) -> Vec<Digit> {
        let mut next = noise(seed);
        let mut digit = |i: usize| Digit {
            pixels: std::array::from_fn(|_| next().abs()),
            label: (i * 7) % CLASSES,
        };
        (0..n).map(&mut digit).collect()
    }

    fn some_weights(seed: u64) -> Weights {
        let mut next = noise(seed);
        std::array::from_fn(|_| std::array::from_fn(|_| next()))
    }

    fn sums_of(weights: &Weights, digits: &[Digit]) -> [f64; SUMS] {
        let mut sums = [0.0; SUMS];
        add_up(weights, digits, digits.len(), &mut sums);
        sums
    }

    #[test]
    fn the_gradient_is_the_finite_difference_of_the_loss() {
        const SEED: u64 = 11;
        const H: f64 = 1e-5;
        let (weights, digits) = (some_weights(SEED), some_digits(SEED + 1, 20));
        let loss = |weights: &Weights| sums_of(weights, &digits)[SUMS - 1];
        let gradient = sums_of(&weights, &digits);
        for k in 0..SUMS - 1 {
            let moved = |by: f64| {
                let mut weights = weights;
                weights[k / CLASSES][k % CLASSES] += by;
                loss(&weights)
            };
            let slope = (moved(H) - moved(-H)) / (2.0 * H);
            let off = (slope - gradient[k]).abs();
            assert!(
                off < 1e-8,
                "seed {SEED}, weight {k}: {slope} and {}",
                gradient[k]
            );
        }
    }

    #[test]
    fn blank_weights_leave_every_class_equally_likely() {
        let loss = sums_of(&BLANK, &some_digits(3, 30))[SUMS - 1];
        assert!((loss - (CLASSES as f64).ln()).abs() < 1e-12, "{loss}");
    }

    #[test]
    fn the_sums_of_two_parts_add_up_to_the_whole() {
        const SEED: u64 = 5;
        let (weights, digits) = (some_weights(SEED), some_digits(SEED, 31));
        let mut parts = [0.0; SUMS];
        add_up(&weights, &digits[..13], digits.len(), &mut parts);
        add_up(&weights, &digits[13..], digits.len(), &mut parts);
        assert_eq!(parts, sums_of(&weights, &digits), "seed {SEED}");
    }

    #[test]
    fn great_scores_neither_overflow_nor_lose_the_loss() {
        let scores = std::array::from_fn(|class| 1e6 * class as f64);
        let (likely, ln) = probabilities(scores, 0);
        assert_eq!((likely[CLASSES - 1], ln), (1.0, -9e6));
    }

    #[test]
    fn accuracy_counts_what_is_read_right() {
        let mut weights = BLANK;
        weights[PIXELS][3] = 1.0; // everything is a three
        let digits = some_digits(1, 20);
        assert_eq!(digits.iter().filter(|digit| digit.label == 3).count(), 2);
        assert_eq!(accuracy(&weights, &digits), 0.1);
        assert_eq!(read(&BLANK, &digits[0]), 0, "of equal scores the first");
    }
}
