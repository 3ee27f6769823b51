//! Operators of reductions.

use std::ffi::{c_int, c_void};

use super::arguments::{fold, function as required, place};
use crate::abi::*;
use crate::op::{self, Function};

super::calls! {
    fn MPI_Op_create(function: Option<MPI_User_function>, commute: c_int, op: *mut MPI_Op) |rank, caller| {
        let made = op::create(rank, Function::Small(required(function)?), commute != 0);
        caller.write(op, made)
    }
    fn MPI_Op_free(op: *mut MPI_Op) |rank, caller| {
        op::free(rank, caller.read(op)?)?;
        caller.write(op, MPI_OP_NULL)
    }
    fn MPI_Op_commutative(op: MPI_Op, commute: *mut c_int) |rank, caller| {
        let operator = op::of(rank, op)?;
        caller.write(commute, op::commutes(&operator))
    }
    fn MPI_Reduce_local(inbuf: *const c_void, inoutbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op) |rank, caller| {
        let fold = fold(rank, op, datatype)?;
        let (input, inout) = (place(inbuf, count, datatype)?, place(inoutbuf, count, datatype)?);
        op::reduce_local(caller, &fold, &input.buffer(), &inout.buffer())
    }
}
