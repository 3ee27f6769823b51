//! A topology as an indented tree.

use super::traffic::count;
use crate::Rank;
use crate::topology::Topology;

/// Meaning of the numbers on the edges.
pub(super) const EDGES: &str =
    "on an edge, the step in which the lower rank sends to the upper one";

pub(super) fn text(topology: &Topology) -> String {
    let mut text = format!("{}; {EDGES}\n{}\n", heading(topology), topology.root());
    below(topology, topology.root(), "", &mut text);
    text
}

/// Returns the name of the topology, and the numbers of its ranks and steps.
pub(super) fn heading(topology: &Topology) -> String {
    let (ranks, steps) = (topology.ranks(), topology.steps());
    format!(
        "{}: {}, {}",
        topology.name(),
        count(ranks, "rank"),
        count(steps, "step")
    )
}

/// Writes the ranks under `top`, each line after `indent`.
fn below(topology: &Topology, top: Rank, indent: &str, text: &mut String) {
    let widest = topology
        .predecessors(top)
        .map(|edge| edge.step.to_string().len())
        .max();
    let widest = widest.unwrap_or(0);
    let mut edges = topology.predecessors(top).peekable();
    while let Some(edge) = edges.next() {
        let last = edges.peek().is_none();
        let (corner, on) = if last { ('└', ' ') } else { ('├', '│') };
        text.push_str(&format!(
            "{indent}{corner}─{:─<widest$}─ {}\n",
            edge.step, edge.from
        ));
        let indent = format!("{indent}{on}{:widest$}   ", "");
        below(topology, edge.from, &indent, text);
    }
}
