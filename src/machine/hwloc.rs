//! The machine's tree from libhwloc: the one file that talks to the crate `hwloc2`.
//!
//! Not all that the crate calls safe is. What is used here was read and is sound with libhwloc 2.1 to 2.x
//! (the build script takes no other): [`Topology::with_flags`], depths and objects by depth, an object's type,
//! number and CPUs, and the attributes of objects that are caches. Left alone on purpose: printing or naming an
//! object (memory is written past its end, or freed twice), NUMA nodes as objects (they have no depth of
//! that kind), binding (it does nothing for a machine that is not this one, and lets threads out of the mask
//! that `taskset` gave). Memory and distances are not to be had and come from the system's files.
//!
//! Of a machine that a control group lets this process use in part libhwloc leaves the rest out, unless it is asked for
//! all of it. The system's files know nothing of control groups, and a tree that depends on who was asked would
//! fit no table that was tuned with the other; so all of it is asked for, and [`Cpus`](super::Cpus) say what may be used.
//!
//! libhwloc describes another machine where `HWLOC_SYNTHETIC`, `HWLOC_XMLFILE` or `HWLOC_FSROOT` is set. What
//! it says then is not about the CPUs that threads run on, so it is not asked.

use hwloc2::{ObjectType, Topology, TopologyFlag, TopologyObject};

use super::tree::{Kind, Parts};

/// What stands in for the real machine.
const STAND_INS: [&str; 4] = [
    "HWLOC_SYNTHETIC",
    "HWLOC_XMLFILE",
    "HWLOC_FSROOT",
    "HWLOC_CPUID_PATH",
];

/// The parts of this machine but its memory; `None` if libhwloc cannot say, or would not say the truth.
pub(super) fn parts() -> Option<Parts> {
    if STAND_INS
        .iter()
        .any(|name| std::env::var_os(name).is_some())
    {
        return None;
    }
    let topology = Topology::with_flags(vec![TopologyFlag::IncludeDisallowed])?;
    let mut parts = Parts::default();
    for depth in 0..topology.depth() {
        for object in topology.objects_at_depth(depth) {
            add(object, &mut parts);
        }
    }
    parts.cpus.sort_unstable();
    (!parts.cpus.is_empty()).then_some(parts)
}

fn add(object: &TopologyObject, parts: &mut Parts) {
    let number = Some(object.os_index() as usize);
    if object.object_type() == ObjectType::PU {
        parts.cpus.extend(number);
        return;
    }
    let Some(kind) = kind(&object.object_type()) else {
        return;
    };
    let bytes = kind.is_cache().then(|| object.cache_attributes()).flatten();
    let bytes = bytes.map(|cache| cache.size()).filter(|&bytes| bytes > 0);
    let number = number.filter(|_| !kind.is_cache() && kind != Kind::Group);
    let cpus = object.cpuset().into_iter().flatten();
    parts.add(kind, number, bytes, cpus.map(|cpu| cpu as usize));
}

/// Instruction caches and what else there may be have no place in the tree.
fn kind(of: &ObjectType) -> Option<Kind> {
    match of {
        ObjectType::Package => Some(Kind::Package),
        ObjectType::Group => Some(Kind::Group),
        ObjectType::Die => Some(Kind::Die),
        ObjectType::L3Cache => Some(Kind::L3),
        ObjectType::L2Cache => Some(Kind::L2),
        ObjectType::L1Cache => Some(Kind::L1),
        ObjectType::Core => Some(Kind::Core),
        _ => None,
    }
}
