//! Rounds: the order in which a rank exchanges messages with its neighbours.
//!
//! In a round every rank sends to at most one rank and receives from at most one; of several messages, the first that
//! is sent is the first that is received. All ranks number the rounds alike, and each goes through its own in order, so
//! a message waits only for those before it and for messages of earlier rounds: no rank waits forever, even if every
//! send waits for its receive.
//!
//! Where all messages of a rank are short and there is room for each of them now, it sends them before it receives any.
//! It never waits for that, so no message is later than in its round, and its neighbours wait for nothing but it.
//! Without room it would wait out of turn, perhaps for a rank that waits for it.

use std::sync::Arc;

use crate::Rank;
use crate::schedule::{Lengths, LocalCopy, Region, Schedule, Step, Transfer};
use crate::sort;
use crate::span::Blocks;

/// A message between this rank and a neighbour, seen from this rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leg {
    pub round: usize,
    pub peer: Rank,
    /// The index of its block in the buffer.
    pub place: usize,
}

impl Leg {
    fn transfer(&self, region: Region) -> Transfer {
        Transfer {
            peer: self.peer,
            region,
        }
    }
}

/// The messages of one rank in the order of their rounds, and in a round in the order of their places.
#[derive(Debug)]
pub(super) struct Rounds {
    me: Rank,
    ranks: usize,
    sends: Vec<Leg>,
    receives: Vec<Leg>,
    /// The messages to itself: the places of the block to send and of the block to receive.
    copies: Vec<[usize; 2]>,
    /// What is sent and what is received together, in a round of this rank or a part of one.
    both: Vec<[Option<usize>; 2]>,
    /// Whether several messages go to some other rank.
    repeats: bool,
}

impl Rounds {
    pub(super) fn new(me: Rank, ranks: usize, sends: Vec<Leg>, receives: Vec<Leg>) -> Rounds {
        let (sends, to_me) = parted(me, sends);
        let (receives, from_me) = parted(me, receives);
        let copies = to_me.iter().zip(&from_me);
        Rounds {
            me,
            ranks,
            copies: copies.map(|(out, into)| [out.place, into.place]).collect(),
            both: merged(&sends, &receives),
            repeats: repeat(&sends),
            sends,
            receives,
        }
    }

    /// The messages to itself: the places of the block to send and of the block to receive.
    pub(super) fn copies(&self) -> &[[usize; 2]] {
        &self.copies
    }

    /// Which of so many blocks to receive come from any rank.
    pub(super) fn coming(&self, blocks: usize) -> Vec<bool> {
        let mut coming = vec![false; blocks];
        let received = self.receives.iter().map(|leg| leg.place);
        let copied = self.copies.iter().map(|&[_, into]| into);
        received
            .chain(copied)
            .for_each(|place| coming[place] = true);
        coming
    }

    /// Whether all sends may go before all receives, if all messages are short and there is room for one to each of
    /// these ranks.
    pub(super) fn may_send_first(&self, has_room: impl Fn(Rank) -> bool) -> bool {
        !self.repeats && self.sends.iter().all(|leg| has_room(leg.peer))
    }

    /// The legs of a step in which all sends go before all receives.
    fn apart(&self, step: usize) -> [Option<&Leg>; 2] {
        let receive = step.checked_sub(self.sends.len());
        let receive = receive.and_then(|step| self.receives.get(step));
        [self.sends.get(step), receive]
    }

    /// The legs of a step in which a message of a round is sent while another one is received.
    fn together(&self, step: usize) -> [Option<&Leg>; 2] {
        let [send, receive] = self.both.get(step).copied().unwrap_or_default();
        [
            send.map(|place| &self.sends[place]),
            receive.map(|place| &self.receives[place]),
        ]
    }
}

/// The legs to other ranks and those to this one, each in order.
fn parted(me: Rank, mut legs: Vec<Leg>) -> (Vec<Leg>, Vec<Leg>) {
    sort::by_numbers(&mut legs, |leg| [leg.round, leg.place]);
    legs.into_iter().partition(|leg| leg.peer != me)
}

/// The messages of both lists, two of the same round together: the indices of the send and of the receive.
fn merged(sends: &[Leg], receives: &[Leg]) -> Vec<[Option<usize>; 2]> {
    let (mut send, mut receive) = (0, 0);
    let mut all = Vec::new();
    loop {
        let next = [sends.get(send), receives.get(receive)].map(|leg| leg.map(|leg| leg.round));
        let Some(round) = next.into_iter().flatten().min() else {
            return all;
        };
        let here = next.map(|next| next == Some(round));
        all.push([here[0].then_some(send), here[1].then_some(receive)]);
        send += usize::from(here[0]);
        receive += usize::from(here[1]);
    }
}

/// Whether several legs have the same peer.
fn repeat(legs: &[Leg]) -> bool {
    let mut peers: Vec<Rank> = legs.iter().map(|leg| leg.peer).collect();
    peers.sort_unstable();
    peers.windows(2).any(|two| two[0] == two[1])
}

/// Where the blocks of a buffer are.
pub(super) enum Cut {
    /// Every block is the whole buffer, of this length.
    Whole(usize),
    Blocks(Blocks),
}

impl Cut {
    fn run(&self, place: usize) -> std::ops::Range<usize> {
        match self {
            Cut::Whole(length) => 0..*length,
            Cut::Blocks(blocks) => blocks.block(place),
        }
    }

    pub(super) fn count(&self, place: usize) -> usize {
        self.run(place).len()
    }

    /// The length of the longest block.
    pub(super) fn longest(&self) -> usize {
        match self {
            Cut::Whole(length) => *length,
            Cut::Blocks(blocks) => blocks.longest(),
        }
    }

    fn length(&self) -> usize {
        match self {
            Cut::Whole(length) => *length,
            Cut::Blocks(blocks) => blocks.length(),
        }
    }
}

/// The schedule of one rank in one call. It is valid only for that rank.
pub(super) struct Exchange<'a> {
    pub rounds: &'a Rounds,
    pub out: &'a Cut,
    pub into: &'a Cut,
    /// Whether all sends go before all receives.
    pub sends_first: bool,
}

impl Exchange<'_> {
    fn copy(&self, [from, to]: [usize; 2]) -> Step {
        let (from, to) = (self.out.run(from), self.into.run(to));
        let copy = LocalCopy::new(Region::input(from), Region::output(to));
        Step {
            local: Some(copy),
            ..Step::IDLE
        }
    }
}

impl Schedule for Exchange<'_> {
    fn ranks(&self) -> usize {
        self.rounds.ranks
    }

    fn steps(&self) -> usize {
        let Rounds {
            sends,
            receives,
            copies,
            both,
            ..
        } = self.rounds;
        copies.len()
            + match self.sends_first {
                true => sends.len() + receives.len(),
                false => both.len(),
            }
    }

    fn step(&self, _: Rank, step: usize) -> Step {
        let copies = self.rounds.copies();
        let Some(step) = step.checked_sub(copies.len()) else {
            return self.copy(copies[step]);
        };
        let [send, receive] = match self.sends_first {
            true => self.rounds.apart(step),
            false => self.rounds.together(step),
        };
        Step {
            send: send.map(|leg| leg.transfer(Region::input(self.out.run(leg.place)))),
            recv: receive.map(|leg| leg.transfer(Region::output(self.into.run(leg.place)))),
            ..Step::IDLE
        }
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        debug_assert_eq!(rank, self.rounds.me, "it is the schedule of one rank");
        Lengths {
            input: self.out.length(),
            output: self.into.length(),
            scratch: 0,
        }
    }
}

/// The same in a call that was started, which keeps what it needs. Its sends are copies and wait for no receiver, so
/// all of them go before all receives.
pub(super) struct StartedExchange {
    pub rounds: Arc<Rounds>,
    pub out: Cut,
    pub into: Cut,
}

impl StartedExchange {
    fn exchange(&self) -> Exchange<'_> {
        Exchange {
            rounds: &self.rounds,
            out: &self.out,
            into: &self.into,
            sends_first: true,
        }
    }
}

impl Schedule for StartedExchange {
    fn ranks(&self) -> usize {
        self.exchange().ranks()
    }

    fn steps(&self) -> usize {
        self.exchange().steps()
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        self.exchange().step(rank, step)
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        self.exchange().lengths(rank)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn leg(round: usize, peer: Rank, place: usize) -> Leg {
        Leg { round, peer, place }
    }

    #[test]
    fn a_send_and_a_receive_of_the_same_round_are_one_step() {
        let sends = vec![leg(3, 7, 0), leg(1, 5, 1), leg(1, 5, 2)];
        let receives = vec![leg(1, 3, 0), leg(2, 2, 1)];
        let rounds = Rounds::new(4, 8, sends, receives);
        let places: Vec<[Option<usize>; 2]> = (0..5)
            .map(|step| rounds.together(step).map(|leg| leg.map(|leg| leg.place)))
            .collect();
        assert_eq!(
            places,
            [
                [Some(1), Some(0)],
                [Some(2), None],
                [None, Some(1)],
                [Some(0), None],
                [None, None]
            ]
        );
    }

    #[test]
    fn messages_to_the_rank_itself_are_copies() {
        let sends = vec![leg(0, 4, 2), leg(1, 5, 0), leg(0, 4, 5)];
        let receives = vec![leg(0, 4, 0), leg(0, 4, 1)];
        let rounds = Rounds::new(4, 8, sends, receives);
        assert_eq!(rounds.copies(), [[2, 0], [5, 1]]);
        assert_eq!((rounds.sends.len(), rounds.receives.len()), (1, 0));
    }

    #[test]
    fn all_is_sent_first_only_if_there_is_room_for_one_message_to_each_rank() {
        let sends_to = |peers: &[Rank]| {
            let leg = |(place, &peer)| leg(peer, peer, place);
            Rounds::new(
                0,
                4,
                peers.iter().enumerate().map(leg).collect(),
                Vec::new(),
            )
        };
        assert!(sends_to(&[]).may_send_first(|_| false));
        assert!(sends_to(&[3, 0, 1, 0]).may_send_first(|peer| peer != 0));
        assert!(!sends_to(&[3, 1]).may_send_first(|peer| peer != 1));
        assert!(!sends_to(&[3, 1, 3]).may_send_first(|_| true));
    }
}
