//! Ranks that stay: the same threads for many runs, parked in between.
//!
//! ```text
//! caller     ┃ fabric ┃ give ┃ rank 0: f ┃ wait ┃ all clean? results
//! rank 1 …            ┃  ──▶ ┃ f         ┃ done
//! ```
//!
//! Unless somebody has asked for a binding, the caller's own thread is rank 0, as the master of an OpenMP team is: it
//! need not be woken, and does not stand in the way of those who run. Who runs a team often runs it again soon: a
//! rank that is done looks for its next job for a moment before it sleeps, see [`berth`](crate::transport::berth).
//! After a run that ended clean the next one goes on in the same fabric, see [`renew`](crate::transport::renew), and
//! each rank keeps its end of it.
//!
//! # Why this is sound
//!
//! A run's closure borrows from its caller, but the threads live longer, so its lifetime is erased on the way to
//! them: they get the address of a [`Job`] in the caller's frame. [`Team::hand_out`] does not come back, not even by
//! unwinding, before every thread has said that it is done, which it does after its last look at the job, also when
//! that panicked: a guard, made before the first job is given, waits for them.
//!
//! The end that rank 0 keeps may be used by another caller's thread, or dropped by one, though it is not `Send`;
//! see [`Kept`].
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crossbeam_utils::CachePadded;
use parking_lot::{Mutex, MutexGuard};

use super::rank::{Pin, broken, live};
use super::{Outcome, Report, Venue, World, WorldError};
use crate::Rank;
use crate::comm::Comm;
use crate::error::Result;
use crate::machine::{Bind, PinError};
use crate::sync::Parker;
use crate::transport::Fabric;
use crate::transport::berth::Berth;
use crate::transport::clock::Clock;
use crate::transport::renew::Rest;
use crate::transport::sleeper::Sleeper;
use crate::transport::wait::{Live, Patience, are_crowded};
use crate::unwind;

/// What a rank of a team is told to do, with what it kept of the run before.
type Work<'a> = dyn Fn(Rank, &mut Kept) + Sync + 'a;

/// The same where a thin pointer can lead to it.
struct Job<'a>(&'a Work<'a>);

/// Ranks that stay for many runs, see [`World::start`].
///
/// Every run begins afresh: no message, failure or broken communicator of one run is seen by the next.
/// Dropping the team ends its threads.
///
/// Unless the world [binds](World::bind) its ranks in a particular way, the thread that calls a run is rank 0 for as
/// long as that takes, whether or not there are as many CPUs as ranks: nobody has to be woken for it. It is never
/// pinned, nor are the others then, and it keeps its name and brings its thread-locals along; the report
/// [says](crate::machine::Placement::caller) that it was rank 0. In the midst of a panic, in a destructor that is, a thread is started to be rank 0 instead.
///
/// # Cost
///
/// An empty run takes about as long as an empty parallel region of OpenMP, below a microsecond on two near CPUs, if
/// the run before it [ended well](Self::run) and not long ago: a rank that has nothing to do looks for work for some
/// hundred microseconds before it sleeps, unless there are more ranks than CPUs. Nobody is pinned, so the system may
/// keep two ranks on one CPU for a while: a run then takes several microseconds.
pub struct Team {
    /// Locked for the length of a run: runs of several callers take turns.
    desk: Mutex<Desk>,
    crew: Arc<Crew>,
    threads: Vec<JoinHandle<()>>,
    venue: Venue,
}

/// What the caller of a run and the ranks that have threads share.
struct Crew {
    /// The first rank that has a thread. The caller is those before it.
    first: Rank,
    /// Where the ranks that have one get their jobs.
    berths: Box<[CachePadded<Berth<Job<'static>>>]>,
    /// The caller of a run.
    caller: CachePadded<Sleeper>,
    /// How all of these wait.
    patience: Patience,
    /// The ranks that could not be pinned. Complete once each of them has done something.
    refused: Mutex<Vec<(Rank, PinError)>>,
}

/// What the caller of a run has before it.
struct Desk {
    parker: Parker,
    /// The fabric of the run before, if that ended clean.
    fabric: Option<Arc<Fabric>>,
    /// Rank 0's end of it, where the caller is that.
    kept: Kept,
}

/// A rank's end of a fabric between two runs, of which it [has said](Comm::rest) where it stands.
#[derive(Default)]
struct Kept(Option<Box<Comm>>);

// SAFETY: what of a `Comm` is not `Send` are counted references and cells, shared by nobody but what else belongs to
// the rank: requests, messages and communicators made from it, and the list of the ranks that its thread is. When
// `Comm::rest` answered, the thread was off that list and no other reference to the rank's core was left, strong or
// weak, nor an open request, so whatever refers to anything inside goes where the `Comm` goes. Rooms for elements
// hold vectors of `Send` types, a packet is `Send`, and sites and types are `'static`. It is looked at by one thread
// at a time: the desk is locked for the length of a run.
unsafe impl Send for Kept {}

impl Kept {
    /// Runs `f` as this rank of this fabric, on this thread, with the end that was kept if it is of this fabric.
    fn live<R, E: fmt::Display>(
        &mut self,
        fabric: &Arc<Fabric>,
        rank: Rank,
        clock: Clock,
        f: impl Fn(&Comm) -> Result<R, E>,
    ) -> Lived<R, E> {
        let comm = match self.0.take().filter(|comm| comm.is_in(fabric)) {
            Some(comm) => {
                comm.enter_again(clock);
                comm
            }
            None => Box::new(Comm::enter(fabric, rank, None)),
        };
        let outcome = live(&comm, f);
        let returned = matches!(outcome, Outcome::Returned(_));
        let rest = comm.rest().filter(|_| returned);
        self.0 = rest.map(|_| comm);
        Lived { outcome, rest }
    }
}

/// What is left of a rank.
struct Lived<R, E> {
    outcome: Outcome<R, E>,
    rest: Option<Rest>,
}

/// A run that is over, but for what is told of it. The team is still taken.
struct Ran<'t, R, E> {
    desk: MutexGuard<'t, Desk>,
    fabric: Arc<Fabric>,
    lives: Lives<R, E>,
    clean: bool,
    begin: Instant,
}

/// Where each rank puts what is left of it.
type Lives<R, E> = Vec<Mutex<Option<Lived<R, E>>>>;

impl Team {
    pub(super) fn start(world: &World) -> Result<Team, WorldError> {
        let caller = matches!(world.bind, Bind::Auto | Bind::None);
        let mut venue = Venue::with(world, caller)?;
        let (ranks, first) = (venue.ranks(), usize::from(caller));
        venue.placement.caller = caller.then_some(0);
        let parkers: Vec<Parker> = (first..ranks).map(|_| Parker::new()).collect();
        let berth = |parker| CachePadded::new(Berth::new(parker));
        let parker = Parker::new();
        let crew = Arc::new(Crew {
            first,
            berths: parkers.iter().map(berth).collect(),
            caller: CachePadded::new(Sleeper::new(&parker)),
            patience: patience(ranks, 1 - first, venue.settings.cpus),
            refused: Mutex::default(),
        });
        let desk = Desk {
            parker,
            fabric: None,
            kept: Kept::default(),
        };
        let mut team = Team {
            desk: Mutex::new(desk),
            crew,
            threads: Vec::new(),
            venue,
        };
        let pins = team.venue.pins().into_iter().enumerate().skip(first);
        for ((rank, pin), parker) in pins.zip(parkers) {
            let crew = team.crew.clone();
            let thread = thread::Builder::new()
                .name(format!("rank-{rank}"))
                .spawn(move || crew.serve(rank, pin, &parker));
            team.threads
                .push(thread.map_err(|error| WorldError::Spawn { rank, error })?);
        }
        Ok(team)
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.venue.ranks()
    }

    /// Runs `f` once on every rank, as [`World::run`].
    ///
    /// After a run in which all ranks returned, received all messages and dropped their communicators and requests, the
    /// next one goes on with the memory that is there already; after any other it begins with new.
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
        self.called(|| {
            let ran = self.conduct(&f)?;
            if ran.clean {
                return Ok(ran.values());
            }
            self.report(ran).into_result()
        })
    }

    /// Runs `f` once on every rank and tells what came of each, as [`World::try_run_each`].
    ///
    /// What the ranks wrote down belongs to the report, so the next run begins with new memory if they did anything.
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
        self.called(|| Ok(self.report(self.conduct(&f)?)))
    }

    /// Calls a run on this thread; or on a new one, if this one cannot be a rank now.
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
        match Inside::is_inside(&self.crew) {
            false => Ok(()),
            true => Err(WorldError::Usage(
                "a rank of a team may not run the same team".into(),
            )),
        }
    }

    /// A whole run, and whether the next one can go on where this one ended.
    fn conduct<R: Send, E: Send + fmt::Display>(
        &self,
        f: &(impl Fn(&Comm) -> Result<R, E> + Sync),
    ) -> Result<Ran<'_, R, E>, WorldError<E>> {
        let mut desk = self.desk.lock();
        let fabric = match desk.fabric.take() {
            Some(fabric) => fabric.begin_again(),
            None => self.venue.fabric(),
        };
        let clock = fabric.clock();
        let mut lives: Lives<R, E> = (0..self.size()).map(|_| Mutex::new(None)).collect();
        self.hand_out(&mut desk, &|rank, kept| {
            let lived = kept.live(&fabric, rank, clock, f);
            *lives[rank].lock() = Some(lived);
        });
        let rests = lives.iter_mut().map(|life| life.get_mut().as_ref()?.rest);
        let clean = self.venue.is_lasting() && fabric.ended_clean(rests);
        if !clean {
            // What they keep may hold what is to be reported.
            self.hand_out(&mut desk, &|_, kept| *kept = Kept::default());
        }
        Ok(Ran {
            desk,
            fabric,
            lives,
            clean,
            begin: clock.begin(),
        })
    }

    /// What is told of a run.
    fn report<R, E>(&self, mut ran: Ran<'_, R, E>) -> Report<R, E> {
        let placement = self.venue.placement(self.crew.refused.lock().clone());
        let lives = ran.lives.into_iter().map(Mutex::into_inner);
        let outcomes = lives.map(|life| life.map_or_else(broken, |life| life.outcome));
        let report = Report::new(
            outcomes.collect(),
            placement,
            &self.venue,
            &ran.fabric,
            ran.begin.elapsed(),
        );
        // What was written down belongs to the report.
        if ran.clean && !ran.fabric.was_used() {
            ran.desk.fabric = Some(ran.fabric);
        }
        report
    }

    /// Gives every rank the same work and waits until all have let go of it.
    fn hand_out(&self, desk: &mut Desk, work: &Work<'_>) {
        let crew = &*self.crew;
        let job = Job(work);
        let mut until_done = UntilDone {
            crew,
            parker: &desk.parker,
            _live: None,
        };
        for berth in &crew.berths {
            // Only the lifetime changes. That the address is used no longer than `job` lives is said at the head: the
            // guard above is dropped before it on every way out, and no job is given but here.
            berth.give(ptr::from_ref(&job).cast());
        }
        // A caller that is a rank of another world counts already.
        let counted = usize::from(crew.first > 0 && unwind::is_rank());
        until_done._live = Some(Live::new(self.size() - counted));
        if crew.first > 0 {
            let inside = Inside::enter(crew);
            unwind::apart(|| part(work, 0, &mut desk.kept));
            drop(inside);
        }
    }
}

impl<R, E> Ran<'_, R, E> {
    /// What the ranks of a clean run returned.
    fn values(mut self) -> Vec<R> {
        self.desk.fabric = Some(self.fabric);
        let value = |life: Mutex<Option<Lived<R, E>>>| match life.into_inner()?.outcome {
            Outcome::Returned(value) => Some(value),
            _ => None,
        };
        self.lives.into_iter().filter_map(value).collect()
    }
}

/// Waits for all ranks that have threads when it is dropped.
struct UntilDone<'a> {
    crew: &'a Crew,
    parker: &'a Parker,
    /// All ranks of the run.
    _live: Option<Live>,
}

impl Drop for UntilDone<'_> {
    fn drop(&mut self) {
        let Crew { berths, caller, .. } = self.crew;
        for berth in berths {
            berth.wait(caller, self.parker, self.crew.patience);
        }
    }
}

/// How so many ranks, and other threads besides, wait for each other between runs.
fn patience(ranks: usize, others: usize, room: usize) -> Patience {
    match ranks {
        _ if are_crowded(ranks, room) => Patience::None,
        _ if are_crowded(ranks + others, room) => Patience::Yield,
        _ => Patience::Spin,
    }
}

impl Crew {
    /// A rank's thread: one job after another until the team is dropped.
    fn serve(&self, rank: Rank, pin: Option<Pin>, parker: &Parker) {
        let refused = pin.and_then(Pin::refused);
        self.refused.lock().extend(refused.map(|why| (rank, why)));
        let _inside = Inside::enter(self);
        let berth = &self.berths[rank - self.first];
        let mut kept = Kept::default();
        while let Some(job) = berth.next(parker, self.patience) {
            // SAFETY: `hand_out` has given it, and waits, before the job and what it borrows go, until this thread
            // says below that it is done.
            let Job(work) = unsafe { &*job };
            part(work, rank, &mut kept);
            berth.done(&self.caller);
        }
    }
}

/// A rank's part of a job. Whatever panics in it, a destructor of the user's say, the thread goes on.
fn part(work: &Work<'_>, rank: Rank, kept: &mut Kept) {
    let done = catch_unwind(AssertUnwindSafe(|| work(rank, kept)));
    if let Err(payload) = done {
        unwind::discard(payload);
    }
}

thread_local! {
    /// The teams that this thread is a rank of, as the addresses of their crews.
    static INSIDE: RefCell<Vec<*const Crew>> = const { RefCell::new(Vec::new()) };
}

/// This thread is a rank of a team for as long as it lives.
struct Inside;

impl Inside {
    fn enter(crew: &Crew) -> Inside {
        INSIDE.with_borrow_mut(|teams| teams.push(crew));
        Inside
    }

    fn is_inside(crew: &Crew) -> bool {
        // A thread that has lost the list already is in no team.
        let inside = INSIDE.try_with(|teams| teams.borrow().contains(&ptr::from_ref(crew)));
        inside.unwrap_or(false)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // Threads that are ending may have lost the list already.
        let _ = INSIDE.try_with(|teams| teams.borrow_mut().pop());
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.crew.berths.iter().for_each(|berth| berth.close());
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
