//! Which functions there are, for the table in the documentation.

use std::ffi::c_int;

use super::*;
use crate::abi::{MPI_Aint, MPI_Errhandler, MPI_Info, MPI_Session};
use crate::header::Signature;

/// The functions of a part of MPI.
pub struct Part {
    /// Such as `collectives`.
    pub name: &'static str,
    /// Whether its functions are done, or refused in one sentence.
    pub done: bool,
    /// In the order of the source.
    pub functions: Vec<&'static str>,
}

/// All functions that can be called, by part. A function that is in no part does not exist.
///
/// # Examples
///
/// ```
/// let parts = rankfold_mpi::exports::functions();
/// let has = |name| parts.iter().find(|part| part.functions.contains(&name)).map(|part| part.done);
/// assert_eq!(has("MPI_Allreduce"), Some(true));
/// assert_eq!(has("MPI_Comm_spawn"), Some(false));
/// assert_eq!(has("MPI_File_read"), Some(false));
/// assert_eq!(has("MPI_Address"), None);
/// ```
pub fn functions() -> Vec<Part> {
    let part = |(name, lists): &(&'static str, &[&[&'static str]])| Part {
        name,
        done: !name.starts_with("refused"),
        functions: lists.concat(),
    };
    PARTS.iter().map(part).collect()
}

/// The parts of MPI, each with the lists of its functions.
const PARTS: &[(&str, &[&[&str]])] = &[
    (
        "environment",
        &[
            environment::SPECIAL,
            environment::ANYWHERE,
            environment::DONE,
        ],
    ),
    (
        "messages",
        &[
            messages::DONE,
            persistent::DONE,
            matched::DONE,
            buffers::DONE,
            further::DONE,
        ],
    ),
    ("requests", &[requests::DONE]),
    ("statuses", &[statuses::DONE]),
    ("collectives", &[barriers::DONE, collectives::narrow::DONE]),
    (
        "reductions",
        &[all_reduce::DONE, reductions::narrow::DONE, operators::DONE],
    ),
    ("neighbourhood collectives", &[neighborhoods::narrow::DONE]),
    ("datatypes", &[datatypes::DONE, datatypes::SPECIAL]),
    ("communicators, names, packing", &[communicators::DONE]),
    ("groups", &[groups::DONE]),
    ("topologies", &[topologies::DONE]),
    ("sessions", &[sessions::SPECIAL, sessions::DONE]),
    (
        "windows",
        &[windows::DONE, one_sided::narrow::DONE, one_sided::DONE],
    ),
    (
        "attributes",
        &[
            attributes::DONE,
            window_attributes::DONE,
            type_attributes::DONE,
        ],
    ),
    ("errors", &[errors::DONE, files::DONE]),
    ("infos", &[infos::DONE]),
    ("handles for Fortran", &[fortran::DONE]),
    (
        "large counts",
        &[
            large_messages::DONE,
            large_calls::DONE,
            large_datatypes::DONE,
            one_sided::large::DONE,
            collectives::large::DONE,
            reductions::large::DONE,
            neighborhoods::large::DONE,
        ],
    ),
    (
        "for older programs, and others",
        &[others::DONE, &["MPI_Pcontrol"]],
    ),
    ("for tools", &[tools::SPECIAL, tools::DONE]),
    ("refused", &[refused::DONE]),
    ("refused: files", &[refused_files::DONE]),
];

/// The signatures of all functions that are defined by lists.
pub(crate) fn signatures() -> impl Iterator<Item = &'static Signature> {
    SIGNATURES.iter().copied().flatten()
}

const SIGNATURES: &[&[Signature]] = &[
    environment::ANYWHERE_SIGNATURES,
    environment::SIGNATURES,
    messages::SIGNATURES,
    persistent::SIGNATURES,
    matched::SIGNATURES,
    buffers::SIGNATURES,
    requests::SIGNATURES,
    statuses::SIGNATURES,
    collectives::narrow::SIGNATURES,
    all_reduce::SIGNATURES,
    reductions::narrow::SIGNATURES,
    operators::SIGNATURES,
    neighborhoods::narrow::SIGNATURES,
    datatypes::SIGNATURES,
    communicators::SIGNATURES,
    groups::SIGNATURES,
    topologies::SIGNATURES,
    further::SIGNATURES,
    sessions::SIGNATURES,
    windows::SIGNATURES,
    one_sided::narrow::SIGNATURES,
    one_sided::large::SIGNATURES,
    one_sided::SIGNATURES,
    others::SIGNATURES,
    attributes::SIGNATURES,
    window_attributes::SIGNATURES,
    type_attributes::SIGNATURES,
    errors::SIGNATURES,
    files::SIGNATURES,
    infos::SIGNATURES,
    barriers::SIGNATURES,
    large_messages::SIGNATURES,
    large_calls::SIGNATURES,
    large_datatypes::SIGNATURES,
    collectives::large::SIGNATURES,
    reductions::large::SIGNATURES,
    neighborhoods::large::SIGNATURES,
    tools::SIGNATURES,
    refused::SIGNATURES,
    refused_files::SIGNATURES,
];

/// Types of handles, and the names of their functions for Fortran.
pub(crate) const CONVERSIONS: &[[&str; 3]] = fortran::CONVERSIONS;

/// The addresses of all functions, so that a program that loads others links to them.
pub fn addresses() -> Vec<usize> {
    let others = vec![
        profiled!(MPI_Aint_add(base: MPI_Aint, disp: MPI_Aint) -> MPI_Aint),
        profiled!(MPI_Aint_diff(addr1: MPI_Aint, addr2: MPI_Aint) -> MPI_Aint),
        profiled!(MPI_Pcontrol(level: c_int) -> c_int),
        profiled!(MPI_Session_init(info: MPI_Info, errhandler: MPI_Errhandler, session: *mut MPI_Session) -> c_int),
    ];
    let lists = ADDRESSES.iter().flat_map(|addresses| addresses());
    others.into_iter().chain(lists).collect()
}

/// The addresses of the functions of each file.
const ADDRESSES: &[fn() -> Vec<usize>] = &[
    environment::special_addresses,
    environment::addresses,
    messages::addresses,
    persistent::addresses,
    matched::addresses,
    buffers::addresses,
    requests::addresses,
    statuses::addresses,
    collectives::narrow::addresses,
    all_reduce::addresses,
    reductions::narrow::addresses,
    operators::addresses,
    neighborhoods::narrow::addresses,
    datatypes::addresses,
    communicators::addresses,
    groups::addresses,
    topologies::addresses,
    further::addresses,
    sessions::addresses,
    windows::addresses,
    one_sided::narrow::addresses,
    one_sided::large::addresses,
    one_sided::addresses,
    others::addresses,
    attributes::addresses,
    window_attributes::addresses,
    type_attributes::addresses,
    errors::addresses,
    files::addresses,
    infos::addresses,
    fortran::addresses,
    barriers::addresses,
    large_messages::addresses,
    large_calls::addresses,
    large_datatypes::addresses,
    collectives::large::addresses,
    reductions::large::addresses,
    neighborhoods::large::addresses,
    tools::addresses,
    refused::addresses,
    refused_files::addresses,
];
