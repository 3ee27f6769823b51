//! `rankfold` as its own integration tests see it when they run under an MPI launcher: a [`World`] of them has the same
//! number of ranks as ever, spread over the processes of the launch as evenly as they go.
//!
//! The tests compare the results of all ranks, and a process has those of its own ranks alone. So a world runs twice:
//! spread over the processes, and as threads of this process. The results of the ranks that were here in the first run
//! take their places among those of the second. A test therefore fails in the process whose ranks differ from what it
//! expects of threads, to the bit.
//!
//! Worlds with fewer ranks than there are processes, or with settings that are refused to those of several processes,
//! run as threads alone.

pub use real::*;

mod combined;
mod team;
mod world;

pub use team::Team;
pub use world::World;
