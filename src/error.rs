//! What can go wrong, as values: [`Error`] for one operation of one rank, [`Deadlock`] and
//! [`Mismatch`] for what several ranks did together.
//!
//! An error knows the call it belongs to and the line of that call. It also knows whether it is a
//! *consequence* of another rank's failure: such an error is never reported as the culprit.

use std::error::Error as StdError;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use crate::Rank;

/// A line of the caller's program.
pub type Site = &'static Location<'static>;

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

/// The kinds of [`Error`].
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call itself is wrong: a rank out of range, a buffer of the wrong length, a call from
    /// inside an operator. Nothing was sent; it is as if the call had not been made.
    Usage(String),
    /// A rank that the operation needs has returned, failed or panicked.
    #[doc(alias = "MPIX_ERR_PROC_FAILED")]
    RankGone {
        /// The rank that is gone.
        rank: Rank,
        /// How it ended.
        why: Gone,
        /// The line where it panicked, or of the last operation that failed in it, where known.
        site: Option<Arc<str>>,
    },
    /// The rank is in a set of ranks that wait for each other and that no other rank can release.
    Deadlock(Arc<Deadlock>),
    /// The ranks of a communicator are in collective calls that do not match.
    Mismatch(Arc<Mismatch>),
    /// The first matching message has another element type. It stays in its queue.
    WrongType {
        /// The type that the sender sent.
        sent: &'static str,
        /// The type that this receive asked for.
        wanted: &'static str,
        /// The message, as printed.
        message: String,
    },
    /// The first matching message is longer than the buffer. It stays in its queue.
    #[doc(alias = "MPI_ERR_TRUNCATE")]
    TooShort {
        /// The number of elements sent.
        sent: usize,
        /// The number of elements that fit into the buffer.
        room: usize,
        /// The message, as printed.
        message: String,
    },
    /// A collective of this communicator failed in another rank, which broke the communicator.
    #[doc(alias = "MPIX_ERR_REVOKED")]
    Broken {
        /// The rank whose call failed first.
        rank: Rank,
        /// Its error, as printed.
        error: Arc<str>,
    },
    /// A world that [checks](crate::World::check) rejected a schedule because of this
    /// [fault](crate::check::CheckError), which is also the error's [source](StdError::source). Nothing was sent; it is
    /// as if the call had not been made.
    Refused(Arc<dyn StdError + Send + Sync>),
    /// The timeout of the call, or of the world, expired.
    TimedOut {
        /// How long the rank waited.
        waited: Duration,
        /// Where every rank was at that moment.
        picture: String,
    },
    /// A failure injected by a test.
    Injected,
    /// The program's own error; see [`Error::user`].
    User(Box<dyn StdError + Send + Sync>),
}

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
            ErrorKind::Deadlock(knot) => Cause::Deadlock(knot.clone()),
            ErrorKind::Mismatch(mismatch) => Cause::Mismatch(mismatch.clone()),
            ErrorKind::Broken { rank, error } => Cause::Other {
                rank: *rank,
                error: error.clone(),
            },
            other => Cause::Other {
                rank,
                error: other.to_string().into(),
            },
        }
    }

    /// The one rank to blame, if there is one.
    pub(crate) fn culprit(&self) -> Option<Rank> {
        match self {
            Cause::Gone { rank, .. } | Cause::Other { rank, .. } => Some(*rank),
            Cause::Mismatch(mismatch) => mismatch.odd.first().copied(),
            Cause::Deadlock(_) => None,
        }
    }
}

impl From<Cause> for Error {
    fn from(cause: Cause) -> Self {
        Error::new(match cause {
            Cause::Gone { rank, why, site } => ErrorKind::RankGone { rank, why, site },
            Cause::Deadlock(knot) => ErrorKind::Deadlock(knot),
            Cause::Mismatch(mismatch) => ErrorKind::Mismatch(mismatch),
            Cause::Other { rank, error } => ErrorKind::Broken { rank, error },
        })
    }
}

/// How a rank ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gone {
    /// It returned, without an error.
    Returned,
    /// It returned an error that prints like this.
    Failed(Arc<str>),
    /// It panicked with this message.
    Panicked(Arc<str>),
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

    /// Returns the line of the call that failed, if the error belongs to a call.
    pub fn site(&self) -> Option<Site> {
        self.0.call.as_ref().map(|failed| failed.site)
    }

    /// Returns whether this error only follows from what another rank did, or from a deadlock or mismatch of several
    /// ranks together.
    pub fn is_consequence(&self) -> bool {
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

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::Usage(what) => f.write_str(what),
            ErrorKind::RankGone { rank, why, site } => {
                write!(f, "rank {rank} is gone: it {why}")?;
                site.as_ref()
                    .map_or(Ok(()), |site| write!(f, ", at {site}"))
            }
            ErrorKind::Deadlock(knot) => knot.fmt(f),
            ErrorKind::Mismatch(mismatch) => mismatch.fmt(f),
            ErrorKind::WrongType {
                sent,
                wanted,
                message,
            } if sent == wanted => {
                write!(
                    f,
                    "{message} is asked for the other way: elements go with recv, moved values with recv_value"
                )
            }
            ErrorKind::WrongType {
                sent,
                wanted,
                message,
            } => {
                write!(f, "{message} holds {sent}, not {wanted}")
            }
            ErrorKind::TooShort {
                sent,
                room,
                message,
            } => {
                write!(
                    f,
                    "{message} has {sent} elements, the buffer has room for {room}"
                )
            }
            ErrorKind::Broken { rank, error } => {
                write!(
                    f,
                    "the communicator is broken: a collective failed in rank {rank} with \"{error}\""
                )
            }
            ErrorKind::Refused(fault) => {
                write!(f, "the schedule does not do what it should: {fault}")
            }
            ErrorKind::TimedOut { waited, picture } => {
                write!(f, "nothing came within {waited:.1?}\n{picture}")
            }
            ErrorKind::Injected => f.write_str("injected failure"),
            ErrorKind::User(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gone::Returned => f.write_str("returned"),
            Gone::Failed(error) => write!(f, "failed with \"{error}\""),
            Gone::Panicked(message) => write!(f, "panicked with \"{message}\""),
        }
    }
}

/// The suffix that names the communicator of a call; empty for the world.
pub(crate) fn on(comm: Option<&str>) -> String {
    comm.map_or_else(String::new, |comm| format!(" on {comm}"))
}

/// A deadlock: ranks that wait for each other, so that none of them can ever proceed.
///
/// It prints as a table with the call and the line of every rank in it, and the communicators unless all calls are on
/// the world.
#[derive(Clone, Debug)]
pub struct Deadlock {
    /// The ranks that cannot proceed, in rank order.
    pub stuck: Vec<Stuck>,
    /// A cycle of the wait-for graph: each rank waits for the next, and the last for the first. Empty if the ranks wait
    /// for a rank that has ended.
    pub cycle: Vec<Rank>,
    /// The number of ranks that were still running, or waiting for something that could still come, when the deadlock
    /// was found.
    pub others: usize,
    /// The messages that were sent and never received, as they print. These are known when the run has ended, so only
    /// the [`WorldError`](crate::WorldError) of the run has them.
    pub unreceived: Option<String>,
}

/// One rank of a [`Deadlock`].
#[derive(Clone, Debug)]
pub struct Stuck {
    /// The rank.
    pub rank: Rank,
    /// The call that it is in, as printed.
    pub call: String,
    /// The line of that call.
    pub site: Site,
    /// The communicator of the call, such as `dup of world at src/main.rs:7:20`; `None` for the world.
    pub comm: Option<Arc<str>>,
    /// What it waits for, unless it is part of the cycle.
    pub note: Option<String>,
    /// Whether it is in a send that waits to be received because the world's [buffering](crate::World::buffering) has
    /// no room for the message: the program needs a buffer here.
    pub needs_buffer: bool,
}

impl Stuck {
    fn remark(&self) -> Option<String> {
        let needs_buffer = "this send needs a buffer: nobody has received its message";
        let buffer = self.needs_buffer.then_some(needs_buffer);
        let parts: Vec<_> = buffer.into_iter().chain(self.note.as_deref()).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.others {
            0 => write!(f, "deadlock: no rank can move")?,
            others => write!(
                f,
                "deadlock: {} of {} ranks cannot move",
                self.stuck.len(),
                self.stuck.len() + others
            )?,
        }
        let remarks: Vec<_> = self.stuck.iter().map(Stuck::remark).collect();
        let rows = self.stuck.iter().zip(&remarks);
        let all_on_world = self.stuck.iter().all(|s| s.comm.is_none());
        let rows = rows.map(|(s, remark)| Row {
            rank: s.rank,
            call: &s.call,
            site: Some(s.site),
            comm: (!all_on_world).then(|| s.comm.as_deref().unwrap_or("world")),
            note: remark.as_deref(),
        });
        table(f, &rows.collect::<Vec<_>>())?;
        if let Some(first) = self.cycle.first() {
            let around: Vec<_> = self
                .cycle
                .iter()
                .chain([first])
                .map(Rank::to_string)
                .collect();
            write!(f, "\ncycle: {}", around.join(" -> "))?;
        }
        let unreceived = self.unreceived.iter();
        unreceived
            .into_iter()
            .try_for_each(|what| write!(f, "\n{what}"))
    }
}

/// Collective calls of one communicator that do not match.
#[derive(Debug)]
pub struct Mismatch {
    /// What each rank called, as far as it is known.
    pub calls: Vec<Called>,
    /// The ranks that differ from the strict majority, if there is one.
    pub odd: Vec<Rank>,
    /// The communicator, such as `dup of world at src/main.rs:7:20`; `None` for the world.
    pub comm: Option<Arc<str>>,
}

/// One rank of a [`Mismatch`].
#[derive(Debug)]
pub struct Called {
    /// The rank.
    pub rank: Rank,
    /// The collective with its root, length, type and operator, as printed.
    pub call: String,
    /// The line of that call; `None` if the rank is too many calls ahead to tell.
    pub site: Option<Site>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = on(self.comm.as_deref());
        write!(
            f,
            "mismatch: the ranks are in different collective calls{on}"
        )?;
        let odd = |rank| {
            self.odd
                .contains(&rank)
                .then_some("differs from the others")
        };
        let rows = self.calls.iter().map(|called| Row {
            rank: called.rank,
            call: &called.call,
            site: called.site,
            comm: None,
            note: odd(called.rank),
        });
        table(f, &rows.collect::<Vec<_>>())
    }
}

/// A row of a table: the call that a rank is in.
struct Row<'a> {
    rank: Rank,
    call: &'a str,
    site: Option<Site>,
    comm: Option<&'a str>,
    note: Option<&'a str>,
}

impl Row<'_> {
    fn place(&self) -> String {
        let site = self.site.map_or_else(String::new, |site| site.to_string());
        site + &on(self.comm)
    }
}

/// Writes rank, call, place and note in aligned columns, one row per rank.
fn table(f: &mut fmt::Formatter<'_>, rows: &[Row<'_>]) -> fmt::Result {
    let widest = |width: &dyn Fn(&Row<'_>) -> usize| rows.iter().map(width).max().unwrap_or(0);
    let call_width = widest(&|row| row.call.chars().count());
    let place_width = widest(&|row| row.place().chars().count());
    let rank_width = widest(&|row| row.rank.to_string().len());
    for row in rows {
        let Row {
            rank, call, note, ..
        } = row;
        let place = row.place();
        write!(f, "\n  rank {rank:<rank_width$}  {call:<call_width$}  ")?;
        match note {
            Some(note) => write!(f, "{place:<place_width$}  <- {note}")?,
            None => f.write_str(&place)?,
        }
    }
    Ok(())
}

const _: () = assert!(size_of::<Error>() == size_of::<usize>());
