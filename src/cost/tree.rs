//! Whole messages along a tree, in its single-port form.

use super::{Cost, Form, Load, TreeUse};
use crate::Rank;
use crate::topology::Topology;

/// Whole vectors of `length` elements along any topology, with one port each way.
///
/// # Cost
///
/// With `s` the number of [port steps](Topology::port_steps) of the tree: `s (α + N β)` for a broadcast,
/// `s (α + N (β + γ))` for a reduce. For binomial trees `s` is `⌈log₂ P⌉`.
///
/// # Examples
///
/// ```
/// use rankfold::cost::{TreeUse, whole};
/// use rankfold::topology::Topology;
///
/// let tree = Topology::k_tree(13, 2);
/// assert_eq!(whole(&tree, 100, TreeUse::AllReduce).cost().steps, 2 * 5);
/// let root = whole(&tree, 100, TreeUse::Reduce).load(0);
/// assert_eq!((root.messages_in, root.folded), (5, 500)); // from 1, 2, 3, 6 and 9
/// ```
///
/// # Source
///
/// The topologies are those of Xiong, *Towards Unified Description for Reduction Algorithms*, 2015, which has no costs:
/// these are counted from the single-port form.
pub fn whole(tree: &Topology, length: usize, tree_use: TreeUse) -> Form {
    let cost = Cost::moving(tree.port_steps(), length as f64);
    broadcast(tree, cost, 1, length).put_to(tree_use)
}

/// A broadcast of `length` elements in `messages` messages, each of which a rank receives once and forwards to all of
/// its children.
pub(super) fn broadcast(tree: &Topology, cost: Cost, messages: usize, length: usize) -> Form {
    let tree = tree.clone();
    Form::new(tree.ranks(), cost, move |rank| {
        let children = tree.predecessor_count(rank);
        let of = |times: usize| (times.saturating_mul(messages), times.saturating_mul(length));
        Load::moving(of(children), of(usize::from(rank != tree.root())))
    })
}

/// One-to-all across the dimensions of a hypercube, the highest first, for any number of ranks.
///
/// The source takes the number 0. The others take theirs by `xor` with the source, or, if P is not a power of two, by
/// counting cyclically from it. This is the binomial tree with relabelled ranks.
///
/// # Cost
///
/// `⌈log₂ P⌉ (α + N β)`.
///
/// # Panics
///
/// If `source` is not a rank.
///
/// # Source
///
/// Grama, Gupta, Karypis and Kumar, *Introduction to Parallel Computing*, 4.1.
#[track_caller]
pub fn hypercube_broadcast(ranks: usize, length: usize, source: Rank) -> Form {
    assert!(source < ranks, "source {source} of {ranks} ranks");
    let binomial = whole(&Topology::binomial(ranks), length, TreeUse::Broadcast);
    if !ranks.is_power_of_two() {
        return binomial.rooted(source);
    }
    Form::new(ranks, binomial.cost(), move |rank| {
        binomial.load(rank ^ source)
    })
}
