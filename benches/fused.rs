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
use rankfold::op;

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

/// Calls a macro with the vectors and their operators.
macro_rules! vectors {
    ($time:ident, $rank:expr, $N:ident, $each:ident) => {
        let number = $time % 1000 + $rank as u64;
        let (mut a, mut b, mut c) = ([number; $N], [number as i64; $N], [number as f64; $N]);
        let (mut d, mut e, mut f) = ([number as u32; $N], [number as f64; $N], [number; $N]);
        let (mut g, mut h) = ([number as i64; $N], [number; $N]);
        $each!(
            (a, op::Sum),
            (b, op::Max),
            (c, op::Sum),
            (d, op::Min),
            (e, op::Max),
            (f, op::Xor),
            (g, op::Sum),
            (h, |left, right| left + right)
        );
        let sum = $time % 1000 * 2 + 1;
        assert_eq!((a[0], c[0], g[0], h[0]), (sum, sum as f64, sum as i64, sum));
        assert_eq!(
            (b[0], d[0]),
            (($time % 1000) as i64 + 1, ($time % 1000) as u32)
        );
        assert_eq!(
            (e[0], f[0]),
            (b[0] as f64, ($time % 1000) ^ ($time % 1000 + 1))
        );
    };
}

fn fused<const N: usize>(times: u64) -> Duration {
    ranks(Each, 2, |comm| {
        macro_rules! together {
            ($(($v:ident, $op:expr)),*) => { comm.fused(|list| { $(list.all_reduce(&mut $v, $op);)* })? };
        }
        for time in 0..times {
            vectors!(time, comm.rank(), N, together);
        }
        Ok(())
    })
}

fn eight<const N: usize>(times: u64) -> Duration {
    ranks(Each, 2, |comm| {
        macro_rules! one_by_one {
            ($(($v:ident, $op:expr)),*) => { $(comm.all_reduce(&mut $v, $op)?;)* };
        }
        for time in 0..times {
            vectors!(time, comm.rank(), N, one_by_one);
        }
        Ok(())
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
