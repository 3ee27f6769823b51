//! The operations that a scope has begun, and how it ends them.
//!
//! A window of many short messages costs little more than their exchange: a send whose message is on its way is no
//! operation in progress, and the scope alone knows of a receive. A short message goes straight to the buffer of its
//! receive if it is the next one when the receive is posted, or when the scope looks for it. It becomes a packet again
//! if the receive is cancelled, if its handle is used in other ways than to be waited for, if a report or a trace shows
//! the scope's operations, and if the scope has to wait for an operation before it.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::slice;

use super::Comm;
use crate::engine::envelope::{Source, Tag, has_room, is_of_type};
use crate::engine::rank_state::Core;
use crate::engine::receive::{Receive, receive};
use crate::engine::request_state::{Direction, RequestState, show_all};
use crate::error::{Error, Result, Site};
use crate::op::elements::ElementsMut;
use crate::sort;
use crate::transport::matching::in_place::InPlace;
use crate::transport::matching::mailbox::Inbox;
use crate::transport::matching::posted_receives::Slot;
use crate::transport::memory::packet::Packet;

/// The operations of a scope, in the order in which they were started. Those that have not ended when it is dropped are
/// cancelled: the scope has failed, or unwinds.
pub(super) struct Operations<'env> {
    core: Rc<Core>,
    pub(super) all: Vec<Begun<'env>>,
    /// All before this one await no message that may go straight to its buffer.
    front: usize,
}

impl<'env> Operations<'env> {
    pub(super) fn new(core: &Rc<Core>) -> Operations<'env> {
        Operations {
            core: core.clone(),
            all: Vec::new(),
            front: 0,
        }
    }

    /// Posts a receive, whose messages `comm` gives, or takes its message at once.
    #[inline]
    pub(super) fn receive(&mut self, comm: &Comm, call: &Receive, buffer: Buffer<'env>) {
        let (want, port) = (comm.want(call), &comm.core.port);
        let mut inbox = port.inbox();
        if inbox.has_posted() {
            self.take_in_place(&mut inbox);
        }
        let Buffer(mut buf, store) = buffer;
        let taken = inbox.take_at_once(&want, &mut buf);
        let one = self.push();
        (one.from, one.tag, one.site) = (call.from, call.tag, Some(call.site));
        *one.land.get_mut() = Some(Land::Buffer(Buffer(buf, store)));
        match taken {
            Some(taken) => one.has_taken(taken),
            None => one.slot = inbox.post(want, &*port.fabric).into(),
        }
    }

    /// Adds an operation, to be described by the caller.
    ///
    /// It is written in place, word by word: moves of what was just written would stall.
    #[inline]
    fn push(&mut self) -> &mut Begun<'env> {
        let count = self.all.len();
        if count == self.all.capacity() {
            // More at once than `push` would: each time, all are moved.
            self.all.reserve(8 + 3 * count);
        }
        // Not by `push`, which would move it there.
        self.all.resize_with(count + 1, Begun::open);
        &mut self.all[count]
    }

    /// Adds an operation that has a request.
    pub(super) fn keep(&mut self, state: Rc<RequestState>, land: Option<Land<'env>>) {
        let one = self.push();
        one.state = state.into();
        one.land = RefCell::new(land);
    }

    /// Takes messages that have arrived, for the receives that were posted first.
    fn take_in_place(&mut self, inbox: &mut Inbox) {
        while let Some(one) = self.all.get(self.front)
            && (!one.awaits_message() || one.take_in_place(inbox))
        {
            self.front += 1;
        }
    }
}

/// How a scope ends its operations: each as soon as those before it are ready.
pub(super) struct Ending<'a, 'env> {
    begun: &'a Operations<'env>,
    /// All before this one have ended.
    next: Cell<usize>,
    /// Whether this one has failed.
    has_failed: Cell<bool>,
    error: Cell<Option<Error>>,
}

impl<'a, 'env> Ending<'a, 'env> {
    pub(super) fn new(begun: &'a Operations<'env>) -> Self {
        Ending {
            begun,
            next: Cell::new(0),
            has_failed: Cell::new(false),
            error: Cell::new(None),
        }
    }

    /// Ends operations as far as they are ready. Returns whether all have ended, or the next one has failed.
    pub(super) fn go_on(&self) -> bool {
        let core = &self.begun.core;
        while let Some(one) = self.begun.all.get(self.next.get()) {
            if !one.is_over() {
                if !one.is_ready() && !one.takes_in_place(core) {
                    return false;
                }
                if let Err(error) = one.conclude(core) {
                    self.error.set(Some(error));
                    self.has_failed.set(true);
                    return true;
                }
            }
            self.next.set(self.next.get() + 1);
        }
        true
    }

    /// Ends operations as far as they are ready, or else the one that must fail.
    pub(super) fn go_on_or_fail(&self) {
        if !self.go_on()
            && let Some(place) = self.first_to_fail()
        {
            self.next.set(place);
            self.go_on();
        }
    }

    /// Whether an operation must fail, whatever those before it wait for. Those that have not ended have requests.
    pub(super) fn must_fail(&self) -> bool {
        self.first_to_fail().is_some()
    }

    fn first_to_fail(&self) -> Option<usize> {
        let next = self.next.get();
        let place = self.begun.all[next..].iter().position(Begun::must_fail);
        place.map(|place| next + place)
    }

    /// The operation that has failed.
    pub(super) fn failed(&self) -> Option<&Begun<'env>> {
        let next = &self.begun.all.get(self.next.get())?;
        self.has_failed.get().then_some(next)
    }

    pub(super) fn result(&self) -> Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }
}

impl Drop for Operations<'_> {
    fn drop(&mut self) {
        if self.all.iter().any(|one| !one.is_over()) {
            self.close();
        }
        self.all.iter_mut().for_each(|one| one.leave(&self.core));
    }
}

impl Operations<'_> {
    /// Closes the receives that are open, before the messages of the others go back in the order in which they came: a
    /// receive that outlives the scope must not get one before an earlier one.
    #[cold]
    fn close(&mut self) {
        self.all.iter_mut().for_each(|one| one.close(&self.core));
        sort::by_numbers(&mut self.all, |one| [one.arrival() as usize]);
    }
}

/// One operation of a scope.
pub(super) struct Begun<'env> {
    from: Source,
    tag: Tag,
    /// The line of a receive.
    site: Option<Site>,
    /// The slot of a receive, once it has needed one.
    slot: OnceCell<Rc<Slot>>,
    /// The request; of a receive only once one is needed.
    state: OnceCell<Rc<RequestState>>,
    stage: Cell<Stage>,
    /// The message in the buffer.
    in_place: Cell<InPlace>,
    /// Where its result goes, until it is there; `None` for a send.
    land: RefCell<Option<Land<'env>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    /// Its message is in its buffer.
    InPlace,
    /// The scope has ended it.
    Over,
}

/// Where a result goes.
pub(super) enum Land<'env> {
    Buffer(Buffer<'env>),
    /// That of a collective.
    Collective(Rc<dyn Lands + 'env>),
}

/// The borrowed buffer of a receive, and what stores a message there.
pub(super) struct Buffer<'env>(pub(super) ElementsMut<'env>, pub(super) Store);

/// What stores a message in a buffer of some type.
type Store = fn(ElementsMut<'_>, &Packet, &Core) -> Result<()>;

/// What stores the result of a collective in the buffer that it has borrowed.
pub(super) trait Lands {
    fn land(&self, core: &Core, state: &RequestState) -> Result<()>;
}

impl<'env> Begun<'env> {
    /// One that is yet to be described.
    #[inline]
    fn open() -> Self {
        Begun {
            from: Source::Any,
            tag: Tag::Any,
            site: None,
            slot: OnceCell::new(),
            state: OnceCell::new(),
            stage: Cell::new(Stage::Open),
            in_place: Cell::new(InPlace::default()),
            land: RefCell::new(None),
        }
    }

    /// Its request, which is made if there is none yet.
    pub(super) fn state(&self, comm: &Comm) -> &Rc<RequestState> {
        self.state.get_or_init(|| {
            let call = self.call();
            let slot = self.slot.get_or_init(|| {
                let want = comm.want(&call);
                comm.core.port.inbox().closed_slot(&want)
            });
            if self.is_in_place() {
                slot.put(self.packet(), self.in_place.get().arrival);
                self.stage.set(Stage::Open);
            }
            let slot = slot.clone();
            let direction = Direction::Receive { call, slot };
            comm.core.renewed(direction, &comm.handle, call.site)
        })
    }

    /// The call of a receive.
    pub(super) fn call(&self) -> Receive {
        let site = self.site.expect("a receive has a line");
        call_of(self.from, self.tag, site)
    }

    /// Its call and its line, for the text of an error.
    pub(super) fn show(&self) -> String {
        match self.state.get() {
            Some(state) => show_all(slice::from_ref(state)),
            None => format!("{} of line {}", self.call(), self.call().site.line()),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.stage.get() == Stage::Over || self.state.get().is_some_and(|state| state.over.get())
    }

    fn is_ready(&self) -> bool {
        match (self.state.get(), self.slot.get()) {
            _ if self.is_in_place() => true,
            (None, Some(slot)) => slot.is_filled(),
            (state, _) => state.is_some_and(|state| state.is_ready()),
        }
    }

    /// Whether it is ready, and what has come is no result. It has a request, unless it has ended.
    fn must_fail(&self) -> bool {
        let open = self.state.get().filter(|_| !self.is_over());
        let Some(state) = open.filter(|state| state.is_ready()) else {
            return false;
        };
        match (&state.direction, &*self.land.borrow()) {
            (Direction::Receive { slot, .. }, Some(Land::Buffer(Buffer(buf, _)))) => {
                !fits(&slot.message(), buf)
            }
            (Direction::Collective(started, _), _) => started.outcome().is_err(),
            _ => false,
        }
    }

    /// Whether a message may go straight to its buffer.
    fn awaits_message(&self) -> bool {
        let has_slot = || self.slot.get().is_some_and(|slot| !slot.is_filled());
        self.stage.get() == Stage::Open && self.state.get().is_none() && has_slot()
    }

    fn takes_in_place(&self, core: &Core) -> bool {
        self.awaits_message() && self.take_in_place(&mut core.port.inbox())
    }

    /// Takes its message if that is the next one. It awaits one.
    fn take_in_place(&self, inbox: &mut Inbox) -> bool {
        let Some(Land::Buffer(Buffer(buf, _))) = &mut *self.land.borrow_mut() else {
            return false;
        };
        let slot = self.slot.get();
        let taken = slot.and_then(|slot| inbox.take_in_place(slot, buf));
        taken.map(|taken| self.has_taken(taken)).is_some()
    }

    /// The buffer that it has borrowed, once.
    pub(super) fn take_buffer(&self) -> Option<ElementsMut<'env>> {
        match self.land.take()? {
            Land::Buffer(Buffer(buf, _)) => Some(buf),
            Land::Collective(_) => None,
        }
    }

    /// The length of the buffer of a receive.
    pub(super) fn room(&self) -> usize {
        match &*self.land.borrow() {
            Some(Land::Buffer(Buffer(buf, _))) => buf.len(),
            _ => 0,
        }
    }

    /// Whether its message is in its buffer, and it has not ended.
    pub(super) fn is_in_place(&self) -> bool {
        self.stage.get() == Stage::InPlace
    }

    #[inline]
    fn has_taken(&self, taken: InPlace) {
        self.in_place.set(taken);
        self.stage.set(Stage::InPlace);
    }

    /// Ends it if its message is in its buffer, and returns what is known of that.
    pub(super) fn end_in_place(&self) -> Option<InPlace> {
        self.is_in_place().then(|| {
            self.stage.set(Stage::Over);
            self.in_place.get()
        })
    }

    /// The message in its buffer, as it came.
    fn packet(&self) -> Packet {
        let InPlace { head, count, .. } = self.in_place.get();
        let land = self.land.borrow();
        let data = match &*land {
            Some(Land::Buffer(Buffer(buf, _))) => buf.shared().get(0..count),
            _ => None,
        };
        let data = data.expect("a message is in the buffer of its receive");
        match Packet::fits(data) {
            true => Packet::eager(head, data),
            false => Packet::copy_of(head, data),
        }
    }

    /// Ends one that is ready and that was not waited for.
    fn conclude(&self, core: &Core) -> Result<()> {
        if let Some(InPlace { head, .. }) = self.end_in_place() {
            core.port.recorder.received(head);
            return Ok(());
        }
        let state = self.state.get();
        state.inspect(|state| core.close(state));
        self.stage.set(Stage::Over);
        match (self.land.take(), self.slot.get(), state) {
            (Some(Land::Buffer(buffer)), Some(slot), _) => self.receive(core, slot, buffer),
            (Some(Land::Collective(landing)), _, Some(state)) => landing.land(core, state),
            _ => Ok(()),
        }
    }

    fn receive(&self, core: &Core, slot: &Slot, Buffer(buf, store): Buffer<'_>) -> Result<()> {
        let stored = store(buf, &slot.message(), core);
        let port = &core.port;
        match &stored {
            Ok(()) => port.recorder.received(slot.empty()),
            Err(_) => {
                let (packet, arrival) = slot.take();
                port.inbox().give_back(packet, arrival, &*port.fabric);
            }
        }
        stored
    }

    /// Cancels it if its message has not come.
    fn close(&mut self, core: &Core) {
        if !self.is_over() && !self.is_ready() {
            self.leave_slot(core);
            self.stage.set(Stage::Over);
        }
    }

    /// The place of its message in the order of arrival.
    fn arrival(&self) -> u64 {
        match self.is_in_place() {
            true => self.in_place.get().arrival,
            false => self.slot.get().map_or(0, |slot| slot.arrival()),
        }
    }

    /// Cancels it, if it has not ended by now.
    #[inline]
    fn leave(&mut self, core: &Core) {
        let is_plain = self.slot.get().is_none() && self.state.get().is_none();
        if !(is_plain && self.stage.get() == Stage::Over) {
            self.leave_slot(core);
        }
    }

    fn leave_slot(&mut self, core: &Core) {
        let port = &core.port;
        if self.is_in_place() {
            let (packet, arrival) = (self.packet(), self.in_place.get().arrival);
            self.stage.set(Stage::Over);
            port.inbox().give_back(packet, arrival, &*port.fabric);
        }
        match (self.state.get(), self.slot.take()) {
            (None, Some(slot)) if self.is_over() => port.inbox().recycle(slot),
            _ if self.is_over() => {}
            (Some(state), _) => _ = core.revoke(state),
            (None, Some(slot)) => port.inbox().unpost(&slot, &*port.fabric),
            (None, None) => {}
        }
    }
}

/// The call of a receive.
pub(super) fn call_of(from: Source, tag: Tag, site: Site) -> Receive {
    Receive {
        site,
        ..receive("irecv_into", from, tag, None)
    }
}

/// Whether a message can be stored in a buffer.
fn fits(packet: &Packet, buf: &ElementsMut<'_>) -> bool {
    let is_of_type = is_of_type(packet, buf.info());
    is_of_type
        .and_then(|()| has_room(packet, buf.len()))
        .is_ok()
}
