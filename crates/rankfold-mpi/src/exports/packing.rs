//! Packing: elements as bytes, for messages of `MPI_PACKED`.

use std::ffi::{c_int, c_void};

use super::arguments::place;
use crate::abi::*;
use crate::datatype;
use crate::error::{Out, count, failure, require};
use crate::memory::{Byte, Caller};

/// The number of bytes that elements take.
pub(super) fn size(number: c_int, datatype: MPI_Datatype) -> Out<c_int> {
    let bytes = count(number, "the count")?.checked_mul(datatype::of(datatype)?.size);
    let bytes = bytes.and_then(|bytes| c_int::try_from(bytes).ok());
    bytes.ok_or_else(|| {
        failure(
            MPI_ERR_COUNT,
            "the packed elements take more bytes than an int counts",
        )
    })
}

/// The place of a position in a buffer from which `len` bytes are used.
fn window(at: *mut u8, room: isize, position: c_int, len: usize) -> Out<*mut u8> {
    let end = isize::try_from(len)
        .ok()
        .and_then(|len| len.checked_add(position as isize));
    let fits = position >= 0 && end.is_some_and(|end| end <= room);
    require(fits, MPI_ERR_TRUNCATE, || {
        format!("{len} bytes from position {position} on do not fit a buffer of {room} bytes")
    })?;
    Ok(at.wrapping_offset(position as isize))
}

pub(super) fn pack(
    caller: &Caller,
    (inbuf, number, datatype): (*const c_void, c_int, MPI_Datatype),
    (outbuf, room): (*mut c_void, isize),
    position: *mut c_int,
) -> Out {
    let (from, start) = (place(inbuf, number, datatype)?, caller.read(position)?);
    let mut bytes: Vec<Byte> = Vec::new();
    from.buffer().pack(caller, &mut bytes)?;
    let to = window(outbuf.cast(), room, start, bytes.len())?;
    caller.give(&bytes, to)?;
    caller.write(position, start + bytes.len() as c_int)
}

pub(super) fn unpack(
    caller: &Caller,
    (inbuf, room): (*const c_void, isize),
    position: *mut c_int,
    (outbuf, number, datatype): (*mut c_void, c_int, MPI_Datatype),
) -> Out {
    let (into, start) = (place(outbuf, number, datatype)?, caller.read(position)?);
    let len = into.buffer().bytes();
    let from = window(inbuf.cast_mut().cast(), room, start, len)?;
    let mut bytes = Vec::new();
    caller.take(from, len, &mut bytes)?;
    into.buffer().unpack(caller, &bytes)?;
    caller.write(position, start + len as c_int)
}
