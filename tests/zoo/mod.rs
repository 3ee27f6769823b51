//! Every algorithm that is a schedule, with what it is for; and what they do to numbers, in the
//! plainest code there is.
#![allow(dead_code)] // each test takes what it needs

use std::collections::HashMap;

use rankfold::check::Goal;
use rankfold::collective::{
    BinomialGather, Bisection, BruckAllGather, ExclusiveScan, Halving, PairwiseAllToAll,
    RingReduceScatter, halving_all_reduce, halving_reduce_scatter, hybrid_all_reduce,
    simple_exchange,
};
use rankfold::schedule::{Buffer, Combine, FoldAlong, HandOut, LocalCopy, Region, Schedule, Step};
use rankfold::span;
use rankfold::topology::{Circle, OwnSteps, Shift, SinglePort, Topology};

pub struct Exhibit {
    pub name: String,
    pub schedule: Box<dyn Schedule>,
    pub goal: Goal,
    /// Whether the operands come in rank order.
    pub ordered: bool,
    pub meaning: Meaning,
}

/// What must come out, said without any symbols: the goal again, for the executor on numbers.
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

/// Trees whose subtrees are runs of ranks.
pub const IN_ORDER: [&str; 6] = [
    "chain",
    "k-tree:1",
    "k-tree:2",
    "flat",
    "in-order",
    "fibonacci",
];

fn exhibit(
    name: impl Into<String>,
    schedule: impl Schedule + 'static,
    meaning: Meaning,
    ordered: bool,
) -> Exhibit {
    let name = name.into();
    let length = schedule.lengths(0);
    let n = length.output.max(length.input);
    let goal = match meaning {
        Meaning::Broadcast(root) => Goal::broadcast(root, n),
        Meaning::Reduce(root) => Goal::reduce(root, n),
        Meaning::AllReduce => Goal::all_reduce(n),
        Meaning::ReduceScatter => Goal::reduce_scatter(n),
        Meaning::AllGather => Goal::all_gather(n),
        Meaning::Gather(root) => Goal::gather(root, n),
        Meaning::Scatter(root) => Goal::scatter(root, n),
        Meaning::AllToAll => Goal::all_to_all(length.input),
        Meaning::Scan => Goal::scan(n),
        Meaning::ExclusiveScan => Goal::exclusive_scan(n),
        Meaning::Barrier => Goal::barrier(),
    };
    let schedule = Box::new(schedule);
    Exhibit {
        name,
        schedule,
        goal,
        ordered,
        meaning,
    }
}

/// All of them for so many ranks and elements.
pub fn zoo(p: usize, n: usize) -> Vec<Exhibit> {
    let mut all = trees(p, n);
    all.extend(cubes(p, n));
    all.extend(blocks(p, n));
    all
}

fn trees(p: usize, n: usize) -> Vec<Exhibit> {
    use Meaning::{AllReduce, Broadcast, Reduce};
    let mut all = Vec::new();
    for name in IN_ORDER {
        let reduce = tree(name, p, n);
        let broadcast = reduce.clone().reversed();
        let both = reduce.clone().then(broadcast.clone());
        let turned = reduce.clone().rooted(p / 2);
        all.push(exhibit(
            format!("{name} there and back"),
            both,
            AllReduce,
            true,
        ));
        all.push(exhibit(
            format!("{name} turned, broadcast"),
            turned.clone().reversed(),
            Broadcast(p / 2),
            true,
        ));
        all.push(exhibit(
            format!("{name} turned"),
            turned,
            Reduce(p / 2),
            p < 2,
        ));
        all.push(exhibit(name, reduce, Reduce(0), true));
        all.push(exhibit(
            format!("{name} broadcast"),
            broadcast,
            Broadcast(0),
            true,
        ));
    }
    for (name, period) in [("chain", 1), ("in-order", 2), ("fibonacci", 2)] {
        for k in [1, 2, 5] {
            let reduce = own_steps(name, p, n).pipelined(k, period);
            let broadcast = own_steps(name, p, n).reversed().pipelined(k, period);
            all.push(exhibit(
                format!("{name} in {k} segments"),
                reduce,
                Reduce(0),
                true,
            ));
            all.push(exhibit(
                format!("{name} broadcast in {k} segments"),
                broadcast,
                Broadcast(0),
                true,
            ));
        }
    }
    all
}

fn cubes(p: usize, n: usize) -> Vec<Exhibit> {
    use Meaning::{AllGather, AllReduce, Barrier, ReduceScatter, Scan};
    let far = Halving::new(p.ilog2(), n, Bisection::Far)
        .for_blocks_of(p)
        .proxied(p, HandOut::Block);
    let mut all = vec![
        exhibit("simple exchange", simple_exchange(p, n), AllReduce, true),
        exhibit(
            "halving and doubling",
            halving_all_reduce(p, n),
            AllReduce,
            true,
        ),
        exhibit("halving", halving_reduce_scatter(p, n), ReduceScatter, true),
        exhibit(
            "doubling",
            halving_reduce_scatter(p, n).reversed(),
            AllGather,
            true,
        ),
        exhibit("far halving", far, ReduceScatter, p < 4),
        exhibit("shift", FoldAlong::new(Shift::new(p), n), Scan, true),
        exhibit(
            "dissemination",
            FoldAlong::new(Circle::new(p), 0),
            Barrier,
            true,
        ),
    ];
    for s in 0..=p.ilog2() {
        let hybrid = hybrid_all_reduce(p, n, s);
        all.push(exhibit(
            format!("hybrid, {s} stages"),
            hybrid,
            AllReduce,
            true,
        ));
    }
    all
}

fn blocks(p: usize, n: usize) -> Vec<Exhibit> {
    use Meaning::{
        AllGather, AllReduce, AllToAll, ExclusiveScan as Exclusive, Gather, ReduceScatter, Scatter,
    };
    let ring = RingReduceScatter::new(p, n);
    let gather = BinomialGather::new(p, n);
    vec![
        exhibit("ring", ring.clone(), ReduceScatter, p < 2 || n == 0),
        exhibit("ring backwards", ring.clone().reversed(), AllGather, true),
        exhibit(
            "ring round twice",
            ring.clone().then(ring.reversed()),
            AllReduce,
            p < 2 || n == 0,
        ),
        exhibit("binomial gather", gather.clone(), Gather(0), true),
        exhibit("binomial scatter", gather.reversed(), Scatter(0), true),
        exhibit("bruck", BruckAllGather::new(p, n), AllGather, true),
        exhibit("pairwise", PairwiseAllToAll::new(p, n), AllToAll, true),
        exhibit("exclusive scan", ExclusiveScan::new(p, n), Exclusive, true),
    ]
}

/// The map `x ↦ mx + c` modulo a prime. Composing is associative, and wrong as soon as two swap.
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

/// Numbers that look random and are the same in every run (the generator is SplitMix64).
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
type Buffers = [Vec<Affine>; 3];

fn places(region: Region) -> Vec<usize> {
    region.runs().flatten().collect()
}

/// Runs a schedule on numbers, step by step; nothing if somebody would wait for ever.
fn execute(schedule: &dyn Schedule, buffers: &mut [Buffers], op: Operator) -> Option<()> {
    for s in 0..schedule.steps() {
        let steps: Vec<Step> = (0..buffers.len())
            .map(|rank| schedule.step(rank, s))
            .collect();
        let mut wire = HashMap::new();
        for (rank, step) in steps.iter().enumerate() {
            if let Some(LocalCopy { from, to }) = step.local {
                let values: Vec<_> = places(from)
                    .iter()
                    .map(|&i| buffers[rank][from.buffer as usize][i])
                    .collect();
                for (i, value) in places(to).into_iter().zip(values) {
                    buffers[rank][to.buffer as usize][i] = value;
                }
            }
            if let Some(send) = step.send {
                let from = &buffers[rank][send.region.buffer as usize];
                let values: Vec<_> = places(send.region).iter().map(|&i| from[i]).collect();
                wire.insert((rank, send.peer), values);
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
                into[i] = match step.combine {
                    Combine::Replace => value,
                    Combine::FoldRight => op(into[i], value),
                    Combine::FoldLeft => op(value, into[i]),
                };
            }
        }
        if !wire.is_empty() {
            return None;
        }
    }
    Some(())
}

/// Whether a schedule does to numbers what it should. What is not given at first is rubbish.
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
            Meaning::ReduceScatter => own.clone().all(|i| out[i] == fold(0..p, i)),
            Meaning::Scatter(root) => own.clone().all(|i| out[i] == input(root, i)),
            Meaning::AllToAll => (0..p * own.len())
                .all(|x| out[x] == input(x / own.len(), own.start + x % own.len())),
        }
    })
}

fn start(schedule: &dyn Schedule, meaning: Meaning, n: usize, rank: usize) -> Buffers {
    let (p, lengths) = (schedule.ranks(), schedule.lengths(rank));
    let rubbish = |length: usize| {
        (0..length)
            .map(|i| number(1000 + rank, i))
            .collect::<Vec<_>>()
    };
    let mut buffers = [lengths.input, lengths.output, lengths.scratch].map(rubbish);
    let (buffer, run) = match meaning {
        Meaning::Barrier => (1, 0..0),
        Meaning::AllToAll => (0, 0..n),
        Meaning::AllGather | Meaning::Gather(_) => (1, span::block(n, p, rank)),
        Meaning::Broadcast(root) | Meaning::Scatter(root) if root != rank => (1, 0..0),
        _ => (1, 0..n),
    };
    run.for_each(|i| buffers[buffer][i] = number(rank, i));
    buffers
}

/// The least `L` with `2^L ≥ n`.
pub fn ceil_log2(n: usize) -> usize {
    n.next_power_of_two().ilog2() as usize
}
