//! The returns of the ranks of a team's run: values alone, as long as every rank was quiet.

use std::fmt;
use std::mem;

use super::outcome::Outcome;
use super::rank::{Body, BodyOf, broken};
use crate::comm::Comm;
use crate::error::Result;
use crate::transport::reuse::fabric_reuse::EndState;

/// The state of a rank after its part of a run.
#[derive(Clone, Copy)]
pub(super) enum Continuation {
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
    Active(Outcome<R, E>, Continuation),
}

impl<R, E: fmt::Display> Part<R, E> {
    /// Runs `f` by `live`, which runs the body as a rank.
    pub(super) fn of<F>(f: &F, live: impl FnOnce(&mut dyn Body) -> Continuation) -> Part<R, E>
    where
        F: Fn(&Comm) -> Result<R, E>,
    {
        let mut outcome = Outcome::Left;
        let rest = live(&mut BodyOf {
            f,
            outcome: &mut outcome,
        });
        match (outcome, rest) {
            (Outcome::Returned(value), Continuation::Quiet) => Part::Quiet(value),
            (outcome, rest) => Part::Active(outcome, rest),
        }
    }
}

impl<R, E> Part<R, E> {
    pub(super) fn outcome(this: Option<Self>) -> Outcome<R, E> {
        match this {
            Some(Part::Quiet(value)) => Outcome::Returned(value),
            Some(Part::Active(outcome, _)) => outcome,
            None => Outcome::of(broken()),
        }
    }
}

/// The outcomes of all ranks.
pub(super) enum Returned<R, E> {
    /// All ranks were quiet.
    Quiet(Vec<R>),
    /// `None` for a rank in which something panicked while it ended.
    Parts(Vec<Option<Part<R, E>>>),
}

impl<R, E> Returned<R, E> {
    /// Adds the outcome of the next of `ranks` ranks.
    pub(super) fn push(&mut self, part: Option<Part<R, E>>, ranks: usize) {
        match (&mut *self, part) {
            (Returned::Quiet(values), Some(Part::Quiet(value))) => values.push(value),
            (Returned::Parts(parts), part) => parts.push(part),
            (Returned::Quiet(values), part) => {
                let mut parts = Vec::with_capacity(ranks);
                for value in mem::take(values) {
                    parts.push(Some(Part::Quiet(value)));
                }
                parts.push(part);
                *self = Returned::Parts(parts);
            }
        }
    }

    /// The values of a run that ended clean.
    pub(super) fn values(self) -> Vec<R> {
        let parts = match self {
            Returned::Quiet(values) => return values,
            Returned::Parts(parts) => parts,
        };
        let mut values = Vec::with_capacity(parts.len());
        for part in parts {
            if let Outcome::Returned(value) = Part::outcome(part) {
                values.push(value);
            }
        }
        values
    }

    pub(super) fn outcomes(self) -> Vec<Outcome<R, E>> {
        let mut outcomes = Vec::new();
        match self {
            Returned::Quiet(values) => {
                for value in values {
                    outcomes.push(Outcome::Returned(value));
                }
            }
            Returned::Parts(parts) => {
                for part in parts {
                    outcomes.push(Part::outcome(part));
                }
            }
        }
        outcomes
    }
}
