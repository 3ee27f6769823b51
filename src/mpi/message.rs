//! The memory of a message that arrives, aligned for whatever elements follow its first words.
//!
//! # Why this is sound
//!
//! The first `written` bytes were written: by [`Message::of`], or by MPI, which [`Message::has`] promises. Only these are
//! shown. The others are reached by their address alone.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr;

/// Bytes at an address that is a multiple of 16.
pub(crate) struct Message {
    words: Vec<MaybeUninit<u128>>,
    written: usize,
}

const WORD: usize = size_of::<u128>();

impl Message {
    /// Room for `length` bytes.
    pub(super) fn room(length: usize) -> Message {
        let mut words = Vec::with_capacity(length.div_ceil(WORD));
        // SAFETY: within the capacity, of elements that need not be initialized.
        unsafe { words.set_len(length.div_ceil(WORD)) };
        Message { words, written: 0 }
    }

    /// A copy of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Message {
        let mut message = Message::room(bytes.len());
        // SAFETY: there is room for as many bytes, in memory of its own, and all of them are written.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), message.first(), bytes.len());
            message.has(bytes.len());
        }
        message
    }

    /// Where the room begins.
    pub(super) fn first(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }

    /// The number of bytes for which there is room.
    pub(super) fn capacity(&self) -> usize {
        self.words.len() * WORD
    }

    /// Notes how many bytes were written.
    ///
    /// # Safety
    ///
    /// There is room for them, and they were.
    pub(super) unsafe fn has(&mut self, written: usize) {
        self.written = written;
    }

    /// What was written.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: as many bytes were written, and a byte needs no alignment.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.written) }
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_copy_at_an_aligned_place() {
        let long: Vec<u8> = (0..40).collect();
        for length in [0, 1, 15, 16, 17, 40] {
            let message = Message::of(&long[..length]);
            assert_eq!(message.bytes(), &long[..length]);
            assert_eq!(message.bytes().as_ptr() as usize % WORD, 0);
            assert!(message.capacity() >= length);
        }
        assert_eq!(Message::room(40).bytes(), []);
    }
}
