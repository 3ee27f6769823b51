//! Memory that the collective calls of a rank use one after the other, so that none of them allocates once the first of
//! its kind has.

use std::cell::RefCell;

use super::combine::wrong;
use crate::error::Result;
use crate::op::element_vec::ElementVec;
use crate::op::elements::{Elements, Info};

/// The memory that a call may need besides the caller's buffers, in *rooms* (reusable vectors).
///
/// A room holds elements only once there is one to put into it: there is no value with which to fill a room that has
/// never been written.
pub(crate) struct Rooms {
    /// The schedule's scratch buffer.
    pub scratch: ElementVec,
    /// As long as the output; temporarily holds elements that are folded out of place.
    pub spare: ElementVec,
    /// The elements to send, where they are not contiguous or would be overwritten.
    pub stage: ElementVec,
}

impl Rooms {
    pub(crate) fn new(info: &'static Info) -> Rooms {
        Rooms {
            scratch: ElementVec::new(info),
            spare: ElementVec::new(info),
            stage: ElementVec::new(info),
        }
    }
}

/// Grows a room to at least `length` elements, filled with the first of `some`. `length` comes from a schedule, which
/// may ask for any number.
#[inline]
pub(crate) fn at_least(room: &mut ElementVec, length: usize, some: Elements<'_>) -> Result<()> {
    if room.len() >= length {
        return Ok(());
    }
    let grown = room.grow(length, some);
    grown.map_err(|_| {
        wrong(format!(
            "wants room for {length} elements, which is not to be had"
        ))
    })
}

/// The rooms of one rank, for each type of elements that it has reduced so far.
#[derive(Default)]
#[expect(
    clippy::vec_box,
    reason = "rooms are taken out and put back by every call"
)]
pub(crate) struct Workspace(RefCell<Vec<Box<Rooms>>>);

impl Workspace {
    /// Frees all memory.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// Lends the rooms for elements of a type to one call.
    #[inline]
    pub(crate) fn with<R>(&self, info: &'static Info, call: impl FnOnce(&mut Rooms) -> R) -> R {
        let mut rooms = self.take(info);
        let result = call(&mut rooms);
        self.0.borrow_mut().push(rooms);
        result
    }

    #[inline]
    fn take(&self, info: &'static Info) -> Box<Rooms> {
        let mut all = self.0.borrow_mut();
        match all.iter().rposition(|rooms| rooms.stage.info().is(info)) {
            Some(place) => all.swap_remove(place),
            None => Box::new(Rooms::new(info)),
        }
    }
}
