//! A rank's incoming messages: one lock-free channel that every sender posts to, and the unexpected-message queue.
//!
//! Order is kept per sender and context, as MPI defines it: a receive takes the *first* message of a sender that it
//! matches. Between senders the message that arrived first is taken.

use std::collections::VecDeque;
use std::mem;
use std::rc::Rc;

use crate::Rank;
use crate::sort;
use crate::transport::matching::by_source::BySource;
use crate::transport::matching::early::{Early, first_match, holds_one, sweep};
use crate::transport::matching::incoming::Incoming;
use crate::transport::matching::posted_receives::{Next, Offered, Posted, Slot};
use crate::transport::matching::receive_buffer::{Arrived, ReceiveBuffer};
use crate::transport::matching::want::{QueueId, Want};
use crate::transport::memory::head::Head;
use crate::transport::memory::lenders::Lenders;
use crate::transport::memory::packet::Packet;
use crate::unwind;

/// The receiving end of one rank.
pub(crate) struct Inbox {
    pub(super) mail: Incoming,
    /// By (context, source): only pairs that have a message waiting.
    pub(super) early: BySource<VecDeque<Early>>,
    pub(super) arrivals: u64,
    /// The arrival of the message handed out last, for `put_back`.
    taken: u64,
    /// Posted receives: requests made before the rank waits for them.
    pub(super) posted: Posted,
    /// Messages that no receive will want any more: they are counted as never received.
    aside: Vec<Early>,
    /// Revoked messages that own a user's value: dropped when the inbox is drained or dropped, never amid a receive.
    to_drop: Vec<Packet>,
    /// Messages that a posted receive from any source wants stay in their queue, with all behind them, until the
    /// chooser has decided which queue the receive takes from.
    pub(super) controlled: bool,
}

impl Inbox {
    pub(in crate::transport) fn new(mail: Incoming) -> Self {
        Inbox {
            mail,
            early: BySource::default(),
            arrivals: 0,
            taken: 0,
            posted: Posted::default(),
            aside: Vec::new(),
            to_drop: Vec::new(),
            controlled: false,
        }
    }

    /// The same inbox, in a controlled world if `controlled`.
    pub(in crate::transport) fn controlled(self, controlled: bool) -> Self {
        Inbox { controlled, ..self }
    }

    /// Puts the first wanted unexpected message into `place`. Returns whether there was one.
    #[inline]
    pub(crate) fn find(&mut self, want: &Want, lenders: &impl Lenders, place: &mut Packet) -> bool {
        !self.early.is_empty() && self.find_kept(want, lenders, place)
    }

    #[inline(never)]
    fn find_kept(&mut self, want: &Want, lenders: &impl Lenders, place: &mut Packet) -> bool {
        let found = self.find_early(want, lenders);
        found.map(|packet| *place = packet).is_some()
    }

    fn find_early(&mut self, want: &Want, lenders: &impl Lenders) -> Option<Packet> {
        // The place of a match is not looked up again: its sender may revoke it at any time, and another one is not the
        // first of all.
        let (source, place) = match want.source() {
            Some(source) => (source, None),
            None => {
                let (source, place) = self.first_of_all(want, lenders)?;
                (source, Some(place))
            }
        };
        let key = (want.context(), source);
        let queue = self.early.get_mut(&key)?;
        let blocked = self.controlled.then_some(&self.posted);
        let first = || first_match(queue, want, blocked, &mut self.to_drop, lenders);
        let early = place.or_else(first).and_then(|place| queue.remove(place));
        if queue.is_empty() {
            self.early.remove(&key);
        }
        let early = early?;
        self.taken = early.arrival;
        Some(early.packet)
    }

    /// The first match of all sources: its source, and its place in the queue of that one.
    fn first_of_all(&mut self, want: &Want, lenders: &impl Lenders) -> Option<(Rank, usize)> {
        let blocked = self.controlled.then_some(&self.posted);
        let mut first: Option<(u64, Rank, usize)> = None;
        for (&(context, source), queue) in &mut self.early {
            if context == want.context()
                && let Some(place) = first_match(queue, want, blocked, &mut self.to_drop, lenders)
            {
                let arrival = queue[place].arrival;
                if first.is_none_or(|(earliest, ..)| arrival < earliest) {
                    first = Some((arrival, source, place));
                }
            }
        }
        first.map(|(_, source, place)| (source, place))
    }

    /// Takes in what has arrived until a wanted message is in `place`. Returns whether one is. Call it only right after
    /// `find` returned `false`.
    ///
    /// A message stays in `place` from the channel until it is opened: it is read in words, and moving words that were
    /// just written with other widths stalls.
    #[inline]
    pub(crate) fn poll(&mut self, want: &Want, lenders: &impl Lenders, place: &mut Packet) -> bool {
        if self.controlled {
            self.take_in_controlled(lenders);
            return self.find(want, lenders, place);
        }
        // `place` holds nothing, or a revoked loan: there is nothing to drop.
        while self.mail.next(place) {
            self.arrivals += 1;
            if self.is_unwanted(place, lenders) {
                if want.accepts(place.head) {
                    self.taken = self.arrivals;
                    return true;
                }
                self.keep(self.arrivals, mem::replace(place, Packet::empty()));
            }
        }
        false
    }

    /// [`poll`](Self::poll) for a receive into a buffer: copies a short message there without a packet.
    #[inline]
    pub(crate) fn poll_into(
        &mut self,
        want: &Want,
        lenders: &impl Lenders,
        into: &mut ReceiveBuffer<'_>,
        place: &mut Packet,
    ) -> Option<Arrived> {
        if !self.controlled && self.posted.is_empty() {
            let accepts = |head| want.accepts(head);
            if let Some((head, count)) = self.mail.next_into(&mut into.elements, accepts) {
                self.arrivals += 1;
                self.taken = self.arrivals;
                (into.head, into.count) = (head, count);
                return Some(Arrived::Copied);
            }
            if self.mail.is_empty() {
                return None;
            }
        }
        self.poll(want, lenders, place).then_some(Arrived::Packet)
    }

    /// Whether no posted receive wants the message that has just arrived, and it was not revoked. Otherwise `place` is
    /// empty afterwards.
    #[inline]
    fn is_unwanted(&mut self, place: &mut Packet, lenders: &impl Lenders) -> bool {
        if place.is_dead(lenders) {
            self.discard(place);
            return false;
        }
        self.posted.is_empty() || self.is_not_posted(place, lenders)
    }

    #[cold]
    fn is_not_posted(&mut self, place: &mut Packet, lenders: &impl Lenders) -> bool {
        let offered = self.posted.offer(place, self.arrivals, lenders);
        if matches!(offered, Offered::Dead) {
            self.discard(place);
        }
        matches!(offered, Offered::Unwanted)
    }

    /// Empties `place` of a message that was revoked, or that nobody awaits: it is dropped when the rank has ended.
    pub(crate) fn discard(&mut self, place: &mut Packet) {
        let dead = mem::replace(place, Packet::empty());
        if dead.is_owned() {
            self.to_drop.push(dead);
        }
    }

    /// Takes in what has arrived until each posted receive has its message. What follows may be for receives that are
    /// posted later, which then take it from where it is.
    #[inline]
    pub(crate) fn take_in(&mut self, lenders: &impl Lenders) {
        match self.controlled {
            true => self.take_in_controlled(lenders),
            false => while self.has_posted() && self.take_next(lenders) {},
        }
    }

    /// Takes in the next message: moves it straight into the first open slot, which is the one that wants it, almost
    /// always. Returns whether there was one.
    #[inline]
    fn take_next(&mut self, lenders: &impl Lenders) -> bool {
        let Some(slot) = self.posted.first_open() else {
            return false;
        };
        let arrival = self.arrivals + 1;
        let next = slot.take_next(arrival, lenders, |place| self.mail.next(place));
        if matches!(next, Next::Nothing) {
            return false;
        }
        self.arrivals = arrival;
        match next {
            Next::Other(packet) => self.take_other(packet, lenders),
            _ => self.posted.close_first(),
        }
        true
    }

    /// Takes in a message that the first open slot does not want.
    #[cold]
    fn take_other(&mut self, mut packet: Packet, lenders: &impl Lenders) {
        if self.is_unwanted(&mut packet, lenders) {
            self.keep(self.arrivals, packet);
        }
    }

    /// The same in a controlled world: only messages that need no choice are delivered to posted receives.
    #[cold]
    fn take_in_controlled(&mut self, lenders: &impl Lenders) {
        while let Some(packet) = self.mail.pop() {
            self.arrivals += 1;
            self.keep(self.arrivals, packet);
        }
        let keys: Vec<_> = self.early.keys().copied().collect();
        for key in keys {
            let mut queue = self.early.remove(&key).unwrap_or_default();
            sweep(&mut queue, &mut self.to_drop, lenders);
            self.settle(&mut queue, lenders);
            if !queue.is_empty() {
                self.early.insert(key, queue);
            }
        }
    }

    fn settle(&mut self, queue: &mut VecDeque<Early>, lenders: &impl Lenders) {
        let mut place = 0;
        while let Some(early) = queue.get(place) {
            match self.posted.wants(&early.packet) {
                None => place += 1,
                Some(true) => return,
                Some(false) => self.deliver(queue, place, lenders),
            }
        }
    }

    /// Delivers a message to the posted receive that wants it.
    fn deliver(&mut self, queue: &mut VecDeque<Early>, place: usize, lenders: &impl Lenders) {
        if let Some(Early {
            arrival,
            mut packet,
        }) = queue.remove(place)
            && matches!(
                self.posted.offer(&mut packet, arrival, lenders),
                Offered::Dead
            )
        {
            self.discard(&mut packet);
        }
    }

    /// The queues whose messages matter to one of `wants`, and those that hold messages only for other posted receives;
    /// both sorted.
    pub(in crate::transport) fn queues(&self, wants: &[Want]) -> (Vec<QueueId>, Vec<QueueId>) {
        let (mut needed, mut other) = (Vec::new(), Vec::new());
        let wants = self.with_rivals(wants.to_vec());
        for (&(context, source), queue) in &self.early {
            let id = QueueId { context, source };
            if holds_one(queue, &wants) {
                needed.push(id);
            } else if self.contended(queue).is_some() {
                other.push(id);
            }
        }
        for queues in [&mut needed, &mut other] {
            sort::by_numbers(queues, |id| [id.context as usize, id.source]);
        }
        (needed, other)
    }

    /// `wants`, and the posted receives that must have chosen before them: those that want a message in front of one of
    /// theirs.
    fn with_rivals(&self, mut wants: Vec<Want>) -> Vec<Want> {
        loop {
            let queues = self.early.values().filter(|queue| holds_one(queue, &wants));
            let rivals = queues.filter_map(|queue| self.contended(queue));
            let more: Vec<Want> = rivals.filter(|rival| !wants.contains(rival)).collect();
            if more.is_empty() {
                return wants;
            }
            wants.extend(more);
        }
    }

    /// What the first posted receive that wants something in a queue accepts, if there is one.
    fn contended(&self, queue: &VecDeque<Early>) -> Option<Want> {
        let mut wanted = queue
            .iter()
            .filter_map(|early| self.posted.first(&early.packet));
        wanted.next()
    }

    /// Whether a posted receive wants something in a queue.
    pub(in crate::transport) fn is_contended(&self, queue: QueueId) -> bool {
        let queue = self.early.get(&(queue.context, queue.source));
        queue.is_some_and(|queue| self.contended(queue).is_some())
    }

    /// The messages that posted receives from any source accept.
    pub(in crate::transport) fn wild(&self) -> impl Iterator<Item = Want> {
        self.posted.wild()
    }

    /// Delivers the first message in `queue` that a receive wants to the posted receive that wants it. Returns `false`
    /// if it is left to the receive that is being waited for, whose `want` this is.
    pub(in crate::transport) fn choose(
        &mut self,
        queue: QueueId,
        want: Option<&Want>,
        lenders: &impl Lenders,
    ) -> bool {
        let key = (queue.context, queue.source);
        let mut queue = self.early.remove(&key).unwrap_or_default();
        let first = queue.iter().position(|early| {
            want.is_some_and(|want| want.accepts(early.packet.head))
                || self.posted.wants(&early.packet).is_some()
        });
        let contended = first.filter(|&place| self.posted.wants(&queue[place].packet).is_some());
        if let Some(place) = contended {
            self.deliver(&mut queue, place, lenders);
        }
        if !queue.is_empty() {
            self.early.insert(key, queue);
        }
        contended.is_some()
    }

    /// Posts a receive, behind all that are posted already.
    #[inline]
    pub(crate) fn post(&mut self, want: Want, lenders: &impl Lenders) -> Rc<Slot> {
        let (head, mask) = want.words();
        self.post_words(head, mask, lenders)
    }

    #[inline(never)]
    fn post_words(&mut self, head: Head, mask: Head, lenders: &impl Lenders) -> Rc<Slot> {
        let slot = self.posted.slot(head, mask);
        if self.controlled {
            let slot = self.posted.open(slot);
            self.take_in_controlled(lenders);
            return slot;
        }
        let slot = match !self.early.is_empty() && self.fill(&slot, lenders) {
            true => slot,
            false => self.posted.open(slot),
        };
        self.take_in(lenders);
        slot
    }

    /// Fills a slot with the first message that it wants, of those that are kept.
    #[inline(never)]
    fn fill(&mut self, slot: &Slot, lenders: &impl Lenders) -> bool {
        let want = slot.want();
        slot.fill_in_place(|place| {
            while self.find(&want, lenders, place) {
                if place.make_own(lenders) {
                    return Some(self.taken);
                }
                self.discard(place);
            }
            None
        })
    }

    /// Whether there are posted receives whose messages have not arrived.
    #[inline]
    pub(crate) fn has_posted(&self) -> bool {
        !self.posted.is_empty()
    }

    /// Keeps the slot of a posted receive whose message was taken, for a later one.
    pub(crate) fn recycle(&mut self, slot: Rc<Slot>) {
        self.posted.recycle(slot);
    }

    /// Cancels a posted receive. Its message, if it has arrived, waits for the next receive that wants it.
    pub(crate) fn unpost(&mut self, slot: &Rc<Slot>, lenders: &impl Lenders) {
        if slot.is_filled() {
            let (packet, arrival) = slot.take();
            self.give_back(packet, arrival, lenders);
        } else {
            self.posted.close(slot);
        }
    }

    /// Whether nothing is kept here and no receive is posted; there may be mail.
    pub(in crate::transport) fn is_idle(&self) -> bool {
        let keeps = !(self.early.is_empty() && self.aside.is_empty() && self.to_drop.is_empty());
        !keeps && self.posted.is_empty()
    }

    /// The place in the order of arrival of the message handed out last.
    pub(crate) fn last_taken(&self) -> u64 {
        self.taken
    }

    /// Puts the message handed out last back where it was in its sender's queue.
    pub(crate) fn put_back(&mut self, packet: Packet) {
        self.keep(self.taken, packet);
    }

    /// Keeps the message handed out last for the report alone: it was never received.
    pub(crate) fn set_aside(&mut self, packet: Packet) {
        let arrival = self.taken;
        self.aside.push(Early { arrival, packet });
    }

    /// Puts back a message that was handed out a while ago: posted receives may want it now.
    pub(crate) fn give_back(&mut self, mut packet: Packet, arrival: u64, lenders: &impl Lenders) {
        if self.controlled {
            self.keep(arrival, packet);
            return self.take_in_controlled(lenders);
        }
        match self.posted.offer(&mut packet, arrival, lenders) {
            Offered::Taken => {}
            Offered::Dead => self.discard(&mut packet),
            Offered::Unwanted => self.keep(arrival, packet),
        }
    }

    fn keep(&mut self, arrival: u64, packet: Packet) {
        let queue = self
            .early
            .entry((packet.head.context(), packet.head.source()))
            .or_default();
        let place = queue.partition_point(|early| early.arrival < arrival);
        queue.insert(place, Early { arrival, packet });
    }

    /// Everything that was never received, in the order of arrival.
    pub(crate) fn drain(&mut self, lenders: &impl Lenders) -> Vec<Packet> {
        let early = self.take_kept();
        let late = std::iter::from_fn(|| self.mail.pop());
        let (dead, left): (Vec<_>, Vec<_>) = early
            .into_iter()
            .chain(late)
            .partition(|packet| packet.is_dead(lenders));
        // The inbox is no longer in use, but this rank may be unwinding, or the thread may be no rank of the world.
        let to_drop = mem::take(&mut self.to_drop).into_iter();
        to_drop.chain(dead).for_each(unwind::drop_quietly);
        left
    }

    /// What is kept here, in the order of arrival.
    pub(in crate::transport) fn take_kept(&mut self) -> Vec<Packet> {
        let mut early: Vec<Early> = self.early.drain().flat_map(|(_, queue)| queue).collect();
        early.append(&mut self.aside);
        sort::by_numbers(&mut early, |early| [early.arrival as usize]);
        early.into_iter().map(|early| early.packet).collect()
    }

    /// The same for a rank that has ended: what arrives after this is drained by another inbox.
    pub(in crate::transport) fn leave(&mut self, lenders: &impl Lenders) -> Vec<Packet> {
        let left = self.drain(lenders);
        self.mail.leave_fast_box();
        left
    }
}
