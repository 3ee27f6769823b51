//! Memory that the collective calls of a rank use one after the other, so that none of them allocates once the first of
//! its kind has.

use std::any::Any;
use std::cell::RefCell;

use super::combine::wrong;
use crate::error::Result;
use crate::op::Element;

/// The memory that a call may need besides the caller's buffers, in *rooms* (reusable vectors).
///
/// A room holds elements only once there is one to put into it: there is no value of `T` with which to fill a room that
/// has never been written.
#[derive(Default)]
pub(crate) struct Rooms<T> {
    /// The schedule's scratch buffer.
    pub scratch: Vec<T>,
    /// As long as the output; temporarily holds elements that are folded out of place.
    pub spare: Vec<T>,
    /// The elements to send, where they are not contiguous or would be overwritten.
    pub stage: Vec<T>,
}

/// Grows a room to at least `length` elements, filled with `some`. `length` comes from a schedule, which may ask for
/// any number.
#[inline]
pub(crate) fn at_least<T: Element>(room: &mut Vec<T>, length: usize, some: T) -> Result<()> {
    if room.len() >= length {
        return Ok(());
    }
    if room.try_reserve(length - room.len()).is_err() {
        return Err(wrong(format!(
            "wants room for {length} elements, which is not to be had"
        )));
    }
    // `resize` would call the `Clone` implementation of the elements.
    room.extend((room.len()..length).map(|_| some));
    Ok(())
}

/// The rooms of one rank, for each type of elements that it has reduced so far.
#[derive(Default)]
pub(crate) struct Workspace(RefCell<Vec<Box<dyn Any>>>);

impl Workspace {
    /// Frees all memory.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// Lends the rooms for elements of type `T` to one call.
    #[inline]
    pub(crate) fn with<T: Element, R>(&self, call: impl FnOnce(&mut Rooms<T>) -> R) -> R {
        let mut rooms = self.take::<T>();
        let result = rooms
            .downcast_mut::<Rooms<T>>()
            .map(call)
            .unwrap_or_else(|| unreachable!("`take` has looked at the type"));
        self.0.borrow_mut().push(rooms);
        result
    }

    #[inline]
    fn take<T: Element>(&self) -> Box<dyn Any> {
        let mut all = self.0.borrow_mut();
        match all.iter().rposition(|rooms| rooms.is::<Rooms<T>>()) {
            Some(place) => all.swap_remove(place),
            None => Box::new(Rooms::<T> {
                scratch: Vec::new(),
                spare: Vec::new(),
                stage: Vec::new(),
            }),
        }
    }
}
