//! The documentation's search finds every MPI name that rankfold covers, at one place: the aliases in the source.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The names of MPI, and of MPIX extensions, that a public item of rankfold corresponds to.
const COVERED: &[&str] = &[
    "MPIX_Comm_shrink",
    "MPIX_ERR_PROC_FAILED",
    "MPIX_ERR_REVOKED",
    "MPI_ANY_SOURCE",
    "MPI_ANY_TAG",
    "MPI_Accumulate",
    "MPI_Allgather",
    "MPI_Allgather_init",
    "MPI_Allgatherv",
    "MPI_Allgatherv_init",
    "MPI_Allreduce",
    "MPI_Allreduce_init",
    "MPI_Alltoall",
    "MPI_Alltoall_init",
    "MPI_Alltoallv",
    "MPI_Alltoallv_init",
    "MPI_Alltoallw",
    "MPI_BAND",
    "MPI_BOR",
    "MPI_BXOR",
    "MPI_Barrier",
    "MPI_Barrier_init",
    "MPI_Bcast",
    "MPI_Bcast_init",
    "MPI_Bsend",
    "MPI_COMM_DUP_FN",
    "MPI_COMM_NULL_COPY_FN",
    "MPI_COMM_WORLD",
    "MPI_Cancel",
    "MPI_Cart_coords",
    "MPI_Cart_create",
    "MPI_Cart_get",
    "MPI_Cart_rank",
    "MPI_Cart_shift",
    "MPI_Comm",
    "MPI_Comm_create",
    "MPI_Comm_create_group",
    "MPI_Comm_create_keyval",
    "MPI_Comm_delete_attr",
    "MPI_Comm_dup",
    "MPI_Comm_get_attr",
    "MPI_Comm_group",
    "MPI_Comm_rank",
    "MPI_Comm_set_attr",
    "MPI_Comm_shrink",
    "MPI_Comm_size",
    "MPI_Comm_split",
    "MPI_Comm_split_type",
    "MPI_Compare_and_swap",
    "MPI_Datatype",
    "MPI_Dims_create",
    "MPI_Dist_graph_create",
    "MPI_Dist_graph_create_adjacent",
    "MPI_Dist_graph_neighbors",
    "MPI_Dist_graph_neighbors_count",
    "MPI_ERR_TRUNCATE",
    "MPI_Error_class",
    "MPI_Exscan",
    "MPI_Exscan_init",
    "MPI_Fetch_and_op",
    "MPI_Finalize",
    "MPI_GROUP_EMPTY",
    "MPI_Gather",
    "MPI_Gather_init",
    "MPI_Gatherv",
    "MPI_Gatherv_init",
    "MPI_Get",
    "MPI_Get_accumulate",
    "MPI_Get_count",
    "MPI_Group",
    "MPI_Group_compare",
    "MPI_Group_difference",
    "MPI_Group_excl",
    "MPI_Group_incl",
    "MPI_Group_intersection",
    "MPI_Group_range_excl",
    "MPI_Group_range_incl",
    "MPI_Group_rank",
    "MPI_Group_size",
    "MPI_Group_translate_ranks",
    "MPI_Group_union",
    "MPI_IDENT",
    "MPI_IN_PLACE",
    "MPI_Iallgather",
    "MPI_Iallgatherv",
    "MPI_Iallreduce",
    "MPI_Ialltoall",
    "MPI_Ialltoallv",
    "MPI_Ibarrier",
    "MPI_Ibcast",
    "MPI_Iexscan",
    "MPI_Igather",
    "MPI_Igatherv",
    "MPI_Improbe",
    "MPI_Ineighbor_allgather",
    "MPI_Ineighbor_allgatherv",
    "MPI_Ineighbor_alltoall",
    "MPI_Ineighbor_alltoallv",
    "MPI_Init",
    "MPI_Iprobe",
    "MPI_Irecv",
    "MPI_Ireduce",
    "MPI_Ireduce_scatter",
    "MPI_Ireduce_scatter_block",
    "MPI_Iscan",
    "MPI_Iscatter",
    "MPI_Iscatterv",
    "MPI_Isend",
    "MPI_Issend",
    "MPI_LAND",
    "MPI_LOCK_EXCLUSIVE",
    "MPI_LOCK_SHARED",
    "MPI_LOR",
    "MPI_LXOR",
    "MPI_MAX",
    "MPI_MAXLOC",
    "MPI_MIN",
    "MPI_MINLOC",
    "MPI_Message",
    "MPI_Mprobe",
    "MPI_Mrecv",
    "MPI_Neighbor_allgather",
    "MPI_Neighbor_allgather_init",
    "MPI_Neighbor_allgatherv",
    "MPI_Neighbor_allgatherv_init",
    "MPI_Neighbor_alltoall",
    "MPI_Neighbor_alltoall_init",
    "MPI_Neighbor_alltoallv",
    "MPI_Neighbor_alltoallv_init",
    "MPI_Neighbor_alltoallw",
    "MPI_Op",
    "MPI_Op_commutative",
    "MPI_Op_create",
    "MPI_PROD",
    "MPI_Pack",
    "MPI_Parrived",
    "MPI_Pready",
    "MPI_Precv_init",
    "MPI_Probe",
    "MPI_Psend_init",
    "MPI_Put",
    "MPI_Recv",
    "MPI_Recv_init",
    "MPI_Reduce",
    "MPI_Reduce_init",
    "MPI_Reduce_local",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Reduce_scatter_block_init",
    "MPI_Reduce_scatter_init",
    "MPI_Request",
    "MPI_Request_get_status",
    "MPI_Rsend",
    "MPI_SIMILAR",
    "MPI_SOURCE",
    "MPI_SUM",
    "MPI_Scan",
    "MPI_Scan_init",
    "MPI_Scatter",
    "MPI_Scatter_init",
    "MPI_Scatterv",
    "MPI_Scatterv_init",
    "MPI_Send",
    "MPI_Send_init",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
    "MPI_Ssend",
    "MPI_Ssend_init",
    "MPI_Start",
    "MPI_Status",
    "MPI_TAG",
    "MPI_Test",
    "MPI_Testall",
    "MPI_Testany",
    "MPI_Testsome",
    "MPI_Type_contiguous",
    "MPI_Type_create_hindexed",
    "MPI_Type_create_hvector",
    "MPI_Type_create_resized",
    "MPI_Type_create_struct",
    "MPI_Type_create_subarray",
    "MPI_Type_get_extent",
    "MPI_Type_indexed",
    "MPI_Type_size",
    "MPI_Type_vector",
    "MPI_UNDEFINED",
    "MPI_UNEQUAL",
    "MPI_Unpack",
    "MPI_Wait",
    "MPI_Waitall",
    "MPI_Waitany",
    "MPI_Waitsome",
    "MPI_Win",
    "MPI_Win_allocate",
    "MPI_Win_complete",
    "MPI_Win_create",
    "MPI_Win_fence",
    "MPI_Win_flush",
    "MPI_Win_lock",
    "MPI_Win_lock_all",
    "MPI_Win_post",
    "MPI_Win_start",
    "MPI_Win_test",
    "MPI_Win_unlock",
    "MPI_Win_unlock_all",
    "MPI_Win_wait",
];

/// Collects the text of all sources in a folder.
fn read(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, text);
        } else {
            text.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

/// How often each MPI name occurs as an alias.
fn aliases() -> BTreeMap<String, usize> {
    let mut text = String::new();
    read(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut text,
    );
    let after = text.split("#[doc(alias = \"").skip(1);
    let names = after.filter_map(|rest| rest.split('"').next());
    let mut found = BTreeMap::new();
    for name in names.filter(|name| name.starts_with("MPI")) {
        *found.entry(name.to_string()).or_default() += 1;
    }
    found
}

#[test]
fn every_covered_mpi_name_is_an_alias_exactly_once() {
    let found = aliases();
    for name in COVERED {
        let count = found.get(*name).copied().unwrap_or(0);
        assert_eq!(count, 1, "{name} occurs {count} times as an alias");
    }
}

#[test]
fn every_mpi_alias_is_in_the_list() {
    for name in aliases().keys() {
        assert!(
            COVERED.contains(&name.as_str()),
            "{name} is missing in COVERED"
        );
    }
}
