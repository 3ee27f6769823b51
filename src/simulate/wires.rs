//! Links that the ranks of a node share: when each message gets its turn.

use super::machine::Tolls;
use crate::Rank;

/// When each node's links are free again, and when the messages of a step begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Wires {
    out: Vec<f64>,
    into: Vec<f64>,
    /// When each rank's message of this step begins, if it takes shared links.
    begins: Vec<f64>,
    /// What wants to go in this step: when, from whom, to whom, how much.
    queue: Vec<(f64, Rank, Rank, usize)>,
}

impl Wires {
    /// None are kept where none are shared.
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

    /// Whether there are any.
    #[inline]
    pub(super) fn shared(&self) -> bool {
        !self.out.is_empty()
    }

    /// A message that wants to go in this step, at a time.
    pub(super) fn queue(&mut self, start: f64, from: Rank, to: Rank, elements: usize) {
        self.queue.push((start, from, to, elements));
    }

    /// Gives all their turns: who came first goes first.
    pub(super) fn go(&mut self, tolls: &Tolls) {
        self.queue
            .sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
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

    /// When the rank's message of this step begins.
    #[inline]
    pub(super) fn begin(&self, from: Rank) -> Option<f64> {
        self.begins.get(from).copied()
    }
}
