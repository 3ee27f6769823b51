//! Fused all-reduces: eight vectors of mixed types and operators in one call, in turn with one all_reduce of one such
//! vector, and with eight calls. `cargo bench --bench fused`.
//!
//! ```text
//! fused        ──8 vectors──┐┌──8 vectors──┐
//! one vector   ──1──┐┌──1──┐                   bound: 1.6 times its time
//! eight calls  ──1──┐┌──2──┐ … ┌──8──┐
//! ```

mod common;

use std::time::Duration;

use common::On::Each;
use common::ranks;
use common::rounds::{Effort, compare};
use common::table::{machine, print, row};
use rankfold::{Comm, Result, op};

fn main() {
    let test = std::env::args().any(|arg| arg == "--test");
    let effort = Effort {
        rounds: if test { 1 } else { 25 },
        pieces: test.then_some(2),
    };
    println!("{}", machine());
    row(
        "8 vectors, P = 2",
        "ours",
        "theirs",
        "ratio",
        "bound",
        "verdict",
    );
    of_words::<1>(effort, "of 8 bytes");
    of_words::<2>(effort, "of 16 bytes");
    of_words::<4>(effort, "of 32 bytes");
    of_words::<8>(effort, "of 64 bytes");
    of_words::<32>(effort, "of 256 bytes");
    of_words::<60>(effort, "of 480 bytes");
}

fn of_words<const N: usize>(effort: Effort, subject: &str) {
    let bound = if N <= 8 { 1.6 } else { 8.0 };
    let one = compare(effort, &fused::<N>, &one::<N>);
    print(subject, "one all_reduce", bound, &one);
    let eight = compare(effort, &fused::<N>, &eight::<N>);
    print(subject, "eight calls", 1.0, &eight);
}

/// Eight vectors, and what they are after a sum, a maximum, and so on.
struct Vectors<const N: usize> {
    sums: ([u64; N], [f64; N], [i64; N], [u64; N]),
    others: ([i64; N], [u32; N], [f64; N], [u64; N]),
}

impl<const N: usize> Vectors<N> {
    fn new(number: u64) -> Self {
        let (i, f) = (number as i64, number as f64);
        Vectors {
            sums: ([number; N], [f; N], [i; N], [number; N]),
            others: ([i; N], [number as u32; N], [f; N], [number; N]),
        }
    }

    fn check(&self, time: u64) {
        let (a, b, c, d) = &self.sums;
        let sum = 2 * time + 1;
        assert_eq!((a[0], b[0], c[0], d[0]), (sum, sum as f64, sum as i64, sum));
        let (a, b, c, d) = &self.others;
        assert_eq!(
            (a[0], b[0], c[0]),
            (time as i64 + 1, time as u32, time as f64 + 1.0)
        );
        assert_eq!(d[0], time ^ (time + 1));
    }
}

/// Times `times` calls of `reduce`, with the first element of every result checked.
fn timed<const N: usize>(
    times: u64,
    reduce: impl Fn(&Comm, &mut Vectors<N>) -> Result<()> + Sync,
) -> Duration {
    ranks(Each, 2, |comm| {
        for time in 0..times {
            let mut v = Vectors::new(time + comm.rank() as u64);
            reduce(comm, &mut v)?;
            v.check(time);
        }
        Ok(())
    })
}

fn fused<const N: usize>(times: u64) -> Duration {
    timed::<N>(times, |comm, Vectors { sums, others }| {
        comm.fused(|f| {
            f.all_reduce(&mut sums.0, op::Sum);
            f.all_reduce(&mut sums.1, op::Sum);
            f.all_reduce(&mut sums.2, op::Sum);
            f.all_reduce(&mut sums.3, |left, right| left + right);
            f.all_reduce(&mut others.0, op::Max);
            f.all_reduce(&mut others.1, op::Min);
            f.all_reduce(&mut others.2, op::Max);
            f.all_reduce(&mut others.3, op::Xor);
        })
    })
}

fn eight<const N: usize>(times: u64) -> Duration {
    timed::<N>(times, |comm, Vectors { sums, others }| {
        comm.all_reduce(&mut sums.0, op::Sum)?;
        comm.all_reduce(&mut sums.1, op::Sum)?;
        comm.all_reduce(&mut sums.2, op::Sum)?;
        comm.all_reduce(&mut sums.3, |left, right| left + right)?;
        comm.all_reduce(&mut others.0, op::Max)?;
        comm.all_reduce(&mut others.1, op::Min)?;
        comm.all_reduce(&mut others.2, op::Max)?;
        comm.all_reduce(&mut others.3, op::Xor)
    })
}

fn one<const N: usize>(times: u64) -> Duration {
    ranks(Each, 2, |comm| {
        for time in 0..times {
            let mut v = [time + comm.rank() as u64; N];
            comm.all_reduce(&mut v, op::Sum)?;
            assert_eq!(v[0], 2 * time + 1);
        }
        Ok(())
    })
}
