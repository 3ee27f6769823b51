//! An operator on elements whose type is known only at run time. A caller compiles its loops, once for each type of
//! elements and each operator; everything that moves elements to and from these loops is compiled without either.
//!
//! # Why this is sound
//!
//! [`Folds::several`] gets pointers. Its caller promises what they point to, in terms of the type that
//! [`Folds::info`] describes, so the trait is `unsafe` to implement: an implementation must access elements of that type
//! only. There is one, [`FoldsOf`], which describes the type of which its loops are. The other methods compare the types.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::slice;

use super::elements::{Elements, ElementsMut, Info};
use super::kernels::{self, To};
use super::{Element, Operator, named};

/// The loops of an operator over elements of one type.
///
/// # Safety
///
/// `several` accesses the memory at the pointers as elements of the type of `info` and not otherwise, and keeps what
/// [`kernels::fold_several`] promises.
pub(crate) unsafe trait Folds {
    /// The type of the elements.
    fn info(&self) -> &'static Info;

    /// `acc[i] ← acc[i] ⊕ right[i]`.
    ///
    /// # Panics
    ///
    /// Here and below, if elements are of another type than that of [`info`](Self::info).
    fn right(&self, acc: ElementsMut<'_>, right: Elements<'_>);

    /// `acc[i] ← left[i] ⊕ acc[i]`.
    fn left(&self, acc: ElementsMut<'_>, left: Elements<'_>);

    /// `out[i] ← left[i] ⊕ right[i]`.
    fn two(&self, out: ElementsMut<'_>, left: Elements<'_>, right: Elements<'_>);

    /// [`kernels::fold_several`].
    ///
    /// # Safety
    ///
    /// As there, for elements of the type of [`info`](Self::info).
    unsafe fn several(&self, inputs: &[*mut u8], from: usize, n: usize, to: &To<'_, u8>);
}

/// The loops of operator `O` over elements of type `T`.
pub(crate) struct FoldsOf<'a, T, O> {
    op: &'a O,
    _elements: PhantomData<fn(T) -> T>,
}

impl<'a, T: Element, O: Operator<T>> FoldsOf<'a, T, O> {
    #[inline]
    pub(crate) fn new(op: &'a O) -> Self {
        FoldsOf {
            op,
            _elements: PhantomData,
        }
    }
}

// SAFETY: `several` runs the loops over elements of type `T`, which is that of `info`.
unsafe impl<T: Element, O: Operator<T>> Folds for FoldsOf<'_, T, O> {
    fn info(&self) -> &'static Info {
        Info::of::<T>()
    }

    fn right(&self, acc: ElementsMut<'_>, right: Elements<'_>) {
        named::fold_right(self.op, typed_mut(acc), typed(right));
    }

    fn left(&self, acc: ElementsMut<'_>, left: Elements<'_>) {
        named::fold_left(self.op, typed_mut(acc), typed(left));
    }

    fn two(&self, out: ElementsMut<'_>, left: Elements<'_>, right: Elements<'_>) {
        named::fold_two(self.op, typed_mut(out), typed(left), typed(right));
    }

    unsafe fn several(&self, inputs: &[*mut u8], from: usize, n: usize, to: &To<'_, u8>) {
        // SAFETY: pointers to sized types have one layout, and any of them is a valid pointer.
        let inputs: &[*const T] =
            unsafe { slice::from_raw_parts(inputs.as_ptr().cast(), inputs.len()) };
        // SAFETY: the caller's promise, for elements of type `T`.
        unsafe { kernels::fold_several(self.op, inputs, from, n, &to.to_elements()) }
    }
}

fn typed<T: Element>(elements: Elements<'_>) -> &[T] {
    elements.typed().unwrap_or_else(|| other_type())
}

fn typed_mut<T: Element>(elements: ElementsMut<'_>) -> &mut [T] {
    elements.typed().unwrap_or_else(|| other_type())
}

#[cold]
#[inline(never)]
fn other_type() -> ! {
    panic!("a fold of elements of another type");
}
