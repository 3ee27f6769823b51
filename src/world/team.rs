//! Ranks that stay for many runs: the same threads, parked in between.
//!
//! ```text
//! caller     ┃ fabric ┃ give ┃ rank 0: f ┃ wait ┃ all clean? results
//! rank 1 …            ┃  ──▶ ┃ f         ┃ done
//! ```
//!
//! Unless a binding is requested, the caller's own thread is rank 0, like the master thread of an OpenMP team: it needs
//! no wakeup, and does not compete with the ranks for a CPU. A team is often run again soon, so a rank that is done
//! spins for a moment for its next part before it sleeps, see [`pool`](super::pool). After a run that ended clean the
//! next one continues in the same fabric, see [`fabric_reuse`](crate::transport::reuse::fabric_reuse), and each rank
//! keeps its end of it.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

use super::pool::{Caller, Came, Kept, Lived, Part, Pool};
use super::rank::broken;
use super::{Outcome, Report, Venue, World, WorldError};
use crate::comm::Comm;
use crate::error::Result;
use crate::machine::Bind;
use crate::sync::Parker;
use crate::transport::Fabric;
use crate::transport::progress::wait::{Patience, are_crowded};
use crate::transport::reuse::fabric_reuse::EndState;
use crate::unwind;

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
/// # Cost
///
/// An empty run takes about as long as an empty parallel region of OpenMP, below a microsecond on two near CPUs, if the
/// run before it [ended well](Self::run) and not long ago: an idle rank looks for work for some hundred microseconds
/// before it sleeps, unless there are more ranks than CPUs. No rank is pinned; a rank that finds itself on the CPU of
/// another one moves to a free one, on Linux, and may still run anywhere.
pub struct Team {
    /// Locked for the duration of a run: runs of several callers take turns.
    desk: Mutex<Desk>,
    pool: Arc<Pool>,
    threads: Vec<JoinHandle<()>>,
    venue: Venue,
}

/// The state that the caller of a run works on.
struct Desk {
    caller: Caller,
    /// The fabric of the previous run, if that ended clean.
    fabric: Option<Arc<Fabric>>,
    /// Whether no rank did anything in that run, and no report of it was requested.
    quiet: bool,
    /// Where each rank stood when it last reported; ranks that did nothing since still stand there.
    rests: Vec<EndState>,
}

/// A run that is over except for its report. The team is still locked.
struct Ran<'t, R, E> {
    desk: MutexGuard<'t, Desk>,
    fabric: Arc<Fabric>,
    came: Came<R, E>,
    clean: bool,
    /// When the run began, where that is reported.
    begin: Option<Instant>,
}

impl Team {
    pub(super) fn start(world: &World) -> Result<Team, WorldError> {
        let caller = matches!(world.bind, Bind::Auto | Bind::None);
        let mut venue = Venue::with(world, caller)?;
        let (ranks, first) = (venue.ranks(), usize::from(caller));
        venue.placement.caller = caller.then_some(0);
        let patience = patience(ranks, 1 - first, venue.settings.cpus);
        // Where the caller is not one of the ranks, its thread has no spot among theirs.
        let spots = venue.settings.spots.clone().filter(|_| caller);
        let parker = Parker::new();
        let (pool, parkers) = Pool::new(first, ranks, patience, spots, &parker);
        let kept = Kept::default();
        let desk = Desk {
            caller: Caller { parker, kept },
            fabric: None,
            quiet: false,
            rests: Vec::new(),
        };
        let mut team = Team {
            desk: Mutex::new(desk),
            pool: Arc::new(pool),
            threads: Vec::new(),
            venue,
        };
        let pins = team.venue.pins().into_iter().enumerate().skip(first);
        for ((rank, pin), parker) in pins.zip(parkers) {
            let pool = team.pool.clone();
            let thread = thread::Builder::new()
                .name(format!("rank-{rank}"))
                .spawn(move || pool.serve(rank, pin, &parker));
            team.threads
                .push(thread.map_err(|error| WorldError::Spawn { rank, error })?);
        }
        Ok(team)
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.venue.ranks()
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
        self.called(|| {
            let ran = self.conduct(&f, false);
            if ran.clean {
                return Ok(ran.values());
            }
            self.report(ran).into_result()
        })
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
        self.called(|| Ok(self.report(self.conduct(&f, true))))
    }

    /// Calls a run on this thread, or on a new one if this thread cannot be a rank now.
    fn called<T: Send, E: Send>(
        &self,
        run: impl FnOnce() -> Result<T, WorldError<E>> + Send,
    ) -> Result<T, WorldError<E>> {
        self.refuse_own_ranks()?;
        if unwind::can_enter() {
            return run();
        }
        let thread = thread::Builder::new().name("rank-0".into());
        thread::scope(|scope| {
            let caller = thread.spawn_scoped(scope, run);
            let caller = caller.map_err(|error| WorldError::Spawn { rank: 0, error })?;
            caller.join().unwrap_or_else(|payload| {
                unwind::discard(payload);
                Err(WorldError::Usage("the caller of the team panicked".into()))
            })
        })
    }

    fn refuse_own_ranks<E>(&self) -> Result<(), WorldError<E>> {
        match self.pool.is_inside() {
            false => Ok(()),
            true => Err(WorldError::Usage(
                "a rank of a team may not run the same team".into(),
            )),
        }
    }

    /// Conducts a whole run, and determines whether the next one can continue where it ended; with `timed` also how
    /// long it took.
    fn conduct<R: Send, E: Send + fmt::Display>(
        &self,
        f: &(impl Fn(&Comm) -> Result<R, E> + Sync),
        timed: bool,
    ) -> Ran<'_, R, E> {
        let mut desk = self.desk.lock();
        let begin = timed.then(Instant::now);
        let (fabric, again) = match desk.fabric.take() {
            Some(fabric) => {
                let again = fabric.begin_again(desk.quiet);
                (fabric, Some(again))
            }
            None => {
                desk.rests = vec![EndState::default(); self.size()];
                (self.venue.fabric(), None)
            }
        };
        let came = self.pool.run(&mut desk.caller, &fabric, again, f);
        let clean = self.venue.is_lasting() && fabric.is_lasting() && desk.is_clean(&fabric, &came);
        if !clean {
            // What the ranks keep may hold contents of the report.
            self.pool.let_go(&mut desk.caller);
        }
        Ran {
            desk,
            fabric,
            came,
            clean,
            begin,
        }
    }

    /// Makes the report of a run.
    fn report<R, E>(&self, mut ran: Ran<'_, R, E>) -> Report<R, E> {
        let wall = ran
            .begin
            .map_or_else(Default::default, |begin| begin.elapsed());
        let placement = self.venue.placement(self.pool.refused.lock().clone());
        let outcomes = ran.came.outcomes();
        let report = Report::new(outcomes, placement, &self.venue, &ran.fabric, wall);
        // The records belong to the report.
        if ran.clean && !ran.fabric.was_used() {
            ran.desk.keep(ran.fabric, false);
        }
        report
    }
}

impl Desk {
    /// Whether the next run can continue where this one ended.
    fn is_clean<R, E>(&mut self, fabric: &Fabric, came: &Came<R, E>) -> bool {
        let Came::Told(parts) = came else {
            return true;
        };
        for (part, place) in parts.iter().zip(&mut self.rests) {
            match part {
                Some(Part::Quiet(_)) => {}
                Some(Part::Told(Lived {
                    rest: Some(rest), ..
                })) => *place = *rest,
                _ => return false,
            }
        }
        fabric.ended_clean(self.rests.iter().copied())
    }

    /// Keeps the fabric of a clean run for the next one.
    fn keep(&mut self, fabric: Arc<Fabric>, quiet: bool) {
        (self.fabric, self.quiet) = (Some(fabric), quiet);
    }
}

impl<R, E> Ran<'_, R, E> {
    /// The values that the ranks of a clean run returned.
    fn values(mut self) -> Vec<R> {
        let quiet = matches!(self.came, Came::Quiet(_));
        self.desk.keep(self.fabric, quiet);
        match self.came {
            Came::Quiet(values) => values,
            Came::Told(parts) => parts.into_iter().filter_map(Part::value).collect(),
        }
    }
}

impl<R, E> Came<R, E> {
    fn outcomes(self) -> Vec<Outcome<R, E>> {
        let outcome = |part: Option<Part<R, E>>| part.map_or_else(broken, Part::outcome);
        match self {
            Came::Quiet(values) => values.into_iter().map(Outcome::Returned).collect(),
            Came::Told(parts) => parts.into_iter().map(outcome).collect(),
        }
    }
}

impl<R, E> Part<R, E> {
    fn outcome(self) -> Outcome<R, E> {
        match self {
            Part::Quiet(value) => Outcome::Returned(value),
            Part::Told(Lived { outcome, .. }) => outcome,
        }
    }

    fn value(this: Option<Self>) -> Option<R> {
        match this?.outcome() {
            Outcome::Returned(value) => Some(value),
            _ => None,
        }
    }
}

/// How `ranks` ranks, and `others` other threads besides, wait for each other between runs.
fn patience(ranks: usize, others: usize, room: usize) -> Patience {
    match ranks {
        _ if are_crowded(ranks, room) => Patience::None,
        _ if are_crowded(ranks + others, room) => Patience::Yield,
        _ => Patience::Spin,
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.pool.close();
        for thread in mem::take(&mut self.threads) {
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
