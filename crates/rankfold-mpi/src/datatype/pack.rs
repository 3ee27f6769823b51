//! Between buffers and messages: the bytes of a datatype's segments, one after the other.

use std::ptr;

use super::{Datatype, Segment, Type};
use crate::abi::MPI_ERR_NO_MEM;
use crate::error::{Out, failure};
use crate::memory::{Byte, Caller};

/// The address `by` bytes after the start of a buffer. From `MPI_BOTTOM`, which is null, it is that of `MPI_Get_address`.
pub(crate) fn place_in(at: *mut u8, by: isize) -> *mut u8 {
    match at.is_null() {
        true => ptr::with_exposed_provenance_mut(by.cast_unsigned()),
        false => at.wrapping_offset(by),
    }
}

/// A buffer of a call: elements of a datatype.
#[derive(Clone, Copy)]
pub(crate) struct Buffer<'t> {
    pub at: *mut u8,
    pub count: usize,
    pub of: &'t Datatype,
}

impl Buffer<'_> {
    /// The number of bytes of all elements in a message.
    pub(crate) fn bytes(&self) -> usize {
        self.count * self.of.size
    }

    /// Whether its elements are sent from where they are, or received there: if they lie there as in a message. Very long
    /// ones are packed, which tells if there is no memory for them.
    #[inline]
    pub(crate) fn is_lent(&self) -> bool {
        const MOST: usize = 1 << 32;
        self.of.is_dense() && self.bytes() <= MOST
    }

    /// Its elements where they are.
    #[inline]
    pub(crate) fn lent<'c>(&self, caller: &'c Caller) -> Option<Out<&'c [Byte]>> {
        self.is_lent().then(|| caller.lend(self.at, self.bytes()))
    }

    /// Appends its elements to a message.
    pub(crate) fn pack(&self, caller: &Caller, message: &mut Vec<Byte>) -> Out {
        let Buffer { at, count, of } = *self;
        let bytes = self.bytes();
        message.try_reserve(bytes).map_err(|_| {
            let why = format!("there is no memory for a message of {bytes} bytes");
            failure(MPI_ERR_NO_MEM, why)
        })?;
        if of.is_dense() {
            return caller.take(at, self.bytes(), message);
        }
        for element in 0..count as isize {
            for Segment { at: place, len } in &of.segments {
                let from = place_in(at, element * of.extent() + place);
                caller.take(from, *len, message)?;
            }
        }
        Ok(())
    }

    /// Fills its elements from a message, as far as that goes.
    pub(crate) fn unpack(&self, caller: &Caller, message: &[Byte]) -> Out {
        let Buffer { at, of, .. } = *self;
        let mut left = &message[..message.len().min(self.bytes())];
        if of.is_dense() {
            return caller.give(left, at);
        }
        let mut element = 0;
        while !left.is_empty() {
            for Segment { at: place, len } in &of.segments {
                let (now, later) = left.split_at((*len).min(left.len()));
                caller.give(now, place_in(at, element * of.extent() + place))?;
                left = later;
            }
            element += 1;
        }
        Ok(())
    }

    /// Whether two buffers that a call writes and reads begin with the same byte. Datatypes may take different parts of
    /// one array.
    #[inline]
    pub(crate) fn is_at(&self, other: &Buffer<'_>) -> bool {
        let first = |of: &Datatype| of.segments.first().map(|segment| segment.at);
        let are_filled = self.bytes() > 0 && other.bytes() > 0;
        self.at == other.at && are_filled && first(self.of) == first(other.of)
    }

    /// The same elements later in an array, or fewer.
    pub(crate) fn shifted(&self, elements: isize, count: usize) -> Self {
        let at = place_in(self.at, elements.wrapping_mul(self.of.extent()));
        Buffer { at, count, ..*self }
    }
}

/// A buffer that is kept with a request: it owns its datatype.
#[derive(Clone)]
pub(crate) struct Place {
    pub at: *mut u8,
    pub count: usize,
    pub of: Type,
}

impl Place {
    pub(crate) fn buffer(&self) -> Buffer<'_> {
        let Place { at, count, of } = self;
        Buffer {
            at: *at,
            count: *count,
            of,
        }
    }

    /// The part of one rank: `count` elements, `elements` after the start.
    pub(crate) fn part(&self, elements: isize, count: usize) -> Buffer<'_> {
        self.buffer().shifted(elements, count)
    }

    /// As [`Buffer::is_at`].
    pub(crate) fn is_at(&self, other: &Place) -> bool {
        self.buffer().is_at(&other.buffer())
    }
}
