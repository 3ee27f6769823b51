//! Calls in which ranks access each other's vectors in place: the guards around an
//! [epoch](crate::transport::memory::epoch), and all uses of the pointers.
//!
//! [`meet`] takes a rank's vectors, returns when no rank can access them any more, and in between runs the rank's work
//! on the [`Vectors`] of all ranks. This file defines what that work may do, so that no two ranks ever access one
//! element while one of them writes it, whatever they ask for.
//!
//! # Why this is sound
//!
//! - *One pointer a vector.* A rank's vectors come as borrows that live longer than the call. One raw pointer is taken
//!   from each (in place: one, used for both), and the vector is accessed through that alone until all are out, by its
//!   rank as by the others. No slice over any of them is made anywhere in this file.
//! - *No rank accesses memory too early.* [`Vectors`] are made only after *go*, when all are here, and after the type
//!   (by its id), the job, and the length of every vector were found to be what the rank expects.
//! - *No rank leaves early.* From its arrival on a rank is inside [`Inside`], whose end, also by unwinding, is either
//!   an abort or the wait until all are out. It never leaves its frame, so it cannot be forgotten. Should the wait
//!   return too early, or panic, the process [aborts](AbortOnDrop).
//! - *No rank's pointers change meanwhile.* They are read again and again between *go* and *out*. The epoch refuses a
//!   rank that arrives while what it has brought is out, so what was compared stays the same, whatever is called from
//!   inside the call.
//! - *No pointer is kept.* [`Vectors`] are lent to `work` for a lifetime that it cannot name; the [lists](Lists) that
//!   outlive a call are filled anew before they are read again.
//! - *No two ranks write one element, and no rank reads what another writes.* There are three jobs; all ranks have the
//!   same one, otherwise nothing is accessed. Each job is safe whatever the ranks do inside it: they need not be in the
//!   same collective or have the same root or operator, should two fingerprints ever be equal by chance:
//!   - [shares](Job::Shares): of every vector, read or written, a rank accesses its own share. Shares are cut by the
//!     number of ranks and by what was brought (length, type, and where the first output begins), which all ranks read
//!     from the same words;
//!   - [own](Job::Own): a rank writes to its own output and reads inputs, which are never written: they are shared
//!     borrows for the duration of the call. Several ranks may bring the same input;
//!   - [collect](Job::Collect): a rank reads its own input, and writes to the root's output from where the inputs of
//!     the ranks below end to where its own ends, which follows from lengths that all ranks have seen.
//! - *No input is an output*, except a rank's own in place: an output is a unique borrow, and a vector that is read and
//!   written exists only where each rank accesses its share. Vectors without bytes may have any address.
//! - *No index is out of bounds.* Shares end at the length that every vector was found to have; other accesses are
//!   compared with the lengths that came with the pointers.
//! - *Operators* are the user's code: they may panic, or be slow. They get elements by value, and the kernels read and
//!   write single elements, so no borrow is open while they run. A rank that panics has failed, and all the others
//!   learn it when they are out. A rank's lists are in use by one call at a time; a second use would panic.
//! - *Types*: elements are `Copy + Send + Sync + 'static`, so any thread may read and write them, and there is nothing
//!   to drop. Copies take their bytes as they are, including uninitialised ones.
//! - *Stores past the caches* are ordered by a fence of their own before a rank reports out, also where it unwinds.
//! - *Order*: what a rank wrote before it arrived is visible to every rank that saw it here; what it wrote between *go*
//!   and *out*, to every rank that saw it out. Both are release and acquire on words of the epoch.
#![allow(unsafe_code)]

use std::cell::{RefCell, RefMut};
use std::marker::PhantomData;
use std::mem;
use std::ops::Range;
use std::ptr;
use std::slice;

use crate::Rank;
use crate::moves;
use crate::op::copies::{BEYOND, Copies, CopyRole, LONG, StoreKind};
use crate::op::kernels::{self, CACHE_LINE, To, copy, copy_bytes_past_caches, fold_several};
use crate::op::{Element, Operator};
use crate::span;
use crate::transport::memory::epoch::{Brought, Decision, Epoch, Ticket, Turned};
use crate::transport::memory::head::Info;
use crate::unwind::AbortOnDrop;

/// What ranks do with each other's vectors: the same on all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// Each rank accesses its own share of all vectors, which have the same length.
    Shares,
    /// Each rank writes to its own output, and reads from the inputs.
    Own,
    /// Each rank writes its input to its place in the output of this rank.
    Collect(Rank),
}

impl Job {
    /// A number that no other job has: ranks are smaller than the two constants.
    fn word(self) -> u32 {
        match self {
            Job::Shares => u32::MAX,
            Job::Own => u32::MAX - 1,
            Job::Collect(root) => root as u32,
        }
    }
}

/// The vectors of a rank, as it brings them to a call.
pub(crate) enum Brings<'a, T> {
    /// A vector that is read and written, in place.
    InPlace(&'a mut [T]),
    /// One that is read, and one that is written; either may be empty.
    Both(&'a [T], &'a mut [T]),
    /// One that could be written and is read.
    Source(&'a mut [T]),
}

impl<T> Brings<'_, T> {
    /// The only place where borrows become pointers.
    fn pointers(self) -> ((*const u8, usize), (*mut u8, usize)) {
        let (input, output): (*const [T], *mut [T]) = match self {
            Brings::InPlace(both) => {
                let both: *mut [T] = both;
                (both, both)
            }
            Brings::Both(input, output) => (input, output),
            Brings::Source(source) => {
                let source: *mut [T] = source;
                (source, &mut [])
            }
        };
        ((input.cast(), input.len()), (output.cast(), output.len()))
    }
}

/// A call as a rank comes to it.
pub(crate) struct Coming<'a> {
    pub epoch: &'a Epoch,
    pub me: Rank,
    pub print: u32,
    pub job: Job,
    pub lists: &'a Lists,
    pub copies: &'a Copies,
}

impl Coming<'_> {
    /// What this rank publishes: the vectors of which it holds the borrows, by [`meet`].
    fn brought<T: Element>(&self, brings: Brings<'_, T>) -> Brought {
        let in_place = matches!(brings, Brings::InPlace(_));
        let shares = self.job == Job::Shares;
        assert!(!in_place || shares, "an input that is written");
        let (input, output) = brings.pointers();
        Brought {
            print: self.print,
            job: self.job.word(),
            info: Info::of::<T>(),
            input,
            output,
        }
    }
}

/// Storage for lists of pointers, kept from call to call by a rank of many.
#[derive(Default)]
pub(crate) struct Lists {
    inputs: List,
    outputs: List,
}

/// Its content belongs to the last call, and is not read.
type List = RefCell<Vec<*mut u8>>;

/// How a rank waits for the others.
pub(crate) trait Waiting {
    type Error;

    /// Wakes all other ranks that sleep.
    fn rouse(&self);

    /// Waits until all are here; may fail.
    fn gather(&self, ticket: Ticket, all_here: &mut dyn FnMut() -> bool)
    -> Result<(), Self::Error>;

    /// Waits until all are out; may not fail, and need not: the others do not wait.
    fn stay(&self, ticket: Ticket, all_out: &mut dyn FnMut() -> bool);
}

/// How a call ended for a rank that stayed to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    /// All ranks have done their part.
    Well,
    /// This rank has not done its part.
    Failed(Rank),
    /// The ranks are not in the same call, and nothing was accessed.
    Strange(Rank),
    /// A rank left before all were here.
    Aborted,
    /// This rank is still in another call here, and nothing was accessed.
    Inside,
}

/// Meets all ranks, runs `work` on the vectors of all, and returns when no rank accesses any of them.
///
/// `lengths` returns the required lengths of a rank's input and output.
pub(crate) fn meet<T: Element, W: Waiting>(
    coming: &Coming<'_>,
    waiting: &W,
    brings: Brings<'_, T>,
    lengths: impl Fn(Rank) -> (usize, usize),
    work: impl FnOnce(&Vectors<'_, T>),
) -> Result<Met, W::Error> {
    let &Coming { epoch, me, .. } = coming;
    let brought = coming.brought(brings);
    let ticket = match epoch.arrive(me, &brought) {
        Ok(ticket) => ticket,
        Err(Turned::Aborted) => return Ok(Met::Aborted),
        Err(Turned::Inside) => return Ok(Met::Inside),
    };
    let mut inside = Inside {
        epoch,
        me,
        ticket,
        stage: Stage::Gathering,
        waiting,
    };
    let mut next = 0;
    waiting.gather(ticket, &mut || epoch.all_here_from(&mut next, ticket))?;
    waiting.rouse();
    if epoch.go(ticket) == Decision::Aborted {
        inside.stage = Stage::Out;
        return Ok(Met::Aborted);
    }
    inside.stage = Stage::Going;
    let agrees = |rank| agrees::<T>(&brought, &epoch.brought(rank), lengths(rank));
    if let Some(stranger) = (0..epoch.ranks()).find(|&rank| !agrees(rank)) {
        return Ok(Met::Strange(stranger));
    }
    work(&Vectors {
        coming,
        _elements: PhantomData,
    });
    inside.report(true);
    Ok(epoch.failed().map_or(Met::Well, Met::Failed))
}

/// Whether what another rank brought is what this one expects of it.
#[inline]
fn agrees<T: Element>(mine: &Brought, theirs: &Brought, lengths: (usize, usize)) -> bool {
    // SAFETY: every rank that has arrived has published its `Info`, which is `'static`.
    let info: &'static Info = unsafe { &*theirs.info };
    mine.print == theirs.print
        && mine.job == theirs.job
        && Info::of::<T>().is(info)
        && (theirs.input.1, theirs.output.1) == lengths
}

/// How far a rank is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It may leave if not all are here.
    Gathering,
    /// It must report out, and stay until all have.
    Going,
    Out,
}

/// Keeps a rank in the call until no rank can access its vectors, also while it unwinds. It lives inside [`meet`], and
/// so inside the borrows.
struct Inside<'a, W: Waiting> {
    epoch: &'a Epoch,
    me: Rank,
    ticket: Ticket,
    stage: Stage,
    waiting: &'a W,
}

impl<W: Waiting> Inside<'_, W> {
    /// Reports out, and waits until all ranks have.
    #[inline]
    fn report(&mut self, well: bool) {
        // No rank may leave its frame, by return or by a panic in the wait, while others may still access its vectors: a
        // read of freed memory would be worse.
        let until_all_are_out = AbortOnDrop;
        self.epoch.report_out(self.me, self.ticket, well);
        self.stage = Stage::Out;
        let (mut next, ticket) = (0, self.ticket);
        let mut all_out = || self.epoch.all_out_from(&mut next, ticket);
        self.waiting.stay(ticket, &mut all_out);
        if self.epoch.take_back(self.me, ticket) {
            mem::forget(until_all_are_out);
        }
        self.waiting.rouse();
    }
}

impl<W: Waiting> Drop for Inside<'_, W> {
    fn drop(&mut self) {
        let must_stay = match self.stage {
            Stage::Gathering => self.epoch.leave_early(self.ticket) == Decision::Go,
            Stage::Going => true,
            Stage::Out => false,
        };
        if must_stay {
            self.waiting.rouse();
            self.report(false);
        }
    }
}

/// The vectors of all ranks, between *go* and *out*: the published pointers do not change before.
pub(crate) struct Vectors<'a, T> {
    coming: &'a Coming<'a>,
    _elements: PhantomData<*mut T>,
}

/// The elements of a vector of some rank.
#[derive(Clone, Copy)]
struct Run<P> {
    start: P,
    length: usize,
}

impl<T: Element> Vectors<'_, T> {
    /// What a rank brought to be read.
    #[inline]
    fn input(&self, rank: Rank) -> Run<*const T> {
        let (start, length) = self.coming.epoch.input(rank);
        let start = start.cast();
        Run { start, length }
    }

    /// What a rank brought to be written.
    #[inline]
    fn output(&self, rank: Rank) -> Run<*mut T> {
        let (start, length) = self.coming.epoch.output(rank);
        let start = start.cast();
        Run { start, length }
    }

    #[inline]
    fn ranks(&self) -> usize {
        self.coming.epoch.ranks()
    }

    /// The inputs that are not empty.
    fn inputs(&self) -> Few<'_> {
        let epoch = self.coming.epoch;
        Few::of(&self.coming.lists.inputs, self.ranks(), &mut |rank| {
            let (start, length) = epoch.input(rank);
            (length > 0).then_some(start.cast_mut())
        })
    }

    /// The outputs that are not empty.
    fn outputs(&self) -> Few<'_> {
        let epoch = self.coming.epoch;
        Few::of(&self.coming.lists.outputs, self.ranks(), &mut |rank| {
            let (start, length) = epoch.output(rank);
            (length > 0).then_some(start)
        })
    }

    /// This rank's share of the common length of all vectors. Only in [`Job::Shares`].
    fn share(&self) -> Range<usize> {
        assert_eq!(self.coming.job, Job::Shares, "who may touch what");
        let (n, written) = in_common(self.coming.epoch);
        let lead = written.map_or(0, |start| kernels::lead(start.cast::<T>().cast_const()));
        let line = (CACHE_LINE / size_of::<T>().max(1)).max(1);
        share(n, line, lead, self.ranks(), self.coming.me)
    }

    /// Folds this rank's share of all inputs, in rank order from the left, and stores it in all outputs.
    pub(crate) fn fold_share(&self, op: &impl Operator<T>) {
        let share = self.share();
        if share.is_empty() {
            return;
        }
        #[cfg(test)]
        self.note_fold(&share);
        let in_place = |rank: Rank| ptr::eq(self.input(rank).start, self.output(rank).start);
        if share.len() * size_of::<T>() >= LONG && !(0..self.ranks()).any(in_place) {
            return self.fold_share_apart(&share, op);
        }
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let (inputs, outputs) = (inputs.all(), outputs.all());
        let place = |output: *mut T| {
            let mut inputs = inputs.iter();
            inputs.position(|&input: &*const T| ptr::eq(input, output))
        };
        let to = match *outputs {
            [] => return,
            [one] => place(one).map_or(To::All(outputs), To::Place),
            _ => To::All(outputs),
        };
        // SAFETY: the share is inside every vector that is not empty, and no other rank accesses it in any of them. An
        // output is its rank's input, in place, or memory of which no second borrow exists.
        unsafe { fold_several(op, inputs, share.start, share.len(), &to) }
    }

    /// The same for a long share, where no input is an output. The other ranks will read what is written to their
    /// outputs.
    fn fold_share_apart(&self, share: &Range<usize>, op: &impl Operator<T>) {
        let bytes = share.len() * size_of::<T>();
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
            // SAFETY: as in `fold_share`, of which this is a case.
            unsafe { fold_several(op, inputs.all(), share.start, share.len(), &to) }
            bytes
        });
    }

    /// The outputs that are not empty, this rank's first: what the others get is read there.
    fn own_output_first(&self) -> Few<'_> {
        let (epoch, me) = (self.coming.epoch, self.coming.me);
        let most = self.ranks() + 1;
        Few::of(&self.coming.lists.outputs, most, &mut |place| {
            let rank = place.checked_sub(1).unwrap_or(me);
            let (start, length) = epoch.output(rank);
            (length > 0 && (place == 0 || rank != me)).then_some(start)
        })
    }

    /// Copies this rank's share of the only input to all outputs.
    pub(crate) fn copy_share(&self) {
        let share = self.share();
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let source: Option<&*const T> = inputs.all().first();
        let Some(&source) = source.filter(|_| !share.is_empty()) else {
            return;
        };
        #[cfg(test)]
        self.note_copy(&share);
        let outputs: &[*mut T] = outputs.all();
        let others = || outputs.iter().filter(|&&to| !ptr::eq(to, source));
        let step = match others().count() {
            0 | 1 => share.len(),
            _ => (COPIED / size_of::<T>().max(1)).max(1),
        };
        let copy_all = |way| {
            for at in share.clone().step_by(step) {
                let n = step.min(share.end - at);
                for output in others() {
                    // SAFETY: as in `fold_share`; an output that is not the input has no element in common with it.
                    unsafe { copy_in(way, output.add(at), source.add(at), n) }
                }
            }
        };
        self.in_best_way(CopyRole::Spread, share.len(), LONG, copy_all);
    }

    /// The ranks of which a vector is read, and those of which one is written.
    #[cfg(test)]
    fn sides(&self) -> [Vec<Rank>; 2] {
        let with =
            |brings: &dyn Fn(Rank) -> bool| (0..self.ranks()).filter(|&r| brings(r)).collect();
        [
            with(&|rank| self.input(rank).length > 0),
            with(&|rank| self.output(rank).length > 0),
        ]
    }

    /// Notes that this rank takes its share from all, and gives the result to all.
    #[cfg(test)]
    fn note_fold(&self, share: &Range<usize>) {
        let (me, [inputs, outputs]) = (self.coming.me, self.sides());
        inputs
            .iter()
            .for_each(|&from| moves::note(from, me, share.clone()));
        outputs
            .iter()
            .for_each(|&to| moves::note(me, to, share.clone()));
    }

    /// Notes that this rank gives its share of the source to all.
    #[cfg(test)]
    fn note_copy(&self, share: &Range<usize>) {
        let [inputs, outputs] = self.sides();
        outputs
            .iter()
            .for_each(|&to| moves::note(inputs[0], to, share.clone()));
    }

    /// Runs a copy of `n` elements in the fastest way known, if it has at least `least` bytes; otherwise plainly.
    fn in_best_way(&self, part: CopyRole, n: usize, least: usize, copy: impl FnOnce(StoreKind)) {
        let bytes = n * size_of::<T>();
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
            unsafe { copy_in(way, output, input, run.len()) }
        });
    }

    /// Folds a run of all inputs, in rank order from the left, into this rank's output from its beginning.
    pub(crate) fn fold(&self, run: &Range<usize>, op: &impl Operator<T>) {
        let output = self.output_at(0, run.len());
        let inputs = Few::of(&self.coming.lists.inputs, self.ranks(), &mut |rank| {
            moves::note(rank, self.coming.me, run.clone());
            Some(self.input_at(rank, run).cast_mut().cast())
        });
        // SAFETY: as in `copy`.
        unsafe { fold_several(op, inputs.all(), 0, run.len(), &To::Own(output)) }
    }

    /// Where a run of a rank's input begins. Only in [`Job::Own`].
    #[inline]
    fn input_at(&self, rank: Rank, run: &Range<usize>) -> *const T {
        assert_eq!(self.coming.job, Job::Own, "who may touch what");
        let input = self.input(rank);
        assert!(run.start <= run.end && run.end <= input.length, "{run:?}");
        // SAFETY: it is inside.
        unsafe { input.start.add(run.start) }
    }

    /// Where `n` elements of this rank's output begin, from `at` on. Only in [`Job::Own`].
    #[inline]
    fn output_at(&self, at: usize, n: usize) -> *mut T {
        assert_eq!(self.coming.job, Job::Own, "who may touch what");
        let output = self.output(self.coming.me);
        let end = at.checked_add(n);
        assert!(end.is_some_and(|end| end <= output.length), "{at} + {n}");
        // SAFETY: it is inside.
        unsafe { output.start.add(at) }
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
            unsafe { copy_in(way, output.start.add(at), input.start, input.length) }
        });
    }
}

/// Copies `n` elements in the given way.
///
/// # Safety
///
/// As [`copy`].
#[inline]
unsafe fn copy_in<T: Element>(way: StoreKind, to: *mut T, from: *const T, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match way {
            StoreKind::Plain => copy(to, from, n),
            StoreKind::PastCaches => {
                copy_bytes_past_caches(to.cast(), from.cast(), n * size_of::<T>());
            }
        }
    }
}

/// Number of bytes that are copied to several places before the next ones are: they stay in a near cache.
const COPIED: usize = 64 << 10;

/// The common length of all vectors that are not empty, and where the first output begins: the same for all ranks, which
/// see the same pointers.
fn in_common(epoch: &Epoch) -> (usize, Option<*mut u8>) {
    let (mut n, mut written) = (0, None);
    for rank in 0..epoch.ranks() {
        let (input, (start, output)) = (epoch.input(rank).1, epoch.output(rank));
        for length in [input, output] {
            assert!(n == 0 || length == 0 || length == n, "{length} and {n}");
            n = n.max(length);
        }
        written = written.or((output > 0).then_some(start));
    }
    (n, written)
}

/// The elements that a rank accesses of vectors of `n` elements: whole cache lines, of `line` elements, of the first
/// vector that is written, which has `lead` elements before its first line.
fn share(n: usize, line: usize, lead: usize, ranks: usize, me: Rank) -> Range<usize> {
    let cut = |i: usize| match span::cut(n, ranks, i) {
        _ if i == ranks => n,
        even if even < lead => 0,
        even => (even - lead) / line * line + lead,
    };
    cut(me)..cut(me + 1)
}

/// Pointers into the vectors of some ranks, without their type: on the stack if there are few.
enum Few<'a> {
    Near([*mut u8; NEAR], usize),
    Far(RefMut<'a, Vec<*mut u8>>),
}

const NEAR: usize = 8;

/// A pointer to one element, read-only or not: a word of the same size for every element type.
trait Pointer: Copy {}

impl<T> Pointer for *const T {}

impl<T> Pointer for *mut T {}

impl<'a> Few<'a> {
    /// What `each` returns for the numbers below `most`, in order. Not generic: compiled once for all elements.
    #[inline(never)]
    fn of(list: &'a List, most: usize, each: &mut dyn FnMut(usize) -> Option<*mut u8>) -> Few<'a> {
        if most > NEAR {
            let mut list = list.borrow_mut();
            list.clear();
            list.extend((0..most).filter_map(each));
            return Few::Far(list);
        }
        let (mut near, mut count) = ([ptr::null_mut(); NEAR], 0);
        for item in (0..most).filter_map(each) {
            near[count] = item;
            count += 1;
        }
        Few::Near(near, count)
    }

    #[inline]
    fn all<P: Pointer>(&self) -> &[P] {
        let all = match self {
            Few::Near(near, count) => &near[..*count],
            Few::Far(list) => list,
        };
        // SAFETY: pointers to sized types have the same layout, and any pointer is a valid value of its type.
        unsafe { slice::from_raw_parts(all.as_ptr().cast(), all.len()) }
    }
}
