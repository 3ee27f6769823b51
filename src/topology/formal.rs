//! The formal definition: a partition of the ranks, a weighted tree on it, and association maps.
//!
//! Every rank of a node sends to the one process of the next node that the association map gives.

use super::{
    NodeEdge, Topology, TopologyError, Triple,
    strict::{self, Edge, Nodes},
};
use crate::Rank;
use crate::sort;

/// A topology as the papers define it, piece by piece.
///
/// It consists of a partition of the ranks into nodes, where node 0 contains the root alone; a tree on the nodes whose
/// edges point towards node 0 and are weighted by steps; and for each edge the receiving process in the node that it
/// enters (the association map of that node). Every rank of a node sends, in the step that is its outgoing edge's
/// weight, to the process associated with that edge.
///
/// Pieces may come in any order; nothing is validated before [`general`](Self::general) or [`strict`](Self::strict) is
/// called. Exactly one edge leaves each node except node 0, so an edge is identified by the number of the node that it
/// leaves.
///
/// # Examples
///
/// The example of both papers, the 2-tree on 8 ranks, from its definition to its triples and a reduction:
///
/// ```
/// use rankfold::topology::{Formal, Topology};
/// use rankfold::{World, op};
///
/// let tree = Formal::new(8)
///     .node([0])
///     .node([1, 2])
///     .node([3, 6])
///     .node([4, 5])
///     .node([7])
///     .edge(1, 0, 0).associate(1, 0)
///     .edge(2, 0, 1).associate(2, 0)
///     .edge(3, 2, 0).associate(3, 3) // both 4 and 5 send to 3, of node {3,6}
///     .edge(4, 2, 0).associate(4, 6)
///     .strict()?;
/// assert_eq!(tree, Topology::k_tree(8, 2));
///
/// let mut top: Vec<_> = tree.triples().map(|t| (t.from, t.step, t.to)).collect();
/// top.sort_by_key(|&(from, step, _)| (step, from));
/// let papers = [(1, 0, 0), (2, 0, 0), (4, 0, 3), (5, 0, 3), (7, 0, 6), (3, 1, 0), (6, 1, 0)];
/// assert_eq!(top, papers);
///
/// let sums = World::new(8).run(|comm| {
///     let mut v = [comm.rank() as u64 + 1];
///     comm.reduce_over(&tree, &mut v, op::Sum).run()?;
///     Ok(v[0])
/// })?;
/// assert_eq!(sums[0], 36);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
///
/// Xiong 1999 and 2015.
#[derive(Clone, Debug, Default)]
pub struct Formal {
    /// The name of the topology that it was read from.
    name: Option<String>,
    ranks: usize,
    blocks: Vec<Vec<Rank>>,
    edges: Vec<WeightedEdge>,
    /// The node that an edge leaves, and the receiving process.
    associations: Vec<(usize, Rank)>,
}

/// An edge as given, before its process is known.
#[derive(Clone, Copy, Debug)]
struct WeightedEdge {
    from: usize,
    into: usize,
    step: usize,
}

impl Formal {
    /// A definition on `ranks` ranks, initially without nodes.
    pub fn new(ranks: usize) -> Formal {
        Formal {
            ranks,
            ..Formal::default()
        }
    }

    /// Adds a node of the partition. Nodes are numbered from 0; the first is the root's.
    #[must_use]
    pub fn node(mut self, ranks: impl IntoIterator<Item = Rank>) -> Formal {
        self.blocks.push(ranks.into_iter().collect());
        self
    }

    /// Adds an edge of the tree: node `from` sends to node `into` in step `step`, its weight.
    #[must_use]
    pub fn edge(mut self, from: usize, into: usize, step: usize) -> Formal {
        self.edges.push(WeightedEdge { from, into, step });
        self
    }

    /// Maps the edge that leaves node `from` to process `rank` of the node that it enters.
    #[must_use]
    pub fn associate(mut self, from: usize, rank: Rank) -> Formal {
        self.associations.push((from, rank));
        self
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The nodes of the partition, in the order given.
    pub fn nodes(&self) -> &[Vec<Rank>] {
        &self.blocks
    }

    /// The edges of the weighted tree, in the order given, each with its process.
    pub fn edges(&self) -> impl Iterator<Item = NodeEdge> + '_ {
        let mut process = vec![None; self.blocks.len()];
        for &(node, rank) in self.associations.iter().rev() {
            if let Some(entry) = process.get_mut(node) {
                *entry = Some(rank);
            }
        }
        self.edges.iter().map(move |edge| NodeEdge {
            from: edge.from,
            into: edge.into,
            step: edge.step,
            process: process.get(edge.from).copied().flatten(),
        })
    }

    /// The name of the topology that it was read from, or `custom`.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("custom")
    }

    pub(super) fn called(self, name: &str) -> Formal {
        let name = Some(name.to_owned());
        Formal { name, ..self }
    }

    /// Returns the general topology (2015) that this defines.
    ///
    /// # Errors
    ///
    /// Fails for a node that is empty or undefined, a rank in two nodes or in none, further ranks in the root's node,
    /// or an association map that misses an edge or points outside its node; otherwise as [`Topology::from_triples`]
    /// does: two edges that leave one node are two successors of its ranks.
    pub fn general(&self) -> Result<Topology, TopologyError> {
        let nodes = self.associated()?;
        Topology::from_triples(self.ranks, nodes.members[0][0], nodes.triples())
    }

    /// Returns the strict topology (1999) that this defines.
    ///
    /// # Errors
    ///
    /// As [`general`](Self::general), but [`TopologyError::NotStrict`] where one of the six properties does not hold
    /// for this partition.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::topology::Formal;
    ///
    /// let apart = Formal::new(3).node([0]).node([1]).node([2]);
    /// let apart = apart.edge(1, 0, 0).associate(1, 0).edge(2, 0, 0).associate(2, 0);
    /// assert!(apart.general().is_ok());
    /// assert_eq!(apart.strict().unwrap_err().to_string(), "property 3 does not hold at node {0}");
    /// ```
    pub fn strict(&self) -> Result<Topology, TopologyError> {
        let topology = self.general().map_err(|error| self.numbered(error))?;
        strict::check(&self.associated()?)?;
        Ok(topology)
    }

    /// Properties 1 and 2 are required of a general topology as well, where they have no number.
    fn numbered(&self, error: TopologyError) -> TopologyError {
        let (property, rank) = match error {
            TopologyError::NoStepZero { least } => (1, least.from),
            TopologyError::StepDoesNotRise { after, .. } => (2, after.from),
            other => return other,
        };
        let mut node = self
            .blocks
            .iter()
            .find(|block| block.contains(&rank))
            .cloned()
            .unwrap_or_default();
        node.sort_unstable();
        TopologyError::NotStrict { property, node }
    }

    /// The nodes, and the edges with their processes, if they are what the definition asks for.
    fn associated(&self) -> Result<Nodes, TopologyError> {
        let node_of = self.node_of_rank()?;
        if self.blocks[0].len() > 1 {
            return Err(TopologyError::RootNotAlone {
                block: self.blocks[0].clone(),
            });
        }
        let process = self.processes()?;
        let edges = self
            .edges
            .iter()
            .map(|edge| with_process(edge, &process, &node_of));
        Ok(Nodes {
            members: self.blocks.clone(),
            edges: edges.collect::<Result<_, _>>()?,
        })
    }

    /// The node of each rank, if the nodes are a partition.
    fn node_of_rank(&self) -> Result<Vec<usize>, TopologyError> {
        if let Some(node) = self.blocks.iter().position(Vec::is_empty) {
            return Err(TopologyError::EmptyBlock { node });
        }
        let mut placed = self.placed();
        sort::by_numbers(&mut placed, |&(rank, node)| [rank, node]);
        if let Some(two) = placed.windows(2).find(|two| two[0].0 == two[1].0) {
            return Err(TopologyError::BlocksOverlap {
                rank: two[0].0,
                first: two[0].1,
                second: two[1].1,
            });
        }
        self.covers(&placed)?;
        Ok(placed.into_iter().map(|(_, node)| node).collect())
    }

    /// Every rank with its node, in the order given.
    fn placed(&self) -> Vec<(Rank, usize)> {
        let blocks = self.blocks.iter().enumerate();
        blocks
            .flat_map(|(node, block)| block.iter().map(move |&rank| (rank, node)))
            .collect()
    }

    /// Requires `placed` to be sorted and free of duplicates.
    fn covers(&self, placed: &[(Rank, usize)]) -> Result<(), TopologyError> {
        if self.ranks == 0 {
            return Err(TopologyError::NoRanks);
        }
        match placed.last() {
            Some(&(rank, _)) if rank >= self.ranks => {
                return Err(TopologyError::RankOutOfRange {
                    rank,
                    ranks: self.ranks,
                });
            }
            _ => {}
        }
        let in_place = placed
            .iter()
            .enumerate()
            .take_while(|(place, (rank, _))| place == rank)
            .count();
        if in_place < self.ranks {
            Err(TopologyError::RankInNoBlock { rank: in_place })
        } else {
            Ok(())
        }
    }

    /// The process associated with each node's outgoing edge.
    fn processes(&self) -> Result<Vec<Option<Rank>>, TopologyError> {
        let mut process = vec![None; self.blocks.len()];
        let ends = self.edges.iter().flat_map(|edge| [edge.from, edge.into]);
        ends.chain(self.associations.iter().map(|a| a.0))
            .try_for_each(|node| self.assert_node(node))?;
        let mut leaves = vec![false; self.blocks.len()];
        self.edges.iter().for_each(|edge| leaves[edge.from] = true);
        for &(node, rank) in &self.associations {
            if !leaves[node] {
                return Err(TopologyError::AssociationWithoutEdge { node });
            }
            if process[node].replace(rank).is_some() {
                return Err(TopologyError::AssociationTwice { node });
            }
        }
        Ok(process)
    }

    fn assert_node(&self, node: usize) -> Result<(), TopologyError> {
        let nodes = self.blocks.len();
        if node < nodes {
            Ok(())
        } else {
            Err(TopologyError::NodeOutOfRange { node, nodes })
        }
    }
}

fn with_process(
    edge: &WeightedEdge,
    process: &[Option<Rank>],
    node_of: &[usize],
) -> Result<Edge, TopologyError> {
    let WeightedEdge { from, into, step } = *edge;
    let Some(rank) = process[from] else {
        return Err(TopologyError::AssociationMissing { node: from });
    };
    if node_of.get(rank) != Some(&into) {
        return Err(TopologyError::AssociationOutside {
            node: from,
            into,
            rank,
        });
    }
    Ok(Edge {
        into,
        process: rank,
        step,
        from,
    })
}

impl Nodes {
    /// The set TOP: every rank of a node sends along the node's edge.
    fn triples(&self) -> impl Iterator<Item = Triple> + '_ {
        let triple = |edge: Edge, from| Triple {
            from,
            step: edge.step,
            to: edge.process,
        };
        self.edges.iter().flat_map(move |&e| {
            self.members[e.from]
                .iter()
                .map(move |&from| triple(e, from))
        })
    }
}
