//! As many binomial trees as a hypercube has dimensions, no two of which use an edge the same way.

use super::{Hop, Packets};
use crate::Rank;

/// The broadcast along edge-disjoint spanning binomial trees (ESBT): in step `t` everybody talks across
/// dimension `t mod d`, and packet `i` leaves the source in step `i`.
///
/// In the next `d - 1` steps all who have the packet pass it on, so half the cube has it: those with bit
/// `i mod d` set. In step `i + d` these serve their neighbours in the other half.
///
/// ```text
/// eight ranks        packet 0               packet 1
/// step 0, bit 0      0▶1
/// step 1, bit 1      1▶3                    0▶2
/// step 2, bit 2      1▶5  3▶7               2▶6
/// step 3, bit 0      3▶2  5▶4  7▶6          2▶3  6▶7
/// step 4, bit 1                             3▶1  6▶4  7▶5
/// ```
///
/// Only for a power of two, and as a reduction only for operators that commute.
///
/// # Cost
///
/// `k + d` steps for `k` packets among `2^d` ranks, and `k` for two ranks.
///
/// # Examples
///
/// ```
/// use rankfold::topology::{Esbt, Hop, Packets};
///
/// let trees = Esbt::new(3);
/// assert_eq!(trees.departure(2, 5, 3), Some(Hop { peer: 4, packet: 0 }));
/// assert_eq!(trees.steps(2), 5);
/// assert_eq!(Esbt::on(6), None);
/// ```
///
/// # Source
///
/// Johnsson and Ho, *Optimum broadcasting and personalized communication in hypercubes*, IEEE
/// Transactions on Computers 38(9), 1989.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Esbt {
    dimensions: u32,
    root: Rank,
}

impl Esbt {
    /// On a hypercube of so many dimensions.
    ///
    /// # Panics
    ///
    /// If there are more ranks than a `usize` can count.
    pub fn new(dimensions: u32) -> Esbt {
        assert!(dimensions < usize::BITS, "2^{dimensions} ranks");
        Esbt {
            dimensions,
            root: 0,
        }
    }

    /// On so many ranks; `None` if that is no power of two.
    pub fn on(ranks: usize) -> Option<Esbt> {
        ranks.is_power_of_two().then(|| Esbt::new(ranks.ilog2()))
    }

    /// The same from another source: rank `v` does what rank `v xor root` did.
    ///
    /// # Panics
    ///
    /// If `root` is not a rank.
    pub fn rooted(self, root: Rank) -> Esbt {
        let ranks = self.ranks();
        assert!(
            root < ranks,
            "rank {root} of a hypercube with {ranks} ranks"
        );
        Esbt { root, ..self }
    }

    /// The bit across which everybody talks in a step, if there is a bit.
    fn bit(&self, step: usize) -> Option<usize> {
        step.checked_rem(self.dimensions as usize)
    }

    /// The packet that reaches a rank other than the source, 0, across `bit`.
    ///
    /// Without the bit it is served last, by its neighbour. With the bit, the neighbour has the packet
    /// whose own bit is the one of the neighbour's bits that was the first to be used; the source, which
    /// has none, sends the newest.
    fn packet(&self, packets: usize, rank: Rank, step: usize, bit: usize) -> Option<usize> {
        let d = self.dimensions as usize;
        let age = if rank >> bit & 1 == 0 {
            d
        } else {
            // From the highest bit down, those of this step, of the step before, and so on.
            let by_age = (rank << (d - 1 - bit) | rank >> (bit + 1)) & (self.ranks() - 1);
            d - 1 - by_age.trailing_zeros() as usize
        };
        step.checked_sub(age).filter(|&packet| packet < packets)
    }
}

impl Packets for Esbt {
    fn ranks(&self) -> usize {
        1 << self.dimensions
    }

    fn root(&self) -> Rank {
        self.root
    }

    fn steps(&self, packets: usize) -> usize {
        match self.dimensions as usize {
            0 => 0,
            1 => packets,
            d => packets + d,
        }
    }

    fn arrival(&self, packets: usize, rank: Rank, step: usize) -> Option<Hop> {
        let bit = self.bit(step).filter(|_| rank != self.root)?;
        Some(Hop {
            packet: self.packet(packets, rank ^ self.root, step, bit)?,
            peer: rank ^ 1 << bit,
        })
    }

    fn departure(&self, packets: usize, rank: Rank, step: usize) -> Option<Hop> {
        let bit = self.bit(step)?;
        let peer = Some(rank ^ 1 << bit).filter(|&peer| peer != self.root)?;
        Some(Hop {
            packet: self.packet(packets, peer ^ self.root, step, bit)?,
            peer,
        })
    }

    fn linger(&self) -> usize {
        self.dimensions as usize
    }
}
