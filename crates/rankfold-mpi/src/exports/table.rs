//! Which functions there are, for the table in the documentation.

use std::ffi::c_int;

use super::*;
use crate::abi::{MPI_Aint, MPI_Errhandler, MPI_Info, MPI_Session};

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
    let part = |name, lists: &[&[&'static str]]| Part {
        name,
        done: !name.starts_with("refused"),
        functions: lists.concat(),
    };
    vec![
        part(
            "environment",
            &[
                environment::SPECIAL,
                environment::ANYWHERE,
                environment::DONE,
            ],
        ),
        part(
            "messages",
            &[
                messages::DONE,
                persistent::DONE,
                matched::DONE,
                further::DONE,
            ],
        ),
        part("requests", &[requests::DONE]),
        part("statuses", &[statuses::DONE]),
        part("collectives", &[barriers::DONE, collectives::narrow::DONE]),
        part(
            "reductions",
            &[all_reduce::DONE, reductions::narrow::DONE, operators::DONE],
        ),
        part("neighbourhood collectives", &[neighborhoods::narrow::DONE]),
        part("datatypes", &[datatypes::DONE, datatypes::SPECIAL]),
        part("communicators, names, packing", &[communicators::DONE]),
        part("groups", &[groups::DONE]),
        part("topologies", &[topologies::DONE]),
        part("sessions", &[sessions::SPECIAL, sessions::DONE]),
        part(
            "windows",
            &[windows::DONE, one_sided::narrow::DONE, one_sided::DONE],
        ),
        part(
            "attributes",
            &[
                attributes::DONE,
                window_attributes::DONE,
                type_attributes::DONE,
            ],
        ),
        part("errors", &[errors::DONE]),
        part("infos", &[infos::DONE]),
        part("handles for Fortran", &[fortran::DONE]),
        part(
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
        part(
            "for older programs, and others",
            &[others::DONE, &["MPI_Pcontrol"]],
        ),
        part("refused", &[refused::DONE]),
        part("refused: files", &[refused_files::DONE]),
    ]
}

/// The signatures of all functions that are defined by lists.
pub(crate) fn signatures() -> impl Iterator<Item = &'static crate::header::Signature> {
    let lists = [
        environment::ANYWHERE_SIGNATURES,
        environment::SIGNATURES,
        messages::SIGNATURES,
        persistent::SIGNATURES,
        matched::SIGNATURES,
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
        infos::SIGNATURES,
        barriers::SIGNATURES,
        large_messages::SIGNATURES,
        large_calls::SIGNATURES,
        large_datatypes::SIGNATURES,
        collectives::large::SIGNATURES,
        reductions::large::SIGNATURES,
        neighborhoods::large::SIGNATURES,
        refused::SIGNATURES,
        refused_files::SIGNATURES,
    ];
    lists.into_iter().flatten()
}

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
    let lists = [
        others,
        environment::special_addresses(),
        environment::addresses(),
        messages::addresses(),
        persistent::addresses(),
        matched::addresses(),
        requests::addresses(),
        statuses::addresses(),
        collectives::narrow::addresses(),
        all_reduce::addresses(),
        reductions::narrow::addresses(),
        operators::addresses(),
        neighborhoods::narrow::addresses(),
        datatypes::addresses(),
        communicators::addresses(),
        groups::addresses(),
        topologies::addresses(),
        further::addresses(),
        sessions::addresses(),
        windows::addresses(),
        one_sided::narrow::addresses(),
        one_sided::large::addresses(),
        one_sided::addresses(),
        others::addresses(),
        attributes::addresses(),
        window_attributes::addresses(),
        type_attributes::addresses(),
        errors::addresses(),
        infos::addresses(),
        fortran::addresses(),
        barriers::addresses(),
        large_messages::addresses(),
        large_calls::addresses(),
        large_datatypes::addresses(),
        collectives::large::addresses(),
        reductions::large::addresses(),
        neighborhoods::large::addresses(),
        refused::addresses(),
        refused_files::addresses(),
    ];
    lists.concat()
}
