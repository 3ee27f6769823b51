//! The machine as a tree: packages, NUMA nodes, caches, cores, and the CPUs at its leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::Cpus;

/// What an object of the machine is.
///
/// The order is that of nesting where two objects have the same CPUs: what is greater is inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// All of it.
    Machine,
    /// A physical package: what sits in a socket.
    Package,
    /// A group that the system or the maker of the machine sees: a cluster, a drawer.
    Group,
    /// The CPUs of a NUMA node.
    Node,
    /// A die inside a package.
    Die,
    /// A cache of the third level, and the CPUs that share it.
    L3,
    /// A cache of the second level.
    L2,
    /// A data cache of the first level.
    L1,
    /// A core: its CPUs are its SMT threads.
    Core,
    /// A CPU as the system counts them: a core, or an SMT thread of one.
    Cpu,
}

impl Kind {
    /// All, from the outside to the inside.
    pub const ALL: [Kind; 10] = [
        Kind::Machine,
        Kind::Package,
        Kind::Group,
        Kind::Node,
        Kind::Die,
        Kind::L3,
        Kind::L2,
        Kind::L1,
        Kind::Core,
        Kind::Cpu,
    ];

    /// What it is called in text, as in [`Machine::from_text`].
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Machine => "machine",
            Kind::Package => "package",
            Kind::Group => "group",
            Kind::Node => "numa",
            Kind::Die => "die",
            Kind::L3 => "l3",
            Kind::L2 => "l2",
            Kind::L1 => "l1",
            Kind::Core => "core",
            Kind::Cpu => "cpu",
        }
    }

    /// What one of it is called in a sentence.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Kind::Machine => "machine",
            Kind::Package => "package",
            Kind::Group => "cluster",
            Kind::Node => "NUMA node",
            Kind::Die => "die",
            Kind::L3 => "L3 cache",
            Kind::L2 => "L2 cache",
            Kind::L1 => "L1 cache",
            Kind::Core => "core",
            Kind::Cpu => "CPU",
        }
    }

    /// Whether it is a cache.
    pub const fn is_cache(self) -> bool {
        matches!(self, Kind::L3 | Kind::L2 | Kind::L1)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A part of the machine, with what is inside it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Object {
    /// What it is.
    pub kind: Kind,
    /// The number that the system gave it: of CPUs and NUMA nodes unique, of others perhaps not.
    pub number: Option<usize>,
    /// The bytes of a cache, where they are known.
    pub bytes: Option<u64>,
    /// The numbers of its CPUs, in the order of the tree; at least one.
    pub cpus: Vec<usize>,
    /// What it consists of: none for a CPU.
    pub children: Vec<Object>,
}

impl Object {
    /// All objects of a kind in it, itself included, in the order of the tree.
    pub fn all(&self, kind: Kind) -> Vec<&Object> {
        let mut found = Vec::new();
        self.collect(kind, &mut found);
        found
    }

    fn collect<'a>(&'a self, kind: Kind, found: &mut Vec<&'a Object>) {
        if self.kind == kind {
            found.push(self);
        }
        for child in &self.children {
            child.collect(kind, found);
        }
    }

    /// What is left of it when only some CPUs count; nothing if none of its CPUs do.
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

/// A NUMA node: some memory, and the CPUs that are near to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Node {
    /// Its number.
    pub number: usize,
    /// The CPUs that are near, in the order of the tree. None for memory that is a node of its own.
    pub cpus: Vec<usize>,
    /// How much memory it has, where that is known.
    pub bytes: Option<u64>,
    /// How large the cache before its memory is, if it has one.
    pub cache: Option<u64>,
    /// How far it is to all nodes, in the order of [`Machine::nodes`]; 10 is its own memory. Empty where
    /// nobody says.
    pub distances: Vec<u32>,
}

/// Where a machine's description comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// This machine, by libhwloc; memory and core kinds by Linux's files.
    Hwloc,
    /// This machine or a copy of its files, by Linux's own files.
    Files,
    /// A text of ours.
    Text,
    /// A file of `lstopo`.
    Xml,
    /// Nothing but a list of CPUs is known.
    Flat,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Hwloc => "libhwloc",
            Source::Files => "the system's files",
            Source::Text => "a text",
            Source::Xml => "an XML file",
            Source::Flat => "a list of CPUs",
        })
    }
}

/// A machine as plain data: its tree, its memory, and what of it this process may use.
///
/// [`here`](Self::here) describes this machine; [`from_text`](Self::from_text) and
/// [`from_xml`](Self::from_xml) any other. Others serve to plan, print and simulate; no thread is ever
/// pinned by them.
///
/// # Examples
///
/// ```
/// use rankfold::machine::{Kind, Machine};
///
/// let machine = Machine::from_text("package:2 l3:2 core:4 cpu:2")?;
/// assert_eq!(machine.tree.all(Kind::L3).len(), 4);
/// assert_eq!(machine.usable.mask.len(), 32);
/// println!("{}", Machine::here());
/// # Ok::<(), rankfold::machine::MachineError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Machine {
    /// All of it, also what this process may not use.
    pub tree: Object,
    /// The NUMA nodes by number, those without CPUs among them. None where nothing is known of them.
    pub nodes: Vec<Node>,
    /// The CPUs by kind of core, from the slowest to the fastest; one list or none where all are alike.
    pub kinds: Vec<Vec<usize>>,
    /// The CPUs that this process may use, and the quota.
    pub usable: Cpus,
    /// Where all this comes from.
    pub source: Source,
}

impl Machine {
    /// A machine of which nothing is known but its CPUs.
    pub fn flat(usable: Cpus) -> Machine {
        let parts = Parts::of(usable.mask.clone());
        parts.machine(usable, Source::Flat)
    }

    /// The tree of the CPUs that this process may use; `None` if no CPU is known.
    pub fn usable_tree(&self) -> Option<Object> {
        let mask: BTreeSet<usize> = self.usable.mask.iter().copied().collect();
        self.tree.only(&mask)
    }

    /// The number of the node near to a CPU: the lowest of several.
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

    /// How many of these CPUs are on cores of their own. CPUs that are not in the tree count as such.
    pub fn distinct_cores(&self, cpus: &[usize]) -> usize {
        let cores = self.tree.all(Kind::Core);
        let core = |cpu: &usize| cores.iter().position(|core| core.cpus.contains(cpu));
        let found: BTreeSet<Result<usize, usize>> =
            cpus.iter().map(|cpu| core(cpu).ok_or(*cpu)).collect();
        found.len()
    }
}

/// A set of CPUs that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Domain {
    pub kind: Kind,
    pub number: Option<usize>,
    pub bytes: Option<u64>,
    pub cpus: BTreeSet<usize>,
}

/// What is found of a machine before it is a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// All CPUs, in an order that the tree keeps where it can.
    pub cpus: Vec<usize>,
    pub domains: Vec<Domain>,
    pub nodes: Vec<Node>,
    pub kinds: Vec<Vec<usize>>,
}

impl Parts {
    pub(super) fn of(cpus: Vec<usize>) -> Parts {
        Parts {
            cpus,
            ..Parts::default()
        }
    }

    /// Adds a domain, unless it has no CPU or is there.
    pub(super) fn add(
        &mut self,
        kind: Kind,
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

    /// Nests the domains by their CPUs. One that crosses another that is larger is left out: a tree has
    /// no place for it.
    pub(super) fn machine(mut self, usable: Cpus, source: Source) -> Machine {
        for node in 0..self.nodes.len() {
            let Node { number, cpus, .. } = &self.nodes[node];
            let (number, cpus) = (*number, cpus.clone());
            self.add(Kind::Node, Some(number), None, cpus);
        }
        let all: BTreeSet<usize> = self.cpus.iter().copied().collect();
        let domains = telling(std::mem::take(&mut self.domains), &all);
        let root = Domain {
            kind: Kind::Machine,
            number: None,
            bytes: None,
            cpus: all,
        };
        let order = self.cpus.iter().enumerate();
        let tree = nest(
            &root,
            domains,
            &order.map(|(place, &cpu)| (cpu, place)).collect(),
        );
        let order = tree.cpus.iter().enumerate();
        let places: Places = order.map(|(place, &cpu)| (cpu, place)).collect();
        for node in &mut self.nodes {
            node.cpus.retain(|cpu| places.contains_key(cpu));
            node.cpus.sort_by_key(|cpu| places[cpu]);
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

/// The domains that say something of these CPUs, the larger ones first.
fn telling(mut domains: Vec<Domain>, all: &BTreeSet<usize>) -> Vec<Domain> {
    for domain in &mut domains {
        domain.cpus.retain(|cpu| all.contains(cpu));
    }
    domains.retain(|domain| !domain.cpus.is_empty() && domain.kind != Kind::Machine);
    // A group that is something else too says nothing; some systems have one around every core.
    let others = domains.iter().filter(|other| other.kind != Kind::Group);
    let others: BTreeSet<BTreeSet<usize>> = others.map(|other| other.cpus.clone()).collect();
    let says = |cpus: &BTreeSet<usize>| cpus.len() > 1 && cpus != all && !others.contains(cpus);
    domains.retain(|domain| domain.kind != Kind::Group || says(&domain.cpus));
    domains.sort_by_key(|domain| (usize::MAX - domain.cpus.len(), domain.kind));
    domains
}

/// Where each CPU comes in an order.
type Places = BTreeMap<usize, usize>;

/// The object of a domain; `inside` are the domains that may be in it, the larger ones first.
fn nest(domain: &Domain, inside: Vec<Domain>, places: &Places) -> Object {
    let Outermost { tops, owner } = Outermost::of(inside);
    let mut children: Vec<Object> = tops
        .into_iter()
        .map(|(top, mut below)| {
            // Two nodes of the same CPUs are one place.
            below.retain(|other| other.kind != top.kind || other.cpus != top.cpus);
            nest(&top, below, places)
        })
        .collect();
    if domain.kind != Kind::Cpu {
        let alone = domain.cpus.iter().filter(|cpu| !owner.contains_key(cpu));
        children.extend(alone.map(|&cpu| leaf(cpu)));
    }
    children.sort_by_cached_key(|child| child.cpus.iter().map(|cpu| places.get(cpu)).min());
    let cpus = match domain.kind {
        Kind::Cpu => domain.cpus.iter().copied().collect(),
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

/// The domains that are in no other.
struct Outermost {
    /// Each with those that are in it.
    tops: Vec<(Domain, Vec<Domain>)>,
    /// In which of them a CPU is.
    owner: BTreeMap<usize, usize>,
}

impl Outermost {
    /// Of domains that come the larger ones first. One that crosses another is left out.
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
        kind: Kind::Cpu,
        number: Some(cpu),
        bytes: None,
        cpus: vec![cpu],
        children: Vec::new(),
    }
}
