//! As many binomial trees as a hypercube has dimensions, no two of which use an edge in the same direction.

use super::{Hop, Packets};
use crate::Rank;

/// The broadcast along edge-disjoint spanning binomial trees (ESBT): in step `t` every rank communicates across
/// dimension `t mod d`, and packet `i` leaves the source in step `i`.
///
/// In the next `d - 1` steps every rank that has the packet passes it on, until half of the cube has it: the ranks with
/// bit `i mod d` set. In step `i + d` these serve their neighbours in the other half.
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
/// The number of ranks must be a power of two. As a reduction it suits only operators that commute.
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
    /// The trees on a hypercube of `dimensions` dimensions.
    ///
    /// # Panics
    ///
    /// If there are more ranks than a `usize` can count.
    #[track_caller]
    pub fn new(dimensions: u32) -> Esbt {
        assert!(dimensions < usize::BITS, "2^{dimensions} ranks");
        Esbt {
            dimensions,
            root: 0,
        }
    }

    /// The trees on `ranks` ranks; `None` if that is not a power of two.
    pub fn on(ranks: usize) -> Option<Esbt> {
        ranks.is_power_of_two().then(|| Esbt::new(ranks.ilog2()))
    }

    /// The same broadcast from another source: rank `v` takes the part of rank `v xor root`.
    ///
    /// # Panics
    ///
    /// If `root` is not a rank.
    #[track_caller]
    pub fn rooted(self, root: Rank) -> Esbt {
        let ranks = self.ranks();
        assert!(
            root < ranks,
            "rank {root} of a hypercube with {ranks} ranks"
        );
        Esbt { root, ..self }
    }

    /// The dimension used in a step, if there is any.
    fn bit(&self, step: usize) -> Option<usize> {
        step.checked_rem(self.dimensions as usize)
    }

    /// The packet that reaches a rank other than the source, rank 0, across `bit`.
    ///
    /// A rank without the bit set is served last, by its neighbour. For a rank with the bit set, the neighbour has the
    /// packet whose own bit is the earliest used among the neighbour's bits; the source, which has no bits set, sends
    /// the newest packet.
    fn packet(&self, packets: usize, rank: Rank, step: usize, bit: usize) -> Option<usize> {
        let d = self.dimensions as usize;
        let age = if rank >> bit & 1 == 0 {
            d
        } else {
            // The other bits from the highest down: those of this step, of the step before, and so on.
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
