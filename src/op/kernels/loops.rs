//! The loops over elements, each compiled for several instruction sets.
//!
//! An operator may panic at any element. An instruction set is used only where [`Set::best`] has found it.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use crate::op::exact::block::{Block, PLACES};
use crate::op::exact::extraction::{Leading, Survey};
use crate::op::exact::summand::Summand;
use crate::op::{Element, Operator};

/// An instruction set that the loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// The instruction set of every machine of this architecture.
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Set {
    /// The best one available.
    #[inline]
    pub(super) fn best() -> Set {
        #[cfg(target_arch = "x86_64")]
        for set in [Set::Avx512, Set::Avx2] {
            if set.is_there() {
                return set;
            }
        }
        Set::Plain
    }

    /// Whether the machine has it. The standard library queries that once.
    #[inline]
    pub(super) fn is_there(self) -> bool {
        match self {
            Set::Plain => true,
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            // Processors that had AVX-512 before the last of these lower their clock most while they use it.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => {
                std::arch::is_x86_feature_detected!("avx512vl")
                    && std::arch::is_x86_feature_detected!("avx512dq")
                    && std::arch::is_x86_feature_detected!("avx512vbmi2")
            }
        }
    }

    /// Runs a loop compiled for this set.
    ///
    /// # Safety
    ///
    /// The memory that the loop reads and writes is valid, and nothing else accesses it meanwhile; the machine has the
    /// set.
    #[inline(always)]
    pub(super) unsafe fn run(self, work: impl Loop) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Set::Plain => work.run(),
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 => with_avx2(work),
                #[cfg(target_arch = "x86_64")]
                Set::Avx512 => with_avx512(work),
            }
        }
    }
}

/// # Safety
///
/// As [`Loop::run`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn with_avx2(work: impl Loop) {
    // SAFETY: the caller's promise.
    unsafe { work.run() }
}

/// # Safety
///
/// As [`Loop::run`].
// The extensions for shorter vectors and masks of all lengths are in each such processor; without them some loops cannot be
// compiled.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512vl,avx512dq,avx512vbmi2")]
unsafe fn with_avx512(work: impl Loop) {
    // SAFETY: the caller's promise.
    unsafe { work.run() }
}

/// A loop over elements. It is inlined, and therefore compiled for the instruction set of its caller.
pub(super) trait Loop {
    /// # Safety
    ///
    /// The memory that it reads and writes is valid, and nothing else accesses it meanwhile.
    unsafe fn run(self);
}

struct Right<'a, T, O>(&'a O, *mut T, *const T, usize);
struct Left<'a, T, O>(&'a O, *mut T, *const T, usize);
struct Two<'a, T, O>(&'a O, *mut T, *const T, *const T, usize);
pub(super) struct Both<'a, T, O>(
    pub(super) &'a O,
    pub(super) *mut T,
    pub(super) *mut T,
    pub(super) usize,
);
struct Copied<T>(*mut T, *const T, usize);

impl<T: Element, O: Operator<T>> Loop for Right<'_, T, O> {
    #[inline(always)]
    unsafe fn run(self) {
        let Right(op, acc, right, n) = self;
        for i in 0..n {
            // SAFETY: i < n.
            unsafe { *acc.add(i) = op.combine(*acc.add(i), *right.add(i)) }
        }
    }
}

impl<T: Element, O: Operator<T>> Loop for Left<'_, T, O> {
    #[inline(always)]
    unsafe fn run(self) {
        let Left(op, acc, left, n) = self;
        for i in 0..n {
            // SAFETY: i < n.
            unsafe { *acc.add(i) = op.combine(*left.add(i), *acc.add(i)) }
        }
    }
}

impl<T: Element, O: Operator<T>> Loop for Two<'_, T, O> {
    #[inline(always)]
    unsafe fn run(self) {
        let Two(op, out, left, right, n) = self;
        for i in 0..n {
            // SAFETY: i < n.
            unsafe { *out.add(i) = op.combine(*left.add(i), *right.add(i)) }
        }
    }
}

/// `left[i], right[i] ← left[i] ⊕ right[i]`.
impl<T: Element, O: Operator<T>> Loop for Both<'_, T, O> {
    #[inline(always)]
    unsafe fn run(self) {
        let Both(op, left, right, n) = self;
        for i in 0..n {
            // SAFETY: i < n.
            unsafe {
                let both = op.combine(*left.add(i), *right.add(i));
                *left.add(i) = both;
                *right.add(i) = both;
            }
        }
    }
}

/// A look at numbers, and the sums of their leading parts: loops of safe code alone.
struct Surveyed<'a>(&'a [f64], &'a mut Survey);
struct Extracted<'a>(&'a [f64], &'a mut Leading);

impl Loop for Surveyed<'_> {
    #[inline(always)]
    unsafe fn run(self) {
        self.1.meet(self.0);
    }
}

impl Loop for Extracted<'_> {
    #[inline(always)]
    unsafe fn run(self) {
        self.1.add(self.0);
    }
}

/// What is to be known of numbers before their leading parts are summed.
pub(crate) fn survey(numbers: &[f64]) -> Survey {
    let mut survey = Survey::default();
    survey_on(Set::best(), numbers, &mut survey);
    survey
}

/// Sums the leading parts of numbers.
pub(crate) fn extract(numbers: &[f64], leading: &mut Leading) {
    extract_on(Set::best(), numbers, leading);
}

pub(super) fn survey_on(set: Set, numbers: &[f64], survey: &mut Survey) {
    assert!(set.is_there());
    // SAFETY: no memory but that of the borrows is accessed, and the machine has the set.
    unsafe { set.run(Surveyed(numbers, survey)) };
}

pub(super) fn extract_on(set: Set, numbers: &[f64], leading: &mut Leading) {
    assert!(set.is_there());
    // SAFETY: as above.
    unsafe { set.run(Extracted(numbers, leading)) };
}

/// The unit in which a block is copied, in vector registers.
type Chunk = [MaybeUninit<u8>; 256];

impl<T: Element> Loop for Copied<T> {
    #[inline(always)]
    unsafe fn run(self) {
        let Copied(to, from, n) = self;
        let (to, from, bytes) = (to.cast::<u8>(), from.cast::<u8>(), n * size_of::<T>());
        let whole = bytes - bytes % size_of::<Chunk>();
        // SAFETY: inside the `n` elements, whose bytes are copied unchanged.
        unsafe {
            for at in (0..whole).step_by(size_of::<Chunk>()) {
                let chunk: Chunk = from.add(at).cast::<Chunk>().read_unaligned();
                to.add(at).cast::<Chunk>().write_unaligned(chunk);
            }
            to.add(whole)
                .copy_from_nonoverlapping(from.add(whole), bytes - whole);
        }
    }
}

/// The exact sums of elements `at..at + n` of two or more vectors, with `n` at most [`PLACES`]; `right` is cleared if a
/// sum is not known.
pub(super) struct Summed<'a, T> {
    pub(super) inputs: &'a [*const T],
    pub(super) at: usize,
    pub(super) n: usize,
    pub(super) block: &'a mut Block,
    pub(super) sums: &'a mut [T; PLACES],
    pub(super) right: &'a mut bool,
}

impl<T: Summand> Loop for Summed<'_, T> {
    #[inline(always)]
    unsafe fn run(self) {
        let (at, n) = (self.at, self.n);
        let [first, second, others @ ..] = self.inputs else {
            return;
        };
        // SAFETY: the place is less than n.
        let two = |place| unsafe { (*first.add(at + place), *second.add(at + place)) };
        self.block.begin(n, two);
        for &input in others {
            // SAFETY: the place is less than n.
            self.block.add(n, |place| unsafe { *input.add(at + place) });
        }
        *self.right &= self.block.finish(n, self.sums);
    }
}

/// # Safety
///
/// Both have `n` elements and do not overlap; nothing else accesses `acc` or writes to `right` meanwhile; the machine
/// has the set.
#[inline(always)]
pub(super) unsafe fn right_raw<T: Element>(
    set: Set,
    op: &impl Operator<T>,
    acc: *mut T,
    right: *const T,
    n: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { set.run(Right(op, acc, right, n)) }
}

/// # Safety
///
/// As [`right_raw`].
#[inline(always)]
pub(super) unsafe fn left_raw<T: Element>(
    set: Set,
    op: &impl Operator<T>,
    acc: *mut T,
    left: *const T,
    n: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { set.run(Left(op, acc, left, n)) }
}

/// # Safety
///
/// As [`right_raw`]; the two operands may be identical.
#[inline(always)]
pub(super) unsafe fn two_raw<T: Element>(
    set: Set,
    op: &impl Operator<T>,
    out: *mut T,
    left: *const T,
    right: *const T,
    n: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { set.run(Two(op, out, left, right, n)) }
}

/// # Safety
///
/// As [`right_raw`].
#[inline(always)]
pub(super) unsafe fn copy_raw<T: Element>(set: Set, to: *mut T, from: *const T, n: usize) {
    // SAFETY: the caller's promise.
    unsafe { set.run(Copied(to, from, n)) }
}

/// Runs `f` on the elements of both, one after the other, which are few. Not by `zip`, which is compiled elsewhere and
/// then not inlined.
#[inline(always)]
pub(super) fn each<T: Copy>(acc: &mut [T], other: &[T], mut f: impl FnMut(&mut T, T)) {
    let n = acc.len().min(other.len());
    let (acc, other) = (&mut acc[..n], &other[..n]);
    if size_of::<T>() != 8 || n > 8 {
        return (0..n).for_each(|i| f(&mut acc[i], other[i]));
    }
    // At most eight: by eight, four, two and one, so that there are few branches, and two elements are folded at once.
    let (acc, other) = chunk::<8, T>(acc, other, &mut f);
    let (acc, other) = chunk::<4, T>(acc, other, &mut f);
    let (acc, other) = chunk::<2, T>(acc, other, &mut f);
    chunk::<1, T>(acc, other, &mut f);
}

/// Runs `f` on the first `N` elements of both, if there are so many, and returns the others.
#[inline(always)]
fn chunk<'a, const N: usize, T: Copy>(
    acc: &'a mut [T],
    other: &'a [T],
    f: &mut impl FnMut(&mut T, T),
) -> (&'a mut [T], &'a [T]) {
    if acc.len() < N || other.len() < N {
        return (acc, other);
    }
    let ((acc, more), (other, others)) = (acc.split_at_mut(N), other.split_at(N));
    for i in 0..N {
        f(&mut acc[i], other[i]);
    }
    (more, others)
}
