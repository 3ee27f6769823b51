//! Why a communicator broke.

use std::sync::Arc;

use super::kind::nothing_came;
use super::{Deadlock, Error, ErrorKind, Gone, Mismatch};
use crate::Rank;

/// Why a communicator broke; every later collective on it fails with this.
#[derive(Clone, Debug)]
pub(crate) enum Cause {
    Gone {
        rank: Rank,
        why: Gone,
        site: Option<Arc<str>>,
    },
    Deadlock(Arc<Deadlock>),
    Mismatch(Arc<Mismatch>),
    Other {
        rank: Rank,
        error: Arc<str>,
    },
    /// This rank has revoked it, and is not to blame for that.
    Revoked {
        rank: Rank,
    },
}

impl Cause {
    /// The cause to report to the other ranks when a collective fails with `error` in `rank`.
    pub(crate) fn of(error: &Error, rank: Rank) -> Self {
        match error.kind() {
            ErrorKind::RankGone { rank, why, site } => Cause::Gone {
                rank: *rank,
                why: why.clone(),
                site: site.clone(),
            },
            ErrorKind::Deadlock(deadlock) => Cause::Deadlock(deadlock.clone()),
            ErrorKind::Mismatch(mismatch) => Cause::Mismatch(mismatch.clone()),
            ErrorKind::Broken { rank, error } => Cause::Other {
                rank: *rank,
                error: error.clone(),
            },
            ErrorKind::Revoked { rank } => Cause::Revoked { rank: *rank },
            // The state of every rank is in that rank's own error.
            ErrorKind::TimedOut { waited, .. } => Cause::Other {
                rank,
                error: nothing_came(*waited).into(),
            },
            other => Cause::Other {
                rank,
                error: other.to_string().into(),
            },
        }
    }

    /// Whether an error of this kind comes from it.
    pub(crate) fn is_of(&self, kind: &ErrorKind) -> bool {
        match (self, kind) {
            (Cause::Gone { .. }, ErrorKind::RankGone { .. }) => true,
            (Cause::Deadlock(one), ErrorKind::Deadlock(other)) => Arc::ptr_eq(one, other),
            (Cause::Mismatch(one), ErrorKind::Mismatch(other)) => Arc::ptr_eq(one, other),
            (Cause::Other { error: one, .. }, ErrorKind::Broken { error: other, .. }) => {
                Arc::ptr_eq(one, other)
            }
            (Cause::Revoked { rank: one }, ErrorKind::Revoked { rank: other }) => one == other,
            _ => false,
        }
    }

    /// The one rank to blame, if there is one.
    pub(crate) fn culprit(&self) -> Option<Rank> {
        match self {
            Cause::Gone { rank, .. } | Cause::Other { rank, .. } => Some(*rank),
            Cause::Mismatch(mismatch) => mismatch.odd.first().copied(),
            Cause::Deadlock(_) | Cause::Revoked { .. } => None,
        }
    }
}

impl From<Cause> for Error {
    fn from(cause: Cause) -> Self {
        Error::new(match cause {
            Cause::Gone { rank, why, site } => ErrorKind::RankGone { rank, why, site },
            Cause::Deadlock(deadlock) => ErrorKind::Deadlock(deadlock),
            Cause::Mismatch(mismatch) => ErrorKind::Mismatch(mismatch),
            Cause::Other { rank, error } => ErrorKind::Broken { rank, error },
            Cause::Revoked { rank } => ErrorKind::Revoked { rank },
        })
    }
}
