//! The tree of nodes: a definition read back from triples, taken apart, and written as text, DOT and JSON.

use std::fmt::Write;

use super::Topology;
#[cfg(feature = "json")]
use super::TopologyError;
use super::formal::Formal;
use super::strict::Nodes;
use crate::Rank;

/// An edge of the weighted tree on the nodes of a [`Formal`] definition.
///
/// # Examples
///
/// ```
/// use rankfold::topology::Topology;
///
/// let formal = Topology::k_tree(8, 2).formal();
/// let into_root: Vec<_> = formal.edges().filter(|edge| edge.into == 0).collect();
/// assert_eq!(into_root.iter().map(|edge| edge.step).collect::<Vec<_>>(), [0, 1]);
/// assert!(into_root.iter().all(|edge| edge.process == Some(0)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeEdge {
    /// The node that the edge leaves.
    pub from: usize,
    /// The node that it enters.
    pub into: usize,
    /// Its weight: the step in which every rank of the node sends.
    pub step: usize,
    /// The process that the association map of the entered node gives for it, if that is known.
    pub process: Option<Rank>,
}

impl Topology {
    /// The partition, the weighted tree and the association maps of the topology: the way back from the set TOP to its
    /// definition.
    ///
    /// The ranks that send to one rank in one step form a node. No other partition defines a strict topology with these
    /// triples; a general one may have others, whose nodes are subsets of these. Node 0 is the root's; the others are
    /// in order of step and receiver.
    ///
    /// # Cost
    ///
    /// O(n log n) time, O(n) memory.
    ///
    /// # Examples
    ///
    /// The tree of both papers' Fig. 1:
    ///
    /// ```
    /// use rankfold::topology::Topology;
    ///
    /// let tree = Topology::k_tree(8, 2);
    /// let formal = tree.formal();
    /// assert_eq!(formal.nodes(), [vec![0], vec![1, 2], vec![4, 5], vec![7], vec![3, 6]]);
    /// assert_eq!(formal.strict()?, tree);
    /// # Ok::<(), rankfold::topology::TopologyError>(())
    /// ```
    ///
    /// # Source
    ///
    /// Xiong 1999, definitions 1 and 2, read from the second to the first.
    pub fn formal(&self) -> Formal {
        let Nodes { members, edges } = self.nodes();
        let start = members
            .into_iter()
            .fold(Formal::new(self.ranks()), Formal::node);
        let formal = edges.into_iter().fold(start, |formal, edge| {
            let with_edge = formal.edge(edge.from, edge.into, edge.step);
            with_edge.associate(edge.from, edge.process)
        });
        formal.called(&self.name())
    }
}

impl Formal {
    /// Reads a definition from a JSON object with the fields `ranks`, `nodes` and `edges`, as described at
    /// [`Topology::from_json`]. The partition is kept, so that [`strict`](Self::strict) judges by it.
    ///
    /// # Errors
    ///
    /// As [`Topology::from_json`] for a definition.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::topology::{Formal, Topology};
    ///
    /// let json = r#"{"ranks": 3, "nodes": [[0], [1], [2]], "edges": [
    ///     {"from": 1, "into": 0, "step": 0, "process": 0},
    ///     {"from": 2, "into": 0, "step": 0, "process": 0}]}"#;
    /// let apart = Formal::from_json(json)?;
    /// assert_eq!(apart.strict().unwrap_err().to_string(), "property 3 does not hold at node {0}");
    /// assert!(Topology::from_json(json)?.check_strict().is_ok()); // with {1,2} as one node
    /// # Ok::<(), rankfold::topology::TopologyError>(())
    /// ```
    #[cfg(feature = "json")]
    pub fn from_json(json: &str) -> Result<Formal, TopologyError> {
        super::json::formal(json)
    }

    /// Writes the definition as the JSON object that [`from_json`](Self::from_json) reads, an edge a line.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::{Formal, Topology};
    /// let tree = Topology::binomial(6);
    /// assert_eq!(Formal::from_json(&tree.formal().to_json())?.general()?, tree);
    /// # Ok::<(), rankfold::topology::TopologyError>(())
    /// ```
    #[cfg(feature = "json")]
    pub fn to_json(&self) -> String {
        let (ranks, nodes) = (self.ranks(), self.nodes());
        let mut json = format!(
            "{{\n  \"schema\": \"rankfold.topology/1\",\n  \"ranks\": {ranks},\n  \"nodes\": {nodes:?},\n  \"edges\": ["
        );
        let mut end = "";
        for edge in self.edges() {
            let NodeEdge {
                from, into, step, ..
            } = edge;
            // Writing to a string cannot fail.
            let _ = write!(
                json,
                "{end}\n    {{\"from\": {from}, \"into\": {into}, \"step\": {step}"
            );
            if let Some(process) = edge.process {
                let _ = write!(json, ", \"process\": {process}");
            }
            json += "}";
            end = ",";
        }
        json + if end.is_empty() {
            "]\n}\n"
        } else {
            "\n  ]\n}\n"
        }
    }

    /// Writes the definition a node a line: its ranks, the weight of its edge, and the process at the other end.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::flat(3).formal().to_text(), "a0 = {0}\na1 = {1,2}; a1 → a0 in step 0, to rank 0\n");
    /// ```
    pub fn to_text(&self) -> String {
        let mut lines = Vec::new();
        for node in 0..self.nodes().len() {
            lines.push(format!("a{node} = {}", self.set(node)));
        }
        for edge in self.edges() {
            let NodeEdge {
                from, into, step, ..
            } = edge;
            let Some(line) = lines.get_mut(from) else {
                continue;
            };
            // Writing to a string cannot fail.
            let _ = write!(line, "; a{from} → a{into} in step {step}, to rank ");
            let _ = match edge.process {
                Some(process) => write!(line, "{process}"),
                None => line.write_str("?"),
            };
        }
        lines.push(String::new());
        lines.join("\n")
    }

    /// Writes the tree of nodes as a graph in the DOT language, for Graphviz: each edge with its weight, and at its head
    /// the process that the association map gives.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let dot = Topology::k_tree(8, 2).formal().to_dot();
    /// assert!(dot.contains("a4 [label=\"{3,6}\"];"));
    /// assert!(dot.contains("a2 -> a4 [label=0, headlabel=\"3\"];"));
    /// ```
    ///
    /// # Source
    ///
    /// Xiong 1999 and 2015: Fig. 1.
    pub fn to_dot(&self) -> String {
        let mut dot = format!("digraph \"nodes of {}\" {{\n  rankdir=BT;\n", self.name());
        dot += "  node [shape=box];\n  a0 [peripheries=2];\n";
        for node in 0..self.nodes().len() {
            // Writing to a string cannot fail.
            let _ = writeln!(dot, "  a{node} [label=\"{}\"];", self.set(node));
        }
        for NodeEdge {
            from,
            into,
            step,
            process,
        } in self.edges()
        {
            let head = process.map_or(String::new(), |q| format!(", headlabel=\"{q}\""));
            let _ = writeln!(dot, "  a{from} -> a{into} [label={step}{head}];");
        }
        dot + "}\n"
    }

    /// The ranks of a node, as a set: `{3,6}`.
    pub(crate) fn set(&self, node: usize) -> String {
        let mut set = "{".to_owned();
        for (number, rank) in self.nodes()[node].iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            // Writing to a string cannot fail.
            let _ = write!(set, "{comma}{rank}");
        }
        set + "}"
    }
}
