//! One run of a team: the part of each rank, and what they come to.
//!
//! As in a run on fresh threads, only [`TeamRunOf`] and what it holds depend on the types of the program.

use std::fmt;
use std::mem;
use std::sync::Arc;

use super::WorldError;
use super::findings::Findings;
use super::outcome::{Outcome, Outcomes};
use super::pool::{Caller, Pool};
use super::report::{Report, settle};
use super::returned::Returned;
use super::verdict::Verdict;
use crate::comm::Comm;
use crate::error::Result;
use crate::transport::Fabric;
use crate::transport::reuse::fabric_reuse::Reuse;

/// A run of a team, with the types of the program erased.
pub(super) trait TeamRun: Send {
    /// Runs the program on every rank.
    fn run(&mut self, pool: &Pool, caller: &mut Caller, fabric: &Arc<Fabric>, again: Option<Reuse>);

    /// The outcomes of the ranks, for a report.
    fn outcomes(&mut self) -> &mut dyn Outcomes;
}

/// The [`TeamRun`] of a closure.
pub(super) struct TeamRunOf<'f, F, R, E> {
    f: &'f F,
    returned: Returned<R, E>,
    /// The returns of the ranks, once a report needs them.
    outcomes: Option<Vec<Outcome<R, E>>>,
}

impl<'f, F, R, E> TeamRunOf<'f, F, R, E> {
    pub(super) fn new(f: &'f F) -> Self {
        TeamRunOf {
            f,
            returned: Returned::Values(Vec::new()),
            outcomes: None,
        }
    }

    /// The result of the run by its verdict.
    pub(super) fn settle(self, verdict: Result<(), Verdict>) -> Result<Vec<R>, WorldError<E>> {
        match (verdict, self.outcomes) {
            (Ok(()), None) => Ok(self.returned.values()),
            (verdict, outcomes) => settle(verdict, outcomes.unwrap_or_default()),
        }
    }

    pub(super) fn report(self, findings: Findings) -> Report<R, E> {
        let outcomes = self.outcomes.unwrap_or_default();
        Report::new(outcomes, findings)
    }
}

impl<F, R, E> TeamRun for TeamRunOf<'_, F, R, E>
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
        self.returned = pool.run(caller, fabric, again, self.f);
    }

    fn outcomes(&mut self) -> &mut dyn Outcomes {
        let returned = mem::replace(&mut self.returned, Returned::Values(Vec::new()));
        self.outcomes.insert(returned.outcomes())
    }
}
