//! Attributes of datatypes. Datatypes are the process's, and their attributes the rank's.

use std::ffi::{c_int, c_void};

use super::arguments::flag;
use crate::abi::*;
use crate::attribute::{self, Functions, Of};

super::calls! {
    fn MPI_Type_create_keyval(
        type_copy_attr_fn: Option<MPI_Type_copy_attr_function>,
        type_delete_attr_fn: Option<MPI_Type_delete_attr_function>, type_keyval: *mut c_int, extra_state: *mut c_void,
    ) |rank, caller| {
        let functions = Functions {
            of: Of::Type,
            copy: type_copy_attr_fn.map_or(0, |it| (it as *const ()).expose_provenance()),
            delete: type_delete_attr_fn.map_or(0, |it| (it as *const ()).expose_provenance()),
            state: extra_state.expose_provenance(),
        };
        caller.write(type_keyval, attribute::create(rank, functions))
    }
    fn MPI_Type_free_keyval(type_keyval: *mut c_int) |rank, caller| {
        attribute::free(rank, Of::Type, caller.read(type_keyval)?)?;
        caller.write(type_keyval, MPI_KEYVAL_INVALID)
    }
    fn MPI_Type_set_attr(datatype: MPI_Datatype, type_keyval: c_int, attribute_val: *mut c_void) |rank, caller| {
        let on = rank.type_attributes(datatype)?;
        attribute::set(rank, caller, &*on, type_keyval, attribute_val)
    }
    fn MPI_Type_get_attr(datatype: MPI_Datatype, type_keyval: c_int, attribute_val: *mut c_void, there: *mut c_int) |rank, caller| {
        let on = rank.type_attributes(datatype)?;
        let value = attribute::value(&*on, type_keyval)?;
        if let Some(value) = value {
            caller.write(attribute_val.cast::<*mut c_void>(), value)?;
        }
        caller.write(there, flag(value.is_some()))
    }
    fn MPI_Type_delete_attr(datatype: MPI_Datatype, type_keyval: c_int) |rank, caller| {
        let on = rank.type_attributes(datatype)?;
        attribute::delete(caller, &*on, type_keyval)
    }
}
