//! Topologies as graphs in the DOT language.

use std::fmt::Write;

use super::{Topology, Triple};

impl Topology {
    /// Writes the topology as a graph in the DOT language, for Graphviz: an arrow for each triple, labelled with its
    /// step, and the root at the top in a double circle.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let dot = "digraph \"chain\" {\n  rankdir=BT;\n  0 [shape=doublecircle];\n  1 -> 0 [label=0];\n}\n";
    /// assert_eq!(Topology::chain(2).to_dot(), dot);
    /// ```
    pub fn to_dot(&self) -> String {
        let (name, root) = (self.name(), self.root());
        let mut dot =
            format!("digraph \"{name}\" {{\n  rankdir=BT;\n  {root} [shape=doublecircle];\n");
        for Triple { from, step, to } in self.triples() {
            // Writing to a string cannot fail.
            let _ = writeln!(dot, "  {from} -> {to} [label={step}];");
        }
        dot + "}\n"
    }
}
