//! The parts of a status of the program. Each is read and written alone: C leaves those unset that no call has written.

use std::ffi::c_int;
use std::mem::offset_of;

use crate::abi::*;
use crate::error::Out;
use crate::memory::{Caller, StatusPart};
use crate::stat::halves;

pub(crate) const SOURCE: StatusPart<c_int> = StatusPart::at(offset_of!(MPI_Status, MPI_SOURCE));
pub(crate) const TAG: StatusPart<c_int> = StatusPart::at(offset_of!(MPI_Status, MPI_TAG));
pub(crate) const ERROR: StatusPart<c_int> = StatusPart::at(offset_of!(MPI_Status, MPI_ERROR));
const INTERNAL: usize = offset_of!(MPI_Status, MPI_internal);
/// The number of bytes: its lower half, and its upper half.
pub(crate) const BYTES: StatusPart<[c_int; 2]> = StatusPart::at(INTERNAL);
pub(crate) const CANCELLED: StatusPart<c_int> = StatusPart::at(INTERNAL + 2 * size_of::<c_int>());

/// Changes the number of bytes in a status.
pub(crate) fn set_bytes(caller: &Caller, status: *mut MPI_Status, bytes: usize) -> Out {
    caller.write_part(status, BYTES, halves(bytes))
}

/// The number of bytes in a status.
pub(crate) fn bytes_of(caller: &Caller, status: *const MPI_Status) -> Out<usize> {
    let [low, high] = caller.part(status, BYTES)?;
    Ok((u64::from(low as u32) | u64::from(high as u32) << 32) as usize)
}
