//! Every algorithm that is a schedule, with its goal; and its effect on numbers, in the plainest code.
#![allow(dead_code)] // each test takes what it needs

use std::collections::HashMap;

use rankfold::check::Goal;
use rankfold::collective::{
    Algorithm, BinomialGather, Bisection, BruckAllGather, Call, Collective, Halving,
    RingReduceScatter, Root, halving_reduce_scatter,
};
use rankfold::schedule::{Buffer, Combine, FoldAlong, HandOut, LocalCopy, Region, Schedule, Step};
use rankfold::span;
use rankfold::topology::{OwnSteps, SinglePort, Topology};

pub struct Exhibit {
    pub name: String,
    pub schedule: Box<dyn Schedule>,
    pub goal: Goal,
    /// Whether the operands come in rank order.
    pub ordered: bool,
    pub meaning: Meaning,
}

/// The expected result, without symbols: the goal again, for the executor on numbers.
#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    Broadcast(usize),
    Reduce(usize),
    AllReduce,
    ReduceScatter,
    AllGather,
    Gather(usize),
    Scatter(usize),
    AllToAll,
    Scan,
    ExclusiveScan,
    Barrier,
}

pub fn tree(name: &str, ranks: usize, length: usize) -> FoldAlong<SinglePort> {
    FoldAlong::new(
        Topology::by_name(name, ranks).unwrap().single_port(),
        length,
    )
}

/// The same in the tree's own steps, as pipelines need it.
pub fn own_steps(name: &str, ranks: usize, length: usize) -> FoldAlong<OwnSteps> {
    FoldAlong::new(
        OwnSteps::new(Topology::by_name(name, ranks).unwrap()),
        length,
    )
}

/// A schedule in place, by itself.
fn exhibit(
    name: &str,
    schedule: impl Schedule + 'static,
    (meaning, goal): (Meaning, Goal),
    ordered: bool,
) -> Exhibit {
    Exhibit {
        name: name.into(),
        schedule: Box::new(schedule),
        goal,
        ordered,
        meaning,
    }
}

/// Returns all of them for `p` ranks and `n` elements.
pub fn zoo(p: usize, n: usize) -> Vec<Exhibit> {
    let registered = Collective::all().flat_map(|collective| registered(collective, p, n));
    registered.chain(in_place(p, n)).collect()
}

fn meaning(call: &Call) -> Meaning {
    let root = call.root;
    match call.collective {
        Collective::Barrier => Meaning::Barrier,
        Collective::Broadcast => Meaning::Broadcast(root),
        Collective::Reduce => Meaning::Reduce(root),
        Collective::AllReduce => Meaning::AllReduce,
        Collective::ReduceScatter => Meaning::ReduceScatter,
        Collective::AllGather => Meaning::AllGather,
        Collective::Gather => Meaning::Gather(root),
        Collective::Scatter => Meaning::Scatter(root),
        Collective::AllToAll => Meaning::AllToAll,
        Collective::Scan => Meaning::Scan,
        Collective::ExclusiveScan => Meaning::ExclusiveScan,
    }
}

/// The registered algorithms, with two roots, in both forms, with both kinds of operators.
fn registered(collective: Collective, p: usize, n: usize) -> Vec<Exhibit> {
    let call = Call::new(
        collective,
        p,
        if collective == Collective::Barrier {
            0
        } else {
            n
        },
    );
    let mut calls = vec![call.clone()];
    if collective.has_root() && p > 1 {
        calls.push(call.clone().to_root(p / 2));
    }
    if collective == Collective::AllReduce {
        calls.push(call.clone().from_input());
    }
    let shapes = calls
        .iter()
        .flat_map(|call| [call.clone(), call.clone().commuting()]);
    let shapes: Vec<_> = shapes
        .filter(|call| collective.folds() || !call.commutes)
        .collect();
    let each = Algorithm::all(collective).flat_map(|algorithm| {
        let of = move |call| registered_for(algorithm, call);
        shapes.iter().filter_map(of).collect::<Vec<_>>()
    });
    each.collect()
}

/// With an operator that commutes, only if that gives another schedule.
fn registered_for(algorithm: Algorithm, call: &Call) -> Option<Exhibit> {
    let needs = algorithm.needs(call.collective)?;
    let turns = needs.root == Root::Turned && call.root > 0;
    if call.commutes && !needs.commutative && !turns {
        return None;
    }
    let goal = Goal::of(call.collective, call.root, call.length());
    Some(Exhibit {
        name: format!("{algorithm} {call:?}"),
        schedule: algorithm.schedule(call).ok()?,
        goal: if call.from_input {
            goal.from_input()
        } else {
            goal
        },
        ordered: !call.commutes,
        meaning: meaning(call),
    })
}

/// Schedules by themselves, in place.
fn in_place(p: usize, n: usize) -> Vec<Exhibit> {
    let reduce_scatter = (Meaning::ReduceScatter, Goal::reduce_scatter(n));
    let all_gather = (Meaning::AllGather, Goal::all_gather(n));
    let reduce = (Meaning::Reduce(p / 2), Goal::reduce(p / 2, n));
    let broadcast = (Meaning::Broadcast(p / 2), Goal::broadcast(p / 2, n));
    let far = Halving::new(p.ilog2(), n, Bisection::Far)
        .for_blocks_of(p)
        .proxied(p, HandOut::Block);
    let ring = RingReduceScatter::new(p, n);
    let gather = BinomialGather::new(p, n);
    let halving = halving_reduce_scatter(p, n);
    let turned = tree("fibonacci", p, n).rooted(p / 2);
    let back = turned.clone().reversed();
    let scatter = (Meaning::Scatter(0), Goal::scatter(0, n));
    vec![
        exhibit("halving", halving.clone(), reduce_scatter, true),
        exhibit("doubling", halving.reversed(), all_gather, true),
        exhibit("far halving", far.clone(), reduce_scatter, p < 4),
        exhibit("far doubling", far.reversed(), all_gather, true),
        exhibit("ring", ring.clone(), reduce_scatter, p < 2 || n == 0),
        exhibit("ring backwards", ring.reversed(), all_gather, true),
        exhibit(
            "gather",
            gather.clone(),
            (Meaning::Gather(0), Goal::gather(0, n)),
            true,
        ),
        exhibit("scatter", gather.reversed(), scatter, true),
        exhibit("bruck", BruckAllGather::new(p, n), all_gather, true),
        exhibit("fibonacci turned", turned, reduce, p < 2),
        exhibit("fibonacci turned, broadcast", back, broadcast, true),
    ]
}

/// The map `x ↦ mx + c` modulo a prime. Composition is associative, and wrong as soon as two operands are swapped.
pub type Affine = (u64, u64);
const PRIME: u64 = 2_147_483_647;

pub fn compose(a: Affine, b: Affine) -> Affine {
    (a.0 * b.0 % PRIME, (a.0 * b.1 + a.1) % PRIME)
}

/// Adding commutes.
pub fn add(a: Affine, b: Affine) -> Affine {
    ((a.0 + b.0) % PRIME, (a.1 + b.1) % PRIME)
}

pub type Operator = fn(Affine, Affine) -> Affine;

/// Returns reproducible pseudo-random numbers (the generator is SplitMix64).
pub fn noise(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn number(who: usize, element: usize) -> Affine {
    let x = noise((who as u64) << 32 | element as u64);
    (2 + x % 1_000_003, (x >> 32) % PRIME)
}

/// A rank's three buffers.
pub type Buffers = [Vec<Affine>; 3];

fn places(region: Region) -> Vec<usize> {
    region.runs().flatten().collect()
}

fn combined(combine: Combine, held: Affine, value: Affine, op: Operator) -> Affine {
    match combine {
        Combine::Replace => value,
        Combine::FoldRight => op(held, value),
        Combine::FoldLeft => op(value, held),
    }
}

/// Runs a schedule on numbers, step by step; `None` if a rank would wait forever.
pub fn execute(schedule: &dyn Schedule, buffers: &mut [Buffers], op: Operator) -> Option<()> {
    for s in 0..schedule.steps() {
        let steps: Vec<Step> = (0..buffers.len())
            .map(|rank| schedule.step(rank, s))
            .collect();
        let mut wire = HashMap::new();
        for (rank, step) in steps.iter().enumerate() {
            if let Some(local) = step.local {
                copy(&mut buffers[rank], local, op);
            }
            if let Some(send) = step.send {
                wire.insert((rank, send.peer), values(&buffers[rank], send.region));
            }
        }
        for (rank, step) in steps.iter().enumerate() {
            let Some(recv) = step.recv else { continue };
            let values = wire.remove(&(recv.peer, rank))?;
            let (into, places) = (
                &mut buffers[rank][recv.region.buffer as usize],
                places(recv.region),
            );
            if places.len() != values.len() {
                return None;
            }
            for (i, value) in places.into_iter().zip(values) {
                into[i] = combined(step.combine, into[i], value, op);
            }
        }
        if !wire.is_empty() {
            return None;
        }
    }
    Some(())
}

fn values(buffers: &Buffers, region: Region) -> Vec<Affine> {
    let from = &buffers[region.buffer as usize];
    places(region).iter().map(|&i| from[i]).collect()
}

fn copy(buffers: &mut Buffers, local: LocalCopy, op: Operator) {
    let LocalCopy { from, to, combine } = local;
    let values = values(buffers, from);
    for (i, value) in places(to).into_iter().zip(values) {
        let held = &mut buffers[to.buffer as usize][i];
        *held = combined(combine, *held, value, op);
    }
}

/// Returns whether a schedule computes what it should. Elements without an initial value are garbage.
pub fn works(schedule: &dyn Schedule, meaning: Meaning, n: usize, op: Operator) -> bool {
    let p = schedule.ranks();
    let input = |rank: usize, i: usize| number(rank, i);
    let mut buffers: Vec<Buffers> = (0..p)
        .map(|rank| start(schedule, meaning, n, rank))
        .collect();
    if execute(schedule, &mut buffers, op).is_none() {
        return false;
    }
    let fold = |ranks: std::ops::Range<usize>, i: usize| {
        ranks.map(|rank| input(rank, i)).reduce(op).unwrap()
    };
    let owner = |i: usize| (0..p).find(|&b| span::block(n, p, b).contains(&i)).unwrap();
    (0..p).all(|rank| {
        let out = &buffers[rank][Buffer::Output as usize];
        let own = span::block(n, p, rank);
        // A block is at its place in the vector, or in a separate buffer.
        let first = if out.len() < n { 0 } else { own.start };
        let all = |want: &dyn Fn(usize) -> Affine| (0..n).all(|i| out[i] == want(i));
        match meaning {
            Meaning::Barrier => true,
            Meaning::Reduce(root) | Meaning::Gather(root) if root != rank => true,
            Meaning::ExclusiveScan if rank == 0 => true,
            Meaning::Broadcast(root) => all(&|i| input(root, i)),
            Meaning::Reduce(_) | Meaning::AllReduce => all(&|i| fold(0..p, i)),
            Meaning::Scan => all(&|i| fold(0..rank + 1, i)),
            Meaning::ExclusiveScan => all(&|i| fold(0..rank, i)),
            Meaning::AllGather | Meaning::Gather(_) => all(&|i| input(owner(i), i)),
            Meaning::ReduceScatter => own
                .clone()
                .all(|i| out[i - own.start + first] == fold(0..p, i)),
            Meaning::Scatter(root) => own
                .clone()
                .all(|i| out[i - own.start + first] == input(root, i)),
            Meaning::AllToAll => (0..p * own.len())
                .all(|x| out[x] == input(x / own.len(), own.start + x % own.len())),
        }
    })
}

/// The initial values are in the input if there is one, and then the input of a block contains only that block.
pub fn start(schedule: &dyn Schedule, meaning: Meaning, n: usize, rank: usize) -> Buffers {
    let (p, lengths) = (schedule.ranks(), schedule.lengths(rank));
    let rubbish = |length: usize| {
        (0..length)
            .map(|i| number(1000 + rank, i))
            .collect::<Vec<_>>()
    };
    let mut buffers = [lengths.input, lengths.output, lengths.scratch].map(rubbish);
    let run = match meaning {
        Meaning::Barrier => 0..0,
        Meaning::AllGather | Meaning::Gather(_) => span::block(n, p, rank),
        Meaning::Broadcast(root) | Meaning::Scatter(root) if root != rank => 0..0,
        _ => 0..n,
    };
    let (buffer, first) = match lengths.input {
        0 => (Buffer::Output, run.start),
        _ => (Buffer::Input, 0),
    };
    for (i, place) in run.zip(first..) {
        buffers[buffer as usize][place] = number(rank, i);
    }
    buffers
}

/// Returns the least `L` with `2^L ≥ n`.
pub fn ceil_log2(n: usize) -> usize {
    n.next_power_of_two().ilog2() as usize
}
