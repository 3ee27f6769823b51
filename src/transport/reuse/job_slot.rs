//! The hand-over of jobs to a worker thread and back: one word, in a cache line of its own.
//!
//! ```text
//! caller   word ← job;  light();  asleep? wake             looks until the word is empty
//! server   looks until there is a job;  does it;  word ← empty;  light();  caller asleep? wake
//! ```
//!
//! The two write in turns: the caller only while the word is empty, the server only while it holds a job. Jobs
//! therefore need no number to tell one from the next, and the cache line moves once with the job and once with its
//! end. A side that has nothing left to look at goes to sleep as ranks do, see
//! [`sleeper`](crate::transport::wakeup::sleeper).
//!
//! A server without [patience](Patience::None) sleeps whenever it has no job. The caller then unparks it without asking,
//! and the server parks without the flag and the barrier on all CPUs that let a caller ask: the parker keeps an unpark
//! that comes before the park.

use std::ptr;
use std::time::Duration;

use crate::sync::{AtomicPtr, Ordering, Parker};
use crate::transport::progress::idle::{self, Patience};
use crate::transport::wakeup::fences;
use crate::transport::wakeup::sleeper::Sleeper;

/// Where a worker thread gets its jobs. A job is memory of the caller's, which the server may read from
/// [`next`](Self::next) to [`done`](Self::done).
pub(crate) struct JobSlot<T> {
    /// Null: empty.
    word: AtomicPtr<T>,
    server: Sleeper,
}

/// The job that ends the server: no object has this address.
fn no_more<T>() -> *mut T {
    const { assert!(align_of::<T>() > 1) };
    ptr::without_provenance_mut(1)
}

impl<T> JobSlot<T> {
    /// A job slot for the server that owns this parker.
    pub(crate) fn new(server: &Parker) -> JobSlot<T> {
        fences::prepare();
        JobSlot {
            word: AtomicPtr::new(ptr::null_mut()),
            server: Sleeper::new(server),
        }
    }

    /// Gives the server its next job. The slot must be [empty](Self::is_empty).
    #[inline]
    pub(crate) fn give(&self, job: *const T, patience: Patience) {
        self.put(job.cast_mut(), patience);
    }

    /// Tells the server that no more jobs follow. The slot must be [empty](Self::is_empty).
    pub(crate) fn close(&self, patience: Patience) {
        self.put(no_more(), patience);
    }

    /// Stores a word, for a server that [waits](Self::next) with this patience.
    #[inline]
    fn put(&self, word: *mut T, patience: Patience) {
        // Release: pairs with the acquire in `next`: the server reads the job as it was written.
        self.word.store(word, Ordering::Release);
        match patience {
            Patience::None => self.server.unpark(),
            _ => self.server.rouse(),
        }
    }

    /// Whether the last job is done.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Acquire: pairs with the release in `empty`: everything that the server did for the job is visible, and the
        // server no longer reads the job.
        self.word.load(Ordering::Acquire).is_null()
    }

    /// For the server: waits for the next job; `None`: no more jobs follow. `part` is called when it begins to yield.
    pub(crate) fn next(
        &self,
        parker: &Parker,
        patience: Patience,
        linger: Duration,
        part: impl FnOnce(),
    ) -> Option<*const T> {
        let look = || {
            // Acquire: pairs with the release in `put`.
            let word = self.word.load(Ordering::Acquire);
            (!word.is_null()).then_some(word)
        };
        let word = match patience {
            Patience::None => asleep(parker, look),
            _ => idle::idle(&self.server, parker, (patience, linger), part, look),
        };
        (word != no_more()).then_some(word.cast_const())
    }

    /// For the caller: waits until the last job is done, as in [`next`](Self::next). The server rouses `caller`, whose
    /// parker is `parker`.
    pub(crate) fn wait(
        &self,
        caller: &Sleeper,
        parker: &Parker,
        patience: Patience,
        linger: Duration,
        part: impl FnOnce(),
    ) {
        let done = || self.is_empty().then_some(());
        idle::idle(caller, parker, (patience, linger), part, done);
    }

    /// For the server: the job is done, the server no longer reads its memory, and the caller hears of it by other
    /// means.
    #[inline]
    pub(crate) fn empty(&self) {
        // Release: pairs with the acquire in `is_empty`.
        self.word.store(ptr::null_mut(), Ordering::Release);
    }

    /// For the server: the job is done, and the server no longer reads its memory.
    #[inline]
    pub(crate) fn done(&self, caller: &Sleeper) {
        self.empty();
        caller.rouse();
    }
}

/// Parks until `look` finds something, after which this thread is unparked.
fn asleep<R>(parker: &Parker, look: impl Fn() -> Option<R>) -> R {
    loop {
        match look() {
            Some(found) => return found,
            None => parker.park(),
        }
    }
}
