//! The far ranks of one world: where they are, what is sent to them, how the world ends.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard};

use super::held::HeldMessages;
use super::judged::Judged;
use super::lanes_into::LanesInto;
use super::notes::{End, Hello, Writer};
use super::questions::Questions;
use super::receipts::Receipts;
use super::session::{Nap, Session, pause, session};
use super::silence::{Count, Silence};
use super::wire::{self, Envelope, Kind};
use crate::Rank;
use crate::error::{Cause, Deadlock, Gone};
use crate::mpi::Launched;
use crate::op::elements::Elements;
use crate::transport::communicator::members::Members;
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;
use crate::transport::trace::origin::Origin;
use crate::transport::trace::part::WorldPart;
use crate::transport::{CommShared, Fabric};

/// The bytes of the shortest message that is sent from where it is, unless its receiver's process shares memory.
const LENT_FROM: usize = 1 << 16;

/// The messages of near ranks after which what has arrived is taken in, or one that is long: a rank that only sends would
/// never hear that its receivers have ended.
const SENDS: u64 = 64;

/// The ranks of a world in other processes.
pub(crate) struct Far {
    pub(super) session: &'static Session,
    /// The number of the world among those of the session.
    pub(super) world: u32,
    /// A number that no other world has.
    mark: u64,
    /// The first rank of each process, and the number of all ranks.
    firsts: Vec<Rank>,
    pub(crate) near: Range<Rank>,
    /// The lanes into each near rank.
    pub(super) lanes: Box<[LanesInto]>,
    /// Why communicators have broken in other processes, by context.
    pub(super) broken: Mutex<HashMap<u32, Cause>>,
    /// Communicators that not all near members have taken, and how many have not.
    adopted: Mutex<HashMap<u32, (Arc<CommShared>, usize)>>,
    pub(super) receipts: Mutex<Receipts>,
    /// Held while it is told which messages were revoked.
    pub(super) revoking: Mutex<()>,
    /// Number of receipts of which far senders were not told.
    pub(super) owed: AtomicUsize,
    /// Of all ranks: whether a near one has told its end, and whether a far one's end was heard of.
    ended: Box<[AtomicBool]>,
    /// Of all ranks: whether an injected fault has ended it early.
    left_early: Box<[AtomicBool]>,
    closed: AtomicBool,
    released: AtomicBool,
    /// Why the world could not start in this process, if it could not.
    not_started: OnceLock<Arc<str>>,
    /// By process: number of messages sent to it, and received; those about silence are not counted.
    sent: Box<[AtomicU64]>,
    received: Box<[AtomicU64]>,
    /// The messages that near ranks have sent.
    posts: AtomicU64,
    pub(super) silence: Mutex<Silence>,
    /// Held while a rank decides what to say of silence and sends it: the other processes hear it in the order in which it
    /// was decided.
    saying: Mutex<()>,
    /// The last judgement, until it is told.
    pub(super) judged: Mutex<Option<Arc<Judged>>>,
    pub(super) held: HeldMessages,
    pub(super) questions: Questions,
    /// The deadlocks that were found here, until other processes are told.
    deadlocks: Mutex<Vec<Arc<Deadlock>>>,
}

impl Far {
    /// Opens a world of `hello.ranks` ranks here, together with all processes. Returns also what each of them brings.
    pub(crate) fn open(
        launched: &Launched,
        hello: &Hello,
    ) -> Result<(Arc<Far>, Vec<Hello>), String> {
        let session = session(launched)?;
        let (world, all) = session.open(hello)?;
        Ok((Arc::new(Far::new(session, world, &all)), all))
    }

    /// The world of this number, into which the processes bring these.
    pub(super) fn new(session: &'static Session, world: u32, all: &[Hello]) -> Far {
        let mut firsts = vec![0];
        firsts.extend(all.iter().scan(0, |sum, one| {
            *sum += one.ranks;
            Some(*sum)
        }));
        let me = session.processes.me;
        let near = firsts[me]..firsts[me + 1];
        let total = firsts[all.len()];
        Far {
            session,
            world,
            mark: mark(world, all),
            lanes: near.clone().map(|_| LanesInto::new()).collect(),
            near,
            firsts,
            broken: Mutex::default(),
            adopted: Mutex::default(),
            receipts: Mutex::default(),
            revoking: Mutex::default(),
            owed: AtomicUsize::new(0),
            ended: (0..total).map(|_| AtomicBool::new(false)).collect(),
            left_early: (0..total).map(|_| AtomicBool::new(false)).collect(),
            closed: AtomicBool::new(false),
            released: AtomicBool::new(false),
            not_started: OnceLock::new(),
            sent: all.iter().map(|_| AtomicU64::new(0)).collect(),
            received: all.iter().map(|_| AtomicU64::new(0)).collect(),
            posts: AtomicU64::new(0),
            held: HeldMessages::new(all.len()),
            silence: Mutex::new(Silence::new(me, all.len())),
            saying: Mutex::default(),
            judged: Mutex::default(),
            questions: Questions::new(all.len()),
            deadlocks: Mutex::default(),
        }
    }

    /// Number of ranks in all processes.
    pub(crate) fn ranks(&self) -> usize {
        self.ended.len()
    }

    /// This process, and how many there are.
    pub(crate) fn process(&self) -> (usize, usize) {
        (self.session.processes.me, self.session.processes.count)
    }

    /// The part of the world in this process.
    pub(super) fn part(&self) -> WorldPart {
        let (process, processes) = self.process();
        WorldPart {
            world: self.mark,
            process,
            processes,
            ranks: self.near.clone(),
        }
    }

    /// The first context of communicators that this process makes: those of different processes never meet.
    pub(in crate::transport) fn first_context(&self) -> u32 {
        let (me, _) = self.process();
        (self.contexts_of(me) as u32) + Fabric::NEXT_OF_SPREAD
    }

    /// The end of the contexts of communicators that this process makes.
    pub(in crate::transport) fn end_of_contexts(&self) -> u64 {
        let (me, _) = self.process();
        self.contexts_of(me + 1)
    }

    fn contexts_of(&self, process: usize) -> u64 {
        let (_, count) = self.process();
        let bits = count.next_power_of_two().trailing_zeros();
        (process as u64) << (32 - bits)
    }

    /// The process of a rank.
    pub(super) fn process_of(&self, rank: Rank) -> usize {
        self.firsts.partition_point(|first| *first <= rank) - 1
    }

    /// The ranks of a process.
    pub(super) fn ranks_of(&self, process: usize) -> Range<Rank> {
        self.firsts[process]..self.firsts[process + 1]
    }

    fn others(&self) -> impl Iterator<Item = usize> {
        let (me, count) = self.process();
        (0..count).filter(move |other| *other != me)
    }

    /// Sends the elements of a packet.
    pub(super) fn send(&self, fabric: &Fabric, to: Rank, packet: &Packet, kind: Kind) {
        packet.open_elements(packet.info(), fabric, |elements| {
            self.send_elements(fabric, to, packet.head, elements, kind);
        });
    }

    /// Sends elements of a type that may leave the process, which is checked before.
    pub(super) fn send_elements(
        &self,
        fabric: &Fabric,
        to: Rank,
        head: Head,
        elements: Elements<'_>,
        kind: Kind,
    ) {
        match wire::envelope(kind, self.world, to, head, elements) {
            Some(envelope) => self.send_in(fabric, &envelope, elements),
            None => panic!("{} cannot leave the process", elements.info().name()),
        }
    }

    /// The same of a lane from a call that may wait.
    pub(super) fn send_elements_waiting(
        &self,
        fabric: &Fabric,
        to: Rank,
        head: Head,
        elements: Elements<'_>,
    ) {
        match wire::envelope(Kind::Lane, self.world, to, head, elements) {
            Some(envelope) => self.send_waiting(fabric, &envelope, elements),
            None => panic!("{} cannot leave the process", elements.info().name()),
        }
    }

    /// Sends elements in their envelope.
    #[inline]
    pub(super) fn send_in(&self, fabric: &Fabric, envelope: &Envelope, elements: Elements<'_>) {
        let (to, head) = (self.process_of(envelope.to), envelope.bytes());
        self.will_send(to);
        self.session.processes.send(to, &head, elements.bytes());
        // Relaxed: it orders nothing.
        let before = self.posts.fetch_add(1, Ordering::Relaxed);
        match (before + 1).is_multiple_of(SENDS) || elements.size() >= LENT_FROM {
            true => self.poll(Some(fabric), true),
            false => self.tell_received_later(),
        }
    }

    /// Sends elements in their envelope from a call that may wait: long ones from where they are, if their receiver takes
    /// them in at once.
    #[inline]
    pub(super) fn send_waiting(
        &self,
        fabric: &Fabric,
        envelope: &Envelope,
        elements: Elements<'_>,
    ) {
        // Of ranks that share a core, the one that waits takes it from the other, which copies take less of.
        let is_copied = || fabric.near().len() > fabric.settings.cpus || fabric.is_controlled();
        let (processes, to) = (&self.session.processes, self.process_of(envelope.to));
        let is_one_letter = || processes.is_one_letter(to, elements.size());
        match elements.size() < LENT_FROM || is_copied() || is_one_letter() {
            true => self.send_in(fabric, envelope, elements),
            false => self.send_announced(fabric, envelope, elements),
        }
    }

    #[inline(never)]
    fn send_announced(&self, fabric: &Fabric, envelope: &Envelope, elements: Elements<'_>) {
        let (to, head) = (self.process_of(envelope.to), envelope.bytes());
        self.will_send(to);
        let (contents, mut looks) = ((elements.bytes(), wire::lent(elements)), 0);
        let processes = &self.session.processes;
        processes.send_announced(to, &head, contents, &mut || {
            self.look(Some(fabric), false);
            pause(&mut looks);
        });
        self.tell_received_later();
        self.stay(Some(fabric));
    }

    /// Tells the other processes how a near rank has ended, the first time.
    pub(super) fn tell_end(
        &self,
        rank: Rank,
        why: &Gone,
        site: Option<&Arc<str>>,
        follows: Option<&Cause>,
    ) {
        // Relaxed: only the flag matters.
        if !self.near.contains(&rank) || self.ended[rank].swap(true, Ordering::Relaxed) {
            return;
        }
        let end = End {
            rank,
            why: why.clone(),
            site: site.cloned(),
            follows: follows.cloned(),
            deadlocks: std::mem::take(&mut *self.deadlocks.lock()),
            left: self.has_left_early(rank),
        };
        // A sender that waits for a receipt of this rank must have it before it hears of the end.
        self.tell_received_before();
        self.tell(Kind::End, self.others(), Writer::default().end(&end));
    }

    /// Tells the processes of the far members that a communicator has broken.
    pub(super) fn tell_broken(&self, comm: &CommShared, cause: &Cause) {
        let mut processes: Vec<usize> = comm
            .members
            .iter()
            .map(|rank| self.process_of(rank))
            .collect();
        processes.sort_unstable();
        processes.dedup();
        processes.retain(|process| *process != self.process().0);
        let note = Writer::default().broken(comm.context, cause);
        self.tell(Kind::Broken, processes.into_iter(), note);
    }

    /// Keeps a deadlock that was found here, for other processes to be told with the next end of a rank.
    pub(super) fn note_deadlock(&self, deadlock: &Arc<Deadlock>) {
        self.deadlocks.lock().push(deadlock.clone());
    }

    pub(super) fn tell(&self, kind: Kind, to: impl Iterator<Item = usize>, note: Writer) {
        let (head, note) = (Envelope::of_note(kind, self.world).bytes(), note.bytes());
        to.for_each(|process| {
            if kind != Kind::Silence {
                self.will_send(process);
            }
            self.session.processes.send(process, &head, &note);
        });
        self.tell_received_later();
    }

    /// Counts a message that is about to be sent.
    pub(super) fn will_send(&self, to: usize) {
        // Relaxed: read once this rank sleeps, under the lock under which it went to sleep.
        self.sent[to].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a message that was received, after it was delivered.
    pub(super) fn has_received(&self, from: usize) {
        // Relaxed: as in `will_send`.
        self.received[from].fetch_add(1, Ordering::Relaxed);
    }

    /// How many messages were sent and received. To be read where no near rank sends or takes in.
    pub(super) fn count(&self) -> Count {
        // Relaxed: as in `will_send`.
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let live = self.live();
        let sum = |counts: &[AtomicU64]| {
            let counts = counts.iter().zip(&live).filter(|(_, live)| **live);
            counts.map(|(count, _)| read(count)).sum()
        };
        let mix = |hash: u64, live: &bool| hash.wrapping_mul(0x0100_0000_01b3) + u64::from(!live);
        Count {
            sent: sum(&self.sent),
            received: sum(&self.received),
            left: live.iter().fold(0, mix),
        }
    }

    /// The right to say something of silence; `None` while another rank has it. A rank that sleeps asks again soon.
    pub(super) fn may_speak(&self) -> Option<MutexGuard<'_, ()>> {
        self.saying.try_lock()
    }

    /// Whether each process has not left.
    pub(super) fn live(&self) -> Vec<bool> {
        let (_, processes) = self.process();
        let live = |process| !self.session.membership.has_left(process);
        (0..processes).map(live).collect()
    }

    /// Notes that an injected fault ends a rank early, before its end is known.
    pub(super) fn leaves_early(&self, rank: Rank) {
        // Relaxed: told by the same thread, and read here after the end of all ranks.
        self.left_early[rank].store(true, Ordering::Relaxed);
    }

    pub(super) fn has_left_early(&self, rank: Rank) -> bool {
        // Relaxed: as above.
        self.left_early[rank].load(Ordering::Relaxed)
    }

    /// Notes that a far rank's end was heard of.
    pub(super) fn has_ended(&self, rank: Rank) {
        // Relaxed: read under the lock of the poll, or again later.
        self.ended[rank].store(true, Ordering::Relaxed);
    }

    /// Whether that is so.
    pub(super) fn is_ended(&self, rank: Rank) -> bool {
        // Relaxed: as above.
        self.ended[rank].load(Ordering::Relaxed)
    }

    /// The communicator with this context, for one of its near members.
    pub(super) fn adopt(
        &self,
        fabric: &Fabric,
        context: u32,
        members: Members,
        origin: Arc<Origin>,
    ) -> Arc<CommShared> {
        let mut adopted = self.adopted.lock();
        if let Some((comm, missing)) = adopted.get_mut(&context) {
            let comm = comm.clone();
            *missing -= 1;
            if *missing == 0 {
                adopted.remove(&context);
            }
            return comm;
        }
        let others = members
            .iter()
            .filter(|rank| self.near.contains(rank))
            .count()
            - 1;
        let comm = fabric.comm_of(context, members, origin);
        // Looked at after it can be found: what breaks it now is told to it, or is here.
        if let Some(cause) = self.broken.lock().get(&context) {
            comm.cause.get_or_init(|| cause.clone());
        }
        if others > 0 {
            adopted.insert(context, (comm.clone(), others));
        }
        comm
    }

    /// The messages in the lanes that were never taken, with their receivers.
    pub(super) fn left(&self) -> Vec<(Rank, Packet)> {
        let mut left = Vec::new();
        for (rank, lanes) in self.near.clone().zip(&self.lanes) {
            left.extend(lanes.drain().map(|packet| (rank, packet)));
        }
        left
    }

    /// The world cannot start in this process, for this reason, of which the others learn.
    pub(crate) fn cannot_start(&self, why: &str) {
        _ = self.not_started.set(why.into());
    }

    /// Waits until all ranks of all processes have ended, and all that was sent has left; the ends of near ranks were
    /// told, or are now. What still arrives goes to `fabric`, if there is one.
    pub(crate) fn close(&self, fabric: Option<&Fabric>) {
        // Relaxed: only the flag matters.
        if self.closed.swap(true, Ordering::Relaxed) {
            return;
        }
        // Before the others can know that the ranks of this process have ended: they may open the next world then.
        self.session.ends();
        if fabric.is_none() {
            // What came early has not been taken in yet.
            self.begin(None);
        }
        let why = self.not_started.get();
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        let why = Gone::Failed(format!("its world could not start{why}").into());
        self.near
            .clone()
            .for_each(|rank| self.tell_end(rank, &why, None, None));
        self.tell_last(fabric);
        let mut nap = Nap::default();
        // Relaxed: set by this thread, or read again.
        let all_ended = || self.ended.iter().all(|ended| ended.load(Ordering::Relaxed));
        while !all_ended() || !self.knows_last() || !self.session.has_sent_all() {
            self.poll(fabric, true);
            // All near ranks have ended.
            match fabric {
                Some(fabric) => _ = fabric.silenced(None),
                None => self.rest_without_ranks(),
            }
            nap.pass();
        }
        self.session.tell_excluded();
        self.adopted.lock().clear();
    }

    /// Nothing more is to be heard of this world, which has been [closed](Self::close): another one may be opened.
    pub(super) fn release(&self) {
        // Relaxed: only the flag matters.
        if !self.released.swap(true, Ordering::Relaxed) {
            self.session.close();
        }
    }
}

/// A number for this world, by those that all processes bring: the same in all of them.
fn mark(world: u32, all: &[Hello]) -> u64 {
    let mut hash = DefaultHasher::new();
    (
        world,
        all.iter().map(|hello| hello.mark).collect::<Vec<_>>(),
    )
        .hash(&mut hash);
    hash.finish()
}

impl Drop for Far {
    /// A world that could not start is closed all the same: other processes wait for its ranks.
    fn drop(&mut self) {
        self.close(None);
        self.tell_found(None);
        self.release();
    }
}
