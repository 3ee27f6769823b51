//! Several vectors in one block, which a fused call reduces as a single element: types, lengths and operators are known at
//! run time only.
//!
//! # Why this is sound
//!
//! - A [`Block`] whose head is the number of a signature holds, at the places of that signature, initialised elements of
//!   its types. Only this file makes blocks and writes to them, and only [`Parts::pack_into`] writes a number into a
//!   head, after it has copied the vectors, each of which [`Parts::new`] has compared with the signature.
//! - No two signatures of the process have one number, and none is 0, the head of a block that holds nothing. A block is
//!   taken for elements only by a signature whose number it bears.
//! - A [`Part`] describes the elements and the operator with which it was made, of the same type; its fields are private.
//! - The body of a block is bytes that need not be initialised, and are copied as such.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::panic::Location;

use super::elements::{Elements, ElementsMut, Info, copy_bytes};
use super::folds::{Folds, Operands, OwnFolds};
use super::signature::{HEAD, Signature, Slot, Vector};
use super::{Element, Operator, OperatorKind};

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

    /// The same in a given place.
    #[inline]
    fn new_in(place: &mut MaybeUninit<Self>) -> &mut Self {
        let block = place.as_mut_ptr();
        // SAFETY: the place is valid for writes; the head is written, and the body need not be initialised.
        unsafe {
            (&raw mut (*block).head).write(0);
            place.assume_init_mut()
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
    pub(crate) fn pack<const N: usize>(&self) -> Block<N> {
        let mut block = MaybeUninit::uninit();
        *self.pack_into(&mut block)
    }

    /// The same in a given place.
    #[inline]
    pub(crate) fn pack_into<'b, const N: usize>(
        &self,
        block: &'b mut MaybeUninit<Block<N>>,
    ) -> &'b mut Block<N> {
        let block = Block::new_in(block);
        for (slot, part) in self.signature.slots().iter().zip(&*self.parts) {
            let Some(part) = part else { continue };
            let to = &mut block.body[slot.place.clone()];
            // SAFETY: this is the signature of the vectors, so this one has as many bytes as its place, and the block is
            // no one else's memory.
            unsafe {
                copy_bytes(
                    to.as_mut_ptr().cast(),
                    part.elements.shared().first(),
                    to.len(),
                )
            }
        }
        block.head = self.signature.id();
        block
    }

    /// Copies the vectors out of a block.
    #[inline]
    pub(crate) fn unpack<const N: usize>(&mut self, from: &Block<N>) -> Result<(), OtherVectors> {
        self.each(from, |part, theirs, _| {
            // SAFETY: this is the signature of both, so both have these bytes, and the vector is borrowed mutably.
            unsafe { copy_bytes(part.elements.first(), theirs.as_ptr().cast(), theirs.len()) }
        })
    }

    /// Folds the vectors of a block into these, as right operands.
    #[inline]
    pub(crate) fn fold_right<const N: usize>(
        &mut self,
        right: &Block<N>,
    ) -> Result<(), OtherVectors> {
        self.each(right, |part, right, count| {
            let acc = part.elements.first();
            // SAFETY: this is the signature of both, so both are `count` elements of the type of the operator; those
            // here are borrowed mutably.
            unsafe { part.folds.raw_right(acc, right.as_ptr().cast(), count) }
        })
    }

    /// Folds the vectors of a block into these, as left operands.
    #[inline]
    pub(crate) fn fold_left<const N: usize>(
        &mut self,
        left: &Block<N>,
    ) -> Result<(), OtherVectors> {
        self.each(left, |part, left, count| {
            let acc = part.elements.first();
            // SAFETY: as above.
            unsafe { part.folds.raw_left(acc, left.as_ptr().cast(), count) }
        })
    }

    /// Shows each vector that is not empty, the bytes of that in a block, and the number of elements, if the block has
    /// this signature.
    #[inline(always)]
    fn each<const N: usize>(
        &mut self,
        block: &Block<N>,
        mut f: impl FnMut(&mut Part<'a>, &[MaybeUninit<u8>], usize),
    ) -> Result<(), OtherVectors> {
        if block.head != self.signature.id() {
            return Err(OtherVectors);
        }
        let slots = self.signature.slots().iter();
        for (slot, part) in slots.zip(&mut *self.parts) {
            if let (Some(part), count @ 1..) = (part, slot.vector.count) {
                f(part, &block.body[slot.place.clone()], count);
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
