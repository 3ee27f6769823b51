//! Sends and receives, blocking and started.

use std::ffi::{c_int, c_void};

use super::arguments::{place, received};
use crate::abi::*;
use crate::datatype::pack::Place;
use crate::error::{Out, require};
use crate::memory::Caller;
use crate::p2p::{self, From, Mode, To};
use crate::rank::Rank;
use crate::request::{Pending, keep};

struct Envelope {
    peer: c_int,
    tag: c_int,
    comm: MPI_Comm,
}

#[inline(always)]
fn send(
    rank: &Rank,
    caller: &Caller,
    mode: Mode,
    (at, count, of): (*const c_void, c_int, MPI_Datatype),
    Envelope { peer, tag, comm }: Envelope,
) -> Out {
    let comm = rank.comm(comm)?;
    let data = place(at, count, of)?;
    p2p::send(
        rank,
        caller,
        mode,
        &data.buffer(),
        To::new(&comm, peer, tag)?,
        &comm,
    )
}

fn start(
    rank: &Rank,
    caller: &Caller,
    mode: Mode,
    (at, count, of): (*const c_void, c_int, MPI_Datatype),
    Envelope { peer, tag, comm }: Envelope,
) -> Out<Pending> {
    let comm = rank.comm(comm)?;
    let data = place(at, count, of)?;
    p2p::isend(
        rank,
        caller,
        mode,
        &data.buffer(),
        To::new(&comm, peer, tag)?,
        &comm,
    )
}

fn start_receive(
    rank: &Rank,
    (at, count, of): (*mut c_void, c_int, MPI_Datatype),
    Envelope { peer, tag, comm }: Envelope,
) -> Out<Pending> {
    let comm = rank.comm(comm)?;
    let into = place(at, count, of)?;
    let from = From::new(&comm, peer, tag)?;
    p2p::irecv(into.at, into.count, into.of, from, &comm)
}

macro_rules! sends {
    ($($name:ident $started:ident $mode:ident;)*) => {
        super::calls! {
            $(fn $name(buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm) on comm |rank, caller| {
                send(rank, caller, Mode::$mode, (buf, count, datatype), Envelope { peer: dest, tag, comm })
            }
            fn $started(buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm |rank, caller| {
                let started = start(rank, caller, Mode::$mode, (buf, count, datatype), Envelope { peer: dest, tag, comm })?;
                caller.write(request, keep(rank, started))
            })*
            fn MPI_Recv(buf: *mut c_void, count: c_int, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm, status: *mut MPI_Status) on comm |rank, caller| {
                let on = rank.comm(comm)?;
                let into = place(buf, count, datatype)?;
                let stat = p2p::recv(rank, caller, &into.buffer(), From::new(&on, source, tag)?, &on);
                received(caller, status, stat)
            }
            fn MPI_Irecv(buf: *mut c_void, count: c_int, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm |rank, caller| {
                let started = start_receive(rank, (buf, count, datatype), Envelope { peer: source, tag, comm })?;
                caller.write(request, keep(rank, started))
            }
            fn MPI_Sendrecv(
                sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int,
                recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype, source: c_int, recvtag: c_int,
                comm: MPI_Comm, status: *mut MPI_Status,
            ) on comm |rank, caller| {
                let (data, into) = (place(sendbuf, sendcount, sendtype)?, place(recvbuf, recvcount, recvtype)?);
                let (coming, sent) = exchange(rank, caller, comm, (data, dest, sendtag), (into, source, recvtag))?;
                both(rank, caller, coming, sent, status)
            }
            fn MPI_Sendrecv_replace(
                buf: *mut c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, sendtag: c_int, source: c_int,
                recvtag: c_int, comm: MPI_Comm, status: *mut MPI_Status,
            ) on comm |rank, caller| {
                let (to, from) = (Envelope { peer: dest, tag: sendtag, comm }, Envelope { peer: source, tag: recvtag, comm });
                // What is sent is packed before anything is received.
                let sent = start(rank, caller, Mode::Standard, (buf, count, datatype), to)?;
                let coming = start_receive(rank, (buf, count, datatype), from)?;
                both(rank, caller, coming, sent, status)
            }
        }
    };
}

/// Starts the receive and the send of a combined call: to a rank with a tag, from a rank with a tag.
pub(super) fn exchange(
    rank: &Rank,
    caller: &Caller,
    comm: MPI_Comm,
    (data, dest, sendtag): (Place, c_int, c_int),
    (into, source, recvtag): (Place, c_int, c_int),
) -> Out<(Pending, Pending)> {
    let on = rank.comm(comm)?;
    let (to, from) = (
        To::new(&on, dest, sendtag)?,
        From::new(&on, source, recvtag)?,
    );
    check_apart((&data, to), (&into, from))?;
    let coming = p2p::irecv(into.at, into.count, into.of, from, &on)?;
    let sent = p2p::isend(rank, caller, Mode::Standard, &data.buffer(), to, &on)?;
    Ok((coming, sent))
}

/// Refuses to receive into what is sent.
fn check_apart((data, to): (&Place, To), (into, from): (&Place, From)) -> Out {
    let is_same = to.0.is_some() && from.0.is_some() && data.is_at(into);
    require(!is_same, MPI_ERR_BUFFER, || {
        "the buffers that are sent and received are the same: call MPI_Sendrecv_replace".into()
    })
}

/// Waits for both halves of a combined call.
fn both(rank: &Rank, caller: &Caller, coming: Pending, sent: Pending, to: *mut MPI_Status) -> Out {
    received(caller, to, Pending::wait_both(coming, sent, rank, caller))
}

sends! {
    MPI_Send MPI_Isend Standard;
    MPI_Bsend MPI_Ibsend Buffered;
    MPI_Ssend MPI_Issend Synchronous;
    MPI_Rsend MPI_Irsend Ready;
}
