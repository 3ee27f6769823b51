//! The critical path: the chain of steps that determines the total time.
//!
//! The search runs backwards from the rank that is done last, and needs to know for every step of every rank whether
//! the rank waited for its message. That takes one word per step and rank, too much to keep for all. The run therefore
//! leaves marks, and is repeated from mark to mark, the last stretch first.

use super::machine::{MachineModel, Tolls};
use super::run::{Checkpoint, Simulation};
use super::visit::{Visit, Watch};
use super::{SimulateError, latest};
use crate::Rank;
use crate::schedule::Schedule;

/// The activity that fills a stretch of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The rank's outgoing port is occupied by its message to the peer; a fold of its own elements follows.
    Sends,
    /// The rank's incoming port is occupied by the peer's message; the folds follow.
    Receives,
    /// The peer's message is in transit, and the rank waits for it; the folds follow.
    Waits,
    /// The rank folds elements of its own; it is its own peer.
    Folds,
}

/// A stretch of the critical path: one step of one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CriticalStep {
    /// The rank that completes the step at the end of the stretch.
    pub rank: Rank,
    /// The step.
    pub step: usize,
    /// The rank at the other end of the message.
    pub peer: Rank,
    /// The activity that fills the stretch.
    pub cause: Cause,
    /// The time at which the rank (or, if it waits, the peer) reached the step.
    pub start: f64,
    /// The time at which the rank completed the step.
    pub end: f64,
}

/// A chain of steps, each of which begins when the previous one ends, from time 0 to the end of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct CriticalPath {
    /// The stretches in order of time.
    pub steps: Vec<CriticalStep>,
    /// The time at which the last rank is done.
    pub total: f64,
}

/// Finds a critical path of a schedule. If there are several, it ends at the lowest rank that is done last, and prefers
/// to stay at a rank that would have been equally late without the message.
///
/// # Cost
///
/// The time of three runs. In addition to the memory of a run, it needs memory proportional to the square root of the
/// number of ranks times the number of their active steps: 0.1 GB for 2^20 ranks and 2^26 active steps in total. The
/// path itself has at most one entry for each step.
///
/// # Errors
///
/// As [`simulate`](super::simulate).
///
/// # Examples
///
/// ```
/// use rankfold::schedule::{FoldAlong, Schedule};
/// use rankfold::simulate::{Cause, Link, MachineModel, critical_path};
/// use rankfold::topology::Topology;
///
/// let broadcast = FoldAlong::new(Topology::chain(4).single_port(), 10).reversed();
/// let link = Link { latency: 5.0, overhead: 0.0, gap: 0.0, per_byte: 1.0 };
/// let path = critical_path(&broadcast, &MachineModel::flat(link)).unwrap();
/// let route: Vec<_> = path.steps.iter().map(|step| (step.peer, step.rank, step.end)).collect();
/// assert_eq!(route, [(0, 1, 15.0), (1, 2, 30.0), (2, 3, 45.0)]);
/// assert!(path.steps.iter().all(|step| step.cause == Cause::Waits));
/// ```
pub fn critical_path<S: Schedule + ?Sized>(
    schedule: &S,
    machine: &MachineModel,
) -> Result<CriticalPath, SimulateError> {
    let tolls = Tolls::new(machine)?;
    if tolls.sharing_nodes(schedule.ranks()) > 0 {
        return Err(SimulateError::SharedLinks);
    }
    let (marks, clock) = marks(schedule, machine)?;
    let (last, total) = latest(&clock);
    let mut trail = Trail {
        rank: last,
        found: Vec::new(),
    };
    let mut until = usize::MAX;
    for mark in marks.into_iter().rev() {
        let step = mark.step;
        trail.follow(schedule, &log(schedule, tolls, mark, until)?);
        until = step;
    }
    Ok(CriticalPath {
        steps: trail.steps(schedule, &tolls),
        total,
    })
}

/// The marks from which the run can be repeated, the first at its start, and the finish time of each rank.
fn marks<S: Schedule + ?Sized>(
    schedule: &S,
    machine: &MachineModel,
) -> Result<(Vec<Checkpoint>, Vec<f64>), SimulateError> {
    let mut run = Simulation::new(schedule, machine)?;
    run.finish(&mut ())?;
    // If stretches had twice as many words as a mark, both would take equal amounts of memory.
    let ranks = schedule.ranks() as u64;
    let stretch = ranks + (2 * ranks).saturating_mul(run.sums.visits).isqrt();
    let mut run = Simulation::new(schedule, machine)?;
    let (mut marks, mut marked) = (vec![run.mark()], 0);
    while run.advance(&mut ())? {
        if run.sums.visits - marked >= stretch {
            marked = run.sums.visits;
            marks.push(run.mark());
        }
    }
    Ok((marks, run.into_clock()))
}

/// Repeats the run from a mark until just before a step.
fn log<S: Schedule + ?Sized>(
    schedule: &S,
    tolls: Tolls,
    mark: Checkpoint,
    until: usize,
) -> Result<Log, SimulateError> {
    let mut run = Simulation::resume(schedule, tolls, mark);
    let mut log = Log {
        until,
        steps: Vec::new(),
        waits: Vec::new(),
    };
    while run.next() < until && run.advance(&mut log)? {}
    Ok(log)
}

/// The actions of ranks in each step, and whether they waited.
struct Log {
    /// The first step that is not recorded.
    until: usize,
    /// Each step, with the index of its first word.
    steps: Vec<(usize, usize)>,
    /// The rank, and in the lowest bit whether it waited.
    waits: Vec<u32>,
}

impl Watch for Log {
    #[inline]
    fn saw(&mut self, rank: Rank, step: usize, visit: &Visit) {
        if step >= self.until {
            return;
        }
        if self.steps.last().is_none_or(|&(last, _)| last != step) {
            self.steps.push((step, self.waits.len()));
        }
        self.waits
            .push((rank as u32) << 1 | u32::from(visit.waited));
    }
}

/// The path found so far, starting at its end.
struct Trail {
    /// The rank where the search continues.
    rank: Rank,
    /// Step, rank, and whether the rank waited.
    found: Vec<(usize, Rank, bool)>,
}

impl Trail {
    /// Follows the path back to the start of the log.
    fn follow<S: Schedule + ?Sized>(&mut self, schedule: &S, log: &Log) {
        let mut end = log.waits.len();
        for &(step, first) in log.steps.iter().rev() {
            let mut words = log.waits[first..end].iter();
            if let Some(word) = words.find(|&word| (word >> 1) as Rank == self.rank) {
                self.back(schedule, step, word & 1 == 1);
            }
            end = first;
        }
    }

    fn back<S: Schedule + ?Sized>(&mut self, schedule: &S, step: usize, waited: bool) {
        self.found.push((step, self.rank, waited));
        if let Some(recv) = schedule.step(self.rank, step).recv.filter(|_| waited) {
            self.rank = recv.peer;
        }
    }

    /// The path in order of time, with the same sums of times as in the run.
    fn steps<S: Schedule + ?Sized>(self, schedule: &S, tolls: &Tolls) -> Vec<CriticalStep> {
        let mut at = 0.0;
        let entry = |(step, rank, waited)| {
            let step = critical_step(schedule, tolls, (step, rank, waited), at)?;
            at = step.end;
            Some(step)
        };
        self.found.into_iter().rev().filter_map(entry).collect()
    }
}

/// One step of a rank that begins at `start`; `None` if the rank only copies.
fn critical_step<S: Schedule + ?Sized>(
    schedule: &S,
    tolls: &Tolls,
    (number, rank, waited): (usize, Rank, bool),
    start: f64,
) -> Option<CriticalStep> {
    // Not infinite: the sum with an infinite time is a time.
    let never = f64::MIN;
    let (own, sender) = if waited {
        (never, start)
    } else {
        (start, never)
    };
    let step = schedule.step(rank, number);
    let visit = Visit::new(tolls, rank, &step, own, sender);
    let (cause, peer) = match (step.send, step.recv) {
        (Some(send), _) if !waited && visit.sent_last => (Cause::Sends, send.peer),
        (_, Some(recv)) if waited => (Cause::Waits, recv.peer),
        (_, Some(recv)) => (Cause::Receives, recv.peer),
        (Some(send), None) => (Cause::Sends, send.peer),
        (None, None) if visit.folding > 0.0 => (Cause::Folds, rank),
        (None, None) => return None,
    };
    Some(CriticalStep {
        rank,
        step: number,
        peer,
        cause,
        start,
        end: visit.end,
    })
}
