//! Parts that other threads of the program fill and declare ready.
//!
//! Only the thread of the rank sends: it takes the parts out of a queue. While it waits there it counts as a rank that
//! runs, since the other threads may still bring a part; once all parts are ready or dropped, none can come.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

use super::sending::Sending;
use crate::comm::Comm;
use crate::error::{Result, Site};
use crate::op::{self, Element};
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::progress::reason::Reason;

/// A part of a message that any thread may fill; see [`SendParts::split`](super::SendParts::split). It is a slice of
/// its elements.
///
/// One that is dropped is not ready.
#[must_use = "it is sent once it is declared ready"]
pub struct Part<'s, T> {
    number: usize,
    elements: &'s mut [T],
    queue: Sender<Ready<T>>,
}

impl<T> fmt::Debug for Part<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part")
            .field("number", &self.number)
            .field("len", &self.elements.len())
            .finish_non_exhaustive()
    }
}

/// The number of a part that is ready, and a copy of its elements.
type Ready<T> = (usize, Vec<T>);

impl<T> Deref for Part<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.elements
    }
}

impl<T> DerefMut for Part<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.elements
    }
}

impl<T: Element> Part<'_, T> {
    /// Returns the number of the part.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Declares the part ready: its elements are copied, to be sent by the thread of the rank. If that has given up
    /// [sending](ReadyParts::send), the part does not become ready.
    pub fn ready(self) {
        // The error says that the rank has given up.
        let _ = self.queue.send((self.number, op::copied(self.elements)));
    }
}

/// The parts of a message as threads declare them ready; see [`SendParts::split`](super::SendParts::split).
#[must_use = "the parts are sent by `send`"]
pub struct ReadyParts<'s, 'c, T> {
    sending: &'s mut Sending<'c>,
    queue: Receiver<Ready<T>>,
}

impl<T> fmt::Debug for ReadyParts<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadyParts").finish_non_exhaustive()
    }
}

impl<T: Element> ReadyParts<'_, '_, T> {
    /// Sends each part when it becomes ready, until all are ready or dropped. Call it while the threads run.
    ///
    /// The rank is in no other call meanwhile: it makes [progress](crate::Comm::progress) with nothing else. As it is
    /// other threads that it waits for, this wait is never part of a deadlock that is found. A part that the rank
    /// itself keeps, or that is forgotten, is waited for until the world's [timeout](crate::World::timeout).
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if a part was dropped before it was ready; what was ready has left, and the
    /// rank can still declare the part [ready](super::SendParts::ready). [`TimedOut`](crate::ErrorKind::TimedOut) if no
    /// part has become ready for as long as the world's timeout. Otherwise as [`isend`](crate::Comm::isend); parts that
    /// become ready after such an error are not sent.
    #[track_caller]
    pub fn send(self) -> Result<()> {
        let (site, to) = (Location::caller(), self.sending.to);
        let ReadyParts { sending, queue } = self;
        while let Some((part, elements)) = next(sending.comm, site, &queue)
            .or_else(|late| sending.op(site, "send", |_| Err(late)))?
        {
            sending.op(site, "ready", |sending| {
                sending.post(part, site, |comm, head| comm.post_vec(to, head, elements))
            })?;
        }
        sending.op(site, "send", |sending| sending.check_all_ready())
    }
}

/// Waits for the next part that is ready; `None` once none can come. A part that a thread never drops, or the rank
/// itself has, never comes: the watchdog ends the wait for it.
fn next<T>(comm: &Comm, site: Site, queue: &Receiver<Ready<T>>) -> Result<Option<Ready<T>>> {
    let (port, since) = (&comm.core.port, Instant::now());
    let reason = Reason {
        call: &|| "send of the parts of other threads".into(),
        site,
        needs: &|| Needs::All(Vec::new()),
        comm: Some(&comm.shared),
        also: &[],
        collective: None,
        turn: None,
        deadline: None,
        needs_buffer: false,
        choice: None,
    };
    let Some(limit) = port.limit(&reason, since) else {
        return Ok(queue.recv().ok());
    };
    let begun = port.begun_by_all();
    match queue.recv_timeout(limit.saturating_duration_since(since)) {
        Ok(ready) => Ok(Some(ready)),
        Err(RecvTimeoutError::Disconnected) => Ok(None),
        Err(RecvTimeoutError::Timeout) => Err(port.timed_out(&reason, since, &begun)),
    }
}

/// The parts that are not ready, and what sends them.
pub(super) fn split<'s, 'c, T: Element>(
    sending: &'s mut Sending<'c>,
    buf: &'s mut [T],
) -> (Vec<Part<'s, T>>, ReadyParts<'s, 'c, T>) {
    let (sender, queue) = channel();
    // Parts of no elements are no chunks.
    let mut chunks = buf.chunks_mut(sending.cut.length.max(1));
    let parts = (0..sending.cut.parts).map(|number| (number, chunks.next().unwrap_or_default()));
    let open = parts.filter(|(number, _)| !sending.is_ready(*number));
    let parts = open.map(|(number, elements)| Part {
        number,
        elements,
        queue: sender.clone(),
    });
    (parts.collect(), ReadyParts { sending, queue })
}
