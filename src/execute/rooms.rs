//! Memory that the collective calls of a rank use one after the other, so that none of them allocates
//! once the first of its kind has.

use std::any::Any;
use std::cell::RefCell;

use super::wrong;
use crate::error::Result;
use crate::op::Element;

/// What a call may need besides the caller's buffers.
///
/// A room holds elements only from the first moment when there is one to put into it: there is no
/// value of `T` that could stand in a room nobody has written to.
#[derive(Default)]
pub(crate) struct Rooms<T> {
    /// The schedule's scratch buffer.
    pub scratch: Vec<T>,
    /// As long as the output: where what is folded out of place lives for a while.
    pub spare: Vec<T>,
    /// What is sent, where it does not lie in one piece or would be overwritten.
    pub stage: Vec<T>,
}

/// Makes a room at least so long, with some element in it. How long is what a schedule says, which may
/// be anything.
#[inline]
pub(super) fn at_least<T: Element>(room: &mut Vec<T>, length: usize, some: T) -> Result<()> {
    if room.len() >= length {
        return Ok(());
    }
    if room.try_reserve(length - room.len()).is_err() {
        return Err(wrong(format!(
            "wants room for {length} elements, which is not to be had"
        )));
    }
    // `resize` would run the `Clone` of the elements.
    room.extend((room.len()..length).map(|_| some));
    Ok(())
}

/// The rooms of one rank, for each type of elements that it has reduced so far.
#[derive(Default)]
pub(crate) struct Workspace(RefCell<Vec<Box<dyn Any>>>);

impl Workspace {
    /// Gives all memory back.
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
