//! Calls in which ranks touch each other's vectors where they lie: the guards around a
//! [meeting](super::meeting), and all that is done with the pointers.
//!
//! [`meet`] takes a rank's vectors, comes back when nobody can touch them any more, and in between runs
//! what the rank has to do on the [`Vectors`] of all. What may be done there is said here, so that no two
//! ranks ever touch one element while one of them writes it, whatever they ask for.
//!
//! # What was looked at
//!
//! - *One pointer a vector.* A rank's vectors come as borrows that live longer than the call; one raw
//!   pointer is taken from each, and the vector is touched through that alone until all are out, by its
//!   rank as by the others. No slice over any of them is made anywhere in this file.
//! - *Nobody touches memory too early.* [`Vectors`] are made only after *go*, when all are here, and after
//!   the type (by its id), the job, and the length of every vector were found to be what the rank expects.
//! - *Nobody leaves too early.* From its arrival on a rank is inside [`Inside`], whose end, also by
//!   unwinding, is either an abort or the wait until all are out. It never leaves its frame, so it cannot be
//!   forgotten. Should the wait come back too early, the process ends.
//! - *No two ranks write one element, and nobody reads what another writes.* There are three jobs, the same
//!   on all ranks, or nothing is touched:
//!   [shares](Job::Shares): of every vector, read or written, a rank touches its own share, and shares are
//!   cut by length and number of ranks alone, which are the same for all;
//!   [own](Job::Own): a rank writes to its own output, and reads inputs, to which nobody writes: they are
//!   borrowed for the length of the call, or they are a vector that its rank gave up as an output;
//!   [collect](Job::Collect): a rank reads its own input, and writes to the root's output from where the
//!   inputs of the ranks below end to where its own ends, which follows from lengths that all have seen.
//! - *No index is out of bounds.* Shares end at the length that every vector was found to have; other
//!   accesses are compared with the lengths that came with the pointers.
//! - *Operators* are code of the user's: they may panic, or be slow. They get elements by value, and the
//!   kernels read and write single elements, so no borrow is open while they run. A rank that panics has
//!   failed, and all the others learn it when they are out.
//! - *Types*: elements are `Copy + Send + Sync + 'static`, so they may be read and written by any thread,
//!   and there is nothing to drop.
//! - *Order*: what a rank wrote before it came is seen by whoever saw it here; what it wrote between *go*
//!   and *out* by whoever saw it out. Both are release and acquire on words of the meeting.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use super::head::Info;
use super::meeting::{Brought, Decision, Meeting, Ticket};
use crate::Rank;
use crate::op::kernels::{self, To, copy, fold_several};
use crate::op::{Element, Operator};
use crate::span;

/// What ranks do with each other's vectors: the same on all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// Each touches its own share of all vectors, which are of one length.
    Shares,
    /// Each writes to its own output, and reads from the inputs.
    Own,
    /// Each writes its input to its place in the output of this rank.
    Collect(Rank),
}

impl Job {
    /// A number that no other job has. There are fewer ranks than that.
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
    pub meeting: &'a Meeting,
    pub me: Rank,
    pub print: u32,
    pub job: Job,
}

/// How a rank waits for the others.
pub(crate) trait Waiting {
    type Error;

    /// Wakes all others who sleep.
    fn rouse(&self);

    /// Waits until all are here; may fail.
    fn gather(&self, ticket: Ticket, all_here: impl FnMut() -> bool) -> Result<(), Self::Error>;

    /// Waits until all are out; may not fail, and need not: they wait for nobody.
    fn stay(&self, all_out: impl FnMut() -> bool);
}

/// How a call ended for a rank that stayed to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    /// All have done their part.
    Well,
    /// This rank has not.
    Failed(Rank),
    /// They are not in the same call, and nothing was touched.
    Strange(Rank),
    /// Somebody left before all were here.
    Aborted,
}

/// Meets all ranks, runs `work` on the vectors of all, and comes back when nobody touches any of them.
///
/// `lengths` says how long each rank's input and output must be.
pub(crate) fn meet<T: Element, W: Waiting>(
    coming: &Coming<'_>,
    waiting: &W,
    brings: Brings<'_, T>,
    lengths: impl Fn(Rank) -> (usize, usize),
    work: impl FnOnce(&Vectors<'_, T>),
) -> Result<Met, W::Error> {
    let &Coming {
        meeting,
        me,
        print,
        job,
    } = coming;
    let in_place = matches!(brings, Brings::InPlace(_));
    assert!(!in_place || job == Job::Shares, "an input that is written");
    let (input, output) = brings.pointers();
    let brought = Brought {
        print,
        job: job.word(),
        info: Info::of::<T>(),
        input,
        output,
    };
    let Some(ticket) = meeting.arrive(me, &brought) else {
        return Ok(Met::Aborted);
    };
    let mut inside = Inside {
        meeting,
        me,
        ticket,
        stage: Stage::Gathering,
        waiting,
    };
    let mut next = 0;
    waiting.gather(ticket, || meeting.all_here_from(&mut next, ticket))?;
    waiting.rouse();
    if meeting.go(ticket) == Decision::Aborted {
        inside.stage = Stage::Out;
        return Ok(Met::Aborted);
    }
    inside.stage = Stage::Going;
    let agrees = |rank: &Rank| agrees::<T>(&brought, &meeting.brought(*rank), lengths(*rank));
    if let Some(stranger) = (0..meeting.ranks()).find(|rank| !agrees(rank)) {
        return Ok(Met::Strange(stranger));
    }
    work(&Vectors::of(coming));
    inside.report(true);
    Ok(meeting.failed().map_or(Met::Well, Met::Failed))
}

/// Whether what another rank brought is what this one expects of it.
#[inline]
fn agrees<T: Element>(mine: &Brought, theirs: &Brought, lengths: (usize, usize)) -> bool {
    // SAFETY: whoever is here has written down an `Info`, and these live for ever.
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

/// Keeps a rank in the call until nobody can touch its vectors, also while it unwinds. It lives inside
/// [`meet`], and so inside the borrows.
struct Inside<'a, W: Waiting> {
    meeting: &'a Meeting,
    me: Rank,
    ticket: Ticket,
    stage: Stage,
    waiting: &'a W,
}

impl<W: Waiting> Inside<'_, W> {
    /// Reports out, and waits until all have.
    #[inline]
    fn report(&mut self, well: bool) {
        self.meeting.report_out(self.me, self.ticket, well);
        self.stage = Stage::Out;
        let (mut next, ticket) = (0, self.ticket);
        let all_out = || self.meeting.all_out_from(&mut next, ticket);
        self.waiting.stay(all_out);
        self.waiting.rouse();
        // Somebody who reads freed memory would be worse than the end of the process.
        if !self.meeting.all_out(ticket) {
            std::process::abort();
        }
    }
}

impl<W: Waiting> Drop for Inside<'_, W> {
    fn drop(&mut self) {
        let must_stay = match self.stage {
            Stage::Gathering => self.meeting.leave_early(self.ticket) == Decision::Go,
            Stage::Going => true,
            Stage::Out => false,
        };
        if must_stay {
            self.waiting.rouse();
            self.report(false);
        }
    }
}

/// The vectors of all ranks, between *go* and *out*.
pub(crate) struct Vectors<'a, T> {
    job: Job,
    me: Rank,
    inputs: Few<Run<*const T>>,
    outputs: Few<Run<*mut T>>,
    _borrows: PhantomData<&'a [T]>,
}

/// The elements of a vector of some rank.
#[derive(Clone, Copy)]
struct Run<P> {
    start: P,
    length: usize,
}

impl<T: Element> Vectors<'_, T> {
    /// Of all who are here.
    #[inline]
    fn of(coming: &Coming<'_>) -> Self {
        let meeting = coming.meeting;
        let input = |rank| {
            let (start, length) = meeting.brought(rank).input;
            let start = start.cast();
            Run { start, length }
        };
        let output = |rank| {
            let (start, length) = meeting.brought(rank).output;
            let start = start.cast();
            Run { start, length }
        };
        Vectors {
            job: coming.job,
            me: coming.me,
            inputs: Few::of((0..meeting.ranks()).map(input)),
            outputs: Few::of((0..meeting.ranks()).map(output)),
            _borrows: PhantomData,
        }
    }

    /// The length of all vectors, and this rank's share of it. Only in [`Job::Shares`].
    fn share(&self) -> Range<usize> {
        assert_eq!(self.job, Job::Shares, "who may touch what");
        let inputs = self.inputs.all().iter().map(|run| run.length);
        let lengths = inputs.chain(self.outputs.all().iter().map(|run| run.length));
        let n = lengths.clone().max().unwrap_or(0);
        assert!(lengths.into_iter().all(|length| length == 0 || length == n));
        // All ranks see the same pointers.
        let written = self.outputs.all().iter().find(|run| run.length > 0);
        let lead = written.map_or(0, |run| kernels::lead(run.start.cast_const()));
        share::<T>(n, lead, self.inputs.all().len(), self.me)
    }

    /// Folds this rank's share of all inputs, in rank order from the left, and puts it into all outputs.
    pub(crate) fn fold_share(&self, op: &impl Operator<T>) {
        let share = self.share();
        if share.is_empty() {
            return;
        }
        let there = |run: &&Run<*const T>| run.length > 0;
        let inputs = Few::of_some(self.inputs.all().iter().filter(there).map(|run| run.start));
        let there = |run: &&Run<*mut T>| run.length > 0;
        let outputs = Few::of_some(self.outputs.all().iter().filter(there).map(|run| run.start));
        let (inputs, outputs) = (inputs.all(), outputs.all());
        let place = |output: *mut T| {
            let mut inputs = inputs.iter();
            inputs.position(|&input| std::ptr::eq(input, output))
        };
        let to = match *outputs {
            [] => return,
            [one] => place(one).map_or(To::All(outputs), To::Place),
            _ => To::All(outputs),
        };
        // SAFETY: the share lies inside every vector that is not empty, and nobody else touches it in any of
        // them. An output is its rank's input, in place, or memory that nobody has a second borrow of.
        unsafe { fold_several(op, inputs, share.start, share.len(), &to) }
    }

    /// Copies this rank's share of the only input to all outputs.
    pub(crate) fn copy_share(&self) {
        let share = self.share();
        let there = self.inputs.all().iter().find(|run| run.length > 0);
        let Some(source) = there.filter(|_| !share.is_empty()) else {
            return;
        };
        let outputs = || self.outputs.all().iter().filter(|run| run.length > 0);
        let step = match outputs().count() {
            0 | 1 => share.len(),
            _ => (COPIED / size_of::<T>().max(1)).max(1),
        };
        for at in share.clone().step_by(step) {
            let n = step.min(share.end - at);
            for output in outputs() {
                // SAFETY: as in `fold_share`; the one input is no output, for only that has a length here.
                unsafe { copy(output.start.add(at), source.start.add(at), n) }
            }
        }
    }

    /// Copies a run of some rank's input to this rank's output, from `at` on.
    pub(crate) fn copy(&self, from: Rank, run: Range<usize>, at: usize) {
        let (input, output) = (self.input(from, &run), self.output(at, run.len()));
        // SAFETY: both are inside their vectors. Nobody writes to inputs, and only this rank to its output.
        unsafe { copy(output, input, run.len()) }
    }

    /// Folds a run of all inputs, in rank order from the left, into this rank's output from its beginning.
    pub(crate) fn fold(&self, run: &Range<usize>, op: &impl Operator<T>) {
        let output = self.output(0, run.len());
        let ranks = 0..self.inputs.all().len();
        let inputs = Few::of(ranks.map(|rank| self.input(rank, run)));
        // SAFETY: as in `copy`.
        unsafe { fold_several(op, inputs.all(), 0, run.len(), &To::Own(output)) }
    }

    /// Where a run of a rank's input begins. Only in [`Job::Own`].
    #[inline]
    fn input(&self, rank: Rank, run: &Range<usize>) -> *const T {
        assert_eq!(self.job, Job::Own, "who may touch what");
        let input = self.inputs.all()[rank];
        assert!(run.start <= run.end && run.end <= input.length, "{run:?}");
        // SAFETY: it is inside.
        unsafe { input.start.add(run.start) }
    }

    /// Where so many elements of this rank's output begin. Only in [`Job::Own`].
    #[inline]
    fn output(&self, at: usize, n: usize) -> *mut T {
        assert_eq!(self.job, Job::Own, "who may touch what");
        let output = self.outputs.all()[self.me];
        let end = at.checked_add(n);
        assert!(end.is_some_and(|end| end <= output.length), "{at} + {n}");
        // SAFETY: it is inside.
        unsafe { output.start.add(at) }
    }

    /// Copies this rank's input to where it belongs in the output of the root: after those of lower ranks.
    pub(crate) fn collect(&self) {
        let Job::Collect(root) = self.job else {
            panic!("who may touch what");
        };
        let (output, inputs) = (self.outputs.all()[root], self.inputs.all());
        let lengths = inputs[..self.me].iter().map(|run| run.length);
        let (at, input) = (lengths.sum::<usize>(), inputs[self.me]);
        let end = at.checked_add(input.length);
        assert!(end.is_some_and(|end| end <= output.length), "{at}");
        // SAFETY: both are inside, and the place belongs to this rank alone: all ranks see the same lengths.
        unsafe { copy(output.start.add(at), input.start, input.length) }
    }
}

/// Bytes that are copied to several places before the next ones are: they stay in a near cache.
const COPIED: usize = 64 << 10;

/// What a rank touches of vectors of `n` elements: whole cache lines of the first that is written, which has
/// so many elements before its first line.
fn share<T>(n: usize, lead: usize, ranks: usize, me: Rank) -> Range<usize> {
    const LINE: usize = 64;
    let line = (LINE / size_of::<T>().max(1)).max(1);
    let cut = |i: usize| match span::cut(n, ranks, i) {
        _ if i == ranks => n,
        even if even < lead => 0,
        even => (even - lead) / line * line + lead,
    };
    cut(me)..cut(me + 1)
}

/// Something for each of some ranks: on the stack, where they are not many.
enum Few<P> {
    Near([MaybeUninit<P>; NEAR], usize),
    Far(Vec<P>),
}

const NEAR: usize = 8;

impl<P: Copy> Few<P> {
    #[inline]
    fn of(all: impl ExactSizeIterator<Item = P>) -> Self {
        if all.len() > NEAR {
            return Few::Far(all.collect());
        }
        Few::of_some(all)
    }

    /// The same of how many is not known before.
    #[inline]
    fn of_some(mut all: impl Iterator<Item = P>) -> Self {
        let (mut near, mut count) = ([MaybeUninit::uninit(); NEAR], 0);
        for item in all.by_ref() {
            if count == NEAR {
                // SAFETY: all of them were written.
                let first = near.iter().map(|item| unsafe { item.assume_init() });
                return Few::Far(first.chain([item]).chain(all).collect());
            }
            near[count].write(item);
            count += 1;
        }
        Few::Near(near, count)
    }

    #[inline]
    fn all(&self) -> &[P] {
        match self {
            // SAFETY: so many were written.
            Few::Near(near, count) => unsafe { near[..*count].assume_init_ref() },
            Few::Far(all) => all,
        }
    }
}
