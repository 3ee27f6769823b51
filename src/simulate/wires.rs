//! Links shared by the ranks of a node: the time at which each message gets its turn.

use super::machine::Tolls;
use crate::Rank;
use crate::sort;

/// The times at which each node's links are free again, and at which the messages of a step begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Wires {
    out: Vec<f64>,
    into: Vec<f64>,
    /// The time at which each rank's message of this step begins.
    begins: Vec<f64>,
    /// The messages of this step: time, sender, receiver, number of elements.
    queue: Vec<(f64, Rank, Rank, usize)>,
}

impl Wires {
    /// Without shared links, nothing is allocated.
    pub(super) fn new(tolls: &Tolls, ranks: usize) -> Wires {
        let nodes = tolls.sharing_nodes(ranks);
        let begins = if nodes > 0 { ranks } else { 0 };
        Wires {
            out: vec![0.0; nodes],
            into: vec![0.0; nodes],
            begins: vec![0.0; begins],
            queue: Vec::new(),
        }
    }

    /// Whether there are shared links.
    #[inline]
    pub(super) fn shared(&self) -> bool {
        !self.out.is_empty()
    }

    /// Adds a message that is ready to leave in this step at time `start`.
    pub(super) fn queue(&mut self, start: f64, from: Rank, to: Rank, elements: usize) {
        self.queue.push((start, from, to, elements));
    }

    /// Schedules all messages of the step, in order of their times and then of their ranks.
    pub(super) fn go(&mut self, tolls: &Tolls) {
        sort::by_float(&mut self.queue, |&(start, from, ..)| (start, from));
        for &(start, from, to, elements) in &self.queue {
            self.begins[from] = start;
            let Some((out, into)) = tolls.shared(from, to) else {
                continue;
            };
            let (Some(a), Some(b)) = (self.out.get_mut(out), self.into.get_mut(into)) else {
                continue;
            };
            let begin = start.max(*a).max(*b);
            *a = begin + tolls.link(from, to).port(elements);
            *b = *a;
            self.begins[from] = begin;
        }
        self.queue.clear();
    }

    /// The time at which the rank's message of this step begins.
    #[inline]
    pub(super) fn begin(&self, from: Rank) -> Option<f64> {
        self.begins.get(from).copied()
    }
}
