//! Calls in which ranks touch each other's vectors where they lie: the guards around a
//! [epoch](crate::transport::memory::epoch), and all that is done with the pointers.
//!
//! [`meet`] takes a rank's vectors, comes back when nobody can touch them any more, and in between runs
//! what the rank has to do on the [`Vectors`] of all. What may be done there is said here, so that no two
//! ranks ever touch one element while one of them writes it, whatever they ask for.
//!
//! # What was looked at
//!
//! - *One pointer a vector.* A rank's vectors come as borrows that live longer than the call; one raw
//!   pointer is taken from each (in place: one, used for both), and the vector is touched through that alone
//!   until all are out, by its rank as by the others. No slice over any of them is made anywhere in this file.
//! - *Nobody touches memory too early.* [`Vectors`] are made only after *go*, when all are here, and after
//!   the type (by its id), the job, and the length of every vector were found to be what the rank expects.
//! - *Nobody leaves too early.* From its arrival on a rank is inside [`Inside`], whose end, also by
//!   unwinding, is either an abort or the wait until all are out. It never leaves its frame, so it cannot be
//!   forgotten. Should the wait come back too early, or panic, the process [ends](NobodyLeaves).
//! - *Nobody's pointers change meanwhile.* They are read again and again between *go* and *out*. The epoch refuses a
//!   rank that comes while what it has brought is out, so what was compared stays what it was, whatever is called from
//!   inside the call.
//! - *Nobody keeps a pointer.* [`Vectors`] are lent to `work` for a lifetime that it cannot name; the
//!   [lists](Lists) that outlive a call are filled anew before they are read again.
//! - *No two ranks write one element, and nobody reads what another writes.* There are three jobs, the same
//!   on all ranks, or nothing is touched. Each holds whatever the ranks do inside it: it need not be the same
//!   collective, root or operator, should two fingerprints ever be equal by chance:
//!   [shares](Job::Shares): of every vector, read or written, a rank touches its own share, and shares are
//!   cut by the number of ranks and by what was brought (length, type, and where the first output begins),
//!   which all read from the same words;
//!   [own](Job::Own): a rank writes to its own output, and reads inputs, to which nobody writes: they are
//!   shared borrows for the length of the call. Several ranks may bring one and the same;
//!   [collect](Job::Collect): a rank reads its own input, and writes to the root's output from where the
//!   inputs of the ranks below end to where its own ends, which follows from lengths that all have seen.
//! - *No input is an output*, but a rank's own in place: an output is a unique borrow, and a vector that is
//!   read and written exists only where each touches its share. Vectors without bytes may have any address.
//! - *No index is out of bounds.* Shares end at the length that every vector was found to have; other
//!   accesses are compared with the lengths that came with the pointers.
//! - *Operators* are code of the user's: they may panic, or be slow. They get elements by value, and the
//!   kernels read and write single elements, so no borrow is open while they run. A rank that panics has
//!   failed, and all the others learn it when they are out. A rank's lists are in use by one call at
//!   a time; were they not, that would be a panic.
//! - *Types*: elements are `Copy + Send + Sync + 'static`, so they may be read and written by any thread,
//!   and there is nothing to drop. Copies take their bytes as they are, also those that nobody has set.
//! - *Stores past the caches* are ordered by a fence of their own before a rank reports out, also where it unwinds.
//! - *Order*: what a rank wrote before it came is seen by whoever saw it here; what it wrote between *go*
//!   and *out* by whoever saw it out. Both are release and acquire on words of the epoch.
#![allow(unsafe_code)]

use std::cell::{RefCell, RefMut};
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::ops::Range;
use std::process;
use std::slice;

use crate::Rank;
use crate::op::copies::{BEYOND, Copies, LONG, Part, Way};
use crate::op::kernels::{self, To, copy, copy_bytes_past_caches, fold_several};
use crate::op::{Element, Operator};
use crate::span;
use crate::transport::memory::epoch::{Brought, Decision, Epoch, Ticket, Turned};
use crate::transport::memory::head::Info;

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
    pub epoch: &'a Epoch,
    pub me: Rank,
    pub print: u32,
    pub job: Job,
    pub lists: &'a Lists,
    pub copies: &'a Copies,
}

/// Room for lists of pointers: a rank of many keeps it from call to call.
#[derive(Default)]
pub(crate) struct Lists {
    inputs: List,
    outputs: List,
}

/// What is in it is of the last call, and is not looked at.
type List = RefCell<Vec<*mut u8>>;

/// How a rank waits for the others.
pub(crate) trait Waiting {
    type Error;

    /// Wakes all others who sleep.
    fn rouse(&self);

    /// Waits until all are here; may fail.
    fn gather(&self, ticket: Ticket, all_here: impl FnMut() -> bool) -> Result<(), Self::Error>;

    /// Waits until all are out; may not fail, and need not: they wait for nobody.
    fn stay(&self, ticket: Ticket, all_out: impl FnMut() -> bool);
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
    /// This rank is in another call here still, and nothing was touched.
    Inside,
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
        epoch,
        me,
        print,
        job,
        ..
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
    waiting.gather(ticket, || epoch.all_here_from(&mut next, ticket))?;
    waiting.rouse();
    if epoch.go(ticket) == Decision::Aborted {
        inside.stage = Stage::Out;
        return Ok(Met::Aborted);
    }
    inside.stage = Stage::Going;
    let agrees = |rank: &Rank| agrees::<T>(&brought, &epoch.brought(*rank), lengths(*rank));
    if let Some(stranger) = (0..epoch.ranks()).find(|rank| !agrees(rank)) {
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
    epoch: &'a Epoch,
    me: Rank,
    ticket: Ticket,
    stage: Stage,
    waiting: &'a W,
}

impl<W: Waiting> Inside<'_, W> {
    /// Reports out, and waits until all have.
    #[inline]
    fn report(&mut self, well: bool) {
        let nobody_leaves = NobodyLeaves;
        self.epoch.report_out(self.me, self.ticket, well);
        self.stage = Stage::Out;
        let (mut next, ticket) = (0, self.ticket);
        let all_out = || self.epoch.all_out_from(&mut next, ticket);
        self.waiting.stay(ticket, all_out);
        if self.epoch.take_back(self.me, ticket) {
            mem::forget(nobody_leaves);
        }
        self.waiting.rouse();
    }
}

/// Ends the process where a rank would leave its frame, by return or by a panic in the wait, while others may
/// still touch its vectors: that somebody reads freed memory would be worse.
struct NobodyLeaves;

impl Drop for NobodyLeaves {
    fn drop(&mut self) {
        process::abort();
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

/// The vectors of all ranks, between *go* and *out*: until then nobody writes down others.
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
    #[inline]
    fn inputs(&self) -> impl Iterator<Item = *const T> {
        let all = (0..self.ranks()).map(|rank| self.input(rank));
        all.filter(|run| run.length > 0).map(|run| run.start)
    }

    /// The outputs that are not empty.
    #[inline]
    fn outputs(&self) -> impl Iterator<Item = *mut T> {
        let all = (0..self.ranks()).map(|rank| self.output(rank));
        all.filter(|run| run.length > 0).map(|run| run.start)
    }

    /// The length of all vectors, and this rank's share of it. Only in [`Job::Shares`].
    fn share(&self) -> Range<usize> {
        assert_eq!(self.coming.job, Job::Shares, "who may touch what");
        let of = |rank| [self.input(rank).length, self.output(rank).length];
        let lengths = (0..self.ranks()).flat_map(of);
        let n = lengths.clone().max().unwrap_or(0);
        assert!(lengths.into_iter().all(|length| length == 0 || length == n));
        // All ranks see the same pointers.
        let written = self.outputs().next();
        let lead = written.map_or(0, |start| kernels::lead(start.cast_const()));
        share::<T>(n, lead, self.ranks(), self.coming.me)
    }

    /// Folds this rank's share of all inputs, in rank order from the left, and puts it into all outputs.
    pub(crate) fn fold_share(&self, op: &impl Operator<T>) {
        let share = self.share();
        if share.is_empty() {
            return;
        }
        let in_place = |rank: Rank| std::ptr::eq(self.input(rank).start, self.output(rank).start);
        if share.len() * size_of::<T>() >= LONG && !(0..self.ranks()).any(in_place) {
            return self.fold_share_apart(&share, op);
        }
        let lists = self.coming.lists;
        let inputs = Few::of(&lists.inputs, self.inputs());
        let outputs = Few::of(&lists.outputs, self.outputs());
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

    /// The same for a long share, where no input is an output. Others have read what is written to theirs.
    fn fold_share_apart(&self, share: &Range<usize>, op: &impl Operator<T>) {
        let (lists, bytes) = (self.coming.lists, share.len() * size_of::<T>());
        let inputs = Few::of(&lists.inputs, self.inputs());
        let own = self.output(self.coming.me);
        let own = (own.length > 0).then_some(own.start);
        // Its own first: what the others get is read there.
        let others = self.outputs().filter(|&to| own != Some(to));
        let all = Few::of(&lists.outputs, own.into_iter().chain(others));
        let all = all.all();
        if all.is_empty() {
            return;
        }
        self.coming.copies.timed(Part::Spread, bytes, |way| {
            let near = own.filter(|_| bytes < BEYOND);
            let to = match way {
                Way::Plain => To::All(all),
                Way::PastCaches => To::Past(near, &all[usize::from(near.is_some())..]),
            };
            // SAFETY: as in `fold_share`, of which this is a case.
            unsafe { fold_several(op, inputs.all(), share.start, share.len(), &to) }
            bytes
        });
    }

    /// Copies this rank's share of the only input to all outputs.
    pub(crate) fn copy_share(&self) {
        let share = self.share();
        let Some(source) = self.inputs().next().filter(|_| !share.is_empty()) else {
            return;
        };
        let others = || self.outputs().filter(|&to| !std::ptr::eq(to, source));
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
        self.in_best_way(Part::Spread, share.len(), LONG, copy_all);
    }

    /// Runs a copy of `n` elements in the way that takes least, if it is of so many bytes or more.
    fn in_best_way(&self, part: Part, n: usize, least: usize, copy: impl FnOnce(Way)) {
        let bytes = n * size_of::<T>();
        if bytes < least {
            return copy(Way::Plain);
        }
        self.coming.copies.timed(part, bytes, |way| {
            copy(way);
            bytes
        });
    }

    /// Copies a run of some rank's input to this rank's output, from `at` on.
    pub(crate) fn copy(&self, from: Rank, run: Range<usize>, at: usize) {
        let (input, output) = (self.input_at(from, &run), self.output_at(at, run.len()));
        self.in_best_way(Part::Fetched, run.len(), BEYOND, |way| {
            // SAFETY: both are inside their vectors. Nobody writes to inputs, and only this rank to its output.
            unsafe { copy_in(way, output, input, run.len()) }
        });
    }

    /// Folds a run of all inputs, in rank order from the left, into this rank's output from its beginning.
    pub(crate) fn fold(&self, run: &Range<usize>, op: &impl Operator<T>) {
        let output = self.output_at(0, run.len());
        let ranks = (0..self.ranks()).map(|rank| self.input_at(rank, run));
        let inputs = Few::of(&self.coming.lists.inputs, ranks);
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

    /// Where so many elements of this rank's output begin. Only in [`Job::Own`].
    #[inline]
    fn output_at(&self, at: usize, n: usize) -> *mut T {
        assert_eq!(self.coming.job, Job::Own, "who may touch what");
        let output = self.output(self.coming.me);
        let end = at.checked_add(n);
        assert!(end.is_some_and(|end| end <= output.length), "{at} + {n}");
        // SAFETY: it is inside.
        unsafe { output.start.add(at) }
    }

    /// Copies this rank's input to where it belongs in the output of the root: after those of lower ranks.
    pub(crate) fn collect(&self) {
        let Job::Collect(root) = self.coming.job else {
            panic!("who may touch what");
        };
        let (output, input) = (self.output(root), self.input(self.coming.me));
        let mut lengths = (0..self.coming.me).map(|rank| self.input(rank).length);
        // A sum that went round would be the place of another rank.
        let at = lengths.try_fold(0usize, usize::checked_add);
        let end = at.and_then(|at| at.checked_add(input.length));
        let at = at.filter(|_| end.is_some_and(|end| end <= output.length));
        let at = at.expect("an output that holds all inputs");
        self.in_best_way(Part::Spread, input.length, LONG, |way| {
            // SAFETY: both are inside, and the place belongs to this rank alone: all ranks see the same lengths.
            unsafe { copy_in(way, output.start.add(at), input.start, input.length) }
        });
    }
}

/// Copies `n` elements in some way.
///
/// # Safety
///
/// As [`copy`].
#[inline]
unsafe fn copy_in<T: Element>(way: Way, to: *mut T, from: *const T, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match way {
            Way::Plain => copy(to, from, n),
            Way::PastCaches => {
                copy_bytes_past_caches(to.cast(), from.cast(), n * size_of::<T>());
            }
        }
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

/// Pointers into the vectors of some ranks: on the stack, where they are not many.
enum Few<'a, P> {
    Near([MaybeUninit<P>; NEAR], usize),
    Far(RefMut<'a, Vec<*mut u8>>),
}

const NEAR: usize = 8;

/// A pointer to one element, read-only or not: a word of the size of any other.
trait Pointer: Copy {
    fn untyped(self) -> *mut u8;
}

impl<T> Pointer for *const T {
    #[inline]
    fn untyped(self) -> *mut u8 {
        self.cast_mut().cast()
    }
}

impl<T> Pointer for *mut T {
    #[inline]
    fn untyped(self) -> *mut u8 {
        self.cast()
    }
}

impl<'a, P: Pointer> Few<'a, P> {
    #[inline]
    fn of(list: &'a List, mut all: impl Iterator<Item = P>) -> Self {
        let (mut near, mut count) = ([MaybeUninit::uninit(); NEAR], 0);
        for item in all.by_ref() {
            if count == NEAR {
                // SAFETY: all of them were written.
                let first = near.iter().map(|item| unsafe { item.assume_init() });
                return Few::listed(list, first.chain([item]).chain(all));
            }
            near[count].write(item);
            count += 1;
        }
        Few::Near(near, count)
    }

    #[inline(never)]
    fn listed(list: &'a List, all: impl Iterator<Item = P>) -> Self {
        let mut list = list.borrow_mut();
        list.clear();
        list.extend(all.map(P::untyped));
        Few::Far(list)
    }

    #[inline]
    fn all(&self) -> &[P] {
        match self {
            // SAFETY: so many were written.
            Few::Near(near, count) => unsafe { near[..*count].assume_init_ref() },
            // SAFETY: each of them is a `P` whose type was taken off: pointers to sized types are alike.
            Few::Far(list) => unsafe { slice::from_raw_parts(list.as_ptr().cast(), list.len()) },
        }
    }
}
