//! A rank's access to the transport: its inbox and its counters. `send` posts and lends, `standing` lends for the time
//! of a scope, `own_loan` what a started call owns; the wait loop is
//! [`progress`](super::progress).

mod own_loan;
mod send;
mod standing;

pub(crate) use own_loan::OwnLoan;
pub(crate) use send::CopyTo;
pub(crate) use standing::Loans;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::thread::yield_now;

use crate::Rank;
use crate::error::{Cause, Error, Gone, Result};
use crate::op::copies::Copies;
use crate::sync::{Ordering, Parker};
use crate::transport::communicator::call_log::CallLog;
use crate::transport::deadlock::choice::{Eligible, Pick, Sought};
use crate::transport::deadlock::past::SyncPoint;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::matching::mailbox::Inbox;
use crate::transport::matching::receive_buffer::{Arrived, ReceiveBuffer};
use crate::transport::matching::want::Want;
use crate::transport::memory::fast_box::Out;
use crate::transport::memory::packet::Packet;
use crate::transport::memory::shared_copies::SharedCopies;
use crate::transport::reuse::fabric_reuse::Reuse;
use crate::transport::trace::recorder::Recorder;
use crate::transport::wakeup::sleeper::RunNumber;
use crate::transport::{Endpoint, Fabric};

use crate::transport::port::standing::SpareLoans;
use crate::transport::progress::live::{Live, are_crowded};
use crate::transport::progress::reason::Reason;
use crate::transport::progress::started::StartedCalls;
use crate::transport::progress::wait::SPINS;
use crate::transport::progress::yielding::Yielding;

/// One rank's port to the fabric. It stays on the rank's thread.
pub(crate) struct Port {
    pub(crate) fabric: Arc<Fabric>,
    pub(crate) me: Rank,
    /// The run that the rank is in.
    pub(in crate::transport) run: Cell<RunNumber>,
    /// The rank's own endpoint, which every operation uses.
    pub(in crate::transport) endpoint: Arc<Endpoint>,
    pub(in crate::transport) inbox: RefCell<Inbox>,
    /// Whether everything kept here has gone back to the endpoint.
    pub(in crate::transport) has_left: Cell<bool>,
    /// Whether the end of the rank was written down in this run, as that of a rank that did not just return.
    recorded_end: Cell<bool>,
    pub(in crate::transport) fast_box: RefCell<Out>,
    /// Whether the rank has sent since it last received: what it sends next is one of a row.
    row: Cell<bool>,
    pub(in crate::transport) parker: Parker,
    pub(crate) recorder: Recorder,
    pub(in crate::transport) spins: Cell<u32>,
    /// How long it yields before it parks, where ranks take turns.
    pub(in crate::transport) yielding: Cell<Yielding>,
    /// Number of looks for which a lender waits before it copies; adapts like `spins`.
    pub(in crate::transport) lending: Cell<u32>,
    /// Whether it is in a call that does not wait, which gives no receiver a moment to read what is lent.
    at_once: Cell<bool>,
    /// The collectives that the rank has started.
    pub(in crate::transport) started: StartedCalls,
    /// The copies of long messages that were sent without waiting.
    pub(in crate::transport) shared_copies: RefCell<SharedCopies>,
    /// The memory of loans that are over.
    spare_loans: RefCell<SpareLoans>,
    /// The rank's measurements of long copies.
    pub(crate) copies: Copies,
}

impl Drop for Port {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Port {
    pub(in crate::transport) fn new(
        fabric: Arc<Fabric>,
        me: Rank,
        parker: Parker,
        inbox: Inbox,
    ) -> Self {
        let inbox = RefCell::new(inbox);
        let recorder = fabric.recorder(me);
        let (run, ranks) = (Cell::new(fabric.run()), fabric.endpoints.len());
        fabric.endpoints[me].fill();
        fabric.endpoints[me].tally.run.enter(run.get());
        Port {
            endpoint: fabric.endpoints[me].clone(),
            fabric,
            me,
            run,
            inbox,
            has_left: Cell::new(false),
            recorded_end: Cell::new(false),
            fast_box: RefCell::new(Out::new(me)),
            row: Cell::new(false),
            parker,
            recorder,
            spins: Cell::new(SPINS),
            yielding: Cell::new(Yielding::FIRST),
            lending: Cell::new(SPINS),
            at_once: Cell::new(false),
            started: StartedCalls::default(),
            shared_copies: RefCell::new(SharedCopies::new(ranks)),
            spare_loans: RefCell::default(),
            copies: Copies::default(),
        }
    }

    /// Begins another run in the same fabric.
    #[inline]
    pub(crate) fn begin_again(&self, again: Reuse) {
        self.endpoint.begin_again(self.is_quiet());
        self.row.set(false);
        self.recorded_end.set(false);
        self.run.set(again.run);
        self.recorder.begin_again(again.begin);
        // Last: who sees the run sees nothing of the one before.
        self.endpoint.tally.run.enter(again.run);
    }

    /// Returns what this rank had set aside to its endpoint, where messages that were never received are counted, as
    /// are those that arrive from now on. For a rank that has ended, even if its port was leaked.
    pub(crate) fn leave(&self) {
        let again = self.has_left.replace(true);
        if let Ok(mut inbox) = self.inbox.try_borrow_mut() {
            self.shared_copies.borrow_mut().clear();
            let left = match again {
                false => inbox.leave(&*self.fabric),
                // What requests have given back since.
                true => inbox.take_kept(),
            };
            left.into_iter()
                .for_each(|packet| self.fabric.put_back(self.me, packet));
        }
        self.endpoint.empty();
    }

    /// Whether this rank has [left](Self::leave).
    #[inline]
    pub(crate) fn has_left(&self) -> bool {
        self.has_left.get()
    }

    /// The run that the rank is in.
    #[inline]
    pub(crate) fn run(&self) -> RunNumber {
        self.run.get()
    }

    /// Whether this rank has begun no operation in this run, and no end but that of a rank that returns.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.begun() == 0 && !self.recorder.is_used() && !self.recorded_end.get()
    }

    /// Records that this rank has returned.
    #[inline]
    pub(crate) fn record_return(&self) {
        self.fabric.record_return_in(self.run.get(), self.me);
    }

    /// Records that this rank has ended, and why.
    pub(crate) fn record_end(&self, why: Gone, site: Option<Arc<str>>, follows: Option<Cause>) {
        self.recorded_end.set(true);
        self.fabric.record_end(self.me, why, site, follows);
    }

    /// Number of operations that this rank has begun.
    #[inline]
    pub(crate) fn begun(&self) -> u64 {
        self.endpoint.begun()
    }

    /// Sets the number of operations begun, where the watchdog can see it.
    #[inline]
    pub(crate) fn begin(&self, count: u64) {
        // Relaxed: one writer, read for reports only.
        self.endpoint.tally.begun.store(count, Ordering::Relaxed);
    }

    /// Counts a message that this rank has sent.
    #[inline]
    pub(crate) fn count(&self, bytes: usize) {
        self.count_all(1, bytes);
    }

    /// Counts messages that this rank has sent, of so many bytes together.
    #[inline]
    pub(crate) fn count_all(&self, messages: u64, bytes: usize) {
        self.endpoint.tally.sent(messages, bytes);
    }

    /// The log of this rank's collective calls.
    #[inline]
    pub(crate) fn log(&self) -> &CallLog {
        &self.endpoint.log
    }

    /// Whether the inbox keeps no message and has no posted receive.
    pub(crate) fn is_idle(&self) -> bool {
        self.inbox.borrow().is_idle()
    }

    #[inline]
    pub(crate) fn inbox(&self) -> std::cell::RefMut<'_, Inbox> {
        self.inbox.borrow_mut()
    }

    /// Takes in what has arrived, if a posted receive may want it. Every wait that is not for messages does this at
    /// each look: ranks that wait elsewhere may need those messages to be received.
    #[inline]
    pub(crate) fn progress(&self) {
        if self.inbox.borrow().has_posted() {
            self.take_in();
        }
    }

    /// Empties `packet`, whose contents are dropped when the rank has ended.
    pub(crate) fn discard(&self, packet: &mut Packet) {
        self.inbox.borrow_mut().discard(packet);
    }

    /// Takes in what has arrived for receives that are posted.
    pub(crate) fn take_in(&self) {
        if self.fabric.is_controlled() {
            let chosen = self.chosen(None);
            debug_assert!(
                chosen.is_none(),
                "a request was chosen that the rank does not wait for"
            );
        }
        self.inbox.borrow_mut().take_in(&*self.fabric);
    }

    /// The error if what this rank needs can no longer arrive, because a rank has ended that should have sent it.
    pub(crate) fn lost(&self, needs: &Needs) -> Option<Error> {
        if matches!(needs, Needs::One(rank) if self.fabric.is_there(*rank)) {
            return None;
        }
        let gone = |rank: &Rank| !self.fabric.is_there(*rank) && needs.involves(*rank);
        if !(0..self.fabric.endpoints.len()).any(|rank| gone(&rank)) {
            return None;
        }
        self.fabric.open_registry().lost(self.me, needs)
    }

    /// Yields after a look that found nothing, if the live ranks do not all fit on the CPUs.
    pub(crate) fn give_turn(&self) {
        self.pump();
        if self.crowded() {
            yield_now();
        }
    }

    /// Whether the live ranks do not all fit on the CPUs.
    #[inline]
    pub(in crate::transport) fn crowded(&self) -> bool {
        are_crowded(Live::count(), self.fabric.settings.cpus)
    }

    /// Whether the CPU quota is too small for all live ranks to run without interruption, though each has a CPU.
    pub(in crate::transport) fn is_rationed(&self) -> bool {
        Live::count() > self.fabric.settings.covered && !self.crowded()
    }

    /// The rank has received a message by a request.
    #[inline]
    pub(crate) fn has_received(&self) {
        self.row.set(false);
    }

    /// Puts the first message that `want` accepts into `place`, if it has arrived already.
    #[inline]
    pub(crate) fn receive_now(&self, want: &Want, place: &mut Packet) -> bool {
        if want.source().is_none() && self.fabric.is_controlled() {
            return false;
        }
        self.row.set(false);
        let mut inbox = self.inbox.borrow_mut();
        inbox.find(want, &*self.fabric, place) || inbox.poll(want, &*self.fabric, place)
    }

    /// The same, but waits for the message as long as it can still arrive. Call it only right after
    /// [`receive_now`](Self::receive_now) returned `false`.
    pub(crate) fn receive(
        &self,
        want: &Want,
        reason: &Reason<'_>,
        place: &mut Packet,
    ) -> Result<()> {
        if self.fabric.is_controlled() {
            return self.receive_controlled(want, reason, place);
        }
        if self.has_started() {
            return self.wait(reason, || self.receive_now(want, place).then_some(()));
        }
        let mut inbox = self.inbox.borrow_mut();
        self.wait(reason, || {
            inbox.poll(want, &*self.fabric, place).then_some(())
        })
    }

    /// [`receive_now`](Self::receive_now) for a receive into a buffer.
    #[inline]
    pub(crate) fn receive_into_now(
        &self,
        want: &Want,
        into: &mut ReceiveBuffer<'_>,
        place: &mut Packet,
    ) -> Option<Arrived> {
        if want.source().is_none() && self.fabric.is_controlled() {
            return None;
        }
        self.row.set(false);
        let mut inbox = self.inbox.borrow_mut();
        match inbox.find(want, &*self.fabric, place) {
            true => Some(Arrived::Packet),
            false => inbox.poll_into(want, &*self.fabric, into, place),
        }
    }

    /// [`receive`](Self::receive) into a buffer, right after [`receive_into_now`](Self::receive_into_now) returned
    /// `None`.
    pub(crate) fn receive_into(
        &self,
        want: &Want,
        reason: &Reason<'_>,
        into: &mut ReceiveBuffer<'_>,
        place: &mut Packet,
    ) -> Result<Arrived> {
        if self.fabric.is_controlled() {
            return self
                .receive_controlled(want, reason, place)
                .map(|()| Arrived::Packet);
        }
        if self.has_started() {
            return self.wait(reason, || self.receive_into_now(want, into, place));
        }
        let mut inbox = self.inbox.borrow_mut();
        // A long message that is on its way into the buffer is waited for, whatever the time.
        if self.has_far() && !inbox.has_posted() && reason.deadline.is_none() {
            return self.wait_taking_in(reason, |takes_in| {
                match takes_in && self.pump_into(want, into) {
                    true => Some(Arrived::Copied),
                    false => inbox.poll_into(want, &*self.fabric, into, place),
                }
            });
        }
        self.wait(reason, || inbox.poll_into(want, &*self.fabric, into, place))
    }

    /// Whether the world is controlled: a chooser decides which message comes first.
    #[inline]
    pub(crate) fn is_controlled(&self) -> bool {
        self.fabric.is_controlled()
    }

    /// In a controlled world: notes a call whose result depends on when it is made, which is not a choice.
    pub(crate) fn depends_on_time(&self) {
        if let Some(scheduler) = &self.fabric.scheduler {
            scheduler.chooser.looked();
        }
    }

    /// Whether messages to a rank go through the mailbox alone, each as a packet that owns its contents: over channels, and
    /// where a chooser orders them; and to other processes.
    pub(in crate::transport) fn has_one_path_to(&self, to: Rank) -> bool {
        self.fabric.is_controlled() || self.fabric.is_over_channels() || self.fabric.is_far(to)
    }

    /// In a controlled world: this rank comes to a point. Ranks that go on from it later [follow](Self::follow).
    #[inline]
    pub(crate) fn precede(&self, point: impl FnOnce() -> SyncPoint) {
        if let Some(scheduler) = &self.fabric.scheduler {
            scheduler.come(self.me, point());
        }
    }

    /// In a controlled world: this rank goes on from a point, behind all that have [come](Self::precede) to it.
    #[inline]
    pub(crate) fn follow(&self, point: impl FnOnce() -> SyncPoint) {
        if let Some(scheduler) = &self.fabric.scheduler {
            scheduler.leave(self.me, point());
        }
    }

    /// Runs `meet`, in which this rank meets all others of a communicator.
    #[inline]
    pub(crate) fn meeting<R>(&self, context: u32, meet: impl FnOnce() -> Result<R>) -> Result<R> {
        let Some(scheduler) = &self.fabric.scheduler else {
            return meet();
        };
        let point = scheduler.next_meeting(self.me, context);
        scheduler.come(self.me, point);
        let met = meet()?;
        scheduler.leave(self.me, point);
        Ok(met)
    }

    /// Waits for a message in a controlled world.
    #[cold]
    pub(crate) fn receive_controlled(
        &self,
        want: &Want,
        reason: &Reason<'_>,
        place: &mut Packet,
    ) -> Result<()> {
        let sought = || Sought {
            wants: vec![*want],
            ..Sought::default()
        };
        let reason = Reason {
            choice: Some(&sought),
            ..*reason
        };
        self.sleep(&reason, || {
            let source = match self.chosen(Some(want)) {
                Some(Pick::Message(queue)) => Some(queue.source),
                _ => None,
            };
            let mut inbox = self.inbox.borrow_mut();
            inbox.take_in(&*self.fabric);
            let certain = want.only_from(source.or(want.source())?);
            let found = inbox.poll(&certain, &*self.fabric, place);
            found.then_some(())
        })
    }

    /// What the chooser tells this rank to do, if that is for the call it waits in: to take a message, to end one of
    /// its requests, or to ask for a lock. What belongs to a posted receive has been delivered by then.
    pub(crate) fn chosen(&self, want: Option<&Want>) -> Option<Pick> {
        let pick = self.fabric.scheduler.as_ref()?.pick_for(self.me)?;
        let posted = match pick {
            Pick::Message(queue) => self.inbox.borrow_mut().choose(queue, want, &*self.fabric),
            _ => false,
        };
        (!posted).then_some(pick)
    }

    /// What this rank could do next, for the chooser to choose among.
    pub(in crate::transport) fn eligible(&self, reason: &Reason<'_>) -> Option<Eligible> {
        if !self.fabric.is_controlled() {
            return None;
        }
        let sought = reason.choice.map(|sought| sought()).unwrap_or_default();
        let inbox = self.inbox.borrow();
        let (mut queues, other) = inbox.queues(&sought.wants);
        queues.retain(|queue| {
            // A receive from one source takes the first message in its queue as soon as it is there.
            sought.is_open() || inbox.is_contended(*queue)
        });
        let (open, may_grow) = (sought.is_open(), sought.also_others);
        let messages = queues.into_iter().map(Pick::Message);
        let requests = sought.ready.into_iter().map(Pick::Request);
        let lock = sought.lock.map(Pick::Lock);
        // A rank that asks for a lock takes nothing yet.
        let wild = inbox.wild().filter(|_| lock.is_none());
        let eligible = Eligible {
            wants: sought.wants.into_iter().chain(wild).collect(),
            picks: messages.chain(requests).chain(lock).collect(),
            other: other.into_iter().map(Pick::Message).collect(),
            may_grow,
        };
        (open || !eligible.is_empty()).then_some(eligible)
    }
}
