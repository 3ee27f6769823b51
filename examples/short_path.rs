//! Repeats short all_reduces of two ranks, each through one function that is never inlined: `.ci/short-path` examines
//! the instructions that it executes.
//!
//! `cargo run --release --example short_path [CALLS]`

use rankfold::{Comm, Result, World, op};

/// The call that is examined.
#[inline(never)]
fn short_all_reduce(comm: &Comm, v: &mut [f64; 1]) -> Result<()> {
    comm.all_reduce(v, op::Sum)
}

fn main() {
    let calls: usize = std::env::args()
        .nth(1)
        .map_or(2000, |calls| calls.parse().expect("a number of calls"));
    let run = World::new(2).check(false).run(|comm| {
        (0..calls).try_for_each(|_| {
            let mut v = [comm.rank() as f64 + 1.0];
            short_all_reduce(comm, &mut v)?;
            assert_eq!(v, [3.0]);
            Ok(())
        })
    });
    run.expect("two ranks that make the same calls");
    println!("{calls} calls");
}
