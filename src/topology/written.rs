//! A topology as written by a user, and the entry that is the cause of an error.

use super::{Topology, TopologyError, Triple, proof::only_root};
use crate::Rank;

/// Triples in the order in which they were written, and the properties of the whole.
#[derive(Default)]
pub(super) struct Written {
    /// By default, the highest rank mentioned determines the number.
    pub(super) ranks: Option<usize>,
    /// By default, the only rank that sends nothing.
    pub(super) root: Option<Rank>,
    pub(super) triples: Vec<Triple>,
}

/// An entry of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Ranks,
    Root,
    /// The triple at this index, and the part of it, which only a path can express.
    Triple(usize, TripleField),
}

/// A part of a triple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TripleField {
    All,
    From,
    Step,
    To,
}

impl Written {
    pub(super) fn topology(&self) -> Result<Topology, TopologyError> {
        let ranks = self.ranks.unwrap_or_else(|| self.mentioned());
        let root = match self.root {
            Some(root) => root,
            None => only_root(ranks, &self.triples)?,
        };
        Topology::from_triples(ranks, root, self.triples.iter().copied())
    }

    /// The number of ranks implied by the highest one mentioned.
    fn mentioned(&self) -> usize {
        let in_triples = self.triples.iter().flat_map(|t| [t.from, t.to]);
        let highest = in_triples.chain(self.root).max();
        highest.map_or(0, |rank| rank.saturating_add(1))
    }

    /// The entry that caused an error of [`topology`](Self::topology); `None` if something is missing.
    pub(super) fn blamed(&self, error: &TopologyError) -> Option<Entry> {
        use TopologyError::*;
        match error {
            NoRanks => self.ranks.map(|_| Entry::Ranks),
            RankOutOfRange { rank, .. } => self.mention(*rank),
            StepTooLarge { triple } => self.first(TripleField::Step, |t| t == triple),
            RootHasSuccessor { triple } => self.first(TripleField::All, |t| t == triple),
            TwoSuccessors { first, second } => self.second(|t| t == first || t == second),
            Cycle { cycle, .. } => self.first(TripleField::All, |t| cycle.first() == Some(&t.from)),
            StepDoesNotRise { after, .. } => self.first(TripleField::All, |t| t == after),
            NoStepZero { least } => self.first(TripleField::Step, |t| t == least),
            NotTheFamily { given, .. } => self.first(TripleField::All, |t| t == given),
            _ => None,
        }
    }

    fn places(
        &self,
        part: TripleField,
        is_it: impl Fn(&Triple) -> bool,
    ) -> impl Iterator<Item = Entry> {
        let numbered = self.triples.iter().enumerate();
        numbered
            .filter(move |(_, t)| is_it(t))
            .map(move |(i, _)| Entry::Triple(i, part))
    }

    fn first(&self, part: TripleField, is_it: impl Fn(&Triple) -> bool) -> Option<Entry> {
        self.places(part, is_it).next()
    }

    /// The later of two conflicting triples.
    fn second(&self, is_it: impl Fn(&Triple) -> bool) -> Option<Entry> {
        self.places(TripleField::All, is_it).nth(1)
    }

    /// The entry that mentions a rank: a triple, else the root.
    fn mention(&self, rank: Rank) -> Option<Entry> {
        let at = self
            .triples
            .iter()
            .position(|t| t.from == rank || t.to == rank);
        match at {
            Some(i) if self.triples[i].from == rank => Some(Entry::Triple(i, TripleField::From)),
            Some(i) => Some(Entry::Triple(i, TripleField::To)),
            None => self.root.map(|_| Entry::Root),
        }
    }
}
