//! Elements whose type is known only at run time: a slice as pointer, number and type description ([`Info`]). Code that
//! moves and folds elements through these is compiled once, and not for each type of elements.
//!
//! # Why this is sound
//!
//! - [`Elements`] and [`ElementsMut`] are slices without their type: the pointer is that of a slice of the described
//!   type, aligned, of as many initialised elements, and borrowed for the lifetime. Only this file makes them: from a
//!   slice, from a part of another one, or in an `unsafe` function whose caller promises the same. The fields are
//!   private.
//! - They become slices again only after the type was compared ([`Elements::typed`]).
//! - Into [`ElementsMut`] only elements of the same type are copied, after the types and lengths were compared. A part of
//!   a mutable borrow never outlives it, and the parts of a split have no element in common.
//! - Elements are `Copy`: nothing is dropped, and their bytes are copied as they are, also uninitialised ones (padding).
//! - Elements are `Send + Sync`, but neither struct needs to be, and neither is.
//!
//! Everything here is inlined: a slice of three words that is written to memory word by word, to be passed on, and
//! copied there by wider loads, stalls each time (a scan of 8 bytes would take 1.1 times as long).
#![allow(unsafe_code)]

use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;
use std::{ptr, slice};

use super::{Element, append, copied, copies::Copies};

/// Describes a type at run time. There is one per type and code unit, so different addresses prove nothing and the ids
/// are compared then.
pub(crate) struct Info {
    id: TypeId,
    name: fn() -> &'static str,
    size: usize,
    align: usize,
    /// `None` where the type need not be one of elements.
    vectors: Option<VecFunctions>,
}

/// What is done with a `Vec` of elements where their type is not known.
pub(super) struct VecFunctions {
    pub(super) copied: fn(Elements<'_>) -> Option<Box<dyn Any + Send>>,
    shown: fn(&dyn Any) -> Option<Elements<'_>>,
    pub(super) shared: fn(Elements<'_>) -> Option<SharedVec>,
    pub(super) refilled: fn(&mut dyn Any, Elements<'_>, &Copies) -> bool,
}

/// A `Vec` of elements that several may read.
pub(crate) type SharedVec = Arc<dyn Any + Send + Sync>;

impl Info {
    /// The description of any type.
    pub(crate) const fn of_value<T: 'static>() -> &'static Info {
        const { &Info::new::<T>(None) }
    }

    /// The description of a type of elements.
    pub(crate) const fn of<T: Element>() -> &'static Info {
        const { &Info::new::<T>(Some(VecFunctions::of::<T>())) }
    }

    const fn new<T: 'static>(vectors: Option<VecFunctions>) -> Info {
        Info {
            id: TypeId::of::<T>(),
            name: std::any::type_name::<T>,
            size: size_of::<T>(),
            align: align_of::<T>(),
            vectors,
        }
    }

    #[inline]
    pub(crate) fn is(&'static self, other: &'static Info) -> bool {
        ptr::eq(self, other) || self.id == other.id
    }

    pub(crate) fn name(&self) -> &'static str {
        (self.name)()
    }

    /// The size of one element in bytes.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The alignment of an element in bytes.
    #[inline]
    pub(crate) fn align(&self) -> usize {
        self.align
    }

    pub(crate) fn id(&self) -> TypeId {
        self.id
    }

    /// What is done with a `Vec` of this type.
    pub(super) fn vectors(&self) -> Option<&VecFunctions> {
        self.vectors.as_ref()
    }

    /// The elements in a `Vec` of this type; `None` if it is something else.
    #[inline]
    pub(crate) fn shown<'a>(&self, vector: &'a dyn Any) -> Option<Elements<'a>> {
        self.vectors.as_ref().and_then(|make| (make.shown)(vector))
    }
}

impl VecFunctions {
    const fn of<T: Element>() -> VecFunctions {
        VecFunctions {
            copied: vector_of::<T>,
            shown: shown_of::<T>,
            shared: share_of::<T>,
            refilled: refilled::<T>,
        }
    }
}

fn share_of<T: Element>(elements: Elements<'_>) -> Option<SharedVec> {
    Some(Arc::new(copied(elements.typed::<T>()?)))
}

fn refilled<T: Element>(vector: &mut dyn Any, elements: Elements<'_>, copies: &Copies) -> bool {
    let (vector, elements) = (vector.downcast_mut::<Vec<T>>(), elements.typed::<T>());
    let Some((vector, elements)) = vector.zip(elements) else {
        return false;
    };
    vector.clear();
    match vector.spare_capacity_mut().get_mut(..elements.len()) {
        None => append(vector, elements),
        Some(room) => {
            copies.fill_kept(room, elements);
            // SAFETY: the vector has this room, all of which was just written.
            unsafe { vector.set_len(elements.len()) }
        }
    }
    true
}

fn vector_of<T: Element>(elements: Elements<'_>) -> Option<Box<dyn Any + Send>> {
    Some(Box::new(copied(elements.typed::<T>()?)))
}

fn shown_of<T: Element>(vector: &dyn Any) -> Option<Elements<'_>> {
    let vector = vector.downcast_ref::<Vec<T>>()?;
    Some(Elements::of(vector))
}

/// A shared slice of elements.
#[derive(Clone, Copy)]
pub(crate) struct Elements<'a> {
    first: *const u8,
    count: usize,
    info: &'static Info,
    _borrow: PhantomData<&'a [MaybeUninit<u8>]>,
}

impl<'a> Elements<'a> {
    #[inline(always)]
    pub(crate) fn of<T: Element>(elements: &'a [T]) -> Elements<'a> {
        Elements {
            first: elements.as_ptr().cast(),
            count: elements.len(),
            info: Info::of::<T>(),
            _borrow: PhantomData,
        }
    }

    /// # Safety
    ///
    /// `count` elements of the type `info` lie at `first`, which is aligned for them, and are not written during the
    /// lifetime.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(
        first: *const u8,
        count: usize,
        info: &'static Info,
    ) -> Elements<'a> {
        Elements {
            first,
            count,
            info,
            _borrow: PhantomData,
        }
    }

    /// No elements.
    #[inline(always)]
    pub(crate) fn none(info: &'static Info) -> Elements<'a> {
        // SAFETY: the pointer is aligned, and there are no elements.
        unsafe { Elements::from_raw(dangling(info), 0, info) }
    }

    #[inline(always)]
    pub(crate) fn info(self) -> &'static Info {
        self.info
    }

    /// Number of elements.
    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.count
    }

    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Number of bytes of all elements.
    #[inline(always)]
    pub(crate) fn size(self) -> usize {
        // A slice has at most isize::MAX bytes.
        self.count * self.info.size()
    }

    #[inline(always)]
    pub(crate) fn first(self) -> *const u8 {
        self.first
    }

    /// The slice; `None` if it is of another type.
    #[inline(always)]
    pub(crate) fn typed<T: Element>(self) -> Option<&'a [T]> {
        // SAFETY: a slice of this type, as just compared.
        let slice = || unsafe { self.assume_typed() };
        self.info.is(Info::of::<T>()).then(slice)
    }

    /// The slice.
    ///
    /// # Safety
    ///
    /// `T` is the type that `info` describes.
    #[inline(always)]
    pub(crate) unsafe fn assume_typed<T: Element>(self) -> &'a [T] {
        // SAFETY: a slice of this type, see the head.
        unsafe { slice::from_raw_parts(self.first.cast(), self.count) }
    }

    /// The bytes of the elements, initialised or not.
    #[inline(always)]
    pub(crate) fn bytes(self) -> &'a [MaybeUninit<u8>] {
        // SAFETY: the same memory, and none of it is read as an initialised value.
        unsafe { slice::from_raw_parts(self.first.cast(), self.size()) }
    }

    /// Some of the elements; `None` if there are not that many.
    #[inline(always)]
    pub(crate) fn get(self, run: Range<usize>) -> Option<Elements<'a>> {
        if run.start > run.end || run.end > self.count {
            return None;
        }
        // SAFETY: inside the slice.
        Some(unsafe { self.part(run) })
    }

    /// The first `count` elements, and the others.
    #[inline(always)]
    pub(crate) fn split_at(self, count: usize) -> Option<(Elements<'a>, Elements<'a>)> {
        let rest = self.get(count..self.count)?;
        Some((self.get(0..count)?, rest))
    }

    /// # Safety
    ///
    /// `run` is inside.
    #[inline(always)]
    unsafe fn part(self, run: Range<usize>) -> Elements<'a> {
        Elements {
            // SAFETY: inside the slice.
            first: unsafe { self.first.add(run.start * self.info.size()) },
            count: run.end - run.start,
            ..self
        }
    }
}

/// A mutable slice of elements.
pub(crate) struct ElementsMut<'a> {
    first: *mut u8,
    count: usize,
    info: &'static Info,
    _borrow: PhantomData<&'a mut [MaybeUninit<u8>]>,
}

impl<'a> ElementsMut<'a> {
    #[inline(always)]
    pub(crate) fn of<T: Element>(elements: &'a mut [T]) -> ElementsMut<'a> {
        ElementsMut {
            first: elements.as_mut_ptr().cast(),
            count: elements.len(),
            info: Info::of::<T>(),
            _borrow: PhantomData,
        }
    }

    /// # Safety
    ///
    /// `count` elements of the type `info` lie at `first`, which is aligned for them, and are accessed through the
    /// result alone during the lifetime.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(
        first: *mut u8,
        count: usize,
        info: &'static Info,
    ) -> ElementsMut<'a> {
        ElementsMut {
            first,
            count,
            info,
            _borrow: PhantomData,
        }
    }

    /// No elements.
    #[inline(always)]
    pub(crate) fn none(info: &'static Info) -> ElementsMut<'a> {
        // SAFETY: the pointer is aligned, and there are no elements.
        unsafe { ElementsMut::from_raw(dangling(info).cast_mut(), 0, info) }
    }

    #[inline(always)]
    pub(crate) fn info(&self) -> &'static Info {
        self.info
    }

    /// Number of elements.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline(always)]
    pub(crate) fn first(&mut self) -> *mut u8 {
        self.first
    }

    /// The slice; `None` if it is of another type.
    pub(crate) fn typed<T: Element>(self) -> Option<&'a mut [T]> {
        // SAFETY: a slice of this type, as just compared.
        self.info
            .is(Info::of::<T>())
            .then(|| unsafe { self.assume_typed() })
    }

    /// The slice.
    ///
    /// # Safety
    ///
    /// `T` is the type that `info` describes.
    #[inline(always)]
    pub(crate) unsafe fn assume_typed<T: Element>(self) -> &'a mut [T] {
        // SAFETY: a slice of this type, see the head.
        unsafe { slice::from_raw_parts_mut(self.first.cast(), self.count) }
    }

    #[inline(always)]
    pub(crate) fn reborrow(&mut self) -> ElementsMut<'_> {
        ElementsMut { ..*self }
    }

    /// The same elements, to be read only.
    #[inline(always)]
    pub(crate) fn into_shared(self) -> Elements<'a> {
        // SAFETY: the borrow is given up, so nothing is written for its lifetime.
        unsafe { Elements::from_raw(self.first, self.count, self.info) }
    }

    #[inline(always)]
    pub(crate) fn shared(&self) -> Elements<'_> {
        // SAFETY: the borrow of `self` excludes writes.
        unsafe { Elements::from_raw(self.first, self.count, self.info) }
    }

    /// Some of the elements; `None` if there are not that many.
    #[inline(always)]
    pub(crate) fn get(self, run: Range<usize>) -> Option<ElementsMut<'a>> {
        if run.start > run.end || run.end > self.count {
            return None;
        }
        // SAFETY: inside the slice.
        let first = unsafe { self.first.add(run.start * self.info.size()) };
        let count = run.end - run.start;
        Some(ElementsMut {
            first,
            count,
            ..self
        })
    }

    /// The first `count` elements, and the others.
    #[inline(always)]
    pub(crate) fn split_at(self, count: usize) -> Option<(ElementsMut<'a>, ElementsMut<'a>)> {
        let rest = self.count.checked_sub(count)?;
        // SAFETY: inside the slice, and the parts have no element in common.
        let second = unsafe { self.first.add(count * self.info.size()) };
        let part = |first, count| ElementsMut {
            first,
            count,
            ..self
        };
        Some((part(self.first, count), part(second, rest)))
    }

    /// Copies elements of the same type and number here.
    ///
    /// # Panics
    ///
    /// If type or number differ.
    #[inline(always)]
    pub(crate) fn copy_from(&mut self, from: Elements<'_>) {
        assert!(
            self.info.is(from.info),
            "a copy of elements of another type"
        );
        assert_eq!(self.count, from.count, "a copy to another length");
        // SAFETY: both have this size, and they do not overlap, since this one is borrowed mutably.
        unsafe { copy_bytes(self.first, from.first, from.size()) }
    }
}

/// Copies bytes; the most frequent numbers of them without a call of `memcpy`.
///
/// # Safety
///
/// `from` is valid for reads and `to` for writes of `bytes` bytes, and they do not overlap.
#[inline(always)]
pub(crate) unsafe fn copy_bytes(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            8 => ptr::copy_nonoverlapping(from, to, 8),
            4 => ptr::copy_nonoverlapping(from, to, 4),
            16 => ptr::copy_nonoverlapping(from, to, 16),
            _ => ptr::copy_nonoverlapping(from, to, bytes),
        }
    }
}

/// An aligned pointer to no element.
#[inline(always)]
pub(crate) fn dangling(info: &'static Info) -> *const u8 {
    ptr::without_provenance(info.align())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_a_slice() {
        let mut data: Vec<(u8, u32)> = (0..7).map(|i| (i as u8, i * i)).collect();
        let plain = data.clone();
        for start in 0..9 {
            for end in 0..9 {
                let part = Elements::of(&plain).get(start..end);
                let part = part.map(|part| part.typed::<(u8, u32)>().unwrap());
                assert_eq!(part, plain.get(start..end), "{start}..{end}");
                let part = ElementsMut::of(&mut data).get(start..end);
                let part = part.map(|part| &*part.typed::<(u8, u32)>().unwrap());
                assert_eq!(part, plain.get(start..end), "{start}..{end}");
            }
            let halves = Elements::of(&plain).split_at(start);
            let halves = halves.map(|(a, b)| (a.typed().unwrap(), b.typed().unwrap()));
            assert_eq!(halves, plain.split_at_checked(start));
            let halves = ElementsMut::of(&mut data).split_at(start);
            let halves = halves.map(|(a, b)| (a.into_shared(), b.into_shared()));
            let halves = halves.map(|(a, b)| (a.typed().unwrap(), b.typed().unwrap()));
            assert_eq!(halves, plain.split_at_checked(start));
        }
    }

    #[test]
    fn elements_are_no_slice_of_another_type() {
        let mut data = [1u32, 2];
        assert_eq!(Elements::of(&data).typed::<i32>(), None);
        assert_eq!(ElementsMut::of(&mut data).typed::<f32>(), None);
        assert_eq!(Elements::of(&data).typed::<u32>(), Some(&[1, 2][..]));
    }

    #[test]
    fn only_as_many_elements_of_the_same_type_are_copied() {
        let mut to = [0u64; 3];
        ElementsMut::of(&mut to).copy_from(Elements::of(&[1u64, 2, 3]));
        assert_eq!(to, [1, 2, 3]);
        let others: [Elements<'_>; 2] = [Elements::of(&[1i64; 3]), Elements::of(&[1u64; 2])];
        for other in others {
            let copy = std::panic::AssertUnwindSafe(|| ElementsMut::of(&mut to).copy_from(other));
            assert!(std::panic::catch_unwind(copy).is_err());
        }
        assert_eq!(to, [1, 2, 3]);
    }
}
