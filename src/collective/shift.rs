//! The exclusive scan: everybody's value moves up one rank, before the inclusive scan or after it.

use crate::Rank;
use crate::schedule::{FoldAlong, Lengths, Region, Schedule, Step, Transfer, least_after};
use crate::topology::Shift;

/// Exclusive scan: rank `r` ends with `x₀ ⊕ ... ⊕ x_{r-1}`, in rank order; what rank 0 has at the end
/// is its own value still, which the caller replaces by the identity.
///
/// ```text
/// step 0   0▶1  1▶2  2▶3  3▶4  4▶5         replaces
/// step 1        1▶2  2▶3  3▶4  4▶5         folds from here on, among the ranks but 0
/// step 2             1▶3  2▶4  3▶5
/// step 3                       1▶5
/// ```
///
/// # Cost
///
/// One step of whole vectors, and those of the inclusive scan of one rank less: by doubling
/// `1 + ⌈log₂ (P-1)⌉` in all, for P ≥ 2.
///
/// # Source
///
/// Hillis and Steele, *Data parallel algorithms*, CACM 29(12), 1986.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExclusiveScan<S = FoldAlong<Shift>> {
    ranks: usize,
    /// For the ranks but 0; not run if that is the only one.
    scan: S,
}

impl ExclusiveScan {
    /// By doubling, among so many ranks, of vectors of so many elements.
    ///
    /// # Panics
    ///
    /// If there is no rank.
    pub fn new(ranks: usize, length: usize) -> ExclusiveScan {
        assert!(ranks > 0, "a scan of 0 ranks");
        let scan = FoldAlong::new(Shift::new((ranks - 1).max(1)), length);
        ExclusiveScan::above(ranks, scan)
    }
}

impl<S: Schedule> ExclusiveScan<S> {
    /// Among so many ranks, by an inclusive scan of one rank less, but at least one.
    ///
    /// # Panics
    ///
    /// If it is not of so many.
    #[track_caller]
    pub fn above(ranks: usize, scan: S) -> ExclusiveScan<S> {
        let inner = scan.ranks();
        assert!(
            ranks > 0 && inner == (ranks - 1).max(1),
            "an inclusive scan of {inner} ranks in an exclusive one of {ranks}"
        );
        ExclusiveScan { ranks, scan }
    }

    fn first(&self) -> PassUp {
        PassUp::new(self.ranks, self.scan.lengths(0).output)
    }
}

/// Every rank's vector moves up to the next rank; rank 0 keeps its own. After an inclusive scan this
/// makes an exclusive one.
///
/// ```text
/// 0▶1  1▶2  2▶3  3▶4          replaces
/// ```
///
/// # Cost
///
/// One step of whole vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassUp {
    ranks: usize,
    length: usize,
}

impl PassUp {
    /// Among so many ranks, of vectors of so many elements.
    pub fn new(ranks: usize, length: usize) -> PassUp {
        PassUp { ranks, length }
    }
}

impl Schedule for PassUp {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn steps(&self) -> usize {
        usize::from(self.ranks > 1)
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        if step >= self.steps() {
            return Step::IDLE;
        }
        let region = Region::output(0..self.length);
        let above = Some(rank + 1).filter(|&above| above < self.ranks);
        Step {
            send: above.map(|peer| Transfer { peer, region }),
            recv: rank.checked_sub(1).map(|peer| Transfer { peer, region }),
            ..Step::IDLE
        }
    }

    fn lengths(&self, _: Rank) -> Lengths {
        Lengths::in_place(self.length)
    }

    fn may_copy(&self) -> bool {
        false
    }
}

impl<S: Schedule> Schedule for ExclusiveScan<S> {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn steps(&self) -> usize {
        match self.ranks {
            1 => 0,
            _ => 1 + self.scan.steps(),
        }
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        if step >= self.steps() {
            return Step::IDLE;
        }
        match (step.checked_sub(1), rank.checked_sub(1)) {
            (None, _) => self.first().step(rank, 0),
            (Some(_), None) => Step::IDLE,
            (Some(inner), Some(v)) => self.scan.step(v, inner).map_peers(|v| v + 1),
        }
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let least = least_after(after)?;
        if self.ranks == 1 || least == 0 {
            return (self.ranks > 1).then_some(0);
        }
        let inner = self
            .scan
            .next_active(rank.checked_sub(1)?, (least - 1).checked_sub(1))?;
        Some(1 + inner)
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        self.scan.lengths(rank.saturating_sub(1))
    }
}
