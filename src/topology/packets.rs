//! Broadcasts in packets: who passes which packet to whom in which step. Arithmetic, nothing else.
//!
//! A pipeline along one tree repeats a [`Pattern`](super::Pattern) for every segment. These use all
//! ports in nearly every step, so that packets go different ways: down two trees in turn, along as many
//! as a hypercube has dimensions, or round a circulant graph.

use crate::Rank;

/// One packet on its way, seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// The rank at the other end.
    pub peer: Rank,
    /// The number of the packet.
    pub packet: usize,
}

/// A broadcast from one rank in any number of packets, one port each way.
///
/// # Laws
///
/// For every number of packets `k`:
/// - `arrival(k, q, s)` is packet `i` from `p` iff `departure(k, p, s)` is packet `i` to `q`;
/// - packets are below `k` and ranks below [`ranks`](Self::ranks), and nothing happens from step
///   [`steps(k)`](Self::steps) on;
/// - every packet reaches every rank but the [root](Self::root) exactly once, and the root never; who
///   passes a packet on has it from an earlier step, and passes it on for the last time at most
///   [`linger`](Self::linger) steps after that (the root: after it first did).
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

    /// The rank that has the packets.
    fn root(&self) -> Rank {
        0
    }

    /// The number of steps for so many packets, at least 1.
    fn steps(&self, packets: usize) -> usize;

    /// What reaches a rank in a step.
    fn arrival(&self, packets: usize, rank: Rank, step: usize) -> Option<Hop>;

    /// What leaves a rank in a step.
    fn departure(&self, packets: usize, rank: Rank, step: usize) -> Option<Hop>;

    /// How many steps a rank at most keeps a packet that it has yet to pass on.
    fn linger(&self) -> usize;
}

/// The least `d` with `2^d ≥ n`, for `n ≥ 1`.
pub(super) fn ceil_log2(n: usize) -> usize {
    (n - 1).checked_ilog2().map_or(0, |log| log as usize + 1)
}
