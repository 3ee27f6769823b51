//! Ranks that stay for many runs: the same threads, parked in between.
//!
//! ```text
//! caller     ┃ fabric ┃ give ┃ rank 0: f ┃ wait ┃ all clean? results
//! rank 1 …            ┃  ──▶ ┃ f         ┃ done
//! ```
//!
//! Unless a binding is requested, the caller's own thread is rank 0, like the master thread of an OpenMP team: it needs
//! no wakeup, and does not compete with the ranks for a CPU. Where the ranks are bound, it is rank 0 while it has itself
//! pinned to the CPU of rank 0; otherwise rank 0 is a thread like the others. A team is often run again soon, so a rank
//! that is done spins for a moment for its next part before it sleeps, see [`pool`](super::pool). After a run that ended
//! clean the next one continues in the same fabric, see [`fabric_reuse`](crate::transport::reuse::fabric_reuse), and each
//! rank keeps its end of it.

use std::fmt;
use std::time::Duration;

use super::team_run::TeamRunOf;
use super::team_threads::{TeamThreads, Threads};
use super::{Report, World, WorldError};
use crate::comm::Comm;
use crate::error::Result;
use crate::machine::{PinError, PinnedCaller};

/// Ranks that stay for many runs; see [`World::start`].
///
/// Every run begins afresh: no message, failure or broken communicator of one run is visible to the next. Dropping the
/// team ends its threads.
///
/// Unless the world [binds](World::bind) its ranks in a particular way, the thread that calls a run is rank 0 for the
/// duration of the run, whether or not there are as many CPUs as ranks: this avoids a wakeup. That thread is never
/// pinned, nor are the other ranks then, and it keeps its name and its thread-locals; the report
/// [says](crate::machine::Placement::caller) that it was rank 0. If the caller is unwinding, that is, in a destructor
/// during a panic, a thread is started to be rank 0 instead.
///
/// Where the world binds its ranks, all ranks have pinned threads of their own, and the caller waits, unless it is
/// [pinned](Self::pin_caller) as rank 0.
///
/// # Cost
///
/// An empty run takes less time than an empty parallel region of OpenMP, below a microsecond on two near CPUs, if the
/// run before it [ended well](Self::run) and not long ago: an idle rank looks for work for [some time](Self::linger)
/// before it sleeps, unless there are more ranks than CPUs. No rank is pinned; a rank that finds itself on the CPU of
/// another one moves to a free one, on Linux, and may still run anywhere.
///
/// Where the ranks are bound to all CPUs and the caller is not one of them, it shares a CPU with one: a run then costs two
/// switches between threads, some microseconds. [`pin_caller`](Self::pin_caller) avoids them.
pub struct Team {
    threads: Box<dyn Threads>,
}

impl Team {
    pub(super) fn start(world: &World) -> Result<Team, WorldError> {
        let threads = Box::new(TeamThreads::start(world)?);
        Ok(Team { threads })
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.threads.size()
    }

    /// Sets for how long a rank that is done looks for its part of the next run before it sleeps: 100 microseconds
    /// unless it is set. The caller looks as long for the end of a run.
    ///
    /// A rank that sleeps is woken in some tens of microseconds, one that looks takes up its part in less than one.
    /// Where runs follow each other with pauses that are a little longer than the default, a longer time pays; it costs
    /// the time of a CPU for each rank. Ranks yield meanwhile, so other threads get the CPU if they need it. In a team of
    /// more ranks than CPUs they sleep at once, whatever is set here.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use rankfold::World;
    ///
    /// let team = World::new(2).start()?;
    /// team.linger(Duration::from_millis(5));
    /// for _ in 0..3 {
    ///     team.run(|comm| comm.barrier())?;
    ///     // What only the caller does, for some milliseconds.
    /// }
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "GOMP_SPINCOUNT")]
    #[doc(alias = "KMP_BLOCKTIME")]
    pub fn linger(&self, time: Duration) {
        self.threads.set_linger(time);
    }

    /// Pins the calling thread to the CPU of rank 0, so that it is rank 0 of the runs that it calls, until the returned
    /// value is dropped. Returns `None`, and does nothing, if the ranks are not pinned.
    ///
    /// The thread is then rank 0 of every team whose rank 0 has that CPU, unless a later value pins it elsewhere. Threads
    /// that it starts meanwhile inherit the pin, and worlds that it starts see that CPU only. The team's own thread for
    /// rank 0, if it did the last run, [lingers](Self::linger) there at first.
    ///
    /// # Errors
    ///
    /// [`PinError`] if the thread could not be pinned, as always outside Linux.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Bind, World};
    ///
    /// let team = World::new(1).bind(Bind::Compact).start()?;
    /// if let Ok(Some(pinned)) = team.pin_caller() {
    ///     for _ in 0..3 {
    ///         team.run(|comm| comm.barrier())?; // on this thread
    ///     }
    ///     drop(pinned);
    /// }
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    pub fn pin_caller(&self) -> Result<Option<PinnedCaller>, PinError> {
        self.threads.pin_caller()
    }

    /// Runs `f` once on every rank, as [`World::run`] does.
    ///
    /// After a run in which all ranks returned, received all messages and dropped their communicators and requests, the
    /// next one reuses the memory of the run; after any other it begins with new memory.
    ///
    /// Runs of several callers take turns. A rank of a team must not run the same team again. Such a run is refused;
    /// but on another thread that the rank started and waits for, it would wait for ever.
    ///
    /// # Errors
    ///
    /// As [`World::run`]; [`WorldError::Usage`] if called from one of this team's own ranks.
    pub fn run<R: Send>(
        &self,
        f: impl Fn(&Comm) -> Result<R> + Sync,
    ) -> Result<Vec<R>, WorldError> {
        self.try_run(f)
    }

    /// [`run`](Self::run) with the caller's own error type.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, WorldError};
    ///
    /// let team = World::new(2).start()?;
    /// let error = team.try_run(|comm| if comm.rank() == 0 { Ok(()) } else { Err("no luck") });
    /// assert!(matches!(error, Err(WorldError::Failed { rank: 1, error: "no luck" })));
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    pub fn try_run<R: Send, E: Send + fmt::Display>(
        &self,
        f: impl Fn(&Comm) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, WorldError<E>> {
        let mut team_run = TeamRunOf::new(&f);
        let verdict = self.threads.decide(&mut team_run);
        team_run.settle(verdict)
    }

    /// Runs `f` once on every rank and reports the outcome of each, as [`World::run_each`] does.
    ///
    /// # Panics
    ///
    /// Panics if called from one of this team's own ranks. [`try_run_each`](Self::try_run_each) returns that as an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let team = World::new(2).start()?;
    /// let report = team.run_each(|comm| match comm.rank() {
    ///     0 => comm.recv::<u8>(1, 0).map(drop), // rank 1 returns
    ///     _ => Ok(()),
    /// });
    /// assert_eq!(report.culprit, Some(1));
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn run_each<R: Send>(&self, f: impl Fn(&Comm) -> Result<R> + Sync) -> Report<R> {
        match self.try_run_each(f) {
            Ok(report) => report,
            Err(error) => panic!("{error}"),
        }
    }

    /// Runs `f` once on every rank and reports the outcome of each, as [`World::try_run_each`] does.
    ///
    /// The ranks' records belong to the report, so the next run begins with new memory if the ranks did anything.
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
    /// assert!(team.run(|comm| comm.barrier()).is_ok()); // the next run is unaffected
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    pub fn try_run_each<R: Send, E: Send + fmt::Display>(
        &self,
        f: impl Fn(&Comm) -> Result<R, E> + Sync,
    ) -> Result<Report<R, E>, WorldError<E>> {
        let mut team_run = TeamRunOf::new(&f);
        let findings = self.threads.report(&mut team_run)?;
        Ok(team_run.report(findings))
    }
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Team")
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}
