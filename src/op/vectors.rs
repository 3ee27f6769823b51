//! A `Vec` of elements where their type is not known: copied, shared, filled again.

use std::any::Any;

use super::copies::Copies;
use super::elements::{Elements, Info, SharedVec};

/// A copy of elements in a `Vec` of their type.
pub(crate) fn vector_of_copies(elements: Elements<'_>) -> Box<dyn Any + Send> {
    let make = elements.info().vectors();
    let vector = make.and_then(|make| (make.copied)(elements));
    vector.expect("elements are of a type of elements")
}

/// A copy of elements that can be shared.
pub(crate) fn shared_copy(elements: Elements<'_>) -> SharedVec {
    let make = elements.info().vectors();
    let vector = make.and_then(|make| (make.shared)(elements));
    vector.expect("elements are of a type of elements")
}

/// Replaces the contents of a vector by a copy of elements; `false`: it is none of their type.
pub(crate) fn refill(vector: &mut dyn Any, elements: Elements<'_>, copies: &Copies) -> bool {
    let make = elements.info().vectors();
    make.is_some_and(|make| (make.refilled)(vector, elements, copies))
}

/// The elements of a vector, or of a message from another process, if they are of this type.
pub(crate) fn shown<'a>(info: &'static Info, vector: &'a dyn Any) -> Option<Elements<'a>> {
    let shown = info.shown(vector);
    #[cfg(feature = "mpi")]
    let shown = shown.or_else(|| super::plain::shown(info, vector));
    shown
}
