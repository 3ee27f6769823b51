//! Lower bounds for all algorithms.

use super::{Cost, assert_some, ceil_log2};

/// The lower bound of each cost of an all-reduce, taken separately: no algorithm is below any of them, and none needs
/// to reach all of them at once.
///
/// # Cost
///
/// `⌈log₂ P⌉ α`, since the number of ranks that know a contribution can at most double per step; `2 N (P-1)/P β` and
/// `N (P-1)/P γ` at the rank with the largest load.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Examples
///
/// ```
/// use rankfold::cost::{all_reduce_bound, halving_all_reduce};
///
/// let (least, halving) = (all_reduce_bound(8, 800), halving_all_reduce(8, 800).cost());
/// assert_eq!((least.moved, least.folded), (halving.moved, halving.folded));
/// assert_eq!((least.steps, halving.steps), (3, 6));
/// ```
///
/// # Source
///
/// Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations in MPICH*,
/// 2005, section 4.
#[track_caller]
pub fn all_reduce_bound(ranks: usize, length: usize) -> Cost {
    assert_some(ranks);
    let share = length as f64 / ranks as f64 * (ranks - 1) as f64;
    Cost {
        moved: 2.0 * share,
        folded: share,
        ..Cost::moving(ceil_log2(ranks), 0.0)
    }
}
