//! The machine as a tree: packages, NUMA nodes, caches, cores, and the CPUs at its leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::Cpus;
use crate::sort;

/// The kind of an object of the machine.
///
/// The order is that of nesting if two objects have the same CPUs: the greater one is inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ObjectKind {
    /// The whole machine.
    Machine,
    /// A physical package, which sits in a socket.
    Package,
    /// A group defined by the system or the manufacturer: a cluster, a drawer.
    Group,
    /// The CPUs of a NUMA node.
    Node,
    /// A die inside a package.
    Die,
    /// An L3 cache, and the CPUs that share it.
    L3,
    /// An L2 cache.
    L2,
    /// An L1 data cache.
    L1,
    /// A core: its CPUs are its SMT threads.
    Core,
    /// A CPU as the system counts them: a core, or one of its SMT threads.
    Cpu,
}

impl ObjectKind {
    /// All kinds, from the outside to the inside.
    pub const ALL: [ObjectKind; 10] = [
        ObjectKind::Machine,
        ObjectKind::Package,
        ObjectKind::Group,
        ObjectKind::Node,
        ObjectKind::Die,
        ObjectKind::L3,
        ObjectKind::L2,
        ObjectKind::L1,
        ObjectKind::Core,
        ObjectKind::Cpu,
    ];

    /// Its name in text, as in [`Machine::from_text`].
    pub const fn name(self) -> &'static str {
        match self {
            ObjectKind::Machine => "machine",
            ObjectKind::Package => "package",
            ObjectKind::Group => "group",
            ObjectKind::Node => "numa",
            ObjectKind::Die => "die",
            ObjectKind::L3 => "l3",
            ObjectKind::L2 => "l2",
            ObjectKind::L1 => "l1",
            ObjectKind::Core => "core",
            ObjectKind::Cpu => "cpu",
        }
    }

    /// The noun for it in a sentence.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            ObjectKind::Machine => "machine",
            ObjectKind::Package => "package",
            ObjectKind::Group => "cluster",
            ObjectKind::Node => "NUMA node",
            ObjectKind::Die => "die",
            ObjectKind::L3 => "L3 cache",
            ObjectKind::L2 => "L2 cache",
            ObjectKind::L1 => "L1 cache",
            ObjectKind::Core => "core",
            ObjectKind::Cpu => "CPU",
        }
    }

    /// Whether this is a cache.
    pub const fn is_cache(self) -> bool {
        matches!(self, ObjectKind::L3 | ObjectKind::L2 | ObjectKind::L1)
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A part of the machine, with its contents.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Object {
    /// The kind of the object.
    pub kind: ObjectKind,
    /// Its number in the system: unique for CPUs and NUMA nodes, not necessarily for other kinds.
    pub number: Option<usize>,
    /// The size of a cache in bytes, if known.
    pub bytes: Option<u64>,
    /// The numbers of its CPUs, in the order of the tree; at least one.
    pub cpus: Vec<usize>,
    /// Its parts; empty for a CPU.
    pub children: Vec<Object>,
}

impl Object {
    /// All objects of a kind in this one, itself included, in the order of the tree.
    pub fn all(&self, kind: ObjectKind) -> Vec<&Object> {
        let mut found = Vec::new();
        self.collect(kind, &mut found);
        found
    }

    fn collect<'a>(&'a self, kind: ObjectKind, found: &mut Vec<&'a Object>) {
        if self.kind == kind {
            found.push(self);
        }
        for child in &self.children {
            child.collect(kind, found);
        }
    }

    /// The part that remains if only the CPUs in `mask` count; `None` if it has none of them.
    fn only(&self, mask: &BTreeSet<usize>) -> Option<Object> {
        let cpus: Vec<usize> = self
            .cpus
            .iter()
            .copied()
            .filter(|c| mask.contains(c))
            .collect();
        let children = self.children.iter().filter_map(|child| child.only(mask));
        (!cpus.is_empty()).then(|| Object {
            cpus,
            children: children.collect(),
            ..self.empty()
        })
    }

    fn empty(&self) -> Object {
        Object {
            kind: self.kind,
            number: self.number,
            bytes: self.bytes,
            cpus: Vec::new(),
            children: Vec::new(),
        }
    }
}

/// A NUMA node: memory, and the CPUs near it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Node {
    /// Its number.
    pub number: usize,
    /// The CPUs near it, in the order of the tree. Empty for a node of memory alone.
    pub cpus: Vec<usize>,
    /// The size of its memory in bytes, if known.
    pub bytes: Option<u64>,
    /// The size of its memory-side cache in bytes, if it has one.
    pub cache: Option<u64>,
    /// The distances to all nodes, in the order of [`Machine::nodes`]; 10 is the distance to its own memory. Empty if
    /// unknown.
    pub distances: Vec<u32>,
}

/// The source of a machine's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MachineSource {
    /// This machine, from libhwloc; memory and core kinds from Linux's files.
    Hwloc,
    /// This machine or a copy of its files, from Linux's own files.
    Files,
    /// This crate's text form.
    Text,
    /// A file written by `lstopo`.
    Xml,
    /// Only a list of CPUs is known.
    Flat,
}

impl fmt::Display for MachineSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MachineSource::Hwloc => "libhwloc",
            MachineSource::Files => "the system's files",
            MachineSource::Text => "a text",
            MachineSource::Xml => "an XML file",
            MachineSource::Flat => "a list of CPUs",
        })
    }
}

/// A machine as plain data: its tree, its memory, and the CPUs that this process may use.
///
/// [`here`](Self::here) describes this machine; [`from_text`](Self::from_text) and [`from_xml`](Self::from_xml)
/// describe any other. Other machines serve to plan, print and simulate; threads are never pinned by them.
///
/// # Examples
///
/// ```
/// use rankfold::machine::{ObjectKind, Machine};
///
/// let machine = Machine::from_text("package:2 l3:2 core:4 cpu:2")?;
/// assert_eq!(machine.tree.all(ObjectKind::L3).len(), 4);
/// assert_eq!(machine.usable.mask.len(), 32);
/// println!("{}", Machine::here());
/// # Ok::<(), rankfold::machine::MachineError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Machine {
    /// The whole machine, including CPUs that this process may not use.
    pub tree: Object,
    /// The NUMA nodes by number, including those without CPUs. Empty if unknown.
    pub nodes: Vec<Node>,
    /// The CPUs by kind of core, from the slowest to the fastest; one list or none if all are alike.
    pub kinds: Vec<Vec<usize>>,
    /// The CPUs that this process may use, and the quota.
    pub usable: Cpus,
    /// The source of the description.
    pub source: MachineSource,
}

impl Machine {
    /// A machine of which only the CPUs are known.
    pub fn flat(usable: Cpus) -> Machine {
        let parts = MachineParts::of(usable.mask.clone());
        parts.machine(usable, MachineSource::Flat)
    }

    /// The tree of the CPUs that this process may use; `None` if no CPU is known.
    pub fn usable_tree(&self) -> Option<Object> {
        let mask: BTreeSet<usize> = self.usable.mask.iter().copied().collect();
        self.tree.only(&mask)
    }

    /// The number of the node near a CPU; the lowest if there are several.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::machine::Machine;
    ///
    /// let machine = Machine::from_text("numa:2 core:4")?;
    /// assert_eq!((machine.node_of(3), machine.node_of(4)), (Some(0), Some(1)));
    /// # Ok::<(), rankfold::machine::MachineError>(())
    /// ```
    pub fn node_of(&self, cpu: usize) -> Option<usize> {
        let near = |node: &&Node| node.cpus.contains(&cpu);
        self.nodes.iter().find(near).map(|node| node.number)
    }

    /// The number of distinct cores of these CPUs. A CPU outside the tree counts as a core of its own.
    pub fn distinct_cores(&self, cpus: &[usize]) -> usize {
        let mut left: BTreeSet<usize> = cpus.iter().copied().collect();
        let mut cores = 0;
        for core in self.tree.all(ObjectKind::Core) {
            let before = left.len();
            core.cpus.iter().for_each(|cpu| _ = left.remove(cpu));
            cores += usize::from(left.len() < before);
        }
        cores + left.len()
    }
}

/// A set of CPUs that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Domain {
    pub kind: ObjectKind,
    pub number: Option<usize>,
    pub bytes: Option<u64>,
    pub cpus: BTreeSet<usize>,
}

/// The description of a machine before its tree is built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MachineParts {
    /// All CPUs, in an order that the tree keeps where possible.
    pub cpus: Vec<usize>,
    pub domains: Vec<Domain>,
    pub nodes: Vec<Node>,
    pub kinds: Vec<Vec<usize>>,
}

impl MachineParts {
    pub(super) fn of(cpus: Vec<usize>) -> MachineParts {
        MachineParts {
            cpus,
            ..MachineParts::default()
        }
    }

    /// Adds a domain, unless it has no CPU or already exists.
    pub(super) fn add(
        &mut self,
        kind: ObjectKind,
        number: Option<usize>,
        bytes: Option<u64>,
        cpus: impl IntoIterator<Item = usize>,
    ) {
        let cpus: BTreeSet<usize> = cpus.into_iter().collect();
        let there = |domain: &Domain| domain.kind == kind && domain.cpus == cpus;
        if !cpus.is_empty() && !self.domains.iter().any(there) {
            self.domains.push(Domain {
                kind,
                number,
                bytes,
                cpus,
            });
        }
    }

    /// Nests the domains by their CPUs. A domain that partially overlaps a larger one is left out, since a tree cannot
    /// contain it.
    pub(super) fn machine(mut self, usable: Cpus, source: MachineSource) -> Machine {
        for node in 0..self.nodes.len() {
            let Node { number, cpus, .. } = &self.nodes[node];
            let (number, cpus) = (*number, cpus.clone());
            self.add(ObjectKind::Node, Some(number), None, cpus);
        }
        let all: BTreeSet<usize> = self.cpus.iter().copied().collect();
        let domains = telling(std::mem::take(&mut self.domains), &all);
        let root = Domain {
            kind: ObjectKind::Machine,
            number: None,
            bytes: None,
            cpus: all,
        };
        let tree = nest(&root, domains, &places(&self.cpus));
        let places = places(&tree.cpus);
        for node in &mut self.nodes {
            node.cpus.retain(|cpu| places.contains_key(cpu));
            sort::by_numbers(&mut node.cpus, |cpu| [places[cpu]]);
        }
        Machine {
            nodes: self.nodes,
            kinds: self.kinds,
            tree,
            usable,
            source,
        }
    }
}

/// The domains that carry information about these CPUs, larger ones first.
fn telling(mut domains: Vec<Domain>, all: &BTreeSet<usize>) -> Vec<Domain> {
    for domain in &mut domains {
        domain.cpus.retain(|cpu| all.contains(cpu));
    }
    domains.retain(|domain| !domain.cpus.is_empty() && domain.kind != ObjectKind::Machine);
    // A group equal to another domain carries no information; some systems have one around every core.
    let others = domains
        .iter()
        .filter(|other| other.kind != ObjectKind::Group);
    let others: Vec<BTreeSet<usize>> = others.map(|other| other.cpus.clone()).collect();
    let says = |cpus: &BTreeSet<usize>| cpus.len() > 1 && cpus != all && !others.contains(cpus);
    domains.retain(|domain| domain.kind != ObjectKind::Group || says(&domain.cpus));
    sort::by_numbers(&mut domains, |domain| {
        [usize::MAX - domain.cpus.len(), domain.kind as usize]
    });
    domains
}

/// The position of each CPU in an order.
type Places = BTreeMap<usize, usize>;

fn places(order: &[usize]) -> Places {
    let mut places = Places::new();
    for (place, &cpu) in order.iter().enumerate() {
        places.insert(cpu, place);
    }
    places
}

/// The object of a domain; `inside` are the domains that it may contain, larger ones first.
fn nest(domain: &Domain, inside: Vec<Domain>, places: &Places) -> Object {
    let Outermost { tops, owner } = Outermost::of(inside);
    let mut children: Vec<Object> = tops
        .into_iter()
        .map(|(top, mut below)| {
            // Two nodes with the same CPUs are one object.
            below.retain(|other| other.kind != top.kind || other.cpus != top.cpus);
            nest(&top, below, places)
        })
        .collect();
    if domain.kind != ObjectKind::Cpu {
        let alone = domain.cpus.iter().filter(|cpu| !owner.contains_key(cpu));
        children.extend(alone.map(|&cpu| leaf(cpu)));
    }
    sort::by_numbers(&mut children, |child| {
        let first = child.cpus.iter().map(|cpu| places.get(cpu)).min();
        [first.flatten().map_or(0, |place| place + 1)]
    });
    let cpus = match domain.kind {
        ObjectKind::Cpu => domain.cpus.iter().copied().collect(),
        _ => children
            .iter()
            .flat_map(|child| child.cpus.clone())
            .collect(),
    };
    Object {
        kind: domain.kind,
        number: domain.number,
        bytes: domain.bytes,
        cpus,
        children,
    }
}

/// The domains that no other contains.
struct Outermost {
    /// Each with the domains that it contains.
    tops: Vec<(Domain, Vec<Domain>)>,
    /// The index in `tops` of the domain that contains each CPU.
    owner: BTreeMap<usize, usize>,
}

impl Outermost {
    /// Builds from domains ordered from large to small. One that partially overlaps another is left out.
    fn of(domains: Vec<Domain>) -> Outermost {
        let mut tops: Vec<(Domain, Vec<Domain>)> = Vec::new();
        let mut owner: BTreeMap<usize, usize> = BTreeMap::new();
        for other in domains {
            let mut owners = other.cpus.iter().map(|cpu| owner.get(cpu).copied());
            let first = owners.next().flatten();
            match (owners.all(|next| next == first), first) {
                (true, None) => {
                    owner.extend(other.cpus.iter().map(|&cpu| (cpu, tops.len())));
                    tops.push((other, Vec::new()));
                }
                (true, Some(top)) => tops[top].1.push(other),
                (false, _) => {}
            }
        }
        Outermost { tops, owner }
    }
}

fn leaf(cpu: usize) -> Object {
    Object {
        kind: ObjectKind::Cpu,
        number: Some(cpu),
        bytes: None,
        cpus: vec![cpu],
        children: Vec::new(),
    }
}
