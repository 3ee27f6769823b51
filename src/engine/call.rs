//! The steps common to all collective calls: number and fingerprint, the agreement round where requested, and how a
//! failure affects the communicator.
//!
//! A packet of a collective carries the call's number and fingerprint, and a receiver compares both before it reads an
//! element: no element crosses between calls that do not match. A call that fails after it got its number breaks the
//! communicator: every rank inside, and every rank that arrives later, fails with the same cause.

use std::cell::{Cell, OnceCell};

use super::Comm;
use crate::Rank;
use crate::error::{Cause, Error, ErrorKind, Result, Site};
use crate::op::elements::{Elements, Info};
use crate::op::{Element, OperatorKind};
use crate::transport::communicator::call::{Call, Detail, Digest, Verb};
use crate::transport::communicator::call_log::CallLog;
use crate::transport::deadlock::registry::Turn;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::matching::want::Want;
use crate::transport::memory::head::{Head, OF_COLLECTIVES};
use crate::transport::memory::packet::Packet;
use crate::transport::memory::stamp::Stamp;
use crate::transport::progress::reason::Reason;
use crate::transport::trace::call_event::CallEvent;
use crate::transport::trace::words::{DescribeCall, OnComm, Words};
use crate::unwind;

/// A collective call in progress on one rank.
pub(crate) struct InCall<'a> {
    pub(crate) comm: &'a Comm,
    pub(crate) call: &'a Call,
    pub(crate) described: &'a Described,
    /// The index of this collective among those of its communicator.
    pub(crate) number: u32,
    pub(crate) print: u32,
}

/// A call that can be made repeatedly without being described again.
pub(crate) struct Described {
    call: Call,
    event: CallEvent,
    /// Its entry in the recorder, once that is known.
    words: OnceCell<Words>,
    digest: Digest,
    /// Its entry in the log of this rank.
    entry: Cell<u64>,
}

impl Described {
    /// Defers the record of the call until its message has left, until it waits, or until its end: time spent on the
    /// record before the first message leaves delays all ranks. Valid for calls whose waits all go through
    /// [`InCall::wait`].
    pub(crate) fn written_when_it_waits(self) -> Described {
        let event = CallEvent {
            posts: true,
            ..self.event
        };
        Described { event, ..self }
    }
}

impl Described {
    /// What is described.
    pub(crate) fn call(&self) -> &Call {
        &self.call
    }
}

impl DescribeCall for Described {
    fn describe(&self) -> CallEvent {
        self.event
    }

    #[inline]
    fn words(&self, known: impl FnOnce(&CallEvent) -> u32) -> Words {
        match self.words.get() {
            Some(words) => *words,
            None => *self
                .words
                .get_or_init(|| Words::of(&self.event, known(&self.event))),
        }
    }

    #[inline]
    fn posts(&self) -> bool {
        self.event.posts
    }
}

impl Comm {
    /// Describes a collective that is about to begin.
    pub(crate) fn call(&self, verb: Verb, site: Site) -> Call {
        Call {
            verb,
            root: None,
            length: None,
            info: None,
            op: OperatorKind::None,
            algorithm: 0,
            part: 0,
            tolerant: false,
            detail: Detail::None,
            site,
        }
    }

    pub(crate) fn describe(&self, call: Call) -> Described {
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
        let log = self.core.port.log();
        log.write(described.entry.get(), self.shared.context, number);
    }

    /// Runs a collective from beginning to end; `check` may refuse it because of its arguments.
    pub(crate) fn collective<R>(
        &self,
        call: Call,
        check: impl FnOnce() -> Result<()>,
        body: impl FnOnce(&InCall<'_>) -> Result<R>,
    ) -> Result<R> {
        self.again(&self.describe(call), check, body)
    }

    /// The same for a call that is already described.
    #[inline]
    pub(crate) fn again<R>(
        &self,
        described: &Described,
        check: impl FnOnce() -> Result<()>,
        body: impl FnOnce(&InCall<'_>) -> Result<R>,
    ) -> Result<R> {
        let call = &described.call;
        self.recorded(described, &|| call.to_string(), || {
            check()?;
            self.check_spread(call)?;
            self.inside(described, body)
        })
    }

    /// The same inside a call that is recorded and checked.
    #[inline(always)]
    pub(crate) fn inside<R>(
        &self,
        described: &Described,
        body: impl FnOnce(&InCall<'_>) -> Result<R>,
    ) -> Result<R> {
        if let Some(cause) = self.shared.cause.get() {
            return Err(self.comes_late(described, cause));
        }
        let number = self.calls.get();
        self.calls.set(number.wrapping_add(1));
        self.write_down(described, number);
        let inside = InCall {
            comm: self,
            call: &described.call,
            described,
            number,
            print: self.chain(described.digest, number),
        };
        let result = inside.agree().and_then(|()| body(&inside));
        result.map_err(|error| inside.fails(error))
    }

    /// The error of a call on a broken communicator. If it broke by a mismatch that was found before this rank came, and
    /// names no odd rank, the call is recorded all the same: once all ranks have ended it may tell which one is odd.
    #[cold]
    fn comes_late(&self, described: &Described, cause: &Cause) -> Error {
        let (me, number) = (self.core.port.me, self.calls.get());
        let log = self.core.port.log();
        if let Cause::Mismatch(found) = cause
            && found.is_undecided_without(me)
            && log.find(self.shared.context, number).is_none()
        {
            self.write_down(described, number);
        }
        cause.clone().into()
    }

    /// The fingerprint of a call and of all calls before it: a rank that once took part in another call is detected
    /// whenever a message is read after that.
    #[inline]
    fn chain(&self, digest: Digest, number: u32) -> u32 {
        let print = digest.print(number, self.prints.get());
        self.prints.set(print);
        print
    }
}

impl InCall<'_> {
    pub(crate) fn rank(&self) -> Rank {
        self.comm.rank()
    }

    pub(crate) fn size(&self) -> usize {
        self.comm.size()
    }

    /// The needs of a wait for packets `from` these ranks.
    pub(crate) fn needs(&self, from: &From<'_>) -> Needs {
        let world = |rank: &Rank| self.comm.to_world(*rank);
        match from {
            From::Rank(rank) => Needs::One(world(rank)),
            From::Any(ranks) => Needs::All(ranks.iter().map(world).collect()),
        }
    }

    pub(crate) fn wait<R>(
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

    /// The same with a look that takes in itself what arrives from other processes, where it is told that it may.
    pub(crate) fn wait_taking_in(
        &self,
        needs: &dyn Fn() -> Needs,
        look: &mut dyn FnMut(bool) -> bool,
    ) -> Result<()> {
        let port = &self.comm.core.port;
        self.settle();
        let look = |takes_in| {
            port.progress();
            look(takes_in).then_some(())
        };
        self.with_reason(needs, None, |reason| port.wait_taking_in(reason, look))
    }

    /// Lets the recorder store the call, unless it already has: after this rank's message has left, or before it looks
    /// for another one.
    #[inline]
    pub(crate) fn settle(&self) {
        let recorder = &self.comm.core.port.recorder;
        recorder.settle(&self.on_comm(), &|| self.call.to_string());
    }

    /// The description of the call for the recorder.
    #[inline]
    pub(crate) fn on_comm(&self) -> OnComm<'_, Described> {
        OnComm {
            call: self.described,
            context: self.comm.shared.context,
        }
    }

    pub(crate) fn with_reason<R>(
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
    pub(crate) fn head(&self) -> Head {
        self.head_of(self.comm.core.port.me)
    }

    /// The head of a message of this call from world rank `source`.
    #[inline]
    pub(crate) fn head_of(&self, source: Rank) -> Head {
        Head::new(
            self.comm.shared.context + OF_COLLECTIVES,
            source,
            self.number,
            self.print,
        )
    }

    #[inline]
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp {
            print: self.print,
            number: self.number,
        }
    }

    /// Sends elements to `to`, which must not have ended.
    pub(crate) fn send<T: Element>(&self, to: Rank, data: &[T]) -> Result<()> {
        self.comm.core.tick()?;
        let ((), there) = self.comm.core.port.send(
            self.comm.to_world(to),
            self.head(),
            Elements::of(data),
            || Ok(()),
        )?;
        if there { Ok(()) } else { Err(self.gone(to)) }
    }

    /// Moves a value to `to`; returns whether that rank has not ended.
    pub(crate) fn send_value<V: Send + 'static>(&self, to: Rank, value: V) -> Result<bool> {
        self.comm.core.tick()?;
        let port = &self.comm.core.port;
        Ok(port.send_value(self.comm.to_world(to), self.head(), value))
    }

    /// The error for a receiver that has ended.
    pub(crate) fn gone(&self, rank: Rank) -> Error {
        self.comm.fabric().gone(self.comm.to_world(rank))
    }

    /// The rank whose end made a wait for `from` fail; `None` if it failed for another reason.
    pub(crate) fn dead_among(&self, from: &From<'_>, kind: &ErrorKind) -> Option<Rank> {
        let members = &self.comm.shared.members;
        let ranks = match from {
            From::Rank(rank) => std::slice::from_ref(rank),
            From::Any(ranks) => ranks,
        };
        let ranks: Vec<Rank> = ranks.iter().map(|&rank| members.world(rank)).collect();
        let whole = self.comm.shared.cause.get().is_none();
        let dead = self.comm.fabric().open_registry().first_gone(&ranks, kind);
        dead.filter(|_| whole).and_then(|dead| members.member(dead))
    }

    /// Shows the elements that one of `from` sends in this call to `arrived`; returns the sender too.
    pub(crate) fn expect<T: Element, R>(
        &self,
        from: &From<'_>,
        mut arrived: impl FnMut(&[T]) -> R,
    ) -> Result<(Rank, R)> {
        self.comm.core.tick()?;
        let mut packet = Packet::empty();
        loop {
            self.next(from, &mut packet)
                .inspect_err(|_| self.keep(&mut packet))?;
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
    pub(crate) fn expect_value<V: 'static>(&self, from: &From<'_>) -> Result<(Rank, V)> {
        self.comm.core.tick()?;
        let mut packet = Packet::empty();
        self.next(from, &mut packet)
            .inspect_err(|_| self.keep(&mut packet))?;
        match packet.take_value(&**self.comm.fabric()) {
            Some(value) => {
                self.comm.core.port.recorder.received(packet.head);
                Ok((self.comm.member(&packet), value))
            }
            None => {
                let strange = self.strange(&packet);
                self.keep(&mut packet);
                Err(strange)
            }
        }
    }

    /// Keeps what another call has sent until this rank has ended: the destructor of a value may wait or panic, and the
    /// others do not know yet that this call has failed.
    #[cold]
    fn keep(&self, packet: &mut Packet) {
        self.comm.core.port.discard(packet);
    }

    /// Puts the next packet for this call into `place`, or proves that its sender is in another call.
    fn next(&self, from: &From<'_>, place: &mut Packet) -> Result<()> {
        let (source, tag) = match from {
            // The first packet of the sender's queue must be of this call, so any other number is detected.
            From::Rank(rank) => (Some(self.comm.to_world(*rank)), None),
            // Other ranks may be ahead already: the packets of their next calls wait.
            From::Any(_) => (None, Some(self.number)),
        };
        let want = Want::new(self.comm.shared.context + OF_COLLECTIVES, source, tag);
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
    pub(crate) fn is_ours(&self, packet: &Packet) -> bool {
        packet.head.tag() == self.number && packet.head.print() == self.print
    }
}

/// The ranks whose packets a step of a collective waits for.
pub(crate) enum From<'a> {
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
pub(crate) fn elements<T: Element>(call: Call, length: usize) -> Call {
    Call {
        length: Some(length),
        info: Some(Info::of::<T>()),
        ..call
    }
}
