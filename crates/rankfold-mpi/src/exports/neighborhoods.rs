//! Collectives among the neighbours of a topology, in all forms.

use std::ffi::{c_int, c_void};

use super::collectives::each;
use super::persistent::maker;
use super::sizes::{parts, place};
use crate::abi::*;
use crate::collective::{self, Each, Parts, apart, degrees};
use crate::datatype::pack::Place;
use crate::error::Out;
use crate::memory::Caller;
use crate::plan::Maker;

/// A buffer, of which there need be nothing where there is no neighbour.
fn buffer(
    at: *const c_void,
    count: impl Into<i64>,
    of: MPI_Datatype,
    neighbors: usize,
) -> Out<Place> {
    let count = count.into();
    match neighbors {
        0 => place(at, count.min(0), of),
        _ => place(at, count, of),
    }
}

/// The same buffer for each neighbour.
fn same(at: *const c_void, count: impl Into<i64>, of: MPI_Datatype, neighbors: usize) -> Out<Each> {
    Ok(vec![buffer(at, count, of, neighbors)?; neighbors])
}

/// A buffer of equal parts, one for each neighbour.
fn blocks(
    at: *const c_void,
    count: impl Into<i64>,
    of: MPI_Datatype,
    neighbors: usize,
) -> Out<Each> {
    let place = buffer(at, count, of, neighbors)?;
    Ok(apart(&place, &Parts::equal(neighbors, place.count)))
}

/// A buffer of parts, one for each neighbour.
fn pieces<N: Into<i64> + Copy, D: TryInto<isize> + Copy>(
    caller: &Caller,
    at: *const c_void,
    layout: (*const N, *const D),
    of: MPI_Datatype,
    neighbors: usize,
) -> Out<Each> {
    let (place, parts) = parts(caller, at, layout, of, neighbors)?;
    Ok(apart(&place, &parts))
}

fn among(name: &'static str, send: Each, recv: Each) -> Out<Maker> {
    maker(move |caller, on| collective::neighbor(caller, on, name, &send, recv.clone()))
}

super::sizes::both_sizes! {
    MPI_Neighbor_allgather MPI_Ineighbor_allgather MPI_Neighbor_allgather_init / MPI_Neighbor_allgather_c MPI_Ineighbor_allgather_c MPI_Neighbor_allgather_init_c(
        sendbuf: *const c_void, sendcount: Count, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: Count,
        recvtype: MPI_Datatype,
    ) |_, _, on| {
        let (sources, destinations) = degrees(on)?;
        let send = same(sendbuf, sendcount, sendtype, destinations)?;
        among("MPI_Neighbor_allgather", send, blocks(recvbuf, recvcount, recvtype, sources)?)
    }
    MPI_Neighbor_allgatherv MPI_Ineighbor_allgatherv MPI_Neighbor_allgatherv_init / MPI_Neighbor_allgatherv_c MPI_Ineighbor_allgatherv_c MPI_Neighbor_allgatherv_init_c(
        sendbuf: *const c_void, sendcount: Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const Count, displs: *const Displacement, recvtype: MPI_Datatype,
    ) |_, caller, on| {
        let (sources, destinations) = degrees(on)?;
        let send = same(sendbuf, sendcount, sendtype, destinations)?;
        let recv = pieces(caller, recvbuf, (recvcounts, displs), recvtype, sources)?;
        among("MPI_Neighbor_allgatherv", send, recv)
    }
    MPI_Neighbor_alltoall MPI_Ineighbor_alltoall MPI_Neighbor_alltoall_init / MPI_Neighbor_alltoall_c MPI_Ineighbor_alltoall_c MPI_Neighbor_alltoall_init_c(
        sendbuf: *const c_void, sendcount: Count, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: Count,
        recvtype: MPI_Datatype,
    ) |_, _, on| {
        let (sources, destinations) = degrees(on)?;
        let send = blocks(sendbuf, sendcount, sendtype, destinations)?;
        among("MPI_Neighbor_alltoall", send, blocks(recvbuf, recvcount, recvtype, sources)?)
    }
    MPI_Neighbor_alltoallv MPI_Ineighbor_alltoallv MPI_Neighbor_alltoallv_init / MPI_Neighbor_alltoallv_c MPI_Ineighbor_alltoallv_c MPI_Neighbor_alltoallv_init_c(
        sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const Displacement, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const Displacement, recvtype: MPI_Datatype,
    ) |_, caller, on| {
        let (sources, destinations) = degrees(on)?;
        let send = pieces(caller, sendbuf, (sendcounts, sdispls), sendtype, destinations)?;
        let recv = pieces(caller, recvbuf, (recvcounts, rdispls), recvtype, sources)?;
        among("MPI_Neighbor_alltoallv", send, recv)
    }
    MPI_Neighbor_alltoallw MPI_Ineighbor_alltoallw MPI_Neighbor_alltoallw_init / MPI_Neighbor_alltoallw_c MPI_Ineighbor_alltoallw_c MPI_Neighbor_alltoallw_init_c(
        sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const MPI_Aint, sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype,
    ) |_, caller, on| {
        let (sources, destinations) = degrees(on)?;
        let send = each(caller, sendbuf, (sendcounts, &caller.array(sdispls, destinations)?), sendtypes)?;
        let recv = each(caller, recvbuf, (recvcounts, &caller.array(rdispls, sources)?), recvtypes)?;
        among("MPI_Neighbor_alltoallw", send, recv)
    }
}
