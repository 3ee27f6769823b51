//! Calls in which ranks access each other's vectors in place: the guards around an
//! [epoch](crate::transport::memory::epoch).
//!
//! [`meet`] takes a rank's vectors, returns when no rank can access them any more, and in between runs the rank's work
//! on the [`SharedVectors`] of all ranks.
//!
//! # Why this is sound
//!
//! - *One pointer a vector.* A rank's vectors come as borrows that live longer than the call. One raw pointer is taken
//!   from each (in place: one, used for both), and the vector is accessed through that alone until all are out, by its
//!   rank as by the others.
//! - *No rank accesses memory too early.* [`SharedVectors`] are made only after *go*, when all are here, and after the
//!   type (by its id), the job, and the length of every vector were found to be what the rank expects.
//! - *No rank leaves early.* From its arrival on a rank is inside [`Inside`], whose end, also by unwinding, is either
//!   an abort or the wait until all are out. It never leaves its frame, so it cannot be forgotten. Should the wait
//!   return too early, or panic, the process [aborts](AbortOnDrop).
//! - *No rank's pointers change meanwhile.* They are read again and again between *go* and *out*. The epoch refuses a
//!   rank that arrives while what it has brought is out, so what was compared stays the same, whatever is called from
//!   inside the call.
//! - *No pointer is kept.* [`SharedVectors`] are lent to `work` for a lifetime that it cannot name.
//! - *An input is not written*: a vector that is read and written is brought in place, and only where each rank accesses
//!   its share, or one rank accesses all; every other output is a unique borrow that overlaps no input. Several ranks may bring the same input.
//! - *Order*: what a rank wrote before it arrived is visible to every rank that saw it here; what it wrote between *go*
//!   and *out*, to every rank that saw it out. Both are release and acquire on words of the epoch.
//!
//! What `work` may do with the vectors is decided in [`shared_vectors`](crate::transport::memory::shared_vectors).
#![allow(unsafe_code)]

use std::mem;

use crate::Rank;
use crate::op::elements::{Elements, ElementsMut, Info};
use crate::transport::memory::coming::{Coming, Job};
use crate::transport::memory::epoch::{Brought, Decision, Epoch, Outs, Ticket, Turned};
use crate::transport::memory::shared_vectors::SharedVectors;
use crate::unwind::AbortOnDrop;

/// The vectors of a rank, as it brings them to a call.
pub(crate) enum Brings<'a> {
    /// A vector that is read and written, in place.
    InPlace(ElementsMut<'a>),
    /// One that is read, and one that is written; either may be empty.
    Both(Elements<'a>, ElementsMut<'a>),
    /// One that could be written and is read.
    Source(ElementsMut<'a>),
}

impl Brings<'_> {
    /// The type of the elements; of the output, where there are two vectors.
    fn info(&self) -> &'static Info {
        match self {
            Brings::InPlace(all) | Brings::Source(all) | Brings::Both(_, all) => all.info(),
        }
    }

    /// The only place where borrows become pointers.
    fn pointers(self) -> ((*const u8, usize), (*mut u8, usize)) {
        match self {
            Brings::InPlace(mut both) => {
                let (first, length) = (both.first(), both.len());
                ((first, length), (first, length))
            }
            Brings::Both(input, mut output) => {
                assert!(input.info().is(output.info()), "vectors of two types");
                ((input.first(), input.len()), (output.first(), output.len()))
            }
            Brings::Source(mut source) => {
                let nothing = ElementsMut::none(source.info()).first();
                ((source.first(), source.len()), (nothing, 0))
            }
        }
    }
}

impl Coming<'_> {
    /// What this rank publishes: the vectors of which it holds the borrows, by [`meet`].
    fn brought(&self, brings: Brings<'_>) -> Brought {
        let in_place = matches!(brings, Brings::InPlace(_));
        let in_shares = matches!(self.job, Job::Shares | Job::By(_));
        assert!(!in_place || in_shares, "an input that is written");
        let info = brings.info();
        let (input, output) = brings.pointers();
        Brought {
            print: self.print,
            job: self.job.word(),
            info,
            input,
            output,
            whole: self.whole,
            outs: self.epoch.outs(self.me),
        }
    }
}

/// How a rank waits for the others.
pub(crate) trait Waiting {
    type Error;

    /// Wakes all other ranks that sleep.
    fn rouse(&self);

    /// Waits until all are here; may fail.
    fn gather(&self, ticket: Ticket, all_here: &mut dyn FnMut() -> bool)
    -> Result<(), Self::Error>;

    /// Waits until all are out; may not fail, and need not: the others do not wait.
    fn stay(&self, going: (Ticket, Outs), all_out: &mut dyn FnMut() -> bool);
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
pub(crate) fn meet<W: Waiting>(
    coming: &Coming<'_>,
    waiting: &W,
    brings: Brings<'_>,
    lengths: impl Fn(Rank) -> (usize, usize),
    work: impl FnOnce(&SharedVectors<'_>),
) -> Result<Met, W::Error> {
    let &Coming { epoch, me, .. } = coming;
    let info = brings.info();
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
        stage: RankStage::Gathering,
        waiting,
    };
    let mut next = 0;
    waiting.gather(ticket, &mut || epoch.all_here_from(&mut next, ticket))?;
    waiting.rouse();
    let Decision::Go(outs) = epoch.go(ticket) else {
        inside.stage = RankStage::Out;
        return Ok(Met::Aborted);
    };
    inside.stage = RankStage::Going(outs);
    epoch.time_line(me, ticket);
    if let Some(stranger) = stranger(coming, &brought, info, lengths) {
        return Ok(Met::Strange(stranger));
    }
    // SAFETY: all are here and go ahead, what they bring was compared, and no rank leaves before `inside` has reported.
    work(&unsafe { SharedVectors::new(coming, info) });
    inside.report(outs, true);
    Ok(epoch.failed(outs).map_or(Met::Well, Met::Failed))
}

/// The first rank that has not brought what this one expects.
#[inline]
fn stranger(
    coming: &Coming<'_>,
    brought: &Brought,
    info: &'static Info,
    lengths: impl Fn(Rank) -> (usize, usize),
) -> Option<Rank> {
    let agrees = |rank| match rank == coming.me {
        true => (brought.input.1, brought.output.1) == lengths(rank),
        false => agrees(brought, info, &coming.epoch.brought(rank), lengths(rank)),
    };
    (0..coming.epoch.ranks()).find(|&rank| !agrees(rank))
}

/// Whether what another rank brought is what this one expects of it.
#[inline]
fn agrees(mine: &Brought, info: &'static Info, theirs: &Brought, lengths: (usize, usize)) -> bool {
    // SAFETY: every rank that has arrived has published its `Info`, which is `'static`.
    let their_info: &'static Info = unsafe { &*theirs.info };
    mine.print == theirs.print
        && mine.job == theirs.job
        && info.is(their_info)
        && (theirs.input.1, theirs.output.1) == lengths
}

/// How far a rank is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RankStage {
    /// It may leave if not all are here.
    Gathering,
    /// It must report out, and stay until all have.
    Going(Outs),
    Out,
}

/// Keeps a rank in the call until no rank can access its vectors, also while it unwinds. It lives inside [`meet`], and
/// so inside the borrows.
struct Inside<'a, W: Waiting> {
    epoch: &'a Epoch,
    me: Rank,
    ticket: Ticket,
    stage: RankStage,
    waiting: &'a W,
}

impl<W: Waiting> Inside<'_, W> {
    /// Reports out, and waits until all ranks have.
    #[inline]
    fn report(&mut self, outs: Outs, well: bool) {
        // No rank may leave its frame, by return or by a panic in the wait, while others may still access its vectors:
        // a read of freed memory would be worse.
        let until_all_are_out = AbortOnDrop;
        self.epoch.report_out(self.me, self.ticket, outs, well);
        self.stage = RankStage::Out;
        let (mut next, ticket) = (0, self.ticket);
        let mut all_out = || self.epoch.all_out_from(&mut next, ticket, outs);
        self.waiting.stay((ticket, outs), &mut all_out);
        if self.epoch.take_back(self.me, ticket, outs, next) {
            mem::forget(until_all_are_out);
        }
        self.waiting.rouse();
    }
}

impl<W: Waiting> Drop for Inside<'_, W> {
    fn drop(&mut self) {
        let decision = match self.stage {
            RankStage::Gathering => self.epoch.leave_early(self.ticket),
            RankStage::Going(outs) => Decision::Go(outs),
            RankStage::Out => return,
        };
        if let Decision::Go(outs) = decision {
            self.waiting.rouse();
            self.report(outs, false);
        }
    }
}
