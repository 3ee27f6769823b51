//! Message passing between threads.
#![deny(unsafe_code)]

pub mod machine;
pub mod topology;

/// The number of a process of the program: `0..size`.
pub type Rank = usize;
