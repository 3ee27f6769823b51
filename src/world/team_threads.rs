//! The threads and the fabric of a team, and its runs with the types of the program erased.

use std::mem;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use parking_lot::{Mutex, MutexGuard};

use super::World;
use super::findings::Findings;
use super::hand_over::HandOver;
use super::inside::can_be_inside;
use super::outcome::Outcomes;
use super::pool::{Caller, Kept, Pool};
use super::returned::{Continuation, Standing};
use super::setup::Setup;
use super::team_run::TeamRun;
use super::verdict::{Refused, Verdict};
use crate::machine::{Bind, PinError, PinnedCaller, Placement, is_pinned_to};
use crate::sync::Parker;
use crate::transport::Fabric;
use crate::transport::progress::idle::Patience;
use crate::transport::progress::live::are_crowded;
use crate::transport::reuse::fabric_reuse::EndState;
use crate::unwind;

/// What a [`Team`](super::Team) asks of its threads. It holds them behind this trait, so that the code that drops them
/// is not compiled again in the crate of the caller.
pub(super) trait Threads: Send + Sync {
    /// The number of ranks.
    fn size(&self) -> usize;

    /// Sets for how long a rank looks for its next part before it sleeps.
    fn set_linger(&self, time: Duration);

    /// Pins this thread to the CPU of rank 0, if that is pinned.
    fn pin_caller(&self) -> Result<Option<PinnedCaller>, PinError>;

    /// Runs a program, and judges the run.
    fn decide(&self, team_run: &mut dyn TeamRun) -> Result<(), Verdict>;

    /// Runs a program, and reports what it left behind.
    fn report(&self, team_run: &mut dyn TeamRun) -> Result<Findings, Refused>;
}

/// The threads of a team.
pub(super) struct TeamThreads {
    /// Locked for the duration of a run: runs of several callers take turns.
    between: Mutex<BetweenRuns>,
    pool: Arc<Pool>,
    threads: Vec<JoinHandle<()>>,
    setup: Setup,
}

/// The state that the caller of a run works on.
struct BetweenRuns {
    caller: Caller,
    /// The fabric of the previous run, if that ended clean.
    fabric: Option<Arc<Fabric>>,
    /// Whether no rank did anything in that run, and no report of it was requested.
    quiet: bool,
}

/// A run that is over except for its report. The team is still locked.
struct Ran<'t> {
    between: MutexGuard<'t, BetweenRuns>,
    fabric: Arc<Fabric>,
    clean: bool,
    /// When the run began, where that is reported.
    begin: Option<Instant>,
}

impl Threads for TeamThreads {
    fn size(&self) -> usize {
        self.setup.ranks()
    }

    fn set_linger(&self, time: Duration) {
        self.pool.hand_over.set_linger(time);
    }

    fn pin_caller(&self) -> Result<Option<PinnedCaller>, PinError> {
        let pin = |cpu| PinnedCaller::new(cpu, self.setup.cpus());
        self.cpu_of_first().map(pin).transpose()
    }

    fn decide(&self, team_run: &mut dyn TeamRun) -> Result<(), Verdict> {
        self.called(team_run, |team_run| {
            let mut ran = self.conduct(team_run, false);
            if ran.clean {
                let quiet = ran.between.is_quiet();
                ran.between.keep(ran.fabric, quiet);
                return Ok(());
            }
            let outcomes = team_run.outcomes();
            self.findings(ran, outcomes).conclude(outcomes)
        })?
    }

    fn report(&self, team_run: &mut dyn TeamRun) -> Result<Findings, Refused> {
        self.called(team_run, |team_run| {
            let ran = self.conduct(team_run, true);
            self.findings(ran, team_run.outcomes())
        })
    }
}

impl TeamThreads {
    /// Starts the ranks.
    pub(super) fn start(world: &World) -> Result<TeamThreads, Refused> {
        let caller = matches!(world.bind, Bind::Auto | Bind::None);
        let setup = Setup::of_team(world, caller)?;
        let (ranks, first) = (setup.ranks(), usize::from(caller));
        let patience = [1, 0].map(|others| patience(ranks, others, &setup));
        // Where the caller is not one of the ranks, its thread has no spot among theirs.
        let spots = setup.settings.spots.clone().filter(|_| caller);
        let parker = Parker::new();
        let hand_over = HandOver::new(&parker, patience, spots);
        let (pool, parkers) = Pool::new(first, ranks, hand_over);
        let kept = CachePadded::new(Kept::default());
        let between = BetweenRuns {
            caller: Caller {
                parker,
                kept,
                standing: Standing::new(),
                is_rank: caller,
            },
            fabric: None,
            quiet: false,
        };
        let mut team = TeamThreads {
            between: Mutex::new(between),
            pool: Arc::new(pool),
            threads: Vec::new(),
            setup,
        };
        let pins = team.setup.pins().into_iter().enumerate().skip(first);
        for ((rank, pin), parker) in pins.zip(parkers) {
            let pool = team.pool.clone();
            let thread = thread::Builder::new()
                .name(format!("rank-{rank}"))
                .spawn(move || pool.serve(rank, pin, &parker));
            team.threads
                .push(thread.map_err(|error| Refused::Spawn { rank, error })?);
        }
        Ok(team)
    }

    /// Calls a run on this thread, or on a new one if this thread cannot be a rank now.
    fn called<T: Send>(
        &self,
        team_run: &mut dyn TeamRun,
        run: impl FnOnce(&mut dyn TeamRun) -> T + Send,
    ) -> Result<T, Refused> {
        if self.pool.is_inside() {
            let what = "a rank of a team may not run the same team";
            return Err(Refused::Usage(what.into()));
        }
        if can_be_inside() && unwind::can_enter() {
            return Ok(run(team_run));
        }
        let mut result = None;
        on_new_thread(Box::new(|| result = Some(run(team_run))))?;
        result.ok_or_else(caller_panicked)
    }

    /// Conducts a whole run, and determines whether the next one can continue where it ended; with `timed` also how
    /// long it took.
    fn conduct(&self, team_run: &mut dyn TeamRun, timed: bool) -> Ran<'_> {
        let mut between = self.between.lock();
        between.caller.is_rank = self.caller_is_rank();
        self.pool
            .hand_over
            .set_caller_is_rank(between.caller.is_rank);
        let begin = timed.then(Instant::now);
        let (fabric, again) = match between.fabric.take() {
            Some(fabric) => {
                let again = fabric.begin_again(between.quiet);
                (fabric, Some(again))
            }
            None => {
                between.caller.standing.rests = vec![EndState::default(); self.size()];
                (self.setup.fabric(), None)
            }
        };
        team_run.run(&self.pool, &mut between.caller, &fabric, again);
        let clean = self.setup.is_lasting()
            && fabric.is_lasting()
            && between.caller.standing.is_clean(&fabric);
        if !clean {
            // What the ranks keep may hold contents of the report.
            self.pool.let_go(&mut between.caller);
        }
        Ran {
            between,
            fabric,
            clean,
            begin,
        }
    }

    /// Whether this thread runs the part of rank 0. Where the ranks are pinned, it does if it is pinned to the same CPU.
    fn caller_is_rank(&self) -> bool {
        self.pool.first > 0 || self.cpu_of_first().is_some_and(is_pinned_to)
    }

    /// The CPU to which rank 0 is pinned.
    fn cpu_of_first(&self) -> Option<usize> {
        self.setup.placement.cpu[0]
    }

    /// The CPUs of the ranks in a run of which the caller was rank 0, or was not.
    fn placement(&self, caller_is_rank: bool) -> Placement {
        let mut refused = self.pool.refused.lock().clone();
        // The thread that could have been rank 0 was not.
        refused.retain(|(rank, _)| *rank > 0 || !caller_is_rank);
        let mut placement = self.setup.placement(refused);
        placement.caller = caller_is_rank.then_some(0);
        placement
    }

    /// The findings of a run.
    fn findings(&self, ran: Ran<'_>, outcomes: &dyn Outcomes) -> Findings {
        let Ran {
            between,
            fabric,
            clean,
            begin,
        } = ran;
        let wall = begin.map_or_else(Default::default, |begin| begin.elapsed());
        let placement = self.placement(between.caller.is_rank);
        // Only a run that was not clean leaves messages. They are dropped below, and a destructor may run this team.
        let between = clean.then_some(between);
        let findings = Findings::read(outcomes, &self.setup, &fabric, placement, wall);
        // The records belong to the report.
        if let Some(mut between) = between.filter(|_| !fabric.was_used()) {
            between.keep(fabric, false);
        }
        findings
    }
}

impl BetweenRuns {
    /// Whether all ranks were quiet in the last run.
    fn is_quiet(&self) -> bool {
        self.caller.standing.end == Continuation::Quiet
    }

    /// Keeps the fabric of a clean run for the next one.
    fn keep(&mut self, fabric: Arc<Fabric>, quiet: bool) {
        (self.fabric, self.quiet) = (Some(fabric), quiet);
    }
}

/// The patience with which `ranks` ranks, and `others` other threads besides, wait for each other between runs. The ranks
/// may be pinned to some of the CPUs, the others run anywhere.
fn patience(ranks: usize, others: usize, setup: &Setup) -> Patience {
    match ranks {
        _ if are_crowded(ranks, setup.settings.cpus) => Patience::None,
        _ if are_crowded(ranks + others, setup.room) => Patience::Yield,
        _ => Patience::Spin,
    }
}

impl Drop for TeamThreads {
    fn drop(&mut self) {
        self.pool.close();
        for thread in mem::take(&mut self.threads) {
            // A rank's panics are caught above, so this cannot fail.
            let _ = thread.join();
        }
    }
}

/// Calls `run` on a new thread as rank 0.
fn on_new_thread(run: Box<dyn FnOnce() + Send + '_>) -> Result<(), Refused> {
    let thread = thread::Builder::new().name("rank-0".into());
    thread::scope(|scope| {
        let caller = thread.spawn_scoped(scope, run);
        let caller = caller.map_err(|error| Refused::Spawn { rank: 0, error })?;
        caller.join().map_err(|payload| {
            unwind::discard(payload);
            caller_panicked()
        })
    })
}

fn caller_panicked() -> Refused {
    Refused::Usage("the caller of the team panicked".into())
}
