//! A circulant graph, on which packets spread in the minimum number of steps.

use super::packets::ceil_log2;
use super::{Hop, Packets};
use crate::Rank;

/// The broadcast on a circulant graph: in step `s` every rank sends to the rank `skip` places ahead. The skips are `⌈P
/// / 2^j⌉` for `j` from `q = ⌈log₂ P⌉` down to 1, repeated cyclically, such that the last step uses the largest.
///
/// Packet `i` leaves rank 0 in step `i`. In any `q` consecutive steps, which use every skip once, a rank receives `q`
/// different packets: one that is new in its neighbourhood, and those that were new in others.
///
/// ```text
/// five ranks, four packets     ranks    1  2  3  4       receive
/// step 0, skip 1                        0  ·  ·  ·
/// step 1, skip 2                        ·  1  ·  ·
/// step 2, skip 3                        ·  ·  2  0
/// step 3, skip 1                        3  0  1  2
/// step 4, skip 2                        2  3  0  1
/// step 5, skip 3                        1  2  3  3
/// ```
///
/// # Cost
///
/// `⌈log₂ P⌉ + k - 1` steps for `k` packets and any number of ranks, which is optimal. A rank's actions in a step are
/// found by a search of at most about `⌈log₂ P⌉²` operations, without a table.
///
/// # Examples
///
/// ```
/// use rankfold::topology::{Circulant, Hop, Packets};
///
/// let graph = Circulant::new(5);
/// assert_eq!((graph.steps(1), graph.steps(4)), (3, 6));
/// assert_eq!(graph.departure(4, 0, 2), Some(Hop { peer: 3, packet: 2 }));
/// ```
///
/// # Source
///
/// Träff, *Optimal Broadcast Schedules in Logarithmic Time with Applications to Broadcast,
/// All-Broadcast, Reduction and All-Reduction*, arXiv 2407.18004, 2024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circulant {
    ranks: usize,
}

impl Circulant {
    /// The graph of `ranks` ranks.
    ///
    /// # Panics
    ///
    /// If `ranks` is 0.
    #[track_caller]
    pub fn new(ranks: usize) -> Circulant {
        assert!(ranks > 0, "a circulant graph of 0 ranks");
        Circulant { ranks }
    }

    /// The number of skips.
    fn skips(&self) -> usize {
        ceil_log2(self.ranks)
    }

    /// Skip `j`, in ascending order. The value after the last skip is the number of ranks.
    fn skip(&self, j: usize) -> usize {
        // The shift may exceed the width of the type, which leaves no bits.
        let halvings = (self.skips() - j) as u32;
        (self.ranks - 1).checked_shr(halvings).unwrap_or(0) + 1
    }

    /// The skip of a step, if `step` is in range.
    fn skip_in(&self, packets: usize, step: usize) -> Option<usize> {
        let lies = step < self.steps(packets);
        lies.then(|| self.skip((step + self.idle(packets)) % self.skips()))
    }

    /// The number of steps of the first turn that are left out so that the last turn is whole: the last packet leaves
    /// in the last turn's first step.
    fn idle(&self, packets: usize) -> usize {
        let q = self.skips();
        (q - (packets - 1) % q) % q
    }

    /// The packet that reaches a rank other than 0 in a step.
    fn packet(&self, packets: usize, rank: Rank, step: usize) -> Option<usize> {
        let q = self.skips();
        let idle = self.idle(packets);
        let (turn, slot) = ((step + idle) / q, (step + idle) % q);
        let packet = (q * turn + self.label(rank, slot)).checked_sub(q + idle)?;
        // Packet numbers past the last stand for the last packet, sent to ranks that do not have it yet.
        Some(packet.min(packets - 1))
    }

    /// The packet that reaches a rank in a slot, counted from the first packet of the turn before: each of those `q`
    /// except the rank's own, whose place is taken by the rank's next own packet, `q` later.
    fn label(&self, rank: Rank, slot: usize) -> usize {
        let q = self.skips();
        let mut search = Search {
            graph: *self,
            target: self.ranks as u128 + rank as u128,
            free: (2 << q) - 1,
            before: u128::MAX,
            label: 0,
            found: 0,
            wanted: slot + 1,
        };
        let own = self.own(rank);
        search.free ^= 1 << own;
        search.from(0, q);
        if search.label == q {
            own + q
        } else {
            search.label
        }
    }

    /// The smallest skip on the greedy path from rank 0 to `rank`, which takes the largest possible skips first. It is
    /// the slot in which packets that are new in that rank's neighbourhood arrive.
    fn own(&self, rank: Rank) -> usize {
        let mut left = rank;
        let mut skips = (0..self.skips()).rev();
        let last = skips.find(|&j| {
            left = left.checked_sub(self.skip(j)).unwrap_or(left);
            left == 0
        });
        last.unwrap_or(0)
    }
}

/// A search for the labels of a rank, slot by slot.
///
/// Positions `0..=target` are the ranks of two turns, rank `x mod P` at `x`. The last skip on the path from 0 to a
/// position is the label of the packets that are new there. In slot `j` the rank may receive a packet that is new at
/// some position from `target - skip(j + 1) + 1` to `target - skip(j)`: the slots before have carried it from there to
/// the sender. A path is tried before the positions that it leads through, and a label that has been found is not used
/// again.
struct Search {
    graph: Circulant,
    target: u128,
    /// Labels that may still be used, as bits.
    free: u128,
    /// The position found last; later finds lie before it.
    before: u128,
    /// The label of that position.
    label: usize,
    /// The number of slots whose label is known.
    found: usize,
    /// The number of slots that need a label.
    wanted: usize,
}

impl Search {
    /// The last position from which slot `j` can be served.
    fn reach(&self, j: usize) -> u128 {
        self.target - self.graph.skip(j) as u128
    }

    /// Tries the paths that extend a position by skips up to `most`.
    fn from(&mut self, position: u128, most: usize) {
        for skip in (0..=most).rev() {
            let next = position + self.graph.skip(skip) as u128;
            let is_free = |free: u128| free >> skip & 1 == 1;
            if !is_free(self.free) || next > self.reach(self.found) || next >= self.before {
                continue;
            }
            if next <= self.reach(self.found + 1) {
                self.from(next, skip);
            }
            if self.found == self.wanted || position > self.reach(self.found + 1) {
                return;
            }
            if is_free(self.free) {
                self.free ^= 1 << skip;
                (self.before, self.label) = (next, skip);
                self.found += 1;
            }
            if self.found == self.wanted {
                return;
            }
        }
    }
}

impl Packets for Circulant {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn steps(&self, packets: usize) -> usize {
        match self.skips() {
            0 => 0,
            q => q + packets - 1,
        }
    }

    fn arrival(&self, packets: usize, rank: Rank, step: usize) -> Option<Hop> {
        let skip = self.skip_in(packets, step)?;
        let packet = (rank > 0).then(|| self.packet(packets, rank, step))??;
        let peer = match rank.checked_sub(skip) {
            Some(peer) => peer,
            None => rank + (self.ranks - skip),
        };
        Some(Hop { peer, packet })
    }

    fn departure(&self, packets: usize, rank: Rank, step: usize) -> Option<Hop> {
        let before_wrap = self.ranks - self.skip_in(packets, step)?;
        let peer = match rank.checked_sub(before_wrap) {
            Some(peer) => peer,
            None => self.ranks - (before_wrap - rank),
        };
        let packet = (peer > 0).then(|| self.packet(packets, peer, step))??;
        Some(Hop { peer, packet })
    }

    fn linger(&self) -> usize {
        2 * self.skips()
    }
}
