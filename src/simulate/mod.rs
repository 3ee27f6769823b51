//! The simulator: how long a schedule takes on a LogGP machine, for up to 2^20 ranks and more.
//!
//! # What a step costs
//!
//! A rank has one port out and one port in, which work at the same time, and a clock. It comes to its
//! first step at time 0, and to every other when it is done with the one before; steps in which it does
//! nothing it does not notice. For a message of `b` bytes between two ranks with [`Link`]
//! (L, o, g, G), let
//!
//! ```text
//! port(b)   = max(o, g) + b G          how long the message takes a port at either end
//! travel(b) = L + 2 o + b G            how long it is on its way
//! ```
//!
//! A rank that comes to a step at time `t`
//!
//! - has sent at `t + port(b)`, whether the receiver is there or not: messages are *eager*;
//! - has received at `max(t + port(b), t' + travel(b))`, where `t'` is when the sender came to this
//!   step: a message that came early still takes the port of its receiver, and only from then on;
//! - has folded, if it does, the fold cost of every element later;
//! - is done with the step when it has sent, and received and folded.
//!
//! Local copies cost nothing, and ports are the only thing that messages share: the wires are never
//! full, but where the ranks of a node [share a link](Machine::shared_links). With `g = L + 2 o` (see [`Machine::alpha_beta_gamma`]) both are `α + n β`, and what comes out
//! is what the closed formulas say.
//!
//! # Cost
//!
//! The time is in proportion to the number of (rank, step) in which a rank does something; idle steps
//! of long schedules are passed over by [`Schedule::next_active`]. The room is a few words a rank,
//! however many steps there are.
//!
//! The files, one idea each:
//! - `machine`: links and machines;
//! - `run`: the ranks in step, with `agenda`, who is up next, and `blame`, who broke a law;
//! - `wires`: links that the ranks of a node share;
//! - `load`: how busy ranks are;
//! - `path`: the critical path;
//! - `fault`: what can be wrong.
//!
//! # Examples
//!
//! When do segments pay on a chain of a thousand ranks?
//!
//! ```
//! use rankfold::schedule::{FoldAlong, Schedule};
//! use rankfold::simulate::{Machine, simulate};
//! use rankfold::topology::{OwnSteps, Topology};
//!
//! let chain = FoldAlong::new(OwnSteps::new(Topology::chain(1000)), 1 << 16).reversed();
//! let whole = simulate(&chain, &Machine::default()).unwrap().total;
//! let cut = simulate(&chain.pipelined(64, 1), &Machine::default()).unwrap().total;
//! assert!(cut < whole / 20.0);
//! ```

use crate::Rank;
use crate::schedule::Schedule;

mod agenda;
mod blame;
mod fault;
mod load;
mod machine;
mod path;
mod run;
mod wires;

pub use fault::Fault;
pub use load::{Load, Loads, loads};
pub use machine::{Link, Machine};
pub use path::{Cause, CriticalPath, Hop, critical_path};

use run::Run;

/// The most ranks that are timed: what a schedule says of its size is no reason to ask for all memory.
pub const MOST_RANKS: usize = 1 << 24;

/// How long a schedule takes, and what it moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// When each rank is done with all its steps, in seconds.
    pub finish: Vec<f64>,
    /// When the last rank is done.
    pub total: f64,
    /// The number of steps.
    pub steps: usize,
    /// The number of (rank, step) in which a rank does something.
    pub active: u64,
    /// The number of messages, empty ones included.
    pub messages: u64,
    /// The number of elements in all messages.
    pub elements: u128,
    /// The number of bytes in all messages.
    pub bytes: u128,
}

impl Timing {
    /// The rank that is done last; the lowest of them.
    pub fn last(&self) -> Rank {
        latest(&self.finish).0
    }
}

/// Times a schedule. See the [module](self) for what a step costs.
///
/// # Cost
///
/// 2^20 ranks with 40 steps each take less than a second in an optimised build, and some ten nanoseconds
/// a rank and step; a `&dyn Schedule` takes more than one whose type is known here. Where many ranks do
/// something in a step, as many threads as the process has processors share them; the times that come out
/// are the same to the last bit.
///
/// # Errors
///
/// A [`Fault`] with its culprit if the schedule breaks one of its laws: then there are messages without
/// their other end, for which ranks would wait for ever. Messages are compared by 64-bit fingerprints of
/// their ends and extents. For all that is to be shown of a schedule, there is
/// [`check`](crate::check::check); this looks only at what it needs.
///
/// # Examples
///
/// ```
/// use rankfold::schedule::FoldAlong;
/// use rankfold::simulate::{Machine, simulate};
/// use rankfold::topology::Topology;
///
/// let tree = FoldAlong::new(Topology::binomial(1 << 10).single_port(), 100);
/// let timing = simulate(&tree, &Machine::alpha_beta_gamma(50.0, 1.0, 0.5)).unwrap();
/// assert_eq!(timing.total, 10.0 * (50.0 + 100.0 * (1.0 + 0.5)));
/// assert_eq!((timing.last(), timing.messages), (0, 1023));
/// ```
pub fn simulate<S: Schedule + ?Sized>(schedule: &S, machine: &Machine) -> Result<Timing, Fault> {
    let mut run = Run::new(schedule, machine)?;
    run.finish(&mut ())?;
    Ok(timing(run, schedule.steps(), machine))
}

/// Times a schedule as [`simulate`] does, as long as it is wanted: `go_on` is told after each step how many are done, and says
/// whether to go on. `None` if not.
///
/// # Errors
///
/// Those of [`simulate`].
///
/// # Examples
///
/// ```
/// use rankfold::collective::RingReduceScatter;
/// use rankfold::simulate::{Machine, simulate, simulate_while};
///
/// let (ring, machine) = (RingReduceScatter::new(9, 90), Machine::default());
/// let mut steps = Vec::new();
/// let timing = simulate_while(&ring, &machine, &mut |done| {
///     steps.push(done);
///     true
/// })?;
/// assert_eq!((timing, steps), (Some(simulate(&ring, &machine)?), (1..=8).collect()));
/// assert_eq!(simulate_while(&ring, &machine, &mut |done| done < 3)?, None);
/// # Ok::<(), rankfold::simulate::Fault>(())
/// ```
pub fn simulate_while<S: Schedule + ?Sized>(
    schedule: &S,
    machine: &Machine,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Option<Timing>, Fault> {
    let mut run = Run::new(schedule, machine)?;
    while run.advance(&mut ())? {
        if !go_on(run.next()) {
            return Ok(None);
        }
    }
    Ok(Some(timing(run, schedule.steps(), machine)))
}

/// What came of a run that is over.
fn timing<S: Schedule + ?Sized>(run: Run<'_, S>, steps: usize, machine: &Machine) -> Timing {
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

/// The rank that is done last, the lowest of them, and when.
fn latest(clock: &[f64]) -> (Rank, f64) {
    let later = |last: (Rank, f64), (rank, &end): (Rank, &f64)| {
        if end > last.1 { (rank, end) } else { last }
    };
    clock.iter().enumerate().fold((0, 0.0), later)
}
