//! [`Scope`]: requests with borrowed buffers, for the duration of a closure.
//!
//! The scope holds each receive buffer in the frame of [`Comm::scope`], and the request shares it. Only this rank's own
//! thread ever touches the buffer, when the request is concluded; so it is a plain `&mut` all the time, and no unsafe
//! code is needed.
//!
//! A window of many short messages costs little more than their exchange: a send whose message is on its way is no
//! operation in progress, and the scope alone knows of a receive.

use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::marker::PhantomData;
use std::mem;
use std::panic::Location;
use std::rc::Rc;

use super::Comm;
use super::request::{Here, Request};
use super::scoped_request::{Receives, ScopedRequest};
use super::start::opened;
use crate::Rank;
use crate::engine::envelope::{Source, Status, Tag, has_room, is_of};
use crate::engine::rank_state::Core;
use crate::engine::receive::{Receive, receive, status_in};
use crate::engine::request_state::{Direction, RequestState, Until, show_all};
use crate::error::{Error, Result, Site};
use crate::op::Element;
use crate::op::elements::{Elements, ElementsMut};
use crate::transport::matching::posted_receives::Slot;
use crate::transport::memory::packet::Packet;
use crate::transport::port::{CopyTo, Loans};
use crate::transport::trace::call_event::CallEvent;

/// A scope in which requests borrow their buffers; see [`Comm::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    pub(super) comm: &'scope Comm,
    begun: RefCell<Vec<Begun<'env>>>,
    /// The buffers that are lent to receivers.
    loans: &'scope Loans<'scope, 'env>,
    /// Invariant in both lifetimes: neither may shrink or grow.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// One operation of a scope, which completes it whatever becomes of the handle.
///
/// It is written in place, word by word: moves of what was just written would stall.
struct Begun<'env> {
    core: Rc<Core>,
    /// The slot of a receive, and its call.
    slot: Option<Rc<Slot>>,
    from: Source,
    tag: Tag,
    /// The line of a receive.
    site: Option<Site>,
    /// The request; of a receive only once one is needed.
    state: OnceCell<Rc<RequestState>>,
    /// Whether the scope has ended it.
    over: Cell<bool>,
    /// Where its result goes, until it is there; `None` for a send.
    land: Cell<Option<Land<'env>>>,
}

/// The call of a receive.
fn receive_into(from: Source, tag: Tag, site: Site) -> Receive {
    Receive {
        site,
        ..receive("irecv_into", from, tag, None)
    }
}

/// Where a result goes.
pub(super) enum Land<'env> {
    /// The borrowed buffer of a receive, and what stores a message there.
    Buffer(ElementsMut<'env>, Store),
    /// That of a collective.
    Collective(Rc<dyn Lands + 'env>),
}

/// What stores a message in a buffer of some type.
type Store = fn(ElementsMut<'_>, &Packet, &Core) -> Result<()>;

/// What stores the result of a collective in the buffer that it has borrowed.
pub(super) trait Lands {
    fn land(&self, state: &RequestState) -> Result<()>;
}

impl Begun<'_> {
    /// Its request, which is made if there is none yet.
    fn state(&self, comm: &Comm) -> &Rc<RequestState> {
        self.state.get_or_init(|| {
            let posted = self.site.zip(self.slot.clone());
            let (site, slot) = posted.expect("a receive has a slot");
            let call = receive_into(self.from, self.tag, site);
            let direction = Direction::Receive { call, slot };
            self.core.renewed(direction, &comm.handle, call.site)
        })
    }

    fn is_over(&self) -> bool {
        self.over.get() || self.state.get().is_some_and(|state| state.over.get())
    }

    fn is_ready(&self) -> bool {
        match (self.state.get(), &self.slot) {
            (None, Some(slot)) => slot.is_filled(),
            (state, _) => state.is_some_and(|state| state.is_ready()),
        }
    }

    /// Ends one that is ready and that was not waited for.
    fn conclude(&self) -> Result<()> {
        let state = self.state.get();
        state.inspect(|state| self.core.close(state));
        self.over.set(true);
        match (self.land.take(), &self.slot, state) {
            (Some(Land::Buffer(buf, store)), Some(slot), _) => self.receive(slot, buf, store),
            (Some(Land::Collective(landing)), _, Some(state)) => landing.land(state),
            _ => Ok(()),
        }
    }

    fn receive(&self, slot: &Slot, buf: ElementsMut<'_>, store: Store) -> Result<()> {
        let stored = store(buf, &slot.message(), &self.core);
        let port = &self.core.port;
        match &stored {
            Ok(()) => port.recorder.received(slot.empty()),
            Err(_) => {
                let (packet, arrival) = slot.take();
                port.inbox().give_back(packet, arrival, &*port.fabric);
            }
        }
        stored
    }
}

impl Drop for Begun<'_> {
    /// Cancels what has not ended by now: the scope has failed, or unwinds.
    fn drop(&mut self) {
        let port = &self.core.port;
        match (self.state.get(), self.slot.take()) {
            (None, Some(slot)) if self.is_over() => port.inbox().recycle(slot),
            _ if self.is_over() => {}
            (Some(state), _) => _ = self.core.revoke(state),
            (None, Some(slot)) => port.inbox().unpost(&slot, &*port.fabric),
            (None, None) => {}
        }
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
        Request::new(&self.comm.core, state, Box::new(finish)).scoped()
    }

    fn state(&self, index: usize) -> Rc<RequestState> {
        self.begun.borrow()[index].state(self.comm).clone()
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
    /// waited for. If `f` fails or panics they are cancelled instead; if one fails at the end, so are those after it.
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
                begun: RefCell::default(),
                loans,
                scope: PhantomData,
                env: PhantomData,
            };
            let result = f(&scope)?;
            let begun = mem::take(&mut *scope.begun.borrow_mut());
            self.finish_all(&begun, site)?;
            loans.settle();
            Ok(result)
        })
    }

    /// Waits for all operations of a scope that were not waited for, and ends each as soon as those before it are ready.
    fn finish_all(&self, begun: &[Begun<'_>], site: Site) -> Result<()> {
        let open = || begun.iter().filter(|one| !one.is_over());
        if open().next().is_none() {
            return Ok(());
        }
        let states = || -> Vec<_> { open().map(|one| one.state(self).clone()).collect() };
        let show = || format!("scope, at its end, for {}", show_all(&states()));
        let (ended, failed) = (Cell::new(0), Cell::new(None));
        let go_on = || {
            let (more, error) = conclude_ready(&begun[ended.get()..]);
            ended.set(ended.get() + more);
            // After an error nothing is waited for.
            let is_over = error.is_some() || ended.get() == begun.len();
            failed.set(failed.take().or(error));
            is_over
        };
        self.op(site, &show, || {
            if !self.core.port.spin_taking_in(&go_on) {
                self.core.await_ready(&states(), Until::All, &show, site)?;
                go_on();
            }
            failed.take().map_or(Ok(()), Err)
        })
    }
}

/// Ends the first of some operations, as far as they are ready. Returns how many, and the error of the one behind them
/// if that has failed.
fn conclude_ready(begun: &[Begun<'_>]) -> (usize, Option<Error>) {
    for (place, one) in begun.iter().enumerate() {
        if one.is_over() {
            continue;
        }
        if !one.is_ready() {
            return (place, None);
        }
        if let Err(error) = one.conclude() {
            return (place, Some(error));
        }
    }
    (begun.len(), None)
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
    #[track_caller]
    pub fn isend<T: Element>(
        &'scope self,
        to: Rank,
        tag: u32,
        data: &'env [T],
    ) -> Result<ScopedRequest<'scope, &'env [T]>> {
        let site = Location::caller();
        let show = || format!("isend(to {to}, tag {tag})");
        let event = || CallEvent {
            posts: self.comm.posts(),
            ..CallEvent::at(site)
        };
        self.comm.recorded(&event, &show, || {
            if !self.comm.posts() {
                return self.send_bounded(to, tag, data, site);
            }
            self.comm.check_receiver::<T>(to)?;
            let (rank, head) = (self.comm.world_rank(to), self.comm.head(tag));
            let there = self.loans.send(rank, head, Elements::of(data));
            self.comm.posted(to, there)?;
            Ok(ScopedRequest::sent(self.comm, to, tag, site, data))
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
    ) -> Result<ScopedRequest<'scope, &'env [T]>> {
        let direction = self.comm.start_send("isend", to, tag, data, CopyTo::Kept)?;
        if let Direction::Send { receipt: None, .. } = direction {
            return Ok(ScopedRequest::sent(self.comm, to, tag, site, data));
        }
        let finish = Box::new(move |_: &mut Packet, _: &Here<'_>| Ok(data));
        Ok(self.keep(self.comm.request(direction, site, finish), None))
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
        let index = self.start_receive(from.into(), tag.into(), Location::caller())?;
        let land = Land::Buffer(ElementsMut::of(buf), store::<T>);
        *self.begun.borrow_mut()[index].land.get_mut() = Some(land);
        Ok(ScopedRequest::receive(self, index))
    }

    /// Posts a receive, and returns its index.
    fn start_receive(&self, from: Source, tag: Tag, site: Site) -> Result<usize> {
        let call = receive_into(from, tag, site);
        let event = || CallEvent {
            posts: true,
            ..CallEvent::at(site)
        };
        self.comm.recorded(&event, &|| call.to_string(), || {
            let slot = self.comm.post_slot(&call)?;
            let mut begun = self.begin();
            (begun.from, begun.tag, begun.site) = (from, tag, Some(site));
            begun.slot = Some(slot);
            drop(begun);
            Ok(self.begun.borrow().len() - 1)
        })
    }

    /// Registers a request, which the scope completes.
    pub(super) fn keep<R>(
        &'scope self,
        request: Request<'scope, R>,
        land: Option<Land<'env>>,
    ) -> ScopedRequest<'scope, R> {
        let mut begun = self.begin();
        begun.state = request.state().clone().into();
        begun.land = Cell::new(land);
        drop(begun);
        ScopedRequest::open(request)
    }

    /// Registers an operation, which is last from then on, to be described by the caller.
    #[inline]
    fn begin(&self) -> RefMut<'_, Begun<'env>> {
        let mut begun = self.begun.borrow_mut();
        let count = begun.len();
        if count == begun.capacity() {
            // More at once than `push` would: each time, all are moved.
            begun.reserve(8 + 3 * count);
        }
        begun.push(Begun {
            core: self.comm.core.clone(),
            slot: None,
            from: Source::Any,
            tag: Tag::Any,
            site: None,
            state: OnceCell::new(),
            over: Cell::new(false),
            land: Cell::new(None),
        });
        RefMut::map(begun, |all| &mut all[count])
    }

    /// The buffer that a receive has borrowed, once.
    fn buffer(&self, index: usize) -> Option<ElementsMut<'env>> {
        match self.begun.borrow().get(index)?.land.take()? {
            Land::Buffer(buf, _) => Some(buf),
            Land::Collective(_) => None,
        }
    }
}
