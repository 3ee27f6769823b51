//! The steps common to all receives: find or await the first message that matches, check whether it fits, and open it,
//! or leave it first in its queue.

use std::fmt;
use std::mem;
use std::panic::Location;
use std::time::Instant;

use super::Comm;
use super::envelope::{Shown, Source, Status, Tag, has_room, is_of_type};
use super::rank_state::Core;
use crate::Rank;
use crate::error::{Error, Result, Site};
use crate::op::Element;
use crate::op::elements::{ElementsMut, Info};
use crate::transport::CommShared;
use crate::transport::communicator::members::Members;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::matching::receive_buffer::{Arrived, ReceiveBuffer};
use crate::transport::matching::want::Want;
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;
use crate::transport::progress::reason::Reason;
use crate::transport::trace::call_event::{CallEvent, Peer, Tagged};
use crate::transport::trace::words::OnComm;

#[cold]
fn no_rank(sender: Rank) -> Error {
    let sender = Shown(sender);
    Error::usage(format!(
        "the sender {sender} is no rank, which is 0 or more; any rank is Source::Any"
    ))
}

/// One receiving call: what it accepts and how it prints.
#[derive(Clone, Copy)]
pub(crate) struct Receive {
    pub verb: &'static str,
    pub from: Source,
    pub tag: Tag,
    pub site: Site,
    pub deadline: Option<Instant>,
    /// The context of the messages, counted from the communicator's own.
    pub context: u32,
}

impl fmt::Display for Receive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(from {}, tag {})", self.verb, self.from, self.tag)
    }
}

impl Receive {
    pub(crate) fn needs(&self, members: &Members) -> Needs {
        match self.from {
            Source::Rank(rank) => Needs::One(members.world(rank)),
            Source::Any => Needs::Any(members.clone()),
        }
    }
}

impl Receive {
    /// Its entry in the recorder.
    #[inline]
    pub(crate) fn describe(&self) -> CallEvent {
        let peer = match self.from {
            Source::Rank(rank) => Peer::From(rank),
            Source::Any => Peer::FromAny,
        };
        let tag = match self.tag {
            Tag::Is(tag) => Tagged::Is(tag),
            Tag::Any => Tagged::Any,
        };
        CallEvent {
            verb: self.verb,
            peer,
            tag,
            ..CallEvent::at(self.site)
        }
    }
}

#[track_caller]
pub(crate) fn receive(
    verb: &'static str,
    from: Source,
    tag: Tag,
    deadline: Option<Instant>,
) -> Receive {
    Receive {
        verb,
        from,
        tag,
        site: Location::caller(),
        deadline,
        context: 0,
    }
}

/// The status of a message on a communicator.
#[inline]
pub(crate) fn status_in(comm: &CommShared, packet: &Packet) -> Status {
    Status::of(packet, member_of(comm, packet.head))
}

/// The status of a message of `count` elements with this head.
pub(crate) fn status_of(
    comm: &CommShared,
    head: Head,
    count: usize,
    info: &'static Info,
) -> Status {
    Status::of_head(head, member_of(comm, head), count, info)
}

#[inline]
fn member_of(comm: &CommShared, head: Head) -> Rank {
    let source = head.source();
    comm.members.member(source).unwrap_or(source)
}

/// Copies the elements of a message into the first ones of a buffer of the same type, which has space for them. `None`:
/// its sender has revoked the loan of them.
pub(crate) type Store = fn(ElementsMut<'_>, &Packet, &Core) -> Option<()>;

/// The [`Store`] for elements of type `T`.
pub(crate) fn store<T: Element>(into: ElementsMut<'_>, packet: &Packet, core: &Core) -> Option<()> {
    let into = into.typed::<T>().expect("a buffer of this type");
    packet.open_into(&*core.port.fabric, &core.port, into)
}

/// Empties `place` after its sender has retracted the message.
#[cold]
#[inline(never)]
fn clear(place: &mut Packet) {
    *place = Packet::empty();
}

impl Comm {
    #[inline]
    pub(crate) fn check_source(&self, call: &Receive) -> Result<()> {
        match call.from {
            Source::Rank(rank) if Shown(rank).is_negative() => Err(no_rank(rank)),
            Source::Rank(rank) => self.check_peer("the sender", rank),
            Source::Any => self.check_not_revoked(),
        }
    }

    /// Checks that a message can go to a rank, or come from it.
    #[inline]
    pub(crate) fn check_peer(&self, what: &str, rank: Rank) -> Result<()> {
        self.check_rank(what, rank)?;
        self.check_not_revoked()
    }

    #[inline]
    fn check_not_revoked(&self) -> Result<()> {
        match self.shared.revoked.get() {
            None => Ok(()),
            Some(cause) => Err(cause.clone().into()),
        }
    }

    #[inline]
    pub(crate) fn status(&self, packet: &Packet) -> Status {
        status_in(&self.shared, packet)
    }

    /// The number in this communicator of the rank that sent a packet. The packet's context implies that it is a
    /// member.
    #[inline]
    pub(crate) fn member(&self, packet: &Packet) -> Rank {
        member_of(&self.shared, packet.head)
    }

    /// Runs a receive from beginning to end.
    #[inline]
    pub(crate) fn receive<R>(
        &self,
        call: &Receive,
        fits: impl Fn(&Packet) -> Result<()>,
        open: impl FnMut(&mut Packet) -> Option<R>,
    ) -> Result<(R, Status)> {
        let event = || call.describe();
        self.recorded(&event, &|| call.to_string(), || {
            self.check_source(call)?;
            self.take(call, fits, open)
        })
    }

    /// Takes the first message that matches: opens it if it fits, and otherwise leaves it where it was.
    #[inline]
    pub(crate) fn take<R>(
        &self,
        call: &Receive,
        fits: impl Fn(&Packet) -> Result<()>,
        mut open: impl FnMut(&mut Packet) -> Option<R>,
    ) -> Result<(R, Status)> {
        let mut packet = Packet::empty();
        loop {
            self.next(call, &mut packet)?;
            if let Err(error) = fits(&packet) {
                self.core.port.inbox().put_back(packet);
                return Err(error);
            }
            let status = self.status(&packet);
            // If the sender has revoked the loan meanwhile, the same message comes again.
            if let Some(opened) = open(&mut packet) {
                self.core.port.recorder.received(packet.head);
                return Ok((opened, status));
            }
            clear(&mut packet);
        }
    }

    /// Runs a receive into a buffer from beginning to end, compiled once for all types. It is recorded before it waits.
    #[inline(never)]
    pub(crate) fn receive_into(
        &self,
        call: &Receive,
        elements: ElementsMut<'_>,
        store: Store,
    ) -> Result<Status> {
        let event = || CallEvent {
            posts: true,
            ..call.describe()
        };
        let show = || call.to_string();
        let mut into = ReceiveBuffer {
            elements,
            head: Head::default(),
            count: 0,
        };
        self.recorded(&event, &show, || {
            self.check_source(call)?;
            self.take_into(call, &mut into, store, &|| {
                let context = self.shared.context;
                let call = &event;
                self.core
                    .port
                    .recorder
                    .settle(&OnComm { call, context }, &show);
            })
        })?;
        let info = into.elements.info();
        Ok(status_of(&self.shared, into.head, into.count, info))
    }

    /// Takes the first message that matches into a buffer, or leaves it where it was if it does not fit. `waits` runs
    /// before this waits for one.
    #[inline]
    fn take_into(
        &self,
        call: &Receive,
        into: &mut ReceiveBuffer<'_>,
        store: Store,
        waits: &dyn Fn(),
    ) -> Result<()> {
        let (port, want) = (&self.core.port, self.want(call));
        let mut packet = Packet::empty();
        loop {
            let arrived = match port.receive_into_now(&want, into, &mut packet) {
                Some(arrived) => arrived,
                None => {
                    waits();
                    self.wait_into(call, &want, into, &mut packet)?
                }
            };
            if matches!(arrived, Arrived::Copied) || self.store(&mut packet, into, store)? {
                port.recorder.received(into.head);
                return Ok(());
            }
        }
    }

    /// Stores the elements of a message in a buffer, or leaves the message in its queue if they do not fit. `false`: its
    /// sender has revoked the loan meanwhile, and the same message comes again.
    fn store(
        &self,
        packet: &mut Packet,
        into: &mut ReceiveBuffer<'_>,
        store: Store,
    ) -> Result<bool> {
        let (info, room) = (into.elements.info(), into.elements.len());
        let fits = is_of_type(packet, info).and_then(|()| has_room(packet, room));
        if let Err(error) = fits {
            let packet = mem::replace(packet, Packet::empty());
            self.core.port.inbox().put_back(packet);
            return Err(error);
        }
        (into.head, into.count) = (packet.head, packet.count().unwrap_or(1));
        let stored = store(into.elements.reborrow(), packet, &self.core).is_some();
        if !stored {
            clear(packet);
        }
        Ok(stored)
    }

    /// The messages that a call accepts.
    #[inline]
    pub(crate) fn want(&self, call: &Receive) -> Want {
        let tag = match call.tag {
            Tag::Is(tag) => Some(tag),
            Tag::Any => None,
        };
        let source = match call.from {
            Source::Rank(rank) => Some(self.to_world(rank)),
            Source::Any => None,
        };
        Want::new(self.shared.context + call.context, source, tag)
    }

    /// Waits for the first message that matches, and puts it into `place`.
    #[inline]
    pub(crate) fn next(&self, call: &Receive, place: &mut Packet) -> Result<()> {
        let want = self.want(call);
        if self.core.port.receive_now(&want, place) {
            Ok(())
        } else {
            self.wait_for(call, &want, place)
        }
    }

    // A separate function, compiled once for all types: a message that has already arrived needs no reason to wait for
    // it.
    #[inline(never)]
    pub(crate) fn wait_for(&self, call: &Receive, want: &Want, place: &mut Packet) -> Result<()> {
        self.waiting(call, |reason| self.core.port.receive(want, reason, place))
    }

    /// The same for a receive into a buffer.
    fn wait_into(
        &self,
        call: &Receive,
        want: &Want,
        into: &mut ReceiveBuffer<'_>,
        place: &mut Packet,
    ) -> Result<Arrived> {
        let port = &self.core.port;
        self.waiting(call, |reason| port.receive_into(want, reason, into, place))
    }

    /// Hands `wait` the reason for which the call waits.
    #[inline]
    fn waiting<R>(&self, call: &Receive, wait: impl FnOnce(&Reason<'_>) -> R) -> R {
        wait(&Reason {
            call: &|| call.to_string(),
            site: call.site,
            needs: &|| call.needs(&self.shared.members),
            comm: Some(&self.shared),
            also: &[],
            collective: None,
            turn: None,
            deadline: call.deadline,
            choice: None,
            needs_buffer: false,
        })
    }
}
