//! The life of one rank on its thread: pin, enter, run, and say how it ended.

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
    /// Where to run, if anywhere in particular.
    pub pin: Option<Pin>,
}

/// Where a rank is to run.
#[derive(Clone)]
pub(super) struct Pin {
    pub cpu: usize,
    pub cpus: Arc<Cpus>,
    /// Every rank that is to be pinned holds it until it is.
    pub all: WaitGroup,
}

impl Pin {
    /// Pins this thread, makes sure of it, and waits until all others are where they should be: nobody sends
    /// before. Gives why it is not pinned.
    pub(super) fn refused(self) -> Option<PinError> {
        let refused = pin(self.cpu, &self.cpus).err();
        self.all.wait();
        refused
    }
}

/// What is left of a rank.
pub(super) struct Lived<R, E> {
    pub outcome: Outcome<R, E>,
    /// It was to be pinned, and is not.
    pub unpinned: Option<PinError>,
}

impl<R, E> Lived<R, E> {
    /// A thread that ended without a word: something of the user's panicked while it was dropped.
    pub(super) fn broken(payload: Box<dyn Any + Send>) -> Self {
        unwind::discard(payload);
        Lived {
            outcome: broken(),
            unpinned: None,
        }
    }
}

/// What came of a rank that ended without a word.
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

/// Runs `f` as the rank that has just entered, and writes down how it ended.
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

/// What came of a rank: for the report, and for the other ranks.
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

/// What came of a rank that returned an error. The error's own code runs here, and may panic.
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
