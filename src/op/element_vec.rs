//! A growable vector of elements whose type is known only at run time.
//!
//! # Why this is sound
//!
//! - The first `count` elements were copied from [`Elements`] of the type `info`, which is compared at each copy, or were
//!   those of a `Vec` of this type. They lie in memory allocated for `capacity` elements of this type with its alignment,
//!   as a `Vec` allocates it. Elements without bytes need no memory: their pointer is only aligned.
//! - The elements are reached through borrows of the vector, which may not grow meanwhile.
//! - Elements are `Copy`: nothing is dropped but the memory, with the layout with which it was allocated.
#![allow(unsafe_code)]

use std::alloc::{self, Layout};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use super::Element;
use super::elements::{Elements, ElementsMut, Info, dangling};

/// A vector of elements.
pub(crate) struct ElementVec {
    first: *mut u8,
    count: usize,
    capacity: usize,
    info: &'static Info,
}

// SAFETY: the elements are `Send + Sync`, as `Element` demands, and nothing but the vector owns them and their memory.
unsafe impl Send for ElementVec {}
// SAFETY: a shared borrow shows the elements, which are `Sync`, and nothing else.
unsafe impl Sync for ElementVec {}

/// The memory for more elements is not to be had.
#[derive(Debug)]
pub(crate) struct NoMemory;

impl ElementVec {
    /// An empty vector, without memory.
    #[inline]
    pub(crate) fn new(info: &'static Info) -> ElementVec {
        ElementVec {
            first: dangling(info).cast_mut(),
            count: 0,
            capacity: 0,
            info,
        }
    }

    /// The elements of a vector, in its memory.
    #[inline]
    pub(crate) fn from_vec<T: Element>(vec: Vec<T>) -> ElementVec {
        let mut vec = ManuallyDrop::new(vec);
        ElementVec {
            first: vec.as_mut_ptr().cast(),
            count: vec.len(),
            capacity: vec.capacity(),
            info: Info::of::<T>(),
        }
    }

    /// Takes the elements out, with their memory.
    ///
    /// # Panics
    ///
    /// If they are not of type `T`.
    #[inline(always)] // a vector would pass through memory
    pub(crate) fn take_vec<T: Element>(&mut self) -> Vec<T> {
        assert!(self.info.is(Info::of::<T>()), "elements of another type");
        // Word by word: a move of the whole would stall.
        let (first, count, capacity) = (self.first, self.count, self.capacity);
        (self.first, self.count, self.capacity) = (dangling(self.info).cast_mut(), 0, 0);
        // SAFETY: see the head; this vector has forgotten them.
        unsafe { Vec::from_raw_parts(first.cast(), count, capacity) }
    }

    #[inline]
    pub(crate) fn info(&self) -> &'static Info {
        self.info
    }

    /// Number of elements.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Forgets all elements, and keeps the memory.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    #[inline]
    pub(crate) fn all(&self) -> Elements<'_> {
        // SAFETY: see the head.
        unsafe { Elements::from_raw(self.first, self.count, self.info) }
    }

    #[inline]
    pub(crate) fn all_mut(&mut self) -> ElementsMut<'_> {
        // SAFETY: see the head; the vector is borrowed mutably.
        unsafe { ElementsMut::from_raw(self.first, self.count, self.info) }
    }

    /// Appends copies of elements.
    ///
    /// # Panics
    ///
    /// If they are of another type, or if there is no memory for them.
    #[inline]
    pub(crate) fn append(&mut self, more: Elements<'_>) {
        assert!(self.info.is(more.info()), "elements of another type");
        if more.len() > self.capacity - self.count {
            self.reserve(more.len()).expect("memory for more elements");
        }
        // SAFETY: there is memory for them, of this type, and it is not theirs: they are borrowed while this vector is
        // borrowed mutably.
        unsafe { ptr::copy_nonoverlapping(more.first(), self.end(), more.size()) }
        self.count += more.len();
    }

    /// Appends copies of the first of `some`, until there are `length` elements.
    ///
    /// # Errors
    ///
    /// If there is no memory for them.
    ///
    /// # Panics
    ///
    /// If `some` is of another type, or empty where it is needed.
    #[cold]
    pub(crate) fn grow(&mut self, length: usize, some: Elements<'_>) -> Result<(), NoMemory> {
        let Some(missing @ 1..) = length.checked_sub(self.count) else {
            return Ok(());
        };
        self.reserve(missing)?;
        let (first, mut copies) = (self.count, 1);
        self.append(some.get(0..1).expect("an element to fill the vector with"));
        while copies < missing {
            let more = copies.min(missing - copies);
            // SAFETY: the elements from `first` on are there, and there is memory for as many behind them.
            unsafe {
                let from = self.first.add(first * self.info.size());
                ptr::copy_nonoverlapping(from, self.end(), more * self.info.size());
            }
            (self.count, copies) = (self.count + more, copies + more);
        }
        Ok(())
    }

    /// The place behind the last element.
    #[inline]
    fn end(&mut self) -> *mut u8 {
        // SAFETY: inside the memory of the vector, or at its end.
        unsafe { self.first.add(self.count * self.info.size()) }
    }

    /// Gets memory for `more` elements after those that are there; at least doubles it.
    #[cold]
    fn reserve(&mut self, more: usize) -> Result<(), NoMemory> {
        let least = self.count.checked_add(more).ok_or(NoMemory)?;
        if least <= self.capacity {
            return Ok(());
        }
        if self.info.size() == 0 {
            self.capacity = usize::MAX;
            return Ok(());
        }
        let capacity = least.max(self.capacity.saturating_mul(2));
        let layout = self.layout(capacity).or_else(|_| self.layout(least))?;
        let capacity = layout.size() / self.info.size();
        // SAFETY: the size is not zero, as `least` and the size of an element are not.
        let memory = NonNull::new(unsafe { alloc::alloc(layout) }).ok_or(NoMemory)?;
        // SAFETY: both have this many bytes, and the new memory is no other.
        unsafe {
            let bytes = self.count * self.info.size();
            ptr::copy_nonoverlapping(self.first, memory.as_ptr(), bytes);
        }
        self.free();
        (self.first, self.capacity) = (memory.as_ptr(), capacity);
        Ok(())
    }

    fn layout(&self, capacity: usize) -> Result<Layout, NoMemory> {
        let bytes = capacity.checked_mul(self.info.size()).ok_or(NoMemory)?;
        Layout::from_size_align(bytes, self.info.align()).map_err(|_| NoMemory)
    }

    /// Gives the memory back, which is not used any more.
    fn free(&mut self) {
        if self.capacity == 0 || self.info.size() == 0 {
            return;
        }
        let layout = self.layout(self.capacity).expect("it was allocated");
        // SAFETY: allocated with this layout.
        unsafe { alloc::dealloc(self.first, layout) }
    }
}

impl Drop for ElementVec {
    fn drop(&mut self) {
        self.free();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(256))]
    struct Wide(u16);
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(128))]
    struct Nothing;

    /// Appends and grows in turns, and compares with a `Vec`.
    fn compare<T: Element + PartialEq + std::fmt::Debug>(make: impl Fn(usize) -> T) {
        let (mut ours, mut theirs) = (ElementVec::new(Info::of::<T>()), Vec::new());
        for round in 0..40 {
            if round % 17 == 16 {
                ours.clear();
                theirs.clear();
            }
            let more: Vec<T> = (0..round * 7 % 23).map(|i| make(round + i)).collect();
            ours.append(Elements::of(&more));
            theirs.extend_from_slice(&more);
            if let Some(&first) = more.first() {
                let length = theirs.len() + round % 11;
                ours.grow(length, Elements::of(&more)).unwrap();
                theirs.resize(length, first);
            }
            assert_eq!(ours.all().typed::<T>().unwrap(), theirs, "round {round}");
            assert_eq!(ours.all_mut().typed::<T>().unwrap(), theirs);
            if round % 5 == 4 {
                let taken = ours.take_vec::<T>();
                assert_eq!((&taken, ours.len()), (&theirs, 0), "round {round}");
                ours = ElementVec::from_vec(taken);
            }
        }
    }

    #[test]
    fn it_holds_what_a_vec_holds() {
        compare(|i| i as u8);
        compare(|i| i as f64);
        compare(|i| (i as u8, i as u64));
        compare(|i| Wide(i as u16));
        compare(|_| Nothing);
        compare(|_| ());
    }

    #[test]
    fn memory_that_is_not_to_be_had_is_an_error_and_changes_nothing() {
        let mut vec = ElementVec::new(Info::of::<u64>());
        vec.append(Elements::of(&[1u64, 2]));
        for length in [usize::MAX, usize::MAX / 8, usize::MAX / 16] {
            assert!(vec.grow(length, Elements::of(&[3u64])).is_err(), "{length}");
        }
        assert_eq!(vec.all().typed::<u64>(), Some(&[1, 2][..]));
        let mut none = ElementVec::new(Info::of::<()>());
        none.grow(usize::MAX, Elements::of(&[()])).unwrap();
        assert_eq!(none.len(), usize::MAX);
    }

    #[test]
    #[should_panic(expected = "elements of another type")]
    fn elements_of_another_type_are_not_appended() {
        ElementVec::new(Info::of::<u64>()).append(Elements::of(&[1i64]));
    }

    #[test]
    #[should_panic(expected = "an element to fill the vector with")]
    fn nothing_fills_nothing() {
        let _ = ElementVec::new(Info::of::<u64>()).grow(2, Elements::of::<u64>(&[]));
    }
}
