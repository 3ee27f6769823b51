//! The machine as plain data: which CPUs this process may use, and which rank goes where.
//!
//! - `cpus`: the CPUs this process may really use: its affinity mask and its quota.
//! - `cgroup`: the CPU quota of a control group, read from Linux's own files.
//! - `place`: which rank goes on which CPU, as a pure function.
//! - `affinity`: the one place where a thread is pinned.
//! - `ranges`: how lists of CPUs are printed, `0-3,8`.
//!
//! Placing and pinning are apart on purpose: the first is arithmetic and can be tested for machines
//! we do not have, the second is one system call.
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
mod cgroup;
mod cpus;
mod place;
mod ranges;

pub use affinity::{PinError, pin};
pub use cgroup::quota_under;
pub use cpus::Cpus;
pub use place::{Bind, BindError, Placement, Unpinned, place};
