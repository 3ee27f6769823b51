//! Random programs that cannot deadlock: one global sequence of events is drawn in which every receive comes after its
//! send, and each rank does its part of it in that order.
//!
//! Consider the first event of the sequence that has not happened: everything it needs has happened, so some rank can
//! always move. What a receive must get, and what a sum must be, is known from the numbers of the events.

use rankfold::topology::Topology;
use rankfold::{Comm, Error, ErrorKind, Order, Rank, Result, op};

use super::random_calls::{Call, KINDS};
use super::random_meetings::Meeting;
use super::random_messages::{receive, send};
use super::random_started::{Begun, Open, Ring};
use super::random_windows::{Epoch, Touch, Windows};
use super::{Random, mix};

/// A message: everything about it that sender and receiver must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    pub id: u64,
    pub from: Rank,
    pub to: Rank,
    pub tag: u32,
    pub length: usize,
    /// Sent as one moved value.
    pub moved: bool,
    /// Received from any source: its tag is unique.
    pub wild: bool,
    /// Its contents are not checked: in a wrong program another message may arrive in its place.
    pub plain: bool,
}

/// A collective call of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    Barrier,
    Broadcast {
        root: Rank,
        length: usize,
    },
    AllReduce {
        length: usize,
    },
    Compose {
        root: Rank,
        length: usize,
    },
    Over {
        order: Order,
        length: usize,
    },
    /// Every rank sends to the rank `by` places up and receives from the one as far down.
    Shift {
        by: usize,
        length: usize,
    },
    /// The same by an all-gather among the neighbours in a graph.
    Gather {
        by: usize,
        length: usize,
    },
    /// Any of the collectives, in this form.
    Call(Call, Form),
    Meeting(Meeting),
}

/// How a collective is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Blocking,
    Persistent,
    InScope,
}

/// What one rank does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Send(Message),
    Recv {
        message: Message,
        any_tag: bool,
        probe: bool,
    },
    Whole {
        id: u64,
        what: Whole,
    },
    /// Starts a sum of all ranks or a barrier, or an exchange with neighbours.
    Start {
        id: u64,
        what: Begun,
    },
    /// Waits for it.
    Finish {
        id: u64,
    },
    /// An epoch of all ranks in the windows of the program.
    Epoch {
        id: u64,
        what: Epoch,
    },
    /// What this rank does with them.
    Touch(Touch),
    Spin(u32),
}

/// The kinds of events that are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    /// Also values, long messages and wildcards; otherwise all messages are alike and unchecked.
    pub rich: bool,
    pub calls: Calls,
    pub spins: bool,
}

/// Which collectives are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    Barriers,
    /// Collectives that no rank leaves before all have arrived.
    Meetings,
    All,
}

/// A program: what each rank does, in order.
#[derive(Clone, Debug)]
pub struct Program {
    pub ranks: Vec<Vec<Act>>,
    /// In its graph every rank sends to those so many places up.
    pub shifts: Vec<usize>,
}

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

/// Element `i` of `rank`'s contribution to event `id`.
fn element(id: u64, rank: Rank, i: usize) -> u64 {
    mix(id << 32 ^ (rank as u64) << 20 ^ i as u64) >> 8
}

pub fn elements(id: u64, rank: Rank, length: usize) -> Vec<u64> {
    (0..length).map(|i| element(id, rank, i)).collect()
}

pub fn sums(id: u64, ranks: usize, length: usize) -> Vec<u64> {
    let sum = |i| (0..ranks).fold(0u64, |sum, rank| sum.wrapping_add(element(id, rank, i)));
    (0..length).map(sum).collect()
}

impl Program {
    /// Runs the part of one rank. A failing send is not the end: the message is lost, and the rank goes on.
    pub fn play(&self, comm: &Comm) -> Result<()> {
        let acts = &self.ranks[comm.rank()];
        let starts = acts.iter().any(|act| matches!(act, Act::Start { .. }));
        let ring = starts.then(|| Ring::new(comm, &self.shifts)).transpose()?;
        let windows = self
            .uses_windows()
            .then(|| Windows::new(comm))
            .transpose()?;
        let ring = ring.as_ref();
        let mut open = Vec::new();
        for (number, act) in acts.iter().enumerate() {
            let played = match (*act, &windows) {
                (Act::Touch(touch), Some(windows)) => windows.touch(touch),
                (Act::Epoch { id, what }, Some(windows)) => windows.epoch(what, id),
                _ => act.play(comm, ring, &mut open),
            };
            played.map_err(|error| match error.kind() {
                ErrorKind::Usage(_) => panic!("act {number}, {act:?}: {error}"),
                _ => error,
            })?;
        }
        // Synchronous sends, all of whose messages have been received by then, or will be without this rank.
        open.into_iter().try_for_each(Open::finish)?;
        windows.map_or(Ok(()), |windows| windows.check(&self.touches()))
    }

    fn uses_windows(&self) -> bool {
        let uses = |act: &Act| matches!(act, Act::Touch(_) | Act::Epoch { .. });
        self.ranks.iter().flatten().any(uses)
    }

    fn touches(&self) -> Vec<Touch> {
        let touch = |act: &Act| match act {
            Act::Touch(touch) => Some(*touch),
            _ => None,
        };
        self.ranks.iter().flatten().filter_map(touch).collect()
    }
}

impl Act {
    fn play<'g>(
        &self,
        comm: &'g Comm,
        ring: Option<&'g Ring>,
        open: &mut Vec<Open<'g>>,
    ) -> Result<()> {
        match *self {
            Act::Start { id, what } => {
                let ring = ring.expect("the program starts something");
                open.push(what.start(comm, ring, id)?);
                Ok(())
            }
            Act::Finish { id } => {
                let place = open.iter().position(|one| one.id == id);
                open.swap_remove(place.expect("it was started")).finish()
            }
            Act::Send(message) => {
                open.extend(send(comm, message)?);
                Ok(())
            }
            Act::Recv {
                message,
                any_tag,
                probe,
            } => receive(comm, message, any_tag, probe),
            Act::Whole { id, what } => what.play(comm, id),
            Act::Touch(_) | Act::Epoch { .. } => unreachable!("the program has windows"),
            Act::Spin(turns) => {
                (0..turns).for_each(|_| std::hint::spin_loop());
                Ok(())
            }
        }
    }
}

impl Whole {
    fn play(self, comm: &Comm, id: u64) -> Result<()> {
        let (n, me) = (comm.size(), comm.rank());
        match self {
            Whole::Barrier => comm.barrier()?,
            Whole::Broadcast { root, length } => {
                let mut data = elements(id, me, length);
                comm.broadcast(root, &mut data)?;
                assert_eq!(data, elements(id, root, length), "broadcast {id}");
            }
            Whole::AllReduce { length } => {
                let mut data = elements(id, me, length);
                if id.is_multiple_of(3) {
                    let (first, second) = data.split_at_mut(length / 3);
                    comm.fused(|f| {
                        f.all_reduce(first, op::Sum);
                        f.all_reduce(second, op::Sum);
                    })?;
                } else {
                    comm.all_reduce(&mut data, op::Sum)?;
                }
                assert_eq!(data, sums(id, n, length), "all_reduce {id}");
            }
            Whole::Compose { root, length } => {
                // An associative operator that keeps only the left operand: the result is the first rank's.
                let mut data = elements(id, me, length);
                comm.reduce(root, &mut data, |first, _| first)?;
                if me == root {
                    assert_eq!(data, elements(id, 0, length), "reduce {id}");
                }
            }
            Whole::Over { order, length } => sum_over(comm, id, order, length)?,
            Whole::Shift { by, length } => {
                let (up, down) = ((me + by) % n, (me + n - by % n) % n);
                let tag = 1_000_000 + id as u32;
                let (got, _) = comm.sendrecv(up, tag, &elements(id, me, length), down, tag)?;
                assert_eq!(got, elements(id, down, length), "shift {id}");
            }
            Whole::Gather { by, length } => {
                let (up, down) = ((me + by) % n, (me + n - by % n) % n);
                let mut got = vec![0; length];
                let graph = comm.graph(&[down], &[up])?;
                graph.neighbor_all_gather(&elements(id, me, length), &mut got)?;
                assert_eq!(got, elements(id, down, length), "gather {id}");
            }
            Whole::Call(call, Form::Blocking) => call.of(comm, id).block()?,
            Whole::Call(call, Form::Persistent) => call.of(comm, id).repeat()?,
            Whole::Call(call, Form::InScope) => call.of(comm, id).in_scope()?,
            Whole::Meeting(meeting) => meeting.play(comm, id)?,
        }
        Ok(())
    }
}

fn sum_over(comm: &Comm, id: u64, order: Order, length: usize) -> Result<()> {
    let n = comm.size();
    let families = [
        Topology::chain,
        Topology::binomial,
        Topology::flat,
        Topology::fibonacci,
    ];
    let mut topology = families[id as usize % families.len()](n);
    if order != Order::Rank {
        topology = topology.rooted(id as usize % n);
    } else if !topology.is_in_rank_order() {
        topology = Topology::in_order(n);
    }
    let mut data = elements(id, comm.rank(), length);
    comm.reduce_over(&topology, &mut data, op::Sum)
        .order(order)
        .run()?;
    if comm.rank() == topology.root() {
        assert_eq!(data, sums(id, n, length), "reduce_over {id}");
    }
    Ok::<(), Error>(())
}

/// Returns for each rank of a program without wildcards whether it reaches its end. Sequential, with unlimited room for
/// messages; the n-th collective of a rank meets the n-th of all others.
pub fn completes(program: &Program) -> Vec<bool> {
    let n = program.ranks.len();
    let mut at = vec![0; n];
    let mut met = vec![0; n];
    let mut sent: Vec<Message> = Vec::new();
    while let Some(rank) = (0..n).find(|&rank| moves(program, rank, &at, &met, &sent)) {
        match program.ranks[rank][at[rank]] {
            Act::Send(message) => sent.push(message),
            Act::Recv {
                message, any_tag, ..
            } => {
                let place = sent.iter().position(|m| matches(m, &message, any_tag));
                sent.remove(place.expect("it moves because of it"));
            }
            Act::Whole { .. } => met[rank] += 1,
            Act::Spin(_) => {}
            Act::Start { .. } | Act::Finish { .. } | Act::Epoch { .. } | Act::Touch(_) => {
                unreachable!("drawn for right programs only")
            }
        }
        at[rank] += 1;
    }
    (0..n)
        .map(|rank| at[rank] == program.ranks[rank].len())
        .collect()
}

fn matches(sent: &Message, wanted: &Message, any_tag: bool) -> bool {
    (sent.from, sent.to) == (wanted.from, wanted.to) && (any_tag || sent.tag == wanted.tag)
}

/// Returns whether `rank` can do its next act: all ranks have arrived at the same collective, or have passed it.
fn moves(program: &Program, rank: Rank, at: &[usize], met: &[usize], sent: &[Message]) -> bool {
    let here = |other: Rank| {
        met[other] > met[rank]
            || met[other] == met[rank]
                && matches!(program.ranks[other].get(at[other]), Some(Act::Whole { .. }))
    };
    match program.ranks[rank].get(at[rank]) {
        None => false,
        Some(Act::Recv {
            message, any_tag, ..
        }) => sent.iter().any(|m| matches(m, message, *any_tag)),
        Some(Act::Whole { .. }) => (0..at.len()).all(here),
        Some(_) => true,
    }
}
