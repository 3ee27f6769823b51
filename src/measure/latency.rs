//! The time of a message between each pair of CPUs, over the bare machine and over the library's transports.

use std::fmt;
use std::str::FromStr;

use super::call::to_and_fro;
use super::ground::{Pair, cache_line};
use super::host::Host;
use super::kinds::{Type, UnknownName};
use super::noise::Noise;
use super::point::{Point, Subject};
use super::record::Build;
use super::run::{Control, Effort, Failure, pass};
use super::vectors::Vectors;
use crate::collective::{Algorithm, Collective};
use crate::draw::Heat;
use crate::machine::{Bind, Machine, ObjectKind};
use crate::names::Transport;
use crate::{Comm, op};

/// Name and version of the format in which latencies are stored.
pub const LATENCY_SCHEMA: &str = "rankfold.latency/1";

/// The path of a message of 8 bytes.
///
/// # Examples
///
/// ```
/// use rankfold::measure::MessagePath;
///
/// assert_eq!("slot".parse(), Ok(MessagePath::Slot));
/// assert!("slots".parse::<MessagePath>().unwrap_err().to_string().contains("did you mean `slot`?"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessagePath {
    /// One cache line that two threads write in turn: the time of the machine itself.
    Raw,
    /// An exchange as collectives do it, through slots.
    Slot,
    /// The same exchange through channels.
    Channel,
    /// SEND and RECV, through mailboxes.
    Mailbox,
}

const MESSAGE_PATHS: [(&str, MessagePath, &str); 4] = [
    (
        "raw",
        MessagePath::Raw,
        "one cache line written in turns, half a round trip",
    ),
    (
        "slot",
        MessagePath::Slot,
        "all_reduce by exchange through slots, one message each way at once",
    ),
    (
        "channel",
        MessagePath::Channel,
        "all_reduce by exchange through channels, one message each way at once",
    ),
    (
        "mailbox",
        MessagePath::Mailbox,
        "send and recv through mailboxes, half a round trip",
    ),
];

impl MessagePath {
    /// Returns all ways, the bare machine first.
    pub fn all() -> impl Iterator<Item = MessagePath> {
        MESSAGE_PATHS.into_iter().map(|(_, way, _)| way)
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        MESSAGE_PATHS[self as usize].0
    }

    /// Returns in words what its time measures.
    pub fn meaning(self) -> &'static str {
        MESSAGE_PATHS[self as usize].2
    }

    /// Returns the seconds that 8 bytes take from one of the two CPUs to the other.
    ///
    /// # Errors
    ///
    /// As [`pass`]; for [`MessagePath::Raw`] only [`Failure::Thread`].
    pub fn seconds(
        self,
        machine: &Machine,
        cpu: [usize; 2],
        effort: &Effort,
        control: &Control,
    ) -> Result<f64, Failure> {
        if self == MessagePath::Raw {
            return cache_line(&Pair::of(machine, cpu)).map_err(Failure::Thread);
        }
        let point = self.point(cpu);
        // Not any call, of which the compiler would have to make all others as well.
        let body = |comm: &Comm, vectors: &mut Vectors<u64>| match self {
            MessagePath::Mailbox => to_and_fro(comm, vectors),
            _ => comm
                .using(Algorithm::Exchange)
                .all_reduce(&mut vectors.output, op::Sum),
        };
        Ok(pass(&point, effort, control, &body)?.median())
    }

    fn point(self, [a, b]: [usize; 2]) -> Point {
        let exchange = Subject::from(Collective::AllReduce);
        let (subject, algorithm) = match self {
            MessagePath::Mailbox => (Subject::Send, None),
            _ => (exchange, Some(Algorithm::Exchange)),
        };
        Point {
            algorithm,
            bind: Bind::Cpus(vec![a, b]),
            transport: match self {
                MessagePath::Channel => Transport::Channels,
                _ => Transport::Memory,
            },
            ..Point::new(subject, 2, 1, Type::U64)
        }
    }
}

impl fmt::Display for MessagePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for MessagePath {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<MessagePath, UnknownName> {
        let known = || MESSAGE_PATHS.map(|(known, ..)| known).to_vec();
        let found = MessagePath::all().find(|way| way.name() == name);
        found.ok_or_else(|| UnknownName::new("way", name, known()))
    }
}

impl Latency {
    /// The JSON schema of latencies.
    pub const JSON_SCHEMA: &str = include_str!("../../docs/latency.schema.json");
}

/// The latencies between all pairs of some CPUs: the program that measured them, the machine, and the results.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Latency {
    /// [`LATENCY_SCHEMA`].
    pub schema: String,
    /// The program.
    pub build: Build,
    /// The words of the command line.
    pub command: Vec<String>,
    /// Start time, in seconds since 1970.
    pub started: u64,
    /// The machine.
    pub machine: Host,
    /// Other load on the machine during the run.
    pub noise: Noise,
    /// Caveats for the reader, one sentence each.
    pub remarks: Vec<String>,
    /// Whether the run was interrupted: then some pairs have no time.
    pub interrupted: bool,
    /// Number of times each pair was measured, in turn.
    pub passes: usize,
    /// The CPUs, in the order of the machine's tree.
    pub cpus: Vec<usize>,
    /// Positions in that order where another package, NUMA node or L3 cache begins.
    pub breaks: Vec<usize>,
    /// One table for each way.
    pub tables: Vec<Table>,
}

/// The times of one way.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Table {
    /// `raw`, `slot`, `channel` or `mailbox`.
    pub way: String,
    /// The quantity that its times measure.
    pub meaning: String,
    /// Nanoseconds one way, a row for each CPU: medians of the passes. Each pair is measured once per pass, so both
    /// directions have the same time. A CPU and itself have none.
    pub ns: Vec<Vec<Option<f64>>>,
    /// The minimum of the passes.
    pub min_ns: Vec<Vec<Option<f64>>>,
}

impl Latency {
    /// Returns the table of a way as a heat map.
    pub fn heat(&self, table: &Table) -> Heat {
        let mut heat = Heat::new(format!("{}: ns from CPU to CPU", table.way), "ns");
        heat.note = table.meaning.clone();
        heat.names = self.cpus.iter().map(usize::to_string).collect();
        heat.cells = table.ns.clone();
        heat.breaks = self.breaks.clone();
        heat.warnings = self.remarks.clone();
        heat
    }
}

/// Returns some CPUs in the order of the machine's tree, and the positions where a package, a NUMA node or an L3 cache
/// begins.
pub fn in_order(machine: &Machine, cpus: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut ordered: Vec<usize> = machine
        .tree
        .all(ObjectKind::Cpu)
        .iter()
        .filter_map(|cpu| cpu.number)
        .collect();
    ordered.retain(|cpu| cpus.contains(cpu));
    ordered.extend(cpus.iter().filter(|cpu| !machine.tree.cpus.contains(cpu)));
    ordered.dedup();
    if ordered.len() != cpus.len() {
        ordered = cpus.to_vec();
    }
    let place = |cpu: usize| {
        let part = |kind| {
            machine
                .tree
                .all(kind)
                .iter()
                .position(|part| part.cpus.contains(&cpu))
        };
        (
            part(ObjectKind::Package),
            machine.node_of(cpu),
            part(ObjectKind::L3),
        )
    };
    let begins = |i: &usize| place(ordered[*i]) != place(ordered[*i - 1]);
    let breaks = (1..ordered.len()).filter(begins).collect();
    (ordered, breaks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_called_by_its_name() {
        for way in MessagePath::all() {
            assert_eq!(way.name().parse(), Ok(way));
        }
    }

    #[test]
    fn every_way_gives_a_time_between_any_two_threads() {
        let machine = Machine::here();
        let cpu = [
            machine.usable.mask[0],
            machine.usable.mask[machine.usable.mask.len() - 1],
        ];
        for way in MessagePath::all().filter(|way| *way != MessagePath::Raw || cpu[0] != cpu[1]) {
            let seconds = way.seconds(&machine, cpu, &Effort::samples(2), &Control::default());
            assert!(seconds.unwrap() > 0.0, "{way}");
        }
    }

    #[test]
    fn cpus_of_one_cache_stand_together() {
        let machine = Machine::from_text("package:2 l3:1 core:2 cpu:2").unwrap();
        let (cpus, breaks) = in_order(&machine, &[7, 0, 5, 1]);
        assert_eq!((cpus, breaks), (vec![0, 1, 5, 7], vec![2]));
    }
}
