//! [`Scope`]: requests with borrowed buffers, for the duration of a closure.
//!
//! The scope holds each receive buffer in the frame of [`Comm::scope`], and the request shares it. Only this rank's own
//! thread ever touches the buffer, when its message is taken or the request is concluded; so it is a plain `&mut` all the
//! time, and no unsafe code is needed.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::rc::Rc;

use super::Comm;
use super::point_to_point::send_event;
use super::request::{Fits, Here, Request};
use super::scope_begun::{Begun, Buffer, Ending, Land, Operations, call_of};
use super::scoped_request::{Receives, ScopedRequest};
use super::start::opened;
use crate::Rank;
use crate::engine::envelope::{Source, Status, Tag, has_room, is_of};
use crate::engine::rank_state::Core;
use crate::engine::receive::{Receive, status_in, status_of};
use crate::engine::request_state::{Direction, RequestState, show_all};
use crate::error::{Result, Site};
use crate::op::Element;
use crate::op::elements::{Elements, ElementsMut, Info};
use crate::transport::matching::in_place::InPlace;
use crate::transport::memory::packet::Packet;
use crate::transport::port::{CopyTo, Loans};
use crate::transport::trace::call_event::CallEvent;
use crate::transport::trace::words::OnComm;

/// A scope in which requests borrow their buffers; see [`Comm::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    pub(super) comm: &'scope Comm,
    begun: RefCell<Operations<'env>>,
    /// The buffers that are lent to receivers.
    loans: &'scope Loans<'scope, 'env>,
    /// Invariant in both lifetimes: neither may shrink or grow.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.comm.show(f, "Scope")
    }
}

/// Copies a message into the first elements of a buffer of elements of type `T`.
fn store<T: Element>(buf: ElementsMut<'_>, packet: &Packet, core: &Core) -> Result<()> {
    let buf = opened(buf.typed::<T>())?;
    is_of::<T>(packet).and_then(|()| has_room(packet, buf.len()))?;
    opened(packet.open_into(&*core.port.fabric, &core.port, buf))
}

impl<'scope, 'env, T: Element> Receives<'scope, (&'env mut [T], Status)> for Scope<'scope, 'env> {
    fn request(&'scope self, index: usize) -> Request<'scope, (&'env mut [T], Status)> {
        let state = Receives::<(&'env mut [T], Status)>::state(self, index);
        let finish = move |packet: &mut Packet, here: &Here<'_>| {
            let status = status_in(here.comm, packet);
            let mut buf = opened(self.buffer(index))?;
            store::<T>(buf.reborrow(), packet, here.core)?;
            Ok((opened(buf.typed())?, status))
        };
        let fits = Fits::elements::<T>(self.begun.borrow().all[index].room());
        let request = Request::new(&self.comm.core, state, Box::new(finish));
        request.fitting(fits).scoped()
    }

    fn wait_in_place(
        &'scope self,
        index: usize,
        site: Site,
    ) -> Option<Result<(&'env mut [T], Status)>> {
        let begun = self.begun.borrow();
        let one = begun.all.get(index).filter(|one| one.is_in_place())?;
        let show = || format!("wait for {}", one.show());
        let event = || CallEvent::apart("wait in place", site);
        Some(self.comm.recorded(&event, &show, || {
            let InPlace { head, count, .. } = opened(one.end_in_place())?;
            self.comm.core.port.recorder.received(head);
            let buf: &'env mut [T] = opened(one.take_buffer().and_then(ElementsMut::typed))?;
            Ok((
                buf,
                status_of(&self.comm.shared, head, count, Info::of::<T>()),
            ))
        }))
    }

    fn state(&self, index: usize) -> Rc<RequestState> {
        self.begun.borrow().all[index].state(self.comm).clone()
    }

    fn is_done(&self, index: usize) -> bool {
        let state = Receives::<(&mut [T], Status)>::state(self, index);
        self.comm.core.is_done(&state)
    }
}

/// # Requests with borrowed buffers
///
/// A scope completes its requests before the borrow of their buffers ends.
impl Comm {
    /// Runs `f` with a scope in which requests may borrow their buffers.
    ///
    /// Each of these requests is complete before this returns: the scope waits at its end for those that `f` has not
    /// waited for. If `f` fails or panics they are cancelled instead; if one fails at the end, so are those that have not
    /// ended, whatever they wait for.
    ///
    /// # Errors
    ///
    /// What `f` returns, and what waiting for the requests can fail with; see [`Request::wait`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(4).run(|comm| {
    ///     let (me, n) = (comm.rank(), comm.size());
    ///     let mine = [me; 3];
    ///     let mut halo = [0; 3];
    ///     comm.scope(|s| {
    ///         s.irecv_into((me + n - 1) % n, 0, &mut halo)?;
    ///         s.isend((me + 1) % n, 0, &mine)?;
    ///         // ... what needs no halo ...
    ///         Ok(())
    ///     })?;
    ///     assert_eq!(halo, [(me + n - 1) % n; 3]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    /// A borrowed buffer cannot be touched, it lives at least as long as the scope, and no request leaves the scope:
    ///
    /// ```compile_fail,E0499
    /// rankfold::World::new(1).run(|comm| {
    ///     let mut buf = [0];
    ///     comm.scope(|s| {
    ///         let _first = s.irecv_into(0, 0, &mut buf)?;
    ///         let _second = s.irecv_into(0, 1, &mut buf)?; // it is borrowed already
    ///         Ok(())
    ///     })
    /// });
    /// ```
    /// ```compile_fail,E0506
    /// rankfold::World::new(1).run(|comm| {
    ///     let mut buf = [0];
    ///     comm.scope(|s| {
    ///         let _sent = s.isend(0, 0, &buf)?;
    ///         buf[0] = 1; // it is being sent
    ///         Ok(())
    ///     })
    /// });
    /// ```
    /// ```compile_fail,E0597
    /// rankfold::World::new(1).run(|comm| {
    ///     comm.scope(|s| {
    ///         let mut buf = [0];
    ///         let _request = s.irecv_into(0, 0, &mut buf)?; // it is dropped before the scope ends
    ///         Ok(())
    ///     })
    /// });
    /// ```
    /// ```compile_fail
    /// rankfold::World::new(1).run(|comm| {
    ///     let mut buf = [0];
    ///     let request = comm.scope(|s| s.irecv_into(0, 0, &mut buf))?; // out of the scope
    ///     request.wait().map(|_| ())
    /// });
    /// ```
    #[track_caller]
    pub fn scope<'env, R>(
        &self,
        f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>,
    ) -> Result<R> {
        let site = Location::caller();
        self.core.port.with_loans(|loans| {
            let scope = Scope {
                comm: self,
                begun: RefCell::new(Operations::new(&self.core)),
                loans,
                scope: PhantomData,
                env: PhantomData,
            };
            let result = f(&scope)?;
            self.finish_all(&scope.begun.borrow(), site)?;
            loans.settle();
            Ok(result)
        })
    }

    /// Waits for all operations of a scope that were not waited for, and ends each as soon as those before it are ready.
    /// After an error nothing is waited for.
    fn finish_all(&self, begun: &Operations<'_>, site: Site) -> Result<()> {
        let open = || begun.all.iter().filter(|one| !one.is_over());
        if open().next().is_none() {
            return Ok(());
        }
        let states = || -> Vec<_> { open().map(|one| one.state(self).clone()).collect() };
        let ending = Ending::new(begun);
        let show = || {
            let what = ending.failed().map(Begun::show);
            let what = what.unwrap_or_else(|| show_all(&states()));
            format!("scope, at its end, for {what}")
        };
        let event = || CallEvent::apart("scope, at its end", site);
        self.recorded(&event, &show, || {
            if !self.core.port.spin_taking_in(&|| ending.go_on()) {
                let must_fail = || ending.must_fail();
                self.core.await_all(&states(), &must_fail, &show, site)?;
                ending.go_on_or_fail();
            }
            ending.result()
        })
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts to send a borrowed buffer to rank `to`. The request returns the borrow; it need not be waited for.
    ///
    /// # Cost
    ///
    /// A short message is copied. A longer one is lent, so that its receiver copies it from this buffer; if the receiver
    /// has not done so soon after the end of the scope, a copy is left for it. No receiver is waited for.
    ///
    /// # Errors
    ///
    /// As [`Comm::isend`].
    // Inlined, so that a request that is dropped at once is not written to memory, and read as words that were not written
    // as such: that read would wait until all writes before have left for the caches, those of the message among them.
    #[inline]
    #[track_caller]
    pub fn isend<T: Element>(
        &'scope self,
        to: Rank,
        tag: u32,
        data: &'env [T],
    ) -> Result<ScopedRequest<'scope, &'env [T]>> {
        let (site, elements) = (Location::caller(), Elements::of(data));
        let is_copied = Loans::copies(elements);
        let open = match is_copied && self.comm.send_at_once("isend", to, tag, elements, site) {
            true => None,
            false => self.isend_anyhow(to, tag, data, site)?,
        };
        Ok(match open {
            None => ScopedRequest::sent(self.comm, to, tag, site, data),
            Some(request) => ScopedRequest::open(*request),
        })
    }

    /// The same with all checks, and whatever has to be done. Returns a request if the message is not on its way.
    #[inline(never)]
    fn isend_anyhow<T: Element>(
        &'scope self,
        to: Rank,
        tag: u32,
        data: &'env [T],
        site: Site,
    ) -> Result<Option<Box<Request<'scope, &'env [T]>>>> {
        let elements = Elements::of(data);
        let show = || format!("isend(to {to}, tag {tag})");
        let event = || CallEvent {
            posts: self.comm.posts(),
            ..send_event("isend", to, tag, elements, site)
        };
        self.comm.recorded(&event, &show, || {
            if !self.comm.posts() {
                return self.send_bounded(to, tag, data, site);
            }
            self.comm.check_receiver::<T>(to)?;
            let (rank, head) = (self.comm.to_world(to), self.comm.head(tag));
            let there = self.loans.send(rank, head, elements);
            self.comm.posted(to, there).map(|()| None)
        })
    }

    /// The same where there may be no room for the message.
    #[cold]
    fn send_bounded<T: Element>(
        &'scope self,
        to: Rank,
        tag: u32,
        data: &'env [T],
        site: Site,
    ) -> Result<Option<Box<Request<'scope, &'env [T]>>>> {
        let direction = self.comm.start_send("isend", to, tag, data, CopyTo::Kept)?;
        if let Direction::Send { receipt: None, .. } = direction {
            return Ok(None);
        }
        let finish = Box::new(move |_: &mut Packet, _: &Here<'_>| Ok(data));
        let request = self.comm.request(direction, site, finish);
        self.remember(&request, None);
        Ok(Some(Box::new(request)))
    }

    /// Starts to send a borrowed buffer to rank `to`; the request is complete once the message has been received.
    ///
    /// # Errors
    ///
    /// As [`Comm::issend`].
    #[track_caller]
    pub fn issend<T: Element>(
        &'scope self,
        to: Rank,
        tag: u32,
        data: &'env [T],
    ) -> Result<ScopedRequest<'scope, &'env [T]>> {
        let site = Location::caller();
        let show = || format!("issend(to {to}, tag {tag})");
        let event = || CallEvent::named("issend", site);
        self.comm.recorded(&event, &show, || {
            let direction = self.comm.start_synchronous("issend", to, tag, data)?;
            let request = self
                .comm
                .request(direction, site, Box::new(move |_, _| Ok(data)));
            Ok(self.keep(request, None))
        })
    }

    /// Starts to receive into the first elements of a borrowed buffer. The request returns the borrow; it need not be
    /// waited for.
    ///
    /// # Errors
    ///
    /// As [`Comm::irecv`]; [`TooShort`](crate::ErrorKind::TooShort) comes from waiting for the request.
    ///
    /// After a receive that was cancelled, or whose scope has failed, the buffer may hold the elements of a message that
    /// another receive gets.
    #[inline] // as `isend`
    #[track_caller]
    pub fn irecv_into<T: Element>(
        &'scope self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
        buf: &'env mut [T],
    ) -> Result<ScopedRequest<'scope, (&'env mut [T], Status)>> {
        let buffer = Buffer(ElementsMut::of(buf), store::<T>);
        let index = self.start_receive(from.into(), tag.into(), buffer, Location::caller())?;
        Ok(ScopedRequest::receive(self, index))
    }

    /// Posts a receive, and returns its index.
    #[inline(never)]
    fn start_receive(
        &self,
        from: Source,
        tag: Tag,
        buffer: Buffer<'env>,
        site: Site,
    ) -> Result<usize> {
        let (call, port) = (call_of(from, tag, site), &self.comm.core.port);
        let show = || call.to_string();
        let event = || CallEvent {
            posts: true,
            ..call.describe()
        };
        let is_there = !matches!(from, Source::Rank(from) if from >= self.comm.size());
        if let Some(count) = self.comm.next_at_once().filter(|_| is_there) {
            port.begin(count);
            let index = self.begin_receive(&call, buffer);
            let context = self.comm.shared.context;
            let call = &event;
            port.recorder
                .has_posted_at_once(&OnComm { call, context }, &show);
            return Ok(index);
        }
        self.comm.recorded(&event, &show, || {
            self.comm.check_source(&call)?;
            Ok(self.begin_receive(&call, buffer))
        })
    }

    #[inline]
    fn begin_receive(&self, call: &Receive, buffer: Buffer<'env>) -> usize {
        let mut begun = self.begun.borrow_mut();
        begun.receive(self.comm, call, buffer);
        begun.all.len() - 1
    }

    /// Registers a request, which the scope completes.
    pub(super) fn keep<R>(
        &'scope self,
        request: Request<'scope, R>,
        land: Option<Land<'env>>,
    ) -> ScopedRequest<'scope, R> {
        self.remember(&request, land);
        ScopedRequest::open(request)
    }

    fn remember<R>(&self, request: &Request<'scope, R>, land: Option<Land<'env>>) {
        let state = request.state().clone();
        self.begun.borrow_mut().keep(state, land);
    }

    /// The buffer that a receive has borrowed, once.
    fn buffer(&self, index: usize) -> Option<ElementsMut<'env>> {
        self.begun.borrow().all.get(index)?.take_buffer()
    }
}
