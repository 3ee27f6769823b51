//! A machine as lines of text: its tree, with equal siblings on one line.

use std::fmt;

use super::ranges::Ranges;
use super::tree::{Machine, Node, Object};

/// Prints the tree, its source, and the CPUs that this process may use.
///
/// ```text
/// 2 x package
///   2 x l3 32 MiB
///     4 x core
///       2 x cpu
/// ```
///
/// Siblings that are equal, including sizes, share a line; the drawing shows their CPUs
/// (`draw::machine`).
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "machine, from {}", self.source)?;
        lines(f, &self.tree.children, 1)?;
        for (i, kind) in self.kinds.iter().enumerate() {
            let mut cpus = kind.clone();
            cpus.sort_unstable();
            writeln!(f, "  cores of kind {i}: CPUs {}", Ranges(&cpus))?;
        }
        for node in &self.nodes {
            writeln!(f, "  {}", NodeLine(node))?;
        }
        write!(f, "usable: {}", self.usable)
    }
}

fn lines(f: &mut fmt::Formatter<'_>, siblings: &[Object], depth: usize) -> fmt::Result {
    for alike in siblings.chunk_by(alike) {
        let first = &alike[0];
        write!(f, "{:1$}{2} x {3}", "", 2 * depth, alike.len(), first.kind)?;
        first
            .bytes
            .map_or(Ok(()), |bytes| write!(f, " {}", Bytes(bytes)))?;
        writeln!(f)?;
        lines(f, &first.children, depth + 1)?;
    }
    Ok(())
}

/// Whether two objects differ only in numbers.
fn alike(a: &Object, b: &Object) -> bool {
    let inside = || a.children.iter().zip(&b.children).all(|(a, b)| alike(a, b));
    a.kind == b.kind && a.bytes == b.bytes && a.children.len() == b.children.len() && inside()
}

/// A NUMA node on one line.
pub(super) struct NodeLine<'a>(pub(super) &'a Node);

impl fmt::Display for NodeLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.0;
        let mut cpus = node.cpus.clone();
        cpus.sort_unstable();
        write!(f, "numa node {}: CPUs {}", node.number, Ranges(&cpus))?;
        node.bytes
            .map_or(Ok(()), |bytes| write!(f, ", {}", Bytes(bytes)))?;
        node.cache.map_or(Ok(()), |bytes| {
            write!(f, " behind a cache of {}", Bytes(bytes))
        })?;
        if node.distances.is_empty() {
            return Ok(());
        }
        let far: Vec<String> = node.distances.iter().map(u32::to_string).collect();
        write!(f, ", distances {}", far.join(" "))
    }
}

/// A size in the largest unit in which it is an integer, or with one decimal.
pub(crate) struct Bytes(pub(crate) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"];
        let unit = units
            .iter()
            .enumerate()
            .rev()
            .find(|(i, _)| self.0 >> (10 * i) > 0);
        let (power, unit) = unit.unwrap_or((0, &"B"));
        let one = 1u64 << (10 * power);
        match self.0 % one {
            0 => write!(f, "{} {unit}", self.0 / one),
            _ => write!(f, "{:.1} {unit}", self.0 as f64 / one as f64),
        }
    }
}
