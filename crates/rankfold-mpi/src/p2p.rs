//! Messages between two ranks: sends in all modes, receives, probes.
//!
//! A message holds the packed elements, and bears the number of its type signature as its mark. Elements that lie in a
//! buffer as in a message are sent from there, and received there.

use std::ffi::{c_int, c_void};

use rankfold::{Comm, ErrorKind, Marked, Source, Status, Tag};

use crate::abi::*;
use crate::comm::Communicator;
use crate::datatype::pack::Buffer;
use crate::datatype::signature::Signature;
use crate::datatype::{Datatype, Type};
use crate::error::{Failure, Out, failure, require};
use crate::memory::{Byte, Caller};
use crate::rank::Rank;
use crate::request::{Finish, Pending, RequestPart};

/// What is told of a message that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub source: c_int,
    pub tag: c_int,
    pub bytes: usize,
    pub cancelled: bool,
}

impl Stat {
    /// What a request gives that does not receive.
    pub(crate) const EMPTY: Stat = Stat {
        source: MPI_ANY_SOURCE,
        tag: MPI_ANY_TAG,
        bytes: 0,
        cancelled: false,
    };
    pub(crate) const CANCELLED: Stat = Stat {
        cancelled: true,
        ..Stat::EMPTY
    };
    /// What a receive from `MPI_PROC_NULL` gives.
    pub(crate) const NO_PROC: Stat = Stat {
        source: MPI_PROC_NULL,
        ..Stat::EMPTY
    };

    #[inline]
    pub(crate) fn of(status: &Status) -> Stat {
        Stat {
            source: status.source as c_int,
            tag: status.tag as c_int,
            bytes: status.count,
            cancelled: false,
        }
    }

    #[inline]
    pub(crate) fn status(&self, error: c_int) -> MPI_Status {
        let bytes = self.bytes as u64;
        MPI_Status {
            MPI_SOURCE: self.source,
            MPI_TAG: self.tag,
            MPI_ERROR: error,
            MPI_internal: [
                bytes as u32 as c_int,
                (bytes >> 32) as c_int,
                self.cancelled.into(),
                0,
                0,
            ],
        }
    }
}

/// The number of bytes in a status.
pub(crate) fn bytes_of(status: &MPI_Status) -> usize {
    let [low, high, ..] = status.MPI_internal;
    (u64::from(low as u32) | u64::from(high as u32) << 32) as usize
}

/// Changes the number of bytes in a status.
pub(crate) fn set_bytes(status: &mut MPI_Status, bytes: usize) {
    let bytes = bytes as u64;
    status.MPI_internal[0] = bytes as u32 as c_int;
    status.MPI_internal[1] = (bytes >> 32) as c_int;
}

pub(crate) fn is_cancelled(status: &MPI_Status) -> bool {
    status.MPI_internal[2] != 0
}

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
    let count = crate::error::count(number, "the count")?;
    let needed = count > 0 && of.size > 0;
    require(
        !(needed && at.is_null() && of.predefined),
        MPI_ERR_BUFFER,
        || format!("the buffer of {number} elements is a null pointer"),
    )?;
    require(!needed || at != MPI_IN_PLACE, MPI_ERR_BUFFER, || {
        "the buffer is MPI_IN_PLACE, which this argument does not take".into()
    })?;
    require(of.fits(count), MPI_ERR_COUNT, || {
        format!("a buffer of {number} elements is larger than the address space")
    })?;
    Ok(Buffer {
        at: at.cast(),
        count,
        of,
    })
}

/// Fills a buffer from a message, if that fits and has the same signature.
pub(crate) fn decode(caller: &Caller, sent: Signature, message: &[Byte], into: &Buffer<'_>) -> Out {
    if message.len() > into.bytes() {
        into.unpack(caller, &message[..into.bytes()])?;
        return Err(failure(
            MPI_ERR_TRUNCATE,
            truncated(sent, message.len(), into),
        ));
    }
    compare(sent, message.len(), into)?;
    into.unpack(caller, message)
}

/// Compares the signature of a message with that of the buffer it is received into.
#[inline]
fn compare(sent: Signature, bytes: usize, into: &Buffer<'_>) -> Out {
    require(sent.matches(into.of.signature, bytes), MPI_ERR_TYPE, || {
        let (sent, wanted) = (sent.names(), into.of.signature.names());
        format!("the message holds {sent}, and is received as {wanted}")
    })
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
    let comm = signed(comm, data.of);
    let buffered = mode == Mode::Buffered;
    match data.lent(caller).filter(|_| !buffered) {
        Some(elements) if mode == Mode::Synchronous => return Ok(comm.ssend(peer, tag, elements?)?),
        Some(elements) => return Ok(comm.send(peer, tag, elements?)?),
        None => {}
    }
    send_packed(rank, caller, mode, data, (peer, tag), &comm)
}

#[inline(never)]
fn send_packed(
    rank: &Rank,
    caller: &Caller,
    mode: Mode,
    data: &Buffer<'_>,
    (peer, tag): (usize, u32),
    comm: &Comm,
) -> Out {
    rank.with_scratch(|message| {
        message.clear();
        data.pack(caller, message)?;
        match mode {
            Mode::Standard | Mode::Ready => comm.send(peer, tag, message)?,
            Mode::Synchronous => comm.ssend(peer, tag, message)?,
            Mode::Buffered => {
                check_room(rank, message.len())?;
                let sent = comm
                    .isend(peer, tag, message.clone())?
                    .map(|_| RequestPart::Sent);
                rank.detached.borrow_mut().push(sent);
                crate::request::sweep_detached(rank);
            }
        }
        Ok(())
    })
}

/// Whether the buffer of `MPI_Buffer_attach` holds a message.
fn check_room(rank: &Rank, message: usize) -> Out {
    let needed = message + MPI_BSEND_OVERHEAD as usize;
    match rank.buffer.get() {
        None => Err(failure(
            MPI_ERR_BUFFER,
            "no buffer was attached by MPI_Buffer_attach",
        )),
        Some((_, room)) if room < needed => Err(failure(
            MPI_ERR_BUFFER,
            format!(
                "the attached buffer has {room} bytes, and the message needs {needed}, with MPI_BSEND_OVERHEAD"
            ),
        )),
        Some(_) => Ok(()),
    }
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
        return Ok(Pending::done(Stat::EMPTY).sending());
    };
    let mut message = Vec::new();
    data.pack(caller, &mut message)?;
    let marked = signed(comm, data.of);
    let request = match mode {
        Mode::Synchronous => marked.issend(peer, tag, message)?,
        Mode::Buffered => {
            check_room(rank, message.len())?;
            let sent = marked.isend(peer, tag, message)?.map(|_| RequestPart::Sent);
            rank.detached.borrow_mut().push(sent);
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
            compare(signature(&status), status.count, into)?;
            Ok(Stat::of(&status))
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
            Ok(status) => {
                decode(caller, signature(&status), &message[..status.count], into)?;
                Ok(Stat::of(&status))
            }
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
    decode(caller, signature(&status), &message, into)?;
    Ok(Stat::of(&status))
}

/// What fills a buffer when its message has come.
fn into_buffer(at: *mut u8, count: usize, of: Type) -> Finish {
    Box::new(move |_, caller, parts| {
        let into = Buffer { at, count, of: &of };
        match parts.first() {
            Some(RequestPart::Received(message, status)) => {
                decode(caller, signature(status), message, &into)?;
                Ok(Stat::of(status))
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
        return Ok(Pending::done(Stat::NO_PROC));
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

pub(crate) fn iprobe(from: From, comm: &Communicator) -> Out<Option<Stat>> {
    match from {
        From(None, _) => Ok(Some(Stat::NO_PROC)),
        From(Some(source), tag) => Ok(comm.comm.iprobe(source, tag)?.as_ref().map(Stat::of)),
    }
}
