//! Buffered sends, and the buffers that the program attaches for them: to a communicator, to a session, and to the rank.
//!
//! Messages are copies of their own. A buffer has an address, which is given back, and a length, which they share.

use std::ffi::c_void;

use rankfold::Comm;

use crate::abi::*;
use crate::comm::Communicator;
use crate::detached::{self, Sending};
use crate::error::{Out, failure, require};
use crate::memory::Byte;
use crate::rank::Rank;
use crate::request::RequestPart;

/// Whose buffer that of `MPI_Buffer_attach` is; the others are those of the handles of communicators and sessions.
pub(crate) const OF_RANK: usize = 0;

/// An attached buffer.
pub(crate) struct Attached {
    at: *mut c_void,
    room: usize,
}

/// Sends a message from the buffer that serves its communicator, where it has its place until it has left.
pub(crate) fn send(
    rank: &Rank,
    message: Vec<Byte>,
    (peer, tag): (usize, u32),
    (comm, of): (&Comm, &Communicator),
) -> Out {
    let bytes = message.len() + MPI_BSEND_OVERHEAD as usize;
    let within = reserve(rank, of, bytes)?;
    let request = comm.isend(peer, tag, message)?.map(|_| RequestPart::Sent);
    let on = of.handle.get();
    rank.buffered.borrow_mut().push(Sending {
        request,
        on,
        within,
        bytes,
    });
    sweep(rank);
    Ok(())
}

/// Whose buffer serves a communicator: its own, that of the session that it is from, or that of the rank. It must hold a
/// message beside those that have not left it.
fn reserve(rank: &Rank, comm: &Communicator, needed: usize) -> Out<usize> {
    let whose = [comm.handle.get(), comm.session.get(), OF_RANK];
    let buffers = rank.buffers.borrow();
    let found = whose
        .iter()
        .find_map(|of| Some((*of, buffers.get(of)?.room)));
    let (of, room) = found.ok_or_else(|| {
        let none = "no buffer was attached by MPI_Buffer_attach, nor one to the communicator or its session";
        failure(MPI_ERR_BUFFER, none)
    })?;
    let used = used(rank, of);
    require(needed <= room.saturating_sub(used), MPI_ERR_BUFFER, || {
        let others = match used {
            0 => String::new(),
            _ => format!(", of which {used} hold messages that have not been received"),
        };
        format!(
            "the attached buffer has {room} bytes{others}, and the message needs {needed}, with MPI_BSEND_OVERHEAD"
        )
    })?;
    Ok(of)
}

/// Forgets the messages that have left their buffers.
fn sweep(rank: &Rank) {
    let mut buffered = rank.buffered.take();
    buffered.retain_mut(Sending::is_open);
    rank.buffered.borrow_mut().extend(buffered);
}

/// How much of a buffer is taken by messages that have not left it.
fn used(rank: &Rank, of: usize) -> usize {
    sweep(rank);
    let buffered = rank.buffered.borrow();
    let within = buffered.iter().filter(|it| it.within == of);
    within.map(|it| it.bytes).sum()
}

pub(crate) fn attach(rank: &Rank, of: usize, at: *mut c_void, size: usize) -> Out {
    let mut buffers = rank.buffers.borrow_mut();
    require(!buffers.contains_key(&of), MPI_ERR_BUFFER, || {
        "a buffer is attached already".into()
    })?;
    let room = match at {
        MPI_BUFFER_AUTOMATIC => usize::MAX,
        _ => size,
    };
    buffers.insert(of, Attached { at, room });
    Ok(())
}

/// Takes the messages that have not left an attached buffer, which must be there.
pub(crate) fn unsent(rank: &Rank, of: usize) -> Out<Vec<Sending>> {
    let there = rank.buffers.borrow().contains_key(&of);
    require(there, MPI_ERR_BUFFER, || "no buffer is attached".into())?;
    Ok(taken(rank, of))
}

fn taken(rank: &Rank, of: usize) -> Vec<Sending> {
    let mut buffered = rank.buffered.borrow_mut();
    buffered.extract_if(.., |it| it.within == of).collect()
}

/// Waits until all messages have left a buffer.
pub(crate) fn flush(rank: &Rank, of: usize) -> Out {
    let (open, waited) = detached::wait_for(rank, unsent(rank, of)?);
    rank.buffered.borrow_mut().extend(open);
    waited
}

/// A buffer that was detached.
pub(crate) struct Detached {
    pub at: *mut c_void,
    /// 0 if it was as large as needed.
    pub size: usize,
    /// Whether all messages have left it.
    pub waited: Out,
}

/// Detaches a buffer, and waits until all messages have left it, in programs in C. In Rust ranks share statics, and the crate
/// `mpi` detaches the buffer under a lock of the process which other ranks take before they receive: the messages go on
/// without their buffer.
pub(crate) fn detach(rank: &Rank, of: usize) -> Out<Detached> {
    let sends = unsent(rank, of)?;
    let gone = rank.buffers.borrow_mut().remove(&of);
    let Attached { at, room } = gone.expect("it was there when its messages were taken");
    let (open, waited) = match rank.shared.owns_datatypes {
        true => detached::wait_for(rank, sends),
        false => (sends, Ok(())),
    };
    detached::detach(rank, open);
    detached::sweep_detached(rank);
    let size = if at == MPI_BUFFER_AUTOMATIC { 0 } else { room };
    Ok(Detached { at, size, waited })
}

/// Forgets the buffer of a communicator that is freed, or of a session that ends; its messages go on.
pub(crate) fn forget(rank: &Rank, of: usize) {
    if rank.buffers.borrow_mut().remove(&of).is_some() {
        detached::detach(rank, taken(rank, of));
    }
}
