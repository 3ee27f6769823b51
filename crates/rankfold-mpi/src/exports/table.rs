//! Which functions there are, for the table in the documentation.

use super::*;

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
/// assert_eq!(has("MPI_Session_init"), None);
/// ```
pub fn functions() -> Vec<Part> {
    let part = |name, lists: &[&[&'static str]]| Part {
        name,
        done: name != "refused",
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
            &[messages::DONE, persistent::DONE, matched::DONE],
        ),
        part("requests", &[requests::DONE]),
        part("statuses", &[statuses::DONE]),
        part("collectives", &[collectives::DONE]),
        part("reductions", &[reductions::DONE, operators::DONE]),
        part("neighbourhood collectives", &[neighborhoods::DONE]),
        part("datatypes", &[datatypes::DONE, datatypes::SPECIAL]),
        part("communicators, names, packing", &[communicators::DONE]),
        part("groups", &[groups::DONE]),
        part("topologies", &[topologies::DONE]),
        part("attributes", &[attributes::DONE]),
        part("errors", &[errors::DONE]),
        part("infos", &[infos::DONE]),
        part("handles for Fortran", &[fortran::DONE]),
        part("refused", &[refused::DONE]),
    ]
}
