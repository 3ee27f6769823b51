//! A rank's recorder: it writes for the flight recorder in a few nanoseconds, and for a trace with exact times.
//!
//! It writes where the rank would wait anyhow. A receive is recorded before it waits, and a send that does not wait
//! after its message is posted. The messages that a call has sent and received are recorded when it waits for long or
//! ends.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use crate::Rank;
use crate::hash::Mix;
use crate::transport::memory::head::Head;
use crate::transport::memory::receipt::Receipt;
use crate::transport::trace::call_event::{CallEvent, Known};
use crate::transport::trace::clock::Clock;
use crate::transport::trace::course::{Course, Last};
use crate::transport::trace::event_ring::{DEPTH, NOTES};
use crate::transport::trace::operation::Progress;
use crate::transport::trace::record::{Event, Record};
use crate::transport::trace::words::{DescribeCall, Words};

/// What distinguishes calls: the addresses of their source line, their verb and their element type. The same call may
/// have several such keys; then it is in the list several times.
type Key = [usize; 3];

/// Number of cache places in which calls are found without a search.
const NEAR: usize = 64;

/// The state needed to end an operation: the enclosing operation, if there is one, its counts, and whether it has still to
/// be written.
#[derive(Clone, Copy)]
pub(crate) struct Token {
    outer: u64,
    course: Course,
    later: bool,
}

/// A rank's own end of its record.
pub(crate) struct Recorder {
    record: Option<Arc<Record>>,
    /// Whether it also traces.
    traces: bool,
    clock: Cell<Clock>,
    near: [Cell<(Key, u32)>; NEAR],
    far: RefCell<HashMap<Key, u32, BuildHasherDefault<Mix>>>,
    /// Number of operations begun.
    begun: Cell<u64>,
    /// The number of the operation that the rank is inside.
    inside: Cell<u64>,
    /// The last time that was noted: coarse times lag behind exact ones.
    time: Cell<u64>,
    /// The counts of messages that the operation has sent and received so far.
    course: Counted,
    /// Whether that operation is still to be recorded.
    later: Cell<bool>,
}

/// A [`Course`] with a separate cell for each count, so that no count is read while another is written.
#[derive(Default)]
struct Counted {
    sent: Cell<u64>,
    received: Cell<u64>,
    last: Cell<Last>,
}

impl Counted {
    #[inline]
    fn get(&self) -> Course {
        Course {
            sent: self.sent.get(),
            received: self.received.get(),
            last: self.last.get(),
        }
    }

    #[inline]
    fn set(&self, course: Course) {
        self.sent.set(course.sent);
        self.received.set(course.received);
        self.last.set(course.last);
    }
}

impl Recorder {
    pub(crate) fn new(record: Option<Arc<Record>>, clock: Clock) -> Recorder {
        Recorder {
            traces: record
                .as_ref()
                .is_some_and(|record| record.events.is_some()),
            record,
            clock: Cell::new(clock),
            near: std::array::from_fn(|_| Cell::new(([0; 3], 0))),
            far: RefCell::default(),
            begun: Cell::new(0),
            inside: Cell::new(0),
            time: Cell::new(0),
            course: Counted::default(),
            later: Cell::new(false),
        }
    }

    /// Forgets all operations, for a run that begins at `begin`. The list of known calls stays.
    pub(in crate::transport) fn begin_again(&self, begin: u64) {
        self.clock.set(self.clock.get().beginning(begin));
        if let Some(ring) = self.record.as_ref().and_then(|record| record.ring.as_ref()) {
            ring.forget(self.begun.get());
        }
        for count in [&self.begun, &self.inside, &self.time] {
            count.set(0);
        }
        self.course.set(Course::default());
        self.later.set(false);
    }

    /// Begins an operation. `show` formats the call if it is not in the list yet.
    #[inline]
    pub(crate) fn begin(&self, call: &impl DescribeCall, show: &dyn Fn() -> String) -> Token {
        let token = Token {
            outer: self.inside.get(),
            course: self.course.get(),
            later: self.later.get(),
        };
        if self.record.is_some() {
            let number = self.begun.get() + 1;
            self.begun.set(number);
            self.inside.set(number);
            self.course.set(Course::default());
            // The receiver would wait for all this if it came before the post: a post is recorded after it.
            let later = call.posts() && !self.traces;
            self.later.set(later);
            if !later {
                self.write(call, show, Progress::Inside);
            }
        }
        token
    }

    /// Records a send to a rank from its beginning to its end, which was posted already. Not while this traces.
    #[inline]
    pub(crate) fn has_sent_at_once(
        &self,
        to: Rank,
        call: &impl DescribeCall,
        show: &dyn Fn() -> String,
    ) {
        let course = Course {
            sent: 1,
            received: 0,
            last: Last::to(to),
        };
        self.has_done_at_once(course, call, show);
    }

    /// Records the start of a receive from its beginning to its end. Not while this traces.
    #[inline]
    pub(crate) fn has_posted_at_once(&self, call: &impl DescribeCall, show: &dyn Fn() -> String) {
        self.has_done_at_once(Course::default(), call, show);
    }

    #[inline]
    fn has_done_at_once(
        &self,
        course: Course,
        call: &impl DescribeCall,
        show: &dyn Fn() -> String,
    ) {
        let Some(record) = &self.record else {
            return;
        };
        let number = self.begun.get() + 1;
        self.begun.set(number);
        self.write_to_ring(record, number, course.notes(Progress::Done), call, show);
    }

    /// Records the operation that the rank is inside.
    #[inline(never)]
    fn write(&self, call: &impl DescribeCall, show: &dyn Fn() -> String, progress: Progress) {
        let Some(record) = &self.record else {
            return;
        };
        let notes = self.course.get().notes(progress);
        let words = self.write_to_ring(record, self.inside.get(), notes, call, show);
        self.trace(|time| Event::Begin { words, time });
    }

    /// Writes an operation to the flight recorder's ring. Returns its arguments.
    #[inline]
    fn write_to_ring(
        &self,
        record: &Record,
        number: u64,
        notes: [u64; NOTES],
        call: &impl DescribeCall,
        show: &dyn Fn() -> String,
    ) -> Words {
        let words = call.words(|event| self.known(record, event, show));
        if let Some(ring) = &record.ring {
            ring.write(number, words.begun_at(self.now()), notes);
        }
        words
    }

    /// Records the operation that the rank is inside, if that was deferred: the rank is about to wait.
    #[inline]
    pub(crate) fn settle(&self, call: &impl DescribeCall, show: &dyn Fn() -> String) {
        if self.later.replace(false) && self.is_kept() {
            self.write(call, show, Progress::Inside);
        }
    }

    /// Notes the progress of the operation, if it is recorded: the rank waits for long.
    pub(crate) fn catch_up(&self) {
        if !self.later.get() {
            self.note(Progress::Inside);
        }
    }

    /// Ends the operation.
    #[inline]
    pub(crate) fn end(
        &self,
        token: Token,
        call: &impl DescribeCall,
        show: &dyn Fn() -> String,
        well: bool,
    ) {
        let progress = match well {
            true => Progress::Done,
            false => Progress::Failed,
        };
        match (self.later.replace(token.later), self.is_kept()) {
            (true, true) => self.write(call, show, progress),
            (false, _) => self.note(progress),
            (true, false) => (),
        }
        self.inside.set(token.outer);
        self.course.set(token.course);
        self.trace(|time| Event::End { well, time });
    }

    /// Notes the progress of the operation, if it is recorded.
    #[inline]
    fn note(&self, progress: Progress) {
        let ring = self.record.as_ref().and_then(|record| record.ring.as_ref());
        if let Some(ring) = ring.filter(|_| self.is_kept()) {
            ring.note(self.inside.get(), self.course.get().notes(progress));
        }
    }

    /// Whether the operation has its place in the ring: after `DEPTH` more operations inside it, another one has it.
    #[inline]
    fn is_kept(&self) -> bool {
        self.begun.get() - self.inside.get() < DEPTH as u64
    }

    /// Whether the rank has begun an operation that is recorded.
    #[inline]
    pub(in crate::transport) fn is_used(&self) -> bool {
        self.begun.get() > 0
    }

    /// Whether messages are traced.
    #[inline]
    pub(crate) fn traces(&self) -> bool {
        self.traces
    }

    /// Whether anything is recorded.
    #[inline]
    pub(crate) fn writes(&self) -> bool {
        self.record.is_some()
    }

    /// Traces and counts a message that is about to be posted.
    #[inline]
    pub(crate) fn sent(&self, to: Rank, head: Head, bytes: usize) {
        self.sends(to, || head, bytes);
        self.has_sent(to);
    }

    /// Counts a message that has been posted.
    #[inline]
    pub(crate) fn has_sent(&self, to: Rank) {
        self.has_sent_all(1, to);
    }

    /// Counts several messages that have been posted, the last of them to `last`.
    #[inline]
    pub(crate) fn has_sent_all(&self, messages: u64, last: Rank) {
        self.course.sent.set(self.course.sent.get() + messages);
        self.course.last.set(Last::to(last));
    }

    /// Counts several messages that have been taken and are not traced, the last of them from `last`.
    #[inline]
    pub(crate) fn has_received_all(&self, messages: u64, last: Rank) {
        let received = &self.course.received;
        received.set(received.get() + messages);
        self.course.last.set(Last::from(last));
    }

    /// Traces that a message is about to be posted.
    #[inline]
    pub(crate) fn sends(&self, to: Rank, head: impl FnOnce() -> Head, bytes: usize) {
        self.trace(|time| Event::Sent {
            to,
            head: head(),
            bytes,
            time,
            receipt: None,
        });
    }

    /// Traces and counts a message that its sender may revoke.
    pub(crate) fn sent_with(&self, to: Rank, head: Head, bytes: usize, receipt: &Arc<Receipt>) {
        self.trace(|time| Event::Sent {
            to,
            head,
            bytes,
            time,
            receipt: Some(receipt.clone()),
        });
        self.has_sent(to);
    }

    /// Counts and traces a message that has been taken.
    #[inline]
    pub(crate) fn received(&self, head: Head) {
        self.received_from(head.source(), || head);
    }

    /// The same, for a message whose head is constructed for a trace only.
    #[inline]
    pub(crate) fn received_from(&self, from: Rank, head: impl FnOnce() -> Head) {
        self.course.received.set(self.course.received.get() + 1);
        self.course.last.set(Last::from(from));
        self.trace(|time| Event::Received { head: head(), time });
    }

    /// A coarse time, not before any that was noted.
    #[inline]
    fn now(&self) -> u64 {
        let time = self.clock.get().cheap().max(self.time.get());
        self.time.set(time);
        time
    }

    #[inline]
    fn trace(&self, event: impl FnOnce(u64) -> Event) {
        if self.traces {
            self.append(event);
        }
    }

    #[cold]
    fn append(&self, event: impl FnOnce(u64) -> Event) {
        let event = event(self.clock.get().exact());
        let events = self
            .record
            .as_ref()
            .and_then(|record| record.events.as_ref());
        if let Some(events) = events {
            events.lock().push(event);
        }
    }

    /// The index of a call in the list of known ones.
    #[inline]
    fn known(&self, record: &Record, event: &CallEvent, show: &dyn Fn() -> String) -> u32 {
        let info = event.info.map_or(0, |info| std::ptr::from_ref(info).addr());
        let site = std::ptr::from_ref(event.site).addr();
        let key = [site, name_key(event, show), info];
        // The `Location`s of two calls are 24 bytes apart.
        let near = &self.near[(site / 8) % NEAR];
        let (found, number) = near.get();
        // Word by word: the key was just written, and wider reads of it would stall.
        let differ = |place: usize| found[place] ^ key[place];
        if differ(0) | differ(1) | differ(2) == 0 {
            return number;
        }
        let number = self.look_up(record, key, event, show);
        near.set((key, number));
        number
    }

    #[cold]
    fn look_up(
        &self,
        record: &Record,
        key: Key,
        event: &CallEvent,
        show: &dyn Fn() -> String,
    ) -> u32 {
        let enter = || {
            let mut known = record.known.lock();
            known.push(Known {
                verb: verb(event, show),
                site: event.site,
                info: event.info,
            });
            known.len() as u32 - 1
        };
        *self.far.borrow_mut().entry(key).or_insert_with(enter)
    }
}

/// A number that tells the names of the calls at one line apart.
#[inline]
fn name_key(event: &CallEvent, show: &dyn Fn() -> String) -> usize {
    match (event.verb, event.apart) {
        ("", 0) => shown_key(event, show),
        ("", apart) => apart,
        (verb, _) => verb.as_ptr().addr(),
    }
}

#[cold]
fn shown_key(event: &CallEvent, show: &dyn Fn() -> String) -> usize {
    let mut hash = Mix::default();
    hash.write(verb(event, show).as_bytes());
    hash.finish() as usize
}

/// The part of a call as it prints that is the same at each call of its line.
fn name_in(shown: &str) -> &str {
    let name = shown.split('(').next().unwrap_or_default();
    name.split(" of line ").next().unwrap_or_default()
}

/// The name of a call.
fn verb(event: &CallEvent, show: &dyn Fn() -> String) -> String {
    match event.verb {
        "" => name_in(&show()).to_owned(),
        verb => verb.to_owned(),
    }
}
