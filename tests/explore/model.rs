//! Every outcome of random programs, by the plainest search: all interleavings of acts and arrivals, over a model of
//! queues.

use std::collections::HashSet;

use rankfold::Rank;
use rankfold::testing::Random;

/// An act of one rank: sends, receives, posts a receive, or waits for the posted receive of this number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    Send(Rank),
    Receive(Option<Rank>),
    Post(Option<Rank>),
    Wait(usize),
}

pub type Program = Vec<Vec<Act>>;

/// Any acts, most of which wait forever; or messages, each sent and received.
pub fn random(n: usize, random: &mut Random) -> Program {
    if random.below(3) == 0 {
        return (0..n).map(|_| acts(n, random)).collect();
    }
    let mut program = vec![Vec::new(); n];
    let mut posted = vec![0; n];
    for _ in 0..2 + random.below(4) {
        let (from, to) = (random.below(n), random.below(n));
        let of = (random.below(4) == 0).then_some(from);
        program[from].push(Act::Send(to));
        program[to].push(match random.below(4) {
            0 => Act::Post(of),
            _ => Act::Receive(of),
        });
        posted[to] += usize::from(matches!(program[to].last(), Some(Act::Post(_))));
    }
    for (acts, posted) in program.iter_mut().zip(posted) {
        acts.extend((0..posted).map(Act::Wait));
    }
    program
}

fn acts(n: usize, random: &mut Random) -> Vec<Act> {
    let (mut acts, mut posted, mut slots) = (Vec::new(), Vec::new(), 0);
    for _ in 0..random.below(5) {
        let source = |random: &mut Random| (random.below(3) == 0).then(|| random.below(n));
        acts.push(match random.below(8) {
            0 | 1 => Act::Receive(source(random)),
            2 | 3 => {
                posted.push(slots);
                slots += 1;
                Act::Post(source(random))
            }
            4 if !posted.is_empty() && posted.len() < 3 => Act::Wait(posted.remove(0)),
            _ => Act::Send(random.below(n)),
        });
    }
    random.shuffle(&mut posted);
    acts.extend(posted.into_iter().map(Act::Wait));
    acts
}

/// A posted receive: the source it accepts, and the source it was matched with.
type Slot = (Option<Rank>, Option<Rank>);

/// The state of a run.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    next: Vec<usize>,
    /// Messages in transit, from one rank to another.
    sent: Vec<(Rank, Rank)>,
    /// Unexpected messages at each rank, in the order of arrival.
    early: Vec<Vec<Rank>>,
    slots: Vec<Vec<Slot>>,
    got: Vec<Vec<Rank>>,
}

impl State {
    /// The oldest message from one rank to another arrives.
    fn arrival(&self, place: usize) -> State {
        let mut after = self.clone();
        let (from, to) = after.sent.remove(place);
        let slots = &mut after.slots[to];
        let slot = slots
            .iter_mut()
            .find(|(of, got)| got.is_none() && of.is_none_or(|of| of == from));
        match slot {
            Some((_, got)) => *got = Some(from),
            None => after.early[to].push(from),
        }
        after
    }

    /// A rank does its next act, if it can.
    fn step(&self, rank: Rank, act: Act) -> Option<State> {
        let mut after = self.clone();
        after.next[rank] += 1;
        let early = &mut after.early[rank];
        let first = |early: &[Rank], of: Option<Rank>| {
            early
                .iter()
                .position(|from| of.is_none_or(|of| of == *from))
        };
        match act {
            Act::Send(to) => after.sent.push((rank, to)),
            Act::Receive(of) => {
                let from = early.remove(first(early, of)?);
                after.got[rank].push(from);
            }
            Act::Post(of) => {
                let got = first(early, of).map(|place| early.remove(place));
                after.slots[rank].push((of, got));
            }
            Act::Wait(slot) => {
                let from = after.slots[rank][slot].1?;
                after.got[rank].push(from);
            }
        }
        Some(after)
    }

    fn all_after(&self, program: &Program) -> Vec<State> {
        let oldest = |place: &usize| !self.sent[..*place].contains(&self.sent[*place]);
        let arrivals = (0..self.sent.len())
            .filter(oldest)
            .map(|place| self.arrival(place));
        let act = |rank: Rank| self.step(rank, *program[rank].get(self.next[rank])?);
        arrivals.chain((0..program.len()).filter_map(act)).collect()
    }
}

pub fn outcomes(program: &Program) -> HashSet<Vec<Vec<Rank>>> {
    let n = program.len();
    let start = State {
        next: vec![0; n],
        sent: Vec::new(),
        early: vec![Vec::new(); n],
        slots: vec![Vec::new(); n],
        got: vec![Vec::new(); n],
    };
    let (mut all, mut seen, mut open) = (HashSet::new(), HashSet::new(), vec![start]);
    while let Some(state) = open.pop() {
        if seen.insert(state.clone()) {
            let after = state.all_after(program);
            if after.is_empty() {
                all.insert(state.got);
            }
            open.extend(after);
        }
    }
    all
}
