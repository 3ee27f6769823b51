//! The simulator: the time of a schedule on a LogGP machine, for 2^20 ranks and more.
//!
//! # The cost of a step
//!
//! A rank has a clock, one outgoing port and one incoming port. The ports work concurrently. A rank reaches its first
//! active step at time 0, and every other one when it has completed the one before; idle steps take no time. For a
//! message of `b` bytes between two ranks with [`Link`] (L, o, g, G), let
//!
//! ```text
//! port(b)   = max(o, g) + b G          the time for which the message occupies a port at either end
//! travel(b) = L + 2 o + b G            its transit time
//! ```
//!
//! A rank that reaches a step at time `t`
//!
//! - has sent at `t + port(b)`, whether the receiver is ready or not: messages are *eager*;
//! - has received at `max(t + port(b), t' + travel(b))`, where `t'` is the time at which the sender reached this step:
//!   a message that arrives early still occupies its receiver's port, but only from time `t`;
//! - has folded, if it does, after the additional fold cost of every element;
//! - completes the step when it has sent, and received and folded; a local fold comes on top.
//!
//! Local copies cost nothing, and ports are the only resource that messages share: wires have unlimited capacity,
//! except where the ranks of a node [share a link](MachineModel::shared_links). With `g = L + 2 o` (see
//! [`MachineModel::alpha_beta_gamma`]) both are `α + n β`, and the result equals the closed formulas.
//!
//! # Cost
//!
//! The time is proportional to the number of (rank, step) pairs with an action; idle steps of long schedules are
//! skipped by [`Schedule::next_active`]. The memory is a few words per rank, regardless of the number of steps.
//!
//! The files:
//! - `machine`: links and machines;
//! - `run`: the ranks, step by step, with `agenda`, which ranks act next, and `blame`, which rank broke a law;
//! - `wires`: links shared by the ranks of a node;
//! - `busy_time`: the time for which each rank is busy;
//! - `path`: the critical path;
//! - `fault`: the error type.
//!
//! # Examples
//!
//! When do segments pay off on a chain of a thousand ranks?
//!
//! ```
//! use rankfold::schedule::{FoldAlong, Schedule};
//! use rankfold::simulate::{MachineModel, simulate};
//! use rankfold::topology::{OwnSteps, Topology};
//!
//! let chain = FoldAlong::new(OwnSteps::new(Topology::chain(1000)), 1 << 16).reversed();
//! let whole = simulate(&chain, &MachineModel::default()).unwrap().total;
//! let cut = simulate(&chain.pipelined(64, 1), &MachineModel::default()).unwrap().total;
//! assert!(cut < whole / 20.0);
//! ```

use crate::Rank;
use crate::schedule::Schedule;
use crate::sort;

mod agenda;
mod blame;
mod busy_time;
mod fault;
mod machine;
mod path;
mod run;
mod tally;
mod visit;
mod wires;

pub use busy_time::{BusyTime, BusyTimes, busy_times};
pub use fault::SimulateError;
pub use machine::{Link, MachineModel};
pub use path::{Cause, CriticalPath, CriticalStep, critical_path};

use run::{Loops, Simulation};

/// The maximum number of ranks: a schedule's claim about its size must not exhaust memory.
pub const MOST_RANKS: usize = 1 << 24;

/// The duration of a schedule, and the amount of data that it moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The time at which each rank has completed all its steps, in seconds.
    pub finish: Vec<f64>,
    /// The time at which the last rank is done.
    pub total: f64,
    /// The number of steps.
    pub steps: usize,
    /// The number of (rank, step) pairs with an action.
    pub active: u64,
    /// The number of messages, including empty ones.
    pub messages: u64,
    /// The total number of elements in all messages.
    pub elements: u128,
    /// The total number of bytes in all messages.
    pub bytes: u128,
}

impl Timing {
    /// The rank that is done last; the lowest if there are several.
    pub fn last(&self) -> Rank {
        latest(&self.finish).0
    }

    /// The time at which the first rank is done.
    ///
    /// # Examples
    ///
    /// Topologies that take equally long differ in when their ranks are done:
    ///
    /// ```
    /// use rankfold::schedule::FoldAlong;
    /// use rankfold::simulate::{MachineModel, simulate};
    /// use rankfold::topology::Topology;
    ///
    /// let machine = MachineModel::alpha_beta_gamma(1.0, 0.0, 0.0);
    /// let done = |tree: Topology| simulate(&FoldAlong::new(tree.single_port(), 1), &machine).unwrap();
    /// let (ring, star) = (done(Topology::chain(8)), done(Topology::flat_serial(8)));
    /// assert_eq!((ring.first(), ring.median(), ring.total), (1.0, 4.5, 7.0));
    /// assert_eq!((star.first(), star.median(), star.total), (1.0, 1.0, 7.0));
    /// ```
    pub fn first(&self) -> f64 {
        self.finish.iter().copied().reduce(f64::min).unwrap_or(0.0)
    }

    /// The time at which half of the ranks are done; between two ranks, the mean.
    pub fn median(&self) -> f64 {
        let mut times = self.finish.clone();
        sort::by_float(&mut times, |&time| (time, 0));
        let at = |place: usize| times.get(place).copied().unwrap_or(0.0);
        let length = times.len();
        (at(length.saturating_sub(1) / 2) + at(length / 2)) / 2.0
    }
}

/// Times a schedule. See the [module](self) for the cost of a step.
///
/// # Cost
///
/// 2^20 ranks with 40 steps each take less than a second in an optimised build, about ten nanoseconds per rank and
/// step; a `&dyn Schedule` takes longer than a statically known type. If many ranks act in a step, they are divided
/// among as many threads as the process has processors; the resulting times are bit-for-bit the same.
///
/// # Errors
///
/// A [`SimulateError`] with its culprit if the schedule breaks one of its laws: it then has messages without a peer, for which
/// ranks would wait forever. Messages are compared by 64-bit fingerprints of their ends and extents. For a complete
/// proof of a schedule use [`check`](crate::check::check); this function checks only what it relies on.
///
/// # Examples
///
/// ```
/// use rankfold::schedule::FoldAlong;
/// use rankfold::simulate::{MachineModel, simulate};
/// use rankfold::topology::Topology;
///
/// let tree = FoldAlong::new(Topology::binomial(1 << 10).single_port(), 100);
/// let timing = simulate(&tree, &MachineModel::alpha_beta_gamma(50.0, 1.0, 0.5)).unwrap();
/// assert_eq!(timing.total, 10.0 * (50.0 + 100.0 * (1.0 + 0.5)));
/// assert_eq!((timing.last(), timing.messages), (0, 1023));
/// ```
pub fn simulate<S: Schedule + ?Sized>(
    schedule: &S,
    machine: &MachineModel,
) -> Result<Timing, SimulateError> {
    finish(&schedule, &schedule, machine)
}

/// [`simulate`], compiled once but for the loops over the ranks.
fn finish(
    schedule: &dyn Schedule,
    loops: &dyn Loops,
    machine: &MachineModel,
) -> Result<Timing, SimulateError> {
    let mut run = Simulation::new(schedule, machine)?.with(loops);
    run.finish(&mut ())?;
    Ok(timing(run, schedule.steps(), machine))
}

/// Times a schedule as [`simulate`] does, but may stop early: after each step `go_on` receives the number of completed
/// steps and returns whether to continue. Returns `None` if stopped.
///
/// # Errors
///
/// As for [`simulate`].
///
/// # Examples
///
/// ```
/// use rankfold::collective::RingReduceScatter;
/// use rankfold::simulate::{MachineModel, simulate, simulate_while};
///
/// let (ring, machine) = (RingReduceScatter::new(9, 90), MachineModel::default());
/// let mut steps = Vec::new();
/// let timing = simulate_while(&ring, &machine, &mut |done| {
///     steps.push(done);
///     true
/// })?;
/// assert_eq!((timing, steps), (Some(simulate(&ring, &machine)?), (1..=8).collect()));
/// assert_eq!(simulate_while(&ring, &machine, &mut |done| done < 3)?, None);
/// # Ok::<(), rankfold::simulate::SimulateError>(())
/// ```
pub fn simulate_while<S: Schedule + ?Sized>(
    schedule: &S,
    machine: &MachineModel,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Option<Timing>, SimulateError> {
    finish_while(&schedule, &schedule, machine, go_on)
}

/// [`simulate_while`], compiled once but for the loops over the ranks.
fn finish_while(
    schedule: &dyn Schedule,
    loops: &dyn Loops,
    machine: &MachineModel,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Option<Timing>, SimulateError> {
    let mut run = Simulation::new(schedule, machine)?.with(loops);
    while run.advance(&mut ())? {
        if !go_on(run.next()) {
            return Ok(None);
        }
    }
    Ok(Some(timing(run, schedule.steps(), machine)))
}

/// The timing of a completed run.
fn timing(run: Simulation<'_, dyn Schedule + '_>, steps: usize, machine: &MachineModel) -> Timing {
    let sums = run.sums;
    let finish = run.into_clock();
    Timing {
        total: latest(&finish).1,
        finish,
        steps,
        active: sums.visits,
        messages: sums.messages,
        elements: sums.elements,
        bytes: machine.bytes(sums.elements),
    }
}

/// The rank that is done last, the lowest if there are several, and its time.
fn latest(clock: &[f64]) -> (Rank, f64) {
    let later = |last: (Rank, f64), (rank, &end): (Rank, &f64)| {
        if end > last.1 { (rank, end) } else { last }
    };
    clock.iter().enumerate().fold((0, 0.0), later)
}
