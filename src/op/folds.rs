//! An operator on elements whose type is known only at run time. A caller compiles its loops, once for each type of
//! elements and each operator; everything that moves elements to and from these loops is compiled without either.
//!
//! # Why this is sound
//!
//! [`Folds::several`], `raw_right` and `raw_left` get pointers. Their caller promises what they point to, in terms of
//! the type that [`Folds::info`] describes, so the trait is `unsafe` to implement: an implementation must access
//! elements of that type only. There are two, [`FoldsOf`] and [`ExactSums`], which describe the type of which their
//! loops are, and [`OwnFolds`], which describes the type of its operator's loops, folds one element of it by itself, and
//! passes all else on to the first. The other methods compare the types.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::slice;

use super::elements::{Elements, ElementsMut, Info};
use super::exact::summand::Summand;
use super::kernels::{self, To};
use super::{Element, Operator, OperatorKind, SumExact, named};

/// The loops of an operator over elements of one type.
///
/// # Safety
///
/// `raw_right`, `raw_left` and `several` access the memory at the pointers as elements of the type of `info` and not
/// otherwise, and `several` keeps what [`kernels::fold_several`] promises.
pub(crate) unsafe trait Folds {
    /// The type of the elements.
    fn info(&self) -> &'static Info;

    /// Whether a fold of two elements takes less time than their way from another core.
    fn is_light(&self) -> bool {
        false
    }

    /// `acc[i] ← acc[i] ⊕ right[i]`.
    ///
    /// # Panics
    ///
    /// Here and below, if elements are of another type than that of [`info`](Self::info).
    fn right(&self, acc: &mut ElementsMut<'_>, right: &Elements<'_>);

    /// `acc[i] ← left[i] ⊕ acc[i]`.
    fn left(&self, acc: &mut ElementsMut<'_>, left: &Elements<'_>);

    /// `out[i] ← left[i] ⊕ right[i]`.
    fn two(&self, out: &mut ElementsMut<'_>, left: &Elements<'_>, right: &Elements<'_>);

    /// `left[i], right[i] ← left[i] ⊕ right[i]`.
    ///
    /// # Panics
    ///
    /// Also if their numbers differ.
    fn both(&self, left: &mut ElementsMut<'_>, right: &mut ElementsMut<'_>) {
        if ![left.info(), right.info()]
            .iter()
            .all(|info| info.is(self.info()))
        {
            other_type();
        }
        assert_eq!(left.len(), right.len(), "a fold of unequal lengths");
        let vectors = [left.first(), right.first()];
        // SAFETY: both have these elements, of this type, and the borrows exclude all other accesses.
        unsafe { self.several(&vectors, 0, left.len(), &To::All(&vectors)) }
    }

    /// [`right`](Self::right) of `n` elements.
    ///
    /// # Safety
    ///
    /// Here and below, for elements of the type of [`info`](Self::info): there are `n` at both pointers, those at `acc`
    /// are accessed by nothing else, and the others not written.
    unsafe fn raw_right(&self, acc: *mut u8, right: *const u8, n: usize);

    /// [`left`](Self::left) of `n` elements.
    ///
    /// # Safety
    ///
    /// As [`raw_right`](Self::raw_right).
    unsafe fn raw_left(&self, acc: *mut u8, left: *const u8, n: usize);

    /// [`kernels::fold_several`].
    ///
    /// # Safety
    ///
    /// As there, for elements of the type of [`info`](Self::info).
    unsafe fn several(&self, inputs: &[*mut u8], from: usize, n: usize, to: &To<'_, u8>);
}

/// The vectors of a call, and the operator that folds them.
pub(crate) struct Operands<'a> {
    pub input: Elements<'a>,
    pub output: ElementsMut<'a>,
    pub folds: &'a dyn Folds,
}

/// The bytes of the longest elements that are light: longer ones may take as long to fold as anything.
const LIGHT: usize = 16;

/// The loops of operator `O` over elements of type `T`.
pub(crate) struct FoldsOf<'a, T, O> {
    op: &'a O,
    /// That of `T`: the one that the caller's elements have, so that a comparison of addresses finds them equal.
    info: &'static Info,
    _elements: PhantomData<fn(T) -> T>,
}

impl<'a, T: Element, O: Operator<T>> FoldsOf<'a, T, O> {
    #[inline(always)]
    pub(crate) fn new(op: &'a O) -> Self {
        FoldsOf {
            op,
            info: Info::of::<T>(),
            _elements: PhantomData,
        }
    }

    #[inline(always)]
    fn typed<'e>(&self, elements: &Elements<'e>) -> &'e [T] {
        self.check(elements.info());
        // SAFETY: `info` is that of `T`, and the elements have it, as just checked.
        unsafe { elements.assume_typed() }
    }

    #[inline(always)]
    fn typed_mut<'e>(&self, elements: &'e mut ElementsMut<'_>) -> &'e mut [T] {
        self.check(elements.info());
        // SAFETY: as in `typed`.
        unsafe { elements.reborrow().assume_typed() }
    }

    #[inline(always)]
    fn check(&self, info: &'static Info) {
        if !self.info.is(info) {
            other_type();
        }
    }
}

// SAFETY: `several` runs the loops over elements of type `T`, which is that of `info`.
unsafe impl<T: Element, O: Operator<T>> Folds for FoldsOf<'_, T, O> {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn is_light(&self) -> bool {
        use OperatorKind::*;
        let kind = self.op.kind();
        let is_known = matches!(kind, Sum | Product | Min | Max | And | Or | Xor);
        is_known && self.info.size() <= LIGHT
    }

    fn right(&self, acc: &mut ElementsMut<'_>, right: &Elements<'_>) {
        named::fold_right(self.op, self.typed_mut(acc), self.typed(right));
    }

    fn left(&self, acc: &mut ElementsMut<'_>, left: &Elements<'_>) {
        named::fold_left(self.op, self.typed_mut(acc), self.typed(left));
    }

    fn two(&self, out: &mut ElementsMut<'_>, left: &Elements<'_>, right: &Elements<'_>) {
        let (left, right) = (self.typed(left), self.typed(right));
        named::fold_two(self.op, self.typed_mut(out), left, right);
    }

    unsafe fn raw_right(&self, acc: *mut u8, right: *const u8, n: usize) {
        // SAFETY: the caller's promise, for elements of type `T`.
        unsafe {
            let right = slice::from_raw_parts(right.cast(), n);
            named::fold_right::<T>(self.op, slice::from_raw_parts_mut(acc.cast(), n), right);
        }
    }

    unsafe fn raw_left(&self, acc: *mut u8, left: *const u8, n: usize) {
        // SAFETY: as above.
        unsafe {
            let left = slice::from_raw_parts(left.cast(), n);
            named::fold_left::<T>(self.op, slice::from_raw_parts_mut(acc.cast(), n), left);
        }
    }

    unsafe fn several(&self, inputs: &[*mut u8], from: usize, n: usize, to: &To<'_, u8>) {
        // SAFETY: pointers to sized types have one layout, and any of them is a valid pointer.
        let inputs: &[*const T] =
            unsafe { slice::from_raw_parts(inputs.as_ptr().cast(), inputs.len()) };
        // SAFETY: the caller's promise, for elements of type `T`.
        unsafe { kernels::fold_several(self.op, inputs, from, n, &to.to_elements()) }
    }
}

/// The exact sums of vectors that lie in memory: of several at once, since sums of two are rounded.
pub(crate) struct ExactSums<'a, T>(FoldsOf<'a, T, SumExact>);

impl<T: Summand> ExactSums<'_, T>
where
    SumExact: Operator<T>,
{
    pub(crate) fn new() -> Self {
        ExactSums(FoldsOf::new(&SumExact))
    }
}

// SAFETY: `several` runs the loops over elements of type `T`, which is that of `info`.
unsafe impl<T: Summand> Folds for ExactSums<'_, T>
where
    SumExact: Operator<T>,
{
    fn info(&self) -> &'static Info {
        self.0.info()
    }

    fn right(&self, acc: &mut ElementsMut<'_>, right: &Elements<'_>) {
        self.0.right(acc, right);
    }

    fn left(&self, acc: &mut ElementsMut<'_>, left: &Elements<'_>) {
        self.0.left(acc, left);
    }

    fn two(&self, out: &mut ElementsMut<'_>, left: &Elements<'_>, right: &Elements<'_>) {
        self.0.two(out, left, right);
    }

    unsafe fn raw_right(&self, acc: *mut u8, right: *const u8, n: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.0.raw_right(acc, right, n) }
    }

    unsafe fn raw_left(&self, acc: *mut u8, left: *const u8, n: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.0.raw_left(acc, left, n) }
    }

    unsafe fn several(&self, inputs: &[*mut u8], from: usize, n: usize, to: &To<'_, u8>) {
        // SAFETY: as in `FoldsOf`.
        let inputs: &[*const T] =
            unsafe { slice::from_raw_parts(inputs.as_ptr().cast(), inputs.len()) };
        // SAFETY: the caller's promise, for elements of type `T`.
        unsafe { kernels::sum_several(inputs, from, n, &to.to_elements()) }
    }
}

#[cold]
#[inline(never)]
fn other_type() -> ! {
    panic!("a fold of elements of another type");
}

/// The loops of an operator of its own.
pub(crate) struct OwnFolds<T, O> {
    op: O,
    _elements: PhantomData<fn(T) -> T>,
}

impl<T: Element, O: Operator<T>> OwnFolds<T, O> {
    #[inline(always)]
    pub(crate) fn new(op: O) -> Self {
        OwnFolds {
            op,
            _elements: PhantomData,
        }
    }

    #[inline(always)]
    fn folds(&self) -> FoldsOf<'_, T, O> {
        FoldsOf::new(&self.op)
    }
}

// SAFETY: one element is folded as one of type `T`, which is that of `info`; all else is passed on to another
// implementation, which describes the same type.
unsafe impl<T: Element, O: Operator<T>> Folds for OwnFolds<T, O> {
    fn info(&self) -> &'static Info {
        Info::of::<T>()
    }

    fn right(&self, acc: &mut ElementsMut<'_>, right: &Elements<'_>) {
        self.folds().right(acc, right);
    }

    fn left(&self, acc: &mut ElementsMut<'_>, left: &Elements<'_>) {
        self.folds().left(acc, left);
    }

    fn two(&self, out: &mut ElementsMut<'_>, left: &Elements<'_>, right: &Elements<'_>) {
        self.folds().two(out, left, right);
    }

    #[inline(always)]
    unsafe fn raw_right(&self, acc: *mut u8, right: *const u8, n: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            match n {
                1 => named::fold_right::<T>(&self.op, one_mut(acc), one(right)),
                _ => self.folds().raw_right(acc, right, n),
            }
        }
    }

    #[inline(always)]
    unsafe fn raw_left(&self, acc: *mut u8, left: *const u8, n: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            match n {
                1 => named::fold_left::<T>(&self.op, one_mut(acc), one(left)),
                _ => self.folds().raw_left(acc, left, n),
            }
        }
    }

    unsafe fn several(&self, inputs: &[*mut u8], from: usize, n: usize, to: &To<'_, u8>) {
        // SAFETY: the caller's promise.
        unsafe { self.folds().several(inputs, from, n, to) }
    }
}

/// An element as a slice: of a length that is known, so that no loop is compiled.
///
/// # Safety
///
/// There is one at the pointer, and it is not written during the lifetime.
#[inline(always)]
unsafe fn one<'a, T>(at: *const u8) -> &'a [T] {
    // SAFETY: the caller's promise.
    slice::from_ref(unsafe { &*at.cast() })
}

/// # Safety
///
/// There is an element at the pointer, and nothing else accesses it during the lifetime.
#[inline(always)]
unsafe fn one_mut<'a, T>(at: *mut u8) -> &'a mut [T] {
    // SAFETY: the caller's promise.
    slice::from_mut(unsafe { &mut *at.cast() })
}
