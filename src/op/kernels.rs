//! The loops that fold and copy: plain loops, compiled for several instruction sets; the best available one is used.
//!
//! Every loop is written once, over raw pointers: where ranks fold each other's vectors in place, no slice over one of
//! them may exist. The compiler vectorizes it for the instruction set of the function that it is inlined into,
//! including the operator. The order of operations is the same in each version, so all produce the same bits. (Which of
//! several NaNs results is not defined anywhere, and not here.)
//!
//! An operator may panic at any element: earlier folds keep their results, and every element is valid and initialized.
//!
//! # Blocks
//!
//! Several vectors are folded block by block: each is read once from wherever it is, and the intermediate result stays
//! in the nearest cache, from where it is copied to all its destinations. Only two vectors that both receive the result
//! are folded in one loop. Blocks begin at cache line boundaries.
#![allow(unsafe_code)]

mod lines;
mod loops;
mod past_caches;
#[cfg(all(test, not(loom)))]
mod tests;

use std::mem::MaybeUninit;

use super::exact::block::{Block, PLACES};
use super::exact::summand::Summand;
use super::named::{Fold, Task};
use super::{Element, Operator, SumExact};
pub(crate) use lines::{CACHE_LINE, lead, lead_of};
use loops::{Both, Set, Summed, copy_raw, each, left_raw, right_raw, two_raw};
pub(crate) use loops::{extract, survey};
use past_caches::{Fence, stream_bytes};
pub(crate) use past_caches::{copy_bytes_past_caches, copy_past_caches, fill_past_caches};

/// The number of bytes of each vector that are folded at once.
const BLOCK: usize = 1 << 10;

/// Copies elements into a new vector. `to_vec` would run their `Clone`, which is user code and may do anything: a loan
/// may be open here, or a lock held.
#[inline]
pub(crate) fn copied<T: Element>(data: &[T]) -> Vec<T> {
    let mut copy = Vec::with_capacity(data.len());
    append(&mut copy, data);
    copy
}

/// Appends copies of elements to a vector, without running their `Clone`.
#[inline]
pub(crate) fn append<T: Element>(to: &mut Vec<T>, data: &[T]) {
    to.reserve(data.len());
    let length = to.len() + data.len();
    to.spare_capacity_mut()[..data.len()].write_copy_of_slice(data);
    // SAFETY: the vector has capacity for `length` elements, and those after the old ones were just written.
    unsafe { to.set_len(length) };
}

/// The number of bytes up to which a fold takes less time than the choice of a loop.
const TINY: usize = 64;

/// `acc[i] ← acc[i] ⊕ right[i]`.
#[inline(always)]
pub(super) fn fold_right<T: Element>(op: &impl Operator<T>, acc: &mut [T], right: &[T]) {
    match size_of_val(acc) <= TINY {
        true => each(acc, right, |a, b| *a = op.combine(*a, b)),
        false => long_right(op, acc, right),
    }
}

#[inline(never)]
fn long_right<T: Element>(op: &impl Operator<T>, acc: &mut [T], right: &[T]) {
    let (n, acc, right) = (acc.len().min(right.len()), acc.as_mut_ptr(), right.as_ptr());
    // SAFETY: both have these elements, and the borrows exclude all other accesses.
    let part = |set, at, n| unsafe { right_raw(set, op, acc.add(at), right.add(at), n) };
    parts(Set::best(), acc, n, part);
}

/// `acc[i] ← left[i] ⊕ acc[i]`.
#[inline(always)]
pub(super) fn fold_left<T: Element>(op: &impl Operator<T>, acc: &mut [T], left: &[T]) {
    match size_of_val(acc) <= TINY {
        true => each(acc, left, |a, b| *a = op.combine(b, *a)),
        false => long_left(op, acc, left),
    }
}

#[inline(never)]
fn long_left<T: Element>(op: &impl Operator<T>, acc: &mut [T], left: &[T]) {
    let (n, acc, left) = (acc.len().min(left.len()), acc.as_mut_ptr(), left.as_ptr());
    // SAFETY: both have these elements, and the borrows exclude all other accesses.
    let part = |set, at, n| unsafe { left_raw(set, op, acc.add(at), left.add(at), n) };
    parts(Set::best(), acc, n, part);
}

/// `out[i] ← left[i] ⊕ right[i]`.
#[inline]
pub(super) fn fold_two<T: Element>(op: &impl Operator<T>, out: &mut [T], left: &[T], right: &[T]) {
    let n = out.len().min(left.len()).min(right.len());
    let (out, left, right) = (out.as_mut_ptr(), left.as_ptr(), right.as_ptr());
    parts(Set::best(), out, n, |set, at, n| {
        // SAFETY: all have these elements, and the borrows exclude all other accesses.
        unsafe { two_raw(set, op, out.add(at), left.add(at), right.add(at), n) }
    });
}

/// Runs `part` for all `n` elements at once or, if they are many, for those before the first line and then for the
/// rest.
#[inline(always)]
fn parts<T>(set: Set, written: *const T, n: usize, mut part: impl FnMut(Set, usize, usize)) {
    let lead = match n * size_of::<T>() < BLOCK {
        true => 0,
        false => lead(written),
    };
    if lead > 0 {
        part(set, 0, lead);
    }
    part(set, lead, n - lead);
}

/// The destination of a fold of several vectors.
pub(crate) enum To<'a, T> {
    /// These vectors: the i-th is the i-th input itself, or overlaps none. There is at least one.
    All(&'a [*mut T]),
    /// The input with this index, in place.
    Place(usize),
    /// A vector that overlaps none of the inputs.
    Own(*mut T),
    /// The listed vectors, past the caches, and optionally one vector with normal stores; none overlaps an input. There
    /// is at least one vector.
    Past(Option<*mut T>, &'a [*mut T]),
}

impl<'a> To<'a, u8> {
    /// The same with pointers to elements of type `T`.
    #[inline]
    pub(super) fn to_elements<T>(&self) -> To<'a, T> {
        match *self {
            To::All(outputs) => To::All(of_elements(outputs)),
            To::Place(place) => To::Place(place),
            To::Own(own) => To::Own(own.cast()),
            To::Past(near, far) => To::Past(near.map(<*mut u8>::cast), of_elements(far)),
        }
    }
}

#[inline]
fn of_elements<T>(pointers: &[*mut u8]) -> &[*mut T] {
    // SAFETY: pointers to sized types have one layout, and any of them is a valid pointer.
    unsafe { std::slice::from_raw_parts(pointers.as_ptr().cast(), pointers.len()) }
}

impl<T> To<'_, T> {
    /// The first element that is written.
    #[inline]
    fn first_written(&self, inputs: &[*const T], from: usize) -> *const T {
        match *self {
            To::All(outputs) => outputs[0].wrapping_add(from).cast_const(),
            To::Place(place) => inputs[place].wrapping_add(from),
            To::Own(own) => own.cast_const(),
            To::Past(Some(near), _) => near.wrapping_add(from).cast_const(),
            To::Past(None, far) => far[0].wrapping_add(from).cast_const(),
        }
    }
}

/// Folds elements `from..from + n` of several vectors, in their order, and stores the result at the destination: in
/// elements `from..` of those vectors, or in the first `n` elements of a vector of [`To::Own`].
///
/// # Safety
///
/// The vectors hold these elements. During the call nothing else writes to elements read here, or accesses elements
/// written here. `To::Place` names one of the inputs, which may be written to.
pub(crate) unsafe fn fold_several<T: Element>(
    op: &impl Operator<T>,
    inputs: &[*const T],
    from: usize,
    n: usize,
    to: &To<'_, T>,
) {
    op.meant(Task(Several(inputs, from, n, to)));
}

/// The arguments of [`fold_several`], which alone makes one, under its caller's promise.
///
/// It is private, not `Clone` and taken by value, so the fold runs once at most; no operator can keep it beyond the
/// call or send it to another thread, since [`Operator::meant`] knows nothing about its type. Where the fold is left
/// out, the elements keep the valid values that they have.
struct Several<'a, T>(&'a [*const T], usize, usize, &'a To<'a, T>);

impl<T: Element> Fold<T> for Several<'_, T> {
    #[inline(always)]
    fn with(self, op: &impl Operator<T>) {
        let Several(inputs, from, n, to) = self;
        // SAFETY: the promise of `fold_several`'s caller, and the machine has the instruction set that it reports.
        unsafe { several_on(Set::best(), op, inputs, from, n, to) }
    }
}

/// [`fold_several`] with an instruction set, which the machine must have.
///
/// # Safety
///
/// As [`fold_several`].
unsafe fn several_on<T: Element>(
    set: Set,
    op: &impl Operator<T>,
    inputs: &[*const T],
    from: usize,
    n: usize,
    to: &To<'_, T>,
) {
    let step = (BLOCK / size_of::<T>().max(1)).max(1);
    let written = to.first_written(inputs, from);
    let _fence = matches!(to, To::Past(..)).then_some(Fence);
    if let (&[a, b], To::All(outputs)) = (inputs, to)
        && let [c, d] = **outputs
        && std::ptr::eq(a, c)
        && std::ptr::eq(b, d)
    {
        // SAFETY: the caller's promise.
        return parts(set, written, n, |set, at, n| unsafe {
            set.run(Both(op, c.add(from + at), d.add(from + at), n));
        });
    }
    let mut done = 0;
    while done < n {
        let least = if done == 0 { lead(written) } else { 0 };
        let block = if least > 0 { least } else { step };
        let (at, n) = (from + done, block.min(n - done));
        // SAFETY: the caller's promise, restricted to a part of the elements.
        unsafe {
            match *to {
                To::All(outputs) => everywhere(set, op, inputs, outputs, at, n),
                To::Place(place) => at_place(set, op, inputs, place, at, n),
                To::Own(own) => fold_block(set, op, own.add(done), inputs, at, n),
                To::Past(near, far) => past_caches(set, op, inputs, near, far, at, n),
            }
        }
        done += n;
    }
}

/// One block of [`To::All`].
///
/// # Safety
///
/// As [`fold_several`].
#[inline(always)]
unsafe fn everywhere<T: Element>(
    set: Set,
    op: &impl Operator<T>,
    inputs: &[*const T],
    outputs: &[*mut T],
    at: usize,
    n: usize,
) {
    let Some((&first, others)) = outputs.split_first() else {
        return;
    };
    // SAFETY: only the first output can be the first input, which is read first, at the same place. The other outputs
    // are written after everything is read.
    unsafe {
        let first = first.add(at);
        fold_block(set, op, first, inputs, at, n);
        for other in others {
            copy_raw(set, other.add(at), first, n);
        }
    }
}

/// One block of [`To::Past`]; must be followed by a [`Fence`].
///
/// # Safety
///
/// As [`fold_several`].
#[inline(always)]
unsafe fn past_caches<T: Element>(
    set: Set,
    op: &impl Operator<T>,
    inputs: &[*const T],
    near: Option<*mut T>,
    far: &[*mut T],
    at: usize,
    n: usize,
) {
    let mut room = StackBlock::new();
    // SAFETY: the caller's promise; `room` has space for a block, and overlaps nothing else.
    unsafe {
        let out = near.map_or_else(|| room.first(), |near| near.add(at));
        fold_block(set, op, out, inputs, at, n);
        for to in far {
            stream_bytes(to.add(at).cast(), out.cast(), n * size_of::<T>());
        }
    }
}

/// `out[i] ← in₀[at + i] ⊕ in₁[at + i] ⊕ …`, where `out` may be the first input at `at`.
///
/// # Safety
///
/// As [`fold_several`].
#[inline(always)]
unsafe fn fold_block<T: Element>(
    set: Set,
    op: &impl Operator<T>,
    out: *mut T,
    inputs: &[*const T],
    at: usize,
    n: usize,
) {
    // SAFETY: the caller's promise; an element is written only after its old value has been read.
    unsafe {
        let rest = match *inputs {
            [] => return,
            [first, ref rest @ ..] if std::ptr::eq(first.add(at), out) => rest,
            [first, second, ref rest @ ..] => {
                two_raw(set, op, out, first.add(at), second.add(at), n);
                rest
            }
            [first] => return copy_raw(set, out, first.add(at), n),
        };
        for right in rest {
            right_raw(set, op, out, right.add(at), n);
        }
    }
}

/// One block of [`To::Place`].
///
/// # Safety
///
/// As [`fold_several`].
#[inline(always)]
unsafe fn at_place<T: Element>(
    set: Set,
    op: &impl Operator<T>,
    inputs: &[*const T],
    place: usize,
    at: usize,
    n: usize,
) {
    let (before, from) = inputs.split_at(place);
    let mut room = StackBlock::new();
    // SAFETY: the caller's promise; `room` has space for a block, and its elements are written before they are read.
    unsafe {
        let out = from[0].cast_mut().add(at);
        match *before {
            [] => {}
            [one] => left_raw(set, op, out, one.add(at), n),
            _ => {
                fold_block(set, op, room.first(), before, at, n);
                left_raw(set, op, out, room.first(), n);
            }
        }
        for right in &from[1..] {
            right_raw(set, op, out, right.add(at), n);
        }
    }
}

/// As [`fold_several`], for the exact sum of several vectors, rounded once.
///
/// # Safety
///
/// As [`fold_several`].
pub(crate) unsafe fn sum_several<T: Summand>(
    inputs: &[*const T],
    from: usize,
    n: usize,
    to: &To<'_, T>,
) where
    SumExact: Operator<T>,
{
    // SAFETY: the caller's promise.
    unsafe {
        match inputs {
            // The operator rounds a sum of two once.
            [] | [_] | [_, _] => fold_several(&SumExact, inputs, from, n, to),
            _ => sum_several_on(Set::best(), inputs, from, n, to),
        }
    }
}

/// [`sum_several`] of two vectors or more, with an instruction set, which the machine must have.
///
/// # Safety
///
/// As [`fold_several`].
unsafe fn sum_several_on<T: Summand>(
    set: Set,
    inputs: &[*const T],
    from: usize,
    n: usize,
    to: &To<'_, T>,
) {
    let lead = lead(to.first_written(inputs, from));
    let _fence = matches!(to, To::Past(..)).then_some(Fence);
    let mut block = Block::new();
    let mut sums = [T::UNKNOWN; PLACES];
    let mut done = 0;
    while done < n {
        let most = if done == 0 && lead > 0 { lead } else { PLACES };
        let (at, count) = (from + done, most.min(n - done));
        // SAFETY: the caller's promise, restricted to a part of the elements. All inputs are read before the sums are
        // stored.
        unsafe {
            sum_block(set, inputs, at, count, &mut block, &mut sums);
            store(set, inputs, to, &sums[..count], done, at);
        }
        done += count;
    }
}

/// The sums of one block, of at most [`PLACES`] elements.
///
/// # Safety
///
/// As [`fold_several`].
unsafe fn sum_block<T: Summand>(
    set: Set,
    inputs: &[*const T],
    at: usize,
    n: usize,
    block: &mut Block,
    sums: &mut [T; PLACES],
) {
    let mut right = true;
    // SAFETY: the caller's promise.
    unsafe {
        set.run(Summed {
            inputs,
            at,
            n,
            block,
            sums,
            right: &mut right,
        });
    }
    if right {
        return;
    }
    let sums = sums[..n].iter_mut().enumerate();
    for (place, sum) in sums.filter(|(_, sum)| sum.is_unknown()) {
        // SAFETY: the caller's promise.
        let number = |input: &*const T| unsafe { *input.add(at + place) };
        *sum = T::sum_of(inputs.iter().map(number));
    }
}

/// Stores a block at its destinations: after the first `done` elements, or from element `at` on.
///
/// # Safety
///
/// As [`fold_several`]. [`To::Past`] must be followed by a [`Fence`].
unsafe fn store<T: Element>(
    set: Set,
    inputs: &[*const T],
    to: &To<'_, T>,
    sums: &[T],
    done: usize,
    at: usize,
) {
    let (from, n) = (sums.as_ptr(), sums.len());
    // SAFETY: the caller's promise; `sums` overlaps nothing.
    unsafe {
        match *to {
            To::All(outputs) => outputs
                .iter()
                .for_each(|o| copy_raw(set, o.add(at), from, n)),
            To::Place(place) => copy_raw(set, inputs[place].cast_mut().add(at), from, n),
            To::Own(own) => copy_raw(set, own.add(done), from, n),
            To::Past(near, far) => {
                if let Some(near) = near {
                    copy_raw(set, near.add(at), from, n);
                }
                for to in far {
                    stream_bytes(to.add(at).cast(), from.cast(), size_of_val(sums));
                }
            }
        }
    }
}

/// Space for a block on the stack: as many elements as fit, and at least one.
#[repr(C, align(64))]
union StackBlock<T: Copy> {
    one: MaybeUninit<T>,
    block: MaybeUninit<[u8; BLOCK]>,
}

impl<T: Copy> StackBlock<T> {
    fn new() -> Self {
        StackBlock {
            block: MaybeUninit::uninit(),
        }
    }

    fn first(&mut self) -> *mut T {
        (&raw mut *self).cast()
    }
}
