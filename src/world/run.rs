//! One run of a world on fresh threads.
//!
//! What depends on the types of the program, and is therefore compiled for each program in the crate of the caller, is
//! [`ProgramOf`] and the fronts of the runs. Everything else sees a [`Program`].

use std::fmt;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Instant;

use super::findings::Findings;
use super::outcome::{Outcome, Outcomes};
use super::rank::{Body, BodyOf, Start, broken};
use super::report::{Report, settle};
use super::seat::Seats;
use super::setup::Setup;
use super::team::Team;
use super::verdict::{Refused, Verdict};
use super::{World, WorldError};
use crate::comm::Comm;
use crate::error::{Gone, Result};
use crate::machine::{Bind, PinError};
use crate::unwind;

impl World {
    /// Runs `f` once on every rank and returns the results in rank order.
    ///
    /// # Errors
    ///
    /// If any rank failed: what the first culprit did. A rank that failed only because another one failed is never
    /// the culprit.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, WorldError};
    ///
    /// let error = World::new(3).run(|comm| {
    ///     assert_ne!(comm.rank(), 1, "boom");
    ///     comm.barrier() // fails in ranks 0 and 2, which are not to blame
    /// });
    /// assert!(matches!(error, Err(WorldError::Panicked { rank: 1, .. })));
    /// ```
    #[doc(alias = "MPI_Init")]
    #[doc(alias = "MPI_Finalize")]
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
    /// let error = World::new(2).try_run(|comm| match comm.rank() {
    ///     0 => Ok(()),
    ///     _ => Err("no luck"),
    /// });
    /// assert!(matches!(error, Err(WorldError::Failed { rank: 1, error: "no luck" })));
    /// ```
    pub fn try_run<R: Send, E: Send + fmt::Display>(
        &self,
        f: impl Fn(&Comm) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, WorldError<E>> {
        let mut program = ProgramOf::new(&f);
        settle(self.decide(&mut program), program.outcomes)
    }

    /// Runs `f` once on every rank and reports the outcome of each.
    ///
    /// # Panics
    ///
    /// Panics if the world cannot start: it has no ranks, its binding names CPUs that this process may not use, or a
    /// thread cannot be started. [`try_run_each`](Self::try_run_each) returns that as an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Outcome, World};
    ///
    /// let report = World::new(3).run_each(|comm| match comm.rank() {
    ///     1 => Ok(()), // returns without receiving, and without entering the barrier
    ///     _ => comm.send(1, 0, &[7]).and_then(|()| comm.barrier()),
    /// });
    /// assert!(matches!(report.outcomes[..], [Outcome::Failed(_), Outcome::Returned(()), Outcome::Failed(_)]));
    /// assert_eq!(report.culprit, Some(1));
    /// assert_eq!(report.lost.len(), 2); // the messages of ranks 0 and 2
    /// ```
    #[track_caller]
    pub fn run_each<R: Send>(&self, f: impl Fn(&Comm) -> Result<R> + Sync) -> Report<R> {
        match self.try_run_each(f) {
            Ok(report) => report,
            Err(error) => panic!("{error}"),
        }
    }

    /// [`run_each`](Self::run_each) with the caller's own error type, and an error instead of a panic if the world
    /// cannot start.
    ///
    /// # Errors
    ///
    /// [`WorldError::Usage`] and [`WorldError::Spawn`].
    pub fn try_run_each<R: Send, E: Send + fmt::Display>(
        &self,
        f: impl Fn(&Comm) -> Result<R, E> + Sync,
    ) -> Result<Report<R, E>, WorldError<E>> {
        let mut program = ProgramOf::new(&f);
        let findings = self.conduct(&mut program)?;
        Ok(Report::new(program.outcomes, findings))
    }

    /// Starts the ranks and keeps them for many runs, parked in between.
    ///
    /// With [`Bind::Auto`] or [`Bind::None`] there is no thread for rank 0: the thread that calls a run of the team is
    /// rank 0.
    ///
    /// # Errors
    ///
    /// [`WorldError::Usage`] and [`WorldError::Spawn`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let team = World::new(2).start()?;
    /// for round in 0..3 {
    ///     let sums = team.run(|comm| {
    ///         let mut v = [round];
    ///         comm.all_reduce(&mut v, op::Sum)?;
    ///         Ok(v[0])
    ///     })?;
    ///     assert_eq!(sums, [2 * round; 2]);
    /// }
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    pub fn start(&self) -> Result<Team, WorldError> {
        Team::start(self)
    }

    /// Creates a world whose ranks run on threads that the caller starts; see [`Seats`].
    ///
    /// A world that cannot start, for example with 0 ranks, has no seats, and [`Seats::take`] returns the reason.
    /// [`seats`](Self::seats) returns it at once.
    ///
    /// # Examples
    ///
    /// ```
    /// let seats = rankfold::World::connect(0);
    /// let error = seats.take(0).err().unwrap();
    /// assert_eq!(error.to_string(), "a world has at least one rank");
    /// ```
    pub fn connect(ranks: usize) -> Seats {
        let seats = World::new(ranks).seats();
        seats.unwrap_or_else(|error| Seats::none(error.to_string()))
    }

    /// [`connect`](Self::connect) with this world's settings; no rank is pinned.
    ///
    /// # Errors
    ///
    /// [`WorldError::Usage`] if the world has no ranks.
    pub fn seats(&self) -> Result<Seats, WorldError> {
        let unpinned = World {
            bind: Bind::None,
            on_seats: true,
            ..self.clone()
        };
        Ok(Seats::new(Setup::new(&unpinned)?))
    }
}

/// A program that is to run on every rank, and the outcomes of the ranks, with its types erased.
trait Program {
    /// The bodies of all ranks, in rank order.
    fn bodies(&mut self, ranks: usize) -> Vec<Box<dyn Body + Send + '_>>;

    /// The outcomes, once the bodies have run.
    fn outcomes(&mut self) -> &mut dyn Outcomes;
}

/// The [`Program`] of a closure.
struct ProgramOf<'f, F, R, E> {
    f: &'f F,
    outcomes: Vec<Outcome<R, E>>,
}

impl<'f, F, R, E> ProgramOf<'f, F, R, E> {
    fn new(f: &'f F) -> Self {
        let outcomes = Vec::new();
        ProgramOf { f, outcomes }
    }
}

impl<F, R, E> Program for ProgramOf<'_, F, R, E>
where
    F: Fn(&Comm) -> Result<R, E> + Sync,
    R: Send,
    E: Send + fmt::Display,
{
    fn bodies(&mut self, ranks: usize) -> Vec<Box<dyn Body + Send + '_>> {
        // Loops, as adapters would be compiled for every program.
        self.outcomes.reserve_exact(ranks);
        for _ in 0..ranks {
            self.outcomes.push(Outcome::Left);
        }
        let mut bodies: Vec<Box<dyn Body + Send>> = Vec::with_capacity(ranks);
        for outcome in &mut self.outcomes {
            bodies.push(Box::new(BodyOf { f: self.f, outcome }));
        }
        bodies
    }

    fn outcomes(&mut self) -> &mut dyn Outcomes {
        &mut self.outcomes
    }
}

impl World {
    /// Runs a program, and judges the run as [`Report::into_result`] does.
    fn decide(&self, program: &mut dyn Program) -> Result<(), Verdict> {
        let findings = self.conduct(program)?;
        findings.conclude(program.outcomes())
    }

    /// Runs a program on fresh threads.
    fn conduct(&self, program: &mut dyn Program) -> Result<Findings, Refused> {
        let setup = Setup::new(self)?;
        let fabric = setup.fabric();
        let starts = setup.starts(&fabric);
        let begin = Instant::now();
        let joined = live(starts, program)?;
        fabric.close_far();
        let outcomes = program.outcomes();
        let mut unpinned = Vec::new();
        for (rank, end) in joined.into_iter().enumerate() {
            match end {
                Ok(refused) => unpinned.extend(refused.map(|why| (rank, why))),
                // What the rank returned, if it did, is dropped here: its destructor may panic.
                Err(()) => _ = unwind::quietly(|| outcomes.panicked(rank, broken())),
            }
        }
        let placement = setup.placement(unpinned);
        let wall = begin.elapsed();
        Ok(Findings::read(outcomes, &setup, &fabric, placement, wall))
    }
}

/// Why the rank of a thread was not pinned, if it should have been; an error if the thread panicked.
type Joined = Result<Option<PinError>, ()>;

/// Runs the ranks of a program on threads of their own, and waits until all have ended.
fn live(starts: Vec<Start>, program: &mut dyn Program) -> Result<Vec<Joined>, Refused> {
    let bodies = program.bodies(starts.len());
    thread::scope(|scope| {
        let ranks = starts.into_iter().zip(bodies);
        let spawned: Vec<_> = ranks
            .map(|(start, body)| spawn(scope, start, body))
            .collect();
        // All are joined, even if one could not start: the scope panics if a thread that was not joined has panicked.
        let ends: Vec<_> = spawned
            .into_iter()
            .map(|rank| Ok(rank?.join().map_err(unwind::discard)))
            .collect();
        ends.into_iter().collect()
    })
}

/// Starts one rank on a thread of its own.
fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    start: Start,
    mut body: Box<dyn Body + Send + 'scope>,
) -> Result<ScopedJoinHandle<'scope, Option<PinError>>, Refused> {
    let (fabric, rank) = (start.fabric.clone(), start.rank);
    let spawned = thread::Builder::new()
        .name(format!("rank-{rank}"))
        .spawn_scoped(scope, move || start.live(&mut *body));
    spawned.map_err(|error| {
        // Ranks that are already running must not wait for it.
        let why = Gone::Failed("its thread could not be started".into());
        fabric.record_end(rank, why, None, None);
        Refused::Spawn { rank, error }
    })
}
