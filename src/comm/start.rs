//! Nonblocking operations: isend, irecv and their variants for owned buffers and values, and `progress`.

use std::panic::Location;
use std::rc::Rc;

use super::Comm;
use super::request::{Finish, Fits, Here, Request};
use crate::Rank;
use crate::engine::envelope::{Source, Status, Tag};
use crate::engine::receive::{Receive, receive, status_in};
use crate::engine::request_state::{Direction, Waits};
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::{Error, Result, Site};
use crate::op::Element;
use crate::transport::matching::posted_receives::Slot;
use crate::transport::memory::packet::Packet;
use crate::transport::port::CopyTo;
use crate::transport::trace::call_event::CallEvent;

/// # Nonblocking send and receive
///
/// Operations that are started now and completed later, each by its [`Request`].
impl Comm {
    /// Starts to send a buffer to rank `to`; the request returns the buffer.
    ///
    /// # Cost
    ///
    /// The buffer is copied, so that its request is complete at once wherever the world's
    /// [buffering](crate::World::buffering) has room. Use [`isend_value`](Self::isend_value) to move a buffer that is
    /// no longer needed.
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
    /// World::new(4).run(|comm| {
    ///     let right = (comm.rank() + 1) % comm.size();
    ///     let left = (comm.rank() + comm.size() - 1) % comm.size();
    ///     let halo = comm.irecv::<usize>(left, 0)?;
    ///     let sent = comm.isend(right, 0, vec![comm.rank()])?;
    ///     // ... what needs no halo ...
    ///     assert_eq!(halo.wait()?.0, [left]);
    ///     sent.wait()?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Isend")]
    #[track_caller]
    pub fn isend<T: Element>(
        &self,
        to: Rank,
        tag: u32,
        data: Vec<T>,
    ) -> Result<Request<'static, Vec<T>>> {
        let site = Location::caller();
        let show = || format!("isend(to {to}, tag {tag})");
        let event = || CallEvent::named("isend", site);
        self.recorded(&event, &show, || {
            let direction = self.start_send("isend", to, tag, &data, CopyTo::Receiver)?;
            Ok(self.request(direction, site, Box::new(|_, _| Ok(data))))
        })
    }

    /// Posts elements and makes the request's side of the send.
    pub(super) fn start_send<T: Element>(
        &self,
        verb: &'static str,
        to: Rank,
        tag: u32,
        data: &[T],
        copy: CopyTo,
    ) -> Result<Direction> {
        self.check_receiver::<T>(to)?;
        Ok(Direction::Send {
            verb,
            to,
            tag,
            receipt: self.post_copy(to, self.head(tag), data, copy)?,
            waits: Waits::ForRoom,
        })
    }

    /// Posts elements for which the request waits until they are received.
    pub(super) fn start_synchronous<T: Element>(
        &self,
        verb: &'static str,
        to: Rank,
        tag: u32,
        data: &[T],
    ) -> Result<Direction> {
        self.check_receiver::<T>(to)?;
        Ok(Direction::Send {
            verb,
            to,
            tag,
            receipt: Some(self.post_synchronous(to, tag, data)),
            waits: Waits::OnPurpose,
        })
    }

    /// Starts to move a value of any type to rank `to`.
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
    /// World::new(1).run(|comm| {
    ///     let sent = comm.isend_value(0, 1, String::from("moved"))?;
    ///     assert_eq!(comm.irecv_value::<String>(0, 1)?.wait()?.0, "moved");
    ///     sent.wait()
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn isend_value<V: Send + 'static>(
        &self,
        to: Rank,
        tag: u32,
        value: V,
    ) -> Result<Request<'static, ()>> {
        let site = Location::caller();
        let show = || format!("isend_value(to {to}, tag {tag})");
        let event = || CallEvent::named("isend_value", site);
        self.recorded(&event, &show, || {
            self.check_near_receiver("a moved value", to)?;
            let packet = Packet::value(self.head(tag), value);
            let direction = Direction::Send {
                verb: "isend_value",
                to,
                tag,
                receipt: self.post_owned(to, packet, size_of::<V>())?,
                waits: Waits::ForRoom,
            };
            Ok(self.request(direction, site, Box::new(|_, _| Ok(()))))
        })
    }

    /// Starts to receive the first message from `from` with `tag`.
    ///
    /// Receives match in the order in which they are posted: this one matches before every receive that is called
    /// later, including blocking ones. Its message is received as soon as this rank is in any call.
    ///
    /// # Errors
    ///
    /// [`Usage`](ErrorKind::Usage) if there is no such rank. The other errors of [`recv`](Self::recv) come from the
    /// request.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Source, Tag, World};
    ///
    /// World::new(1).run(|comm| {
    ///     let first = comm.irecv::<u8>(Source::Any, Tag::Any)?;
    ///     comm.send(0, 1, &[1u8])?;
    ///     comm.send(0, 1, &[2u8])?;
    ///     assert_eq!(comm.recv::<u8>(0, 1)?.0, [2]); // the first message is taken
    ///     assert_eq!(first.wait()?.0, [1]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Irecv")]
    #[track_caller]
    pub fn irecv<T: Element>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Request<'static, (Vec<T>, Status)>> {
        let call = receive("irecv", from.into(), tag.into(), None);
        let finish = |packet: &mut Packet, here: &Here<'_>| {
            let status = status_in(here.comm, packet);
            Ok((opened(packet.take_vec(here.fabric()))?, status))
        };
        self.start_receive(call, Fits::elements::<T>(usize::MAX), Box::new(finish))
    }

    /// Starts to receive a value; see [`recv_value`](Self::recv_value).
    ///
    /// # Errors
    ///
    /// As [`irecv`](Self::irecv).
    #[track_caller]
    pub fn irecv_value<V: Send + 'static>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Request<'static, (V, Status)>> {
        let call = receive("irecv_value", from.into(), tag.into(), None);
        let finish = |packet: &mut Packet, here: &Here<'_>| {
            let status = status_in(here.comm, packet);
            Ok((opened(packet.take_value(here.fabric()))?, status))
        };
        self.start_receive(call, Fits::value::<V>(), Box::new(finish))
    }

    /// Posts a receive, as an operation of its own.
    pub(super) fn start_receive<'c, R>(
        &self,
        call: Receive,
        fits: Fits,
        finish: Finish<'c, R>,
    ) -> Result<Request<'c, R>> {
        let site = call.site;
        let event = || CallEvent::named(call.verb, site);
        self.recorded(&event, &|| call.to_string(), || {
            let slot = self.post_slot(&call)?;
            let request = self.request(Direction::Receive { call, slot }, site, finish);
            Ok(request.fitting(fits))
        })
    }

    /// Posts a receive.
    pub(super) fn post_slot(&self, call: &Receive) -> Result<Rc<Slot>> {
        self.check_source(call)?;
        let want = self.want(call);
        Ok(self.core.port.inbox().post(want, &**self.fabric()))
    }

    pub(super) fn request<'c, R>(
        &self,
        direction: Direction,
        site: Site,
        finish: Finish<'c, R>,
    ) -> Request<'c, R> {
        let state = self.core.ask(direction, &self.handle, site);
        Request::new(&self.core, state, finish)
    }

    /// Makes progress: takes in the messages that have arrived, so that messages for posted receives are received now
    /// and their senders proceed. Every call that waits does this by itself.
    ///
    /// # Errors
    ///
    /// [`Usage`](ErrorKind::Usage) if called from inside an operator.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(1).run(|comm| {
    ///     for _part in 0..10 {
    ///         // ... some of a long computation ...
    ///         comm.progress()?;
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn progress(&self) -> Result<()> {
        let site = Location::caller();
        let event = || CallEvent::named("progress", site);
        self.recorded(&event, &|| "progress".into(), || {
            self.core.port.pump();
            self.core.port.take_in();
            self.core.port.advance_started();
            Ok(())
        })
    }
}

/// Unwraps the contents of a message. The sender of a message that was received for a request cannot retract it.
pub(super) fn opened<R>(opened: Option<R>) -> Result<R> {
    opened.ok_or_else(|| Error::usage("the message was opened already"))
}
