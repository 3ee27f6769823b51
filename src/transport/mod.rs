//! How bytes move between ranks, and how ranks wait. Knows neither steps nor trees.
//!
//! - [`packet`](memory::packet) one message: eager, lent or owned
//! - [`head`](memory::head) what a packet says of itself; [`lend`](memory::lend) and [`loan`](memory::loan) the guards around lent memory, and the
//!   word that decides who may touch it
//! - [`cooperative_copy`](memory::cooperative_copy) both ends of a long loan copy it, [`copy_claims`](memory::copy_claims) the words by which they do
//! - [`receipt`](memory::receipt) of a message whose sender waits until it is received; [`eager_limit`](memory::eager_limit) how much is kept without
//! - [`mailbox`](matching::mailbox) what a rank receives: matching, order, messages that came early; [`posted_receives`](matching::posted_receives) receives that
//!   wait for their messages
//! - [`fast_box`](memory::fast_box) a way past the mailbox for whoever talks most; [`incoming`](matching::incoming) both ways in one order
//! - [`lane`](lanes::lane) the ways of collective packets, one direction between two ranks each, and those that are
//!   channels; [`slot`](memory::slot), [`slot_words`](memory::slot_words) and [`slot_lanes`](lanes::slot_lanes) those that are cache lines; [`lanes`](lanes) which a communicator has
//! - [`epoch`](memory::epoch) the words of a call in which ranks touch each other's memory; [`shared_vectors`](memory::shared_vectors) the guards around
//!   it, and what is done with the pointers
//! - [`cells`](memory::cells) places that one rank writes and all may read, for short vectors
//! - [`board`](communicator::board) what all ranks see: the gate of a barrier, records of collective calls
//! - [`recorder`](trace::recorder) how a rank writes down what it does; [`record`](trace::record) what others may read of it; [`event_ring`](trace::event_ring) its
//!   last operations, [`clock`](trace::clock) their times
//! - [`members`](communicator::members) who belongs to a communicator; [`shrink`](communicator::shrink) how the living leave the dead behind
//! - [`sleeper`](progress::sleeper) the flag and bell of a rank, and the hand-shake that loses no post; [`fences`](memory::fences) what orders it
//! - [`wait`](progress::wait) the one wait loop: spin, yield, park; [`cpu_collision`](progress::cpu_collision) how ranks that wait on one CPU part
//! - [`job_slot`](reuse::job_slot) how a thread that stays is given its next job; [`fabric_reuse`](reuse::fabric_reuse) what is used again for the next run
//! - [`scheduler`](matching::scheduler) worlds in which it is chosen who comes first
//! - [`wait_for_graph`](deadlock::wait_for_graph) who can never move again; [`registry`](deadlock::registry) the book of waits and ends around it; [`mismatch`](deadlock::mismatch) whose collective
//!   calls differ from the others'
//! - [`origin`](communicator::origin) where a communicator comes from, for reports

pub(crate) mod communicator;
pub(crate) mod deadlock;
pub(crate) mod lanes;
#[cfg(all(test, loom))]
mod loom_models;
pub(crate) mod matching;
pub(crate) mod memory;
pub(crate) mod progress;
pub(crate) mod reuse;
pub(crate) mod trace;

use std::any::Any;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use crossbeam_utils::CachePadded;

use crate::Rank;
use crate::error::{Cause, Site, on};
use crate::machine::Near;
use crate::sync::{AtomicU32, AtomicU64, Mutex, Ordering, Parker};
use crate::unwind;
use communicator::board::{CallLog, Gate, Verdict};
use communicator::members::Members;
use communicator::origin::{Former, Names, Origin};
use communicator::shrink::Shrinking;
use deadlock::registry::Book;
use lanes::{Books, Make};
use matching::incoming::Incoming;
use matching::mailbox::Inbox;
use matching::scheduler::{Chooser, Steering};
use memory::cells::{Cells, Desk};
use memory::copy_claims::Joint;
use memory::eager_limit::{Account, Buffering, Charge};
use memory::epoch::Meeting;
use memory::fast_box::Hatch;
use memory::lend::Lenders;
use memory::loan::LoanWord;
use memory::packet::Packet;
use progress::cpu_collision::Spots;
use progress::sleeper::{Run, Sleeper};
use progress::wait::Port;
use trace::clock::Clock;
use trace::record::Record;
use trace::recorder::Scribe;

/// Everything that the ranks of one world share.
pub(crate) struct Fabric {
    doors: Box<[Arc<Door>]>,
    /// To be opened by [`open_book`](Self::open_book).
    book: Mutex<Book>,
    /// How many ranks have lain down with a page in the book.
    waiting: CachePadded<AtomicU32>,
    /// The communicator of all ranks.
    pub(crate) all: Arc<CommShared>,
    /// All communicators that somebody may still hold, or that have something to tell.
    comms: parking_lot::Mutex<Vec<Arc<CommShared>>>,
    /// The names of those that are forgotten. Locked after `comms`, where both are.
    former: parking_lot::Mutex<Former>,
    /// The next context that no communicator has.
    contexts: std::sync::atomic::AtomicU32,
    pub(crate) settings: Settings,
    present: CachePadded<Present>,
    /// Of its first run.
    clock: Clock,
    /// Only where somebody chooses who comes first.
    steering: Option<Steering>,
    /// Requests that nobody saw to their end.
    pub(crate) unfinished: parking_lot::Mutex<Vec<Unfinished>>,
    /// Whether a panic of this world has been printed.
    pub(crate) printed: Arc<AtomicBool>,
}

/// What begins anew with each run: apart from all else, which ranks read and nobody writes.
struct Present {
    run: progress::sleeper::Present,
    /// When it began, as the clock's [note](Clock::note) has it.
    begin: AtomicU64,
}

/// A request of a rank that was neither waited for nor cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfinished {
    /// The rank that made it.
    pub rank: Rank,
    /// What was asked for, as it prints.
    pub call: String,
    /// The line of that call.
    pub site: Site,
    /// The communicator, as `dup of world at src/main.rs:7:20`; `None`: the world.
    pub comm: Option<Arc<str>>,
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unfinished {
            rank, call, site, ..
        } = self;
        write!(
            f,
            "rank {rank}, {call} at {site}{}",
            on(self.comm.as_deref())
        )
    }
}

/// What holds for the whole world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// CPUs that the ranks share among them; 0: unknown yet.
    pub cpus: usize,
    /// The watchdog's patience with one wait.
    pub timeout: Option<Duration>,
    /// Whether every collective begins with a round of agreement.
    pub check: bool,
    /// Whether the last operations of each rank are kept.
    pub record: bool,
    /// Whether everything is.
    pub trace: bool,
    /// Failures asked for: in this rank, at this operation.
    pub faults: Vec<(Rank, u64, Fault)>,
    /// Who chooses among messages that could be received; `None`: whoever is first.
    pub chooser: Option<Arc<dyn Chooser>>,
    /// For reports, and for what is drawn at random.
    pub seed: Option<u64>,
    /// How much is kept of what is sent.
    pub buffering: Buffering,
    /// What the lanes of collectives are made of.
    pub lanes: Make,
    /// Which part of the machine each rank is in.
    pub near: Arc<Near>,
    /// Where the ranks wait, if they may have to part.
    pub spots: Option<Arc<Spots>>,
    /// What the layers above look at when they choose an algorithm, the same for all ranks.
    pub tuning: Option<Arc<dyn Any + Send + Sync>>,
}

/// A failure that a test asks for, see [`World::inject`](crate::World::inject).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The operation panics.
    Panic,
    /// The operation fails with [`ErrorKind::Injected`](crate::ErrorKind::Injected).
    Error,
    /// The rank's closure ends there and then, as if it had returned early.
    Return,
    /// The rank sleeps for some milliseconds before it goes on, so that the others overtake it.
    Delay,
}

/// What a communicator's members share.
pub(crate) struct CommShared {
    /// Even: point-to-point; plus one: collectives.
    pub context: u32,
    pub members: Members,
    pub origin: Arc<Origin>,
    /// Theirs, in the same order.
    doors: Box<[Arc<Door>]>,
    pub gate: Gate,
    pub lanes: Books,
    meeting: OnceLock<Meeting>,
    /// Made when somebody first writes there.
    pub cells: OnceLock<Arc<Cells>>,
    /// What the examination of the present call has found.
    pub verdict: parking_lot::Mutex<Verdict>,
    /// Why the communicator is broken, once it is: its collectives fail with this.
    pub cause: OnceLock<Cause>,
    /// Why nothing at all goes on here any more, once somebody leaves the dead behind.
    pub revoked: OnceLock<Cause>,
    pub shrinking: Shrinking,
    /// What the layers above have worked out about the members, once for all of them.
    pub levels: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl CommShared {
    fn new(
        context: u32,
        members: Members,
        origin: Arc<Origin>,
        all: &[Arc<Door>],
    ) -> Arc<CommShared> {
        Arc::new(CommShared {
            context,
            origin,
            doors: members.iter().map(|rank| all[rank].clone()).collect(),
            members,
            gate: Gate::new(),
            lanes: Books::default(),
            meeting: OnceLock::new(),
            cells: OnceLock::new(),
            verdict: Default::default(),
            cause: OnceLock::new(),
            revoked: OnceLock::new(),
            shrinking: Shrinking::new(),
            levels: OnceLock::new(),
        })
    }

    /// Its name, unless it is the world.
    pub(crate) fn name(&self) -> Option<Arc<str>> {
        self.origin.name()
    }

    /// Where its ranks meet to touch each other's memory; made for the first who come.
    #[inline]
    pub(crate) fn meeting(&self) -> &Meeting {
        self.meeting
            .get_or_init(|| Meeting::new(self.members.size()))
    }

    /// Whether a member has not ended in that run, the present one.
    #[inline]
    pub(crate) fn is_there(&self, member: Rank, run: Run) -> bool {
        !self.doors[member].sleeper.is_gone(run)
    }

    /// Wakes a member that sleeps, after something was put where it looks.
    #[inline]
    pub(crate) fn rouse(&self, member: Rank) {
        self.doors[member].sleeper.rouse();
    }

    /// The same for all members but this one.
    #[inline]
    pub(crate) fn rouse_others(&self, me: Rank) {
        // One fence for all: pairs with the heavy half in `Sleeper::lie_down`.
        memory::fences::light();
        self.rouse_others_fenced(me);
    }

    /// The same after a fence that followed what they wait for.
    #[inline]
    pub(crate) fn rouse_others_fenced(&self, me: Rank) {
        let others = self.doors.iter().enumerate();
        let others = others.filter(|(member, _)| *member != me);
        others.for_each(|(_, door)| door.sleeper.rouse_fenced());
    }

    /// Wakes whoever waits for the rank at this desk to leave a call, after it has.
    #[inline]
    pub(crate) fn after_leaving(&self, desk: &Desk) {
        // Pairs with the one in `Sleeper::lie_down`: who sleeps there has said before that it waits.
        memory::fences::light();
        if desk.is_awaited() {
            self.rouse_others_fenced(desk.me());
        }
    }
}

impl CommShared {
    /// A rank's end of the cells; once for each.
    pub(crate) fn desk(&self, me: Rank) -> Desk {
        let new = || Arc::new(Cells::new(self.members.size()));
        Desk::new(self.cells.get_or_init(new).clone(), me)
    }

    /// Whether it is known that nothing is left in a cell that somebody should have read.
    fn all_was_read(&self) -> bool {
        let agree =
            |cells: &Arc<Cells>| cells.ends().is_some_and(|ends| memory::cells::agree(&ends));
        self.cells.get().is_none_or(agree)
    }
}

/// What others see of one rank.
struct Door {
    /// Until its rank enters.
    parker: parking_lot::Mutex<Option<Parker>>,
    mail: Sender<Packet>,
    /// The other end, kept so that messages nobody received can be counted at the end.
    left: Receiver<Packet>,
    /// The way past it.
    hatch: Arc<Hatch>,
    sleeper: CachePadded<Sleeper>,
    loan: CachePadded<LoanWord>,
    /// Where a borrower lets this rank help to copy what it has lent.
    joint: CachePadded<Joint>,
    tally: CachePadded<Tally>,
    log: CachePadded<CallLog>,
    /// What is kept for it, where that has a limit.
    account: Account,
    /// What the rank does, from when it enters, if that is to be written down.
    record: OnceLock<Arc<Record>>,
}

impl Door {
    fn new(parker: Parker) -> Self {
        let (mail, left) = unbounded();
        Door {
            mail,
            left,
            hatch: Hatch::new(),
            sleeper: CachePadded::new(Sleeper::new(&parker)),
            parker: parking_lot::Mutex::new(Some(parker)),
            loan: CachePadded::new(LoanWord::new()),
            joint: CachePadded::new(Joint::new()),
            tally: CachePadded::new(Tally::new()),
            log: CachePadded::new(CallLog::new()),
            account: Account::new(),
            record: OnceLock::new(),
        }
    }

    /// The receiving end of all that comes here. There may be one at a time.
    fn inbox(&self) -> Inbox {
        Inbox::new(Incoming::new(self.left.clone(), self.hatch.clone()))
    }

    #[inline]
    fn begun(&self) -> u64 {
        // Relaxed: a reading for reports.
        self.tally.begun.load(Ordering::Relaxed)
    }
}

/// What a rank has done so far. Only the rank writes it; all accesses are relaxed, readings for reports.
struct Tally {
    /// Operations begun.
    begun: AtomicU64,
    /// Messages of elements sent.
    messages: AtomicU64,
    /// The bytes in them.
    bytes: AtomicU64,
    /// Waits so long that it went to sleep.
    sleeps: AtomicU64,
    /// Nanoseconds in waits, after spinning was given up.
    waited: AtomicU64,
}

impl Tally {
    fn new() -> Self {
        Tally {
            begun: AtomicU64::new(0),
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            sleeps: AtomicU64::new(0),
            waited: AtomicU64::new(0),
        }
    }

    /// All of it, in the order that [`Fabric::tallies`] tells.
    fn counts(&self) -> [&AtomicU64; 5] {
        let Tally {
            begun,
            messages,
            bytes,
            sleeps,
            waited,
        } = self;
        [begun, messages, bytes, sleeps, waited]
    }

    /// Adds to a count without a locked instruction: nobody else does.
    #[inline]
    fn add(count: &AtomicU64, more: u64) {
        count.store(count.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    #[inline]
    fn sent(&self, bytes: usize) {
        Tally::add(&self.messages, 1);
        Tally::add(&self.bytes, bytes as u64);
    }
}

impl Fabric {
    /// A fabric for `ranks` ranks.
    pub(crate) fn new(ranks: usize, settings: Settings) -> Arc<Fabric> {
        memory::fences::prepare();
        let door = |_| Arc::new(Door::new(Parker::new()));
        let doors: Box<[_]> = (0..ranks).map(door).collect();
        let clock = Clock::new();
        let present = CachePadded::new(Present {
            run: progress::sleeper::Present::new(),
            begin: AtomicU64::new(clock.note()),
        });
        let all = CommShared::new(0, Members::All(ranks), Origin::world(), &doors);
        Arc::new(Fabric {
            doors,
            waiting: CachePadded::new(AtomicU32::new(0)),
            printed: Arc::default(),
            book: Mutex::new(Book::new(ranks)),
            comms: parking_lot::Mutex::new(vec![all.clone()]),
            former: Default::default(),
            contexts: std::sync::atomic::AtomicU32::new(2),
            all,
            steering: settings
                .chooser
                .clone()
                .map(|chooser| Steering::new(chooser, ranks)),
            settings,
            unfinished: Default::default(),
            present,
            clock,
        })
    }

    /// The clock of the present run.
    pub(crate) fn clock(&self) -> Clock {
        // Relaxed: it changes while no rank runs.
        let begin = self.present.begin.load(Ordering::Relaxed);
        self.clock.beginning(begin)
    }

    #[inline]
    fn run(&self) -> Run {
        self.present.run.run()
    }

    /// A communicator of some of the ranks, with a context of its own.
    pub(crate) fn new_comm(&self, members: Members, origin: Arc<Origin>) -> Arc<CommShared> {
        // Relaxed: the number alone counts.
        let context = self.contexts.fetch_add(2, Ordering::Relaxed);
        let comm = CommShared::new(context, members, origin, &self.doors);
        let mut comms = self.comms.lock();
        self.sweep(&mut comms);
        comms.push(comm.clone());
        comm
    }

    /// Forgets the communicators that nobody holds and that have nothing to tell.
    fn sweep(&self, comms: &mut Vec<Arc<CommShared>>) {
        let forgotten = |comm: &Arc<CommShared>| Arc::strong_count(comm) == 1;
        let silent = |comm: &CommShared| {
            comm.cause.get().is_none() && comm.lanes.is_empty() && comm.all_was_read()
        };
        comms.retain(|comm| {
            let over = forgotten(comm) && silent(comm);
            if over {
                self.former.lock().add(comm.context, comm.origin.clone());
            }
            !over
        });
    }

    /// The first failure asked for in this rank after that many operations.
    pub(crate) fn next_fault(&self, me: Rank, after: u64) -> (u64, Fault) {
        let faults = self.settings.faults.iter();
        let mine = faults.filter(|(rank, at, _)| *rank == me && *at > after);
        let next = mine.min_by_key(|(_, at, _)| *at);
        next.map_or((u64::MAX, Fault::Error), |&(_, at, fault)| (at, fault))
    }

    /// The communicators that somebody holds, or that have something to tell.
    pub(crate) fn comms(&self) -> Vec<Arc<CommShared>> {
        self.comms.lock().clone()
    }

    /// What communicators are called, as far as anything may name them still.
    pub(crate) fn names(&self) -> Names {
        // No communicator is cloned: the caller may hold the book, and must not drop the last of one.
        let comms = self.comms.lock();
        let living = comms.iter().map(|comm| (comm.context, &comm.origin));
        Names::of(living.chain(self.former.lock().iter()))
    }

    /// What each rank has done: operations begun, messages of elements sent, the bytes in them, sleeps,
    /// nanoseconds waited.
    pub(crate) fn tallies(&self) -> impl Iterator<Item = [u64; 5]> {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let doors = self.doors.iter();
        doors.map(move |door| door.tally.counts().map(read))
    }

    /// The place of `rank` in it; once for each.
    ///
    /// # Panics
    ///
    /// If somebody has it already.
    pub(crate) fn port(self: &Arc<Self>, rank: Rank) -> Port {
        let parker = self.doors[rank].parker.lock().take();
        let parker = parker.expect("a rank has one port");
        Port::new(
            self.clone(),
            rank,
            parker,
            self.doors[rank].inbox().steered(self.is_steered()),
        )
    }

    /// How many ranks the world has.
    #[cfg(all(unix, feature = "signal"))]
    pub(crate) fn ranks(&self) -> usize {
        self.doors.len()
    }

    /// What each rank has left to read, if it has entered.
    pub(crate) fn records(&self) -> impl Iterator<Item = Option<Arc<Record>>> {
        self.doors.iter().map(|door| door.record.get().cloned())
    }

    /// The hand of `rank`, if something is to be written down.
    fn scribe(&self, rank: Rank) -> Scribe {
        let Settings { record, trace, .. } = self.settings;
        let new = || Arc::new(Record::new(record, trace));
        let wanted = (record || trace).then(|| self.doors[rank].record.get_or_init(new));
        Scribe::new(wanted.cloned(), self.clock())
    }

    /// Posts a packet and wakes its receiver if it sleeps. Answers whether the receiver was there before.
    #[inline]
    pub(crate) fn post(&self, to: Rank, packet: Packet) -> bool {
        if let Some(steering) = &self.steering {
            steering.posted(to, packet.head);
        }
        let door = &self.doors[to];
        // Asked before the post: after it the receiver may have taken the packet and ended well.
        let there = !door.sleeper.is_gone(self.run());
        // The receiving end lives as long as the door, so a send cannot fail.
        let _ = door.mail.send(packet);
        door.sleeper.rouse();
        there
    }

    /// Room for a message to `to`; `None`: there is none, and its sender must wait until it is received.
    pub(crate) fn charge(&self, to: Rank, limit: u64, bytes: usize) -> Option<Charge> {
        self.doors[to].account.charge(limit, bytes)
    }

    /// Whether the world has more ranks than they have CPUs.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.doors.len() > self.settings.cpus
    }

    /// Whether a rank has not ended.
    #[inline]
    pub(crate) fn is_there(&self, rank: Rank) -> bool {
        !self.doors[rank].sleeper.is_gone(self.run())
    }

    /// Leaves a packet at the door of a rank that has ended, for [`leftovers`](Self::leftovers).
    fn put_back(&self, rank: Rank, packet: Packet) {
        // The receiving end lives as long as the door, so a send cannot fail.
        let _ = self.doors[rank].mail.send(packet);
    }

    /// The messages nobody received, rank by rank, once all ranks have ended.
    pub(crate) fn leftovers(&self) -> Vec<(Rank, Packet)> {
        let of = |door: &Door| door.inbox().drain(self);
        let doors = self.doors.iter().enumerate();
        let mail =
            doors.flat_map(|(rank, door)| of(door).into_iter().map(move |packet| (rank, packet)));
        let comms = self.comms();
        let lanes = comms.iter().flat_map(|comm| {
            let left = comm.lanes.drain().into_iter();
            left.map(|(to, packet)| (comm.members.world(to), packet))
        });
        mail.chain(lanes.filter(|(_, packet)| !packet.is_dead(self)))
            .collect()
    }
}

impl Drop for Fabric {
    /// Drops what nobody received, message by message: a destructor of the user's that panics takes nothing
    /// else down with it.
    fn drop(&mut self) {
        for door in &self.doors {
            while let Ok(packet) = door.left.try_recv() {
                unwind::drop_quietly(packet);
            }
        }
    }
}

impl Lenders for Fabric {
    #[inline]
    fn word(&self, lender: Rank) -> &LoanWord {
        &self.doors[lender].loan
    }

    #[inline]
    fn joint(&self, lender: Rank) -> &Joint {
        &self.doors[lender].joint
    }

    fn settled(&self, lender: Rank) {
        self.doors[lender].sleeper.rouse();
    }
}
