//! Operators that stand for others: which one is known only at run time, and every loop is compiled for the other.
//!
//! A loop that asked such an operator for each element would be several times as slow. So a fold asks once which
//! operator is meant ([`Operator::meant`]) and then runs that operator's own loop.

use std::fmt;

use super::{Element, Operator, kernels};

/// A fold, for any operator.
pub trait Fold<T: Element> {
    /// Folds with this operator.
    fn with(self, op: &impl Operator<T>);
}

/// A fold as an argument of [`Operator::meant`]. No other crate can name it, so none can leave out its fold.
pub struct Task<F>(pub(crate) F);

impl<F> fmt::Debug for Task<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").finish_non_exhaustive()
    }
}

/// `acc[i] ← acc[i] ⊕ right[i]`.
#[inline]
pub(crate) fn fold_right<T: Element>(op: &impl Operator<T>, acc: &mut [T], right: &[T]) {
    op.meant(Task(Right(acc, right)));
}

/// `acc[i] ← left[i] ⊕ acc[i]`.
#[inline]
pub(crate) fn fold_left<T: Element>(op: &impl Operator<T>, acc: &mut [T], left: &[T]) {
    op.meant(Task(Left(acc, left)));
}

/// `out[i] ← left[i] ⊕ right[i]`.
#[inline]
pub(crate) fn fold_two<T: Element>(op: &impl Operator<T>, out: &mut [T], left: &[T], right: &[T]) {
    op.meant(Task(Two(out, left, right)));
}

struct Right<'a, T>(&'a mut [T], &'a [T]);
struct Left<'a, T>(&'a mut [T], &'a [T]);
struct Two<'a, T>(&'a mut [T], &'a [T], &'a [T]);

impl<T: Element> Fold<T> for Right<'_, T> {
    #[inline(always)]
    fn with(self, op: &impl Operator<T>) {
        kernels::fold_right(op, self.0, self.1);
    }
}

impl<T: Element> Fold<T> for Left<'_, T> {
    #[inline(always)]
    fn with(self, op: &impl Operator<T>) {
        kernels::fold_left(op, self.0, self.1);
    }
}

impl<T: Element> Fold<T> for Two<'_, T> {
    #[inline(always)]
    fn with(self, op: &impl Operator<T>) {
        kernels::fold_two(op, self.0, self.1, self.2);
    }
}
