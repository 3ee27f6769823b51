//! How bytes move between ranks, and how ranks wait. Knows neither steps nor trees.
//!
//! - [`packet`](memory::packet) one message: eager, lent or owned
//! - [`head`](memory::head) what a packet says of itself; [`lend`](memory::lend) and [`loan`](memory::loan) the guards around lent memory, and the
//!   word that decides who may touch it
//! - [`cooperative_copy`](memory::cooperative_copy) both ends of a long loan copy it, [`copy_claims`](memory::copy_claims) the words by which they do
//! - [`receipt`](memory::receipt) of a message whose sender waits until it is received; [`eager_limit`](memory::eager_limit) how much is kept without
//! - [`mailbox`](matching::mailbox) what a rank receives: matching, order, messages that came early; [`posted_receives`](matching::posted_receives) receives that
//!   wait for their messages
//! - [`fast_box`](memory::fast_box) a way past the mailbox for whoever talks most; [`incoming`](matching::incoming) both ways in one order
//! - [`lane`](lanes::lane) the ways of collective packets, one direction between two ranks each, and those that are
//!   channels; [`slot`](lanes::slot), [`slot_words`](lanes::slot_words) and [`slot_lanes`](lanes::slot_lanes) those that are cache lines; [`lanes`](lanes) which a communicator has
//! - [`epoch`](memory::epoch) the words of a call in which ranks touch each other's memory; [`shared_vectors`](memory::shared_vectors) the guards around
//!   it, and what is done with the pointers
//! - [`cells`](memory::cells) places that one rank writes and all may read, for short vectors
//! - [`board`](communicator::board) what all ranks see: the gate of a barrier, records of collective calls
//! - [`recorder`](trace::recorder) how a rank writes down what it does; [`record`](trace::record) what others may read of it; [`event_ring`](trace::event_ring) its
//!   last operations, [`clock`](trace::clock) their times
//! - [`members`](communicator::members) who belongs to a communicator; [`shrink`](communicator::shrink) how the living leave the dead behind
//! - [`sleeper`](wakeup::sleeper) the flag and bell of a rank, and the hand-shake that loses no post; [`fences`](wakeup::fences) what orders it
//! - [`wait`](progress::wait) the one wait loop: spin, yield, park; [`cpu_collision`](progress::cpu_collision) how ranks that wait on one CPU part
//! - [`job_slot`](reuse::job_slot) how a thread that stays is given its next job; [`fabric_reuse`](reuse::fabric_reuse) what is used again for the next run
//! - [`scheduler`](deadlock::scheduler) worlds in which it is chosen who comes first
//! - [`wait_for_graph`](deadlock::wait_for_graph) who can never move again; [`registry`](deadlock::registry) the registry of waits and ends around it; [`mismatch`](deadlock::mismatch) whose collective
//!   calls differ from the others'
//! - [`origin`](trace::origin) where a communicator comes from, for reports

pub(crate) mod communicator;
pub(crate) mod deadlock;
mod endpoint;
mod fabric;
pub(crate) mod lanes;
#[cfg(all(test, loom))]
mod loom_models;
pub(crate) mod matching;
pub(crate) mod memory;
pub(crate) mod port;
pub(crate) mod progress;
pub(crate) mod reuse;
pub(crate) mod trace;
pub(crate) mod wakeup;

pub(crate) use communicator::shared::CommShared;
use endpoint::{Endpoint, Tally};
pub(crate) use fabric::{Fabric, Settings};
pub use fabric::{Fault, Unfinished};
