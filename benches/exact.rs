//! The cost of exact sums and dot products on one core, compared with the plain loops: `cargo bench --bench exact`.
//!
//! ```text
//! sum   ExactSum::add_all   numbers.iter().sum()            2^24 numbers of f64, from -1 to 1 and of any size
//! dot   ExactDot::add_all   x.iter().zip(y).map(x y).sum()
//! ```
//!
//! The process fails if a result is wrong. No time is asserted.

mod common;

use std::hint::black_box;
use std::time::{Duration, Instant};

use common::rounds::{Effort, compare};
use common::table::{machine, print, row};
use rankfold::op::{ExactDot, ExactSum};

fn main() {
    let test = std::env::args().any(|arg| arg == "--test");
    let (count, rounds) = if test { (1 << 10, 1) } else { (1 << 24, 15) };
    let effort = Effort {
        rounds,
        pieces: Some(1),
    };
    println!("{}", machine());
    row("subject", "ours", "theirs", "ratio", "bound", "verdict");
    for (name, numbers) in [("-1 to 1", alike(count)), ("any size", wild(count))] {
        let exact = |_| timed(|| exact_sum(&numbers));
        let plain = |_| timed(|| numbers.iter().sum());
        let subject = format!("sum of {count}, {name}");
        print(&subject, "a loop", 3.0, &compare(effort, &exact, &plain));

        let each = |_| timed(|| numbers.iter().copied().collect::<ExactSum>().value());
        print(&subject, "one by one", 1.0, &compare(effort, &exact, &each));

        let exact = |_| timed(|| exact_dot(&numbers, &numbers));
        let plain = |_| timed(|| numbers.iter().map(|x| x * x).sum());
        let subject = format!("dot of {count}, {name}");
        print(&subject, "a loop", 25.0, &compare(effort, &exact, &plain));
    }
}

fn timed(sum: impl Fn() -> f64) -> Duration {
    let begin = Instant::now();
    black_box(sum());
    begin.elapsed()
}

fn exact_sum(numbers: &[f64]) -> f64 {
    let mut sum = ExactSum::new();
    sum.add_all(black_box(numbers));
    // The second half cancels the first.
    assert_eq!(sum.value(), 0.0);
    sum.value()
}

fn exact_dot(x: &[f64], y: &[f64]) -> f64 {
    let mut dot = ExactDot::new();
    dot.add_all(black_box(x), black_box(y));
    assert!(dot.value() > 0.0);
    dot.value()
}

/// Numbers from -1 to 1, and then those with the other sign.
fn alike(count: usize) -> Vec<f64> {
    mirrored(count, |bits| {
        (bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
}

/// Numbers with any exponent from -200 to 199.
fn wild(count: usize) -> Vec<f64> {
    mirrored(count, |bits| {
        let exponent = 1023 - 200 + bits % 400;
        f64::from_bits(exponent << 52 | bits >> 12)
    })
}

fn mirrored(count: usize, number: impl Fn(u64) -> f64) -> Vec<f64> {
    // A linear congruential generator (Knuth, MMIX).
    let mut state = 1u64;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        number(state ^ state >> 29)
    };
    let half: Vec<f64> = (0..count / 2).map(|_| next()).collect();
    let back = half.iter().map(|x| -x);
    half.iter().copied().chain(back).collect()
}
