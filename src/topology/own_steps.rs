//! A topology as a pattern in its own steps, for topologies in which no two triples enter a rank in one step.

use super::{Pattern, Topology, last_before};
use crate::Rank;

/// A [`Topology`] in its own steps: `<p, t, q>` happens in step `t`, not earlier.
///
/// In the [single-port form](Topology::single_port) every rank sends as soon as it can, so leaves with long waits send
/// early. That is right for a single message. A pipeline must keep the distances between the steps of a rank: a
/// pipeline of period 2 serves both children only where their steps are adjacent.
///
/// It is a pattern only if no two triples enter a rank in one step, as in the chain, the binomial, the in-order and the
/// Fibonacci tree. For other topologies [`from`](Pattern::from) returns only the first triple, and the
/// [checker](mod@crate::check) refuses schedules built on it.
///
/// # Examples
///
/// ```
/// use rankfold::topology::{OwnSteps, Pattern, Topology};
///
/// let tree = Topology::in_order(6); // 4 has the children 2 and 5, and 5 is a leaf
/// assert_eq!(tree.single_port().to(5, 0), Some(4));
/// let own = OwnSteps::new(tree);
/// assert_eq!((own.from(4, 1), own.from(4, 2)), (Some(5), Some(2)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnSteps {
    topology: Topology,
}

impl OwnSteps {
    /// The topology in its own steps.
    pub fn new(topology: Topology) -> OwnSteps {
        OwnSteps { topology }
    }
}

impl Pattern for OwnSteps {
    fn ranks(&self) -> usize {
        self.topology.ranks()
    }
    #[inline]
    fn steps(&self) -> usize {
        self.topology.steps()
    }
    #[inline]
    fn to(&self, p: Rank, s: usize) -> Option<Rank> {
        let (step, to) = self.topology.successor(p)?;
        (step == s).then_some(to)
    }
    #[inline]
    fn from(&self, q: Rank, s: usize) -> Option<Rank> {
        let next = self.topology.arrival(q, s)?;
        (next.step == s).then_some(next.from)
    }
    #[inline]
    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        // A rank sends after all its receives.
        let sends = || {
            let (step, _) = self.topology.successor(rank)?;
            Some(step).filter(|&step| after < Some(step))
        };
        self.topology.next_step(rank, after).or_else(sends)
    }
    #[inline]
    fn last_active(&self, rank: Rank, before: usize) -> Option<usize> {
        let sends = self.topology.successor(rank).map(|(step, _)| step);
        let receives = |least: usize| self.topology.next_step(rank, least.checked_sub(1));
        let sends = sends.filter(|&step| step < before);
        sends.or_else(|| last_before(before, &receives))
    }
}
