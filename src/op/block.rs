//! Several vectors in one block, which a fused call reduces as a single element: types, lengths and operators are known
//! at run time only.
//!
//! # Why this is sound
//!
//! - At a [`Packed`] of a signature lie, at the places of that signature, initialised elements of its types.
//!   [`Parts::pack`] alone writes them, of vectors each of which [`Parts::new`] has compared with the signature. A
//!   `Packed` is made of a [`Block`] that bears the number of its signature, or by a caller who promises the same.
//! - Only this file makes blocks and writes to them, and only [`Parts::block`] writes a number behind the vectors that it
//!   has copied. No two signatures of the process have one number, and none is 0, that of a block that holds nothing.
//! - A [`Part`] describes the elements and the operator with which it was made, of the same type; its fields are private.
//! - Of the places of a [`List`], those below its `count` are initialised, unless they have been moved to its vector: then
//!   `count` is above their number. They are dropped by its `Drop` alone.
//! - The bytes of packed vectors need not be initialised, and are copied as such.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::{MaybeUninit, needs_drop};
use std::panic::Location;
use std::ptr;
use std::slice;

use super::elements::{Elements, ElementsMut, Info, copy_bytes};
use super::folds::{Folds, Operands, OwnFolds};
use super::signature::{Signature, Slot, TAIL, Vector};
use super::{Element, Operator, OperatorKind};

/// A vector of a fused call, with its operator.
pub(crate) struct Part<'a> {
    elements: ElementsMut<'a>,
    folds: Box<dyn Folds + 'a>,
    /// Where it was listed.
    pub site: &'static Location<'static>,
    /// The description of `folds`.
    op: OperatorKind,
    commutes: bool,
}

impl<'a> Part<'a> {
    #[inline(always)]
    #[track_caller]
    pub(crate) fn new<T: Element>(data: &'a mut [T], op: impl Operator<T> + 'a) -> Part<'a> {
        Part {
            op: op.kind(),
            commutes: op.commutes(),
            elements: ElementsMut::of(data),
            site: Location::caller(),
            folds: Box::new(OwnFolds::new(op)),
        }
    }

    #[inline(always)]
    pub(crate) fn vector(&self) -> Vector {
        Vector {
            info: self.elements.info(),
            count: self.elements.len(),
            op: self.op,
            commutes: self.commutes,
        }
    }

    /// The vector, to be reduced by itself.
    pub(crate) fn operands(&mut self) -> Operands<'_> {
        Operands {
            input: Elements::none(self.elements.info()),
            output: self.elements.reborrow(),
            folds: &*self.folds,
        }
    }
}

/// The number of vectors that are listed without memory from the heap.
const FEW: usize = 8;

/// The vectors of a fused call, in their order.
pub(crate) struct List<'a> {
    /// The vectors, unless there are more of them.
    few: [MaybeUninit<Part<'a>>; FEW],
    count: usize,
    many: Vec<Part<'a>>,
    /// Whether one of the few has something to drop.
    drops: bool,
}

impl<'a> List<'a> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        List {
            few: [const { MaybeUninit::uninit() }; FEW],
            count: 0,
            many: Vec::new(),
            drops: false,
        }
    }

    /// Lists a vector with its operator.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn push<T: Element, O: Operator<T> + 'a>(&mut self, data: &'a mut [T], op: O) {
        // A box of an operator without bytes is no memory.
        self.drops |= size_of::<O>() > 0 || needs_drop::<O>();
        let part = Part::new(data, op);
        match self.few.get_mut(self.count) {
            Some(place) => _ = place.write(part),
            None => self.push_to_many(part),
        }
        self.count += 1;
    }

    #[cold]
    fn push_to_many(&mut self, part: Part<'a>) {
        self.many.reserve(1 + FEW);
        if self.count == FEW {
            for place in &self.few {
                // SAFETY: all are initialised. Nothing here unwinds, and then `count` says that they are moved.
                self.many.push(unsafe { place.assume_init_read() });
            }
        }
        self.many.push(part);
    }

    #[inline(always)]
    pub(crate) fn all(&mut self) -> &mut [Part<'a>] {
        match self.count <= FEW {
            // SAFETY: this many are initialised, see the head.
            true => unsafe { slice::from_raw_parts_mut(self.few.as_mut_ptr().cast(), self.count) },
            false => &mut self.many,
        }
    }
}

impl Drop for List<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.drops && self.count <= FEW {
            let few: *mut [Part<'_>] = self.all();
            // SAFETY: they are initialised, and not used again.
            unsafe { ptr::drop_in_place(few) }
        }
    }
}

/// Vectors of a signature, packed at its places in memory that begins at a multiple of
/// [`ALIGNMENT`](super::signature::ALIGNMENT).
#[derive(Clone, Copy)]
pub(crate) struct Packed<'b> {
    first: *const u8,
    signature: &'static Signature,
    _borrow: PhantomData<&'b [MaybeUninit<u8>]>,
}

impl Packed<'_> {
    /// What stands for the type of packed vectors.
    #[inline(always)]
    pub(crate) fn info() -> &'static Info {
        Info::of_value::<Packed<'static>>()
    }

    /// # Safety
    ///
    /// [`Parts::pack`] has written vectors of this signature at `first`, and nothing writes there during the lifetime.
    #[inline(always)]
    pub(crate) unsafe fn new(first: *const u8, signature: &'static Signature) -> Self {
        Packed {
            first,
            signature,
            _borrow: PhantomData,
        }
    }

    #[inline(always)]
    fn at(&self, slot: &Slot) -> *const u8 {
        // Inside, if the slot is of the signature.
        self.first.wrapping_add(slot.first)
    }
}

/// Several vectors as one element, of `N + 8` bytes: `N` is 8 less than a multiple of 64.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Block<const N: usize> {
    body: [MaybeUninit<u8>; N],
    /// The number of the signature of the vectors; 0: none.
    tail: u64,
}

impl<const N: usize> Block<N> {
    /// A block that holds nothing.
    #[inline]
    fn new() -> Self {
        const { assert!((N + TAIL).is_multiple_of(align_of::<Self>())) }
        Block {
            body: [MaybeUninit::uninit(); N],
            tail: 0,
        }
    }

    /// The vectors in it, if they are of this signature.
    #[inline]
    fn packed(&self, signature: &'static Signature) -> Result<Packed<'_>, OtherVectors> {
        if self.tail != u64::from(signature.id()) {
            return Err(OtherVectors);
        }
        // SAFETY: the number is that of the signature, see the head of this file; a block is aligned.
        Ok(unsafe { Packed::new(self.body.as_ptr().cast(), signature) })
    }
}

/// The ranks of a fused call have packed different vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OtherVectors;

/// Vectors, and their signature.
pub(crate) struct Parts<'p, 'a> {
    signature: &'static Signature,
    parts: &'p mut [Part<'a>],
}

impl<'p, 'a> Parts<'p, 'a> {
    /// `None` if the signature is another one.
    #[inline]
    pub(crate) fn new(signature: &'static Signature, parts: &'p mut [Part<'a>]) -> Option<Self> {
        let same = signature.is_of(parts.iter().map(Part::vector));
        same.then_some(Parts { signature, parts })
    }

    #[inline]
    pub(crate) fn signature(&self) -> &'static Signature {
        self.signature
    }

    /// Copies the vectors to their places.
    ///
    /// # Safety
    ///
    /// `to` is valid for writes of the [bytes](Signature::bytes) of the signature, and overlaps none of the vectors.
    #[inline]
    pub(crate) unsafe fn pack(&self, to: *mut u8) {
        for (slot, part) in self.signature.slots().iter().zip(&*self.parts) {
            let from = part.elements.shared().first();
            // SAFETY: this is the signature of the vectors, so this one has as many bytes as its place, which is inside.
            unsafe { copy_bytes(to.add(slot.first), from, slot.bytes) }
        }
    }

    /// A block of copies of the vectors.
    ///
    /// # Panics
    ///
    /// If they do not fit.
    pub(crate) fn block<const N: usize>(&self) -> Block<N> {
        assert!(self.signature.bytes() <= N, "vectors too long for a block");
        let mut block = Block::new();
        // SAFETY: they fit, and the block is not the caller's.
        unsafe { self.pack(block.body.as_mut_ptr().cast()) }
        block.tail = self.signature.id().into();
        block
    }

    /// Copies the vectors out of a block.
    pub(crate) fn unpack_block<const N: usize>(
        &mut self,
        from: &Block<N>,
    ) -> Result<(), OtherVectors> {
        self.unpack(from.packed(self.signature)?);
        Ok(())
    }

    /// Copies packed vectors into these.
    ///
    /// # Panics
    ///
    /// Here and below, if they are of another signature.
    #[inline]
    pub(crate) fn unpack(&mut self, from: Packed<'_>) {
        self.each(from, |part, slot, theirs| {
            // SAFETY: this is the signature of both, so both have these bytes, and the vector is borrowed mutably.
            unsafe { copy_bytes(part.elements.first(), theirs, slot.bytes) }
        });
    }

    /// Folds packed vectors into these, as right operands.
    #[inline]
    pub(crate) fn fold_right(&mut self, right: Packed<'_>) {
        self.each(right, |part, slot, right| {
            let acc = part.elements.first();
            // SAFETY: this is the signature of both, so both are `count` elements of the type of the operator; those
            // here are borrowed mutably.
            unsafe { part.folds.raw_right(acc, right, slot.vector.count) }
        });
    }

    /// Folds packed vectors into these, as left operands.
    #[inline]
    pub(crate) fn fold_left(&mut self, left: Packed<'_>) {
        self.each(left, |part, slot, left| {
            let acc = part.elements.first();
            // SAFETY: as above.
            unsafe { part.folds.raw_left(acc, left, slot.vector.count) }
        });
    }

    /// Shows each vector, its slot, and where the packed one begins.
    #[inline(always)]
    fn each(&mut self, packed: Packed<'_>, mut f: impl FnMut(&mut Part<'a>, &Slot, *const u8)) {
        let same = ptr::eq(packed.signature, self.signature);
        assert!(same, "packed vectors of another signature");
        let slots = self.signature.slots().iter();
        for (slot, part) in slots.zip(&mut *self.parts) {
            f(part, slot, packed.at(slot));
        }
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
    parts: &'p [Part<'a>],
}

impl<const N: usize> Operator<Block<N>> for ByPart<'_, '_> {
    fn combine(&self, left: Block<N>, right: Block<N>) -> Block<N> {
        let mut both = left;
        let (Ok(_), Ok(right)) = (left.packed(self.signature), right.packed(self.signature)) else {
            return Block::new();
        };
        for (slot, part) in self.signature.slots().iter().zip(self.parts) {
            let acc = both.body[slot.first..].as_mut_ptr().cast();
            // SAFETY: both are of the signature, which is that of the parts, so there are `count` elements of the type of
            // the operator at this place of both, and `both` is a copy.
            unsafe { part.folds.raw_right(acc, right.at(slot), slot.vector.count) }
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
    use std::rc::Rc;

    use super::*;
    use crate::op::{Max, Sum};

    fn signature(parts: &[Part<'_>]) -> &'static Signature {
        Signature::of(parts.iter().map(Part::vector)).unwrap()
    }

    fn parts<'p, 'a>(parts: &'p mut [Part<'a>]) -> Parts<'p, 'a> {
        Parts::new(signature(parts), parts).unwrap()
    }

    type Three = ([u8; 2], [(u8, u64); 1], [i128; 3]);

    fn three(v: &mut Three) -> [Part<'_>; 3] {
        let second = |_: (u8, u64), right: (u8, u64)| right;
        let (a, b, c) = v;
        [Part::new(a, Max), Part::new(b, second), Part::new(c, Sum)]
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
            .combine(left.block::<120>(), right.block::<120>());
        assert_eq!(parts(&mut out).unpack_block(&folded), Ok(()));
        drop(out);
        assert_eq!(c, ([9, 4], [(5, 6)], [-1; 3]));
    }

    #[test]
    fn vectors_are_folded_into_those_of_a_rank_from_either_side() {
        let fold = |fold: fn(&mut Parts<'_, '_>, Packed<'_>)| {
            let (mut a, mut b) = (A, B);
            let (mut ours, mut theirs) = (three(&mut a), three(&mut b));
            let signature = signature(&ours);
            let theirs = parts(&mut theirs).block::<120>();
            fold(&mut parts(&mut ours), theirs.packed(signature).unwrap());
            drop(ours);
            a
        };
        let right = fold(|ours, theirs| ours.fold_right(theirs));
        assert_eq!(right, ([9, 4], [(5, 6)], [-1; 3]));
        let left = fold(|ours, theirs| ours.fold_left(theirs));
        assert_eq!(left, ([9, 4], [(1, 2)], [-1; 3]));
        assert_eq!(fold(|ours, theirs| ours.unpack(theirs)), B);
    }

    #[test]
    fn blocks_of_different_vectors_are_not_folded_and_hold_nothing() {
        let (mut a, mut b) = ([1u64], [2i64]);
        let never = |_: u64, _: u64| -> u64 { panic!("it was folded") };
        let mut list = [Part::new(&mut a, never)];
        let mut theirs = [Part::new(&mut b, |left: i64, _: i64| left)];
        let mut ours = parts(&mut list);
        let (own, other) = (ours.block::<56>(), parts(&mut theirs).block::<56>());
        assert_ne!(own.tail, other.tail);
        let mixed = ours.operator().combine(own, other);
        for (left, right) in [(other, own), (own, mixed), (mixed, own), (mixed, mixed)] {
            assert_eq!(ours.operator().combine(left, right).tail, 0);
        }
        for block in [mixed, other] {
            assert_eq!(ours.unpack_block(&block), Err(OtherVectors));
        }
        drop(list);
        assert_eq!(a, [1]);
    }

    #[test]
    fn packed_vectors_of_another_signature_are_not_folded() {
        let (mut a, mut b) = ([1u64], [2i64]);
        let mut theirs = [Part::new(&mut b, Sum)];
        let (signature, other) = (signature(&theirs), parts(&mut theirs).block::<56>());
        let packed = other.packed(signature).unwrap();
        let folds: [fn(&mut Parts<'_, '_>, Packed<'_>); 3] = [
            |ours, theirs| ours.unpack(theirs),
            |ours, theirs| ours.fold_right(theirs),
            |ours, theirs| ours.fold_left(theirs),
        ];
        for fold in folds {
            let mut list = [Part::new(&mut a, Sum)];
            let fold = || fold(&mut parts(&mut list), packed);
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(fold)).is_err());
        }
        assert_eq!(a, [1]);
    }

    #[test]
    fn vectors_have_one_signature() {
        let (mut a, mut b) = ([1u64], [2i64]);
        let (mut ours, theirs) = ([Part::new(&mut a, Sum)], [Part::new(&mut b, Sum)]);
        assert!(Parts::new(signature(&theirs), &mut ours).is_none());
        assert!(Parts::new(signature(&[]), &mut ours).is_none());
        assert!(Parts::new(signature(&ours), &mut ours).is_some());
    }

    #[test]
    fn every_operator_of_a_list_is_dropped_once() {
        for count in [0, 1, 7, 8, 9, 30] {
            let dropped = Rc::new(());
            let mut data = vec![[1u8]; count];
            let mut list = List::new();
            for (at, one) in data.iter_mut().enumerate() {
                // One that has something to drop is among others.
                match at % 3 {
                    0 => list.push(one, Sum),
                    _ => {
                        let held = dropped.clone();
                        list.push(one, move |a: u8, b: u8| {
                            a + b + Rc::strong_count(&held) as u8
                        });
                    }
                }
            }
            assert_eq!(list.all().len(), count);
            assert_eq!(Rc::strong_count(&dropped), 1 + count - count.div_ceil(3));
            drop(list);
            assert_eq!(Rc::strong_count(&dropped), 1);
        }
    }
}
