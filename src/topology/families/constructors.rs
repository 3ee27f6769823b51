//! The families as constructors of topologies.

use super::family::assert_some;
use super::fibonacci::Fibonacci;
use super::in_order::InOrder;
use super::k_ary::KAry;
use super::k_tree::KTree;
use super::ring::{DecreasingRing, Ring};
use super::shape::Shape;
use super::star::{Flat, FlatSerial};
use crate::topology::Topology;

impl Topology {
    /// The chain: each rank sends to the one below it, starting with the highest.
    ///
    /// ```text
    /// 7 ─0▶ 6 ─1▶ 5 ─2▶ 4 ─3▶ 3 ─4▶ 2 ─5▶ 1 ─6▶ 0        (the number on an arrow is its step)
    /// ```
    ///
    /// # Cost
    ///
    /// `n - 1` steps, in the single-port form too; in rank order.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::chain(8).successor(5), Some((2, 4)));
    /// ```
    ///
    /// # Source
    ///
    /// The 1-ring of Xiong 1999, section 4.1, and the increasing ring of Dongarra and Whaley, *A User's Guide to
    /// the BLACS*, LAPACK Working Note 94.
    #[doc(alias = "1-ring")]
    #[doc(alias = "increasing-ring")]
    #[doc(alias = "linear-pipeline")]
    #[track_caller]
    pub fn chain(n: usize) -> Topology {
        Topology::new(n, Shape::Chain(Ring::new(n, 1)))
    }

    /// The decreasing ring: each rank sends to the one above it, and the highest sends to the root.
    ///
    /// ```text
    /// 1 ─0▶ 2 ─1▶ 3 ─2▶ 4 ─3▶ 5 ─4▶ 6 ─5▶ 7 ─6▶ 0
    /// ```
    ///
    /// # Cost
    ///
    /// `n - 1` steps, in the single-port form too; in rank order.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::decreasing_ring(8).successor(7), Some((6, 0)));
    /// ```
    ///
    /// # Source
    ///
    /// Dongarra and Whaley, *A User's Guide to the BLACS*, LAPACK Working Note 94.
    #[track_caller]
    pub fn decreasing_ring(n: usize) -> Topology {
        Topology::new(n, Shape::DecreasingRing(DecreasingRing::new(n)))
    }

    /// The split ring: two chains of half the length, which the root takes one after the other.
    ///
    /// ```text
    /// 4 ─0▶ 3 ─1▶ 2 ─2▶ 1 ─3▶ 0
    ///       7 ─0▶ 6 ─1▶ 5 ─2▶ 0
    /// ```
    ///
    /// # Cost
    ///
    /// ⌈(n-1)/2⌉ steps, ⌈n/2⌉ in the single-port form; in rank order.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let ring = Topology::split_ring(8);
    /// assert_eq!(ring.successor(1), Some((3, 0)));
    /// assert_eq!(ring.successor(5), Some((2, 0)));
    /// ```
    ///
    /// # Source
    ///
    /// Dongarra and Whaley, *A User's Guide to the BLACS*, LAPACK Working Note 94.
    #[track_caller]
    pub fn split_ring(n: usize) -> Topology {
        Topology::new(n, Shape::SplitRing(Ring::new(n, 2)))
    }

    /// The k-ring: ranks `1..n` in `k` rows of neighbours, the longer ones first, each of them a chain.
    ///
    /// ```text
    /// k = 3    3 ─0▶ 2 ─1▶ 1 ─2▶ 0
    ///                5 ─0▶ 4 ─1▶ 0
    ///                7 ─0▶ 6 ─1▶ 0
    /// ```
    ///
    /// There are at most `n - 1` rows: a larger `k` counts as `n - 1`.
    ///
    /// # Cost
    ///
    /// ⌈(n-1)/k⌉ steps; ⌈(n-1)/k⌉ + k - 1 in the single-port form, one less if k does not divide n - 1; in rank order.
    ///
    /// # Panics
    ///
    /// If `n` or `k` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let ring = Topology::k_ring(8, 3);
    /// assert_eq!(ring.predecessors(0).map(|t| t.from).collect::<Vec<_>>(), [4, 6, 1]);
    /// assert_eq!(Topology::k_ring(8, 100), Topology::flat(8));
    /// ```
    ///
    /// # Source
    ///
    /// The multi-ring of Dongarra and Whaley, *A User's Guide to the BLACS*, LAPACK Working Note 94.
    #[doc(alias = "2-ring")]
    #[doc(alias = "multi-ring")]
    #[track_caller]
    pub fn k_ring(n: usize, k: usize) -> Topology {
        Topology::new(n, Shape::KRing(Ring::new(n, k)))
    }

    /// The k-tree: rank `b^(t+1) i + s b^t` sends to `b^(t+1) i` in step t, for `1 ≤ s ≤ k`, b = k + 1.
    ///
    /// ```text
    /// k = 2    step 0    1,2──▶0    4,5──▶3    7──▶6
    ///          step 1    3,6──▶0
    /// ```
    ///
    /// With k ≥ `n - 1` it is flat: a larger `k` counts as `n - 1`.
    ///
    /// # Cost
    ///
    /// With u the least number such that `b^u ≥ n`: u steps, `k (u-1) + ⌈n / b^(u-1)⌉ - 1` in the single-port form; in
    /// rank order.
    ///
    /// # Panics
    ///
    /// If `n` or `k` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let tree = Topology::k_tree(8, 2);
    /// assert_eq!(tree.successor(5), Some((0, 3)));
    /// assert_eq!(tree.successor(6), Some((1, 0)));
    /// ```
    ///
    /// # Source
    ///
    /// The 2-tree of Xiong 1999, section 4.2, and 2015, example 1, generalized to any k. The third case of the 1999
    /// text's closed form, which only the root falls into, lists the predecessors of its last step alone; here the root
    /// has those of all steps.
    #[doc(alias = "2-tree")]
    #[track_caller]
    pub fn k_tree(n: usize, k: usize) -> Topology {
        Topology::new(n, Shape::KTree(KTree::new(n, k)))
    }

    /// The binomial tree, the k-tree with k = 1: each rank sends across its lowest set bit.
    ///
    /// ```text
    /// step 0    1──▶0   3──▶2   5──▶4   7──▶6
    /// step 1    2──────▶0       6──────▶4
    /// step 2    4──────────────▶0
    /// ```
    ///
    /// # Cost
    ///
    /// ⌈log₂ n⌉ steps, in the single-port form too; in rank order.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::binomial(8).successor(4), Some((2, 0)));
    /// ```
    ///
    /// # Source
    ///
    /// P. Sanders, lecture notes on parallel algorithms (KIT), where the tree is used for broadcast.
    #[doc(alias = "binomial-tree")]
    #[track_caller]
    pub fn binomial(n: usize) -> Topology {
        Topology::k_tree(n, 1)
    }

    /// The flat tree: all other ranks send to the root in step 0.
    ///
    /// ```text
    /// step 0    1,2,3,4,5,6,7──▶0
    /// ```
    ///
    /// # Cost
    ///
    /// 1 step, `n - 1` in the single-port form; in rank order, whatever the root.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::flat(8).predecessors(0).count(), 7);
    /// assert_eq!(Topology::flat(8).single_port().steps(), 7);
    /// ```
    ///
    /// # Source
    ///
    /// The fully connected topology of Dongarra and Whaley, *A User's Guide to the BLACS*, LAPACK
    /// Working Note 94.
    #[doc(alias = "star")]
    #[track_caller]
    pub fn flat(n: usize) -> Topology {
        Topology::new(n, Shape::Flat(Flat::new(n)))
    }

    /// The flat tree with one message per step: rank p sends to the root in step p - 1.
    ///
    /// ```text
    /// 1 ─0▶ 0    2 ─1▶ 0    3 ─2▶ 0    4 ─3▶ 0    5 ─4▶ 0    6 ─5▶ 0    7 ─6▶ 0
    /// ```
    ///
    /// # Cost
    ///
    /// `n - 1` steps, in the single-port form too; in rank order, whatever the root.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::flat_serial(8).successor(5), Some((4, 0)));
    /// ```
    ///
    /// # Source
    ///
    /// The flat tree above, in a form in which Xiong's strict definition fixes the order in which the root receives.
    #[track_caller]
    pub fn flat_serial(n: usize) -> Topology {
        Topology::new(n, Shape::FlatSerial(FlatSerial::new(n)))
    }

    /// The complete k-ary tree: rank v sends to `⌊(v-1)/k⌋`, the deepest level first.
    ///
    /// ```text
    /// k = 2    step 0    7──▶3
    ///          step 1    3,4──▶1    5,6──▶2
    ///          step 2    1,2──▶0
    /// ```
    ///
    /// With k ≥ `n - 1` it is flat: a larger `k` counts as `n - 1`. With k = 1 it is the chain.
    ///
    /// # Cost
    ///
    /// ⌊log_k of (n-1)(k-1)+1⌋ steps for k ≥ 2, the number of levels below the root; not in rank order, unless it is
    /// the chain or flat.
    ///
    /// # Panics
    ///
    /// If `n` or `k` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::k_ary(8, 2).successor(7), Some((0, 3)));
    /// assert_eq!(Topology::k_ary(8, 1), Topology::chain(8));
    /// ```
    ///
    /// # Source
    ///
    /// The heap's numbering of a complete tree: Knuth, *The Art of Computer Programming* 1, 2.3.4.5.
    #[doc(alias = "binary-tree")]
    #[track_caller]
    pub fn k_ary(n: usize, k: usize) -> Topology {
        Topology::new(n, Shape::KAry(KAry::new(n, k)))
    }

    /// The binary in-order tree on ranks `1..n`, with rank 0 above its top.
    ///
    /// ```text
    ///        0
    ///        │
    ///        4           step 0    7──▶6
    ///    ┌───┴───┐       step 1    3──▶2    5──▶6
    ///    2       6       step 2    1──▶2    6──▶4
    ///  ┌─┴─┐   ┌─┴─┐     step 3    2──▶4
    ///  1   3   5   7     step 4    4──▶0
    /// ```
    ///
    /// Its steps are those of a broadcast that serves the left child first, run backwards.
    ///
    /// # Cost
    ///
    /// ⌊log₂ n⌋ + ⌊log₂ (n-1)⌋ steps for n ≥ 2, in the single-port form too; in rank order. At most two messages enter
    /// a rank, so segments can follow each other every two steps.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let tree = Topology::in_order(8);
    /// assert_eq!(tree.predecessors(4).map(|t| t.from).collect::<Vec<_>>(), [6, 2]);
    /// assert_eq!(tree.successor(4), Some((4, 0)));
    /// ```
    ///
    /// # Source
    ///
    /// Sanders, Speck and Träff, *Two-tree algorithms for full bandwidth broadcast, reduction and
    /// scan*, Parallel Computing 35, 2009, where one of the two trees is this one.
    #[track_caller]
    pub fn in_order(n: usize) -> Topology {
        assert_some(n);
        Topology::new(n, Shape::InOrder(InOrder::to(n - 1)))
    }

    /// The Fibonacci tree: the smallest that holds `n` ranks, cut to `n`.
    ///
    /// ```text
    /// order 5    0 ┬─ 1 ┬─ 2               7 ─0▶ 6    2 ─0▶ 1    4 ─0▶ 3
    ///              │    └─ 3 ── 4          3 ─1▶ 1    6 ─1▶ 5
    ///              └─ 5 ── 6 ── 7          1 ─2▶ 0    5 ─3▶ 0
    /// ```
    ///
    /// Its steps are those of a broadcast that serves the larger child (drawn lower) first, run backwards; a child that
    /// is cut away takes no step.
    ///
    /// # Cost
    ///
    /// `order - 1` steps, about log n to the base 1.618, in the single-port form too. It is in rank order, and a rank
    /// folds what arrives from left to right.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let tree = Topology::fibonacci(8);
    /// assert_eq!(tree.predecessors(0).map(|t| t.from).collect::<Vec<_>>(), [1, 5]);
    /// assert_eq!(tree.steps(), 4);
    /// ```
    ///
    /// # Source
    ///
    /// Bruck, Cypher and Ho, *Multiple message broadcasting with generalized Fibonacci trees*,
    /// SPDP 1992.
    #[track_caller]
    pub fn fibonacci(n: usize) -> Topology {
        Topology::new(n, Shape::Fibonacci(Fibonacci::new(n)))
    }
}
