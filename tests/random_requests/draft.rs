//! Draws a right program stage by stage.

use rankfold::Rank;

use super::{Act, Ends, How, Message, Program};
use crate::support::Random;

/// A program under construction.
struct Draft {
    program: Program,
    random: Random,
    next: usize,
    /// Values, wildcards and all ways to wait; otherwise all messages are alike.
    rich: bool,
    longest: usize,
    /// Requests of each rank that remain for the end: sends and receives.
    late: Vec<[Vec<usize>; 2]>,
}

pub fn draw(seed: u64, rich: bool) -> Program {
    let mut random = Random::new(seed);
    let ranks = 2 + random.below(7);
    let longest = if rich { random.of(&[3, 40, 3000]) } else { 1 };
    let mut draft = Draft {
        program: Program(vec![Vec::new(); ranks]),
        random,
        next: 0,
        rich,
        longest,
        late: vec![Default::default(); ranks],
    };
    for _ in 0..1 + draft.random.below(5) {
        draft.stage();
    }
    for rank in 0..ranks {
        let [sends, receives] = std::mem::take(&mut draft.late[rank]);
        draft.settle(rank, sends, receives);
    }
    draft.program
}

impl Draft {
    fn ranks(&self) -> usize {
        self.program.0.len()
    }

    fn push(&mut self, rank: Rank, act: Act) {
        self.program.0[rank].push(act);
    }

    fn message(&mut self) -> Message {
        self.next += 1;
        let (id, n) = (self.next, self.ranks());
        let wild = self.rich && self.random.one_in(5);
        Message {
            id,
            from: self.random.below(n),
            to: self.random.below(n),
            tag: if wild {
                1000 + id as u32
            } else {
                self.random.below(3) as u32
            },
            length: 1 + self.random.below(self.longest),
            moved: self.rich && self.random.one_in(5),
            wild,
        }
    }

    fn stage(&mut self) {
        let messages: Vec<_> = (0..self.random.below(4 * self.ranks()))
            .map(|_| self.message())
            .collect();
        // Either some sends block, after all receives were posted, or some receives do, after all sends.
        let sends_block = self.random.one_in(2);
        let scoped = self.rich && self.random.one_in(4);
        for rank in 0..self.ranks() {
            let sends: Vec<_> = messages
                .iter()
                .copied()
                .filter(|m| m.from == rank)
                .collect();
            let receives = self.order(messages.iter().copied().filter(|m| m.to == rank).collect());
            if scoped && messages.iter().all(|m| !m.moved) {
                let receives = receives.into_iter().map(|(message, _)| message).collect();
                self.push(rank, Act::Scope { sends, receives });
                continue;
            }
            let (sent, received) = match sends_block {
                true => {
                    let received = self.receive_all(rank, receives, false);
                    (self.send_all(rank, sends, true), received)
                }
                false => {
                    let sent = self.send_all(rank, sends, false);
                    (sent, self.receive_all(rank, receives, true))
                }
            };
            self.settle(rank, sent, received);
        }
        match self.random.below(4) {
            0 => (0..self.ranks()).for_each(|rank| self.push(rank, Act::Barrier)),
            1 if self.rich => {
                let length = 1 + self.random.below(self.longest);
                (0..self.ranks()).for_each(|rank| self.push(rank, Act::Sum(length)));
            }
            _ => {}
        }
    }

    /// Returns an order in which the messages of one receiver can be received, and whether any tag would do.
    fn order(&mut self, mut left: Vec<Message>) -> Vec<(Message, bool)> {
        let mut order = Vec::new();
        while !left.is_empty() {
            let drawn = left[self.random.below(left.len())];
            let first = left
                .iter()
                .position(|m| m.from == drawn.from && m.tag == drawn.tag);
            let place = first.expect("it is there itself");
            let head = left.iter().position(|m| m.from == drawn.from) == Some(place);
            let message = left.remove(place);
            order.push((message, head && !message.wild && self.random.one_in(3)));
        }
        order
    }

    /// Adds the sends; returns their requests.
    fn send_all(&mut self, rank: Rank, sends: Vec<Message>, may_block: bool) -> Vec<usize> {
        let mut requests = Vec::new();
        for message in sends {
            if may_block && self.random.one_in(2) {
                self.push(rank, Act::Send(message));
            } else {
                self.push(rank, Act::Isend(message));
                requests.push(message.id);
            }
        }
        requests
    }

    /// Draws a way to receive.
    fn how(&mut self) -> How {
        let all = [
            How::Plain,
            How::Into,
            How::Probed,
            How::Matched,
            How::Polled,
        ];
        if self.rich {
            self.random.of(&all)
        } else {
            How::Plain
        }
    }

    fn receive_all(
        &mut self,
        rank: Rank,
        receives: Vec<(Message, bool)>,
        may_block: bool,
    ) -> Vec<usize> {
        let mut requests = Vec::new();
        for (message, any_tag) in receives {
            if self.rich && self.random.one_in(6) {
                self.next += 1;
                let never = self.next;
                self.push(rank, Act::Never(never));
            }
            if may_block && self.random.one_in(2) {
                let how = self.how();
                self.push(
                    rank,
                    Act::Recv {
                        message,
                        any_tag,
                        how,
                    },
                );
            } else {
                self.push(rank, Act::Irecv { message, any_tag });
                requests.push(message.id);
            }
        }
        requests
    }

    /// Waits for requests, for some of them only at the end.
    fn settle(&mut self, rank: Rank, sends: Vec<usize>, receives: Vec<usize>) {
        let mut sets = [sends, receives];
        for (side, set) in sets.iter_mut().enumerate() {
            let (late, mut now): (Vec<_>, Vec<_>) = set.iter().partition(|_| self.random.one_in(5));
            self.late[rank][side].extend(late);
            for i in (1..now.len()).rev() {
                now.swap(i, self.random.below(i + 1));
            }
            *set = now;
        }
        let [sends, receives] = sets;
        let all = [
            Ends::Each,
            Ends::All,
            Ends::Any,
            Ends::Some,
            Ends::Tested,
            Ends::TestedAll,
            Ends::TestedAny,
            Ends::TestedSome,
        ];
        let mut ends = || {
            if self.rich {
                self.random.of(&all)
            } else {
                Ends::Each
            }
        };
        let acts = [
            Act::WaitSends(ends(), sends),
            Act::WaitReceives(ends(), receives),
        ];
        let sends_first = self.random.one_in(2);
        let order = if sends_first { [0, 1] } else { [1, 0] };
        order
            .into_iter()
            .for_each(|i| self.push(rank, acts[i].clone()));
    }
}
