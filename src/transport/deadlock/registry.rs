//! Who waits for whom, who has ended and why: the book that is opened when a rank goes to sleep,
//! wakes up or ends, and never on the fast path.
//!
//! # The detector is exact
//!
//! A rank goes to sleep under the book's lock: it writes down what it waits for, lies down (see
//! [`sleeper`](crate::transport::progress::sleeper)), looks for a post once more, and then asks who is
//! [`stuck`](wait_for_graph::stuck). Suppose the answer names rank r as stuck though a message that frees r was
//! posted. The poster's fence came after r lay down, or r's own last look would have found the
//! message; so the poster saw the flag and marks r awake in the same call, before it can itself come
//! to the book's lock and lie down. Either it has not done so, then it is awake and counts as running,
//! or the mark was made before the question was asked, then r counts as running. Both contradict.
//!
//! Three things free *several* ranks before each of them can be marked: a gate that turns, a meeting to
//! which the last one comes, and a communicator that breaks. Whoever noticed by itself may be asleep again, waiting for a rank that has
//! not been marked yet; so a wait that is over in this way counts as running without a mark. Nobody
//! can be past one of these that the detector does not see: it lay down under the same lock.
//! The other way round, the last rank of a knot to lie down finds all others lying: every knot is
//! found, by one of its own ranks, while others run on.
//!
//! A rank in another collective call may bring what a sleeper needs and not wake it, since it does not know that the
//! sleeper is one of its readers. If that comes after the sleeper's last look and before its needs are written down,
//! they are empty, which the walk would take for a wait that can end. So a rank that needs nothing looks once more.
//!
//! # Ends that are not in the book yet
//!
//! ```text
//! returns:   posts;  door ← gone;   light();  waiting > 0?   then: opens the book, wakes who needs it
//! sleeper:   (book open)  waiting + 1;  flag ← ASLEEP;  heavy();  takes in the ends;  looks;  walks
//! ```
//!
//! A rank that returns while nobody waits leaves the book closed. One of the two fences comes first: if it is
//! that of the rank that returns, the sleeper takes in its end, and finds all that it had posted before; else the
//! rank sees that somebody waits, and comes to the lock after the sleeper has left it, as any other end does.
//! To the sleeper it was running until then.

use std::iter;
use std::ops::DerefMut;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Rank;
use crate::error::{Cause, Deadlock, Error, Gone, Site, Stuck, on};
use crate::sync::Ordering;
use crate::transport::communicator::origin::Names;
use crate::transport::deadlock::wait_for_graph::{self, Needs, State};
use crate::transport::matching::scheduler::{Eligible, Line, Way, failed};
use crate::transport::progress::sleeper::Run;
use crate::transport::trace::record::{Operation, Progress, lines};
use crate::transport::{CommShared, Fabric, memory::epoch, memory::fences};

/// One rank's page.
#[derive(Default)]
pub(crate) struct Page {
    wait: Option<Wait>,
    /// What it waits for without a way out, and since when.
    bound: Option<(Needs, Instant)>,
    /// What others decided about this wait.
    verdict: Option<Cause>,
    end: Option<End>,
}

/// What a sleeping rank waits for.
pub(crate) struct Wait {
    /// The call, as it prints, and its line.
    pub call: String,
    pub site: Site,
    pub needs: Needs,
    /// The call has a deadline of its own, so this rank comes out by itself.
    pub ends_by_itself: bool,
    /// The communicator, where its end would end the wait.
    pub comm: Option<Arc<CommShared>>,
    /// Those of other requests that it waits for.
    pub also: Vec<Arc<CommShared>>,
    /// In collectives: the call's number.
    pub collective: Option<u32>,
    /// The turn of the communicator's gate, or the meeting, that it waits to see the end of.
    pub turn: Option<Turn>,
    /// What it could take, where that is chosen: it lies still until it is.
    pub choice: Option<Eligible>,
    /// It is a send that found no buffer and waits to be received.
    pub needs_buffer: bool,
    pub since: Instant,
    /// How many operations each rank had begun, where the watchdog will want to know.
    pub begun: Vec<u64>,
}

/// What frees several ranks at once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    /// The gate's.
    Gate(u32),
    /// All ranks have come to a meeting.
    Meeting(epoch::Ticket),
}

impl Turn {
    fn is_over(self, comm: &CommShared) -> bool {
        match self {
            Turn::Gate(turn) => comm.gate.turned_by(turn).is_some(),
            Turn::Meeting(ticket) => comm.meeting().all_here(ticket),
        }
    }
}

impl Wait {
    /// Whether the gate has turned, all are here or the communicator has broken, and the rank need only be told.
    fn is_over(&self) -> bool {
        let turned = |comm: &CommShared| self.turn.is_some_and(|turn| turn.is_over(comm));
        self.broken().is_some() || self.comm.as_deref().is_some_and(turned)
    }

    /// Why the communicator has broken, if that concerns this wait: for point-to-point only if it was
    /// revoked.
    fn broken(&self) -> Option<&Cause> {
        let comm = self.comm.as_ref()?;
        let cause = self.collective.and_then(|_| comm.cause.get());
        let revoked = || self.comms().find_map(|comm| comm.revoked.get());
        cause.or_else(revoked)
    }

    fn comms(&self) -> impl Iterator<Item = &Arc<CommShared>> {
        self.comm.iter().chain(&self.also)
    }

    /// The name of the communicator that the call is on, unless that is the world.
    fn comm_name(&self) -> Option<Arc<str>> {
        self.comm.as_ref()?.name()
    }

    /// The communicator and number of a collective.
    fn call(&self) -> Option<(&Arc<CommShared>, u32)> {
        self.comm.as_ref().zip(self.collective)
    }
}

/// How a rank ended.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub why: Gone,
    pub site: Option<Arc<str>>,
    /// What it followed, if it only followed another rank, a deadlock or a mismatch.
    pub follows: Option<Cause>,
    /// The how-many-th end of this world.
    pub order: usize,
}

impl End {
    /// What to tell those who need the rank: the first culprit, where the rank only failed because of
    /// one. Who handled that and returned is missed for itself.
    pub(crate) fn cause(&self, rank: Rank) -> Cause {
        match &self.follows {
            Some(first) if self.why != Gone::Returned => first.clone(),
            _ => self.gone(rank),
        }
    }

    fn gone(&self, rank: Rank) -> Cause {
        Cause::Gone {
            rank,
            why: self.why.clone(),
            site: self.site.clone(),
        }
    }
}

/// All pages.
pub(crate) struct Book {
    pages: Vec<Page>,
    ended: usize,
    pub(crate) deadlocks: Vec<Arc<Deadlock>>,
}

impl Book {
    pub(crate) fn new(ranks: usize) -> Self {
        Book {
            pages: (0..ranks).map(|_| Page::default()).collect(),
            ended: 0,
            deadlocks: Vec::new(),
        }
    }

    pub(crate) fn end(&self, rank: Rank) -> Option<&End> {
        self.pages[rank].end.as_ref()
    }

    fn write_end(&mut self, rank: Rank, why: Gone, site: Option<Arc<str>>, follows: Option<Cause>) {
        self.pages[rank].end = Some(End {
            why,
            site,
            follows,
            order: self.ended,
        });
        self.ended += 1;
    }

    /// Whether one of these has ended: it is on its way out then, and does what it must for who is bound to wait.
    fn unwinds_among(&self, needs: &Needs) -> bool {
        let mut ranks = 0..self.pages.len();
        self.ended > 0 && ranks.any(|rank| self.end(rank).is_some() && needs.involves(rank))
    }

    /// Forgets how ranks ended, for the next run.
    pub(in crate::transport) fn forget_ends(&mut self) {
        if self.ended > 0 {
            self.pages.iter_mut().for_each(|page| page.end = None);
            self.ended = 0;
        }
    }

    /// The first recorded end among `ranks` that `counts`.
    fn first_of(
        &self,
        ranks: impl Iterator<Item = Rank>,
        counts: impl Fn(&End) -> bool,
    ) -> Option<(Rank, &End)> {
        let ends = ranks.filter_map(|rank| Some((rank, self.end(rank).filter(|end| counts(end))?)));
        ends.min_by_key(|(_, end)| end.order)
    }

    /// The one of `ranks` that ended first.
    pub(crate) fn first_gone(&self, ranks: &[Rank]) -> Option<Rank> {
        let (rank, _) = self.first_of(ranks.iter().copied(), |_| true)?;
        Some(rank)
    }

    /// Whether what `me` needs can no longer come because a rank has ended.
    pub(in crate::transport) fn lost(&self, me: Rank, needs: &Needs) -> Option<Error> {
        self.lost_cause(me, needs).map(Error::from)
    }

    fn lost_cause(&self, me: Rank, needs: &Needs) -> Option<Cause> {
        let (rank, end) = self.missed(me, needs)?;
        Some(end.cause(rank))
    }

    /// The end that took away what `me` needs; the first, where there are several.
    fn missed(&self, me: Rank, needs: &Needs) -> Option<(Rank, &End)> {
        let first = |(_, end): &(Rank, &End)| end.order;
        let arms = |arms: &[Needs]| arms.iter().map(|arm| self.missed(me, arm)).collect();
        match needs {
            Needs::One(one) => self.first_of([*one].into_iter(), |_| true),
            Needs::All(some) => self.first_of(some.iter().copied(), |_| true),
            Needs::Gate(_, of) => self.first_of(of.iter().filter(|&rank| rank != me), |_| true),
            // A rank that returned leaves the set of senders; one that failed was perhaps the one to send.
            Needs::Any(of) => {
                self.first_of(of.iter().filter(|&rank| rank != me), |end| failed(&end.why))
            }
            Needs::Shrink(..) => None,
            Needs::Every(needs) => {
                let missed: Vec<_> = arms(needs);
                missed.into_iter().flatten().min_by_key(first)
            }
            Needs::Either(needs) => {
                let missed: Option<Vec<_>> = arms(needs).into_iter().collect();
                missed?.into_iter().min_by_key(first)
            }
        }
    }
}

/// What a steered world asks.
impl Book {
    /// Whether a rank that lies still while it is chosen for will be told something.
    fn may_choose(&self, rank: Rank, wait: &Wait) -> bool {
        let choice = wait.choice.as_ref();
        choice.is_some_and(|eligible| {
            !eligible.is_empty() || self.lost_cause(rank, &wait.needs).is_some()
        })
    }

    /// Whether a rank has ended, or waits and nothing has come of it yet.
    pub(in crate::transport) fn is_at_rest(&self, rank: Rank, asleep: impl Fn() -> bool) -> bool {
        match &self.pages[rank] {
            Page { end: Some(_), .. } => true,
            Page {
                wait: Some(wait), ..
            } => asleep() && !wait.is_over(),
            _ => false,
        }
    }

    fn living(&self) -> impl Iterator<Item = (Rank, &Wait)> {
        let pages = self.pages.iter().enumerate();
        let living = pages.filter(|(_, page)| page.end.is_none());
        living.filter_map(|(rank, page)| Some((rank, page.wait.as_ref()?)))
    }

    /// The ways on for what ranks wait for; where there is none, those for what they have posted besides.
    pub(in crate::transport) fn ways(&self) -> Vec<Way> {
        let of = |lines: fn(&Eligible) -> &[Line]| {
            let all = self
                .living()
                .filter_map(|(rank, wait)| Some((rank, wait.choice.as_ref()?)));
            let ways = all.flat_map(|(rank, eligible)| {
                let lines = lines(eligible).iter();
                lines.map(move |&line| Way { rank, line })
            });
            ways.collect::<Vec<_>>()
        };
        let ways = of(|eligible| &eligible.lines);
        if ways.is_empty() {
            of(|eligible| &eligible.other)
        } else {
            ways
        }
    }

    pub(in crate::transport) fn eligible(&self, rank: Rank) -> Option<&Eligible> {
        self.pages[rank].wait.as_ref()?.choice.as_ref()
    }

    /// The call of a rank that waits.
    pub(in crate::transport) fn call_of(&self, rank: Rank) -> (String, Site) {
        let wait = self.pages[rank].wait.as_ref();
        let wait = wait.expect("who has a way on waits");
        (wait.call.clone(), wait.site)
    }

    /// Who awaits any message, and a rank that might have sent one has failed.
    pub(in crate::transport) fn hopeless(&self) -> impl Iterator<Item = (Rank, Cause)> {
        let choosing = self.living().filter(|(_, wait)| wait.choice.is_some());
        choosing.filter_map(|(rank, wait)| Some((rank, self.lost_cause(rank, &wait.needs)?)))
    }

    pub(in crate::transport) fn tell(&mut self, rank: Rank, cause: Cause) {
        self.pages[rank].verdict = Some(cause);
    }

    /// The ranks that wait with a deadline.
    pub(in crate::transport) fn with_deadline(&self) -> impl Iterator<Item = Rank> {
        let waiting = self.living().filter(|(_, wait)| wait.ends_by_itself);
        waiting.map(|(rank, _)| rank)
    }
}

impl Fabric {
    /// Puts `me` to sleep: `Ok(None)` means that it must park now. Anything else and it is up again,
    /// with what it was looking for, or with the reason why that will not come.
    pub(crate) fn lie_down<R>(
        &self,
        me: Rank,
        wait: impl FnOnce() -> Wait,
        mut look: impl FnMut() -> Option<R>,
    ) -> Result<Option<R>, Error> {
        let mut book = self.open_book();
        if let Some(end) = book.end(me) {
            // A destructor that waits while its rank unwinds: the others know already that it is gone.
            return look().map(Some).ok_or_else(|| end.gone(me).into());
        }
        // Relaxed: the fence in `lie_down` orders it before the look at the ends.
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.doors[me].sleeper.lie_down();
        // Who returns after this sees that somebody waits, and comes to the book.
        self.take_in_ends(&mut book);
        // The look comes after that: a rank that has ended posted all it had before that.
        let (mut found, mut described) = (look(), None);
        if found.is_none() {
            let wait = wait();
            if wait.needs.is_nothing() {
                // It came after the look, perhaps from a rank in another call, which does not know that this one needs
                // it and so does not wake it.
                found = look();
            }
            described = Some(wait);
        }
        let answer = match (found, described) {
            (None, Some(wait)) => self.may_sleep(&mut book, me, wait).map_or(Ok(None), Err),
            (found, _) => Ok(found),
        };
        if !matches!(answer, Ok(None)) {
            self.rise(&mut book, me);
        }
        answer
    }

    /// `me` is up again: what others decided about it meanwhile.
    pub(crate) fn get_up(&self, me: Rank) -> Option<Error> {
        let mut book = self.open_book();
        self.rise(&mut book, me);
        book.pages[me].verdict.take().map(Error::from)
    }

    fn rise(&self, book: &mut Book, me: Rank) {
        book.pages[me].wait = None;
        book.pages[me].bound = None;
        self.doors[me].sleeper.get_up();
        // Relaxed: who reads it late opens the book for nothing.
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Writes the wait down; the reason not to sleep, if there is one.
    fn may_sleep(&self, book: &mut Book, me: Rank, wait: Wait) -> Option<Error> {
        if let Some(cause) = wait.broken() {
            return Some(cause.clone().into());
        }
        if wait.choice.is_none()
            && let Some(gone) = book.lost(me, &wait.needs)
        {
            return Some(gone);
        }
        book.pages[me].wait = Some(wait);
        let Some(found) = self.find_stuck(book, me) else {
            self.steer(book);
            return None;
        };
        self.sentence(book, me, found)
    }

    /// Puts `me` to sleep in a wait without a way out; whether what it waits for is there after all, and it is up.
    ///
    /// If it is one of a set of ranks that can never move, those of them that have a way out are told.
    pub(crate) fn lie_down_bound(
        &self,
        me: Rank,
        since: Instant,
        needs: impl FnOnce() -> Needs,
        done: impl FnOnce() -> bool,
    ) -> bool {
        let mut book = self.open_book();
        // Relaxed: as in `lie_down`.
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.doors[me].sleeper.lie_down();
        if done() {
            self.rise(&mut book, me);
            return true;
        }
        book.pages[me].bound = Some((needs(), since));
        // A rank that unwinds counts as ended.
        if book.end(me).is_none()
            && let Some(found) = self.find_stuck(&mut book, me)
        {
            self.sentence(&mut book, me, found);
        }
        false
    }

    /// `me` is up again from such a wait.
    pub(crate) fn get_up_bound(&self, me: Rank) {
        self.rise(&mut self.open_book(), me);
    }

    /// The ranks that can never move, if `me` is among them and any of them has a way out, and why.
    fn find_stuck(&self, book: &mut Book, me: Rank) -> Option<(Cause, Vec<Rank>)> {
        let states = self.states(book);
        let stuck = wait_for_graph::stuck(&states, me)?;
        let cycle = wait_for_graph::cycle(&states, &stuck);
        let has_way_out = |rank: &Rank| book.pages[*rank].wait.is_some();
        let ways_out: Vec<Rank> = stuck.iter().copied().filter(has_way_out).collect();
        if ways_out.is_empty() {
            return None;
        }
        let mismatch = self.mismatch(book, &ways_out);
        Some(mismatch.unwrap_or_else(|| (self.deadlock(book, &stuck, cycle), ways_out)))
    }

    fn states<'a>(&self, book: &'a Book) -> Vec<State<'a>> {
        let state = |(rank, page): (Rank, &'a Page)| match page {
            Page { end: Some(_), .. } => State::Ended,
            Page {
                wait: Some(wait), ..
            } if self.doors[rank].sleeper.asleep()
                && !wait.ends_by_itself
                && !wait.is_over()
                && !book.may_choose(rank, wait) =>
            {
                State::Waiting(&wait.needs)
            }
            Page {
                bound: Some((needs, _)),
                ..
            } if self.doors[rank].sleeper.asleep() && !book.unwinds_among(needs) => {
                State::Waiting(needs)
            }
            _ => State::Running,
        };
        book.pages.iter().enumerate().map(state).collect()
    }

    /// Tells `ranks` why they are woken; `me` gets its own copy as the answer.
    fn sentence(
        &self,
        book: &mut Book,
        me: Rank,
        (cause, ranks): (Cause, Vec<Rank>),
    ) -> Option<Error> {
        for &rank in ranks.iter().filter(|&&rank| rank != me) {
            book.pages[rank].verdict = Some(cause.clone());
            self.doors[rank].sleeper.rouse();
        }
        ranks.contains(&me).then(|| cause.into())
    }

    fn deadlock(&self, book: &mut Book, stuck: &[Rank], cycle: Vec<Rank>) -> Cause {
        let rows = stuck
            .iter()
            .filter_map(|&rank| Some((rank, book.pages[rank].wait.as_ref()?)));
        let row = |(rank, wait): (Rank, &Wait)| Stuck {
            rank,
            call: wait.call.clone(),
            site: wait.site,
            comm: wait.comm_name(),
            note: (!cycle.contains(&rank)).then(|| self.note(book, &wait.needs)),
            needs_buffer: wait.needs_buffer,
        };
        let others = book.pages.len() - stuck.len() - book.ended;
        let knot = Arc::new(Deadlock {
            stuck: rows.map(row).collect(),
            others,
            cycle: cycle.clone(),
            unreceived: None,
        });
        book.deadlocks.push(knot.clone());
        Cause::Deadlock(knot)
    }

    /// What a rank outside the cycle waits for.
    fn note(&self, book: &Book, needs: &Needs) -> String {
        match needs {
            Needs::One(one) => format!("waits for rank {one}"),
            Needs::Any(_) if book.ended + 1 >= book.pages.len() => {
                "every other rank has ended".into()
            }
            Needs::Any(_) => "no rank that could send will come".into(),
            Needs::All(_)
            | Needs::Gate(..)
            | Needs::Shrink(..)
            | Needs::Every(_)
            | Needs::Either(_) => "waits for ranks that will not come".into(),
        }
    }

    /// Collective calls among the stuck that do not match, with the ranks that are in that communicator.
    ///
    /// It breaks the communicator, unless other ranks may still come and decide who is odd: then a rank that is told
    /// waits for those before it fails.
    fn mismatch(&self, book: &Book, stuck: &[Rank]) -> Option<(Cause, Vec<Rank>)> {
        let collective = |rank: &Rank| book.pages[*rank].wait.as_ref()?.call();
        let (comm, found) = stuck
            .iter()
            .filter_map(collective)
            .find_map(|(comm, number)| Some((comm.clone(), self.compare_back(comm, number)?)))?;
        let cause = Cause::Mismatch(Arc::new(found.mismatch));
        if found.awaited.is_empty() {
            comm.cause.get_or_init(|| cause.clone());
        }
        let inside =
            |rank: &&Rank| collective(rank).is_some_and(|(theirs, _)| Arc::ptr_eq(theirs, &comm));
        Some((cause, stuck.iter().filter(inside).copied().collect()))
    }

    /// Opens the book, with the ends of ranks that have just [left](Self::record_return).
    pub(crate) fn open_book(&self) -> impl DerefMut<Target = Book> {
        let mut book = self.book.lock();
        self.take_in_ends(&mut book);
        book
    }

    /// Writes down who has returned and said so at its door only.
    fn take_in_ends(&self, book: &mut Book) {
        let run = self.run();
        for (rank, door) in self.doors.iter().enumerate() {
            if book.pages[rank].end.is_none() && door.sleeper.has_left(run) {
                book.write_end(rank, Gone::Returned, None, None);
            }
        }
    }

    /// A rank has returned, and waits for nothing any more; only the first record of its end counts. Whoever needs it
    /// is woken.
    ///
    /// Mostly nobody does, and the book stays closed: the rank says at its door that it is gone, and looks whether
    /// somebody lies asleep. See the head for why nobody who goes to sleep meanwhile misses it.
    pub(crate) fn record_return(&self, rank: Rank) {
        self.record_return_in(self.run(), rank);
    }

    /// The same by a rank that knows the present run.
    #[inline]
    pub(crate) fn record_return_in(&self, run: Run, rank: Rank) {
        let sleeper = &self.doors[rank].sleeper;
        if self.is_steered() {
            return self.record_end(rank, Gone::Returned, None, None);
        }
        if sleeper.is_gone(run) {
            return;
        }
        sleeper.depart(run);
        // Pairs with the heavy half in `Sleeper::lie_down`, between the count of `waiting` and the look at the ends.
        fences::light();
        // Relaxed: the fence orders it.
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.wake_if(&self.open_book(), |wait| wait.needs.involves(rank));
        }
    }

    /// A rank has ended; only the first record of it counts. Whoever needs it is woken.
    pub(crate) fn record_end(
        &self,
        rank: Rank,
        why: Gone,
        site: Option<Arc<str>>,
        follows: Option<Cause>,
    ) {
        let mut book = self.open_book();
        if book.pages[rank].end.is_some() {
            return;
        }
        book.write_end(rank, why, site, follows);
        self.doors[rank].sleeper.depart(self.run());
        self.wake_if(&book, |wait| wait.needs.involves(rank));
        self.steer(&mut book);
    }

    /// The error for a rank that is not there any more.
    pub(crate) fn gone(&self, rank: Rank) -> Error {
        let cause = self.open_book().end(rank).map(|end| end.cause(rank));
        let returned = || Cause::Gone {
            rank,
            why: Gone::Returned,
            site: None,
        };
        cause.unwrap_or_else(returned).into()
    }

    /// Whether a rank that has ended failed, as the error for those who send to it.
    pub(crate) fn check_failed(&self, rank: Rank) -> Result<(), Error> {
        let returned = self
            .open_book()
            .end(rank)
            .is_none_or(|end| end.why == Gone::Returned);
        if returned {
            Ok(())
        } else {
            Err(self.gone(rank))
        }
    }

    /// A collective failed: all members inside one get to know.
    pub(crate) fn break_comm(&self, comm: &Arc<CommShared>, error: &Error, rank: Rank) {
        comm.cause.get_or_init(|| Cause::of(error, rank));
        let inside = |wait: &Wait| {
            let call = wait.call();
            call.is_some_and(|(theirs, _)| Arc::ptr_eq(theirs, comm))
        };
        self.wake_if(&self.open_book(), inside);
    }

    /// Nothing goes on in a communicator any more: all members inside any call of it get to know.
    pub(crate) fn revoke_comm(&self, comm: &Arc<CommShared>, rank: Rank) {
        let left = || Cause::Other {
            rank,
            error: "this rank has left it, with those that live".into(),
        };
        let cause = comm.cause.get_or_init(left).clone();
        comm.revoked.get_or_init(|| cause);
        let inside = |wait: &Wait| wait.comms().any(|theirs| Arc::ptr_eq(theirs, comm));
        self.wake_if(&self.open_book(), inside);
    }

    /// Tells everybody who waits for the living members of a communicator that one more has come.
    pub(crate) fn rouse_shrinking(&self, context: u32) {
        let waits =
            |wait: &Wait| matches!(wait.needs, Needs::Shrink((theirs, ..), _) if theirs == context);
        self.wake_if(&self.open_book(), waits);
    }

    fn wake_if(&self, book: &Book, concerned: impl Fn(&Wait) -> bool) {
        for (page, door) in book.pages.iter().zip(&self.doors) {
            if page.wait.as_ref().is_some_and(&concerned) {
                door.sleeper.rouse();
            }
        }
    }

    /// Where every rank is, and what it did last: for the watchdog, where `own` is the wait that took too
    /// long, and for whoever asks from outside.
    pub(crate) fn picture(&self, own: Option<(Rank, &Wait)>) -> String {
        let book = self.open_book();
        let now = Duration::from_nanos(self.clock().exact());
        let names = self.names();
        let lines = (0..self.doors.len()).flat_map(|rank| {
            let recent = self.recent(rank, &names);
            let line = self.whereabouts(&book, rank, own, recent.last());
            let line = format!("  rank {rank}  {line}");
            iter::once(line).chain(lines_before(&recent, now))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn whereabouts(
        &self,
        book: &Book,
        rank: Rank,
        own: Option<(Rank, &Wait)>,
        last: Option<&Operation>,
    ) -> String {
        match (&book.pages[rank], own) {
            (_, Some((me, mine))) if rank == me => waiting(mine),
            (Page { end: Some(end), .. }, _) => end.why.to_string(),
            (
                Page {
                    wait: Some(wait), ..
                },
                _,
            ) => waiting(wait),
            (
                Page {
                    bound: Some((needs, since)),
                    ..
                },
                _,
            ) => bound(needs, *since),
            (_, Some((_, mine))) => self.awake(rank, mine, last),
            (_, None) => "running".into(),
        }
    }

    /// The last operations of a rank, if they are recorded.
    fn recent(&self, rank: Rank, names: &Names) -> Vec<Operation> {
        let record = self.doors[rank].record.get();
        let recent = record.map(|record| record.recent(rank, names));
        recent.unwrap_or_default()
    }

    /// A rank that is not asleep in one of our calls; `last` is the last operation that it wrote down.
    fn awake(&self, rank: Rank, mine: &Wait, last: Option<&Operation>) -> String {
        let before = mine.begun.get(rank);
        if before != Some(&self.doors[rank].begun()) {
            return "running".into();
        }
        let quiet = round(mine.since.elapsed());
        match last {
            // It runs an operator of the user's, or its own patience has just ended.
            Some(last) if last.progress == Progress::Inside => {
                format!(
                    "inside {}, awake: it has begun nothing else for {quiet:.1?}",
                    last.place()
                )
            }
            _ if self.settings.record => format!("outside rankfold for at least {quiet:.1?}"),
            _ => format!("awake, and has begun no operation for at least {quiet:.1?}"),
        }
    }
}

/// A few of the last operations of a rank, a line each.
fn lines_before(recent: &[Operation], now: Duration) -> Vec<String> {
    const SHOWN: usize = 3;
    lines(recent, SHOWN, now, |time| format!("{time} ago"))
}

fn bound(needs: &Needs, since: Instant) -> String {
    let of = match needs {
        Needs::One(rank) => format!("rank {rank} no longer uses"),
        Needs::All(ranks) => format!("ranks {ranks:?} no longer use"),
        _ => "others no longer use".into(),
    };
    let waited = round(since.elapsed());
    format!("through with its part of a call, waits until {of} its memory, for {waited:.1?}")
}

fn waiting(wait: &Wait) -> String {
    let on = on(wait.comm_name().as_deref());
    let time = round(wait.since.elapsed());
    format!("{} at {}{on}, for {time:.1?}", wait.call, wait.site)
}

fn round(time: Duration) -> Duration {
    Duration::from_millis(time.as_millis() as u64)
}

#[cfg(all(test, not(loom)))]
impl Wait {
    /// A wait of which only this is known.
    fn for_needs(needs: Needs) -> Wait {
        Wait {
            call: String::new(),
            site: std::panic::Location::caller(),
            needs,
            ends_by_itself: false,
            comm: None,
            also: Vec::new(),
            collective: None,
            turn: None,
            choice: None,
            needs_buffer: false,
            since: Instant::now(),
            begun: Vec::new(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::transport::Settings;

    /// What a rank waits for may come between its look and the description of its wait, from a rank in another call
    /// that does not wake it.
    #[test]
    fn a_rank_that_needs_nothing_any_more_looks_again_and_does_not_sleep() {
        let fabric = Fabric::new(2, Settings::default());
        let wait = || Wait::for_needs(Needs::All(Vec::new()));
        let mut looks = 0;
        let look = || {
            looks += 1;
            (looks > 1).then_some(())
        };
        assert!(matches!(fabric.lie_down(0, wait, look), Ok(Some(()))));
    }
}
