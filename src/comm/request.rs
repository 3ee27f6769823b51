//! [`Request`]: a nonblocking operation, which is started now and completed later.
//!
//! A request owns its buffers, or borrows them within a scope; no other thread touches them. A message that has been
//! sent is independent of its request, and a message to be received goes to a slot of this rank's inbox. So a request
//! may be dropped or forgotten at any time without leaving a dangling reference.

use std::fmt;
use std::panic::Location;
use std::rc::{Rc, Weak};

#[cfg(doc)]
use super::Comm;
use crate::engine::envelope::{has_room, is_of, is_value};
use crate::engine::rank_state::Core;
use crate::engine::request_state::{Direction, RequestState, Until, show_all};
use crate::error::{Error, Result, Site};
use crate::op::Element;
use crate::transport::memory::packet::Packet;
use crate::transport::{CommShared, Fabric};
use crate::unwind;

/// Makes a request's result from its message, which [fits](Fits), or from an empty packet for a send.
pub(super) type Finish<'c, R> = Box<dyn FnOnce(&mut Packet, &Here<'_>) -> Result<R> + 'c>;

/// What a message must be to make a result of it. That is known before the message is taken.
#[derive(Clone, Copy)]
pub(super) struct Fits {
    has_type: fn(&Packet) -> Result<()>,
    room: usize,
}

impl Fits {
    const ANYTHING: Fits = Fits {
        has_type: |_| Ok(()),
        room: usize::MAX,
    };

    /// Elements of type `T`, `room` of them at most.
    pub(super) fn elements<T: Element>(room: usize) -> Fits {
        Fits {
            has_type: is_of::<T>,
            room,
        }
    }

    /// A value of type `V`.
    pub(super) fn value<V: 'static>() -> Fits {
        Fits {
            has_type: is_value::<V>,
            ..Fits::ANYTHING
        }
    }

    fn check(&self, packet: &Packet) -> Result<()> {
        (self.has_type)(packet)?;
        has_room(packet, self.room)
    }
}

/// The rank that receives a message, and the communicator of the request.
pub(super) struct Here<'a> {
    pub core: &'a Core,
    pub comm: &'a CommShared,
    pub state: &'a RequestState,
}

impl Here<'_> {
    pub(super) fn fabric(&self) -> &Fabric {
        &self.core.port.fabric
    }
}

/// An operation in progress, started by [`isend`](Comm::isend), [`irecv`](Comm::irecv) and their variants.
///
/// [`wait`](Self::wait) completes it and returns its result; [`wait_all`](Self::wait_all), [`wait_any`](Self::wait_any)
/// and their kin complete several. There is no progress thread: messages are matched inside
/// all calls of the rank, so a request also makes progress in calls other than the one that waits for it.
///
/// A request that is *dropped* is detached: its send is still delivered, and the message that it would receive is left
/// to other receives. A request that is *forgotten* goes on, and its contents are leaked. Either way the report lists
/// it as [unfinished](crate::Report::unfinished).
///
/// A request stays with its rank:
///
/// ```compile_fail,E0277
/// rankfold::World::new(2).run(|comm| {
///     let request = comm.irecv::<u8>(0, 1)?;
///     std::thread::scope(|s| s.spawn(|| request.wait())); // another thread is not this rank
///     Ok(())
/// });
/// ```
/// It borrows nothing but its buffers, if it is of a [scope](Comm::scope); so it may be kept beside its communicator,
/// or longer, until the rank ends: after that, waiting for it is an error.
///
/// ```
/// use rankfold::{Comm, Request, Status, World};
///
/// /// Owns a communicator and its requests.
/// struct Inbox {
///     comm: Comm,
///     coming: Vec<Request<'static, (Vec<u8>, Status)>>,
/// }
///
/// World::new(1).run(|comm| {
///     let mut inbox = Inbox { comm: comm.dup()?, coming: Vec::new() };
///     inbox.coming.push(inbox.comm.irecv(0, 0)?);
///     inbox.comm.send(0, 0, &[1u8])?;
///     let Inbox { comm, coming } = inbox;
///     drop(comm);
///     assert_eq!(Request::wait_all(coming)?[0].0, [1]);
///     Ok(())
/// })?;
/// # Ok::<(), rankfold::WorldError>(())
/// ```
#[doc(alias = "MPI_Request")]
#[must_use = "a request is waited for, or cancelled"]
pub struct Request<'c, R> {
    /// Weak: a request that is forgotten does not keep its rank.
    core: Weak<Core>,
    state: Rc<RequestState>,
    /// `None` once the result has been returned.
    finish: Option<Finish<'c, R>>,
    fits: Fits,
    /// Whether a scope completes it.
    scoped: bool,
}

impl<R> fmt::Debug for Request<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.state, self.state.site)
    }
}

impl<'c, R> Request<'c, R> {
    #[inline]
    pub(super) fn new(core: &Rc<Core>, state: Rc<RequestState>, finish: Finish<'c, R>) -> Self {
        Request {
            core: Rc::downgrade(core),
            state,
            finish: Some(finish),
            fits: Fits::ANYTHING,
            scoped: false,
        }
    }

    /// Takes only messages that are so.
    pub(super) fn fitting(mut self, fits: Fits) -> Self {
        self.fits = fits;
        self
    }

    /// Marks the request as one that a scope completes.
    pub(super) fn scoped(mut self) -> Self {
        self.scoped = true;
        self
    }

    /// The rank that made it, if that has not ended.
    pub(super) fn core(&self) -> Result<Rc<Core>> {
        let core = self.core.upgrade();
        core.ok_or_else(|| Error::usage("the rank that made this request has ended"))
    }

    /// Runs one operation on the request.
    fn op<A>(
        &mut self,
        (operation, site): (&'static str, Site),
        show: &dyn Fn() -> String,
        body: impl FnOnce(&mut Self, &Core) -> Result<A>,
    ) -> Result<A> {
        let (core, state) = (self.core()?, self.state.clone());
        let event = || state.event(operation, site);
        core.recorded(&state.comm, &event, show, || body(self, &core))
    }

    pub(super) fn state(&self) -> &Rc<RequestState> {
        &self.state
    }

    /// Whether it can still be waited for.
    pub(super) fn is_open(&self) -> bool {
        self.finish.is_some() && !self.state.over.get()
    }

    pub(super) fn check_open(&self) -> Result<()> {
        match self.is_open() {
            true => Ok(()),
            false => Err(Error::usage(format!(
                "{} of line {} is over: its result was given already",
                self.state,
                self.state.site.line()
            ))),
        }
    }

    /// Checks that this rank made the request.
    pub(super) fn check_rank(&self, core: &Rc<Core>) -> Result<()> {
        match Weak::ptr_eq(&self.core, &Rc::downgrade(core)) {
            true => Ok(()),
            false => Err(Error::usage(
                "a request is waited for by the rank that made it",
            )),
        }
    }

    /// Checks, once it is ready, that its result can be made of what has come. Nothing is taken.
    pub(super) fn check_result(&self) -> Result<()> {
        match &self.state.direction {
            Direction::Send { .. } => Ok(()),
            Direction::Receive { slot, .. } => self.fits.check(&slot.message()),
            Direction::Collective(started, _) => started.outcome(),
        }
    }

    /// Returns its result, once it is ready. A message that does not fit goes back to the front of its queue.
    pub(super) fn conclude(&mut self) -> Result<R> {
        let core = self.core()?;
        self.conclude_in(&core)
    }

    /// The same in the rank that made it.
    #[inline]
    fn conclude_in(&mut self, core: &Core) -> Result<R> {
        self.check_open()?;
        let comm = &*self.state.comm;
        let state = &*self.state;
        let here = Here { core, comm, state };
        core.close(&self.state);
        let Some(finish) = self.finish.take() else {
            return Err(Error::usage("the request is over"));
        };
        let Direction::Receive { slot, .. } = &self.state.direction else {
            let result = finish(&mut Packet::empty(), &here)?;
            core.spares.put(&self.state);
            return Ok(result);
        };
        let (mut packet, arrival) = slot.take();
        let head = packet.head;
        let fits = self.fits.check(&packet);
        let result = fits.and_then(|()| finish(&mut packet, &here));
        if result.is_ok() {
            core.port.recorder.received(head);
        } else {
            let mut inbox = core.port.inbox();
            inbox.give_back(packet, arrival, &*core.port.fabric);
        }
        result
    }

    /// The place in the order of arrival of the message of a receive, if it has come and the request is open.
    pub(super) fn arrival(&self) -> Option<u64> {
        match &self.state.direction {
            Direction::Receive { slot, .. } => {
                (self.is_open() && slot.is_filled()).then(|| slot.arrival())
            }
            _ => None,
        }
    }

    /// Ends it without its result, after a failure. Returns whether the operation could be cancelled.
    pub(super) fn give_up(&mut self) -> bool {
        let open = self.is_open();
        self.finish = None;
        let core = self.core.upgrade().filter(|_| open);
        core.is_some_and(|core| core.revoke(&self.state))
    }

    /// Waits until the operation is complete and returns its result: the buffer that was sent, or the message.
    ///
    /// # Errors
    ///
    /// As the blocking operation of its kind. A message of the wrong type or length stays first in its queue. After an
    /// error the request is over, and its send is retracted if no rank has received it.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let got = World::new(2).run(|comm| {
    ///     let other = 1 - comm.rank();
    ///     let sent = comm.isend(other, 0, vec![comm.rank(); 3])?;
    ///     let (got, _) = comm.irecv::<usize>(other, 0)?.wait()?;
    ///     assert_eq!(sent.wait()?, [comm.rank(); 3]); // the buffer comes back
    ///     Ok(got)
    /// })?;
    /// assert_eq!(got, [[1; 3], [0; 3]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    /// A request can be waited for only once, and a buffer that is being sent is not accessible:
    ///
    /// ```compile_fail,E0382
    /// rankfold::World::new(1).run(|comm| {
    ///     let request = comm.isend(0, 0, vec![1])?;
    ///     request.wait()?;
    ///     request.wait() // it was moved
    /// });
    /// ```
    /// ```compile_fail,E0382
    /// rankfold::World::new(1).run(|comm| {
    ///     let mut data = vec![1];
    ///     let request = comm.isend(0, 0, data)?;
    ///     data[0] = 2; // it was moved
    ///     request.wait()
    /// });
    /// ```
    #[doc(alias = "MPI_Wait")]
    #[track_caller]
    pub fn wait(mut self) -> Result<R> {
        self.wait_at(Location::caller())
    }

    /// The same, called at `site`, for one that stays where it is, and [open](Self::is_open) if the call is refused.
    #[inline]
    pub(super) fn wait_at(&mut self, site: Site) -> Result<R> {
        let (core, state) = (self.core()?, self.state.clone());
        let one = std::slice::from_ref(&state);
        let show = || format!("wait for {}", show_all(one));
        core.recorded(&state.comm, &|| state.event("wait", site), &show, || {
            self.check_open()?;
            let waited = core.await_ready(one, Until::All, &show, site);
            waited.inspect_err(|_| _ = self.give_up())?;
            self.conclude_in(&core)
        })
    }

    /// Returns the result if the operation is complete by now, and `None` if it is not. The request is over after a
    /// result.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait), except for deadlocks: a rank that polls is running. The request is over after an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(2).run(|comm| {
    ///     if comm.rank() == 1 {
    ///         return comm.send(0, 0, &[7]);
    ///     }
    ///     let mut request = comm.irecv::<i32>(1, 0)?;
    ///     let (got, _) = loop {
    ///         if let Some(message) = request.test()? {
    ///             break message;
    ///         }
    ///     };
    ///     assert_eq!(got, [7]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Test")]
    #[track_caller]
    pub fn test(&mut self) -> Result<Option<R>> {
        let state = self.state.clone();
        let show = || format!("test of {state}");
        self.op(("test", Location::caller()), &show, |this, core| {
            this.check_open()?;
            match core.is_ready(&state) {
                Ok(true) => core
                    .port
                    .without_moments(|| this.conclude_in(core).map(Some)),
                Ok(false) => Ok(None),
                Err(error) => {
                    this.give_up();
                    Err(error)
                }
            }
        })
    }

    /// Returns whether [`wait`](Self::wait) would return at once, even if with an error. Inside an operator it does not
    /// look for messages, and returns what is known already.
    #[doc(alias = "MPI_Request_get_status")]
    pub fn is_done(&self) -> bool {
        let core = self.core.upgrade().filter(|_| self.is_open());
        core.is_none_or(|core| core.is_done(&self.state))
    }

    /// Returns the request with another result: what `f` makes of this one's. It gives requests of different kinds one
    /// type, so that they can be [waited for](Self::wait_any) together.
    ///
    /// `f` runs when the request completes, inside the call that completes it, and may not call a communicator of this
    /// rank.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Request, World};
    ///
    /// enum Event {
    ///     Numbers(Vec<f64>),
    ///     Order(String),
    ///     Sent,
    /// }
    ///
    /// World::new(1).run(|comm| {
    ///     let mut requests = vec![
    ///         comm.irecv::<f64>(0, 0)?.map(|(numbers, _)| Event::Numbers(numbers)),
    ///         comm.irecv_value::<String>(0, 1)?.map(|(order, _)| Event::Order(order)),
    ///         comm.isend(0, 0, vec![0.5])?.map(|_buffer| Event::Sent),
    ///     ];
    ///     comm.send_value(0, 1, String::from("stop"))?;
    ///     while let Some((_, event)) = Request::wait_any(&mut requests)? {
    ///         match event {
    ///             Event::Numbers(numbers) => assert_eq!(numbers, [0.5]),
    ///             Event::Order(order) => assert_eq!(order, "stop"),
    ///             Event::Sent => {}
    ///         }
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    pub fn map<S>(mut self, f: impl FnOnce(R) -> S + 'c) -> Request<'c, S>
    where
        R: 'c,
    {
        let mapped = |finish: Finish<'c, R>| -> Finish<'c, S> {
            Box::new(move |packet, here| {
                finish(packet, here).map(|result| unwind::operator(|| f(result)))
            })
        };
        Request {
            core: self.core.clone(),
            state: self.state.clone(),
            finish: self.finish.take().map(mapped),
            fits: self.fits,
            scoped: self.scoped,
        }
    }

    /// Ends the operation without its result. Returns whether it was cancelled: whether no rank receives the message of a
    /// send, which is so if the message found no [buffer](crate::World::buffering) and no rank has received it.
    ///
    /// A receive is always cancelled. If its message has come already, the message goes to the first open receive that
    /// matches it, or waits for the next one. A receive that was started later may have got a later message of the same
    /// sender by then, and keeps it; and a [synchronous send](Comm::ssend) of the message may have completed, with which the
    /// message counts as received.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if called from inside an operator.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(1).strict().run(|comm| {
    ///     let never = comm.irecv::<u8>(0, 5)?;
    ///     assert!(never.cancel()?);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Cancel")]
    #[track_caller]
    pub fn cancel(mut self) -> Result<bool> {
        let state = self.state.clone();
        let show = || format!("cancel {state}");
        let call = ("cancel", Location::caller());
        self.op(call, &show, |this, core| {
            core.port.depends_on_time();
            Ok(this.give_up())
        })
    }
}

impl<R> Drop for Request<'_, R> {
    #[inline]
    fn drop(&mut self) {
        if self.is_open()
            && !self.scoped
            && let Some(core) = self.core.upgrade()
        {
            core.abandon(&self.state);
        }
    }
}
