//! Logical topologies: sets of triples `<p, t, q>`, "in step t, rank p sends to rank q".
//!
//! A [`Topology`] is such a set, validated to be a rooted in-tree: every rank except the root has exactly one
//! successor, steps rise along every path, and every path ends at the root. A fold along it delivers every rank's
//! contribution to the root exactly once; run backwards, it broadcasts.
//!
//! A topology is made in one of three ways: from a named family ([`Topology::k_tree`], [`Topology::chain`], ...), which
//! is arithmetic and holds no list of ranks; from plain triples ([`Topology::from_triples`], [`Topology::from_text`]);
//! or from the formal definition, a partition with a weighted tree and association maps ([`Formal`]). The last two
//! validate their input, and a [`TopologyError`] names the culprit.
//!
//! The files:
//! - `families`: the closed forms, and the small trait that they share with the table;
//! - `table`: the custom form, and the validation of triples;
//! - `formal`: partition, tree and association maps; `node_tree`: back from triples to these, and written; `strict`: the six properties of 1999;
//! - `predecessors`, `single_port`: the two ways to ask which triples enter a rank;
//! - `own_steps`: a topology as a pattern without moving its steps;
//! - `any_root`: trees whose subtrees are contiguous ranges of ranks, whatever the root;
//! - `levels`: nested groups of ranks that mirror the machine; `hierarchy`: the tree that follows them;
//! - `pattern`: any triples with one port each way; [`cube`]: patterns that are not trees;
//! - `packets`: broadcasts whose packets take different routes: down `two_trees`, along the trees of `esbt`, around a
//!   `circulant` graph;
//! - `text`, `json`, `names`, `dot`: reading and writing; `written`: finds the entry that caused an error; `error`: the
//!   error type.
//!
//! # Examples
//!
//! ```
//! use rankfold::topology::Topology;
//!
//! let tree = Topology::k_tree(8, 2);
//! assert_eq!(tree.successor(7), Some((0, 6))); // <7,0,6>: in step 0, rank 7 sends to rank 6
//! let into_root: Vec<_> = tree.predecessors(0).map(|t| t.to_string()).collect();
//! assert_eq!(into_root, ["<1,0,0>", "<2,0,0>", "<3,1,0>", "<6,1,0>"]);
//! ```
//!
//! # Source
//!
//! Xiong Yuqing, *Towards Unified Description for Reduction Algorithms*, Computer Science 42(11),
//! 2015 (the general form), and the same author's report of 1999 (the strict form).

use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use crate::Rank;

mod any_root;
mod circulant;
pub mod cube;
mod dot;
mod error;
mod esbt;
mod families;
mod formal;
mod hierarchy;
#[cfg(feature = "json")]
mod json;
mod levels;
mod names;
mod node_tree;
mod own_steps;
mod packets;
mod pattern;
mod predecessors;
mod proof;
mod single_port;
mod strict;
mod table;
mod text;
mod two_trees;
mod written;

pub use any_root::{BinomialTo, CubeTo, StarTo, Subtrees};
pub use circulant::Circulant;
pub use cube::{Circle, Hypercube, Line, Shift};
pub use error::TopologyError;
pub use esbt::Esbt;
pub use formal::Formal;
pub use hierarchy::Hierarchy;
pub use levels::Levels;
pub use names::TreeName;
pub use node_tree::NodeEdge;
pub use own_steps::OwnSteps;
pub use packets::{Hop, Packets};
pub use pattern::Pattern;
pub(crate) use pattern::last_before;
pub use predecessors::Predecessors;
pub use single_port::SinglePort;
pub use two_trees::TwoTrees;

use families::{Family, Shape};

/// One message of a topology, `<p, t, q>`: in step `t`, rank `p` sends to rank `q`.
///
/// # Examples
///
/// ```
/// use rankfold::topology::Triple;
///
/// assert_eq!(Triple { from: 1, step: 0, to: 0 }.to_string(), "<1,0,0>");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Triple {
    /// The rank that sends.
    pub from: Rank,
    /// The time step, counted from 0.
    pub step: usize,
    /// The rank that receives.
    pub to: Rank,
}

impl fmt::Display for Triple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{},{},{}>", self.from, self.step, self.to)
    }
}

/// A validated rooted in-tree of ranks: who sends to whom, and in which step.
///
/// The following holds for every value of this type, however it was made:
/// - every rank except the root has exactly one successor, and the root has none;
/// - from every rank exactly one path leads to the root, and steps rise strictly along it;
/// - some rank sends in step 0, unless there is only one rank: then no rank sends.
///
/// Several ranks may send to one rank in the same step; the [single-port form](Self::single_port) serializes them.
/// Cloning copies a few words: families are closed forms, and the table of a custom topology is shared.
///
/// Two topologies are equal if they have the same ranks and the same triples, whatever their names. The comparison
/// visits every rank.
#[derive(Clone)]
pub struct Topology {
    ranks: usize,
    /// Rank `v` of the shape is rank `(v + shift) mod ranks` of the topology.
    shift: usize,
    shape: Shape,
}

impl Topology {
    fn new(ranks: usize, shape: Shape) -> Topology {
        Topology {
            ranks,
            shift: 0,
            shape,
        }
    }

    /// The number of ranks, at least 1.
    #[inline]
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The rank at which every path ends.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::chain(8).root(), 0);
    /// assert_eq!(Topology::chain(8).rooted(3).root(), 3);
    /// ```
    pub fn root(&self) -> Rank {
        self.outer(self.family().root())
    }

    /// The number of steps: the largest step plus one, or 0 for a single rank.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::binomial(8).steps(), 3);
    /// assert_eq!(Topology::binomial(1).steps(), 0);
    /// ```
    #[inline]
    pub fn steps(&self) -> usize {
        self.family().steps()
    }

    /// The step in which rank `p` sends and the rank it sends to; `None` for the root.
    ///
    /// # Panics
    ///
    /// If `p` is not a rank.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let tree = Topology::binomial(8);
    /// assert_eq!(tree.successor(6), Some((1, 4)));
    /// assert_eq!(tree.successor(0), None);
    /// ```
    #[inline]
    pub fn successor(&self, p: Rank) -> Option<(usize, Rank)> {
        let v = self.inner(p);
        if v == self.family().root() {
            return None;
        }
        let (step, to) = self.family().successor(v);
        Some((step, self.outer(to)))
    }

    /// The triples that enter rank `q`, ordered by step and then by sender.
    ///
    /// # Panics
    ///
    /// If `q` is not a rank.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let senders: Vec<_> = Topology::binomial(8).predecessors(4).map(|t| t.from).collect();
    /// assert_eq!(senders, [5, 6]);
    /// ```
    pub fn predecessors(&self, q: Rank) -> Predecessors<'_> {
        Predecessors::new(self, self.inner(q), 0)
    }

    /// The first triple that enters rank `q` in step `least` or later.
    #[inline]
    fn arrival(&self, q: Rank, least: usize) -> Option<Triple> {
        Predecessors::new(self, self.inner(q), least).first()
    }

    /// The number of triples that enter rank `q`, without visiting each.
    ///
    /// # Panics
    ///
    /// If `q` is not a rank.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::flat(1 << 20).predecessor_count(0), (1 << 20) - 1);
    /// ```
    pub fn predecessor_count(&self, q: Rank) -> usize {
        self.family().predecessor_count(self.inner(q))
    }

    /// The least step after `after` in which a message enters rank `q`; with `None`, the first such step.
    ///
    /// # Panics
    ///
    /// If `q` is not a rank.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let tree = Topology::binomial(8);
    /// assert_eq!(tree.next_step(4, None), Some(0));
    /// assert_eq!(tree.next_step(4, Some(0)), Some(1));
    /// assert_eq!(tree.next_step(4, Some(1)), None);
    /// ```
    #[inline]
    pub fn next_step(&self, q: Rank, after: Option<usize>) -> Option<usize> {
        let q = self.inner(q);
        let least = least_after(after)?;
        self.family().arrivals(q, least).map(|run| run.step)
    }

    /// All triples, ordered by sender: one for every rank except the root.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let all: Vec<_> = Topology::chain(3).triples().map(|t| t.to_string()).collect();
    /// assert_eq!(all, ["<1,1,0>", "<2,0,1>"]);
    /// ```
    pub fn triples(&self) -> impl Iterator<Item = Triple> + '_ {
        (0..self.ranks).filter_map(|from| self.triple_of(from))
    }

    fn triple_of(&self, from: Rank) -> Option<Triple> {
        self.successor(from)
            .map(|(step, to)| Triple { from, step, to })
    }

    /// Whether every subtree is an interval of ranks.
    ///
    /// A rank can then fold its operands with adjacent ones only, the lower on the left, so an operator that does not
    /// commute is safe.
    ///
    /// # Cost
    ///
    /// A few operations, for families and tables alike, also after [`rooted`](Self::rooted).
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert!(Topology::binomial(8).is_in_rank_order());
    /// assert!(!Topology::k_ary(8, 2).is_in_rank_order()); // rank 1 gathers 1, 3, 4 and 7
    /// assert!(!Topology::binomial(8).rooted(3).is_in_rank_order()); // rank 7 gathers 7, 0, 1 and 2
    /// ```
    pub fn is_in_rank_order(&self) -> bool {
        self.family()
            .in_order_from((self.ranks - self.shift) % self.ranks)
    }

    /// The same tree, rotated so that rank `r` is its root.
    ///
    /// Rank `p` takes the part of rank `(p - r + root) mod ranks`. Nothing is copied. Rotation usually breaks rank
    /// order, so the result suits operators that commute.
    ///
    /// # Panics
    ///
    /// If `r` is not a rank.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let tree = Topology::chain(4).rooted(2);
    /// assert_eq!(tree.successor(0), Some((1, 3)));
    /// assert_eq!(tree.rooted(0), Topology::chain(4));
    /// ```
    #[track_caller]
    pub fn rooted(&self, r: Rank) -> Topology {
        self.assert_rank(r);
        let old = self.family().root();
        let shift = if r >= old {
            r - old
        } else {
            r + (self.ranks - old)
        };
        Topology {
            shift,
            ..self.clone()
        }
    }

    /// A hash that tells calls on different topologies apart. It is the same on every rank. Two topologies with the
    /// same triples, made in different ways, may have different hashes.
    pub(crate) fn fingerprint(&self) -> u64 {
        let parts = (self.ranks, self.shift, &self.shape);
        BuildHasherDefault::<DefaultHasher>::default().hash_one(parts)
    }

    #[inline]
    fn family(&self) -> &dyn Family {
        self.shape.family()
    }

    /// The number of rank `p` in the shape.
    #[inline]
    fn inner(&self, p: Rank) -> Rank {
        self.assert_rank(p);
        if p >= self.shift {
            p - self.shift
        } else {
            p + (self.ranks - self.shift)
        }
    }

    /// The rank whose number in the shape is `v`.
    #[inline]
    fn outer(&self, v: Rank) -> Rank {
        let before_wrap = self.ranks - self.shift;
        if v < before_wrap {
            v + self.shift
        } else {
            v - before_wrap
        }
    }

    #[inline]
    #[track_caller]
    fn assert_rank(&self, p: Rank) {
        assert!(
            p < self.ranks,
            "rank {p} of a topology with {} ranks",
            self.ranks
        );
    }
}

/// The least step after `after`, if there is one.
#[inline]
pub(crate) fn least_after(after: Option<usize>) -> Option<usize> {
    after.map_or(Some(0), |step| step.checked_add(1))
}

impl PartialEq for Topology {
    fn eq(&self, other: &Topology) -> bool {
        self.ranks == other.ranks && self.triples().eq(other.triples())
    }
}

impl Eq for Topology {}

impl fmt::Debug for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Topology")
            .field("name", &self.name())
            .field("ranks", &self.ranks())
            .field("root", &self.root())
            .finish()
    }
}
