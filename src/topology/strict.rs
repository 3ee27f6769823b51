//! The strict form of 1999: six properties that let every rank increment its step by one.
//!
//! Its nodes are sets of ranks that send to one process in one step:
//!
//! 1. the smallest weight is 0;
//! 2. weights rise strictly along each path to the root;
//! 3. at most `|a|` edges of equal weight enter a node a;
//! 4. the edges that enter one process have distinct, consecutive weights;
//! 5. the last edges into the processes of one node, of all processes that have any, are equal in weight;
//! 6. an inner node other than the root sends one step after the last edge that enters it.
//!
//! A topology of either form satisfies 1 and 2, so only the other four are checked.

use super::{Topology, TopologyError, Triple};
use crate::Rank;
use crate::sort;

impl Topology {
    /// Checks whether this is also a strict topology, where the ranks that send to one rank in one step form a node.
    ///
    /// No other partition into nodes can be strict. All families are strict for every number of ranks, except the
    /// [k-tree](Self::k_tree): it is strict only if no zero precedes a nonzero digit of `n - 1` in base k + 1.
    ///
    /// # Cost
    ///
    /// O(n log n) time, O(n) memory.
    ///
    /// # Errors
    ///
    /// [`TopologyError::NotStrict`] with the number of the first property that does not hold, as listed under Source,
    /// and the node.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::topology::{Topology, TopologyError};
    ///
    /// assert!(Topology::binomial(8).check_strict().is_ok());
    /// let refused = Topology::binomial(6).check_strict().unwrap_err();
    /// assert_eq!(refused.to_string(), "property 6 does not hold at node {4}");
    /// ```
    ///
    /// # Source
    ///
    /// Xiong 1999: (1) the smallest weight is 0; (2) weights rise strictly along each path to the
    /// root; (3) at most as many edges of equal weight enter a node as it has processes; (4) the
    /// edges that enter one process carry distinct, consecutive weights; (5) the last edges of all
    /// processes of one node carry equal weights; (6) an inner node's outgoing weight is its largest
    /// incoming weight plus one.
    pub fn check_strict(&self) -> Result<(), TopologyError> {
        check(&self.nodes())
    }

    /// The nodes that the triples alone define: node 0 is the root's.
    pub(super) fn nodes(&self) -> Nodes {
        let mut triples: Vec<Triple> = self.triples().collect();
        sort::by_numbers(&mut triples, |t| [t.step, t.to, t.from]);
        let same_node = |a: &Triple, b: &Triple| (a.step, a.to) == (b.step, b.to);
        let mut nodes = Nodes {
            members: vec![vec![self.root()]],
            edges: Vec::new(),
        };
        for node in triples.chunk_by(same_node) {
            nodes.edges.push(Edge {
                from: nodes.members.len(),
                step: node[0].step,
                process: node[0].to,
                into: 0,
            });
            nodes.members.push(node.iter().map(|t| t.from).collect());
        }
        nodes.enter(&node_of_rank(&nodes.members));
        nodes
    }
}

/// The node of each rank, for nodes that contain every rank once.
fn node_of_rank(members: &[Vec<Rank>]) -> Vec<usize> {
    let mut node_of = vec![0; members.iter().map(Vec::len).sum()];
    for (node, ranks) in members.iter().enumerate() {
        ranks.iter().for_each(|&rank| node_of[rank] = node);
    }
    node_of
}

/// An edge of the tree on nodes, with the process that its association map gives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) into: usize,
    pub(super) process: Rank,
    pub(super) step: usize,
    pub(super) from: usize,
}

/// A partition of the ranks and the tree on it; one edge leaves every node except the first.
pub(super) struct Nodes {
    pub(super) members: Vec<Vec<Rank>>,
    pub(super) edges: Vec<Edge>,
}

impl Nodes {
    fn enter(&mut self, node_of: &[usize]) {
        self.edges
            .iter_mut()
            .for_each(|edge| edge.into = node_of[edge.process]);
    }

    fn broken(&self, property: u8, node: usize) -> Result<(), TopologyError> {
        let mut node = self.members[node].clone();
        node.sort_unstable();
        Err(TopologyError::NotStrict { property, node })
    }
}

/// Properties 3 to 6, in this order.
pub(super) fn check(nodes: &Nodes) -> Result<(), TopologyError> {
    let mut edges = nodes.edges.clone();
    sort::by_numbers(&mut edges, |e| [e.into, e.step]);
    room_for_each(nodes, &edges)?;
    sort::by_numbers(&mut edges, |e| [e.into, e.process, e.step, e.from]);
    consecutive(nodes, &edges)?;
    let last = last_edges(&edges);
    equal_ends(nodes, &last)?;
    sends_next(nodes, &last)
}

/// Property 3. Requires edges sorted by node and step.
fn room_for_each(nodes: &Nodes, edges: &[Edge]) -> Result<(), TopologyError> {
    let together = |a: &Edge, b: &Edge| (a.into, a.step) == (b.into, b.step);
    let too_many = |same: &&[Edge]| same.len() > nodes.members[same[0].into].len();
    match edges.chunk_by(together).find(too_many) {
        Some(same) => nodes.broken(3, same[0].into),
        None => Ok(()),
    }
}

/// Property 4. Requires edges sorted by node, process and step, as the last two properties do.
fn consecutive(nodes: &Nodes, edges: &[Edge]) -> Result<(), TopologyError> {
    let gap = |two: &&[Edge]| two[0].process == two[1].process && two[0].step + 1 != two[1].step;
    match edges.windows(2).find(gap) {
        Some(two) => nodes.broken(4, two[0].into),
        None => Ok(()),
    }
}

/// The terminal edge of each process that has one.
fn last_edges(edges: &[Edge]) -> Vec<Edge> {
    edges
        .chunk_by(|a, b| a.process == b.process)
        .map(|all| all[all.len() - 1])
        .collect()
}

/// Property 5.
fn equal_ends(nodes: &Nodes, last: &[Edge]) -> Result<(), TopologyError> {
    match last
        .windows(2)
        .find(|two| two[0].into == two[1].into && two[0].step != two[1].step)
    {
        Some(two) => nodes.broken(5, two[0].into),
        None => Ok(()),
    }
}

/// Property 6. At this point all last edges into one node are equal in weight.
fn sends_next(nodes: &Nodes, last: &[Edge]) -> Result<(), TopologyError> {
    let mut sends = vec![None; nodes.members.len()];
    nodes
        .edges
        .iter()
        .for_each(|edge| sends[edge.from] = Some(edge.step));
    match last
        .iter()
        .find(|edge| sends[edge.into].is_some_and(|step| step != edge.step + 1))
    {
        Some(edge) => nodes.broken(6, edge.into),
        None => Ok(()),
    }
}
