//! Placement on machines of every kind: no CPU twice, neighbours for compact, even spread for scatter, even shares for
//! domains, and never a CPU that the process may not use.

use std::collections::HashSet;

use proptest::prelude::*;
use rankfold::machine::{Bind, Cpus, Machine, Object, ObjectKind, Placement, Unpinned};

mod machines;

fn placed(machine: &Machine, ranks: usize, bind: &Bind) -> Vec<usize> {
    let placement = machine.place(ranks, bind, true).unwrap();
    assert_eq!(placement.why_unpinned, None, "{bind:?}");
    placement.cpu.into_iter().flatten().collect()
}

fn by_tree() -> [Bind; 6] {
    [
        Bind::Auto,
        Bind::Compact,
        Bind::Scatter,
        Bind::Numa,
        Bind::L3,
        Bind::Core,
    ]
}

/// Returns how many of some CPUs each object has.
fn shares(objects: &[&Object], cpus: &[usize]) -> Vec<usize> {
    let share = |object: &&Object| cpus.iter().filter(|cpu| object.cpus.contains(cpu)).count();
    objects.iter().map(share).collect()
}

/// Checks that no child has two more than a sibling with room, on any level.
fn spread_evenly(object: &Object, cpus: &[usize]) {
    let children: Vec<&Object> = object.children.iter().collect();
    let shares = shares(&children, cpus);
    for (a, most) in shares.iter().enumerate() {
        for (b, least) in shares.iter().enumerate() {
            let full = *least == children[b].cpus.len();
            assert!(
                full || most <= &(least + 1),
                "child {a} has {most}, child {b} {least}"
            );
        }
    }
    object
        .children
        .iter()
        .for_each(|child| spread_evenly(child, cpus));
}

/// Returns the counts of ranks that are tried on `cpus` CPUs.
fn counts(cpus: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = (1..=cpus.min(20))
        .chain([cpus / 2, cpus - 1, cpus])
        .collect();
    counts.retain(|&ranks| (1..=cpus).contains(&ranks));
    counts.dedup();
    counts
}

#[test]
fn nobody_shares_a_cpu_and_nobody_leaves_the_mask() {
    for (name, machine) in machines::all() {
        let mask: HashSet<usize> = machine.usable.mask.iter().copied().collect();
        for ranks in counts(mask.len()) {
            for bind in by_tree() {
                let cpus = placed(&machine, ranks, &bind);
                let distinct: HashSet<usize> = cpus.iter().copied().collect();
                assert_eq!(
                    (cpus.len(), distinct.len()),
                    (ranks, ranks),
                    "{name} {bind:?}"
                );
                assert!(distinct.is_subset(&mask), "{name} {bind:?}");
            }
        }
        let crowded = machine.place(mask.len() + 1, &Bind::Scatter, true).unwrap();
        assert_eq!(
            crowded.why_unpinned,
            Some(Unpinned::Crowded {
                ranks: mask.len() + 1,
                cpus: mask.len()
            })
        );
    }
}

#[test]
fn compact_fills_one_object_after_another_where_all_cores_are_alike() {
    let alike = |(_, machine): &(&str, Machine)| machine.kinds.len() < 2;
    for (name, machine) in machines::all().filter(alike) {
        let tree = machine.usable_tree().unwrap();
        for ranks in counts(tree.cpus.len()) {
            let cpus = placed(&machine, ranks, &Bind::Compact);
            for kind in ObjectKind::ALL {
                let objects = tree.all(kind);
                let shares = shares(&objects, &cpus);
                let touched: Vec<_> = (0..objects.len()).filter(|&i| shares[i] > 0).collect();
                let open = touched
                    .iter()
                    .filter(|&&i| shares[i] < objects[i].cpus.len())
                    .count();
                assert!(
                    open <= 1,
                    "{name}: {ranks} ranks leave {open} of {kind} half full"
                );
                assert!(
                    touched.windows(2).all(|pair| pair[1] == pair[0] + 1),
                    "{name}: {kind}"
                );
            }
        }
    }
}

#[test]
fn scatter_spreads_evenly_on_every_level() {
    for (_, machine) in machines::all() {
        let tree = machine.usable_tree().unwrap();
        for ranks in counts(tree.cpus.len()) {
            spread_evenly(&tree, &placed(&machine, ranks, &Bind::Scatter));
        }
    }
}

#[test]
fn numa_and_l3_give_even_shares_of_neighbouring_ranks() {
    for (name, machine) in machines::all() {
        let tree = machine.usable_tree().unwrap();
        for (bind, kind) in [(Bind::Numa, ObjectKind::Node), (Bind::L3, ObjectKind::L3)] {
            let domains = tree.all(kind);
            if domains
                .iter()
                .map(|domain| domain.cpus.len())
                .sum::<usize>()
                < tree.cpus.len()
            {
                continue;
            }
            for ranks in counts(tree.cpus.len()) {
                let cpus = placed(&machine, ranks, &bind);
                let shares = shares(&domains, &cpus);
                let most = shares.iter().max().unwrap();
                for (share, domain) in shares.iter().zip(&domains) {
                    assert!(
                        share + 1 >= *most || *share == domain.cpus.len(),
                        "{name} {bind:?} {shares:?}"
                    );
                }
                // Ranks of a domain are consecutive.
                let of = |cpu: &usize| {
                    domains
                        .iter()
                        .position(|domain| domain.cpus.contains(cpu))
                        .unwrap()
                };
                assert!(cpus.iter().map(of).is_sorted(), "{name} {bind:?}");
            }
        }
    }
}

#[test]
fn a_core_has_a_second_rank_only_when_all_cores_have_one() {
    for (name, machine) in machines::all() {
        let tree = machine.usable_tree().unwrap();
        let cores = tree.all(ObjectKind::Core);
        for ranks in counts(tree.cpus.len()) {
            for bind in [Bind::Core, Bind::Auto] {
                let shares = shares(&cores, &placed(&machine, ranks, &bind));
                let most = shares.iter().max().copied().unwrap_or(1);
                let full = |(share, core): (&usize, &&Object)| {
                    *share + 1 >= most || *share == core.cpus.len()
                };
                assert!(
                    shares.iter().zip(&cores).all(full),
                    "{name} {bind:?} {shares:?}"
                );
            }
        }
    }
}

#[test]
fn a_quota_below_the_mask_stops_auto_and_no_wish() {
    let machine = Machine::from_text("package:2 core:4 quota=7.5").unwrap();
    let auto = machine.place(2, &Bind::Auto, true).unwrap();
    assert_eq!(
        auto.to_string(),
        "ranks 0-1  unpinned: a quota of 7.50 for 8 CPUs"
    );
    assert_eq!(placed(&machine, 2, &Bind::Scatter), [0, 4]);
    let company = machine.place(2, &Bind::Auto, false).unwrap();
    assert_eq!(company.why_unpinned, Some(Unpinned::NotAlone));
}

#[test]
fn a_machine_with_no_known_cpu_pins_nobody() {
    let machine = Machine::flat(Cpus {
        mask: Vec::new(),
        quota: None,
    });
    for bind in by_tree() {
        let placement: Placement = machine.place(2, &bind, true).unwrap();
        assert_eq!(placement.why_unpinned, Some(Unpinned::MaskUnknown));
    }
}

/// A machine of the collection with some of its CPUs.
fn some_machine() -> impl Strategy<Value = Machine> {
    (0..machines::ALL.len(), any::<u64>(), 1usize..=4).prop_map(|(which, seed, keep)| {
        let machine = machines::machine(machines::ALL[which].1);
        let chosen =
            |cpu: &&usize| (seed.rotate_left(**cpu as u32 % 64) ^ **cpu as u64) % 4 < keep as u64;
        let mask: Vec<usize> = machine.usable.mask.iter().filter(chosen).copied().collect();
        match mask.len() {
            0 => machine,
            _ => machines::masked(&machine, &mask),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn on_any_part_of_any_machine_the_same_holds(machine in some_machine(), ranks in 1usize..64) {
        let mask = &machine.usable.mask;
        for bind in by_tree() {
            let placement = machine.place(ranks, &bind, true).unwrap();
            prop_assert_eq!(placement.cpu.len(), ranks);
            let cpus: Vec<usize> = placement.cpu.iter().flatten().copied().collect();
            let distinct: HashSet<usize> = cpus.iter().copied().collect();
            prop_assert_eq!(placement.why_unpinned.is_none(), ranks <= mask.len());
            prop_assert_eq!(cpus.len(), if ranks <= mask.len() { ranks } else { 0 });
            prop_assert_eq!(distinct.len(), cpus.len());
            prop_assert!(cpus.iter().all(|cpu| mask.contains(cpu)));
            if bind == Bind::Scatter {
                spread_evenly(&machine.usable_tree().unwrap(), &cpus);
            }
            // A pure function: a second call gives the same.
            prop_assert_eq!(machine.place(ranks, &bind, true).unwrap(), placement);
        }
    }
}

/// Returns the index of the CPU's kind among all kinds, the fastest last.
fn speed(machine: &Machine, cpu: usize) -> usize {
    let kind = machine.kinds.iter().position(|kind| kind.contains(&cpu));
    kind.unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(7), failure_persistence: None,
        cases: 200, ..Default::default() })]

    /// Clusters of cores of three kinds, in any order, with one SMT thread or two.
    #[test]
    fn no_rank_is_on_a_slower_core_while_a_faster_one_is_free(
        clusters in prop::collection::vec((1usize..5, 0usize..3, 1usize..3), 1..6),
        part in 0.0f64..1.0,
    ) {
        let text: Vec<String> = clusters.iter()
            .map(|(cores, kind, threads)| format!("l2:1 core:{cores}(kind={kind}) cpu:{threads}"))
            .collect();
        let machine = Machine::from_text(&format!("{{ {} }}", text.join(" + "))).unwrap();
        let all = machine.usable.mask.clone();
        let ranks = 1 + (part * (all.len() - 1) as f64) as usize;
        for bind in [Bind::Auto, Bind::Core, Bind::Compact] {
            let taken = placed(&machine, ranks, &bind);
            let place = |cpu: usize| machine.tree.cpus.iter().position(|&other| other == cpu);
            prop_assert!(taken.is_sorted_by_key(|&cpu| place(cpu)), "neighbours next to each other: {taken:?}");
            let slowest = taken.iter().map(|&cpu| speed(&machine, cpu)).min().unwrap();
            let cores = machine.tree.all(ObjectKind::Core);
            let core = |cpu: usize| cores.iter().find(|core| core.cpus.contains(&cpu)).unwrap();
            let core_is_free = |cpu: usize| core(cpu).cpus.iter().all(|other| !taken.contains(other));
            // One rank per core means that a core, and not only a CPU, must be free.
            let free = |cpu: usize| match bind {
                Bind::Compact => !taken.contains(&cpu),
                _ => core_is_free(cpu),
            };
            for &cpu in &all {
                prop_assert!(!free(cpu) || speed(&machine, cpu) <= slowest, "{bind}: {cpu} is free, {taken:?} are not");
            }
        }
    }
}
