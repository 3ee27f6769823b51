//! [`Comm`]: the communicator, through which a rank sends, receives and calls collectives.
//!
//! The page of `Comm` shows the public methods topic by topic, in the order of the modules below.
//!
//! - Messages: `point_to_point`: send, recv and their variants; `synchronous`: ssend, issend; `probe`: probes, with and
//!   without a reserved message
//! - Requests: `start`: isend, irecv and their variants; `scope`: requests with borrowed buffers; `started_reductions`,
//!   `started_movements`: started collectives, also with borrowed buffers (`scope_started`); `persistent`,
//!   `persistent_collectives`, `persistent_counts`: calls that are described once and started any number of times
//! - Collectives of elements: `reduce`, `all_reduce`, `fused`, `reduce_scatter`; `broadcast`, `gather`, `scatter`, `all_gather`,
//!   `all_to_all`; `scan`; `barrier`; `using`: any of these with an algorithm of your choice; `values`,
//!   `values_pairwise`: collectives of owned values, by move; `exact`: exact sums
//! - Communicators: `split`: new communicators from old ones; `collected`: how ranks of several processes agree on
//!   them; `subset`: made by its members alone; `group`: members as values; `graph`: with neighbours that each rank names
//! - One-sided communication: `window`: memory of each rank that all ranks can reach
//! - Topologies and schedules: `reduce_over`: reductions over any topology; `run_schedule`: any schedule
//! - Introspection: `run_call`: the chosen algorithm, and how all collectives of elements run; `run_exact`: how those
//!   by `op::SumExact` do; `in_levels`: how ranks of several processes reduce and broadcast; `levels`: which ranks are near each other; `processes`: which process each rank is in
//!
//! Beside `Comm`: `attribute`: values that a rank keeps with a communicator; `cartesian`: ranks on a grid;
//! `neighborhood`, `neighborhood_started`: the collectives among neighbours, on a grid or in a graph, and `rounds`: the
//! order of their messages; `partitioned`: messages whose parts are handed over one by one; `layout`: which elements of
//! a slice belong to a message; `marked`: a number beside the tag of a message; `template`: Foster's hypercube template;
//! `by_hand`: a reference for the executor.
//!
//! What these share: `request`: operations in progress, and `wait_several`: several of them; `scope_begun`: those of a
//! scope; `reduce_loop`: the unified loop of the papers, and `order`: the order of its folds. What runs a call is in
//! [`execute`](crate::execute), and the state of a rank in [`engine`](crate::engine).

pub mod attribute;
mod bounded;
mod by_hand;
mod cartesian;
mod collected;
pub mod layout;
mod marked;
mod neighborhood;
mod neighborhood_started;
mod order;
pub mod partitioned;
mod reduce_loop;
mod request;
mod rounds;
mod scope_begun;
mod template;
mod wait_several;

// Each of the modules below adds a topic to the page of `Comm`, in this order. The blank lines keep rustfmt from
// sorting them.
mod point_to_point;

mod synchronous;

mod probe;

mod start;

mod scope;

mod started;

mod started_reductions;

mod started_movements;

mod scope_started;
mod scoped_request;

mod persistent;

mod persistent_collectives;

mod persistent_counts;

mod reduce;

mod all_reduce;

mod fused;

mod reduce_scatter;

mod broadcast;

mod gather;

mod scatter;

mod all_gather;

mod all_to_all;

mod scan;

mod barrier;

mod using;

mod values;

mod values_pairwise;

mod even_grid;
mod exact;
mod idup;

mod split;

mod subset;

mod group;

mod graph;

pub mod window;

mod reduce_over;

mod run_schedule;

mod call_checks;

mod run_call;
mod run_exact;

#[cfg(feature = "mpi")]
mod in_levels;
mod levels;

#[cfg(feature = "mpi")]
mod processes;

#[doc(hidden)]
pub use by_hand::all_reduce_by_hand;
pub use cartesian::Cartesian;
pub use even_grid::even_grid;
pub use fused::Fused;
pub use graph::Graph;
pub use group::{Group, Similarity};
#[doc(hidden)]
pub use marked::Marked;
pub use neighborhood::Neighborhood;
pub use order::{Order, Survivors};
pub use persistent::Persistent;
pub use probe::Message;
pub use reduce_over::{ReduceOver, ReduceValueOver};
pub use request::Request;
pub use scope::Scope;
pub use scoped_request::ScopedRequest;
pub use split::Level;
pub use template::{Side, hypercube};
pub use using::Using;
pub use values::Values;
pub use window::{AtomicWindow, Window};

pub use crate::engine::{Comm, Source, Status, Tag};
