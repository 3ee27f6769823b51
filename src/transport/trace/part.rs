//! Which part of a world was traced, where its ranks are in several processes.

use std::ops::Range;

use crate::Rank;

/// The ranks of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorldPart {
    /// A number for the world: the same in all its processes, and another one for any other world.
    pub world: u64,
    pub process: usize,
    pub processes: usize,
    pub ranks: Range<Rank>,
}
