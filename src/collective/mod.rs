//! The algorithms as schedules, each a few lines of arithmetic with its source and a diagram, and the registry of their
//! names.
//!
//! Trees need no file here: [`FoldAlong`](crate::schedule::FoldAlong) is the reduce over any of them, reversed the
//! broadcast, and [pipelined](crate::schedule::Schedule::pipelined) both in segments.
//!
//! Unless stated otherwise, the schedules work in place on vectors of `length` elements, equally long on every rank. A
//! block that a rank owns is the one with its own number, and lies at its position in the vector. An [`Algorithm`]
//! combines schedules into the schedule of a [`Call`], with vectors where the caller has them.
//!
//! The files:
//! - `algorithm`: the names; `literature`: other names, and sources; `needs`: the collectives that each serves;
//!   `refusal`: why one cannot be used for a call; `call`: the shape of a call; `build`: from names to schedules;
//!   `choose`: the automatic choice, and its reason; `table`: the measured times that it may consult;
//! - `exchange`: simple exchange, halving with doubling, and the hybrids between them;
//! - `rooted`: halving to one rank, and the transfer to another root;
//! - `packets`: reductions in packets that take different routes;
//! - `ring`: blocks that travel around a ring;
//! - `gather`: gather, and in reverse scatter, along trees;
//! - `bruck`: all-gather in the minimum number of steps, for any number of ranks;
//! - `bruck_all_to_all`: all-to-all with the minimum number of messages;
//! - `scan`: the scan across a hypercube; `shift`: the exclusive scan;
//! - `pairwise`: every rank with every other;
//! - `cells`, `direct`, `direct_scan`: the reads of collectives over shared memory; `in_order`: their folds;
//! - `hierarchical`: follows the levels of the machine, as a communicator knows them for its members.
//!
//! # Examples
//!
//! ```
//! use rankfold::check::{Goal, check};
//! use rankfold::collective::{Algorithm, Call, Collective};
//!
//! let call = Call::new(Collective::AllReduce, 13, 100);
//! for algorithm in Algorithm::all(call.collective) {
//!     match algorithm.schedule(&call) {
//!         Ok(schedule) => {
//!             let goal = Goal::of(call.collective, 0, 100).in_rank_order();
//!             check(&schedule, &goal).unwrap();
//!         }
//!         Err(refusal) => println!("{refusal}"),
//!     }
//! }
//! ```

mod algorithm;
mod boxed;
mod bruck;
mod bruck_all_to_all;
mod build;
mod by_levels;
mod call;
mod cells;
mod choose;
mod direct;
mod direct_scan;
mod exchange;
mod gather;
mod hierarchical;
mod in_order;
mod literature;
mod needs;
mod packets;
mod pairwise;
mod ports;
mod refusal;
mod ring;
mod rooted;
mod scan;
mod shift;
mod table;

pub use crate::names::{Collective, UnknownCollective};
pub use algorithm::{Algorithm, UnknownAlgorithm};
pub use bruck::BruckAllGather;
pub use bruck_all_to_all::BruckAllToAll;

pub use call::Call;
#[cfg(all(test, not(loom)))]
pub(crate) use cells::all_reduce_at;
pub(crate) use choose::CELL_BYTES;
pub use choose::Choice;
pub use direct::DirectReduceScatter;
pub use exchange::{
    Bisection, Halving, Homing, Rest, far_halving_to_blocks, halving_all_reduce,
    halving_reduce_scatter, halving_to_blocks, hybrid_all_reduce, simple_exchange,
};
pub use gather::{BinomialGather, Gather, Scatter};
pub use hierarchical::HierarchicalReduceScatter;
pub use needs::{Needs, Root};
pub use packets::PacketReduce;
pub use pairwise::Pairwise;
pub use refusal::Refusal;
pub use ring::RingReduceScatter;
pub use rooted::{Collect, PassOn, halving_reduce};
pub use scan::ExchangeScan;
pub use shift::{ExclusiveScan, PassUp};
pub use table::{
    Entry, Fingerprint, Foreign, Guideline, Rule, TableError, Timed, TuningTable, Violation,
    violations,
};

/// The least `d` with `2^d ≥ n`, for `n ≥ 1`.
fn ceil_log2(n: usize) -> usize {
    (n - 1).checked_ilog2().map_or(0, |log| log as usize + 1)
}
