//! What a status tells.

use std::ffi::c_int;

use super::arguments::flag;
use super::sizes::counted;
use crate::abi::*;
use crate::datatype;
use crate::error::{Out, failure};
use crate::memory::Caller;
use crate::status::{CANCELLED, bytes_of, set_bytes};

/// The number of elements of a datatype in a message, or `MPI_UNDEFINED`.
fn elements(caller: &Caller, status: *const MPI_Status, of: MPI_Datatype) -> Out<i64> {
    let (bytes, of) = (bytes_of(caller, status)?, datatype::of(of)?);
    Ok(match (bytes, of.size) {
        (0, _) => 0,
        (_, 0) => MPI_UNDEFINED.into(),
        (bytes, size) if bytes.is_multiple_of(size) => (bytes / size) as i64,
        _ => MPI_UNDEFINED.into(),
    })
}

/// The number of basic elements in a message, or `MPI_UNDEFINED`.
fn basics(caller: &Caller, status: *const MPI_Status, of: MPI_Datatype) -> Out<i64> {
    let (bytes, of) = (bytes_of(caller, status)?, datatype::of(of)?);
    Ok(of
        .basics(bytes)
        .map_or(MPI_UNDEFINED.into(), |number| number as i64))
}

/// Has a status tell of a number of basic elements.
fn set_elements(caller: &Caller, status: *mut MPI_Status, of: MPI_Datatype, number: i64) -> Out {
    let count = counted(number, "the count")?;
    let bytes = datatype::of(of)?.basic_bytes(count).ok_or_else(|| {
        let text = format!("{number} elements are larger than the address space");
        failure(MPI_ERR_COUNT, text)
    })?;
    set_bytes(caller, status, bytes)
}

fn narrow(number: i64) -> c_int {
    c_int::try_from(number).unwrap_or(MPI_UNDEFINED)
}

super::calls! {
    fn MPI_Get_count(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut c_int) |_, caller| {
        caller.write(count, narrow(elements(caller, status, datatype)?))
    }
    fn MPI_Get_elements(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut c_int) |_, caller| {
        caller.write(count, narrow(basics(caller, status, datatype)?))
    }
    fn MPI_Get_elements_x(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut MPI_Count) |_, caller| {
        caller.write(count, basics(caller, status, datatype)?)
    }
    fn MPI_Test_cancelled(status: *const MPI_Status, cancelled: *mut c_int) |_, caller| {
        caller.write(cancelled, flag(caller.part(status, CANCELLED)? != 0))
    }
    fn MPI_Status_set_elements(status: *mut MPI_Status, datatype: MPI_Datatype, number: c_int) |_, caller| {
        set_elements(caller, status, datatype, number.into())
    }
    fn MPI_Status_set_elements_x(status: *mut MPI_Status, datatype: MPI_Datatype, number: MPI_Count) |_, caller| {
        set_elements(caller, status, datatype, number)
    }
    fn MPI_Status_set_elements_c(status: *mut MPI_Status, datatype: MPI_Datatype, number: MPI_Count) |_, caller| {
        set_elements(caller, status, datatype, number)
    }
    fn MPI_Get_elements_c(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut MPI_Count) |_, caller| {
        caller.write(count, basics(caller, status, datatype)?)
    }
    fn MPI_Status_set_cancelled(status: *mut MPI_Status, cancelled: c_int) |_, caller| {
        caller.write_part(status, CANCELLED, flag(cancelled != 0))
    }
}
