//! The outcome of one rank, and how all ranks ended whatever the program returns.

use std::fmt;
use std::sync::Arc;

use crate::Rank;
use crate::error::Error;
use crate::unwind::Panic;

/// The outcome of one rank.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome<R, E = Error> {
    /// It returned this value.
    Returned(R),
    /// It returned this error.
    Failed(E),
    /// It panicked.
    Panicked {
        /// The panic's message.
        message: Arc<str>,
        /// Its line, if the panic hook saw it.
        site: Option<Arc<str>>,
    },
    /// An injected [`Fault::Return`](crate::Fault::Return) ended it early.
    Left,
}

impl<R, E> Outcome<R, E> {
    pub(super) fn of(Panic { message, site }: Panic) -> Self {
        Outcome::Panicked { message, site }
    }

    /// The end of the rank, without its return value.
    fn end(&self) -> End {
        match self {
            Outcome::Returned(_) => End::Returned,
            Outcome::Failed(_) => End::Failed,
            Outcome::Panicked { .. } => End::Panicked,
            Outcome::Left => End::Left,
        }
    }

    /// Returns the value that the rank returned, if it did.
    pub fn value(&self) -> Option<&R> {
        match self {
            Outcome::Returned(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn into_error(self) -> Option<E> {
        match self {
            Outcome::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the error that the rank returned, if it did.
    pub fn error(&self) -> Option<&E> {
        match self {
            Outcome::Failed(error) => Some(error),
            _ => None,
        }
    }
}

/// The end of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Returned,
    Failed,
    Panicked,
    Left,
}

/// How ranks ended.
pub(super) trait Ends {
    fn ranks(&self) -> usize;

    /// The end of a rank.
    fn end(&self, rank: Rank) -> End;
}

/// The outcomes of all ranks of this process, with the types of the program erased.
pub(super) trait Outcomes: Ends {
    /// Replaces the outcome of a rank.
    fn panicked(&mut self, rank: Rank, panic: Panic);
}

impl dyn Ends + '_ {
    /// The ends of the ranks, in rank order.
    pub(super) fn ends(&self) -> impl Iterator<Item = End> {
        (0..self.ranks()).map(|rank| self.end(rank))
    }

    /// Whether every rank returned a value.
    pub(super) fn are_whole(&self) -> bool {
        self.ends().all(|end| end == End::Returned)
    }
}

impl<R, E> Ends for Vec<Outcome<R, E>> {
    fn ranks(&self) -> usize {
        self.len()
    }

    fn end(&self, rank: Rank) -> End {
        self[rank].end()
    }
}

impl<R, E> Outcomes for Vec<Outcome<R, E>> {
    fn panicked(&mut self, rank: Rank, panic: Panic) {
        self[rank] = Outcome::of(panic);
    }
}

impl<R, E: fmt::Display> fmt::Display for Outcome<R, E> {
    /// Writes what the rank did, without its return value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Returned(_) => f.write_str("returned"),
            Outcome::Failed(error) => show_failed(f, error),
            Outcome::Panicked { message, site } => show_panicked(f, message, site.as_deref()),
            Outcome::Left => f.write_str("left early"),
        }
    }
}

pub(super) fn show_failed(f: &mut fmt::Formatter<'_>, error: &dyn fmt::Display) -> fmt::Result {
    write!(f, "failed: {error}")
}

pub(super) fn show_panicked(
    f: &mut fmt::Formatter<'_>,
    message: &str,
    site: Option<&str>,
) -> fmt::Result {
    match site {
        Some(site) => write!(f, "panicked at {site}: {message}"),
        None => write!(f, "panicked: {message}"),
    }
}
