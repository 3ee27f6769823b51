//! [`World`]: the number of ranks, where they run, and what happens when one fails.
//!
//! - `mod` the settings, and one run on fresh threads
//! - `tuning` the tuning table that its collectives follow, checked against this machine
//! - `report` the outcome of a run
//! - `trace` the full trace of a run; `perfetto`: its export for a viewer
//! - `dump` printing the state of a running world on a signal
//! - `team` ranks that stay for many runs; `pool`: their threads, and how jobs reach them
//! - `seat` ranks on threads that the library did not start
//! - `rank` the life of one rank on its thread

#[cfg(all(unix, feature = "signal"))]
mod dump;
mod perfetto;
mod pool;
mod rank;
mod report;
mod seat;
mod team;
mod trace;
mod tuning;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use crossbeam_utils::sync::WaitGroup;

pub use report::{Counts, Lost, Outcome, Report, WorldError};
pub use seat::{Seat, Seats};
pub use team::Team;
pub use trace::{Trace, TracedCall, TracedMessage};

use crate::Rank;
use crate::collective::TuningTable;
use crate::comm::Comm;
use crate::error::{Gone, Result};
use crate::machine::{Bind, Cpus, Kind, Machine, Near, PinError, Placement, Unpinned};
use crate::topology::Levels;
use crate::transport::deadlock::choice::{BySeed, Chooser};
use crate::transport::lanes::Make;
use crate::transport::memory::eager_limit::Buffering;
use crate::transport::progress::cpu_collision::WaitingCpus;
use crate::transport::progress::wait::{Live, are_crowded};
use crate::transport::{Fabric, Fault, Settings};
use crate::unwind;
use rank::{Lived, Pin, Start};

/// A message-passing program about to run: its ranks are threads of this process.
///
/// # Examples
///
/// ```
/// use rankfold::{World, op};
///
/// let sums = World::new(8).run(|comm| {
///     let mut v = vec![comm.rank() as f64; 1 << 10];
///     comm.all_reduce(&mut v, op::Sum)?;
///     Ok(v[0])
/// })?; // one result per rank, or the first culprit
/// assert_eq!(sums, [28.0; 8]);
/// # Ok::<(), rankfold::WorldError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a world does nothing until it is run"]
pub struct World {
    ranks: usize,
    bind: Bind,
    strict: bool,
    timeout: Option<Duration>,
    check: bool,
    record: bool,
    trace: bool,
    /// Whether a signal prints its state.
    #[cfg(all(unix, feature = "signal"))]
    dump: bool,
    faults: Vec<(Rank, u64, Fault)>,
    chooser: Option<Arc<dyn Chooser>>,
    seed: Option<u64>,
    buffering: Buffering,
    lanes: Make,
    /// The machine to plan for instead of the real one.
    machine: Option<Arc<Machine>>,
    /// The kinds of levels that collectives follow.
    levels: Vec<Kind>,
    tuning: Option<Arc<TuningTable>>,
    /// Whether the caller starts the threads of its ranks.
    on_seats: bool,
}

impl World {
    /// Creates a world of `ranks` ranks: at least one, and more than there are CPUs if you like.
    pub fn new(ranks: usize) -> World {
        World {
            ranks,
            bind: Bind::Auto,
            strict: false,
            timeout: None,
            check: cfg!(debug_assertions),
            record: true,
            trace: false,
            #[cfg(all(unix, feature = "signal"))]
            dump: false,
            faults: Vec::new(),
            chooser: None,
            seed: None,
            buffering: Buffering::Unbounded,
            lanes: Make::default(),
            machine: None,
            levels: Levels::DEFAULT.to_vec(),
            tuning: None,
            on_seats: false,
        }
    }

    /// Sets where the ranks run. The default is [`Bind::Auto`].
    ///
    /// All ranks are in their places before the first message. A rank that could not be pinned, or that is not where it
    /// should be, is listed in [`Placement::refused`] of the report, and runs all the same. Ranks of a
    /// [team](Self::start) are pinned only if a binding is requested. For memory near the ranks, see
    /// [`vec_here`](crate::machine::vec_here).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Bind, World};
    ///
    /// let report = World::new(2).bind(Bind::None).run_each(|comm| comm.barrier());
    /// assert_eq!(report.placement.cpu, [None, None]);
    /// ```
    pub fn bind(mut self, bind: Bind) -> World {
        self.bind = bind;
        self
    }

    /// Makes collectives plan for another machine instead of this one. The ranks are placed on it by
    /// [`bind`](Self::bind), and everything that depends on [which ranks are near each other](Comm::levels) follows it.
    /// This is for tests, and to see what would be chosen there. No rank is pinned.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    /// use rankfold::collective::{Algorithm, Call, Collective};
    /// use rankfold::machine::Machine;
    ///
    /// let chiplets = Machine::from_text("package:2 l3:2 core:4")?;
    /// World::new(16).machine(chiplets).run(|comm| {
    ///     let call = Call::new(Collective::AllReduce, comm.size(), 10).commuting();
    ///     let choice = comm.explain::<f64>(&call)?;
    ///     assert_eq!(choice.algorithm, Algorithm::HIERARCHICAL);
    ///     assert_eq!(choice.levels, "16 ranks in 4 L3 caches in 2 packages in one");
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn machine(mut self, machine: Machine) -> World {
        self.machine = Some(Arc::new(machine));
        self
    }

    /// Sets the parts of the machine by which collectives decide which ranks are near each other, in any order. The
    /// default is [`Levels::DEFAULT`]. To switch a level off, leave it out; with none, all ranks are alike.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    /// use rankfold::machine::{Kind, Machine};
    ///
    /// let world = World::new(16).machine(Machine::from_text("package:2 numa:2 l3:2 core:2")?);
    /// let levels = |world: World| {
    ///     let all = world.run(|comm| Ok(comm.levels().map(|levels| levels.to_string())));
    ///     all.map(|all| all[0].clone())
    /// };
    /// let nodes = levels(world.clone().levels(&[Kind::Node]))?;
    /// assert_eq!(nodes.as_deref(), Some("16 ranks in 4 NUMA nodes in one"));
    /// assert_eq!(levels(world.levels(&[]))?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn levels(mut self, kinds: &[Kind]) -> World {
        self.levels = kinds.to_vec();
        self
    }

    /// Makes collectives choose their algorithms by a table that was measured on this machine, instead of by numbers
    /// that suit most machines. All ranks follow the same table, so results repeat bit for bit; nothing is measured
    /// during the run. [`Comm::explain`] returns the choice and its measurement.
    ///
    /// `rankfold tune` measures a table. A table of another machine, other CPUs, another quota, [binding](Self::bind)
    /// or version of rankfold is refused when the world starts, by a [`WorldError::Usage`] that says what differs.
    ///
    /// To tune a program without changing it, set the environment variable `RANKFOLD_TUNING` to the path of a table. It
    /// is read once. A table that cannot be read, or is of another machine, fails each world. Worlds with a table of
    /// their own ignore the variable, as do worlds inside a rank of another, on [seats](Self::seats) or on a
    /// [stand-in](Self::machine).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    /// use rankfold::collective::{Algorithm, Call, Collective, TuningTable};
    ///
    /// let table: TuningTable = "
    ///     rankfold tuning 1
    ///     all_reduce on 2 ranks
    ///       from 0 bytes: binomial, 1200 ns at 4096 bytes; then cells, 1900 ns
    /// ".parse()?;
    /// World::new(2).tuned(table).run(|comm| {
    ///     let choice = comm.explain::<f32>(&Call::new(Collective::AllReduce, 2, 1000))?;
    ///     assert_eq!(choice.algorithm.to_string(), "binomial");
    ///     assert_eq!(choice.reason, "1.2 µs against 1.9 µs were measured at 4 KiB on 2 ranks");
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tuned(mut self, table: impl Into<Arc<TuningTable>>) -> World {
        self.tuning = Some(table.into());
        self
    }

    /// Sets a watchdog: an operation that waits longer than `patience` fails with
    /// [`TimedOut`](crate::ErrorKind::TimedOut) and a picture of where every rank is.
    ///
    /// Deadlocks need no watchdog: they are found at once. It is for ranks that are stuck elsewhere: in a mutex, in
    /// input or output, in a loop.
    ///
    /// A rank whose memory another rank is using, perhaps in an operator that does not end, cannot leave its call
    /// before that has ended. The watchdog then prints where every rank is on standard error, once, and the rank
    /// continues to wait.
    pub fn timeout(mut self, patience: Duration) -> World {
        self.timeout = Some(patience);
        self
    }

    /// Sets whether every collective begins with a round in which all ranks verify that they are in the same call,
    /// before anything is sent. Default: in builds with debug assertions.
    pub fn check(mut self, check: bool) -> World {
        self.check = check;
        self
    }

    /// Sets how much of what is sent is buffered until it is received. The default is everything.
    ///
    /// A program that is correct only with buffering is found at [`Buffering::Zero`], where every send waits until it
    /// is received: the report of the deadlock names the sends that needed a buffer. Collectives of elements
    /// synchronise then too: what a rank sends in one is read before its step ends. ([`reduce_over`](Comm::reduce_over)
    /// and collectives of values are unaffected.)
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Buffering, Comm, World, WorldError};
    ///
    /// // Both send first: correct only as long as one of the messages is buffered.
    /// let exchange = |comm: &Comm| {
    ///     let other = 1 - comm.rank();
    ///     comm.send(other, 0, &[comm.rank()])?;
    ///     comm.recv::<usize>(other, 0).map(|(got, _)| got[0])
    /// };
    /// assert_eq!(World::new(2).run(exchange)?, [1, 0]);
    /// let error = World::new(2).buffering(Buffering::Zero).run(exchange).unwrap_err();
    /// let WorldError::Deadlock(knot) = error else { panic!("{error}") };
    /// assert!(knot.stuck.iter().all(|stuck| stuck.needs_buffer));
    /// # Ok::<(), WorldError>(())
    /// ```
    pub fn buffering(mut self, buffering: Buffering) -> World {
        self.buffering = buffering;
        self
    }

    /// Makes collectives use channels between ranks. This exists only for benchmarks and tests that compare channels
    /// with the default lanes.
    #[doc(hidden)]
    pub fn channel_lanes(mut self) -> World {
        self.lanes = Make::Channels;
        self
    }

    /// Sets whether each rank keeps its last 64 operations, for [`Report::recent`] and for the watchdog's picture.
    /// Default: yes. It costs some nanoseconds per operation.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let silent = World::new(2).record(false).run_each(|comm| comm.barrier());
    /// assert!(silent.recent().iter().all(|rank| rank.is_empty()));
    /// ```
    pub fn record(mut self, record: bool) -> World {
        self.record = record;
        self
    }

    /// Sets whether every operation and every message is recorded with its time, for [`Report::trace`]. Default: no. It
    /// costs two readings of the clock per operation and one for each end of a message, and memory that grows with the
    /// run: some 50 bytes for each of them.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let report = World::new(2).trace(true).run_each(|comm| match comm.rank() {
    ///     0 => comm.send(1, 7, &[1.0]),
    ///     _ => comm.recv::<f64>(0, 7).map(|_| ()),
    /// });
    /// let trace = report.trace().unwrap();
    /// assert_eq!(trace.messages[0].bytes, 8);
    /// assert!(trace.messages[0].sent <= trace.messages[0].received.unwrap());
    /// ```
    pub fn trace(mut self, trace: bool) -> World {
        self.trace = trace;
        self
    }

    /// Turns messages that were sent and never received into an error, and likewise requests that were neither waited
    /// for nor cancelled. Without it they print one line on standard error.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, WorldError};
    ///
    /// let lost = World::new(1).strict().run(|comm| comm.send(0, 0, &[1])).unwrap_err();
    /// assert!(matches!(lost, WorldError::Lost(messages) if messages.len() == 1));
    /// ```
    pub fn strict(mut self) -> World {
        self.strict = true;
        self
    }

    /// Injects a fault: `rank` fails, or is delayed, at its operation number `nth`, counted from 1. Every call counts,
    /// and inside a collective every message too. Use it to test that a program survives the fault. A rank may be
    /// delayed any number of times.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Fault, World, WorldError};
    ///
    /// let error = World::new(4).inject(2, 1, Fault::Panic).run(|comm| comm.barrier()).unwrap_err();
    /// assert!(matches!(error, WorldError::Panicked { rank: 2, .. }));
    /// ```
    pub fn inject(mut self, rank: Rank, nth: u64, fault: Fault) -> World {
        self.faults.push((rank, nth, fault));
        self
    }

    /// Makes runs repeatable: `seed` chooses which message a receive from any source takes, among all that can be
    /// there. Another seed gives another order; the same seed gives the same run.
    ///
    /// The choice is made once no rank can proceed without it, so it does not depend on the speed of the threads. This
    /// makes runs slower, and a receive with a deadline fails only when no other rank can proceed. The seed does not
    /// cover anything beyond messages, such as clocks or shared memory. A run that fails prints its seed.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Source, World};
    ///
    /// let order = |seed| {
    ///     World::new(4).seed(seed).run(|comm| {
    ///         if comm.rank() > 0 {
    ///             return comm.send(0, 0, &[0u8; 1]).map(|()| Vec::new());
    ///         }
    ///         let one = |_| comm.recv::<u8>(Source::Any, 0).map(|(_, status)| status.source);
    ///         (1..comm.size()).map(one).collect()
    ///     })
    /// };
    /// assert_eq!(order(7)?, order(7)?);
    /// assert!((1..100).any(|seed| order(seed).unwrap() != order(0).unwrap()));
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    pub fn seed(mut self, seed: u64) -> World {
        self.seed = Some(seed);
        self.chooser = Some(Arc::new(BySeed(seed)));
        self
    }

    /// A world whose choices are made by `chooser`.
    pub(crate) fn controlled(mut self, chooser: Arc<dyn Chooser>) -> World {
        self.chooser = Some(chooser);
        self
    }

    /// Sets the seed of [`testing::random`](crate::testing::random) without choosing messages by it.
    pub(crate) fn random_seed(mut self, seed: u64) -> World {
        self.seed = Some(seed);
        self
    }

    /// Runs `f` once on every rank and returns the results in rank order.
    ///
    /// # Errors
    ///
    /// If any rank failed: what the first culprit did. A rank that failed only because another one did is never the
    /// culprit.
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
        self.try_run_each(f)?.into_result()
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
    pub fn run_each<R: Send>(&self, f: impl Fn(&Comm) -> Result<R> + Sync) -> Report<R> {
        self.try_run_each(f)
            .unwrap_or_else(|error| panic!("{error}"))
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
        let (venue, fabric, starts) = self.open()?;
        let begin = Instant::now();
        let lives = thread::scope(|scope| {
            let spawned: Vec<_> = starts
                .into_iter()
                .map(|start| spawn(scope, start, &f))
                .collect();
            let ends = spawned
                .into_iter()
                .map(|rank| Ok(rank?.join().unwrap_or_else(Lived::broken)));
            ends.collect::<Result<Vec<_>, _>>()
        });
        let (outcomes, refused) = part(lives?);
        let placement = venue.placement(refused);
        Ok(Report::new(
            outcomes,
            placement,
            &venue,
            &fabric,
            begin.elapsed(),
        ))
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
        unpinned
            .open()
            .map(|(venue, _, starts)| Seats::new(starts, venue))
    }

    /// Creates everything that the ranks need to begin.
    fn open<E>(&self) -> Result<(Venue, Arc<Fabric>, Vec<Start>), WorldError<E>> {
        let venue = Venue::new(self)?;
        let fabric = venue.fabric();
        let starts = venue.starts(&fabric);
        Ok((venue, fabric, starts))
    }
}

/// No system gives one process more threads than this.
const MAX_RANKS: usize = 1 << 16;

/// Where a world runs: its settings, and the CPUs it found.
pub(crate) struct Venue {
    settings: Settings,
    placement: Placement,
    cpus: Cpus,
    strict: bool,
    #[cfg(all(unix, feature = "signal"))]
    dump: bool,
    _open: Open,
}

impl Venue {
    fn new<E>(world: &World) -> Result<Venue, WorldError<E>> {
        Venue::with(world, false)
    }

    /// The same; with `caller`, the thread that calls a run is one of the ranks.
    fn with<E>(world: &World, caller: bool) -> Result<Venue, WorldError<E>> {
        // Done here, and not on the threads of ranks: this thread may be in a panic hook that waits for them.
        unwind::install_hook();
        if world.ranks > MAX_RANKS {
            return Err(WorldError::Usage(format!(
                "{} ranks are more threads than a process can have; at most {MAX_RANKS}",
                world.ranks
            )));
        }
        if world.ranks == 0 {
            return Err(WorldError::Usage("a world has at least one rank".into()));
        }
        let (open, first) = Open::new();
        // Seats that were entered are ranks, even if the world that created them is closed.
        let alone = first && Live::count() == 0 && !unwind::is_rank();
        let machine = machine_for(world.ranks);
        let place = |machine: &Machine, alone| {
            let placed = machine.place(world.ranks, &world.bind, alone);
            placed.map_err(|error| WorldError::Usage(error.to_string()))
        };
        let (placement, near) = match &world.machine {
            None if caller && world.bind == Bind::Auto => {
                let placement = Placement::unpinned(world.ranks, Unpinned::Caller);
                let near = Near::of(&machine, &placement, &world.levels);
                (placement, near)
            }
            None => {
                let placement = place(&machine, alone)?;
                let near = Near::of(&machine, &placement, &world.levels);
                (placement, near)
            }
            Some(other) => {
                let near = Near::of(other, &place(other, true)?, &world.levels);
                (Placement::unpinned(world.ranks, Unpinned::StandIn), near)
            }
        };
        let tuning = tuning::of(world).map_err(WorldError::Usage)?;
        let usable = room_to_spin(&machine, &placement);
        let cpus = machine.usable;
        // A pinned rank stays where it is, and the threads of seats are not ours to move.
        let unpinned = placement.cpu.iter().all(Option::is_none) && !world.on_seats;
        let may_part = unpinned && world.ranks > 1 && !are_crowded(world.ranks, usable);
        let spots = || Arc::new(WaitingCpus::new(world.ranks, usize::from(caller), usable));
        let settings = Settings {
            cpus: usable,
            timeout: world.timeout,
            check: world.check,
            record: world.record,
            trace: world.trace,
            faults: world.faults.clone(),
            chooser: world.chooser.clone(),
            seed: world.seed,
            buffering: world.buffering,
            lanes: world.lanes,
            near: Arc::new(near),
            spots: may_part.then(spots),
            tuning: tuning.map(|table| -> Arc<dyn Any + Send + Sync> { table }),
        };
        Ok(Venue {
            settings,
            placement,
            cpus,
            strict: world.strict,
            #[cfg(all(unix, feature = "signal"))]
            dump: world.dump,
            _open: open,
        })
    }

    /// Whether a fabric may serve several runs: nothing else watches it.
    fn is_lasting(&self) -> bool {
        #[cfg(all(unix, feature = "signal"))]
        return !self.dump;
        #[cfg(not(all(unix, feature = "signal")))]
        true
    }

    fn ranks(&self) -> usize {
        self.placement.cpu.len()
    }

    /// What the ranks of a new run share; nothing of an earlier run is left in it.
    fn fabric(&self) -> Arc<Fabric> {
        let fabric = Fabric::new(self.ranks(), self.settings.clone());
        #[cfg(all(unix, feature = "signal"))]
        if self.dump {
            dump::watch(&fabric);
        }
        fabric
    }

    /// What each rank needs to begin.
    fn starts(&self, fabric: &Arc<Fabric>) -> Vec<Start> {
        let start = |(rank, pin)| Start {
            fabric: fabric.clone(),
            rank,
            pin,
        };
        self.pins().into_iter().enumerate().map(start).collect()
    }

    /// Where the ranks ran, except those that could not be pinned.
    fn placement(&self, refused: impl IntoIterator<Item = (Rank, PinError)>) -> Placement {
        let mut placement = self.placement.clone();
        for (rank, why) in refused {
            placement.refuse(rank, why);
        }
        placement
    }

    /// Where each rank is to be pinned.
    fn pins(&self) -> Vec<Option<Pin>> {
        let cpus = Arc::new(self.cpus.clone());
        let all = WaitGroup::new();
        let pin = |cpu| Pin {
            cpu,
            cpus: cpus.clone(),
            all: all.clone(),
        };
        self.placement.cpu.iter().map(|cpu| cpu.map(pin)).collect()
    }
}

/// The machine as far as it matters to `ranks` ranks: where they do not fit, its tree is ignored.
fn machine_for(ranks: usize) -> Machine {
    let cpus = Cpus::here();
    if ranks > cpus.mask.len() {
        Machine::flat(cpus)
    } else {
        Machine::remembered(cpus)
    }
}

/// The number of ranks that can spin without taking time from each other: one on each core where they are, or can be,
/// and no more than the CPU quota covers. The SMT threads of one core share the resources that a spinning one uses.
fn room_to_spin(machine: &Machine, placement: &Placement) -> usize {
    let pinned: Vec<usize> = placement.cpu.iter().flatten().copied().collect();
    let taken = if pinned.is_empty() {
        &machine.usable.mask
    } else {
        &pinned
    };
    let cores = match taken.len() {
        0 => usize::MAX,
        _ => machine.distinct_cores(taken),
    };
    cores.min(machine.usable.usable())
}

/// Counts the open worlds of this process.
struct Open(());

static OPEN: AtomicUsize = AtomicUsize::new(0);

impl Open {
    /// Counts a new world; the flag says whether it is the only open one.
    fn new() -> (Open, bool) {
        (Open(()), OPEN.fetch_add(1, Ordering::Relaxed) == 0)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The outcomes of the ranks, and the ranks that could not be pinned as they should.
#[expect(clippy::type_complexity)]
fn part<R, E>(lives: Vec<Lived<R, E>>) -> (Vec<Outcome<R, E>>, Vec<(Rank, PinError)>) {
    let mut refused = Vec::new();
    let ranks = lives.into_iter().enumerate().map(|(rank, lived)| {
        refused.extend(lived.unpinned.map(|why| (rank, why)));
        lived.outcome
    });
    (ranks.collect(), refused)
}

/// Starts one rank on a thread of its own.
fn spawn<'scope, R: Send + 'scope, E: Send + fmt::Display + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    start: Start,
    f: &'scope (impl Fn(&Comm) -> Result<R, E> + Sync),
) -> Result<thread::ScopedJoinHandle<'scope, Lived<R, E>>, WorldError<E>> {
    let (fabric, rank) = (start.fabric.clone(), start.rank);
    let spawned = thread::Builder::new()
        .name(format!("rank-{rank}"))
        .spawn_scoped(scope, move || start.live(f));
    spawned.map_err(|error| {
        // Ranks that are already running must not wait for it.
        fabric.record_end(
            rank,
            Gone::Failed("its thread could not be started".into()),
            None,
            None,
        );
        WorldError::Spawn { rank, error }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of ranks that may spin, of `ranks` ranks on a machine.
    fn room(text: &str, ranks: usize, bind: &Bind) -> usize {
        let machine = Machine::from_text(text).unwrap();
        let placement = machine.place(ranks, bind, true).unwrap();
        room_to_spin(&machine, &placement)
    }

    #[test]
    fn as_many_ranks_may_spin_as_there_are_cores_for_them() {
        let smt = "package:2 core:2 cpu:2";
        assert_eq!(room(smt, 4, &Bind::Core), 4, "one on each core");
        assert_eq!(room(smt, 4, &Bind::Compact), 2, "two on each of two cores");
        assert_eq!(room(smt, 8, &Bind::Auto), 4);
        assert_eq!(
            room(smt, 2, &Bind::None),
            4,
            "wherever they run, there are four cores"
        );
        assert_eq!(room("core:4", 4, &Bind::Compact), 4);
    }

    #[test]
    fn ranks_spin_only_where_none_of_them_shares_a_core_a_cpu_or_the_quota_with_another() {
        let smt = "package:2 core:2 cpu:2";
        for (machine, ranks, bind, spin) in [
            (smt, 4, Bind::Core, true),
            (smt, 4, Bind::Scatter, true),
            (smt, 2, Bind::Compact, false), // two SMT threads of one core
            (smt, 5, Bind::Auto, false),
            (smt, 4, Bind::None, true),
            (smt, 9, Bind::Auto, false), // more than CPUs
            (smt, 4, Bind::Cpus(vec![0, 2, 4, 6]), true),
            (smt, 4, Bind::Cpus(vec![0, 1, 2, 4]), false),
            ("core:4", 4, Bind::Cpus(vec![0, 1, 2]), false),
            ("core:4", 4, Bind::Auto, true),
            ("core:4", 5, Bind::Auto, false),
            ("core:4 quota=3.9", 4, Bind::Compact, false),
            ("core:4 quota=4", 4, Bind::Auto, true),
            ("core:4 quota=0.5", 2, Bind::Auto, false),
            ("core:4 mask=3", 2, Bind::Auto, false),
            (
                "{ core:2(kind=1) cpu:2 + core:4(kind=0) }",
                6,
                Bind::Auto,
                true,
            ),
            (
                "{ core:2(kind=1) cpu:2 + core:4(kind=0) }",
                3,
                Bind::Compact,
                false,
            ),
        ] {
            let crowded = are_crowded(ranks, room(machine, ranks, &bind));
            assert_eq!(!crowded, spin, "{ranks} ranks on {machine}, {bind:?}");
        }
    }

    #[test]
    fn shared_cpus_and_the_quota_leave_less_room() {
        assert_eq!(room("core:4", 4, &Bind::Cpus(vec![0, 1])), 2);
        assert_eq!(room("core:4 quota=2.5", 4, &Bind::Compact), 2);
        assert_eq!(room("core:4 quota=0.5", 1, &Bind::Compact), 1);
        assert_eq!(
            room("core:4 mask=1-2", 3, &Bind::Auto),
            2,
            "unpinned, as there are too few"
        );
    }
}
