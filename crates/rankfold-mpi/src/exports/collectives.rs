//! Collectives that move data, in all forms.

use std::ffi::{c_int, c_void};

use super::persistent::maker;
use super::sizes::{equal, in_place, parts, place, places};
use crate::abi::*;
use crate::collective::{self, Each};
use crate::comm::Communicator;
use crate::datatype::pack::{Place, place_in};
use crate::error::Out;
use crate::memory::Caller;
use crate::plan::Maker;

/// The buffers of an all-to-allw: each rank's at its own place, with its own datatype.
pub(super) fn each<N: Into<i64> + Copy>(
    caller: &Caller,
    at: *const c_void,
    (counts, places): (*const N, &[isize]),
    types: *const MPI_Datatype,
) -> Out<Each> {
    let (counts, types) = (
        caller.array(counts, places.len())?,
        caller.array(types, places.len())?,
    );
    let one = |((count, by), of): ((&N, &isize), &MPI_Datatype)| -> Out<Place> {
        // From MPI_BOTTOM on the place is an address, also of predefined datatypes.
        match at.cast_mut() {
            MPI_IN_PLACE => place(at, *count, *of),
            first => place(place_in(first.cast(), *by).cast(), *count, *of),
        }
    };
    counts.iter().zip(places).zip(&types).map(one).collect()
}

/// The root, and whether this rank is it.
pub(super) fn root(comm: &Communicator, root: c_int) -> Out<(usize, bool)> {
    let root = comm.root(root)?;
    Ok((root, root == comm.comm.rank()))
}

super::sizes::both_sizes! {
    MPI_Bcast MPI_Ibcast MPI_Bcast_init / MPI_Bcast_c MPI_Ibcast_c MPI_Bcast_init_c(buffer: *mut c_void, count: Count, datatype: MPI_Datatype, root: c_int) |_, _, on| {
        let (place, (root, _)) = (place(buffer, count, datatype)?, self::root(on, root)?);
        maker(move |caller, on| collective::broadcast(caller, on, place.clone(), root))
    }
    MPI_Gather MPI_Igather MPI_Gather_init / MPI_Gather_c MPI_Igather_c MPI_Gather_init_c(
        sendbuf: *const c_void, sendcount: Count, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: Count,
        recvtype: MPI_Datatype, root: c_int,
    ) |_, _, on| {
        let (root, here) = self::root(on, root)?;
        let send = in_place(sendbuf, sendcount, sendtype)?;
        let recv = here.then(|| equal(recvbuf, recvcount, recvtype, on.comm.size())).transpose()?;
        maker(move |caller, on| collective::gather(caller, on, ("MPI_Gather", root), send.clone(), recv.clone()))
    }
    MPI_Gatherv MPI_Igatherv MPI_Gatherv_init / MPI_Gatherv_c MPI_Igatherv_c MPI_Gatherv_init_c(
        sendbuf: *const c_void, sendcount: Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const Count, displs: *const Displacement, recvtype: MPI_Datatype, root: c_int,
    ) |_, caller, on| {
        let (root, here) = self::root(on, root)?;
        let send = in_place(sendbuf, sendcount, sendtype)?;
        let recv = here.then(|| parts(caller, recvbuf, (recvcounts, displs), recvtype, on.comm.size())).transpose()?;
        maker(move |caller, on| collective::gather(caller, on, ("MPI_Gatherv", root), send.clone(), recv.clone()))
    }
    MPI_Scatter MPI_Iscatter MPI_Scatter_init / MPI_Scatter_c MPI_Iscatter_c MPI_Scatter_init_c(
        sendbuf: *const c_void, sendcount: Count, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: Count,
        recvtype: MPI_Datatype, root: c_int,
    ) |_, _, on| {
        let (root, here) = self::root(on, root)?;
        let send = here.then(|| equal(sendbuf, sendcount, sendtype, on.comm.size())).transpose()?;
        let recv = in_place(recvbuf, recvcount, recvtype)?;
        maker(move |caller, on| collective::scatter(caller, on, ("MPI_Scatter", root), send.clone(), recv.clone()))
    }
    MPI_Scatterv MPI_Iscatterv MPI_Scatterv_init / MPI_Scatterv_c MPI_Iscatterv_c MPI_Scatterv_init_c(
        sendbuf: *const c_void, sendcounts: *const Count, displs: *const Displacement, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: Count, recvtype: MPI_Datatype, root: c_int,
    ) |_, caller, on| {
        let (root, here) = self::root(on, root)?;
        let send = here.then(|| parts(caller, sendbuf, (sendcounts, displs), sendtype, on.comm.size())).transpose()?;
        let recv = in_place(recvbuf, recvcount, recvtype)?;
        maker(move |caller, on| collective::scatter(caller, on, ("MPI_Scatterv", root), send.clone(), recv.clone()))
    }
    MPI_Allgather MPI_Iallgather MPI_Allgather_init / MPI_Allgather_c MPI_Iallgather_c MPI_Allgather_init_c(
        sendbuf: *const c_void, sendcount: Count, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: Count,
        recvtype: MPI_Datatype,
    ) |_, _, on| {
        let send = in_place(sendbuf, sendcount, sendtype)?;
        let recv = equal(recvbuf, recvcount, recvtype, on.comm.size())?;
        maker(move |caller, on| collective::all_gather(caller, on, "MPI_Allgather", send.clone(), recv.clone()))
    }
    MPI_Allgatherv MPI_Iallgatherv MPI_Allgatherv_init / MPI_Allgatherv_c MPI_Iallgatherv_c MPI_Allgatherv_init_c(
        sendbuf: *const c_void, sendcount: Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const Count, displs: *const Displacement, recvtype: MPI_Datatype,
    ) |_, caller, on| {
        let send = in_place(sendbuf, sendcount, sendtype)?;
        let recv = parts(caller, recvbuf, (recvcounts, displs), recvtype, on.comm.size())?;
        maker(move |caller, on| collective::all_gather(caller, on, "MPI_Allgatherv", send.clone(), recv.clone()))
    }
    MPI_Alltoall MPI_Ialltoall MPI_Alltoall_init / MPI_Alltoall_c MPI_Ialltoall_c MPI_Alltoall_init_c(
        sendbuf: *const c_void, sendcount: Count, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: Count,
        recvtype: MPI_Datatype,
    ) |_, _, on| {
        let ranks = on.comm.size();
        let here = sendbuf.cast_mut() == MPI_IN_PLACE;
        let send = (!here).then(|| equal(sendbuf, sendcount, sendtype, ranks)).transpose()?;
        let recv = equal(recvbuf, recvcount, recvtype, ranks)?;
        maker(move |caller, on| collective::all_to_all(caller, on, "MPI_Alltoall", send.clone(), recv.clone()))
    }
    MPI_Alltoallv MPI_Ialltoallv MPI_Alltoallv_init / MPI_Alltoallv_c MPI_Ialltoallv_c MPI_Alltoallv_init_c(
        sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const Displacement, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const Displacement, recvtype: MPI_Datatype,
    ) |_, caller, on| {
        let ranks = on.comm.size();
        let here = sendbuf.cast_mut() == MPI_IN_PLACE;
        let send = (!here).then(|| parts(caller, sendbuf, (sendcounts, sdispls), sendtype, ranks)).transpose()?;
        let recv = parts(caller, recvbuf, (recvcounts, rdispls), recvtype, ranks)?;
        maker(move |caller, on| collective::all_to_all(caller, on, "MPI_Alltoallv", send.clone(), recv.clone()))
    }
    MPI_Alltoallw MPI_Ialltoallw MPI_Alltoallw_init / MPI_Alltoallw_c MPI_Ialltoallw_c MPI_Alltoallw_init_c(
        sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const Displacement, sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const Displacement, recvtypes: *const MPI_Datatype,
    ) |_, caller, on| {
        let ranks = on.comm.size();
        let here = sendbuf.cast_mut() == MPI_IN_PLACE;
        let all = |at, counts, places, types| each(caller, at, (counts, &self::places(caller, places, ranks)?), types);
        let send = (!here).then(|| all(sendbuf, sendcounts, sdispls, sendtypes)).transpose()?;
        let recv = all(recvbuf.cast_const(), recvcounts, rdispls, recvtypes)?;
        maker(move |caller, on| collective::all_to_all_w(caller, on, send.clone(), recv.clone()))
    }
}
