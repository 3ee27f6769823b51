//! The buffers of buffered sends: of the rank, of communicators, and of sessions.

use std::ffi::{c_int, c_void};

use super::sizes::counted;
use crate::abi::*;
use crate::buffered::{self, Detached, OF_RANK};
use crate::error::Out;
use crate::flush;
use crate::memory::Caller;
use crate::rank::Rank;

/// Whose the buffer of a communicator is.
pub(super) fn of_comm(rank: &Rank, comm: MPI_Comm) -> Out<usize> {
    Ok(rank.comm(comm)?.handle.get())
}

/// Whose the buffer of a session is.
pub(super) fn of_session(rank: &Rank, session: MPI_Session) -> Out<usize> {
    rank.session(session).map(|_| session.addr())
}

pub(super) fn attach(rank: &Rank, of: usize, at: *mut c_void, size: MPI_Count) -> Out {
    buffered::attach(rank, of, at, counted(size, "the size of the buffer")?)
}

/// Detaches a buffer, writes where it is, and has its size written.
pub(super) fn detach(
    rank: &Rank,
    caller: &Caller,
    of: usize,
    to: *mut c_void,
    write_size: impl FnOnce(usize) -> Out,
) -> Out {
    let Detached { at, size, waited } = buffered::detach(rank, of)?;
    caller.write(to.cast::<*mut c_void>(), at)?;
    write_size(size)?;
    waited
}

/// Starts a flush, whose request is complete once the messages have left that are in the buffer now.
fn start_flush(rank: &Rank, caller: &Caller, of: usize, request: *mut MPI_Request) -> Out {
    caller.write(request, flush::start(rank, of)?)
}

super::calls! {
    fn MPI_Buffer_attach(buffer: *mut c_void, size: c_int) |rank, _| {
        attach(rank, OF_RANK, buffer, size.into())
    }
    /// A program in C waits until messages have left the buffer, as a send of the standard mode would.
    fn MPI_Buffer_detach(buffer_addr: *mut c_void, size: *mut c_int) |rank, caller| {
        detach(rank, caller, OF_RANK, buffer_addr, |room| caller.write(size, room as c_int))
    }
    /// Returns once all buffered messages have left, for which it waits.
    fn MPI_Buffer_flush() |rank, _| {
        buffered::flush(rank, OF_RANK)
    }
    fn MPI_Buffer_iflush(request: *mut MPI_Request) |rank, caller| {
        start_flush(rank, caller, OF_RANK, request)
    }
    fn MPI_Comm_attach_buffer(comm: MPI_Comm, buffer: *mut c_void, size: c_int) on comm |rank, _| {
        attach(rank, of_comm(rank, comm)?, buffer, size.into())
    }
    fn MPI_Comm_detach_buffer(comm: MPI_Comm, buffer_addr: *mut c_void, size: *mut c_int) on comm |rank, caller| {
        detach(rank, caller, of_comm(rank, comm)?, buffer_addr, |room| caller.write(size, room as c_int))
    }
    fn MPI_Comm_flush_buffer(comm: MPI_Comm) on comm |rank, _| {
        buffered::flush(rank, of_comm(rank, comm)?)
    }
    fn MPI_Comm_iflush_buffer(comm: MPI_Comm, request: *mut MPI_Request) on comm |rank, caller| {
        start_flush(rank, caller, of_comm(rank, comm)?, request)
    }
    fn MPI_Session_attach_buffer(session: MPI_Session, buffer: *mut c_void, size: c_int) on session |rank, _| {
        attach(rank, of_session(rank, session)?, buffer, size.into())
    }
    fn MPI_Session_detach_buffer(session: MPI_Session, buffer_addr: *mut c_void, size: *mut c_int) on session |rank, caller| {
        detach(rank, caller, of_session(rank, session)?, buffer_addr, |room| caller.write(size, room as c_int))
    }
    fn MPI_Session_flush_buffer(session: MPI_Session) on session |rank, _| {
        buffered::flush(rank, of_session(rank, session)?)
    }
    fn MPI_Session_iflush_buffer(session: MPI_Session, request: *mut MPI_Request) on session |rank, caller| {
        start_flush(rank, caller, of_session(rank, session)?, request)
    }
}
