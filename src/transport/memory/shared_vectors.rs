//! The vectors of all ranks of a [call](crate::transport::memory::shared_call), and all uses of the pointers: what a
//! rank's work may do, so that no two ranks ever access one element while one of them writes it, whatever they ask for.
//!
//! # Why this is sound
//!
//! [`SharedVectors`] exist only while the pointers of all ranks stay valid and unchanged, and after their type, job and
//! lengths were compared ([`SharedVectors::new`]). No slice over any of them is made anywhere in this file; where whole
//! vectors are folded, the [loops](Folds::raw_right) make some: over the other rank's input, which is only read, and over
//! this rank's output, which no other rank accesses.
//!
//! - *No two ranks write one element, and no rank reads what another writes.* There are four jobs; all ranks have the
//!   same one, otherwise nothing is accessed. Each job is safe whatever the ranks do inside it: they need not be in the
//!   same collective or have the same root or operator, should two fingerprints ever be equal by chance:
//!   - [shares](Job::Shares): of every vector, read or written, a rank accesses its own share. Shares are cut by the
//!     number of ranks and by what was brought (length, type, and where the first output begins), which all ranks read
//!     from the same words, and in [two](half) if each of two has brought a vector in place. Or, if rank 0 says so, each
//!     of two ranks reads both inputs *whole* and writes its own output: either no output is an input, or one rank has no
//!     output and reads nothing. Both conclude it from the same words ([`is_whole`]), and what is done in shares is
//!     refused then;
//!   - [by one](Job::By): a rank accesses every vector, and the others none;
//!   - [own](Job::Own): a rank writes to its own output and reads inputs, which are never written: they are shared
//!     borrows for the duration of the call, or that of the root of a broadcast, a unique one that is only read;
//!   - [collect](Job::Collect): a rank reads its own input, and writes to the root's output from where the inputs of
//!     the ranks below end to where its own ends, which follows from lengths that all ranks have seen.
//! - *No input is an output*, except a rank's own in place: an output is a unique borrow, and a vector that is read and
//!   written exists only where each rank accesses its share, or one rank all of it. Vectors without bytes may have any
//!   address.
//! - *No index is out of bounds.* Shares end at the length that every vector was found to have; other accesses are
//!   compared with the lengths that came with the pointers.
//! - *Operators* are the user's code: they may panic, or be slow. They get elements by value, and the kernels read and
//!   write single elements, so no borrow is open while they run, but the two slices above, which nothing else writes. A
//!   rank that panics has failed, and all the others learn it when they are out. A rank's lists are in use by one call at
//!   a time; a second use would panic. A fold is made only with [`Folds`] of the type of the vectors.
//! - *Types*: elements are `Copy + Send + Sync + 'static`, so any thread may read and write them, and there is nothing
//!   to drop. Copies take their bytes as they are, including uninitialised ones.
//! - *Stores past the caches* are ordered by a fence of their own before a rank reports out, also where it unwinds.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr;

use crate::Rank;
use crate::moves;
use crate::op::copies::{BEYOND, CopyRole, LONG, StoreKind};
use crate::op::elements::Info;
use crate::op::folds::Folds;
use crate::op::kernels::{self, CACHE_LINE, To, copy_bytes_past_caches};
use crate::transport::memory::bytes::prefetch_bytes_to_write;
use crate::transport::memory::coming::{Coming, Job};
use crate::transport::memory::pointer_list::Few;
use crate::transport::memory::shares::{are_apart, half, in_common, is_whole, share, two_in_place};

/// The vectors of all ranks, between *go* and *out*: the published pointers do not change before.
pub(crate) struct SharedVectors<'a> {
    coming: &'a Coming<'a>,
    /// The type of all elements.
    info: &'static Info,
    /// Whether each rank folds whole vectors, instead of a share. Only in [`Job::Shares`].
    whole: bool,
}

/// The elements of a vector of some rank.
#[derive(Clone, Copy)]
struct VectorPart<P> {
    start: P,
    length: usize,
}

impl<'a> SharedVectors<'a> {
    /// # Safety
    ///
    /// As long as the result exists, the pointers that the ranks of the epoch have brought do not change, and point to
    /// vectors of their lengths, of elements of type `info`. The inputs are not written but in place, and the outputs
    /// are not accessed, except through `SharedVectors` with the same job and type.
    #[inline]
    pub(super) unsafe fn new(coming: &'a Coming<'a>, info: &'static Info) -> SharedVectors<'a> {
        let whole = coming.job == Job::Shares && is_whole(coming.epoch);
        SharedVectors {
            coming,
            info,
            whole,
        }
    }

    /// What the ranks do with each other's vectors.
    #[inline]
    pub(crate) fn job(&self) -> Job {
        self.coming.job
    }

    /// What a rank brought to be read.
    #[inline]
    fn input(&self, rank: Rank) -> VectorPart<*const u8> {
        let (start, length) = self.coming.epoch.input(rank);
        VectorPart { start, length }
    }

    /// What a rank brought to be written.
    #[inline]
    fn output(&self, rank: Rank) -> VectorPart<*mut u8> {
        let (start, length) = self.coming.epoch.output(rank);
        VectorPart { start, length }
    }

    /// The bytes of `n` elements.
    #[inline]
    fn bytes(&self, n: usize) -> usize {
        n * self.info.size()
    }

    /// The loops of an operator over elements of the type of these vectors.
    ///
    /// # Panics
    ///
    /// If they are over elements of another type.
    fn checked<'f>(&self, folds: &'f dyn Folds) -> &'f dyn Folds {
        assert!(
            self.info.is(folds.info()),
            "a fold of elements of another type"
        );
        folds
    }

    #[inline]
    fn ranks(&self) -> usize {
        self.coming.epoch.ranks()
    }

    /// The inputs that are not empty.
    fn inputs(&self) -> Few<'_> {
        let epoch = self.coming.epoch;
        Few::of(&self.coming.lists.inputs, self.ranks(), |rank| {
            let (start, length) = epoch.input(rank);
            (length > 0).then_some(start.cast_mut())
        })
    }

    /// The outputs that are not empty.
    fn outputs(&self) -> Few<'_> {
        let epoch = self.coming.epoch;
        Few::of(&self.coming.lists.outputs, self.ranks(), |rank| {
            let (start, length) = epoch.output(rank);
            (length > 0).then_some(start)
        })
    }

    /// This rank's share of the common length of all vectors: all of it, or nothing, in [`Job::By`]. Only there and in
    /// [`Job::Shares`], and not of whole vectors.
    fn share(&self) -> Range<usize> {
        assert!(!self.whole, "who may touch what");
        if let Some((vectors, n)) = two_in_place(self.coming) {
            return half(vectors[0], n, self.info.size(), self.coming.me);
        }
        let (n, written) = in_common(self.coming.epoch);
        match self.coming.job {
            Job::Shares => {}
            Job::By(rank) => return 0..if rank == self.coming.me { n } else { 0 },
            Job::Own | Job::Collect(_) => panic!("who may touch what"),
        }
        let size = self.info.size();
        let lead = written.map_or(0, |start| kernels::lead_of(start.cast_const(), size));
        let line = (CACHE_LINE / size.max(1)).max(1);
        share(n, line, lead, self.ranks(), self.coming.me)
    }

    /// Folds this rank's share of all inputs, in rank order from the left, and stores it in all outputs. Or folds both
    /// inputs whole for its own output, if whole vectors are folded.
    pub(crate) fn fold_share(&self, folds: &dyn Folds) {
        let folds = self.checked(folds);
        if self.whole {
            return self.fold_whole(folds);
        }
        if let Some((vectors, n)) = two_in_place(self.coming) {
            return self.fold_two_in_place(&vectors, n, folds);
        }
        let share = self.share();
        if share.is_empty() {
            return;
        }
        #[cfg(test)]
        self.note_fold(&share);
        let is_apart = are_apart(self.coming.epoch);
        if is_apart && self.bytes(share.len()) >= LONG {
            return self.fold_share_apart(&share, folds);
        }
        if is_apart && self.ranks() == 2 {
            self.request(1 - self.coming.me, &share);
        }
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let (inputs, outputs) = (inputs.all(), outputs.all());
        let place = |output: *mut u8| {
            let mut inputs = inputs.iter();
            inputs.position(|&input| ptr::eq(input, output))
        };
        let to = match *outputs {
            [] => return,
            [one] => place(one).map_or(To::All(outputs), To::Place),
            _ => To::All(outputs),
        };
        // SAFETY: the share is inside every vector that is not empty, and no other rank accesses it in any of them. An output
        // is its rank's input, in place, or memory of which no second borrow exists.
        unsafe { folds.several(inputs, share.start, share.len(), &to) }
    }

    /// [`fold_share`](Self::fold_share) of two ranks that both have brought a vector in place.
    fn fold_two_in_place(&self, vectors: &[*mut u8; 2], n: usize, folds: &dyn Folds) {
        let share = half(vectors[0], n, self.info.size(), self.coming.me);
        #[cfg(test)]
        self.note_fold(&share);
        // SAFETY: as in `fold_share`: each rank accesses its own part of two vectors of `n` elements.
        unsafe { folds.several(vectors, share.start, share.len(), &To::All(vectors)) }
    }

    /// Copies the input of this rank, one of two, to its output, if it has one, and folds the other one's there. So its own
    /// is read before the other rank has read it, after which its lines come more slowly; then lines of the other rank alone
    /// are waited for.
    fn fold_whole(&self, folds: &dyn Folds) {
        let me = self.coming.me;
        let [own, other] = [me, 1 - me].map(|rank| self.input(rank).start);
        let (n, _) = in_common(self.coming.epoch);
        let VectorPart { start, length } = self.output(me);
        if length == 0 {
            return;
        }
        #[cfg(test)]
        self.note_fold(&(0..n));
        // SAFETY: both ranks have brought an input of `n` elements, and this one an output of as many, and whole vectors are
        // folded, as `whole` says. So no rank accesses another one's output, and only its own rank the input that is an
        // output; the other inputs are not written. An output is its rank's input, or memory of which no second borrow
        // exists.
        unsafe {
            if !ptr::eq(own, start) {
                start.copy_from_nonoverlapping(own, self.bytes(n));
            }
            match me {
                0 => folds.raw_right(start, other, n),
                _ => folds.raw_left(start, other, n),
            }
        }
    }

    /// Prefetches the beginning of a share of a rank's output, which that rank may have read since it was last written.
    /// Nothing is accessed.
    fn request(&self, rank: Rank, share: &Range<usize>) {
        let (output, bytes) = (self.output(rank), self.bytes(share.len()).min(REQUESTED));
        if output.length > 0 && bytes > 0 {
            let first = output.start.wrapping_add(self.bytes(share.start));
            prefetch_bytes_to_write(first, bytes - 1);
        }
    }

    /// [`fold_share`](Self::fold_share) of a long share, where no input is an output. The other ranks will read what is
    /// written to their outputs.
    fn fold_share_apart(&self, share: &Range<usize>, folds: &dyn Folds) {
        let bytes = self.bytes(share.len());
        let (inputs, all) = (self.inputs(), self.own_output_first());
        let all = all.all();
        if all.is_empty() {
            return;
        }
        self.coming.copies.timed(CopyRole::Spread, bytes, |way| {
            let own = (self.output(self.coming.me).length > 0).then(|| all[0]);
            let near = own.filter(|_| bytes < BEYOND);
            let to = match way {
                StoreKind::Plain => To::All(all),
                StoreKind::PastCaches => To::Past(near, &all[usize::from(near.is_some())..]),
            };
            let in_parts = self.ranks() == 2 && way == StoreKind::Plain && bytes <= 2 * LONG;
            let step = match in_parts {
                true => (AHEAD / self.info.size().max(1)).max(1),
                false => share.len(),
            };
            let part = |at: usize| at.min(share.end)..(at + step).min(share.end);
            for at in share.clone().step_by(step) {
                if in_parts {
                    self.request(1 - self.coming.me, &part(at + step));
                }
                // SAFETY: as in `fold_share`, of which this is a case.
                unsafe { folds.several(inputs.all(), at, part(at).len(), &to) }
            }
            bytes
        });
    }

    /// The outputs that are not empty, this rank's first: what the others get is read there.
    fn own_output_first(&self) -> Few<'_> {
        let (epoch, me) = (self.coming.epoch, self.coming.me);
        let most = self.ranks() + 1;
        Few::of(&self.coming.lists.outputs, most, |place| {
            let rank = place.checked_sub(1).unwrap_or(me);
            let (start, length) = epoch.output(rank);
            (length > 0 && (place == 0 || rank != me)).then_some(start)
        })
    }

    /// Copies this rank's share of the only input to all outputs.
    pub(crate) fn copy_share(&self) {
        let share = self.share();
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let source = inputs.all().first();
        let Some(&source) = source.filter(|_| !share.is_empty()) else {
            return;
        };
        #[cfg(test)]
        self.note_copy(&share);
        let others = || outputs.all().iter().filter(|&&to| !ptr::eq(to, source));
        let step = match others().count() {
            0 | 1 => share.len(),
            _ => (COPIED / self.info.size().max(1)).max(1),
        };
        let copy_all = |way| {
            for at in share.clone().step_by(step) {
                let (n, at) = (self.bytes(step.min(share.end - at)), self.bytes(at));
                for output in others() {
                    // SAFETY: as in `fold_share`; an output that is not the input has no element in common with it.
                    unsafe { copy_in(way, output.add(at), source.add(at), n) }
                }
            }
        };
        self.in_best_way(CopyRole::Spread, share.len(), LONG, copy_all);
    }

    /// Scans this rank's share of all vectors: the k-th output becomes the fold of the inputs up to the k-th one, and also of
    /// its own if the scan is inclusive. The first input is no output.
    pub(crate) fn scan_share(&self, folds: &dyn Folds, exclusive: bool) {
        let folds = self.checked(folds);
        let share = self.share();
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let (inputs, outputs) = (inputs.all(), outputs.all());
        if share.is_empty() || outputs.is_empty() {
            return;
        }
        let is_apart = self.info.size() == 0 || !outputs.contains(&inputs[0]);
        assert!(is_apart, "the first is only read");
        #[cfg(test)]
        self.note_fold(&share);
        let step = (SCANNED / self.info.size().max(1)).max(1);
        for at in share.clone().step_by(step) {
            let part = at..share.end.min(at + step);
            self.scan_part(folds, inputs[0], outputs, part, exclusive);
        }
    }

    /// Folds a part of each output with that of the vector before it, from the left. In an exclusive scan, the results then
    /// move on by one vector.
    fn scan_part(
        &self,
        folds: &dyn Folds,
        first: *mut u8,
        outputs: &[*mut u8],
        part: Range<usize>,
        exclusive: bool,
    ) {
        let [start, bytes] = [part.start, part.len()].map(|n| self.bytes(n));
        let before = |k: usize| k.checked_sub(1).map_or(first, |k| outputs[k]);
        let folded = &outputs[..outputs.len() - usize::from(exclusive)];
        for (k, &output) in folded.iter().enumerate() {
            let pair = [before(k), output];
            // SAFETY: as in `fold_share`, for a part of this rank's share. No two of these vectors have a common element.
            unsafe { folds.several(&pair, part.start, part.len(), &To::Place(1)) }
        }
        for k in (0..outputs.len()).rev().filter(|_| exclusive) {
            let [from, to] = [before(k), outputs[k]].map(|at| at.wrapping_add(start));
            // SAFETY: as above.
            unsafe { to.copy_from_nonoverlapping(from, bytes) }
        }
    }

    /// The ranks of which a vector is read, and those of which one is written.
    #[cfg(test)]
    fn sides(&self) -> [Vec<Rank>; 2] {
        let with =
            |brings: &dyn Fn(Rank) -> bool| (0..self.ranks()).filter(|&r| brings(r)).collect();
        [
            with(&|rank| self.input(rank).length > 0),
            with(&|rank| self.output(rank).length > 0 && (!self.whole || rank == self.coming.me)),
        ]
    }

    /// Notes that this rank takes its share from all, and gives the result to all.
    #[cfg(test)]
    fn note_fold(&self, share: &Range<usize>) {
        let (me, [inputs, outputs]) = (self.coming.me, self.sides());
        let [from, to] = [inputs, outputs].map(Vec::into_iter);
        from.for_each(|from| moves::note(from, me, share.clone()));
        to.for_each(|to| moves::note(me, to, share.clone()));
    }

    /// Notes that this rank gives its share of the source to all.
    #[cfg(test)]
    fn note_copy(&self, share: &Range<usize>) {
        let [inputs, outputs] = self.sides();
        let to = outputs.into_iter();
        to.for_each(|to| moves::note(inputs[0], to, share.clone()));
    }

    /// Runs a copy of `n` elements in the fastest way known, if it has at least `least` bytes; otherwise plainly.
    fn in_best_way(&self, part: CopyRole, n: usize, least: usize, copy: impl FnOnce(StoreKind)) {
        let bytes = self.bytes(n);
        if bytes < least {
            return copy(StoreKind::Plain);
        }
        self.coming.copies.timed(part, bytes, |way| {
            copy(way);
            bytes
        });
    }

    /// Copies a run of a rank's input to this rank's output, from `at` on.
    pub(crate) fn copy(&self, from: Rank, run: Range<usize>, at: usize) {
        moves::note(from, self.coming.me, run.clone());
        let (input, output) = (self.input_at(from, &run), self.output_at(at, run.len()));
        self.in_best_way(CopyRole::Fetched, run.len(), BEYOND, |way| {
            // SAFETY: both are inside their vectors. Inputs are never written, and only this rank writes to its output.
            unsafe { copy_in(way, output, input, self.bytes(run.len())) }
        });
    }

    /// Folds a run of all inputs, in rank order from the left, into this rank's output from its beginning.
    pub(crate) fn fold(&self, run: &Range<usize>, folds: &dyn Folds) {
        let folds = self.checked(folds);
        let output = self.output_at(0, run.len());
        let inputs = Few::of(&self.coming.lists.inputs, self.ranks(), |rank| {
            moves::note(rank, self.coming.me, run.clone());
            Some(self.input_at(rank, run).cast_mut())
        });
        // SAFETY: as in `copy`.
        unsafe { folds.several(inputs.all(), 0, run.len(), &To::Own(output)) }
    }

    /// Where a run of a rank's input begins. Only in [`Job::Own`].
    #[inline]
    fn input_at(&self, rank: Rank, run: &Range<usize>) -> *const u8 {
        assert_eq!(self.coming.job, Job::Own, "who may touch what");
        let input = self.input(rank);
        assert!(run.start <= run.end && run.end <= input.length, "{run:?}");
        // SAFETY: it is inside.
        unsafe { input.start.add(self.bytes(run.start)) }
    }

    /// Where `n` elements of this rank's output begin, from `at` on. Only in [`Job::Own`].
    #[inline]
    fn output_at(&self, at: usize, n: usize) -> *mut u8 {
        assert_eq!(self.coming.job, Job::Own, "who may touch what");
        let output = self.output(self.coming.me);
        let end = at.checked_add(n);
        assert!(end.is_some_and(|end| end <= output.length), "{at} + {n}");
        // SAFETY: it is inside.
        unsafe { output.start.add(self.bytes(at)) }
    }

    /// Copies this rank's input to its place in the output of the root: after those of lower ranks.
    pub(crate) fn collect(&self) {
        let Job::Collect(root) = self.coming.job else {
            panic!("who may touch what");
        };
        let (output, input) = (self.output(root), self.input(self.coming.me));
        let mut lengths = (0..self.coming.me).map(|rank| self.input(rank).length);
        // A sum that wrapped around would be the place of another rank.
        let at = lengths.try_fold(0usize, usize::checked_add);
        let end = at.and_then(|at| at.checked_add(input.length));
        let at = at.filter(|_| end.is_some_and(|end| end <= output.length));
        let at = at.expect("an output that holds all inputs");
        moves::note(self.coming.me, root, at..at + input.length);
        self.in_best_way(CopyRole::Spread, input.length, LONG, |way| {
            // SAFETY: both are inside, and the place belongs to this rank alone: all ranks see the same lengths.
            unsafe {
                let to = output.start.add(self.bytes(at));
                copy_in(way, to, input.start, self.bytes(input.length));
            }
        });
    }
}

/// Copies bytes in the given way.
///
/// # Safety
///
/// As [`copy_bytes_past_caches`].
unsafe fn copy_in(way: StoreKind, to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match way {
            StoreKind::Plain => to.copy_from_nonoverlapping(from, bytes),
            StoreKind::PastCaches => copy_bytes_past_caches(to, from, bytes),
        }
    }
}

/// The most bytes of another rank's output that are requested before they are written.
const REQUESTED: usize = 8 << 10;

/// Number of bytes of a long share that are folded at a time, while the next ones of the other rank's output are
/// requested: where that rank is far, stores wait for each line.
const AHEAD: usize = 4 << 10;

/// Number of bytes of each vector that are scanned before the next ones are: they stay in a near cache.
const SCANNED: usize = 4 << 10;
/// Number of bytes that are copied to several places before the next ones are: they stay in a near cache.
const COPIED: usize = 64 << 10;
