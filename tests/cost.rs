//! The closed forms equal the checker's counts: every family and algorithm, every number of ranks.

mod common;
mod zoo;

use std::collections::BTreeSet;

use rankfold::check::{Certificate, Goal, Traffic, check};
use rankfold::collective::{
    Algorithm, BinomialGather, Bisection, BruckAllGather, BruckAllToAll, Call, Collective,
    ExclusiveScan, Halving, Pairwise, RingReduceScatter, halving_all_reduce,
    halving_reduce_scatter, hybrid_all_reduce, simple_exchange,
};
use rankfold::cost::{self, Cost, Form, Load, TreeUse};
use rankfold::schedule::{FoldAlong, HandOut, Schedule};
use rankfold::span::Blocks;
use rankfold::topology::{Circle, CubeTo, OwnSteps, Shift, Topology};

/// A schedule, its goal, and its closed form.
struct Case {
    name: String,
    schedule: Box<dyn Schedule>,
    goal: Goal,
    form: Form,
}

fn case(
    name: impl Into<String>,
    schedule: impl Schedule + 'static,
    goal: Goal,
    form: Form,
) -> Case {
    Case {
        name: name.into(),
        schedule: Box::new(schedule),
        goal,
        form,
    }
}

/// A tree used in all three ways.
fn three_ways(
    name: &str,
    reduce: impl Schedule + Clone + 'static,
    broadcast: impl Schedule + Clone + 'static,
    (root, n): (usize, usize),
    form: impl Fn(TreeUse) -> Form,
) -> Vec<Case> {
    let both = reduce.clone().then(broadcast.clone());
    let down = Goal::broadcast(root, n);
    vec![
        case(
            format!("{name} down"),
            broadcast,
            down,
            form(TreeUse::Broadcast),
        ),
        case(
            format!("{name} up"),
            reduce,
            Goal::reduce(root, n),
            form(TreeUse::Reduce),
        ),
        case(
            format!("{name} both"),
            both,
            Goal::all_reduce(n),
            form(TreeUse::AllReduce),
        ),
    ]
}

fn whole(tree: Topology, n: usize) -> Vec<Case> {
    let reduce = FoldAlong::new(tree.single_port(), n);
    let broadcast = reduce.clone().reversed();
    let form = |way| cost::whole(&tree, n, way);
    three_ways(&tree.name(), reduce, broadcast, (tree.root(), n), form)
}

/// Returns the trees that a pipeline runs along, with their periods.
fn pipelines(p: usize) -> [(Topology, usize); 4] {
    [
        (Topology::chain(p), 1),
        (Topology::decreasing_ring(p), 1),
        (Topology::in_order(p), 2),
        (Topology::fibonacci(p), 2),
    ]
}

fn segmented(p: usize, n: usize, k: usize) -> Vec<Case> {
    let cases = pipelines(p).map(|(tree, period)| {
        let reduce = FoldAlong::new(OwnSteps::new(tree.clone()), n);
        let broadcast = reduce.clone().reversed().pipelined(k, period);
        let form = |way| cost::in_segments(&tree, period, n, k, way);
        let name = format!("{} in {k}", tree.name());
        three_ways(&name, reduce.pipelined(k, period), broadcast, (0, n), form)
    });
    cases.into_iter().flatten().collect()
}

fn cubes(p: usize, n: usize) -> Vec<Case> {
    let far = Halving::new(p.ilog2(), n, Bisection::Far)
        .for_blocks_of(p)
        .proxied(p, HandOut::Block);
    let (all, part, gather) = (
        Goal::all_reduce(n),
        Goal::reduce_scatter(n),
        Goal::all_gather(n),
    );
    let near = halving_reduce_scatter(p, n);
    let near_form = cost::halving_reduce_scatter(p, n);
    let far_form = cost::far_halving_reduce_scatter(p, n);
    let mut cases = vec![
        case(
            "simple exchange",
            simple_exchange(p, n),
            all,
            cost::simple_exchange(p, n),
        ),
        case(
            "halving",
            halving_all_reduce(p, n),
            all,
            cost::halving_all_reduce(p, n),
        ),
        case("near", near.clone(), part, near_form.clone()),
        case("near back", near.reversed(), gather, near_form.reversed()),
        case("far", far.clone(), part, far_form.clone()),
        case("far back", far.reversed(), gather, far_form.reversed()),
    ];
    for s in 0..=p.ilog2() {
        let form = cost::hybrid_all_reduce(p, n, s);
        cases.push(case(
            format!("hybrid {s}"),
            hybrid_all_reduce(p, n, s),
            all,
            form,
        ));
    }
    cases
}

fn blocks(p: usize, n: usize) -> Vec<Case> {
    let ring = RingReduceScatter::new(p, n);
    let ring_form = cost::ring_reduce_scatter(p, n);
    let gather = BinomialGather::new(p, n);
    let gather_form = cost::binomial_gather(p, n);
    let scatter = gather.clone().reversed();
    let root = p / 3;
    vec![
        case(
            "ring",
            ring.clone(),
            Goal::reduce_scatter(n),
            ring_form.clone(),
        ),
        case(
            "ring back",
            ring.clone().reversed(),
            Goal::all_gather(n),
            ring_form.clone().reversed(),
        ),
        case(
            "ring twice",
            ring.clone().then(ring.clone().reversed()),
            Goal::all_reduce(n),
            cost::ring_all_reduce(p, n),
        ),
        case("gather", gather, Goal::gather(0, n), gather_form.clone()),
        case(
            "scatter",
            scatter.clone(),
            Goal::scatter(0, n),
            gather_form.clone().reversed(),
        ),
        case(
            "scatter, ring",
            scatter.clone().then(ring.clone().reversed()),
            Goal::broadcast(0, n),
            gather_form.reversed().then(ring_form.reversed()),
        ),
        case(
            "bruck",
            BruckAllGather::new(p, n),
            Goal::all_gather(n),
            cost::bruck_all_gather(p, n),
        ),
        case(
            "pairwise",
            Pairwise::all_to_all(Blocks::even(n, p)),
            Goal::all_to_all(n),
            cost::pairwise_all_to_all(p, n),
        ),
        case(
            "bruck, all-to-all",
            BruckAllToAll::new(p, n),
            Goal::all_to_all(n),
            cost::bruck_all_to_all(p, n),
        ),
        case(
            "hypercube",
            FoldAlong::new(CubeTo::new(p, root), n).reversed(),
            Goal::broadcast(root, n),
            cost::hypercube_broadcast(p, n, root),
        ),
        case(
            "scan",
            FoldAlong::new(Shift::new(p), n),
            Goal::scan(n),
            cost::inclusive_scan(p, n),
        ),
        case(
            "exclusive scan",
            ExclusiveScan::new(p, n),
            Goal::exclusive_scan(n),
            cost::exclusive_scan(p, n),
        ),
        case(
            "barrier",
            FoldAlong::new(Circle::new(p), 0),
            Goal::barrier(),
            cost::dissemination(p),
        ),
        case(
            "turned",
            FoldAlong::new(Topology::chain(p).single_port(), n).rooted(root),
            Goal::reduce(root, n),
            cost::whole(&Topology::chain(p), n, TreeUse::Reduce).rooted(root),
        ),
    ]
}

/// Scatter and all-gather, by far halving backwards for powers of two.
fn long_broadcast(p: usize, n: usize) -> Option<Case> {
    let doubling = Halving::new(p.checked_ilog2()?, n, Bisection::Far).reversed();
    let scatter = BinomialGather::new(p, n).reversed();
    let form = cost::scatter_all_gather(p, n);
    p.is_power_of_two().then(|| {
        case(
            "long broadcast",
            scatter.then(doubling),
            Goal::broadcast(0, n),
            form,
        )
    })
}

fn everything(p: usize, n: usize) -> Vec<Case> {
    let trees = common::families(p)
        .into_iter()
        .flat_map(|tree| whole(tree, n));
    let mut all: Vec<_> = trees.collect();
    all.extend(whole(Topology::k_tree(p, 2).rooted(p / 2), n));
    all.extend(segmented(p, n, 3));
    all.extend(cubes(p, n));
    all.extend(blocks(p, n));
    all.extend(long_broadcast(p, n));
    all
}

fn counted(traffic: &Traffic) -> Load {
    Load {
        messages_out: traffic.messages_out,
        elements_out: traffic.elements_out,
        messages_in: traffic.messages_in,
        elements_in: traffic.elements_in,
        folded: traffic.folded,
    }
}

fn proved(case: &Case) -> Certificate {
    check(&case.schedule, &case.goal).unwrap_or_else(|fault| panic!("{}: {fault}", case.name))
}

/// Compares steps, steps with messages, and every rank's load.
#[track_caller]
fn agrees(case: &Case, p: usize, n: usize) {
    let (proof, form) = (proved(case), &case.form);
    let name = &case.name;
    assert_eq!(
        (form.ranks(), form.cost().steps, form.cost().messages),
        (p, proof.steps, proof.message_steps),
        "{name} of {p} ranks, {n} elements"
    );
    for (rank, traffic) in proof.traffic.iter().enumerate() {
        let at = format!("{name}, rank {rank} of {p}, {n} elements");
        assert_eq!(form.load(rank), counted(traffic), "{at}");
    }
}

/// Returns every number of ranks, or some at a smaller scale.
fn worlds() -> impl Iterator<Item = usize> {
    (1..=130).step_by(common::stride())
}

/// Returns whether to try a case on `p` ranks: where the checker is slow, the large worlds are distributed over the
/// cases.
fn is_tried(case: usize, p: usize) -> bool {
    let every = if cfg!(debug_assertions) && p > 40 {
        10
    } else {
        1
    };
    (case + p).is_multiple_of(every)
}

#[test]
fn every_form_counts_what_the_checker_counts_for_every_number_of_ranks() {
    for p in worlds() {
        // A length that the number of ranks does not divide; for most worlds it is less than the number of ranks.
        let n = if p.is_multiple_of(2) { 37 } else { p + 3 };
        let tried = everything(p, n).into_iter().enumerate();
        tried
            .filter(|&(i, _)| is_tried(i, p))
            .for_each(|(_, case)| agrees(&case, p, n));
    }
}

#[test]
fn every_form_counts_what_the_checker_counts_for_odd_lengths() {
    for p in (1..=17).chain([31, 32, 33]) {
        for n in [0, 1, 2, p - 1, p, p + 1, 100] {
            everything(p, n).iter().for_each(|case| agrees(case, p, n));
        }
    }
}

/// Returns every call of a number of ranks and elements, with even blocks and root 0.
fn calls(p: usize, n: usize) -> Vec<Call> {
    let calls = Collective::all().flat_map(|collective| {
        let call = Call::new(collective, p, n);
        let folds = collective.folds().then(|| call.clone().commuting());
        let is_all_reduce = collective == Collective::AllReduce;
        let into = is_all_reduce.then(|| call.clone().from_input());
        [Some(call), folds, into].into_iter().flatten()
    });
    calls.collect()
}

#[test]
fn the_closed_form_of_an_algorithm_by_name_counts_what_the_checker_counts() {
    let mut formed = BTreeSet::new();
    for p in (1..=17).chain([31, 32, 33]) {
        for n in [0, 1, p - 1, 3 * p, 3 * p + 2] {
            for call in calls(p, n) {
                let tried = Algorithm::all(call.collective).filter_map(|algorithm| {
                    Some((algorithm, cost::closed_form(algorithm, &call)?))
                });
                for (algorithm, form) in tried {
                    counts_the_same(algorithm, &call, &form);
                    formed.insert((call.collective.name(), algorithm.to_string()));
                }
            }
        }
    }
    assert!(formed.len() > 45, "{}: {formed:?}", formed.len());
}

fn counts_the_same(algorithm: Algorithm, call: &Call, form: &Form) {
    let schedule = algorithm.schedule(call).unwrap();
    let goal = common::goal(call);
    let proof = check(&schedule, &goal).unwrap_or_else(|fault| panic!("{algorithm}: {fault}"));
    let messages = form.cost().messages;
    let passes = if call.collective == Collective::AllReduce {
        2
    } else {
        1
    };
    let less = match algorithm {
        Algorithm::TwoTree { .. } => messages.saturating_sub(passes),
        _ => messages,
    };
    let at = format!("{algorithm} for {call:?}");
    let counted_messages = proof.message_steps;
    assert!(
        (less..=messages).contains(&counted_messages),
        "{at}: {messages}, not {counted_messages}"
    );
    for (rank, traffic) in proof.traffic.iter().enumerate() {
        assert_eq!(form.load(rank), counted(traffic), "{at}, rank {rank}");
    }
}

#[test]
fn calls_without_a_closed_form_are_told_apart() {
    let call = Call::new(Collective::Reduce, 6, 10).commuting();
    let form = |name: &str, call: &Call| cost::closed_form(name.parse().unwrap(), call);
    assert!(form("binomial", &call).is_some());
    assert!(form("binomial", &call.clone().to_root(2)).is_none());
    for refused in [
        "hypercube",
        "direct",
        "cells",
        "circulant:segments=2",
        "ring",
    ] {
        assert!(form(refused, &call).is_none(), "{refused}");
    }
}

#[test]
fn pipelines_count_what_the_checker_counts_for_every_number_of_segments() {
    for p in (1..=10).chain([16, 21, 33]) {
        for n in [0, 1, 7, 24] {
            for k in [0, 1, 2, 4, 5, 7, 24, 99] {
                segmented(p, n, k)
                    .iter()
                    .for_each(|case| agrees(case, p, n));
            }
        }
    }
}

/// Returns the steps with messages, and the sums of the largest message and the largest fold of every step.
fn longest_way(schedule: &dyn Schedule, steps: Cost) -> Cost {
    let (mut moved, mut folded) = (0, 0);
    for s in 0..schedule.steps() {
        let all = (0..schedule.ranks()).map(|rank| schedule.step(rank, s));
        let received = all.filter_map(|step| {
            let elements = step.recv?.region.elements();
            let folds = step.combine != rankfold::schedule::Combine::Replace;
            Some((elements, if folds { elements } else { 0 }))
        });
        let (most, most_folded) = received.fold((0, 0), |a, b| (a.0.max(b.0), a.1.max(b.1)));
        (moved, folded) = (moved + most, folded + most_folded);
    }
    Cost {
        moved: moved as f64,
        folded: folded as f64,
        ..steps
    }
}

#[test]
fn the_longest_way_is_the_largest_message_of_every_step_where_blocks_are_equal() {
    for p in (1..=20usize).chain([31, 32, 33, 64]) {
        // A multiple of the ranks, of the ranks of the cube, and of the segments.
        let n = (3 * p) << p.ilog2();
        for case in everything(p, n) {
            let (want, got) = (
                longest_way(&case.schedule, case.form.cost()),
                case.form.cost(),
            );
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.max(1.0);
            assert!(
                near(want.moved, got.moved) && near(want.folded, got.folded),
                "{} of {p} ranks: {got:?}, but {want:?}",
                case.name
            );
        }
    }
}

#[test]
fn elements_sent_are_elements_received() {
    for p in 1..=70 {
        for n in [1, 37, 256] {
            let mut forms: Vec<_> = everything(p, n).into_iter().map(|case| case.form).collect();
            forms.extend(unproved(p, n));
            for form in forms {
                let loads = (0..p).map(|rank| form.load(rank));
                let all = loads.fold(Load::default(), |sum, load| sum + load);
                assert_eq!(all.messages_out, all.messages_in, "{form:?}");
                assert_eq!(all.elements_out, all.elements_in, "{form:?}");
            }
        }
    }
}

/// Forms of which only the sums are tested here.
fn unproved(p: usize, n: usize) -> Vec<Form> {
    let mut forms = vec![
        cost::two_tree(p, n, 5, TreeUse::AllReduce),
        cost::two_tree(p, n, 4, TreeUse::Broadcast),
        cost::bruck_all_to_all(p, n),
        cost::hypercube_broadcast(p, n, p / 2),
        cost::scatter_all_gather(p, n),
    ];
    forms.extend(cost::esbt(p, n, 5, TreeUse::AllReduce).ok());
    forms
}

#[test]
fn the_steps_of_trees_are_those_of_the_literature() {
    for p in 2..=130usize {
        let steps = |tree: Topology| cost::whole(&tree, 9, TreeUse::Broadcast).cost().steps;
        assert_eq!(steps(Topology::chain(p)), p - 1);
        assert_eq!(steps(Topology::decreasing_ring(p)), p - 1);
        assert_eq!(steps(Topology::split_ring(p)), p.div_ceil(2));
        assert_eq!(steps(Topology::flat(p)), p - 1);
        assert_eq!(steps(Topology::flat_serial(p)), p - 1);
        assert_eq!(steps(Topology::binomial(p)), zoo::ceil_log2(p));
        for k in 1..p {
            let rows = (p - 1).div_ceil(k) + k - 1;
            let uneven = !(p - 1).is_multiple_of(k);
            assert_eq!(steps(Topology::k_ring(p, k)), rows - usize::from(uneven));
            let (mut u, mut power) = (0, 1);
            while power < p {
                (u, power) = (u + 1, power * (k + 1));
            }
            let tree = k * (u - 1) + p.div_ceil(power / (k + 1)) - 1;
            assert_eq!(steps(Topology::k_tree(p, k)), tree, "{k}-tree of {p}");
        }
    }
}

#[test]
fn the_published_table_of_steps_is_right() {
    let pipeline = |p, k| {
        let [chain, _, in_order, fibonacci] = pipelines(p);
        [chain, in_order, fibonacci].map(|(tree, period)| {
            cost::in_segments(&tree, period, 99, k, TreeUse::Broadcast)
                .cost()
                .steps
        })
    };
    assert_eq!([pipeline(8, 1), pipeline(8, 4)], [[7, 5, 4], [10, 11, 10]]);
    assert_eq!(
        [pipeline(13, 1), pipeline(13, 4)],
        [[12, 6, 5], [15, 12, 11]]
    );
    // This is the bound; on thirteen ranks the schedule takes one step less.
    let two_tree = |p, k| cost::two_tree(p, 99, k, TreeUse::Broadcast).cost().steps;
    assert_eq!([two_tree(8, 1), two_tree(8, 4)], [5, 8]);
    assert_eq!([two_tree(13, 1), two_tree(13, 4)], [6 + 1, 9 + 1]);
    let esbt = |p, k| cost::esbt(p, 99, k, TreeUse::Broadcast).map(|form| form.cost().steps);
    assert_eq!(
        [esbt(8, 1), esbt(8, 4), esbt(2, 4), esbt(1, 4)],
        [Ok(4), Ok(7), Ok(4), Ok(0)]
    );
    assert_eq!(esbt(13, 1), Err(cost::NotAPowerOfTwo { ranks: 13 }));
    let whole = |p| {
        [Topology::binomial(p), Topology::k_tree(p, 2)]
            .map(|tree| cost::whole(&tree, 99, TreeUse::Broadcast).cost().steps)
    };
    assert_eq!([whole(8), whole(13)], [[3, 4], [4, 5]]);
    let all_reduce = |p| {
        [
            cost::simple_exchange,
            cost::halving_all_reduce,
            cost::ring_all_reduce,
        ]
        .map(|form| form(p, 99).cost().steps)
    };
    assert_eq!([all_reduce(8), all_reduce(13)], [[3, 6, 14], [5, 8, 24]]);
}

/// Returns how many of the messages, pairs of sender and receiver, every rank sends.
fn sends_of(messages: &[(usize, usize)], ranks: usize) -> Vec<usize> {
    let sent = |rank| messages.iter().filter(|&&(from, _)| from == rank).count();
    (0..ranks).map(sent).collect()
}

#[test]
fn two_tree_loads_are_those_of_the_published_trees() {
    // Ranks 1..7 and their parents in the first and the second tree.
    let trees = [[2, 4, 2, 0, 6, 4, 6], [3, 1, 0, 5, 3, 5, 1]];
    let edges = |tree: usize| (1..8).map(move |rank| (trees[tree][rank - 1], rank));
    for k in [1, 2, 4, 5] {
        let form = cost::two_tree(8, 8 * k, k, TreeUse::Broadcast);
        let all: Vec<_> = (0..k).flat_map(|packet| edges(packet % 2)).collect();
        for (rank, sent) in sends_of(&all, 8).into_iter().enumerate() {
            let load = form.load(rank);
            assert_eq!(
                (load.messages_out, load.elements_out),
                (sent, 8 * sent),
                "{rank} {k}"
            );
        }
    }
}

/// Returns every message of an edge-disjoint broadcast, packet by packet as defined.
fn esbt_messages(d: usize, packet: usize) -> Vec<(usize, usize)> {
    let mut holders = vec![1 << (packet % d)];
    let mut messages = vec![(0, holders[0])];
    for t in packet + 1..packet + d {
        let forward: Vec<_> = holders
            .iter()
            .map(|&rank| (rank, rank ^ 1 << (t % d)))
            .collect();
        holders.extend(forward.iter().map(|&(_, to)| to));
        messages.extend(forward);
    }
    let last = holders.iter().map(|&rank| (rank, rank ^ 1 << (packet % d)));
    messages.extend(last.filter(|&(_, to)| to != 0));
    messages
}

#[test]
fn esbt_loads_are_those_of_the_definition() {
    let packet_one = [(0, 2), (2, 6), (2, 3), (6, 7), (3, 1), (6, 4), (7, 5)];
    let mut example = esbt_messages(3, 1);
    example.sort_unstable();
    assert_eq!(example, {
        let mut all = packet_one;
        all.sort_unstable();
        all
    });
    for d in 1..=6 {
        for k in [1, 2, 5, 7] {
            let form = cost::esbt(1 << d, 4 * k, k, TreeUse::Broadcast).unwrap();
            let all: Vec<_> = (0..k).flat_map(|packet| esbt_messages(d, packet)).collect();
            for (rank, sent) in sends_of(&all, 1 << d).into_iter().enumerate() {
                let load = form.load(rank);
                assert_eq!((load.messages_out, load.elements_out), (sent, 4 * sent));
                let received = if rank == 0 { 0 } else { k };
                assert_eq!(
                    (load.messages_in, load.elements_in),
                    (received, 4 * received)
                );
            }
        }
    }
}

#[test]
fn a_hypercube_broadcast_loads_as_its_messages_say() {
    for p in 1..=70usize {
        for source in [0, 1, p / 2, p - 1].into_iter().filter(|&s| s < p) {
            let d = zoo::ceil_log2(p);
            let turned = |rank: usize, by: usize| {
                if p.is_power_of_two() {
                    rank ^ source
                } else {
                    (rank + by) % p
                }
            };
            let id = |rank| turned(rank, p - source);
            let back = |v| turned(v, source);
            let mut all = Vec::new();
            for i in (0..d).rev() {
                let part = (0..p).filter(|&rank| id(rank) % (2 << i) == 0);
                let to = part
                    .map(|rank| (rank, id(rank) | 1 << i))
                    .filter(|&(_, v)| v < p);
                all.extend(to.map(|(rank, v)| (rank, back(v))));
            }
            let form = cost::hypercube_broadcast(p, 11, source);
            assert_eq!(form.cost().steps, d);
            for (rank, sent) in sends_of(&all, p).into_iter().enumerate() {
                let received = usize::from(rank != source);
                assert_eq!(
                    form.load(rank),
                    Load {
                        messages_out: sent,
                        elements_out: 11 * sent,
                        messages_in: received,
                        elements_in: 11 * received,
                        folded: 0,
                    }
                );
            }
        }
    }
}

#[test]
fn no_all_reduce_goes_below_the_bounds() {
    for p in 1..=130usize {
        let n = 60 * p;
        let bound = cost::all_reduce_bound(p, n);
        let mut forms = vec![
            cost::ring_all_reduce(p, n),
            cost::two_tree(p, n, 8, TreeUse::AllReduce),
        ];
        forms.extend((0..=p.ilog2()).map(|s| cost::hybrid_all_reduce(p, n, s)));
        forms.extend(
            common::families(p)
                .iter()
                .map(|tree| cost::whole(tree, n, TreeUse::AllReduce)),
        );
        for form in forms {
            let cost = form.cost();
            let slack = 1.0 + 1e-12;
            assert!(cost.messages >= bound.messages, "{form:?}");
            assert!(cost.moved * slack >= bound.moved, "{form:?} {bound:?}");
            assert!(cost.folded * slack >= bound.folded, "{form:?} {bound:?}");
        }
    }
}
