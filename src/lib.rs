//! Message passing between threads.
#![deny(unsafe_code)]

mod comm;
pub mod error;
pub mod machine;
pub mod op;
pub mod span;
mod sync;
pub mod topology;
mod transport;
mod unwind;
mod world;

/// The number of a process of the program: `0..size`.
pub type Rank = usize;

pub use comm::{Comm, Order, ReduceOver, ReduceValueOver, Source, Status, Survivors, Tag};
pub use error::{Error, ErrorKind, Result};
pub use machine::Bind;
pub use transport::Fault;
pub use transport::packet::EAGER_BYTES;
pub use world::{Counts, Lost, Outcome, Report, Seat, Seats, Team, World, WorldError};
