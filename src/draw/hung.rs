//! What is drawn as a tree: names, and under each name those that hang from it, with the labels of their edges.
//!
//! A topology hangs rank by rank. A formal definition hangs node by node, as in the papers' Fig. 1.

use super::traffic::count;
use crate::topology::{Formal, NodeEdge, Topology};

/// Meaning of the labels on the edges of a topology.
const STEPS: &str = "on an edge, the step in which the lower rank sends to the upper one";
/// Meaning of the labels on the edges of a definition.
const WEIGHTS: &str = "on an edge, its weight → the process that the association map gives for it";

/// The outline of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outline {
    Circle,
    Box,
}

/// A tree of names.
pub(super) struct Hung {
    pub heading: String,
    /// What the whole is, for readers who do not see it.
    pub description: String,
    /// Meaning of the labels.
    pub note: &'static str,
    pub outline: Outline,
    pub root: usize,
    pub names: Vec<String>,
    /// Under each name, from left to right, the labels of the edges and the names at their lower ends.
    pub below: Vec<Vec<(String, usize)>>,
}

impl Hung {
    /// The tree of ranks: the children of a rank are in the order in which it serves them.
    pub fn ranks(topology: &Topology) -> Hung {
        let ranks = 0..topology.ranks();
        let into = |rank| {
            topology
                .predecessors(rank)
                .map(|t| (t.step.to_string(), t.from))
        };
        let (name, root) = (topology.name(), topology.root());
        let steps = count(topology.steps(), "step");
        Hung {
            heading: format!("{name}: {}, {steps}", count(ranks.len(), "rank")),
            description: format!(
                "The tree of a topology with its root, rank {root}, on top; {STEPS}."
            ),
            note: STEPS,
            outline: Outline::Circle,
            root,
            names: ranks.clone().map(|rank| rank.to_string()).collect(),
            below: ranks.map(|rank| into(rank).collect()).collect(),
        }
    }

    /// The tree of nodes: edges by weight, and then in the order given. A node whose path does not end at node 0 hangs
    /// from nothing.
    pub fn nodes(formal: &Formal) -> Hung {
        let nodes = 0..formal.nodes().len();
        let mut below: Vec<Vec<NodeEdge>> = vec![Vec::new(); nodes.len()];
        let inside =
            |edge: &NodeEdge| edge.from < nodes.end && edge.into < nodes.end && edge.from > 0;
        let edges = formal.edges().filter(inside);
        edges.for_each(|edge| below[edge.into].push(edge));
        below
            .iter_mut()
            .for_each(|edges| edges.sort_by_key(|edge| edge.step));
        let (of, all) = (count(formal.ranks(), "rank"), count(nodes.len(), "node"));
        Hung {
            heading: format!("nodes of {}: {of}, {all}", formal.name()),
            description: format!(
                "The weighted tree of a formal definition, the root's node on top; {WEIGHTS}."
            ),
            note: WEIGHTS,
            outline: Outline::Box,
            root: 0,
            names: nodes.map(|node| formal.set(node)).collect(),
            below: below
                .iter()
                .map(|edges| edges.iter().map(labelled).collect())
                .collect(),
        }
    }
}

fn labelled(edge: &NodeEdge) -> (String, usize) {
    let process = edge.process.map_or("?".to_owned(), |rank| rank.to_string());
    (format!("{}→{process}", edge.step), edge.from)
}
