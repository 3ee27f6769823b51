//! What is told of a message, and its place in a status of the program.

use std::ffi::c_int;

use rankfold::Status;

use crate::abi::*;

/// What is told of a message that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub source: c_int,
    pub tag: c_int,
    pub bytes: usize,
    pub cancelled: bool,
}

impl Stat {
    /// What a request gives that does not receive.
    pub(crate) const EMPTY: Stat = Stat {
        source: MPI_ANY_SOURCE,
        tag: MPI_ANY_TAG,
        bytes: 0,
        cancelled: false,
    };
    pub(crate) const CANCELLED: Stat = Stat {
        cancelled: true,
        ..Stat::EMPTY
    };
    /// What a receive from `MPI_PROC_NULL` gives.
    pub(crate) const NO_PROC: Stat = Stat {
        source: MPI_PROC_NULL,
        ..Stat::EMPTY
    };

    #[inline]
    pub(crate) fn of(status: &Status) -> Stat {
        Stat {
            source: status.source as c_int,
            tag: status.tag as c_int,
            bytes: status.count,
            cancelled: false,
        }
    }

    #[inline]
    pub(crate) fn status(&self, error: c_int) -> MPI_Status {
        let [low, high] = halves(self.bytes);
        MPI_Status {
            MPI_SOURCE: self.source,
            MPI_TAG: self.tag,
            MPI_ERROR: error,
            MPI_internal: [low, high, self.cancelled.into(), 0, 0],
        }
    }
}

/// A number of bytes in halves, the lower one first.
pub(crate) fn halves(bytes: usize) -> [c_int; 2] {
    let bytes = bytes as u64;
    [bytes as u32 as c_int, (bytes >> 32) as c_int]
}
