//! Messages with large counts, all-reduces with them, and accesses to windows.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use super::arguments::{fold, received};
use super::messages::exchange;
use super::persistent;
use super::reductions::{at_once, to_all};
use super::sizes::place;
use crate::abi::*;
use crate::memory::Caller;
use crate::numbers::Call;
use crate::p2p::{self, From, Mode, To};
use crate::rank::Rank;
use crate::reduction::Prefix;
use crate::request::{Pending, keep, keep_persistent};

macro_rules! messages {
    ($($name:ident $started:ident $persistent:ident $mode:ident;)*) => {
        super::calls! {
            $(fn $name(buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm) on comm |rank, caller| {
                let on = rank.comm(comm)?;
                let (data, to) = (place(buf, count, datatype)?, To::new(&on, dest, tag)?);
                p2p::send(rank, caller, Mode::$mode, &data.buffer(), to, &on)
            }
            fn $started(buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm |rank, caller| {
                let on = rank.comm(comm)?;
                let (data, to) = (place(buf, count, datatype)?, To::new(&on, dest, tag)?);
                let sent = p2p::isend(rank, caller, Mode::$mode, &data.buffer(), to, &on)?;
                caller.write(request, keep(rank, sent))
            }
            fn $persistent(buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm |rank, caller| {
                let on = rank.comm(comm)?;
                let (data, to) = (place(buf, count, datatype)?, To::new(&on, dest, tag)?);
                let start = move |rank: &Rank, caller: &Caller| {
                    p2p::isend(rank, caller, Mode::$mode, &data.buffer(), to, &on)
                };
                caller.write(request, keep_persistent(rank, comm, Rc::new(start)))
            })*
            fn MPI_Recv_c(buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm, status: *mut MPI_Status) on comm |rank, caller| {
                let on = rank.comm(comm)?;
                let into = place(buf, count, datatype)?;
                let stat = p2p::recv(rank, caller, &into.buffer(), From::new(&on, source, tag)?, &on);
                received(caller, status, stat)
            }
            fn MPI_Irecv_c(buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm |rank, caller| {
                let on = rank.comm(comm)?;
                let (into, from) = (place(buf, count, datatype)?, From::new(&on, source, tag)?);
                let coming = p2p::irecv(into.at, into.count, into.of, from, &on)?;
                caller.write(request, keep(rank, coming))
            }
            fn MPI_Recv_init_c(buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm |rank, caller| {
                let on = rank.comm(comm)?;
                let (into, from) = (place(buf, count, datatype)?, From::new(&on, source, tag)?);
                let start = move |_: &Rank, _: &Caller| p2p::irecv(into.at, into.count, into.of.clone(), from, &on);
                caller.write(request, keep_persistent(rank, comm, Rc::new(start)))
            }
            fn MPI_Sendrecv_c(
                sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int, recvbuf: *mut c_void,
                recvcount: MPI_Count, recvtype: MPI_Datatype, source: c_int, recvtag: c_int, comm: MPI_Comm, status: *mut MPI_Status,
            ) on comm |rank, caller| {
                let (data, into) = (place(sendbuf, sendcount, sendtype)?, place(recvbuf, recvcount, recvtype)?);
                let (coming, sent) = exchange(rank, caller, comm, (data, dest, sendtag), (into, source, recvtag))?;
                received(caller, status, Pending::wait_both(coming, sent, rank, caller))
            }
            fn MPI_Get_count_c(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut MPI_Count) |_, caller| {
                let (bytes, of) = (crate::status::bytes_of(caller, status)?, crate::datatype::of(datatype)?);
                let whole = match of.size {
                    0 => (bytes == 0).then_some(0),
                    size => bytes.is_multiple_of(size).then_some(bytes / size),
                };
                caller.write(count, whole.map_or(MPI_UNDEFINED.into(), |whole| whole as MPI_Count))
            }
            fn MPI_Allreduce_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm) on comm |rank, caller| {
                let on = rank.comm(comm)?;
                let by = fold(rank, op, datatype)?;
                if let Some(done) = at_once(caller, &on, Call::AllReduce, &by, (sendbuf, recvbuf, count))? {
                    return Ok(done);
                }
                let maker = to_all(rank, Prefix::All, (sendbuf, recvbuf), (count, datatype, op))?;
                persistent::call(rank, caller, &on, &maker)
            }
            fn MPI_Iallreduce_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request) on comm |rank, caller| {
                let on = rank.comm(comm)?;
                let maker = to_all(rank, Prefix::All, (sendbuf, recvbuf), (count, datatype, op))?;
                persistent::start(rank, caller, &on, &maker, request)
            }
            fn MPI_Allreduce_init_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) on comm |rank, caller| {
                let on = rank.comm(comm)?;
                super::infos::check(rank, info)?;
                let maker = to_all(rank, Prefix::All, (sendbuf, recvbuf), (count, datatype, op))?;
                persistent::init(rank, caller, &on, maker, request)
            }
        }
    };
}

messages! {
    MPI_Send_c MPI_Isend_c MPI_Send_init_c Standard;
    MPI_Bsend_c MPI_Ibsend_c MPI_Bsend_init_c Buffered;
    MPI_Ssend_c MPI_Issend_c MPI_Ssend_init_c Synchronous;
    MPI_Rsend_c MPI_Irsend_c MPI_Rsend_init_c Ready;
}
