//! Packing: elements as bytes, for messages of `MPI_PACKED`.

use std::ffi::c_void;

use super::sizes::{counted, place};
use crate::abi::*;
use crate::datatype;
use crate::error::{Out, failure};
use crate::memory::{Byte, Caller};

/// The number of bytes that elements take.
pub(super) fn size(number: impl Into<i64>, datatype: MPI_Datatype) -> Out<usize> {
    let bytes = counted(number, "the count")?.checked_mul(datatype::of(datatype)?.size);
    bytes.ok_or_else(|| {
        let text = "the packed elements take more bytes than an address space has";
        failure(MPI_ERR_COUNT, text)
    })
}

/// The place of a position in a buffer from which `len` bytes are used, and the position after them.
fn window<P: Position>(at: *mut u8, room: P, position: P, len: usize) -> Out<(*mut u8, P)> {
    let (room, start) = (room.into(), position.into());
    let end = i64::try_from(len)
        .ok()
        .and_then(|len| start.checked_add(len));
    let end = end.filter(|end| start >= 0 && *end <= room);
    let end = end.and_then(|end| P::try_from(end).ok()).ok_or_else(|| {
        let text =
            format!("{len} bytes from position {start} on do not fit a buffer of {room} bytes");
        failure(MPI_ERR_TRUNCATE, text)
    })?;
    Ok((at.wrapping_offset(start as isize), end))
}

/// A position in a packed buffer, or a count: an `int` or a large one.
pub(super) trait Position: Copy + Into<i64> + TryFrom<i64> {}
impl<P: Copy + Into<i64> + TryFrom<i64>> Position for P {}

pub(super) fn pack<P: Position>(
    caller: &Caller,
    (inbuf, number, datatype): (*const c_void, P, MPI_Datatype),
    (outbuf, room): (*mut c_void, P),
    position: *mut P,
) -> Out {
    let (from, start) = (place(inbuf, number, datatype)?, caller.read(position)?);
    let mut bytes: Vec<Byte> = Vec::new();
    from.buffer().pack(caller, &mut bytes)?;
    let (to, end) = window(outbuf.cast(), room, start, bytes.len())?;
    caller.give(&bytes, to)?;
    caller.write(position, end)
}

pub(super) fn unpack<P: Position>(
    caller: &Caller,
    (inbuf, room): (*const c_void, P),
    position: *mut P,
    (outbuf, number, datatype): (*mut c_void, P, MPI_Datatype),
) -> Out {
    let (into, start) = (place(outbuf, number, datatype)?, caller.read(position)?);
    let len = into.buffer().bytes();
    let (from, end) = window(inbuf.cast_mut().cast(), room, start, len)?;
    let mut bytes = Vec::new();
    caller.take(from, len, &mut bytes)?;
    into.buffer().unpack(caller, &bytes)?;
    caller.write(position, end)
}
