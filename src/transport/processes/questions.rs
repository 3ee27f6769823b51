//! The questions that processes [ask each other](super::asking) when something went wrong, and what they have answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;

use super::local_state::LocalState;
use crate::error::Mismatch;

/// The questions of this process and of others.
pub(super) struct Questions {
    last: AtomicU32,
    /// By process: the last question that was answered, and the answer.
    pub(super) seen: Mutex<Vec<Option<(u32, LocalState)>>>,
    /// Whether a question was asked here that is not answered.
    open: AtomicBool,
    /// Who asks, and the question.
    asked: Mutex<Vec<(usize, u32)>>,
    /// By process: the mismatch that was found when all ranks had ended, if it has said so.
    pub(super) found: Mutex<Vec<Option<Option<Arc<Mismatch>>>>>,
}

impl Questions {
    /// None, of so many processes.
    pub(super) fn new(processes: usize) -> Questions {
        Questions {
            last: AtomicU32::new(0),
            seen: Mutex::new(vec![None; processes]),
            open: AtomicBool::new(false),
            asked: Mutex::default(),
            found: Mutex::new(vec![None; processes]),
        }
    }

    /// The number of a new question.
    pub(super) fn next(&self) -> u32 {
        // Relaxed: only the number matters.
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A process has said what it has found.
    pub(super) fn find(&self, from: usize, found: Option<Arc<Mismatch>>) {
        self.found.lock()[from] = Some(found);
    }

    /// A process asks. It is answered by this thread, once it is not inside MPI.
    pub(super) fn ask(&self, from: usize, question: u32) {
        self.asked.lock().push((from, question));
        // Relaxed: read by this thread.
        self.open.store(true, Ordering::Relaxed);
    }

    /// The questions that were asked here, to be answered.
    pub(super) fn take(&self) -> Vec<(usize, u32)> {
        // Relaxed: whoever took a question in sees it.
        match self.open.swap(false, Ordering::Relaxed) {
            true => std::mem::take(&mut *self.asked.lock()),
            false => Vec::new(),
        }
    }

    /// A process has answered.
    pub(super) fn see(&self, from: usize, question: u32, local_state: LocalState) {
        let seen = &mut self.seen.lock()[from];
        if seen.as_ref().is_none_or(|(before, _)| *before < question) {
            *seen = Some((question, local_state));
        }
    }
}
