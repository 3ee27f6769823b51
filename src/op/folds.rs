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
//! its types. Only this file makes blocks and writes to them, and only [`Parts::pack`] writes a number into a head, after
//! it has copied the vectors, each of which [`Parts::new`] has compared with the signature. No two signatures of the process have one number, and
//! none is 0, the head of a block that holds nothing. A block is taken for elements only by a signature whose number it
//! bears. The rest of it are bytes that need not be initialised, and are copied as such.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::slice;

use super::elements::{Elements, ElementsMut, Info, copy_bytes};
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
    elements: ElementsMut<'a>,
    folds: Box<dyn Folds + 'a>,
    /// The description of `elements` and `folds`.
    vector: Vector,
    /// Where it was listed.
    pub site: &'static Location<'static>,
}

impl<'a> Part<'a> {
    #[inline]
    #[track_caller]
    pub(crate) fn new<T: Element>(data: &'a mut [T], op: impl Operator<T> + 'a) -> Part<'a> {
        Part {
            vector: Vector {
                info: Info::of::<T>(),
                count: data.len(),
                op: op.kind(),
                commutes: op.commutes(),
            },
            elements: ElementsMut::of(data),
            site: Location::caller(),
            folds: Box::new(OwnFolds::new(op)),
        }
    }

    #[inline]
    pub(crate) fn vector(&self) -> &Vector {
        &self.vector
    }

    /// The vector, to be reduced by itself.
    pub(crate) fn operands(&mut self) -> Operands<'_> {
        Operands {
            input: Elements::none(self.vector.info),
            output: self.elements.reborrow(),
            folds: &*self.folds,
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
    /// A block that holds nothing.
    #[inline]
    pub(crate) fn new() -> Self {
        const { assert!((HEAD + N).is_multiple_of(align_of::<Self>())) }
        Block {
            head: 0,
            body: [MaybeUninit::uninit(); N],
        }
    }

    /// # Safety
    ///
    /// The slot is of the signature whose number is the head.
    #[inline]
    unsafe fn elements(&self, slot: &Slot) -> Elements<'_> {
        let first = self.body[slot.place.clone()].as_ptr().cast();
        // SAFETY: there are these elements, see the head of this file, and the place is aligned as the block is.
        unsafe { Elements::from_raw(first, slot.vector.count, slot.vector.info) }
    }

    /// # Safety
    ///
    /// As [`elements`](Self::elements).
    #[inline]
    unsafe fn elements_mut(&mut self, slot: &Slot) -> ElementsMut<'_> {
        let first = self.body[slot.place.clone()].as_mut_ptr().cast();
        // SAFETY: as above, and the block is borrowed mutably.
        unsafe { ElementsMut::from_raw(first, slot.vector.count, slot.vector.info) }
    }
}

/// The ranks of a fused call have packed different vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OtherVectors;

/// Vectors, and their signature.
pub(crate) struct Parts<'p, 'a> {
    signature: &'static Signature,
    parts: &'p mut [Option<Part<'a>>],
}

impl<'p, 'a> Parts<'p, 'a> {
    /// `None` if the signature is another one.
    #[inline]
    pub(crate) fn new(
        signature: &'static Signature,
        parts: &'p mut [Option<Part<'a>>],
    ) -> Option<Self> {
        let same = signature.is_of(parts.iter().map(|part| Some(part.as_ref()?.vector())));
        same.then_some(Parts { signature, parts })
    }

    /// A block of copies of the vectors.
    ///
    /// # Panics
    ///
    /// If they do not fit.
    #[inline]
    pub(crate) fn pack<const N: usize>(&self) -> Block<N> {
        let mut block = Block::new();
        for (slot, part) in self.signature.slots().iter().zip(&*self.parts) {
            let Some(part) = part else { continue };
            let (to, from) = (&mut block.body[slot.place.clone()], part.elements.shared());
            assert_eq!(to.len(), from.size(), "another signature");
            // SAFETY: both have this size, and the block is no one else's memory.
            unsafe { copy_bytes(to.as_mut_ptr().cast(), from.first(), from.size()) }
        }
        block.head = self.signature.id();
        block
    }

    /// Copies the vectors out of a block.
    #[inline]
    pub(crate) fn unpack<const N: usize>(&mut self, from: &Block<N>) -> Result<(), OtherVectors> {
        self.each(from, |part, theirs| part.elements.copy_from(theirs))
    }

    /// Folds the vectors of a block into these, as right operands.
    #[inline]
    pub(crate) fn fold_right<const N: usize>(
        &mut self,
        right: &Block<N>,
    ) -> Result<(), OtherVectors> {
        self.each(right, |part, right| {
            part.folds.right(&mut part.elements, &right)
        })
    }

    /// Folds the vectors of a block into these, as left operands.
    #[inline]
    pub(crate) fn fold_left<const N: usize>(
        &mut self,
        left: &Block<N>,
    ) -> Result<(), OtherVectors> {
        self.each(left, |part, left| {
            part.folds.left(&mut part.elements, &left)
        })
    }

    /// Shows each vector that is not empty, and that of a block.
    #[inline(always)]
    fn each<const N: usize>(
        &mut self,
        block: &Block<N>,
        mut f: impl FnMut(&mut Part<'a>, Elements<'_>),
    ) -> Result<(), OtherVectors> {
        if block.head != self.signature.id() {
            return Err(OtherVectors);
        }
        let slots = self.signature.slots().iter();
        for (slot, part) in slots.zip(&mut *self.parts) {
            if let (Some(part), 1..) = (part, slot.vector.count) {
                // SAFETY: the head is the number of the signature.
                f(part, unsafe { block.elements(slot) });
            }
        }
        Ok(())
    }

    /// The operator on blocks of such vectors.
    pub(crate) fn operator(&self) -> ByPart<'_, 'a> {
        ByPart {
            signature: self.signature,
            parts: self.parts,
        }
    }
}

/// The operator on blocks: each vector is folded by its own operator. Of blocks of which one has another signature
/// nothing is folded, and the result holds nothing.
pub(crate) struct ByPart<'p, 'a> {
    signature: &'static Signature,
    parts: &'p [Option<Part<'a>>],
}

impl<const N: usize> Operator<Block<N>> for ByPart<'_, '_> {
    fn combine(&self, left: Block<N>, right: Block<N>) -> Block<N> {
        let (mut both, id) = (left, self.signature.id());
        if both.head != id || right.head != id {
            return Block::new();
        }
        for (slot, part) in self.signature.slots().iter().zip(self.parts) {
            if let (Some(part), 1..) = (part, slot.vector.count) {
                // SAFETY: both heads are the number of the signature.
                let (mut acc, right) = unsafe { (both.elements_mut(slot), right.elements(slot)) };
                part.folds.right(&mut acc, &right);
            }
        }
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

    fn signature(parts: &[Option<Part<'_>>]) -> &'static Signature {
        Signature::of(parts.iter().flatten().map(|part| *part.vector())).unwrap()
    }

    fn parts<'p, 'a>(parts: &'p mut [Option<Part<'a>>]) -> Parts<'p, 'a> {
        Parts::new(signature(parts), parts).unwrap()
    }

    type Three = ([u8; 2], [(u8, u64); 1], [i128; 3]);

    fn three(v: &mut Three) -> [Option<Part<'_>>; 3] {
        let second = |_: (u8, u64), right: (u8, u64)| right;
        let (a, b, c) = v;
        [
            Some(Part::new(a, Max)),
            Some(Part::new(b, second)),
            Some(Part::new(c, Sum)),
        ]
    }

    const A: Three = ([3, 4], [(1, 2)], [7; 3]);
    const B: Three = ([9, 1], [(5, 6)], [-8; 3]);

    #[test]
    fn every_vector_is_folded_by_its_own_operator_in_its_order() {
        let (mut a, mut b, mut c) = (A, B, A);
        let (mut left, mut right, mut out) = (three(&mut a), three(&mut b), three(&mut c));
        let (left, right) = (parts(&mut left), parts(&mut right));
        let folded = left
            .operator()
            .combine(left.pack::<120>(), right.pack::<120>());
        assert_eq!(parts(&mut out).unpack(&folded), Ok(()));
        drop(out);
        assert_eq!(c, ([9, 4], [(5, 6)], [-1; 3]));
    }

    #[test]
    fn vectors_are_folded_into_those_of_a_rank_from_either_side() {
        let (mut a, mut b) = (A, B);
        let block = parts(&mut three(&mut b)).pack::<120>();
        assert_eq!(parts(&mut three(&mut a)).fold_right(&block), Ok(()));
        assert_eq!(a, ([9, 4], [(5, 6)], [-1; 3]));
        let (mut a, mut b) = (A, B);
        let block = parts(&mut three(&mut b)).pack::<120>();
        assert_eq!(parts(&mut three(&mut a)).fold_left(&block), Ok(()));
        assert_eq!(a, ([9, 4], [(1, 2)], [-1; 3]));
    }

    #[test]
    fn blocks_of_different_vectors_are_not_folded_and_hold_nothing() {
        let (mut a, mut b) = ([1u64], [2i64]);
        let never = |_: u64, _: u64| -> u64 { panic!("it was folded") };
        let mut list = [Some(Part::new(&mut a, never))];
        let mut theirs = [Some(Part::new(&mut b, |left: i64, _: i64| left))];
        let mut ours = parts(&mut list);
        let (own, other) = (ours.pack::<56>(), parts(&mut theirs).pack::<56>());
        assert_ne!(own.head, other.head);
        let mixed = ours.operator().combine(own, other);
        for (left, right) in [(other, own), (own, mixed), (mixed, own), (mixed, mixed)] {
            assert_eq!(ours.operator().combine(left, right).head, 0);
        }
        for block in [mixed, other] {
            assert_eq!(ours.unpack(&block), Err(OtherVectors));
            assert_eq!(ours.fold_right(&block), Err(OtherVectors));
            assert_eq!(ours.fold_left(&block), Err(OtherVectors));
        }
        drop(list);
        assert_eq!(a, [1]);
    }

    #[test]
    fn vectors_have_one_signature() {
        let (mut a, mut b) = ([1u64], [2i64]);
        let (mut ours, theirs) = (
            [Some(Part::new(&mut a, Sum))],
            [Some(Part::new(&mut b, Sum))],
        );
        assert!(Parts::new(signature(&theirs), &mut ours).is_none());
        assert!(Parts::new(signature(&[]), &mut ours).is_none());
        assert!(Parts::new(signature(&ours), &mut ours).is_some());
    }
}
