//! The exclusive scan: everybody's value moves up one rank, then the inclusive scan.

use crate::Rank;
use crate::schedule::{Combine, Lengths, Region, Schedule, Step, Transfer};
use crate::topology::{Pattern, Shift};

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
/// `1 + ⌈log₂ (P-1)⌉` steps of whole vectors, for P ≥ 2.
///
/// # Source
///
/// Hillis and Steele, *Data parallel algorithms*, CACM 29(12), 1986.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExclusiveScan {
    ranks: usize,
    length: usize,
}

impl ExclusiveScan {
    /// Among so many ranks, of vectors of so many elements.
    ///
    /// # Panics
    ///
    /// If there is no rank.
    pub fn new(ranks: usize, length: usize) -> ExclusiveScan {
        assert!(ranks > 0, "a scan of 0 ranks");
        ExclusiveScan { ranks, length }
    }

    /// The inclusive scan among the ranks but 0, if there are any.
    fn above_zero(&self) -> Option<Shift> {
        (self.ranks > 1).then(|| Shift::new(self.ranks - 1))
    }

    /// Whom the rank sends to, and whom it receives from.
    fn peers(&self, rank: Rank, step: usize) -> (Option<Rank>, Option<Rank>) {
        let Some(step) = step.checked_sub(1) else {
            let above = Some(rank + 1).filter(|&above| above < self.ranks);
            return (above, rank.checked_sub(1));
        };
        let scan = self.above_zero().zip(rank.checked_sub(1));
        let peers = scan.map(|(scan, v)| (scan.to(v, step), scan.from(v, step)));
        let (to, from) = peers.unwrap_or_default();
        (to.map(|v| v + 1), from.map(|v| v + 1))
    }
}

impl Schedule for ExclusiveScan {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn steps(&self) -> usize {
        self.above_zero().map_or(0, |scan| 1 + scan.steps())
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let region = Region::output(0..self.length);
        let (to, from) = self.peers(rank, step);
        Step {
            send: to.map(|peer| Transfer { peer, region }),
            recv: from.map(|peer| Transfer { peer, region }),
            combine: if step == 0 {
                Combine::Replace
            } else {
                Combine::FoldLeft
            },
            ..Step::IDLE
        }
    }

    fn lengths(&self, _: Rank) -> Lengths {
        Lengths::in_place(self.length)
    }
}
