//! The life of one rank on its thread: pin, enter, run, and report how it ended.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crossbeam_utils::sync::WaitGroup;

use super::report::Outcome;
use crate::Rank;
use crate::comm::Comm;
use crate::error::{Gone, Result};
use crate::machine::{Cpus, PinError, pin};
use crate::transport::Fabric;
use crate::transport::progress::wait::Live;
use crate::unwind;

/// What a thread needs to become a rank.
pub(super) struct Start {
    pub fabric: Arc<Fabric>,
    pub rank: Rank,
    /// Where to run, if the rank is to be pinned.
    pub pin: Option<Pin>,
}

/// Where a rank is to run.
#[derive(Clone)]
pub(super) struct Pin {
    pub cpu: usize,
    pub cpus: Arc<Cpus>,
    /// Held by every rank that is to be pinned until it is.
    pub all: WaitGroup,
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

/// What remains of a rank that has ended.
pub(super) struct Lived<R, E> {
    pub outcome: Outcome<R, E>,
    /// Why the rank is not pinned, if it should be.
    pub unpinned: Option<PinError>,
}

impl<R, E> Lived<R, E> {
    /// A thread that ended without a result: a user's destructor panicked.
    pub(super) fn broken(payload: Box<dyn Any + Send>) -> Self {
        unwind::discard(payload);
        Lived {
            outcome: broken(),
            unpinned: None,
        }
    }
}

/// The outcome of a rank that ended without a result.
pub(super) fn broken<R, E>() -> Outcome<R, E> {
    Outcome::Panicked {
        message: "a destructor panicked while the rank ended".into(),
        site: None,
    }
}

impl Start {
    /// Runs `f` as this rank, on this thread.
    pub(super) fn live<R, E: fmt::Display>(
        mut self,
        f: impl Fn(&Comm) -> Result<R, E>,
    ) -> Lived<R, E> {
        let unpinned = self.pin.take().and_then(Pin::refused);
        let comm = Comm::enter(&self.fabric, self.rank, Some(Live::new(1)));
        let outcome = live(&comm, f);
        comm.leave();
        Lived { outcome, unpinned }
    }
}

/// Runs `f` as the rank that has just entered, and records how it ended.
pub(super) fn live<R, E: fmt::Display>(
    comm: &Comm,
    f: impl Fn(&Comm) -> Result<R, E>,
) -> Outcome<R, E> {
    let result = catch_unwind(AssertUnwindSafe(|| f(comm)));
    let (outcome, why, site) = outcome(result);
    let follows = match &why {
        Gone::Panicked(message) => unwind::repeats(message),
        _ => unwind::follows(),
    };
    comm.end(why, site, follows);
    outcome
}

/// The outcome of a rank: for the report, and for the other ranks.
fn outcome<R, E: fmt::Display>(
    result: std::thread::Result<Result<R, E>>,
) -> (Outcome<R, E>, Gone, Option<Arc<str>>) {
    match result {
        Ok(Ok(value)) => (Outcome::Returned(value), Gone::Returned, None),
        Ok(Err(error)) => failed(error),
        Err(payload) if payload.is::<unwind::EarlyReturn>() => {
            (Outcome::Left, Gone::Returned, None)
        }
        Err(payload) => panicked(unwind::caught(payload)),
    }
}

/// The outcome of a rank that returned an error. The error's own code runs here, and may panic.
fn failed<R, E: fmt::Display>(error: E) -> (Outcome<R, E>, Gone, Option<Arc<str>>) {
    match catch_unwind(AssertUnwindSafe(|| error.to_string())) {
        Ok(text) => (Outcome::Failed(error), Gone::Failed(text.into()), None),
        Err(payload) => {
            unwind::drop_quietly(error);
            let unwind::Panic { message, site } = unwind::caught(payload);
            let message = format!("the Display of the error that it returned panicked: {message}");
            let message = message.into();
            panicked(unwind::Panic { message, site })
        }
    }
}

fn panicked<R, E>(
    unwind::Panic { message, site }: unwind::Panic,
) -> (Outcome<R, E>, Gone, Option<Arc<str>>) {
    let outcome = Outcome::Panicked {
        message: message.clone(),
        site: site.clone(),
    };
    (outcome, Gone::Panicked(message), site)
}
