//! Deadlock detection: which ranks can never move again, and why.

pub(crate) mod choice;
mod control;
pub(crate) mod detector;
pub(crate) mod mismatch;
mod numbers;
pub(crate) mod past;
pub(crate) mod picture;
pub(crate) mod record;
pub(crate) mod registry;
pub(crate) mod scheduler;
pub(in crate::transport) mod snapshot;
#[cfg(all(test, not(loom)))]
mod started_model;
pub(crate) mod wait_for_graph;
