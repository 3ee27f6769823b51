//! Probes: what has arrived, before it is received. A matched probe reserves the message that it found ([`Message`]).
//!
//! Between a matched probe and the receive, nothing else can take the message: neither a request posted meanwhile nor
//! another receive of the same rank.

use std::fmt;
use std::mem;
use std::panic::Location;
use std::time::Instant;

use super::Comm;
use super::start::opened;
use crate::engine::envelope::{Source, Status, Tag, has_room, is_of, is_value};
use crate::engine::receive::{Receive, receive};
use crate::error::{ErrorKind, Result};
use crate::op::Element;
use crate::transport::memory::packet::Packet;
use crate::transport::trace::call_event::CallEvent;

/// A message that [`Comm::probe_matched`] has found. No other receive gets it while this value lives. If the value is
/// dropped, the message goes to the first open receive that matches it, or returns to its place in the queue of its sender.
#[doc(alias = "MPI_Message")]
#[must_use = "a message is received, or dropped to be found again"]
pub struct Message<'c> {
    comm: &'c Comm,
    packet: Packet,
    arrival: u64,
    status: Status,
}

impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message({:?})", self.status)
    }
}

/// # Probe
///
/// Messages that have arrived and are not yet received.
impl Comm {
    /// Blocks until a message matches and returns its status, without receiving it.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Source, Tag, World};
    ///
    /// World::new(1).run(|comm| {
    ///     comm.send(0, 9, &[0u16; 5])?;
    ///     let status = comm.probe(Source::Any, Tag::Any)?;
    ///     assert_eq!((status.tag, status.count, status.type_name()), (9, 5, "u16"));
    ///     comm.discard(status.source, status.tag)?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Probe")]
    #[track_caller]
    pub fn probe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status> {
        let call = receive("probe", from.into(), tag.into(), None);
        let event = || call.describe();
        self.recorded(&event, &|| call.to_string(), || {
            self.check_source(&call)?;
            let mut packet = Packet::empty();
            self.next(&call, &mut packet)?;
            let status = self.status(&packet);
            self.core.port.inbox().put_back(packet);
            Ok(status)
        })
    }

    /// Returns the status of the first message from `from` with `tag` if it has arrived, without receiving it.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv), except for deadlocks: a rank that polls is running.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(1).run(|comm| {
    ///     assert!(comm.iprobe(0, 1)?.is_none());
    ///     comm.send(0, 1, &[1u8, 2])?;
    ///     assert_eq!(comm.iprobe(0, 1)?.unwrap().count, 2);
    ///     comm.recv::<u8>(0, 1).map(|_| ())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Iprobe")]
    #[track_caller]
    pub fn iprobe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Status>> {
        let call = receive("iprobe", from.into(), tag.into(), None);
        let event = || CallEvent::named(call.verb, call.site);
        self.recorded(&event, &|| call.to_string(), || {
            let mut packet = Packet::empty();
            if !self.find(&call, &mut packet)? {
                return Ok(None);
            }
            let status = self.status(&packet);
            self.core.port.inbox().put_back(packet);
            Ok(Some(status))
        })
    }

    /// Waits for the first message from `from` with `tag` and reserves it for the caller.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Source, Tag, World};
    ///
    /// World::new(1).run(|comm| {
    ///     comm.send(0, 3, &[1.5; 4])?;
    ///     let message = comm.probe_matched(Source::Any, Tag::Any)?;
    ///     let mut buf = vec![0.0; message.status().count];
    ///     message.recv_into(&mut buf)?;
    ///     assert_eq!(buf, [1.5; 4]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    /// A message can be received only once:
    ///
    /// ```compile_fail,E0382
    /// rankfold::World::new(1).run(|comm| {
    ///     let message = comm.probe_matched(0, 0)?;
    ///     message.recv::<u8>()?;
    ///     message.recv::<u8>() // it was moved
    /// });
    /// ```
    #[doc(alias = "MPI_Mprobe")]
    #[track_caller]
    pub fn probe_matched(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Message<'_>> {
        let call = receive("probe_matched", from.into(), tag.into(), None);
        let event = || CallEvent::named(call.verb, call.site);
        self.recorded(&event, &|| call.to_string(), || {
            self.check_source(&call)?;
            let mut packet = Packet::empty();
            loop {
                self.next(&call, &mut packet)?;
                if packet.make_own(&**self.fabric()) {
                    return Ok(self.message(packet));
                }
                packet = Packet::empty();
            }
        })
    }

    /// Like [`probe_matched`](Self::probe_matched), but returns `None` if the message has not arrived.
    ///
    /// # Errors
    ///
    /// As [`iprobe`](Self::iprobe).
    #[doc(alias = "MPI_Improbe")]
    #[track_caller]
    pub fn iprobe_matched(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Option<Message<'_>>> {
        let call = receive("iprobe_matched", from.into(), tag.into(), None);
        let event = || CallEvent::named(call.verb, call.site);
        self.recorded(&event, &|| call.to_string(), || {
            let mut packet = Packet::empty();
            let found = self.find(&call, &mut packet)? && packet.make_own(&**self.fabric());
            Ok(found.then(|| self.message(packet)))
        })
    }

    /// Looks for the message that a call accepts and puts it into `place`; an error if it never can arrive.
    pub(super) fn find(&self, call: &Receive, place: &mut Packet) -> Result<bool> {
        self.check_source(call)?;
        let (port, want) = (&self.core.port, self.want(call));
        if port.is_controlled() {
            return self.find_at_last(call, place);
        }
        if port.receive_now(&want, place) {
            return Ok(true);
        }
        let Some(error) = port.lost(&call.needs(&self.shared.members)) else {
            port.give_turn();
            return Ok(false);
        };
        // A rank that has ended sent all its messages before that.
        if port.receive_now(&want, place) {
            Ok(true)
        } else {
            Err(error)
        }
    }

    /// The same where a scheduler chooses which message arrives first: whether it is there once no rank can proceed.
    fn find_at_last(&self, call: &Receive, place: &mut Packet) -> Result<bool> {
        self.core.port.depends_on_time();
        let now = Receive {
            deadline: Some(Instant::now()),
            ..*call
        };
        match self.wait_for(&now, &self.want(call), place) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn message(&self, packet: Packet) -> Message<'_> {
        Message {
            comm: self,
            status: self.status(&packet),
            arrival: self.core.port.inbox().last_taken(),
            packet,
        }
    }
}

impl Message<'_> {
    /// Returns the envelope of the message.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Receives its elements.
    ///
    /// # Errors
    ///
    /// [`WrongType`](crate::ErrorKind::WrongType) if it holds elements of another type than `T`; it then returns to its
    /// queue and can be found again.
    #[doc(alias = "MPI_Mrecv")]
    #[track_caller]
    pub fn recv<T: Element>(self) -> Result<Vec<T>> {
        let take = |message: &mut Self| {
            is_of::<T>(&message.packet)?;
            opened(message.packet.take_vec(&**message.comm.fabric()))
        };
        self.open("recv", take)
    }

    /// Receives its elements into the first elements of `buf`.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv), and [`TooShort`](crate::ErrorKind::TooShort).
    #[track_caller]
    pub fn recv_into<T: Element>(self, buf: &mut [T]) -> Result<()> {
        let take = |message: &mut Self| {
            let packet = &message.packet;
            is_of::<T>(packet).and_then(|()| has_room(packet, buf.len()))?;
            let (fabric, port) = (&**message.comm.fabric(), &message.comm.core.port);
            opened(packet.open_into(fabric, port, buf))
        };
        self.open("recv_into", take)
    }

    /// Receives the moved value.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    #[track_caller]
    pub fn recv_value<V: Send + 'static>(self) -> Result<V> {
        let take = |message: &mut Self| {
            is_value::<V>(&message.packet)?;
            opened(message.packet.take_value(&**message.comm.fabric()))
        };
        self.open("recv_value", take)
    }

    #[track_caller]
    fn open<R>(mut self, verb: &str, take: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let Status { source, tag, .. } = self.status;
        let show = || format!("{verb} of the message from {source}, tag {tag}");
        let site = Location::caller();
        let comm = self.comm;
        comm.op(site, &show, || {
            let opened = take(&mut self)?;
            comm.core.port.recorder.received(self.packet.head);
            // An empty packet keeps the destructor from giving the message back.
            self.packet = Packet::empty();
            Ok(opened)
        })
    }
}

impl Drop for Message<'_> {
    fn drop(&mut self) {
        let packet = mem::replace(&mut self.packet, Packet::empty());
        if !packet.is_empty() {
            let core = &self.comm.core;
            let mut inbox = core.port.inbox();
            inbox.give_back(packet, self.arrival, &*core.port.fabric);
        }
    }
}
