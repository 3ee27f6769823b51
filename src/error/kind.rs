//! The kinds of errors, each with its sentence.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::deadlock::Deadlock;
use super::mismatch::Mismatch;
use crate::Rank;

/// The kinds of [`Error`](super::Error).
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call itself is wrong: a rank out of range, a buffer of the wrong length, a call from
    /// inside an operator or another function that a call runs. Nothing was sent; it is as if the call had not been made.
    Usage(String),
    /// A rank that the operation needs has returned, failed or panicked.
    #[doc(alias = "MPIX_ERR_PROC_FAILED")]
    RankGone {
        /// The rank that is gone.
        rank: Rank,
        /// The way in which it ended.
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
    Broken {
        /// The rank whose call failed first.
        rank: Rank,
        /// Its error, as printed.
        error: Arc<str>,
    },
    /// This communicator is revoked: a rank has called [`shrink`](crate::Comm::shrink), and goes on with the ranks that do
    /// so too. The rank whose call fails with this did not, or uses it after it did.
    #[doc(alias = "MPIX_ERR_REVOKED")]
    Revoked {
        /// The first rank that called it.
        rank: Rank,
    },
    /// A world that [checks](crate::World::check) rejected a schedule because of this [fault](crate::check::CheckError),
    /// which is also the error's [source](StdError::source). Nothing was sent; it is as if the call had not been made.
    Refused(Arc<dyn StdError + Send + Sync>),
    /// Elements of this type cannot be sent to another process. Nothing was sent; it is as if the call had not been made.
    NotPlain {
        /// The type.
        type_name: &'static str,
    },
    /// The timeout of the call, or of the world, expired.
    TimedOut {
        /// The duration of the wait.
        waited: Duration,
        /// The state of every rank at that moment.
        picture: String,
    },
    /// A failure injected by a test.
    Injected,
    /// The program's own error; see [`Error::user`](super::Error::user).
    User(Box<dyn StdError + Send + Sync>),
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
            ErrorKind::Deadlock(deadlock) => deadlock.fmt(f),
            ErrorKind::Mismatch(mismatch) => mismatch.fmt(f),
            ErrorKind::WrongType {
                sent,
                wanted,
                message,
            } => wrong_type(f, sent, wanted, message),
            ErrorKind::TooShort {
                sent: n,
                room,
                message,
            } => write!(
                f,
                "{message} has {n} elements, the buffer has room for {room}"
            ),
            ErrorKind::Broken { rank, error } => broken(f, *rank, error),
            ErrorKind::Revoked { rank } => revoked(f, *rank),
            ErrorKind::Refused(fault) => {
                write!(f, "the schedule does not do what it should: {fault}")
            }
            ErrorKind::NotPlain { type_name } => write!(
                f,
                "{type_name} is not known as a plain type, whose values may be sent to another process: see World::plain"
            ),
            ErrorKind::TimedOut { waited, picture } => {
                write!(f, "{}\n{picture}", nothing_came(*waited))
            }
            ErrorKind::Injected => f.write_str("injected failure"),
            ErrorKind::User(error) => error.fmt(f),
        }
    }
}

/// The first line of the error of a wait that took too long.
pub(super) fn nothing_came(waited: Duration) -> String {
    format!("nothing came within {waited:.1?}")
}

fn wrong_type(f: &mut fmt::Formatter<'_>, sent: &str, wanted: &str, message: &str) -> fmt::Result {
    if sent == wanted {
        let ways = "elements go with recv, moved values with recv_value";
        return write!(f, "{message} is asked for the other way: {ways}");
    }
    write!(f, "{message} holds {sent}, not {wanted}")
}

fn broken(f: &mut fmt::Formatter<'_>, rank: Rank, error: &str) -> fmt::Result {
    let broken = "the communicator is broken: a collective failed";
    write!(f, "{broken} in rank {rank} with \"{error}\"")
}

fn revoked(f: &mut fmt::Formatter<'_>, rank: Rank) -> fmt::Result {
    let left = "has left it by shrink, with the ranks that call it too";
    write!(f, "the communicator is revoked: rank {rank} {left}")
}

/// The way in which a rank ended.
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

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gone::Returned => f.write_str("returned"),
            Gone::Failed(error) => write!(f, "failed with \"{error}\""),
            Gone::Panicked(message) => write!(f, "panicked with \"{message}\""),
        }
    }
}
