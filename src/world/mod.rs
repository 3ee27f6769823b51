//! [`World`]: the number of ranks, where they run, and what happens when one fails.
//!
//! - `mod` the settings; `tuning`: the tuning table that its collectives follow, checked against this machine
//! - `setup` where its ranks run, decided before any of them begins; `carrier`: what carries their messages;
//!   `stand_in`: the machine that the environment names; `mappings`: how many threads there is room for
//! - `spread` worlds over several processes; `node`: the CPUs of a process that shares them; `elsewhere`: the ranks of
//!   other processes in the judgement of a run
//! - `run` one run on fresh threads
//! - `report` the outcome of a run; `outcome`: that of one rank; `error`: why it failed
//! - `findings` what a run left behind; `left`: messages and requests; `recent`: records; `verdict`: the judgement
//! - `trace` the full trace of a run; `perfetto`: its export for a viewer
//! - `dump` printing the state of a running world on a signal
//! - `team` ranks that stay for many runs; `team_threads`: its runs; `team_run`: one run; `pool`: its threads, and how
//!   jobs reach them; `inside`: which teams a thread belongs to
//! - `seat` ranks on threads that the library did not start
//! - `rank` the life of one rank on its thread

mod carrier;
#[cfg(all(unix, feature = "signal"))]
mod dump;
mod elsewhere;
mod error;
mod findings;
mod hand_over;
mod inside;
mod left;
mod mappings;
mod node;
mod outcome;
mod perfetto;
mod placed;
mod pool;
mod rank;
mod recent;
mod report;
mod returned;
mod run;
mod seat;
mod setup;
#[cfg(feature = "mpi")]
mod spread;
mod stand_in;
mod team;
mod team_run;
mod team_threads;
mod trace;
mod tuning;
mod verdict;

use std::sync::Arc;
use std::time::Duration;

pub use error::WorldError;
pub use findings::Counts;
pub use left::Lost;
pub use outcome::Outcome;
pub use report::Report;
pub use seat::{Seat, Seats};
#[cfg(feature = "mpi")]
pub use spread::Spread;
pub use team::Team;
pub use trace::{Trace, TracedCall, TracedMessage};

use crate::Rank;
use crate::collective::TuningTable;
#[cfg(doc)]
use crate::comm::Comm;
#[cfg(doc)]
use crate::machine::Placement;
use crate::machine::{Bind, Machine, ObjectKind};
use crate::names::Transport;
use crate::topology::Levels;
use crate::transport::Fault;
use crate::transport::deadlock::choice::{BySeed, Chooser};
use crate::transport::memory::eager_limit::Buffering;

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
#[doc(alias = "MPI_COMM_WORLD")]
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
    /// `None`: the one that the environment names.
    transport: Option<Transport>,
    /// The machine to plan for instead of the real one.
    machine: Option<Arc<Machine>>,
    /// The kinds of levels that collectives follow.
    levels: Vec<ObjectKind>,
    tuning: Option<Arc<TuningTable>>,
    /// Whether the caller starts the threads of its ranks.
    on_seats: bool,
    #[cfg(feature = "mpi")]
    spread: Spread,
}

impl World {
    /// Creates a world of `ranks` ranks: at least one. There may be more ranks than CPUs, as many as the system gives
    /// the process threads: on Linux, with its usual limits, some 15 000. A run of more is refused with
    /// [`WorldError::Usage`].
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
            transport: None,
            machine: None,
            levels: Levels::DEFAULT.to_vec(),
            tuning: None,
            on_seats: false,
            #[cfg(feature = "mpi")]
            spread: Spread::Off,
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
    /// This is for tests, and to see what would be chosen there: a test on two CPUs runs what a program runs on sixty-four.
    /// No rank is pinned, and [`Comm::split_by`] splits by the CPUs on which the ranks really run, so not by parts of that
    /// machine. Ranks wait as suits the CPUs that there are.
    ///
    /// Set the environment variable `RANKFOLD_MACHINE` to the [text](Machine::from_text) of a machine, as `core:64`, for
    /// worlds that do not choose. It is read once. On a stand-in no tuning table of this machine is followed, and a
    /// [binding](Bind::Cpus) names its CPUs. Worlds over several processes refuse one.
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
    /// use rankfold::machine::{ObjectKind, Machine};
    ///
    /// let world = World::new(16).machine(Machine::from_text("package:2 numa:2 l3:2 core:2")?);
    /// let levels = |world: World| {
    ///     let all = world.run(|comm| Ok(comm.levels().map(|levels| levels.to_string())));
    ///     all.map(|all| all[0].clone())
    /// };
    /// let nodes = levels(world.clone().levels(&[ObjectKind::Node]))?;
    /// assert_eq!(nodes.as_deref(), Some("16 ranks in 4 NUMA nodes in one"));
    /// assert_eq!(levels(world.levels(&[]))?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn levels(mut self, kinds: &[ObjectKind]) -> World {
        self.levels = kinds.to_vec();
        self
    }

    /// Makes collectives choose their algorithms by a table that was measured on this machine, instead of by numbers
    /// that suit most machines. All ranks follow the same table, so results repeat bit for bit; nothing is measured
    /// during the run. [`Comm::explain`] returns the choice and its measurement. Started and persistent collectives
    /// follow no table.
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
    /// [`TimedOut`](crate::ErrorKind::TimedOut), which lists what each rank is doing.
    ///
    /// Deadlocks need no watchdog: they are found at once, among hundreds of ranks on a CPU in half a second. It is for
    /// ranks that are stuck elsewhere: in a mutex, in input or output, in a loop.
    ///
    /// A rank whose memory another rank is using, perhaps in an operator that does not end, cannot leave its call
    /// before that has ended. The watchdog then prints once, on standard error, what each rank is doing, and the rank
    /// continues to wait. A rank from whose memory MPI sends a long message to another process, or into whose memory MPI
    /// receives one, waits as well, without that word.
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
    /// let WorldError::Deadlock(deadlock) = error else { panic!("{error}") };
    /// assert!(deadlock.stuck.iter().all(|stuck| stuck.needs_buffer));
    /// # Ok::<(), WorldError>(())
    /// ```
    pub fn buffering(mut self, buffering: Buffering) -> World {
        self.buffering = buffering;
        self
    }

    /// Sets what carries the messages. The default, [`Transport::Memory`], is what is fastest.
    ///
    /// With [`Transport::Channels`], every send and every collective of the run goes over lock-free crossbeam channels
    /// and nothing else: a message is copied into a packet, which goes through the channel of its receiver's mailbox,
    /// or in a collective through one from its sender to its receiver. No rank reads the memory of another. Algorithms
    /// that do so by default (`cells`, `direct`, `gate`) are executed by the messages of their schedules if they are
    /// named; a call that names none runs the best schedule of messages, whatever a [tuning table](Self::tuned) says.
    /// Semantics, reports and the detection of deadlocks are the same. [Windows](crate::Window) are memory over either
    /// transport, and a world that [checks](Self::check) calls compares them in shared words, which carry no data.
    ///
    /// Set the environment variable `RANKFOLD_TRANSPORT` to `channels` for worlds that do not choose. It is read once.
    /// An all_reduce that names no algorithm takes two to six times as long over channels. An algorithm of
    /// messages takes twice as long for short vectors, and about as long for long ones
    /// (`benches/results/channels-2-cores-epyc.md`).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Transport, World, op};
    /// use rankfold::collective::{Algorithm, Call, Collective};
    ///
    /// World::new(4).transport(Transport::Channels).run(|comm| {
    ///     let mut v = vec![comm.rank(); 1000];
    ///     comm.all_reduce(&mut v, op::Sum)?;
    ///     assert_eq!(v[0], 6);
    ///     let call = Call::new(Collective::AllReduce, comm.size(), 1000).commuting();
    ///     assert_eq!(comm.explain::<usize>(&call)?.algorithm, Algorithm::Exchange);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    pub fn transport(mut self, transport: Transport) -> World {
        self.transport = Some(transport);
        self
    }

    /// Sets whether each rank keeps its last 64 operations, for [`Report::recent`] and for the list that the
    /// watchdog prints.
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
    /// The world does not start if there is no such rank, if `nth` is 0, or if there is another fault at the same
    /// operation; a rank may end before the operation.
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
    /// cover anything beyond messages, such as clocks or shared memory. Where several things go wrong, the error that a rank
    /// gets may be that of whichever came first. A run that fails prints its seed.
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
}
