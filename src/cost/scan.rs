//! Patterns that are not trees: the dissemination barrier, and the scans by doubling shifts.

use super::{Cost, Form, Load, assert_some, ceil_log2};
use crate::Rank;

/// The dissemination barrier: empty messages on a circle.
///
/// # Cost
///
/// `⌈log₂ P⌉ α`.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Source
///
/// Hensgen, Finkel and Manber, *Two algorithms for barrier synchronization*, 1988.
#[track_caller]
pub fn dissemination(ranks: usize) -> Form {
    assert_some(ranks);
    let steps = ceil_log2(ranks);
    let load = move |_| Load::moving((steps, 0), (steps, 0));
    Form::new(ranks, Cost::moving(steps, 0.0), load)
}

/// The inclusive scan: in step t every rank sends to the one `2^t` above it, if that exists.
///
/// # Cost
///
/// `⌈log₂ P⌉ (α + N (β + γ))`.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Source
///
/// Hillis and Steele, *Data parallel algorithms*, CACM 29(12), 1986.
#[track_caller]
pub fn inclusive_scan(ranks: usize, length: usize) -> Form {
    assert_some(ranks);
    let cost = Cost::moving(ceil_log2(ranks), length as f64).and_folding();
    Form::new(ranks, cost, move |rank| shifted(rank, ranks, length))
}

/// One message per distance `2^t` to an existing rank above, and one per distance from an existing rank below.
fn shifted(rank: Rank, ranks: usize, length: usize) -> Load {
    let of = |messages: usize| (messages, messages.saturating_mul(length));
    Load::moving(of(ceil_log2(ranks - rank)), of(ceil_log2(rank + 1))).and_folding()
}

/// The exclusive scan: one rank up, then the inclusive scan among all ranks except 0.
///
/// # Cost
///
/// `α + N β + ⌈log₂ (P-1)⌉ (α + N (β + γ))` for P ≥ 2.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Source
///
/// As [`inclusive_scan`].
#[track_caller]
pub fn exclusive_scan(ranks: usize, length: usize) -> Form {
    assert_some(ranks);
    let Some(others) = ranks.checked_sub(1).filter(|&others| others > 0) else {
        return Form::new(ranks, Cost::default(), |_| Load::default());
    };
    let scan = inclusive_scan(others, length);
    let cost = Cost::moving(1, length as f64) + scan.cost();
    Form::new(ranks, cost, move |rank| {
        let up = (1, length);
        match rank.checked_sub(1) {
            None => Load::moving(up, (0, 0)),
            Some(v) if rank == others => Load::moving((0, 0), up) + scan.load(v),
            Some(v) => Load::moving(up, up) + scan.load(v),
        }
    })
}
