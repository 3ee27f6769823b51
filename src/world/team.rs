//! Ranks that stay: the same pinned threads for many runs, parked in between.
//!
//! # Why this is sound
//!
//! A run's closure borrows from its caller, but the threads live longer, so its lifetime is erased on
//! the way to them. [`Team::run`] does not come back, not even by unwinding, before every rank has
//! dropped its hold on the closure: each job carries a token that is dropped after the call (also when
//! the call unwinds), and a guard waits for all tokens.
#![allow(unsafe_code)]

use std::fmt;
use std::mem;
use std::thread::{self, JoinHandle, ThreadId};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};
use crossbeam_utils::sync::WaitGroup;
use parking_lot::Mutex;

use super::rank::{Lived, Pin, Start};
use super::{Report, Venue, World, WorldError};
use crate::comm::Comm;
use crate::error::Result;
use crate::machine::PinError;
use crate::unwind;

/// What a rank of a team is told to do: the closure takes the rank's start and puts its result away.
type Work<'a> = dyn Fn(Start, Option<PinError>) + Sync + 'a;

struct Job {
    work: &'static Work<'static>,
    start: Start,
    /// Dropped when the rank has let go of `work`.
    token: WaitGroup,
}

/// Ranks that stay for many runs, see [`World::start`].
///
/// Every run begins afresh: no message, failure or broken communicator of one run is seen by the next.
/// Dropping the team ends its threads.
pub struct Team {
    /// Locked for the length of a run: runs of several callers take turns.
    jobs: Mutex<Vec<Sender<Job>>>,
    threads: Vec<JoinHandle<()>>,
    venue: Venue,
}

impl Team {
    pub(super) fn start(world: &World) -> Result<Team, WorldError> {
        let venue = Venue::new(world)?;
        let mut team = Team {
            jobs: Mutex::new(Vec::new()),
            threads: Vec::new(),
            venue,
        };
        for start in team.venue.starts() {
            let rank = start.rank;
            let (job, jobs) = bounded(1);
            let pin = start.pin;
            let serve = move || serve(pin, &jobs);
            let thread = thread::Builder::new()
                .name(format!("rank-{rank}"))
                .spawn(serve);
            team.threads
                .push(thread.map_err(|error| WorldError::Spawn { rank, error })?);
            team.jobs.get_mut().push(job);
        }
        Ok(team)
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.threads.len()
    }

    /// Runs `f` once on every rank, as [`World::run`].
    ///
    /// Runs of several callers take turns. A rank of a team must not run the same team again: it is
    /// refused, but on another thread that the rank started and waits for it would wait for ever.
    ///
    /// # Errors
    ///
    /// As [`World::run`]; [`WorldError::Usage`] if called from one of this team's own ranks.
    pub fn run<R: Send>(
        &self,
        f: impl Fn(&Comm) -> Result<R> + Sync,
    ) -> Result<Vec<R>, WorldError> {
        self.try_run_each(f)?.into_result()
    }

    /// Runs `f` once on every rank and tells what came of each, as [`World::try_run_each`].
    ///
    /// # Errors
    ///
    /// [`WorldError::Usage`] if called from one of this team's own ranks.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Outcome, World};
    ///
    /// let team = World::new(2).start()?;
    /// let report = team.try_run_each(|comm| if comm.rank() == 0 { Err("bad day") } else { Ok(1) }).unwrap();
    /// assert!(matches!(report.outcomes[..], [Outcome::Failed("bad day"), Outcome::Returned(1)]));
    /// assert!(team.run(|comm| comm.barrier()).is_ok()); // the next run knows nothing of it
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    pub fn try_run_each<R: Send, E: Send + fmt::Display>(
        &self,
        f: impl Fn(&Comm) -> Result<R, E> + Sync,
    ) -> Result<Report<R, E>, WorldError<E>> {
        let here: ThreadId = thread::current().id();
        if self
            .threads
            .iter()
            .any(|thread| thread.thread().id() == here)
        {
            return Err(WorldError::Usage(
                "a rank of a team may not run the same team".into(),
            ));
        }
        let jobs = self.jobs.lock();
        let begin = Instant::now();
        let lives: Vec<Mutex<Option<Lived<R, E>>>> =
            jobs.iter().map(|_| Mutex::new(None)).collect();
        self.hand_out(&jobs, &|start: Start, unpinned| {
            let place = &lives[start.rank];
            let lived = start.run(unpinned, &f);
            *place.lock() = Some(lived);
        });
        let lived = lives.into_iter().map(|life| {
            life.into_inner()
                .unwrap_or_else(|| Lived::broken(Box::new(())))
        });
        Ok(Report::new(lived.collect(), &self.venue, begin.elapsed()))
    }

    /// Gives every rank the same work and waits until all have let go of it.
    fn hand_out(&self, jobs: &[Sender<Job>], work: &Work<'_>) {
        let all_done = WaitAtTheEnd(Some(WaitGroup::new()));
        // SAFETY: only the lifetime changes. Every copy of the reference travels with a token, which `serve`
        // drops after its last use (a job that is dropped unserved was never used), and `all_done` waits for all tokens before this frame,
        // and with it the borrow of `work`, ends; its drop runs on every way out.
        let work = unsafe { mem::transmute::<&Work<'_>, &'static Work<'static>>(work) };
        for (job, start) in jobs.iter().zip(self.venue.starts()) {
            // A rank's thread ends only when the team is dropped, so it is there to receive.
            let _ = job.send(Job {
                work,
                start,
                token: all_done.token(),
            });
        }
    }
}

/// Waits for all tokens when it is dropped.
struct WaitAtTheEnd(Option<WaitGroup>);

impl WaitAtTheEnd {
    fn token(&self) -> WaitGroup {
        self.0.clone().expect("it is there until the drop")
    }
}

impl Drop for WaitAtTheEnd {
    fn drop(&mut self) {
        if let Some(group) = self.0.take() {
            group.wait();
        }
    }
}

/// A rank's thread: one job after another until the team is dropped.
fn serve(pin: Option<Pin>, jobs: &Receiver<Job>) {
    let unpinned = pin.and_then(Pin::refused);
    while let Ok(Job { work, start, token }) = jobs.recv() {
        // Whatever panics here, a destructor of the user's say, the next job finds the thread alive.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            work(start, unpinned.clone())
        }));
        if let Err(payload) = done {
            unwind::discard(payload);
        }
        // Last: from here on `work` may be gone.
        drop(token);
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.jobs.get_mut().clear();
        for thread in self.threads.drain(..) {
            // A rank's panics are caught above, so this cannot fail.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Team")
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}
