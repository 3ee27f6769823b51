//! Matched probes: a message is taken when it is found, and received by its handle.

use std::ptr::without_provenance_mut as handle;

use crate::abi::*;
use crate::comm::Communicator;
use crate::datatype::pack::Buffer;
use crate::datatype::signature::Signature;
use crate::error::{Out, bad, failure};
use crate::memory::{Byte, Caller};
use crate::p2p::{From, decode, signature};
use crate::rank::Rank;
use crate::stat::Stat;

/// A message that a matched probe has taken.
pub(crate) struct Reserved {
    message: Vec<Byte>,
    sent: Signature,
    stat: Stat,
    /// The handle of its communicator, whose error handler gets the errors of its receive.
    pub on: usize,
}

/// The handle of the communicator of a message; 0 if it is none.
pub(crate) fn on(rank: &Rank, message: MPI_Message) -> usize {
    let messages = rank.messages.borrow();
    messages.get(message.addr()).map_or(0, |it| it.on)
}

/// Takes a message; `None` if there is none and the call does not wait.
pub(crate) fn matched_probe(
    rank: &Rank,
    from: From,
    comm: &Communicator,
    waits: bool,
) -> Out<Option<(MPI_Message, Stat)>> {
    let From(Some(source), tag) = from else {
        return Ok(Some((MPI_MESSAGE_NO_PROC, Stat::NO_PROC)));
    };
    let found = match waits {
        true => Some(comm.comm.probe_matched(source, tag)?),
        false => rank.found(comm.comm.iprobe_matched(source, tag))?,
    };
    let Some(found) = found else {
        return Ok(None);
    };
    let status = found.status();
    let (stat, sent) = (Stat::of(&status), signature(&status));
    let message = found.recv::<Byte>()?;
    let reserved = Reserved {
        message,
        sent,
        stat,
        on: comm.handle.get(),
    };
    let number = rank.messages.borrow_mut().add(reserved);
    Ok(Some((handle(number), stat)))
}

/// Receives a message that a matched probe has taken.
pub(crate) fn matched_recv(
    rank: &Rank,
    caller: &Caller,
    into: &Buffer<'_>,
    message: MPI_Message,
) -> Out<Stat> {
    match message {
        MPI_MESSAGE_NO_PROC => return Ok(Stat::NO_PROC),
        MPI_MESSAGE_NULL => {
            return Err(failure(MPI_ERR_REQUEST, "the message is MPI_MESSAGE_NULL"));
        }
        _ => {}
    }
    let number = message.addr();
    let reserved = rank.messages.borrow_mut().remove(number);
    let reserved = reserved.map_err(|why| bad(MPI_ERR_REQUEST, "message", number, why))?;
    let told = (reserved.sent, reserved.stat);
    let received = decode(caller, told, &reserved.message, into);
    rank.blame(reserved.on, received)
}
