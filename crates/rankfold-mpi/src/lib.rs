//! MPI's C interface on the threads of one process.
//!
//! Each rank of a program is a thread. Programs that use the crate `mpi` (rsmpi) run and are tested with no MPI
//! installed, by one line in their `Cargo.toml`:
//!
//! ```toml
//! [patch.crates-io]
//! mpi-sys = { path = "../rankfold/crates/mpi-sys" }
//! ```
//!
//! [`run`] calls a function on each rank, and [`tests!`] defines tests that do; [`Program`] has the settings. For a program's
//! own `main`, `cargo rankfold-mpi run` does so by [`launch`]. The functions under their names in MPI are in [`exports`],
//! their types and values in [`abi`]. See `docs/mpi-programs.md`.
#![deny(unsafe_code)]

pub mod abi;
mod arithmetic;
mod asking;
mod attribute;
mod buffered;
mod call;
mod callback;
mod collective;
mod comm;
mod datatype;
mod detached;
mod error;
mod explore;
pub mod exports;
mod extended;
mod failed;
mod flush;
mod graph;
mod group;
mod handle;
mod header;
mod hidden;
mod launch;
mod line;
mod matched;
mod memory;
mod numbers;
mod op;
#[cfg(feature = "exports")]
pub mod output;
mod p2p;
mod pending;
mod plan;
#[cfg(feature = "exports")]
pub mod process;
mod rank;
mod reduction;
mod report;
mod request;
mod session;
mod settings;
mod stat;
mod status;
mod text;
mod topology;
mod trace;
#[cfg(feature = "exports")]
pub mod watch;
mod window;

pub use failed::Failed;
pub use header::header;
pub use launch::{Program, run};
pub use rankfold::Fault;
pub use rankfold::testing::{Explored, MessageOrder};
#[doc(hidden)]
pub use settings::seconds;
pub use settings::{launch, test};

/// Defines tests that run on each of some numbers of ranks.
///
/// ```
/// rankfold_mpi::tests! {
///     /// The function is called on every rank, as the `main` of an MPI program is.
///     #[ranks(1, 2, 4, 7)]
///     fn all_ranks_take_part() {
///         let universe = ();
///         drop(universe);
///     }
/// }
/// ```
#[macro_export]
macro_rules! tests {
    ($($(#[doc = $doc:expr])* #[ranks($($ranks:expr),+ $(,)?)] fn $name:ident() $body:block)*) => {$(
        $(#[doc = $doc])*
        #[test]
        fn $name() {
            for ranks in [$($ranks),+] {
                if let Err(why) = $crate::run(ranks, || $body) {
                    panic!("on {ranks} ranks: {why}");
                }
            }
        }
    )*};
}
