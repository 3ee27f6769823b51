//! Steps, loads and bounds as the literature has them.

use rankfold::cost::{self, Load, TreeUse};
use rankfold::topology::Topology;

use super::pipelines;
use crate::{common, zoo};

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
