//! Broadcasts in packets: which rank passes which packet to which rank in which step. Pure arithmetic.
//!
//! A pipeline along one tree repeats a [`Pattern`](super::Pattern) for every segment. These broadcasts use all ports in
//! nearly every step, so packets take different routes: down two trees alternately, along as many trees as a hypercube
//! has dimensions, or around a circulant graph.

use crate::Rank;

/// A packet in transit, seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// The rank at the other end.
    pub peer: Rank,
    /// The number of the packet.
    pub packet: usize,
}

/// A broadcast from one rank in any number of packets, with one port each way.
///
/// # Laws
///
/// For every number of packets `k`:
/// - `arrival(k, q, s)` is packet `i` from `p` iff `departure(k, p, s)` is packet `i` to `q`;
/// - packets are below `k` and ranks below [`ranks`](Self::ranks), and nothing happens from step
///   [`steps(k)`](Self::steps) on;
/// - every packet reaches every rank except the [root](Self::root) exactly once, and the root never; a rank that passes
///   a packet on received it in an earlier step, and passes it on for the last time at most [`linger`](Self::linger)
///   steps after that (the root: after it first passed it on).
///
/// # Examples
///
/// ```
/// use rankfold::topology::{Circulant, Esbt, Packets, TwoTrees};
///
/// let steps = |broadcast: &dyn Packets| broadcast.steps(10);
/// let found = [steps(&TwoTrees::new(8)), steps(&Esbt::new(3)), steps(&Circulant::new(8))];
/// assert_eq!(found, [14, 13, 12]);
/// ```
pub trait Packets: Sync {
    /// The number of ranks.
    fn ranks(&self) -> usize;

    /// The rank that initially has the packets.
    fn root(&self) -> Rank {
        0
    }

    /// The number of steps for `packets` packets; `packets` is at least 1.
    fn steps(&self, packets: usize) -> usize;

    /// The packet that reaches a rank in a step, with its sender.
    fn arrival(&self, packets: usize, rank: Rank, step: usize) -> Option<Hop>;

    /// The packet that leaves a rank in a step, with its receiver.
    fn departure(&self, packets: usize, rank: Rank, step: usize) -> Option<Hop>;

    /// The maximum number of steps for which a rank keeps a packet that it has yet to pass on.
    fn linger(&self) -> usize;
}

/// The least `d` with `2^d ≥ n`, for `n ≥ 1`.
pub(super) fn ceil_log2(n: usize) -> usize {
    (n - 1).checked_ilog2().map_or(0, |log| log as usize + 1)
}
