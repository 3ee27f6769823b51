//! The triples that enter a rank, as an iterator.

use super::{Topology, Triple, families::SenderRun};
use crate::Rank;

/// The triples that enter one rank, ordered by step and then by sender; see [`Topology::predecessors`].
#[derive(Clone)]
pub struct Predecessors<'a> {
    topology: &'a Topology,
    /// The receiver, in the shape's numbering.
    to: Rank,
    /// The current run; `None` at the end.
    run: Option<SenderRun>,
    /// The number of senders of the run already returned, in `0..count`.
    given: usize,
    /// The index in the run of its lowest sender: nonzero where a rotated tree wraps around.
    lowest: usize,
}

impl<'a> Predecessors<'a> {
    /// The triples that enter in step `least` or later.
    #[inline]
    pub(super) fn new(topology: &'a Topology, to: Rank, least: usize) -> Self {
        let mut all = Predecessors {
            topology,
            to,
            run: None,
            given: 0,
            lowest: 0,
        };
        all.enter(least);
        all
    }

    /// Moves to the first run of step `least` or later.
    #[inline]
    fn enter(&mut self, least: usize) {
        self.run = self.topology.family().arrivals(self.to, least);
        self.given = 0;
        self.lowest = self.run.map_or(0, |run| self.lowest_of(run));
    }

    // A run ascends in the shape's numbers. The senders that wrap around have the lowest ranks.
    #[inline]
    fn lowest_of(&self, run: SenderRun) -> usize {
        if run.count == 1 {
            return 0;
        }
        let wrap = self.topology.ranks - self.topology.shift;
        let before = first_place(run.count, |i| self.topology.family().member(run, i) >= wrap);
        before % run.count
    }

    /// Peeks at the next triple.
    #[inline]
    pub(super) fn first(&self) -> Option<Triple> {
        self.run.map(|run| self.triple(run))
    }

    #[inline]
    fn triple(&self, run: SenderRun) -> Triple {
        let place = self.lowest + self.given;
        let wrapped = place.checked_sub(run.count).unwrap_or(place);
        let from = self.topology.family().member(run, wrapped);
        Triple {
            from: self.topology.outer(from),
            step: run.step,
            to: self.topology.outer(self.to),
        }
    }
}

impl Iterator for Predecessors<'_> {
    type Item = Triple;

    fn next(&mut self) -> Option<Triple> {
        let run = self.run?;
        let triple = self.triple(run);
        self.given += 1;
        if self.given == run.count {
            self.enter(run.step + 1);
        }
        Some(triple)
    }
}

impl std::iter::FusedIterator for Predecessors<'_> {}

impl std::fmt::Debug for Predecessors<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// The first of `count` indices for which `holds` is true, or `count`; `holds` stays true once it is.
fn first_place(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        (low, high) = if holds(middle) {
            (low, middle)
        } else {
            (middle + 1, high)
        };
    }
    low
}
