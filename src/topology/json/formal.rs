//! A formal definition as JSON: nodes, and edges with their processes.
//!
//! ```json
//! {
//!   "ranks": 4,
//!   "nodes": [[0], [1, 2], [3]],
//!   "edges": [
//!     {"from": 1, "into": 0, "step": 1, "process": 0},
//!     {"from": 2, "into": 1, "step": 0, "process": 2}
//!   ]
//! }
//! ```

use super::{
    fields::{at, fields, list, optional, required, text, whole},
    this_schema,
    value::Value,
};
use crate::{
    Rank,
    topology::{Formal, Topology, TopologyError},
};

const FIELDS: &[&str; 5] = &["schema", "name", "ranks", "nodes", "edges"];
const EDGE: &[&str; 4] = &["from", "into", "step", "process"];

struct Edge {
    from: usize,
    into: usize,
    step: usize,
    process: Rank,
}

/// A definition in its written order.
struct Definition {
    ranks: usize,
    nodes: Vec<Vec<Rank>>,
    edges: Vec<Edge>,
}

pub(super) fn read(value: &Value) -> Result<Topology, TopologyError> {
    let definition = definition(value)?;
    proved(&definition, &definition.formal())
}

/// The definition itself, which is known to define a topology.
pub(super) fn read_formal(value: &Value) -> Result<Formal, TopologyError> {
    let definition = definition(value)?;
    let formal = definition.formal();
    proved(&definition, &formal)?;
    Ok(formal)
}

fn definition(value: &Value) -> Result<Definition, TopologyError> {
    let [schema, name, ranks, nodes, edges] = fields("", value, FIELDS)?;
    optional("schema", schema, this_schema)?;
    optional("name", name, text)?;
    Ok(Definition {
        ranks: required("", "ranks", ranks, whole)?,
        nodes: required("", "nodes", nodes, |path, value| {
            list(path, value, "a list of nodes", node)
        })?,
        edges: required("", "edges", edges, |path, value| {
            list(path, value, "a list of edges", edge)
        })?,
    })
}

/// The topology that it defines, or an error with the path of its cause.
fn proved(definition: &Definition, formal: &Formal) -> Result<Topology, TopologyError> {
    formal
        .general()
        .map_err(|error| match definition.blamed(&error) {
            Some(path) => at(&path, error),
            None => error,
        })
}

fn node(path: &str, value: &Value) -> Result<Vec<Rank>, TopologyError> {
    list(path, value, "a list of ranks", whole)
}

fn edge(path: &str, value: &Value) -> Result<Edge, TopologyError> {
    let [from, into, step, process] = fields(path, value, EDGE)?;
    Ok(Edge {
        from: required(path, "from", from, whole)?,
        into: required(path, "into", into, whole)?,
        step: required(path, "step", step, whole)?,
        process: required(path, "process", process, whole)?,
    })
}

impl Definition {
    fn formal(&self) -> Formal {
        let nodes = self.nodes.iter().cloned();
        let formal = nodes.fold(Formal::new(self.ranks), Formal::node);
        self.edges.iter().fold(formal, |formal, edge| {
            let with_edge = formal.edge(edge.from, edge.into, edge.step);
            with_edge.associate(edge.from, edge.process)
        })
    }

    /// The path to the entry that caused the error; `None` if something is missing.
    fn blamed(&self, error: &TopologyError) -> Option<String> {
        use TopologyError::*;
        match error {
            NoRanks => Some("ranks".to_owned()),
            EmptyBlock { node } | BlocksOverlap { second: node, .. } => Some(node_path(*node)),
            RootNotAlone { .. } => Some(node_path(0)),
            RankOutOfRange { rank, .. } => self.node_of(*rank).map(node_path),
            NodeOutOfRange { node, .. } => {
                self.edge_path(0, |edge| edge.from == *node || edge.into == *node)
            }
            AssociationOutside { node, rank, .. } => {
                self.edge_path(0, |edge| (edge.from, edge.process) == (*node, *rank))
            }
            AssociationTwice { node } => self.edge_path(1, |edge| edge.from == *node),
            RootHasSuccessor { triple } | StepTooLarge { triple } => self.edge_of(triple.from),
            Cycle { cycle, .. } => cycle.first().and_then(|&rank| self.edge_of(rank)),
            StepDoesNotRise { after, .. } => self.edge_of(after.from),
            NoStepZero { least } => self.edge_of(least.from),
            _ => None,
        }
    }

    /// The node that a rank is in.
    fn node_of(&self, rank: Rank) -> Option<usize> {
        self.nodes.iter().position(|node| node.contains(&rank))
    }

    /// The edge along which a rank sends.
    fn edge_of(&self, rank: Rank) -> Option<String> {
        let node = self.node_of(rank)?;
        self.edge_path(0, |edge| edge.from == node)
    }

    /// The path of the `number`th edge among those that match `fits`.
    fn edge_path(&self, number: usize, fits: impl Fn(&Edge) -> bool) -> Option<String> {
        let numbered = self.edges.iter().enumerate();
        let mut fitting = numbered.filter(|(_, edge)| fits(edge));
        fitting.nth(number).map(|(i, _)| format!("edges[{i}]"))
    }
}

fn node_path(node: usize) -> String {
    format!("nodes[{node}]")
}
