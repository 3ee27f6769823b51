//! Draws a random program: one global sequence of events, in which every receive comes after its send.

use rankfold::{Order, Rank};

use super::Random;
use super::random::{Act, Calls, Form, Kinds, Message, Program, Whole};
use super::random_calls::{Call, KINDS};
use super::random_meetings::Meeting;
use super::random_started::Begun;
use super::random_windows::{Epoch, Touch};

/// Draws a program from a seed.
pub fn draw(seed: u64, kinds: Kinds) -> Program {
    let mut random = Random::new(seed);
    let n = 2 + random.below(8);
    let mut others = Random::new(!seed);
    let shifts = (0..others.below(4)).map(|_| others.below(n)).collect();
    let mut draft = Draft {
        program: Program {
            ranks: vec![Vec::new(); n],
            shifts,
        },
        pending: Vec::new(),
        open: vec![Vec::new(); n],
        next: 0,
        longest: if kinds.rich {
            random.of(&[3, 40, 3000])
        } else {
            1
        },
        kinds,
        random,
    };
    for _ in 0..10 + draft.random.below(60) {
        draft.event();
    }
    while !draft.pending.is_empty() {
        draft.receive();
    }
    for rank in 0..n {
        while draft.finish(rank) {}
    }
    draft.program
}

/// A program under construction.
struct Draft {
    program: Program,
    /// Sent and not received, in the order of sending.
    pending: Vec<Message>,
    /// Started by all, by rank: not waited for.
    open: Vec<Vec<u64>>,
    next: u64,
    longest: usize,
    kinds: Kinds,
    random: Random,
}

impl Draft {
    fn event(&mut self) {
        match self.random.below(10) {
            3 if self.kinds.calls == Calls::All && self.random.one_in(4) => self.window(),
            0..=3 => self.send(),
            4..=6 => self.receive(),
            7 => self.barrier(),
            8 if self.kinds.calls == Calls::All && self.random.one_in(2) => self.started(),
            8 if self.kinds.calls == Calls::All && self.random.one_in(2) => self.more(),
            8 if self.kinds.calls != Calls::Barriers => self.whole(),
            9 if self.kinds.spins => self.spin(),
            _ => self.send(),
        }
    }

    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn rank(&mut self) -> Rank {
        self.random.below(self.program.ranks.len())
    }

    fn length(&mut self) -> usize {
        1 + self.random.below(self.longest)
    }

    fn send(&mut self) {
        let (id, from, to) = (self.id(), self.rank(), self.rank());
        let rich = self.kinds.rich;
        let wild = rich && self.random.one_in(4);
        let tag = if wild {
            1000 + id as u32
        } else {
            self.random.below(3) as u32
        };
        let message = Message {
            id,
            from,
            to,
            tag,
            length: self.length(),
            moved: rich && self.random.one_in(5),
            wild,
            plain: !rich,
        };
        self.pending.push(message);
        self.program.ranks[from].push(Act::Send(message));
    }

    /// Receives one of the messages that are first of their pair and tag.
    fn receive(&mut self) {
        if self.pending.is_empty() {
            return self.send();
        }
        let drawn = self.pending[self.random.below(self.pending.len())];
        let pair = |m: &Message| (m.from, m.to) == (drawn.from, drawn.to);
        let first = self
            .pending
            .iter()
            .position(|m| pair(m) && m.tag == drawn.tag);
        let place = first.expect("it is there itself");
        let any_tag = self.pending.iter().position(pair) == Some(place) && self.random.one_in(3);
        let message = self.pending.remove(place);
        let any_tag = any_tag && !message.wild;
        let probe = self.random.one_in(4);
        self.program.ranks[message.to].push(Act::Recv {
            message,
            any_tag,
            probe,
        });
    }

    fn barrier(&mut self) {
        self.all(Whole::Barrier);
    }

    fn whole(&mut self) {
        let (root, length) = (self.rank(), self.length());
        if self.kinds.calls == Calls::Meetings {
            return self.all(Whole::AllReduce { length });
        }
        let order = self.random.of(&[Order::Arrival, Order::Step, Order::Rank]);
        let by = 1 + self.rank();
        let what = self.random.of(&[
            Whole::Broadcast { root, length },
            Whole::AllReduce { length },
            Whole::Compose { root, length },
            Whole::Over { order, length },
            Whole::Shift { by, length },
            Whole::Gather { by, length },
        ]);
        self.all(what);
    }

    fn call(&mut self) -> Call {
        Call {
            kind: self.random.of(&KINDS),
            root: self.rank(),
            length: self.random.below(self.longest + 1),
            counted: self.random.one_in(2),
        }
    }

    fn more(&mut self) {
        let (root, length) = (self.rank(), self.length());
        let form = self
            .random
            .of(&[Form::Blocking, Form::Persistent, Form::InScope]);
        let call = Whole::Call(self.call(), form);
        // Exact sums of long vectors take long to check.
        let few = length.min(20);
        let what = self.random.of(&[
            call,
            call,
            call,
            Whole::Meeting(Meeting::Exact { length: few }),
            Whole::Meeting(Meeting::Fused { length }),
            Whole::Meeting(Meeting::Values { root }),
            Whole::Meeting(Meeting::Subset { below: root }),
        ]);
        self.all(what);
    }

    /// Uses the windows: all ranks in an epoch, or one rank.
    fn window(&mut self) {
        let (rank, part) = (self.rank(), self.rank());
        let by = self.rank();
        let touch = self.random.of(&[
            None,
            Some(Touch::Add { part }),
            Some(Touch::Add { part }),
            Some(Touch::Look { part }),
            Some(Touch::Count { part }),
        ]);
        if let Some(touch) = touch {
            return self.program.ranks[rank].push(Act::Touch(touch));
        }
        let turns = self.random.below(3);
        let what = self.random.of(&[
            Epoch::Fences { turns },
            Epoch::Exposed { by },
            Epoch::AllLocked,
            Epoch::Passed { by },
        ]);
        let id = self.id();
        for acts in &mut self.program.ranks {
            acts.push(Act::Epoch { id, what });
        }
    }

    /// Starts a collective on all ranks, and lets a rank wait for one that it has started.
    fn started(&mut self) {
        let (id, rank) = (self.id(), self.rank());
        let what = match self.random.below(8) {
            0 => Begun::Barrier,
            1 => Begun::Sum {
                length: self.length(),
            },
            2..=5 => Begun::Call {
                call: self.call(),
                persistent: self.random.one_in(3),
            },
            _ => Begun::Exchange {
                length: self.random.below(self.longest + 1),
                pieces: self.random.one_in(2),
                counted: self.random.one_in(2),
                persistent: self.random.one_in(3),
            },
        };
        for acts in &mut self.program.ranks {
            acts.push(Act::Start { id, what });
        }
        self.open.iter_mut().for_each(|open| open.push(id));
        self.finish(rank);
    }

    /// Lets a rank wait for any collective that it has started. Returns whether there was one.
    fn finish(&mut self, rank: Rank) -> bool {
        if self.open[rank].is_empty() {
            return false;
        }
        let one = self.random.below(self.open[rank].len());
        let id = self.open[rank].remove(one);
        self.program.ranks[rank].push(Act::Finish { id });
        true
    }

    fn all(&mut self, what: Whole) {
        let id = self.id();
        for acts in &mut self.program.ranks {
            acts.push(Act::Whole { id, what });
        }
    }

    fn spin(&mut self) {
        let (rank, turns) = (self.rank(), self.random.below(20_000) as u32);
        self.program.ranks[rank].push(Act::Spin(turns));
    }
}
