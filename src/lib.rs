//! Message passing between the threads of one process: ranks that send, receive and reduce, with no
//! MPI installed.
//!
//! Every process of a message-passing program is a thread here, a *rank*, pinned where that helps. Ranks
//! talk over lock-free channels; collectives run on top.
//!
//! ```
//! use rankfold::{World, op};
//!
//! let sums = World::new(8).run(|comm| {
//!     let mut v = vec![comm.rank() as f64; 1 << 10];
//!     comm.all_reduce(&mut v, op::Sum)?;
//!     Ok(v[0])
//! })?;
//! assert_eq!(sums, [28.0; 8]);
//! # Ok::<(), rankfold::WorldError>(())
//! ```
//!
//! # What you can rely on
//!
//! - **Nobody waits for ever.** A rank may panic, return early or pass wrong arguments at any point: the
//!   others get a typed error that names the first culprit. A deadlock is found the moment the last
//!   rank falls into it, with who waits for whom and at which line, also while other ranks run on. What
//!   is beyond one world is beyond it: a thread that is a rank of two worlds, teams that run each other, a
//!   [`Seat`] that is forgotten and never entered. For those there is [`World::timeout`].
//! - **Any number of ranks works**, with no flag: a wait spins only while all ranks of the process fit on
//!   the CPUs that it may really use, else it yields, and then sleeps.
//! - **Collectives that do not match are found**: no element crosses between them, and the report shows
//!   the call and line of each rank that has come so far, and which rank differs from the strict majority. At once
//!   with [`World::check`], which is on in debug builds; else when ranks meet, or at the end of the run. As long as
//!   it is open which rank that is, a rank that has found a mismatch waits up to two seconds for the others to come
//!   to the call. (Calls are compared by 32-bit fingerprints, and two closures are not told apart.)
//! - **Reports name communicators** that are not the world's by the call and line that made them.
//! - **Operands stay in rank order** unless an operator says that it commutes, and a reduction gives the
//!   same bits in every run, but for [`Order::Arrival`].
//!
//! # The map
//!
//! | where | what |
//! |---|---|
//! | [`World`], [`Team`], [`Seats`] | how many ranks, on whose threads; [`Report`] and [`WorldError`]: what came of them |
//! | [`Report::recent`], [`Trace`] | what each rank did last, always; all that went on, if asked for: as data, for Perfetto, as a picture |
//! | [`Comm`] | what a rank talks through: SEND and RECV, all collectives of elements and of owned values, new communicators ([`dup`](Comm::dup), [`split`](Comm::split), [`shrink`](Comm::shrink), [grids](Comm::cartesian)) |
//! | [`Request`], [`Comm::scope`], [`Message`] | operations that are started and waited for later, with owned and with borrowed buffers; matched probes |
//! | [`World::buffering`] | finds programs that are right only as long as messages are kept |
//! | [`Comm::reduce_over`], [`topology`] | any reduction algorithm as data: a set of triples "p sends to q at step t" |
//! | [`schedule`], [`collective`] | what every rank does in every step, as data: combinators, algorithms, the register of them by name, and the automatic choice; [`Comm::run_schedule`] runs your own |
//! | [`check`](mod@check) | runs a schedule on symbols and proves it, or names what is wrong |
//! | [`simulate`](mod@simulate) | times a schedule on a LogGP machine, for a million ranks |
//! | [`cost`] | what algorithms cost, in closed form: steps, loads, time; best segments, isoefficiency |
//! | [`draw`] | trees, space-time diagrams and machines, as SVG and as text |
//! | [`op`] | operators and elements |
//! | [`machine`] | the machine as a tree, the CPUs that may be used, and where ranks go |
//! | [`measure`] | what calls take: points, passes, medians and how far to trust them |
//! | [`testing`] | the test kit: every number of ranks, every order of messages, guides |
//! | [`error`] | what can go wrong with one operation |
//!
//! # The idea
//!
//! A reduction algorithm *is* a logical topology, and one loop runs them all (Xiong, *Towards Unified
//! Description for Reduction Algorithms*, Computer Science 42(11), 2015). Pass any
//! [`Topology`](topology::Topology), from a family or from your own triples:
//!
//! ```
//! use rankfold::{World, op, topology::Topology};
//!
//! let tree = Topology::from_text("1 0 0\n2 0 0\n4 0 3\n5 0 3\n7 0 6\n3 1 0\n6 1 0")?; // p t q
//! let sums = World::new(8).run(|comm| {
//!     let mut v = [1 << comm.rank()];
//!     comm.reduce_over(&tree, &mut v, op::Sum).run()?;
//!     Ok(v[0])
//! })?;
//! assert_eq!(sums[0], 255);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! `hwloc` is on by default: the machine's tree comes from libhwloc where that is installed with its headers and
//! pkg-config when this crate is built. A program built so needs `libhwloc.so` where it runs;
//! `RANKFOLD_NO_HWLOC=1` in the environment of the build, or `default-features = false`, builds one that does
//! not. Nothing else depends on it.
//!
//! The others are off by default. `json` reads and writes topologies as JSON (`Topology::from_json`, `to_json`), and
//! measured runs ([`measure::Run`] with serde); `cli` builds the tool `rankfold`, which measures collectives, and proves,
//! draws and simulates their algorithms without running them;
//! `signal` lets a running world be printed by a signal (`World::dump_on_signal`).
//!
//! # Trade-offs
//!
//! Ranks share one address space and one fate: `std::process::abort` or a stack overflow in one ends
//! them all. Reductions work on plain data ([`op::Element`]) or on owned values by move; there are no
//! derived datatypes. A message longer than 32 bytes is read by its receiver straight out of the
//! sender's buffer while both are there, and is copied otherwise.
//!
//! Linux on x86-64 is tested. Pinning is done on Linux only; elsewhere ranks run where the system likes.
#![deny(unsafe_code)]

pub mod check;
pub mod collective;
mod comm;
pub mod cost;
mod direct;
pub mod draw;
pub mod error;
mod execute;
pub mod machine;
pub mod measure;
mod names;
pub mod op;
pub mod schedule;
pub mod simulate;
pub mod span;
mod sync;
pub mod testing;
pub mod topology;
mod transport;
pub mod tune;
mod unwind;
mod world;

/// The number of a process of the program: `0..size`.
pub type Rank = usize;

pub use comm::{
    Cartesian, Comm, Level, Message, Order, ReduceOver, ReduceValueOver, Request, Scope,
    ScopedRequest, Side, Source, Status, Survivors, Tag, even_grid,
};
pub use error::{Error, ErrorKind, Result};
pub use machine::Bind;
pub use transport::memory::eager_limit::Buffering;
pub use transport::memory::packet::EAGER_BYTES;
pub use transport::trace::record::{Operation, Passed, Progress};
pub use transport::{Fault, Unfinished};
pub use world::{
    Counts, Lost, Outcome, Report, Seat, Seats, Team, Trace, TracedCall, TracedMessage, World,
    WorldError,
};
