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
    /// By process: whether it has not answered in time, nor since: no rank waits for it again.
    late: Mutex<Vec<bool>>,
    /// Whether a question was asked here that is not answered.
    open: AtomicBool,
    /// Who asks, and the question.
    asked: Mutex<Vec<(usize, u32)>>,
    /// By process: the mismatch that was found when all ranks had ended, if it has said so.
    pub(super) found: Mutex<Vec<Option<Option<Arc<Mismatch>>>>>,
}

impl Questions {
    /// None, of `processes` processes.
    pub(super) fn new(processes: usize) -> Questions {
        Questions {
            last: AtomicU32::new(0),
            seen: Mutex::new(vec![None; processes]),
            late: Mutex::new(vec![false; processes]),
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

    /// Whether there may be questions to answer.
    #[inline]
    pub(super) fn any(&self) -> bool {
        // Relaxed: whoever took a question in sees it.
        self.open.load(Ordering::Relaxed)
    }

    /// The questions that were asked here, to be answered.
    pub(super) fn take(&self) -> Vec<(usize, u32)> {
        // Relaxed: as in `any`.
        match self.open.swap(false, Ordering::Relaxed) {
            true => std::mem::take(&mut *self.asked.lock()),
            false => Vec::new(),
        }
    }

    /// Which processes have answered this question.
    fn answered(&self, question: u32) -> Vec<bool> {
        let seen = self.seen.lock();
        let answers = |seen: &Option<(u32, LocalState)>| {
            seen.as_ref().is_some_and(|(last, _)| *last >= question)
        };
        seen.iter().map(answers).collect()
    }

    /// Whether all of `wanted` have answered this question.
    pub(super) fn is_answered(&self, question: u32, wanted: &[bool]) -> bool {
        let answered = self.answered(question);
        let mut all = answered.iter().zip(wanted);
        all.all(|(answered, wanted)| *answered || !wanted)
    }

    /// The same, but for those that were late before and have not answered since.
    pub(super) fn is_settled(&self, question: u32, wanted: &[bool]) -> bool {
        let late = self.late.lock().clone();
        let wanted = wanted.iter().zip(&late);
        let wanted: Vec<bool> = wanted.map(|(wanted, late)| *wanted && !late).collect();
        self.is_answered(question, &wanted)
    }

    /// No more answers to this question are waited for.
    pub(super) fn give_up(&self, question: u32) {
        // Before `seen`, here and in `see`: an answer that arrives meanwhile is not forgotten.
        let mut late = self.late.lock();
        let answered = self.answered(question);
        late.iter_mut()
            .zip(answered)
            .for_each(|(late, answered)| *late |= !answered);
    }

    /// A process has answered.
    pub(super) fn see(&self, from: usize, question: u32, local_state: LocalState) {
        let mut late = self.late.lock();
        late[from] = false;
        let seen = &mut self.seen.lock()[from];
        if seen.as_ref().is_none_or(|(before, _)| *before < question) {
            *seen = Some((question, local_state));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_late_is_not_waited_for_until_it_answers() {
        let questions = Questions::new(3);
        let wanted = [false, true, true];
        let ask = || questions.next();
        let first = ask();
        questions.see(2, first, LocalState::default());
        assert!(!questions.is_settled(first, &wanted));
        questions.give_up(first);
        let second = ask();
        assert!(
            !questions.is_settled(second, &wanted),
            "process 2 was in time"
        );
        questions.see(2, second, LocalState::default());
        assert!(questions.is_settled(second, &wanted));
        assert!(!questions.is_answered(second, &wanted));
        // An answer to the first question: it is there again.
        questions.see(1, first, LocalState::default());
        assert!(!questions.is_settled(second, &wanted));
        questions.see(1, second, LocalState::default());
        assert!(questions.is_settled(second, &wanted) && questions.is_answered(second, &wanted));
    }
}
