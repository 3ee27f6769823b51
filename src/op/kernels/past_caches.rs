//! Copies past the caches: stores that neither read nor keep the lines that they write.
//!
//! These stores are not ordered by a release: each function here that other files call executes a [`Fence`] after them,
//! and who calls the bare loop keeps a `Fence` that runs also while unwinding.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr;

use crate::op::Element;

/// `to[i] ← from[i]`, past the caches where the machine supports it: other cores that cache these lines lose them, and
/// the lines need not be requested from those cores first.
///
/// # Panics
///
/// If the lengths differ.
pub(crate) fn copy_past_caches<T: Element>(to: &mut [T], from: &[T]) {
    assert_eq!(to.len(), from.len(), "a copy to another length");
    let bytes = size_of_val(from);
    let (to, from) = (to.as_mut_ptr().cast::<u8>(), from.as_ptr().cast::<u8>());
    // SAFETY: both slices have `bytes` bytes, and they do not overlap, since `to` is borrowed mutably.
    unsafe { copy_bytes_past_caches(to, from, bytes) }
}

/// The same for memory that need not hold anything.
///
/// # Panics
///
/// If the lengths differ.
pub(crate) fn fill_past_caches<T: Element>(to: &mut [MaybeUninit<T>], from: &[T]) {
    assert_eq!(to.len(), from.len(), "a copy to another length");
    let bytes = size_of_val(from);
    let (to, from) = (to.as_mut_ptr().cast::<u8>(), from.as_ptr().cast::<u8>());
    // SAFETY: as above.
    unsafe { copy_bytes_past_caches(to, from, bytes) }
}

/// The same for bytes of any type.
///
/// # Safety
///
/// Both have `bytes` bytes and do not overlap; during the call, nothing else writes to `from` or accesses `to`.
pub(crate) unsafe fn copy_bytes_past_caches(to: *mut u8, from: *const u8, bytes: usize) {
    let _fence = Fence;
    // SAFETY: the caller's promise.
    unsafe { stream_bytes(to, from, bytes) }
}

/// Orders the stores past the caches before all later operations of the thread, also during unwinding: nothing else
/// orders them, and the memory may belong to another rank by then.
pub(super) struct Fence;

impl Drop for Fence {
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a fence, which every x86-64 has.
        unsafe {
            std::arch::asm!("sfence", options(nostack, preserves_flags));
        }
    }
}

/// Copies bytes past the caches; must be followed by a [`Fence`].
///
/// # Safety
///
/// As [`copy_bytes_past_caches`].
pub(super) unsafe fn stream_bytes(to: *mut u8, from: *const u8, bytes: usize) {
    let head = to.align_offset(STREAMED).min(bytes);
    let lines = (bytes - head) / STREAMED;
    let tail = head + lines * STREAMED;
    // SAFETY: the three parts are inside the ranges; the middle one begins at a multiple of `STREAMED` in `to`.
    unsafe {
        ptr::copy_nonoverlapping(from, to, head);
        stream(to.add(head), from.add(head), lines);
        ptr::copy_nonoverlapping(from.add(tail), to.add(tail), bytes - tail);
    }
}

/// The size of a cache line in bytes.
const STREAMED: usize = 64;

/// Copies lines past the caches.
///
/// # Safety
///
/// Both have `lines` lines and do not overlap; `to` is aligned to a line.
#[cfg(target_arch = "x86_64")]
unsafe fn stream(to: *mut u8, from: *const u8, lines: usize) {
    use std::arch::asm;
    for line in 0..lines {
        // SAFETY: inside the lines; 16-byte vectors are part of every x86-64. Bytes pass through registers unchanged,
        // even uninitialized ones: no value is made of them.
        unsafe {
            asm!(
                "movdqu {a}, [{from}]",
                "movdqu {b}, [{from} + 16]",
                "movdqu {c}, [{from} + 32]",
                "movdqu {d}, [{from} + 48]",
                "movntdq [{to}], {a}",
                "movntdq [{to} + 16], {b}",
                "movntdq [{to} + 32], {c}",
                "movntdq [{to} + 48], {d}",
                from = in(reg) from.add(line * STREAMED),
                to = in(reg) to.add(line * STREAMED),
                a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
                options(nostack, preserves_flags),
            );
        }
    }
}

/// A plain copy, for other machines.
///
/// # Safety
///
/// As for the other version.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream(to: *mut u8, from: *const u8, lines: usize) {
    // SAFETY: the caller's promise.
    unsafe { ptr::copy_nonoverlapping(from, to, lines * STREAMED) }
}
