//! Further calls with large counts: combined messages, matched receives, operators, packing, buffers and windows.

use std::ffi::{c_int, c_void};

use super::arguments::{fold, function, received};
use super::buffers::{attach, detach, of_comm, of_session};
use super::infos::check as check_info;
use super::matched::{arrived, receive};
use super::messages::exchange;
use super::reductions::check_count;
use super::sizes::place;
use super::{further, packing, windows};
use crate::abi::*;
use crate::buffered::OF_RANK;
use crate::error::Out;
use crate::memory::Caller;
use crate::op::{self, Function};
use crate::p2p::{self, From, Mode, To};
use crate::rank::Rank;
use crate::request::{Pending, keep};
use crate::window::{self, Offer};

/// A message that replaces the elements that are sent: what receives it, and what sends them.
fn replaced(
    rank: &Rank,
    caller: &Caller,
    (buf, count, datatype): (*mut c_void, MPI_Count, MPI_Datatype),
    (dest, sendtag, source, recvtag): (c_int, c_int, c_int, c_int),
    comm: MPI_Comm,
) -> Out<(Pending, Pending)> {
    let on = rank.comm(comm)?;
    let data = place(buf, count, datatype)?;
    let (to, from) = (
        To::new(&on, dest, sendtag)?,
        From::new(&on, source, recvtag)?,
    );
    // The elements are copied before anything is received.
    let sent = p2p::isend(rank, caller, Mode::Standard, &data.buffer(), to, &on)?;
    let coming = p2p::irecv(data.at, data.count, data.of.clone(), from, &on)?;
    Ok((coming, sent))
}

super::calls! {
    fn MPI_Sendrecv_replace_c(
        buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, sendtag: c_int, source: c_int, recvtag: c_int,
        comm: MPI_Comm, status: *mut MPI_Status,
    ) on comm |rank, caller| {
        let (coming, sent) = replaced(rank, caller, (buf, count, datatype), (dest, sendtag, source, recvtag), comm)?;
        received(caller, status, Pending::wait_both(coming, sent, rank, caller))
    }
    fn MPI_Isendrecv_c(
        sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int, recvbuf: *mut c_void,
        recvcount: MPI_Count, recvtype: MPI_Datatype, source: c_int, recvtag: c_int, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm |rank, caller| {
        let (data, into) = (place(sendbuf, sendcount, sendtype)?, place(recvbuf, recvcount, recvtype)?);
        let (coming, sent) = exchange(rank, caller, comm, (data, dest, sendtag), (into, source, recvtag))?;
        caller.write(request, keep(rank, further::both(coming, sent)))
    }
    fn MPI_Isendrecv_replace_c(
        buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, sendtag: c_int, source: c_int, recvtag: c_int,
        comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm |rank, caller| {
        let (coming, sent) = replaced(rank, caller, (buf, count, datatype), (dest, sendtag, source, recvtag), comm)?;
        caller.write(request, keep(rank, further::both(coming, sent)))
    }
    fn MPI_Mrecv_c(buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, message: *mut MPI_Message, status: *mut MPI_Status) |rank, caller| {
        received(caller, status, receive(rank, caller, (buf, count, datatype), message))
    }
    fn MPI_Imrecv_c(buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, message: *mut MPI_Message, request: *mut MPI_Request) |rank, caller| {
        let received = receive(rank, caller, (buf, count, datatype), message);
        caller.write(request, keep(rank, arrived(rank, received)?))
    }
    fn MPI_Buffer_attach_c(buffer: *mut c_void, size: MPI_Count) |rank, _| {
        attach(rank, OF_RANK, buffer, size)
    }
    fn MPI_Buffer_detach_c(buffer_addr: *mut c_void, size: *mut MPI_Count) |rank, caller| {
        detach(rank, caller, OF_RANK, buffer_addr, |room| caller.write(size, room as MPI_Count))
    }
    fn MPI_Comm_attach_buffer_c(comm: MPI_Comm, buffer: *mut c_void, size: MPI_Count) on comm |rank, _| {
        attach(rank, of_comm(rank, comm)?, buffer, size)
    }
    fn MPI_Comm_detach_buffer_c(comm: MPI_Comm, buffer_addr: *mut c_void, size: *mut MPI_Count) on comm |rank, caller| {
        detach(rank, caller, of_comm(rank, comm)?, buffer_addr, |room| caller.write(size, room as MPI_Count))
    }
    fn MPI_Session_attach_buffer_c(session: MPI_Session, buffer: *mut c_void, size: MPI_Count) on session |rank, _| {
        attach(rank, of_session(rank, session)?, buffer, size)
    }
    fn MPI_Session_detach_buffer_c(session: MPI_Session, buffer_addr: *mut c_void, size: *mut MPI_Count) on session |rank, caller| {
        detach(rank, caller, of_session(rank, session)?, buffer_addr, |room| caller.write(size, room as MPI_Count))
    }
    fn MPI_Op_create_c(user_fn: Option<MPI_User_function_c>, commute: c_int, op: *mut MPI_Op) |rank, caller| {
        let made = op::create(rank, Function::Large(function(user_fn)?), commute != 0);
        caller.write(op, made)
    }
    fn MPI_Reduce_local_c(inbuf: *const c_void, inoutbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, op: MPI_Op) |rank, caller| {
        let fold = fold(rank, op, datatype)?;
        check_count(&fold, count)?;
        let (input, inout) = (place(inbuf, count, datatype)?, place(inoutbuf, count, datatype)?);
        op::reduce_local(caller, &fold, &input.buffer(), &inout.buffer())
    }
    fn MPI_Pack_size_c(incount: MPI_Count, datatype: MPI_Datatype, comm: MPI_Comm, size: *mut MPI_Count) on comm |rank, caller| {
        rank.comm(comm)?;
        caller.write(size, packing::size(incount, datatype)? as MPI_Count)
    }
    fn MPI_Pack_c(inbuf: *const c_void, incount: MPI_Count, datatype: MPI_Datatype, outbuf: *mut c_void, outsize: MPI_Count, position: *mut MPI_Count, comm: MPI_Comm) on comm |rank, caller| {
        rank.comm(comm)?;
        packing::pack(caller, (inbuf, incount, datatype), (outbuf, outsize), position)
    }
    fn MPI_Unpack_c(inbuf: *const c_void, insize: MPI_Count, position: *mut MPI_Count, outbuf: *mut c_void, outcount: MPI_Count, datatype: MPI_Datatype, comm: MPI_Comm) on comm |rank, caller| {
        rank.comm(comm)?;
        packing::unpack(caller, (inbuf, insize), position, (outbuf, outcount, datatype))
    }
    fn MPI_Win_create_c(base: *mut c_void, size: MPI_Aint, disp_unit: MPI_Aint, info: MPI_Info, comm: MPI_Comm, win: *mut MPI_Win) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        check_info(rank, info)?;
        let offer = Offer::new(MPI_WIN_FLAVOR_CREATE, base.expose_provenance(), size, disp_unit as i64)?;
        caller.write(win, window::create(rank, &on, &offer)?.0)
    }
    fn MPI_Win_allocate_c(size: MPI_Aint, disp_unit: MPI_Aint, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void, win: *mut MPI_Win) on comm |rank, caller| {
        let offer = Offer::new(MPI_WIN_FLAVOR_ALLOCATE, 0, size, disp_unit as i64)?;
        windows::allocate(rank, caller, (comm, info), offer, (baseptr, win))
    }
    fn MPI_Win_allocate_shared_c(size: MPI_Aint, disp_unit: MPI_Aint, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void, win: *mut MPI_Win) on comm |rank, caller| {
        let offer = Offer::new(MPI_WIN_FLAVOR_SHARED, 0, size, disp_unit as i64)?;
        windows::allocate(rank, caller, (comm, info), offer, (baseptr, win))
    }
    fn MPI_Win_shared_query_c(win: MPI_Win, target: c_int, size: *mut MPI_Aint, disp_unit: *mut MPI_Aint, baseptr: *mut c_void) on win |rank, caller| {
        let (bytes, unit, base) = rank.win(win)?.query(target)?;
        let base: *mut c_void = std::ptr::with_exposed_provenance_mut(base);
        caller.write(size, bytes)?;
        caller.write(disp_unit, unit as MPI_Aint)?;
        caller.write(baseptr.cast::<*mut c_void>(), base)
    }
}
