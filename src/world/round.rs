//! One run of a team: the part of each rank, and what they come to.
//!
//! As in a run on fresh threads, only [`RoundOf`] and what it holds depend on the types of the program.

use std::fmt;
use std::mem;
use std::sync::Arc;

use super::WorldError;
use super::findings::Findings;
use super::outcome::{Outcome, Outcomes};
use super::pool::{Caller, Pool};
use super::rank::{Body, BodyOf, broken};
use super::report::{Report, settle};
use super::verdict::Verdict;
use crate::Rank;
use crate::comm::Comm;
use crate::error::Result;
use crate::transport::Fabric;
use crate::transport::reuse::fabric_reuse::{EndState, Reuse};

/// Where a rank stands after its part of a run.
#[derive(Clone, Copy)]
pub(super) enum Rest {
    /// It began no operation, and returned a value.
    Quiet,
    /// It returned a value, and stands here.
    At(EndState),
    /// The next run cannot continue where it stands.
    Unclean,
}

/// The outcome of a rank.
pub(super) enum Part<R, E> {
    /// It began no operation, and returned this value.
    Quiet(R),
    Told(Outcome<R, E>, Rest),
}

impl<R, E: fmt::Display> Part<R, E> {
    /// Runs `f` by `live`, which runs the body as a rank.
    pub(super) fn of<F>(f: &F, live: impl FnOnce(&mut dyn Body) -> Rest) -> Part<R, E>
    where
        F: Fn(&Comm) -> Result<R, E>,
    {
        let mut outcome = Outcome::Left;
        let rest = live(&mut BodyOf {
            f,
            outcome: &mut outcome,
        });
        match (outcome, rest) {
            (Outcome::Returned(value), Rest::Quiet) => Part::Quiet(value),
            (outcome, rest) => Part::Told(outcome, rest),
        }
    }
}

impl<R, E> Part<R, E> {
    fn outcome(this: Option<Self>) -> Outcome<R, E> {
        match this {
            Some(Part::Quiet(value)) => Outcome::Returned(value),
            Some(Part::Told(outcome, _)) => outcome,
            None => Outcome::of(broken()),
        }
    }
}

/// The outcomes of all ranks.
pub(super) enum Came<R, E> {
    /// All ranks were quiet.
    Quiet(Vec<R>),
    /// `None` for a rank in which something panicked while it ended.
    Told(Vec<Option<Part<R, E>>>),
}

impl<R, E> Came<R, E> {
    /// Adds the outcome of the next of `ranks` ranks.
    pub(super) fn push(&mut self, part: Option<Part<R, E>>, ranks: usize) {
        match (&mut *self, part) {
            (Came::Quiet(values), Some(Part::Quiet(value))) => values.push(value),
            (Came::Told(parts), part) => parts.push(part),
            (Came::Quiet(values), part) => {
                let mut parts = Vec::with_capacity(ranks);
                for value in mem::take(values) {
                    parts.push(Some(Part::Quiet(value)));
                }
                parts.push(part);
                *self = Came::Told(parts);
            }
        }
    }

    /// The values of a run that ended clean.
    fn values(self) -> Vec<R> {
        let parts = match self {
            Came::Quiet(values) => return values,
            Came::Told(parts) => parts,
        };
        let mut values = Vec::with_capacity(parts.len());
        for part in parts {
            if let Outcome::Returned(value) = Part::outcome(part) {
                values.push(value);
            }
        }
        values
    }

    fn outcomes(self) -> Vec<Outcome<R, E>> {
        let mut outcomes = Vec::new();
        match self {
            Came::Quiet(values) => {
                for value in values {
                    outcomes.push(Outcome::Returned(value));
                }
            }
            Came::Told(parts) => {
                for part in parts {
                    outcomes.push(Part::outcome(part));
                }
            }
        }
        outcomes
    }
}

/// A run of a team, with the types of the program erased.
pub(super) trait Round: Send {
    /// Runs the program on every rank.
    fn run(&mut self, pool: &Pool, caller: &mut Caller, fabric: &Arc<Fabric>, again: Option<Reuse>);

    /// Whether all ranks were quiet.
    fn is_quiet(&self) -> bool;

    /// Where each rank stands, in rank order; not called if all were quiet.
    fn rest(&self, rank: Rank) -> Rest;

    /// The outcomes of the ranks, for a report.
    fn outcomes(&mut self) -> &mut dyn Outcomes;
}

/// The [`Round`] of a closure.
pub(super) struct RoundOf<'f, F, R, E> {
    f: &'f F,
    came: Came<R, E>,
    /// What came, once a report needs it.
    outcomes: Option<Vec<Outcome<R, E>>>,
}

impl<'f, F, R, E> RoundOf<'f, F, R, E> {
    pub(super) fn new(f: &'f F) -> Self {
        RoundOf {
            f,
            came: Came::Quiet(Vec::new()),
            outcomes: None,
        }
    }

    /// The result of the run by its verdict.
    pub(super) fn settle(self, verdict: Result<(), Verdict>) -> Result<Vec<R>, WorldError<E>> {
        match (verdict, self.outcomes) {
            (Ok(()), None) => Ok(self.came.values()),
            (verdict, outcomes) => settle(verdict, outcomes.unwrap_or_default()),
        }
    }

    pub(super) fn report(self, findings: Findings) -> Report<R, E> {
        let outcomes = self.outcomes.unwrap_or_default();
        Report::new(outcomes, findings)
    }
}

impl<F, R, E> Round for RoundOf<'_, F, R, E>
where
    F: Fn(&Comm) -> Result<R, E> + Sync,
    R: Send,
    E: Send + fmt::Display,
{
    fn run(
        &mut self,
        pool: &Pool,
        caller: &mut Caller,
        fabric: &Arc<Fabric>,
        again: Option<Reuse>,
    ) {
        self.came = pool.run(caller, fabric, again, self.f);
    }

    fn is_quiet(&self) -> bool {
        matches!(self.came, Came::Quiet(_))
    }

    fn rest(&self, rank: Rank) -> Rest {
        match &self.came {
            Came::Quiet(_) => Rest::Quiet,
            Came::Told(parts) => match &parts[rank] {
                Some(Part::Quiet(_)) => Rest::Quiet,
                Some(Part::Told(_, rest)) => *rest,
                None => Rest::Unclean,
            },
        }
    }

    fn outcomes(&mut self) -> &mut dyn Outcomes {
        let came = mem::replace(&mut self.came, Came::Quiet(Vec::new()));
        self.outcomes.insert(came.outcomes())
    }
}
