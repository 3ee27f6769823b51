//! The steps common to all collective calls: number and fingerprint, the agreement round where requested, and how a
//! failure affects the communicator.
//!
//! A packet of a collective carries the call's number and fingerprint, and a receiver compares both before it reads an
//! element: no element crosses between calls that do not match. A call that fails after it got its number breaks the
//! communicator: every rank inside, and every rank that arrives later, fails with the same cause.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Comm;
use crate::Rank;
use crate::error::{Called, Error, ErrorKind, Gone, Mismatch, Result, Site};
use crate::names::Collective;
use crate::op::{Element, Kind};
use crate::transport::communicator::call::{Call, Detail, Digest, Verb, Verdict};
use crate::transport::communicator::call_log::CallLog;
use crate::transport::communicator::gate::Arrival;
use crate::transport::communicator::members::Members;
use crate::transport::deadlock::registry::Turn;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::matching::want::Want;
use crate::transport::memory::head::{Head, Info};
use crate::transport::memory::packet::Packet;
use crate::transport::memory::stamp::{Label, Stamp};
use crate::transport::progress::wait::Reason;
use crate::transport::trace::call_event::CallEvent;
use crate::transport::trace::words::{DescribeCall, Words};
use crate::unwind;

/// A collective call in progress on one rank.
pub(super) struct InCall<'a> {
    pub(super) comm: &'a Comm,
    pub(super) call: &'a Call,
    pub(super) described: &'a Described,
    /// The index of this collective among those of its communicator.
    pub(super) number: u32,
    pub(super) print: u32,
}

/// A call that can be made repeatedly without being described again.
pub(super) struct Described {
    call: Call,
    event: CallEvent,
    /// What the recorder stores about it, once that is known.
    words: OnceCell<Words>,
    digest: Digest,
    /// Its entry in the log of this rank.
    entry: Cell<u64>,
}

impl Described {
    /// Defers the record of the call until its message has left, until it waits, or until its end: time spent on the
    /// record before the first message leaves delays all ranks. Valid for calls whose waits all go through
    /// [`InCall::wait`].
    pub(super) fn written_when_it_waits(self) -> Described {
        let event = CallEvent {
            posts: true,
            ..self.event
        };
        Described { event, ..self }
    }
}

impl DescribeCall for Described {
    fn describe(&self) -> CallEvent {
        self.event
    }

    #[inline]
    fn words(&self, known: impl FnOnce(&CallEvent) -> u32) -> Words {
        let new = || Words::of(&self.event, known(&self.event));
        *self.words.get_or_init(new)
    }

    #[inline]
    fn posts(&self) -> bool {
        self.event.posts
    }
}

impl Comm {
    /// Describes a collective that is about to begin.
    pub(super) fn call(&self, verb: Verb, site: Site) -> Call {
        Call {
            verb,
            context: self.shared.context,
            root: None,
            length: None,
            info: None,
            op: Kind::None,
            algorithm: 0,
            part: 0,
            tolerant: false,
            detail: Detail::None,
            site,
        }
    }

    pub(super) fn describe(&self, call: Call) -> Described {
        Described {
            event: call.describe(),
            words: OnceCell::new(),
            digest: call.digest(),
            entry: Cell::new(self.core.enter(&call)),
            call,
        }
    }

    /// Records in the log that a call is made.
    #[inline]
    fn write_down(&self, described: &Described, number: u32) {
        if self.core.entered.get() - described.entry.get() > CallLog::LASTING {
            described.entry.set(self.core.enter(&described.call));
        }
        self.core.port.log().write(described.entry.get(), number);
    }

    /// Runs a collective from beginning to end; `check` may refuse it because of its arguments.
    pub(super) fn collective<R>(
        &self,
        call: Call,
        check: impl FnOnce() -> Result<()>,
        body: impl FnOnce(&InCall<'_>) -> Result<R>,
    ) -> Result<R> {
        self.again(&self.describe(call), check, body)
    }

    /// The same for a call that is already described.
    #[inline]
    pub(super) fn again<R>(
        &self,
        described: &Described,
        check: impl FnOnce() -> Result<()>,
        body: impl FnOnce(&InCall<'_>) -> Result<R>,
    ) -> Result<R> {
        let call = &described.call;
        self.recorded(described, &|| call.to_string(), || {
            check()?;
            if let Some(cause) = self.shared.cause.get() {
                return Err(cause.clone().into());
            }
            let number = self.calls.get();
            self.calls.set(number.wrapping_add(1));
            self.write_down(described, number);
            let inside = InCall {
                comm: self,
                call,
                described,
                number,
                print: self.chain(described.digest, number),
            };
            let result = inside.agree().and_then(|()| body(&inside));
            result.map_err(|error| inside.fails(error))
        })
    }

    /// The fingerprint of a call and of all calls before it: a rank that once took part in another call is detected
    /// whenever a message is read after that.
    #[inline]
    fn chain(&self, digest: Digest, number: u32) -> u32 {
        let print = digest.print(number, self.prints.get());
        self.prints.set(print);
        print
    }

    /// Breaks the communicator after a call has failed, so that all other calls on it fail too.
    #[cold]
    fn break_here(&self, error: &Error) {
        // A refusal reaches every rank, before anything is sent.
        if !matches!(error.kind(), ErrorKind::Refused(_)) {
            self.fabric()
                .break_comm(&self.shared, error, self.core.port.me)
        }
    }
}

impl InCall<'_> {
    pub(super) fn rank(&self) -> Rank {
        self.comm.rank()
    }

    pub(super) fn size(&self) -> usize {
        self.comm.size()
    }

    /// Where the world checks, compares the calls of all ranks before anything is sent.
    #[inline]
    fn agree(&self) -> Result<()> {
        match self.comm.fabric().settings.check {
            true => self.agree_at_gate(),
            false => Ok(()),
        }
    }

    #[cold]
    fn agree_at_gate(&self) -> Result<()> {
        // A call that tolerates ranks that have ended cannot wait for them to agree.
        let needless =
            self.call.verb == Verb::Collective(Collective::Barrier) || self.call.tolerant;
        if needless { Ok(()) } else { self.pass_gate() }
    }

    /// Where the world checks, rank 0 examines what the call is about to do, and all ranks get its verdict.
    pub(super) fn agree_that(&self, examine: impl FnOnce() -> Verdict) -> Result<()> {
        if !self.comm.fabric().settings.check {
            return Ok(());
        }
        let verdict = &self.comm.shared.verdict;
        if self.rank() == 0 {
            let found = examine();
            *verdict.lock() = found;
        }
        // The next call's gate keeps rank 0 from storing another verdict before all ranks have read this one.
        self.pass_gate()?;
        let found = verdict.lock().clone();
        match found {
            Verdict::Right => Ok(()),
            Verdict::Fault(fault) => Err(Error::new(ErrorKind::Refused(fault))),
            Verdict::Mismatch(found) => Err(Error::new(ErrorKind::Mismatch(found))),
        }
    }

    /// The mismatch if some rank is about to do something other than what `part` expects of it.
    pub(super) fn compare_parts(&self, part: impl Fn(Rank) -> u32) -> Option<Mismatch> {
        let members = self.comm.shared.members.iter().enumerate();
        let (mut calls, mut odd) = (Vec::new(), Vec::new());
        for (rank, world) in members {
            let Some(call) = self.record_of(world) else {
                continue;
            };
            let same = call.part == part(rank);
            let steps = if same {
                ""
            } else {
                " with steps that rank 0 does not know"
            };
            odd.extend((!same).then_some(world));
            calls.push(Called {
                rank: world,
                call: format!("{call}{steps}"),
                site: Some(call.site),
            });
        }
        let comm = self.comm.shared.name();
        (!odd.is_empty()).then_some(Mismatch { calls, odd, comm })
    }

    /// What world rank `rank` has recorded for its call of this number.
    pub(super) fn record_of(&self, rank: Rank) -> Option<Call> {
        let context = self.call.context;
        self.comm.fabric().call_of(rank, context, self.number)
    }

    /// Waits until every rank is in this same call.
    pub(super) fn pass_gate(&self) -> Result<()> {
        if let Come::Last(turn) = self.come()? {
            self.let_go(turn);
        }
        Ok(())
    }

    /// Arrives at the gate, and waits until the last rank to arrive releases all ranks. If this rank is the last, it
    /// must release them, and must not wait before that: for the detector all the others wait for a running rank.
    pub(super) fn come(&self) -> Result<Come> {
        self.comm.core.tick()?;
        let members = &self.comm.shared.members;
        let call = (self.call.context, self.number, self.print);
        let needs = || Needs::Gate(call, members.clone());
        let gate = &self.comm.shared.gate;
        match gate.arrive(self.size(), self.print) {
            Arrival::Last(turn) => Ok(Come::Last(turn)),
            Arrival::Early(turn) => self
                .wait(&needs, Some(Turn::Gate(turn)), || gate.turned_by(turn))
                .map(Come::LetGoBy),
            // The ranks at the gate are in another call. The records are compared once no rank can proceed.
            Arrival::Strange => self.wait(&needs, None, || None),
        }
    }

    /// Releases all ranks, as the last rank to [arrive](Self::come) in this turn.
    pub(super) fn let_go(&self, turn: u32) {
        self.comm.shared.gate.turn(turn, self.rank());
        self.comm.shared.rouse_others(self.rank());
    }

    /// What a wait for packets `from` these ranks needs.
    pub(super) fn needs(&self, from: &From<'_>) -> Needs {
        let world = |rank: &Rank| self.comm.world_rank(*rank);
        match from {
            From::Rank(rank) => Needs::One(world(rank)),
            From::Any(ranks) => Needs::All(ranks.iter().map(world).collect()),
        }
    }

    pub(super) fn wait<R>(
        &self,
        needs: &dyn Fn() -> Needs,
        turn: Option<Turn>,
        mut look: impl FnMut() -> Option<R>,
    ) -> Result<R> {
        let port = &self.comm.core.port;
        self.settle();
        let look = || {
            port.progress();
            look()
        };
        self.with_reason(needs, turn, |reason| port.wait(reason, look))
    }

    /// Lets the recorder store the call, unless it already has: after this rank's message has left, or before it looks
    /// for another one.
    #[inline]
    pub(super) fn settle(&self) {
        let recorder = &self.comm.core.port.recorder;
        recorder.settle(self.described, &|| self.call.to_string());
    }

    fn with_reason<R>(
        &self,
        needs: &dyn Fn() -> Needs,
        turn: Option<Turn>,
        f: impl FnOnce(&Reason<'_>) -> R,
    ) -> R {
        f(&Reason {
            call: &|| self.call.to_string(),
            site: self.call.site,
            needs,
            comm: Some(&self.comm.shared),
            also: &[],
            collective: Some(self.number),
            turn,
            deadline: None,
            choice: None,
            needs_buffer: false,
        })
    }

    #[inline]
    pub(super) fn head(&self) -> Head {
        self.head_of(self.comm.core.port.me)
    }

    /// The head of a message of this call from world rank `source`.
    #[inline]
    pub(super) fn head_of(&self, source: Rank) -> Head {
        Head::new(self.call.context + 1, source, self.number, self.print)
    }

    #[inline]
    pub(super) fn stamp(&self) -> Stamp {
        Stamp {
            print: self.print,
            number: self.number,
        }
    }

    /// Sends elements to `to`, which must not have ended.
    pub(super) fn send<T: Element>(&self, to: Rank, data: &[T]) -> Result<()> {
        self.comm.core.tick()?;
        let ((), there) =
            self.comm
                .core
                .port
                .send(self.comm.world_rank(to), self.head(), data, || Ok(()))?;
        if there { Ok(()) } else { Err(self.gone(to)) }
    }

    /// Moves a value to `to`; returns whether that rank has not ended.
    pub(super) fn send_value<V: Send + 'static>(&self, to: Rank, value: V) -> Result<bool> {
        self.comm.core.tick()?;
        let port = &self.comm.core.port;
        Ok(port.send_value(self.comm.world_rank(to), self.head(), value))
    }

    /// The error for a receiver that has ended.
    pub(super) fn gone(&self, rank: Rank) -> Error {
        self.comm.fabric().gone(self.comm.world_rank(rank))
    }

    /// The rank whose end made a wait for `from` fail; `None` if it failed for another reason.
    pub(super) fn dead_among(&self, from: &From<'_>) -> Option<Rank> {
        let members = &self.comm.shared.members;
        let ranks = match from {
            From::Rank(rank) => std::slice::from_ref(rank),
            From::Any(ranks) => ranks,
        };
        let ranks: Vec<Rank> = ranks.iter().map(|&rank| members.world(rank)).collect();
        let whole = self.comm.shared.cause.get().is_none();
        let dead = self.comm.fabric().open_registry().first_gone(&ranks);
        dead.filter(|_| whole).and_then(|dead| members.member(dead))
    }

    /// Shows the elements that one of `from` sends in this call to `arrived`; returns the sender too.
    pub(super) fn expect<T: Element, R>(
        &self,
        from: &From<'_>,
        mut arrived: impl FnMut(&[T]) -> R,
    ) -> Result<(Rank, R)> {
        self.comm.core.tick()?;
        let mut packet = Packet::empty();
        loop {
            self.next(from, &mut packet)?;
            let source = self.comm.member(&packet);
            if let Some(done) = packet.open(&**self.comm.fabric(), |data| {
                unwind::operator(|| arrived(data))
            }) {
                self.comm.core.port.recorder.received(packet.head);
                return Ok((source, done));
            }
        }
    }

    /// The value that one of `from` sends in this call, and its sender.
    pub(super) fn expect_value<V: 'static>(&self, from: &From<'_>) -> Result<(Rank, V)> {
        self.comm.core.tick()?;
        let mut packet = Packet::empty();
        self.next(from, &mut packet)?;
        match packet.take_value(&**self.comm.fabric()) {
            Some(value) => {
                self.comm.core.port.recorder.received(packet.head);
                Ok((self.comm.member(&packet), value))
            }
            None => Err(self.strange(&packet)),
        }
    }

    /// Puts the next packet for this call into `place`, or proves that its sender is in another call.
    fn next(&self, from: &From<'_>, place: &mut Packet) -> Result<()> {
        let (source, tag) = match from {
            // The first packet of the sender's queue must be of this call, so any other number is detected.
            From::Rank(rank) => (Some(self.comm.world_rank(*rank)), None),
            // Other ranks may be ahead already: the packets of their next calls wait.
            From::Any(_) => (None, Some(self.number)),
        };
        let want = Want {
            context: self.call.context + 1,
            source,
            tag,
        };
        let port = &self.comm.core.port;
        if !port.receive_now(&want, place) {
            self.with_reason(&|| self.needs(from), None, |reason| {
                port.receive(&want, reason, place)
            })?;
        }
        if self.is_ours(place) && from.includes(self.comm.member(place)) {
            Ok(())
        } else {
            Err(self.strange(place))
        }
    }

    /// Whether a packet is of this call.
    #[inline]
    pub(super) fn is_ours(&self, packet: &Packet) -> bool {
        packet.head.tag() == self.number && packet.head.print() == self.print
    }

    /// The mismatch proved by a packet of another call.
    pub(super) fn strange(&self, packet: &Packet) -> Error {
        let fabric = self.comm.fabric();
        let first = self.number.min(packet.head.tag());
        let compared = fabric.compare_back(&self.comm.shared, first);
        let mismatch = compared.map_or_else(|| self.two_views(packet), |found| found.mismatch);
        Error::new(ErrorKind::Mismatch(Arc::new(mismatch)))
    }

    /// The mismatch as far as it is known when the other rank is many calls ahead and its record is overwritten.
    fn two_views(&self, packet: &Packet) -> Mismatch {
        let (theirs, mine) = (packet.head.tag(), self.number);
        let source = packet.source();
        self.against(source, "", format!("its collective {theirs}, not {mine}"))
    }

    /// The mismatch proved by a cell of another call.
    #[cold]
    pub(super) fn strange_cell(&self, from: Rank, label: Label) -> Error {
        let fabric = self.comm.fabric();
        let first = self.number.min(label.stamp.number);
        let compared = fabric.compare_back(&self.comm.shared, first);
        let compared = compared.map(|found| found.mismatch);
        let mismatch = compared.unwrap_or_else(|| {
            let theirs = format!("another call, with {} x {}", label.count, label.info.name());
            self.against(self.comm.world_rank(from), "", theirs)
        });
        Error::new(ErrorKind::Mismatch(Arc::new(mismatch)))
    }

    /// The mismatch of a message of this call whose length differs from this rank's schedule.
    pub(super) fn unequal(&self, packet: &Packet, count: usize) -> Error {
        let awaits = format!(" awaits {count} elements from rank {}", packet.source());
        let theirs = format!("{} sends {}", self.call, packet.contents());
        Error::new(ErrorKind::Mismatch(Arc::new(self.against(
            packet.source(),
            &awaits,
            theirs,
        ))))
    }

    /// This rank's call and what it does, against what another rank's message says.
    fn against(&self, source: Rank, mine: &str, theirs: String) -> Mismatch {
        let mine = Called {
            rank: self.comm.core.port.me,
            call: format!("{}{mine}", self.call),
            site: Some(self.call.site),
        };
        let other = Called {
            rank: source,
            call: theirs,
            site: self.record_of(source).map(|call| call.site),
        };
        Mismatch {
            calls: vec![mine, other],
            odd: Vec::new(),
            comm: self.comm.shared.name(),
        }
    }
}

impl InCall<'_> {
    /// Handles the failure of the call, which breaks the communicator.
    #[cold]
    fn fails(&self, error: Error) -> Error {
        let error = self.blaming_the_odd(error);
        self.comm.break_here(&error);
        error
    }

    /// A rank that returned is missed if it has made another call than this one. Then the records of both prove a
    /// mismatch, and the rank that returned may be right.
    ///
    /// While it is undecided which rank is odd, this rank waits a while for the ranks that have not arrived: they reach
    /// this call, or end, or wait for something that never comes.
    fn blaming_the_odd(&self, error: Error) -> Error {
        let shared = &self.comm.shared;
        let gone = match error.kind() {
            ErrorKind::Mismatch(found) if found.odd.is_empty() => None,
            ErrorKind::RankGone { rank, why, .. } if *why == Gone::Returned => Some(*rank),
            _ => return error,
        };
        let fabric = self.comm.fabric();
        if shared.cause.get().is_none() && fabric.compare_back(shared, self.number).is_some() {
            self.await_records();
        }
        // The rank that broke it has waited for the records too.
        if let Some(cause) = shared.cause.get() {
            return cause.clone().into();
        }
        let compared = fabric.compare_back(shared, self.number);
        let compared = compared.map(|found| found.mismatch);
        let mismatch = compared.or_else(|| self.far_ahead(gone?));
        mismatch.map_or(error, |found| {
            Error::new(ErrorKind::Mismatch(Arc::new(found)))
        })
    }

    /// The mismatch with a rank that returned after later calls than this one, which it must have made differently if
    /// this call waits for it: not if its own record is there and agrees, nor if the rank waited for may have ended
    /// because of it.
    fn far_ahead(&self, gone: Rank) -> Option<Mismatch> {
        let (fabric, context) = (self.comm.fabric(), self.call.context);
        let differs = fabric.has_passed(gone, context, self.number)
            && fabric.call_of(gone, context, self.number).is_none()
            && !fabric.open_registry().is_followed(gone);
        differs.then(|| self.against(gone, "", "another call, many calls ago".into()))
    }

    /// Waits until it is decided which rank is odd, or cannot be decided; no longer than the [patience](PATIENCE).
    fn await_records(&self) {
        let (fabric, shared) = (self.comm.fabric(), &self.comm.shared);
        let awaited = || {
            let compared = fabric.compare_back(shared, self.number);
            compared.map_or_else(Vec::new, |found| found.awaited)
        };
        let patience = fabric.settings.timeout.unwrap_or(PATIENCE).min(PATIENCE);
        let begin = Instant::now();
        let mut slice = SLICE;
        while begin.elapsed() < patience && !awaited().is_empty() {
            let needs = || Needs::Any(Members::of(awaited()));
            let deadline = Instant::now() + slice.min(patience);
            let waited = self.with_reason(&needs, None, |reason| {
                let reason = Reason {
                    deadline: Some(deadline),
                    ..*reason
                };
                let port = &self.comm.core.port;
                port.wait(&reason, || awaited().is_empty().then_some(()))
            });
            match waited {
                // A rank that makes the call and goes on does not wake this one.
                Err(error) if matches!(error.kind(), ErrorKind::TimedOut { .. }) => slice *= 2,
                _ => return,
            }
        }
    }
}

/// How long a rank that has found a mismatch waits at most for other ranks to reach the call.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long it waits before it looks again, initially.
const SLICE: Duration = Duration::from_millis(1);

/// The result of an arrival at the gate.
pub(super) enum Come {
    /// This rank was the last, and holds all others until it releases them from this turn.
    Last(u32),
    /// This other rank was the last, and has released all ranks.
    LetGoBy(Rank),
}

/// The ranks whose packets a step of a collective waits for.
pub(super) enum From<'a> {
    /// This rank.
    Rank(Rank),
    /// Any of these ranks; all of their packets are needed in the end.
    Any(&'a [Rank]),
}

impl From<'_> {
    fn includes(&self, rank: Rank) -> bool {
        match self {
            From::Rank(one) => *one == rank,
            From::Any(ranks) => ranks.contains(&rank),
        }
    }
}

/// Adds the description of elements of type `T` to a call.
pub(super) fn elements<T: Element>(call: Call, length: usize) -> Call {
    Call {
        length: Some(length),
        info: Some(Info::of::<T>()),
        ..call
    }
}
