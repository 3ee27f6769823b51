//! The families: named topologies in closed form, for every number of ranks, with root 0.
//!
//! - `ring`: chain, decreasing ring, split ring, k-ring;
//! - `k_tree`: the radix trees, including the binomial tree;
//! - `star`: flat and flat serial;
//! - `k_ary`: the complete k-ary tree in breadth-first order;
//! - `in_order`: the binary tree whose subtrees are intervals;
//! - `fibonacci`: the tree that grows fastest with two messages in flight.
//!
//! Each is a struct of a few numbers behind one small trait, [`Family`]; every query of a topology is built on that
//! trait. The table of a custom topology is one more family.

use std::sync::Arc;

use super::TreeName;
use super::table::Table;
use crate::Rank;

mod fibonacci;
mod in_order;
mod k_ary;
mod k_tree;
mod ring;
mod star;

use fibonacci::Fibonacci;
pub(super) use in_order::InOrder;
use k_ary::KAry;
use k_tree::KTree;
use ring::{DecreasingRing, Ring};
use star::{Flat, FlatSerial};

/// Ranks that all send to one rank in one step, in ascending order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) step: usize,
    /// At least 1.
    pub(super) count: usize,
    /// The first sender (in a table: its place in the list of senders).
    pub(super) first: usize,
    /// The distance from one sender to the next.
    pub(super) stride: usize,
}

impl Run {
    fn one(step: usize, from: Rank) -> Run {
        Run {
            step,
            count: 1,
            first: from,
            stride: 1,
        }
    }
}

/// The queries that a shape answers; the rest of [`Topology`](super::Topology) follows from them.
///
/// The trait stays small because the arrivals of a step form a [`Run`]: predecessors, next step, counts and the
/// single-port form are all walks over runs, and a rank has few runs.
///
/// # Laws
///
/// - `successor(p) == (t, q)` iff some run of `arrivals(q, t)` at step `t` has `p` as a member;
/// - `arrivals(q, least)` is the run of the least step that is not below `least`;
/// - among the runs of one rank, in order of step and place, port steps rise.
pub(super) trait Family {
    fn root(&self) -> Rank {
        0
    }

    /// The largest step plus one, or 0.
    fn steps(&self) -> usize;

    /// The step in which `p`, which is not the root, sends, and the rank it sends to.
    fn successor(&self, p: Rank) -> (usize, Rank);

    /// The triples that enter `q` in the first step, not before `least`, that has any.
    fn arrivals(&self, q: Rank, least: usize) -> Option<Run>;

    /// The sender at index `i` of a run that this family returned.
    fn member(&self, run: Run, i: usize) -> Rank {
        run.first + i * run.stride
    }

    fn predecessor_count(&self, q: Rank) -> usize {
        let next = |run: &Run| self.arrivals(q, run.step + 1);
        std::iter::successors(self.arrivals(q, 0), next)
            .map(|run| run.count)
            .sum()
    }

    /// Whether every subtree is an interval when ranks are counted cyclically from `c`.
    ///
    /// Counting from `c` cuts a subtree without the root in two iff it contains both `c` and the rank before it; two
    /// ranks share such a subtree iff they lie under the same child of the root.
    fn in_order_from(&self, c: Rank) -> bool;

    /// The step in which `p`, which is not the root, sends in the single-port form.
    fn port_step(&self, p: Rank) -> usize;

    /// The number of steps of the single-port form.
    fn port_steps(&self) -> usize;

    /// The first step, not before `least`, in which `q` receives in the single-port form, and the sender.
    ///
    /// This default requires that the ranks of one run are taken back to back.
    fn port_arrival(&self, q: Rank, least: usize) -> Option<(usize, Rank)> {
        let mut run = self.arrivals(q, 0)?;
        loop {
            let first = self.port_step(self.member(run, 0));
            if least < first + run.count {
                let step = least.max(first);
                return Some((step, self.member(run, step - first)));
            }
            run = self.arrivals(q, run.step + 1)?;
        }
    }
}

/// Every form that a topology can take.
#[derive(Clone, Hash)]
pub(super) enum Shape {
    Chain(Ring),
    DecreasingRing(DecreasingRing),
    SplitRing(Ring),
    KRing(Ring),
    KTree(KTree),
    Flat(Flat),
    FlatSerial(FlatSerial),
    KAry(KAry),
    InOrder(InOrder),
    Fibonacci(Fibonacci),
    Custom(Arc<Table>),
}

impl Shape {
    #[inline]
    pub(super) fn family(&self) -> &dyn Family {
        match self {
            Shape::Chain(f) | Shape::SplitRing(f) | Shape::KRing(f) => f,
            Shape::DecreasingRing(f) => f,
            Shape::KTree(f) => f,
            Shape::Flat(f) => f,
            Shape::FlatSerial(f) => f,
            Shape::KAry(f) => f,
            Shape::InOrder(f) => f,
            Shape::Fibonacci(f) => f,
            Shape::Custom(f) => &**f,
        }
    }

    /// The family's name; `None` for a table.
    pub(super) fn name(&self) -> Option<TreeName> {
        Some(match self {
            Shape::Chain(_) => TreeName::Chain,
            Shape::DecreasingRing(_) => TreeName::DecreasingRing,
            Shape::SplitRing(_) => TreeName::SplitRing,
            Shape::KRing(f) => TreeName::KRing(f.k()),
            Shape::KTree(f) => TreeName::KTree(f.k()),
            Shape::Flat(_) => TreeName::Flat,
            Shape::FlatSerial(_) => TreeName::FlatSerial,
            Shape::KAry(f) => TreeName::KAry(f.k()),
            Shape::InOrder(_) => TreeName::InOrder,
            Shape::Fibonacci(_) => TreeName::Fibonacci,
            Shape::Custom(_) => return None,
        })
    }
}

/// The first of at most two arrivals, given in ascending order of steps, that is not before `least`.
fn first_of_two(arrivals: [Option<(usize, Rank)>; 2], least: usize) -> Option<Run> {
    let found = arrivals
        .into_iter()
        .flatten()
        .find(|&(step, _)| step >= least);
    found.map(|(step, from)| Run::one(step, from))
}

/// The width `k` of a family on `n` ranks, capped at the largest useful value.
#[track_caller]
fn width(n: usize, k: usize) -> usize {
    assert_some(n);
    assert!(k > 0, "a topology of width k = {k} on {n} ranks");
    k.min(n - 1).max(1)
}

#[track_caller]
fn assert_some(n: usize) {
    assert!(n > 0, "a topology of {n} ranks");
}
