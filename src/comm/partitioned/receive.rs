//! [`RecvParts`]: the receiving end of a partitioned message.

use std::fmt;
use std::mem;
use std::ops::Range;
use std::panic::Location;

use super::{Cut, PartLabel};
use crate::Rank;
use crate::comm::Comm;
use crate::engine::envelope::{Source, Tag, is_of};
use crate::engine::receive::{Receive, receive};
use crate::error::{Error, Result, Site};
use crate::op::Element;
use crate::transport::memory::head::OF_PARTS;
use crate::transport::memory::packet::Packet;
use crate::transport::trace::call_event::CallEvent;

/// The receiving end of a [partitioned message](crate::partitioned), with its buffer.
///
/// It is *active* from [`start`](Self::start) until [`wait`](Self::wait) or [`test`](Self::test) has completed it. What
/// has come is accepted in its own calls only. If it is dropped while it is active, what it has accepted is lost, and
/// the other parts are reported as messages that were never received.
#[must_use = "it does nothing until it is started"]
pub struct RecvParts<'c, T: Element> {
    comm: &'c Comm,
    from: Rank,
    tag: u32,
    cut: Cut,
    buf: Vec<T>,
    state: MessageState,
    /// The number of elements of each part that have come since the last start.
    come: Vec<usize>,
    /// The number of all elements that are still to come.
    missing: usize,
    /// If some parts have come since the last start, and others have not.
    begun: Option<HalfReceived<'c>>,
}

/// One of the messages of which a rank has accepted some parts; it is not any more when this is dropped.
struct HalfReceived<'c> {
    comm: &'c Comm,
    of: (Rank, u32),
}

impl<'c> HalfReceived<'c> {
    fn new<T: Element>(message: &RecvParts<'c, T>) -> Self {
        let (comm, of) = (message.comm, (message.from, message.tag));
        comm.half_received.borrow_mut().push(of);
        HalfReceived { comm, of }
    }

    /// Whether there is one of this sender and tag.
    fn is_any<T: Element>(message: &RecvParts<'_, T>) -> bool {
        let of = (message.from, message.tag);
        message.comm.half_received.borrow().contains(&of)
    }
}

impl Drop for HalfReceived<'_> {
    fn drop(&mut self) {
        let mut all = self.comm.half_received.borrow_mut();
        if let Some(place) = all.iter().position(|other| *other == self.of) {
            all.swap_remove(place);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageState {
    New,
    Active,
    Complete,
}

/// The message, as errors print it.
struct Name {
    from: Rank,
    tag: u32,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Name { from, tag } = self;
        write!(f, "recv_parts(from {from}, tag {tag})")
    }
}

impl<T: Element> fmt::Debug for RecvParts<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RecvParts { from, tag, .. } = *self;
        write!(f, "{}", Name { from, tag })
    }
}

impl<'c, T: Element> RecvParts<'c, T> {
    /// Describes a receive from rank `from` into `buf`, which is looked at in `parts` parts of the same length.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such rank, or if the buffer cannot be cut into that many
    /// parts.
    #[doc(alias = "MPI_Precv_init")]
    #[track_caller]
    pub fn new(comm: &'c Comm, from: Rank, tag: u32, parts: usize, buf: Vec<T>) -> Result<Self> {
        let show = || Name { from, tag }.to_string();
        let cut = comm.op(Location::caller(), &show, || {
            comm.check_rank("the sender", from)?;
            Cut::new(parts, buf.len())
        })?;
        Ok(RecvParts {
            comm,
            from,
            tag,
            cut,
            come: vec![0; parts],
            missing: buf.len(),
            buf,
            state: MessageState::New,
            begun: None,
        })
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.cut.parts
    }

    /// Whether it has been started and not been completed.
    pub fn is_active(&self) -> bool {
        self.state == MessageState::Active
    }

    /// Runs one operation on it.
    fn op<R>(
        &mut self,
        site: Site,
        verb: &'static str,
        body: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let RecvParts {
            comm, from, tag, ..
        } = *self;
        let show = || format!("{verb} of {}", Name { from, tag });
        comm.recorded(&|| CallEvent::apart(verb, site), &show, || body(self))
    }

    /// Starts it: no part has arrived.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if it is active.
    #[track_caller]
    pub fn start(&mut self) -> Result<()> {
        self.op(Location::caller(), "start", |this| {
            if this.is_active() {
                return Err(Error::usage("it is active: wait for it first"));
            }
            this.comm.check_peer("the sender", this.from)?;
            this.come.fill(0);
            this.missing = this.buf.len();
            this.begun = None;
            this.state = MessageState::Active;
            Ok(())
        })
    }

    /// Returns whether all elements of a part have arrived since the last start. It does not wait.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if it was never started, if there is no such part, or if what has come does
    /// not fit: see [`wait`](Self::wait). Otherwise as [`iprobe`](Comm::iprobe).
    #[doc(alias = "MPI_Parrived")]
    #[track_caller]
    pub fn arrived(&mut self, part: usize) -> Result<bool> {
        let site = Location::caller();
        self.op(site, "arrived", |this| {
            this.cut.check(part)?;
            if this.state == MessageState::New {
                return Err(Error::usage("it is not active: start it first"));
            }
            while !this.is_there(part) && this.accept_next(site, false)? {}
            Ok(this.is_there(part))
        })
    }

    fn is_there(&self, part: usize) -> bool {
        self.state != MessageState::New && self.come[part] >= self.cut.length
    }

    /// Returns the elements of a part that has [arrived](Self::arrived).
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such part, or if it is not known to have arrived.
    #[track_caller]
    pub fn part(&self, part: usize) -> Result<&[T]> {
        let there = self
            .cut
            .check(part)
            .and_then(|()| match self.is_there(part) {
                true => Ok(&self.buf[self.cut.range(part)]),
                false => Err(Error::usage(format!("part {part} has not arrived"))),
            });
        self.refused(Location::caller(), "part", there)
    }

    /// Returns all elements, once it is complete.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if it is active, or was never started.
    #[track_caller]
    pub fn elements(&self) -> Result<&[T]> {
        let complete = match self.state {
            MessageState::Complete => Ok(&self.buf[..]),
            MessageState::Active => Err(Error::usage("it is active: wait for it first")),
            MessageState::New => Err(Error::usage("it is not active: start it first")),
        };
        self.refused(Location::caller(), "elements", complete)
    }

    /// Adds the call to an error.
    fn refused<'s>(&'s self, site: Site, verb: &str, got: Result<&'s [T]>) -> Result<&'s [T]> {
        let show = || format!("{verb} of {self:?}");
        got.or_else(|error| self.comm.op(site, &show, || Err(error)))
    }

    /// Waits until all parts have arrived. It is inactive afterwards. Returns at once if it is not active.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the part that has come does not fit: it lies outside of the buffer, or
    /// belongs to another start of the sender than the parts before it, or to one of which another receive has accepted
    /// parts, and which was not dropped; it then stays first in its queue. Otherwise as [`recv`](Comm::recv). It stays
    /// active after an error.
    #[track_caller]
    pub fn wait(&mut self) -> Result<()> {
        let site = Location::caller();
        self.op(site, "wait", |this| {
            if !this.is_active() {
                return Ok(());
            }
            while this.missing > 0 {
                this.accept_next(site, true)?;
            }
            this.state = MessageState::Complete;
            Ok(())
        })
    }

    /// Returns whether it is inactive now: it completes it if that is possible without waiting.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait), except for deadlocks: a rank that polls is running.
    #[track_caller]
    pub fn test(&mut self) -> Result<bool> {
        let site = Location::caller();
        self.op(site, "test", |this| {
            if !this.is_active() {
                return Ok(true);
            }
            while this.missing > 0 && this.accept_next(site, false)? {}
            if this.missing == 0 {
                this.state = MessageState::Complete;
            }
            Ok(this.missing == 0)
        })
    }
}

impl<T: Element> RecvParts<'_, T> {
    /// Accepts the next message with elements of it; returns whether there was one. Waits for it if `waits`.
    fn accept_next(&mut self, site: Site, waits: bool) -> Result<bool> {
        let (comm, call, mut packet) = (self.comm, self.next_part(site), Packet::empty());
        loop {
            match waits {
                true => comm.next(&call, &mut packet)?,
                false if !comm.find(&call, &mut packet)? => return Ok(false),
                false => {}
            }
            let (label, count) = (PartLabel(packet.head.print()), packet.count().unwrap_or(0));
            let is_rest = self.begun.is_none() && !label.is_first();
            if is_rest && !HalfReceived::is_any(self) {
                // The rest of a message that was given up, or parts too many of one that is complete.
                let rest = mem::replace(&mut packet, Packet::empty());
                comm.core.port.inbox().set_aside(rest);
                continue;
            }
            let place = is_of::<T>(&packet).and_then(|()| self.place_of(label, count));
            let place = match place {
                Ok(place) => place,
                Err(error) => {
                    comm.core.port.inbox().put_back(packet);
                    return Err(error);
                }
            };
            if self.open(&mut packet, place.clone()) {
                self.note(place);
                return Ok(true);
            }
            // Its sender has retracted it.
            packet = Packet::empty();
        }
    }

    fn next_part(&self, site: Site) -> Receive {
        let (from, tag) = (Source::Rank(self.from), Tag::Is(self.tag));
        Receive {
            context: OF_PARTS,
            site,
            ..receive("recv_parts", from, tag, None)
        }
    }

    /// The place in the buffer of the elements of a part of the sender's.
    fn place_of(&self, label: PartLabel, count: usize) -> Result<Range<usize>> {
        let (part, length) = (label.part(), self.buf.len());
        if self.begun.is_none() && !label.is_first() {
            return Err(Error::usage(format!(
                "part {part} belongs to a message of which another receive with this sender and tag has accepted parts: \
                 wait for that one first"
            )));
        }
        if self.begun.is_some() && label.is_first() {
            return Err(Error::usage(format!(
                "part {part} belongs to another start of the sender than the parts before it, and {} of {length} \
                 elements are missing",
                self.missing
            )));
        }
        let begin = part.checked_mul(count);
        let end = begin.and_then(|begin| begin.checked_add(count));
        match (begin, end) {
            (Some(begin), Some(end)) if end <= length && count <= self.missing => Ok(begin..end),
            _ => Err(Error::usage(format!(
                "the sender's part {part} of {count} elements is not in the message, which has {length} here"
            ))),
        }
    }

    /// Copies the elements of a message to their place; returns whether it could still be opened.
    fn open(&mut self, packet: &mut Packet, place: Range<usize>) -> bool {
        let (fabric, port) = (&**self.comm.fabric(), &self.comm.core.port);
        let opened = packet.open_into(fabric, port, &mut self.buf[place]);
        if opened.is_some() {
            port.recorder.received(packet.head);
        }
        opened.is_some()
    }

    /// Counts elements that have come.
    fn note(&mut self, place: Range<usize>) {
        self.missing -= place.len();
        match self.missing {
            0 => self.begun = None,
            _ if self.begun.is_none() => self.begun = Some(HalfReceived::new(self)),
            _ => {}
        }
        let length = self.cut.length;
        let parts = place.start / length..place.end.div_ceil(length);
        for (part, come) in parts.clone().zip(&mut self.come[parts]) {
            let own = part * length..(part + 1) * length;
            *come += place.end.min(own.end) - place.start.max(own.start);
        }
    }
}
