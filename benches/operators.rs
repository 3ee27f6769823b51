//! Operators whose form was chosen for speed, compared with the plain form of the same rule and with `f32::max`, which
//! has another rule for NaN: `cargo bench --bench operators`.
//!
//! ```text
//! 0 ⇄ 1   all_reduce(max) of f32, two ranks, in place:   op::Max   branches   f32::max
//! ```
//!
//! The process fails if a result is wrong. No time is asserted.

mod common;

use std::time::{Duration, Instant};

use common::rounds::{Effort, compare};
use common::table::{machine, print, row};
use rankfold::op::{self, Operator};
use rankfold::{Comm, Result, World};

/// IEEE 754-2019 `maximum` written literally, case by case.
struct Branches;

impl Operator<f32> for Branches {
    fn combine(&self, a: f32, b: f32) -> f32 {
        if a > b {
            a
        } else if b > a {
            b
        } else if a == b {
            if a.is_sign_positive() { a } else { b }
        } else {
            a + b
        }
    }
    fn commutes(&self) -> bool {
        true
    }
}

fn main() {
    let test = std::env::args().any(|arg| arg == "--test");
    let (rounds, pieces) = if test { (1, Some(2)) } else { (15, None) };
    let effort = Effort { rounds, pieces };
    println!("{}", machine());
    row("subject", "ours", "theirs", "ratio", "bound", "verdict");
    for (name, bytes) in [("16 KiB", 16 << 10), ("1 MiB", 1 << 20)] {
        let masks = |calls| time_of(bytes, calls, || op::Max);
        let branches = |calls| time_of(bytes, calls, || Branches);
        let bare = |calls| time_of(bytes, calls, || op::commutative(f32::max));
        let subject = format!("maximum of f32, {name}");
        print(
            &subject,
            "case by case",
            1.0,
            &compare(effort, &masks, &branches),
        );
        print(&subject, "f32::max", 1.25, &compare(effort, &masks, &bare));
    }
}

/// Returns the time of `calls` calls by two ranks.
fn time_of<O: Operator<f32>>(bytes: usize, calls: u64, op: impl Fn() -> O + Sync) -> Duration {
    let times = World::new(2).run(|comm| rank(comm, bytes / 4, calls, &op));
    times.expect("no rank fails")[0]
}

fn rank<O: Operator<f32>>(
    comm: &Comm,
    n: usize,
    calls: u64,
    op: impl Fn() -> O,
) -> Result<Duration> {
    let mine = |i: usize| {
        if (i + comm.rank()).is_multiple_of(2) {
            -1.0
        } else {
            i as f32
        }
    };
    let mut v: Vec<f32> = (0..n).map(mine).collect();
    comm.all_reduce(&mut v, op())?;
    assert!(
        v.iter().enumerate().all(|(i, &x)| x == i as f32),
        "a wrong maximum"
    );
    comm.barrier()?;
    let begin = Instant::now();
    for _ in 0..calls {
        comm.all_reduce(&mut v, op())?;
    }
    Ok(begin.elapsed())
}
