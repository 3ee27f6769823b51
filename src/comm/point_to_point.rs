//! SEND and RECV: blocking messages between two ranks.
//!
//! A receive names its sender and tag, or accepts [any](Source::Any). Messages between two ranks keep
//! their order: a receive takes the first one it matches. Sending never waits for the receiver.

use std::fmt;
use std::panic::Location;
use std::time::{Duration, Instant};

use super::Comm;
use crate::Rank;
use crate::error::{Error, ErrorKind, Result, Site};
use crate::op::Element;
use crate::transport::knot::Needs;
use crate::transport::mailbox::Want;
use crate::transport::packet::{Head, Info, Packet};
use crate::transport::wait::Reason;

/// Whose messages a receive accepts.
///
/// # Examples
///
/// ```
/// # use rankfold::Source;
/// assert_eq!(Source::from(3), Source::Rank(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Only this rank's.
    Rank(Rank),
    /// Every rank's; of several messages the one that arrived first.
    Any,
}

/// Which tags a receive accepts.
///
/// # Examples
///
/// ```
/// # use rankfold::Tag;
/// assert_eq!(Tag::from(7), Tag::Is(7));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Only this one.
    Is(u32),
    /// Every tag.
    Any,
}

impl From<Rank> for Source {
    fn from(rank: Rank) -> Self {
        Source::Rank(rank)
    }
}

impl From<i32> for Source {
    /// So that a plain literal is a source. A negative number is no rank: the receive says so.
    fn from(rank: i32) -> Self {
        Source::Rank(Rank::try_from(rank).unwrap_or(Rank::MAX))
    }
}

impl From<u32> for Tag {
    fn from(tag: u32) -> Self {
        Tag::Is(tag)
    }
}

impl From<i32> for Tag {
    /// So that a plain literal is a tag.
    ///
    /// # Panics
    ///
    /// If it is negative; any tag is [`Tag::Any`].
    fn from(tag: i32) -> Self {
        Tag::Is(
            u32::try_from(tag)
                .unwrap_or_else(|_| panic!("a tag is 0 or more, not {tag}; any tag is Tag::Any")),
        )
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Rank(rank) => rank.fmt(f),
            Source::Any => f.write_str("any"),
        }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tag::Is(tag) => tag.fmt(f),
            Tag::Any => f.write_str("any"),
        }
    }
}

/// What is known of a message that was received or found.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Status {
    /// Who sent it.
    pub source: Rank,
    /// Its tag.
    pub tag: u32,
    /// How many elements it has; 1 for a moved value.
    pub count: usize,
    info: &'static Info,
}

impl Status {
    /// The type of its elements, or of the moved value.
    pub fn type_name(&self) -> &'static str {
        self.info.name()
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Status {
            source, tag, count, ..
        } = self;
        write!(
            f,
            "Status {{ source: {source}, tag: {tag}, count: {count}, type: {} }}",
            self.type_name()
        )
    }
}

impl Status {
    #[inline]
    fn of(packet: &Packet) -> Self {
        Status {
            source: packet.source(),
            tag: packet.head.tag,
            count: packet.count().unwrap_or(1),
            info: packet.info(),
        }
    }
}

/// A message, for the texts of errors and reports.
pub(crate) fn show(packet: &Packet) -> String {
    format!(
        "the message from rank {} with tag {}",
        packet.source(),
        packet.head.tag
    )
}

/// One receiving call: what it accepts and how it prints.
struct Receive {
    verb: &'static str,
    from: Source,
    tag: Tag,
    site: Site,
    deadline: Option<Instant>,
}

impl fmt::Display for Receive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(from {}, tag {})", self.verb, self.from, self.tag)
    }
}

impl Receive {
    fn needs(&self) -> Needs {
        match self.from {
            Source::Rank(rank) => Needs::One(rank),
            Source::Any => Needs::Any,
        }
    }
}

impl Comm {
    /// Sends elements to rank `to`. It never waits until they are received.
    ///
    /// Up to 32 bytes travel in the message itself; more are read by a receiver that is waiting
    /// straight out of `data`, and are copied if there is none.
    ///
    /// # Errors
    ///
    /// [`Usage`](ErrorKind::Usage) if there is no such rank, [`RankGone`](ErrorKind::RankGone) if it has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let got = World::new(2).run(|comm| match comm.rank() {
    ///     0 => comm.send(1, 7, &[1.0, 2.0]).map(|()| 0.0),
    ///     _ => comm.recv::<f64>(0, 7).map(|(v, _)| v.iter().sum()),
    /// })?;
    /// assert_eq!(got, [0.0, 3.0]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn send<T: Element>(&self, to: Rank, tag: u32, data: &[T]) -> Result<()> {
        let show = || format!("send(to {to}, tag {tag})");
        self.op(Location::caller(), &show, || {
            self.check_rank("the receiver", to)?;
            let ((), there) = self.core.port.send(to, self.head(tag), data, || Ok(()))?;
            if there { Ok(()) } else { Err(self.gone(to)) }
        })
    }

    /// Receives the first message from `from` with `tag`.
    ///
    /// # Errors
    ///
    /// [`WrongType`](ErrorKind::WrongType) if it holds something else than `T`; it then stays first in
    /// line. [`RankGone`](ErrorKind::RankGone) if the sender has ended and has left no such message,
    /// [`Deadlock`](ErrorKind::Deadlock) if none can ever come.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Source, Tag, World};
    ///
    /// World::new(3).run(|comm| {
    ///     if comm.rank() > 0 {
    ///         return comm.send(0, 5, &[comm.rank()]);
    ///     }
    ///     for _ in 1..comm.size() {
    ///         let (v, status) = comm.recv::<usize>(Source::Any, Tag::Any)?;
    ///         assert_eq!((v, status.tag), (vec![status.source], 5));
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn recv<T: Element>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(Vec<T>, Status)> {
        let call = receive("recv", from.into(), tag.into(), None);
        self.receive(&call, is_of::<T>, |packet| {
            packet.into_vec(&**self.fabric())
        })
    }

    /// Like [`recv`](Self::recv), but gives up after `patience`. A rank that waits with a deadline is
    /// never part of a deadlock.
    ///
    /// # Errors
    ///
    /// [`TimedOut`](ErrorKind::TimedOut), and those of [`recv`](Self::recv).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{ErrorKind, World};
    /// use std::time::Duration;
    ///
    /// World::new(1).run(|comm| {
    ///     let late = comm.recv_timeout::<u8>(0, 1, Duration::from_millis(1)).unwrap_err();
    ///     assert!(matches!(late.kind(), ErrorKind::TimedOut { .. }));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn recv_timeout<T: Element>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
        patience: Duration,
    ) -> Result<(Vec<T>, Status)> {
        let call = receive(
            "recv_timeout",
            from.into(),
            tag.into(),
            Instant::now().checked_add(patience),
        );
        self.receive(&call, is_of::<T>, |packet| {
            packet.into_vec(&**self.fabric())
        })
    }

    /// Receives into the first elements of `buf`.
    ///
    /// # Errors
    ///
    /// [`TooShort`](ErrorKind::TooShort) if the message has more elements than `buf`; it then stays
    /// first in line. Else as [`recv`](Self::recv).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(1).run(|comm| {
    ///     comm.send(0, 1, &[1u8, 2, 3])?;
    ///     let mut buf = [0; 8];
    ///     let status = comm.recv_into(0, 1, &mut buf)?;
    ///     assert_eq!(buf[..status.count], [1, 2, 3]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn recv_into<T: Element>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
        buf: &mut [T],
    ) -> Result<Status> {
        let call = receive("recv_into", from.into(), tag.into(), None);
        let room = buf.len();
        let fits = |packet: &Packet| is_of::<T>(packet).and_then(|()| has_room(packet, room));
        let mut copy = |data: &[T]| buf[..data.len()].copy_from_slice(data);
        let ((), status) = self.receive(&call, fits, |packet| {
            packet.open(&**self.fabric(), &mut copy)
        })?;
        Ok(status)
    }

    /// Moves a value of any type to rank `to`; nothing is copied but its own bytes.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let got = World::new(2).run(|comm| match comm.rank() {
    ///     0 => comm.send_value(1, 1, String::from("moved")).map(|()| String::new()),
    ///     _ => comm.recv_value::<String>(0, 1).map(|(text, _)| text),
    /// })?;
    /// assert_eq!(got[1], "moved");
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn send_value<V: Send + 'static>(&self, to: Rank, tag: u32, value: V) -> Result<()> {
        let show = || format!("send_value(to {to}, tag {tag})");
        self.op(Location::caller(), &show, || {
            self.check_rank("the receiver", to)?;
            let there = self.fabric().post(to, Packet::value(self.head(tag), value));
            if there { Ok(()) } else { Err(self.gone(to)) }
        })
    }

    /// Receives a value that was sent with [`send_value`](Self::send_value).
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    #[track_caller]
    pub fn recv_value<V: Send + 'static>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(V, Status)> {
        let call = receive("recv_value", from.into(), tag.into(), None);
        self.receive(&call, is_value::<V>, |packet| packet.into_value().ok())
    }

    /// Sends to one rank and receives from another at once, so that rings and exchanges need no care
    /// about who goes first.
    ///
    /// # Errors
    ///
    /// Those of [`send`](Self::send) and [`recv`](Self::recv).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let left = World::new(4).run(|comm| {
    ///     let (me, n) = (comm.rank(), comm.size());
    ///     let (v, _) = comm.sendrecv((me + 1) % n, 0, &[me], (me + n - 1) % n, 0)?;
    ///     Ok(v[0])
    /// })?;
    /// assert_eq!(left, [3, 0, 1, 2]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn sendrecv<T: Element>(
        &self,
        to: Rank,
        send_tag: u32,
        data: &[T],
        from: impl Into<Source>,
        recv_tag: impl Into<Tag>,
    ) -> Result<(Vec<T>, Status)> {
        let call = receive("sendrecv", from.into(), recv_tag.into(), None);
        let show = || {
            format!(
                "sendrecv(to {to}, tag {send_tag}, from {}, tag {})",
                call.from, call.tag
            )
        };
        self.op(call.site, &show, || {
            self.check_rank("the receiver", to)?;
            self.check_source(&call)?;
            let take = || {
                self.take(&call, is_of::<T>, |packet| {
                    packet.into_vec(&**self.fabric())
                })
            };
            let (received, there) = self.core.port.send(to, self.head(send_tag), data, take)?;
            if there {
                Ok(received)
            } else {
                Err(self.gone(to))
            }
        })
    }

    /// Waits for a message and says what it is, without receiving it.
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
    #[track_caller]
    pub fn probe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status> {
        let call = receive("probe", from.into(), tag.into(), None);
        self.op(call.site, &|| call.to_string(), || {
            self.check_source(&call)?;
            let packet = self.next(&call)?;
            let status = Status::of(&packet);
            self.core.port.inbox().put_back(packet);
            Ok(status)
        })
    }

    /// Receives a message of any type and drops it.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    #[track_caller]
    pub fn discard(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status> {
        let call = receive("discard", from.into(), tag.into(), None);
        let fabric = &**self.fabric();
        let (_dropped, status) = self.receive(&call, |_| Ok(()), |packet| packet.refuse(fabric))?;
        Ok(status)
    }

    #[inline]
    fn head(&self, tag: u32) -> Head {
        Head {
            context: self.shared.context,
            source: self.rank() as u32,
            tag,
            print: 0,
        }
    }

    #[inline]
    fn check_source(&self, call: &Receive) -> Result<()> {
        match call.from {
            Source::Rank(rank) => self.check_rank("the sender", rank),
            Source::Any => Ok(()),
        }
    }

    /// A receiving call from beginning to end.
    #[inline]
    fn receive<R>(
        &self,
        call: &Receive,
        fits: impl Fn(&Packet) -> Result<()>,
        open: impl FnMut(Packet) -> Option<R>,
    ) -> Result<(R, Status)> {
        self.op(call.site, &|| call.to_string(), || {
            self.check_source(call)?;
            self.take(call, fits, open)
        })
    }

    /// The first message that matches: opened if it fits, else left where it was.
    #[inline]
    fn take<R>(
        &self,
        call: &Receive,
        fits: impl Fn(&Packet) -> Result<()>,
        mut open: impl FnMut(Packet) -> Option<R>,
    ) -> Result<(R, Status)> {
        loop {
            let packet = self.next(call)?;
            if let Err(error) = fits(&packet) {
                self.core.port.inbox().put_back(packet);
                return Err(error);
            }
            let status = Status::of(&packet);
            // If the sender took the loan back meanwhile, the same message comes again.
            if let Some(opened) = open(packet) {
                return Ok((opened, status));
            }
        }
    }

    #[inline]
    fn next(&self, call: &Receive) -> Result<Packet> {
        let tag = match call.tag {
            Tag::Is(tag) => Some(tag),
            Tag::Any => None,
        };
        let source = match call.from {
            Source::Rank(rank) => Some(rank),
            Source::Any => None,
        };
        let reason = Reason {
            call: &|| call.to_string(),
            site: call.site,
            needs: &|| call.needs(),
            collective: None,
            turn: None,
            deadline: call.deadline,
        };
        self.core.port.receive(
            &Want {
                context: self.shared.context,
                source,
                tag,
            },
            &reason,
        )
    }
}

#[track_caller]
fn receive(verb: &'static str, from: Source, tag: Tag, deadline: Option<Instant>) -> Receive {
    Receive {
        verb,
        from,
        tag,
        site: Location::caller(),
        deadline,
    }
}

#[inline]
fn is_of<T: 'static>(packet: &Packet) -> Result<()> {
    if packet.holds_elements::<T>() {
        Ok(())
    } else {
        Err(wrong_type(packet, std::any::type_name::<T>()))
    }
}

fn is_value<V: 'static>(packet: &Packet) -> Result<()> {
    if packet.holds_value::<V>() {
        Ok(())
    } else {
        Err(wrong_type(packet, std::any::type_name::<V>()))
    }
}

fn wrong_type(packet: &Packet, wanted: &'static str) -> Error {
    let sent_as = if packet.count().is_some() {
        "elements"
    } else {
        "one moved value"
    };
    let message = format!(
        "{} ({}, sent as {sent_as})",
        show(packet),
        packet.contents()
    );
    Error::new(ErrorKind::WrongType {
        sent: packet.info().name(),
        wanted,
        message,
    })
}

#[inline]
fn has_room(packet: &Packet, room: usize) -> Result<()> {
    match packet.count() {
        Some(sent) if sent > room => Err(Error::new(ErrorKind::TooShort {
            sent,
            room,
            message: show(packet),
        })),
        _ => Ok(()),
    }
}
