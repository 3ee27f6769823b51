//! The threads of a team: how they get their parts of a run, and return the outcome.
//!
//! ```text
//! caller   job ← order;  word ← frame      part of rank 0      word empty?  answers
//! rank     order;  part of the rank;  job ← answer;  word ← empty
//! ```
//!
//! Beside the word of its [job slot](crate::transport::reuse::job_slot), on the same cache line, each rank has a job.
//! The caller writes the order into it, and the rank overwrites the order with its answer. So a run in which ranks do
//! nothing moves one line back and forth. A rank that has done something says in the next line where it stands.
//! Everything else that a rank may need is in the frame of the call.
//!
//! # Why this is sound
//!
//! A run's closure borrows from its caller, but the threads live longer, so its type and lifetime are erased on the way
//! to them: they get its address, the address of a [`Frame`] on the caller's stack, and a function that knows the types
//! of both. [`Pool::hand_out`] does not return, not even by unwinding, before every thread has reported that it is
//! done. A thread does so after its last access to either, even if something panicked. A guard, created before the
//! first order is given, waits for them.
//!
//! A job belongs to the caller while the word is empty, and to the rank from when it finds a word there until it
//! empties it. In both directions the word is stored with release and loaded with acquire. What rank 0 keeps goes to and
//! fro with its job, if a thread is rank 0, since its next part may be the caller's.
//!
//! The end of the fabric that rank 0 keeps may be used, or dropped, by the thread of another caller, though it is not
//! `Send`; see [`Kept`].
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use parking_lot::Mutex;

use super::hand_over::HandOver;
use super::inside::{Inside, is_inside};
use super::outcome::End;
use super::rank::{Body, Pin, live};
use super::returned::{Continuation, LargeOutcomes, RankOutcome, Returned, Standing};
use crate::Rank;
use crate::comm::Comm;
use crate::error::Result;
use crate::machine::PinError;
use crate::sync::Parker;
use crate::transport::Fabric;
use crate::transport::progress::live::Live;
use crate::transport::reuse::fabric_reuse::{EndState, Reuse};
use crate::transport::reuse::job_slot::JobSlot;
use crate::unwind::{self, AbortOnDrop};

/// State shared by the caller of a run and the ranks that have threads.
pub(super) struct Pool {
    /// The first rank that has a thread: rank 1 where the caller is always rank 0.
    pub first: Rank,
    /// One line for each rank that has a thread.
    lines: Box<[CachePadded<Line>]>,
    /// How the caller and all of these wait for each other.
    pub hand_over: HandOver,
    /// The ranks whose threads could not be pinned. Complete once each has completed a job.
    pub refused: Mutex<Vec<(Rank, PinError)>>,
}

/// The caller's state, carried from one run to the next.
pub(super) struct Caller {
    pub parker: Parker,
    /// Rank 0's end of the fabric, whichever thread runs its parts. On lines of its own: it stays with that thread.
    pub kept: CachePadded<Kept>,
    pub standing: Standing,
    /// Whether the caller runs the part of rank 0. If not, there must be a thread that does.
    pub is_rank: bool,
}

/// Everything that passes between the caller and a rank.
#[repr(C)]
struct Line {
    job_slot: JobSlot<AnyFrame>,
    job: UnsafeCell<Job>,
    /// Where the rank stands, if its answer says that it has moved.
    rest: UnsafeCell<EndState>,
}

#[cfg(not(all(test, loom)))]
const _: () = assert!(mem::offset_of!(Line, rest) <= 64, "a job is one piece");

// SAFETY: one thread at a time accesses it, see the module documentation; its contents belong to a run whose closure
// may be shared and whose results may be sent, as `Pool::run` demands.
unsafe impl Send for Line {}
// SAFETY: as above.
unsafe impl Sync for Line {}

/// The order of the caller, or the answer of the rank.
#[derive(Clone, Copy)]
union Job {
    order: Order,
    answer: Answer,
}

#[derive(Clone, Copy)]
struct Order {
    act: Act,
    /// The closure, its type erased.
    f: *const (),
    /// Set if the run continues where the previous one ended.
    again: Option<Reuse>,
    /// Where rank 0 keeps its end of the fabric. Null where the caller is rank 0.
    kept: *mut Kept,
}

impl Order {
    /// The order to run a closure.
    fn of<F, R, E>(f: &F, again: Option<Reuse>, kept: *mut Kept) -> Order
    where
        F: Fn(&Comm) -> Result<R, E>,
        E: fmt::Display,
    {
        Order {
            act: act::<F, R, E>,
            f: ptr::from_ref(f).cast(),
            again,
            kept,
        }
    }
}

/// Carries out an order, as this rank. The frame and the closure must be of the types that the function was made for,
/// and must live until it returns.
type Act = unsafe fn(Order, *const AnyFrame, Rank, &mut Kept) -> Answer;

#[derive(Clone, Copy)]
struct Answer {
    /// Whether `value` is the rank's return value. Otherwise everything is in the frame.
    here: bool,
    end: Continuation,
    value: Room,
}

/// Room for a small value of any type.
type Room = MaybeUninit<[u64; 4]>;

/// Whether a value fits into a job.
const fn fits<R>() -> bool {
    size_of::<R>() <= size_of::<Room>() && align_of::<R>() <= align_of::<Room>()
}

impl Answer {
    const ELSEWHERE: Answer = Answer {
        here: false,
        end: Continuation::Unclean,
        value: MaybeUninit::uninit(),
    };

    /// An answer that holds the value, if it [fits].
    fn holding<R>(returned: R, end: Continuation) -> Result<Answer, R> {
        if !fits::<R>() {
            return Err(returned);
        }
        let mut value = Room::uninit();
        // SAFETY: `fits` has just checked that there is room for the value, and that the room is aligned for it.
        unsafe { value.as_mut_ptr().cast::<R>().write(returned) };
        let here = true;
        Ok(Answer { here, end, value })
    }

    /// Takes the value out, if the answer holds one.
    ///
    /// # Safety
    ///
    /// `R` must be the type of the value that was put in, and the value may be taken only once.
    unsafe fn take<R>(&self) -> Option<R> {
        // SAFETY: the caller promises that such a value was put in.
        self.here
            .then(|| unsafe { self.value.as_ptr().cast::<R>().read() })
    }
}

/// A [`Frame`] with its types erased.
struct AnyFrame {
    _aligned: [usize; 0],
}

/// The state of a run that all ranks may need, in the caller's stack frame.
struct Frame<'a, R, E> {
    fabric: &'a Arc<Fabric>,
    /// The outcomes of ranks with threads, where they did not fit into the job.
    large: LargeOutcomes<R, E>,
}

/// A rank's end of a fabric between two runs, after [`Comm::rest`] has returned its state.
#[derive(Default)]
pub(super) struct Kept {
    comm: Option<Box<Comm>>,
    /// Where the rank stands, if it has [moved](Continuation::Moved) in its last part.
    rest: EndState,
}

// SAFETY: the parts of a `Comm` that are not `Send` are reference-counted pointers and cells. They are shared only with
// what else belongs to the rank: requests, messages and communicators made from it, and the list of its thread's ranks.
// When `Comm::rest` returned a state, the thread was off that list and no other reference to the rank's core or to its
// handle of the communicator was left, strong or weak, nor an open request, so whatever refers to anything inside moves
// with the `Comm`. Nor was there an attribute, whose value may be of any type. Rooms for elements hold vectors of
// `Send` types, a packet is `Send`, and sites and types are `'static`. One thread at a time accesses it: `team_threads`
// keeps it locked for the duration of a run.
unsafe impl Send for Kept {}

impl Kept {
    /// What rank 0 keeps, for the caller or for the thread that runs its part.
    fn for_caller(&mut self, is_rank: bool) -> (Option<&mut Kept>, *mut Kept) {
        match is_rank {
            true => (Some(self), ptr::null_mut()),
            false => (None, self),
        }
    }

    /// Runs the body as this rank, on this thread, with the kept end if the run continues where the previous one ended.
    fn live<'a>(
        &mut self,
        rank: Rank,
        again: Option<Reuse>,
        fabric: &dyn Fn() -> &'a Arc<Fabric>,
        body: &mut dyn Body,
    ) -> Continuation {
        let comm = match (again, self.comm.take()) {
            (Some(again), Some(comm)) => {
                comm.enter_again(again);
                comm
            }
            (_, other) => {
                drop(other);
                Box::new(Comm::enter(fabric(), rank, None))
            }
        };
        let end = live(&comm, body);
        let quiet = comm.is_quiet();
        match comm.rest() {
            Some(rest) if end == End::Returned => {
                self.comm = Some(comm);
                if quiet {
                    return Continuation::Quiet;
                }
                self.rest = rest;
                Continuation::Moved
            }
            _ => Continuation::Unclean,
        }
    }
}

/// Runs a rank's part of a run.
///
/// # Safety
///
/// See [`Act`].
unsafe fn act<F, R, E>(order: Order, frame: *const AnyFrame, rank: Rank, kept: &mut Kept) -> Answer
where
    F: Fn(&Comm) -> Result<R, E>,
    E: fmt::Display,
{
    // SAFETY: the caller promises that the frame is of this type, and that it lives.
    let frame = || unsafe { &*frame.cast::<Frame<'_, R, E>>() };
    // SAFETY: as above.
    let f = unsafe { &*order.f.cast::<F>() };
    let answer = unwind::quietly(|| {
        let fabric = || frame().fabric;
        let part = RankOutcome::of(f, |body| kept.live(rank, order.again, &fabric, body));
        answered(part, rank, frame)
    });
    answer.unwrap_or(Answer::ELSEWHERE)
}

/// Stores the outcome of a rank where the caller looks for it.
fn answered<'a, R: 'a, E: 'a>(
    part: RankOutcome<R, E>,
    rank: Rank,
    frame: impl FnOnce() -> &'a Frame<'a, R, E>,
) -> Answer {
    let end = part.end();
    let part = match part {
        RankOutcome::Value(value, _) => match Answer::holding(value, end) {
            Ok(answer) => return answer,
            Err(value) => RankOutcome::Value(value, end),
        },
        other => other,
    };
    frame().large.put(rank, part);
    let elsewhere = Answer::ELSEWHERE;
    Answer { end, ..elsewhere }
}

/// Drops the fabric of the previous run.
fn let_go(_: Order, _: *const AnyFrame, _: Rank, kept: &mut Kept) -> Answer {
    unwind::quietly(|| *kept = Kept::default());
    Answer::ELSEWHERE
}

impl Pool {
    /// Identifies the pool among those of which a thread is a rank.
    fn address(&self) -> *const () {
        ptr::from_ref(self).cast()
    }

    /// Whether this thread is a rank of this pool.
    pub(super) fn is_inside(&self) -> bool {
        is_inside(self.address())
    }

    /// A worker pool for the ranks `first..ranks`, and the parker of each.
    pub(super) fn new(first: Rank, ranks: usize, hand_over: HandOver) -> (Pool, Vec<Parker>) {
        let parkers: Vec<Parker> = (first..ranks).map(|_| Parker::new()).collect();
        let answer = Answer::ELSEWHERE;
        let line = |parker| {
            CachePadded::new(Line {
                job_slot: JobSlot::new(parker),
                job: UnsafeCell::new(Job { answer }),
                rest: UnsafeCell::default(),
            })
        };
        let pool = Pool {
            first,
            lines: parkers.iter().map(line).collect(),
            hand_over,
            refused: Mutex::default(),
        };
        (pool, parkers)
    }

    /// Runs a rank's thread: one order after another until the team is dropped.
    pub(super) fn serve(&self, rank: Rank, pin: Option<Pin>, parker: &Parker) {
        let refused = pin.and_then(Pin::refused);
        self.refused.lock().extend(refused.map(|why| (rank, why)));
        let _inside = Inside::enter(self.address());
        let (line, mut own) = (&self.lines[rank - self.first], Kept::default());
        while let Some(frame) = self.hand_over.next(rank, &line.job_slot, parker) {
            // SAFETY: there is a word, so the job belongs to this thread, and holds an order.
            let order = unsafe { (*line.job.get()).order };
            let kept = match rank {
                // SAFETY: `run` borrows it exclusively, hands it to rank 0 alone, and does not use it before this
                // thread reports below that it is done.
                0 => unsafe { &mut *order.kept },
                _ => &mut own,
            };
            // SAFETY: `hand_out` has put the order and the frame there, made for each other, and it waits, before
            // anything that they borrow ends, until this thread reports below that it is done.
            let answer = unsafe { (order.act)(order, frame, rank, kept) };
            if answer.end == Continuation::Moved {
                // SAFETY: it goes to and fro with the job.
                unsafe { *line.rest.get() = kept.rest };
            }
            // SAFETY: the job still belongs to this thread.
            unsafe { (*line.job.get()).answer = answer };
            self.hand_over.done(&line.job_slot);
        }
    }

    /// Tells the threads to end.
    pub(super) fn close(&self) {
        for line in &self.lines {
            self.hand_over.close(&line.job_slot);
        }
    }

    /// Runs `f` once on every rank.
    pub(super) fn run<F, R, E>(
        &self,
        caller: &mut Caller,
        fabric: &Arc<Fabric>,
        again: Option<Reuse>,
        f: &F,
    ) -> Returned<R, E>
    where
        F: Fn(&Comm) -> Result<R, E> + Sync,
        R: Send,
        E: Send + fmt::Display,
    {
        let ranks = self.first + self.lines.len();
        let (large, standing) = (LargeOutcomes::new(ranks), &mut caller.standing);
        let frame = Frame { fabric, large };
        let from = self.first.max(usize::from(caller.is_rank));
        let (mut own, lent) = caller.kept.for_caller(from > 0);
        let order = Order::of::<F, R, E>(f, again, lent);
        let (mut mine, mut values) = (None, Vec::new());
        let frame_at = ptr::from_ref(&frame).cast();
        self.hand_out(from, &caller.parker, order, frame_at, &mut || {
            if let Some(kept) = &mut own {
                let own = || RankOutcome::of(f, |body| kept.live(0, again, &|| fabric, body));
                mine = unwind::quietly(own);
            }
            // Meanwhile the other ranks are still running.
            values.reserve_exact(ranks);
        });
        let mut returned = Returned::Values(values);
        standing.end = Continuation::Quiet;
        if let Some(kept) = own {
            standing.note(0, RankOutcome::end_of(&mine), || kept.rest);
            returned.push(mine, ranks);
        }
        // SAFETY: the order was given to these ranks and made for this frame's type; the answers are taken once.
        unsafe { self.take_answers(from, &frame, standing, &mut returned) };
        returned
    }

    /// The lines of the ranks from this one on, which have threads.
    fn lines_from(&self, from: Rank) -> &[CachePadded<Line>] {
        &self.lines[from - self.first..]
    }

    /// Adds the outcomes of the ranks from this one on.
    ///
    /// # Safety
    ///
    /// They must have done the last order, which is made for this type of frame, and their answers must be there still.
    unsafe fn take_answers<R, E>(
        &self,
        from: Rank,
        frame: &Frame<'_, R, E>,
        standing: &mut Standing,
        returned: &mut Returned<R, E>,
    ) {
        for (place, line) in self.lines_from(from).iter().enumerate() {
            let rank = from + place;
            // SAFETY: the word is empty, so the job belongs to the caller, and holds an answer.
            let answer = unsafe { (*line.job.get()).answer };
            // SAFETY: as promised by the caller.
            let part = match unsafe { answer.take::<R>() } {
                Some(value) => Some(RankOutcome::Value(value, answer.end)),
                None => frame.large.take(rank),
            };
            // SAFETY: it belongs to the caller, as the job does.
            let rest = || unsafe { *line.rest.get() };
            standing.note(rank, RankOutcome::end_of(&part), rest);
            returned.push(part, frame.large.ranks);
        }
    }

    /// Makes every rank drop what it kept of the previous run. What rank 0 kept is the caller's.
    pub(super) fn let_go(&self, caller: &mut Caller) {
        let order = Order {
            act: let_go,
            f: ptr::null(),
            again: None,
            kept: ptr::null_mut(),
        };
        self.hand_out(1, &caller.parker, order, ptr::dangling(), &mut || {
            unwind::quietly(|| *caller.kept = Kept::default());
        });
    }

    /// Gives the ranks from this one on the same order, runs the caller's own part meanwhile, and waits until no thread
    /// accesses what it was given.
    fn hand_out(
        &self,
        from: Rank,
        parker: &Parker,
        order: Order,
        frame: *const AnyFrame,
        meanwhile: &mut dyn FnMut(),
    ) {
        let lines = self.lines_from(from);
        let mut until_done = UntilDone {
            hand_over: &self.hand_over,
            lines,
            parker,
            _live: None,
        };
        self.hand_over.begin(lines.len());
        for line in lines {
            // SAFETY: the word is empty, so the job belongs to the caller.
            unsafe { (*line.job.get()).order = order };
            self.hand_over.give(&line.job_slot, frame);
        }
        // A caller that is a rank of another world is counted already.
        let counted = usize::from(from > 0 && unwind::is_rank());
        until_done._live = Some(Live::new(from + lines.len() - counted));
        let _inside = (from > 0).then(|| Inside::enter(self.address()));
        unwind::apart(meanwhile);
    }
}

/// Waits, when dropped, for the ranks with these lines.
struct UntilDone<'a> {
    hand_over: &'a HandOver,
    lines: &'a [CachePadded<Line>],
    parker: &'a Parker,
    /// Counts all ranks of the run as live.
    _live: Option<Live>,
}

impl Drop for UntilDone<'_> {
    fn drop(&mut self) {
        // Ranks that still run use what the caller's frame holds: it may not unwind past them.
        let all_are_done = AbortOnDrop;
        let job_slots = self.lines.iter().map(|line| &line.job_slot);
        self.hand_over.wait(job_slots, self.parker);
        mem::forget(all_are_done);
    }
}
