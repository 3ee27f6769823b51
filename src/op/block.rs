//! Several vectors in one block, which a fused call reduces as a single element: types, lengths and operators are known
//! at run time only.
//!
//! # Why this is sound
//!
//! - At a [`Packed`] of a signature lie, at the places of that signature, initialised elements of its types.
//!   [`FusedVectors::pack`] alone writes them, of vectors each of which [`FusedVectors::new`] has compared with the signature. A
//!   `Packed` is made of a [`Block`] that bears the number of its signature, or by a caller who promises the same.
//! - Only this file makes blocks and writes to them, and only [`FusedVectors::block`] writes a number behind the vectors that it
//!   has copied. Signatures with one number have the same vectors at the same places, and none is 0, that of a block
//!   that holds nothing.
//! - [`FusedVectors`] have as many vectors as their signature has slots: both that make them compare the numbers.
//! - A [`FusedVector`] is a [`Listed`], which knows the type of its elements and its operator; it is private.
//! - A [`List`] compares each of its first vectors with the slot of the same number, and notes in `differs` whether one
//!   has another key or length; `slots` are those of its signature, both are private to it. Vectors with one key differ
//!   in their lengths only.
//! - Of the places of a [`List`], those below its `count` are initialised, unless they have been moved to its vector: then
//!   `count` is above their number. They and the vector are dropped by its `Drop` alone; if `drops` is false then, none of
//!   them has anything to drop, and the vector has no memory.
//! - The bytes of packed vectors need not be initialised, and are copied as such.
#![allow(unsafe_code)]

#[cfg(all(test, not(loom)))]
mod tests;

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::Location;
use std::ptr;
use std::slice;

use super::elements::{Info, copy_bytes};
use super::folds::Operands;
use super::listed::{Listed, has_place};
use super::signature::{FEW, NO_SLOTS, Signature, Slot, TAIL, Vector};
use super::{Element, Operator, OperatorKind};

/// A vector of a fused call, with its operator.
pub(crate) struct FusedVector<'a> {
    listed: Listed<'a>,
    /// Where it was listed.
    pub site: &'static Location<'static>,
}

impl<'a> FusedVector<'a> {
    /// A vector with an operator of this kind, which commutes or not.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn new<T: Element>(
        data: &'a mut [T],
        op: impl Operator<T> + 'a,
        named: (OperatorKind, bool),
    ) -> FusedVector<'a> {
        FusedVector {
            listed: Listed::new(data, op, named),
            site: Location::caller(),
        }
    }

    pub(crate) fn vector(&self) -> Vector {
        self.listed.key().vector(self.listed.count())
    }

    /// The vector, to be reduced by itself.
    pub(crate) fn operands(&mut self) -> Operands<'_> {
        self.listed.operands()
    }
}

/// The vectors of a fused call, in their order, which probably have a signature that is known before they are listed.
pub(crate) struct List<'a> {
    /// The vectors, unless there are more of them.
    few: [MaybeUninit<FusedVector<'a>>; FEW],
    count: usize,
    many: ManuallyDrop<Vec<FusedVector<'a>>>,
    /// Whether there is something to drop.
    drops: bool,
    /// Whether one of the few has another key or length than its slot.
    differs: bool,
    slots: &'static [Slot; FEW],
    likely: Option<&'static Signature>,
}

impl<'a> List<'a> {
    #[inline(always)]
    pub(crate) fn new(likely: Option<&'static Signature>) -> Self {
        List {
            few: [const { MaybeUninit::uninit() }; FEW],
            count: 0,
            many: ManuallyDrop::new(Vec::new()),
            drops: false,
            differs: false,
            slots: likely.map_or(&NO_SLOTS, Signature::few),
            likely,
        }
    }

    /// Lists a vector with its operator, of this kind, which commutes or not.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn push<T: Element, O: Operator<T> + 'a>(
        &mut self,
        data: &'a mut [T],
        op: O,
        named: (OperatorKind, bool),
    ) {
        // A box of an operator without bytes is no memory.
        self.drops |= has_place::<O>();
        let part = FusedVector::new(data, op, named);
        let slots: &'static [Slot] = self.slots;
        match (self.few.get_mut(self.count), slots.get(self.count)) {
            (Some(place), Some(slot)) => {
                let same = slot.has(part.listed.key().number(), part.listed.count());
                place.write(part);
                if !same {
                    self.is_another();
                }
            }
            _ => self.push_to_many(part),
        }
        self.count += 1;
    }

    /// Notes that a vector has another key or length than its slot: rarely, so that the others store nothing.
    #[cold]
    fn is_another(&mut self) {
        self.differs = true;
    }

    #[cold]
    fn push_to_many(&mut self, part: FusedVector<'a>) {
        self.drops = true;
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
    pub(crate) fn all(&mut self) -> &mut [FusedVector<'a>] {
        match self.count <= FEW {
            // SAFETY: this many are initialised, see the head.
            true => unsafe { slice::from_raw_parts_mut(self.few.as_mut_ptr().cast(), self.count) },
            false => &mut self.many,
        }
    }

    /// The vectors, if they have the likely signature; of more than a few it may say that they have not.
    #[inline(always)]
    pub(crate) fn as_likely(&mut self) -> Option<FusedVectors<'_, 'a>> {
        let signature = self.likely?;
        if self.differs {
            return FusedVectors::new(signature, self.all());
        }
        // Each vector is that of the slot of its number, and this is the number of slots.
        (self.count <= FEW && self.count == signature.slots().len()).then(|| FusedVectors {
            signature,
            parts: self.all(),
        })
    }

    #[cold]
    fn drop_all(&mut self) {
        if self.count <= FEW {
            let few: *mut [FusedVector<'_>] = self.all();
            // SAFETY: they are initialised, and not used again.
            unsafe { ptr::drop_in_place(few) }
        }
        // SAFETY: called once, by `drop`.
        unsafe { ManuallyDrop::drop(&mut self.many) }
    }
}

impl Drop for List<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.drops {
            self.drop_all();
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
    /// [`FusedVectors::pack`] has written vectors of this signature at `first`, and nothing writes there during the lifetime.
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

/// Copies bytes: one word of eight, as vectors in fused calls often are, or more.
///
/// # Safety
///
/// As [`copy_bytes`].
#[inline(always)]
unsafe fn copy_words(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            WORD => copy_bytes(to, from, WORD),
            _ => copy_several(to, from, bytes),
        }
    }
}

/// The bytes that are loaded at once: a load of what was just written stalls if it is wider than that.
const WORD: usize = 8;

/// The most words that are loaded one by one.
const FEW_WORDS: usize = 8;

/// # Safety
///
/// As [`copy_bytes`].
#[inline]
unsafe fn copy_several(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes <= FEW_WORDS * WORD && bytes.is_multiple_of(WORD) {
            true => copy_pairs(to, from, bytes),
            false => copy_bytes(to, from, bytes),
        }
    }
}

/// Copies whole words, of which two are stored at once. A loop, not a branch to code for this number of words: the
/// numbers differ from vector to vector, and indirect branches are predicted worse.
///
/// # Safety
///
/// As [`copy_bytes`].
#[inline(always)]
unsafe fn copy_pairs(to: *mut u8, from: *const u8, bytes: usize) {
    let mut at = 0;
    // SAFETY: the caller's promise, for this part of the bytes.
    unsafe {
        while at + 2 * WORD <= bytes {
            let pair = [load_word(from.add(at)), load_word(from.add(at + WORD))];
            to.add(at).cast::<[Word; 2]>().write(pair);
            at += 2 * WORD;
        }
        if at < bytes {
            to.add(at).cast::<Word>().write(load_word(from.add(at)));
        }
    }
}

/// Bytes that need not be initialised, anywhere.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Word(MaybeUninit<u64>);

const _: () = assert!(size_of::<Word>() == WORD && align_of::<Word>() == 1);

/// Loads a word by itself: of plain loads the compiler would make one of two words, or a call of `memcpy`.
///
/// # Safety
///
/// So many bytes can be read there.
#[inline(always)]
unsafe fn load_word(from: *const u8) -> Word {
    // SAFETY: the caller's promise, and the type has no alignment.
    unsafe { from.cast::<Word>().read_volatile() }
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
pub(crate) struct FusedVectors<'p, 'a> {
    signature: &'static Signature,
    parts: &'p mut [FusedVector<'a>],
}

impl<'p, 'a> FusedVectors<'p, 'a> {
    /// `None` if the signature is another one.
    #[inline(never)]
    pub(crate) fn new(
        signature: &'static Signature,
        parts: &'p mut [FusedVector<'a>],
    ) -> Option<Self> {
        let same = signature.is_of(parts.iter().map(FusedVector::vector));
        same.then_some(FusedVectors { signature, parts })
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
        let slots = self.signature.slots();
        for (number, part) in self.parts.iter().enumerate() {
            // SAFETY: this is the signature of the vectors, so there are as many slots, and this vector has as many bytes as
            // its place, which is inside.
            unsafe {
                let slot = slots.get_unchecked(number);
                copy_words(to.add(slot.first), part.listed.first(), slot.bytes);
            }
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
            unsafe { copy_bytes(part.listed.first(), theirs, slot.bytes) }
        });
    }

    /// Folds packed vectors into these, as right operands.
    #[inline]
    pub(crate) fn fold_right(&mut self, right: Packed<'_>) {
        self.each(right, |part, _, right| {
            // SAFETY: this is the signature of both, so both are `count` elements of the type of the operator; those
            // here are borrowed mutably.
            unsafe { part.listed.fold_right(right) }
        });
    }

    /// Folds packed vectors into these, as left operands.
    #[inline]
    pub(crate) fn fold_left(&mut self, left: Packed<'_>) {
        self.each(left, |part, _, left| {
            // SAFETY: as above.
            unsafe { part.listed.fold_left(left) }
        });
    }

    /// Shows each vector, its slot, and where the packed one begins.
    #[inline(always)]
    fn each(
        &mut self,
        packed: Packed<'_>,
        mut f: impl FnMut(&mut FusedVector<'a>, &Slot, *const u8),
    ) {
        let same = ptr::eq(packed.signature, self.signature);
        assert!(same, "packed vectors of another signature");
        let slots = self.signature.slots();
        for (number, part) in self.parts.iter_mut().enumerate() {
            // SAFETY: this is the signature of the vectors, so there are as many slots.
            let slot = unsafe { slots.get_unchecked(number) };
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
    parts: &'p [FusedVector<'a>],
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
            unsafe {
                part.listed
                    .folds()
                    .raw_right(acc, right.at(slot), slot.vector.count)
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
