//! All-reduce: the engine does those of numbers by itself; others are plans, as all reductions are when they are started.

use std::ffi::{c_int, c_void};

use super::arguments::fold;
use super::persistent;
use super::reductions::{at_once, to_all};
use crate::abi::*;
use crate::arithmetic::Arithmetic;
use crate::collective::same;
use crate::comm::Communicator;
use crate::error::{Out, require};
use crate::memory::Caller;
use crate::numbers::Call;
use crate::p2p::buffer;
use crate::rank::Rank;
use crate::reduction::Prefix;

type Arguments = (*const c_void, *mut c_void, c_int, MPI_Datatype, MPI_Op);

fn all_reduce(rank: &Rank, caller: &Caller, on: &Communicator, arguments: Arguments) -> Out {
    let (sendbuf, recvbuf, count, datatype, op) = arguments;
    let fold = fold(rank, op, datatype)?;
    let Some(arithmetic) = Arithmetic::of(&fold) else {
        if let Some(done) = at_once(
            caller,
            on,
            Call::AllReduce,
            &fold,
            (sendbuf, recvbuf, count),
        )? {
            return Ok(done);
        }
        let maker = to_all(rank, Prefix::All, (sendbuf, recvbuf), (count, datatype, op))?;
        return persistent::call(rank, caller, on, &maker);
    };
    let into = buffer(recvbuf, count, &fold.of)?;
    let send = match sendbuf.cast_mut() {
        MPI_IN_PLACE => None,
        from => Some(buffer(from, count, &fold.of)?),
    };
    require(
        !send.is_some_and(|send| send.is_at(&into)),
        MPI_ERR_BUFFER,
        same,
    )?;
    arithmetic.all_reduce(caller, on, send, into)
}

super::calls! {
    fn MPI_Allreduce(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        all_reduce(rank, caller, &on, (sendbuf, recvbuf, count, datatype, op))
    }
    fn MPI_Iallreduce(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let maker = to_all(rank, Prefix::All, (sendbuf, recvbuf), (count, datatype, op))?;
        persistent::start(rank, caller, &on, &maker, request)
    }
    fn MPI_Allreduce_init(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        super::infos::check(rank, info)?;
        let maker = to_all(rank, Prefix::All, (sendbuf, recvbuf), (count, datatype, op))?;
        persistent::init(rank, caller, &on, maker, request)
    }
}
