//! The orders in which CPUs are handed out, as functions of the tree.

use super::tree::{Kind, Object};

/// Neighbours next to each other: the leaves from left to right.
pub(super) fn compact(tree: &Object) -> Vec<usize> {
    tree.cpus.clone()
}

/// As far apart as can be: each child in turn, on every level. Among the first so many, no child has two
/// more than a sibling that is not full.
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

/// An even share of neighbouring ranks for each domain of a kind, inside it one for each core while
/// there are cores.
pub(super) fn shares(tree: &Object, kind: Kind, ranks: usize) -> Vec<usize> {
    let domains = domains(tree, kind);
    let shares = deal(ranks, &domains.iter().map(|d| d.cpus()).collect::<Vec<_>>());
    let each = domains.iter().zip(shares);
    each.flat_map(|(domain, share)| domain.take(share))
        .collect()
}

/// How many of `ranks` each gets that has so much room: one each in turn.
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

/// What shares are for: an object, or the CPUs beside objects of the kind.
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

    fn take(&self, share: usize) -> Vec<usize> {
        match self {
            Domain::Object(object) => per_core(&[object], share),
            Domain::Rest(objects) => per_core(objects, share),
        }
    }
}

/// The cores in turn, each with its share: one while there are as many cores.
fn per_core(objects: &[&Object], share: usize) -> Vec<usize> {
    let mut cores: Vec<&[usize]> = Vec::new();
    objects
        .iter()
        .for_each(|object| cores_of(object, &mut cores));
    let shares = deal(
        share,
        &cores.iter().map(|core| core.len()).collect::<Vec<_>>(),
    );
    let each = cores.iter().zip(shares);
    each.flat_map(|(core, share)| core[..share].iter().copied())
        .collect()
}

/// The CPUs of each core; a CPU of no known core is one.
fn cores_of<'a>(object: &'a Object, cores: &mut Vec<&'a [usize]>) {
    if matches!(object.kind, Kind::Core | Kind::Cpu) {
        cores.push(&object.cpus);
    } else {
        object
            .children
            .iter()
            .for_each(|child| cores_of(child, cores));
    }
}

fn domains(tree: &Object, kind: Kind) -> Vec<Domain<'_>> {
    let mut found = Vec::new();
    find(tree, kind, &mut found);
    found
}

fn find<'a>(object: &'a Object, kind: Kind, found: &mut Vec<Domain<'a>>) {
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
