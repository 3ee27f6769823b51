//! [`Request`]: a nonblocking operation, which is started now and completed later.
//!
//! A request owns its buffers, or borrows them within a scope; no other thread touches them. A message that has been
//! sent is independent of its request, and a message to be received goes to a slot of this rank's inbox. So a request
//! may be dropped or forgotten at any time without leaving a dangling reference.

use std::cell::Cell;
use std::fmt;
use std::mem;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use super::receive::Receive;
use super::{Comm, Core};
use crate::Rank;
use crate::error::{Error, ErrorKind, Result, Site};
use crate::transport::deadlock::choice::Sought;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::matching::posted_receives::Slot;
use crate::transport::memory::packet::Packet;
use crate::transport::memory::receipt::Receipt;
use crate::transport::progress::wait::Reason;
use crate::transport::{CommShared, Unfinished};

/// A pending operation, as shared by the request, its scope and its rank.
pub(super) struct Asked {
    pub way: Way,
    /// The communicator on which it was started.
    comm: Arc<CommShared>,
    pub site: Site,
    /// Whether the operation has ended, in any way.
    pub over: Cell<bool>,
}

/// A request's direction.
pub(super) enum Way {
    /// A message that has been posted; with a receipt if the sender must wait until it is received.
    Send {
        verb: &'static str,
        to: Rank,
        tag: u32,
        receipt: Option<Arc<Receipt>>,
    },
    /// A posted receive.
    Receive { call: Receive, slot: Rc<Slot> },
}

impl Asked {
    /// Whether it can be concluded.
    pub(super) fn is_ready(&self) -> bool {
        match &self.way {
            Way::Send { receipt, .. } => receipt.as_ref().is_none_or(|it| it.is_accepted()),
            Way::Receive { slot, .. } => slot.is_filled(),
        }
    }

    fn needs(&self) -> Needs {
        match &self.way {
            Way::Send { to, .. } => Needs::One(self.comm.members.world(*to)),
            Way::Receive { call, .. } => call.needs(&self.comm.members),
        }
    }

    /// Whether its communicator has been revoked.
    pub(super) fn is_revoked(&self) -> bool {
        self.comm.revoked.get().is_some()
    }

    fn is_send(&self) -> bool {
        matches!(self.way, Way::Send { .. })
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.way {
            Way::Send { verb, to, tag, .. } => write!(f, "{verb}(to {to}, tag {tag})"),
            Way::Receive { call, .. } => call.fmt(f),
        }
    }
}

/// Lists requests for the text of an error: the first few, and how many more there are.
pub(super) fn show_all(asked: &[Rc<Asked>]) -> String {
    const SHOWN: usize = 4;
    let line = |one: &Rc<Asked>| format!("{one} of line {}", one.site.line());
    let first: Vec<_> = asked.iter().take(SHOWN).map(line).collect();
    match asked.len().saturating_sub(SHOWN) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Whether a wait is for all of several requests or for one of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    All,
    One,
}

impl Core {
    /// Records a request until it ends.
    pub(super) fn ask(&self, way: Way, comm: &Arc<CommShared>, site: Site) -> Rc<Asked> {
        let asked = Rc::new(Asked {
            way,
            comm: comm.clone(),
            site,
            over: Cell::new(false),
        });
        self.asked.borrow_mut().push(asked.clone());
        asked
    }

    /// Marks a request as ended.
    pub(super) fn close(&self, asked: &Rc<Asked>) {
        asked.over.set(true);
        let mut all = self.asked.borrow_mut();
        if let Some(place) = all.iter().rposition(|other| Rc::ptr_eq(other, asked)) {
            all.swap_remove(place);
        }
    }

    /// Ends a request without its result: cancels a receive, and retracts a send if that is still possible. Returns
    /// whether that succeeded.
    pub(super) fn revoke(&self, asked: &Rc<Asked>) -> bool {
        self.close(asked);
        match &asked.way {
            Way::Send { receipt, .. } => receipt.as_ref().is_some_and(|receipt| receipt.revoke()),
            Way::Receive { slot, .. } => {
                self.port.inbox().unpost(slot, &*self.port.fabric);
                true
            }
        }
    }

    /// Ends a request that will not be waited for: a sent message is still delivered, a receive is cancelled.
    fn abandon(&self, asked: &Rc<Asked>) {
        if !thread::panicking() {
            self.note_unfinished(asked);
        }
        match &asked.way {
            Way::Send { .. } => self.close(asked),
            Way::Receive { .. } => _ = self.revoke(asked),
        }
    }

    fn note_unfinished(&self, asked: &Asked) {
        self.port.fabric.unfinished.lock().push(Unfinished {
            rank: self.port.me,
            call: asked.to_string(),
            site: asked.site,
            comm: asked.comm.name(),
        });
    }

    /// Counts requests that are still open when the rank ends: these were forgotten.
    pub(super) fn count_forgotten(&self) {
        let forgotten = mem::take(&mut *self.asked.borrow_mut());
        if !thread::panicking() {
            forgotten
                .iter()
                .for_each(|asked| self.note_unfinished(asked));
        }
    }

    /// Waits until one or all of some requests are ready.
    pub(super) fn await_ready(
        &self,
        asked: &[Rc<Asked>],
        until: Until,
        call: &dyn Fn() -> String,
        site: Site,
    ) -> Result<()> {
        let ready = || self.are_ready(asked, until).then_some(());
        if ready().is_some() {
            return Ok(());
        }
        self.wait_for(asked, until, call, site, None, ready)
    }

    /// Waits until one of some requests is ready, and returns its index.
    pub(super) fn await_one(
        &self,
        asked: &[Rc<Asked>],
        call: &dyn Fn() -> String,
        site: Site,
    ) -> Result<usize> {
        if !self.port.is_controlled() {
            self.await_ready(asked, Until::One, call, site)?;
            return Ok(asked.iter().position(|one| one.is_ready()).unwrap_or(0));
        }
        self.wait_for(asked, Until::One, call, site, None, || {
            let place = self.port.chosen(None).map(|queue| queue.source);
            self.port.take_in();
            place
        })
    }

    /// Waits for requests until `look` finds what it looks for.
    fn wait_for<A>(
        &self,
        asked: &[Rc<Asked>],
        until: Until,
        call: &dyn Fn() -> String,
        site: Site,
        deadline: Option<Instant>,
        look: impl FnMut() -> Option<A>,
    ) -> Result<A> {
        let open = || asked.iter().filter(|one| !one.is_ready());
        let comms = comms(open());
        let reason = Reason {
            call,
            site,
            needs: &|| needs(open().map(|one| one.needs()).collect(), until),
            comm: comms.first(),
            also: comms.get(1..).unwrap_or_default(),
            collective: None,
            turn: None,
            deadline,
            needs_buffer: open().any(|one| one.is_send()),
            choice: Some(&|| sought(asked, until)),
        };
        self.port.wait(&reason, look)
    }

    /// Whether a request is ready once no other rank can proceed.
    fn is_ready_at_last(&self, asked: &Rc<Asked>) -> Result<bool> {
        let one = std::slice::from_ref(asked);
        let ready = || self.are_ready(one, Until::All).then_some(());
        let show = || format!("test of {asked}");
        let now = Some(Instant::now());
        match self.wait_for(one, Until::All, &show, asked.site, now, ready) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn are_ready(&self, asked: &[Rc<Asked>], until: Until) -> bool {
        self.port.take_in();
        match until {
            Until::All => asked.iter().all(|one| one.is_ready()),
            Until::One => asked.iter().any(|one| one.is_ready()),
        }
    }

    /// Whether a request is ready now; an error if it never can be.
    fn try_ready(&self, asked: &Rc<Asked>) -> Result<bool> {
        if self.port.is_controlled() {
            return self.is_ready_at_last(asked);
        }
        self.port.take_in();
        if asked.is_ready() {
            return Ok(true);
        }
        if let Some(cause) = asked.comm.revoked.get() {
            return Err(cause.clone().into());
        }
        let Some(error) = self.port.lost(&asked.needs()) else {
            self.port.give_turn();
            return Ok(false);
        };
        // A rank that has ended did everything before that.
        self.port.take_in();
        if asked.is_ready() {
            Ok(true)
        } else {
            Err(error)
        }
    }
}

/// The communicators of some requests, without duplicates.
fn comms<'a>(asked: impl Iterator<Item = &'a Rc<Asked>>) -> Vec<Arc<CommShared>> {
    let mut comms: Vec<Arc<CommShared>> = Vec::new();
    for one in asked {
        if !comms.iter().any(|comm| Arc::ptr_eq(comm, &one.comm)) {
            comms.push(one.comm.clone());
        }
    }
    comms
}

/// What a wait for requests looks for, where a scheduler chooses which message arrives first.
fn sought(asked: &[Rc<Asked>], until: Until) -> Sought {
    let slots = asked.iter().filter_map(|one| match &one.way {
        Way::Receive { slot, .. } if !slot.is_filled() => Some(slot.want()),
        _ => None,
    });
    let one_of = until == Until::One;
    let ready = (0..asked.len()).filter(|&place| one_of && asked[place].is_ready());
    Sought {
        wants: slots.collect(),
        ready: ready.collect(),
        one_of,
    }
}

fn needs(mut arms: Vec<Needs>, until: Until) -> Needs {
    match (arms.len(), until) {
        (1, _) => arms.remove(0),
        (_, Until::All) => Needs::Every(arms),
        (_, Until::One) => Needs::Either(arms),
    }
}

/// Makes a request's result from its message, or from an empty packet for a send.
pub(super) type Finish<'c, R> = Box<dyn FnOnce(&mut Packet) -> Result<R> + 'c>;

/// An operation in progress, started by [`isend`](Comm::isend), [`irecv`](Comm::irecv) and their variants.
///
/// [`wait`](Self::wait) completes it and returns its result. There is no progress thread: messages are matched inside
/// the rank's calls, whichever they are, so a request makes progress without the call that waits for it.
///
/// A request that is *dropped* is detached: its send is still delivered, and the message that it would receive is left
/// to other receives. A request that is *forgotten* goes on, and what it owns is leaked. Either way the report lists it
/// as [unfinished](crate::Report::unfinished).
///
/// A request stays with its rank and its communicator:
///
/// ```compile_fail,E0277
/// rankfold::World::new(2).run(|comm| {
///     let request = comm.irecv::<u8>(0, 1)?;
///     std::thread::scope(|s| s.spawn(|| request.wait())); // another thread is not this rank
///     Ok(())
/// });
/// ```
/// ```compile_fail,E0597
/// let seats = rankfold::World::connect(1);
/// let request = {
///     let comm = seats.take(0).unwrap().enter();
///     comm.irecv::<u8>(0, 1).unwrap() // the communicator is dropped here
/// };
/// request.wait();
/// ```
#[must_use = "a request is waited for, or cancelled"]
pub struct Request<'c, R> {
    comm: &'c Comm,
    asked: Rc<Asked>,
    /// `None` once the result has been returned.
    finish: Option<Finish<'c, R>>,
    /// Whether a scope completes it.
    scoped: bool,
}

impl<R> fmt::Debug for Request<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.asked, self.asked.site)
    }
}

impl<'c, R> Request<'c, R> {
    pub(super) fn new(comm: &'c Comm, asked: Rc<Asked>, finish: Finish<'c, R>) -> Self {
        Request {
            comm,
            asked,
            finish: Some(finish),
            scoped: false,
        }
    }

    /// Marks the request as one that a scope completes.
    pub(super) fn scoped(mut self) -> Self {
        self.scoped = true;
        self
    }

    pub(super) fn asked(&self) -> &Rc<Asked> {
        &self.asked
    }

    /// Whether it can still be waited for.
    pub(super) fn is_open(&self) -> bool {
        self.finish.is_some() && !self.asked.over.get()
    }

    pub(super) fn check_open(&self) -> Result<()> {
        match self.is_open() {
            true => Ok(()),
            false => Err(Error::usage(format!(
                "{} of line {} is over: its result was given already",
                self.asked,
                self.asked.site.line()
            ))),
        }
    }

    /// Checks that `comm` belongs to the rank that made the request.
    pub(super) fn check_rank(&self, comm: &Comm) -> Result<()> {
        match Rc::ptr_eq(&self.comm.core, &comm.core) {
            true => Ok(()),
            false => Err(Error::usage(
                "a request is waited for by the rank that made it",
            )),
        }
    }

    /// Returns its result, once it is ready. A message that does not fit goes back to the front of its queue.
    pub(super) fn conclude(&mut self) -> Result<R> {
        self.check_open()?;
        let core = &self.comm.core;
        core.close(&self.asked);
        let Some(finish) = self.finish.take() else {
            return Err(Error::usage("the request is over"));
        };
        let Way::Receive { slot, .. } = &self.asked.way else {
            return finish(&mut Packet::empty());
        };
        let (mut packet, arrival) = slot.take();
        let head = packet.head;
        let result = finish(&mut packet);
        if result.is_ok() {
            core.port.recorder.received(head);
        } else {
            let mut inbox = core.port.inbox();
            inbox.give_back(packet, arrival, &*core.port.fabric);
        }
        result
    }

    /// Ends it without its result, after a failure. Returns whether the operation could be cancelled.
    pub(super) fn give_up(&mut self) -> bool {
        let open = self.is_open();
        self.finish = None;
        open && self.comm.core.revoke(&self.asked)
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
    #[track_caller]
    pub fn wait(mut self) -> Result<R> {
        let (comm, asked) = (self.comm, self.asked.clone());
        let show = || format!("wait for {}", show_all(std::slice::from_ref(&asked)));
        let site = Location::caller();
        comm.op(site, &show, || {
            self.check_open()?;
            let one = std::slice::from_ref(&asked);
            let waited = comm.core.await_ready(one, Until::All, &show, site);
            waited.inspect_err(|_| _ = self.give_up())?;
            self.conclude()
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
    #[track_caller]
    pub fn test(&mut self) -> Result<Option<R>> {
        let (comm, asked) = (self.comm, self.asked.clone());
        let show = || format!("test of {asked}");
        comm.op(Location::caller(), &show, || {
            self.check_open()?;
            match comm.core.try_ready(&asked) {
                Ok(true) => self.conclude().map(Some),
                Ok(false) => Ok(None),
                Err(error) => {
                    self.give_up();
                    Err(error)
                }
            }
        })
    }

    /// Returns whether [`wait`](Self::wait) would return at once, even if with an error.
    pub fn is_done(&self) -> bool {
        !self.is_open() || !matches!(self.comm.core.try_ready(&self.asked), Ok(false))
    }

    /// Ends the operation without its result. Returns whether it is as if it had never been started. For a receive this
    /// is always so: its message waits for the next receive that matches it. For a send it is so if the message found
    /// no [buffer](crate::World::buffering) and no rank has received it.
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
    #[track_caller]
    pub fn cancel(mut self) -> Result<bool> {
        let (comm, asked) = (self.comm, self.asked.clone());
        let show = || format!("cancel {asked}");
        comm.op(Location::caller(), &show, || Ok(self.give_up()))
    }
}

impl<R> Drop for Request<'_, R> {
    fn drop(&mut self) {
        if self.is_open() && !self.scoped {
            self.comm.core.abandon(&self.asked);
        }
    }
}
