//! What can go wrong, as values: [`Error`] for one operation of one rank, [`Deadlock`] and
//! [`Mismatch`] for what several ranks did together.
//!
//! An error knows the call it belongs to and the line of that call. It also knows whether it is a
//! *consequence* of another rank's failure: such an error is never reported as the culprit.

mod cause;
mod deadlock;
mod kind;
mod mismatch;
mod rows;

pub(crate) use cause::Cause;
pub use deadlock::{Deadlock, Stuck};
pub use kind::{ErrorKind, Gone};
pub use mismatch::{Called, Mismatch};
pub(crate) use rows::on;
pub use rows::{Site, SourceLine};

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::Rank;

/// The result of every operation of a rank.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation of a rank failed; one pointer wide.
///
/// # Examples
///
/// ```
/// use rankfold::{ErrorKind, World};
///
/// let report = World::new(2).run_each(|comm| {
///     if comm.rank() == 1 {
///         return Ok(0); // leaves without sending
///     }
///     let (got, _) = comm.recv::<u32>(1, 7)?;
///     Ok(got.len())
/// });
/// let error = report.outcomes[0].error().unwrap();
/// assert!(matches!(error.kind(), ErrorKind::RankGone { rank: 1, .. }));
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    call: Option<Failed>,
}

/// The call that failed.
struct Failed {
    /// The call, as printed.
    call: String,
    site: Site,
    /// The name of the communicator, or `None` for the world.
    comm: Option<Arc<str>>,
}

impl Error {
    /// Wraps an error of the program itself, so that a rank can return it.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Error, World};
    ///
    /// let failed = World::new(1).run(|_| "12x".parse::<i32>().map_err(Error::user));
    /// assert!(failed.unwrap_err().to_string().contains("invalid digit"));
    /// ```
    pub fn user(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(ErrorKind::User(error.into()))
    }

    pub(crate) fn new(kind: ErrorKind) -> Self {
        Error(Box::new(Inner { kind, call: None }))
    }

    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage(what.into()))
    }

    /// Adds the call in which the error arose and its communicator, unless the error already names a call.
    pub(crate) fn in_call(
        mut self,
        call: impl FnOnce() -> String,
        site: Site,
        comm: impl FnOnce() -> Option<Arc<str>>,
    ) -> Self {
        let failed = || Failed {
            call: call(),
            site,
            comm: comm(),
        };
        self.0.call.get_or_insert_with(failed);
        self
    }

    /// Returns what went wrong.
    #[doc(alias = "MPI_Error_class")]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The same by value, for what the program has put there by [`user`](Self::user). The call is lost.
    pub fn into_kind(self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the line of the call that failed, if the error belongs to a call.
    pub fn site(&self) -> Option<Site> {
        self.0.call.as_ref().map(|failed| failed.site)
    }

    /// Returns whether this error only follows from what another rank did, or from a deadlock or mismatch of several
    /// ranks together.
    pub fn is_consequence(&self) -> bool {
        matches!(self.kind(), ErrorKind::Revoked { .. }) || self.has_cause()
    }

    /// Returns whether it has a cause that is told instead of it to ranks that need the one that failed with it. Of ranks
    /// that left a communicator none failed.
    pub(crate) fn has_cause(&self) -> bool {
        use ErrorKind::{Broken, Deadlock, Mismatch, RankGone};
        matches!(
            self.kind(),
            RankGone { .. } | Deadlock(_) | Mismatch(_) | Broken { .. }
        )
    }

    /// Returns the one rank to blame, if the error names one: the rank that is gone, or the odd rank of a mismatch.
    pub fn culprit(&self) -> Option<Rank> {
        match self.kind() {
            ErrorKind::RankGone { rank, .. } | ErrorKind::Broken { rank, .. } => Some(*rank),
            ErrorKind::Mismatch(mismatch) => mismatch.odd.first().copied(),
            _ => None,
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `unwrap` prints this, as does a `main` that returns the error: the sentence serves better than the fields.
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Failed { call, site, comm }) = &self.0.call {
            write!(f, "{call} at {site}{}: ", on(comm.as_deref()))?;
        }
        self.0.kind.fmt(f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0.kind {
            ErrorKind::User(error) => error.source(),
            ErrorKind::Refused(fault) => Some(&**fault),
            _ => None,
        }
    }
}

const _: () = assert!(size_of::<Error>() == size_of::<usize>());
