//! The threads of a team: how they get their parts of a run, and give back what came of them.
//!
//! ```text
//! caller   job ← order;  word ← frame      part of rank 0      word empty?  answers
//! rank     order;  part of the rank;  job ← answer;  word ← empty
//! ```
//!
//! Beside the word of its [job slot](crate::transport::reuse::job_slot), on the same line, each rank has a job: the caller writes
//! on it what is to be done, the rank in its place what came of it. So a run in which ranks do nothing moves one line
//! to and fro, and whatever else they would read there is in the frame of the call, for those who need it.
//!
//! # Why this is sound
//!
//! A run's closure borrows from its caller, but the threads live longer, so its type and lifetime are erased on the
//! way to them: they get its address, that of a [`Frame`] on the caller's stack, and a function that knows the types
//! of both. [`Pool::hand_out`] does not come back, not even by unwinding, before every thread has said that it is
//! done, which it does after its last look at either, also when something panicked: a guard, made before the first
//! order is given, waits for them.
//!
//! A job is the caller's while the word is empty, and the rank's from when it finds a word there until it empties
//! it; both ways the word is stored with release and found with acquire.
//!
//! The end that rank 0 keeps may be used by another caller's thread, or dropped by one, though it is not `Send`;
//! see [`Kept`].
#![allow(unsafe_code)]

use std::cell::{RefCell, UnsafeCell};
use std::fmt;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;
use parking_lot::Mutex;

use super::Outcome;
use super::rank::{Pin, live};
use crate::Rank;
use crate::comm::Comm;
use crate::error::Result;
use crate::machine::PinError;
use crate::sync::Parker;
use crate::transport::Fabric;
use crate::transport::progress::cpu_collision::WaitingCpus;
use crate::transport::progress::wait::{Live, Patience};
use crate::transport::reuse::fabric_reuse::{EndState, Reuse};
use crate::transport::reuse::job_slot::JobSlot;
use crate::transport::wakeup::sleeper::Sleeper;
use crate::unwind;

/// What the caller of a run and the ranks that have threads share.
pub(super) struct Pool {
    /// The first rank that has a thread. The caller is those before it.
    pub first: Rank,
    /// One for each rank that has a thread.
    lines: Box<[CachePadded<Line>]>,
    /// The caller of a run.
    caller: CachePadded<Sleeper>,
    /// How all of these wait.
    patience: Patience,
    /// And where, if they may have to part.
    spots: Option<Arc<WaitingCpus>>,
    /// The ranks that could not be pinned. Complete once each of them has done something.
    pub refused: Mutex<Vec<(Rank, PinError)>>,
}

/// What the caller of a run brings along from one to the next.
pub(super) struct Caller {
    pub parker: Parker,
    /// Rank 0's end of the fabric, where the caller is that.
    pub kept: Kept,
}

/// All that goes to and fro between the caller and a rank.
struct Line {
    job_slot: JobSlot<AnyFrame>,
    job: UnsafeCell<Job>,
}

#[cfg(not(all(test, loom)))]
const _: () = assert!(size_of::<Line>() <= 64, "it goes over in one piece");

// SAFETY: it is touched by one thread at a time, see the head; what is on it is that of a run whose closure may be
// shared and whose results may be sent, as `Pool::run` demands.
unsafe impl Send for Line {}
// SAFETY: as above.
unsafe impl Sync for Line {}

/// What is to be done, or what came of it.
#[derive(Clone, Copy)]
union Job {
    order: Order,
    answer: Answer,
}

#[derive(Clone, Copy)]
struct Order {
    act: Act,
    /// The closure.
    f: *const (),
    /// The run begins where the one before it ended.
    again: Option<Reuse>,
}

/// Does what an order says, as this rank. The frame and the closure must be of the types that it was made for, and
/// live until it comes back.
type Act = unsafe fn(Order, *const AnyFrame, Rank, &mut Kept) -> Answer;

#[derive(Clone, Copy)]
struct Answer {
    /// Whether `value` is what the rank returned, after it had done nothing. Else all is in the frame.
    here: bool,
    value: Room,
}

/// Room for a small value of any type.
type Room = MaybeUninit<[u64; 4]>;

/// Whether a value finds room on a job.
const fn fits<R>() -> bool {
    size_of::<R>() <= size_of::<Room>() && align_of::<R>() <= align_of::<Room>()
}

impl Answer {
    const ELSEWHERE: Answer = Answer {
        here: false,
        value: MaybeUninit::uninit(),
    };

    /// With a value on it, if that [fits].
    fn holding<R>(returned: R) -> Result<Answer, R> {
        if !fits::<R>() {
            return Err(returned);
        }
        let mut value = Room::uninit();
        // SAFETY: there is room for it, and the room is aligned for it, as was just asked.
        unsafe { value.as_mut_ptr().cast::<R>().write(returned) };
        Ok(Answer { here: true, value })
    }

    /// What it holds, if it does.
    ///
    /// # Safety
    ///
    /// It must be of the type that was put in, and taken once.
    unsafe fn take<R>(&self) -> Option<R> {
        // SAFETY: the caller promises that such a value was put in.
        self.here
            .then(|| unsafe { self.value.as_ptr().cast::<R>().read() })
    }
}

/// A [`Frame`] of any run.
struct AnyFrame {
    _aligned: [usize; 0],
}

/// What all ranks may need of a run, in the caller's frame.
struct Frame<'a, R, E> {
    fabric: &'a Arc<Fabric>,
    ranks: usize,
    /// What came of ranks with threads where that was not put on the job.
    parts: OnceLock<Parts<R, E>>,
}

type Parts<R, E> = Box<[Mutex<Option<Part<R, E>>>]>;

impl<R, E> Frame<'_, R, E> {
    fn parts(&self) -> &Parts<R, E> {
        let none = |_| Mutex::new(None);
        self.parts
            .get_or_init(|| (0..self.ranks).map(none).collect())
    }
}

/// What came of a rank.
pub(super) enum Part<R, E> {
    /// It began no operation, and returned this.
    Quiet(R),
    Told(Lived<R, E>),
}

/// What is left of a rank.
pub(super) struct Lived<R, E> {
    pub outcome: Outcome<R, E>,
    pub rest: Option<EndState>,
}

/// What came of all ranks.
pub(super) enum Came<R, E> {
    /// They were all quiet.
    Quiet(Vec<R>),
    /// `None`: something panicked while the rank ended.
    Told(Vec<Option<Part<R, E>>>),
}

/// A rank's end of a fabric between two runs, of which it [has said](Comm::rest) where it stands.
#[derive(Default)]
pub(super) struct Kept(Option<Box<Comm>>);

// SAFETY: what of a `Comm` is not `Send` are counted references and cells, shared by nobody but what else belongs to
// the rank: requests, messages and communicators made from it, and the list of the ranks that its thread is. When
// `Comm::rest` answered, the thread was off that list and no other reference to the rank's core was left, strong or
// weak, nor an open request, so whatever refers to anything inside goes where the `Comm` goes. Rooms for elements
// hold vectors of `Send` types, a packet is `Send`, and sites and types are `'static`. It is looked at by one thread
// at a time: the desk is locked for the length of a run.
unsafe impl Send for Kept {}

impl Kept {
    /// Runs `f` as this rank, on this thread: with the end that was kept if the run begins where the one before ended.
    fn live<'a, R, E: fmt::Display>(
        &mut self,
        rank: Rank,
        again: Option<Reuse>,
        fabric: impl FnOnce() -> &'a Arc<Fabric>,
        f: impl Fn(&Comm) -> Result<R, E>,
    ) -> Part<R, E> {
        let comm = match (again, self.0.take()) {
            (Some(again), Some(comm)) => {
                comm.enter_again(again);
                comm
            }
            (_, other) => {
                drop(other);
                Box::new(Comm::enter(fabric(), rank, None))
            }
        };
        let outcome = live(&comm, f);
        let quiet = comm.is_quiet();
        match (outcome, comm.rest()) {
            (Outcome::Returned(value), Some(rest)) => {
                self.0 = Some(comm);
                if quiet {
                    return Part::Quiet(value);
                }
                Part::Told(Lived {
                    outcome: Outcome::Returned(value),
                    rest: Some(rest),
                })
            }
            (outcome, _) => Part::Told(Lived {
                outcome,
                rest: None,
            }),
        }
    }
}

/// A rank's part of a run.
///
/// # Safety
///
/// See [`Act`].
unsafe fn act<F, R, E>(order: Order, frame: *const AnyFrame, rank: Rank, kept: &mut Kept) -> Answer
where
    F: Fn(&Comm) -> Result<R, E>,
    E: fmt::Display,
{
    // SAFETY: the caller promises that it is one of this type, and that it lives.
    let frame = || unsafe { &*frame.cast::<Frame<'_, R, E>>() };
    // SAFETY: as above.
    let f = unsafe { &*order.f.cast::<F>() };
    let answer = quietly(|| {
        let part = kept.live(rank, order.again, || frame().fabric, f);
        answered(part, rank, frame)
    });
    answer.unwrap_or(Answer::ELSEWHERE)
}

/// Leaves what came of a rank where its caller looks for it.
fn answered<'a, R: 'a, E: 'a>(
    part: Part<R, E>,
    rank: Rank,
    frame: impl FnOnce() -> &'a Frame<'a, R, E>,
) -> Answer {
    let part = match part {
        Part::Quiet(value) => match Answer::holding(value) {
            Ok(answer) => return answer,
            Err(value) => Part::Quiet(value),
        },
        told => told,
    };
    *frame().parts()[rank].lock() = Some(part);
    Answer::ELSEWHERE
}

/// Lets go of the fabric of the run before.
fn let_go(_: Order, _: *const AnyFrame, _: Rank, kept: &mut Kept) -> Answer {
    quietly(|| *kept = Kept::default());
    Answer::ELSEWHERE
}

/// Whatever panics in it, a destructor of the user's say, the thread goes on.
fn quietly<T>(f: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(done) => Some(done),
        Err(payload) => {
            unwind::discard(payload);
            None
        }
    }
}

impl Pool {
    /// A worker pool of so many ranks but for those before `first`, and what each of them waits with.
    pub(super) fn new(
        first: Rank,
        ranks: usize,
        patience: Patience,
        spots: Option<Arc<WaitingCpus>>,
        caller: &Parker,
    ) -> (Pool, Vec<Parker>) {
        let parkers: Vec<Parker> = (first..ranks).map(|_| Parker::new()).collect();
        let line = |parker| {
            CachePadded::new(Line {
                job_slot: JobSlot::new(parker),
                job: UnsafeCell::new(Job {
                    answer: Answer::ELSEWHERE,
                }),
            })
        };
        let pool = Pool {
            first,
            lines: parkers.iter().map(line).collect(),
            caller: CachePadded::new(Sleeper::new(caller)),
            patience,
            spots,
            refused: Mutex::default(),
        };
        (pool, parkers)
    }

    /// Who waits for long may find that it has to part from another rank.
    fn part(&self, rank: Rank) {
        if let Some(spots) = &self.spots {
            spots.part(rank);
        }
    }

    fn size(&self) -> usize {
        self.first + self.lines.len()
    }

    /// A rank's thread: one order after another until the team is dropped.
    pub(super) fn serve(&self, rank: Rank, pin: Option<Pin>, parker: &Parker) {
        let refused = pin.and_then(Pin::refused);
        self.refused.lock().extend(refused.map(|why| (rank, why)));
        let _inside = Inside::enter(self);
        let Line { job_slot, job } = &*self.lines[rank - self.first];
        let mut kept = Kept::default();
        while let Some(frame) = job_slot.next(parker, self.patience, || self.part(rank)) {
            // SAFETY: there is a word, so the job is this thread's, and an order on it.
            let order = unsafe { (*job.get()).order };
            // SAFETY: `hand_out` has put both there, made for each other, and waits, before anything that they borrow
            // goes, until this thread says below that it is done.
            let answer = unsafe { (order.act)(order, frame, rank, &mut kept) };
            // SAFETY: the job is this thread's still.
            unsafe { (*job.get()).answer = answer };
            job_slot.done(&self.caller);
        }
    }

    /// The threads may go home.
    pub(super) fn close(&self) {
        self.lines.iter().for_each(|line| line.job_slot.close());
    }

    /// Runs `f` once on every rank.
    pub(super) fn run<F, R, E>(
        &self,
        caller: &mut Caller,
        fabric: &Arc<Fabric>,
        again: Option<Reuse>,
        f: &F,
    ) -> Came<R, E>
    where
        F: Fn(&Comm) -> Result<R, E> + Sync,
        R: Send,
        E: Send + fmt::Display,
    {
        let ranks = self.size();
        let frame = Frame {
            fabric,
            ranks,
            parts: OnceLock::new(),
        };
        let order = Order {
            act: act::<F, R, E>,
            f: ptr::from_ref(f).cast(),
            again,
        };
        let Caller { parker, kept } = caller;
        let (mut mine, mut values) = (None, Vec::new());
        self.hand_out(parker, order, ptr::from_ref(&frame).cast(), || {
            if self.first > 0 {
                mine = quietly(|| kept.live(0, again, || fabric, f));
            }
            // While the others are at it still.
            values.reserve_exact(ranks);
        });
        let mut parts = (0..ranks).map(|rank| match rank.checked_sub(self.first) {
            None => mine.take(),
            // SAFETY: the order was made for this frame's type, and each answer is taken once.
            Some(place) => unsafe { self.taken(place, rank, &frame) },
        });
        loop {
            match parts.next() {
                Some(Some(Part::Quiet(value))) => values.push(value),
                None => return Came::Quiet(values),
                Some(odd) => {
                    let quiet = values.into_iter().map(|value| Some(Part::Quiet(value)));
                    return Came::Told(quiet.chain([odd]).chain(parts).collect());
                }
            }
        }
    }

    /// What came of a rank that has a thread.
    ///
    /// # Safety
    ///
    /// The last order was made for this type of frame, is done, and the answer was not taken yet.
    unsafe fn taken<R, E>(
        &self,
        place: usize,
        rank: Rank,
        frame: &Frame<'_, R, E>,
    ) -> Option<Part<R, E>> {
        // SAFETY: the word is empty, so the job is the caller's, and an answer on it.
        let answer = unsafe { (*self.lines[place].job.get()).answer };
        // SAFETY: as promised.
        match unsafe { answer.take::<R>() } {
            Some(value) => Some(Part::Quiet(value)),
            None => frame.parts()[rank].lock().take(),
        }
    }

    /// Has every rank let go of what it kept of the run before.
    pub(super) fn let_go(&self, caller: &mut Caller) {
        let order = Order {
            act: let_go,
            f: ptr::null(),
            again: None,
        };
        self.hand_out(&caller.parker, order, ptr::dangling(), || {
            quietly(|| caller.kept = Kept::default());
        });
    }

    /// Gives every thread the same order, does what is the caller's meanwhile, and waits until all have let go of what
    /// they were given.
    fn hand_out(
        &self,
        parker: &Parker,
        order: Order,
        frame: *const AnyFrame,
        meanwhile: impl FnOnce(),
    ) {
        let mut until_done = UntilDone {
            pool: self,
            parker,
            _live: None,
        };
        for line in &self.lines {
            // SAFETY: the word is empty, so the job is the caller's.
            unsafe { (*line.job.get()).order = order };
            line.job_slot.give(frame);
        }
        // A caller that is a rank of another world counts already.
        let counted = usize::from(self.first > 0 && unwind::is_rank());
        until_done._live = Some(Live::new(self.size() - counted));
        let _inside = (self.first > 0).then(|| Inside::enter(self));
        unwind::apart(meanwhile);
    }
}

/// Waits for all ranks that have threads when it is dropped.
struct UntilDone<'a> {
    pool: &'a Pool,
    parker: &'a Parker,
    /// All ranks of the run.
    _live: Option<Live>,
}

impl Drop for UntilDone<'_> {
    fn drop(&mut self) {
        let pool = self.pool;
        for line in &pool.lines {
            line.job_slot
                .wait(&pool.caller, self.parker, pool.patience, || pool.part(0));
        }
    }
}

thread_local! {
    /// The teams that this thread is a rank of, as the addresses of their worker pools.
    static INSIDE: RefCell<Vec<*const Pool>> = const { RefCell::new(Vec::new()) };
}

/// This thread is a rank of a team for as long as it lives.
struct Inside;

impl Inside {
    fn enter(pool: &Pool) -> Inside {
        INSIDE.with_borrow_mut(|teams| teams.push(pool));
        Inside
    }
}

impl Pool {
    /// Whether this thread is a rank of it.
    pub(super) fn is_inside(&self) -> bool {
        // A thread that has lost the list already is in no team.
        let inside = INSIDE.try_with(|teams| teams.borrow().contains(&ptr::from_ref(self)));
        inside.unwrap_or(false)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // Threads that are ending may have lost the list already.
        let _ = INSIDE.try_with(|teams| teams.borrow_mut().pop());
    }
}
