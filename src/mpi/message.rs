//! The memory of a message that arrives, aligned for whatever elements follow its first words.
//!
//! # Why this is sound
//!
//! The first `written` bytes were written: by [`Message::of`], or by MPI, which [`Message::has`] promises. Only these are
//! shown. The others are reached by their address alone. [`Lent`] memory is that of its promise.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::RangeInclusive;
use std::ptr;

use parking_lot::Mutex;

/// Bytes at an address that is a multiple of 16.
pub(crate) struct Message {
    words: Words,
    written: usize,
}

/// Memory of a rank that MPI reads or writes, while the rank waits for that.
#[derive(Clone, Copy)]
pub(crate) struct Lent {
    first: *mut u8,
    length: usize,
}

// SAFETY: any thread may hand the memory to MPI, see `Lent::new`.
unsafe impl Send for Lent {}

impl Lent {
    /// # Safety
    ///
    /// Until the requests that get this memory are complete it is there, no thread writes to it if it is sent, and no thread
    /// accesses it if it is received into.
    pub(crate) unsafe fn new(first: *mut u8, length: usize) -> Lent {
        Lent { first, length }
    }

    pub(super) fn first(self) -> *mut u8 {
        self.first
    }

    pub(super) fn length(self) -> usize {
        self.length
    }
}

type Words = Vec<MaybeUninit<u128>>;
const WORD: usize = size_of::<u128>();

/// Memory of long messages that were read, for the next ones: memory that comes from the system has to be mapped, which
/// takes longer than a copy. How much a piece has, in words, and how many pieces are kept.
static SPARES: Mutex<Vec<Words>> = Mutex::new(Vec::new());
const KEPT: RangeInclusive<usize> = (1 << 11)..=(1 << 20);
const MOST: usize = 8;

impl Message {
    /// Room for `length` bytes.
    pub(super) fn room(length: usize) -> Message {
        Message::room_for(length).unwrap_or_else(|| panic!("no memory for {length} bytes"))
    }

    /// The same; `None` if there is no memory for it.
    pub(super) fn room_for(length: usize) -> Option<Message> {
        let count = length.div_ceil(WORD);
        let mut words = spare(count).unwrap_or_default();
        words.clear();
        words.try_reserve_exact(count).ok()?;
        // SAFETY: within the capacity, of elements that need not be initialized.
        unsafe { words.set_len(count) };
        Some(Message { words, written: 0 })
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

/// Bytes among which some may be padding.
#[inline]
pub(super) fn as_padded(bytes: &[u8]) -> &[MaybeUninit<u8>] {
    // SAFETY: a byte that is there may stand where there may be one, and only a shared reference is given.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

/// Memory for as many words that is not much larger.
fn spare(count: usize) -> Option<Words> {
    if !KEPT.contains(&count) {
        return None;
    }
    let mut spares = SPARES.lock();
    let fits = |spare: &Words| (count..=4 * count).contains(&spare.capacity());
    let place = spares.iter().position(fits)?;
    Some(spares.swap_remove(place))
}

impl Drop for Message {
    fn drop(&mut self) {
        let words = std::mem::take(&mut self.words);
        if KEPT.contains(&words.capacity()) {
            let mut spares = SPARES.lock();
            if spares.len() < MOST {
                spares.push(words);
            }
        }
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
        assert!(Message::room(40).bytes().is_empty());
    }

    #[test]
    fn no_room_is_made_for_a_length_that_no_machine_has() {
        assert!(Message::room_for(usize::MAX).is_none());
        assert!(Message::room_for(isize::MAX as usize).is_none());
    }
}
