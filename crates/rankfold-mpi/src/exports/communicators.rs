//! Communicators: what they are, and how they are made from others.

use std::ffi::{c_char, c_int, c_void};

use super::arguments::flag;
use crate::abi::*;
use crate::comm;
use crate::error::{Out, failure};
use crate::group;
use crate::memory::Caller;
use crate::rank::Rank;
use crate::request::{Pending, keep};
use crate::stat::Stat;

/// Frees a communicator. What its attributes' functions refuse is an error on it.
fn free(
    rank: &Rank,
    caller: &Caller,
    comm: *mut MPI_Comm,
    how: fn(&Rank, &Caller, MPI_Comm) -> Out,
) -> Out {
    let of = caller.read(comm)?;
    rank.blame(of.addr(), how(rank, caller, of))?;
    caller.write(comm, MPI_COMM_NULL)
}

super::calls! {
    fn MPI_Comm_size(comm: MPI_Comm, size: *mut c_int) on comm |rank, caller| {
        caller.write(size, rank.comm(comm)?.comm.size() as c_int)
    }
    fn MPI_Comm_rank(comm: MPI_Comm, number: *mut c_int) on comm |rank, caller| {
        caller.write(number, rank.comm(comm)?.comm.rank() as c_int)
    }
    fn MPI_Comm_compare(comm1: MPI_Comm, comm2: MPI_Comm, result: *mut c_int) on comm1 |rank, caller| {
        caller.write(result, comm::compare(rank, comm1, comm2)?)
    }
    fn MPI_Comm_group(comm: MPI_Comm, group: *mut MPI_Group) on comm |rank, caller| {
        let comm = rank.comm(comm)?;
        caller.write(group, group::keep_of(rank, comm.comm.group(), comm.session.get()))
    }
    /// Without a copy, as when a function that copies an attribute fails, the new handle is null.
    fn MPI_Comm_dup(comm: MPI_Comm, newcomm: *mut MPI_Comm) on comm |rank, caller| {
        caller.write(newcomm, MPI_COMM_NULL)?;
        caller.write(newcomm, comm::dup(rank, caller, comm)?)
    }
    fn MPI_Comm_dup_with_info(comm: MPI_Comm, info: MPI_Info, newcomm: *mut MPI_Comm) on comm |rank, caller| {
        super::infos::check(rank, info)?;
        caller.write(newcomm, MPI_COMM_NULL)?;
        caller.write(newcomm, comm::dup(rank, caller, comm)?)
    }
    /// The communicator is made at once, without waiting for the others: the request is complete.
    fn MPI_Comm_idup(comm: MPI_Comm, newcomm: *mut MPI_Comm, request: *mut MPI_Request) on comm |rank, caller| {
        caller.write(newcomm, MPI_COMM_NULL)?;
        caller.write(newcomm, comm::idup(rank, caller, comm)?)?;
        caller.write(request, keep(rank, Pending::done(Stat::EMPTY)))
    }
    fn MPI_Comm_split(comm: MPI_Comm, color: c_int, key: c_int, newcomm: *mut MPI_Comm) on comm |rank, caller| {
        caller.write(newcomm, comm::split(rank, comm, color, key)?)
    }
    fn MPI_Comm_split_type(comm: MPI_Comm, split_type: c_int, key: c_int, info: MPI_Info, newcomm: *mut MPI_Comm) on comm |rank, caller| {
        let resource = super::infos::get(rank, info, "mpi_hw_resource_type")?;
        caller.write(newcomm, comm::split_type(rank, comm, (split_type, resource.map(|it| it.to_string()).as_deref()), key)?)
    }
    fn MPI_Comm_create(comm: MPI_Comm, group: MPI_Group, newcomm: *mut MPI_Comm) on comm |rank, caller| {
        caller.write(newcomm, comm::create(rank, comm, group)?)
    }
    /// The tag is not needed: communicators that the same ranks make are made in one order.
    fn MPI_Comm_create_group(comm: MPI_Comm, group: MPI_Group, _tag: c_int, newcomm: *mut MPI_Comm) on comm |rank, caller| {
        caller.write(newcomm, comm::create_group(rank, comm, group)?)
    }
    fn MPI_Comm_free(comm: *mut MPI_Comm) |rank, caller| {
        free(rank, caller, comm, comm::free)
    }
    /// Waits until all operations of the rank on the communicator are over.
    fn MPI_Comm_disconnect(comm: *mut MPI_Comm) |rank, caller| {
        free(rank, caller, comm, comm::disconnect)
    }
    fn MPI_Comm_set_name(comm: MPI_Comm, name: *const c_char) on comm |rank, caller| {
        let text = caller.text(name)?;
        *rank.comm(comm)?.name.borrow_mut() = text;
        Ok(())
    }
    fn MPI_Comm_get_name(comm: MPI_Comm, name: *mut c_char, length: *mut c_int) on comm |rank, caller| {
        let text = match comm {
            MPI_COMM_NULL => "MPI_COMM_NULL".into(),
            _ => rank.comm(comm)?.name.borrow().clone(),
        };
        super::arguments::name(caller, (name, length), &text)
    }
    fn MPI_Comm_test_inter(comm: MPI_Comm, inter: *mut c_int) on comm |rank, caller| {
        rank.comm(comm)?;
        caller.write(inter, flag(false))
    }
    fn MPI_Comm_remote_size(comm: MPI_Comm, _size: *mut c_int) on comm |rank, _| {
        let on = rank.comm(comm)?;
        Err(failure(MPI_ERR_COMM, format!("{on} is no intercommunicator")))
    }
    fn MPI_Comm_remote_group(comm: MPI_Comm, _group: *mut MPI_Group) on comm |rank, _| {
        let on = rank.comm(comm)?;
        Err(failure(MPI_ERR_COMM, format!("{on} is no intercommunicator")))
    }
    /// No rank was spawned.
    fn MPI_Comm_get_parent(parent: *mut MPI_Comm) |_, caller| {
        caller.write(parent, MPI_COMM_NULL)
    }
    fn MPI_Comm_set_info(comm: MPI_Comm, info: MPI_Info) on comm |rank, _| {
        rank.comm(comm)?;
        super::infos::check(rank, info)
    }
    fn MPI_Comm_get_info(comm: MPI_Comm, info: *mut MPI_Info) on comm |rank, caller| {
        rank.comm(comm)?;
        let made = rank.infos.borrow_mut().add(Default::default());
        caller.write(info, std::ptr::without_provenance_mut(made))
    }
    fn MPI_Comm_create_errhandler(function: Option<MPI_Comm_errhandler_function>, errhandler: *mut MPI_Errhandler) |rank, caller| {
        let function = super::arguments::function(function)?;
        let made = super::errors::keep_handler(rank, (function as *const ()).expose_provenance());
        caller.write(errhandler, std::ptr::without_provenance_mut(made))
    }
    fn MPI_Comm_set_errhandler(comm: MPI_Comm, errhandler: MPI_Errhandler) on comm |rank, _| {
        let on = rank.comm(comm)?;
        super::errors::check_handler(rank, errhandler)?;
        on.on_error.set(errhandler.addr());
        Ok(())
    }
    fn MPI_Comm_get_errhandler(comm: MPI_Comm, errhandler: *mut MPI_Errhandler) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        caller.write(errhandler, super::errors::further_handle(rank, on.on_error.get()))
    }
    fn MPI_Comm_call_errhandler(comm: MPI_Comm, errorcode: c_int) on comm |rank, caller| {
        rank.comm(comm)?;
        crate::call::call_handler(rank, "MPI_Comm_call_errhandler", comm, caller, errorcode)
    }
    fn MPI_Abort(comm: MPI_Comm, errorcode: c_int) |rank, _| {
        let on = rank.comm(comm).map_or_else(|_| "a communicator".to_string(), |on| on.to_string());
        rank.shared.note_code(errorcode);
        crate::call::abort(rank, "MPI_Abort", failure(MPI_ERR_OTHER, format!("on {on}, with code {errorcode}")))
    }
    fn MPI_Topo_test(comm: MPI_Comm, status: *mut c_int) on comm |rank, caller| {
        caller.write(status, rank.comm(comm)?.topology.kind())
    }
    fn MPI_Pack_size(incount: c_int, datatype: MPI_Datatype, comm: MPI_Comm, size: *mut c_int) on comm |rank, caller| {
        rank.comm(comm)?;
        let needed = c_int::try_from(super::packing::size(incount, datatype)?);
        let needed = needed.map_err(|_| failure(MPI_ERR_COUNT, "the packed elements take more bytes than an int counts"))?;
        caller.write(size, needed)
    }
    fn MPI_Pack(inbuf: *const c_void, incount: c_int, datatype: MPI_Datatype, outbuf: *mut c_void, outsize: c_int, position: *mut c_int, comm: MPI_Comm) on comm |rank, caller| {
        rank.comm(comm)?;
        super::packing::pack(caller, (inbuf, incount, datatype), (outbuf, outsize), position)
    }
    fn MPI_Unpack(inbuf: *const c_void, insize: c_int, position: *mut c_int, outbuf: *mut c_void, outcount: c_int, datatype: MPI_Datatype, comm: MPI_Comm) on comm |rank, caller| {
        rank.comm(comm)?;
        super::packing::unpack(caller, (inbuf, insize), position, (outbuf, outcount, datatype))
    }
}
