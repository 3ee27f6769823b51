//! Two binary trees on the same ranks, in which no rank is an inner node twice.

use std::sync::Arc;

use super::families::InOrder;
use super::{Hop, Packets};
use crate::Rank;

/// The two-tree broadcast: even packets go down one in-order tree, odd packets down another.
///
/// The `m` ranks other than 0 stand at the positions `1..=m` of an in-order tree, whose odd positions are leaves. Rank
/// `v` stands at position `v` in the first tree, and in the second at `m + 1 - v` if `m` is even (mirrored), else at
/// `v mod m + 1` (shifted). A rank that is an inner node in one tree is therefore a leaf in the other. It receives
/// packets of both trees alternately, and sends two packets every two steps.
///
/// ```text
/// eight ranks, shifted      even packets        odd packets
///
///                              0                   0
///                              │                   │
///                              4                   3
///                          ┌───┴───┐           ┌───┴───┐
///                          2       6           1       5
///                        ┌─┴─┐   ┌─┴─┐       ┌─┴─┐   ┌─┴─┐
///                        1   3   5   7       7   2   4   6
/// ```
///
/// Edges have two colours: the two edges that lead to a rank differ, and so do the two that lead to the children of one
/// node, and the two that leave the root. An edge is used every second step, in the steps of its colour's parity,
/// starting when its upper end has a packet. Then no rank sends or receives twice in a step.
///
/// # Cost
///
/// `2 ⌈log₂ P⌉ + k - 2` steps for `k` packets, or one less. [In rank order](Self::in_rank_order) one more may be needed
/// where `P` is a power of two. The table takes two bytes per rank; clones share it.
///
/// # Examples
///
/// ```
/// use rankfold::topology::{Packets, TwoTrees};
///
/// let trees = TwoTrees::new(8);
/// assert_eq!((1..8).map(|v| trees.parent(0, v)).collect::<Vec<_>>(), [2, 4, 2, 0, 6, 4, 6]);
/// assert_eq!((1..8).map(|v| trees.parent(1, v)).collect::<Vec<_>>(), [3, 1, 0, 5, 3, 5, 1]);
/// assert_eq!([1, 4].map(|packets| trees.steps(packets)), [5, 8]);
/// ```
///
/// # Source
///
/// Sanders, Speck and Träff, *Two-tree algorithms for full bandwidth broadcast, reduction and scan*,
/// Parallel Computing 35, 2009.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TwoTrees {
    shape: Shape,
    /// For each rank except 0, the first step of the edge that leads to it, in both trees.
    first: Arc<[[u8; 2]]>,
    /// The largest of these steps in each tree.
    last: [u8; 2],
}

impl TwoTrees {
    /// The maximum number of ranks, which bounds the table to 32 MiB.
    pub const MOST_RANKS: usize = 1 << 24;

    /// The two trees on `ranks` ranks.
    ///
    /// # Panics
    ///
    /// If `ranks` is 0 or more than [`MOST_RANKS`](Self::MOST_RANKS).
    #[track_caller]
    pub fn new(ranks: usize) -> TwoTrees {
        TwoTrees::of(ranks, Second::Shifted)
    }

    /// The two trees with contiguous subtrees, for reductions with operators that do not commute.
    ///
    /// If `m` is odd, the second tree is the in-order tree on the positions `2..=m + 1`, and rank `v` stands at
    /// `v + 1`. Mirrored trees are in rank order already.
    ///
    /// # Panics
    ///
    /// If `ranks` is 0 or more than [`MOST_RANKS`](Self::MOST_RANKS).
    #[track_caller]
    pub fn in_rank_order(ranks: usize) -> TwoTrees {
        TwoTrees::of(ranks, Second::Later)
    }

    #[track_caller]
    fn of(ranks: usize, if_odd: Second) -> TwoTrees {
        assert!(ranks > 0, "two trees on 0 ranks");
        assert!(
            ranks <= Self::MOST_RANKS,
            "a table of two trees on {ranks} ranks"
        );
        let others = ranks - 1;
        let second = if others.is_multiple_of(2) {
            Second::Mirrored
        } else {
            if_odd
        };
        let shape = Shape { others, second };
        let colours = shape.colours();
        let first = |v| [0, 1].map(|tree| shape.first(&colours, Edge { tree, child: v }));
        let first: Arc<[_]> = (1..ranks).map(first).collect();
        let latest = |tree| first.iter().map(|steps: &[u8; 2]| steps[tree]).max();
        TwoTrees {
            shape,
            last: [0, 1].map(|tree| latest(tree).unwrap_or(0)),
            first,
        }
    }

    /// The parent of `rank` in the first tree (0) or the second (1).
    ///
    /// # Panics
    ///
    /// If `tree` is not 0 or 1, or `rank` has no parent.
    #[track_caller]
    pub fn parent(&self, tree: usize, rank: Rank) -> Rank {
        self.assert_edge(tree, rank);
        self.shape.parent(Edge { tree, child: rank })
    }

    /// The first step in which a packet goes down to `rank` in `tree`. Its parity is the colour of that edge.
    ///
    /// # Panics
    ///
    /// If `tree` is not 0 or 1, or `rank` has no parent.
    #[track_caller]
    pub fn first_step(&self, tree: usize, rank: Rank) -> usize {
        self.assert_edge(tree, rank);
        self.first[rank - 1][tree].into()
    }

    #[track_caller]
    fn assert_edge(&self, tree: usize, rank: Rank) {
        let shown = tree < 2 && (1..self.ranks()).contains(&rank);
        assert!(shown, "the parent of rank {rank} in tree {tree}");
    }

    /// The packet that an edge carries in a step.
    fn packet(&self, packets: usize, edge: Edge, step: usize) -> Option<usize> {
        let since = step.checked_sub(self.first_step(edge.tree, edge.child))?;
        let packet = since + edge.tree;
        (since.is_multiple_of(2) && packet < packets).then_some(packet)
    }
}

impl Packets for TwoTrees {
    fn ranks(&self) -> usize {
        self.shape.others + 1
    }

    fn steps(&self, packets: usize) -> usize {
        let end = |tree: usize| {
            let later = packets.checked_sub(tree + 1)? / 2 * 2;
            Some(usize::from(self.last[tree]) + later + 1)
        };
        match self.shape.others {
            0 => 0,
            _ => end(0).max(end(1)).unwrap_or(0),
        }
    }

    fn arrival(&self, packets: usize, rank: Rank, step: usize) -> Option<Hop> {
        let edge = |tree| (rank > 0).then_some(Edge { tree, child: rank });
        edge(0).into_iter().chain(edge(1)).find_map(|edge| {
            Some(Hop {
                packet: self.packet(packets, edge, step)?,
                peer: self.shape.parent(edge),
            })
        })
    }

    fn departure(&self, packets: usize, rank: Rank, step: usize) -> Option<Hop> {
        let children = |tree| self.shape.children(tree, rank);
        children(0).chain(children(1)).find_map(|edge| {
            Some(Hop {
                packet: self.packet(packets, edge, step)?,
                peer: edge.child,
            })
        })
    }

    fn linger(&self) -> usize {
        2
    }
}

/// The positions of ranks in the second tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    Mirrored,
    Shifted,
    Later,
}

/// The edge that leads down to a rank in one of the trees.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Edge {
    tree: usize,
    child: Rank,
}

/// The colour of every edge, for each rank except 0 in both trees; `None` while uncoloured.
type Colours = [[Option<bool>; 2]];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// The number of ranks other than 0.
    others: usize,
    second: Second,
}

impl Shape {
    fn tree(&self, tree: usize) -> InOrder {
        let later = tree == 1 && self.second == Second::Later;
        InOrder::to(self.others + usize::from(later))
    }

    fn position(&self, tree: usize, rank: Rank) -> usize {
        match (tree, self.second) {
            (0, _) => rank,
            _ if rank == 0 => 0,
            (_, Second::Mirrored) => self.others + 1 - rank,
            (_, Second::Shifted) => rank % self.others + 1,
            (_, Second::Later) => rank + 1,
        }
    }

    /// The rank at a position. In the `Later` tree position 1 is empty.
    fn rank(&self, tree: usize, position: usize) -> Option<Rank> {
        let rank = match (tree, self.second) {
            (0, _) => position,
            _ if position == 0 => 0,
            (_, Second::Mirrored) => self.others + 1 - position,
            (_, Second::Shifted) if position == 1 => self.others,
            (_, Second::Shifted | Second::Later) => position - 1,
        };
        (rank > 0 || position == 0).then_some(rank)
    }

    fn parent(&self, edge: Edge) -> Rank {
        let above = self
            .tree(edge.tree)
            .parent(self.position(edge.tree, edge.child));
        self.rank(edge.tree, above).unwrap_or(0)
    }

    /// The edges from a rank to its children.
    fn children(&self, tree: usize, rank: Rank) -> impl Iterator<Item = Edge> {
        let below = self.tree(tree).children(self.position(tree, rank));
        let child = move |position| self.rank(tree, position);
        let edge = move |child| Edge { tree, child };
        below.into_iter().flatten().filter_map(child).map(edge)
    }

    /// The other edge from the same node; the root has one edge in each tree.
    fn sibling(&self, edge: Edge) -> Option<Edge> {
        match self.parent(edge) {
            0 => self.children(1 - edge.tree, 0).next(),
            parent => (self.children(edge.tree, parent)).find(|other| *other != edge),
        }
    }

    /// An edge conflicts only with its child's edge in the other tree and with its sibling, so conflicts form paths and
    /// even cycles, and each is walked along once. The first tree's top edge has colour 0; in every other path or
    /// cycle, the edge of the lowest rank in the first tree has.
    fn colours(&self) -> Vec<[Option<bool>; 2]> {
        let mut colours = vec![[None; 2]; self.others];
        let top = self.children(0, 0);
        for start in top.chain((1..=self.others).map(|child| Edge { tree: 0, child })) {
            if colours[start.child - 1][0].is_none() {
                colours[start.child - 1][0] = Some(false);
                self.walk(&mut colours, start, true);
                self.walk(&mut colours, start, false);
            }
        }
        colours
    }

    /// Colours the edges in one direction from an edge of colour 0, alternately across a child and a parent.
    fn walk(&self, colours: &mut Colours, mut edge: Edge, mut across_child: bool) {
        let mut colour = false;
        let other = |edge: Edge| Edge {
            tree: 1 - edge.tree,
            ..edge
        };
        loop {
            let next = if across_child {
                Some(other(edge))
            } else {
                self.sibling(edge)
            };
            let Some(next) = next else { return };
            let place = &mut colours[next.child - 1][next.tree];
            if place.is_some() {
                return;
            }
            (edge, colour, across_child) = (next, !colour, !across_child);
            *place = Some(colour);
        }
    }

    /// The first step of an edge: it has its colour's parity, and follows the arrival of the parent's first packet.
    fn first(&self, colours: &Colours, edge: Edge) -> u8 {
        let parity = u8::from(colours[edge.child - 1][edge.tree] == Some(true));
        let after = match self.parent(edge) {
            0 => 0,
            child => 1 + self.first(colours, Edge { child, ..edge }),
        };
        after + (after + parity) % 2
    }
}
