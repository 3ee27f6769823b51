//! What others may read of what a rank has done: the flight recorder's last operations, and the whole trace if one was
//! requested.
//!
//! A rank writes through its [`Recorder`](crate::transport::trace::recorder::Recorder). Names and source lines do not
//! fit into words. The ring therefore holds indices into a list of [`Known`] calls, which grows only when a call is
//! made at a line for the first time.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::Rank;
use crate::transport::memory::head::Head;
use crate::transport::memory::receipt::Receipt;
use crate::transport::trace::call_event::Known;
use crate::transport::trace::course::Course;
use crate::transport::trace::event_ring::{Entry, Ring};
use crate::transport::trace::operation::Operation;
use crate::transport::trace::origin::Names;
use crate::transport::trace::words::Words;

/// One event of a trace. Times are nanoseconds since the world began.
pub(crate) enum Event {
    /// An operation begins.
    Begin { words: Words, time: u64 },
    /// The innermost operation ends.
    End { well: bool, time: u64 },
    /// A message is about to be posted; with its receipt, if its sender may revoke it.
    Sent {
        to: Rank,
        head: Head,
        bytes: usize,
        time: u64,
        receipt: Option<Arc<Receipt>>,
    },
    /// A message has been taken.
    Received { head: Head, time: u64 },
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").finish_non_exhaustive()
    }
}

/// The record of one rank that others may read.
pub(crate) struct Record {
    pub(in crate::transport) ring: Option<Ring>,
    pub(in crate::transport) known: Mutex<Vec<Known>>,
    pub(in crate::transport) events: Option<Mutex<Vec<Event>>>,
}

impl Record {
    /// Creates a record of the last operations if `recent`, and of a trace if `trace`.
    pub(crate) fn new(recent: bool, trace: bool) -> Record {
        Record {
            ring: recent.then(Ring::new),
            known: Mutex::default(),
            events: trace.then(Mutex::default),
        }
    }

    /// Whether any operation was recorded.
    pub(in crate::transport) fn is_used(&self) -> bool {
        self.ring.as_ref().is_some_and(|ring| ring.written() > 0)
    }

    /// Hides everything recorded so far. Call it only while the rank does not write.
    pub(in crate::transport) fn close(&self) {
        if let Some(ring) = self.ring.as_ref().filter(|ring| ring.written() > 0) {
            ring.close();
        }
    }

    /// Whether it keeps the last operations.
    pub(crate) fn keeps_recent(&self) -> bool {
        self.ring.is_some()
    }

    /// The last operations, oldest first.
    pub(crate) fn recent(&self, rank: Rank, names: &Names) -> Vec<Operation> {
        // The entries are read first: the calls that they name are in the list by then.
        let entries = self.ring.as_ref().map(Ring::entries).unwrap_or_default();
        let known = self.known.lock();
        let operation = |entry: Entry| operation(rank, entry, &known, names);
        entries.into_iter().filter_map(operation).collect()
    }

    /// Passes `read` all events of the rank so far, and the calls that they name.
    pub(crate) fn events<R>(&self, read: impl FnOnce(&[Event], &[Known]) -> R) -> Option<R> {
        let events = self.events.as_ref()?.lock();
        Some(read(&events, &self.known.lock()))
    }
}

fn operation(rank: Rank, entry: Entry, known: &[Known], names: &Names) -> Option<Operation> {
    let (words, begun) = Words::read(entry.fixed);
    let call = known.get(words.known())?;
    let (course, progress) = Course::read(entry.notes);
    Some(Operation {
        rank,
        number: entry.number,
        call: words.show(call),
        site: call.site,
        comm: names.get(words.context()),
        begun,
        progress,
        sent: course.sent,
        received: course.received,
        last: course.last(),
    })
}
