//! The simulator, compared with a naive one, with the closed formulas, and on broken schedules.

mod common;
mod zoo;

use std::collections::{HashMap, VecDeque};

use common::{cases, families};
use proptest::prelude::*;
use rankfold::Rank;
use rankfold::collective::{
    Algorithm, BinomialGather, Call, Collective, Pairwise, RingReduceScatter, halving_all_reduce,
    hybrid_all_reduce, simple_exchange,
};
use rankfold::schedule::{Combine, FoldAlong, Lengths, Region, Schedule, Step, Transfer};
use rankfold::simulate::{
    Cause, Link, MOST_RANKS, MachineModel, SimulateError, busy_times, critical_path, simulate,
};
use rankfold::span::Blocks;
use rankfold::topology::{Circle, Shift, Topology};
use zoo::{ceil_log2, noise, own_steps, tree, zoo};

// ── the naive simulation ──

/// A machine as specified by its user. Whole numbers, so that sums are exact in any order.
#[derive(Clone, Copy, Debug)]
struct Plan {
    node: usize,
    inside: [u32; 4],
    between: [u32; 4],
    fold: u32,
    bytes: usize,
}

impl Plan {
    fn machine(&self) -> MachineModel {
        let link = |[latency, overhead, gap, per_byte]: [u32; 4]| Link {
            latency: latency.into(),
            overhead: overhead.into(),
            gap: gap.into(),
            per_byte: per_byte.into(),
        };
        MachineModel::two_level(self.node, link(self.inside), link(self.between))
            .fold_cost(self.fold.into())
            .element_bytes(self.bytes)
    }

    /// Returns how long a message occupies a port, and how long it travels.
    fn message(&self, a: Rank, b: Rank, elements: usize) -> (u64, u64) {
        let same = a / self.node == b / self.node;
        let [l, o, g, per_byte] = if same { self.inside } else { self.between }.map(u64::from);
        let body = (elements * self.bytes) as u64 * per_byte;
        (o.max(g) + body, l + o + o + body)
    }
}

/// When each rank begins and ends its steps.
type Times = HashMap<(Rank, usize), (u64, u64)>;

/// The time that a rank takes to fold elements of its own.
fn own_fold(step: &Step, plan: &Plan) -> u64 {
    let local = step.local.filter(|local| local.combine != Combine::Replace);
    local.map_or(0, |local| local.to.elements() as u64 * u64::from(plan.fold))
}

/// Every rank is a list of steps, found by examining all of them. Ranks run as far as they can, in turn; messages wait
/// in a queue for each pair. Returns `None` if a rank waits forever.
fn naive(schedule: &dyn Schedule, plan: &Plan) -> Option<Times> {
    let p = schedule.ranks();
    let program = |rank| {
        let steps = (0..schedule.steps()).map(move |s| (s, schedule.step(rank, s)));
        steps
            .filter(|(_, step)| !step.is_idle())
            .collect::<VecDeque<_>>()
    };
    let mut programs: Vec<_> = (0..p).map(program).collect();
    let mut clocks = vec![0; p];
    let mut posted = vec![false; p];
    let mut wires: HashMap<(Rank, Rank), VecDeque<(u64, usize)>> = HashMap::new();
    let mut times = Times::new();
    let mut moved = true;
    while moved {
        moved = false;
        for rank in 0..p {
            while let Some(&(number, step)) = programs[rank].front() {
                let start = clocks[rank];
                let mut end = start;
                if let Some(send) = step.send {
                    let elements = send.region.elements();
                    if !posted[rank] {
                        let wire = wires.entry((rank, send.peer)).or_default();
                        wire.push_back((start, elements));
                        posted[rank] = true;
                    }
                    end = start + plan.message(rank, send.peer, elements).0;
                }
                if let Some(recv) = step.recv {
                    let wire = wires.entry((recv.peer, rank)).or_default();
                    let Some((sent, elements)) = wire.pop_front() else {
                        break;
                    };
                    assert_eq!(elements, recv.region.elements());
                    let (port, travel) = plan.message(rank, recv.peer, elements);
                    let folds = u64::from(step.combine != Combine::Replace);
                    let fold = folds * elements as u64 * u64::from(plan.fold);
                    end = end.max((start + port).max(sent + travel) + fold);
                }
                end += own_fold(&step, plan);
                times.insert((rank, number), (start, end));
                (clocks[rank], posted[rank], moved) = (end, false, true);
                programs[rank].pop_front();
            }
        }
    }
    let done = programs.iter().all(VecDeque::is_empty) && wires.values().all(VecDeque::is_empty);
    done.then_some(times)
}

fn finish(times: &Times, ranks: usize) -> Vec<f64> {
    let last = |rank| {
        let of_rank = times.iter().filter(|((r, _), _)| *r == rank);
        of_rank.map(|(_, &(_, end))| end).max().unwrap_or(0) as f64
    };
    (0..ranks).map(last).collect()
}

/// Compares everything about a run with the naive one.
fn agrees(name: &str, schedule: &dyn Schedule, plan: &Plan) {
    let machine = plan.machine();
    let times = naive(schedule, plan).unwrap_or_else(|| panic!("{name}: somebody waits for ever"));
    let timing = simulate(schedule, &machine).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    assert_eq!(
        timing.finish,
        finish(&times, schedule.ranks()),
        "{name}, {plan:?}"
    );
    assert_eq!(timing.active, times.len() as u64, "{name}");
    assert_eq!(timing.steps, schedule.steps(), "{name}");
    assert_eq!(timing.bytes, timing.elements * plan.bytes as u128);
    assert_eq!(timing.finish[timing.last()], timing.total);
    busy(name, schedule, plan, timing.total);
    path(name, schedule, plan, &times, timing.total);
}

/// Checks that the loads are the sums over all actions of a rank.
fn busy(name: &str, schedule: &dyn Schedule, plan: &Plan, total: f64) {
    let loads = busy_times(schedule, &plan.machine()).unwrap();
    assert_eq!(loads.total, total, "{name}");
    for (rank, load) in loads.ranks.iter().enumerate() {
        let (mut sending, mut receiving, mut folding) = (0, 0, 0);
        for s in 0..schedule.steps() {
            let step = schedule.step(rank, s);
            let port = |t: Transfer| plan.message(rank, t.peer, t.region.elements()).0;
            sending += step.send.map_or(0, port);
            receiving += step.recv.map_or(0, port);
            let folds = step.recv.filter(|_| step.combine != Combine::Replace);
            folding += folds.map_or(0, |t| t.region.elements() as u64 * u64::from(plan.fold));
            folding += own_fold(&step, plan);
        }
        let want = [sending, receiving, folding].map(|sum| sum as f64);
        assert_eq!([load.sending, load.receiving, load.folding], want, "{name}");
        assert!(
            load.sending <= total && load.receiving + load.folding <= total,
            "{name}"
        );
    }
    let part = loads.utilisation();
    assert!(
        [part.sending, part.receiving + part.folding]
            .iter()
            .all(|part| (0.0..=1.0).contains(part))
    );
}

/// Checks that the path is a chain from 0 to the end, and that each hop is as in the naive run.
fn path(name: &str, schedule: &dyn Schedule, plan: &Plan, times: &Times, total: f64) {
    let path = critical_path(schedule, &plan.machine()).unwrap();
    assert_eq!(path.total, total, "{name}");
    let mut at = (0.0, None);
    for hop in &path.steps {
        assert_eq!(hop.start, at.0, "{name}: {hop:?}");
        let step = schedule.step(hop.rank, hop.step);
        let (from, transfer) = match hop.cause {
            Cause::Sends => (hop.rank, step.send),
            Cause::Receives => (hop.rank, step.recv),
            Cause::Waits => (hop.peer, step.recv),
            Cause::Folds => (hop.rank, None),
        };
        let peer = transfer.map_or(hop.rank, |transfer| transfer.peer);
        assert_eq!(peer, hop.peer, "{name}: {hop:?}");
        assert!(
            at.1.is_none_or(|rank| rank == from),
            "{name}: {hop:?} begins elsewhere"
        );
        assert_eq!(
            times[&(from, hop.step)].0 as f64,
            hop.start,
            "{name}: {hop:?}"
        );
        assert_eq!(
            times[&(hop.rank, hop.step)].1 as f64,
            hop.end,
            "{name}: {hop:?}"
        );
        at = (hop.end, Some(hop.rank));
    }
    assert_eq!(at.0, total, "{name}: where the path ends");
}

const LOGGP: Plan = Plan {
    node: 3,
    inside: [7, 2, 3, 1],
    between: [50, 11, 5, 2],
    fold: 1,
    bytes: 4,
};

/// Messages occupy ports for longer than they travel.
const WIDE_GAP: Plan = Plan {
    node: usize::MAX,
    inside: [3, 1, 40, 1],
    between: [0; 4],
    fold: 2,
    bytes: 1,
};

#[test]
fn all_schedules_take_as_long_as_in_the_naive_simulation() {
    let most = if cfg!(debug_assertions) { 9 } else { 24 };
    for p in (1..=most).chain([16, 17]) {
        for n in [0, 1, p + 1, 37] {
            for exhibit in zoo(p, n) {
                let name = format!("{} {p} {n}", exhibit.name);
                agrees(&name, &exhibit.schedule, &LOGGP);
                agrees(&name, &exhibit.schedule, &WIDE_GAP);
            }
        }
    }
}

fn link() -> impl Strategy<Value = [u32; 4]> {
    [0..100u32, 0..20u32, 0..60u32, 0..5u32]
}

fn plan() -> impl Strategy<Value = Plan> {
    let node = prop_oneof![Just(usize::MAX), 1..9usize];
    (node, link(), link(), 0..4u32, 1..9usize).prop_map(|(node, inside, between, fold, bytes)| {
        Plan {
            node,
            inside,
            between,
            fold,
            bytes,
        }
    })
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn any_machine_agrees_with_the_naive_simulation(
        plan in plan(), p in 1..20usize, n in 0..50usize, which in any::<prop::sample::Index>(),
    ) {
        let all = zoo(p, n);
        let exhibit = which.get(&all);
        agrees(&format!("{} {p} {n}", exhibit.name), &exhibit.schedule, &plan);
    }

    #[test]
    fn a_second_level_that_is_like_the_first_changes_nothing(
        link in link(), node in 1..9usize, p in 1..20usize, which in any::<prop::sample::Index>(),
    ) {
        let flat = Plan { node: usize::MAX, inside: link, between: [0; 4], fold: 1, bytes: 8 };
        let levels = Plan { node, between: link, ..flat };
        let all = zoo(p, 33);
        let schedule = &which.get(&all).schedule;
        prop_assert_eq!(simulate(schedule, &flat.machine()), simulate(schedule, &levels.machine()));
        prop_assert_eq!(busy_times(schedule, &flat.machine()), busy_times(schedule, &levels.machine()));
    }

    #[test]
    fn a_schedule_with_one_end_of_a_message_spoilt_is_refused(
        p in 2..14usize, seed in any::<u64>(), which in any::<prop::sample::Index>(),
    ) {
        let all = zoo(p, 29);
        let inner = &which.get(&all).schedule;
        let spoilt = Spoilt::new(inner.as_ref(), seed);
        let spoilt = spoilt.filter(|spoilt| spoilt.changes());
        if let Some(spoilt) = spoilt {
            prop_assert!(naive_refuses(&spoilt), "the oracle takes it");
            let machine = MachineModel::default();
            prop_assert!(simulate(&spoilt, &machine).is_err());
            prop_assert!(critical_path(&spoilt, &machine).is_err());
            prop_assert!(busy_times(&spoilt, &machine).is_err());
        }
    }
}

// ── the closed formulas ──

const ALPHA: f64 = 1000.0;
const BETA: f64 = 7.0;
const GAMMA: f64 = 3.0;

fn closed() -> MachineModel {
    MachineModel::alpha_beta_gamma(ALPHA, BETA, GAMMA)
}

fn total(schedule: &impl Schedule) -> f64 {
    let known = simulate(schedule, &closed()).unwrap();
    let behind_dyn = simulate::<dyn Schedule>(schedule, &closed()).unwrap();
    assert_eq!(known, behind_dyn);
    known.total
}

/// Returns the time of a message of `n` elements, and the same with a fold.
fn message(n: usize) -> f64 {
    ALPHA + n as f64 * BETA
}

fn folded(n: usize) -> f64 {
    message(n) + n as f64 * GAMMA
}

/// Returns the cost of ranks beyond a power of two.
fn folding(p: usize, n: usize) -> f64 {
    if p.is_power_of_two() {
        0.0
    } else {
        message(n) + folded(n)
    }
}

#[test]
fn trees_take_their_port_steps() {
    for p in 1..=70usize {
        for family in families(p) {
            let reduce = FoldAlong::new(family.single_port(), 12);
            let steps = family.port_steps() as f64;
            assert_eq!(total(&reduce), steps * folded(12), "{family:?}");
            assert_eq!(total(&reduce.reversed()), steps * message(12), "{family:?}");
        }
    }
}

#[test]
fn exchanges_take_what_their_formulas_say() {
    for p in 2..=70usize {
        let d = p.ilog2();
        let cube = 1 << d;
        let n = 3 * cube;
        let rest = |x: usize| (n - x) as f64 * (2.0 * BETA + GAMMA);
        let exchange = d as f64 * folded(n) + folding(p, n);
        assert_eq!(total(&simple_exchange(p, n)), exchange, "{p}");
        let halving = 2.0 * ALPHA * d as f64 + rest(n / cube) + folding(p, n);
        assert_eq!(total(&halving_all_reduce(p, n)), halving, "{p}");
        for s in 0..=d {
            let x = n >> s;
            let middle = (d - s) as f64 * x as f64 * (BETA + GAMMA);
            let hybrid = (d + s) as f64 * ALPHA + rest(x) + middle + folding(p, n);
            assert_eq!(total(&hybrid_all_reduce(p, n, s)), hybrid, "{p} {s}");
        }
    }
}

#[test]
fn rings_and_the_rest_take_what_their_formulas_say() {
    for p in 1..=70usize {
        let (n, block) = (5 * p, 5);
        let hops = (p - 1) as f64;
        let ring = RingReduceScatter::new(p, n);
        let both = hops * (folded(block) + message(block));
        assert_eq!(total(&ring.clone().then(ring.reversed())), both, "{p}");
        assert_eq!(
            total(&Pairwise::all_to_all(Blocks::even(n, p))),
            hops * message(block),
            "{p}"
        );
        let logs = ceil_log2(p) as f64;
        assert_eq!(
            total(&FoldAlong::new(Circle::new(p), 0)),
            logs * ALPHA,
            "{p}"
        );
        assert_eq!(
            total(&FoldAlong::new(Shift::new(p), n)),
            logs * folded(n),
            "{p}"
        );
        if p.is_power_of_two() {
            let gather = logs * ALPHA + (n - block) as f64 * BETA;
            assert_eq!(total(&BinomialGather::new(p, n)), gather, "{p}");
            assert_eq!(total(&BinomialGather::new(p, n).reversed()), gather, "{p}");
        }
    }
}

#[test]
fn pipelines_take_what_their_formulas_say() {
    for p in (2..=20usize).chain([31, 32, 33, 54, 70]) {
        for k in [1, 2, 5] {
            let n = 4 * k;
            let chain = (p + k - 2) as f64;
            let pipe = |name: &str, period| {
                let reduce = own_steps(name, p, n);
                let both = [
                    total(&reduce.clone().pipelined(k, period)) / folded(4),
                    total(&reduce.reversed().pipelined(k, period)) / message(4),
                ];
                assert_eq!(both[0], both[1], "{name} {p} {k}");
                both[0]
            };
            assert_eq!(pipe("chain", 1), chain, "{p} {k}");
            // In smaller worlds no rank has two children, and no port is used twice per segment.
            if p >= 4 {
                for name in ["in-order", "fibonacci"] {
                    let d = Topology::by_name(name, p).unwrap().steps();
                    assert_eq!(pipe(name, 2), (d + 2 * k - 2) as f64, "{name} {p} {k}");
                }
            }
        }
    }
}

// ── broken schedules ──

/// A schedule with one transfer of one rank changed.
struct Spoilt<'a> {
    inner: &'a dyn Schedule,
    rank: Rank,
    step: usize,
    kind: u64,
}

impl<'a> Spoilt<'a> {
    /// Changes some step of some rank; `None` if there are no messages.
    fn new(inner: &'a dyn Schedule, seed: u64) -> Option<Spoilt<'a>> {
        let all = (0..inner.ranks()).flat_map(|rank| (0..inner.steps()).map(move |s| (rank, s)));
        let all: Vec<_> = all
            .filter(|&(rank, s)| {
                let step = inner.step(rank, s);
                step.send.is_some() || step.recv.is_some()
            })
            .collect();
        let &(rank, step) = all.get(noise(seed) as usize % all.len().max(1))?;
        let kind = noise(seed ^ 1) % 6;
        Some(Spoilt {
            inner,
            rank,
            step,
            kind,
        })
    }

    fn changes(&self) -> bool {
        self.step(self.rank, self.step) != self.inner.step(self.rank, self.step)
    }

    fn elsewhere(&self, t: Transfer) -> Transfer {
        let ranks = self.ranks();
        let peer = (t.peer + 1) % (ranks + 1);
        Transfer { peer, ..t }
    }
}

fn longer(t: Transfer) -> Transfer {
    let region = Region {
        length: t.region.length + 1,
        count: 1,
        ..t.region
    };
    Transfer { region, ..t }
}

impl Schedule for Spoilt<'_> {
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }
    fn steps(&self) -> usize {
        self.inner.steps()
    }
    fn step(&self, rank: Rank, step: usize) -> Step {
        let whole = self.inner.step(rank, step);
        if (rank, step) != (self.rank, self.step) {
            return whole;
        }
        let (send, recv) = (whole.send, whole.recv);
        let (send, recv) = match self.kind {
            0 => (None, recv),
            1 => (send, None),
            2 => (send.map(|t| self.elsewhere(t)), recv),
            3 => (send, recv.map(|t| self.elsewhere(t))),
            4 => (send.map(longer), recv),
            _ => (send, recv.map(longer)),
        };
        Step {
            send,
            recv,
            ..whole
        }
    }
    fn lengths(&self, rank: Rank) -> Lengths {
        self.inner.lengths(rank)
    }
}

/// Returns whether the sends of some step do not match the receives.
fn naive_refuses(schedule: &dyn Schedule) -> bool {
    (0..schedule.steps()).any(|s| {
        let all = |out: bool| {
            let one = |rank| {
                let step = schedule.step(rank, s);
                let t = if out { step.send } else { step.recv }?;
                let ends = if out { (rank, t.peer) } else { (t.peer, rank) };
                Some((ends, t.region.elements()))
            };
            let mut all: Vec<_> = (0..schedule.ranks()).filter_map(one).collect();
            all.sort_unstable();
            all
        };
        all(true) != all(false)
    })
}

/// Two or more ranks, with their steps given by a function.
struct Made<F, N> {
    ranks: usize,
    steps: usize,
    step: F,
    next: N,
}

impl<F, N> Schedule for Made<F, N>
where
    F: Fn(Rank, usize) -> Step + Sync,
    N: Fn(Rank, Option<usize>) -> Option<usize> + Sync,
{
    fn ranks(&self) -> usize {
        self.ranks
    }
    fn steps(&self) -> usize {
        self.steps
    }
    fn step(&self, rank: Rank, step: usize) -> Step {
        (self.step)(rank, step)
    }
    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        (self.next)(rank, after)
    }
    fn lengths(&self, _: Rank) -> Lengths {
        Lengths::in_place(8)
    }
}

fn to(peer: Rank) -> Option<Transfer> {
    let region = Region::output(0..8);
    Some(Transfer { peer, region })
}

fn send(peer: Rank) -> Step {
    Step {
        send: to(peer),
        ..Step::IDLE
    }
}

fn recv(peer: Rank) -> Step {
    Step {
        recv: to(peer),
        ..Step::IDLE
    }
}

/// Returns the fault of two ranks with these actions in step 0.
fn fault_of(zero: Step, one: Step) -> SimulateError {
    let made = Made {
        ranks: 2,
        steps: 1,
        step: move |rank, _| [zero, one][rank],
        next: |_, _| None,
    };
    simulate(&made, &MachineModel::default()).unwrap_err()
}

#[test]
fn each_fault_names_its_culprit() {
    let (rank, step) = (0, 0);
    let idle = Step::IDLE;
    assert_eq!(
        fault_of(recv(1), idle),
        SimulateError::NoSend {
            rank,
            step,
            peer: 1
        }
    );
    assert_eq!(
        fault_of(send(1), idle),
        SimulateError::NoReceive {
            rank,
            step,
            peer: 1
        }
    );
    assert_eq!(
        fault_of(send(0), idle),
        SimulateError::OwnPeer { rank, step }
    );
    let nobody = SimulateError::NoSuchPeer {
        rank,
        step,
        peer: 2,
        ranks: 2,
    };
    assert_eq!(fault_of(recv(2), idle), nobody);
    assert_eq!(fault_of(send(2), recv(0)), nobody);
    let unequal = SimulateError::UnequalExtents {
        rank,
        step,
        peer: 1,
        sent: 9,
        expected: 8,
    };
    let long = Step {
        send: to(1).map(longer),
        ..idle
    };
    assert_eq!(fault_of(long, recv(0)), unequal);
    // Each waits for the other: a deadlock on threads, two messages without a sender here.
    assert_eq!(
        fault_of(recv(1), recv(0)),
        SimulateError::NoSend {
            rank,
            step,
            peer: 1
        }
    );
}

#[test]
fn what_the_machine_or_the_size_makes_impossible_is_refused() {
    let exchange = simple_exchange(4, 8);
    let negative = MachineModel::alpha_beta_gamma(1.0, -1.0, 0.0);
    let fault = simulate(&exchange, &negative).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "a time per byte of -1: it must be finite and not negative"
    );
    for bad in [f64::NAN, f64::INFINITY] {
        let machine = MachineModel::default().fold_cost(bad);
        assert!(matches!(
            simulate(&exchange, &machine),
            Err(SimulateError::NoTime { .. })
        ));
    }
    let link = *MachineModel::default().link(0, 1);
    let machine = MachineModel::two_level(0, link, link);
    assert_eq!(
        critical_path(&exchange, &machine),
        Err(SimulateError::EmptyNodes)
    );
    for (ranks, fault) in [
        (0, SimulateError::NoRanks),
        (
            MOST_RANKS + 1,
            SimulateError::TooManyRanks {
                ranks: MOST_RANKS + 1,
            },
        ),
    ] {
        let made = Made {
            ranks,
            steps: 1,
            step: |_, _| Step::IDLE,
            next: |_, _| None,
        };
        assert_eq!(simulate(&made, &MachineModel::default()), Err(fault));
    }
}

/// Ranks 0 and 1 of four communicate in step 5, if the schedule announces it.
fn late(next: impl Fn(Rank, Option<usize>) -> Option<usize> + Sync) -> SimulateError {
    let step = |rank, s| match (rank, s) {
        (0, 5) => send(1),
        (1, 5) => recv(0),
        _ => Step::IDLE,
    };
    let made = Made {
        ranks: 4,
        steps: 9,
        step,
        next,
    };
    simulate(&made, &MachineModel::default()).unwrap_err()
}

#[test]
fn a_schedule_that_names_wrong_steps_is_refused() {
    let back = late(|rank, _| (rank < 2).then_some(0));
    assert_eq!(
        back,
        SimulateError::WrongNext {
            rank: 0,
            after: 0,
            next: 0
        }
    );
    let beyond = late(|rank, _| (rank == 3).then_some(9));
    assert_eq!(
        beyond,
        SimulateError::WrongNext {
            rank: 3,
            after: 0,
            next: 9
        }
    );
    let forgets_one = late(|rank, after| (rank == 1 && after < Some(5)).then_some(5));
    assert_eq!(forgets_one, SimulateError::Overlooked { rank: 0, step: 5 });
}

// ── size ──

#[test]
fn steps_in_which_nobody_does_anything_cost_nothing() {
    let (last, middle) = (usize::MAX - 1, usize::MAX / 2);
    let made = Made {
        ranks: 3,
        steps: usize::MAX,
        step: |rank, s| match (rank, s) {
            (0, s) if s == last || s == middle => send(1),
            (1, s) if s == last || s == middle => recv(0),
            _ => Step::IDLE,
        },
        next: |rank, after: Option<usize>| {
            let next = if after < Some(middle) { middle } else { last };
            (rank < 2 && after < Some(last)).then_some(next)
        },
    };
    let timing = simulate(&made, &MachineModel::alpha_beta_gamma(1.0, 0.0, 0.0)).unwrap();
    assert_eq!((timing.total, timing.active), (2.0, 4));
    let path = critical_path(&made, &MachineModel::default()).unwrap();
    assert_eq!(
        path.steps.iter().map(|hop| hop.step).collect::<Vec<_>>(),
        [middle, last]
    );
}

#[test]
fn many_ranks_are_quick_even_here() {
    let p = 1 << 14;
    let chain = own_steps("chain", p, 8).reversed().pipelined(4, 1);
    assert_eq!(total(&chain), (p + 2) as f64 * message(2));
    let steps = critical_path(&chain, &closed()).unwrap().steps;
    assert_eq!(steps.len(), p + 2);
    assert!(steps.windows(2).all(|two| two[0].end == two[1].start));
    let flat = tree("flat", p, 1);
    assert_eq!(total(&flat), (p - 1) as f64 * folded(1));
}

/// Nodes of `node` ranks that share one link, by the definition: one event at a time, the earliest first.
fn naive_shared(schedule: &dyn Schedule, node: usize, [l, o, g]: [f64; 3], per_byte: f64) -> f64 {
    let p = schedule.ranks();
    let (mut clock, nodes) = (vec![0.0f64; p], p.div_ceil(node));
    let (mut out, mut into) = (vec![0.0f64; nodes], vec![0.0f64; nodes]);
    for s in 0..schedule.steps() {
        let steps: Vec<Step> = (0..p).map(|rank| schedule.step(rank, s)).collect();
        let mut leaving: Vec<Rank> = (0..p).filter(|&rank| steps[rank].send.is_some()).collect();
        leaving.sort_by(|&a, &b| clock[a].total_cmp(&clock[b]));
        let port = |bytes: usize| o.max(g) + bytes as f64 * per_byte;
        let mut arrives = vec![0.0; p];
        for from in leaving {
            let send = steps[from].send.unwrap();
            let (a, b) = (from / node, send.peer / node);
            let mut begin = clock[from];
            if a != b {
                begin = begin.max(out[a]).max(into[b]);
                (out[a], into[b]) = (
                    begin + port(send.region.elements()),
                    begin + port(send.region.elements()),
                );
            }
            arrives[send.peer] = begin + l + 2.0 * o + send.region.elements() as f64 * per_byte;
        }
        for (rank, step) in steps.iter().enumerate() {
            let start = clock[rank];
            if let Some(send) = step.send {
                clock[rank] = start + port(send.region.elements());
            }
            if let Some(recv) = step.recv {
                let in_port = start + port(recv.region.elements());
                clock[rank] = clock[rank].max(in_port.max(arrives[rank]));
            }
        }
    }
    clock.into_iter().fold(0.0, f64::max)
}

#[test]
fn shared_links_are_taken_in_turns_as_in_the_naive_simulation() {
    let numbers = [3.0, 1.0, 2.0];
    let link = Link {
        latency: 3.0,
        overhead: 1.0,
        gap: 2.0,
        per_byte: 0.5,
    };
    for (p, node) in [(8, 4), (13, 3), (16, 8), (6, 1), (5, 9)] {
        let machine = MachineModel::two_level(node, link, link).shared_links();
        for exhibit in zoo(p, 7) {
            let total = simulate(&exhibit.schedule, &machine).unwrap().total;
            let naive = naive_shared(&exhibit.schedule, node, numbers, 0.5);
            assert!(
                (total - naive).abs() < 1e-9 * naive.max(1.0),
                "{} of {p}: {total} {naive}",
                exhibit.name
            );
        }
    }
}

#[test]
fn the_critical_path_is_refused_where_links_are_shared() {
    let link = Link {
        latency: 3.0,
        overhead: 1.0,
        gap: 2.0,
        per_byte: 0.5,
    };
    let machine = MachineModel::two_level(2, link, link).shared_links();
    let fault = critical_path(&tree("binomial", 8, 1), &machine).unwrap_err();
    assert_eq!(fault, SimulateError::SharedLinks);
    assert_eq!(
        fault.to_string(),
        "the critical path is not known where the ranks of a node share its links"
    );
}

#[test]
fn a_local_fold_costs_what_the_fold_of_a_message_costs() {
    // A reduce over cells to rank 2 of 3: it copies from rank 0, folds rank 1's vector, then its own.
    let call = Call::new(Collective::Reduce, 3, 100).to_root(2);
    let reads = Algorithm::Cells.schedule(&call).unwrap();
    let machine = MachineModel::alpha_beta_gamma(10.0, 1.0, 0.5);
    let timing = simulate(&*reads, &machine).unwrap();
    assert_eq!(timing.total, 2.0 * (10.0 + 100.0) + 2.0 * 50.0);
}

#[test]
fn the_first_and_the_median_are_those_of_the_times_in_order() {
    for p in 1..=17 {
        for name in ["chain", "k-tree:2", "flat", "binomial", "fibonacci"] {
            let timing = simulate(&tree(name, p, 3), &MachineModel::default()).unwrap();
            let mut times = timing.finish.clone();
            times.sort_by(f64::total_cmp);
            let middle = (times[(p - 1) / 2] + times[p / 2]) / 2.0;
            assert_eq!(timing.finish.len(), p);
            assert_eq!(timing.first(), times[0], "{name} {p}");
            assert_eq!(timing.median(), middle, "{name} {p}");
            assert_eq!(timing.total, times[p - 1], "{name} {p}");
        }
    }
}
