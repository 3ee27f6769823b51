//! All-reduces of two ranks whose cores are taken to be near or far: results alike to the bit, and ends by a panic or an
//! early return.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::op::{Operator, OperatorKind, Sum};
use crate::{Comm, Rank, World, WorldError};

/// The elements of vectors that far ranks fold whole: of 8 bytes, up to the limits and beyond.
const LENGTHS: [usize; 6] = [4095, 4096, 4097, 8191, 16384, 16385];

fn vector(rank: Rank, n: usize) -> Vec<f64> {
    let element = |i: usize| ((i * 7 + 3) as f64).sqrt() / (rank as f64 + 1.7);
    (0..n).map(element).collect()
}

fn bits(vector: &[f64]) -> Vec<u64> {
    vector.iter().map(|one| one.to_bits()).collect()
}

/// Sums into an output that does not begin at a cache line, and in place, in turn.
fn sums(comm: &Comm, far: bool) -> crate::Result<Vec<Vec<u64>>> {
    comm.shared.epoch().insist_on_far(far);
    let mut all = Vec::new();
    for n in LENGTHS {
        let (input, mut output) = (vector(comm.rank(), n), vec![0.0; n + comm.rank()]);
        let output = &mut output[comm.rank()..];
        comm.all_reduce_into(&input, output, Sum)?;
        assert_eq!(input, vector(comm.rank(), n));
        all.push(bits(output));
        comm.all_reduce(output, Sum)?;
        all.push(bits(output));
    }
    Ok(all)
}

#[test]
fn near_and_far_ranks_have_the_same_bits() {
    let [near, far] = [false, true].map(|far| World::new(2).run(|comm| sums(comm, far)).unwrap());
    assert_eq!(near[0], near[1]);
    assert_eq!(near, far);
}

/// Panics at an element, on one rank.
struct Trap {
    is_set: bool,
    at: f64,
}

impl Operator<f64> for Trap {
    fn combine(&self, left: f64, right: f64) -> f64 {
        let value = left + right;
        assert!(!self.is_set || value != self.at, "it is a trap");
        value
    }

    fn kind(&self) -> OperatorKind {
        OperatorKind::Sum
    }
}

/// Every element is 1 and 2, except that the sum is 30 at one place in the share of each rank.
fn trapped(rank: Rank, n: usize) -> Vec<f64> {
    let mut vector = vec![rank as f64 + 1.0; n];
    for at in [n / 4, n - 1] {
        vector[at] = 15.0;
    }
    vector
}

#[test]
fn an_operator_that_panics_on_one_of_two_ends_the_world() {
    for (far, culprit) in [(false, 0), (false, 1), (true, 0), (true, 1)] {
        let report = World::new(2).run_each(|comm| {
            comm.shared.epoch().insist_on_far(far);
            let is_set = comm.rank() == culprit;
            let (input, mut output) = (trapped(comm.rank(), 8192), vec![0.0; 8192]);
            let op = Trap { is_set, at: 30.0 };
            let call = || comm.all_reduce_into(&input, &mut output, op);
            let called = catch_unwind(AssertUnwindSafe(call));
            // No rank is among its vectors any more.
            output.fill(7.0);
            assert_eq!(input, trapped(comm.rank(), 8192));
            assert_eq!(output, [7.0; 8192]);
            called.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let error = report.into_result().unwrap_err();
        let of = |rank| matches!(&error, WorldError::Panicked { rank: of, .. } if *of == rank);
        assert!(of(culprit), "{error}");
    }
}

#[test]
fn a_rank_that_returns_early_fails_the_other() {
    for (far, leaves) in [(false, 0), (false, 1), (true, 0), (true, 1)] {
        let world = World::new(2).run(|comm| {
            comm.shared.epoch().insist_on_far(far);
            let (input, mut output) = (vector(comm.rank(), 8192), vec![0.0; 8192]);
            for call in 0..3 {
                if call == 2 && comm.rank() == leaves {
                    return Ok(());
                }
                comm.all_reduce_into(&input, &mut output, Sum)?;
            }
            Ok(())
        });
        assert!(world.is_err());
    }
}
