//! Errors of MPI's calls: the class that MPI gives them, and one sentence that says what is wrong.

use std::ffi::c_int;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use rankfold::ErrorKind;

use crate::abi::*;
use crate::handle::Bad;
use crate::stat::Stat;

/// A failed call. It is as short as a pointer, so that a call that succeeds returns in a register.
#[derive(Clone, Debug)]
pub(crate) struct Failure(Box<Reason>);

/// Why a call failed.
#[derive(Clone, Debug)]
pub(crate) struct Reason {
    pub class: c_int,
    pub text: String,
    /// What is known of the message that it failed on.
    pub stat: Option<Stat>,
    /// The collective that it waited for.
    pub waited_for: Option<Collective>,
}

/// A collective call: its name, and its root if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collective {
    pub call: &'static str,
    pub root: Option<usize>,
}

impl Deref for Failure {
    type Target = Reason;

    fn deref(&self) -> &Reason {
        &self.0
    }
}

/// What a call returns.
pub(crate) type Out<T = ()> = Result<T, Failure>;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, _) = class_text(self.class).unwrap_or(("MPI_ERR_UNKNOWN", ""));
        write!(f, "{name}: {}", self.text)
    }
}

/// A failure of a class.
#[cold]
pub(crate) fn failure(class: c_int, text: impl Into<String>) -> Failure {
    let text = text.into();
    Failure(Box::new(Reason {
        class,
        text,
        stat: None,
        waited_for: None,
    }))
}

impl Failure {
    /// The same, in a wait for a collective.
    pub(crate) fn waiting_for(mut self, collective: Option<Collective>) -> Failure {
        self.0.waited_for = collective;
        self
    }

    /// The same, for a message that came and could not be received as it was.
    pub(crate) fn on_message(mut self, stat: Stat) -> Failure {
        self.0.stat = Some(stat);
        self
    }
}

/// Fails unless `holds`.
#[inline]
pub(crate) fn require(holds: bool, class: c_int, text: impl FnOnce() -> String) -> Out {
    match holds {
        true => Ok(()),
        false => Err(unmet(class, text)),
    }
}

/// Out of line, with all that writes its text.
#[cold]
#[inline(never)]
fn unmet(class: c_int, text: impl FnOnce() -> String) -> Failure {
    failure(class, text())
}

/// The refusal of what this library does not do.
pub(crate) fn refused<T>(why: &str) -> Out<T> {
    Err(failure(MPI_ERR_UNSUPPORTED_OPERATION, why))
}

/// The failure for a handle that is none.
pub(crate) fn bad(class: c_int, what: &str, handle: usize, bad: Bad) -> Failure {
    failure(class, format!("the {what} {handle:#x} {bad}"))
}

/// An argument that counts something.
#[inline]
pub(crate) fn count(number: c_int, what: &str) -> Out<usize> {
    usize::try_from(number).map_err(|_| negative(number, what))
}

#[cold]
fn negative(number: c_int, what: &str) -> Failure {
    failure(
        MPI_ERR_COUNT,
        format!("{what} is {number}, which is negative"),
    )
}

/// A deadlock in one sentence.
fn stuck(found: &rankfold::error::Deadlock) -> String {
    let ranks: Vec<String> = found.stuck.iter().map(|it| it.rank.to_string()).collect();
    format!(
        "deadlock: ranks {} wait for what never comes",
        ranks.join(", ")
    )
}

/// A wait that took too long, with the ranks that were in no call meanwhile.
fn too_long(waited: Duration, picture: &str) -> String {
    let outside = |line: &str| {
        let (rank, state) = line.strip_prefix("  rank ")?.split_once(' ')?;
        let long = state
            .trim_start()
            .strip_prefix("outside rankfold for at least ")?;
        Some(format!(
            "; rank {rank} has made no call for at least {long}"
        ))
    };
    let outside: String = picture.lines().filter_map(outside).collect();
    format!("nothing came within {waited:.1?}{outside}")
}

impl From<rankfold::Error> for Failure {
    #[cold]
    fn from(error: rankfold::Error) -> Failure {
        let class = match error.kind() {
            ErrorKind::RankGone { .. } | ErrorKind::Broken { .. } | ErrorKind::Revoked { .. } => {
                MPI_ERR_PROC_ABORTED
            }
            ErrorKind::TooShort { .. } => MPI_ERR_TRUNCATE,
            ErrorKind::WrongType { .. } => MPI_ERR_TYPE,
            ErrorKind::Usage(_) => MPI_ERR_ARG,
            _ => MPI_ERR_OTHER,
        };
        // Its call and line are those of this library; the caller names MPI's.
        let text = match error.kind() {
            ErrorKind::Deadlock(found) => stuck(found),
            ErrorKind::TimedOut { waited, picture } => too_long(*waited, picture),
            ErrorKind::Mismatch(_) => "the ranks are in different collective calls".into(),
            kind => kind.to_string(),
        };
        failure(class, text)
    }
}
