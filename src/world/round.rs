//! One run of a team: the part of each rank, and what they come to.
//!
//! As in a run on fresh threads, only [`RoundOf`] and what it holds depend on the types of the program.

use std::fmt;
use std::mem;
use std::sync::Arc;

use super::WorldError;
use super::came::{Came, Part, Rest};
use super::findings::Findings;
use super::outcome::{Outcome, Outcomes};
use super::pool::{Caller, Pool};
use super::report::{Report, settle};
use super::verdict::Verdict;
use crate::Rank;
use crate::comm::Comm;
use crate::error::Result;
use crate::transport::Fabric;
use crate::transport::reuse::fabric_reuse::Reuse;

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
