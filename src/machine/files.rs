//! The machine from Linux's own files, under any root: this machine's, or a copy of another's.
//!
//! ```text
//! /sys/devices/system/cpu/online                               0-7
//!     cpuN/topology/{package,die,cluster,core}_cpus_list       shared parts, as lists of CPUs
//!     cpuN/cache/indexI/{level,type,size,shared_cpu_list}
//!     cpuN/cpu_capacity                                        kinds of cores; on x86 the lists of
//! /sys/devices/{cpu_core,cpu_atom,cpu_lowpower}/cpus           its performance monitors
//! /sys/devices/system/node/nodeN/{cpulist,meminfo,distance}
//! ```
//!
//! The code reads lists, not numbers: numbers of dies and cores are unique only within a package, and older kernels use
//! other file names for the same lists. Missing parts are left out of the tree.
//!
//! Source: *How CPU topology info is exported via sysfs*, and `Documentation/ABI/stable/sysfs-devices-node`,
//! in the documentation of the Linux kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::Cpus;
use super::ranges::parse;
use super::tree::{Machine, MachineParts, MachineSource, Node, ObjectKind};

impl Machine {
    /// The machine that Linux's files under `root` describe: `/`, or the top of a copy of another machine's files.
    ///
    /// `None` if the files do not list the CPUs, as on other systems.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::path::Path;
    /// use rankfold::machine::{Cpus, Machine};
    ///
    /// assert_eq!(Machine::from_files(Path::new("/nothing/here"), Cpus::here()), None);
    /// ```
    pub fn from_files(root: &Path, usable: Cpus) -> Option<Machine> {
        let parts = parts(root, &usable.mask)?;
        Some(parts.machine(usable, MachineSource::Files))
    }
}

/// The maximum number of CPUs: a longer list comes from a broken file.
const MOST_CPUS: usize = 1 << 16;

fn parts(root: &Path, usable: &[usize]) -> Option<MachineParts> {
    let cpus = root.join("sys/devices/system/cpu");
    let online = list(&cpus.join("online")).filter(|online| !online.is_empty())?;
    let all = with_unlisted(online, usable);
    let mut parts = MachineParts::of(all.clone());
    for cpu in all {
        let folder = cpus.join(format!("cpu{cpu}"));
        topology(&folder.join("topology"), &mut parts);
        caches(&folder.join("cache"), &mut parts);
    }
    parts.nodes = nodes(root);
    parts.kinds = kinds(root, &parts.cpus);
    Some(parts)
}

/// These CPUs, and those that the process may use beside them: a container may list its own made-up numbers, and hide the
/// files of CPUs or not.
fn with_unlisted(mut listed: Vec<usize>, usable: &[usize]) -> Vec<usize> {
    let known: BTreeSet<usize> = listed.iter().copied().collect();
    listed.extend(usable.iter().filter(|cpu| !known.contains(cpu)));
    listed
}

/// Adds memory and kinds of cores to parts from another source.
#[cfg(rankfold_hwloc)]
fn complete(parts: &mut MachineParts, root: &Path) {
    let nodes = nodes(root);
    if !nodes.is_empty() {
        parts.nodes = nodes;
    }
    parts.kinds = kinds(root, &parts.cpus);
}

fn word(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn number(path: &Path) -> Option<usize> {
    word(path)?.parse().ok()
}

fn list(path: &Path) -> Option<Vec<usize>> {
    parse(&word(path)?, MOST_CPUS)
}

/// The sets of CPUs that share a part with a CPU; the second name is that of older kernels.
const SHARED: [(ObjectKind, &str, &str, &str); 4] = [
    (
        ObjectKind::Package,
        "package_cpus_list",
        "core_siblings_list",
        "physical_package_id",
    ),
    (ObjectKind::Die, "die_cpus_list", "die_cpus_list", "die_id"),
    (
        ObjectKind::Group,
        "cluster_cpus_list",
        "cluster_cpus_list",
        "cluster_id",
    ),
    (
        ObjectKind::Core,
        "core_cpus_list",
        "thread_siblings_list",
        "core_id",
    ),
];

fn topology(folder: &Path, parts: &mut MachineParts) {
    for (kind, name, old, id) in SHARED {
        let shared = list(&folder.join(name)).or_else(|| list(&folder.join(old)));
        if let Some(shared) = shared {
            // The largest 16-bit number means none.
            let id = number(&folder.join(id)).filter(|&id| id < 0xffff);
            parts.add(kind, id, None, shared);
        }
    }
}

fn caches(folder: &Path, parts: &mut MachineParts) {
    for index in 0..16 {
        let folder = folder.join(format!("index{index}"));
        let Some(level) = number(&folder.join("level")) else {
            return;
        };
        let instructions = word(&folder.join("type")).is_some_and(|kind| kind == "Instruction");
        let kind = match level {
            1 if !instructions => ObjectKind::L1,
            2 if !instructions => ObjectKind::L2,
            3 => ObjectKind::L3,
            _ => continue,
        };
        if let Some(shared) = list(&folder.join("shared_cpu_list")) {
            let bytes = word(&folder.join("size")).and_then(|size| kibibytes(&size));
            parts.add(kind, None, bytes, shared);
        }
    }
}

/// `512K` or `512 kB`.
fn kibibytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    digits.parse::<u64>().ok()?.checked_mul(1024)
}

fn nodes(root: &Path) -> Vec<Node> {
    let folder = root.join("sys/devices/system/node");
    let numbers = list(&folder.join("online")).unwrap_or_default();
    let node = |&number: &usize| node(&folder.join(format!("node{number}")), number);
    let mut nodes: Vec<Node> = numbers.iter().filter_map(node).collect();
    let count = nodes.len();
    for node in &mut nodes {
        if node.distances.len() != count {
            node.distances.clear();
        }
    }
    nodes
}

fn node(folder: &Path, number: usize) -> Option<Node> {
    let distances = word(&folder.join("distance")).unwrap_or_default();
    let distances = distances
        .split_whitespace()
        .map_while(|far| far.parse().ok());
    Some(Node {
        number,
        cpus: list(&folder.join("cpulist"))?,
        bytes: memory(&folder.join("meminfo")),
        cache: side_cache(folder),
        distances: distances.collect(),
    })
}

/// The line `Node 0 MemTotal:  8388608 kB`.
fn memory(path: &Path) -> Option<u64> {
    let text = word(path)?;
    let line = text.lines().find(|line| line.contains("MemTotal:"))?;
    kibibytes(line.rsplit(':').next()?.trim())
}

/// The size of the memory-side cache of the node, in bytes.
fn side_cache(folder: &Path) -> Option<u64> {
    word(&folder.join("memory_side_cache/index1/size"))?
        .parse()
        .ok()
}

/// The performance monitors of x86's kinds of cores, slow ones first.
const MONITORS: [&str; 3] = ["cpu_lowpower", "cpu_atom", "cpu_core"];

/// The CPUs by kind of core, if there are several kinds.
fn kinds(root: &Path, cpus: &[usize]) -> Vec<Vec<usize>> {
    let of_monitor = |name| list(&root.join("sys/devices").join(name).join("cpus"));
    let by_monitor = MONITORS.into_iter().filter_map(of_monitor);
    let by_monitor: Vec<Vec<usize>> = by_monitor.filter(|cpus| !cpus.is_empty()).collect();
    if by_monitor.len() > 1 {
        return by_monitor;
    }
    let folder = |cpu: usize| -> PathBuf { root.join(format!("sys/devices/system/cpu/cpu{cpu}")) };
    let mut by_capacity: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &cpu in cpus {
        // A container may hide it.
        if let Some(capacity) = number(&folder(cpu).join("cpu_capacity")) {
            by_capacity.entry(capacity).or_default().push(cpu);
        }
    }
    match by_capacity.len() {
        1 => Vec::new(),
        _ => by_capacity.into_values().collect(),
    }
}

impl Machine {
    /// This machine: from libhwloc if that was available when this crate was built, else from Linux's own files, else
    /// just the CPUs that this process may use.
    ///
    /// Call this on a thread that is not pinned, as for [`Cpus::here`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::machine::Machine;
    ///
    /// let machine = Machine::here();
    /// assert!(machine.usable.mask.iter().all(|cpu| machine.tree.cpus.contains(cpu)));
    /// ```
    pub fn here() -> Machine {
        Machine::with_usable(Cpus::here())
    }

    pub(crate) fn with_usable(usable: Cpus) -> Machine {
        #[cfg(rankfold_hwloc)]
        if let Some(mut parts) = super::hwloc::parts() {
            parts.cpus = with_unlisted(parts.cpus, &usable.mask);
            complete(&mut parts, Path::new("/"));
            return parts.machine(usable, MachineSource::Hwloc);
        }
        let files = Machine::from_files(Path::new("/"), usable.clone());
        files.unwrap_or_else(|| Machine::flat(usable))
    }

    /// The same machine with the tree as first read by this process, for short-lived worlds. Memory added since may be
    /// missing; added CPUs are found.
    pub(crate) fn remembered(usable: Cpus) -> Arc<Machine> {
        static FIRST: OnceLock<Arc<Machine>> = OnceLock::new();
        let first = FIRST.get_or_init(|| Arc::new(Machine::with_usable(usable.clone())));
        if first.usable == usable {
            return first.clone();
        }
        let known = |cpu: &usize| first.tree.cpus.contains(cpu);
        Arc::new(if usable.mask.iter().all(known) {
            Machine {
                usable,
                ..(**first).clone()
            }
        } else {
            Machine::with_usable(usable)
        })
    }
}
