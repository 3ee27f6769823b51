//! Counts over ranks and steps, and the fingerprint by which messages are matched.

use std::ops::AddAssign;

use crate::Rank;
use crate::schedule::Step;

/// Totals over all ranks and steps.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    /// The number of (rank, step) pairs with an action.
    pub(super) visits: u64,
    pub(super) messages: u64,
    pub(super) elements: u128,
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Sums) {
        self.visits += other.visits;
        self.messages += other.messages;
        self.elements = self.elements.saturating_add(other.elements);
    }
}

/// Totals over the ranks of one step.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) sums: Sums,
    /// The sum of the fingerprints of the messages sent, minus those of the messages received: 0 if the two sets are
    /// equal, and with very high probability only then.
    pub(super) open: u64,
    pub(super) broken: bool,
}

impl Tally {
    #[inline(always)]
    pub(super) fn count(&mut self, rank: Rank, step: &Step) {
        let (mut sent, mut received) = (0, 0);
        self.sums.visits += 1;
        self.broken |= step.clash.is_some();
        if let Some(send) = step.send {
            let elements = send.region.elements();
            sent = mix(rank, send.peer, elements);
            self.broken |= send.peer == rank;
            self.sums.messages += 1;
            self.sums.elements += elements as u128;
        }
        if let Some(recv) = step.recv {
            received = mix(recv.peer, rank, recv.region.elements());
        }
        // One addition rather than two: every sum depends on the previous one.
        let both = sent.wrapping_sub(received);
        self.open = self.open.wrapping_add(both);
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.sums += other.sums;
        self.open = self.open.wrapping_add(other.open);
        self.broken |= other.broken;
    }
}

/// A fingerprint of a message. Ranks have at most 32 bits.
#[inline(always)]
fn mix(from: Rank, to: Rank, elements: usize) -> u64 {
    let ends = (from as u64) << 32 ^ to as u64;
    let ends = ends.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let all = (ends ^ ends >> 29).wrapping_add((elements as u64).rotate_left(17));
    all.wrapping_mul(all)
}
