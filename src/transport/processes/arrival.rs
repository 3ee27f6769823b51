//! What becomes of what arrives from other processes.

use super::far::Far;
use super::local_state::LocalState;
use super::notes::Reader;
use super::silence::Say;
use super::wire::{self, Envelope, Kind};
use crate::Rank;
use crate::error::{Cause, Gone};
use crate::mpi::{Deliver, Left, Message};
use crate::transport::Fabric;

/// What follows the envelope in its letter, or what is apart from it.
type Contents<'a> = (&'a [u8], Option<Message>);

/// Why the ranks of a process have failed that was excluded.
const UNREADABLE: &str = "its process has sent what cannot be read";

impl Far {
    /// Takes in what has arrived, all of it or one message; what is for ranks is dropped where there is no fabric.
    #[inline]
    pub(super) fn poll(&self, fabric: Option<&Fabric>, all: bool) {
        let arrived = &mut |from, letter: &[u8], body| self.arrived(fabric, from, letter, body);
        let mut left = Left::default();
        self.poll_once(fabric, all, arrived, &mut left);
        if left.wants_bodies {
            self.stay(fabric);
        }
    }

    /// The same without a wait for what is on its way from senders that wait.
    #[inline]
    pub(super) fn look(&self, fabric: Option<&Fabric>, all: bool) {
        let arrived = &mut |from, letter: &[u8], body| self.arrived(fabric, from, letter, body);
        self.poll_once(fabric, all, arrived, &mut Left::default());
    }

    /// The same with something else that becomes of what arrives, inside MPI. `left` is told what is to be waited for.
    #[inline]
    pub(super) fn poll_once<'s>(
        &'s self,
        fabric: Option<&Fabric>,
        all: bool,
        arrived: &mut dyn Deliver,
        left: &mut Left<'s>,
    ) {
        let polled = self.session.poll(all, arrived, left);
        self.tell_received_later();
        if self.questions.any() {
            self.answer(fabric);
        }
        if let Some(fabric) = fabric.filter(|_| self.held.any()) {
            // Whoever takes in messages: the ranks here need not all rest again.
            _ = fabric.conclude(self, None);
        }
        if let Err(error) = polled {
            self.cannot_be_reached(fabric, &error);
        }
    }

    /// MPI has failed: nothing is to be heard of the other processes any more.
    #[cold]
    fn cannot_be_reached(&self, fabric: Option<&Fabric>, error: &str) {
        let why = format!("its process cannot be reached: {error}");
        let before = 0..self.near.start;
        self.fail(
            fabric,
            before.chain(self.near.end..self.ranks()),
            &why,
            None,
        );
        let (me, processes) = self.process();
        let others = (0..processes).filter(|process| *process != me);
        others.for_each(|process| self.session.membership.leave(process));
    }

    /// Takes in the messages that have arrived before this world was opened here, and learns which processes have
    /// exited.
    pub(in crate::transport) fn begin(&self, fabric: Option<&Fabric>) {
        for (from, letter, body) in self.session.take_early() {
            self.arrived(fabric, from, letter.bytes(), body);
        }
        let processes = 0..self.process().1;
        for gone in processes.filter(|process| self.session.membership.has_left(*process)) {
            self.leaves(fabric, gone);
        }
    }

    pub(super) fn arrived(
        &self,
        fabric: Option<&Fabric>,
        from: usize,
        letter: &[u8],
        body: Option<Message>,
    ) {
        if self.session.membership.is_dropped(from) {
            return;
        }
        let Some((envelope, contents)) = Envelope::open(letter) else {
            return self.exclude(fabric, from);
        };
        let is_of_this = envelope.world == self.world;
        match envelope.kind {
            // Not held: this process may wait for what the excluded one has told others.
            Kind::Excluded => {
                let note = body.as_ref().map_or(contents, Message::bytes);
                self.exclude(fabric, self.session.excluded_in(from, note));
            }
            Kind::Bye => {
                self.session.membership.leave(from);
                // After what it has sent before.
                if self.held.hold(from, letter, None).is_some() {
                    self.leaves(fabric, from);
                }
            }
            // It has greeted in this world after all that it has sent of earlier ones.
            _ if envelope.world < self.world => self.exclude(fabric, from),
            Kind::Hello | Kind::Silence if is_of_this => {
                let note = body.as_ref().map_or(contents, Message::bytes);
                self.take_at_once(fabric, from, envelope.kind, note);
            }
            _ => {
                if let Some(body) = self.held.hold(from, letter, body) {
                    self.take_opened(fabric, from, (&envelope, letter), (contents, body));
                }
            }
        }
    }

    /// Takes what is not held and not counted.
    fn take_at_once(&self, fabric: Option<&Fabric>, from: usize, kind: Kind, note: &[u8]) {
        if kind == Kind::Hello {
            return self.take_hello(fabric, from, note);
        }
        match self.reader(note).say() {
            Some(say) if self.may_say(from, &say) => self.hear(from, say),
            _ => self.exclude(fabric, from),
        }
    }

    /// Keeps a letter of a later world. Before that, its process has told all that there is to tell of this one.
    fn take_later(
        &self,
        fabric: Option<&Fabric>,
        from: usize,
        letter: &[u8],
        body: Option<Message>,
    ) {
        let have_ended = || self.ranks_of(from).all(|rank| self.is_ended(rank));
        match self.session.membership.has_left(from) || have_ended() && self.has_told_all(from) {
            true => self.session.keep(from, letter, body),
            false => self.exclude(fabric, from),
        }
    }

    fn reader<'b>(&self, note: &'b [u8]) -> Reader<'b> {
        Reader::of(note, self.ranks())
    }

    /// Whether what a process says is of its own ranks.
    fn may_say(&self, from: usize, say: &Say) -> bool {
        let ranks = self.ranks_of(from);
        local_state_in(say).is_none_or(|told| told.is_of(&ranks))
    }

    /// A process has sent what no process would, to this one or to another: its ranks have failed. If it is this process,
    /// those of all others have ended because of that.
    fn exclude(&self, fabric: Option<&Fabric>, process: usize) {
        if !self.session.membership.exclude(process) {
            return;
        }
        let cause = self.excluded_cause();
        let (me, processes) = self.process();
        if process != me {
            return self.fails(fabric, process, UNREADABLE, cause.as_ref());
        }
        let why = "its process does not believe this one any more";
        let others = (0..processes).filter(|other| *other != me);
        others.for_each(|other| self.fails(fabric, other, why, cause.as_ref()));
    }

    /// What is to blame if a process was excluded: its first rank, in all processes.
    fn excluded_cause(&self) -> Option<Cause> {
        let process = self.session.membership.first_excluded()?;
        Some(Cause::Gone {
            rank: self.ranks_of(process).start,
            why: Gone::Failed(UNREADABLE.into()),
            site: None,
        })
    }

    /// The ranks of a process have failed, those that are not the cause because of it.
    fn fails(&self, fabric: Option<&Fabric>, process: usize, why: &str, cause: Option<&Cause>) {
        self.fail(fabric, self.ranks_of(process), why, cause);
    }

    /// The same because one of them has sent what this process cannot read. That is as good as no message: the ranks that
    /// it was meant for must not wait.
    fn fails_by_type(&self, fabric: &Fabric, process: usize, sender: Rank) {
        let why =
            "it has sent elements of a type that this process does not know: see World::plain";
        let cause = Cause::Gone {
            rank: sender,
            why: Gone::Failed(why.into()),
            site: None,
        };
        self.fails(Some(fabric), process, why, Some(&cause));
    }

    /// The same of these far ranks.
    fn fail(
        &self,
        fabric: Option<&Fabric>,
        ranks: impl Iterator<Item = Rank> + Clone,
        why: &str,
        cause: Option<&Cause>,
    ) {
        if let Some(fabric) = fabric {
            let why = Gone::Failed(why.into());
            let follows = |rank| cause.filter(|cause| cause.culprit() != Some(rank));
            let end = |rank| (rank, why.clone(), follows(rank).cloned());
            fabric.record_far_ends(ranks.clone().map(end));
        }
        ranks.for_each(|rank| self.has_ended(rank));
    }

    /// Hears what a process says that is not counted.
    fn hear(&self, from: usize, say: Say) {
        match say {
            Say::Look(question) => self.questions.ask(from, question),
            Say::Seen {
                question,
                local_state,
            } => self.questions.see(from, question, local_state),
            Say::Found(found) => self.questions.find(from, found),
            Say::Told { round } => {
                // In one step: what is held is let go of after the round has ended.
                let silence = self.silence.lock();
                if silence.round() == round {
                    self.held.begin(from);
                }
            }
            say => self.silence.lock().hear(from, say),
        }
    }

    /// Takes what waits for nothing.
    pub(super) fn take(
        &self,
        fabric: Option<&Fabric>,
        from: usize,
        letter: &[u8],
        body: Option<Message>,
    ) {
        if let Some((envelope, contents)) = Envelope::open(letter) {
            self.take_opened(fabric, from, (&envelope, letter), (contents, body));
        }
    }

    /// The same of a letter with this envelope.
    fn take_opened(
        &self,
        fabric: Option<&Fabric>,
        from: usize,
        (envelope, letter): (&Envelope, &[u8]),
        (contents, body): Contents<'_>,
    ) {
        let note = || body.as_ref().map_or(contents, Message::bytes);
        match envelope.kind {
            Kind::Bye => return self.leaves(fabric, from),
            _ if envelope.world > self.world => return self.take_later(fabric, from, letter, body),
            Kind::End => self.take_end(fabric, from, note()),
            Kind::Broken => self.take_broken(fabric, from, note()),
            Kind::Received(number) => self.take_received(fabric, from, number),
            Kind::Revoked(number) => self.take_revoked(from, number),
            _ => self.deliver(fabric, from, envelope, (contents, body)),
        }
        self.has_received(from);
    }

    fn deliver(&self, fabric: Option<&Fabric>, from: usize, envelope: &Envelope, it: Contents<'_>) {
        let sender = envelope.head.source();
        if !self.near.contains(&envelope.to) || !self.ranks_of(from).contains(&sender) {
            return self.exclude(fabric, from);
        }
        let Some(fabric) = fabric else {
            return;
        };
        let Some(packet) = wire::packet(envelope, it.0, it.1) else {
            return self.fails_by_type(fabric, from, sender);
        };
        let packet = self.with_receipt(from, envelope.kind, packet);
        let endpoint = &fabric.endpoints[envelope.to];
        match envelope.kind {
            Kind::Lane => self.lanes[envelope.to - self.near.start].put(packet),
            // The receiving end lives as long as the endpoint, so a send cannot fail.
            _ => _ = endpoint.mail.send(packet),
        }
        endpoint.sleeper.rouse();
    }

    /// A process that has greeted says that it does not take part after all.
    fn take_hello(&self, fabric: Option<&Fabric>, from: usize, note: &[u8]) {
        let hello = self.reader(note).hello();
        let Some(why) = hello.and_then(|hello| hello.refused) else {
            return self.exclude(fabric, from);
        };
        let why = format!("its world could not start: {why}");
        let cause = self.excluded_cause();
        self.fails(fabric, from, &why, cause.as_ref());
        self.session.membership.leave(from);
    }

    fn take_end(&self, fabric: Option<&Fabric>, from: usize, note: &[u8]) {
        let ranks = self.ranks_of(from);
        let end = self.reader(note).end();
        let Some(end) = end.filter(|end| ranks.contains(&end.rank)) else {
            return self.exclude(fabric, from);
        };
        let rank = end.rank;
        if end.left {
            self.leaves_early(rank);
        }
        if let Some(fabric) = fabric {
            fabric.open_registry().deadlocks.extend(end.deadlocks);
            fabric.record_end(rank, end.why, end.site, end.follows);
        }
        self.has_ended(rank);
    }

    fn take_broken(&self, fabric: Option<&Fabric>, from: usize, note: &[u8]) {
        let Some((context, cause)) = self.reader(note).broken() else {
            return self.exclude(fabric, from);
        };
        self.broken
            .lock()
            .entry(context)
            .or_insert_with(|| cause.clone());
        if let Some(fabric) = fabric {
            fabric.break_context(context, &cause);
        }
    }

    /// The ranks of a process that exits have ended.
    fn leaves(&self, fabric: Option<&Fabric>, process: usize) {
        self.fails(fabric, process, "its process has exited", None);
    }
}

fn local_state_in(say: &Say) -> Option<&LocalState> {
    match say {
        Say::LocalState { local_state, .. } => local_state.as_ref(),
        Say::Seen { local_state, .. } => Some(local_state),
        _ => None,
    }
}

impl Fabric {
    /// Breaks the communicator with this context here, if it is there, for this cause from another process.
    fn break_context(&self, context: u32, cause: &Cause) {
        let comms = self.comms();
        // The columns of a communicator have one context.
        for comm in comms.iter().filter(|comm| comm.context == context) {
            comm.cause.get_or_init(|| cause.clone());
            self.wake_if(&self.open_registry(), |wait| wait.is_in(comm));
            self.break_parts(comm, cause);
        }
    }
}
