//! The cost of exact sums and dot products on one core, compared with the plain loops, and of exact reductions over
//! ranks: `cargo bench --bench exact`.
//!
//! ```text
//! sum          ExactSum::add_all               numbers.iter().sum()          2^24 f64, from -1 to 1 and of any size
//! dot          ExactDot::add_all               x.iter().zip(y).map(x y).sum()
//! all_reduce   all_reduce_into by SumExact     all_reduce_into by Sum        1 to 2^20 f64 at each of 2 to 8 ranks
//! halving      using(halving) by SumExact      using(halving) by Sum
//!              using(halving) by SumExact      ExactSum as elements, lifted and rounded by the ranks
//! scan         scan by SumExact                scan by Sum
//! ```
//!
//! The numbers of the ranks are from -1 to 1 or of any size, or of any size and those of one half of the ranks cancel
//! those of the other half (with an even number of ranks).
//!
//! The process fails if a result is wrong. No time is asserted.

mod common;

use std::hint::black_box;
use std::time::{Duration, Instant};

use common::rounds::{Effort, compare};
use common::table::{machine, print, row};
use rankfold::collective::Algorithm;
use rankfold::op::{ExactDot, ExactSum, Operator, Sum, SumExact};
use rankfold::{Comm, Result, Team, World};

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
    let effort = Effort {
        pieces: test.then_some(1),
        ..effort
    };
    for ranks in [2, 3, 4, 8] {
        let team = World::new(ranks).start().expect("a team");
        let lengths = [1, 8, 64, 1 << 10, 1 << 16, 1 << 20];
        for n in lengths.into_iter().filter(|n| !test || *n < 1 << 12) {
            Reductions::new(&team, n).compare(effort);
        }
    }
}

/// The vectors of the ranks of a team.
struct Reductions<'a> {
    team: &'a Team,
    n: usize,
    kinds: [(&'static str, Vec<Vec<f64>>); 3],
}

type Call<'a> = &'a (dyn Fn(&Comm, &[f64], &mut [f64]) -> Result<()> + Sync);

impl<'a> Reductions<'a> {
    fn new(team: &'a Team, n: usize) -> Reductions<'a> {
        let parts = |all: Vec<f64>| all.chunks(n).map(<[f64]>::to_vec).collect();
        // Of twice as many numbers, the second half cancels the first.
        let count = n * team.size();
        let kinds = [
            ("-1 to 1", parts(alike(2 * count))),
            ("any size", parts(wild(2 * count))),
            ("cancel", parts(wild(count + count % 2))),
        ];
        Reductions { team, n, kinds }
    }

    fn compare(&self, effort: Effort) {
        let all = self.kinds.each_ref();
        for (kind, vectors) in all {
            let run = |call: Call<'_>, times| self.run(vectors, call, times);
            let subject = format!("all_reduce {}, {} ranks, {kind}", self.n, self.team.size());
            let exact = |times| run(&|comm, x, y| comm.all_reduce_into(x, y, SumExact), times);
            let plain = |times| run(&|comm, x, y| comm.all_reduce_into(x, y, Sum), times);
            let bound = if kind == &"cancel" { 60.0 } else { 12.0 };
            print(&subject, "Sum", bound, &compare(effort, &exact, &plain));
        }
        if !(8..=1 << 16).contains(&self.n) {
            return;
        }
        let (kind, vectors) = &self.kinds[0];
        let run = |call: Call<'_>, times| self.run(vectors, call, times);
        let by = |subject: &str| {
            let (n, ranks) = (self.n, self.team.size());
            format!("{subject} {n}, {ranks} ranks, {kind}")
        };
        let exact = |times| run(&|comm, x, y| halving(comm, x, y, SumExact), times);
        let plain = |times| run(&|comm, x, y| halving(comm, x, y, Sum), times);
        print(
            &by("halving"),
            "Sum",
            200.0,
            &compare(effort, &exact, &plain),
        );
        let elements = |times| run(&elements, times);
        print(
            &by("halving"),
            "ExactSum",
            1.0,
            &compare(effort, &exact, &elements),
        );
        let exact = |times| run(&|comm, x, y| scan(comm, x, y, SumExact), times);
        let plain = |times| run(&|comm, x, y| scan(comm, x, y, Sum), times);
        print(&by("scan"), "Sum", 400.0, &compare(effort, &exact, &plain));
    }

    /// The time that rank 0 takes for some calls.
    fn run(&self, vectors: &[Vec<f64>], call: Call<'_>, times: u64) -> Duration {
        let run = self.team.run(|comm| {
            let x = &vectors[comm.rank()];
            let mut y = vec![0.0; self.n];
            comm.barrier()?;
            let begin = Instant::now();
            for _ in 0..times {
                call(comm, black_box(x), &mut y)?;
            }
            Ok(begin.elapsed())
        });
        run.expect("a reduction")[0]
    }
}

fn halving(comm: &Comm, x: &[f64], y: &mut [f64], op: impl Operator<f64>) -> Result<()> {
    comm.using(Algorithm::Halving).all_reduce_into(x, y, op)
}

fn scan(comm: &Comm, x: &[f64], y: &mut [f64], op: impl Operator<f64>) -> Result<()> {
    y.copy_from_slice(x);
    comm.scan(y, op)
}

/// As a program does that has no `SumExact`.
fn elements(comm: &Comm, x: &[f64], y: &mut [f64]) -> Result<()> {
    let mut sums: Vec<ExactSum> = x.iter().map(|x| ExactSum::from(*x)).collect();
    comm.using(Algorithm::Halving).all_reduce(&mut sums, Sum)?;
    y.iter_mut()
        .zip(&sums)
        .for_each(|(y, sum)| *y = sum.value());
    Ok(())
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
