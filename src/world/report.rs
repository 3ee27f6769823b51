//! The outcome of a run, rank by rank: [`Report`], a thin front for the outcomes and what the run left behind.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::WorldError;
use super::findings::{Counts, Findings, Grounds};
use super::left::{Lost, all_lost, all_unfinished};
use super::outcome::{Ends, Outcome};
use super::trace::Trace;
use super::verdict::Verdict;
use crate::Rank;
use crate::error::{Deadlock, Error, Mismatch};
use crate::machine::Placement;
use crate::names::Transport;
use crate::transport::Unfinished;
use crate::transport::trace::operation::Operation;

/// The outcome of a run of a world.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report<R, E = Error> {
    /// The outcome of each rank of this process, in rank order.
    pub outcomes: Vec<Outcome<R, E>>,
    /// The first rank of this process, whose outcome comes first; 0 unless the world is spread over processes.
    pub first_rank: Rank,
    /// The rank to blame for the failures, if there is one: the first that failed by itself, or that left while other
    /// ranks needed it.
    pub culprit: Option<Rank>,
    /// The deadlocks, in the order in which they were found.
    pub deadlocks: Vec<Arc<Deadlock>>,
    /// The mismatch that broke a communicator, or that the ranks' records prove although no rank noticed it, if there
    /// is one.
    pub mismatch: Option<Arc<Mismatch>>,
    /// Messages that were sent and never received, in no particular order.
    pub lost: Vec<Lost>,
    /// Requests that were neither waited for nor cancelled, of ranks that returned.
    pub unfinished: Vec<Unfinished>,
    /// The placement of the ranks.
    pub placement: Placement,
    /// What carried the messages.
    pub transport: Transport,
    /// The activity of each rank.
    pub counts: Vec<Counts>,
    /// The seed that chose messages, in a [seeded](crate::World::seed) world.
    pub seed: Option<u64>,
    /// The time from the start of the first thread to the end of the last.
    pub wall: Duration,
    grounds: Grounds,
}

impl<R, E> Report<R, E> {
    pub(super) fn new(outcomes: Vec<Outcome<R, E>>, findings: Findings) -> Self {
        Report {
            outcomes,
            first_rank: findings.grounds.elsewhere.first,
            culprit: findings.culprit,
            deadlocks: findings.deadlocks,
            mismatch: findings.mismatch,
            lost: findings.lost,
            unfinished: findings.unfinished,
            placement: findings.placement,
            transport: findings.transport,
            counts: findings.counts,
            seed: findings.seed,
            wall: findings.wall,
            grounds: findings.grounds,
        }
    }

    fn apart(self) -> (Vec<Outcome<R, E>>, Findings) {
        let findings = Findings {
            culprit: self.culprit,
            deadlocks: self.deadlocks,
            mismatch: self.mismatch,
            lost: self.lost,
            unfinished: self.unfinished,
            placement: self.placement,
            transport: self.transport,
            counts: self.counts,
            seed: self.seed,
            wall: self.wall,
            grounds: self.grounds,
        };
        (self.outcomes, findings)
    }

    /// Returns the last 64 operations of each rank, oldest first; none if the world does not
    /// [record](crate::World::record). The report prints the last few of them if the run failed.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Progress, World};
    ///
    /// let report = World::new(2).run_each(|comm| match comm.rank() {
    ///     0 => comm.recv::<u8>(1, 7).map(|_| ()), // rank 1 never sends it
    ///     _ => comm.send(0, 8, &[1u8]),
    /// });
    /// let recent = report.recent();
    /// assert_eq!(recent[0].last().unwrap().call, "recv(from 1, tag 7)");
    /// assert_eq!(recent[0].last().unwrap().progress, Progress::Failed);
    /// assert_eq!(recent[1].last().unwrap().call, "send(to 0, tag 8, 1 x u8)");
    /// ```
    pub fn recent(&self) -> Vec<Vec<Operation>> {
        self.grounds.recent.operations()
    }

    /// Returns the full trace of the run, if the world [traced](crate::World::trace) it.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let report = World::new(2).trace(true).run_each(|comm| {
    ///     comm.all_reduce(&mut [comm.rank()], op::Sum)
    /// });
    /// let trace = report.trace().unwrap();
    /// assert_eq!((trace.calls.len(), trace.messages.len()), (2, 2));
    /// ```
    pub fn trace(&self) -> Option<Trace> {
        self.grounds.recent.trace()
    }

    /// Returns the results in rank order if every rank returned one, and otherwise the error of the first culprit.
    ///
    /// Lost messages and unfinished requests print one line each, or are an error in a [strict](crate::World::strict)
    /// world. If the environment variable `RANKFOLD_RECENT` is set, and not to 0, a failed run prints the last operations
    /// of each rank on standard error. A failed run with a seed prints the seed.
    ///
    /// # Errors
    ///
    /// As [`World::run`](crate::World::run).
    pub fn into_result(self) -> Result<Vec<R>, WorldError<E>> {
        let (outcomes, findings) = self.apart();
        settle(findings.conclude(&outcomes), outcomes)
    }

    /// The same without printing anything about a failure.
    pub(crate) fn judged(self) -> Result<Vec<R>, WorldError<E>> {
        let (outcomes, findings) = self.apart();
        settle(findings.judge(&outcomes), outcomes)
    }
}

/// The result of a run by its verdict: the values that the ranks returned, or the error.
pub(super) fn settle<R, E>(
    verdict: Result<(), Verdict>,
    mut outcomes: Vec<Outcome<R, E>>,
) -> Result<Vec<R>, WorldError<E>> {
    if let Err(verdict) = verdict {
        return Err(WorldError::new(verdict, &mut outcomes));
    }
    // A loop, as adapters would be compiled for every type of value.
    let mut values = Vec::with_capacity(outcomes.len());
    for outcome in outcomes {
        if let Outcome::Returned(value) = outcome {
            values.push(value);
        }
    }
    Ok(values)
}

impl<R, E: fmt::Display> fmt::Display for Report<R, E> {
    /// Writes the outcome of each rank, and what was lost; for a failed run also the last operations of each rank.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rank, outcome) in self.outcomes.iter().enumerate() {
            show_rank(f, rank, self.first_rank + rank, outcome)?;
        }
        let whole = (&self.outcomes as &dyn Ends).are_whole();
        let (lost, unfinished) = (&self.lost, &self.unfinished);
        self.grounds
            .show(f, whole, lost, unfinished, self.mismatch.as_deref())
    }
}

fn show_rank(
    f: &mut fmt::Formatter<'_>,
    place: usize,
    rank: Rank,
    outcome: &dyn fmt::Display,
) -> fmt::Result {
    let gap = if place == 0 { "" } else { "\n" };
    write!(f, "{gap}rank {rank} {outcome}")
}

impl Grounds {
    /// Writes what the run left behind, of a run in which `whole` says whether every rank returned.
    fn show(
        &self,
        f: &mut fmt::Formatter<'_>,
        whole: bool,
        lost: &[Lost],
        unfinished: &[Unfinished],
        mismatch: Option<&Mismatch>,
    ) -> fmt::Result {
        if !lost.is_empty() {
            write!(f, "\n{}", all_lost(lost))?;
        }
        if !unfinished.is_empty() {
            write!(f, "\n{}", all_unfinished(unfinished))?;
        }
        if let Some(mismatch) = mismatch.filter(|_| self.unnoticed) {
            write!(f, "\n{mismatch}")?;
        }
        if !whole && self.recent.is_kept() {
            write!(f, "\n{}", self.recent)?;
        }
        Ok(())
    }
}
