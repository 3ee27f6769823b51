//! Sessions: a rank without `MPI_Init`, which makes its communicators from named sets of ranks.

use std::cell::Cell;

use rankfold::Group;

use crate::rank::Rank;

/// A session.
pub(crate) struct Session {
    pub on_error: Cell<usize>,
}

/// The sets of ranks that there are.
pub(crate) const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// The group of a set, if there is such a set; its name may be written in any letters.
pub(crate) fn group(rank: &Rank, name: &str) -> Option<Group> {
    let known = |set: &str| set.eq_ignore_ascii_case(name);
    match SETS.iter().position(|set| known(set)) {
        Some(0) => Some(rank.world.comm.group()),
        Some(_) => Some(rank.alone.comm.group()),
        None => None,
    }
}
