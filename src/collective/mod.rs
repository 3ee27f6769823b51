//! The algorithms, as schedules: each a few lines of arithmetic with its source and its picture.
//!
//! Trees need no file here: [`FoldAlong`](crate::schedule::FoldAlong) is the reduce over any of them, reversed the broadcast, and
//! [pipelined](crate::schedule::Schedule::pipelined) both by segments.
//!
//! All but [`PairwiseAllToAll`] work in place on vectors of `length` elements, equally long on every
//! rank; where a rank owns a block, it is the one of its own number, and lies at its place in the
//! vector.
//!
//! - `exchange`: simple exchange, halving with doubling, and the hybrids between them;
//! - `ring`: blocks that go round;
//! - `binomial`: gather, and backwards scatter;
//! - `bruck`: all-gather in the least number of steps, for any number of ranks;
//! - `shift`: the exclusive scan;
//! - `pairwise`: all-to-all.

mod binomial;
mod bruck;
mod exchange;
mod pairwise;
mod ring;
mod shift;

pub use binomial::BinomialGather;
pub use bruck::BruckAllGather;
pub use exchange::{
    Bisection, Halving, Homing, Rest, halving_all_reduce, halving_reduce_scatter,
    hybrid_all_reduce, simple_exchange,
};
pub use pairwise::PairwiseAllToAll;
pub use ring::RingReduceScatter;
pub use shift::ExclusiveScan;

/// The least `d` with `2^d ≥ n`, for `n ≥ 1`.
fn ceil_log2(n: usize) -> usize {
    (n - 1).checked_ilog2().map_or(0, |log| log as usize + 1)
}
