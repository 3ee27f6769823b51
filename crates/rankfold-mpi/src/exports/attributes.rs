//! Attributes of communicators.

use std::ffi::{c_int, c_void};

use super::arguments::flag;
use crate::abi::*;
use crate::attribute::{self, Functions, Of};

super::calls! {
    fn MPI_Comm_create_keyval(
        comm_copy_attr_fn: Option<MPI_Comm_copy_attr_function>,
        comm_delete_attr_fn: Option<MPI_Comm_delete_attr_function>, comm_keyval: *mut c_int, extra_state: *mut c_void,
    ) |rank, caller| {
        let functions = Functions {
            of: Of::Comm,
            copy: comm_copy_attr_fn.map_or(0, |it| (it as *const ()).expose_provenance()),
            delete: comm_delete_attr_fn.map_or(0, |it| (it as *const ()).expose_provenance()),
            state: extra_state.expose_provenance(),
        };
        caller.write(comm_keyval, attribute::create(rank, functions))
    }
    fn MPI_Comm_free_keyval(comm_keyval: *mut c_int) |rank, caller| {
        attribute::free(rank, Of::Comm, caller.read(comm_keyval)?)?;
        caller.write(comm_keyval, MPI_KEYVAL_INVALID)
    }
    fn MPI_Comm_set_attr(comm: MPI_Comm, comm_keyval: c_int, attribute_val: *mut c_void) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        attribute::set(rank, caller, &*on, comm_keyval, attribute_val)
    }
    fn MPI_Comm_get_attr(comm: MPI_Comm, comm_keyval: c_int, attribute_val: *mut c_void, there: *mut c_int) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let value = attribute::get(rank, &on, comm_keyval)?;
        if let Some(value) = value {
            caller.write(attribute_val.cast::<*mut c_void>(), value)?;
        }
        caller.write(there, flag(value.is_some()))
    }
    fn MPI_Comm_delete_attr(comm: MPI_Comm, comm_keyval: c_int) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        attribute::delete(caller, &*on, comm_keyval)
    }
}
