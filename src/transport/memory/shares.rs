//! The parts of vectors of a common length that the ranks of a call access: what all of them conclude from what they have
//! brought to its epoch. Nothing is accessed here.

use std::ops::Range;
use std::ptr;

use crate::Rank;
use crate::span;
use crate::transport::memory::epoch::Epoch;

/// Whether rank 0 says that each of two ranks that has an output folds whole vectors for itself, and they may: both have
/// brought an input, and no output is an input of which the other rank reads.
#[inline]
pub(super) fn is_whole(epoch: &Epoch) -> bool {
    let brings = |rank| epoch.input(rank).1 > 0;
    let one_reads = || (0..2).any(|rank| epoch.output(rank).1 == 0);
    epoch.ranks() == 2
        && epoch.brought(0).whole
        && (0..2).all(brings)
        && (one_reads() || are_apart(epoch))
}

/// Whether no rank has brought a vector in place.
#[inline]
pub(super) fn are_apart(epoch: &Epoch) -> bool {
    let in_place = |rank: Rank| ptr::eq(epoch.input(rank).0, epoch.output(rank).0);
    !(0..epoch.ranks()).any(in_place)
}

/// The common length of all vectors that are not empty, and where the first output begins: the same for all ranks,
/// which see the same pointers.
#[inline]
pub(super) fn in_common(epoch: &Epoch) -> (usize, Option<*mut u8>) {
    let (mut n, mut written) = (0, None);
    for rank in 0..epoch.ranks() {
        let (input, (start, output)) = (epoch.input(rank).1, epoch.output(rank));
        for length in [input, output] {
            assert!(n == 0 || length == 0 || length == n, "{length} and {n}");
            n = n.max(length);
        }
        written = written.or((output > 0).then_some(start));
    }
    (n, written)
}

/// The elements that a rank accesses of vectors of `n` elements: whole cache lines, of `line` elements, of the first
/// vector that is written, which has `lead` elements before its first line.
#[inline]
pub(super) fn share(n: usize, line: usize, lead: usize, ranks: usize, me: Rank) -> Range<usize> {
    let cut = |i: usize| match span::cut(n, ranks, i) {
        _ if i == ranks => n,
        even if even < lead => 0,
        even => (even - lead) / line * line + lead,
    };
    cut(me)..cut(me + 1)
}
