//! The life of one rank on its thread: pin, enter, run, and report how it ended.
//!
//! The caller's closure, what it returns and its errors are behind [`Body`], so that all of this is compiled once, in
//! the library, and not for each closure in the crate of the caller.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_utils::sync::WaitGroup;

use super::outcome::{End, Outcome};
use crate::Rank;
use crate::comm::Comm;
use crate::error::{Gone, Result};
use crate::machine::{Cpus, PinError, pin};
use crate::transport::Fabric;
use crate::transport::progress::live::Live;
use crate::unwind::{self, Panic};

/// The state that a thread needs to become a rank.
pub(super) struct Start {
    pub fabric: Arc<Fabric>,
    pub rank: Rank,
    /// The CPU of the rank, if it is to be pinned.
    pub pin: Option<Pin>,
}

/// The CPU on which a rank is to run.
#[derive(Clone)]
pub(super) struct Pin {
    pub cpu: usize,
    pub cpus: Arc<Cpus>,
    /// Held by every rank that is to be pinned until it is.
    pub all: NotYet,
}

/// Held by ranks that are not yet where they should be.
#[derive(Clone, Default)]
pub(super) struct NotYet {
    /// Counts the ranks that hold this.
    held: Arc<()>,
    all: WaitGroup,
}

/// Threads that have just been started come within some tens of microseconds, which is less than it takes to sleep and
/// be woken.
const SOON: Duration = Duration::from_micros(100);

impl NotYet {
    /// Waits until no rank holds this any more.
    fn wait(self) {
        let (begin, held) = (Instant::now(), Arc::downgrade(&self.held));
        drop(self.held);
        while held.strong_count() > 0 && begin.elapsed() < SOON {
            thread::yield_now();
        }
        self.all.wait();
    }
}

impl Pin {
    /// Pins this thread, verifies that, and waits until all other ranks are in their places: no rank sends before that.
    /// Returns why the thread is not pinned.
    pub(super) fn refused(self) -> Option<PinError> {
        let refused = pin(self.cpu, &self.cpus).err();
        self.all.wait();
        refused
    }
}

/// The body of one rank and the place of its outcome, with the types of the program erased.
pub(super) trait Body {
    /// Runs the program as this rank and keeps what it returned; the result says whether that is a value.
    fn run(&mut self, comm: &Comm) -> bool;

    /// The error that the program returned.
    fn error(&self) -> Option<&dyn fmt::Display>;

    /// Replaces the outcome of a rank that panicked.
    fn panicked(&mut self, panic: Panic);
}

/// The [`Body`] of a closure.
pub(super) struct BodyOf<'p, F, R, E> {
    pub f: &'p F,
    /// [`Outcome::Left`] until the closure returns.
    pub outcome: &'p mut Outcome<R, E>,
}

impl<F, R, E> Body for BodyOf<'_, F, R, E>
where
    F: Fn(&Comm) -> Result<R, E>,
    E: fmt::Display,
{
    fn run(&mut self, comm: &Comm) -> bool {
        let result = (self.f)(comm);
        let well = result.is_ok();
        *self.outcome = match result {
            Ok(value) => Outcome::Returned(value),
            Err(error) => Outcome::Failed(error),
        };
        well
    }

    fn error(&self) -> Option<&dyn fmt::Display> {
        match &*self.outcome {
            Outcome::Failed(error) => Some(error),
            _ => None,
        }
    }

    fn panicked(&mut self, panic: Panic) {
        *self.outcome = Outcome::of(panic);
    }
}

/// The panic of a rank that ended without a result: a user's destructor panicked.
pub(super) fn broken() -> Panic {
    Panic {
        message: "a destructor panicked while the rank ended".into(),
        site: None,
    }
}

impl Start {
    /// Runs the body as this rank, on this thread. Returns why the rank is not pinned, if it should be.
    pub(super) fn live(mut self, body: &mut dyn Body) -> Option<PinError> {
        let unpinned = self.pin.take().and_then(Pin::refused);
        let comm = Comm::enter(&self.fabric, self.rank, Some(Live::new(1)));
        live(&comm, body);
        comm.leave();
        unpinned
    }
}

/// Runs the body as the rank that has just entered, and records how it ended.
pub(super) fn live(comm: &Comm, body: &mut dyn Body) -> End {
    let (end, why, site) = run(comm, body);
    let follows = match &why {
        Gone::Panicked(message) => unwind::repeats(message),
        // It returns the error of its last operation, in whatever form, or an earlier one after it has cleaned up.
        Gone::Failed(text) => unwind::follows() || unwind::repeats(text),
        _ => unwind::follows(),
    };
    comm.end(why, site, follows);
    clear_quietly(comm);
    end
}

/// Deletes the attributes that are left after a panic: of several destructors that panic, the first one's is the panic
/// of the rank. A destructor may set an attribute again.
fn clear_quietly(comm: &Comm) {
    for _ in 0..comm.attributes.len() {
        unwind::quietly(|| comm.attributes.clear());
    }
}

/// Deletes the attributes of the world's communicator on a rank when its program ends, as if they were the program's
/// own variables.
struct Attributes<'c>(&'c Comm);

impl Drop for Attributes<'_> {
    fn drop(&mut self) {
        self.0.attributes.clear();
    }
}

/// How the body ended, and that for the other ranks. The code of the error that it returned runs here too, and may
/// panic.
fn run(comm: &Comm, body: &mut dyn Body) -> (End, Gone, Option<Arc<str>>) {
    let run = || {
        let _attributes = Attributes(comm);
        body.run(comm)
    };
    let panic = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(true) => return (End::Returned, Gone::Returned, None),
        Ok(false) => match catch_unwind(AssertUnwindSafe(|| said(body))) {
            Ok(text) => return (End::Failed, Gone::Failed(text.into()), None),
            Err(payload) => undisplayed(payload),
        },
        Err(payload) if payload.is::<unwind::EarlyReturn>() => {
            return (End::Left, Gone::Returned, None);
        }
        Err(payload) => unwind::caught(payload),
    };
    unwind::quietly(|| body.panicked(panic.clone()));
    (End::Panicked, Gone::Panicked(panic.message), panic.site)
}

/// The error that the body returned, as it prints.
fn said(body: &dyn Body) -> String {
    let error = body.error();
    error.map_or_else(String::new, ToString::to_string)
}

/// The panic of a rank whose error could not be displayed.
fn undisplayed(payload: Box<dyn Any + Send>) -> Panic {
    let Panic { message, site } = unwind::caught(payload);
    let message = format!("the Display of the error that it returned panicked: {message}");
    let message = message.into();
    Panic { message, site }
}
