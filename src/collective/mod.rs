//! The algorithms, as schedules: each a few lines of arithmetic with its source and its picture; and
//! the register of them all by name.
//!
//! Trees need no file here: [`FoldAlong`](crate::schedule::FoldAlong) is the reduce over any of them, reversed the broadcast, and
//! [pipelined](crate::schedule::Schedule::pipelined) both by segments.
//!
//! The schedules by themselves work in place on vectors of `length` elements, equally long on every
//! rank, if they do not say otherwise; where a rank owns a block, it is the one of its own number, and
//! lies at its place in the vector. An [`Algorithm`] makes of them the schedule of a [`Call`], which
//! has its vectors where the caller has them.
//!
//! The files, one idea each:
//! - `algorithm`: the names; `needs`: what each serves; `refusal`: why it cannot be used for a call;
//!   `call`: the shape of a call; `build`: from names to schedules; `choose`: the automatic choice, and why; `table`: what it
//!   may look at, measured times;
//! - `exchange`: simple exchange, halving with doubling, and the hybrids between them;
//! - `rooted`: halving to one rank, and the way to another root;
//! - `packets`: reductions in packets that go different ways;
//! - `ring`: blocks that go round;
//! - `gather`: gather, and backwards scatter, along trees;
//! - `bruck`: all-gather in the least number of steps, for any number of ranks;
//! - `bruck_all_to_all`: all-to-all in the least number of messages;
//! - `scan`: the scan across a hypercube; `shift`: the exclusive scan;
//! - `pairwise`: everybody with everybody;
//! - `hierarchical`: by the levels of the machine, which a communicator has of its members.
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
mod bruck;
mod bruck_all_to_all;
mod build;
mod call;
mod choose;
mod direct;
mod exchange;
mod gather;
mod hierarchical;
mod needs;
mod packets;
mod pairwise;
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
pub use build::WithSchedule;
pub use call::Call;
pub(crate) use choose::CELL_BYTES;
pub use choose::Choice;
pub use direct::DirectReduceScatter;
pub use exchange::{
    Bisection, Halving, Homing, Rest, far_halving_to_blocks, halving_all_reduce,
    halving_reduce_scatter, halving_to_blocks, hybrid_all_reduce, simple_exchange,
};
pub use gather::{BinomialGather, Gather};
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
