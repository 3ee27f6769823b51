//! The memory of windows: copies between it and buffers of the rank that accesses it, and memory that a window allocates.
//!
//! # Why this is sound
//!
//! An address in a window comes from the rank that made the window or attached the memory, which promised as every caller
//! does that the memory is there until it frees the window or detaches it; `part` checks the range and holds the part's
//! lock meanwhile, so that no two accesses of this library run at once. The program may read and write the memory itself
//! at the same time, as MPI's unified model lets it: so it is accessed by words, volatile, and as bytes that may be
//! uninitialised.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::mem::MaybeUninit;
use std::ptr::{self, with_exposed_provenance, with_exposed_provenance_mut};

use crate::memory::{Byte, Caller};

type Word = MaybeUninit<u64>;
const WORD: usize = size_of::<Word>();

/// How many bytes there are before the first whole word, and how many words then.
fn split(at: usize, len: usize) -> (usize, usize) {
    let before = at.wrapping_neg() % WORD;
    let before = before.min(len);
    (before, (len - before) / WORD)
}

impl Caller {
    /// Copies bytes into a window, from the address `at` on.
    pub(super) fn store(&self, bytes: &[Byte], at: usize) {
        let (from, to) = (bytes.as_ptr(), with_exposed_provenance_mut::<Byte>(at));
        let (before, words) = split(at, bytes.len());
        let byte = |place: usize| {
            // SAFETY: as the head of this file says; `place` is within both.
            unsafe { to.add(place).write_volatile(from.add(place).read()) };
        };
        (0..before).for_each(byte);
        for word in 0..words {
            let place = before + word * WORD;
            // SAFETY: as above; the address in the window is aligned for a word.
            unsafe {
                let word = from.add(place).cast::<Word>().read_unaligned();
                to.add(place).cast::<Word>().write_volatile(word);
            }
        }
        (before + words * WORD..bytes.len()).for_each(byte);
    }

    /// Copies bytes of a window, from the address `at` on.
    pub(super) fn load(&self, at: usize, bytes: &mut [Byte]) {
        let len = bytes.len();
        let (from, to) = (with_exposed_provenance::<Byte>(at), bytes.as_mut_ptr());
        let (before, words) = split(at, len);
        let byte = |place: usize| {
            // SAFETY: as the head of this file says; `place` is within both.
            unsafe { to.add(place).write(from.add(place).read_volatile()) };
        };
        (0..before).for_each(byte);
        for word in 0..words {
            let place = before + word * WORD;
            // SAFETY: as above; the address in the window is aligned for a word.
            unsafe {
                let word = from.add(place).cast::<Word>().read_volatile();
                to.add(place).cast::<Word>().write_unaligned(word);
            }
        }
        (before + words * WORD..len).for_each(byte);
    }
}

/// Memory that a window allocates; zero at first. It is freed when no rank can reach it any more.
pub(crate) struct Memory {
    at: usize,
    layout: Layout,
}

impl Memory {
    /// `None` if there is no memory for it.
    pub(crate) fn new(len: usize) -> Option<Memory> {
        const LINE: usize = 64;
        let layout = Layout::from_size_align(len.max(1), LINE).ok()?;
        // SAFETY: the layout is not empty.
        let at = unsafe { alloc_zeroed(layout) };
        (!at.is_null()).then(|| Memory {
            at: at.expose_provenance(),
            layout,
        })
    }

    /// Its first address.
    pub(crate) fn start(&self) -> usize {
        self.at
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let at: *mut u8 = ptr::with_exposed_provenance_mut(self.at);
        // SAFETY: it was allocated with this layout, and no rank has it any more.
        unsafe { dealloc(at, self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_reach_every_byte_and_no_other_at_any_address_and_length() {
        // SAFETY: what the copies reach is memory of this test.
        let caller = unsafe { Caller::new() };
        let memory = Memory::new(64).unwrap();
        for at in 0..9 {
            for len in 0..40 {
                let sent: Vec<u8> = (0..len as u8).map(|byte| byte + 1).collect();
                let mut bytes = Vec::new();
                crate::memory::append(&sent, &mut bytes);
                caller.store(&bytes, memory.start() + at);
                let mut all = vec![Byte::ZERO; 64];
                caller.load(memory.start(), &mut all);
                let mut wanted = vec![0; 64];
                wanted[at..at + len].copy_from_slice(&sent);
                assert_eq!(crate::memory::known(&all), wanted);
                let mut part = vec![Byte::ZERO; len];
                caller.load(memory.start() + at, &mut part);
                assert_eq!(crate::memory::known(&part), sent);
                caller.store(&[Byte::ZERO; 64], memory.start());
            }
        }
    }
}
