//! The full trace of a run: every call with its begin and end, every message with its send and receive.
//!
//! # How sends and receives are matched
//!
//! Messages carry no number. None is needed: of the messages from one rank to another in one communicator and with one
//! tag (in collectives: in one call), the first one sent is the first one taken. Two that are received by requests may be
//! swapped, if the later one is waited for first: a receive is traced when its request is concluded.

use std::collections::{HashMap, VecDeque};
use std::mem::replace;
use std::sync::Arc;
use std::time::Duration;

use crate::Rank;
use crate::error::Site;
use crate::names::Transport;
use crate::transport::memory::head::Head;
use crate::transport::trace::call_event::Known;
use crate::transport::trace::part::WorldPart;
use crate::transport::trace::record::{Event, Record};

#[cfg(feature = "draw")]
mod picture;

/// The full trace of a run; see [`World::trace`](crate::World::trace).
///
/// Times count from the start of the world and use one clock for all ranks: a message is never received before it was
/// sent.
///
/// In a world that is spread over processes, each process traces its own ranks: what they send to other
/// processes is in its trace, and not when it is received. `rankfold trace merge` joins the
/// [files](Trace::to_perfetto) of all processes.
///
/// # Examples
///
/// A file for <https://ui.perfetto.dev>, and, with the feature `draw`, a picture:
///
/// ```
/// use rankfold::{World, op};
///
/// let report = World::new(8).trace(true).run_each(|comm| {
///     comm.all_reduce(&mut [comm.rank() as f64], op::Sum)
/// });
/// let trace = report.trace().unwrap();
/// assert!(trace.to_perfetto().starts_with("{\"displayTimeUnit\":\"ns\""));
/// assert!(trace.svg()?.starts_with("<svg"));
/// # Ok::<(), rankfold::draw::TooLarge>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trace {
    /// The number of ranks.
    pub ranks: usize,
    /// What carried the messages. Over [memory](Transport::Memory), those of collectives may have been read in place:
    /// they are the messages of the schedule.
    pub transport: Transport,
    /// The calls, rank by rank, in the order in which each rank made them.
    pub calls: Vec<TracedCall>,
    /// The messages, by sender and in the order in which each rank sent them.
    pub messages: Vec<TracedMessage>,
    /// The events of each rank, in its own order.
    marks: Vec<Vec<TraceEvent>>,
    /// Whether times are logical, that is, count events.
    logical: bool,
    /// The ranks that are traced, if others are in other processes, and what only merged traces tell.
    pub(super) part: Option<WorldPart>,
    /// The key of each message that may have been received.
    pub(super) keys: Vec<Option<MessageKey>>,
    /// The receives of messages from other processes.
    pub(super) arrivals: Vec<Arrival>,
}

/// The receive of a message whose sender is not in the trace.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub key: MessageKey,
    pub received: Duration,
}

/// A call of a rank in a [`Trace`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TracedCall {
    /// The rank that made it.
    pub rank: Rank,
    /// The call, as printed.
    pub call: String,
    /// Its line.
    pub site: Site,
    /// When it began.
    pub begin: Duration,
    /// When it was over; `None` if the rank ended inside it.
    pub end: Option<Duration>,
    /// Whether it returned an error.
    pub failed: bool,
}

/// A message in a [`Trace`]. Ranks are numbered as in the world.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TracedMessage {
    /// The sender.
    pub from: Rank,
    /// The receiver.
    pub to: Rank,
    /// Its tag; `None` inside collectives.
    pub tag: Option<u32>,
    /// Its length in bytes; for a moved value, the size of the value itself without what it points to.
    pub bytes: usize,
    /// When it was sent.
    pub sent: Duration,
    /// The index of the call that sent it, in the trace's calls.
    pub sent_in: usize,
    /// When it was received, if it was.
    pub received: Option<Duration>,
    /// The index of the call that received it, in the trace's calls.
    pub received_in: Option<usize>,
}

/// One event of a rank: an index into the calls or the messages.
#[derive(Clone, Copy, Debug)]
enum TraceEvent {
    Begin(usize),
    End(usize),
    Sent(usize),
    /// `None` if its sender is not in the trace.
    Received(Option<usize>),
}

/// Communicator, sender, receiver, and tag or number of the call.
pub(super) type MessageKey = (u32, Rank, Rank, u32);

fn key(head: Head, to: Rank) -> MessageKey {
    (head.context(), head.source(), to, head.tag())
}

/// What [`Trace::logical`] knows of the send of a message.
#[derive(Clone, Copy)]
enum Send {
    /// It has no time yet; the receiver, if that waits for it.
    Ahead(Option<Rank>),
    At(u64),
}

impl Send {
    fn receiver(self) -> Option<Rank> {
        match self {
            Send::Ahead(receiver) => receiver,
            Send::At(_) => None,
        }
    }
}

/// The logical time that an event of a rank is later than; `None`, and the rank waits, if that is not known yet.
fn earliest(event: TraceEvent, rank: Rank, sends: &mut [Send]) -> Option<u64> {
    let TraceEvent::Received(Some(message)) = event else {
        return Some(0);
    };
    match &mut sends[message] {
        Send::At(time) => Some(*time),
        Send::Ahead(receiver) => {
            *receiver = Some(rank);
            None
        }
    }
}

impl Trace {
    /// The trace of ranks that have ended.
    pub(super) fn of(
        records: &[Option<Arc<Record>>],
        transport: Transport,
        part: Option<WorldPart>,
    ) -> Option<Trace> {
        let mut trace = Trace {
            ranks: records.len(),
            transport,
            calls: Vec::new(),
            messages: Vec::new(),
            marks: vec![Vec::new(); records.len()],
            logical: false,
            part,
            keys: Vec::new(),
            arrivals: Vec::new(),
        };
        let mut reader = Reader::default();
        let mut traced = false;
        for (rank, record) in records.iter().enumerate() {
            let events = record.as_ref().and_then(|record| {
                record.events(|events, known| reader.read(rank, events, known, &mut trace))
            });
            traced |= events.is_some();
        }
        reader.match_ends(&mut trace);
        traced.then_some(trace)
    }

    /// The last time in the trace.
    pub(super) fn end(&self) -> Duration {
        let calls = self.calls.iter();
        let calls = calls.flat_map(|call| [Some(call.begin), call.end]);
        let messages = self.messages.iter();
        let messages = messages.flat_map(|message| [Some(message.sent), message.received]);
        calls.chain(messages).flatten().max().unwrap_or_default()
    }

    /// Returns the same trace with logical times, which only order events: each rank counts its events, and a message
    /// is received later than it was sent. An event takes a microsecond. The same program gives the same times in every
    /// run, unless it receives from [any](crate::Source::Any) rank.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let run = || World::new(3).trace(true).run_each(|comm| comm.gather(0, &[comm.rank()]));
    /// let [one, two] = [run(), run()].map(|report| report.trace().unwrap().logical());
    /// assert_eq!(one.messages, two.messages);
    /// ```
    ///
    /// # Source
    ///
    /// Lamport, *Time, Clocks, and the Ordering of Events in a Distributed System*, 1978.
    pub fn logical(&self) -> Trace {
        let mut logical = self.clone();
        logical.logical = true;
        // Events of other processes would count, too.
        logical.part = None;
        for message in &mut logical.messages {
            message.received = None;
        }
        let mut sends = vec![Send::Ahead(None); self.messages.len()];
        let mut clocks = vec![0; self.ranks];
        let mut events: Vec<_> = self.marks.iter().map(|marks| marks.iter()).collect();
        let mut ready: Vec<Rank> = (0..self.ranks).collect();
        while let Some(rank) = ready.pop() {
            while let Some(&mark) = events[rank].as_slice().first() {
                let Some(after) = earliest(mark, rank, &mut sends) else {
                    break;
                };
                let time = clocks[rank].max(after) + 1;
                if let TraceEvent::Sent(message) = mark {
                    ready.extend(replace(&mut sends[message], Send::At(time)).receiver());
                }
                logical.set(mark, Duration::from_micros(time));
                clocks[rank] = time;
                events[rank].next();
            }
        }
        logical
    }

    /// Adds a call that has begun.
    fn begin(&mut self, rank: Rank, call: String, site: Site, time: u64) -> TraceEvent {
        self.calls.push(TracedCall {
            rank,
            call,
            site,
            begin: Duration::from_nanos(time),
            end: None,
            failed: false,
        });
        TraceEvent::Begin(self.calls.len() - 1)
    }

    /// Notes that a call is over.
    fn end_of(&mut self, call: usize, well: bool, time: u64) -> TraceEvent {
        self.calls[call].end = Some(Duration::from_nanos(time));
        self.calls[call].failed = !well;
        TraceEvent::End(call)
    }

    /// Sets the time of one event.
    fn set(&mut self, mark: TraceEvent, time: Duration) {
        match mark {
            TraceEvent::Begin(call) => self.calls[call].begin = time,
            TraceEvent::End(call) => self.calls[call].end = Some(time),
            TraceEvent::Sent(message) => self.messages[message].sent = time,
            TraceEvent::Received(Some(message)) => self.messages[message].received = Some(time),
            TraceEvent::Received(None) => {}
        }
    }
}

/// State for reading the events of all ranks one after another.
#[derive(Default)]
struct Reader {
    /// Messages that have not been received yet.
    open: HashMap<MessageKey, VecDeque<usize>>,
    /// Receives, in the order of each rank: rank, index among its marks, key, time, call.
    taken: Vec<(Rank, usize, MessageKey, Duration, usize)>,
}

impl Reader {
    /// Adds the events of one rank to the trace.
    fn read(&mut self, rank: Rank, events: &[Event], known: &[Known], trace: &mut Trace) {
        // The nested calls that the rank is inside.
        let mut inside: Vec<usize> = Vec::new();
        for event in events {
            let mark = match event {
                Event::Begin { words, time } => {
                    let known = &known[words.known()];
                    inside.push(trace.calls.len());
                    Some(trace.begin(rank, words.show(known), known.site, *time))
                }
                Event::End { well, time } => {
                    inside.pop().map(|call| trace.end_of(call, *well, *time))
                }
                Event::Sent {
                    to,
                    head,
                    bytes,
                    time,
                    receipt,
                } => inside.last().map(|&call| {
                    let sent = message(*head, *to, *bytes, *time, call);
                    let is_retracted = receipt.as_ref().is_some_and(|it| it.is_retracted());
                    let key = (!is_retracted).then(|| key(*head, *to));
                    self.sent(key, sent, trace)
                }),
                Event::Received { head, time } => inside.last().map(|&call| {
                    let (place, time) = (trace.marks[rank].len(), Duration::from_nanos(*time));
                    let taken = (rank, place, key(*head, rank), time, call);
                    self.taken.push(taken);
                    TraceEvent::Received(None)
                }),
            };
            trace.marks[rank].extend(mark);
        }
    }

    /// Adds a message, which waits for its receive unless it was revoked.
    fn sent(
        &mut self,
        key: Option<MessageKey>,
        message: TracedMessage,
        trace: &mut Trace,
    ) -> TraceEvent {
        let id = trace.messages.len();
        if let Some(key) = key {
            self.open.entry(key).or_default().push_back(id);
        }
        trace.messages.push(message);
        trace.keys.push(key);
        TraceEvent::Sent(id)
    }

    /// Matches every receive with the first open message for it.
    fn match_ends(mut self, trace: &mut Trace) {
        for (rank, place, key, time, call) in self.taken {
            let message = self.open.get_mut(&key).and_then(VecDeque::pop_front);
            trace.marks[rank][place] = TraceEvent::Received(message);
            if let Some(message) = message {
                trace.messages[message].received = Some(time);
                trace.messages[message].received_in = Some(call);
            } else {
                let received = time;
                trace.arrivals.push(Arrival { key, received });
            }
        }
    }
}

fn message(head: Head, to: Rank, bytes: usize, time: u64, call: usize) -> TracedMessage {
    let collective = head.is_collective();
    TracedMessage {
        from: head.source(),
        to,
        tag: (!collective).then(|| head.tag()),
        bytes,
        sent: Duration::from_nanos(time),
        sent_in: call,
        received: None,
        received_in: None,
    }
}
