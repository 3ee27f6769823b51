//! Probes and matched probes.

use std::ffi::{c_int, c_void};

use super::arguments::{flag, received, status as tell};
use super::sizes::place;
use crate::abi::*;
use crate::error::{Out, failure};
use crate::matched;
use crate::memory::Caller;
use crate::p2p::{self, From};
use crate::rank::Rank;
use crate::request::{Pending, keep};
use crate::stat::Stat;

/// Tells whether there is a message, and of which.
fn found(
    rank: &Rank,
    caller: &Caller,
    to: *mut c_int,
    stat: Option<&Stat>,
    status: *mut MPI_Status,
) -> Out {
    caller.write(to, flag(stat.is_some()))?;
    let Some(stat) = stat else {
        return rank.asked_in_vain();
    };
    tell(caller, status, stat);
    Ok(())
}

/// Receives the message of a matched probe, and takes its handle.
pub(super) fn receive(
    rank: &Rank,
    caller: &Caller,
    (buf, count, datatype): (*mut c_void, impl Into<i64>, MPI_Datatype),
    message: *mut MPI_Message,
) -> Out<Stat> {
    let handle = caller.read(message)?;
    let into = rank.blame(matched::on(rank, handle), place(buf, count, datatype))?;
    let stat = matched::matched_recv(rank, caller, &into.buffer(), handle);
    caller.write(message, MPI_MESSAGE_NULL)?;
    stat
}

/// The operation of a receive of a matched message, which is here already. Who waits for it learns that the message does
/// not fit.
pub(super) fn arrived(rank: &Rank, received: Out<Stat>) -> Out<Pending> {
    match received {
        Err(error) if error.stat.is_none() => Err(error),
        received => {
            let on = rank.errors.blamed.take();
            Ok(Pending {
                on,
                ..Pending::ended(received)
            })
        }
    }
}

super::calls! {
    fn MPI_Probe(source: c_int, tag: c_int, comm: MPI_Comm, status: *mut MPI_Status) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let stat = p2p::probe(From::new(&on, source, tag)?, &on)?;
        tell(caller, status, &stat);
        Ok(())
    }
    fn MPI_Iprobe(source: c_int, tag: c_int, comm: MPI_Comm, there: *mut c_int, status: *mut MPI_Status) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let stat = p2p::iprobe(rank, From::new(&on, source, tag)?, &on)?;
        found(rank, caller, there, stat.as_ref(), status)
    }
    fn MPI_Mprobe(source: c_int, tag: c_int, comm: MPI_Comm, message: *mut MPI_Message, status: *mut MPI_Status) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let taken = matched::matched_probe(rank, From::new(&on, source, tag)?, &on, true)?;
        let (handle, stat) = taken.ok_or_else(|| failure(MPI_ERR_INTERN, "a probe that waits found no message"))?;
        tell(caller, status, &stat);
        caller.write(message, handle)
    }
    fn MPI_Improbe(source: c_int, tag: c_int, comm: MPI_Comm, there: *mut c_int, message: *mut MPI_Message, status: *mut MPI_Status) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let taken = matched::matched_probe(rank, From::new(&on, source, tag)?, &on, false)?;
        found(rank, caller, there, taken.as_ref().map(|(_, stat)| stat), status)?;
        match taken {
            Some((handle, _)) => caller.write(message, handle),
            None => Ok(()),
        }
    }
    fn MPI_Mrecv(buf: *mut c_void, count: c_int, datatype: MPI_Datatype, message: *mut MPI_Message, status: *mut MPI_Status) |rank, caller| {
        let stat = receive(rank, caller, (buf, count, datatype), message);
        received(caller, status, stat)
    }
    fn MPI_Imrecv(buf: *mut c_void, count: c_int, datatype: MPI_Datatype, message: *mut MPI_Message, request: *mut MPI_Request) |rank, caller| {
        // The message is here already.
        let received = receive(rank, caller, (buf, count, datatype), message);
        caller.write(request, keep(rank, arrived(rank, received)?))
    }
}
