//! Why a run failed, in one sentence: [`WorldError`].

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::mem;
use std::sync::Arc;

use super::elsewhere::FarEnd;
use super::left::{Lost, all_lost, show_lost, show_unfinished};
use super::outcome::{Outcome, show_failed, show_panicked};
use super::verdict::{Refused, Verdict};
use crate::Rank;
use crate::error::{Deadlock, Error, Gone, Mismatch};
use crate::transport::Unfinished;

/// Why a run of a world failed: what the first culprit did.
#[non_exhaustive]
pub enum WorldError<E = Error> {
    /// A rank returned an error.
    Failed {
        /// The rank.
        rank: Rank,
        /// Its error.
        error: E,
    },
    /// A rank of another process returned an error.
    FailedElsewhere {
        /// The rank.
        rank: Rank,
        /// Its error, as printed.
        error: Arc<str>,
    },
    /// A rank panicked.
    Panicked {
        /// The rank.
        rank: Rank,
        /// The panic's message.
        message: Arc<str>,
        /// Its line, if the panic hook saw it.
        site: Option<Arc<str>>,
    },
    /// A rank returned while others still needed it.
    ReturnedEarly {
        /// The rank.
        rank: Rank,
        /// A rank that failed because it needed this one, and its error.
        needed_by: Option<(Rank, E)>,
        /// Messages that were sent and never received, perhaps because their tag differs from the requested one.
        /// Messages to the rank that needed this one come first.
        lost: Vec<Lost>,
    },
    /// Ranks waited for each other.
    Deadlock(Arc<Deadlock>),
    /// Ranks were in collective calls that do not match.
    Mismatch(Arc<Mismatch>),
    /// Messages were never received, in a [strict](crate::World::strict) world.
    Lost(Vec<Lost>),
    /// Requests were neither waited for nor cancelled, in a [strict](crate::World::strict) world.
    Unfinished(Vec<Unfinished>),
    /// The world's settings are invalid.
    Usage(String),
    /// The thread of a rank could not be started.
    Spawn {
        /// The rank.
        rank: Rank,
        /// The system's error.
        error: io::Error,
    },
}

impl<E> WorldError<E> {
    /// Returns the rank to blame, if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::World;
    /// let error = World::new(4).run(|comm| match comm.rank() {
    ///     2 => Ok(()), // does not enter the barrier
    ///     _ => comm.barrier(),
    /// });
    /// assert_eq!(error.unwrap_err().culprit(), Some(2));
    /// ```
    pub fn culprit(&self) -> Option<Rank> {
        match self {
            WorldError::Failed { rank, .. }
            | WorldError::FailedElsewhere { rank, .. }
            | WorldError::Panicked { rank, .. }
            | WorldError::ReturnedEarly { rank, .. }
            | WorldError::Spawn { rank, .. } => Some(*rank),
            WorldError::Mismatch(mismatch) => mismatch.odd.first().copied(),
            _ => None,
        }
    }

    /// Returns the error that the rank to blame returned, if it did and is a rank of this process.
    pub fn error(&self) -> Option<&E> {
        match self {
            WorldError::Failed { error, .. } => Some(error),
            _ => None,
        }
    }

    /// The same by value.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Error, ErrorKind, World};
    ///
    /// let failed = World::new(1).run(|_| "12x".parse::<i32>().map_err(Error::user)).unwrap_err();
    /// let ErrorKind::User(own) = failed.into_error().unwrap().into_kind() else { panic!() };
    /// assert!(own.downcast::<std::num::ParseIntError>().is_ok());
    /// ```
    pub fn into_error(self) -> Option<E> {
        match self {
            WorldError::Failed { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl<E> WorldError<E> {
    /// The error by this verdict, with the outcome of the rank to blame and of the rank that needed it.
    pub(super) fn new<R>(verdict: Verdict, outcomes: &mut [Outcome<R, E>]) -> Self {
        match verdict {
            Verdict::Blame {
                rank,
                needed_by,
                lost,
                first,
                far,
            } => {
                let mut take =
                    |rank: Rank| mem::replace(&mut outcomes[rank - first], Outcome::Left);
                match far.map_or_else(|| take(rank).into(), Blamed::from) {
                    Blamed::Failed(error) => WorldError::Failed { rank, error },
                    Blamed::FailedElsewhere(error) => WorldError::FailedElsewhere { rank, error },
                    Blamed::Panicked(message, site) => WorldError::Panicked {
                        rank,
                        message,
                        site,
                    },
                    Blamed::Returned => WorldError::ReturnedEarly {
                        rank,
                        needed_by: needed_by
                            .and_then(|rank| Some((rank, take(rank).into_error()?))),
                        lost,
                    },
                }
            }
            Verdict::Deadlock(deadlock) => WorldError::Deadlock(deadlock),
            Verdict::Mismatch(mismatch) => WorldError::Mismatch(mismatch),
            Verdict::Lost(lost) => WorldError::Lost(lost),
            Verdict::Unfinished(requests) => WorldError::Unfinished(requests),
            Verdict::Refused(refused) => refused.into(),
        }
    }
}

/// The end of the rank to blame.
enum Blamed<E> {
    Failed(E),
    FailedElsewhere(Arc<str>),
    Panicked(Arc<str>, Option<Arc<str>>),
    Returned,
}

impl<R, E> From<Outcome<R, E>> for Blamed<E> {
    fn from(outcome: Outcome<R, E>) -> Self {
        match outcome {
            Outcome::Failed(error) => Blamed::Failed(error),
            Outcome::Panicked { message, site } => Blamed::Panicked(message, site),
            Outcome::Returned(_) | Outcome::Left => Blamed::Returned,
        }
    }
}

impl<E> From<FarEnd> for Blamed<E> {
    fn from((why, site): FarEnd) -> Self {
        match why {
            Gone::Failed(error) => Blamed::FailedElsewhere(error),
            Gone::Panicked(message) => Blamed::Panicked(message, site),
            Gone::Returned => Blamed::Returned,
        }
    }
}

impl<E> From<Refused> for WorldError<E> {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Usage(what) => WorldError::Usage(what),
            Refused::Spawn { rank, error } => WorldError::Spawn { rank, error },
        }
    }
}

impl<E: fmt::Display> fmt::Display for WorldError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorldError::Failed { rank, error } => failed(f, *rank, error),
            WorldError::FailedElsewhere { rank, error } => failed(f, *rank, error),
            WorldError::Panicked {
                rank,
                message,
                site,
            } => panicked(f, *rank, message, site.as_deref()),
            WorldError::ReturnedEarly {
                rank,
                needed_by: Some((other, error)),
                lost,
            } => returned_early(f, *rank, Some((*other, error)), lost),
            WorldError::ReturnedEarly {
                rank,
                needed_by: None,
                lost,
            } => returned_early(f, *rank, None, lost),
            WorldError::Deadlock(deadlock) => deadlock.fmt(f),
            WorldError::Mismatch(mismatch) => mismatch.fmt(f),
            WorldError::Lost(lost) => show_lost(f, lost),
            WorldError::Unfinished(requests) => show_unfinished(f, requests),
            WorldError::Usage(what) => f.write_str(what),
            WorldError::Spawn { rank, error } => not_started(f, *rank, error),
        }
    }
}

fn failed(f: &mut fmt::Formatter<'_>, rank: Rank, error: &dyn fmt::Display) -> fmt::Result {
    write!(f, "rank {rank} ")?;
    show_failed(f, error)
}

fn panicked(
    f: &mut fmt::Formatter<'_>,
    rank: Rank,
    message: &str,
    site: Option<&str>,
) -> fmt::Result {
    write!(f, "rank {rank} ")?;
    show_panicked(f, message, site)
}

fn returned_early(
    f: &mut fmt::Formatter<'_>,
    rank: Rank,
    needed_by: Option<(Rank, &dyn fmt::Display)>,
    lost: &[Lost],
) -> fmt::Result {
    write!(f, "rank {rank} returned while other ranks still needed it")?;
    if let Some((other, error)) = needed_by {
        write!(f, "; rank {other} failed: {error}")?;
    }
    if lost.is_empty() {
        return Ok(());
    }
    write!(f, "; {}", all_lost(lost))
}

fn not_started(f: &mut fmt::Formatter<'_>, rank: Rank, error: &io::Error) -> fmt::Result {
    write!(f, "the thread of rank {rank} could not be started: {error}")
}

impl<E: fmt::Display> fmt::Debug for WorldError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `unwrap` prints this, as does a `main` that returns the error: the report serves better than the fields.
        fmt::Display::fmt(self, f)
    }
}

impl<E: fmt::Display + 'static> StdError for WorldError<E> {
    /// What the error of the rank to blame comes from, if that is an [`Error`] or a boxed error: its own text is in this
    /// one's. Of a thread that could not be started, the system's error.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            WorldError::Failed { error, .. } => source_of(error),
            WorldError::Spawn { error, .. } => Some(error),
            _ => None,
        }
    }
}

fn source_of(error: &dyn Any) -> Option<&(dyn StdError + 'static)> {
    let own = error.downcast_ref::<Error>();
    let boxed = || error.downcast_ref::<Box<dyn StdError + Send + Sync>>();
    match own {
        Some(own) => own.source(),
        None => boxed()?.source(),
    }
}
