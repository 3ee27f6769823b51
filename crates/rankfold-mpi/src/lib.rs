//! MPI's C interface on the threads of one process.
//!
//! Each rank of a program is a thread. Programs that use the crate `mpi` (rsmpi) run and are tested with no MPI
//! installed, by one line in their `Cargo.toml`:
//!
//! ```toml
//! [patch.crates-io]
//! mpi-sys = { git = "https://github.com/rankfold/rankfold" }
//! ```
//!
//! [`run`] calls a function on each rank, for tests; [`launch`] does so for a program's `main`. The functions under
//! their names in MPI are in [`exports`], their types and values in [`abi`].
#![deny(unsafe_code)]

pub mod abi;
mod attribute;
mod call;
mod callback;
mod collective;
mod comm;
mod datatype;
mod error;
pub mod exports;
mod graph;
mod group;
mod handle;
mod launch;
mod memory;
mod op;
mod p2p;
mod plan;
mod rank;
mod reduction;
mod report;
mod request;
mod topology;

pub use launch::{Failed, Program, launch, run};
