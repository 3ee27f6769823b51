//! Collectives that follow the machine: proved on machines of every kind, with the least possible number of messages
//! and elements across the bounds of packages, NUMA nodes and caches.

use std::sync::Arc;

use proptest::prelude::*;
use rankfold::check::{Goal, check, check_with};
use rankfold::collective::{Algorithm, Call, Collective, Refusal};
use rankfold::machine::{Bind, Machine, ObjectKind};
use rankfold::schedule::{FoldAlong, Schedule};
use rankfold::span::Blocks;
use rankfold::topology::{Hierarchy, Levels, Pattern, Topology, TreeName};
use rankfold::{World, op};

use common::goal;

mod again;
mod common;
mod machines;

const SERVED: [Collective; 6] = [
    Collective::Barrier,
    Collective::Broadcast,
    Collective::Reduce,
    Collective::AllReduce,
    Collective::ReduceScatter,
    Collective::AllGather,
];

const FAMILIES: [TreeName; 6] = [
    TreeName::BINOMIAL,
    TreeName::Flat,
    TreeName::Chain,
    TreeName::KTree(2),
    TreeName::KAry(2),
    TreeName::Fibonacci,
];

/// Returns placements on the machines, with their names.
fn placements() -> Vec<(String, Machine, Levels)> {
    let mut all = Vec::new();
    for (name, machine) in machines::all() {
        let cpus = machine.usable.mask.len();
        let most = if cfg!(debug_assertions) { 40 } else { 300 };
        for ranks in [cpus.min(most), (cpus / 2).clamp(1, most), cpus.min(5)] {
            for bind in [Bind::Compact, Bind::Numa, Bind::Scatter] {
                let placement = machine.place(ranks, &bind, true).unwrap();
                let levels = Levels::of(&machine, &placement);
                all.push((
                    format!("{ranks} ranks on {name}, {bind:?}"),
                    machine.clone(),
                    levels,
                ));
            }
        }
    }
    all
}

fn calls(collective: Collective, levels: &Arc<Levels>, length: usize) -> Vec<Call> {
    let (p, length) = (
        levels.ranks(),
        if collective == Collective::Barrier {
            0
        } else {
            length
        },
    );
    let call = Call::new(collective, p, length).on(levels.clone());
    let mut roots = if collective.has_root() {
        vec![0, p / 2, p - 1]
    } else {
        vec![0]
    };
    roots.dedup();
    let of_root = |root| {
        let call = call.clone().to_root(root);
        let mut calls = vec![call.clone()];
        if collective.folds() {
            calls.push(call.clone().commuting());
        }
        if collective == Collective::AllReduce {
            calls.push(call.from_input());
        }
        calls
    };
    roots.into_iter().flat_map(of_root).collect()
}

/// Returns all messages of a schedule, and their elements.
fn messages(schedule: &dyn Schedule) -> Vec<((usize, usize), usize)> {
    let mut all = Vec::new();
    for rank in 0..schedule.ranks() {
        for step in 0..schedule.steps() {
            if let Some(send) = schedule.step(rank, step).send {
                all.push(((rank, send.peer), send.region.elements()));
            }
        }
    }
    all
}

#[test]
fn every_collective_is_proved_on_every_machine() {
    let mut nested = 0;
    for (name, _, levels) in placements() {
        nested += usize::from(levels.depth() > 2);
        let levels = Arc::new(levels);
        for collective in SERVED {
            for call in calls(collective, &levels, 2 * levels.ranks() + 3) {
                match Algorithm::HIERARCHICAL.schedule(&call) {
                    Ok(schedule) => {
                        check(&schedule, &goal(&call))
                            .unwrap_or_else(|fault| panic!("{collective} of {name}: {fault}"));
                    }
                    Err(refusal) => {
                        let ordered = collective.folds() && !call.commutes;
                        let blocks = matches!(
                            collective,
                            Collective::ReduceScatter | Collective::AllGather
                        );
                        assert!(
                            (ordered || blocks) && !levels.are_runs(),
                            "{collective} of {name}: {refusal}"
                        );
                    }
                }
            }
        }
    }
    assert!(nested > 20, "most machines have levels: {nested}");
}

#[test]
fn every_family_serves_inside_the_groups() {
    for (_, _, levels) in placements()
        .into_iter()
        .filter(|(.., levels)| levels.ranks() <= 16)
    {
        let levels = Arc::new(levels);
        for tree in FAMILIES {
            for collective in SERVED {
                for call in calls(collective, &levels, 5) {
                    let algorithm = Algorithm::Hierarchical { tree };
                    if let Ok(schedule) = algorithm.schedule(&call) {
                        check(&schedule, &goal(&call))
                            .unwrap_or_else(|fault| panic!("{tree} {call:?}: {fault}"));
                    }
                }
            }
        }
    }
}

#[test]
fn no_message_more_crosses_a_bound_than_must() {
    for (name, machine, levels) in placements() {
        let levels = Arc::new(levels);
        for collective in [
            Collective::Broadcast,
            Collective::Reduce,
            Collective::AllReduce,
            Collective::Barrier,
        ] {
            // Folding or spreading over D groups takes D - 1 messages between them, and both together twice as many.
            let twice = matches!(collective, Collective::AllReduce | Collective::Barrier);
            for call in calls(collective, &levels, 4) {
                let Ok(schedule) = Algorithm::HIERARCHICAL.schedule(&call) else {
                    continue;
                };
                let messages: Vec<_> = messages(&schedule)
                    .into_iter()
                    .map(|(ends, _)| ends)
                    .collect();
                for level in 0..levels.depth() {
                    let groups = levels.groups(level).len();
                    let least = (groups - 1) * if twice { 2 } else { 1 };
                    assert_eq!(
                        levels.crossings(&messages, level),
                        least,
                        "{collective} of {name}, level {level}"
                    );
                }
            }
        }
        // The groups of the levels are the nodes and packages that have ranks.
        let _ = machine;
    }
}

#[test]
fn the_groups_are_the_packages_and_nodes_of_the_machine() {
    for (name, machine) in machines::all() {
        let ranks = machine.usable.mask.len();
        for bind in [Bind::Compact, Bind::Scatter, Bind::Numa] {
            let placement = machine.place(ranks, &bind, true).unwrap();
            for kind in [ObjectKind::Package, ObjectKind::Node, ObjectKind::L3] {
                let levels = Levels::by(&machine, &placement, &[kind]);
                let of = |cpu: usize| {
                    machine
                        .tree
                        .all(kind)
                        .iter()
                        .position(|o| o.cpus.contains(&cpu))
                };
                for a in 0..ranks.min(20) {
                    for b in 0..ranks {
                        let same = of(placement.cpu[a].unwrap()) == of(placement.cpu[b].unwrap());
                        let crosses = levels.crossings(&[(a, b)], 0) == 1;
                        assert!(
                            same != crosses || levels.depth() == 1,
                            "{name} {bind:?} {kind} {a} {b}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn no_element_more_of_a_reduce_scatter_or_all_gather_crosses_than_must() {
    for (name, _, levels) in placements()
        .into_iter()
        .filter(|(.., levels)| levels.are_runs())
    {
        let levels = Arc::new(levels);
        let n = 3 * levels.ranks() + 1;
        for (collective, commutes) in [
            (Collective::ReduceScatter, true),
            (Collective::ReduceScatter, false),
            (Collective::AllGather, true),
        ] {
            let mut call = Call::new(collective, levels.ranks(), n).on(levels.clone());
            call.commutes = commutes;
            let schedule = Algorithm::HIERARCHICAL.schedule(&call).unwrap();
            let all = messages(&schedule);
            for level in 0..levels.depth() {
                let crosses = |ends| levels.crossings(&[ends], level) == 1;
                let crossing = all.iter().filter(|(ends, _)| crosses(*ends));
                let volume: usize = crossing.map(|(_, elements)| elements).sum();
                // Each group sends, or needs, every block that is not its own.
                let blocks = Blocks::even(n, levels.ranks());
                let groups = levels.groups(level);
                let own = |group: &Vec<usize>| {
                    group.iter().map(|&rank| blocks.count(rank)).sum::<usize>()
                };
                let least: usize = groups.iter().map(|group| n - own(group)).sum();
                assert_eq!(volume, least, "{collective} of {name}, level {level}");
            }
        }
    }
}

/// Concatenation of strings does not commute.
struct Join;

impl op::Operator<[u8; 12]> for Join {
    fn combine(&self, left: [u8; 12], right: [u8; 12]) -> [u8; 12] {
        let used = |text: &[u8; 12]| text.iter().position(|&letter| letter == 0).unwrap();
        let (mut all, free, more) = (left, used(&left), used(&right));
        all[free..free + more].copy_from_slice(&right[..more]);
        all
    }
}

#[test]
fn on_threads_the_sums_are_right_and_in_rank_order() {
    let mut whole = [0; 12];
    whole[..11].copy_from_slice(b"abcdefghijk");
    for widths in [vec![4], vec![2, 3], vec![3, 2, 2]] {
        let call = Call::new(Collective::AllReduce, 11, 5).on(Levels::runs(11, &widths));
        let texts = World::new(11).run(|comm| {
            let schedule = Algorithm::HIERARCHICAL.schedule(&call).unwrap();
            let mut own = [0; 12];
            own[0] = b'a' + comm.rank() as u8;
            let mut v = [own; 5];
            comm.run_schedule(&schedule, &goal(&call), &[], &mut v, Join)?;
            Ok(v)
        });
        assert_eq!(texts.unwrap(), [[whole; 5]; 11], "{widths:?}");
    }
    let call = Call::new(Collective::ReduceScatter, 7, 20)
        .on(Levels::runs(7, &[2, 2]))
        .commuting();
    let blocks = World::new(7).run(|comm| {
        let schedule = Algorithm::HIERARCHICAL.schedule(&call).unwrap();
        let input: Vec<usize> = (0..20).map(|i| i + comm.rank()).collect();
        let mut own = vec![0; call.blocks.count(comm.rank())];
        comm.run_schedule(&schedule, &goal(&call), &input, &mut own, op::Sum)?;
        Ok(own)
    });
    let sums: Vec<usize> = (0..20).map(|i| 7 * i + 21).collect();
    assert_eq!(blocks.unwrap().concat(), sums);
}

#[test]
fn blocks_of_any_lengths_are_scattered_and_gathered() {
    let levels = Arc::new(Levels::runs(11, &[2, 2, 2]));
    let blocks = Blocks::of(&[3, 0, 0, 5, 1, 0, 7, 2, 0, 0, 4]).unwrap();
    for collective in [Collective::ReduceScatter, Collective::AllGather] {
        let call = Call::new(collective, 11, 22)
            .with_blocks(blocks.clone())
            .on(levels.clone())
            .commuting();
        let schedule = Algorithm::HIERARCHICAL.schedule(&call).unwrap();
        check_with(&schedule, &Goal::of(collective, 0, 22), blocks.clone()).unwrap();
    }
}

#[test]
fn one_domain_is_the_flat_form_and_a_level_can_be_left_out() {
    let machine = Machine::from_text("package:1 numa:1 l3:1 core:13").unwrap();
    let levels = Levels::of(&machine, &machine.place(13, &Bind::Compact, true).unwrap());
    assert_eq!((levels.depth(), levels.are_runs()), (1, true));
    for collective in SERVED {
        for call in calls(collective, &Arc::new(levels.clone()), 40) {
            let flat = match collective {
                Collective::ReduceScatter if !call.commutes => Algorithm::Halving,
                Collective::ReduceScatter | Collective::AllGather => Algorithm::Ring,
                _ => Algorithm::tree(TreeName::BINOMIAL),
            };
            let steps = |schedule: Box<dyn Schedule>| {
                let step = |rank, s| schedule.step(rank, s);
                let all = (0..13).flat_map(|rank| (0..schedule.steps()).map(move |s| (rank, s)));
                all.map(|(rank, s)| step(rank, s)).collect::<Vec<_>>()
            };
            let followed = Algorithm::HIERARCHICAL.schedule(&call).map(steps);
            assert_eq!(
                followed.ok(),
                flat.schedule(&call).map(steps).ok(),
                "{collective}"
            );
        }
    }
    let nested = Machine::from_text("package:2 numa:2 l3:2 core:2").unwrap();
    let placement = nested.place(16, &Bind::Compact, true).unwrap();
    let depth = |kinds: &[ObjectKind]| Levels::by(&nested, &placement, kinds).depth();
    let (p, n, l) = (ObjectKind::Package, ObjectKind::Node, ObjectKind::L3);
    assert_eq!(
        [depth(&[p, n, l]), depth(&[p, l]), depth(&[n]), depth(&[])],
        [4, 3, 2, 1]
    );
}

#[test]
fn the_binomial_tree_over_powers_of_two_takes_no_step_more() {
    let levels = Levels::runs(64, &[4, 4]);
    let tree = Hierarchy::new(levels, TreeName::BINOMIAL, 0);
    assert_eq!(Pattern::steps(&tree), 6);
    assert_eq!(tree.topology().unwrap(), Topology::binomial(64));
}

#[test]
fn unpinned_ranks_are_in_one_group_and_foreign_levels_are_refused() {
    let machine = Machine::from_text("package:2 core:4").unwrap();
    let unpinned = machine.place(8, &Bind::None, true).unwrap();
    assert_eq!(Levels::of(&machine, &unpinned), Levels::flat(8));
    let call = Call::new(Collective::Barrier, 9, 0).on(Levels::flat(8));
    let refusal = Algorithm::HIERARCHICAL.schedule(&call).err().unwrap();
    assert_eq!(refusal, Refusal::OtherLevels { of: 8, ranks: 9 });
    assert_eq!(
        refusal.to_string(),
        "the levels are of 8 ranks, and there are 9"
    );
    let scattered = Levels::from_groups(&[vec![0], vec![1], vec![0], vec![1]]);
    let call = Call::new(Collective::AllReduce, 4, 1).on(scattered);
    assert_eq!(
        Algorithm::HIERARCHICAL.refused(&call).unwrap().to_string(),
        "hierarchical does all_reduce with an operator that does not commute only where each group of the machine \
         is a run of neighbouring ranks: place them by compact, numa or l3"
    );
    assert_eq!(Algorithm::HIERARCHICAL.refused(&call.commuting()), None);
}

#[test]
fn names_are_written_and_read() {
    for (name, tree) in [
        ("hierarchical", TreeName::BINOMIAL),
        ("hierarchical:k-tree:3", TreeName::KTree(3)),
    ] {
        assert_eq!(name.parse(), Ok(Algorithm::Hierarchical { tree }));
        assert_eq!(Algorithm::Hierarchical { tree }.to_string(), name);
    }
    for bad in [
        "hierarchical:",
        "hierarchical:k-tree",
        "hierarchical:nothing",
        "hierarchical:segments=2",
    ] {
        assert!(bad.parse::<Algorithm>().is_err(), "{bad}");
    }
}

/// Paths to ranks through up to three levels.
fn ways() -> impl Strategy<Value = Vec<Vec<usize>>> {
    (0usize..4, 1usize..24).prop_flat_map(|(depth, ranks)| {
        proptest::collection::vec(proptest::collection::vec(0usize..3, depth), ranks)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn whatever_the_groups_are_the_tree_folds_everything_once(ways in ways(), root in 0usize..24, family in 0usize..6) {
        let levels = Levels::from_groups(&ways);
        let root = root % levels.ranks();
        let tree = Hierarchy::new(levels.clone(), FAMILIES[family], root);
        for s in 0..Pattern::steps(&tree) {
            for p in 0..levels.ranks() {
                if let Some(q) = tree.to(p, s) {
                    prop_assert_eq!(tree.from(q, s), Some(p));
                }
            }
        }
        for p in 0..levels.ranks() {
            let active: Vec<usize> = (0..Pattern::steps(&tree))
                .filter(|&s| tree.to(p, s).is_some() || tree.from(p, s).is_some())
                .collect();
            let mut listed = Vec::new();
            let mut after = None;
            while let Some(next) = Pattern::next_active(&tree, p, after) {
                listed.push(next);
                after = Some(next);
            }
            prop_assert_eq!(listed, active);
        }
        check(&FoldAlong::new(tree.clone(), 3), &Goal::reduce(root, 3)).unwrap();
        let topology = tree.topology().unwrap();
        prop_assert_eq!((topology.ranks(), topology.root()), (levels.ranks(), root));
        if levels.are_runs() && matches!(FAMILIES[family], TreeName::BINOMIAL | TreeName::Flat) {
            check(&FoldAlong::new(tree, 3), &Goal::reduce(root, 3).in_rank_order()).unwrap();
        }
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
