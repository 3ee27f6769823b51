//! The returns of the ranks of a team's run: values alone, as long as every rank returned one.

use std::fmt;
use std::mem;
use std::sync::OnceLock;

use parking_lot::Mutex;

use super::outcome::Outcome;
use super::rank::{Body, BodyOf, broken};
use crate::Rank;
use crate::comm::Comm;
use crate::error::Result;
use crate::transport::Fabric;
use crate::transport::reuse::fabric_reuse::EndState;

/// Whether the next run can continue where a rank stands after its part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Continuation {
    /// It began no operation, and returned a value.
    Quiet,
    /// It returned a value, and is in another state than before.
    Moved,
    /// It cannot.
    Unclean,
}

/// Where the ranks stand between two runs.
pub(super) struct Standing {
    /// Whether the next run can continue there.
    pub end: Continuation,
    /// The state of each rank since it last moved.
    pub rests: Vec<EndState>,
}

impl Standing {
    /// Where ranks stand that have not run.
    pub(super) fn new() -> Standing {
        Standing {
            end: Continuation::Quiet,
            rests: Vec::new(),
        }
    }

    /// Notes how a rank has ended; the worst end counts for all.
    pub(super) fn note(&mut self, rank: Rank, end: Continuation, rest: impl FnOnce() -> EndState) {
        if end == Continuation::Moved {
            self.rests[rank] = rest();
        }
        self.end = self.end.max(end);
    }

    /// Whether the next run can begin in the same fabric.
    pub(super) fn is_clean(&self, fabric: &Fabric) -> bool {
        match self.end {
            Continuation::Quiet => true,
            Continuation::Moved => fabric.ended_clean(self.rests.iter().copied()),
            Continuation::Unclean => false,
        }
    }
}

/// The outcome of a rank, and how it can continue.
pub(super) enum RankOutcome<R, E> {
    /// It returned this value.
    Value(R, Continuation),
    Other(Outcome<R, E>, Continuation),
}

impl<R, E: fmt::Display> RankOutcome<R, E> {
    /// Runs `f` by `live`, which runs the body as a rank.
    pub(super) fn of<F>(
        f: &F,
        live: impl FnOnce(&mut dyn Body) -> Continuation,
    ) -> RankOutcome<R, E>
    where
        F: Fn(&Comm) -> Result<R, E>,
    {
        let mut outcome = Outcome::Left;
        let end = live(&mut BodyOf {
            f,
            outcome: &mut outcome,
        });
        match outcome {
            Outcome::Returned(value) => RankOutcome::Value(value, end),
            outcome => RankOutcome::Other(outcome, end),
        }
    }
}

impl<R, E> RankOutcome<R, E> {
    pub(super) fn end(&self) -> Continuation {
        match self {
            RankOutcome::Value(_, end) | RankOutcome::Other(_, end) => *end,
        }
    }

    /// The same; a rank in which something panicked while it ended has no outcome.
    pub(super) fn end_of(this: &Option<Self>) -> Continuation {
        this.as_ref()
            .map_or(Continuation::Unclean, RankOutcome::end)
    }

    pub(super) fn outcome(this: Option<Self>) -> Outcome<R, E> {
        match this {
            Some(RankOutcome::Value(value, _)) => Outcome::Returned(value),
            Some(RankOutcome::Other(outcome, _)) => outcome,
            None => Outcome::of(broken()),
        }
    }
}

/// The outcomes of ranks whose answers had no room for them.
pub(super) struct LargeOutcomes<R, E> {
    pub ranks: usize,
    of_ranks: OnceLock<Vec<Room<R, E>>>,
}

/// Room for the outcome of a rank.
type Room<R, E> = Mutex<Option<RankOutcome<R, E>>>;

impl<R, E> LargeOutcomes<R, E> {
    pub(super) fn new(ranks: usize) -> Self {
        LargeOutcomes {
            ranks,
            of_ranks: OnceLock::new(),
        }
    }

    pub(super) fn put(&self, rank: Rank, outcome: RankOutcome<R, E>) {
        *self.of_rank(rank).lock() = Some(outcome);
    }

    pub(super) fn take(&self, rank: Rank) -> Option<RankOutcome<R, E>> {
        self.of_rank(rank).lock().take()
    }

    fn of_rank(&self, rank: Rank) -> &Room<R, E> {
        let rooms = self.of_ranks.get_or_init(|| {
            let mut rooms = Vec::with_capacity(self.ranks);
            for _ in 0..self.ranks {
                rooms.push(Mutex::new(None));
            }
            rooms
        });
        &rooms[rank]
    }
}

/// The outcomes of all ranks.
pub(super) enum Returned<R, E> {
    /// All ranks returned values.
    Values(Vec<R>),
    Outcomes(Vec<Outcome<R, E>>),
}

impl<R, E> Returned<R, E> {
    /// Adds the outcome of the next of `ranks` ranks.
    pub(super) fn push(&mut self, part: Option<RankOutcome<R, E>>, ranks: usize) {
        match (&mut *self, part) {
            (Returned::Values(values), Some(RankOutcome::Value(value, _))) => values.push(value),
            (Returned::Outcomes(outcomes), part) => outcomes.push(RankOutcome::outcome(part)),
            (Returned::Values(values), part) => {
                let mut outcomes = Vec::with_capacity(ranks);
                for value in mem::take(values) {
                    outcomes.push(Outcome::Returned(value));
                }
                outcomes.push(RankOutcome::outcome(part));
                *self = Returned::Outcomes(outcomes);
            }
        }
    }

    /// The values of a run that ended clean.
    pub(super) fn values(self) -> Vec<R> {
        match self {
            Returned::Values(values) => values,
            // A rank that ended otherwise is never clean.
            Returned::Outcomes(_) => Vec::new(),
        }
    }

    pub(super) fn outcomes(self) -> Vec<Outcome<R, E>> {
        let values = match self {
            Returned::Values(values) => values,
            Returned::Outcomes(outcomes) => return outcomes,
        };
        let mut outcomes = Vec::with_capacity(values.len());
        for value in values {
            outcomes.push(Outcome::Returned(value));
        }
        outcomes
    }
}
