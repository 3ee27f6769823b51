//! The communicators of collectives that this library makes of messages. The engine names a communicator by the line that
//! made it, which is in this file for these.

use rankfold::{Comm, Lost, Result};

/// The same ranks, with messages of their own; all of them call it together.
pub(crate) fn of(comm: &Comm) -> Result<Comm> {
    comm.dup()
}

/// The same without waiting for the others.
pub(crate) fn at_once(comm: &Comm) -> Result<Comm> {
    comm.dup_at_once()
}

/// Whether a message was sent on one of these, by this library.
pub(crate) fn has(lost: &Lost) -> bool {
    let here = concat!(" at ", file!(), ":");
    lost.comm.as_ref().is_some_and(|name| name.contains(here))
}
