//! The simulator, compared with a naive one, with the closed formulas, and on broken schedules.

#[path = "simulate/causes.rs"]
mod causes;
mod common;
#[path = "simulate/faults.rs"]
mod faults;
#[path = "simulate/formulas.rs"]
mod formulas;
#[path = "simulate/links.rs"]
mod links;
mod zoo;

use std::collections::{HashMap, VecDeque};

use common::cases;
use proptest::prelude::*;
use rankfold::Rank;
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::schedule::{Combine, Lengths, Region, Schedule, Step, Transfer};
use rankfold::simulate::{Cause, Link, MachineModel, busy_times, critical_path, simulate};
use zoo::{noise, tree, zoo};

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

/// The steps of a rank that are not idle, with their numbers.
fn program(schedule: &dyn Schedule, rank: Rank) -> VecDeque<(usize, Step)> {
    let steps = (0..schedule.steps()).map(|s| (s, schedule.step(rank, s)));
    steps.filter(|(_, step)| !step.is_idle()).collect()
}

/// The messages on their way: when each was sent, and its elements.
type Wires = HashMap<(Rank, Rank), VecDeque<(u64, usize)>>;

/// Takes the message of a step that begins at `start`; returns when it is received and folded, or `None` if it was not
/// sent yet.
fn received(
    wires: &mut Wires,
    rank: Rank,
    step: &Step,
    recv: Transfer,
    start: u64,
    plan: &Plan,
) -> Option<u64> {
    let wire = wires.entry((recv.peer, rank)).or_default();
    let (sent, elements) = wire.pop_front()?;
    assert_eq!(elements, recv.region.elements());
    let (port, travel) = plan.message(rank, recv.peer, elements);
    let folds = u64::from(step.combine != Combine::Replace);
    let fold = folds * elements as u64 * u64::from(plan.fold);
    Some((start + port).max(sent + travel) + fold)
}

/// Every rank is a list of steps, found by examining all of them. Ranks run as far as they can, in turn; messages wait
/// in a queue for each pair. Returns `None` if a rank waits forever.
fn naive(schedule: &dyn Schedule, plan: &Plan) -> Option<Times> {
    let p = schedule.ranks();
    let mut programs: Vec<_> = (0..p).map(|rank| program(schedule, rank)).collect();
    let mut clocks = vec![0; p];
    let mut posted = vec![false; p];
    let mut wires = Wires::new();
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
                    match received(&mut wires, rank, &step, recv, start, plan) {
                        Some(then) => end = end.max(then),
                        None => break,
                    }
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
                if n == 37 {
                    agrees(&name, &exhibit.schedule, &WIDE_GAP);
                }
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
