//! Attributes of windows.

use std::ffi::{c_int, c_void};

use super::arguments::flag;
use crate::abi::*;
use crate::attribute::{self, Functions, Of};

super::calls! {
    fn MPI_Win_create_keyval(
        win_copy_attr_fn: Option<MPI_Win_copy_attr_function>,
        win_delete_attr_fn: Option<MPI_Win_delete_attr_function>, win_keyval: *mut c_int, extra_state: *mut c_void,
    ) |rank, caller| {
        let functions = Functions {
            of: Of::Win,
            copy: win_copy_attr_fn.map_or(0, |it| (it as *const ()).expose_provenance()),
            delete: win_delete_attr_fn.map_or(0, |it| (it as *const ()).expose_provenance()),
            state: extra_state.expose_provenance(),
        };
        caller.write(win_keyval, attribute::create(rank, functions))
    }
    fn MPI_Win_free_keyval(win_keyval: *mut c_int) |rank, caller| {
        attribute::free(rank, Of::Win, caller.read(win_keyval)?)?;
        caller.write(win_keyval, MPI_KEYVAL_INVALID)
    }
    fn MPI_Win_set_attr(win: MPI_Win, win_keyval: c_int, attribute_val: *mut c_void) on win |rank, caller| {
        let on = rank.win(win)?;
        attribute::set(rank, caller, &*on, win_keyval, attribute_val)
    }
    fn MPI_Win_get_attr(win: MPI_Win, win_keyval: c_int, attribute_val: *mut c_void, there: *mut c_int) on win |rank, caller| {
        let on = rank.win(win)?;
        let value = match on.predefined(win_keyval) {
            Some(value) => Some(value.cast_mut().cast()),
            None => attribute::value(&*on, win_keyval)?,
        };
        if let Some(value) = value {
            caller.write(attribute_val.cast::<*mut c_void>(), value)?;
        }
        caller.write(there, flag(value.is_some()))
    }
    fn MPI_Win_delete_attr(win: MPI_Win, win_keyval: c_int) on win |rank, caller| {
        let on = rank.win(win)?;
        attribute::delete(caller, &*on, win_keyval)
    }
}
