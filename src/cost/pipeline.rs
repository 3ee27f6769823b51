//! Pipelines of segments, and the best number of segments.

use super::{Cost, Form, Model, TreeUse, assert_some, ceil_log2, tree};
use crate::topology::Topology;

/// The duration of a pipeline: the first of k segments takes `first` steps, each later one `period` more.
///
/// # Examples
///
/// ```
/// use rankfold::cost::{Model, Pipeline, TreeUse};
///
/// let chain = Pipeline::chain(8);
/// assert_eq!((chain.steps(1), chain.steps(4)), (7, 10));
/// let model = Model { alpha: 6.0, beta: 1.0, gamma: 0.0 };
/// assert_eq!(chain.best_segments(100, TreeUse::Broadcast, &model), 10); // √(100 · 6 · 1/6)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pipeline {
    /// The number of steps until the first segment has reached every rank; 0 for a single rank.
    pub first: usize,
    /// The number of steps between consecutive segments.
    pub period: usize,
}

impl Pipeline {
    /// Segments along a tree in [its own steps](crate::topology::OwnSteps), one every `period` steps.
    pub fn along(tree: &Topology, period: usize) -> Pipeline {
        Pipeline {
            first: tree.steps(),
            period,
        }
    }

    /// The pipeline along a chain: `P + k - 2` steps.
    ///
    /// # Panics
    ///
    /// If there are no ranks; so do the constructors below.
    #[track_caller]
    pub fn chain(ranks: usize) -> Pipeline {
        Pipeline::along(&Topology::chain(ranks), 1)
    }

    /// The pipeline along the in-order tree: `⌊log₂ P⌋ + ⌊log₂ (P-1)⌋ + 2k - 2` steps.
    #[track_caller]
    pub fn in_order(ranks: usize) -> Pipeline {
        Pipeline::along(&Topology::in_order(ranks), 2)
    }

    /// The pipeline along the Fibonacci tree: `order - 1 + 2k - 2` steps.
    #[track_caller]
    pub fn fibonacci(ranks: usize) -> Pipeline {
        Pipeline::along(&Topology::fibonacci(ranks), 2)
    }

    /// The pipeline along two trees at once: `2 ⌈log₂ P⌉ + k - 2` steps, or one less.
    #[track_caller]
    pub fn two_tree(ranks: usize) -> Pipeline {
        assert_some(ranks);
        Pipeline {
            first: (2 * ceil_log2(ranks)).saturating_sub(1),
            period: 1,
        }
    }

    /// The pipeline along d edge-disjoint trees among `2^d` ranks: `k + d` steps, `k` for two ranks.
    pub fn esbt(dimensions: u32) -> Pipeline {
        let d = dimensions as usize;
        Pipeline {
            first: d + usize::from(d > 1),
            period: 1,
        }
    }

    /// The number of steps for `segments` segments.
    pub fn steps(&self, segments: usize) -> usize {
        match self.first {
            0 => 0,
            first => first.saturating_add(segments.saturating_sub(1).saturating_mul(self.period)),
        }
    }

    /// The number of steps with messages for `segments` segments: all steps, unless a segment arrives everywhere before
    /// the next one may start.
    fn message_steps(&self, segments: usize) -> usize {
        let period = self.period.min(self.first);
        Pipeline { period, ..*self }.steps(segments)
    }

    /// The cost of a broadcast of `length` elements along the critical path.
    pub(super) fn cost(&self, length: usize, segments: usize) -> Cost {
        let segment = length as f64 / segments as f64;
        Cost {
            steps: self.steps(segments),
            ..Cost::moving(self.message_steps(segments), segment)
        }
    }

    /// The number of segments with the shortest time, from 1 to the number of elements.
    ///
    /// `√(N (D - π) β / (π α))` rounded down or up, whichever is faster, with `D` steps for the first segment and the
    /// period `π`. For a reduce, `β + γ` replaces `β`; for an all-reduce, the mean of both does.
    pub fn best_segments(&self, length: usize, tree_use: TreeUse, model: &Model) -> usize {
        let Model { alpha, beta, gamma } = *model;
        let share = match tree_use {
            TreeUse::Broadcast => 0.0,
            TreeUse::Reduce => 1.0,
            TreeUse::AllReduce => 0.5,
        };
        // Steps without messages take no time.
        let (first, period) = (self.first as f64, self.period.min(self.first) as f64);
        let element = beta + share * gamma;
        let best = (length as f64 * (first - period) * element / (period * alpha)).sqrt();
        let time = |segments: usize| {
            let cost = self.cost(length, segments);
            cost.time(&Model {
                beta: element,
                ..*model
            })
        };
        let within = |k: f64| (k as usize).clamp(1, length.max(1));
        let (floor, ceiling) = (within(best.floor()), within(best.ceil()));
        if time(ceiling) < time(floor) {
            ceiling
        } else {
            floor
        }
    }
}

/// Vectors of `length` elements in segments along a tree in its own steps, one segment every `period` steps.
///
/// The number of segments is at least 1 and at most the number of elements, so that none is empty.
///
/// # Cost
///
/// [`Pipeline::steps`] steps of `α + (N/k) β` each. Every step of the tree is assumed to have messages, which holds for
/// the families.
///
/// # Panics
///
/// If `period` is 0.
///
/// # Examples
///
/// ```
/// use rankfold::cost::{TreeUse, in_segments};
/// use rankfold::topology::Topology;
///
/// let form = in_segments(&Topology::in_order(8), 2, 100, 4, TreeUse::Broadcast);
/// assert_eq!((form.cost().steps, form.cost().moved), (11, 11.0 * 25.0));
/// assert_eq!(form.load(4).messages_out, 4 * 2);
/// ```
///
/// # Source
///
/// Sanders, Speck and Träff, *Two-tree algorithms for full bandwidth broadcast, reduction and scan*,
/// Parallel Computing 35, 2009, section 2.
#[track_caller]
pub fn in_segments(
    tree: &Topology,
    period: usize,
    length: usize,
    segments: usize,
    tree_use: TreeUse,
) -> Form {
    assert!(period > 0, "segments that all start at once");
    let segments = clamped(segments, length);
    let cost = Pipeline::along(tree, period).cost(length, segments);
    tree::broadcast(tree, cost, segments, length).put_to(tree_use)
}

/// The number of segments, at least 1 and at most the number of elements.
pub(super) fn clamped(segments: usize, length: usize) -> usize {
    segments.clamp(1, length.max(1))
}
