//! Enumerates all orders, each once: depth first over the choices, repeating the beginning of each run. The search has
//! no threads: it is told where a choice is due, and answers with the choice.
//!
//! Choices of different ranks commute, so at a crossing (a point where a choice is due) only one rank's ways are tried.
//! Those of the other ranks are tried first as well if that rank turns out to have been too early (see
//! [`scheduler`](crate::transport::deadlock::scheduler)). A way that a sibling has tried *sleeps* until the rank that
//! it concerns does something else, so no order is counted twice: a run in which all ways sleep repeats a known one,
//! and is not counted. (Persistent and sleep sets: Godefroid, *Partial-order methods for the verification of concurrent
//! systems*, 1996; computed during the run: Flanagan and Godefroid, POPL 2005.)

use std::collections::BTreeSet;

use crate::Rank;
use crate::transport::deadlock::choice::Way;

/// The state of the search.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// The choices of the current run, as far as they matter.
    path: Vec<Node>,
    /// Whether the current run repeats a known one.
    repeats: bool,
    /// Whether it reached other crossings than before.
    strayed: bool,
}

/// A crossing: a point where a choice is due.
#[derive(Debug)]
struct Node {
    ways: Vec<Way>,
    /// The ranks whose ways are to be tried.
    ranks: BTreeSet<Rank>,
    asleep: Vec<Way>,
    tried: Vec<Way>,
    chosen: Way,
}

impl Node {
    /// A crossing; `None` if all of its ways sleep.
    fn new(ways: &[Way], asleep: Vec<Way>) -> Option<Node> {
        let awake = ways.iter().copied().find(|way| !asleep.contains(way));
        awake.map(|chosen| Node {
            ways: ways.to_vec(),
            ranks: BTreeSet::from([chosen.rank]),
            asleep,
            tried: Vec::new(),
            chosen,
        })
    }

    /// The ways that sleep after the chosen one.
    fn asleep_after(&self) -> Vec<Way> {
        let all = self.asleep.iter().chain(&self.tried).copied();
        all.filter(|way| way.rank != self.chosen.rank).collect()
    }

    /// Moves on to the next way to try, if there is one.
    fn advance(&mut self) -> bool {
        self.tried.push(self.chosen);
        let open = |way: &&Way| {
            self.ranks.contains(&way.rank)
                && !self.tried.contains(way)
                && !self.asleep.contains(way)
        };
        let next = self.ways.iter().find(open).copied();
        next.inspect(|way| self.chosen = *way).is_some()
    }
}

impl Search {
    /// The index of the way to take.
    pub(super) fn choose(&mut self, nth: usize, ways: &[Way]) -> usize {
        if nth == self.path.len() && !self.repeats {
            let asleep = self.path.last().map_or(Vec::new(), Node::asleep_after);
            match Node::new(ways, asleep) {
                Some(node) => self.path.push(node),
                None => self.repeats = true,
            }
        }
        let Some(node) = self.path.get(nth) else {
            return 0;
        };
        self.strayed |= node.ways != ways;
        let place = ways.iter().position(|way| *way == node.chosen);
        place.unwrap_or(0)
    }

    /// Called when the choice was made before all its ways were there: the ways of all ranks are tried first as well.
    pub(super) fn too_early(&mut self, nth: usize) {
        if let Some(node) = self.path.get_mut(nth) {
            node.ranks.extend(node.ways.iter().map(|way| way.rank));
        }
    }

    /// Whether the run that has ended was new.
    pub(super) fn is_new(&self) -> bool {
        !self.repeats
    }

    /// Whether the same choices led elsewhere.
    pub(super) fn strayed(&self) -> bool {
        self.strayed
    }

    /// Prepares the next run; `false` if there is none left.
    pub(super) fn advance(&mut self) -> bool {
        self.repeats = false;
        while let Some(node) = self.path.last_mut() {
            if node.advance() {
                return true;
            }
            self.path.pop();
        }
        false
    }
}
