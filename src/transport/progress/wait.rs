//! The one place where ranks wait: spin with `pause`, then yield, then park.
//!
//! Spinning is only done while all ranks of the process that are running, over all worlds, fit on the
//! CPUs they share; and a rank whose spins fail spins half as long next time. Yielding in turn costs
//! about a tenth of putting a thread to sleep and waking it, so parking comes late. No stage before
//! the last looks for failure.

use std::cell::{Cell, RefCell};
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread::yield_now;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::Rank;
use crate::error::{Error, ErrorKind, Result, Site};
use crate::op::copies::Copies;
use crate::op::{Element, copied};
use crate::sync::{Ordering, Parker};
use crate::transport::communicator::call_log::CallLog;
use crate::transport::deadlock::registry::{Turn, Wait};
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::matching::mailbox::{Inbox, Want};
use crate::transport::matching::scheduler::{Eligible, Line, Sought, Steering};
use crate::transport::memory::cooperative_copy::Taker;
use crate::transport::memory::copy_claims::End;
use crate::transport::memory::fast_box::Out;
use crate::transport::memory::head::Head;
use crate::transport::memory::lend::{Loan, lend};
use crate::transport::memory::loan::{LoanWord, Ticket};
use crate::transport::memory::packet::Packet;
use crate::transport::progress::sleeper::{Run, Sleeper};
use crate::transport::reuse::fabric_reuse::Again;
use crate::transport::trace::recorder::Scribe;
use crate::transport::{CommShared, Door, Fabric};

/// How many looks a rank spins for at most: some tens of microseconds.
const SPINS: u32 = 2000;
/// And at least, so that it notices when spinning has become worth while again.
const FEW_SPINS: u32 = 16;
/// How long a rank yields before it parks, and how often at least.
const YIELDING: Duration = Duration::from_micros(500);
const YIELDS: u32 = 8;
/// How many bytes a copy to fresh memory takes a nanosecond for, about: their pages have to be found first.
const COPIED_IN_ONE: usize = 4;
/// Spinning has taken as long.
const SHORT_PATIENCE: Duration = Duration::from_micros(10);
/// How long a thread that is no rank just now looks for work, or for the end of it, and how often before it begins
/// to yield: some microseconds.
const LINGERING: Duration = Duration::from_micros(100);
const LINGERING_SPINS: u32 = 64;
/// Models of threads go to sleep at once: looking again and again would hide a lost post.
const PATIENT: bool = !cfg!(all(test, loom));

/// Ranks of this process that are running a job, over all worlds. It shares its line with nothing: who calls a run
/// of a team writes it.
static LIVE: CachePadded<AtomicUsize> = CachePadded::new(AtomicUsize::new(0));

/// Counts so many ranks as live for as long as it lives.
pub(crate) struct Live(usize);

impl Live {
    pub(crate) fn new(ranks: usize) -> Self {
        // Relaxed: a hint for the policy below.
        LIVE.fetch_add(ranks, Ordering::Relaxed);
        Live(ranks)
    }

    /// How many ranks are live.
    #[inline]
    pub(crate) fn count() -> usize {
        LIVE.load(Ordering::Relaxed)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        LIVE.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// What a thread does that is no rank just now, before it goes to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// There is a CPU for it: it spins for a moment, then yields.
    Spin,
    /// There is one now and then: it yields.
    Yield,
    /// It would only be in the way.
    None,
}

/// Waits for what is not brought by a rank that is in the middle of something, and for which this thread is roused.
/// `part` is called when it begins to yield.
pub(in crate::transport) fn idle<R>(
    sleeper: &Sleeper,
    parker: &Parker,
    patience: Patience,
    part: impl FnOnce(),
    mut look: impl FnMut() -> Option<R>,
) -> R {
    if let Some(found) = linger(patience, part, &mut look) {
        return found;
    }
    loop {
        sleeper.lie_down();
        let found = look();
        if found.is_none() {
            parker.park();
        }
        sleeper.get_up();
        if let Some(found) = found {
            return found;
        }
    }
}

/// The part of that before it sleeps. It does not spin for long: a thread that has nothing to do is not counted
/// among those that need a CPU.
fn linger<R>(
    patience: Patience,
    part: impl FnOnce(),
    look: &mut impl FnMut() -> Option<R>,
) -> Option<R> {
    let spins = match patience {
        Patience::Spin => LINGERING_SPINS,
        _ => 1,
    };
    for _ in 0..if PATIENT { spins } else { 0 } {
        if let Some(found) = look() {
            return Some(found);
        }
        spin_loop();
    }
    if !PATIENT || patience == Patience::None {
        return None;
    }
    part();
    let start = Instant::now();
    while start.elapsed() < LINGERING {
        yield_now();
        if let Some(found) = look() {
            return Some(found);
        }
    }
    None
}

/// Whether so many live ranks are more than there is room for, as the machine has it: then nobody spins.
#[inline]
pub(crate) fn are_crowded(live: usize, room: usize) -> bool {
    live > room
}

/// What a wait is about: asked for only when it takes long.
pub(crate) struct Reason<'a> {
    pub call: &'a dyn Fn() -> String,
    pub site: Site,
    pub needs: &'a dyn Fn() -> Needs,
    /// The communicator, where its end would end the wait.
    pub comm: Option<&'a Arc<CommShared>>,
    /// Those of other requests that it waits for.
    pub also: &'a [Arc<CommShared>],
    /// In collectives: the call's number.
    pub collective: Option<u32>,
    /// The turn of the communicator's gate, or the meeting, that it waits to see the end of.
    pub turn: Option<Turn>,
    pub deadline: Option<Instant>,
    /// What it is after, where it is chosen what it gets; else messages that it waits for, if any, are
    /// certain.
    pub choice: Option<&'a dyn Fn() -> Sought>,
    /// It is a send that found no buffer and waits to be received.
    pub needs_buffer: bool,
}

/// The place of one rank in the fabric; it stays on the rank's thread.
pub(crate) struct Port {
    pub(crate) fabric: Arc<Fabric>,
    pub(crate) me: Rank,
    /// The run it is in.
    run: Cell<Run>,
    /// Its own, which it passes through with every operation.
    door: Arc<Door>,
    inbox: RefCell<Inbox>,
    /// Whether all that was there has gone back to the door.
    has_left: Cell<bool>,
    hatch: RefCell<Out>,
    parker: Parker,
    pub(crate) scribe: Scribe,
    spins: Cell<u32>,
    /// How many looks a lender waits before it copies; adapts like `spins`.
    lending: Cell<u32>,
    /// What it has learnt about long copies.
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
        let scribe = fabric.scribe(me);
        let run = Cell::new(fabric.run());
        Port {
            door: fabric.doors[me].clone(),
            fabric,
            me,
            run,
            inbox,
            has_left: Cell::new(false),
            hatch: RefCell::new(Out::new(me)),
            parker,
            scribe,
            spins: Cell::new(SPINS),
            lending: Cell::new(SPINS),
            copies: Copies::default(),
        }
    }

    /// Begins another run in the same fabric.
    #[inline]
    pub(crate) fn begin_again(&self, again: Again) {
        self.run.set(again.run);
        self.scribe.begin_again(again.begin);
    }

    /// What this rank had set aside goes back to its door, where what nobody received is counted, and so is what
    /// comes there from now on. For a rank that has ended, though somebody may have forgotten it.
    pub(crate) fn leave(&self) {
        if self.has_left.replace(true) {
            return;
        }
        let Ok(mut inbox) = self.inbox.try_borrow_mut() else {
            return;
        };
        let left = inbox.leave(&*self.fabric);
        left.into_iter()
            .for_each(|packet| self.fabric.put_back(self.me, packet));
    }

    /// The run it is in.
    #[inline]
    pub(crate) fn run(&self) -> Run {
        self.run.get()
    }

    /// Whether this rank has begun no operation in this run.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.begun() == 0 && !self.scribe.is_used()
    }

    /// Says that this rank has returned.
    #[inline]
    pub(crate) fn record_return(&self) {
        self.fabric.record_return_in(self.run.get(), self.me);
    }

    /// How many operations this rank has begun.
    #[inline]
    pub(crate) fn begun(&self) -> u64 {
        self.door.begun()
    }

    /// Counts the operations of this rank where the watchdog can see it.
    #[inline]
    pub(crate) fn begin(&self, count: u64) {
        // Relaxed: one writer, read for reports only.
        self.door.tally.begun.store(count, Ordering::Relaxed);
    }

    /// Counts a message that this rank has sent.
    #[inline]
    pub(crate) fn count(&self, bytes: usize) {
        self.door.tally.sent(bytes);
    }

    /// Where this rank writes down its collective calls.
    #[inline]
    pub(crate) fn log(&self) -> &CallLog {
        &self.door.log
    }

    /// Whether nothing is kept for this rank at its end, and it awaits nothing.
    pub(crate) fn is_idle(&self) -> bool {
        self.inbox.borrow().is_idle()
    }

    #[inline]
    pub(crate) fn inbox(&self) -> std::cell::RefMut<'_, Inbox> {
        self.inbox.borrow_mut()
    }

    /// Takes in what has arrived, if a posted receive may want it. Every wait that is not for messages
    /// does this whenever it looks: who waits elsewhere may need them to be received.
    #[inline]
    pub(crate) fn progress(&self) {
        if self.inbox.borrow().has_posted() {
            self.stow();
        }
    }

    /// Takes in what has arrived.
    pub(crate) fn stow(&self) {
        if self.fabric.is_steered() {
            let told = self.told(None);
            debug_assert!(told.is_none(), "a request was chosen that nobody waits for");
        }
        self.inbox.borrow_mut().stow(&*self.fabric);
    }

    /// Why what this rank needs can no longer come, if a rank has ended that should have brought it.
    pub(crate) fn lost(&self, needs: &Needs) -> Option<Error> {
        let gone = |rank: &Rank| !self.fabric.is_there(*rank) && needs.involves(*rank);
        if !(0..self.fabric.doors.len()).any(|rank| gone(&rank)) {
            return None;
        }
        self.fabric.open_book().lost(self.me, needs)
    }

    /// Lets others run after a look that found nothing, where they do not all fit on the CPUs.
    pub(crate) fn give_turn(&self) {
        if self.crowded() {
            yield_now();
        }
    }

    /// Whether the live ranks do not all fit on the CPUs.
    #[inline]
    fn crowded(&self) -> bool {
        are_crowded(Live::count(), self.fabric.settings.cpus)
    }

    /// Puts the first message that `want` accepts into `place` if it is there already.
    #[inline]
    pub(crate) fn receive_now(&self, want: &Want, place: &mut Packet) -> bool {
        if want.source.is_none() && self.fabric.is_steered() {
            return false;
        }
        let mut inbox = self.inbox.borrow_mut();
        inbox.find(want, &*self.fabric, place) || inbox.poll(want, &*self.fabric, place)
    }

    /// The same, waiting for it as long as it can come. Only right after
    /// [`receive_now`](Self::receive_now) said no.
    pub(crate) fn receive(
        &self,
        want: &Want,
        reason: &Reason<'_>,
        place: &mut Packet,
    ) -> Result<()> {
        if self.fabric.is_steered() {
            return self.receive_steered(want, reason, place);
        }
        let mut inbox = self.inbox.borrow_mut();
        self.wait(reason, || {
            inbox.poll(want, &*self.fabric, place).then_some(())
        })
    }

    /// Whether it is chosen who comes first.
    #[inline]
    pub(crate) fn is_steered(&self) -> bool {
        self.fabric.is_steered()
    }

    /// Waits for a message where it is chosen whose comes first.
    #[cold]
    pub(crate) fn receive_steered(
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
            let source = self.told(Some(want)).map(|line| line.source);
            let mut inbox = self.inbox.borrow_mut();
            inbox.stow(&*self.fabric);
            let certain = Want {
                source: Some(source.or(want.source)?),
                ..*want
            };
            let found = inbox.poll(&certain, &*self.fabric, place);
            found.then_some(())
        })
    }

    /// What this rank is told to take, if that is for the call it waits in: a line of messages, or one of its
    /// requests. What falls into a posted receive has done so.
    pub(crate) fn told(&self, want: Option<&Want>) -> Option<Line> {
        let line = self.fabric.steering.as_ref()?.line_for(self.me)?;
        let ours = line.is_request() || !self.inbox.borrow_mut().choose(line, want, &*self.fabric);
        ours.then_some(line)
    }

    /// What this rank could get, to be chosen among.
    fn eligible(&self, reason: &Reason<'_>) -> Option<Eligible> {
        if !self.fabric.is_steered() {
            return None;
        }
        let sought = reason.choice.map(|sought| sought()).unwrap_or_default();
        let inbox = self.inbox.borrow();
        let (mut lines, other) = inbox.lines(&sought.wants);
        lines.retain(|line| {
            // A receive from one source takes what is first in line as soon as it is there.
            sought.is_open() || inbox.is_contended(*line)
        });
        lines.extend(sought.ready.iter().map(|&place| Line::request(place)));
        let open = sought.is_open();
        let wants = sought.wants.into_iter().chain(inbox.wild()).collect();
        let eligible = Eligible {
            wants,
            lines,
            other,
        };
        (open || !eligible.is_empty()).then_some(eligible)
    }

    /// Waits until `look` finds something.
    #[inline]
    pub(crate) fn wait<R>(
        &self,
        reason: &Reason<'_>,
        mut look: impl FnMut() -> Option<R>,
    ) -> Result<R> {
        if self.fabric.is_steered() {
            // The next choice comes when all have lain down.
            return self.sleep(reason, look);
        }
        if let Some(found) = self.spin(&self.spins, &mut look) {
            return Ok(found);
        }
        self.wait_long(reason, look)
    }

    /// The wait after the spins, and how long it took.
    fn wait_long<R>(&self, reason: &Reason<'_>, mut look: impl FnMut() -> Option<R>) -> Result<R> {
        let begin = Instant::now();
        let found = match self.give_way(begin, &mut look) {
            Some(found) => Ok(found),
            None => self.sleep(reason, look),
        };
        self.count_wait(begin);
        found
    }

    fn count_wait(&self, begin: Instant) {
        let waited = begin.elapsed().as_nanos() as u64;
        crate::transport::Tally::add(&self.door.tally.waited, waited);
    }

    /// Looks again and again for a while that grows with success and shrinks with failure.
    #[inline]
    fn spin<R>(&self, budget: &Cell<u32>, look: &mut impl FnMut() -> Option<R>) -> Option<R> {
        let spins = match PATIENT {
            true if self.crowded() => return look(),
            true => budget.get(),
            false => 0,
        };
        for _ in 0..spins {
            if let Some(found) = look() {
                budget.set((budget.get() * 2).min(SPINS));
                return Some(found);
            }
            spin_loop();
        }
        budget.set((budget.get() / 2).max(FEW_SPINS));
        None
    }

    /// Looks once in each of this thread's turns, from `start` on.
    fn give_way<R>(&self, start: Instant, look: &mut impl FnMut() -> Option<R>) -> Option<R> {
        self.give_way_for(YIELDING, start, look)
    }

    fn give_way_for<R>(
        &self,
        time: Duration,
        start: Instant,
        look: &mut impl FnMut() -> Option<R>,
    ) -> Option<R> {
        self.scribe.catch_up();
        if let Some(spots) = self.fabric.settings.spots.as_ref().filter(|_| PATIENT) {
            spots.part(self.me);
        }
        let mut turns = 0;
        while PATIENT && (turns < YIELDS || start.elapsed() < time) {
            yield_now();
            if let Some(found) = look() {
                return Some(found);
            }
            turns += 1;
        }
        None
    }

    /// Parks until woken, looks, and parks again, unless what it waits for can no longer come.
    #[cold]
    pub(in crate::transport) fn sleep<R>(
        &self,
        reason: &Reason<'_>,
        mut look: impl FnMut() -> Option<R>,
    ) -> Result<R> {
        self.scribe.catch_up();
        let since = Instant::now();
        let begun = self.begun_by_all();
        crate::transport::Tally::add(&self.door.tally.sleeps, 1);
        loop {
            if let Some(found) =
                self.fabric
                    .lie_down(self.me, || self.describe(reason, since, &begun), &mut look)?
            {
                return Ok(found);
            }
            match self.limit(reason, since) {
                Some(limit) => self.parker.park_deadline(limit),
                None => self.parker.park(),
            }
            if let Some(verdict) = self.fabric.get_up(self.me) {
                return Err(verdict);
            }
            let too_late = |steering: &Steering| steering.is_too_late(self.me);
            if self.fabric.steering.as_ref().is_some_and(too_late) {
                return look().ok_or_else(|| self.timed_out(reason, since, &begun));
            }
            if self
                .limit(reason, since)
                .is_some_and(|limit| limit <= Instant::now())
            {
                return look().ok_or_else(|| self.timed_out(reason, since, &begun));
            }
        }
    }

    /// When this wait must end: by the call's own deadline or by the watchdog.
    fn limit(&self, reason: &Reason<'_>, since: Instant) -> Option<Instant> {
        let watchdog = self
            .fabric
            .settings
            .timeout
            .and_then(|timeout| since.checked_add(timeout));
        // Where it is chosen who comes first, time passes when nothing else does.
        let own = reason.deadline.filter(|_| !self.fabric.is_steered());
        own.into_iter().chain(watchdog).min()
    }

    fn timed_out(&self, reason: &Reason<'_>, since: Instant, begun: &[u64]) -> Error {
        let mine = self.describe(reason, since, begun);
        let picture = self.fabric.picture(Some((self.me, &mine)));
        Error::new(ErrorKind::TimedOut {
            waited: since.elapsed(),
            picture,
        })
    }

    /// How many operations each rank has begun, where the watchdog will want to know.
    fn begun_by_all(&self) -> Vec<u64> {
        let watched = self.fabric.settings.timeout.is_some();
        let doors = self.fabric.doors.iter().filter(|_| watched);
        doors.map(|door| door.begun()).collect()
    }

    /// A wait; `begun` is what all had begun when it began.
    fn describe(&self, reason: &Reason<'_>, since: Instant, begun: &[u64]) -> Wait {
        Wait {
            call: (reason.call)(),
            site: reason.site,
            needs: (reason.needs)(),
            // A collective has no deadline of its own: one that has is over already, and only waits to hear of others.
            ends_by_itself: reason.deadline.is_some() && reason.collective.is_none(),
            comm: reason.comm.cloned(),
            also: reason.also.to_vec(),
            collective: reason.collective,
            turn: reason.turn,
            choice: self.eligible(reason),
            needs_buffer: reason.needs_buffer,
            since,
            begun: begun.to_vec(),
        }
    }

    /// Sends elements: whole if they are short, else lent to a receiver that takes them at once, else
    /// as a copy. Never waits for a receiver that is not there. `meanwhile` runs after the post.
    /// Answers whether the receiver can still get it.
    #[inline]
    pub(crate) fn send<T: Element, R>(
        &self,
        to: Rank,
        head: Head,
        data: &[T],
        meanwhile: impl FnOnce() -> Result<R>,
    ) -> Result<(R, bool)> {
        if let Some(there) = self.send_by_hatch(to, head, data) {
            return Ok((meanwhile()?, there));
        }
        if !Packet::fits(data) {
            return self.send_long(to, head, data, meanwhile);
        }
        let there = self.post(to, Packet::eager(head, data), size_of_val(data));
        Ok((meanwhile()?, there))
    }

    /// Sends a short message through the hatch in its receiver's door, if this rank has taken that and the mailbox
    /// is empty; answers as [`send`](Self::send).
    #[inline]
    fn send_by_hatch<T: Element>(&self, to: Rank, head: Head, data: &[T]) -> Option<bool> {
        let mut hatch = self.hatch.borrow_mut();
        let (door, bytes) = (&self.fabric.doors[to], size_of_val(data));
        // Asked before the post, as in `Fabric::post`.
        let there = !door.sleeper.is_gone(self.fabric.run());
        let is_empty = || {
            let is_empty = door.mail.is_empty();
            if is_empty {
                self.scribe.sends(to, || head, bytes);
            }
            is_empty
        };
        if hatch.post(to, head, data, is_empty) {
            door.sleeper.rouse();
            hatch.look();
            self.scribe.has_sent(to);
            self.count(bytes);
            return Some(there);
        }
        if to != self.me && !self.is_steered() {
            hatch.goes_by_mailbox(to, data, &door.hatch);
        }
        None
    }

    /// Whether a message is out as soon as it is sent, as far as can be told before.
    #[inline]
    pub(crate) fn posts_at_once<T: Element>(&self, to: Rank, data: &[T]) -> bool {
        Packet::fits(data) || self.hatch.borrow().has_room(to, data)
    }

    /// Posts a message of so many bytes. Only a trace is told before: the receiver would wait for all else.
    #[inline]
    fn post(&self, to: Rank, packet: Packet, bytes: usize) -> bool {
        self.scribe.sends(to, || packet.head, bytes);
        let there = self.fabric.post(to, packet);
        self.scribe.has_sent(to);
        self.count(bytes);
        there
    }

    /// Moves a value to `to`; answers as [`send`](Self::send).
    #[inline]
    pub(crate) fn send_value<V: Send + 'static>(&self, to: Rank, head: Head, value: V) -> bool {
        self.scribe.sent(to, head, size_of::<V>());
        self.fabric.post(to, Packet::value(head, value))
    }

    // Apart, so that the head of a short message can stay in registers.
    #[inline(never)]
    fn send_long<T: Element, R>(
        &self,
        to: Rank,
        head: Head,
        data: &[T],
        meanwhile: impl FnOnce() -> Result<R>,
    ) -> Result<(R, bool)> {
        if to == self.me || self.crowded() || self.fabric.is_steered() {
            let packet = Packet::copied(head, copied(data));
            let there = self.post(to, packet, size_of_val(data));
            return Ok((meanwhile()?, there));
        }
        let word = &*self.door.loan;
        lend(
            word,
            head,
            data,
            |word, ticket| self.wait_settled(to, word, ticket),
            |packet, loan| {
                let there = self.post(to, packet, size_of_val(data));
                let result = meanwhile()?;
                // A receiver that has ended leaves a copy behind as well, to be counted as lost.
                Ok((result, there & self.settle_or_copy(to, head, data, loan)))
            },
        )
    }

    /// Lends `data` to `to`, which is bound to come: `post` puts the packet on its way, `meanwhile`
    /// runs after that, and `settled` waits until the receiver is done, or cannot be any more.
    pub(crate) fn lend<T: Element>(
        &self,
        to: Rank,
        head: Head,
        data: &[T],
        post: impl FnOnce(Packet) -> Result<()>,
        meanwhile: impl FnOnce() -> Result<()>,
        settled: impl FnOnce(&Loan<'_>) -> Result<()>,
    ) -> Result<()> {
        lend(
            &self.door.loan,
            head,
            data,
            |word, ticket| self.wait_settled(to, word, ticket),
            |packet, loan| {
                post(packet)?;
                meanwhile()?;
                settled(loan)
            },
        )
    }

    /// Gives the receiver a moment to take what is lent, and helps it to copy; otherwise posts a copy.
    fn settle_or_copy<T: Element>(
        &self,
        to: Rank,
        head: Head,
        data: &[T],
        loan: &Loan<'_>,
    ) -> bool {
        let mut look = || {
            if loan.help(&self.door.joint, End::of(self.me, to), &self.copies) {
                self.fabric.doors[to].sleeper.rouse();
            }
            loan.is_settled().then_some(())
        };
        if self.spin(&self.lending, &mut look).is_some()
            || self.stay_patient(size_of_val(data), &mut look).is_some()
        {
            return true;
        }
        if !loan.revoke() {
            self.wait_bound(&|| Needs::One(to), || look().is_some());
            return true;
        }
        self.fabric.post(to, Packet::copied(head, copied(data)))
    }

    /// Waits for a receiver as long as it would take to copy the message and leave it there, which is the dearer
    /// the longer it is; not so long where receivers mostly come too late.
    fn stay_patient<R>(&self, bytes: usize, look: &mut impl FnMut() -> Option<R>) -> Option<R> {
        let tried = self.lending.get().max(SPINS / 8);
        let patience = Duration::from_nanos((bytes / COPIED_IN_ONE) as u64) * tried / SPINS;
        if !PATIENT || patience < SHORT_PATIENCE {
            return None;
        }
        let found = self.give_way_for(patience, Instant::now(), look);
        if found.is_some() {
            self.lending.set(SPINS);
        }
        found
    }

    /// Waits for a borrower that is reading.
    fn wait_settled(&self, borrower: Rank, word: &LoanWord, ticket: Ticket) {
        self.wait_bound(&|| Needs::One(borrower), || word.is_settled(ticket));
    }

    /// Waits for what `needs` names, without a way out: others may touch memory of this rank until it comes. They wait
    /// for nobody meanwhile, or should not; the detector knows of this wait, and fails whatever they wait for if it can
    /// never end. [`World::timeout`](crate::World::timeout) cannot end it; then where all ranks are is printed.
    #[inline]
    pub(crate) fn wait_bound(&self, needs: &dyn Fn() -> Needs, mut done: impl FnMut() -> bool) {
        let mut look = || done().then_some(());
        if self.spin(&self.spins, &mut look).is_none() {
            self.wait_bound_long(needs, &mut done);
        }
    }

    #[inline(never)]
    fn wait_bound_long(&self, needs: &dyn Fn() -> Needs, done: &mut dyn FnMut() -> bool) {
        let begin = Instant::now();
        if self.give_way(begin, &mut || done().then_some(())).is_none() {
            self.sleep_bound(needs, done);
        }
        self.count_wait(begin);
    }

    /// Sleeps until it is there.
    #[cold]
    pub(in crate::transport) fn sleep_bound(
        &self,
        needs: &dyn Fn() -> Needs,
        mut done: impl FnMut() -> bool,
    ) {
        let since = Instant::now();
        crate::transport::Tally::add(&self.door.tally.sleeps, 1);
        let timeout = self.fabric.settings.timeout;
        let mut limit = timeout.and_then(|timeout| since.checked_add(timeout));
        while !done() && !self.fabric.lie_down_bound(self.me, since, needs, &mut done) {
            match limit {
                Some(limit) => self.parker.park_deadline(limit),
                None => self.parker.park(),
            }
            self.fabric.get_up_bound(self.me);
            if limit.is_some_and(|limit| limit <= Instant::now()) && !done() {
                limit = None;
                self.tell_bound(since);
            }
        }
    }

    /// Says on standard error, once a wait, that it takes longer than the watchdog allows and cannot be ended.
    #[cold]
    fn tell_bound(&self, since: Instant) {
        let waited = since.elapsed();
        let picture = self.fabric.picture(None);
        eprintln!(
            "rankfold: rank {} has waited {waited:.1?} and must go on: another rank uses its memory, perhaps in an \
             operator that does not end\n{picture}",
            self.me
        );
    }
}

impl Taker for Port {
    fn me(&self) -> Rank {
        self.me
    }

    fn copies(&self) -> &Copies {
        &self.copies
    }

    fn stay(&self, lender: Rank, done: impl FnMut() -> bool) {
        self.wait_bound(&|| Needs::One(lender), done);
    }
}
