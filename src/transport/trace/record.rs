//! What others may read of what a rank has done: the flight recorder's last operations, and the whole trace if one was
//! requested.
//!
//! A rank writes through its [`Recorder`](crate::transport::trace::recorder::Recorder). Names and source lines do not
//! fit into words. The ring therefore holds indices into a list of [`Known`] calls, which grows only when a call is
//! made at a line for the first time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::Rank;
use crate::error::{Site, on};
use crate::transport::memory::head::{Head, Info};
use crate::transport::trace::event_ring::{Entry, FIXED, NOTES, Ring};
use crate::transport::trace::origin::Names;

/// A call at one source line, without its arguments.
#[derive(Clone)]
pub(crate) struct Known {
    pub verb: String,
    pub site: Site,
    pub info: Option<&'static Info>,
}

/// The peer that a call names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    None,
    To(Rank),
    From(Rank),
    FromAny,
    Root(Rank),
}

/// The tag that a call names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tagged {
    None,
    Any,
    Is(u32),
}

/// An operation about to begin.
#[derive(Clone, Copy)]
pub(crate) struct Deed {
    /// The name of the call. Empty: the part before the arguments of the call as it prints.
    pub verb: &'static str,
    pub site: Site,
    pub info: Option<&'static Info>,
    pub peer: Peer,
    pub tag: Tagged,
    /// Number of elements.
    pub count: Option<usize>,
    /// Whether it sends without ever waiting: then it may be recorded after the send.
    pub posts: bool,
    /// The communicator's context.
    pub context: u32,
}

impl Deed {
    /// A call of which only the source line is known.
    #[inline]
    pub(crate) fn at(site: Site) -> Deed {
        Deed {
            verb: "",
            site,
            info: None,
            peer: Peer::None,
            tag: Tagged::None,
            count: None,
            posts: false,
            context: 0,
        }
    }
}

/// An operation as a recorder sees it.
pub(crate) trait Told {
    fn deed(&self) -> Deed;

    /// Its arguments in words. `known` returns the index of the call in the list.
    #[inline]
    fn words(&self, known: impl FnOnce(&Deed) -> u32) -> Words {
        let deed = self.deed();
        Words::of(&deed, known(&deed))
    }

    /// Whether it may be recorded after its message is posted.
    #[inline]
    fn posts(&self) -> bool {
        self.deed().posts
    }
}

/// An operation on a communicator, which its own description need not name.
pub(crate) struct OnComm<'a, T> {
    pub told: &'a T,
    pub context: u32,
}

impl<T: Told> Told for OnComm<'_, T> {
    fn deed(&self) -> Deed {
        Deed {
            context: self.context,
            ..self.told.deed()
        }
    }

    #[inline]
    fn words(&self, known: impl FnOnce(&Deed) -> u32) -> Words {
        self.told.words(known).on(self.context)
    }

    #[inline]
    fn posts(&self) -> bool {
        self.told.posts()
    }
}

impl<F: Fn() -> Deed> Told for F {
    #[inline]
    fn deed(&self) -> Deed {
        self()
    }
}

/// The arguments of an operation, in words.
#[derive(Clone, Copy)]
pub(crate) struct Words([u64; 3]);

const HAS_COUNT: u64 = 1 << 8;
const PEER: u64 = 1 << 9;
/// The greatest peer that fits. A call that is refused may name a greater one, most often `Rank::MAX`, which this value
/// stands for.
const MOST: u64 = (CONTEXT - 1) / PEER;
/// The bits from here on hold the communicator's context.
const CONTEXT: u64 = 1 << 32;

impl Words {
    /// The arguments of `deed`, whose call has index `known` in the list.
    #[inline]
    pub(crate) fn of(deed: &Deed, known: u32) -> Words {
        let (role, peer) = match deed.peer {
            Peer::None => (0, 0),
            Peer::To(rank) => (1, rank),
            Peer::From(rank) => (2, rank),
            Peer::FromAny => (3, 0),
            Peer::Root(rank) => (4, rank),
        };
        let (tagged, tag) = match deed.tag {
            Tagged::None => (0, 0),
            Tagged::Any => (1, 0),
            Tagged::Is(tag) => (2, tag),
        };
        let counted = if deed.count.is_some() { HAS_COUNT } else { 0 };
        Words([
            u64::from(known) << 32 | u64::from(tag),
            role | (tagged << 4) | counted | ((peer as u64).min(MOST) * PEER),
            deed.count.unwrap_or(0) as u64,
        ])
        .on(deed.context)
    }

    /// The same arguments on the communicator with this context.
    #[inline]
    fn on(self, context: u32) -> Words {
        let [call, what, count] = self.0;
        Words([call, what | (u64::from(context) * CONTEXT), count])
    }

    /// The communicator's context.
    fn context(&self) -> u32 {
        (self.0[1] / CONTEXT) as u32
    }

    /// The fixed words of an operation that begins at `time`.
    #[inline]
    pub(in crate::transport) fn begun_at(self, time: u64) -> [u64; FIXED] {
        let [call, what, count] = self.0;
        [call, what, count, time]
    }

    /// Reads the fixed words back.
    fn read([call, what, count, time]: [u64; FIXED]) -> (Words, Duration) {
        (Words([call, what, count]), Duration::from_nanos(time))
    }

    /// The index of the call in the list.
    pub(crate) fn known(&self) -> usize {
        (self.0[0] >> 32) as usize
    }

    fn peer(&self) -> Option<String> {
        let peer = match self.0[1] % CONTEXT / PEER {
            MOST => Rank::MAX,
            peer => peer as Rank,
        };
        match self.0[1] & 0xf {
            1 => Some(format!("to {peer}")),
            2 => Some(format!("from {peer}")),
            3 => Some("from any".into()),
            4 => Some(format!("root {peer}")),
            _ => None,
        }
    }

    fn tag(&self) -> Option<String> {
        match self.0[1] >> 4 & 0xf {
            1 => Some("tag any".into()),
            2 => Some(format!("tag {}", self.0[0] as u32)),
            _ => None,
        }
    }

    /// The call as it prints.
    pub(crate) fn show(&self, known: &Known) -> String {
        let count = (self.0[1] & HAS_COUNT != 0).then_some(self.0[2]);
        let name = known.info.map(Info::name);
        let data = match (count, name) {
            (Some(count), Some(name)) => Some(format!("{count} x {name}")),
            (None, name) => name.map(str::to_owned),
            (Some(count), None) => Some(format!("{count} elements")),
        };
        let parts: Vec<_> = [self.peer(), self.tag(), data]
            .into_iter()
            .flatten()
            .collect();
        match parts.is_empty() {
            true => known.verb.clone(),
            false => format!("{}({})", known.verb, parts.join(", ")),
        }
    }
}

/// How far an operation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// The rank is still inside the operation, or ended there.
    Inside = 0,
    /// The operation returned.
    Done,
    /// The operation returned an error.
    Failed,
}

/// A message that an operation has sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Passed {
    /// The operation sent a message to this rank.
    To(Rank),
    /// The operation received a message from this rank.
    From(Rank),
}

/// One of the last operations of a rank, see [`Report::recent`](crate::Report::recent).
///
/// It prints as one line: the call, its source line, and how far it has come.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Operation {
    /// The rank that made the call.
    pub rank: Rank,
    /// The number of the call among those of this rank, from 1.
    pub number: u64,
    /// The call, as it prints.
    pub call: String,
    /// The source line of the call.
    pub site: Site,
    /// The communicator, as `dup of world at src/main.rs:7:20`; `None`: the world.
    pub comm: Option<Arc<str>>,
    /// When it began, measured from the start of the world; at most some milliseconds too early.
    pub begun: Duration,
    /// How far it has come.
    pub progress: Progress,
    /// Number of messages it has sent. For an operation that has not ended: up to its last long wait.
    pub sent: u64,
    /// Number of messages it has received, with the same restriction.
    pub received: u64,
    /// The last message that it sent or received.
    pub last: Option<Passed>,
}

impl Operation {
    /// The call, its source line, and the communicator unless it is the world.
    pub(in crate::transport) fn place(&self) -> String {
        let on = on(self.comm.as_deref());
        format!("{} at {}{on}", self.call, self.site)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())?;
        match self.progress {
            Progress::Done => return Ok(()),
            Progress::Failed => f.write_str(", failed")?,
            Progress::Inside => f.write_str(", not over")?,
        }
        let last = match self.last {
            None => return Ok(()),
            Some(Passed::To(rank)) => format!("the last to rank {rank}"),
            Some(Passed::From(rank)) => format!("the last from rank {rank}"),
        };
        let (sent, received) = (self.sent, self.received);
        write!(f, ": messages sent {sent}, received {received}, {last}")
    }
}

/// The last `most` of `operations`, a line each, with how long before `now` each began, formatted by `when`.
pub(crate) fn lines(
    operations: &[Operation],
    most: usize,
    now: Duration,
    when: impl Fn(String) -> String,
) -> Vec<String> {
    let first = operations.len().saturating_sub(most);
    let line = |operation: &Operation| {
        let ago = now.saturating_sub(operation.begun);
        format!("{:>12}  {operation}", when(short(ago)))
    };
    operations[first..].iter().map(line).collect()
}

/// Formats a time with the precision that the recorder's times have.
fn short(time: Duration) -> String {
    match time.as_millis() {
        millis @ ..10_000 => format!("{millis} ms"),
        millis => format!("{} s", millis / 1000),
    }
}

/// What a rank counts during the operation that it is inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::transport) struct Course {
    pub sent: u64,
    pub received: u64,
    pub last: Last,
}

impl Course {
    /// The progress of the operation, as the words that change.
    #[inline]
    pub(in crate::transport) fn notes(self, progress: Progress) -> [u64; NOTES] {
        [self.last.0 | progress as u64, self.sent, self.received]
    }

    /// Reads those words back.
    fn read([last, sent, received]: [u64; NOTES]) -> (Course, Progress) {
        let progress = match last & 3 {
            1 => Progress::Done,
            2 => Progress::Failed,
            _ => Progress::Inside,
        };
        let last = Last(last & !3);
        (
            Course {
                sent,
                received,
                last,
            },
            progress,
        )
    }

    /// The last message, if there was one.
    fn last(&self) -> Option<Passed> {
        (self.sent + self.received > 0).then(|| self.last.read())
    }
}

/// The last message of an operation, beside two bits for its progress: one bit for the direction, and the rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::transport) struct Last(u64);

impl Last {
    const FROM: u64 = 1 << 2;
    const RANK: u64 = 1 << 3;

    #[inline]
    pub(in crate::transport) fn to(rank: Rank) -> Last {
        Last(rank as u64 * Last::RANK)
    }

    #[inline]
    pub(in crate::transport) fn from(rank: Rank) -> Last {
        Last(Last::to(rank).0 | Last::FROM)
    }

    fn read(self) -> Passed {
        let rank = (self.0 / Last::RANK) as Rank;
        match self.0 & Last::FROM {
            0 => Passed::To(rank),
            _ => Passed::From(rank),
        }
    }
}

/// One event of a trace. Times are nanoseconds since the world began.
pub(crate) enum Event {
    /// An operation begins.
    Begin { words: Words, time: u64 },
    /// The innermost operation ends.
    End { well: bool, time: u64 },
    /// A message is about to be posted.
    Sent {
        to: Rank,
        head: Head,
        bytes: usize,
        time: u64,
    },
    /// A message has been taken.
    Received { head: Head, time: u64 },
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").finish_non_exhaustive()
    }
}

/// What others may read of one rank.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_call_keep_what_it_says_also_of_ranks_that_are_not_there() {
        let known = Known {
            verb: "send".into(),
            site: std::panic::Location::caller(),
            info: None,
        };
        for rank in [0, 1, 65_535, Rank::MAX] {
            let deed = Deed {
                peer: Peer::To(rank),
                tag: Tagged::Is(u32::MAX),
                count: Some(usize::MAX),
                context: u32::MAX - 1,
                ..Deed::at(known.site)
            };
            let words = Words::of(&deed, 7);
            let (words, begun) = Words::read(words.begun_at(5));
            let shown = format!("send(to {rank}, tag {}, {} elements)", u32::MAX, usize::MAX);
            assert_eq!((words.show(&known), words.known()), (shown, 7));
            assert_eq!(begun, Duration::from_nanos(5));
            assert_eq!(words.context(), u32::MAX - 1);
        }
    }

    #[test]
    fn notes_tell_both_counts_the_last_message_and_the_end() {
        for progress in [Progress::Inside, Progress::Done, Progress::Failed] {
            for (last, passed) in [
                (Last::to(0), Passed::To(0)),
                (Last::from(65_535), Passed::From(65_535)),
            ] {
                let course = Course {
                    sent: 5,
                    received: 1,
                    last,
                };
                let read = Course::read(course.notes(progress));
                assert_eq!(read, (course, progress));
                assert_eq!(read.0.last(), Some(passed));
            }
        }
        assert_eq!(Course::default().last(), None);
    }
}
