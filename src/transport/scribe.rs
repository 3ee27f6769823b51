//! The hand of a rank that writes down what it does: for the flight recorder in a few nanoseconds, for a
//! trace with exact times.
//!
//! It is done where the rank would wait anyhow: a receive is written down before it waits, a send that does
//! not wait after its message is out, and the messages that a call has passed on when it waits for long or ends.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use super::clock::Clock;
use super::head::Head;
use super::recorder::{Deed, Event, Known, Passed, Record, Words, notes};
use super::ring::DEPTH;
use crate::Rank;

/// What tells calls apart: the addresses of their line, their verb and the type of their elements. The
/// same call may have several; then it stands in the list several times.
type Key = [usize; 3];

/// Places for calls that are found without a search.
const NEAR: usize = 64;

/// What is needed to end an operation: the one around it, if there is one, and how far that has come.
#[derive(Clone, Copy)]
pub(crate) struct Token {
    outer: u64,
    outer_progress: u64,
}

/// A rank's own end of its record.
pub(crate) struct Scribe {
    record: Option<Arc<Record>>,
    clock: Cell<Clock>,
    near: [Cell<(Key, u32)>; NEAR],
    far: RefCell<HashMap<Key, u32>>,
    /// Operations begun.
    begun: Cell<u64>,
    /// The one that the rank is inside.
    inside: Cell<u64>,
    /// The last time that was noted: cheap times lag behind exact ones.
    time: Cell<u64>,
    /// How far that one has come.
    progress: Cell<u64>,
    /// Whether it is still to be written down.
    later: Cell<bool>,
}

impl Scribe {
    pub(crate) fn new(record: Option<Arc<Record>>, clock: Clock) -> Scribe {
        Scribe {
            record,
            clock: Cell::new(clock),
            near: std::array::from_fn(|_| Cell::new(([0; 3], 0))),
            far: RefCell::default(),
            begun: Cell::new(0),
            inside: Cell::new(0),
            time: Cell::new(0),
            progress: Cell::new(0),
            later: Cell::new(false),
        }
    }

    /// Forgets all operations, for a run that begins then; what is known of calls stays.
    pub(super) fn begin_again(&self, begin: u64) {
        self.clock.set(self.clock.get().beginning(begin));
        if let Some(ring) = self.record.as_ref().and_then(|record| record.ring.as_ref()) {
            ring.forget(self.begun.get());
        }
        for count in [&self.begun, &self.inside, &self.time, &self.progress] {
            count.set(0);
        }
        self.later.set(false);
    }

    /// An operation begins; `show` is asked how it prints if nothing is known of it.
    #[inline]
    pub(crate) fn begin(&self, deed: impl Fn() -> Deed, show: &dyn Fn() -> String) -> Token {
        let token = Token {
            outer: self.inside.get(),
            outer_progress: self.progress.get(),
        };
        if let Some(record) = &self.record {
            let number = self.begun.get() + 1;
            self.begun.set(number);
            self.inside.set(number);
            self.progress.set(0);
            // Before a post the receiver would wait for all this: it is written down after it.
            let later = deed().posts && record.events.is_none();
            self.later.set(later);
            if !later {
                self.write(record, &deed(), show);
            }
        }
        token
    }

    /// Writes down the operation that the rank is inside.
    #[inline(never)]
    fn write(&self, record: &Record, deed: &Deed, show: &dyn Fn() -> String) {
        let words = Words::of(deed, self.known(record, deed, show));
        if let Some(ring) = &record.ring {
            let notes = notes::of(self.progress.get(), self.now());
            ring.write(self.inside.get(), words.0, notes);
        }
        self.trace(|time| Event::Begin { words, time });
    }

    /// Writes down the operation that the rank is inside, if that was left for later, or how far it has come:
    /// it is about to wait.
    #[inline]
    pub(crate) fn settle(&self, deed: &Deed, show: &dyn Fn() -> String) {
        if let Some(record) = &self.record {
            self.write_or_note(record, || *deed, show);
        }
    }

    #[inline]
    fn write_or_note(&self, record: &Record, deed: impl Fn() -> Deed, show: &dyn Fn() -> String) {
        match self.later.replace(false) {
            true => self.write(record, &deed(), show),
            false => self.note(record),
        }
    }

    /// Notes how far the operation has come, if it is written down: it waits for long.
    pub(crate) fn catch_up(&self) {
        if let (false, Some(record)) = (self.later.get(), &self.record) {
            self.note(record);
        }
    }

    /// The operation is over.
    #[inline]
    pub(crate) fn end(
        &self,
        token: Token,
        deed: impl Fn() -> Deed,
        show: &dyn Fn() -> String,
        well: bool,
    ) {
        let Some(record) = &self.record else {
            return;
        };
        self.progress.set(notes::ended(self.progress.get(), well));
        self.write_or_note(record, deed, show);
        self.inside.set(token.outer);
        self.progress.set(token.outer_progress);
        self.trace(|time| Event::End { well, time });
    }

    /// Notes how far the operation has come, where it is written down.
    #[inline]
    fn note(&self, record: &Record) {
        let number = self.inside.get();
        // If so many have begun inside it, another one has its place.
        let there = self.begun.get() - number < DEPTH as u64;
        if let Some(ring) = record.ring.as_ref().filter(|_| there) {
            ring.note(number, notes::PROGRESS, self.progress.get());
        }
    }

    /// Whether the rank has begun an operation that is written down.
    #[inline]
    pub(super) fn is_used(&self) -> bool {
        self.begun.get() > 0
    }

    /// Whether anything is written down.
    #[inline]
    pub(crate) fn writes(&self) -> bool {
        self.record.is_some()
    }

    /// A message is about to be on its way.
    #[inline]
    pub(crate) fn sent(&self, to: Rank, head: Head, bytes: usize) {
        self.sends(to, head, bytes);
        self.has_sent(to);
    }

    /// Counts a message that is on its way.
    #[inline]
    pub(crate) fn has_sent(&self, to: Rank) {
        self.pass(Passed::To(to));
    }

    /// Traces that a message is about to be on its way.
    #[inline]
    pub(crate) fn sends(&self, to: Rank, head: Head, bytes: usize) {
        self.trace(|time| Event::Sent {
            to,
            head,
            bytes,
            time,
        });
    }

    /// A message has been taken.
    #[inline]
    pub(crate) fn received(&self, head: Head) {
        self.pass(Passed::From(head.source()));
        self.trace(|time| Event::Received { head, time });
    }

    #[inline]
    fn pass(&self, message: Passed) {
        self.progress
            .set(notes::passed(self.progress.get(), message));
    }

    /// A cheap time, not before any that was noted.
    #[inline]
    fn now(&self) -> u64 {
        let time = self.clock.get().cheap().max(self.time.get());
        self.time.set(time);
        time
    }

    #[inline]
    fn trace(&self, event: impl FnOnce(u64) -> Event) {
        if let Some(record) = self
            .record
            .as_ref()
            .filter(|record| record.events.is_some())
        {
            self.append(record, event);
        }
    }

    #[cold]
    fn append(&self, record: &Record, event: impl FnOnce(u64) -> Event) {
        let event = event(self.clock.get().exact());
        if let Some(events) = &record.events {
            events.lock().push(event);
        }
    }

    /// The number of a call in the list of known ones.
    #[inline]
    fn known(&self, record: &Record, deed: &Deed, show: &dyn Fn() -> String) -> u32 {
        let info = deed.info.map_or(0, |info| std::ptr::from_ref(info).addr());
        let site = std::ptr::from_ref(deed.site).addr();
        let key = [site, deed.verb.as_ptr().addr(), info];
        // Lines lie 24 bytes apart.
        let near = &self.near[(site / 8) % NEAR];
        let (found, number) = near.get();
        if found == key {
            return number;
        }
        let number = self.look_up(record, key, deed, show);
        near.set((key, number));
        number
    }

    #[cold]
    fn look_up(&self, record: &Record, key: Key, deed: &Deed, show: &dyn Fn() -> String) -> u32 {
        let enter = || {
            let mut known = record.known.lock();
            known.push(Known {
                verb: verb(deed, show),
                site: deed.site,
                info: deed.info,
            });
            known.len() as u32 - 1
        };
        *self.far.borrow_mut().entry(key).or_insert_with(enter)
    }
}

/// What a call is called.
fn verb(deed: &Deed, show: &dyn Fn() -> String) -> String {
    match deed.verb {
        "" => show().split('(').next().unwrap_or_default().to_owned(),
        verb => verb.to_owned(),
    }
}
