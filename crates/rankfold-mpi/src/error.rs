//! Errors of MPI's calls: the class that MPI gives them, and one sentence that says what is wrong.

use std::ffi::c_int;
use std::fmt;

use rankfold::ErrorKind;

use crate::abi::*;
use crate::handle::Bad;

/// A failed call.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub class: c_int,
    pub text: String,
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
pub(crate) fn failure(class: c_int, text: impl Into<String>) -> Failure {
    let text = text.into();
    Failure { class, text }
}

/// Fails unless `holds`.
pub(crate) fn require(holds: bool, class: c_int, text: impl FnOnce() -> String) -> Out {
    match holds {
        true => Ok(()),
        false => Err(failure(class, text())),
    }
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
pub(crate) fn count(number: c_int, what: &str) -> Out<usize> {
    usize::try_from(number).map_err(|_| {
        failure(
            MPI_ERR_COUNT,
            format!("{what} is {number}, which is negative"),
        )
    })
}

/// A deadlock in one sentence.
fn stuck(found: &rankfold::error::Deadlock) -> String {
    let ranks: Vec<String> = found.stuck.iter().map(|it| it.rank.to_string()).collect();
    format!(
        "deadlock: ranks {} wait for what never comes",
        ranks.join(", ")
    )
}

impl From<rankfold::Error> for Failure {
    fn from(error: rankfold::Error) -> Failure {
        let class = match error.kind() {
            ErrorKind::RankGone { .. } | ErrorKind::Broken { .. } => MPI_ERR_PROC_ABORTED,
            ErrorKind::TooShort { .. } => MPI_ERR_TRUNCATE,
            ErrorKind::WrongType { .. } => MPI_ERR_TYPE,
            ErrorKind::Usage(_) => MPI_ERR_ARG,
            _ => MPI_ERR_OTHER,
        };
        // Its call and line are those of this library; the caller names MPI's.
        let text = match error.kind() {
            ErrorKind::Deadlock(found) => stuck(found),
            ErrorKind::Mismatch(_) => "the ranks are in different collective calls".into(),
            kind => kind.to_string(),
        };
        failure(class, text)
    }
}
