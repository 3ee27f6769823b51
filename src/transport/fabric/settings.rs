//! What is set for a whole world before it starts, and the faults that tests inject.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use crate::Rank;
use crate::machine::Near;
use crate::names::Transport;
use crate::transport::deadlock::choice::Chooser;
use crate::transport::memory::eager_limit::Buffering;
use crate::transport::progress::cpu_collision::WaitingCpus;

/// Settings of the whole world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Number of CPUs that the ranks share; 0 if not known yet.
    pub cpus: usize,
    /// The same of the machine that collectives plan for.
    pub planned: usize,
    /// Whether the ranks of every process take turns on one CPU. The same in all processes.
    pub in_turns: bool,
    /// Number of ranks for which the CPU quota lasts if they all run without interruption.
    pub covered: usize,
    /// The watchdog's limit for one wait.
    pub timeout: Option<Duration>,
    /// Whether every collective begins with a consistency check.
    pub check: bool,
    /// Whether the last operations of each rank are recorded.
    pub record: bool,
    /// Whether all operations are recorded.
    pub trace: bool,
    /// Injected faults: the rank, the number of the operation, the fault.
    pub faults: Vec<(Rank, u64, Fault)>,
    /// Chooses among messages that could be received; `None`: the first to arrive.
    pub chooser: Option<Arc<dyn Chooser>>,
    /// The seed, for reports and for everything drawn at random.
    pub seed: Option<u64>,
    /// The buffering mode.
    pub buffering: Buffering,
    /// What carries the messages.
    pub transport: Transport,
    /// Which part of the machine each rank is in.
    pub near: Arc<Near>,
    /// The CPUs on which ranks wait, if colliding ranks may move to other CPUs.
    pub spots: Option<Arc<WaitingCpus>>,
    /// Data that the layers above consult to choose an algorithm. It is the same on all ranks.
    pub tuning: Option<Arc<dyn Any + Send + Sync>>,
}

/// A fault injected by a test, see [`World::inject`](crate::World::inject).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The operation panics.
    Panic,
    /// The operation fails with [`ErrorKind::Injected`](crate::ErrorKind::Injected).
    Error,
    /// The rank's closure ends at the operation, as if it had returned early.
    Return,
    /// The rank sleeps for some milliseconds before it goes on, so that the others overtake it.
    Delay,
}
