//! Ranks that stay: the same pinned threads for many runs, parked in between.
//!
//! Who runs a team often runs it again soon: a rank that is done looks for its next job for a moment before it
//! sleeps, and so does the caller for the end of a run, unless there are more ranks than CPUs.
//!
//! # Why this is sound
//!
//! A run's closure borrows from its caller, but the threads live longer, so its lifetime is erased on
//! the way to them. [`Team::run`] does not come back, not even by unwinding, before every rank has
//! dropped its hold on the closure: each job carries a token that is dropped after the call (also when
//! the call unwinds), and a guard waits until as many tokens are dropped as were made.
#![allow(unsafe_code)]

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
use crossbeam_utils::sync::{Parker, Unparker};
use parking_lot::Mutex;

use super::rank::{Lived, Pin, Start};
use super::{Report, Venue, World, WorldError};
use crate::comm::Comm;
use crate::error::Result;
use crate::machine::PinError;
use crate::transport::wait::linger;
use crate::unwind;

/// What a rank of a team is told to do: the closure takes the rank's start and puts its result away.
type Work<'a> = dyn Fn(Start, Option<PinError>) + Sync + 'a;

struct Job {
    work: &'static Work<'static>,
    start: Start,
    /// Dropped when the rank has let go of `work`.
    token: Token,
}

/// Ranks that stay for many runs, see [`World::start`].
///
/// Every run begins afresh: no message, failure or broken communicator of one run is seen by the next.
/// Dropping the team ends its threads.
pub struct Team {
    /// Locked for the length of a run: runs of several callers take turns.
    desk: Mutex<Desk>,
    threads: Vec<JoinHandle<()>>,
    venue: Venue,
}

/// What the caller of a run has before it.
struct Desk {
    jobs: Vec<Sender<Job>>,
    parker: Parker,
}

impl Team {
    pub(super) fn start(world: &World) -> Result<Team, WorldError> {
        let venue = Venue::new(world)?;
        let mut team = Team {
            desk: Mutex::new(Desk {
                jobs: Vec::new(),
                parker: Parker::new(),
            }),
            threads: Vec::new(),
            venue,
        };
        let roomy = team.venue.is_roomy();
        for (rank, pin) in team.venue.pins().into_iter().enumerate() {
            let (job, jobs) = bounded(1);
            let serve = move || serve(pin, roomy, &jobs);
            let thread = thread::Builder::new()
                .name(format!("rank-{rank}"))
                .spawn(serve);
            team.threads
                .push(thread.map_err(|error| WorldError::Spawn { rank, error })?);
            team.desk.get_mut().jobs.push(job);
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
        let desk = self.desk.lock();
        let begin = Instant::now();
        let lives: Vec<Mutex<Option<Lived<R, E>>>> =
            desk.jobs.iter().map(|_| Mutex::new(None)).collect();
        self.hand_out(&desk, &|start: Start, unpinned| {
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
    fn hand_out(&self, desk: &Desk, work: &Work<'_>) {
        let all_done = WaitAtTheEnd {
            held: Arc::new(Held {
                tokens: AtomicUsize::new(0),
                bell: desk.parker.unparker().clone(),
            }),
            parker: &desk.parker,
            roomy: self.venue.is_roomy(),
        };
        // SAFETY: only the lifetime changes. Every copy of the reference travels with a token, which `serve`
        // drops after its last use (a job that is dropped unserved was never used), and `all_done` waits for all tokens before this frame,
        // and with it the borrow of `work`, ends; its drop runs on every way out.
        let work = unsafe { mem::transmute::<&Work<'_>, &'static Work<'static>>(work) };
        for (job, start) in desk.jobs.iter().zip(self.venue.starts_unpinned()) {
            // A rank's thread ends only when the team is dropped, so it is there to receive.
            let _ = job.send(Job {
                work,
                start,
                token: Token::new(&all_done.held),
            });
        }
    }
}

/// How many tokens of a run there are, and who wants to know that there are none.
struct Held {
    tokens: AtomicUsize,
    bell: Unparker,
}

impl Held {
    fn is_over(&self) -> bool {
        // Acquire: pairs with the release in the drop of a token. The drops in between are one release
        // sequence, so what any rank did before its drop is seen.
        self.tokens.load(Ordering::Acquire) == 0
    }
}

/// Leave to use the work of a run.
struct Token(Arc<Held>);

impl Token {
    /// Only the caller of a run makes tokens, and waits only after the last.
    fn new(held: &Arc<Held>) -> Token {
        // Relaxed: the token is handed over by a channel.
        held.tokens.fetch_add(1, Ordering::Relaxed);
        Token(held.clone())
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        // Release: pairs with the acquire in `is_over`; the work is not used any more.
        if self.0.tokens.fetch_sub(1, Ordering::Release) == 1 {
            self.0.bell.unpark();
        }
    }
}

/// Waits for all tokens when it is dropped.
struct WaitAtTheEnd<'a> {
    held: Arc<Held>,
    parker: &'a Parker,
    roomy: bool,
}

impl Drop for WaitAtTheEnd<'_> {
    fn drop(&mut self) {
        let over = || self.held.is_over().then_some(());
        if self.roomy && linger(over).is_some() {
            return;
        }
        // The bell may have been rung for the run before, or while tokens were still being made.
        while !self.held.is_over() {
            self.parker.park();
        }
    }
}

/// A rank's thread: one job after another until the team is dropped.
fn serve(pin: Option<Pin>, roomy: bool, jobs: &Receiver<Job>) {
    let unpinned = pin.and_then(Pin::refused);
    while let Some(Job { work, start, token }) = next(roomy, jobs) {
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

/// The next job; `None`: there will be none.
fn next(roomy: bool, jobs: &Receiver<Job>) -> Option<Job> {
    let look = || match jobs.try_recv() {
        Ok(job) => Some(Some(job)),
        Err(TryRecvError::Disconnected) => Some(None),
        Err(TryRecvError::Empty) => None,
    };
    let soon = if roomy { linger(look) } else { None };
    soon.unwrap_or_else(|| jobs.recv().ok())
}

impl Drop for Team {
    fn drop(&mut self) {
        self.desk.get_mut().jobs.clear();
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
