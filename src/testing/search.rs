//! Enumerates all orders, each once: depth first over the choices, repeating the beginning of each run. The search has
//! no threads: its caller reports each point where a choice is due, and gets the choice.
//!
//! Choices of different ranks commute, unless both ask for one lock. So at a choice point only one rank's transitions are tried. Those of the other
//! ranks are tried first as well if that rank turns out to have been too early (see
//! [`scheduler`](crate::transport::deadlock::scheduler)). A transition that a sibling has tried *sleeps* until one that
//! does not commute with it is taken, so no order is counted twice: a run in which all transitions sleep repeats a
//! known one, and is not counted. (Persistent and sleep sets: Godefroid, *Partial-order methods for the verification of
//! concurrent systems*, 1996; computed during the run: Flanagan and Godefroid, POPL 2005.)

use std::collections::BTreeSet;

use crate::Rank;
use crate::transport::deadlock::choice::Transition;

/// The state of the search.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// The choices of the current run, as far as they matter.
    path: Vec<Node>,
    /// Whether the current run repeats a known one.
    repeats: bool,
    /// Whether it reached other choice points than before.
    strayed: bool,
}

/// A choice point.
#[derive(Debug)]
struct Node {
    transitions: Vec<Transition>,
    /// The ranks whose transitions are to be tried.
    ranks: BTreeSet<Rank>,
    asleep: Vec<Transition>,
    tried: Vec<Transition>,
    chosen: Transition,
}

impl Node {
    /// A choice point; `None` if all of its transitions sleep.
    fn new(transitions: &[Transition], asleep: Vec<Transition>) -> Option<Node> {
        let awake = transitions
            .iter()
            .copied()
            .find(|transition| !asleep.contains(transition));
        awake.map(|chosen| Node {
            transitions: transitions.to_vec(),
            ranks: BTreeSet::from([chosen.rank]),
            asleep,
            tried: Vec::new(),
            chosen,
        })
    }

    /// The transitions that sleep after the chosen one.
    fn asleep_after(&self) -> Vec<Transition> {
        let all = self.asleep.iter().chain(&self.tried).copied();
        all.filter(|transition| transition.commutes(self.chosen))
            .collect()
    }

    /// Moves on to the next transition to try, if there is one.
    fn advance(&mut self) -> bool {
        self.tried.push(self.chosen);
        let open = |transition: &&Transition| {
            self.ranks.contains(&transition.rank)
                && !self.tried.contains(transition)
                && !self.asleep.contains(transition)
        };
        let next = self.transitions.iter().find(open).copied();
        next.inspect(|transition| self.chosen = *transition)
            .is_some()
    }
}

impl Search {
    /// The index of the transition to take.
    pub(super) fn choose(&mut self, nth: usize, transitions: &[Transition]) -> usize {
        if nth == self.path.len() && !self.repeats {
            let asleep = self.path.last().map_or(Vec::new(), Node::asleep_after);
            match Node::new(transitions, asleep) {
                Some(node) => self.path.push(node),
                None => self.repeats = true,
            }
        }
        let Some(node) = self.path.get(nth) else {
            return 0;
        };
        self.strayed |= node.transitions != transitions;
        let place = transitions
            .iter()
            .position(|transition| *transition == node.chosen);
        place.unwrap_or(0)
    }

    /// Called when the choice was made before all its transitions were there, or before one that does not commute with
    /// it: the transitions of the rank of one of `firsts` are tried as well, or those of all ranks if none of these was
    /// there then.
    pub(super) fn too_early(&mut self, nth: usize, firsts: &[Transition]) {
        let Some(node) = self.path.get_mut(nth) else {
            return;
        };
        let mut there = firsts
            .iter()
            .filter(|first| node.transitions.contains(first));
        if there.clone().any(|first| node.ranks.contains(&first.rank)) {
            return;
        }
        match there.next() {
            Some(first) => node.ranks.extend([first.rank]),
            None => {
                let ranks = node.transitions.iter().map(|transition| transition.rank);
                node.ranks.extend(ranks);
            }
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
