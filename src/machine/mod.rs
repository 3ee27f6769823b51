//! The machine as plain data: its tree, the CPUs that this process may use, and the placement of ranks.
//!
//! - `tree`: packages, NUMA nodes, caches, cores, as a tree; `files`, `hwloc`, `text`, `xml`: its sources; `stand_in`:
//!   machines to plan for.
//! - `cpus`: the CPUs that this process may actually use: its affinity mask and its quota.
//! - `cgroup`: the CPU quota of a control group, read from Linux's own files.
//! - `place`: the placement of ranks on CPUs, as a pure function; `spread`: the orders in which CPUs are handed out.
//! - `affinity`: the only place where a thread is pinned; `aside`: where a thread makes room for another.
//! - `identity`: the properties by which a machine is recognized.
//! - `near`: the part of the machine that each rank of a world is in.
//! - `memory`: vectors on the NUMA node of the rank that makes them.
//! - `show`: the printed form of a machine; `ranges`: that of lists of CPUs, `0-3,8`.
//!
//! Placing and pinning are separate on purpose: the first is arithmetic and can be tested for machines that are not at
//! hand, the second is one system call.
//!
//! # Examples
//!
//! ```
//! use rankfold::machine::{Bind, Cpus, pin, place};
//!
//! let cpus = Cpus::here();
//! let placement = place(1, &Bind::Compact, &cpus, true)?;
//! std::thread::scope(|s| {
//!     s.spawn(|| {
//!         if let Some(cpu) = placement.cpu[0] {
//!             pin(cpu, &cpus).unwrap_or_else(|why| println!("not pinned: {why}"));
//!         }
//!     });
//! });
//! # Ok::<(), rankfold::machine::BindError>(())
//! ```

mod affinity;
mod aside;
mod cgroup;
mod cpus;
mod files;
#[cfg(rankfold_hwloc)]
mod hwloc;
mod identity;
mod mask;
mod memory;
mod near;
mod place;
mod ranges;
mod show;
mod spread;
mod stand_in;
mod text;
mod tree;
mod xml;

pub(crate) use affinity::{CAN_PIN, is_pinned_to};
pub use affinity::{PinError, PinnedCaller, pin};
pub(crate) use aside::{cpu, step_aside};
pub use cgroup::quota_under;
pub use cpus::Cpus;
pub(crate) use identity::processor;
pub use memory::vec_here;
pub(crate) use near::{Near, ways};
pub use place::{Bind, BindError, Placement, Unpinned, place};
pub(crate) use show::Bytes;
pub use text::MachineError;
pub use tree::{Machine, MachineSource, Node, Object, ObjectKind};
