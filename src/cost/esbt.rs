//! As many trees as the hypercube has dimensions, no two of which share an edge in the same direction.

use std::error::Error;
use std::fmt;

use super::pipeline::clamped;
use super::two_tree::{deal, whole};
use super::{Form, Load, Pipeline, TreeUse, assert_some};
use crate::Rank;

/// The number of ranks is not a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAPowerOfTwo {
    /// The number of ranks.
    pub ranks: usize,
}

impl fmt::Display for NotAPowerOfTwo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranks = self.ranks;
        write!(
            f,
            "edge-disjoint spanning binomial trees need a power of two of ranks, not {ranks}: take the two-tree"
        )
    }
}

impl Error for NotAPowerOfTwo {}

/// Segments along edge-disjoint spanning binomial trees (ESBT) from rank 0, one tree after another.
///
/// # Cost
///
/// `k + d` steps of `α + (N/k) β` with `d = log₂ P`, and `k` steps for two ranks.
///
/// # Errors
///
/// If the number of ranks is not a power of two.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Examples
///
/// ```
/// use rankfold::cost::{TreeUse, esbt};
///
/// assert_eq!(esbt(8, 100, 4, TreeUse::Broadcast)?.cost().steps, 7);
/// let refused = esbt(13, 100, 4, TreeUse::Broadcast).unwrap_err();
/// assert_eq!(refused.ranks, 13);
/// # Ok::<(), rankfold::cost::NotAPowerOfTwo>(())
/// ```
///
/// # Source
///
/// Johnsson and Ho, *Optimum broadcasting and personalized communication in hypercubes*, IEEE
/// Transactions on Computers 38(9), 1989.
#[track_caller]
pub fn esbt(
    ranks: usize,
    length: usize,
    segments: usize,
    tree_use: TreeUse,
) -> Result<Form, NotAPowerOfTwo> {
    assert_some(ranks);
    if !ranks.is_power_of_two() {
        return Err(NotAPowerOfTwo { ranks });
    }
    let (d, segments) = (ranks.ilog2(), clamped(segments, length));
    let cost = Pipeline::esbt(d).cost(length, segments);
    let turns = deal(length, segments, d as usize);
    let load = move |rank| {
        let one_each = || whole(&turns, (0..d).map(|_| 1));
        if rank == 0 {
            return Load::moving(one_each(), (0, 0));
        }
        Load::moving(
            whole(&turns, (0..d).map(|tree| sends(rank, tree, d))),
            one_each(),
        )
    };
    Ok(Form::new(ranks, cost, load).put_to(tree_use))
}

/// The number of times that a rank other than 0 forwards a segment of a tree.
///
/// After a rotation that makes the tree's first dimension bit 0, the ranks with that bit set double across the bits
/// above their highest one, and then serve their neighbour across bit 0, unless that is the source.
fn sends(rank: Rank, tree: u32, d: u32) -> usize {
    let turned = (rank >> tree) | (rank & ((1 << tree) - 1)) << (d - tree);
    if turned.is_multiple_of(2) {
        return 0;
    }
    (d - 1 - turned.ilog2()) as usize + usize::from(turned != 1)
}
