//! Patterns that are not trees because a rank has several successors: the hypercube's exchanges, the dissemination on a
//! circle, and the two patterns of a scan, the doubling shift and the line.

use super::Pattern;
use crate::Rank;

/// The least `d` with `2^d ≥ n`, for `n ≥ 1`.
fn ceil_log2(n: usize) -> usize {
    (n - 1).checked_ilog2().map_or(0, |log| log as usize + 1)
}

/// `2^s`, or `None` if it exceeds every rank.
fn distance(s: usize) -> Option<usize> {
    1usize.checked_shl(s.try_into().ok()?)
}

/// The exchanges across the dimensions of a hypercube, `p ↔ p xor 2^s` in step `s`.
///
/// ```text
/// step 0   0↔1  2↔3  4↔5  6↔7
/// step 1   0↔2  1↔3  4↔6  5↔7
/// step 2   0↔4  1↔5  2↔6  3↔7
/// ```
///
/// The dimensions count up, so that the ranks that have met are always a run, and a fold keeps rank order. Listings that
/// count down exchange across the same dimensions in the opposite order, which is as fast, but only for operators that
/// commute.
///
/// # Examples
///
/// ```
/// use rankfold::topology::{Hypercube, Pattern};
///
/// let cube = Hypercube::new(3);
/// assert_eq!((cube.ranks(), cube.steps()), (8, 3));
/// assert_eq!((0..3).map(|s| cube.to(5, s).unwrap()).collect::<Vec<_>>(), [4, 7, 1]);
/// ```
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, 11.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hypercube {
    dimensions: u32,
}

impl Hypercube {
    /// The cube of `2^dimensions` ranks.
    ///
    /// # Panics
    ///
    /// If there are more ranks than a `usize` can count.
    #[track_caller]
    pub fn new(dimensions: u32) -> Hypercube {
        assert!(dimensions < usize::BITS, "2^{dimensions} ranks");
        Hypercube { dimensions }
    }
}

impl Pattern for Hypercube {
    fn ranks(&self) -> usize {
        1 << self.dimensions
    }
    fn steps(&self) -> usize {
        self.dimensions as usize
    }
    #[inline]
    fn to(&self, p: Rank, s: usize) -> Option<Rank> {
        (p < self.ranks() && s < self.steps()).then(|| p ^ 1 << s)
    }
    #[inline]
    fn from(&self, q: Rank, s: usize) -> Option<Rank> {
        self.to(q, s)
    }
}

/// Dissemination on a circle: in step `s` every rank sends to the one `2^s` places ahead.
///
/// After `⌈log₂ n⌉` steps every rank has heard from every other, directly or indirectly: a barrier for any number of
/// ranks.
///
/// # Examples
///
/// ```
/// use rankfold::topology::{Circle, Pattern};
///
/// let circle = Circle::new(5);
/// assert_eq!(circle.steps(), 3);
/// assert_eq!((circle.to(4, 1), circle.from(4, 2)), (Some(1), Some(0)));
/// ```
///
/// # Source
///
/// Hensgen, Finkel and Manber, *Two algorithms for barrier synchronization*, 1988.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circle {
    ranks: usize,
}

impl Circle {
    /// A circle of `ranks` ranks.
    ///
    /// # Panics
    ///
    /// If `ranks` is 0.
    #[track_caller]
    pub fn new(ranks: usize) -> Circle {
        assert!(ranks > 0, "a circle of 0 ranks");
        Circle { ranks }
    }
}

impl Pattern for Circle {
    fn ranks(&self) -> usize {
        self.ranks
    }
    fn steps(&self) -> usize {
        ceil_log2(self.ranks)
    }
    #[inline]
    fn to(&self, p: Rank, s: usize) -> Option<Rank> {
        let ahead = distance(s).filter(|_| p < self.ranks && s < self.steps())?;
        // Both are below `ranks`, but their sum may overflow.
        Some(if p < self.ranks - ahead {
            p + ahead
        } else {
            p - (self.ranks - ahead)
        })
    }
    #[inline]
    fn from(&self, q: Rank, s: usize) -> Option<Rank> {
        let back = distance(s).filter(|_| q < self.ranks && s < self.steps())?;
        Some(if q >= back {
            q - back
        } else {
            q + (self.ranks - back)
        })
    }
}

/// The doubling shift: in step `s` every rank sends to the one `2^s` above it, if that exists.
///
/// Folding along it is an inclusive scan.
///
/// # Examples
///
/// ```
/// use rankfold::topology::{Pattern, Shift};
///
/// let shift = Shift::new(6);
/// assert_eq!((shift.to(3, 1), shift.to(4, 1), shift.from(1, 1)), (Some(5), None, None));
/// ```
///
/// # Source
///
/// Hillis and Steele, *Data parallel algorithms*, CACM 29(12), 1986.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    ranks: usize,
}

impl Shift {
    /// A row of `ranks` ranks.
    ///
    /// # Panics
    ///
    /// If `ranks` is 0.
    #[track_caller]
    pub fn new(ranks: usize) -> Shift {
        assert!(ranks > 0, "a row of 0 ranks");
        Shift { ranks }
    }
}

impl Pattern for Shift {
    fn ranks(&self) -> usize {
        self.ranks
    }
    fn steps(&self) -> usize {
        ceil_log2(self.ranks)
    }
    #[inline]
    fn to(&self, p: Rank, s: usize) -> Option<Rank> {
        p.checked_add(distance(s)?).filter(|&q| q < self.ranks)
    }
    #[inline]
    fn from(&self, q: Rank, s: usize) -> Option<Rank> {
        q.checked_sub(distance(s)?).filter(|_| q < self.ranks)
    }
}

/// The ranks in ascending order: in step `s` rank `s` sends to the one above it.
///
/// A fold along it is an inclusive scan with many steps that can be pipelined.
///
/// # Examples
///
/// ```
/// use rankfold::topology::{Line, Pattern};
///
/// let line = Line::new(4);
/// assert_eq!((line.to(1, 1), line.from(3, 2), line.to(3, 3)), (Some(2), Some(2), None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    ranks: usize,
}

impl Line {
    /// A line of `ranks` ranks.
    ///
    /// # Panics
    ///
    /// If `ranks` is 0.
    #[track_caller]
    pub fn new(ranks: usize) -> Line {
        assert!(ranks > 0, "a line of 0 ranks");
        Line { ranks }
    }
}

impl Pattern for Line {
    fn ranks(&self) -> usize {
        self.ranks
    }
    fn steps(&self) -> usize {
        self.ranks - 1
    }
    #[inline]
    fn to(&self, p: Rank, s: usize) -> Option<Rank> {
        (p == s && s < self.steps()).then(|| p + 1)
    }
    #[inline]
    fn from(&self, q: Rank, s: usize) -> Option<Rank> {
        (q.checked_sub(1) == Some(s) && s < self.steps()).then_some(s)
    }
    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let steps = [rank.checked_sub(1), Some(rank)].into_iter().flatten();
        let lies = |&step: &usize| step < self.steps() && after < Some(step);
        steps.into_iter().find(lies)
    }
}
