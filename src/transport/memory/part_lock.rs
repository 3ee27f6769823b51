//! The lock of one rank's part of a window: who holds it, in which mode, and who waits for it in which order.
//!
//! Requests are granted in their order, so no rank starves: a shared request waits behind an exclusive one that came
//! before it. A rank that gives a lock up, or gives up waiting for it, grants it to those whose turn it is, and then
//! rouses all who still wait: what each of them needs has changed.
//!
//! [`Held`] is the proof that a rank holds the lock: there is one for each entry among the holders, only a grant makes
//! it, and its destructor removes the entry. If it is forgotten, the entry stays and the lock remains taken.

use std::cell::Cell;
use std::collections::VecDeque;
use std::mem;

use crate::Rank;
use crate::error::{Error, Result, Site};
use crate::sync::{AtomicU64, Mutex, Ordering};

/// How a part is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Mode {
    /// Beside others who only read.
    Shared,
    Exclusive,
}

/// A rank's request for a lock, and the line of the call that made it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockRequest {
    /// The rank's number among those that use the window.
    pub rank: Rank,
    /// The rank whose part it is.
    pub part: Rank,
    pub mode: Mode,
    pub site: Site,
}

impl LockRequest {
    fn excludes(&self, other: &LockRequest) -> bool {
        self.mode == Mode::Exclusive || other.mode == Mode::Exclusive
    }
}

/// Wakes a rank that waits for a lock.
pub(crate) trait Rouse {
    fn rouse(&self, rank: Rank);

    /// A rank is about to give a lock up.
    fn releases(&self, _held: &LockRequest) {}
}

/// The lock.
pub(crate) struct PartLock {
    /// Counts the changes after which another rank may have got the lock.
    turn: AtomicU64,
    state: Mutex<LockState>,
}

struct LockState {
    holders: Vec<LockRequest>,
    queue: VecDeque<LockRequest>,
}

impl LockState {
    fn find(&self, rank: Rank) -> Option<&LockRequest> {
        let mut all = self.holders.iter().chain(&self.queue);
        all.find(|request| request.rank == rank)
    }

    fn holds(&self, rank: Rank) -> bool {
        self.holders.iter().any(|holder| holder.rank == rank)
    }

    /// Removes a rank, and moves those whose turn it is from the queue to the holders. Returns them and those who still
    /// wait.
    fn remove(&mut self, rank: Rank) -> Vec<Rank> {
        self.holders.retain(|holder| holder.rank != rank);
        self.queue.retain(|waiter| waiter.rank != rank);
        let concerned = self.queue.iter().map(|waiter| waiter.rank).collect();
        let holders = &mut self.holders;
        while let Some(next) = self.queue.pop_front_if(|next| is_free_for(holders, next)) {
            holders.push(next);
        }
        concerned
    }
}

fn is_free_for(holders: &[LockRequest], request: &LockRequest) -> bool {
    !holders.iter().any(|holder| holder.excludes(request))
}

impl PartLock {
    pub(crate) fn new() -> Self {
        PartLock {
            turn: AtomicU64::new(0),
            state: Mutex::new(LockState {
                holders: Vec::new(),
                queue: VecDeque::new(),
            }),
        }
    }

    /// Takes the lock. If others have it or wait for it, `wait` is called: it returns well once the request
    /// [is granted](Waiter::is_granted). If it fails, the request is withdrawn.
    pub(crate) fn take<'a>(
        &'a self,
        request: LockRequest,
        rouse: &'a dyn Rouse,
        wait: impl FnOnce(&Waiter<'a>) -> Result<()>,
    ) -> Result<Held<'a>> {
        let granted = self.request(request)?;
        let waiter = Waiter {
            lock: self,
            rouse,
            request,
            seen: Cell::new(None),
        };
        if !granted {
            wait(&waiter)?;
            assert!(
                self.state.lock().holds(request.rank),
                "a wait for a lock ends well after it was granted"
            );
        }
        mem::forget(waiter);
        Ok(Held {
            lock: self,
            rouse,
            request,
        })
    }

    /// Enters a request. Returns whether it is granted at once.
    fn request(&self, request: LockRequest) -> Result<bool> {
        let mut state = self.state.lock();
        if let Some(earlier) = state.find(request.rank) {
            let site = earlier.site;
            return Err(Error::usage(format!(
                "this rank has locked the part already, at {site}"
            )));
        }
        let free = state.queue.is_empty() && is_free_for(&state.holders, &request);
        match free {
            true => state.holders.push(request),
            false => state.queue.push_back(request),
        }
        Ok(free)
    }

    /// Removes a rank from the holders or from the queue.
    fn remove(&self, rank: Rank, rouse: &dyn Rouse) {
        let concerned = {
            let mut state = self.state.lock();
            let concerned = state.remove(rank);
            // Relaxed: it only makes a waiter look under the mutex, and the fences of `rouse` and of the sleeper order
            // it for one that goes to sleep.
            self.turn.fetch_add(1, Ordering::Relaxed);
            concerned
        };
        concerned.into_iter().for_each(|rank| rouse.rouse(rank));
    }
}

/// A request that is not granted yet.
pub(crate) struct Waiter<'a> {
    lock: &'a PartLock,
    rouse: &'a dyn Rouse,
    request: LockRequest,
    /// The turn in which this rank looked last.
    seen: Cell<Option<u64>>,
}

impl Waiter<'_> {
    /// Whether the lock is this rank's.
    pub(crate) fn is_granted(&self) -> bool {
        // Relaxed: see `remove`. The mutex orders what the last holder did before what this rank does.
        let turn = self.lock.turn.load(Ordering::Relaxed);
        let changed = self.seen.replace(Some(turn)) != Some(turn);
        changed && self.lock.state.lock().holds(self.request.rank)
    }

    /// The ranks that must give the lock up, or get it and give it up, before this one gets it.
    pub(crate) fn blockers(&self) -> Vec<Rank> {
        let state = self.lock.state.lock();
        let me = self.request.rank;
        if state.holds(me) {
            return Vec::new();
        }
        let before = state.queue.iter().take_while(|waiter| waiter.rank != me);
        let all = state.holders.iter().chain(before);
        let blocking = all.filter(|other| other.excludes(&self.request));
        blocking.map(|other| other.rank).collect()
    }
}

impl Drop for Waiter<'_> {
    /// The wait has failed: gives the request up, or the lock if it was granted meanwhile.
    fn drop(&mut self) {
        self.lock.remove(self.request.rank, self.rouse);
    }
}

/// The lock, held by a rank until this is dropped.
pub(crate) struct Held<'a> {
    lock: &'a PartLock,
    rouse: &'a dyn Rouse,
    request: LockRequest,
}

impl Held<'_> {
    /// Whether it is this lock, held in this mode.
    pub(in crate::transport) fn is(&self, lock: &PartLock, mode: Mode) -> bool {
        std::ptr::eq(self.lock, lock) && self.request.mode == mode
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.rouse.releases(&self.request);
        self.lock.remove(self.request.rank, self.rouse);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::panic::Location;

    #[derive(Default)]
    struct Roused(RefCell<Vec<Rank>>);

    impl Rouse for Roused {
        fn rouse(&self, rank: Rank) {
            self.0.borrow_mut().push(rank);
        }
    }

    fn request(rank: Rank, mode: Mode) -> LockRequest {
        LockRequest {
            rank,
            part: 0,
            mode,
            site: Location::caller(),
        }
    }

    fn holders(lock: &PartLock) -> Vec<Rank> {
        let state = lock.state.lock();
        state.holders.iter().map(|holder| holder.rank).collect()
    }

    #[test]
    fn requests_are_granted_in_their_order() {
        use Mode::{Exclusive, Shared};
        let lock = PartLock::new();
        let requests = [Shared, Shared, Exclusive, Shared, Shared, Exclusive];
        for (rank, mode) in requests.into_iter().enumerate() {
            assert_eq!(lock.request(request(rank, mode)).unwrap(), rank < 2);
        }
        let roused = Roused::default();
        let steps: [(Rank, &[Rank], &[Rank]); 6] = [
            (1, &[0], &[2, 3, 4, 5]),
            (0, &[2], &[2, 3, 4, 5]),
            (2, &[3, 4], &[3, 4, 5]),
            (4, &[3], &[5]),
            (3, &[5], &[5]),
            (5, &[], &[]),
        ];
        for (leaver, left, rouses) in steps {
            lock.remove(leaver, &roused);
            assert_eq!(holders(&lock), left);
            assert_eq!(roused.0.take(), rouses);
        }
    }

    #[test]
    fn who_gives_up_waiting_lets_those_behind_pass() {
        use Mode::{Exclusive, Shared};
        let (lock, roused) = (PartLock::new(), Roused::default());
        let first = lock.take(request(0, Shared), &roused, |_| Ok(()));
        assert!(first.is_ok());
        let failed = lock.take(request(1, Exclusive), &roused, |waiter| {
            assert_eq!(waiter.blockers(), [0]);
            assert!(!lock.request(request(2, Shared)).unwrap());
            Err(Error::usage("enough"))
        });
        assert!(failed.is_err());
        assert_eq!(holders(&lock), [0, 2]);
    }

    #[test]
    fn a_rank_that_has_the_lock_is_told_where_it_took_it() {
        let (lock, roused) = (PartLock::new(), Roused::default());
        let first = request(0, Mode::Shared);
        let held = lock.take(first, &roused, |_| Ok(())).unwrap();
        let again = lock.take(request(0, Mode::Exclusive), &roused, |_| Ok(()));
        assert!(
            again
                .err()
                .unwrap()
                .to_string()
                .ends_with(&first.site.to_string())
        );
        mem::forget(held);
        assert_eq!(holders(&lock), [0]);
    }
}
