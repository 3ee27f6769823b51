//! How elements of another rank are combined with those held, and the error of a schedule that cannot be run.

use crate::error::Error;
use crate::op::elements::{Elements, ElementsMut};
use crate::op::folds::Folds;
use crate::op::{Element, Operator, OperatorKind, fold_left, fold_right};
use crate::schedule::Combine;
use crate::unwind;

/// The error for a schedule that cannot be run.
#[cold]
pub(crate) fn wrong(what: String) -> Error {
    Error::usage(format!(
        "the schedule {what}: `check` it, or run it in a world that checks"
    ))
}

/// The name of an operator, asked for as its folds are run: no communicator can be called in there.
#[inline(always)]
pub(crate) fn kind_of<T: Element>(op: &impl Operator<T>) -> OperatorKind {
    unwind::operator(|| op.kind())
}

/// Whether an operator commutes, asked in the same way.
#[inline(always)]
pub(crate) fn commutes<T: Element>(op: &impl Operator<T>) -> bool {
    unwind::operator(|| op.commutes())
}

/// Combines elements of another rank with those held.
#[inline]
pub(crate) fn combined<T: Element>(
    combine: Combine,
    held: &mut [T],
    theirs: &[T],
    op: &impl Operator<T>,
) {
    match combine {
        Combine::Replace => held.copy_from_slice(theirs),
        Combine::FoldRight => unwind::operator(|| fold_right(op, held, theirs)),
        Combine::FoldLeft => unwind::operator(|| fold_left(op, held, theirs)),
    }
}

/// The same for elements of a type known at run time.
#[inline(always)]
pub(crate) fn combined_elements(
    combine: Combine,
    mut held: ElementsMut<'_>,
    theirs: Elements<'_>,
    folds: &dyn Folds,
) {
    match combine {
        Combine::Replace => held.copy_from(theirs),
        Combine::FoldRight => unwind::operator(|| folds.right(&mut held, &theirs)),
        Combine::FoldLeft => unwind::operator(|| folds.left(&mut held, &theirs)),
    }
}
