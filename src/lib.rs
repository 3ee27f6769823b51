//! Message passing between the threads of one process: ranks that send, receive and reduce, with no MPI installed.
//!
//! Every process of a message-passing program is a thread here, called a *rank*, and is pinned to a CPU if that helps.
//! Point-to-point messages travel over lock-free channels, and short ones between ranks that talk often through a ring of
//! cache lines. Collectives use shared memory by default: short vectors are copied through cells that all ranks can read,
//! long ones are read in place. Short scans of more ranks than CPUs run as schedules of messages, as does any algorithm of
//! messages that is named.
//! These are the defaults because they are the fastest; [`World::transport`] sends everything over crossbeam channels.
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
//! - **No rank waits for ever.** A rank may panic, return early or pass wrong arguments at any point: the others get a
//!   typed error that names the first culprit. A deadlock is found the moment the last rank enters it, even while other
//!   ranks run on, and the report says which rank waits for which and at which line. Detection does not reach beyond
//!   one world: it does not cover a thread that is a rank of two worlds, teams that run each other, or a [`Seat`] that
//!   is forgotten and never entered. Use [`World::timeout`] for those.
//! - **More ranks than CPUs work**, up to thousands, with no flag. A wait spins only while all ranks of the process have
//!   a CPU of their own among those it may use; otherwise it yields, and then sleeps. Under a smaller CPU quota it spins for a
//!   moment, and then sleeps.
//! - **Mismatched collectives are found.** No element crosses between them, and the report shows the call and line of
//!   each rank that has arrived so far, and which rank differs from the strict majority. A mismatch is found at once
//!   with [`World::check`], which is on in debug builds; otherwise when ranks meet, or at the end of the run. While it
//!   is undecided which rank differs, a rank that has found a mismatch waits up to two seconds for the others to reach
//!   the call. (Calls are compared by 32-bit fingerprints, and two closures are not distinguished.)
//! - **Reports name each communicator** other than the world by the call and line that created it.
//! - **Operands stay in rank order** unless an operator declares that it commutes, and a reduction gives the same bits
//!   in every run, except with [`Order::Arrival`], and of NaNs.
//!
//! # The map
//!
//! | where | what |
//! |---|---|
//! | [`World`], [`Team`], [`Seats`] | the number of ranks and the threads they run on; [`Report`] and [`WorldError`]: the outcome of a run |
//! | [`Report::recent`], [`Trace`] | the last operations of each rank, always; a full trace on request, as data, for Perfetto, as a picture |
//! | [`Comm`] | a rank's communicator: send and receive, all collectives of elements and of owned values, new communicators ([`dup`](Comm::dup), [`split`](Comm::split), [`shrink`](Comm::shrink), [grids](Cartesian::new), [graphs](Comm::graph)) |
//! | [`attribute`] | values that a library keeps with a communicator |
//! | [`Neighborhood`] | collectives among the neighbours on a grid or in a graph, blocking, started and persistent |
//! | [`layout`] | derived datatypes: columns, blocks and any other places of a slice, and the all-to-all between them |
//! | [`Request`], [`Comm::scope`], [`Message`] | nonblocking operations, with owned and with borrowed buffers; matched probes |
//! | [`partitioned`] | messages whose parts are handed over one by one, by several threads of a rank too |
//! | [`Window`], [`AtomicWindow`], [`window`] | one-sided communication: memory of each rank that all ranks can reach, under locks or as atomics |
//! | [`World::buffering`] | finds programs that are correct only as long as messages are buffered |
//! | [`Comm::reduce_over`], [`topology`] | any reduction algorithm as data: a set of triples "p sends to q at step t" |
//! | [`schedule`], [`collective`] | what every rank does in every step, as data: combinators, algorithms, their registry by name, and the automatic choice; [`Comm::run_schedule`] runs your own |
//! | [`check`](mod@check) | runs a schedule on symbols and either proves it or names the fault |
//! | [`simulate`](mod@simulate) | times a schedule on a LogGP machine, for a million ranks |
//! | [`cost`] | the cost of algorithms in closed form: steps, loads, time; best segments, isoefficiency |
//! | `draw` | trees, space-time diagrams and machines, as SVG and as text (feature `draw`) |
//! | [`op`] | operators and elements; closures are operators |
//! | [`machine`] | the machine as a tree, the CPUs that may be used, and the placement of ranks |
//! | `measure`, `tune` | how long calls take: points, passes, medians and how far to trust them; tuning tables (feature `measure`) |
//! | [`testing`] | the test kit: every number of ranks, every order of messages, guides |
//! | [`error`] | what can go wrong with one operation |
//!
//! # The idea
//!
//! A reduction algorithm *is* a logical topology, and one loop runs them all (Xiong, *Towards Unified Description for
//! Reduction Algorithms*, Computer Science 42(11), 2015). Pass any [`Topology`](topology::Topology), from a family or
//! from your own triples:
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
//! `hwloc` is on by default: the machine's tree comes from libhwloc if that is installed with its headers and
//! pkg-config when this crate is built. A program built this way needs `libhwloc.so` where it runs.
//! `RANKFOLD_NO_HWLOC=1` in the environment of the build, or `default-features = false`, builds one that does not.
//! Nothing else depends on it.
//!
//! The other features are off by default: a program that reduces vectors does not wait for them to compile. `draw` has
//! pictures of topologies, schedules, machines and traces. `measure` times collectives, compares runs and tunes (and
//! draws). `json` reads and writes topologies as JSON (`Topology::from_json`, `to_json`) and measured runs
//! (`measure::Run` with serde). `cli` builds the tool `rankfold`, which measures collectives, and
//! proves, draws and simulates their algorithms without running them. `num-complex` has [`op::Sum`] and [`op::Product`]
//! take the complex numbers of the crate of that name. `signal` prints the state of a running world on a signal
//! (`World::dump_on_signal`). `mpi` spreads the ranks of a world over the processes that an MPI launcher has started
//! (`World::spread`, on Linux).
//!
//! # Trade-offs
//!
//! All ranks share one address space and fail together: `std::process::abort` or a stack overflow in one ends them all.
//! Reductions work on plain data ([`op::Element`]) or on owned values by move; parts of a slice that are not contiguous
//! are packed ([`layout`]). A receiver reads a long message out of the sender's buffer while both are present;
//! otherwise the message is copied into a buffer and out of it. Up to 32 bytes travel in the packet itself, up to 1 KiB
//! (8 KiB if the send is started, or follows another) through the ring where there is one.
//!
//! Linux on x86-64 is tested. Pinning is done on Linux only; elsewhere the operating system places the ranks.
#![deny(unsafe_code)]
#![warn(missing_debug_implementations)]
#[cfg(all(feature = "mpi", not(target_os = "linux")))]
compile_error!("the feature `mpi` needs Linux");

pub mod check;
pub mod collective;
mod comm;
pub mod cost;
#[cfg(feature = "draw")]
pub mod draw;
mod engine;
mod environment;
pub mod error;
mod execute;
mod hash;
pub mod machine;
#[cfg(feature = "measure")]
pub mod measure;
mod moves;
#[cfg(feature = "mpi")]
mod mpi;
mod names;
pub mod op;
pub mod schedule;
pub mod simulate;
mod sort;
pub mod span;
mod sync;
pub mod testing;
pub mod topology;
mod transport;
#[cfg(feature = "measure")]
pub mod tune;
mod unwind;
mod world;

/// The number of a rank: `0..size`.
pub type Rank = usize;

pub use comm::{
    AtomicWindow, Cartesian, Comm, Fused, Graph, Group, Level, Message, Neighborhood, Order,
    Persistent, ReduceOver, ReduceValueOver, Request, Scope, ScopedRequest, Side, Similarity,
    Source, Status, Survivors, Tag, Using, Values, Window, even_grid, hypercube,
};
#[doc(hidden)]
pub use comm::{Marked, all_reduce_by_hand};
pub use comm::{attribute, layout, partitioned, window};
pub use error::{Error, ErrorKind, Result};
pub use machine::Bind;
pub use names::{Transport, UnknownTransport};
#[cfg(feature = "mpi")]
pub use op::Plain;
pub use transport::memory::eager_limit::Buffering;
pub use transport::memory::packet::EAGER_BYTES;
pub use transport::trace::operation::{Operation, Passed, Progress};
pub use transport::{Fault, Unfinished};
#[cfg(feature = "mpi")]
pub use world::Spread;
pub use world::{
    Counts, Lost, Outcome, Report, Seat, Seats, Team, Trace, TracedCall, TracedMessage, World,
    WorldError,
};
