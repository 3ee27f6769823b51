//! A started collective: its rank's part of a schedule, as a value that stops wherever a message has not arrived and
//! goes on when it has.
//!
//! - *Sends* are posted when their step is reached: short ones as copies, long ones as loans of what the call owns. A
//!   rank waits only for a receiver that is reading a loan just then, and no lane is used.
//! - *Receives* are posted when their step is reached, and folded in the order of their steps, so that the result has the
//!   same bits in every run.
//! - A step does not wait for the receives of earlier steps unless it touches elements that they will write. So all
//!   messages of a one-round schedule leave when the call is started.
//! - What is one [`Exchange`] of two ranks, whose message is copied, is begun and ended without steps.

use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::mem;
use std::rc::Rc;
use std::sync::Arc;

use super::halves;
use super::member::Member;
use super::owned_buffers::{OwnOperands, OwnedBuffers};
use super::posted::{Posted, Queue};
use crate::Rank;
use crate::engine::combine::wrong;
use crate::engine::exchange::Exchange;
use crate::engine::resolved::Steps;
use crate::engine::workspace::Rooms;
use crate::error::{Cause, Error, Result};
use crate::moves;
use crate::names::Collective;
use crate::op::elements::{Elements, ElementsMut, Info};
use crate::op::folds::{Folds, Operands};
use crate::op::owned::Owned;
use crate::schedule::{Combine, Region, Step, Transfer};
use crate::transport::communicator::call::{Call, Verb};
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::packet::Packet;
use crate::transport::port::{CopyTo, Port};
use crate::transport::progress::started::StartedCall;
use crate::transport::{CommHandle, CommShared};

/// Maximum number of receives of a call that are posted at a time.
const WINDOW: usize = 64;

/// One rank's part of a started collective.
pub(crate) struct Started {
    member: Member,
    is_barrier: bool,
    steps: Steps,
    /// Borrowed while it advances, as are the operands.
    part: RefCell<Progress>,
    operands: RefCell<OwnOperands>,
    /// The world source of the receive that is folded next, as of its last advance.
    awaited: Cell<Option<Rank>>,
    over: Cell<bool>,
    failed: OnceCell<Cause>,
}

/// How far the call is: what changes while it goes on.
struct Progress {
    rooms: Rooms,
    /// The next step that has not begun.
    next: Option<usize>,
    posted: Queue,
    /// The step whose message this rank has stored where it goes.
    stored: Option<usize>,
}

impl Started {
    /// The part of member `me` in a call, before it begins.
    pub(crate) fn new(
        call: &Call,
        comm: &CommHandle,
        me: Rank,
        steps: Steps,
        info: &'static Info,
    ) -> Rc<Started> {
        let part = Progress {
            rooms: Rooms::new(info),
            next: None,
            posted: Queue::default(),
            stored: None,
        };
        let member = Member {
            call: *call,
            info,
            comm: comm.clone(),
            me,
            number: Cell::new(0),
            print: Cell::new(0),
        };
        Rc::new(Started {
            member,
            is_barrier: call.verb == Verb::Started(Collective::Barrier),
            steps,
            part: RefCell::new(part),
            operands: RefCell::default(),
            awaited: Cell::new(None),
            over: Cell::new(false),
            failed: OnceCell::new(),
        })
    }

    /// Goes on until a message is missing. Returns whether the call is complete.
    fn go_on(&self, port: &Port, part: &mut Progress) -> Result<bool> {
        let Progress {
            rooms,
            next,
            posted,
            stored,
        } = part;
        let mut operands = self.operands.borrow_mut();
        let done = operands.turn(rooms, self.steps.scratch(), |buffers, folds| {
            let mut turn = Advance {
                call: self,
                port,
                buffers,
                posted: &mut *posted,
                stored,
            };
            turn.run(next, folds)
        });
        let Some(done) = done else {
            return Ok(true);
        };
        let first = posted.first.as_ref();
        self.awaited
            .set(first.map(|first| self.member.world(first.recv.peer)));
        done
    }

    /// Begins a call that is one exchange of vectors that are copied. Returns whether its receiver is there; `None` if it
    /// is to go on step by step, as nothing has happened.
    fn begin_exchange(&self, port: &Port, exchange: Exchange) -> Option<bool> {
        let (member, (recv, combine)) = (&self.member, exchange.received());
        member.check_peer(recv.peer).ok()?;
        let mut operands = self.operands.borrow_mut();
        let operands = operands.unlent()?;
        let (sent, to) = (exchange.sent(&operands)?, member.world(recv.peer));
        if port.lends_own(to, sent.size(), false) {
            return None;
        }
        let there = port.send_copy(to, member.head(port.me), sent, CopyTo::Kept);
        let slot = member.post(port, recv.peer);
        let mut part = self.part.borrow_mut();
        part.posted.push(&recv, combine, slot);
        part.next = None;
        self.awaited.set(Some(to));
        Some(there)
    }

    /// Ends a call that is one exchange, once its message has arrived. Returns whether the call is complete; `None` if it
    /// is to go on step by step.
    fn end_exchange(&self, port: &Port, part: &mut Progress) -> Option<Result<bool>> {
        let exchange = self.steps.exchange().filter(|_| part.next.is_none())?;
        let first = part.posted.first.as_ref()?;
        if !first.slot.is_filled() {
            return Some(Ok(false));
        }
        let mut operands = self.operands.borrow_mut();
        let mut operands = operands.unlent()?;
        let count = exchange.sent(&operands)?.len();
        let slot = first.slot.clone();
        let folded = self.fold_exchange(port, exchange, &slot.message(), (&mut operands, count));
        part.posted.drop_first();
        self.awaited.set(None);
        port.inbox().recycle(slot);
        Some(folded.map(|()| true))
    }

    #[inline]
    fn fold_exchange(
        &self,
        port: &Port,
        exchange: Exchange,
        packet: &Packet,
        (operands, count): (&mut Operands<'_>, usize),
    ) -> Result<()> {
        let (member, lenders) = (&self.member, &*port.fabric);
        member.check_packet(port, packet, count)?;
        moves::note(exchange.received().0.peer, member.me, 0..count);
        packet.open_elements(member.info, lenders, |theirs| {
            exchange.fold(operands, &theirs);
        });
        port.recorder.received(packet.head);
        Ok(())
    }

    /// Goes on with an exchange that has begun, whose receiver is there or is not.
    #[inline]
    fn goes_on(&self, port: &Port, there: bool) {
        if let (false, Some(to)) = (there, self.awaited.get()) {
            let gone = self.member.without(port, port.fabric.gone(to));
            self.fail(port, &self.member.first_cause(gone));
        } else if self.is_due(port) {
            self.advance(port);
        }
    }

    /// Whether the message that it awaits has arrived. `false` while it advances.
    fn has_arrived(&self) -> bool {
        let part = self.part.try_borrow();
        part.is_ok_and(|part| {
            let first = part.posted.first.as_ref();
            first.is_some_and(|first| first.slot.is_filled())
        })
    }

    /// Why the call cannot go on, if its next message will never arrive.
    #[inline]
    fn lost(&self, port: &Port) -> Option<Error> {
        if let Some(cause) = self.member.comm.cause.get() {
            return Some(cause.clone().into());
        }
        let awaited = self.awaited.get()?;
        if port.fabric.is_there(awaited) {
            return None;
        }
        let lost = port.lost(&Needs::One(awaited))?;
        // What it sent before it ended may have arrived since the last look.
        port.inbox().take_in(&*port.fabric);
        (!self.has_arrived()).then(|| self.member.without(port, lost))
    }
}

impl StartedCall for Started {
    fn is_due(&self, port: &Port) -> bool {
        if self.over.get() {
            return false;
        }
        let awaited = self.awaited.get();
        self.has_arrived()
            || self.member.comm.cause.get().is_some()
            || awaited.is_some_and(|source| !port.fabric.is_there(source))
    }

    fn advance(&self, port: &Port) {
        if self.over.get() {
            return;
        }
        let Ok(mut part) = self.part.try_borrow_mut() else {
            return;
        };
        let unwinding = Unwinding { call: self, port };
        let ended = self.end_exchange(port, &mut part);
        let went = ended.unwrap_or_else(|| self.go_on(port, &mut part));
        mem::forget(unwinding);
        drop(part);
        let result = went.and_then(|complete| match complete {
            true => Ok(true),
            false => self.lost(port).map_or(Ok(false), Err),
        });
        match result {
            Ok(complete) => self.over.set(complete),
            Err(error) => self.fail(port, &self.member.first_cause(error)),
        }
    }

    fn fail(&self, port: &Port, error: &Error) {
        if self.over.replace(true) {
            return;
        }
        port.fabric.break_comm(&self.member.comm, error, port.me);
        _ = self.failed.set(Cause::of(error, port.me));
        self.awaited.set(None);
        let part = self.part.borrow();
        let posted = part.posted.iter();
        posted.for_each(|posted| port.inbox().unpost(&posted.slot, &*port.fabric));
    }

    fn is_over(&self) -> bool {
        self.over.get()
    }

    fn outcome(&self) -> Result<()> {
        let failed = self.failed.get().cloned();
        failed.map_or(Ok(()), |cause| Err(cause.into()))
    }

    fn begin(&self, port: &Port, number: u32, print: u32) {
        self.member.number.set(number);
        self.member.print.set(print);
        self.over.set(false);
        let exchange = self.steps.exchange();
        if let Some(there) = exchange.and_then(|exchange| self.begin_exchange(port, exchange)) {
            return self.goes_on(port, there);
        }
        let mut part = self.part.borrow_mut();
        (part.next, part.stored) = (self.steps.next(None), None);
        drop(part);
        self.advance(port);
    }

    fn may_restart(&self) -> bool {
        self.over.get() && self.failed.get().is_none()
    }

    fn operands(&self, port: &Port) -> RefMut<'_, Option<Box<Owned>>> {
        RefMut::map(self.operands.borrow_mut(), |operands| operands.free(port))
    }

    fn call(&self) -> &Call {
        &self.member.call
    }

    fn id(&self) -> (&Arc<CommShared>, u32) {
        (&self.member.comm, self.member.number.get())
    }

    fn awaits(&self) -> Vec<Rank> {
        self.awaited.get().into_iter().collect()
    }
}

/// Ends a call whose operator unwinds through it: nothing can carry it on.
struct Unwinding<'a> {
    call: &'a Started,
    port: &'a Port,
}

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        let error = "an operator of this rank has panicked".into();
        let rank = self.port.me;
        _ = self.call.failed.set(Cause::Other { rank, error });
        self.call.over.set(true);
        self.call.awaited.set(None);
    }
}

/// One turn of a call: from one message that is missing to the next.
struct Advance<'t, 'b, 'o> {
    call: &'t Started,
    port: &'t Port,
    buffers: OwnedBuffers<'b, 'o>,
    posted: &'t mut Queue,
    stored: &'t mut Option<usize>,
}

impl Advance<'_, '_, '_> {
    fn run(&mut self, next: &mut Option<usize>, folds: &dyn Folds) -> Result<bool> {
        loop {
            let is_filled = |first: &Posted| first.slot.is_filled();
            while self.posted.first.as_ref().is_some_and(is_filled) {
                self.fold_first(*next, folds)?;
            }
            let Some(step) = *next else {
                return Ok(self.posted.is_empty());
            };
            let (steps, mut place) = (&self.call.steps, None);
            let now = steps.step(step, &mut place);
            if self.must_wait(now) {
                return Ok(false);
            }
            self.begin((step, now), folds)?;
            *next = steps.next(Some(step));
            if next.is_some_and(|later| later <= step) {
                return Err(wrong(format!("goes back after step {step}")));
            }
        }
    }

    /// Whether a step touches elements that are still to be written, or there are too many receives. In a barrier,
    /// which has no elements, a step means that the messages of the steps before it have arrived.
    fn must_wait(&self, step: &Step) -> bool {
        if self.posted.is_empty() {
            return false;
        }
        let local = step.local.iter().flat_map(|copy| [copy.from, copy.to]);
        let mut touched = local.chain(step.send.map(|send| send.region));
        let is_awaited = |region: Region| {
            let mut awaited = self.posted.iter().map(|posted| posted.recv.region);
            awaited.any(|awaited| awaited.overlaps(&region))
        };
        self.call.is_barrier || self.posted.len() >= WINDOW || touched.any(is_awaited)
    }

    /// Begins a step: copies, sends, and posts its receive.
    fn begin(&mut self, (at, step): (usize, &Step), folds: &dyn Folds) -> Result<()> {
        if let Some(copy) = step.local {
            self.buffers.copy(self.port, copy, folds)?;
        }
        if let Some(clash) = step.clash {
            return Err(wrong(format!("has two {clash} in one step")));
        }
        // The message leaves first: its receiver may be waiting for it.
        if let Some(send) = step.send {
            self.send((at, step), send)?;
        }
        if let Some(recv) = &step.recv {
            self.call.member.check_peer(recv.peer)?;
            let slot = self.call.member.post(self.port, recv.peer);
            self.posted.push(recv, step.combine, slot);
        }
        Ok(())
    }

    /// Sends the message of a step.
    fn send(&mut self, (at, step): (usize, &Step), send: Transfer) -> Result<()> {
        let (call, port) = (self.call, self.port);
        call.member.check_peer(send.peer)?;
        let to = call.member.world(send.peer);
        let (head, bytes) = (
            call.member.head(port.me),
            send.region
                .elements()
                .saturating_mul(call.member.info.size()),
        );
        let there = if self.stored.take_if(|stored| *stored == at).is_some() {
            port.send_stored(to, head, (call.member.info, bytes))
        } else {
            let comes_back = Port::is_long(bytes) && self.comes_back(at, step);
            self.buffers
                .send(port, (step, comes_back), send.region, (to, head))?
        };
        match there {
            true => Ok(()),
            false => Err(call.member.without(port, port.fabric.gone(to))),
        }
    }

    /// Whether what a step sends comes back in the next one.
    fn comes_back(&self, at: usize, step: &Step) -> bool {
        let (steps, mut place) = (&self.call.steps, None);
        let next = steps.next(Some(at));
        next.is_some_and(|next| halves::comes_back(step, steps.step(next, &mut place)))
    }

    /// Whether the result of a receive goes back in the step that is next.
    fn goes_back(&self, recv: Transfer, combine: Combine, next: usize) -> bool {
        let mut place = None;
        let next = self.call.steps.step(next, &mut place);
        let mut others = self.posted.rest.iter().map(|posted| posted.recv.region);
        halves::goes_back(recv, combine, next) && !others.any(|other| other.overlaps(&recv.region))
    }

    /// Folds the message of the first posted receive, which has arrived.
    fn fold_first(&mut self, next: Option<usize>, folds: &dyn Folds) -> Result<()> {
        let Some(first) = &self.posted.first else {
            return Ok(());
        };
        let (into, slot) = ((first.recv, first.combine), first.slot.clone());
        let folded = self.fold_message(&slot.message(), into, next, folds);
        self.posted.drop_first();
        self.port.inbox().recycle(slot);
        folded
    }

    #[inline]
    fn fold_message(
        &mut self,
        packet: &Packet,
        (recv, combine): (Transfer, Combine),
        next: Option<usize>,
        folds: &dyn Folds,
    ) -> Result<()> {
        let count = recv.region.elements();
        let is_stored =
            packet.count() == Some(0) && self.buffers.take_result(self.port, recv.region);
        let sent = if is_stored { 0 } else { count };
        self.call.member.check_packet(self.port, packet, sent)?;
        moves::note(recv.peer, self.call.member.me, 0..count);
        let folded = match is_stored {
            true => Ok(()),
            false => self.fold(packet, (recv, combine), next, folds),
        };
        self.port.recorder.received(packet.head);
        folded
    }

    /// Folds a message; if it is lent exclusively and its result goes back next, stores that there too.
    fn fold(
        &mut self,
        packet: &Packet,
        (recv, combine): (Transfer, Combine),
        next: Option<usize>,
        folds: &dyn Folds,
    ) -> Result<()> {
        // Before the message is claimed: its sender waits for no rank that waits in here.
        self.buffers.make_room(self.port, recv.region);
        let (info, lenders) = (self.buffers.info(), &*self.port.fabric);
        let into = (recv.region, combine);
        let back = next
            .filter(|&next| packet.is_lent_exclusively() && self.goes_back(recv, combine, next));
        if let Some(back) = back {
            let fold = |theirs: ElementsMut<'_>| self.buffers.fold_both(into, theirs, folds);
            if let Some(folded) = packet.open_exclusive(info, lenders, fold) {
                *self.stored = Some(back);
                return folded;
            }
        }
        let fold = |data: Elements<'_>| self.buffers.fold_in(self.port, into, data, folds);
        let folded = packet.open_elements(info, lenders, fold);
        folded.unwrap_or(Ok(()))
    }
}
