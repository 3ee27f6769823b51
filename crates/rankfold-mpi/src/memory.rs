//! The memory of callers: everything that is read or written through a pointer that came as an argument.
//!
//! # Why this is sound
//!
//! A [`Caller`] exists only while a function of `exports` runs, or while a request of such a call is completed by another
//! one. It stands for what the MPI standard asks of the program that makes the call: that each pointer argument is null
//! or points to as many objects of its type as the other arguments say, that buffers hold as many elements of the
//! datatype as counted, and that the buffers of a request stay there and are left alone until it is complete. The methods
//! here take such pointers, refuse null, and access only what the arguments describe. No pointer comes from elsewhere.
//!
//! Contents of messages are [`Byte`]s, which may be uninitialised, as the padding of a struct is. They are read as numbers
//! only where the datatype says that the sender had numbers there.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::{ptr, slice};

use crate::abi::{MPI_ERR_ARG, MPI_ERR_BUFFER, MPI_Status};
use crate::error::{Failure, Out, failure};
use crate::text::Text;

/// A byte of a message.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Byte(MaybeUninit<u8>);

impl Byte {
    pub(crate) const ZERO: Byte = Byte(MaybeUninit::new(0));
}

/// Appends bytes that are known.
pub(crate) fn append(bytes: &[u8], to: &mut Vec<Byte>) {
    to.extend(bytes.iter().map(|byte| Byte(MaybeUninit::new(*byte))));
}

/// Overwrites with bytes that are known.
pub(crate) fn put(bytes: &[u8], to: &mut [Byte]) {
    for (to, byte) in to.iter_mut().zip(bytes) {
        *to = Byte(MaybeUninit::new(*byte));
    }
}

/// A part of a status, by its distance from the beginning.
#[derive(Clone, Copy)]
pub(crate) struct StatusPart<T> {
    offset: usize,
    _holds: PhantomData<T>,
}

impl<T> StatusPart<T> {
    pub(crate) const fn at(offset: usize) -> StatusPart<T> {
        StatusPart {
            offset,
            _holds: PhantomData,
        }
    }
}

#[cold]
fn null_read() -> Failure {
    failure(MPI_ERR_BUFFER, "a buffer that is read is a null pointer")
}

#[cold]
fn null_write() -> Failure {
    failure(MPI_ERR_BUFFER, "a buffer that is written is a null pointer")
}

/// What the program promises for the call in progress.
pub(crate) struct Caller {
    _private: (),
}

impl Caller {
    /// # Safety
    ///
    /// As the head of this file says: the pointers that this call was given, or the calls whose requests it completes,
    /// are as the MPI standard asks.
    pub(crate) unsafe fn new() -> Caller {
        Caller { _private: () }
    }

    /// Writes a result.
    pub(crate) fn write<T>(&self, to: *mut T, value: T) -> Out {
        if to.is_null() {
            return Err(failure(
                MPI_ERR_ARG,
                "the place for a result is a null pointer",
            ));
        }
        // SAFETY: not null, so by the caller's promise a place for a `T`.
        unsafe { to.write_unaligned(value) };
        Ok(())
    }

    /// Writes a status, if there is a place for it: all but the error, which only calls that give several statuses
    /// change.
    #[inline]
    pub(crate) fn write_status(&self, to: *mut MPI_Status, told: MPI_Status) {
        if !to.is_null() {
            // SAFETY: not null, so by the caller's promise a place for a status.
            unsafe {
                (&raw mut (*to).MPI_SOURCE).write_unaligned(told.MPI_SOURCE);
                (&raw mut (*to).MPI_TAG).write_unaligned(told.MPI_TAG);
                (&raw mut (*to).MPI_internal).write_unaligned(told.MPI_internal);
            }
        }
    }

    /// Writes a part of a status.
    pub(crate) fn write_part<T>(
        &self,
        status: *mut MPI_Status,
        part: StatusPart<T>,
        value: T,
    ) -> Out {
        match status.is_null() {
            true => self.write(status.cast(), value),
            false => self.write(status.wrapping_byte_add(part.offset).cast(), value),
        }
    }

    /// Reads a part of a status.
    pub(crate) fn part<T: Copy>(&self, status: *const MPI_Status, part: StatusPart<T>) -> Out<T> {
        match status.is_null() {
            true => self.read(status.cast()),
            false => self.read(status.wrapping_byte_add(part.offset).cast()),
        }
    }

    /// Copies a status, of which some parts may be unset.
    pub(crate) fn copy_status(&self, from: *const MPI_Status, to: *mut MPI_Status) -> Out {
        type Unset = MaybeUninit<MPI_Status>;
        self.write(to.cast::<Unset>(), self.read(from.cast::<Unset>())?)
    }

    /// Writes one of several results.
    pub(crate) fn write_at<T>(&self, to: *mut T, at: usize, value: T) -> Out {
        match to.is_null() {
            true => self.write(to, value),
            false => self.write(to.wrapping_add(at), value),
        }
    }

    /// Reads an argument that is passed by its address.
    pub(crate) fn read<T: Copy>(&self, from: *const T) -> Out<T> {
        if from.is_null() {
            return Err(failure(MPI_ERR_ARG, "an argument is a null pointer"));
        }
        // SAFETY: not null, so by the caller's promise a `T`.
        Ok(unsafe { from.read_unaligned() })
    }

    /// Reads an array of arguments.
    pub(crate) fn array<T: Copy>(&self, from: *const T, len: usize) -> Out<Vec<T>> {
        if len == 0 {
            return Ok(Vec::new());
        }
        if from.is_null() {
            return Err(failure(MPI_ERR_ARG, "an array is a null pointer"));
        }
        let read = |at| {
            // SAFETY: not null, so by the caller's promise an array of this length.
            unsafe { from.add(at).read_unaligned() }
        };
        Ok((0..len).map(read).collect())
    }

    /// Writes an array of results.
    pub(crate) fn write_all<T>(&self, to: *mut T, values: impl IntoIterator<Item = T>) -> Out {
        let mut values = values.into_iter().enumerate();
        values.try_for_each(|(at, value)| self.write_at(to, at, value))
    }

    /// Reads a string.
    pub(crate) fn text(&self, from: *const c_char) -> Out<Text> {
        if from.is_null() {
            return Err(failure(MPI_ERR_ARG, "a string is a null pointer"));
        }
        // SAFETY: not null, so by the caller's promise a string that ends with a zero.
        let text = unsafe { CStr::from_ptr(from) };
        Ok(text.to_bytes().into())
    }

    /// Writes a string that ends with a zero into room for `room` bytes; returns its length. Of UTF-8 it writes whole
    /// characters.
    pub(crate) fn write_text(
        &self,
        to: *mut c_char,
        room: usize,
        text: impl AsRef<[u8]>,
    ) -> Out<usize> {
        let text = text.as_ref();
        let room = text.len().min(room.saturating_sub(1));
        let len = std::str::from_utf8(text).map_or(room, |text| text.floor_char_boundary(room));
        let bytes = text[..len].iter().chain([&0]);
        self.write_all(to.cast::<u8>(), bytes.copied())?;
        Ok(len)
    }

    /// Appends `len` bytes of a buffer.
    pub(crate) fn take(&self, from: *const u8, len: usize, into: &mut Vec<Byte>) -> Out {
        into.extend_from_slice(self.lend(from, len)?);
        Ok(())
    }

    /// Lends a buffer that is read.
    #[inline]
    pub(crate) fn lend(&self, from: *const u8, len: usize) -> Out<&[Byte]> {
        if len == 0 {
            return Ok(&[]);
        }
        if from.is_null() {
            return Err(null_read());
        }
        // SAFETY: by the caller's promise these bytes are in its buffer, and nothing writes them during the call; as
        // `Byte`s they need not be initialised.
        Ok(unsafe { slice::from_raw_parts(from.cast::<Byte>(), len) })
    }

    /// Lends a buffer that is written to `f`.
    #[inline]
    pub(crate) fn lend_mut<R>(
        &self,
        to: *mut u8,
        len: usize,
        f: impl FnOnce(&mut [Byte]) -> R,
    ) -> Out<R> {
        if len == 0 {
            return Ok(f(&mut []));
        }
        if to.is_null() {
            return Err(null_write());
        }
        // SAFETY: by the caller's promise there are that many bytes, which nothing else accesses during the call; as
        // `Byte`s they need not be initialised.
        Ok(f(unsafe {
            slice::from_raw_parts_mut(to.cast::<Byte>(), len)
        }))
    }

    /// Copies bytes into a buffer.
    pub(crate) fn give(&self, bytes: &[Byte], to: *mut u8) -> Out {
        if bytes.is_empty() {
            return Ok(());
        }
        if to.is_null() {
            return Err(null_write());
        }
        // SAFETY: by the caller's promise there is room for them in its buffer; `bytes` is memory of this library.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr().cast::<u8>(), to, bytes.len()) };
        Ok(())
    }
}

/// Numbers of which every sequence of bytes is one.
pub(crate) trait Number: rankfold::op::Element {}

macro_rules! numbers {
    ($($ty:ty)*) => {
        $(impl Number for $ty {})*
    };
}
numbers! { i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 }

impl Caller {
    /// Lends a buffer as numbers; `None` if it is not aligned for them.
    pub(crate) fn with_numbers<T: Number, R>(
        &self,
        at: *mut u8,
        len: usize,
        f: impl FnOnce(&mut [T]) -> R,
    ) -> Option<R> {
        let at = at.cast::<T>();
        if at.is_null() || !at.is_aligned() {
            return None;
        }
        // SAFETY: aligned and not null, so by the caller's promise a buffer of as many numbers, which it wrote, or this
        // library did, and which nothing else accesses during the call.
        Some(f(unsafe { slice::from_raw_parts_mut(at, len) }))
    }

    /// Lends a buffer that is read and one that is written as numbers; `None` if one is not aligned for them, or if they
    /// overlap.
    #[inline]
    pub(crate) fn with_two<T: Number, R>(
        &self,
        from: *const u8,
        to: *mut u8,
        len: usize,
        f: impl FnOnce(&[T], &mut [T]) -> R,
    ) -> Option<R> {
        let (from, to) = (from.cast::<T>(), to.cast::<T>());
        let usable = |at: *const T| !at.is_null() && at.is_aligned();
        let apart = from.addr().abs_diff(to.addr()) >= len * size_of::<T>();
        if !(usable(from) && usable(to) && apart) {
            return None;
        }
        // SAFETY: aligned and not null, so by the caller's promise buffers of as many numbers, of which it wrote the first;
        // they do not overlap, and nothing else accesses them during the call. Every sequence of bytes is a number.
        let (input, output) = unsafe {
            (
                slice::from_raw_parts(from, len),
                slice::from_raw_parts_mut(to, len),
            )
        };
        Some(f(input, output))
    }

    /// Packed elements as numbers of their own.
    pub(crate) fn own_numbers<T: Number + Default>(&self, bytes: &[Byte]) -> Vec<T> {
        let mut numbers = vec![T::default(); bytes.len() / size_of::<T>()];
        let room = numbers.len() * size_of::<T>();
        // SAFETY: there is room for that many bytes, and every sequence of bytes is a number.
        unsafe {
            ptr::copy_nonoverlapping(
                bytes.as_ptr().cast::<u8>(),
                numbers.as_mut_ptr().cast::<u8>(),
                room,
            )
        };
        numbers
    }

    /// The bytes of numbers.
    pub(crate) fn bytes_of<'n, T: Number>(&self, numbers: &'n [T]) -> &'n [Byte] {
        // SAFETY: numbers have no padding, and may be read as bytes.
        unsafe { slice::from_raw_parts(numbers.as_ptr().cast::<Byte>(), size_of_val(numbers)) }
    }
}

/// Bytes that this library wrote, or that the program wrote as numbers, by its datatype.
pub(crate) fn known(bytes: &[Byte]) -> &[u8] {
    // SAFETY: every caller has initialised bytes: headers, and elements of numerical datatypes, which a correct program
    // has initialised before it sends them.
    unsafe { slice::from_raw_parts(bytes.as_ptr().cast::<u8>(), bytes.len()) }
}

/// A buffer of zeros aligned for every predefined datatype, as functions of user-defined operators expect it.
pub(crate) struct Aligned {
    words: Vec<u128>,
}

impl Aligned {
    pub(crate) fn new(bytes: usize) -> Aligned {
        Aligned {
            words: vec![0; bytes.div_ceil(16)],
        }
    }

    pub(crate) fn address(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }
}
