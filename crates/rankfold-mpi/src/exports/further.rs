//! Send and receive in one started call, parts of statuses, and looks at several requests.

use std::ffi::{c_int, c_void};

use super::arguments::{array, flag, place, received};
use super::messages::exchange;
use super::requests::{Results, settle, some};
use crate::abi::*;
use crate::error::failure;
use crate::memory::Caller;
use crate::p2p::{self, From, Mode, To};
use crate::rank::Rank;
use crate::request::{self, Pending, keep};
use crate::stat::Stat;
use crate::status::{ERROR, SOURCE, TAG};

/// A receive and a send as one operation, which gives what the receive gives.
pub(super) fn both(mut coming: Pending, sent: Pending) -> Pending {
    let further = sent.open.len();
    coming.open.extend(sent.open);
    let first = coming.over.len();
    coming.places.extend(first..first + further);
    coming.over.extend((0..further).map(|_| None));
    coming
}

/// What those of some requests give that are over, failures too, with their places.
fn looks(
    rank: &Rank,
    caller: &Caller,
    places: impl IntoIterator<Item = usize>,
    requests: &[MPI_Request],
) -> Results {
    let look = |at: usize| {
        let looked = request::look(rank, caller, requests[at]);
        looked.transpose().map(|result| (at, result))
    };
    places.into_iter().filter_map(look).collect()
}

super::calls! {
    fn MPI_Isendrecv(
        sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int, recvbuf: *mut c_void, recvcount: c_int,
        recvtype: MPI_Datatype, source: c_int, recvtag: c_int, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm |rank, caller| {
        let (data, into) = (place(sendbuf, sendcount, sendtype)?, place(recvbuf, recvcount, recvtype)?);
        let (coming, sent) = exchange(rank, caller, comm, (data, dest, sendtag), (into, source, recvtag))?;
        caller.write(request, keep(rank, both(coming, sent)))
    }
    fn MPI_Isendrecv_replace(
        buf: *mut c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, sendtag: c_int, source: c_int, recvtag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let data = place(buf, count, datatype)?;
        let (to, from) = (To::new(&on, dest, sendtag)?, From::new(&on, source, recvtag)?);
        // The elements are copied before anything is received.
        let sent = p2p::isend(rank, caller, Mode::Standard, &data.buffer(), to, &on)?;
        let coming = p2p::irecv(data.at, data.count, data.of.clone(), from, &on)?;
        caller.write(request, keep(rank, both(coming, sent)))
    }
    fn MPI_Request_get_status_all(count: c_int, requests: *const MPI_Request, there: *mut c_int, statuses: *mut MPI_Status) |rank, caller| {
        let handles = array(caller, requests, count)?;
        // Unknown handles are found before any is looked at.
        for at in request::active(rank, &handles)? {
            if !request::is_done(rank, handles[at])? {
                caller.write(there, flag(false))?;
                return rank.asked_in_vain();
            }
        }
        caller.write(there, flag(true))?;
        settle(caller, statuses, looks(rank, caller, 0..handles.len(), &handles))
    }
    fn MPI_Request_get_status_any(count: c_int, requests: *const MPI_Request, index: *mut c_int, there: *mut c_int, status: *mut MPI_Status) |rank, caller| {
        let handles = array(caller, requests, count)?;
        let active = request::active(rank, &handles)?;
        let found = active.iter().find_map(|at| looks(rank, caller, [*at], &handles).pop());
        let over = found.is_some() || active.is_empty();
        caller.write(there, flag(over))?;
        if !over {
            rank.asked_in_vain()?;
        }
        let (at, stat) = found.map_or((MPI_UNDEFINED, Ok(Stat::EMPTY)), |(at, stat)| (at as c_int, stat));
        caller.write(index, at)?;
        received(caller, status, stat)
    }
    fn MPI_Request_get_status_some(
        incount: c_int, requests: *const MPI_Request, outcount: *mut c_int, indices: *mut c_int, statuses: *mut MPI_Status,
    ) |rank, caller| {
        let handles = array(caller, requests, incount)?;
        let active = request::active(rank, &handles)?;
        let done = (!active.is_empty()).then(|| looks(rank, caller, active, &handles));
        let vain = done.as_ref().is_some_and(Vec::is_empty);
        some(caller, done, (outcount, indices, statuses))?;
        if vain { rank.asked_in_vain() } else { Ok(()) }
    }
    fn MPI_Status_get_source(status: *const MPI_Status, source: *mut c_int) |_, caller| {
        caller.write(source, caller.part(status, SOURCE)?)
    }
    fn MPI_Status_get_tag(status: *const MPI_Status, tag: *mut c_int) |_, caller| {
        caller.write(tag, caller.part(status, TAG)?)
    }
    fn MPI_Status_get_error(status: *const MPI_Status, error: *mut c_int) |_, caller| {
        caller.write(error, caller.part(status, ERROR)?)
    }
    fn MPI_Status_set_source(status: *mut MPI_Status, source: c_int) |_, caller| {
        caller.write_part(status, SOURCE, source)
    }
    fn MPI_Status_set_tag(status: *mut MPI_Status, tag: c_int) |_, caller| {
        caller.write_part(status, TAG, tag)
    }
    fn MPI_Status_set_error(status: *mut MPI_Status, error: c_int) |_, caller| {
        caller.write_part(status, ERROR, error)
    }
    fn MPI_Comm_idup_with_info(comm: MPI_Comm, info: MPI_Info, newcomm: *mut MPI_Comm, request: *mut MPI_Request) on comm |rank, caller| {
        super::infos::check(rank, info)?;
        caller.write(newcomm, MPI_COMM_NULL)?;
        caller.write(newcomm, crate::comm::idup(rank, caller, comm)?)?;
        caller.write(request, keep(rank, Pending::done(Stat::EMPTY)))
    }
    fn MPI_Abi_get_version(abi_major: *mut c_int, abi_minor: *mut c_int) |_, caller| {
        caller.write(abi_major, 1)?;
        caller.write(abi_minor, 0)
    }
    fn MPI_Type_match_size(typeclass: c_int, size: c_int, datatype: *mut MPI_Datatype) |_, caller| {
        let found = match (typeclass, size) {
            (MPI_TYPECLASS_INTEGER, 1) => MPI_INT8_T,
            (MPI_TYPECLASS_INTEGER, 2) => MPI_INT16_T,
            (MPI_TYPECLASS_INTEGER, 4) => MPI_INT32_T,
            (MPI_TYPECLASS_INTEGER, 8) => MPI_INT64_T,
            (MPI_TYPECLASS_REAL, 4) => MPI_FLOAT,
            (MPI_TYPECLASS_REAL, 8) => MPI_DOUBLE,
            (MPI_TYPECLASS_REAL, 16) => MPI_LONG_DOUBLE,
            (MPI_TYPECLASS_COMPLEX, 8) => MPI_C_FLOAT_COMPLEX,
            (MPI_TYPECLASS_COMPLEX, 16) => MPI_C_DOUBLE_COMPLEX,
            (MPI_TYPECLASS_COMPLEX, 32) => MPI_C_LONG_DOUBLE_COMPLEX,
            _ => return Err(failure(MPI_ERR_ARG, format!("there is no datatype of class {typeclass} with {size} bytes"))),
        };
        caller.write(datatype, found)
    }
}
