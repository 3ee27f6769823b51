//! A call over shared memory as a rank comes to it, and what the ranks do in it with each other's vectors.

use crate::Rank;
use crate::op::copies::Copies;
use crate::transport::memory::epoch::Epoch;
use crate::transport::memory::pointer_list::Lists;

/// What ranks do with each other's vectors: the same on all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// Each rank accesses its own share of all vectors, which have the same length; or each of two that has an output
    /// reads both inputs and writes to it, if rank 0 [says so](Coming::whole).
    Shares,
    /// This rank alone accesses all vectors, which have the same length.
    By(Rank),
    /// Each rank writes to its own output, and reads from the inputs.
    Own,
    /// Each rank writes its input to its place in the output of this rank.
    Collect(Rank),
}

impl Job {
    /// A number that no other job has, as there are fewer than 2^31 - 1 ranks.
    pub(super) fn word(self) -> u32 {
        match self {
            Job::Shares => u32::MAX,
            Job::Own => u32::MAX - 1,
            Job::By(rank) => u32::MAX - 2 - rank as u32,
            Job::Collect(root) => root as u32,
        }
    }
}

/// A call as a rank comes to it.
pub(crate) struct Coming<'a> {
    pub epoch: &'a Epoch,
    pub me: Rank,
    pub print: u32,
    pub job: Job,
    /// Whether each of two ranks that has an output is to fold whole vectors for itself, instead of shares. What rank 0 says
    /// is done, where it may be.
    pub whole: bool,
    pub lists: &'a Lists,
    pub copies: &'a Copies,
}
