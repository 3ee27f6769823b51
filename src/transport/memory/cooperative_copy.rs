//! A long message that both ends copy: its borrower to where it goes, and its lender, who waits for that anyway.
//!
//! # Why this is sound
//!
//! The borrower, between its claim of the loan and its settling, shows where the message goes. It holds that place as
//! a unique borrow, and touches it through one raw pointer from then on, as the lender does; each writes the parts it
//! has [taken](crate::transport::memory::copy_claims), and no part is taken twice. The borrower stays until the lender has reported all of its
//! own, and would rather end the process than unwind before. A lender finds these words open only during the loan that
//! it waits for, of the length and type that the borrower has compared.
#![allow(unsafe_code)]

use std::mem::{self, MaybeUninit, size_of_val};
use std::process;
use std::ptr;
use std::slice;

use crate::Rank;
use crate::op::Element;
use crate::op::copies::{Copies, Part, Way};
use crate::op::kernels::copy_bytes_past_caches;
use crate::transport::memory::copy_claims::{CopyClaims, End, JOINT, part, parts};
use crate::transport::memory::lend::Loan;

/// How a borrower copies, and how it waits for a lender that helps it.
pub(crate) trait Taker {
    fn me(&self) -> Rank;

    fn copies(&self) -> &Copies;

    /// Waits for what a lender is bound to report.
    fn stay(&self, lender: Rank, done: impl FnMut() -> bool);
}

/// Elements as the bytes that they are made of, set or not.
pub(in crate::transport) fn bytes<T: Element>(data: &[T]) -> &[MaybeUninit<u8>] {
    // SAFETY: the same memory, of which nothing is read as anything.
    unsafe { slice::from_raw_parts(data.as_ptr().cast(), size_of_val(data)) }
}

/// Copies what is lent, and lets its lender help.
///
/// # Safety
///
/// `claims` is that of `lender`, the lender of `from`, whose loan is claimed by the caller and not settled; `to` has as many
/// bytes as `from`, and nobody else touches them.
pub(in crate::transport) unsafe fn copy_jointly(
    claims: &CopyClaims,
    lender: Rank,
    taker: &impl Taker,
    to: *mut u8,
    from: &[MaybeUninit<u8>],
) {
    let end = End::of(taker.me(), lender);
    let nobody_leaves = NobodyLeaves;
    // SAFETY: the caller's promise; what is taken here the lender does not touch.
    let copy = || unsafe { copy_parts(claims, end, Part::Received, taker.copies(), to, from) };
    claims.borrow(to, parts(from.len()), copy, |done| taker.stay(lender, done));
    mem::forget(nobody_leaves);
}

/// The lender's part of [`copy_jointly`]; whether there was any.
pub(in crate::transport) fn help(
    loan: &Loan<'_>,
    claims: &CopyClaims,
    end: End,
    copies: &Copies,
) -> bool {
    let from = loan.bytes();
    // SAFETY: what is open is this loan, see the head of `claims`. Its borrower has shown a place of its length, and
    // keeps it there until what is taken here is reported.
    let copy = |to| unsafe { copy_parts(claims, end, Part::Helped, copies, to, from) };
    from.len() >= JOINT && claims.help(copy)
}

/// Takes parts at one end and copies them, until none are left; how many.
///
/// # Safety
///
/// `claims` was opened for a copy of `from` to `to`, which is as long, and stays until all parts are copied.
unsafe fn copy_parts(
    claims: &CopyClaims,
    end: End,
    what: Part,
    copies: &Copies,
    to: *mut u8,
    from: &[MaybeUninit<u8>],
) -> usize {
    let (bytes, mut taken) = (from.len(), 0);
    copies.timed(what, bytes, |way| {
        let mut copied = 0;
        taken = claims.take_all(end, parts(bytes), |number| {
            let run = part(bytes, number);
            // SAFETY: inside both, and nobody else has taken it.
            unsafe {
                let (to, from) = (to.add(run.start), from.as_ptr().add(run.start).cast::<u8>());
                match way {
                    Way::Plain => ptr::copy_nonoverlapping(from, to, run.len()),
                    Way::PastCaches => copy_bytes_past_caches(to, from, run.len()),
                }
            }
            copied += run.len();
        });
        copied
    });
    taken
}

/// Ends the process where a borrower would leave a place that its lender may still write to.
struct NobodyLeaves;

impl Drop for NobodyLeaves {
    fn drop(&mut self) {
        process::abort();
    }
}
