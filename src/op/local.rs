//! A fold of two vectors of one rank, without communication.

use super::{Element, Operator, fold_left};

/// Folds a vector into another one on this rank alone: every `inout[i]` becomes `left[i] ⊕ inout[i]`.
///
/// It runs the loops of the collectives, which are compiled for the instruction set of the machine.
///
/// # Panics
///
/// If the lengths differ.
///
/// # Examples
///
/// ```
/// use rankfold::op;
///
/// let mut sums = [10, 20];
/// op::reduce_local(&[1, 2], &mut sums, op::Sum);
/// assert_eq!(sums, [11, 22]);
/// ```
#[doc(alias = "MPI_Reduce_local")]
#[track_caller]
pub fn reduce_local<T: Element>(left: &[T], inout: &mut [T], op: impl Operator<T>) {
    assert_eq!(
        left.len(),
        inout.len(),
        "the two vectors of a local reduction have different lengths"
    );
    fold_left(&op, inout, left);
}
