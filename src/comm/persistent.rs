//! [`Persistent`]: a call that is described once, with its buffers, and then started any number of times.

use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use super::Comm;
use super::request::{Fits, Here, Request};
use super::start::opened;
use super::started::{Prepared, owned_by, started_of};
use crate::Rank;
use crate::engine::envelope::{Source, Tag};
use crate::engine::receive::receive;
use crate::engine::request_state::RequestState;
use crate::error::{Error, Result, Site};
use crate::op::Element;
use crate::op::owned::Owned;
use crate::transport::memory::packet::Packet;
use crate::transport::port::CopyTo;
use crate::transport::trace::call_event::CallEvent;

/// A call that can be started again and again with the same arguments and buffers: a collective, made by
/// [`all_reduce_init`](Comm::all_reduce_init) and its kin, among neighbours by
/// [`neighbor_all_gather_init`](crate::Neighborhood::neighbor_all_gather_init) and its kin, or a message, made by
/// [`send_init`](Comm::send_init) or [`recv_init`](Comm::recv_init).
///
/// [`start`](Self::start) starts it, and [`wait`](Self::wait) completes it. Between these two it is *active*, and its
/// buffers cannot be reached. Dropping an active one detaches it, as dropping a [`Request`](crate::Request) does.
///
/// The call is made when it is started: all ranks start the collectives of a communicator in the same order, and each
/// may be persistent on some ranks and [started](Comm::iall_reduce) by its plain form on others.
///
/// # Examples
///
/// ```
/// use rankfold::{World, op};
///
/// World::new(4).run(|comm| {
///     let mut norm = comm.all_reduce_init(vec![0.0], op::Sum)?;
///     for turn in 0..10 {
///         norm.input_mut()?[0] = f64::from(turn);
///         norm.start()?;
///         // ... what needs no sum ...
///         norm.wait()?;
///         assert_eq!(norm.output()?[0], 4.0 * f64::from(turn));
///     }
///     Ok(())
/// })?;
/// # Ok::<(), rankfold::WorldError>(())
/// ```
#[must_use = "it does nothing until it is started"]
pub struct Persistent<'c, T: Element> {
    comm: &'c Comm,
    what: What<T>,
    site: Site,
}

/// What is started.
enum What<T: Element> {
    Collective(Box<Collective<T>>),
    Send(Sending<T>),
    Receive(Receiving<T>),
}

/// A collective.
struct Collective<T> {
    prepared: Prepared,
    /// `None` while it is active, and after it has failed.
    owned: Option<Box<Owned>>,
    active: Option<(Request<'static, ()>, Rc<RequestState>)>,
    kind: Kind<T>,
}

/// What a collective does with its buffers besides its schedule.
pub(super) enum Kind<T> {
    /// It has one buffer, which is in the place of its input or of its output.
    InPlace,
    /// The same, and leaves this on the first rank: an exclusive scan.
    Exclusive(T),
    /// It has two buffers, and either may be empty.
    Apart,
}

/// A message that is sent.
struct Sending<T> {
    to: Rank,
    tag: u32,
    buf: Vec<T>,
    waits: bool,
    active: Option<Request<'static, ()>>,
}

/// A message that is received.
struct Receiving<T: Element> {
    from: Source,
    tag: Tag,
    buf: Vec<T>,
    active: Option<Request<'static, Vec<T>>>,
}

impl<T: Element> fmt::Debug for Persistent<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.is_active() {
            "active"
        } else {
            "inactive"
        };
        write!(f, "{} of line {}, {state}", self.verb(), self.site.line())
    }
}

impl<'c, T: Element> Persistent<'c, T> {
    fn new(comm: &'c Comm, what: What<T>, site: Site) -> Self {
        Persistent { comm, what, site }
    }

    pub(super) fn collective(
        comm: &'c Comm,
        prepared: Prepared,
        owned: Owned,
        kind: Kind<T>,
    ) -> Self {
        let site = prepared.site;
        let collective = Collective {
            prepared,
            owned: Some(Box::new(owned)),
            active: None,
            kind,
        };
        Persistent::new(comm, What::Collective(Box::new(collective)), site)
    }

    fn verb(&self) -> &'static str {
        match &self.what {
            What::Collective(_) => "a persistent collective",
            What::Send(_) => "a persistent send",
            What::Receive(_) => "a persistent receive",
        }
    }

    /// Whether it has been started and not been completed.
    pub fn is_active(&self) -> bool {
        match &self.what {
            What::Collective(one) => one.active.is_some(),
            What::Send(one) => one.active.is_some(),
            What::Receive(one) => one.active.is_some(),
        }
    }

    #[track_caller]
    fn check_inactive(&self, verb: &str) -> Result<()> {
        match self.is_active() {
            false => Ok(()),
            true => self.refuse_active(verb, Location::caller()),
        }
    }

    #[cold]
    fn refuse_active(&self, verb: &str, site: Site) -> Result<()> {
        let show = || format!("{verb} of {}", self.verb());
        let active = || {
            let described = self.site;
            Err(Error::usage(format!(
                "it is active: wait for it first; it was described at {described}"
            )))
        };
        self.comm.op(site, &show, active)
    }

    /// Starts it.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if it is active, or has failed before; otherwise as the call that it stands
    /// for.
    #[doc(alias = "MPI_Start")]
    #[track_caller]
    pub fn start(&mut self) -> Result<()> {
        self.check_inactive("start")?;
        match &mut self.what {
            What::Collective(one) => one.start(self.comm),
            What::Send(one) => one.start(self.comm),
            What::Receive(one) => one.start(self.comm),
        }
    }

    /// Waits until it is complete. It is inactive afterwards. Returns at once if it is not active.
    ///
    /// # Errors
    ///
    /// As [`Request::wait`]. A collective that has failed cannot be started again. If the call is refused (inside an
    /// operator, or by [`World::inject`](crate::World::inject)), it remains active.
    #[track_caller]
    pub fn wait(&mut self) -> Result<()> {
        self.wait_at(Location::caller())
    }

    fn wait_at(&mut self, site: Site) -> Result<()> {
        match &mut self.what {
            What::Collective(one) => {
                let Some((request, _)) = &mut one.active else {
                    return Ok(());
                };
                let waited = request.wait_at(site);
                match one.active.take_if(|(request, _)| !request.is_open()) {
                    Some((_, state)) => waited.and_then(|()| one.end(self.comm, &state)),
                    None => waited,
                }
            }
            What::Send(one) => wait_at(&mut one.active, site).map(drop),
            What::Receive(one) => match wait_at(&mut one.active, site)? {
                Some(arrived) => one.end(arrived),
                None => Ok(()),
            },
        }
    }

    /// Returns whether it is inactive now: it completes it if that is possible without waiting.
    ///
    /// # Errors
    ///
    /// As [`Request::test`].
    #[track_caller]
    pub fn test(&mut self) -> Result<bool> {
        let done = match &mut self.what {
            What::Collective(one) => one.active.as_mut().map(|(request, _)| request.is_done()),
            What::Send(one) => one.active.as_mut().map(|request| request.is_done()),
            What::Receive(one) => one.active.as_mut().map(|request| request.is_done()),
        };
        match done {
            Some(false) => self.comm.progress().map(|()| false),
            _ => {
                let (port, site) = (&self.comm.core.port, Location::caller());
                port.without_moments(|| self.wait_at(site).map(|()| true))
            }
        }
    }

    /// The elements that this rank contributes: the input of a collective, or the buffer of one that works in place, or
    /// of a message. It is empty where the input is, as that of a scatter is except at the root.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if it is active, or has failed.
    #[track_caller]
    pub fn input_mut(&mut self) -> Result<&mut [T]> {
        self.check_inactive("input_mut")?;
        match &mut self.what {
            What::Collective(one) => one.input(),
            What::Send(one) => Ok(&mut one.buf),
            What::Receive(one) => Ok(&mut one.buf),
        }
    }

    /// The elements that this rank has got: the output of a collective, or the buffer of one that works in place, or of
    /// a message. It is empty where the output is, as that of a gather is except at the root.
    ///
    /// # Errors
    ///
    /// As [`input_mut`](Self::input_mut).
    #[track_caller]
    pub fn output(&mut self) -> Result<&[T]> {
        self.check_inactive("output")?;
        match &mut self.what {
            What::Collective(one) => one.output(),
            What::Send(one) => Ok(&one.buf),
            What::Receive(one) => Ok(&one.buf),
        }
    }
}

impl<T: Element> Collective<T> {
    fn start(&mut self, comm: &Comm) -> Result<()> {
        if self.owned.is_none() {
            return Err(failed());
        }
        // A start that is refused leaves it there.
        let begun = comm.start_prepared(&self.prepared, &mut self.owned)?;
        // Inside the wait, which records its failure.
        let finish = Box::new(|_: &mut Packet, here: &Here<'_>| started_of(here.state).outcome());
        let request = Request::new(&comm.core, begun.state.clone(), finish);
        self.active = Some((request, begun.state));
        Ok(())
    }

    fn end(&mut self, comm: &Comm, state: &RequestState) -> Result<()> {
        self.owned = Some(owned_by(&comm.core.port, &**started_of(state))?);
        if let Kind::Exclusive(identity) = self.kind {
            let (_, output) = self.vectors()?;
            output.iter_mut().for_each(|one| *one = identity);
        }
        Ok(())
    }

    fn vectors(&mut self) -> Result<(&mut [T], &mut [T])> {
        let owned = self.owned.as_deref_mut();
        owned.and_then(Owned::vectors).ok_or_else(failed)
    }

    fn is_in_place(&self) -> bool {
        !matches!(self.kind, Kind::Apart)
    }

    fn input(&mut self) -> Result<&mut [T]> {
        let in_place = self.is_in_place();
        let (input, output) = self.vectors()?;
        Ok(match in_place && input.is_empty() {
            true => output,
            false => input,
        })
    }

    fn output(&mut self) -> Result<&[T]> {
        let in_place = self.is_in_place();
        let (input, output) = self.vectors()?;
        Ok(match in_place && output.is_empty() {
            true => input,
            false => output,
        })
    }
}

/// Waits for a request if there is one. It stays active if the call is refused.
fn wait_at<R>(active: &mut Option<Request<'static, R>>, site: Site) -> Result<Option<R>> {
    let Some(request) = active else {
        return Ok(None);
    };
    let result = request.wait_at(site);
    active.take_if(|request| !request.is_open());
    result.map(Some)
}

fn failed() -> Error {
    Error::usage("the persistent call has failed before, and its buffers are gone: make a new one")
}

impl<T: Element> Sending<T> {
    #[track_caller]
    fn start(&mut self, comm: &Comm) -> Result<()> {
        let Sending { to, tag, waits, .. } = *self;
        let (site, buf) = (Location::caller(), &self.buf);
        let verb = if waits { "issend" } else { "isend" };
        let show = || format!("{verb}(to {to}, tag {tag})");
        let event = || CallEvent::named(verb, site);
        let request = comm.recorded(&event, &show, || {
            let direction = match waits {
                true => comm.start_synchronous(verb, to, tag, buf)?,
                false => comm.start_send(verb, to, tag, buf, CopyTo::Receiver)?,
            };
            let finish = |_: &mut Packet, _: &Here<'_>| Ok(());
            Ok(comm.request(direction, site, Box::new(finish)))
        })?;
        self.active = Some(request);
        Ok(())
    }
}

impl<T: Element> Receiving<T> {
    #[track_caller]
    fn start(&mut self, comm: &Comm) -> Result<()> {
        let call = receive("irecv", self.from, self.tag, None);
        let finish = |packet: &mut Packet, here: &Here<'_>| opened(packet.take_vec(here.fabric()));
        let fits = Fits::elements::<T>(self.buf.len());
        self.active = Some(comm.start_receive(call, fits, Box::new(finish))?);
        Ok(())
    }

    fn end(&mut self, arrived: Vec<T>) -> Result<()> {
        self.buf[..arrived.len()].copy_from_slice(&arrived);
        Ok(())
    }
}

/// # Persistent messages
///
/// Messages that are described once and started any number of times; see [`Persistent`].
impl Comm {
    /// Describes a send of `buf` to rank `to`. Each start sends what the buffer holds then.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such rank. All other errors of [`isend`](Self::isend) come
    /// from starting it, and from waiting for it.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(3).run(|comm| {
    ///     let (me, p) = (comm.rank(), comm.size());
    ///     let mut sent = comm.send_init((me + 1) % p, 0, vec![0])?;
    ///     let mut received = comm.recv_init((me + p - 1) % p, 0, vec![0])?;
    ///     for turn in 0..5 {
    ///         sent.input_mut()?[0] = turn + me;
    ///         received.start()?;
    ///         sent.start()?;
    ///         sent.wait()?;
    ///         received.wait()?;
    ///         assert_eq!(received.output()?, [turn + (me + p - 1) % p]);
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Send_init")]
    #[track_caller]
    pub fn send_init<T: Element>(
        &self,
        to: Rank,
        tag: u32,
        buf: Vec<T>,
    ) -> Result<Persistent<'_, T>> {
        self.sending(to, tag, buf, false)
    }

    /// Describes a synchronous send of `buf` to rank `to`; see [`issend`](Self::issend).
    ///
    /// # Errors
    ///
    /// As [`send_init`](Self::send_init).
    #[doc(alias = "MPI_Ssend_init")]
    #[track_caller]
    pub fn ssend_init<T: Element>(
        &self,
        to: Rank,
        tag: u32,
        buf: Vec<T>,
    ) -> Result<Persistent<'_, T>> {
        self.sending(to, tag, buf, true)
    }

    #[track_caller]
    fn sending<T: Element>(
        &self,
        to: Rank,
        tag: u32,
        buf: Vec<T>,
        waits: bool,
    ) -> Result<Persistent<'_, T>> {
        let site = Location::caller();
        let show = || format!("send_init(to {to}, tag {tag})");
        self.op(site, &show, || self.check_rank("the receiver", to))?;
        let active = None;
        let sending = Sending {
            to,
            tag,
            buf,
            waits,
            active,
        };
        Ok(Persistent::new(self, What::Send(sending), site))
    }

    /// Describes a receive from `from` into the first elements of `buf`.
    ///
    /// # Cost
    ///
    /// A message is received as [`irecv`](Self::irecv) does and then copied into the buffer:
    /// [`recv_into`](Self::recv_into) copies it once.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such rank. All other errors of [`irecv`](Self::irecv) come
    /// from starting it, and from waiting for it; [`TooShort`](crate::ErrorKind::TooShort) if the buffer is too short.
    #[doc(alias = "MPI_Recv_init")]
    #[track_caller]
    pub fn recv_init<T: Element>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
        buf: Vec<T>,
    ) -> Result<Persistent<'_, T>> {
        let call = receive("recv_init", from.into(), tag.into(), None);
        self.op(call.site, &|| call.to_string(), || self.check_source(&call))?;
        let receiving = Receiving {
            from: call.from,
            tag: call.tag,
            buf,
            active: None,
        };
        Ok(Persistent::new(self, What::Receive(receiving), call.site))
    }
}
