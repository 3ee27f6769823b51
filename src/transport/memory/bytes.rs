//! The bytes of elements, and the small places in which short messages travel.
//!
//! Bytes are `MaybeUninit` and are copied as they are, so padding and pointers inside elements survive. Nothing here
//! knows a type: the functions that read bytes as elements are `unsafe`, and their callers have compared the types.
#![allow(unsafe_code)]

use std::mem::{MaybeUninit, size_of, size_of_val};
use std::ptr;

use crate::op::Element;
use crate::op::elements::{Elements, Info, copy_bytes, dangling};
pub(super) use crate::op::kernels::CACHE_LINE;
use crate::transport::memory::blocks::{Block, PIECE};

/// The bytes of a message of at most eight bytes, with padding and pointers in them preserved.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(super) struct Octet(MaybeUninit<[u8; OCTET]>);

const OCTET: usize = 8;

impl Octet {
    /// An octet with no message in it yet.
    #[inline]
    pub(in crate::transport) fn new() -> Octet {
        Octet(MaybeUninit::uninit())
    }

    /// Whether a message is short enough for an octet.
    #[inline]
    pub(in crate::transport) fn fits(data: Elements<'_>) -> bool {
        data.size() <= OCTET
    }

    /// Copies a message into an octet.
    ///
    /// # Safety
    ///
    /// `place` must be valid for a write.
    ///
    /// # Panics
    ///
    /// If it does not [fit](Self::fits).
    #[inline]
    pub(in crate::transport) unsafe fn write(place: *mut Octet, data: Elements<'_>) {
        assert!(
            Octet::fits(data),
            "a message of more than eight bytes in eight"
        );
        // SAFETY: the caller lets us write an octet there, which has space for `data`, as just checked.
        unsafe { copy_bytes(place.cast(), data.first(), data.size()) };
    }
}

/// A copy of the `length` bytes at `bytes`.
///
/// # Safety
///
/// `bytes` must be valid for reads of `length` bytes.
pub(super) unsafe fn copied_bytes(bytes: *const u8, length: usize) -> Block {
    let mut block = Block::of(length);
    let pieces = block.pieces_mut();
    assert!(size_of_val(pieces) >= length, "a block is too small");
    // SAFETY: the caller's promise; there is space, and a piece needs no initialised bytes.
    unsafe { ptr::copy_nonoverlapping(bytes, pieces.as_mut_ptr().cast(), length) };
    block
}

/// The first `count` elements of type `info` in the place where they have landed.
///
/// # Safety
///
/// `count` elements of this type were copied to the place, which is aligned for them unless they have no bytes.
#[inline]
pub(super) unsafe fn landed<'a>(
    place: *const u8,
    count: usize,
    info: &'static Info,
) -> Elements<'a> {
    // An empty message may be of a type that neither fits nor is aligned here.
    let first = match count * info.size() {
        0 => dangling(info),
        _ => place,
    };
    // SAFETY: either there are no bytes and any aligned pointer is valid, or the caller's promise.
    unsafe { Elements::from_raw(first, count, info) }
}

/// Copies elements to the memory in which they travel.
///
/// # Safety
///
/// `to` is valid for writes of the bytes of `data`, and does not overlap `data`.
#[inline]
pub(in crate::transport) unsafe fn copy_out<T: Element>(data: &[T], to: *mut u8) {
    let from = data.as_ptr().cast::<u8>();
    // SAFETY: each size is that of `data`, for which the caller has made space.
    unsafe {
        match data {
            // The most frequent messages have a size known here and need no call of `memcpy`.
            [_] => ptr::copy_nonoverlapping(from, to, size_of::<T>()),
            [_, _] => ptr::copy_nonoverlapping(from, to, 2 * size_of::<T>()),
            _ if size_of_val(data) == OCTET => ptr::copy_nonoverlapping(from, to, OCTET),
            _ => ptr::copy_nonoverlapping(from, to, size_of_val(data)),
        }
    }
}

/// Copies a short message between a rank's memory and lines that move between two cores: in ascending order, and in a
/// build for plain x86-64 in accesses of 16 bytes, which cross no line where both places are aligned to that. `memcpy`
/// uses the widest registers there are, at any alignment, and may begin at both ends: a line that it half writes is
/// waited for twice.
///
/// # Safety
///
/// As [`copy_bytes`].
pub(super) unsafe fn copy_lines(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller's promise, for each part of the bytes.
    unsafe {
        match bytes {
            0..CACHE_LINE => copy_pieces(to, from, bytes),
            CACHE_LINE..=SHORT => {
                let whole = bytes - bytes % CACHE_LINE;
                for at in (0..whole).step_by(CACHE_LINE) {
                    ptr::copy_nonoverlapping(from.add(at), to.add(at), CACHE_LINE);
                }
                copy_pieces(to.add(whole), from.add(whole), bytes - whole);
            }
            _ => ptr::copy_nonoverlapping(from, to, bytes),
        }
    }
}

/// The longest message that [`copy_lines`] copies itself.
const SHORT: usize = 1024;

/// Copies less than a line, in pieces of 16 bytes.
///
/// # Safety
///
/// As [`copy_bytes`].
#[inline(always)]
unsafe fn copy_pieces(to: *mut u8, from: *const u8, bytes: usize) {
    let whole = bytes - bytes % PIECE;
    // SAFETY: the caller's promise, for each part of the bytes.
    unsafe {
        for at in (0..whole).step_by(PIECE) {
            ptr::copy_nonoverlapping(from.add(at), to.add(at), PIECE);
        }
        if whole < bytes {
            copy_bytes(to.add(whole), from.add(whole), bytes - whole);
        }
    }
}

/// Prefetches the first line of a place that this thread will write, and those that `bytes` more bytes reach. Nothing is
/// accessed.
#[inline]
pub(super) fn prefetch_to_write<T>(place: &T, bytes: usize) {
    prefetch_bytes_to_write(ptr::from_ref(place).cast(), bytes);
}

/// The same from an address on.
#[inline]
pub(super) fn prefetch_bytes_to_write(place: *const u8, bytes: usize) {
    prefetch_line_to_write(place);
    let mut line = CACHE_LINE;
    while line <= bytes {
        prefetch_line_to_write(place.wrapping_add(line));
        line += CACHE_LINE;
    }
}

#[inline]
fn prefetch_line_to_write(line: *const u8) {
    // `_mm_prefetch` for writing is a prefetch for reading where the target is plain x86-64.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint for any address, which every processor of this architecture knows or ignores.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = line;
}

/// Prefetches a line of a message. Nothing is read: the line may be written at this moment.
#[inline]
pub(super) fn prefetch(message: *const u8, line: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first = message.wrapping_add(line * CACHE_LINE);
        // SAFETY: a hint, which accepts any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(first.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (message, line);
}
