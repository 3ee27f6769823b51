//! The messages that wait until the ranks here have been told of a silence: those of processes that have told their own
//! ranks already, which go on or end by that.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::mpi::Message;

/// A message: its sender, the letter and the body.
type Letter = (usize, Message, Option<Message>);

/// What waits.
pub(super) struct HeldMessages {
    /// Whether anything may wait. Set inside MPI, where messages arrive.
    any: AtomicBool,
    held: Mutex<(Vec<bool>, VecDeque<Letter>)>,
}

impl HeldMessages {
    /// Nothing held, of `processes` processes.
    pub(super) fn new(processes: usize) -> HeldMessages {
        HeldMessages {
            any: AtomicBool::new(false),
            held: Mutex::new((vec![false; processes], VecDeque::new())),
        }
    }

    /// From now on the messages of a process are held, which has told its ranks.
    pub(super) fn begin(&self, process: usize) {
        self.held.lock().0[process] = true;
        // Relaxed: read by the thread that is inside MPI, which this one is.
        self.any.store(true, Ordering::Relaxed);
    }

    /// Holds a message, or gives it back.
    pub(super) fn hold(
        &self,
        from: usize,
        letter: &[u8],
        body: Option<Message>,
    ) -> Option<Option<Message>> {
        if !self.any() {
            return Some(body);
        }
        let (processes, letters) = &mut *self.held.lock();
        if !processes[from] {
            return Some(body);
        }
        letters.push_back((from, Message::of(letter), body));
        None
    }

    /// Whether messages are held: then the ranks here are to be told.
    #[inline]
    pub(super) fn any(&self) -> bool {
        // Acquire: pairs with the release in `next`, so that what was held is in its mailbox or lane before anything that
        // arrives now. It is set inside MPI, by this thread or before its own look there.
        self.any.load(Ordering::Acquire)
    }

    /// The next message that was held. If there is none, no more are held.
    pub(super) fn next(&self) -> Option<Letter> {
        let (processes, letters) = &mut *self.held.lock();
        let next = letters.pop_front();
        if next.is_none() {
            processes.fill(false);
            // Release: pairs with the acquire in `any`, and comes after all that was held has been taken in.
            self.any.store(false, Ordering::Release);
        }
        next
    }
}
