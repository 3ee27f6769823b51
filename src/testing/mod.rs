//! The test kit: message-passing programs in plain `cargo test`, with every number of ranks that matters, every
//! buffering, and every order of messages.
//!
//! - [`ranks!`](crate::ranks): one `#[test]` for each number of ranks
//! - [`explore`]: all orders in which messages can be received, or a sweep over seeds where there are too many
//! - [`say!`](crate::say): output of a rank, shown when the test fails; [`random`]: random numbers for each rank
//! - [`World::seed`](crate::World::seed): one order, repeatable; [`World::inject`](crate::World::inject): failures and
//!   delays at any operation
//!
//! The [guide] introduces them with examples. A failure prints its seed, or its order, and `RANKFOLD_SEED=` with that
//! repeats it:
//!
//! ```text
//! RANKFOLD_SEED=order:0.2 cargo test halo
//! ```
//!
//! # Examples
//!
//! ```
//! use rankfold::{Source, testing};
//!
//! // Three ranks send to rank 0: there are 3! orders in which it can receive.
//! let explored = testing::explore(4, |comm| {
//!     if comm.rank() > 0 {
//!         return comm.send(0, 0, &[comm.rank()]);
//!     }
//!     let mut sum = 0;
//!     for _ in 1..comm.size() {
//!         sum += comm.recv::<usize>(Source::Any, 0)?.0[0];
//!     }
//!     assert_eq!(sum, 6);
//!     Ok(())
//! });
//! assert_eq!(explored.orders, 6);
//! assert!(explored.complete);
//! ```

mod chooser;
#[cfg(all(test, not(loom)))]
mod executed;
mod explore;
#[cfg(all(test, not(loom)))]
mod far_ranks;
#[cfg(all(test, not(loom)))]
mod formulas;
mod order;
mod random;
mod ranks;
mod said;
mod search;
mod trial;
#[cfg(all(test, not(loom)))]
mod wrapped;

pub use crate::{ranks, say};
pub use explore::{Explore, Explored, Found, FoundBy, explore};
pub use order::{ChoiceKind, MessageOrder, ReceiveChoice};
pub use random::{Random, random};
#[doc(hidden)]
pub use ranks::{Tried, run_ranks};
#[doc(hidden)]
pub use said::note;
pub use trial::{Trial, TrialFailure};

#[doc = include_str!("../../docs/testing-without-mpi.md")]
pub mod guide {}

#[doc = include_str!("../../docs/coming-from-mpi.md")]
pub mod coming_from_mpi {}
