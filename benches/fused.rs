//! Fused all-reduces: eight vectors of mixed types and operators in one call, in turn with one all_reduce of one such
//! vector, one of as many bytes, and eight calls. `cargo bench --bench fused`.
//!
//! ```text
//! fused        ──8 vectors──┐┌──8 vectors──┐
//! one vector   ──1──┐┌──1──┐                   bound: 1.6 times its time
//! eight calls  ──1──┐┌──2──┐ … ┌──8──┐
//! by hand      288 bytes beside 64, by two threads that add words in bare cache lines
//! ```
//!
//! All loops do the same besides the calls: they set one number before each, and check one after it. The other seven
//! vectors are set and checked in every sixteenth round. One such vector is as long as the longest of the eight.

mod common;

use std::time::Duration;

use common::On::Each;
use common::ranks;
use common::rounds::{Effort, compare};
use common::swap::{Request, more_lines};
use common::table::{machine, print, row};
use rankfold::{Comm, Result, op};

fn main() {
    let test = std::env::args().any(|arg| arg == "--test");
    let effort = Effort {
        rounds: if test { 1 } else { 45 },
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
    beside::<1, 1, 8>(effort, "of 8 bytes", [1; 8]);
    beside::<8, 8, 36>(effort, "of 8 to 64 bytes", [1, 2, 3, 4, 5, 6, 7, 8]);
    beside::<8, 8, 64>(effort, "of 64 bytes", [8; 8]);
    beside::<32, 32, 256>(effort, "of 256 bytes", [32; 8]);
    by_hand(effort);
}

/// What the lines of 288 bytes cost beside those of 64 without the library: each as fast as it can be had.
fn by_hand(effort: Effort) {
    for (work, between) in [(0, "back to back"), (20, "work between"), (60, "more work")] {
        let short = move |times| more_lines::<8>(Each, times, Request::AtEachLook, work);
        for (request, when) in [(Request::WhenThere, "late"), (Request::AtEachLook, "early")] {
            let long = move |times| more_lines::<36>(Each, times, request, work);
            let subject = format!("288 by hand, {when}, {between}");
            print(&subject, "64 by hand", 1.6, &compare(effort, &long, &short));
        }
    }
}

/// Compares eight vectors of `words` words, `LONGEST` at most, with one of `ONE` words, one of `WHOLE` words, and eight
/// calls.
fn beside<const LONGEST: usize, const ONE: usize, const WHOLE: usize>(
    effort: Effort,
    subject: &str,
    words: [usize; 8],
) {
    let fused = |times| {
        timed::<LONGEST>(times, |comm, v| {
            let [a, b, c, d] = &words[..4] else {
                unreachable!()
            };
            let [e, f, g, h] = &words[4..] else {
                unreachable!()
            };
            comm.fused(|list| {
                list.all_reduce(&mut v.sums.0[..*a], op::Sum);
                list.all_reduce(&mut v.sums.1[..*b], op::Sum);
                list.all_reduce(&mut v.sums.2[..*c], op::Sum);
                list.all_reduce(&mut v.sums.3[..*d], |left, right| left + right);
                list.all_reduce(&mut v.others.0[..*e], op::Max);
                list.all_reduce(&mut v.others.1[..*f], op::Min);
                list.all_reduce(&mut v.others.2[..*g], op::Max);
                list.all_reduce(&mut v.others.3[..*h], op::Xor);
            })
        })
    };
    let eight = |times| timed::<LONGEST>(times, |comm, v| one_by_one(comm, v, &words));
    let one = compare(effort, &fused, &single::<ONE>);
    print(subject, "one such vector", 1.6, &one);
    let all = compare(effort, &fused, &single::<WHOLE>);
    print(subject, "one of as many bytes", 1.6, &all);
    let eight = compare(effort, &fused, &eight);
    print(subject, "eight calls", 1.0, &eight);
}

fn one_by_one<const N: usize>(comm: &Comm, v: &mut Vectors<N>, words: &[usize; 8]) -> Result<()> {
    comm.all_reduce(&mut v.sums.0[..words[0]], op::Sum)?;
    comm.all_reduce(&mut v.sums.1[..words[1]], op::Sum)?;
    comm.all_reduce(&mut v.sums.2[..words[2]], op::Sum)?;
    comm.all_reduce(&mut v.sums.3[..words[3]], |left, right| left + right)?;
    comm.all_reduce(&mut v.others.0[..words[4]], op::Max)?;
    comm.all_reduce(&mut v.others.1[..words[5]], op::Min)?;
    comm.all_reduce(&mut v.others.2[..words[6]], op::Max)?;
    comm.all_reduce(&mut v.others.3[..words[7]], op::Xor)
}

/// The rounds from one in which all vectors are set and checked to the next; in between only the first is.
const ALL: u64 = 16;

/// Eight vectors, of which the first elements are set and checked; the others stay zero.
struct Vectors<const N: usize> {
    sums: ([u64; N], [f64; N], [i64; N], [u64; N]),
    others: ([i64; N], [u64; N], [f64; N], [u64; N]),
}

impl<const N: usize> Vectors<N> {
    fn new() -> Self {
        Vectors {
            sums: ([0; N], [0.0; N], [0; N], [0; N]),
            others: ([0; N], [0; N], [0.0; N], [0; N]),
        }
    }

    fn set(&mut self, number: u64) {
        let (signed, float) = (number as i64, number as f64);
        let (a, b, c, d) = &mut self.sums;
        (a[0], b[0], c[0], d[0]) = (number, float, signed, number);
        let (a, b, c, d) = &mut self.others;
        (a[0], b[0], c[0], d[0]) = (signed, number, float, number);
    }

    fn check(&self, time: u64) {
        let (a, b, c, d) = &self.sums;
        let sum = 2 * time + 1;
        assert_eq!((a[0], b[0], c[0], d[0]), (sum, sum as f64, sum as i64, sum));
        let (a, b, c, d) = &self.others;
        assert_eq!((a[0], b[0]), (time as i64 + 1, time));
        assert_eq!((c[0], d[0]), (time as f64 + 1.0, time ^ (time + 1)));
    }
}

/// Times `times` calls of `reduce`.
fn timed<const N: usize>(
    times: u64,
    reduce: impl Fn(&Comm, &mut Vectors<N>) -> Result<()> + Sync,
) -> Duration {
    ranks(Each, 2, |comm| {
        let mut v = Vectors::new();
        for time in 0..times {
            let number = time + comm.rank() as u64;
            match time % ALL {
                0 => v.set(number),
                _ => v.sums.0[0] = number,
            }
            reduce(comm, &mut v)?;
            match time % ALL {
                0 => v.check(time),
                _ => assert_eq!(v.sums.0[0], 2 * time + 1),
            }
        }
        Ok(())
    })
}

fn single<const N: usize>(times: u64) -> Duration {
    ranks(Each, 2, |comm| {
        let mut v = [0u64; N];
        for time in 0..times {
            v[0] = time + comm.rank() as u64;
            comm.all_reduce(&mut v, op::Sum)?;
            assert_eq!(v[0], 2 * time + 1);
        }
        Ok(())
    })
}
