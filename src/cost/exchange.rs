//! Reductions across the dimensions of a hypercube: simple exchange, halving, and the hybrids.

use super::{Cost, Form, Load, Model, assert_some};
use crate::Rank;
use crate::schedule::HandOut;
use crate::span;

/// All-reduce by simple exchange of whole vectors.
///
/// # Cost
///
/// `d (α + N (β + γ))` with `d = ⌊log₂ P⌋`; `2 (α + N β) + N γ` more if P is not a power of two.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, 11.2, over the template of 11.1.
#[track_caller]
pub fn simple_exchange(ranks: usize, length: usize) -> Form {
    hybrid_all_reduce(ranks, length, 0)
}

/// All-reduce by recursive halving followed by doubling.
///
/// # Cost
///
/// `2 d α + N (Q-1)/Q (2β + γ)` with `Q = 2^d`; `2 (α + N β) + N γ` more if P is not a power of two.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, 11.2; Rabenseifner, in Thakur, Rabenseifner and Gropp,
/// *Optimization of collective communication operations in MPICH*, 2005.
#[track_caller]
pub fn halving_all_reduce(ranks: usize, length: usize) -> Form {
    hybrid_all_reduce(ranks, length, dimensions(ranks))
}

/// All-reduce by `stages` stages of halving, simple exchange of the rest, and the halving reversed.
///
/// # Cost
///
/// `(d+s) α + (N - x)(2β + γ) + (d-s) x (β + γ)` with `s` stages and `x = N/2^s`; `2 (α + N β) + N γ` more if P is not
/// a power of two.
///
/// # Panics
///
/// If `ranks` is 0, or `stages` exceeds the number of dimensions.
///
/// # Examples
///
/// ```
/// let form = rankfold::cost::hybrid_all_reduce(16, 160, 1);
/// assert_eq!((form.cost().steps, form.load(5).elements_out), (5, 2 * 80 + 3 * 80));
/// ```
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, 11.2.
#[track_caller]
pub fn hybrid_all_reduce(ranks: usize, length: usize, stages: u32) -> Form {
    let halving = Halving::among(ranks, length);
    let d = halving.dimensions;
    assert!(stages <= d, "{stages} stages of {d}");
    let down = halving.form(stages);
    let whole = (down.clone())
        .then(halving.rest(stages))
        .then(down.reversed());
    whole.proxied(ranks, length, HandOut::Vector)
}

/// The number of halving stages with which the hybrid is fastest, found by trying all `d + 1`.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Examples
///
/// ```
/// use rankfold::cost::{Model, best_stages};
///
/// let model = Model { alpha: 1e-6, beta: 1e-9, gamma: 1e-9 };
/// assert_eq!((best_stages(64, 10, &model), best_stages(64, 1 << 20, &model)), (0, 6));
/// ```
#[track_caller]
pub fn best_stages(ranks: usize, length: usize, model: &Model) -> u32 {
    let time = |&stages: &u32| hybrid_all_reduce(ranks, length, stages).time(model);
    let all = 0..=dimensions(ranks);
    all.min_by(|a, b| time(a).total_cmp(&time(b))).unwrap_or(0)
}

/// Reduce-scatter by recursive halving, neighbours first, with one step that brings the blocks to their ranks.
///
/// [Reversed](Form::reversed), it is the all-gather by recursive doubling.
///
/// # Cost
///
/// `d α + N (P-1)/P (β + γ)` and `α + N/P β` for a power of two of 4 or more.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, 11.2.
#[track_caller]
pub fn halving_reduce_scatter(ranks: usize, length: usize) -> Form {
    let halving = Halving::among(ranks, length).for_blocks_of(ranks);
    let whole = halving.form(halving.dimensions).then(halving.homing());
    whole.proxied(ranks, length, HandOut::Block)
}

/// Reduce-scatter by recursive halving, the most distant partners first, for operators that commute.
///
/// # Cost
///
/// `d α + N (P-1)/P (β + γ)` for a power of two.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, 11.2.
#[track_caller]
pub fn far_halving_reduce_scatter(ranks: usize, length: usize) -> Form {
    let halving = Halving {
        path: |v, _| v,
        ..Halving::among(ranks, length).for_blocks_of(ranks)
    };
    let whole = halving.form(halving.dimensions);
    whole.proxied(ranks, length, HandOut::Block)
}

/// Halving among `2^dimensions` of the ranks, of vectors cut into one part for each.
#[derive(Clone, Copy)]
struct Halving {
    dimensions: u32,
    length: usize,
    /// The first `doubled` parts are two blocks each, the others one.
    doubled: usize,
    /// The number of the part with which a rank ends.
    path: fn(Rank, u32) -> usize,
}

impl Halving {
    #[track_caller]
    fn among(ranks: usize, length: usize) -> Halving {
        Halving {
            dimensions: dimensions(ranks),
            length,
            doubled: 0,
            path: reversed_bits,
        }
    }

    fn for_blocks_of(self, ranks: usize) -> Halving {
        Halving {
            doubled: ranks - self.parts(),
            ..self
        }
    }

    fn parts(&self) -> usize {
        1 << self.dimensions
    }

    fn blocks(&self) -> usize {
        self.parts() + self.doubled
    }

    fn block(&self) -> f64 {
        self.length as f64 / self.blocks() as f64
    }

    /// The number of elements of `parts` parts, starting with `first`.
    fn elements(&self, first: usize, parts: usize) -> usize {
        let cut = |part: usize| {
            let block = part + part.min(self.doubled);
            span::cut(self.length, self.blocks(), block)
        };
        cut(first + parts) - cut(first)
    }

    /// The number of elements that remain at a rank after `stages` stages.
    fn left(&self, v: Rank, stages: u32) -> usize {
        let log = self.dimensions - stages;
        let path = (self.path)(v, self.dimensions);
        self.elements(path >> log << log, 1 << log)
    }

    /// The number of blocks of the longest range that remains at any rank after `stages` stages: the first range.
    fn most_left(&self, stages: u32) -> usize {
        let parts = 1 << (self.dimensions - stages);
        parts + self.doubled.min(parts)
    }

    /// The first `stages` stages: a rank sends all elements that it does not keep, and folds those that it keeps.
    fn form(&self, stages: u32) -> Form {
        let halving = *self;
        let moved = (1..=stages).map(|s| halving.most_left(s)).sum();
        let cost = Cost {
            steps: stages as usize,
            messages: stages as usize,
            moved: super::times(self.block(), moved),
            folded: 0.0,
        };
        let load = move |v| {
            let sent = halving.length - halving.left(v, stages);
            let kept = (1..=stages).map(|s| halving.left(v, s)).sum();
            Load::moving((stages as usize, sent), (stages as usize, kept)).and_folding()
        };
        Form::new(self.parts(), cost.and_folding(), load)
    }

    /// Simple exchange of the elements that remain after `stages` stages, across the other dimensions.
    fn rest(&self, stages: u32) -> Form {
        let halving = *self;
        let steps = (self.dimensions - stages) as usize;
        let most = super::times(self.block(), self.most_left(stages));
        let load = move |v| {
            let all = (steps, halving.left(v, stages).saturating_mul(steps));
            Load::moving(all, all).and_folding()
        };
        Form::new(self.parts(), Cost::moving(steps, most).and_folding(), load)
    }

    /// The exchange after which every rank has its own part.
    fn homing(&self) -> Form {
        let halving = *self;
        // Part 1 is the first part that moves.
        let most = if self.doubled >= 2 { 2 } else { 1 };
        let steps = usize::from(self.dimensions >= 2);
        let cost = Cost::moving(steps, super::times(self.block(), most));
        let load = move |v| {
            let peer = (halving.path)(v, halving.dimensions);
            let swaps = usize::from(peer != v);
            let part = |part| (swaps, swaps * halving.elements(part, 1));
            Load::moving(part(peer), part(v))
        };
        Form::new(self.parts(), cost, load)
    }
}

/// The number of dimensions of the largest hypercube within `ranks` ranks.
#[track_caller]
fn dimensions(ranks: usize) -> u32 {
    assert_some(ranks);
    ranks.ilog2()
}

/// The lowest `bits` bits of a number, in reverse.
fn reversed_bits(v: usize, bits: u32) -> usize {
    v.reverse_bits()
        .checked_shr(usize::BITS - bits)
        .unwrap_or(0)
}
