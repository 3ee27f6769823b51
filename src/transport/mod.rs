//! The transport: how bytes move between ranks, and how ranks wait. It knows neither schedules nor topologies.
//!
//! - [`packet`](memory::packet): one message, which is eager, lent or owned
//! - [`head`](memory::head): the envelope of a packet; [`lend`](memory::lend) and [`loan`](memory::loan): the guards
//!   around lent memory, and the word that decides which rank may access it;
//!   [`standing_loan`](memory::standing_loan): the same for a sender that does not wait, and leaves a copy instead
//! - [`cooperative_copy`](memory::cooperative_copy): sender and receiver of a long loan copy it together;
//!   [`copy_claims`](memory::copy_claims): the words by which they share the work
//! - [`receipt`](memory::receipt): the acknowledgement of a message whose sender waits until it is received;
//!   [`eager_limit`](memory::eager_limit): how much is buffered without one
//! - [`mailbox`](matching::mailbox): what a rank receives: matching, order, unexpected messages;
//!   [`posted_receives`](matching::posted_receives): receives that wait for their messages
//! - [`ring`](memory::ring): the memory through which one rank hands packets to one other: of slots and of fast boxes
//! - [`fast_box`](memory::fast_box): a shortcut past the mailbox for the most frequent sender;
//!   [`incoming`](matching::incoming): mailbox and fast box in one order
//! - [`lane`](lanes::lane): the lanes of collective packets, each one direction between two ranks, and the channel
//!   implementation; [`slot`](lanes::slot) and [`slot_lanes`](lanes::slot_lanes): the implementation in cache lines;
//!   [`lanes`](lanes): the lanes of a communicator
//! - [`epoch`](memory::epoch): the words of a call in which ranks access each other's memory;
//!   [`shared_call`](memory::shared_call): the guards around it; [`shared_vectors`](memory::shared_vectors): all uses of
//!   the pointers
//! - [`cells`](memory::cells): places that one rank writes and all may read, for short vectors
//! - [`window`](memory::window): a rank's part of a window; [`part_lock`](memory::part_lock): its lock, in the order of
//!   requests; [`puts`](memory::puts): what is written at the end of an epoch; [`exposure`](communicator::exposure): post,
//!   start, complete, wait; [`puts_in`](communicator::puts_in): whether a fence has anything to write
//! - [`gate`](communicator::gate): the barrier of a communicator; [`call`](communicator::call) and
//!   [`call_log`](communicator::call_log): descriptions and records of collective calls
//! - [`recorder`](trace::recorder): how a rank records what it does; [`record`](trace::record): what others may read of
//!   it; [`event_ring`](trace::event_ring): its last operations; [`clock`](trace::clock): their times
//! - [`members`](communicator::members): the ranks of a communicator; [`shrink`](communicator::shrink): how the
//!   surviving ranks leave the ended ones behind
//! - [`sleeper`](wakeup::sleeper): the flag and bell of a rank, and the handshake that loses no post;
//!   [`fences`](wakeup::fences): what orders it
//! - [`wait`](progress::wait): the one wait loop: spin, yield, park; [`cpu_collision`](progress::cpu_collision): how
//!   ranks that wait on the same CPU separate
//! - [`job_slot`](reuse::job_slot): how a worker thread gets its next job; [`fabric_reuse`](reuse::fabric_reuse): what
//!   the next run uses again
//! - [`scheduler`](deadlock::scheduler): controlled worlds, in which a chooser decides which message comes first
//! - [`wait_for_graph`](deadlock::wait_for_graph): which ranks can never proceed; [`registry`](deadlock::registry): the
//!   registry of waits and ends around it; [`detector`](deadlock::detector): when ranks look for a deadlock, and why none
//!   is missed; [`mismatch`](deadlock::mismatch): which ranks' collective calls differ from the others'
//! - [`processes`]: ranks in other processes, and what is sent to them; without the feature `mpi` there are none
//! - `carried`: which memory, other than channels, has carried data
//! - [`origin`](trace::origin): where a communicator comes from, for reports

mod carried;
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
#[cfg_attr(not(feature = "mpi"), path = "processes/none.rs")]
pub(crate) mod processes;
pub(crate) mod progress;
pub(crate) mod reuse;
pub(crate) mod trace;
pub(crate) mod wakeup;

pub(crate) use communicator::shared::{CommHandle, CommShared};
use endpoint::{Endpoint, Tally};
pub(crate) use fabric::{Fabric, Settings};
pub use fabric::{Fault, Unfinished};
