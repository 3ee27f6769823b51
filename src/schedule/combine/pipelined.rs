//! Pipelining as modulo scheduling: the same schedule for every segment, each delayed by a period.

use std::ops::Range;

use crate::Rank;
use crate::schedule::{Lengths, Schedule, Step, first_from, least_after};
use crate::span;

/// A schedule run once for every segment of the vector; segment `k` starts in step `k · period`.
///
/// ```text
/// a chain of four, three segments, period 1      0 ─▶ 1 ─▶ 2 ─▶ 3
///
/// step        0      1      2      3      4
/// 0 ▶ 1       A      B      C
/// 1 ▶ 2              A      B      C
/// 2 ▶ 3                     A      B      C
/// ```
///
/// It is correct iff no rank has to send or to receive twice in one step, which the checker decides. The schedule must
/// leave every element at its own position, as whole-vector folds and their reversals do: a segment is the restriction
/// of all regions to a window of positions.
///
/// # Cost
///
/// One visit to each active step of the rank in the schedule of one segment, of which a tree has few. The cost depends
/// neither on the number of segments nor on the number of ranks.
///
/// # Panics
///
/// [`step`](Schedule::step) panics if a region of the schedule has several runs.
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check};
/// use rankfold::schedule::{FoldAlong, Schedule};
/// use rankfold::topology::Topology;
///
/// let chain = FoldAlong::new(Topology::chain(8).single_port(), 100);
/// let proof = check(&chain.reversed().pipelined(4, 1), &Goal::broadcast(0, 100)).unwrap();
/// assert_eq!(proof.steps, 8 + 4 - 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipelined<S> {
    inner: S,
    segments: usize,
    period: usize,
    /// The number of elements that are divided into segments.
    length: usize,
}

impl<S: Schedule> Pipelined<S> {
    /// With `segments` segments, but at least one, and no more than there are elements, so that none is empty.
    #[track_caller]
    pub(in crate::schedule) fn new(inner: S, segments: usize, period: usize) -> Pipelined<S> {
        assert!(period > 0, "segments that all start at once");
        let Lengths {
            input,
            output,
            scratch,
        } = inner.lengths(0);
        let length = input.max(output).max(scratch);
        Pipelined {
            inner,
            segments: segments.clamp(1, length.max(1)),
            period,
            length,
        }
    }

    /// The number of segments.
    pub fn segments(&self) -> usize {
        self.segments
    }

    fn segment(&self, k: usize) -> Range<usize> {
        span::block(self.length, self.segments, k)
    }

    /// The distance from the start of the first segment to the start of the last.
    fn spread(&self) -> usize {
        (self.segments - 1) * self.period
    }
}

impl<S: Schedule> Schedule for Pipelined<S> {
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    fn steps(&self) -> usize {
        match self.inner.steps() {
            0 => 0,
            steps => steps + self.spread(),
        }
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let mut so_far = Step::IDLE;
        let mut active = first_from(&self.inner, rank, step.saturating_sub(self.spread()));
        while let Some(inner) = active.filter(|&inner| inner <= step) {
            if (step - inner).is_multiple_of(self.period) {
                let window = self.segment((step - inner) / self.period);
                let whole = self.inner.step(rank, inner);
                so_far = so_far.beside(whole.map_regions(|region| region.clip(&window)));
            }
            // No later inner step can contribute to this step.
            let more = inner < step;
            active = more
                .then(|| self.inner.next_active(rank, Some(inner)))
                .flatten();
        }
        so_far
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let least = least_after(after)?;
        let (mut best, first) = (None, least.saturating_sub(self.spread()));
        let mut active = first_from(&self.inner, rank, first);
        while let Some(inner) = active.filter(|&inner| best.is_none_or(|best| inner < best)) {
            let segment = least.saturating_sub(inner).div_ceil(self.period);
            let step = inner + segment * self.period;
            best = Some(best.map_or(step, |best: usize| best.min(step)));
            // No step precedes `least`, so the search can stop.
            let more = best > Some(least);
            active = more
                .then(|| self.inner.next_active(rank, Some(inner)))
                .flatten();
        }
        best
    }

    fn may_copy(&self) -> bool {
        self.inner.may_copy()
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        self.inner.lengths(rank)
    }

    fn copies_first(&self) -> bool {
        self.inner.copies_first()
    }
}
