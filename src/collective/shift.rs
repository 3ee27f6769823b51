//! The exclusive scan: every rank's value moves up one rank, before the inclusive scan or after it.

use crate::Rank;
use crate::schedule::{FoldAlong, Lengths, Region, Schedule, Step, Transfer, least_after};
use crate::topology::Shift;

/// Exclusive scan: rank `r` ends with `x₀ ⊕ ... ⊕ x_{r-1}`, in rank order. Rank 0 ends with its own value, which the
/// caller replaces by the identity.
///
/// ```text
/// step 0   0▶1  1▶2  2▶3  3▶4  4▶5         replaces
/// step 1        1▶2  2▶3  3▶4  4▶5         folds from here on, among all ranks except 0
/// step 2             1▶3  2▶4  3▶5
/// step 3                       1▶5
/// ```
///
/// # Cost
///
/// One step of whole vectors, plus the inclusive scan of one rank less: by doubling `1 + ⌈log₂ (P-1)⌉` steps in total,
/// for P ≥ 2.
///
/// # Source
///
/// Hillis and Steele, *Data parallel algorithms*, CACM 29(12), 1986.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExclusiveScan<S = FoldAlong<Shift>> {
    ranks: usize,
    /// The scan of all ranks except 0; not run if rank 0 is the only one.
    scan: S,
}

impl ExclusiveScan {
    /// The scan by doubling, among `ranks` ranks, of vectors of `length` elements.
    ///
    /// # Panics
    ///
    /// If `ranks` is 0.
    #[track_caller]
    pub fn new(ranks: usize, length: usize) -> ExclusiveScan {
        assert!(ranks > 0, "a scan of 0 ranks");
        let scan = FoldAlong::new(Shift::new((ranks - 1).max(1)), length);
        ExclusiveScan::above(ranks, scan)
    }
}

impl<S: Schedule> ExclusiveScan<S> {
    /// The exclusive scan among `ranks` ranks, from an inclusive scan of one rank less, but at least one.
    ///
    /// # Panics
    ///
    /// If the inclusive scan has another number of ranks, or `ranks` is 0.
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

/// Every rank's vector moves up to the next rank; rank 0 keeps its own. After an inclusive scan this yields an
/// exclusive one.
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
    /// The shift among `ranks` ranks, of vectors of `length` elements.
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
