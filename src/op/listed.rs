//! A vector with its operator, both of types that are known at run time only, as a fused call lists them.
//!
//! What follows from the types is one constant, [`FoldFunctions`], so that little is stored and compared for a vector.
//!
//! # Why this is sound
//!
//! - [`Key::new`] alone makes a key, with the address of the functions of two types; nothing relies on its other bits.
//!   Constants of which the compiler makes one have the same contents, so any of them will do.
//! - [`Listed::new`] alone makes a vector, and its key and its [`RawVector`] are of the same types. The functions are
//!   called with this one alone.
//! - An operator without bytes, which need not be dropped, is forgotten when it is listed, and is then wherever a
//!   reference to it is made: it has no place. Any other is in a box of its own, which `op` points to and `drop` frees.
//! - The vector is borrowed mutably for `'a`, and its operator lives as long.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::{MaybeUninit, needs_drop};
use std::ptr::{self, NonNull};

use super::elements::{Elements, ElementsMut, Info};
use super::folds::{Folds, Operands, OwnFolds};
use super::signature::Vector;
use super::{Element, Operator, OperatorKind};

/// A vector and its operator, without their types.
struct RawVector {
    first: *mut u8,
    count: usize,
    /// Where the operator is: only if it [has a place](has_place).
    op: MaybeUninit<*mut ()>,
}

/// Whether an operator of this type needs memory, or must be dropped.
pub(super) const fn has_place<O>() -> bool {
    size_of::<O>() > 0 || needs_drop::<O>()
}

impl RawVector {
    /// # Safety
    ///
    /// This is a vector of elements of type `T`, with an operator of type `O`.
    #[inline(always)]
    unsafe fn own<T, O>(&self) -> *mut OwnFolds<T, O> {
        match has_place::<O>() {
            // SAFETY: it is written where the operator has a place.
            true => unsafe { self.op.assume_init() }.cast(),
            false => NonNull::dangling().as_ptr(),
        }
    }
}

/// What is done with a vector of elements of type `T` and an operator of type `O`, which lives for `'a`. At a multiple
/// of 64, so that six bits of the address are free.
#[repr(align(64))]
struct FoldFunctions<'a> {
    right: unsafe fn(&RawVector, *const u8),
    left: unsafe fn(&RawVector, *const u8),
    info: &'static Info,
    folds: unsafe fn(&RawVector) -> *const (dyn Folds + 'a),
    drop: unsafe fn(&RawVector),
}

impl<'a> FoldFunctions<'a> {
    const fn of<T: Element, O: Operator<T> + 'a>() -> FoldFunctions<'a> {
        FoldFunctions {
            right: right_of::<T, O>,
            left: left_of::<T, O>,
            info: Info::of::<T>(),
            folds: folds_of::<T, O>,
            drop: drop_of::<T, O>,
        }
    }
}

/// # Safety
///
/// The vector is of these types and accessed by nothing else, and as many elements lie at `right`, which are not
/// written.
unsafe fn right_of<T: Element, O: Operator<T>>(vector: &RawVector, right: *const u8) {
    // SAFETY: the caller's promise.
    unsafe { (*vector.own::<T, O>()).raw_right(vector.first, right, vector.count) }
}

/// # Safety
///
/// As [`right_of`].
unsafe fn left_of<T: Element, O: Operator<T>>(vector: &RawVector, left: *const u8) {
    // SAFETY: the caller's promise.
    unsafe { (*vector.own::<T, O>()).raw_left(vector.first, left, vector.count) }
}

/// # Safety
///
/// The vector is of these types.
unsafe fn folds_of<'a, T: Element, O: Operator<T> + 'a>(
    vector: &RawVector,
) -> *const (dyn Folds + 'a) {
    // SAFETY: the caller's promise.
    unsafe { vector.own::<T, O>() }
}

/// # Safety
///
/// The vector is of these types, and not used any more.
unsafe fn drop_of<T, O>(vector: &RawVector) {
    // SAFETY: the caller's promise; the box was given up when the vector was listed.
    drop(unsafe { Box::from_raw(vector.own::<T, O>()) });
}

/// The types of a vector and of its operator, the kind of the operator, and whether it commutes: the address of the
/// functions of the types, with the latter two in its lower bits.
#[derive(Clone, Copy)]
pub(super) struct Key<'a>(*const FoldFunctions<'a>);

/// The bits of a key that are not of the address.
const TAG: usize = align_of::<FoldFunctions<'_>>() - 1;

const _: () = assert!(2 * (OperatorKind::Own as usize) < TAG);

impl<'a> Key<'a> {
    #[inline(always)]
    fn new<T: Element, O: Operator<T> + 'a>((kind, commutes): (OperatorKind, bool)) -> Self {
        let tag = (kind as usize) << 1 | usize::from(commutes);
        let functions: &FoldFunctions<'a> = const { &FoldFunctions::of::<T, O>() };
        Key(ptr::from_ref(functions).map_addr(|address| address | tag))
    }

    /// A number that only equal keys have; not 0.
    #[inline(always)]
    pub(super) fn number(self) -> usize {
        self.0.addr()
    }

    #[inline(always)]
    fn functions(self) -> &'a FoldFunctions<'a> {
        // SAFETY: the address of the functions that `new` took, which are constant.
        unsafe { &*self.0.map_addr(|address| address & !TAG) }
    }

    /// Such a vector of so many elements.
    pub(super) fn vector(self, count: usize) -> Vector {
        let tag = self.number() & TAG;
        Vector {
            info: self.functions().info,
            count,
            op: kind_of(tag >> 1),
            commutes: tag & 1 > 0,
            key: self.number(),
        }
    }
}

/// Whether [`kind_of`] knows a kind: a kind that is new does not compile before it is added to both.
const fn is_known(kind: OperatorKind) -> bool {
    use OperatorKind::*;
    match kind {
        None | Sum | SumExact | Product | Min | Max | And | Or | Xor | LogicalAnd | LogicalOr
        | LogicalXor | MinLoc | MaxLoc | First | Closure | Commutative | Own => true,
    }
}

/// The kind of an operator with this number.
fn kind_of(number: usize) -> OperatorKind {
    use OperatorKind::*;
    #[rustfmt::skip]
    const KINDS: [OperatorKind; Own as usize + 1] = [
        None, Sum, SumExact, Product, Min, Max, And, Or, Xor, LogicalAnd, LogicalOr, LogicalXor, MinLoc, MaxLoc, First,
        Closure, Commutative, Own,
    ];
    const {
        let mut at = 0;
        while at < KINDS.len() {
            assert!(
                KINDS[at] as usize == at && is_known(KINDS[at]),
                "in their order"
            );
            at += 1;
        }
    }
    KINDS[number]
}

/// A vector of any type with an operator of any type.
pub(super) struct Listed<'a> {
    key: Key<'a>,
    vector: RawVector,
    _borrow: PhantomData<&'a mut [MaybeUninit<u8>]>,
}

impl<'a> Listed<'a> {
    #[inline(always)]
    pub(super) fn new<T: Element, O: Operator<T> + 'a>(
        data: &'a mut [T],
        op: O,
        named: (OperatorKind, bool),
    ) -> Self {
        let key = Key::new::<T, O>(named);
        // An operator without bytes needs no memory.
        let own = Box::into_raw(Box::new(OwnFolds::<T, O>::new(op)));
        let vector = RawVector {
            first: data.as_mut_ptr().cast(),
            count: data.len(),
            op: match has_place::<O>() {
                true => MaybeUninit::new(own.cast()),
                false => MaybeUninit::uninit(),
            },
        };
        Listed {
            key,
            vector,
            _borrow: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn key(&self) -> Key<'a> {
        self.key
    }

    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.vector.count
    }

    #[inline(always)]
    pub(super) fn first(&self) -> *mut u8 {
        self.vector.first
    }

    /// The elements and the operator.
    pub(super) fn operands(&mut self) -> Operands<'_> {
        let RawVector { first, count, .. } = self.vector;
        let info = self.key.functions().info;
        Operands {
            input: Elements::none(info),
            // SAFETY: a slice of this type, borrowed as long as this vector, which is borrowed itself.
            output: unsafe { ElementsMut::from_raw(first, count, info) },
            folds: self.folds(),
        }
    }

    pub(super) fn folds(&self) -> &(dyn Folds + 'a) {
        // SAFETY: these are the functions of the vector's types, and its operator lives as long as it.
        unsafe { &*(self.key.functions().folds)(&self.vector) }
    }

    /// Folds elements into the vector, as right operands.
    ///
    /// # Safety
    ///
    /// Here and below: as many elements of its type lie there, which are not written and overlap none of the vector, and
    /// nothing else accesses the vector.
    #[inline(always)]
    pub(super) unsafe fn fold_right(&mut self, right: *const u8) {
        // SAFETY: these are the functions of the vector's types, and the caller's promise.
        unsafe { (self.key.functions().right)(&self.vector, right) }
    }

    /// Folds elements into the vector, as left operands.
    ///
    /// # Safety
    ///
    /// As [`fold_right`](Self::fold_right).
    #[inline(always)]
    pub(super) unsafe fn fold_left(&mut self, left: *const u8) {
        // SAFETY: as above.
        unsafe { (self.key.functions().left)(&self.vector, left) }
    }
}

impl Drop for Listed<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: these are the functions of the vector's types, and it is not used any more.
        unsafe { (self.key.functions().drop)(&self.vector) }
    }
}
