//! The hand of a rank that writes down what it does: for the flight recorder in a few nanoseconds, for a
//! trace with exact times.
//!
//! When an operation begins is noted where the rank would wait anyhow: of a receive before it waits, of a
//! send after its message is out.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use super::clock::Clock;
use super::head::Head;
use super::recorder::{Deed, Event, Known, Passed, Record, Words, notes};
use super::ring::Ring;
use crate::Rank;

/// What tells calls apart: the addresses of their line, their verb and the type of their elements. The
/// same call may have several; then it stands in the list several times.
type Key = [usize; 3];

/// Places for calls that are found without a search.
const NEAR: usize = 64;

/// What is needed to end an operation.
#[derive(Clone, Copy)]
pub(crate) struct Token {
    number: u64,
    /// The operation around it, if there is one.
    outer: u64,
}

/// A rank's own end of its record.
pub(crate) struct Scribe {
    record: Option<Arc<Record>>,
    clock: Clock,
    near: [Cell<(Key, u32)>; NEAR],
    far: RefCell<HashMap<Key, u32>>,
    /// Operations begun.
    begun: Cell<u64>,
    /// The one that the rank is inside.
    inside: Cell<u64>,
    /// The last time that was noted: cheap times lag behind exact ones.
    time: Cell<u64>,
    /// Whether the time of the operation is still to be noted.
    late: Cell<bool>,
}

impl Scribe {
    pub(crate) fn new(record: Option<Arc<Record>>, clock: Clock) -> Scribe {
        Scribe {
            record,
            clock,
            near: std::array::from_fn(|_| Cell::new(([0; 3], 0))),
            far: RefCell::default(),
            begun: Cell::new(0),
            inside: Cell::new(0),
            time: Cell::new(0),
            late: Cell::new(false),
        }
    }

    /// An operation begins; `show` is asked how it prints if nothing is known of it.
    #[inline]
    pub(crate) fn begin(&self, deed: &Deed, show: &dyn Fn() -> String) -> Token {
        let outer = self.inside.get();
        let token = |number| Token { number, outer };
        let Some(record) = &self.record else {
            return token(0);
        };
        let number = self.begun.get() + 1;
        self.begun.set(number);
        self.inside.set(number);
        let words = Words::of(deed, self.known(record, deed, show));
        if let Some(ring) = &record.ring {
            // Before a post the receiver would wait for the clock: the last time that was noted, for now.
            let time = if deed.posts {
                self.time.get()
            } else {
                self.now()
            };
            ring.write(number, words.0, notes::begun(time));
            self.late.set(deed.posts);
        }
        self.trace(|time| Event::Begin { words, time });
        token(number)
    }

    /// The operation is over.
    #[inline]
    pub(crate) fn end(&self, token: Token, well: bool) {
        let Some(record) = &self.record else {
            return;
        };
        self.inside.set(token.outer);
        if let Some(ring) = &record.ring {
            ring.note(token.number, notes::PROGRESS, |note| {
                notes::ended(note, well)
            });
            if self.late.get() {
                self.note_time(ring, token.number);
            }
        }
        self.trace(|time| Event::End { well, time });
    }

    /// The operation has to wait for long.
    pub(crate) fn waits(&self) {
        if let Some(ring) = self.ring().filter(|_| self.late.get()) {
            self.note_time(ring, self.inside.get());
        }
    }

    #[inline]
    fn note_time(&self, ring: &Ring, number: u64) {
        let time = self.now();
        ring.note(number, notes::TIME, |_| time);
        self.late.set(false);
    }

    #[inline]
    fn ring(&self) -> Option<&Ring> {
        self.record.as_ref()?.ring.as_ref()
    }

    /// A message is about to be on its way.
    #[inline]
    pub(crate) fn sent(&self, to: Rank, head: Head, bytes: usize) {
        self.pass(Passed::To(to));
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
        if let Some(ring) = self.ring() {
            ring.note(self.inside.get(), notes::PROGRESS, |note| {
                notes::passed(note, message)
            });
        }
    }

    /// A cheap time, not before any that was noted.
    #[inline]
    fn now(&self) -> u64 {
        let time = self.clock.cheap().max(self.time.get());
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
        let event = event(self.clock.exact());
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
