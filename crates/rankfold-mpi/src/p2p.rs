//! Messages between two ranks: sends in all modes, receives, probes.
//!
//! A message holds the packed elements, and bears the number of its type signature as its mark. Elements that lie in a
//! buffer as in a message are sent from there, and received there.

use std::ffi::{c_int, c_void};

use rankfold::{Comm, ErrorKind, Marked, Source, Status, Tag};

use crate::abi::*;
use crate::buffered;
use crate::comm::Communicator;
use crate::datatype::pack::Buffer;
use crate::datatype::signature::Signature;
use crate::datatype::{Datatype, Type};
use crate::error::{Failure, Out, failure, require};
use crate::memory::{Byte, Caller};
use crate::rank::Rank;
use crate::request::{Finish, Pending, RequestPart};
use crate::stat::Stat;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Standard,
    Buffered,
    Synchronous,
    Ready,
}

/// Where a message goes; `None`: nowhere.
#[derive(Clone, Copy)]
pub(crate) struct To(pub Option<usize>, pub u32);

/// From where and with which tag a message is received; `None`: from nowhere.
#[derive(Clone, Copy)]
pub(crate) struct From(pub Option<Source>, pub Tag);

#[inline]
fn tag(tag: c_int) -> Out<u32> {
    u32::try_from(tag).map_err(|_| no_tag(tag))
}

#[cold]
fn no_tag(tag: c_int) -> Failure {
    let wildcard = if tag == MPI_ANY_TAG {
        "MPI_ANY_TAG, which only a receive takes"
    } else {
        "negative"
    };
    failure(MPI_ERR_TAG, format!("the tag {tag} is {wildcard}"))
}

impl To {
    #[inline]
    pub(crate) fn new(comm: &Communicator, rank: c_int, with: c_int) -> Out<To> {
        let tag = tag(with)?;
        match rank {
            MPI_PROC_NULL => Ok(To(None, tag)),
            _ => Ok(To(Some(comm.peer(rank, "the destination")?), tag)),
        }
    }
}

impl From {
    #[inline]
    pub(crate) fn new(comm: &Communicator, rank: c_int, with: c_int) -> Out<From> {
        let tag = match with {
            MPI_ANY_TAG => Tag::Any,
            _ => Tag::Is(tag(with)?),
        };
        let source = match rank {
            MPI_PROC_NULL => None,
            MPI_ANY_SOURCE => Some(Source::Any),
            _ => Some(Source::Rank(comm.peer(rank, "the source")?)),
        };
        Ok(From(source, tag))
    }
}

/// A buffer of a call, after its arguments were checked.
#[inline(always)]
pub(crate) fn buffer(at: *mut c_void, number: c_int, of: &Datatype) -> Out<Buffer<'_>> {
    if number >= 0 && at.addr() > MPI_IN_PLACE.addr() && of.is_small() {
        return Ok(Buffer {
            at: at.cast(),
            count: number as usize,
            of,
        });
    }
    unusual_buffer(at, number, of)
}

#[inline(never)]
fn unusual_buffer(at: *mut c_void, number: c_int, of: &Datatype) -> Out<Buffer<'_>> {
    checked_buffer(at, crate::error::count(number, "the count")?, of)
}

/// A buffer of any length, after it was checked. That of a derived datatype may begin at `MPI_BOTTOM`.
#[inline(never)]
pub(crate) fn checked_buffer(at: *mut c_void, count: usize, of: &Datatype) -> Out<Buffer<'_>> {
    let needed = count > 0 && of.size > 0;
    require(
        !(needed && at.is_null() && of.predefined),
        MPI_ERR_BUFFER,
        || format!("the buffer of {count} elements is a null pointer"),
    )?;
    require(!needed || at != MPI_IN_PLACE, MPI_ERR_BUFFER, || {
        "the buffer is MPI_IN_PLACE, which this argument does not take".into()
    })?;
    require(of.fits(count), MPI_ERR_COUNT, || {
        format!("a buffer of {count} elements is larger than the address space")
    })?;
    Ok(Buffer {
        at: at.cast(),
        count,
        of,
    })
}

/// Fills a buffer from a message, if that fits and has the same signature. A failure tells of the message; of one that is
/// truncated, how much was received.
pub(crate) fn decode(
    caller: &Caller,
    (sent, stat): (Signature, Stat),
    message: &[Byte],
    into: &Buffer<'_>,
) -> Out<Stat> {
    let room = into.bytes();
    if message.len() > room {
        into.unpack(caller, &message[..room])?;
        let text = truncated(sent, message.len(), into);
        let received = Stat {
            bytes: room,
            ..stat
        };
        return Err(failure(MPI_ERR_TRUNCATE, text).on_message(received));
    }
    compare(sent, stat, into)?;
    into.unpack(caller, message)?;
    Ok(stat)
}

/// Compares the signature of a message with that of the buffer it is received into.
#[inline]
fn compare(sent: Signature, stat: Stat, into: &Buffer<'_>) -> Out {
    match sent.matches(into.of.signature, stat.bytes) {
        true => Ok(()),
        false => Err(other_signature(sent, stat, into)),
    }
}

#[cold]
fn other_signature(sent: Signature, stat: Stat, into: &Buffer<'_>) -> Failure {
    let (sent, wanted) = (sent.names(), into.of.signature.names());
    let text = format!("the message holds {sent}, and is received as {wanted}");
    failure(MPI_ERR_TYPE, text).on_message(stat)
}

/// What is told of a message, and its signature.
#[inline]
fn told(status: &Status) -> (Signature, Stat) {
    (signature(status), Stat::of(status))
}

/// The signature of a message.
#[inline]
pub(crate) fn signature(status: &Status) -> Signature {
    Signature(status.mark())
}

fn truncated(sent: Signature, bytes: usize, into: &Buffer<'_>) -> String {
    let names = sent.names();
    format!(
        "the message has {bytes} bytes ({names}), and the buffer has room for {}",
        into.bytes()
    )
}

/// The communicator, for messages that hold elements of a datatype.
#[inline]
fn signed<'c>(comm: &'c Communicator, of: &Datatype) -> Marked<'c> {
    Marked::new(&comm.comm, of.signature.0)
}

#[inline(always)]
pub(crate) fn send(
    rank: &Rank,
    caller: &Caller,
    mode: Mode,
    data: &Buffer<'_>,
    to: To,
    comm: &Communicator,
) -> Out {
    let To(Some(peer), tag) = to else {
        return Ok(());
    };
    let marked = signed(comm, data.of);
    let buffered = mode == Mode::Buffered;
    match data.lent(caller).filter(|_| !buffered) {
        Some(elements) if mode == Mode::Synchronous => {
            return Ok(marked.ssend(peer, tag, elements?)?);
        }
        Some(elements) => return Ok(marked.send(peer, tag, elements?)?),
        None => {}
    }
    send_packed(rank, caller, mode, data, (peer, tag), (&marked, comm))
}

#[inline(never)]
fn send_packed(
    rank: &Rank,
    caller: &Caller,
    mode: Mode,
    data: &Buffer<'_>,
    (peer, tag): (usize, u32),
    (comm, of): (&Comm, &Communicator),
) -> Out {
    rank.with_scratch(|message| {
        message.clear();
        data.pack(caller, message)?;
        match mode {
            Mode::Standard | Mode::Ready => comm.send(peer, tag, message)?,
            Mode::Synchronous => comm.ssend(peer, tag, message)?,
            Mode::Buffered => buffered::send(rank, message.clone(), (peer, tag), (comm, of))?,
        }
        Ok(())
    })
}

pub(crate) fn isend(
    rank: &Rank,
    caller: &Caller,
    mode: Mode,
    data: &Buffer<'_>,
    to: To,
    comm: &Communicator,
) -> Out<Pending> {
    let To(Some(peer), tag) = to else {
        return Ok(Pending::done(Stat::EMPTY).sending().on(comm));
    };
    let mut message = Vec::new();
    data.pack(caller, &mut message)?;
    let marked = signed(comm, data.of);
    let request = match mode {
        Mode::Synchronous => marked.issend(peer, tag, message)?,
        Mode::Buffered => {
            buffered::send(rank, message, (peer, tag), (&marked, comm))?;
            return Ok(Pending::done(Stat::EMPTY).sending());
        }
        Mode::Standard | Mode::Ready => marked.isend(peer, tag, message)?,
    };
    let sent = request.map(|_| RequestPart::Sent);
    Ok(
        Pending::new(vec![sent], Box::new(|_, _, _| Ok(Stat::EMPTY)))
            .sending()
            .on(comm),
    )
}

/// Up to this length a buffer for packed messages is as long as the program's.
const LARGE: usize = 1 << 16;

#[inline(always)]
pub(crate) fn recv(
    rank: &Rank,
    caller: &Caller,
    into: &Buffer<'_>,
    from: From,
    comm: &Communicator,
) -> Out<Stat> {
    let From(Some(source), tag) = from else {
        return Ok(Stat::NO_PROC);
    };
    if !into.is_lent() {
        return recv_packed(rank, caller, into, (source, tag), comm);
    }
    let received = caller.lend_mut(into.at, into.bytes(), |elements| {
        comm.comm.recv_into(source, tag, elements)
    })?;
    match received {
        Ok(status) => {
            let (sent, stat) = told(&status);
            compare(sent, stat, into)?;
            Ok(stat)
        }
        Err(error) => recv_again(error, caller, into, (source, tag), comm),
    }
}

/// Receives what must be taken apart.
#[inline(never)]
fn recv_packed(
    rank: &Rank,
    caller: &Caller,
    into: &Buffer<'_>,
    (source, tag): (Source, Tag),
    comm: &Communicator,
) -> Out<Stat> {
    let room = into.bytes();
    rank.with_scratch(|message| {
        if message.len() < room && room > LARGE {
            // The message may be much shorter than the buffer: it costs what it needs.
            return recv_any_length(caller, into, (source, tag), comm);
        }
        if message.len() < room {
            message.resize(room, Byte::ZERO);
        }
        match comm.comm.recv_into(source, tag, &mut message[..room]) {
            Ok(status) => decode(caller, told(&status), &message[..status.count], into),
            Err(error) => recv_again(error, caller, into, (source, tag), comm),
        }
    })
}

/// Receives a message that was found too long, as MPI does: it is truncated.
#[cold]
fn recv_again(
    error: rankfold::Error,
    caller: &Caller,
    into: &Buffer<'_>,
    from: (Source, Tag),
    comm: &Communicator,
) -> Out<Stat> {
    match error.kind() {
        ErrorKind::TooShort { .. } => recv_any_length(caller, into, from, comm),
        _ => Err(Failure::from(error)),
    }
}

#[inline(never)]
fn recv_any_length(
    caller: &Caller,
    into: &Buffer<'_>,
    (source, tag): (Source, Tag),
    comm: &Communicator,
) -> Out<Stat> {
    let (message, status) = comm.comm.recv::<Byte>(source, tag)?;
    decode(caller, told(&status), &message, into)
}

/// What fills a buffer when its message has come.
fn into_buffer(at: *mut u8, count: usize, of: Type) -> Finish {
    Box::new(move |_, caller, parts| {
        let into = Buffer { at, count, of: &of };
        match parts.first() {
            Some(RequestPart::Received(message, status)) => {
                decode(caller, told(status), message, &into)
            }
            _ => Ok(Stat::EMPTY),
        }
    })
}

pub(crate) fn irecv(
    at: *mut u8,
    count: usize,
    of: Type,
    from: From,
    comm: &Communicator,
) -> Out<Pending> {
    let From(Some(source), tag) = from else {
        return Ok(Pending::done(Stat::NO_PROC).on(comm));
    };
    let coming = comm.comm.irecv::<Byte>(source, tag)?;
    let coming = coming.map(|(message, status)| RequestPart::Received(message, status));
    Ok(Pending::new(vec![coming], into_buffer(at, count, of)).on(comm))
}

pub(crate) fn probe(from: From, comm: &Communicator) -> Out<Stat> {
    match from {
        From(None, _) => Ok(Stat::NO_PROC),
        From(Some(source), tag) => Ok(Stat::of(&comm.comm.probe(source, tag)?)),
    }
}

pub(crate) fn iprobe(rank: &Rank, from: From, comm: &Communicator) -> Out<Option<Stat>> {
    let From(Some(source), tag) = from else {
        return Ok(Some(Stat::NO_PROC));
    };
    let found = rank.found(comm.comm.iprobe(source, tag))?;
    Ok(found.as_ref().map(Stat::of))
}
