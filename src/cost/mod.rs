//! The cost of algorithms in closed form: steps, the traffic and folds of every rank, and time.
//!
//! A [`Form`] knows, without a run, what the [checker](mod@crate::check) would count: it has as many steps as the
//! schedule, and each rank the same messages and elements. Forms are combined as schedules are: reversed, in sequence,
//! proxied, rotated. A [`Model`] turns their [`Cost`] into seconds.
//!
//! The files:
//! - `form`: the closed form and its combinators; `count`: the counts;
//! - `tree`: whole messages along any topology; `pipeline`: segments, and their best number;
//! - `two_tree`, `esbt`: pipelines over several trees at once;
//! - `exchange`: simple exchange, halving, and the hybrids between them;
//! - `blocks`: ring, gather, all-gather and all-to-all; `scan`: barrier and scans;
//! - `named`: the closed form of a call by the name of its algorithm;
//! - `bound`: lower bounds for every all-reduce;
//! - `scaling`: isoefficiency and scalability; `floyd`: both for all-pairs shortest paths.
//!
//! # Examples
//!
//! Which all-reduce of a million elements is faster on 64 ranks?
//!
//! ```
//! use rankfold::cost::{self, Model};
//!
//! let model = Model { alpha: 1e-6, beta: 1e-9, gamma: 1e-10 };
//! let exchange = cost::simple_exchange(64, 1_000_000).time(&model);
//! let halving = cost::halving_all_reduce(64, 1_000_000).time(&model);
//! assert!(halving < exchange / 2.9);
//! let short = [cost::simple_exchange(64, 1), cost::halving_all_reduce(64, 1)];
//! assert!(short[0].time(&model) < short[1].time(&model));
//! ```
//!
//! # Source
//!
//! Grama, Gupta, Karypis and Kumar, *Introduction to Parallel Computing*, chapter 4; Foster, *Designing
//! and Building Parallel Programs*, chapter 11.

mod blocks;
mod bound;
mod count;
mod esbt;
mod exchange;
mod floyd;
mod form;
mod named;
mod pipeline;
mod scaling;
mod scan;
mod tree;
mod two_tree;

pub use blocks::{
    binomial_gather, bruck_all_gather, bruck_all_to_all, pairwise_all_to_all, ring_all_reduce,
    ring_reduce_scatter, scatter_all_gather,
};
pub use bound::all_reduce_bound;
pub use count::{Cost, Load, Model};
pub use esbt::{NotAPowerOfTwo, esbt};
pub use exchange::{
    best_stages, far_halving_reduce_scatter, halving_all_reduce, halving_reduce_scatter,
    hybrid_all_reduce, simple_exchange,
};
pub use floyd::Floyd;
pub use form::{Form, TreeUse};
pub use named::{best_segments, closed_form};
pub use pipeline::{Pipeline, in_segments};
pub use scaling::{Scaling, constant_for};
pub use scan::{dissemination, exclusive_scan, inclusive_scan};
pub use tree::{hypercube_broadcast, whole};
pub use two_tree::two_tree;

/// The least `L` with `2^L ≥ n`, for `n ≥ 1`.
fn ceil_log2(n: usize) -> usize {
    (n - 1).checked_ilog2().map_or(0, |log| log as usize + 1)
}

/// `n · count` as a real number, for the path of a [`Cost`].
fn times(n: f64, count: usize) -> f64 {
    n * count as f64
}

#[track_caller]
fn assert_some(ranks: usize) {
    assert!(ranks > 0, "the cost of an algorithm on 0 ranks");
}
