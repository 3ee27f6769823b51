//! Segments that follow each other, and how many of them are best.

use super::{Cost, Form, Model, Way, assert_some, ceil_log2, tree};
use crate::topology::Topology;

/// How long a pipeline takes: the first of k segments `first` steps, each later one `period` more.
///
/// # Examples
///
/// ```
/// use rankfold::cost::{Model, Pipeline, Way};
///
/// let chain = Pipeline::chain(8);
/// assert_eq!((chain.steps(1), chain.steps(4)), (7, 10));
/// let model = Model { alpha: 6.0, beta: 1.0, gamma: 0.0 };
/// assert_eq!(chain.best_segments(100, Way::Broadcast, &model), 10); // √(100 · 6 · 1/6)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pipeline {
    /// Steps until the first segment is everywhere; 0 if there is nobody else.
    pub first: usize,
    /// Steps from one segment to the next.
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

    /// Along a chain: `P + k - 2` steps.
    ///
    /// # Panics
    ///
    /// If there is no rank; so all that follow.
    pub fn chain(ranks: usize) -> Pipeline {
        Pipeline::along(&Topology::chain(ranks), 1)
    }

    /// Along the in-order tree: `⌊log₂ P⌋ + ⌊log₂ (P-1)⌋ + 2k - 2` steps.
    pub fn in_order(ranks: usize) -> Pipeline {
        Pipeline::along(&Topology::in_order(ranks), 2)
    }

    /// Along the Fibonacci tree: `order - 1 + 2k - 2` steps.
    pub fn fibonacci(ranks: usize) -> Pipeline {
        Pipeline::along(&Topology::fibonacci(ranks), 2)
    }

    /// Along two trees at once: `2 ⌈log₂ P⌉ + k - 2` steps, or one less.
    pub fn two_tree(ranks: usize) -> Pipeline {
        assert_some(ranks);
        Pipeline {
            first: (2 * ceil_log2(ranks)).saturating_sub(1),
            period: 1,
        }
    }

    /// Along d edge-disjoint trees among `2^d` ranks: `k + d` steps, `k` for two ranks.
    pub fn esbt(dimensions: u32) -> Pipeline {
        let d = dimensions as usize;
        Pipeline {
            first: d + usize::from(d > 1),
            period: 1,
        }
    }

    /// The number of steps of so many segments.
    pub fn steps(&self, segments: usize) -> usize {
        match self.first {
            0 => 0,
            first => first.saturating_add(segments.saturating_sub(1).saturating_mul(self.period)),
        }
    }

    /// The steps of so many segments in which there are messages: all, unless a segment has arrived
    /// before the next one may start.
    fn message_steps(&self, segments: usize) -> usize {
        let period = self.period.min(self.first);
        Pipeline { period, ..*self }.steps(segments)
    }

    /// What a broadcast of so many elements costs along the way.
    pub(super) fn cost(&self, length: usize, segments: usize) -> Cost {
        let segment = length as f64 / segments as f64;
        Cost {
            steps: self.steps(segments),
            ..Cost::moving(self.message_steps(segments), segment)
        }
    }

    /// The number of segments with which it is fastest: from 1 to the number of elements.
    ///
    /// `√(N (D - π) β / (π α))` rounded down or up, whichever is faster, with `D` steps for the first
    /// segment and the period `π`. A reduce has `β + γ` for `β`, an all-reduce the mean of both.
    pub fn best_segments(&self, length: usize, way: Way, model: &Model) -> usize {
        let Model { alpha, beta, gamma } = *model;
        let share = match way {
            Way::Broadcast => 0.0,
            Way::Reduce => 1.0,
            Way::AllReduce => 0.5,
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

/// Vectors of so many elements in segments along a tree in its own steps, one every `period` steps.
///
/// As many segments as asked for, but at least one, and none of them empty if there are elements.
///
/// # Cost
///
/// [`Pipeline::steps`] of `α + (N/k) β` each. All steps of the tree are taken to have messages, as those
/// of the families have.
///
/// # Panics
///
/// If the period is 0.
///
/// # Examples
///
/// ```
/// use rankfold::cost::{Way, in_segments};
/// use rankfold::topology::Topology;
///
/// let form = in_segments(&Topology::in_order(8), 2, 100, 4, Way::Broadcast);
/// assert_eq!((form.cost().steps, form.cost().moved), (11, 11.0 * 25.0));
/// assert_eq!(form.load(4).messages_out, 4 * 2);
/// ```
///
/// # Source
///
/// Sanders, Speck and Träff, *Two-tree algorithms for full bandwidth broadcast, reduction and scan*,
/// Parallel Computing 35, 2009, section 2.
pub fn in_segments(
    tree: &Topology,
    period: usize,
    length: usize,
    segments: usize,
    way: Way,
) -> Form {
    assert!(period > 0, "segments that all start at once");
    let segments = clamped(segments, length);
    let cost = Pipeline::along(tree, period).cost(length, segments);
    tree::broadcast(tree, cost, segments, length).put_to(way)
}

/// At least one segment, and none of them empty if there are elements.
pub(super) fn clamped(segments: usize, length: usize) -> usize {
    segments.clamp(1, length.max(1))
}
