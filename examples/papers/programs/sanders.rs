//! The broadcasts of the survey, from rank 0: the binomial tree, the linear pipeline, the pipelined binary tree, and the
//! 23-broadcast down two trees.

use std::ops::Range;

use rankfold::{Rank, Result};

use super::talk::Talk;

/// Binomial tree broadcast. The guard compares with `<`; printed is `<=`, which sends to a rank that there is not.
pub fn binomial(talk: &mut Talk<'_>, mut message: Vec<u64>) -> Result<Vec<u64>> {
    let (id, p) = (talk.rank(), talk.size());
    let steps = p.next_power_of_two().ilog2() as usize;
    if id > 0 {
        message = talk.recv(id & (id - 1))?;
    }
    for (step, i) in (0..steps).rev().enumerate() {
        let peer = id + (1 << i);
        if id % (2 << i) == 0 && peer < p {
            talk.send(peer, step, &message)?;
        }
    }
    Ok(message)
}

/// Linear pipeline: packet i leaves rank `id` in step `id + i`. The last rank is `p - 1`; printed is n, the number of
/// packets.
pub fn linear_pipeline(
    talk: &mut Talk<'_>,
    mut message: Vec<u64>,
    packets: usize,
) -> Result<Vec<u64>> {
    let (id, p, n) = (talk.rank(), talk.size(), message.len());
    for (i, packet) in cuts(n, packets).enumerate() {
        if id != 0 {
            let received = talk.recv(id - 1)?;
            message[packet.clone()].copy_from_slice(&received);
        }
        if id != p - 1 {
            talk.send(id + 1, id + i, &message[packet])?;
        }
    }
    Ok(message)
}

/// Pipelined binary tree: rank 0 above the in-order tree on the other ranks. A packet is sent to the left child and a
/// step later to the right one, so that packets are two steps apart.
pub fn binary_tree(talk: &mut Talk<'_>, mut message: Vec<u64>, packets: usize) -> Result<Vec<u64>> {
    let (id, n) = (talk.rank(), message.len());
    let tree = InOrder {
        nodes: talk.size() - 1,
    };
    for (i, packet) in cuts(n, packets).enumerate() {
        if id != 0 {
            let received = talk.recv(tree.parent(id))?;
            message[packet.clone()].copy_from_slice(&received);
        }
        for child in tree.children(id) {
            talk.send(child, tree.served(child) + 2 * i, &message[packet.clone()])?;
        }
    }
    Ok(message)
}

/// 23-broadcast: even packets go down the first tree and odd ones down the second, over edges of colour 0 in even steps
/// and of colour 1 in odd ones.
pub fn broadcast_23(
    talk: &mut Talk<'_>,
    mut message: Vec<u64>,
    packets: usize,
) -> Result<Vec<u64>> {
    let (id, p) = (talk.rank(), talk.size());
    let trees = TwoTrees::new(p);
    let packets: Vec<_> = cuts(message.len(), packets).collect();
    let edges = (1..p).flat_map(|child| [0, 1].map(|tree| Edge { tree, child }));
    let mut meetings = Vec::new();
    for edge in edges.filter(|&edge| edge.child == id || trees.parent(edge) == id) {
        let first = trees.first(edge);
        let of_tree = packets.iter().skip(edge.tree).step_by(2);
        meetings.extend(
            of_tree
                .enumerate()
                .map(|(i, packet)| (first + 2 * i, edge, packet)),
        );
    }
    // In one step a rank may send and receive: the packet that it sends has come before.
    meetings.sort_by_key(|&(step, edge, _)| (step, edge.child == id));
    for (step, edge, packet) in meetings {
        match edge.child == id {
            false => talk.send(edge.child, step, &message[packet.clone()])?,
            true => {
                let received = talk.recv(trees.parent(edge))?;
                message[packet.clone()].copy_from_slice(&received);
            }
        }
    }
    Ok(message)
}

/// A vector of n elements cut into packets, at most one for each element.
fn cuts(n: usize, packets: usize) -> impl Iterator<Item = Range<usize>> {
    let k = packets.clamp(1, n.max(1));
    (0..k).map(move |i| n * i / k..n * (i + 1) / k)
}

/// The in-order tree on the positions `1..=nodes`, below position 0: odd positions are leaves.
#[derive(Clone, Copy)]
struct InOrder {
    nodes: usize,
}

impl InOrder {
    fn parent(self, position: usize) -> usize {
        let bit = position & position.wrapping_neg();
        let above = (position ^ bit) | (2 * bit);
        match above <= self.nodes {
            true => above,
            false => position ^ bit,
        }
    }

    /// The left child and the right one, if they exist.
    fn children(self, position: usize) -> impl Iterator<Item = usize> {
        (1..=self.nodes).filter(move |&child| self.parent(child) == position)
    }

    /// The step in which the first packet goes to a position: one after its parent has it, or two for the right one of
    /// two children.
    fn served(self, position: usize) -> usize {
        let parent = self.parent(position);
        let elder = self.children(parent).take_while(|&one| one != position);
        let before = match parent {
            0 => 0,
            _ => self.served(parent) + 1,
        };
        before + elder.count()
    }
}

/// The edge that leads down to a rank in one of the two trees.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Edge {
    tree: usize,
    child: Rank,
}

/// The two trees on p ranks, the second mirrored or shifted, and the colours of their edges.
struct TwoTrees {
    others: usize,
    /// For each rank but 0.
    colours: Vec<[Option<usize>; 2]>,
}

impl TwoTrees {
    fn new(p: usize) -> TwoTrees {
        let mut trees = TwoTrees {
            others: p - 1,
            colours: vec![[None; 2]; p - 1],
        };
        if p > 1 {
            let top = (1..p).map(|child| Edge { tree: 0, child });
            let top = top.clone().find(|&edge| trees.parent(edge) == 0);
            top.into_iter().for_each(|top| trees.colour(top, 0));
        }
        for child in 1..p {
            trees.colour(Edge { tree: 0, child }, 0);
        }
        trees
    }

    /// Colours an edge, and those that it meets at a rank with the other colour, unless it has a colour.
    fn colour(&mut self, edge: Edge, colour: usize) {
        let mut todo = vec![(edge, colour)];
        while let Some((edge, colour)) = todo.pop() {
            let place = &mut self.colours[edge.child - 1][edge.tree];
            if place.is_none() {
                *place = Some(colour);
                let met = self.met(edge);
                todo.extend(met.map(|other| (other, 1 - colour)));
            }
        }
    }

    /// The other edge to the same child, and the other one from the same parent; of rank 0, that in the other tree.
    fn met(&self, edge: Edge) -> impl Iterator<Item = Edge> {
        let Edge { tree, child } = edge;
        let parent = self.parent(edge);
        let other = Edge {
            tree: 1 - tree,
            child,
        };
        let among = if parent == 0 { 1 - tree } else { tree };
        let siblings = (1..=self.others).map(move |child| Edge { tree: among, child });
        let siblings = siblings.filter(move |&one| one != edge && self.parent(one) == parent);
        std::iter::once(other).chain(siblings)
    }

    fn parent(&self, edge: Edge) -> Rank {
        let m = self.others;
        let tree = InOrder { nodes: m };
        match (edge.tree, m.is_multiple_of(2)) {
            (0, _) => tree.parent(edge.child),
            (_, true) => match tree.parent(m + 1 - edge.child) {
                0 => 0,
                position => m + 1 - position,
            },
            (_, false) => match tree.parent(edge.child % m + 1) {
                0 => 0,
                1 => m,
                position => position - 1,
            },
        }
    }

    /// The first step in which an edge is used: as early as its colour allows.
    fn first(&self, edge: Edge) -> usize {
        let Edge { tree, child } = edge;
        let ready = match self.parent(edge) {
            0 => 0,
            parent => {
                1 + self.first(Edge {
                    tree,
                    child: parent,
                })
            }
        };
        let colour = self.colours[child - 1][tree].unwrap_or(0);
        ready + (ready + colour) % 2
    }
}
