//! The ranks of other processes in the judgement of a run: how they ended is known, and not what they returned.

use std::sync::Arc;

use super::outcome::{End, Ends};
use crate::Rank;
use crate::error::Gone;
use crate::transport::Fabric;

/// How a rank of another process ended, and its line.
pub(super) type FarEnd = (Gone, Option<Arc<str>>);

/// Which ranks of a world are in this process, and how the others ended.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// The first rank of this process.
    pub first: Rank,
    /// Of all ranks; empty if all are in this process.
    ends: Vec<Option<FarEnd>>,
    /// The ranks of other processes that an injected fault has ended early.
    left: Vec<Rank>,
}

impl Elsewhere {
    pub(super) fn of(fabric: &Fabric) -> Elsewhere {
        Elsewhere {
            first: fabric.near().start,
            ends: fabric.far_ends(),
            left: fabric.left_early(),
        }
    }

    /// How a rank ended that is in another process.
    pub(super) fn far(&self, rank: Rank) -> Option<&FarEnd> {
        self.ends.get(rank)?.as_ref()
    }

    /// The ends of all ranks, by those of this process.
    pub(super) fn and<'e>(&'e self, near: &'e dyn Ends) -> Everywhere<'e> {
        Everywhere {
            elsewhere: self,
            near,
        }
    }
}

/// The ends of the ranks of all processes.
pub(super) struct Everywhere<'e> {
    elsewhere: &'e Elsewhere,
    near: &'e dyn Ends,
}

impl Ends for Everywhere<'_> {
    fn ranks(&self) -> usize {
        self.near.ranks().max(self.elsewhere.ends.len())
    }

    fn end(&self, rank: Rank) -> End {
        match self.elsewhere.far(rank) {
            None => self.near.end(rank - self.elsewhere.first),
            Some((Gone::Returned, _)) if self.elsewhere.left.contains(&rank) => End::Left,
            Some((Gone::Returned, _)) => End::Returned,
            Some((Gone::Failed(_), _)) => End::Failed,
            Some((Gone::Panicked(_), _)) => End::Panicked,
        }
    }
}
