//! The parts of vectors of a common length that the ranks of a call access: what all of them conclude from what they have
//! brought to its epoch. Nothing is accessed here.

use std::ops::Range;
use std::ptr;

use crate::Rank;
use crate::op::kernels::CACHE_LINE;
use crate::span;
use crate::transport::memory::coming::{Coming, Job};
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

/// The vectors of two ranks that both have brought one in place for [`Job::Shares`], and their common length, which is not 0.
#[inline]
pub(super) fn two_in_place(coming: &Coming<'_>) -> Option<([*mut u8; 2], usize)> {
    let epoch = coming.epoch;
    if epoch.ranks() != 2 || coming.job != Job::Shares {
        return None;
    }
    let ((first, n), (second, same)) = (epoch.output(0), epoch.output(1));
    let in_place =
        |rank, vector: *mut u8| epoch.input(rank).1 == n && ptr::eq(epoch.input(rank).0, vector);
    let are = n > 0 && n == same && in_place(0, first) && in_place(1, second);
    are.then_some(([first, second], n))
}

/// The elements that one of two ranks accesses of vectors of `n` elements of `size` bytes, of which that of rank 0 begins at
/// `first`. As [`share`], without divisions, if the size is a power of two, at most that of a cache line, and divides the
/// address.
#[inline]
pub(super) fn half(first: *mut u8, n: usize, size: usize, me: Rank) -> Range<usize> {
    let cut = match size.is_power_of_two() && size <= CACHE_LINE {
        true => {
            let log = size.trailing_zeros();
            let middle = first.addr() + ((n / 2) << log);
            (middle & !(CACHE_LINE - 1)).saturating_sub(first.addr()) >> log
        }
        false => n / 2,
    };
    if me == 0 { 0..cut } else { cut..n }
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::op::kernels::lead_of;

    #[test]
    fn half_of_two_vectors_is_their_share() {
        for size in [1, 2, 4, 8, 16, 32, 64] {
            for (n, step) in (0..400).flat_map(|n| (0..64 / size).map(move |step| (n, step))) {
                let first = std::ptr::without_provenance_mut::<u8>((1 << 20) + step * size);
                let (line, lead) = (CACHE_LINE / size, lead_of(first.cast_const(), size));
                for me in 0..2 {
                    let expected = share(n, line, lead, 2, me);
                    assert_eq!(
                        half(first, n, size, me),
                        expected,
                        "{n} of {size} at {first:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn two_halves_are_the_whole_for_elements_of_any_size_and_place() {
        for (n, size) in (0..100).flat_map(|n| [0, 3, 12, 24, 100, 128].map(|size| (n, size))) {
            let first = std::ptr::without_provenance_mut((1 << 20) + 7 * n);
            let [low, high] = [0, 1].map(|me| half(first, n, size, me));
            assert_eq!((low.start, low.end, high.end), (0, high.start, n));
        }
    }
}
