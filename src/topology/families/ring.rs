//! Rings: rows of ranks in which each sends to its neighbour.
//!
//! A k-ring has k rows that all end at the root. One row is the chain, two are the split ring; the decreasing ring runs
//! in the opposite direction.

use super::family::{Family, SenderRun, assert_some, width};
use crate::Rank;

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
    pub(super) fn new(n: usize, k: usize) -> Ring {
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
    fn ends_at_root(&self, least: usize) -> Option<SenderRun> {
        let (short, longer) = (self.short, self.longer);
        if least < short {
            let first = self.first_short;
            return Some(SenderRun {
                step: short - 1,
                count: self.k - longer,
                first,
                stride: short,
            });
        }
        (least == short && longer > 0).then_some(SenderRun {
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

    fn arrivals(&self, q: Rank, least: usize) -> Option<SenderRun> {
        if q == 0 {
            return self.ends_at_root(least);
        }
        let above = self.row(q).highest - q;
        (above > least).then(|| SenderRun::one(above - 1, q + 1))
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

impl DecreasingRing {
    #[track_caller]
    pub(super) fn new(n: usize) -> DecreasingRing {
        assert_some(n);
        DecreasingRing { n }
    }
}

impl Family for DecreasingRing {
    fn steps(&self) -> usize {
        self.n - 1
    }

    fn successor(&self, p: Rank) -> (usize, Rank) {
        (p - 1, (p + 1) % self.n)
    }

    fn arrivals(&self, q: Rank, least: usize) -> Option<SenderRun> {
        let from = if q == 0 { self.n - 1 } else { q - 1 };
        (from > least).then(|| SenderRun::one(from - 1, from))
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
