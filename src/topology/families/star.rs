//! Stars: every rank sends to the root directly.
//!
//! In the flat tree all messages arrive in one step; in the flat serial tree, one per step. Their single-port forms are
//! equal.

use super::family::{Family, SenderRun, assert_some};
use crate::Rank;

#[derive(Clone, Copy, Hash)]
pub(in crate::topology) struct Flat {
    n: usize,
}

impl Flat {
    #[track_caller]
    pub(super) fn new(n: usize) -> Flat {
        assert_some(n);
        Flat { n }
    }
}

impl Family for Flat {
    fn steps(&self) -> usize {
        usize::from(self.n > 1)
    }

    fn successor(&self, _: Rank) -> (usize, Rank) {
        (0, 0)
    }

    fn arrivals(&self, q: Rank, least: usize) -> Option<SenderRun> {
        let any = q == 0 && least == 0 && self.n > 1;
        any.then(|| SenderRun {
            step: 0,
            count: self.n - 1,
            first: 1,
            stride: 1,
        })
    }

    fn in_order_from(&self, _: Rank) -> bool {
        true
    }

    fn port_step(&self, p: Rank) -> usize {
        p - 1
    }

    fn port_steps(&self) -> usize {
        self.n - 1
    }
}

#[derive(Clone, Copy, Hash)]
pub(in crate::topology) struct FlatSerial {
    n: usize,
}

impl FlatSerial {
    #[track_caller]
    pub(super) fn new(n: usize) -> FlatSerial {
        assert_some(n);
        FlatSerial { n }
    }
}

impl Family for FlatSerial {
    fn steps(&self) -> usize {
        self.n - 1
    }

    fn successor(&self, p: Rank) -> (usize, Rank) {
        (p - 1, 0)
    }

    fn arrivals(&self, q: Rank, least: usize) -> Option<SenderRun> {
        (q == 0 && least < self.n - 1).then(|| SenderRun::one(least, least + 1))
    }

    // The root has one run per rank: too many to iterate over.
    fn predecessor_count(&self, q: Rank) -> usize {
        if q == 0 { self.n - 1 } else { 0 }
    }

    fn in_order_from(&self, _: Rank) -> bool {
        true
    }

    fn port_step(&self, p: Rank) -> usize {
        p - 1
    }

    fn port_steps(&self) -> usize {
        self.n - 1
    }

    fn port_arrival(&self, q: Rank, least: usize) -> Option<(usize, Rank)> {
        Flat { n: self.n }.port_arrival(q, least)
    }
}
