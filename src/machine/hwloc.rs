//! The machine's tree from libhwloc: the only file that uses the crate `hwloc2`.
//!
//! Not every function that the crate marks as safe is sound. The functions used here were reviewed and are sound with
//! libhwloc 2.1 to 2.x (the build script accepts no other): [`Topology::with_flags`], depths and objects by depth, an
//! object's type, number and CPUs, and the attributes of objects that are caches. The following are avoided on purpose:
//! printing or naming an object (it writes memory past its end, or frees it twice), NUMA nodes as objects (they have
//! no depth of that kind), and binding (it has no effect for a machine other than this one, and lets threads leave the
//! mask that `taskset` gave). Memory and distances are unavailable and come from the system's files.
//!
//! If a control group lets this process use only part of a machine, libhwloc omits the rest unless it is asked for
//! everything. The system's files do not depend on control groups, and a tree that depended on its source would not
//! match a table that was tuned with the other source. The code therefore asks for everything, and
//! [`Cpus`](super::Cpus) tell which CPUs may be used.
//!
//! libhwloc describes another machine if `HWLOC_SYNTHETIC`, `HWLOC_XMLFILE`, `HWLOC_FSROOT` or `HWLOC_CPUID_PATH` is
//! set. Its answers then do not concern the CPUs that threads run on, so it is not used.

use hwloc2::{ObjectType, Topology, TopologyFlag, TopologyObject};

use super::tree::{MachineParts, ObjectKind};

/// Environment variables that replace the real machine.
const STAND_INS: [&str; 4] = [
    "HWLOC_SYNTHETIC",
    "HWLOC_XMLFILE",
    "HWLOC_FSROOT",
    "HWLOC_CPUID_PATH",
];

/// The parts of this machine except its memory; `None` if libhwloc cannot describe it, or describes another machine.
pub(super) fn parts() -> Option<MachineParts> {
    if STAND_INS
        .iter()
        .any(|name| std::env::var_os(name).is_some())
    {
        return None;
    }
    let topology = Topology::with_flags(vec![TopologyFlag::IncludeDisallowed])?;
    let mut parts = MachineParts::default();
    for depth in 0..topology.depth() {
        for object in topology.objects_at_depth(depth) {
            add(object, &mut parts);
        }
    }
    parts.cpus.sort_unstable();
    (!parts.cpus.is_empty()).then_some(parts)
}

fn add(object: &TopologyObject, parts: &mut MachineParts) {
    let number = number(object.os_index());
    if object.object_type() == ObjectType::PU {
        parts.cpus.extend(number);
        return;
    }
    let Some(kind) = kind(&object.object_type()) else {
        return;
    };
    let bytes = kind.is_cache().then(|| object.cache_attributes()).flatten();
    let bytes = bytes.map(|cache| cache.size()).filter(|&bytes| bytes > 0);
    let number = number.filter(|_| !kind.is_cache() && kind != ObjectKind::Group);
    let cpus = object.cpuset().into_iter().flatten();
    parts.add(kind, number, bytes, cpus.map(|cpu| cpu as usize));
}

/// The number that libhwloc gives to an object that the system has not numbered.
const UNKNOWN: u32 = u32::MAX;

fn number(index: u32) -> Option<usize> {
    (index != UNKNOWN).then_some(index as usize)
}

/// Instruction caches and other kinds of objects are not part of the tree.
fn kind(of: &ObjectType) -> Option<ObjectKind> {
    match of {
        ObjectType::Package => Some(ObjectKind::Package),
        ObjectType::Group => Some(ObjectKind::Group),
        ObjectType::Die => Some(ObjectKind::Die),
        ObjectType::L3Cache => Some(ObjectKind::L3),
        ObjectType::L2Cache => Some(ObjectKind::L2),
        ObjectType::L1Cache => Some(ObjectKind::L1),
        ObjectType::Core => Some(ObjectKind::Core),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_number_gets_none() {
        assert_eq!([0, 7, u32::MAX].map(number), [Some(0), Some(7), None]);
    }
}
