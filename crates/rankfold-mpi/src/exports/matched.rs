//! Probes, matched probes, and the buffer of buffered sends.

use std::ffi::{c_int, c_void};

use super::arguments::{flag, received, status as tell};
use super::sizes::{counted, place};
use crate::abi::*;
use crate::detached::{self, Sending};
use crate::error::{Out, failure, require};
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

/// Attaches the buffer of buffered sends.
pub(super) fn attach(rank: &Rank, buffer: *mut c_void, size: MPI_Count) -> Out {
    let size = counted(size, "the size of the buffer")?;
    require(rank.buffer.get().is_none(), MPI_ERR_BUFFER, || {
        "a buffer is attached already".into()
    })?;
    let room = match buffer {
        MPI_BUFFER_AUTOMATIC => usize::MAX,
        _ => size,
    };
    rank.buffer.set(Some((buffer.cast(), room)));
    Ok(())
}

/// Takes the messages that have not left the attached buffer, which must be there.
pub(super) fn unsent(rank: &Rank) -> Out<Vec<Sending>> {
    match rank.buffer.get() {
        Some(_) => Ok(rank.buffered.take()),
        None => Err(failure(MPI_ERR_BUFFER, "no buffer is attached")),
    }
}

/// Detaches it, writes where it is, and returns its size, 0 if it is as large as is needed, and whether all messages have left
/// it, for which it waits in programs in C. In Rust ranks share statics, and the crate `mpi` detaches the buffer under a lock
/// of the process which other ranks take before they receive: the messages, which are copies, go on without their buffer.
pub(super) fn detach(rank: &Rank, caller: &Caller, to: *mut c_void) -> Out<(usize, Out)> {
    let sends = unsent(rank)?;
    let (at, room) = rank.buffer.take().unwrap_or((std::ptr::null_mut(), 0));
    let (open, waited) = match rank.shared.owns_datatypes {
        true => detached::wait_for(rank, sends),
        false => (sends, Ok(())),
    };
    detached::detach(rank, open);
    detached::sweep_detached(rank);
    caller.write(to.cast::<*mut u8>(), at)?;
    let is_automatic = at.cast() == MPI_BUFFER_AUTOMATIC;
    Ok((if is_automatic { 0 } else { room }, waited))
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
        let stat = p2p::iprobe(From::new(&on, source, tag)?, &on)?;
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
    fn MPI_Buffer_attach(buffer: *mut c_void, size: c_int) |rank, _| {
        attach(rank, buffer, size.into())
    }
    /// A program in C waits until messages have left the buffer, as a send of the standard mode would.
    fn MPI_Buffer_detach(buffer_addr: *mut c_void, size: *mut c_int) |rank, caller| {
        let (room, waited) = detach(rank, caller, buffer_addr)?;
        caller.write(size, room as c_int)?;
        waited
    }
}
