//! An operator on elements whose type is known only at run time. A caller compiles its loops, once for each type of
//! elements and each operator; everything that moves elements to and from these loops is compiled without either. And
//! several such vectors, each with its operator, in one block, which a fused call reduces as a single element.
//!
//! # Why this is sound
//!
//! [`Folds::several`] gets pointers. Its caller promises what they point to, in terms of the type that
//! [`Folds::info`] describes, so the trait is `unsafe` to implement: an implementation must access elements of that type
//! only. There is one, [`FoldsOf`], which describes the type of which its loops are, and [`OwnFolds`], which passes all on
//! to it. The other methods compare the types.
//!
//! A [`Block`] whose head is the number of a signature holds, at the places of that signature, initialised elements of
//! its types. Only this file makes blocks and writes to them, and only [`Block::pack`] writes a number into a head, after
//! it has compared each vector with the signature and copied it. No two signatures of the process have one number, and
//! none is 0, the head of a block that holds nothing. A block is taken for elements only by a signature whose number it
//! bears. The rest of it are bytes that need not be initialised, and are copied as such.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::panic::Location;
use std::slice;

use super::elements::{Elements, ElementsMut, Info};
use super::kernels::{self, To};
use super::signature::{HEAD, Signature, Slot, Vector};
use super::{Element, Operator, OperatorKind, named};

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
    fn right(&self, acc: &mut ElementsMut<'_>, right: &Elements<'_>);

    /// `acc[i] ← left[i] ⊕ acc[i]`.
    fn left(&self, acc: &mut ElementsMut<'_>, left: &Elements<'_>);

    /// `out[i] ← left[i] ⊕ right[i]`.
    fn two(&self, out: &mut ElementsMut<'_>, left: &Elements<'_>, right: &Elements<'_>);

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

    unsafe fn several(&self, inputs: &[*mut u8], from: usize, n: usize, to: &To<'_, u8>) {
        // SAFETY: pointers to sized types have one layout, and any of them is a valid pointer.
        let inputs: &[*const T] =
            unsafe { slice::from_raw_parts(inputs.as_ptr().cast(), inputs.len()) };
        // SAFETY: the caller's promise, for elements of type `T`.
        unsafe { kernels::fold_several(self.op, inputs, from, n, &to.to_elements()) }
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

// SAFETY: all is passed on to another implementation, which describes the same type.
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

    unsafe fn several(&self, inputs: &[*mut u8], from: usize, n: usize, to: &To<'_, u8>) {
        // SAFETY: the caller's promise.
        unsafe { self.folds().several(inputs, from, n, to) }
    }
}

/// A vector of a fused call, with its operator.
pub(crate) struct Part<'a> {
    pub elements: ElementsMut<'a>,
    pub folds: Box<dyn Folds + 'a>,
    pub op: OperatorKind,
    pub commutes: bool,
    /// Where it was listed.
    pub site: &'static Location<'static>,
}

impl Part<'_> {
    #[inline]
    pub(crate) fn vector(&self) -> Vector {
        Vector {
            info: self.elements.info(),
            count: self.elements.len(),
            op: self.op,
            commutes: self.commutes,
        }
    }
}

/// Several vectors as one element, of `8 + N` bytes: `N` is 8 less than a multiple of 64.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Block<const N: usize> {
    /// The number of the signature of the vectors; 0: none.
    head: u64,
    body: [MaybeUninit<u8>; N],
}

impl<const N: usize> Block<N> {
    /// A block of these vectors.
    ///
    /// # Panics
    ///
    /// If this is not their signature, or if they do not fit.
    #[inline]
    pub(crate) fn pack(signature: &Signature, parts: &[Option<Part<'_>>]) -> Self {
        const { assert!((HEAD + N).is_multiple_of(align_of::<Self>())) }
        let mut block = Block {
            head: 0,
            body: [MaybeUninit::uninit(); N],
        };
        assert_eq!(signature.slots().len(), parts.len(), "another signature");
        for (slot, part) in signature.slots().iter().zip(parts) {
            let part = part.as_ref().expect("a part");
            assert!(slot.vector.is(&part.vector()), "another signature");
            block.body[in_body(&slot.place)].copy_from_slice(part.elements.shared().bytes());
        }
        block.head = signature.id();
        block
    }

    /// Copies the vectors out of the block, or returns that they are not of this signature.
    #[inline]
    pub(crate) fn unpack(
        &self,
        signature: &Signature,
        parts: &mut [Option<Part<'_>>],
    ) -> Result<(), OtherVectors> {
        if self.head != signature.id() {
            return Err(OtherVectors);
        }
        let parts = parts.iter_mut().flatten();
        for (slot, part) in signature.slots().iter().zip(parts) {
            // SAFETY: the head is the number of the signature.
            let elements = unsafe { self.elements(slot) };
            part.elements.copy_from(elements);
        }
        Ok(())
    }

    /// # Safety
    ///
    /// The slot is of the signature whose number is the head.
    #[inline]
    unsafe fn elements(&self, slot: &Slot) -> Elements<'_> {
        let first = self.body[in_body(&slot.place)].as_ptr().cast();
        // SAFETY: there are these elements, see the head of this file, and the place is aligned as the block is.
        unsafe { Elements::from_raw(first, slot.vector.count, slot.vector.info) }
    }

    /// # Safety
    ///
    /// As [`elements`](Self::elements).
    #[inline]
    unsafe fn elements_mut(&mut self, slot: &Slot) -> ElementsMut<'_> {
        let first = self.body[in_body(&slot.place)].as_mut_ptr().cast();
        // SAFETY: as above, and the block is borrowed mutably.
        unsafe { ElementsMut::from_raw(first, slot.vector.count, slot.vector.info) }
    }
}

#[inline]
fn in_body(place: &Range<usize>) -> Range<usize> {
    place.start - HEAD..place.end - HEAD
}

/// The ranks of a fused call have packed different vectors.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OtherVectors;

/// The operator on blocks: each vector is folded by its own operator. Of blocks of which one has another signature
/// nothing is folded, and the result holds nothing.
pub(crate) struct ByPart<'p, 'a> {
    pub signature: &'static Signature,
    pub parts: &'p [Option<Part<'a>>],
}

impl ByPart<'_, '_> {
    #[inline]
    fn fold<const N: usize>(&self, acc: &mut Block<N>, right: &Block<N>) {
        let id = self.signature.id();
        if acc.head != id || right.head != id {
            acc.head = 0;
            return;
        }
        let parts = self.parts.iter().flatten();
        for (slot, part) in self.signature.slots().iter().zip(parts) {
            if slot.vector.count > 0 {
                // SAFETY: both heads are the number of the signature.
                let (mut acc, right) = unsafe { (acc.elements_mut(slot), right.elements(slot)) };
                part.folds.right(&mut acc, &right);
            }
        }
    }
}

impl<const N: usize> Operator<Block<N>> for ByPart<'_, '_> {
    fn combine(&self, left: Block<N>, right: Block<N>) -> Block<N> {
        let mut both = left;
        self.fold(&mut both, &right);
        both
    }

    fn commutes(&self) -> bool {
        self.signature.commutes()
    }

    fn kind(&self) -> OperatorKind {
        OperatorKind::None
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::op::{Max, Sum};

    fn part<'a, T: Element, O: Operator<T> + 'a>(data: &'a mut [T], op: O) -> Part<'a> {
        Part {
            elements: ElementsMut::of(data),
            op: op.kind(),
            commutes: op.commutes(),
            site: Location::caller(),
            folds: Box::new(OwnFolds::new(op)),
        }
    }

    fn signature(parts: &[Option<Part<'_>>]) -> &'static Signature {
        Signature::of(parts.iter().flatten().map(Part::vector)).unwrap()
    }

    fn packed(parts: &[Option<Part<'_>>]) -> Block<120> {
        Block::pack(signature(parts), parts)
    }

    #[test]
    fn every_vector_is_folded_by_its_own_operator_in_its_order() {
        let mut a = ([3u8, 4], [(1u8, 2u64)], [7i128; 3]);
        let mut b = ([9u8, 1], [(5u8, 6u64)], [-8i128; 3]);
        let second = |_: (u8, u64), right: (u8, u64)| right;
        let left = [
            Some(part(&mut a.0, Max)),
            Some(part(&mut a.1, second)),
            Some(part(&mut a.2, Sum)),
        ];
        let mut right = [
            Some(part(&mut b.0, Max)),
            Some(part(&mut b.1, second)),
            Some(part(&mut b.2, Sum)),
        ];
        let signature = signature(&left);
        let by_part = ByPart {
            signature,
            parts: &left,
        };
        let folded = by_part.combine(packed(&left), packed(&right));
        assert_eq!(folded.unpack(signature, &mut right), Ok(()));
        drop(right);
        assert_eq!(b, ([9, 4], [(5, 6)], [-1; 3]));
    }

    #[test]
    fn blocks_of_different_vectors_are_not_folded_and_hold_nothing() {
        let (mut a, mut b) = ([1u64], [2i64]);
        let never = |_: u64, _: u64| -> u64 { panic!("it was folded") };
        let mut ours = [Some(part(&mut a, never))];
        let theirs = [Some(part(&mut b, |left: i64, _: i64| left))];
        let (signature, blocks) = (signature(&ours), [packed(&ours), packed(&theirs)]);
        assert_ne!(blocks[0].head, blocks[1].head);
        let by_part = ByPart {
            signature,
            parts: &ours,
        };
        let mixed = by_part.combine(blocks[0], blocks[1]);
        assert_eq!(by_part.combine(blocks[1], blocks[0]).head, 0);
        assert_eq!(by_part.combine(blocks[0], mixed).head, 0);
        assert_eq!(by_part.combine(mixed, blocks[0]).head, 0);
        for block in [mixed, blocks[1]] {
            let unpacked = block.unpack(signature, &mut ours);
            assert_eq!(unpacked, Err(OtherVectors));
        }
        drop(ours);
        assert_eq!(a, [1]);
    }

    #[test]
    #[should_panic(expected = "another signature")]
    fn vectors_of_another_signature_are_not_packed() {
        let (mut a, mut b) = ([1u64], [2i64]);
        let (ours, theirs) = ([Some(part(&mut a, Sum))], [Some(part(&mut b, Sum))]);
        let _ = Block::<120>::pack(signature(&theirs), &ours);
    }
}
