//! What every collective call goes through: its number and fingerprint, the round of agreement where
//! asked for, and what its failure does to the communicator.
//!
//! A packet of a collective carries the call's number and fingerprint, and a receiver compares both
//! before it touches an element: no element crosses between calls that do not match. A call that
//! fails after it got its number breaks the communicator: everybody inside, and everybody who comes
//! later, fails with the same cause.

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
use crate::transport::matching::mailbox::Want;
use crate::transport::memory::cells::{Label, Stamp};
use crate::transport::memory::head::{Head, Info};
use crate::transport::memory::packet::Packet;
use crate::transport::progress::wait::Reason;
use crate::transport::trace::record::{Deed, Told, Words};
use crate::unwind;

/// A collective call in progress on one rank.
pub(super) struct InCall<'a> {
    pub(super) comm: &'a Comm,
    pub(super) call: &'a Call,
    pub(super) described: &'a Described,
    /// The how-many-th collective of this communicator it is.
    pub(super) number: u32,
    pub(super) print: u32,
}

/// A call that can be made again and again without being described anew.
pub(super) struct Described {
    call: Call,
    deed: Deed,
    /// What the recorder writes down of it, once that is known.
    words: OnceCell<Words>,
    digest: Digest,
    /// Its entry in the log of this rank.
    entry: Cell<u64>,
}

impl Described {
    /// The recorder learns of it when its message is out, when it waits, or at its end: what is written before the
    /// first message is out is time that all lose. For calls whose waits are all those of [`InCall::wait`].
    pub(super) fn written_when_it_waits(self) -> Described {
        let deed = Deed {
            posts: true,
            ..self.deed
        };
        Described { deed, ..self }
    }
}

impl Told for Described {
    fn deed(&self) -> Deed {
        self.deed
    }

    #[inline]
    fn words(&self, known: impl FnOnce(&Deed) -> u32) -> Words {
        let new = || Words::of(&self.deed, known(&self.deed));
        *self.words.get_or_init(new)
    }

    #[inline]
    fn posts(&self) -> bool {
        self.deed.posts
    }
}

impl Comm {
    /// A description of a collective that is about to begin.
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
            deed: call.deed(),
            words: OnceCell::new(),
            digest: call.digest(),
            entry: Cell::new(self.core.enter(&call)),
            call,
        }
    }

    /// Writes down that a call is made.
    #[inline]
    fn write_down(&self, described: &Described, number: u32) {
        if self.core.entered.get() - described.entry.get() > CallLog::LASTING {
            described.entry.set(self.core.enter(&described.call));
        }
        self.core.port.log().write(described.entry.get(), number);
    }

    /// A collective from beginning to end; `check` may refuse it for its arguments.
    pub(super) fn collective<R>(
        &self,
        call: Call,
        check: impl FnOnce() -> Result<()>,
        body: impl FnOnce(&InCall<'_>) -> Result<R>,
    ) -> Result<R> {
        self.again(&self.describe(call), check, body)
    }

    /// The same for a call that is described.
    #[inline]
    pub(super) fn again<R>(
        &self,
        described: &Described,
        check: impl FnOnce() -> Result<()>,
        body: impl FnOnce(&InCall<'_>) -> Result<R>,
    ) -> Result<R> {
        let call = &described.call;
        self.deed(described, &|| call.to_string(), || {
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

    /// The fingerprint of a call and of all before it: who has taken part in another call once is found out
    /// whenever a message is read after that.
    #[inline]
    fn chain(&self, digest: Digest, number: u32) -> u32 {
        let print = digest.print(number, self.prints.get());
        self.prints.set(print);
        print
    }

    /// A call has failed: so will all others here.
    #[cold]
    fn break_here(&self, error: &Error) {
        // A refusal reaches every rank, and before anything was sent.
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

    /// Before anything is sent: do all ranks mean the same call? Only where the world asks for it.
    #[inline]
    fn agree(&self) -> Result<()> {
        match self.comm.fabric().settings.check {
            true => self.agree_at_gate(),
            false => Ok(()),
        }
    }

    #[cold]
    fn agree_at_gate(&self) -> Result<()> {
        // A call that tolerates the dead cannot wait for them to agree.
        let needless =
            self.call.verb == Verb::Collective(Collective::Barrier) || self.call.tolerant;
        if needless { Ok(()) } else { self.pass_gate() }
    }

    /// Where the world checks: rank 0 examines what the call is about to do, and all get its verdict.
    pub(super) fn agree_that(&self, examine: impl FnOnce() -> Verdict) -> Result<()> {
        if !self.comm.fabric().settings.check {
            return Ok(());
        }
        let verdict = &self.comm.shared.verdict;
        if self.rank() == 0 {
            let found = examine();
            *verdict.lock() = found;
        }
        // The next call's gate keeps rank 0 from another verdict before all have read this one.
        self.pass_gate()?;
        let found = verdict.lock().clone();
        match found {
            Verdict::Right => Ok(()),
            Verdict::Fault(fault) => Err(Error::new(ErrorKind::Refused(fault))),
            Verdict::Mismatch(found) => Err(Error::new(ErrorKind::Mismatch(found))),
        }
    }

    /// The mismatch if some rank is about to do something else than `part` says that it does.
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

    /// What a rank of the world has written down of its call of this number.
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

    /// Comes to the gate, and waits until the last one to come lets all go. If that is this rank it must: it waits for
    /// nobody before it does, since to the detector all the others wait for one that is running.
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
            // Those who are here mean another call. When nobody moves any more, the records are compared.
            Arrival::Strange => self.wait(&needs, None, || None),
        }
    }

    /// Lets all go, as the last one to [come](Self::come) in this turn.
    pub(super) fn let_go(&self, turn: u32) {
        self.comm.shared.gate.turn(turn, self.rank());
        self.comm.shared.rouse_others(self.rank());
    }

    /// What a wait for these needs.
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

    /// The recorder learns of the call, if it has not yet: after this rank's message is out, or before it looks for
    /// another one.
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

    /// The head of a message of this call from a rank of the world.
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

    /// Sends elements to `to`, which must be there.
    pub(super) fn send<T: Element>(&self, to: Rank, data: &[T]) -> Result<()> {
        self.comm.core.tick()?;
        let ((), there) =
            self.comm
                .core
                .port
                .send(self.comm.world_rank(to), self.head(), data, || Ok(()))?;
        if there { Ok(()) } else { Err(self.gone(to)) }
    }

    /// Moves a value to `to`; answers whether it is there.
    pub(super) fn send_value<V: Send + 'static>(&self, to: Rank, value: V) -> Result<bool> {
        self.comm.core.tick()?;
        let port = &self.comm.core.port;
        Ok(port.send_value(self.comm.world_rank(to), self.head(), value))
    }

    /// The error for a rank that was not there to receive.
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

    /// The elements that one of `from` sends in this call, shown to `arrived`; and who it was.
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

    /// The value that one of `from` sends in this call, and who it was.
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

    /// Puts the next packet for this call into `place`, or proves that its sender is in another one.
    fn next(&self, from: &From<'_>, place: &mut Packet) -> Result<()> {
        let (source, tag) = match from {
            // The head of the sender's line must be of this call, so any other number is found out.
            From::Rank(rank) => (Some(self.comm.world_rank(*rank)), None),
            // Others may be ahead already: their next calls' packets wait.
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

    /// The mismatch that a packet of another call proves.
    pub(super) fn strange(&self, packet: &Packet) -> Error {
        let fabric = self.comm.fabric();
        let first = self.number.min(packet.head.tag());
        let compared = fabric.compare_back(&self.comm.shared, first);
        let mismatch = compared.map_or_else(|| self.two_views(packet), |found| found.mismatch);
        Error::new(ErrorKind::Mismatch(Arc::new(mismatch)))
    }

    /// What can be said where the other's record is gone: it is many calls ahead.
    fn two_views(&self, packet: &Packet) -> Mismatch {
        let (theirs, mine) = (packet.head.tag(), self.number);
        let source = packet.source();
        self.against(source, "", format!("its collective {theirs}, not {mine}"))
    }

    /// The mismatch that a cell of another call proves.
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

    /// The mismatch of a message of this call that is not as long as this rank's schedule says.
    pub(super) fn unequal(&self, packet: &Packet, count: usize) -> Error {
        let awaits = format!(" awaits {count} elements from rank {}", packet.source());
        let theirs = format!("{} sends {}", self.call, packet.contents());
        Error::new(ErrorKind::Mismatch(Arc::new(self.against(
            packet.source(),
            &awaits,
            theirs,
        ))))
    }

    /// This rank's call, with what it does, against what another rank's message says.
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
    /// The call has failed, and with it the communicator.
    #[cold]
    fn fails(&self, error: Error) -> Error {
        let error = self.blaming_the_odd(error);
        self.comm.break_here(&error);
        error
    }

    /// A rank that returned is missed where it has made another call than this one: then the records of both
    /// prove a mismatch, and who returned may be right.
    ///
    /// As long as it is not decided which rank is odd, this one waits for those that are still to come, for a while:
    /// they come to this call themselves, or end, or wait for what never comes.
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

    /// The mismatch with a rank that returned after later calls than this one, which it must have made differently.
    fn far_ahead(&self, gone: Rank) -> Option<Mismatch> {
        let (fabric, context) = (self.comm.fabric(), self.call.context);
        let passed = fabric.has_passed(gone, context, self.number);
        passed.then(|| self.against(gone, "", "another call, many calls ago".into()))
    }

    /// Waits until it is decided who is odd, or cannot be; no longer than the [patience](PATIENCE).
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

/// How long a rank that has found a mismatch waits at most for others to come to the call.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long it waits before it looks again, at first.
const SLICE: Duration = Duration::from_millis(1);

/// How all have come to the gate.
pub(super) enum Come {
    /// This rank was the last one, and holds all others until it lets them go from this turn.
    Last(u32),
    /// This one was, and has let all go.
    LetGoBy(Rank),
}

/// Whose packets a step of a collective waits for.
pub(super) enum From<'a> {
    /// This rank's.
    Rank(Rank),
    /// Those of any of these ranks; all of them are needed in the end.
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

/// The description of elements of type `T` in a call.
pub(super) fn elements<T: Element>(call: Call, length: usize) -> Call {
    Call {
        length: Some(length),
        info: Some(Info::of::<T>()),
        ..call
    }
}
