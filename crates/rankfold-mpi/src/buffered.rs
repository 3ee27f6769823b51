//! Buffered sends, and the buffers that the program attaches for them: to a communicator, to a session, and to the rank.
//!
//! Messages are copies of their own. A buffer has an address, which is given back, and a length, which they share.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::rc::Rc;

use rankfold::Comm;

use crate::abi::*;
use crate::comm::Communicator;
use crate::detached::{self, Sending};
use crate::error::{Out, failure, require};
use crate::flush::{self, Flush};
use crate::memory::Byte;
use crate::rank::Rank;
use crate::request::RequestPart;

/// Whose buffer that of `MPI_Buffer_attach` is; the others are those of the handles of communicators and sessions.
pub(crate) const OF_RANK: usize = 0;

/// The attached buffers of a rank.
#[derive(Default)]
pub(crate) struct Buffers {
    /// By whose they are.
    pub attached: RefCell<BTreeMap<usize, Attached>>,
    /// The messages in them for which no flush waits.
    pub messages: RefCell<Vec<Sending>>,
    /// Those that may be in progress.
    pub flushes: RefCell<Vec<Flush>>,
}

/// An attached buffer.
pub(crate) struct Attached {
    at: *mut c_void,
    room: usize,
    /// The bytes of the messages that have not left it.
    used: Rc<Cell<usize>>,
}

impl Attached {
    fn left(&self) -> usize {
        self.room.saturating_sub(self.used.get())
    }
}

/// The bytes that a message takes in a buffer, until it has left: then its send drops this.
struct Place {
    used: Rc<Cell<usize>>,
    bytes: usize,
}

impl Place {
    fn new(buffer: &Attached, bytes: usize) -> Place {
        let used = buffer.used.clone();
        used.set(used.get() + bytes);
        Place { used, bytes }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.used.set(self.used.get() - self.bytes);
    }
}

/// Sends a message from the buffer that serves its communicator, where it has its place until it has left.
pub(crate) fn send(
    rank: &Rank,
    message: Vec<Byte>,
    (peer, tag): (usize, u32),
    (comm, of): (&Comm, &Communicator),
) -> Out {
    let bytes = message.len() + MPI_BSEND_OVERHEAD as usize;
    let (within, place) = reserve(rank, of, bytes)?;
    let left = move |_| {
        drop(place);
        RequestPart::Sent
    };
    let request = comm.isend(peer, tag, message)?.map(left);
    let on = of.handle.get();
    rank.buffers.messages.borrow_mut().push(Sending {
        request,
        on,
        within,
    });
    sweep(rank);
    Ok(())
}

/// A place for a message beside those that have not left the buffer, and whose that is which serves a communicator: its own,
/// that of the session that it is from, or that of the rank.
fn reserve(rank: &Rank, comm: &Communicator, needed: usize) -> Out<(usize, Place)> {
    let whose = [comm.handle.get(), comm.session.get(), OF_RANK];
    let buffers = rank.buffers.attached.borrow();
    let found = whose.iter().find_map(|of| Some((*of, buffers.get(of)?)));
    let (of, buffer) = found.ok_or_else(|| {
        let none = "no buffer was attached by MPI_Buffer_attach, nor one to the communicator or its session";
        failure(MPI_ERR_BUFFER, none)
    })?;
    sweep(rank);
    if needed > buffer.left() {
        flush::sweep(rank);
        detached::sweep_detached(rank);
    }
    let (room, used) = (buffer.room, buffer.used.get());
    require(needed <= buffer.left(), MPI_ERR_BUFFER, || {
        let others = match used {
            0 => String::new(),
            _ => format!(", of which {used} hold messages that have not been received"),
        };
        format!(
            "the attached buffer has {room} bytes{others}, and the message needs {needed}, with MPI_BSEND_OVERHEAD"
        )
    })?;
    Ok((of, Place::new(buffer, needed)))
}

/// Forgets the messages that have left their buffers.
fn sweep(rank: &Rank) {
    let mut buffered = rank.buffers.messages.take();
    buffered.retain_mut(Sending::is_open);
    rank.buffers.messages.borrow_mut().extend(buffered);
}

pub(crate) fn attach(rank: &Rank, of: usize, at: *mut c_void, size: usize) -> Out {
    let mut buffers = rank.buffers.attached.borrow_mut();
    require(!buffers.contains_key(&of), MPI_ERR_BUFFER, || {
        "a buffer is attached already".into()
    })?;
    let room = match at {
        MPI_BUFFER_AUTOMATIC => usize::MAX,
        _ => size,
    };
    let used = Rc::default();
    buffers.insert(of, Attached { at, room, used });
    Ok(())
}

/// Takes the messages that have not left an attached buffer, which must be there.
pub(crate) fn unsent(rank: &Rank, of: usize) -> Out<Vec<Sending>> {
    let there = rank.buffers.attached.borrow().contains_key(&of);
    require(there, MPI_ERR_BUFFER, || "no buffer is attached".into())?;
    Ok(taken(rank, of))
}

fn taken(rank: &Rank, of: usize) -> Vec<Sending> {
    let mut buffered = rank.buffers.messages.borrow_mut();
    buffered.extract_if(.., |it| it.within == of).collect()
}

/// Waits until all messages have left a buffer.
pub(crate) fn flush(rank: &Rank, of: usize) -> Out {
    let mut sends = unsent(rank, of)?;
    sends.extend(flush::take_open(rank, of));
    let (open, waited) = detached::wait_for(rank, sends);
    rank.buffers.messages.borrow_mut().extend(open);
    waited
}

/// A buffer that was detached.
pub(crate) struct Detached {
    pub at: *mut c_void,
    /// 0 if it was as large as needed.
    pub size: usize,
    /// Whether all messages have left it.
    pub waited: Out,
}

/// Detaches a buffer, and waits until all messages have left it, in programs in C. In Rust ranks share statics, and the crate
/// `mpi` detaches the buffer under a lock of the process which other ranks take before they receive: the messages go on
/// without their buffer.
pub(crate) fn detach(rank: &Rank, of: usize) -> Out<Detached> {
    let mut sends = unsent(rank, of)?;
    let gone = rank.buffers.attached.borrow_mut().remove(&of);
    let Attached { at, room, .. } = gone.expect("it was there when its messages were taken");
    let (open, waited) = match rank.shared.owns_datatypes {
        true => {
            sends.extend(flush::take_open(rank, of));
            detached::wait_for(rank, sends)
        }
        false => (sends, Ok(())),
    };
    detached::detach(rank, open);
    detached::sweep_detached(rank);
    let size = if at == MPI_BUFFER_AUTOMATIC { 0 } else { room };
    Ok(Detached { at, size, waited })
}

/// Forgets the buffer of a communicator that is freed, or of a session that ends; its messages go on.
pub(crate) fn forget(rank: &Rank, of: usize) {
    if rank.buffers.attached.borrow_mut().remove(&of).is_some() {
        detached::detach(rank, taken(rank, of));
    }
}
