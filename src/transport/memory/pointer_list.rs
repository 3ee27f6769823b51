//! Lists of pointers into the vectors of some ranks: on the stack if there are few, otherwise in memory that a rank
//! keeps from call to call. Nothing is accessed through them here.

use std::cell::{RefCell, RefMut};
use std::ptr;

/// Storage for lists of pointers, kept from call to call by a rank of many.
#[derive(Default)]
pub(crate) struct Lists {
    pub(super) inputs: List,
    pub(super) outputs: List,
}

/// Its content belongs to the last call, and is not read: a list is filled anew by [`Few::of`].
pub(super) type List = RefCell<Vec<*mut u8>>;

/// A list in use.
pub(super) enum Few<'a> {
    Near([*mut u8; NEAR], usize),
    Far(RefMut<'a, Vec<*mut u8>>),
}

const NEAR: usize = 8;

impl<'a> Few<'a> {
    /// What `each` returns for the numbers below `most`, in order.
    ///
    /// # Panics
    ///
    /// If the list is in use, and needed.
    pub(super) fn of(
        list: &'a List,
        most: usize,
        mut each: impl FnMut(usize) -> Option<*mut u8>,
    ) -> Few<'a> {
        if most > NEAR {
            let mut list = list.borrow_mut();
            list.clear();
            list.extend((0..most).filter_map(each));
            return Few::Far(list);
        }
        let (mut near, mut count) = ([ptr::null_mut(); NEAR], 0);
        for number in 0..most {
            if let Some(pointer) = each(number) {
                near[count] = pointer;
                count += 1;
            }
        }
        Few::Near(near, count)
    }

    #[inline]
    pub(super) fn all(&self) -> &[*mut u8] {
        match self {
            Few::Near(near, count) => &near[..*count],
            Few::Far(list) => list,
        }
    }
}
