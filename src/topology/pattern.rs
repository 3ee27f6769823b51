//! Patterns: any triples with at most one send and one receive per rank and step. Pure arithmetic: who sends to whom in
//! which step, not what.
//!
//! A tree's [single-port form](super::SinglePort) is a pattern; so are the exchanges and circles of
//! [`cube`](super::cube), which are not trees.

use super::{Triple, least_after};
use crate::Rank;

/// The triples of a communication pattern, with one port each way per rank.
///
/// # Laws
///
/// `to(p, s) == Some(q)` iff `from(q, s) == Some(p)`. Ranks are below [`ranks`](Self::ranks), and
/// nothing happens from step [`steps`](Self::steps) on.
///
/// # Examples
///
/// ```
/// use rankfold::topology::{Hypercube, Pattern, Topology};
///
/// let tree = Topology::binomial(8).single_port();
/// assert_eq!((tree.to(6, 1), tree.from(4, 1)), (Some(4), Some(6)));
/// assert_eq!(Hypercube::new(3).to(6, 1), Some(4)); // and 4 sends to 6 in the same step
/// ```
pub trait Pattern: Sync {
    /// The number of ranks.
    fn ranks(&self) -> usize;

    /// The number of steps.
    fn steps(&self) -> usize;

    /// The rank that rank `p` sends to in step `s`.
    fn to(&self, p: Rank, s: usize) -> Option<Rank>;

    /// The rank that rank `q` receives from in step `s`.
    fn from(&self, q: Rank, s: usize) -> Option<Rank>;

    /// The first step after `after` (or the first of all, for `None`) in which the rank sends or receives. Patterns
    /// with many steps in which a rank is mostly idle answer this without visiting each step.
    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let (mut step, steps) = (least_after(after)?, self.steps());
        while step < steps {
            if self.to(rank, step).is_some() || self.from(rank, step).is_some() {
                return Some(step);
            }
            step += 1;
        }
        None
    }

    /// The last step before `before` in which the rank sends or receives.
    fn last_active(&self, rank: Rank, before: usize) -> Option<usize> {
        last_before(before, &|least| {
            self.next_active(rank, least.checked_sub(1))
        })
    }

    /// All triples, ordered by step and then by sender.
    fn triples(&self) -> impl Iterator<Item = Triple>
    where
        Self: Sized,
    {
        let sends = move |step| {
            let triple = move |from| {
                Some(Triple {
                    from,
                    step,
                    to: self.to(from, step)?,
                })
            };
            (0..self.ranks()).filter_map(triple)
        };
        (0..self.steps()).flat_map(sends)
    }
}

impl<P: Pattern + ?Sized> Pattern for &P {
    fn ranks(&self) -> usize {
        (**self).ranks()
    }
    fn steps(&self) -> usize {
        (**self).steps()
    }
    fn to(&self, p: Rank, s: usize) -> Option<Rank> {
        (**self).to(p, s)
    }
    fn from(&self, q: Rank, s: usize) -> Option<Rank> {
        (**self).from(q, s)
    }
    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        (**self).next_active(rank, after)
    }
    fn last_active(&self, rank: Rank, before: usize) -> Option<usize> {
        (**self).last_active(rank, before)
    }
}

/// The last step below `before`, given a function that returns the first step from some step on. The search looks back
/// twice as far each time, and bisects once it has found one. Usually the step is near, or there is none.
pub(crate) fn last_before(
    before: usize,
    first_from: &dyn Fn(usize) -> Option<usize>,
) -> Option<usize> {
    let found = |least, end| first_from(least).filter(|&step| step < end);
    let (mut last, mut high, mut back) = (found(0, before)?, before, 1);
    while last + 1 < high {
        let low = high.saturating_sub(back).max(last + 1);
        match found(low, high) {
            Some(step) => (last, back) = (step, (high - step).div_ceil(2)),
            None => (high, back) = (low, back.saturating_mul(2)),
        }
    }
    Some(last)
}
