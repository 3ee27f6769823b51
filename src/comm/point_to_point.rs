//! SEND and RECV: blocking messages between two ranks.
//!
//! A receive names its sender and tag, or accepts [any](Source::Any). Messages between two ranks keep their order: a
//! receive takes the first one that matches. A send does not wait for the receiver, unless the world's
//! [buffering](crate::World::buffering) has no room for the message.

use std::panic::Location;
use std::time::{Duration, Instant};

use super::Comm;
use crate::Rank;
use crate::engine::envelope::{Source, Status, Tag, is_of, is_value};
use crate::engine::receive::{Receive, receive, store};
use crate::engine::request_state::Waits;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::{Result, Site};
use crate::op::Element;
use crate::op::elements::{Elements, ElementsMut, Info};
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;
use crate::transport::trace::call_event::{CallEvent, Peer, Tagged};
use crate::transport::trace::words::OnComm;

/// # Send and receive
///
/// Blocking messages between two ranks.
impl Comm {
    /// Sends elements to rank `to`. Does not wait until they are received, unless the world's
    /// [buffering](crate::World::buffering) has no room for them.
    ///
    /// Up to 32 bytes travel in the message itself, and up to 1 KiB if this rank has sent several messages in a row to
    /// that rank and the receiver keeps up with them; up to 8 KiB if it has not received since it last sent. A longer
    /// message is read straight out of `data` by a receiver that is waiting, or that arrives within about the time that a
    /// copy takes; otherwise a copy is left for it. From 512 KiB on both ends copy, each a part, to where
    /// [`recv_into`](Self::recv_into) wants it.
    ///
    /// # Errors
    ///
    /// [`Usage`](ErrorKind::Usage) if there is no such rank, [`RankGone`](ErrorKind::RankGone) if it has failed or
    /// panicked. A message to a rank that has returned is lost, and the report says so; without room for it that is
    /// [`RankGone`](ErrorKind::RankGone) too, and a send that waits for room fails as [`recv`](Self::recv) does.
    /// [`Revoked`](ErrorKind::Revoked) if another rank has called [`shrink`](Self::shrink);
    /// [`NotPlain`](ErrorKind::NotPlain) if the receiver is in another process and the elements cannot be sent there.
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
    #[doc(alias = "MPI_Send")]
    #[doc(alias = "MPI_Bsend")]
    #[doc(alias = "MPI_Rsend")]
    #[track_caller]
    #[inline]
    pub fn send<T: Element>(&self, to: Rank, tag: u32, data: &[T]) -> Result<()> {
        let site = Location::caller();
        if self.send_at_once("send", to, tag, Elements::of(data), site) {
            return Ok(());
        }
        let show = move || send_text("send", to, tag);
        let port = &self.core.port;
        let posts = self.posts()
            && to < self.size()
            && port.posts_at_once(self.to_world(to), Elements::of(data));
        let event = move || CallEvent {
            posts,
            ..send_event("send", to, tag, Elements::of(data), site)
        };
        self.recorded(&event, &show, || {
            self.check_receiver::<T>(to)?;
            if self.core.bounded {
                return self.send_bounded(to, tag, data, &show, site);
            }
            let ((), there) = self.core.port.send(
                self.to_world(to),
                self.head(tag),
                Elements::of(data),
                || Ok(()),
            )?;
            self.posted(to, there)
        })
    }

    /// Receives the first message from `from` with `tag`.
    ///
    /// # Errors
    ///
    /// [`WrongType`](ErrorKind::WrongType) if it holds elements of another type than `T`; it then stays first in its
    /// queue. [`RankGone`](ErrorKind::RankGone) if the sender has ended and has left no such message,
    /// [`Deadlock`](ErrorKind::Deadlock) if none can ever come; [`TimedOut`](ErrorKind::TimedOut), by
    /// [`World::timeout`](crate::World::timeout); [`Revoked`](ErrorKind::Revoked) if another rank has called
    /// [`shrink`](Self::shrink).
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
    #[doc(alias = "MPI_Recv")]
    #[track_caller]
    pub fn recv<T: Element>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(Vec<T>, Status)> {
        let call = receive("recv", from.into(), tag.into(), None);
        self.receive(&call, is_of::<T>, |packet| {
            packet.take_vec(&**self.fabric())
        })
    }

    /// Like [`recv`](Self::recv), but gives up after `patience`. A rank that waits with a deadline is never part of a
    /// deadlock.
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
        self.core.port.depends_on_time();
        self.receive(&call, is_of::<T>, |packet| {
            packet.take_vec(&**self.fabric())
        })
    }

    /// Receives into the first elements of `buf`.
    ///
    /// # Errors
    ///
    /// [`TooShort`](ErrorKind::TooShort) if the message has more elements than `buf`; it then stays first in its queue.
    /// Otherwise as [`recv`](Self::recv).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(1).run(|comm| {
    ///     comm.send(0, 1, &[1u8, 2, 3])?;
    ///     let mut buf = [0u8; 8];
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
        self.receive_into(&call, ElementsMut::of(buf), store::<T>)
    }

    /// Moves a value of any type to rank `to`; only the bytes of the value itself are copied.
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
        let site = Location::caller();
        let event = || CallEvent {
            posts: self.posts(),
            ..sending::<V>("send_value", to, tag, site)
        };
        self.recorded(&event, &show, || {
            self.check_near_receiver("a moved value", to)?;
            let packet = Packet::value(self.head(tag), value);
            let receipt = self.post_owned(to, packet, size_of::<V>())?;
            self.await_receipt(receipt, to, Waits::ForRoom, &show, site)
        })
    }

    /// Receives a value that was sent with [`send_value`](Self::send_value).
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(1).run(|comm| {
    ///     comm.send_value(0, 4, vec!["any", "type"])?;
    ///     assert_eq!(comm.recv_value::<Vec<&str>>(0, 4)?.0, ["any", "type"]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn recv_value<V: Send + 'static>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(V, Status)> {
        let call = receive("recv_value", from.into(), tag.into(), None);
        let fabric = &**self.fabric();
        self.receive(&call, is_value::<V>, |packet| packet.take_value(fabric))
    }

    /// Sends to one rank and receives from another at once, so that rings and exchanges need no agreement on which rank
    /// goes first.
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
    #[doc(alias = "MPI_Sendrecv")]
    #[doc(alias = "MPI_Sendrecv_replace")]
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
        let show = || sendrecv_text(to, send_tag, &call);
        let event = || CallEvent {
            count: Some(data.len()),
            posts: false,
            ..sending::<T>("sendrecv", to, send_tag, call.site)
        };
        self.recorded(&event, &show, || {
            self.check_receiver::<T>(to)?;
            self.check_source(&call)?;
            let take = || {
                self.take(&call, is_of::<T>, |packet| {
                    packet.take_vec(&**self.fabric())
                })
            };
            if self.core.bounded {
                let receipt = self.post_elements(to, send_tag, data)?;
                let received = take()?;
                return self
                    .await_receipt(receipt, to, Waits::ForRoom, &show, call.site)
                    .map(|()| received);
            }
            let (world, head) = (self.to_world(to), self.head(send_tag));
            let (received, there) = self.core.port.send(world, head, Elements::of(data), take)?;
            self.posted(to, there).map(|()| received)
        })
    }

    /// Receives a message of any type and drops it.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv), except for the type.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(1).run(|comm| {
    ///     comm.send(0, 3, &[0.5; 2])?;
    ///     assert_eq!(comm.discard(0, 3)?.count, 2);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn discard(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status> {
        let call = receive("discard", from.into(), tag.into(), None);
        let fabric = &**self.fabric();
        let (_dropped, status) = self.receive(&call, |_| Ok(()), |packet| packet.refuse(fabric))?;
        Ok(status)
    }

    /// A send of a short message, or of any to another process, past everything that its receiver need not wait for, if nothing stands in the way: it is
    /// checked, posted, and then recorded. Returns whether it did; if not, nothing has happened. Compiled once for all
    /// types.
    #[inline(never)]
    pub(super) fn send_at_once(
        &self,
        verb: &'static str,
        to: Rank,
        tag: u32,
        data: Elements<'_>,
        site: Site,
    ) -> bool {
        let core = &*self.core;
        let plain = to < self.size() && !core.bounded;
        let Some(count) = self.next_at_once().filter(|_| plain) else {
            return false;
        };
        let receiver = self.to_world(to);
        if !core
            .port
            .send_at_once(receiver, self.head(tag), data, count)
        {
            return false;
        }
        let event = || send_event(verb, to, tag, data, site);
        let call = OnComm {
            call: &event,
            context: self.shared.context,
        };
        let show = || send_text(verb, to, tag);
        core.port.recorder.has_sent_at_once(receiver, &call, &show);
        true
    }

    /// The number of the next operation, if nothing hinders it and it may be recorded when it is over.
    #[inline]
    pub(super) fn next_at_once(&self) -> Option<u64> {
        let plain = !self.core.port.recorder.traces() && self.shared.revoked.get().is_none();
        self.core.next_unhindered().filter(|_| plain)
    }

    #[inline]
    pub(super) fn head(&self, tag: u32) -> Head {
        Head::new(
            self.shared.context,
            self.core.port.me,
            tag,
            self.core.mark.get(),
        )
    }

    /// The result of a send to a receiver that may have ended. A receiver that has returned merely reads no more: the
    /// message is lost, whether it came shortly before or after that, and the report says so.
    #[inline]
    pub(super) fn posted(&self, to: Rank, there: bool) -> Result<()> {
        if there {
            Ok(())
        } else {
            self.fabric().check_failed(self.to_world(to))
        }
    }
}

/// A sendrecv as errors print it.
fn sendrecv_text(to: Rank, send_tag: u32, receive: &Receive) -> String {
    let (from, tag) = (receive.from, receive.tag);
    format!("sendrecv(to {to}, tag {send_tag}, from {from}, tag {tag})")
}

/// A send as errors print it.
fn send_text(verb: &str, to: Rank, tag: u32) -> String {
    format!("{verb}(to {to}, tag {tag})")
}

/// The recorder's entry of a send.
#[inline]
pub(super) fn send_event(
    verb: &'static str,
    to: Rank,
    tag: u32,
    data: Elements<'_>,
    site: Site,
) -> CallEvent {
    CallEvent {
        info: Some(data.info()),
        count: Some(data.len()),
        ..sending_as(verb, to, tag, site)
    }
}

/// The recorder's entry of a call that sends.
#[inline]
pub(super) fn sending<T: 'static>(verb: &'static str, to: Rank, tag: u32, site: Site) -> CallEvent {
    CallEvent {
        info: Some(Info::of_value::<T>()),
        ..sending_as(verb, to, tag, site)
    }
}

/// The same, of elements whose type is not named.
#[inline]
fn sending_as(verb: &'static str, to: Rank, tag: u32, site: Site) -> CallEvent {
    CallEvent {
        verb,
        peer: Peer::To(to),
        tag: Tagged::Is(tag),
        posts: true,
        ..CallEvent::at(site)
    }
}
