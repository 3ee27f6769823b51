//! What a status tells.

use std::ffi::c_int;

use super::arguments::flag;
use crate::abi::*;
use crate::datatype;
use crate::error::{Out, count};
use crate::memory::Caller;
use crate::p2p::{bytes_of, is_cancelled};

/// The number of elements of a datatype in a message, or `MPI_UNDEFINED`.
fn elements(caller: &Caller, status: *const MPI_Status, of: MPI_Datatype) -> Out<i64> {
    let (bytes, of) = (bytes_of(&caller.read(status)?), datatype::of(of)?);
    Ok(match (bytes, of.size) {
        (0, _) => 0,
        (_, 0) => MPI_UNDEFINED.into(),
        (bytes, size) if bytes.is_multiple_of(size) => (bytes / size) as i64,
        _ => MPI_UNDEFINED.into(),
    })
}

/// The number of basic elements in a message, or `MPI_UNDEFINED`.
fn basics(caller: &Caller, status: *const MPI_Status, of: MPI_Datatype) -> Out<i64> {
    let (bytes, of) = (bytes_of(&caller.read(status)?), datatype::of(of)?);
    Ok(of
        .basics(bytes)
        .map_or(MPI_UNDEFINED.into(), |number| number as i64))
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
        caller.write(cancelled, flag(is_cancelled(&caller.read(status)?)))
    }
    fn MPI_Status_set_elements(status: *mut MPI_Status, datatype: MPI_Datatype, number: c_int) |_, caller| {
        let bytes = datatype::of(datatype)?.basic_bytes(count(number, "the count")?);
        let mut told = caller.read(status)?;
        crate::p2p::set_bytes(&mut told, bytes);
        caller.write(status, told)
    }
    fn MPI_Status_set_cancelled(status: *mut MPI_Status, cancelled: c_int) |_, caller| {
        let mut told = caller.read(status)?;
        told.MPI_internal[2] = flag(cancelled != 0);
        caller.write(status, told)
    }
}
