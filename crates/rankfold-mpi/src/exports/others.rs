//! Functions that MPI keeps for older programs, and some that stand alone.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::without_provenance_mut as handle;

use super::arguments::flag;
use crate::abi::*;
use crate::attribute::{self, Functions, Of};

/// Datatypes of a value and its place.
const PAIRS: [(MPI_Datatype, MPI_Datatype, MPI_Datatype); 9] = [
    (MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT),
    (MPI_FLOAT, MPI_INT, MPI_FLOAT_INT),
    (MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT),
    (MPI_LONG, MPI_INT, MPI_LONG_INT),
    (MPI_INT, MPI_INT, MPI_2INT),
    (MPI_SHORT, MPI_INT, MPI_SHORT_INT),
    (MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER),
    (MPI_REAL, MPI_REAL, MPI_2REAL),
    (
        MPI_DOUBLE_PRECISION,
        MPI_DOUBLE_PRECISION,
        MPI_2DOUBLE_PRECISION,
    ),
];

super::calls! {
    fn MPI_Keyval_create(
        copy_fn: Option<MPI_Comm_copy_attr_function>, delete_fn: Option<MPI_Comm_delete_attr_function>, keyval: *mut c_int,
        extra_state: *mut c_void,
    ) |rank, caller| {
        let functions = Functions {
            of: Of::Comm,
            copy: copy_fn.map_or(0, |it| (it as *const ()).expose_provenance()),
            delete: delete_fn.map_or(0, |it| (it as *const ()).expose_provenance()),
            state: extra_state.expose_provenance(),
        };
        caller.write(keyval, attribute::create(rank, functions))
    }
    fn MPI_Keyval_free(keyval: *mut c_int) |rank, caller| {
        attribute::free(rank, Of::Comm, caller.read(keyval)?)?;
        caller.write(keyval, MPI_KEYVAL_INVALID)
    }
    fn MPI_Attr_put(comm: MPI_Comm, keyval: c_int, attribute_val: *mut c_void) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        attribute::set(rank, caller, &*on, keyval, attribute_val)
    }
    fn MPI_Attr_get(comm: MPI_Comm, keyval: c_int, attribute_val: *mut c_void, there: *mut c_int) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let value = attribute::get(rank, &on, keyval)?;
        if let Some(value) = value {
            caller.write(attribute_val.cast::<*mut c_void>(), value)?;
        }
        caller.write(there, flag(value.is_some()))
    }
    fn MPI_Attr_delete(comm: MPI_Comm, keyval: c_int) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        attribute::delete(caller, &*on, keyval)
    }
    /// Nothing in the environment means anything to this library.
    fn MPI_Info_create_env(_argc: c_int, _argv: *mut *mut c_char, info: *mut MPI_Info) |rank, caller| {
        let made = rank.infos.borrow_mut().add(Default::default());
        caller.write(info, handle(made))
    }
    /// It tells of no hardware.
    fn MPI_Get_hw_resource_info(hw_info: *mut MPI_Info) |rank, caller| {
        let made = rank.infos.borrow_mut().add(Default::default());
        caller.write(hw_info, handle(made))
    }
    fn MPI_Type_get_value_index(value_type: MPI_Datatype, index_type: MPI_Datatype, pair_type: *mut MPI_Datatype) |_, caller| {
        let found = PAIRS.iter().find(|(value, index, _)| (*value, *index) == (value_type, index_type));
        caller.write(pair_type, found.map_or(MPI_DATATYPE_NULL, |(.., pair)| *pair))
    }
    fn MPI_Status_c2f(status: *const MPI_Status, f_status: *mut MPI_Fint) |_, caller| {
        caller.copy_status(status, f_status.cast())
    }
    fn MPI_Status_f2c(f_status: *const MPI_Fint, status: *mut MPI_Status) |_, caller| {
        caller.copy_status(f_status.cast(), status)
    }
    fn MPI_Status_c2f08(status: *const MPI_Status, f08_status: *mut MPI_F08_status) |_, caller| {
        caller.copy_status(status, f08_status)
    }
    fn MPI_Status_f082c(f08_status: *const MPI_F08_status, status: *mut MPI_Status) |_, caller| {
        caller.copy_status(f08_status, status)
    }
    fn MPI_Status_f2f08(f_status: *const MPI_Fint, f08_status: *mut MPI_F08_status) |_, caller| {
        caller.copy_status(f_status.cast(), f08_status)
    }
    fn MPI_Status_f082f(f08_status: *const MPI_F08_status, f_status: *mut MPI_Fint) |_, caller| {
        caller.copy_status(f08_status, f_status.cast())
    }
}

/// `MPI_Pcontrol` of the MPI standard, which does nothing without a profiling library. Its further arguments are not read.
#[cfg_attr(feature = "exports", unsafe(no_mangle))]
pub extern "C" fn MPI_Pcontrol(_level: c_int) -> c_int {
    MPI_SUCCESS
}
