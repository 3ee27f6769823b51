//! Arguments that many calls have: buffers, counts, datatypes, and the places of results.

use std::ffi::{c_char, c_int, c_void};

use crate::abi::*;
use crate::datatype;
use crate::datatype::pack::Place;
use crate::error::{Out, count, failure};
use crate::memory::Caller;
use crate::op::{self, Fold};
use crate::p2p::buffer;
use crate::rank::Rank;
use crate::stat::Stat;
use crate::text::Text;

/// A buffer of a call.
#[inline(always)]
pub(super) fn place(at: *const c_void, number: c_int, of: MPI_Datatype) -> Out<Place> {
    let of = datatype::committed(of)?;
    let checked = buffer(at.cast_mut(), number, &of)?;
    let (at, count) = (checked.at, checked.count);
    Ok(Place { at, count, of })
}

/// A reduction by an operator.
#[inline(always)]
pub(super) fn fold(rank: &Rank, op: MPI_Op, datatype: MPI_Datatype) -> Out<Fold> {
    let operator = op::of(rank, op)?;
    let of = datatype::committed(datatype)?;
    op::check_kind(&operator, &of)?;
    op::check_reduces(&operator)?;
    Ok(Fold {
        operator,
        of,
        datatype,
    })
}

/// Writes what is told of a message, unless it is ignored.
#[inline]
pub(super) fn status(caller: &Caller, to: *mut MPI_Status, stat: &Stat) {
    caller.write_status(to, stat.status(MPI_SUCCESS));
}

/// Tells of a message that came, or of one that could not be received as it was.
#[inline]
pub(super) fn received(caller: &Caller, to: *mut MPI_Status, result: Out<Stat>) -> Out {
    let stat = match &result {
        Ok(stat) => Some(*stat),
        Err(error) => error.stat,
    };
    if let Some(stat) = stat {
        status(caller, to, &stat);
    }
    result.map(drop)
}

/// Writes the name of an object, and its length.
pub(super) fn name(caller: &Caller, to: (*mut c_char, *mut c_int), name: &Text) -> Out {
    let written = caller.write_text(to.0, MPI_MAX_OBJECT_NAME as usize, name)?;
    caller.write(to.1, written as c_int)
}

/// A truth value.
pub(super) fn flag(holds: bool) -> c_int {
    holds.into()
}

/// An array of as many elements as a count says.
pub(super) fn array<T: Copy>(caller: &Caller, from: *const T, number: c_int) -> Out<Vec<T>> {
    caller.array(from, count(number, "the count")?)
}

/// A function that was passed.
pub(super) fn function<F>(function: Option<F>) -> Out<F> {
    function.ok_or_else(|| failure(MPI_ERR_ARG, "the function is a null pointer"))
}
