//! Two binary trees at once, in which no rank is an inner node twice.

use super::pipeline::clamped;
use super::{Form, Load, Pipeline, TreeUse};
use crate::Rank;
use crate::span;

/// Segments down two in-order trees alternately, the even ones in the first and the odd ones in the second.
///
/// The second tree has mirrored numbers, or numbers shifted by one if the number of non-roots is odd.
///
/// # Cost
///
/// `2 ⌈log₂ P⌉ + k - 2` steps of `α + (N/k) β`; the schedule may take one step less, depending on the colours of its
/// edges. Loads are exact. A reduction in rank order uses another second tree if P is even, and then has other loads.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Examples
///
/// ```
/// use rankfold::cost::{TreeUse, two_tree};
///
/// let form = two_tree(8, 100, 4, TreeUse::Broadcast);
/// assert_eq!(form.cost().steps, 8);
/// // Rank 6 has two children in the first tree and none in the second.
/// assert_eq!((form.load(6).messages_out, form.load(6).elements_out), (4, 100));
/// ```
///
/// # Source
///
/// Sanders, Speck and Träff, *Two-tree algorithms for full bandwidth broadcast, reduction and scan*,
/// Parallel Computing 35, 2009, section 3.
#[track_caller]
pub fn two_tree(ranks: usize, length: usize, segments: usize, tree_use: TreeUse) -> Form {
    let cost = Pipeline::two_tree(ranks).cost(length, clamped(segments, length));
    let turns = deal(length, clamped(segments, length), 2);
    let others = ranks - 1;
    let load = move |rank| {
        if rank == 0 {
            let all = usize::from(others > 0);
            return Load::moving(whole(&turns, [all, all]), (0, 0));
        }
        let inner = [rank, second_position(rank, others)].map(|v| children(v, others));
        Load::moving(whole(&turns, inner), whole(&turns, [1, 1]))
    };
    Form::new(ranks, cost, load).put_to(tree_use)
}

/// The position of a rank in the second tree, in `1..=last`.
fn second_position(rank: Rank, last: usize) -> usize {
    if last.is_multiple_of(2) {
        last + 1 - rank
    } else {
        rank % last + 1
    }
}

/// The number of children at a position of the in-order tree on `1..=last`.
fn children(position: usize, last: usize) -> usize {
    if position.is_multiple_of(2) {
        1 + usize::from(position < last)
    } else {
        0
    }
}

/// For each of `trees` trees, the number of segments dealt to it in turn, and their number of elements.
pub(super) fn deal(length: usize, segments: usize, trees: usize) -> Vec<(usize, usize)> {
    let turn = |tree| {
        let own = (tree..segments).step_by(trees);
        let elements = own.clone().map(|i| span::block(length, segments, i).len());
        (own.len(), elements.sum())
    };
    (0..trees).map(turn).collect()
}

/// The numbers of messages and elements if each tree's segments are sent `copies` times.
pub(super) fn whole(
    turns: &[(usize, usize)],
    copies: impl IntoIterator<Item = usize>,
) -> (usize, usize) {
    let each = turns.iter().zip(copies);
    each.fold((0, 0), |(messages, elements), (turn, times)| {
        (
            messages + turn.0 * times,
            elements.saturating_add(turn.1.saturating_mul(times)),
        )
    })
}
