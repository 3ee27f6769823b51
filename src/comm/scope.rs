//! [`Scope`]: requests with borrowed buffers, for the duration of a closure.
//!
//! The scope holds each receive buffer in the frame of [`Comm::scope`], and the request shares it. Only this rank's own
//! thread ever touches the buffer, when the request is concluded; so it is a plain `&mut` all the time, and no unsafe
//! code is needed.
//!
//! A window of many short messages costs little more than their exchange: a send whose message is on its way is no
//! operation in progress, and the scope alone knows of a receive.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::mem;
use std::panic::Location;
use std::rc::Rc;

use super::Comm;
use super::request::{Here, Request};
use super::scoped_request::{Finishes, ScopedRequest};
use super::start::opened;
use super::wait_several::several;
use crate::Rank;
use crate::engine::envelope::{Source, Status, Tag, has_room, is_of};
use crate::engine::rank_state::Core;
use crate::engine::receive::{receive, status_in};
use crate::engine::request_state::{Direction, RequestState, Until};
use crate::error::{Result, Site};
use crate::op::Element;
use crate::transport::memory::packet::Packet;
use crate::transport::port::CopyTo;

/// A scope in which requests borrow their buffers; see [`Comm::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    pub(super) comm: &'scope Comm,
    begun: RefCell<Vec<Begun<'env>>>,
    /// Invariant in both lifetimes: neither may shrink or grow.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// One request of a scope, which completes it whatever becomes of the handle.
struct Begun<'env> {
    core: Rc<Core>,
    state: Rc<RequestState>,
    /// What stores the result; `None` for a send.
    land: Option<Rc<dyn Lands + 'env>>,
}

/// What stores the result of a request in the buffer that it has borrowed.
pub(super) trait Lands {
    /// Stores it: the message, or the result of a collective, of which the packet holds nothing.
    fn land(&self, packet: &Packet, core: &Core, state: &RequestState) -> Result<()>;
}

impl Begun<'_> {
    /// Ends a request that is ready and that was not waited for.
    fn conclude(self) -> Result<()> {
        self.core.close(&self.state);
        let Some(land) = &self.land else {
            return Ok(());
        };
        let Direction::Receive { slot, .. } = &self.state.direction else {
            return land.land(&Packet::empty(), &self.core, &self.state);
        };
        let landed = land.land(&slot.message(), &self.core, &self.state);
        let port = &self.core.port;
        match &landed {
            Ok(()) => port.recorder.received(slot.empty()),
            Err(_) => {
                let (packet, arrival) = slot.take();
                port.inbox().give_back(packet, arrival, &*port.fabric);
            }
        }
        landed
    }
}

impl Drop for Begun<'_> {
    /// Cancels a request that has not ended by now: the scope has failed, or unwinds.
    fn drop(&mut self) {
        if !self.state.over.get() {
            self.core.revoke(&self.state);
        }
    }
}

/// The borrowed buffer of a receive. The code that concludes the request takes it out.
struct Landing<'env, T>(Cell<Option<&'env mut [T]>>);

impl<'env, T: Element> Landing<'env, T> {
    /// Copies a message into the first elements of the buffer, and returns the buffer.
    fn store(&self, packet: &Packet, core: &Core) -> Result<&'env mut [T]> {
        let buf = opened(self.0.take())?;
        is_of::<T>(packet).and_then(|()| has_room(packet, buf.len()))?;
        opened(packet.open_into(&*core.port.fabric, &core.port, buf))?;
        Ok(buf)
    }
}

impl<T: Element> Lands for Landing<'_, T> {
    fn land(&self, packet: &Packet, core: &Core, _: &RequestState) -> Result<()> {
        self.store(packet, core).map(drop)
    }
}

impl<'env, T: Element> Finishes<(&'env mut [T], Status)> for Landing<'env, T> {
    fn finish(&self, packet: &Packet, here: &Here<'_>) -> Result<(&'env mut [T], Status)> {
        let status = status_in(here.comm, packet);
        Ok((self.store(packet, here.core)?, status))
    }
}

/// # Requests with borrowed buffers
///
/// A scope completes its requests before the borrow of their buffers ends.
impl Comm {
    /// Runs `f` with a scope in which requests may borrow their buffers.
    ///
    /// Each of these requests is complete before this returns: the scope waits at its end for those that `f` has not
    /// waited for. If `f` fails or panics they are cancelled instead.
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
        let scope = Scope {
            comm: self,
            begun: RefCell::default(),
            scope: PhantomData,
            env: PhantomData,
        };
        let result = f(&scope)?;
        let begun = mem::take(&mut *scope.begun.borrow_mut());
        self.finish_all(begun, site).map(|()| result)
    }

    /// Waits for all requests of a scope that were not waited for, and ends them.
    fn finish_all(&self, mut begun: Vec<Begun<'_>>, site: Site) -> Result<()> {
        begun.retain(|one| !one.state.over.get());
        if begun.is_empty() {
            return Ok(());
        }
        let states: Vec<_> = begun.iter().map(|one| one.state.clone()).collect();
        let call = ("scope, at its end,", site);
        several(&self.core, &self.shared, &states, call, |show| {
            self.core.await_ready(&states, Until::All, show, site)?;
            begun.into_iter().try_for_each(Begun::conclude)
        })
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts to send a borrowed buffer to rank `to`. The request returns the borrow; it need not be waited for.
    ///
    /// # Cost
    ///
    /// As [`Comm::isend`].
    ///
    /// # Errors
    ///
    /// As [`Comm::isend`].
    #[track_caller]
    pub fn isend<T: Element>(
        &'scope self,
        to: Rank,
        tag: u32,
        data: &'env [T],
    ) -> Result<ScopedRequest<'scope, &'env [T]>> {
        let site = Location::caller();
        let show = || format!("isend(to {to}, tag {tag})");
        self.comm.op(site, &show, || {
            let direction = self.comm.start_send("isend", to, tag, data, CopyTo::Kept)?;
            if let Direction::Send { receipt: None, .. } = direction {
                return Ok(ScopedRequest::sent(self.comm, direction, site, data));
            }
            let request = self
                .comm
                .request(direction, site, Box::new(move |_, _| Ok(data)));
            Ok(self.keep(request, None))
        })
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
        self.comm.op(site, &show, || {
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
    #[track_caller]
    pub fn irecv_into<T: Element>(
        &'scope self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
        buf: &'env mut [T],
    ) -> Result<ScopedRequest<'scope, (&'env mut [T], Status)>> {
        let call = receive("irecv_into", from.into(), tag.into(), None);
        self.comm.op(call.site, &|| call.to_string(), || {
            let direction = self.comm.post_receive(&call)?;
            let state = self
                .comm
                .core
                .renewed(direction, &self.comm.handle, call.site);
            let landing = Rc::new(Landing(Cell::new(Some(buf))));
            self.begin(state.clone(), Some(landing.clone()));
            Ok(ScopedRequest::receive(self.comm, state, landing))
        })
    }

    /// Registers a request, which the scope completes.
    pub(super) fn keep<R>(
        &'scope self,
        request: Request<'scope, R>,
        land: Option<Rc<dyn Lands + 'env>>,
    ) -> ScopedRequest<'scope, R> {
        self.begin(request.state().clone(), land);
        ScopedRequest::open(request)
    }

    fn begin(&self, state: Rc<RequestState>, land: Option<Rc<dyn Lands + 'env>>) {
        let core = self.comm.core.clone();
        let begun = Begun { core, state, land };
        self.begun.borrow_mut().push(begun);
    }
}
