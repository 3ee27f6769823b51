//! A started collective: its rank's part of a schedule, as a value that stops wherever a message has not arrived and
//! goes on when it has.
//!
//! - *Sends* are posted when their step is reached: short ones as copies, long ones as loans of what the call owns. A
//!   rank waits only for a receiver that is reading a loan just then, and no lane is used.
//! - *Receives* are posted when their step is reached, and folded in the order of their steps, so that the result has the
//!   same bits in every run.
//! - A step does not wait for the receives of earlier steps unless it touches elements that they will write. So all
//!   messages of a one-round schedule leave when the call is started.

use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::mem;
use std::rc::Rc;
use std::sync::Arc;

use super::halves;
use super::owned_buffers::{OwnOperands, OwnedBuffers};
use super::posted::{Posted, Queue};
use crate::Rank;
use crate::engine::combine::wrong;
use crate::engine::failure::Received;
use crate::engine::resolved::Steps;
use crate::engine::workspace::Rooms;
use crate::error::{Cause, Error, ErrorKind, Gone, Result};
use crate::moves;
use crate::names::Collective;
use crate::op::elements::{Elements, ElementsMut, Info};
use crate::op::folds::Folds;
use crate::op::owned::Owned;
use crate::schedule::{Combine, Region, Step, Transfer};
use crate::transport::communicator::call::{Call, Verb};
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::matching::posted_receives::Slot;
use crate::transport::matching::want::Want;
use crate::transport::memory::head::{Head, OF_STARTED};
use crate::transport::memory::packet::Packet;
use crate::transport::port::Port;
use crate::transport::progress::started::StartedCall;
use crate::transport::{CommHandle, CommShared};

/// Maximum number of receives of a call that are posted at a time.
const WINDOW: usize = 64;

/// One rank's part of a started collective.
pub(crate) struct Started {
    call: Call,
    info: &'static Info,
    is_barrier: bool,
    comm: CommHandle,
    /// This rank's number in the communicator.
    me: Rank,
    number: Cell<u32>,
    print: Cell<u32>,
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
        Rc::new(Started {
            call: *call,
            info,
            is_barrier: call.verb == Verb::Started(Collective::Barrier),
            comm: comm.clone(),
            me,
            number: Cell::new(0),
            print: Cell::new(0),
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
            .set(first.map(|first| self.world(first.recv.peer)));
        done
    }

    fn world(&self, member: Rank) -> Rank {
        self.comm.members.world(member)
    }

    fn head(&self, source: Rank) -> Head {
        let context = self.comm.context + OF_STARTED;
        Head::new(context, source, self.number.get(), self.print.get())
    }

    /// Posts the receive of a message.
    fn post(&self, port: &Port, from: Rank) -> Rc<Slot> {
        let context = self.comm.context + OF_STARTED;
        let want = Want::new(context, Some(self.world(from)), Some(self.number.get()));
        port.inbox().post(want, &*port.fabric)
    }

    fn check_peer(&self, peer: Rank) -> Result<()> {
        match peer < self.comm.members.size() && peer != self.me {
            true => Ok(()),
            false => Err(wrong(format!("has rank {} talk to {peer}", self.me))),
        }
    }

    /// Checks that a packet is of this call, and has `count` elements of its type.
    fn check_packet(&self, port: &Port, packet: &Packet, count: usize) -> Result<()> {
        if packet.head.print() != self.print.get() || !packet.holds_elements(self.info) {
            return Err(self.strange(port, packet));
        }
        match packet.count() == Some(count) {
            true => Ok(()),
            false => {
                self.ask_far(port);
                Err(self.received(port).unequal(packet, count))
            }
        }
    }

    /// Asks other processes for the records of their ranks, if members are there.
    fn ask_far(&self, port: &Port) {
        if self.comm.spans() {
            port.ask_far();
        }
    }

    fn received<'a>(&'a self, port: &'a Port) -> Received<'a> {
        Received {
            port,
            comm: &self.comm,
            call: &self.call,
            number: self.number.get(),
        }
    }

    /// The mismatch proved by a packet of another call.
    fn strange(&self, port: &Port, packet: &Packet) -> Error {
        self.ask_far(port);
        let theirs = || format!("another call that sends {}", packet.contents());
        let against = || self.received(port).against(packet.source(), "", theirs());
        let compared = self.received(port).differing(false);
        let found = compared.map_or_else(against, |found| found.mismatch);
        Error::new(ErrorKind::Mismatch(Arc::new(found)))
    }

    /// The error for a rank that has ended. One that returned is missed if its calls differ from this rank's; then
    /// these are the error.
    fn without(&self, port: &Port, error: Error) -> Error {
        let returned =
            matches!(error.kind(), ErrorKind::RankGone { why, .. } if *why == Gone::Returned);
        if returned {
            self.ask_far(port);
        }
        let compared = returned.then(|| self.received(port).differing(true));
        match compared.flatten().filter(|found| !found.is_open) {
            Some(found) => Error::new(ErrorKind::Mismatch(Arc::new(found.mismatch))),
            None => error,
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
    fn lost(&self, port: &Port) -> Option<Error> {
        if let Some(cause) = self.comm.cause.get() {
            return Some(cause.clone().into());
        }
        let lost = port.lost(&Needs::One(self.awaited.get()?))?;
        // What it sent before it ended may have arrived since the last look.
        port.inbox().take_in(&*port.fabric);
        (!self.has_arrived()).then(|| self.without(port, lost))
    }

    /// Why the communicator was broken before this call failed, if it was: then that is why.
    fn first_cause(&self, error: Error) -> Error {
        let cause = self.comm.cause.get();
        cause.map_or(error, |cause| cause.clone().into())
    }
}

impl StartedCall for Started {
    fn is_due(&self, port: &Port) -> bool {
        if self.over.get() {
            return false;
        }
        let awaited = self.awaited.get();
        self.has_arrived()
            || self.comm.cause.get().is_some()
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
        let went = self.go_on(port, &mut part);
        mem::forget(unwinding);
        drop(part);
        let result = went.and_then(|complete| match complete {
            true => Ok(true),
            false => self.lost(port).map_or(Ok(false), Err),
        });
        match result {
            Ok(complete) => self.over.set(complete),
            Err(error) => self.fail(port, &self.first_cause(error)),
        }
    }

    fn fail(&self, port: &Port, error: &Error) {
        if self.over.replace(true) {
            return;
        }
        port.fabric.break_comm(&self.comm, error, port.me);
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
        self.number.set(number);
        self.print.set(print);
        self.over.set(false);
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
        &self.call
    }

    fn id(&self) -> (&Arc<CommShared>, u32) {
        (&self.comm, self.number.get())
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
            self.call.check_peer(recv.peer)?;
            let slot = self.call.post(self.port, recv.peer);
            self.posted.push(recv, step.combine, slot);
        }
        Ok(())
    }

    /// Sends the message of a step.
    fn send(&mut self, (at, step): (usize, &Step), send: Transfer) -> Result<()> {
        let (call, port) = (self.call, self.port);
        call.check_peer(send.peer)?;
        let to = call.world(send.peer);
        let (head, bytes) = (
            call.head(port.me),
            send.region.elements().saturating_mul(call.info.size()),
        );
        let there = if self.stored.take_if(|stored| *stored == at).is_some() {
            port.send_stored(to, head, (call.info, bytes))
        } else {
            let comes_back = Port::is_long(bytes) && self.comes_back(at, step);
            self.buffers
                .send(port, (step, comes_back), send.region, (to, head))?
        };
        match there {
            true => Ok(()),
            false => Err(call.without(port, port.fabric.gone(to))),
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
        let mut others = self.posted.iter().map(|posted| posted.recv.region);
        halves::goes_back(recv, combine, next) && !others.any(|other| other.overlaps(&recv.region))
    }

    /// Folds the message of the first posted receive, which has arrived.
    fn fold_first(&mut self, next: Option<usize>, folds: &dyn Folds) -> Result<()> {
        let Some(Posted {
            recv,
            combine,
            slot,
        }) = self.posted.pop()
        else {
            return Ok(());
        };
        let packet = slot.message();
        let count = recv.region.elements();
        let is_stored =
            packet.count() == Some(0) && self.buffers.take_result(self.port, recv.region);
        let sent = if is_stored { 0 } else { count };
        self.call.check_packet(self.port, &packet, sent)?;
        moves::note(recv.peer, self.call.me, 0..count);
        let folded = match is_stored {
            true => Ok(()),
            false => self.fold(&packet, (recv, combine), next, folds),
        };
        self.port.recorder.received(packet.head);
        drop(packet);
        self.port.inbox().recycle(slot);
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
