//! Broadcasts in packets, and the reductions as their reversals: their laws, the published tables, the least number of
//! steps, and the proof of the schedules.

#[path = "packets/laws.rs"]
mod laws;

use laws::lawful;
use proptest::prelude::*;
use rankfold::check::{Certificate, Goal, check};
use rankfold::collective::{Algorithm, Call, Collective, PacketReduce};
use rankfold::cost::{self, Form, TreeUse};
use rankfold::schedule::Schedule;
use rankfold::topology::{Circulant, Esbt, Packets, TwoTrees};

const MOST: usize = 130;

/// The numbers of ranks: all up to 130, fewer without optimisation.
fn worlds() -> impl Iterator<Item = usize> {
    let some = [32, 33, 64, 100, MOST];
    let all = !cfg!(debug_assertions);
    (1..=MOST).filter(move |p| all || *p <= 24 || some.contains(p))
}

fn ceil_log2(n: usize) -> usize {
    n.next_power_of_two().ilog2() as usize
}

/// The number of ranks where only the trees are examined.
const MANY: usize = if cfg!(debug_assertions) { 520 } else { 2100 };

const COUNTS: [usize; 9] = [1, 2, 3, 4, 5, 6, 7, 17, 40];

#[test]
fn every_packet_reaches_every_rank_once_down_two_trees() {
    for p in worlds() {
        for k in COUNTS {
            lawful(&TwoTrees::new(p), k, "two trees");
            lawful(&TwoTrees::in_rank_order(p), k, "two trees in order");
        }
    }
}

#[test]
fn every_packet_reaches_every_rank_once_along_the_trees_of_a_hypercube() {
    for d in 0..=7 {
        for k in COUNTS {
            for root in [0, 1, (1 << d) - 1] {
                lawful(&Esbt::new(d).rooted(root % (1 << d)), k, "esbt");
            }
        }
    }
}

#[test]
fn every_packet_reaches_every_rank_once_round_a_circulant_graph() {
    for p in worlds() {
        for k in COUNTS {
            lawful(&Circulant::new(p), k, "circulant");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 4 } else { 400 }))]

    #[test]
    fn the_laws_hold_for_larger_worlds(p in 131usize..2000, k in 1usize..30) {
        lawful(&Circulant::new(p), k, "circulant");
        lawful(&TwoTrees::new(p), k, "two trees");
        lawful(&TwoTrees::in_rank_order(p), k, "two trees in order");
    }
}

#[test]
fn no_schedule_has_fewer_steps_than_the_circulant_graph() {
    for p in worlds().filter(|&p| p > 1) {
        for k in COUNTS {
            assert_eq!(Circulant::new(p).steps(k), ceil_log2(p) + k - 1);
            assert_eq!(
                TwoTrees::new(p).steps(k).max(ceil_log2(p) + k - 1),
                TwoTrees::new(p).steps(k)
            );
        }
    }
    assert_eq!(Circulant::new(1).steps(7), 0);
    assert_eq!(TwoTrees::new(1).steps(7), 0);
}

#[test]
fn two_trees_need_their_steps_or_one_less_and_in_order_one_more_for_powers_of_two() {
    for p in 2..=MANY {
        let (trees, ordered) = (TwoTrees::new(p), TwoTrees::in_rank_order(p));
        for k in COUNTS {
            let bound = 2 * ceil_log2(p) + k - 2;
            let steps = trees.steps(k);
            assert!(
                steps == bound || steps + 1 == bound,
                "{p} {k}: {steps} of {bound}"
            );
            let most = bound + usize::from(p.is_power_of_two());
            let steps = ordered.steps(k);
            assert!(
                steps <= most && steps + 1 >= bound,
                "{p} {k}: {steps} of {bound}"
            );
        }
    }
}

#[test]
fn the_published_table_of_steps_is_right() {
    let two_trees = |p, k| TwoTrees::new(p).steps(k);
    assert_eq!(
        [8, 13].map(|p| [1, 4].map(|k| two_trees(p, k))),
        [[5, 8], [6, 9]]
    );
    assert_eq!([1, 4].map(|k| Esbt::new(3).steps(k)), [4, 7]);
    for (d, k) in (2..=7).flat_map(|d| COUNTS.map(|k| (d, k))) {
        assert_eq!(Esbt::new(d as u32).steps(k), k + d);
        assert_eq!(Esbt::new(1).steps(k), k);
        assert_eq!(Esbt::new(0).steps(k), 0);
    }
}

#[test]
fn the_published_trees_on_eight_ranks_have_their_parents_and_colours() {
    let trees = TwoTrees::new(8);
    let parents = |tree| (1..8).map(|v| trees.parent(tree, v)).collect::<Vec<_>>();
    assert_eq!(parents(0), [2, 4, 2, 0, 6, 4, 6]);
    assert_eq!(parents(1), [3, 1, 0, 5, 3, 5, 1]);
    let colours = |tree| {
        (1..8)
            .map(|v| trees.first_step(tree, v) % 2)
            .collect::<Vec<_>>()
    };
    assert_eq!(colours(0), [1, 0, 0, 0, 0, 1, 1]);
    assert_eq!(colours(1), [0, 1, 1, 1, 1, 0, 0]);
}

/// Returns each rank's children in both trees, after checking the edges to the parents.
fn children(trees: &TwoTrees) -> Vec<[Vec<usize>; 2]> {
    let p = trees.ranks();
    let mut children = vec![[vec![], vec![]]; p];
    for v in 1..p {
        (0..2).for_each(|tree| children[trees.parent(tree, v)][tree].push(v));
        assert_ne!(
            trees.first_step(0, v) % 2,
            trees.first_step(1, v) % 2,
            "{p}: parents of {v}"
        );
        for tree in 0..2 {
            let above = trees.parent(tree, v);
            assert!(above == 0 || trees.first_step(tree, above) < trees.first_step(tree, v));
        }
    }
    children
}

/// Checks that no rank is an inner node twice, that no rank has more than two children, and that edges that meet at a
/// port have two colours.
fn has_no_conflict(trees: &TwoTrees) {
    let p = trees.ranks();
    let children = children(trees);
    for (rank, below) in children.iter().enumerate().skip(1) {
        assert!(
            below[0].is_empty() || below[1].is_empty(),
            "{p}: {rank} is inner twice"
        );
        for (tree, below) in below.iter().enumerate() {
            let mut colours: Vec<_> = below
                .iter()
                .map(|&v| trees.first_step(tree, v) % 2)
                .collect();
            colours.sort_unstable();
            assert!(
                below.len() < 2 || colours == [0, 1],
                "{p}: children of {rank}"
            );
        }
    }
    assert!(
        p == 1 || children[0].iter().all(|below| below.len() == 1),
        "{p}: the tops"
    );
    assert!(
        p == 1 || trees.first_step(0, children[0][0][0]) == 0,
        "{p}: the first top's colour"
    );
}

#[test]
fn edges_of_two_trees_that_meet_at_a_port_have_two_colours() {
    for p in 1..=MANY {
        has_no_conflict(&TwoTrees::new(p));
        has_no_conflict(&TwoTrees::in_rank_order(p));
    }
}

#[test]
fn the_published_steps_on_a_cube_are_right() {
    let table = [
        [vec![(0, 1)], vec![]],
        [vec![(1, 3)], vec![(0, 2)]],
        [vec![(1, 5), (3, 7)], vec![(2, 6)]],
        [vec![(3, 2), (5, 4), (7, 6)], vec![(2, 3), (6, 7)]],
        [vec![], vec![(3, 1), (6, 4), (7, 5)]],
    ];
    let trees = Esbt::new(3);
    for (step, want) in table.iter().enumerate() {
        for (packet, want) in want.iter().enumerate() {
            let sends = (0..8).filter_map(|rank| {
                let hop = trees.departure(2, rank, step)?;
                (hop.packet == packet).then_some((rank, hop.peer))
            });
            assert_eq!(
                &sends.collect::<Vec<_>>(),
                want,
                "packet {packet}, step {step}"
            );
        }
    }
}

/// Returns the messages by the definition, packet by packet with the set of ranks that have it.
fn esbt_by_definition(d: usize, k: usize) -> Vec<(usize, usize, usize, usize)> {
    let mut all = Vec::new();
    for packet in 0..k {
        let mut have = vec![1 << (packet % d)];
        all.push((packet, 0, have[0], packet));
        for step in packet + 1..packet + d {
            let new: Vec<_> = have.iter().map(|rank| rank ^ 1 << (step % d)).collect();
            all.extend(
                have.iter()
                    .zip(&new)
                    .map(|(&from, &to)| (step, from, to, packet)),
            );
            have.extend(new);
        }
        let across = |from| (packet + d, from, from ^ 1 << (packet % d), packet);
        all.extend(
            have.into_iter()
                .map(across)
                .filter(|&(_, _, to, _)| to != 0),
        );
    }
    all.sort_unstable();
    all
}

#[test]
fn trees_of_a_hypercube_are_those_of_the_definition() {
    for d in 1..=7 {
        for k in COUNTS {
            let trees = Esbt::new(d as u32);
            let mut found = Vec::new();
            for (step, rank) in (0..k + d).flat_map(|s| (0..1 << d).map(move |rank| (s, rank))) {
                let hop = trees.departure(k, rank, step);
                found.extend(hop.map(|hop| (step, rank, hop.peer, hop.packet)));
            }
            assert_eq!(found, esbt_by_definition(d, k), "{d} {k}");
        }
    }
}

#[test]
fn enormous_graphs_are_only_arithmetic() {
    for p in [usize::MAX, usize::MAX / 2 + 2, 1 << 62] {
        let graph = Circulant::new(p);
        let hop = graph
            .arrival(100, p - 1, 120)
            .expect("the pipeline is full");
        assert_eq!(graph.departure(100, hop.peer, 120).unwrap().peer, p - 1);
    }
    let (graph, last) = (Circulant::new(5), usize::MAX);
    assert_eq!(graph.arrival(3, 1, last), graph.departure(3, 1, last));
    let trees = Esbt::new(40);
    let hop = trees.arrival(100, 12345, 77).unwrap();
    assert_eq!(
        trees.departure(100, hop.peer, 77).unwrap().packet,
        hop.packet
    );
}

// ── schedules ──

fn prove(schedule: &dyn Schedule, goal: Goal, name: &str) -> Certificate {
    check(schedule, &goal).unwrap_or_else(|fault| panic!("{name} {}: {fault}", schedule.ranks()))
}

/// Proves the reduction, the broadcast and the all-reduce; returns whether the first keeps the order.
fn proved<P: Packets + Clone>(broadcast: P, n: usize, k: usize, name: &str) -> bool {
    let root = broadcast.root();
    let steps = broadcast.steps(k.clamp(1, n.max(1)));
    let reduce = PacketReduce::new(broadcast, n, k);
    let back = reduce.clone().reversed();
    let reduced = prove(&reduce, Goal::reduce(root, n), name);
    let spread = prove(&back, Goal::broadcast(root, n), name);
    prove(&reduce.clone().then(back), Goal::all_reduce(n), name);
    assert_eq!((reduced.steps, spread.steps), (steps, steps));
    assert_eq!(
        reduced.messages(),
        (reduce.ranks() - 1) * reduce.packets(),
        "{name}"
    );
    assert_eq!(reduced.elements(), (reduce.ranks() - 1) * n, "{name}");
    reduced.ordered
}

#[test]
fn reductions_in_packets_are_proved_and_in_rank_order_where_they_say_so() {
    for p in worlds() {
        for (n, k) in [(0, 3), (1, 4), (40, 1), (40, 2), (40, 17), (5, 100)] {
            assert!(proved(
                TwoTrees::in_rank_order(p),
                n,
                k,
                "two trees in order"
            ));
            let ordered = proved(TwoTrees::new(p), n, k, "two trees");
            assert!(ordered || p % 2 == 0, "mirrored trees are in order: {p}");
            proved(Circulant::new(p), n, k, "circulant");
            if let Some(trees) = Esbt::on(p) {
                proved(trees.rooted(p / 3), n, k, "esbt");
            }
        }
    }
}

#[test]
fn those_that_do_not_promise_rank_order_do_not_keep_it() {
    for p in worlds().filter(|&p| p >= 6) {
        assert!(!proved(Circulant::new(p), 40, 7, "circulant"), "{p}");
        assert_eq!(
            proved(TwoTrees::new(p), 40, 7, "two trees"),
            p % 2 == 1,
            "{p}"
        );
        let esbt = Esbt::on(p).map(|trees| proved(trees, 40, 7, "esbt"));
        assert_ne!(esbt, Some(true), "{p}");
    }
}

/// Returns whether messages and elements are those of the closed form.
fn counts_as(form: &Form, proof: &Certificate) -> bool {
    let same = |(rank, found): (usize, &rankfold::check::Traffic)| {
        let load = form.load(rank);
        [
            load.messages_out,
            load.elements_out,
            load.messages_in,
            load.elements_in,
        ] == [
            found.messages_out,
            found.elements_out,
            found.messages_in,
            found.elements_in,
        ]
    };
    proof.traffic.iter().enumerate().all(same)
}

#[test]
fn closed_forms_are_what_the_checker_counts() {
    for p in worlds() {
        for (n, k) in [(0, 3), (1, 4), (40, 1), (40, 7), (41, 17)] {
            let two = PacketReduce::new(TwoTrees::new(p), n, k);
            let form = cost::two_tree(p, n, k, TreeUse::Reduce);
            let proof = prove(&two, Goal::reduce(0, n), "two trees");
            assert!(counts_as(&form, &proof), "two trees {p} {n} {k}");
            assert!(
                [proof.steps, proof.steps + 1].contains(&form.cost().steps),
                "{p} {n} {k}"
            );
            let Some(trees) = Esbt::on(p) else { continue };
            let esbt = PacketReduce::new(trees, n, k).reversed();
            let form = cost::esbt(p, n, k, TreeUse::Broadcast).unwrap();
            let proof = prove(&esbt, Goal::broadcast(0, n), "esbt");
            assert!(counts_as(&form, &proof), "esbt {p} {n} {k}");
            assert_eq!(form.cost().steps, proof.steps, "esbt {p} {n} {k}");
        }
    }
}

#[test]
fn what_is_not_folded_into_is_not_copied() {
    let segments = |name: &str| format!("{name}:segments=5").parse::<Algorithm>().unwrap();
    for p in [2usize, 5, 8, 13, 16] {
        for name in ["two-tree", "esbt", "circulant"] {
            let call = Call::new(Collective::Reduce, p, 40).commuting();
            let Ok(schedule) = segments(name).schedule(&call) else {
                assert!(name == "esbt" && !p.is_power_of_two());
                continue;
            };
            let proof = prove(&schedule, Goal::reduce(0, 40).at_root_in_place(), name);
            for (rank, traffic) in proof.traffic.iter().enumerate() {
                let steps = (0..schedule.steps()).map(|s| schedule.step(rank, s));
                let copied: usize = steps.filter_map(|s| s.local).map(|c| c.to.elements()).sum();
                assert!(
                    copied <= traffic.folded.min(40),
                    "{name} {p}: rank {rank} copies {copied}"
                );
                assert!(traffic.folded == 0 || rank == 0 || copied > 0);
            }
        }
    }
}

#[test]
fn what_cannot_be_done_is_refused_with_what_to_do() {
    let said = |name: &str, call: Call| {
        let algorithm: Algorithm = name.parse().unwrap();
        algorithm
            .schedule(&call)
            .err()
            .expect("it is refused")
            .to_string()
    };
    let reduce = |p| Call::new(Collective::Reduce, p, 10);
    assert_eq!(
        said("esbt:segments=2", reduce(6).commuting()),
        "esbt:segments=2 needs a number of ranks that is a power of two, and there are 6"
    );
    for name in ["esbt:segments=2", "circulant:segments=2"] {
        assert_eq!(
            said(name, reduce(8)),
            format!("{name} does not keep operands in rank order: the operator must commute")
        );
    }
    assert_eq!(
        said("two-tree:segments=2", reduce(TwoTrees::MOST_RANKS + 1)),
        "two-tree:segments=2 needs a table of all ranks, and has none for 16777217: at most 16777216"
    );
    for name in [
        "two-tree",
        "two-tree:segments=0",
        "esbt:segments=",
        "circulant:4",
    ] {
        let refused = name.parse::<Algorithm>().unwrap_err().to_string();
        assert!(refused.contains("segments"), "{refused}");
    }
}
