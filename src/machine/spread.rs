//! The orders in which CPUs are handed out, as functions of the tree and of the speeds of its cores.

use std::collections::BTreeMap;

use super::tree::{Machine, Object, ObjectKind};
use crate::sort;

/// The slowness of each CPU: 0 for the fastest kind, and for all CPUs if the kinds are unknown. A CPU of no known kind is
/// slower than all others.
pub(super) struct Slowness {
    of_cpu: BTreeMap<usize, usize>,
    unknown: usize,
}

impl Slowness {
    pub(super) fn of(machine: &Machine) -> Slowness {
        let mut of_cpu = BTreeMap::new();
        for (slow, cpus) in machine.kinds.iter().rev().enumerate() {
            cpus.iter().for_each(|&cpu| _ = of_cpu.insert(cpu, slow));
        }
        Slowness {
            of_cpu,
            unknown: machine.kinds.len(),
        }
    }

    fn of_cpu(&self, cpu: usize) -> usize {
        self.of_cpu.get(&cpu).copied().unwrap_or(self.unknown)
    }

    /// The indices of these CPUs, fast ones first, otherwise in the given order.
    fn fast_first(&self, cpus: &[usize]) -> Vec<usize> {
        let mut places: Vec<usize> = (0..cpus.len()).collect();
        sort::by_numbers(&mut places, |&place| [self.of_cpu(cpus[place])]);
        places
    }
}

/// Neighbours next to each other: the first `ranks` leaves from left to right, choosing fast kinds before slow ones.
pub(super) fn compact(tree: &Object, ranks: usize, slow: &Slowness) -> Vec<usize> {
    let mut places = slow.fast_first(&tree.cpus);
    places.truncate(ranks);
    places.sort_unstable();
    places.into_iter().map(|place| tree.cpus[place]).collect()
}

/// As far apart as possible: each child in turn, on every level. In any prefix of the order, no child has two more than
/// a sibling that is not full.
pub(super) fn scatter(tree: &Object) -> Vec<usize> {
    if tree.children.is_empty() {
        return tree.cpus.clone();
    }
    let mut turns: Vec<_> = tree
        .children
        .iter()
        .map(|child| scatter(child).into_iter())
        .collect();
    let mut all = Vec::with_capacity(tree.cpus.len());
    while all.len() < tree.cpus.len() {
        all.extend(turns.iter_mut().filter_map(Iterator::next));
    }
    all
}

/// An even share of neighbouring ranks for each domain of a kind, and within it one per core while there are cores,
/// fast ones first.
pub(super) fn shares(tree: &Object, kind: ObjectKind, ranks: usize, slow: &Slowness) -> Vec<usize> {
    let domains = domains(tree, kind);
    let shares = deal(ranks, &domains.iter().map(|d| d.cpus()).collect::<Vec<_>>());
    let each = domains.iter().zip(shares);
    each.flat_map(|(domain, share)| domain.take(share, slow))
        .collect()
}

/// Deals `ranks` out one at a time to recipients with the given capacities.
fn deal(ranks: usize, room: &[usize]) -> Vec<usize> {
    let mut shares = vec![0; room.len()];
    let mut left = ranks.min(room.iter().sum());
    while left > 0 {
        let with_room = shares.iter_mut().zip(room);
        for (share, _) in with_room
            .filter(|(share, room)| **share < **room)
            .take(left)
        {
            *share += 1;
            left -= 1;
        }
    }
    shares
}

/// A recipient of a share: an object, or the CPUs outside all objects of the kind.
enum Domain<'a> {
    Object(&'a Object),
    Rest(Vec<&'a Object>),
}

impl Domain<'_> {
    fn cpus(&self) -> usize {
        match self {
            Domain::Object(object) => object.cpus.len(),
            Domain::Rest(objects) => objects.iter().map(|object| object.cpus.len()).sum(),
        }
    }

    fn take(&self, share: usize, slow: &Slowness) -> Vec<usize> {
        match self {
            Domain::Object(object) => per_core(&[object], share, slow),
            Domain::Rest(objects) => per_core(objects, share, slow),
        }
    }
}

/// The cores from left to right, each with its share: one while there are enough cores, dealt to fast cores first.
fn per_core(objects: &[&Object], share: usize, slow: &Slowness) -> Vec<usize> {
    let mut cores: Vec<&[usize]> = Vec::new();
    objects
        .iter()
        .for_each(|object| cores_of(object, &mut cores));
    let first: Vec<usize> = cores.iter().map(|core| core[0]).collect();
    let order = slow.fast_first(&first);
    let room: Vec<usize> = order.iter().map(|&place| cores[place].len()).collect();
    let mut shares = vec![0; cores.len()];
    for (place, share) in order.iter().zip(deal(share, &room)) {
        shares[*place] = share;
    }
    let mut cpus = Vec::new();
    for (core, share) in cores.iter().zip(shares) {
        cpus.extend_from_slice(&core[..share]);
    }
    cpus
}

/// The CPUs of each core; a CPU outside all known cores is a core of its own.
fn cores_of<'a>(object: &'a Object, cores: &mut Vec<&'a [usize]>) {
    if matches!(object.kind, ObjectKind::Core | ObjectKind::Cpu) {
        cores.push(&object.cpus);
    } else {
        object
            .children
            .iter()
            .for_each(|child| cores_of(child, cores));
    }
}

fn domains(tree: &Object, kind: ObjectKind) -> Vec<Domain<'_>> {
    let mut found = Vec::new();
    find(tree, kind, &mut found);
    found
}

fn find<'a>(object: &'a Object, kind: ObjectKind, found: &mut Vec<Domain<'a>>) {
    if object.kind == kind {
        return found.push(Domain::Object(object));
    }
    let (with, without): (Vec<_>, Vec<_>) = object
        .children
        .iter()
        .partition(|child| !child.all(kind).is_empty());
    if with.is_empty() {
        return found.push(Domain::Object(object));
    }
    with.into_iter().for_each(|child| find(child, kind, found));
    if !without.is_empty() {
        found.push(Domain::Rest(without));
    }
}
