//! Stars: every rank sends to the root directly.
//!
//! In the flat tree all messages arrive in one step; in the flat serial tree, one per step. Their single-port forms are
//! equal.

use super::{Family, Run, Shape, assert_some};
use crate::{Rank, topology::Topology};

impl Topology {
    /// The flat tree: all other ranks send to the root in step 0.
    ///
    /// ```text
    /// step 0    1,2,3,4,5,6,7──▶0
    /// ```
    ///
    /// # Cost
    ///
    /// 1 step, `n - 1` in the single-port form; in rank order, whatever the root.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::flat(8).predecessors(0).count(), 7);
    /// assert_eq!(Topology::flat(8).single_port().steps(), 7);
    /// ```
    ///
    /// # Source
    ///
    /// The fully connected topology of Dongarra and Whaley, *A User's Guide to the BLACS*, LAPACK
    /// Working Note 94.
    #[track_caller]
    pub fn flat(n: usize) -> Topology {
        assert_some(n);
        Topology::new(n, Shape::Flat(Flat { n }))
    }

    /// The flat tree with one message per step: rank p sends to the root in step p - 1.
    ///
    /// ```text
    /// 1 ─0▶ 0    2 ─1▶ 0    3 ─2▶ 0    4 ─3▶ 0    5 ─4▶ 0    6 ─5▶ 0    7 ─6▶ 0
    /// ```
    ///
    /// # Cost
    ///
    /// `n - 1` steps, in the single-port form too; in rank order, whatever the root.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::flat_serial(8).successor(5), Some((4, 0)));
    /// ```
    ///
    /// # Source
    ///
    /// The flat tree above, in a form in which Xiong's strict definition fixes the order in which the root receives.
    #[track_caller]
    pub fn flat_serial(n: usize) -> Topology {
        assert_some(n);
        Topology::new(n, Shape::FlatSerial(FlatSerial { n }))
    }
}

#[derive(Clone, Copy, Hash)]
pub(in crate::topology) struct Flat {
    n: usize,
}

impl Family for Flat {
    fn steps(&self) -> usize {
        usize::from(self.n > 1)
    }

    fn successor(&self, _: Rank) -> (usize, Rank) {
        (0, 0)
    }

    fn arrivals(&self, q: Rank, least: usize) -> Option<Run> {
        let any = q == 0 && least == 0 && self.n > 1;
        any.then(|| Run {
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

impl Family for FlatSerial {
    fn steps(&self) -> usize {
        self.n - 1
    }

    fn successor(&self, p: Rank) -> (usize, Rank) {
        (p - 1, 0)
    }

    fn arrivals(&self, q: Rank, least: usize) -> Option<Run> {
        (q == 0 && least < self.n - 1).then(|| Run::one(least, least + 1))
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
