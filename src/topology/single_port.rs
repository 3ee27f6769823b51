//! The single-port form: at most one arrival per rank and step.
//!
//! A rank takes its predecessors in order of (step, rank), each as soon as it is ready and its turn has come: q's
//! message in step `max(ready(q), last + 1)`, where `last` is the receiver's previous arrival and `ready(q)` is the
//! step after q's own last arrival, 0 for a leaf. Families know the result in closed form; a table computes it when it
//! is made.

use std::fmt;

use super::{Pattern, Topology, last_before, least_after};
use crate::Rank;

impl Topology {
    /// The step in which rank `p` sends in the [single-port form](Self::single_port); `None` for
    /// the root.
    ///
    /// # Panics
    ///
    /// If `p` is not a rank.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let tree = Topology::k_tree(8, 2);
    /// assert_eq!(tree.successor(2), Some((0, 0)));
    /// assert_eq!(tree.port_step(2), Some(1)); // the root is busy with rank 1 in step 0
    /// ```
    pub fn port_step(&self, p: Rank) -> Option<usize> {
        let v = self.inner(p);
        (v != self.family().root()).then(|| self.family().port_step(v))
    }

    /// The number of steps of the [single-port form](Self::single_port).
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::k_tree(13, 2).port_steps(), 5);
    /// ```
    pub fn port_steps(&self) -> usize {
        self.family().port_steps()
    }

    /// The same tree with at most one arrival per rank and step.
    ///
    /// Arrivals at a rank are ordered by step and then by rank. A [rotated](Self::rooted) tree keeps the order that it
    /// had before the rotation, and therefore the number of steps.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let port = Topology::k_tree(8, 2).single_port();
    /// let arrivals: Vec<_> = (0..port.steps()).filter_map(|s| port.from(0, s)).collect();
    /// assert_eq!(arrivals, [1, 2, 3, 6]);
    /// ```
    pub fn single_port(&self) -> SinglePort {
        SinglePort {
            topology: self.clone(),
        }
    }
}

/// The single-port form of a [`Topology`]: at most one send and one receive per rank and step.
///
/// # Laws
///
/// `to(p, s) == Some(q)` iff `from(q, s) == Some(p)`; ranks are below [`ranks`](Self::ranks), steps
/// below [`steps`](Self::steps).
#[derive(Clone, PartialEq, Eq)]
pub struct SinglePort {
    topology: Topology,
}

impl SinglePort {
    /// The underlying topology.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.topology.ranks()
    }

    /// The number of steps: the last step with a message, plus one.
    pub fn steps(&self) -> usize {
        self.topology.port_steps()
    }

    /// The rank that rank `p` sends to in step `s`.
    ///
    /// # Panics
    ///
    /// If `p` is not a rank.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let port = Topology::flat(4).single_port();
    /// assert_eq!(port.to(3, 2), Some(0));
    /// assert_eq!(port.to(3, 0), None);
    /// ```
    pub fn to(&self, p: Rank, s: usize) -> Option<Rank> {
        let sends_now = self.topology.port_step(p)? == s;
        if sends_now {
            self.topology.successor(p).map(|(_, to)| to)
        } else {
            None
        }
    }

    /// The rank that rank `q` receives from in step `s`.
    ///
    /// # Panics
    ///
    /// If `q` is not a rank.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::flat(4).single_port().from(0, 2), Some(3));
    /// ```
    pub fn from(&self, q: Rank, s: usize) -> Option<Rank> {
        let (step, from) = self.arrival(q, s)?;
        (step == s).then_some(from)
    }

    /// The least step after `after` in which rank `p` sends or receives; with `None`, the first such step.
    ///
    /// # Panics
    ///
    /// If `p` is not a rank.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let port = Topology::chain(1_000_000).single_port();
    /// assert_eq!(port.next_active(0, None), Some(999_998));
    /// assert_eq!(port.next_active(7, Some(999_991)), Some(999_992));
    /// assert_eq!(port.next_active(7, Some(999_992)), None);
    /// ```
    pub fn next_active(&self, p: Rank, after: Option<usize>) -> Option<usize> {
        let least = least_after(after)?;
        // A rank sends after all its receives.
        let receives = self.arrival(p, least).map(|(step, _)| step);
        receives.or_else(|| self.topology.port_step(p).filter(|&step| step >= least))
    }

    /// The last step before `before` in which rank `p` sends or receives.
    pub(super) fn last_active(&self, p: Rank, before: usize) -> Option<usize> {
        let sends = self.topology.port_step(p).filter(|&step| step < before);
        let receives = |least| self.arrival(p, least).map(|(step, _)| step);
        sends.or_else(|| last_before(before, &receives))
    }

    /// The first arrival at `q` in step `least` or later.
    fn arrival(&self, q: Rank, least: usize) -> Option<(usize, Rank)> {
        let topology = &self.topology;
        let (step, from) = topology.family().port_arrival(topology.inner(q), least)?;
        Some((step, topology.outer(from)))
    }
}

impl Pattern for SinglePort {
    fn ranks(&self) -> usize {
        SinglePort::ranks(self)
    }
    fn steps(&self) -> usize {
        SinglePort::steps(self)
    }
    fn to(&self, p: Rank, s: usize) -> Option<Rank> {
        SinglePort::to(self, p, s)
    }
    fn from(&self, q: Rank, s: usize) -> Option<Rank> {
        SinglePort::from(self, q, s)
    }
    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        SinglePort::next_active(self, rank, after)
    }
    fn last_active(&self, rank: Rank, before: usize) -> Option<usize> {
        SinglePort::last_active(self, rank, before)
    }
}

impl fmt::Debug for SinglePort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SinglePort")
            .field("topology", &self.topology)
            .field("steps", &self.steps())
            .finish()
    }
}
