//! Every outcome of random programs, by the plainest search: all interleavings over a model of locks that are granted in
//! the order of the requests.

use std::collections::HashSet;

use rankfold::Rank;
use rankfold::testing::Random;

use super::sign;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    /// Lock this part, to write or to read.
    Lock(Rank, bool),
    Unlock(Rank),
    Send(Rank),
    /// Receive from any rank.
    Receive,
}

pub type Program = Vec<Vec<Act>>;

pub fn random(n: usize, random: &mut Random) -> Program {
    let mut program: Program = (0..n).map(|_| locks(n, random)).collect();
    for _ in 0..random.below(3) {
        let (from, to) = (random.below(n), random.below(n));
        for (rank, act) in [(from, Act::Send(to)), (to, Act::Receive)] {
            let place = random.below(program[rank].len() + 1);
            program[rank].insert(place, act);
        }
    }
    program
}

fn locks(n: usize, random: &mut Random) -> Vec<Act> {
    let (mut acts, mut held) = (Vec::new(), Vec::new());
    for _ in 0..1 + random.below(3) {
        let part = random.below(usize::min(n, 2));
        if !held.contains(&part) {
            acts.push(Act::Lock(part, random.below(3) > 0));
            held.push(part);
        }
        if random.below(3) > 0 {
            let place = random.below(held.len());
            acts.push(Act::Unlock(held.remove(place)));
        }
    }
    acts.extend(held.into_iter().map(Act::Unlock));
    acts
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    next: Vec<usize>,
    /// Who holds each part, and who waits for it, in the order of the requests; and whether they write.
    queues: Vec<Vec<(Rank, bool)>>,
    parts: Vec<u64>,
    /// Ranks that have asked for a lock and not got it yet.
    asked: Vec<bool>,
    sent: Vec<(Rank, Rank)>,
    got: Vec<Vec<u64>>,
}

impl State {
    fn holds(&self, rank: Rank, part: Rank) -> bool {
        let queue = &self.queues[part];
        let Some(place) = queue.iter().position(|(one, _)| *one == rank) else {
            return false;
        };
        place == 0 || queue[..=place].iter().all(|(_, writes)| !writes)
    }

    fn all_after(&self, program: &Program) -> Vec<State> {
        let of = |rank: Rank| match program[rank].get(self.next[rank]) {
            None => Vec::new(),
            Some(Act::Receive) => self.receives(rank),
            Some(act) => self.step(rank, *act).into_iter().collect(),
        };
        (0..program.len()).flat_map(of).collect()
    }

    fn receives(&self, rank: Rank) -> Vec<State> {
        let first = |place: &usize| {
            self.sent[*place].1 == rank && !self.sent[..*place].contains(&self.sent[*place])
        };
        let take = |place: usize| {
            let mut after = self.clone();
            let (from, _) = after.sent.remove(place);
            after.got[rank].push(from as u64);
            after.next[rank] += 1;
            after
        };
        (0..self.sent.len()).filter(first).map(take).collect()
    }

    fn step(&self, rank: Rank, act: Act) -> Option<State> {
        let mut after = self.clone();
        match act {
            Act::Lock(part, writes) if !self.asked[rank] => {
                after.queues[part].push((rank, writes));
                after.asked[rank] = true;
                return Some(after);
            }
            Act::Lock(part, writes) => {
                if !self.holds(rank, part) {
                    return None;
                }
                after.asked[rank] = false;
                after.got[rank].push(after.parts[part]);
                if writes {
                    sign(&mut after.parts[part..], rank);
                }
            }
            Act::Unlock(part) => after.queues[part].retain(|(one, _)| *one != rank),
            Act::Send(to) => after.sent.push((rank, to)),
            Act::Receive => unreachable!("it has a method of its own"),
        }
        after.next[rank] += 1;
        Some(after)
    }
}

/// All outcomes; `None` if some ranks can be stuck.
pub fn outcomes(program: &Program) -> Option<HashSet<Vec<Vec<u64>>>> {
    let n = program.len();
    let start = State {
        next: vec![0; n],
        queues: vec![Vec::new(); n],
        parts: vec![0; n],
        asked: vec![false; n],
        sent: Vec::new(),
        got: vec![Vec::new(); n],
    };
    let (mut all, mut seen, mut open) = (HashSet::new(), HashSet::new(), vec![start]);
    while let Some(state) = open.pop() {
        if seen.insert(state.clone()) {
            let after = state.all_after(program);
            if after.is_empty() {
                let ended = |rank: Rank| state.next[rank] == program[rank].len();
                (0..n).all(ended).then_some(())?;
                all.insert(state.got);
            }
            open.extend(after);
        }
    }
    Some(all)
}
