//! Rings: rows of ranks in which each sends to its neighbour.
//!
//! A k-ring has k rows that all end at the root. One row is the chain, two are the split ring; the decreasing ring runs
//! in the opposite direction.

use super::{Family, Run, Shape, assert_some, width};
use crate::{Rank, topology::Topology};

impl Topology {
    /// The chain: each rank sends to the one below it, starting with the highest.
    ///
    /// ```text
    /// 7 ─0▶ 6 ─1▶ 5 ─2▶ 4 ─3▶ 3 ─4▶ 2 ─5▶ 1 ─6▶ 0        (the number on an arrow is its step)
    /// ```
    ///
    /// # Cost
    ///
    /// `n - 1` steps, in the single-port form too; in rank order.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::chain(8).successor(5), Some((2, 4)));
    /// ```
    ///
    /// # Source
    ///
    /// The 1-ring of Xiong 2015, and the increasing ring of Dongarra and Whaley, *A User's Guide to
    /// the BLACS*, LAPACK Working Note 94.
    #[track_caller]
    pub fn chain(n: usize) -> Topology {
        Topology::new(n, Shape::Chain(Ring::new(n, 1)))
    }

    /// The decreasing ring: each rank sends to the one above it, and the highest sends to the root.
    ///
    /// ```text
    /// 1 ─0▶ 2 ─1▶ 3 ─2▶ 4 ─3▶ 5 ─4▶ 6 ─5▶ 7 ─6▶ 0
    /// ```
    ///
    /// # Cost
    ///
    /// `n - 1` steps, in the single-port form too; in rank order.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::decreasing_ring(8).successor(7), Some((6, 0)));
    /// ```
    ///
    /// # Source
    ///
    /// Dongarra and Whaley, *A User's Guide to the BLACS*, LAPACK Working Note 94.
    #[track_caller]
    pub fn decreasing_ring(n: usize) -> Topology {
        assert_some(n);
        Topology::new(n, Shape::DecreasingRing(DecreasingRing { n }))
    }

    /// The split ring: two chains of half the length, which the root takes one after the other.
    ///
    /// ```text
    /// 4 ─0▶ 3 ─1▶ 2 ─2▶ 1 ─3▶ 0
    ///       7 ─0▶ 6 ─1▶ 5 ─2▶ 0
    /// ```
    ///
    /// # Cost
    ///
    /// ⌈(n-1)/2⌉ steps, ⌈n/2⌉ in the single-port form; in rank order.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let ring = Topology::split_ring(8);
    /// assert_eq!(ring.successor(1), Some((3, 0)));
    /// assert_eq!(ring.successor(5), Some((2, 0)));
    /// ```
    ///
    /// # Source
    ///
    /// Dongarra and Whaley, *A User's Guide to the BLACS*, LAPACK Working Note 94.
    #[track_caller]
    pub fn split_ring(n: usize) -> Topology {
        Topology::new(n, Shape::SplitRing(Ring::new(n, 2)))
    }

    /// The k-ring: ranks `1..n` in `k` rows of neighbours, the longer ones first, each of them a chain.
    ///
    /// ```text
    /// k = 3    3 ─0▶ 2 ─1▶ 1 ─2▶ 0
    ///                5 ─0▶ 4 ─1▶ 0
    ///                7 ─0▶ 6 ─1▶ 0
    /// ```
    ///
    /// There are at most `n - 1` rows: a larger `k` counts as `n - 1`.
    ///
    /// # Cost
    ///
    /// ⌈(n-1)/k⌉ steps; ⌈(n-1)/k⌉ + k - 1 in the single-port form, one less if k does not divide n - 1; in rank order.
    ///
    /// # Panics
    ///
    /// If `n` or `k` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let ring = Topology::k_ring(8, 3);
    /// assert_eq!(ring.predecessors(0).map(|t| t.from).collect::<Vec<_>>(), [4, 6, 1]);
    /// assert_eq!(Topology::k_ring(8, 100), Topology::flat(8));
    /// ```
    ///
    /// # Source
    ///
    /// The multi-ring of Dongarra and Whaley, *A User's Guide to the BLACS*, LAPACK Working Note 94.
    #[track_caller]
    pub fn k_ring(n: usize, k: usize) -> Topology {
        Topology::new(n, Shape::KRing(Ring::new(n, k)))
    }
}

/// Ranks `1..n` in `k` rows; the first `longer` rows have `short + 1` ranks, the others `short`.
#[derive(Clone, Copy, Hash)]
pub(in crate::topology) struct Ring {
    n: usize,
    k: usize,
    short: usize,
    longer: usize,
    /// The lowest rank of the first row that is not a longer one.
    first_short: Rank,
}

/// Ranks `lowest..=highest`, a chain down to `lowest`; `index` counts the rows.
struct Row {
    index: usize,
    lowest: Rank,
    highest: Rank,
}

impl Ring {
    #[track_caller]
    fn new(n: usize, k: usize) -> Ring {
        let k = width(n, k);
        let (short, longer) = ((n - 1) / k, (n - 1) % k);
        Ring {
            n,
            k,
            short,
            longer,
            first_short: 1 + longer * (short + 1),
        }
    }

    pub(super) fn k(&self) -> usize {
        self.k
    }

    /// The row of `v`, which is not the root.
    fn row(&self, v: Rank) -> Row {
        let (from, length, before) = if v < self.first_short {
            (1, self.short + 1, 0)
        } else {
            (self.first_short, self.short, self.longer)
        };
        // The chain has a single long row; this avoids a division per query.
        let place = v - from;
        let index = if place < length { 0 } else { place / length };
        let lowest = from + index * length;
        Row {
            index: before + index,
            lowest,
            highest: lowest + length - 1,
        }
    }

    /// The rows reach the root in at most two steps: all shorter ones, then all longer ones.
    fn ends_at_root(&self, least: usize) -> Option<Run> {
        let (short, longer) = (self.short, self.longer);
        if least < short {
            let first = self.first_short;
            return Some(Run {
                step: short - 1,
                count: self.k - longer,
                first,
                stride: short,
            });
        }
        (least == short && longer > 0).then_some(Run {
            step: short,
            count: longer,
            first: 1,
            stride: short + 1,
        })
    }

    /// The step in which the root takes row `index`: the shorter rows back to back, then the longer ones.
    fn port_of_row(&self, index: usize) -> usize {
        let turn = if index < self.longer {
            index + self.k - self.longer
        } else {
            index - self.longer
        };
        self.short - 1 + turn
    }
}

impl Family for Ring {
    fn steps(&self) -> usize {
        self.short + usize::from(self.longer > 0)
    }

    fn successor(&self, p: Rank) -> (usize, Rank) {
        let row = self.row(p);
        (row.highest - p, if p == row.lowest { 0 } else { p - 1 })
    }

    fn arrivals(&self, q: Rank, least: usize) -> Option<Run> {
        if q == 0 {
            return self.ends_at_root(least);
        }
        let above = self.row(q).highest - q;
        (above > least).then(|| Run::one(above - 1, q + 1))
    }

    fn in_order_from(&self, c: Rank) -> bool {
        c == 0 || self.row(c).lowest == c
    }

    fn port_step(&self, p: Rank) -> usize {
        let row = self.row(p);
        if p == row.lowest {
            self.port_of_row(row.index)
        } else {
            row.highest - p
        }
    }

    fn port_steps(&self) -> usize {
        if self.n == 1 {
            0
        } else {
            self.short + self.k - 1
        }
    }
}

/// `1 → 2 → ... → n-1 → 0`.
#[derive(Clone, Copy, Hash)]
pub(in crate::topology) struct DecreasingRing {
    n: usize,
}

impl Family for DecreasingRing {
    fn steps(&self) -> usize {
        self.n - 1
    }

    fn successor(&self, p: Rank) -> (usize, Rank) {
        (p - 1, (p + 1) % self.n)
    }

    fn arrivals(&self, q: Rank, least: usize) -> Option<Run> {
        let from = if q == 0 { self.n - 1 } else { q - 1 };
        (from > least).then(|| Run::one(from - 1, from))
    }

    fn in_order_from(&self, c: Rank) -> bool {
        c <= 1
    }

    fn port_step(&self, p: Rank) -> usize {
        p - 1
    }

    fn port_steps(&self) -> usize {
        self.n - 1
    }
}
