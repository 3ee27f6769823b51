//! The communicators of collectives that this library makes of messages, and these messages. The engine names a
//! communicator, and a call in a trace, by its line, which is in this file for these.

use rankfold::{Comm, Lost, Request, Result, Source, Status, Tag, TracedCall};

use crate::memory::Byte;

/// The same ranks, with messages of their own; all of them call it together.
pub(crate) fn of(comm: &Comm) -> Result<Comm> {
    comm.dup()
}

/// The same without waiting for the others.
pub(crate) fn at_once(comm: &Comm) -> Result<Comm> {
    comm.idup()
}

pub(crate) fn irecv(
    comm: &Comm,
    rank: usize,
    tag: u32,
) -> Result<Request<'static, (Vec<Byte>, Status)>> {
    comm.irecv(Source::Rank(rank), Tag::Is(tag))
}

pub(crate) fn isend(
    comm: &Comm,
    rank: usize,
    tag: u32,
    block: Vec<Byte>,
) -> Result<Request<'static, ()>> {
    let sent = comm.isend(rank, tag, block)?;
    Ok(sent.map(drop))
}

/// Waits for the messages of a collective.
pub(crate) fn wait<R>(open: Vec<Request<'static, R>>) -> Result<Vec<R>> {
    Request::wait_all(open)
}

/// Whether a call sent, received, or waited for such messages.
pub(crate) fn made(call: &TracedCall) -> bool {
    call.site.file() == file!()
}

/// Whether a message was sent on one of these, by this library.
pub(crate) fn has(lost: &Lost) -> bool {
    let here = concat!(" at ", file!(), ":");
    lost.comm.as_ref().is_some_and(|name| name.contains(here))
}
