//! The errors of topologies, each with its culprit.

use std::{error, fmt};

use super::Triple;
use crate::Rank;

/// The reason why triples, a formal definition, a text, a JSON value or a name does not describe a topology.
///
/// Nodes of a [`Formal`](super::Formal) definition are identified by their number, in the order in which they were
/// given.
///
/// # Examples
///
/// ```
/// use rankfold::topology::{Topology, TopologyError};
///
/// let refused = "1 0 0\n2 0 0\n1 1 2".parse::<Topology>().unwrap_err();
/// assert_eq!(refused.to_string(), "line 3: rank 1 has two successors, <1,0,0> and <1,1,2>");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TopologyError {
    /// There are no ranks.
    NoRanks,
    /// A rank that is not in `0..ranks`.
    RankOutOfRange {
        /// The rank in question.
        rank: Rank,
        /// The number of ranks.
        ranks: usize,
    },
    /// A step so large that the number of steps overflows.
    StepTooLarge {
        /// The triple with this step.
        triple: Triple,
    },
    /// The root has a successor.
    RootHasSuccessor {
        /// The triple that the root sends.
        triple: Triple,
    },
    /// A rank that sends twice, possibly the same triple.
    TwoSuccessors {
        /// One of its triples.
        first: Triple,
        /// Another of its triples.
        second: Triple,
    },
    /// A rank other than the root that sends nothing.
    Orphan {
        /// The rank.
        rank: Rank,
        /// The root.
        root: Rank,
    },
    /// A rank whose path ends in a cycle.
    Cycle {
        /// The lowest such rank; it need not be part of the cycle.
        rank: Rank,
        /// The ranks of the cycle; each sends to the next, and the last to the first.
        cycle: Vec<Rank>,
    },
    /// A rank that sends no later than one of its receives.
    StepDoesNotRise {
        /// A triple that arrives at the rank.
        before: Triple,
        /// The triple that the rank sends.
        after: Triple,
    },
    /// No rank sends in step 0.
    NoStepZero {
        /// One of the triples with the least step.
        least: Triple,
    },
    /// The root is unknown: there is no `root` line, and the number of ranks that send nothing is not one.
    NoSingleRoot {
        /// The two lowest ranks that send nothing; empty if there are none.
        candidates: Vec<Rank>,
    },
    /// A node of the partition without ranks.
    EmptyBlock {
        /// The node.
        node: usize,
    },
    /// A rank in two nodes of the partition, or twice in one.
    BlocksOverlap {
        /// The rank.
        rank: Rank,
        /// One of the nodes.
        first: usize,
        /// The other node.
        second: usize,
    },
    /// A rank that belongs to no node of the partition.
    RankInNoBlock {
        /// The lowest such rank.
        rank: Rank,
    },
    /// The first node contains ranks besides the root.
    RootNotAlone {
        /// Its ranks.
        block: Vec<Rank>,
    },
    /// A node number that was not defined.
    NodeOutOfRange {
        /// The number used.
        node: usize,
        /// The number of nodes given.
        nodes: usize,
    },
    /// An association map that lacks an entry for an edge.
    AssociationMissing {
        /// The node that the edge leaves.
        node: usize,
    },
    /// An association map with two processes for one edge.
    AssociationTwice {
        /// The node that the edge leaves.
        node: usize,
    },
    /// An association map with an entry for an edge that does not exist.
    AssociationWithoutEdge {
        /// The node that the edge would leave.
        node: usize,
    },
    /// An association map that names a process outside its node.
    AssociationOutside {
        /// The node that the edge leaves.
        node: usize,
        /// The node that the edge enters, which owns the map.
        into: usize,
        /// The process, which does not belong to `into`.
        rank: Rank,
    },
    /// One of the six properties of the strict form does not hold.
    NotStrict {
        /// Its number, 1 to 6.
        property: u8,
        /// The ranks of the node where it does not hold.
        node: Vec<Rank>,
    },
    /// A line that is not valid in a topology.
    BadLine {
        /// The line, without its comment.
        text: String,
        /// The expected form.
        expected: &'static str,
    },
    /// An error in a text, with its line.
    Line {
        /// The line, counted from 1.
        line: usize,
        /// The error on this line.
        error: Box<TopologyError>,
    },
    /// A text that is not valid JSON.
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The column, counted in bytes from 1.
        column: usize,
        /// The reason.
        reason: String,
    },
    /// An error in a JSON value, with its path.
    At {
        /// The path, as in `triples[4].to`.
        path: String,
        /// The error at this path.
        error: Box<TopologyError>,
    },
    /// A field that the object does not define.
    UnknownField {
        /// Its name.
        field: String,
        /// The names of the fields that the object defines.
        known: &'static [&'static str],
    },
    /// A required field that is missing.
    MissingField {
        /// Its name.
        field: &'static str,
    },
    /// A field that occurs twice in an object.
    FieldTwice {
        /// Its name.
        field: &'static str,
    },
    /// A value of the wrong kind.
    WrongValue {
        /// The value found.
        found: String,
        /// The expected kind.
        expected: &'static str,
    },
    /// Triples that differ from those of the family named beside them.
    NotTheFamily {
        /// The name of the family.
        family: String,
        /// The triple given.
        given: Triple,
        /// The same rank's triple in the family.
        wanted: Triple,
    },
    /// A name that no family has.
    UnknownName {
        /// The name.
        name: String,
        /// The family with the most similar name, if any is similar.
        nearest: Option<&'static str>,
        /// All names.
        known: &'static [&'static str],
    },
    /// A family with an invalid width, or without the width that it requires.
    BadWidth {
        /// The name.
        name: String,
        /// The expected width.
        expected: &'static str,
    },
}

use TopologyError::*;

#[rustfmt::skip] // a table, one line per variant
impl fmt::Display for TopologyError {
    // One arm per variant and no `_`, so that every new error must define its text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoRanks => write!(f, "a topology has at least one rank"),
            RankOutOfRange { rank, ranks } => write!(f, "rank {rank} is not one of the {ranks} ranks"),
            StepTooLarge { triple } => write!(f, "the step of {triple} is too large"),
            RootHasSuccessor { triple } => write!(f, "the root has a successor, {triple}"),
            TwoSuccessors { first, second } => two_successors(f, first, second),
            Orphan { rank, root } => write!(f, "rank {rank} sends nothing, but the root is {root}"),
            Cycle { rank, cycle } => cycle_of(f, *rank, cycle),
            StepDoesNotRise { before, after } => falls(f, before, after),
            NoStepZero { least } => write!(f, "no rank sends in step 0: the first to send is {least}"),
            NoSingleRoot { candidates } => no_single_root(f, candidates),
            EmptyBlock { node } => write!(f, "node {node} has no ranks"),
            BlocksOverlap { rank, first, second } => overlap(f, *rank, *first, *second),
            RankInNoBlock { rank } => write!(f, "rank {rank} is in no node"),
            RootNotAlone { block } => write!(f, "node 0 is the root's alone, but is {}", RankSet(block)),
            NodeOutOfRange { node, nodes } => write!(f, "node {node} is not one of the {nodes} nodes"),
            AssociationMissing { node } => write!(f, "the edge from node {node} has no process"),
            AssociationTwice { node } => write!(f, "the edge from node {node} has two processes"),
            AssociationWithoutEdge { node } => write!(f, "node {node} has a process, but no edge to it"),
            AssociationOutside { node, into, rank } => outside(f, *node, *into, *rank),
            NotStrict { property: p, node } => write!(f, "property {p} does not hold at node {}", RankSet(node)),
            BadLine { text, expected } => write!(f, "`{}` is not {expected}", Short(text)),
            Line { line, error } => write!(f, "line {line}: {error}"),
            Syntax { line, column, reason } => write!(f, "line {line}, column {column}: {reason}"),
            At { path, error } => write!(f, "{path}: {error}"),
            UnknownField { field, known } => unknown_field(f, field, known),
            MissingField { field } => write!(f, "`{field}` is missing"),
            FieldTwice { field } => write!(f, "`{field}` is given twice"),
            WrongValue { found, expected } => write!(f, "this is {found}, not {expected}"),
            NotTheFamily { family, given, wanted } => write!(f, "{given} is not in {family}, where {wanted} is"),
            UnknownName { name, nearest, known } => unknown_name(f, name, *nearest, known),
            BadWidth { name, expected } => write!(f, "`{}`: {expected}", Short(name)),
        }
    }
}

fn unknown_field(f: &mut fmt::Formatter<'_>, field: &str, known: &[&str]) -> fmt::Result {
    write!(
        f,
        "no field is called `{}` (known: {})",
        Short(field),
        known.join(", ")
    )
}

fn overlap(f: &mut fmt::Formatter<'_>, rank: Rank, first: usize, second: usize) -> fmt::Result {
    if first == second {
        return write!(f, "rank {rank} is twice in node {first}");
    }
    write!(f, "rank {rank} is in nodes {first} and {second}")
}

fn outside(f: &mut fmt::Formatter<'_>, node: usize, into: usize, rank: Rank) -> fmt::Result {
    write!(
        f,
        "the edge from node {node} goes to rank {rank}, which is not in node {into}"
    )
}

fn two_successors(f: &mut fmt::Formatter<'_>, first: &Triple, second: &Triple) -> fmt::Result {
    if first == second {
        return write!(f, "triple {first} is given twice");
    }
    write!(
        f,
        "rank {} has two successors, {first} and {second}",
        first.from
    )
}

fn falls(f: &mut fmt::Formatter<'_>, before: &Triple, after: &Triple) -> fmt::Result {
    write!(
        f,
        "rank {} sends {after} no later than {before} arrives: steps must rise along every path",
        after.from
    )
}

fn cycle_of(f: &mut fmt::Formatter<'_>, rank: Rank, cycle: &[Rank]) -> fmt::Result {
    write!(
        f,
        "rank {rank} never reaches the root: its path ends in the cycle "
    )?;
    cycle.iter().try_for_each(|rank| write!(f, "{rank} → "))?;
    cycle
        .iter()
        .take(1)
        .try_for_each(|first| write!(f, "{first}"))
}

fn no_single_root(f: &mut fmt::Formatter<'_>, candidates: &[Rank]) -> fmt::Result {
    write!(f, "no root is given, and ")?;
    match candidates {
        [one, two, ..] => write!(f, "ranks {one} and {two} both send nothing"),
        _ => write!(f, "every rank sends"),
    }
}

fn unknown_name(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    nearest: Option<&str>,
    known: &[&str],
) -> fmt::Result {
    write!(f, "no topology is called `{}`", Short(name))?;
    if let Some(nearest) = nearest {
        write!(f, "; did you mean `{nearest}`?")?;
    }
    write!(f, " (known: {})", known.join(", "))
}

/// The beginning of a foreign text, on one line and without terminal control characters.
pub(super) struct Short<'a>(pub(super) &'a str);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 60;
        for c in self.0.chars().take(MOST) {
            if c.is_control() {
                write!(f, "{}", c.escape_default())?;
            } else {
                write!(f, "{c}")?;
            }
        }
        let cut = self.0.chars().nth(MOST).is_some();
        f.write_str(if cut { "…" } else { "" })
    }
}

/// The ranks of a node in the papers' notation, `{3,6}`.
struct RankSet<'a>(&'a [Rank]);

impl fmt::Display for RankSet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranks: Vec<_> = self.0.iter().map(Rank::to_string).collect();
        write!(f, "{{{}}}", ranks.join(","))
    }
}

impl error::Error for TopologyError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Line { error, .. } | At { error, .. } => Some(error),
            _ => None,
        }
    }
}
