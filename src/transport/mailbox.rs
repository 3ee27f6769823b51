//! A rank's incoming messages: one lock-free channel that everybody posts to, and what came before
//! it was asked for.
//!
//! Order is kept per sender and context, as MPI defines it: a receive takes the *first* message of
//! a sender that it matches; between senders the one that arrived first wins.

use std::collections::{HashMap, VecDeque};
use std::mem;

use crossbeam_channel::Receiver;

use super::lend::Lenders;
use super::packet::Packet;
use crate::Rank;

/// Which messages a receive accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    pub context: u32,
    /// `None`: any sender.
    pub source: Option<Rank>,
    /// `None`: any tag.
    pub tag: Option<u32>,
}

impl Want {
    #[inline]
    pub(super) fn accepts(&self, packet: &Packet) -> bool {
        packet.head.context() == self.context
            && self.source.is_none_or(|source| source == packet.source())
            && self.tag.is_none_or(|tag| tag == packet.head.tag())
    }
}

/// A message that nobody has asked for yet, with its place in the order of arrival.
struct Early {
    arrival: u64,
    packet: Packet,
}

/// The receiving end of one rank.
pub(crate) struct Inbox {
    mail: Receiver<Packet>,
    /// By (context, source): only pairs that have something waiting.
    early: HashMap<(u32, Rank), VecDeque<Early>>,
    arrivals: u64,
    /// The arrival of the message handed out last, for `put_back`.
    taken: u64,
}

impl Inbox {
    pub(crate) fn new(mail: Receiver<Packet>) -> Self {
        Inbox {
            mail,
            early: HashMap::new(),
            arrivals: 0,
            taken: 0,
        }
    }

    /// Puts the first wanted message among those that came early into `place`; whether there was one.
    #[inline]
    pub(crate) fn find(&mut self, want: &Want, lenders: &impl Lenders, place: &mut Packet) -> bool {
        if self.early.is_empty() {
            return false;
        }
        let found = self.find_early(want, lenders);
        found.map(|packet| *place = packet).is_some()
    }

    fn find_early(&mut self, want: &Want, lenders: &impl Lenders) -> Option<Packet> {
        let key = self.first_match(want, lenders)?;
        let queue = self.early.get_mut(&key)?;
        let found = queue.iter().position(|early| want.accepts(&early.packet))?;
        let early = queue.remove(found)?;
        if queue.is_empty() {
            self.early.remove(&key);
        }
        self.taken = early.arrival;
        Some(early.packet)
    }

    /// The queue whose first match arrived first; dead packets are swept out on the way.
    fn first_match(&mut self, want: &Want, lenders: &impl Lenders) -> Option<(u32, Rank)> {
        let mut first = None;
        for (key, queue) in self
            .early
            .iter_mut()
            .filter(|(key, _)| key.0 == want.context)
        {
            queue.retain(|early| !early.packet.is_dead(lenders));
            let arrival = queue
                .iter()
                .find(|early| want.accepts(&early.packet))
                .map(|early| early.arrival);
            if let Some(arrival) =
                arrival.filter(|&arrival| first.is_none_or(|(earliest, _)| arrival < earliest))
            {
                first = Some((arrival, *key));
            }
        }
        first.map(|(_, key)| key)
    }

    /// Takes in what has arrived until a wanted message comes up in `place`; whether one did. Only
    /// right after `find` said no.
    ///
    /// A message stays in `place` from the channel until it is opened: it is looked at in words, and
    /// moving words that were just written as other words stalls.
    #[inline]
    pub(crate) fn poll(&mut self, want: &Want, lenders: &impl Lenders, place: &mut Packet) -> bool {
        while let Ok(packet) = self.mail.try_recv() {
            // What was there is nothing, or a dead loan: there is nothing to drop.
            mem::forget(mem::replace(place, packet));
            self.arrivals += 1;
            if !place.is_dead(lenders) {
                if want.accepts(place) {
                    self.taken = self.arrivals;
                    return true;
                }
                self.keep(self.arrivals, mem::replace(place, Packet::empty()));
            }
        }
        false
    }

    /// Takes in all that has arrived.
    pub(super) fn stow(&mut self, lenders: &impl Lenders) {
        while let Ok(packet) = self.mail.try_recv() {
            self.arrivals += 1;
            if !packet.is_dead(lenders) {
                self.keep(self.arrivals, packet);
            }
        }
    }

    /// Who has sent something that is wanted, among what has been taken in; sorted.
    pub(super) fn sources(&self, want: &Want) -> Vec<Rank> {
        let wanted =
            |queue: &VecDeque<Early>| queue.iter().any(|early| want.accepts(&early.packet));
        let lines = self.early.iter().filter(|(_, queue)| wanted(queue));
        let mut sources: Vec<Rank> = lines.map(|((_, source), _)| *source).collect();
        sources.sort_unstable();
        sources
    }

    /// Puts the message handed out last back where it was in its sender's line.
    pub(crate) fn put_back(&mut self, packet: Packet) {
        self.keep(self.taken, packet);
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
        let mut early: Vec<Early> = self.early.drain().flat_map(|(_, queue)| queue).collect();
        early.sort_by_key(|early| early.arrival);
        let early = early.into_iter().map(|early| early.packet);
        let late = std::iter::from_fn(|| self.mail.try_recv().ok());
        early
            .chain(late)
            .filter(|packet| !packet.is_dead(lenders))
            .collect()
    }
}
