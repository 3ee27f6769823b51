//! The Fibonacci tree: a node of order o serves a subtree of order o-1, then one of order o-2.
//!
//! Both are served at the same time, so no port waits: with at most two children per node, no tree reaches more ranks
//! in as many steps. Ranks are numbered root, second subtree, first subtree.

use super::family::{Family, SenderRun, assert_some, first_of_two};
use crate::Rank;

#[derive(Clone, Copy, Hash)]
pub(in crate::topology) struct Fibonacci {
    n: usize,
    root: Node,
}

/// A rank with its place in the tree.
#[derive(Clone, Copy, Hash)]
struct Node {
    rank: Rank,
    /// The order of the node's subtree, at least 1.
    order: usize,
    /// The size of a full tree of order `order - 1`.
    first: usize,
    /// The size of a full tree of order `order - 2`.
    second: usize,
    /// The broadcast step in which this rank has the message and serves its first child.
    serves: usize,
}

impl Node {
    /// The root of the smallest tree that holds `n` ranks.
    fn root_for(n: usize) -> Node {
        let mut root = Node {
            rank: 0,
            order: 1,
            first: 0,
            second: 0,
            serves: 0,
        };
        while root.size() < n {
            root = Node {
                order: root.order + 1,
                first: root.size(),
                second: root.first,
                ..root
            };
        }
        root
    }

    fn size(&self) -> usize {
        1usize
            .saturating_add(self.first)
            .saturating_add(self.second)
    }

    /// A node one order lower; sizes follow from `size(o) = 1 + size(o-1) + size(o-2)`.
    fn lower(self, rank: Rank, serves: usize) -> Node {
        let second = (self.first - self.second).saturating_sub(1);
        Node {
            rank,
            order: self.order - 1,
            first: self.second,
            second,
            serves,
        }
    }
}

/// A node with its parent.
struct ChildAndParent {
    node: Node,
    parent: Node,
}

impl Fibonacci {
    #[track_caller]
    pub(super) fn new(n: usize) -> Fibonacci {
        assert_some(n);
        Fibonacci {
            n,
            root: Node::root_for(n),
        }
    }

    /// The child served first, of order o-1.
    fn first_child(&self, at: Node) -> Option<Node> {
        let rank = at.rank.checked_add(1 + at.second)?;
        (at.order >= 2 && rank < self.n).then(|| at.lower(rank, at.serves + 1))
    }

    /// The child served second, of order o-2; if the first was cut away, this one takes its step.
    fn second_child(&self, at: Node) -> Option<Node> {
        let rank = at.rank + 1;
        let turn = at.serves + usize::from(self.first_child(at).is_some());
        (at.order >= 3 && rank < self.n).then(|| at.lower(rank, turn).lower(rank, turn + 1))
    }

    /// The place of `v`, which is not the root.
    fn place(&self, v: Rank) -> ChildAndParent {
        let mut place = ChildAndParent {
            node: self.root,
            parent: self.root,
        };
        while place.node.rank != v {
            place = self.towards(v, place.node);
        }
        place
    }

    fn towards(&self, v: Rank, parent: Node) -> ChildAndParent {
        let first = self.first_child(parent).filter(|child| v >= child.rank);
        let node = first
            .or_else(|| self.second_child(parent))
            .expect("a rank below is in a child");
        ChildAndParent { node, parent }
    }

    fn node(&self, v: Rank) -> Node {
        if v == 0 {
            self.root
        } else {
            self.place(v).node
        }
    }

    /// The reduction step in which `child` sends: it has the message one step after it is served.
    fn step(&self, child: Node) -> usize {
        self.steps() - child.serves
    }

    /// The port step after the last arrival at `at`.
    ///
    /// With a first child, the second subtree is full and taken in step order-3, and the first child arrives in step
    /// order-2. Without a first child, only the remainder of the second child counts.
    fn ready(&self, at: Node) -> usize {
        if self.first_child(at).is_some() {
            return at.order - 1;
        }
        self.second_child(at)
            .map_or(0, |child| self.ready(child) + 1)
    }
}

impl Family for Fibonacci {
    fn steps(&self) -> usize {
        self.root.order - 1
    }

    fn successor(&self, p: Rank) -> (usize, Rank) {
        let place = self.place(p);
        (self.step(place.node), place.parent.rank)
    }

    fn arrivals(&self, q: Rank, least: usize) -> Option<SenderRun> {
        let at = self.node(q);
        let with_step = |child: Node| (self.step(child), child.rank);
        first_of_two(
            [
                self.second_child(at).map(with_step),
                self.first_child(at).map(with_step),
            ],
            least,
        )
    }

    fn in_order_from(&self, c: Rank) -> bool {
        c <= 1 || c == 1 + self.root.second
    }

    fn port_step(&self, p: Rank) -> usize {
        let ChildAndParent { node, parent } = self.place(p);
        if node.order + 1 == parent.order {
            parent.order - 2
        } else {
            self.ready(node)
        }
    }

    fn port_steps(&self) -> usize {
        self.ready(self.root)
    }
}
