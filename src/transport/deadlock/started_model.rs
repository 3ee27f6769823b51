//! A model of ranks that sleep while collectives that they have started go on, and the detector over it: it names no
//! rank that could still move, and misses none that cannot, in random programs and random interleavings.

use super::wait_for_graph::{Needs, NodeState, Started, StartedNodes, stuck};
use crate::Rank;

/// What a rank does next.
#[derive(Clone, Copy, Debug)]
enum Act {
    Send(Rank),
    Receive(Rank),
    /// Starts call `.0`.
    Start(usize),
    Wait(usize),
}

/// What a part of a started call does next.
#[derive(Clone, Copy, Debug)]
enum Move {
    Send(Rank),
    Take(Rank),
}

/// A program: the acts of each rank, and its part in each call.
struct Program {
    acts: Vec<Vec<Act>>,
    /// By call and rank.
    parts: Vec<Vec<Vec<Move>>>,
}

/// The state of a run.
#[derive(Clone)]
struct Simulation {
    at: Vec<usize>,
    /// By call and rank: how far its part is; `None` if it was not started.
    moved: Vec<Vec<Option<usize>>>,
    /// Messages under way, by kind (0: of ranks, then of calls), receiver and sender.
    sent: Vec<Vec<Vec<usize>>>,
    asleep: Vec<bool>,
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

/// The parts of a call: all to all, a chain there and back, or a star to a root.
fn parts(draw: &mut Draw, n: usize) -> Vec<Vec<Move>> {
    let others = |me: Rank| (1..n).map(move |by| (me + by) % n);
    let root = draw.below(n);
    let kind = draw.below(3);
    let part = |me: Rank| match kind {
        0 => others(me)
            .map(Move::Send)
            .chain(others(me).map(Move::Take))
            .collect(),
        1 => {
            let below = || me.checked_sub(1);
            let above = || Some(me + 1).filter(|&above| above < n);
            let there = below()
                .map(Move::Take)
                .into_iter()
                .chain(above().map(Move::Send));
            let back = above()
                .map(Move::Take)
                .into_iter()
                .chain(below().map(Move::Send));
            there.chain(back).collect()
        }
        _ if me == root => others(me).map(Move::Take).collect(),
        _ => vec![Move::Send(root)],
    };
    (0..n).map(part).collect()
}

/// Acts in an order in which nothing deadlocks, some of which are then exchanged.
fn program(seed: u64) -> Program {
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    let n = 2 + draw.below(4);
    let calls = 1 + draw.below(3);
    let mut acts = vec![Vec::new(); n];
    for call in 0..calls {
        acts.iter_mut().for_each(|acts| acts.push(Act::Start(call)));
        for _ in 0..draw.below(4) {
            let (from, to) = (draw.below(n), draw.below(n));
            if from != to {
                acts[from].push(Act::Send(to));
                acts[to].push(Act::Receive(from));
            }
        }
    }
    for acts in &mut acts {
        acts.extend((0..calls).map(Act::Wait));
        for _ in 0..draw.below(3) {
            let (one, other) = (draw.below(acts.len()), draw.below(acts.len()));
            acts.swap(one, other);
        }
        // A call is waited for after it was started.
        for call in 0..calls {
            let place = |wanted: fn(usize) -> Act| {
                let wanted = format!("{:?}", wanted(call));
                acts.iter().position(|act| format!("{act:?}") == wanted)
            };
            let (started, waited) = (place(Act::Start), place(Act::Wait));
            if let (Some(started), Some(waited)) = (started, waited)
                && started > waited
            {
                acts.swap(started, waited);
            }
        }
    }
    let parts = (0..calls).map(|_| parts(&mut draw, n)).collect();
    Program { acts, parts }
}

impl Simulation {
    fn new(program: &Program) -> Simulation {
        let (n, calls) = (program.acts.len(), program.parts.len());
        Simulation {
            at: vec![0; n],
            moved: vec![vec![None; n]; calls],
            sent: vec![vec![vec![0; n]; n]; calls + 1],
            asleep: vec![false; n],
        }
    }

    fn post(&mut self, kind: usize, to: Rank, from: Rank) {
        self.sent[kind][to][from] += 1;
        // Every message wakes its receiver.
        self.asleep[to] = false;
    }

    fn take(&mut self, kind: usize, to: Rank, from: Rank) -> bool {
        let there = self.sent[kind][to][from] > 0;
        self.sent[kind][to][from] -= usize::from(there);
        there
    }

    /// Carries on the started calls of a rank.
    fn advance(&mut self, program: &Program, me: Rank) {
        for call in 0..program.parts.len() {
            while let Some(at) = self.moved[call][me] {
                match program.parts[call][me].get(at) {
                    Some(Move::Send(to)) => self.post(call + 1, *to, me),
                    Some(Move::Take(from)) if self.take(call + 1, me, *from) => {}
                    _ => break,
                }
                self.moved[call][me] = Some(at + 1);
            }
        }
    }

    fn is_over(&self, program: &Program, call: usize, me: Rank) -> bool {
        self.moved[call][me] == Some(program.parts[call][me].len())
    }

    /// Runs a rank until it has to sleep, or for one act. Returns whether it went to sleep.
    fn step(&mut self, program: &Program, me: Rank) -> bool {
        let Some(act) = program.acts[me].get(self.at[me]) else {
            return false;
        };
        self.advance(program, me);
        let done = match *act {
            Act::Send(to) => {
                self.post(0, to, me);
                true
            }
            Act::Receive(from) => self.take(0, me, from),
            Act::Start(call) => {
                self.moved[call][me] = Some(0);
                self.advance(program, me);
                true
            }
            Act::Wait(call) => self.is_over(program, call, me),
        };
        self.at[me] += usize::from(done);
        self.asleep[me] = !done;
        !done
    }

    fn has_ended(&self, program: &Program, me: Rank) -> bool {
        self.at[me] == program.acts[me].len()
    }

    /// Runs all ranks until none can move. Returns which have ended.
    fn outcome(&self, program: &Program) -> Vec<bool> {
        let mut run = self.clone();
        let ranks = 0..program.acts.len();
        let moves = |run: &Simulation, me: &Rank| !run.asleep[*me] && !run.has_ended(program, *me);
        while let Some(me) = ranks.clone().find(|me| moves(&run, me)) {
            run.step(program, me);
        }
        ranks.map(|me| run.has_ended(program, me)).collect()
    }

    /// The rank whose message the part of `me` in a call awaits.
    fn awaits(&self, program: &Program, call: usize, me: Rank) -> Option<Rank> {
        match program.parts[call][me].get(self.moved[call][me]?) {
            Some(Move::Take(from)) => Some(*from),
            _ => None,
        }
    }

    fn started(&self, program: &Program, me: Rank) -> Vec<Started> {
        let calls = 0..program.parts.len();
        let open = calls.filter_map(|call| Some((call, self.awaits(program, call, me)?)));
        let started = open.map(|(call, from)| Started {
            rank: me,
            key: (0, call as u32),
            awaits: vec![from],
        });
        started.collect()
    }

    fn needs(&self, program: &Program, me: Rank) -> Needs {
        match program.acts[me][self.at[me]] {
            Act::Receive(from) => Needs::One(from),
            Act::Wait(call) => Needs::Started((0, call as u32)),
            other => unreachable!("no rank waits in {other:?}"),
        }
    }

    /// What the detector says when `me` goes to sleep. Without nodes for started calls, a rank needs the one whose
    /// message its call awaits.
    fn stuck(&self, program: &Program, me: Rank, with_nodes: bool) -> Option<Vec<Rank>> {
        let n = program.acts.len();
        let asleep = (0..n).filter(|&rank| self.asleep[rank] && with_nodes);
        let started = asleep.flat_map(|rank| self.started(program, rank));
        let nodes = StartedNodes::new(n, started.collect());
        let needs = |rank: Rank| {
            let needs = self.asleep[rank].then(|| self.needs(program, rank))?;
            let Needs::Started((_, call)) = needs else {
                return Some(needs);
            };
            match with_nodes {
                true => nodes.resolved(rank, &needs),
                false => self.awaits(program, call as usize, rank).map(Needs::One),
            }
        };
        let needs: Vec<Option<Needs>> = (0..n).map(needs).collect();
        let state = |rank: Rank| match &needs[rank] {
            Some(needs) => NodeState::Waiting(needs),
            None if self.has_ended(program, rank) => NodeState::Ended,
            None => NodeState::Running,
        };
        let mut states: Vec<NodeState<'_>> = (0..n).map(state).collect();
        states.extend(nodes.needs.iter().map(NodeState::Waiting));
        let mine = if with_nodes { nodes.of(me) } else { vec![me] };
        let found = stuck(&states, n, &mine)?;
        Some(found.into_iter().filter(|&node| node < n).collect())
    }
}

/// The ranks that the detector named wrongly, those that it missed, and the number of states it was asked in.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    wrong: usize,
    missed: usize,
    asked: usize,
}

fn play(program: &Program, draw: &mut Draw, with_nodes: bool, tally: &mut Tally) {
    let mut run = Simulation::new(program);
    let mut named = Vec::new();
    loop {
        let ranks = 0..program.acts.len();
        let moves = |me: &Rank| !run.asleep[*me] && !run.has_ended(program, *me);
        let moving: Vec<Rank> = ranks.filter(moves).collect();
        if moving.is_empty() {
            break;
        }
        let me = moving[draw.below(moving.len())];
        if run.step(program, me) {
            tally.asked += 1;
            if let Some(found) = run.stuck(program, me, with_nodes) {
                let ends = run.outcome(program);
                tally.wrong += found.iter().filter(|&&rank| ends[rank]).count();
                named.extend(found);
            }
        }
    }
    let left = (0..program.acts.len()).filter(|&rank| !run.has_ended(program, rank));
    tally.missed += left.filter(|rank| !named.contains(rank)).count();
}

fn tally(with_nodes: bool) -> (Tally, usize) {
    let mut tally = Tally::default();
    let mut deadlocks = 0;
    for seed in 0..4000 {
        let program = program(seed);
        let ends = Simulation::new(&program).outcome(&program);
        deadlocks += usize::from(ends.iter().any(|ended| !ended));
        for turn in 0..5 {
            play(&program, &mut Draw(seed * 5 + turn), with_nodes, &mut tally);
        }
    }
    (tally, deadlocks)
}

#[test]
fn with_nodes_for_started_calls_no_rank_is_named_wrongly_and_none_is_missed() {
    let (
        Tally {
            wrong,
            missed,
            asked,
        },
        deadlocks,
    ) = tally(true);
    assert_eq!((wrong, missed), (0, 0));
    assert!(
        asked > 50_000 && deadlocks > 400,
        "{asked} states, {deadlocks} deadlocks"
    );
}

#[test]
fn without_them_ranks_are_named_that_could_still_move() {
    assert!(tally(false).0.wrong > 100);
}
