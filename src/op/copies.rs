//! Long copies from another rank's memory, or into memory that another rank reads, choose the faster of two methods by
//! measurement.
//!
//! Where a buffer goes back and forth between two cores, each written line must first be taken from the core that read
//! it last. On some machines this is ten times as slow as writing past the caches. If no core has read the buffer,
//! writing past the caches is the slow method. No rule that was tried distinguishes the two cases; a clock does. Both
//! methods are therefore timed occasionally, and the plain method is abandoned only for one that takes less than half
//! as long, since data stored past the caches must be fetched again by its reader (except for copies that exceed every
//! cache). A copy finds the caches as the previous one left them, so only the second of two consecutive copies by one
//! method counts. If both ends of a message copy parts of it, each learns separately, and separately from the copies
//! that it makes alone.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::time::Instant;

use super::Element;
use super::kernels::{copy_past_caches, fill_past_caches};

/// The length in bytes from which copies are timed.
pub(crate) const LONG: usize = 32 << 10;
const OCTET: usize = 8;
/// Two of this many copies use the method that seems to be the slower one.
const SELDOM: u32 = 64;
/// The first of these two: the first few copies meet memory that was never touched.
const TRIED: u32 = 6;
/// The same where memory is kept, which was touched before.
const TRIED_KEPT: u32 = 2;
/// Copies longer than this many bytes have left the caches before they are read, whichever method makes them.
pub(crate) const BEYOND: usize = 4 << 20;

/// The measurements of one rank, for each part that it may have in a copy, and for lengths by powers of two.
#[derive(Default)]
pub(crate) struct Copies([[Class; 16]; 6]);

/// The part that a rank has in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyRole {
    /// The whole message.
    Whole,
    /// As its receiver, the part that its sender does not copy.
    Received,
    /// As its sender, the part that its receiver does not copy.
    Helped,
    /// For vectors accessed in place: data that also goes to other ranks' memory.
    Spread,
    /// For vectors accessed in place: data that goes only to the rank's own memory.
    Fetched,
    /// The whole message, as its sender, into memory that it keeps for its receivers to read.
    Kept,
}

/// The times of copies of similar length.
#[derive(Default)]
struct Class {
    /// Nanoseconds per 1,024 bytes, plain and past the caches; 0 if unknown.
    takes: [Cell<f32>; 2],
    made: Cell<u32>,
    /// The method of the last copy.
    last: Cell<Option<StoreKind>>,
}

/// The method by which bytes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreKind {
    Plain,
    PastCaches,
}

impl Copies {
    /// Copies elements that another rank has lent.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[inline]
    pub(crate) fn copy<T: Element>(&self, to: &mut [T], from: &[T]) {
        match (from, &mut *to) {
            // The most common messages have a size known here and need no call of `memcpy`.
            ([one], [place]) => *place = *one,
            _ if size_of_val(from) == OCTET => copy_octet(to, from),
            _ if size_of_val(from) < LONG => to.copy_from_slice(from),
            _ => self.copy_long(to, from),
        }
    }

    /// Copies elements of this rank into memory that it keeps for others to read, and that was touched before.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub(crate) fn fill_kept<T: Element>(&self, to: &mut [MaybeUninit<T>], from: &[T]) {
        let bytes = size_of_val(from);
        if bytes < LONG {
            to.write_copy_of_slice(from);
            return;
        }
        self.timed(CopyRole::Kept, bytes, |kind| {
            match kind {
                StoreKind::Plain => _ = to.write_copy_of_slice(from),
                StoreKind::PastCaches => fill_past_caches(to, from),
            }
            bytes
        });
    }

    fn copy_long<T: Element>(&self, to: &mut [T], from: &[T]) {
        let bytes = size_of_val(from);
        self.timed(CopyRole::Whole, bytes, |kind| {
            match kind {
                StoreKind::Plain => to.copy_from_slice(from),
                StoreKind::PastCaches => copy_past_caches(to, from),
            }
            bytes
        });
    }

    /// Whether copies of `bytes` bytes for others to read were found to be as fast in the caches as past them: the lines
    /// come from a near cache then, and a reader gets them from where they were as fast as from a copy.
    pub(crate) fn has_near_readers(&self, bytes: usize) -> bool {
        let class = self.class(CopyRole::Kept, bytes);
        let are_known = class.takes.iter().all(|took| took.get() > 0.0);
        let is_near = are_known && class.better(share(bytes)) == StoreKind::Plain;
        // Now and then one is copied, for its time.
        let is_read = is_near && !class.is_tried(TRIED_KEPT);
        if is_read {
            class.made.set(class.made.get().wrapping_add(1));
        }
        is_read
    }

    fn class(&self, part: CopyRole, bytes: usize) -> &Class {
        let classes = &self.0[part as usize];
        let size = (bytes / LONG).max(1).ilog2() as usize;
        &classes[size.min(classes.len() - 1)]
    }

    /// Runs a copy of part of a message of `bytes` bytes by the method that seems best, and learns from its duration.
    /// `copy` returns the number of bytes that it copied.
    pub(crate) fn timed(
        &self,
        part: CopyRole,
        bytes: usize,
        copy: impl FnOnce(StoreKind) -> usize,
    ) {
        let class = self.class(part, bytes);
        let tried = match part {
            CopyRole::Kept => TRIED_KEPT,
            _ => TRIED,
        };
        let kind = class.next(share(bytes), tried);
        let begin = Instant::now();
        let copied = copy(kind);
        if copied > 0 {
            let took = begin.elapsed().as_nanos() as f32;
            class.learn(kind, took * 1024.0 / copied as f32);
        }
    }
}

/// A copy past the caches that takes less than this share of the time of a plain one is better.
fn share(bytes: usize) -> f32 {
    if bytes < BEYOND { 0.5 } else { 0.9 }
}

/// Copies elements that total eight bytes.
#[inline]
fn copy_octet<T: Element>(to: &mut [T], from: &[T]) {
    let count = OCTET.checked_div(size_of::<T>()).unwrap_or(0);
    assert_eq!(to.len(), count, "copied to where there is no such room");
    to[..count].copy_from_slice(&from[..count]);
}

impl Class {
    /// The method of the next copy: past the caches if that takes less than `share` of the plain method's time. The copy
    /// of number `tried` and the one after it use the other method.
    #[inline]
    fn next(&self, share: f32, tried: u32) -> StoreKind {
        let is_tried = self.is_tried(tried);
        self.made.set(self.made.get().wrapping_add(1));
        match (self.better(share), is_tried) {
            (better, false) => better,
            (StoreKind::Plain, true) => StoreKind::PastCaches,
            (StoreKind::PastCaches, true) => StoreKind::Plain,
        }
    }

    fn is_tried(&self, tried: u32) -> bool {
        self.made.get() % SELDOM / 2 == tried / 2
    }

    fn better(&self, share: f32) -> StoreKind {
        let [plain, past] = self.takes.each_ref().map(Cell::get);
        match past > 0.0 && past < plain * share {
            true => StoreKind::PastCaches,
            false => StoreKind::Plain,
        }
    }

    /// Records the duration of a copy; the weight of interrupted ones is limited.
    fn learn(&self, kind: StoreKind, took: f32) {
        if self.last.replace(Some(kind)) != Some(kind) {
            return;
        }
        let known = &self.takes[kind as usize];
        let before = known.get();
        known.set(match before > 0.0 {
            true => (before + took.min(before * 2.0)) / 2.0,
            false => took.max(f32::MIN_POSITIVE),
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_copy_is_a_copy_whatever_its_length_and_way() {
        let copies = Copies::default();
        for n in [0usize, 1, 8191, 8192, 8193, 100_003] {
            let from: Vec<(u8, u16)> = (0..n).map(|i| (i as u8, (i * 7) as u16)).collect();
            for _ in 0..2 * SELDOM {
                let mut to = vec![(0, 0); n];
                copies.copy(&mut to, &from);
                assert_eq!(to, from);
            }
        }
    }

    #[test]
    fn past_the_caches_every_byte_arrives_and_no_other_is_touched() {
        for skip in 0..70 {
            let from: Vec<u8> = (0..9000).map(|i| (i % 251) as u8).collect();
            let mut to = vec![255u8; 9200];
            copy_past_caches(&mut to[skip..skip + 9000], &from);
            assert!(to[skip..skip + 9000] == from[..], "{skip}");
            let around = to[..skip].iter().chain(&to[skip + 9000..]);
            assert!(around.into_iter().all(|byte| *byte == 255), "{skip}");
        }
    }

    #[test]
    fn the_way_that_takes_less_than_half_as_long_is_taken_and_the_other_one_is_tried_again() {
        let class = Class::default();
        let takes = |kind| if kind == StoreKind::Plain { 10.0 } else { 1.0 };
        let kinds: Vec<StoreKind> = (0..SELDOM * 4)
            .map(|_| {
                let kind = class.next(0.5, TRIED);
                class.learn(kind, takes(kind));
                kind
            })
            .collect();
        assert!(kinds[..6].iter().all(|kind| *kind == StoreKind::Plain));
        let plain = kinds[6..].iter().filter(|kind| **kind == StoreKind::Plain);
        assert_eq!(plain.count(), 3 * 2);
    }
}
