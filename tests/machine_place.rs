//! Placement, on made-up machines: where each rank goes, and what the report says.

use std::collections::HashSet;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use rankfold::machine::{Bind, BindError, Cpus, Placement, Unpinned, place};

fn machine(mask: &[usize]) -> Cpus {
    Cpus {
        mask: mask.to_vec(),
        quota: None,
    }
}

fn with_quota(mask: &[usize], quota: f64) -> Cpus {
    Cpus {
        quota: Some(quota),
        ..machine(mask)
    }
}

fn auto(ranks: usize, cpus: &Cpus) -> Placement {
    place(ranks, &Bind::Auto, cpus, true).unwrap()
}

/// Returns why no rank is pinned, after checking that none is.
fn why(placement: &Placement) -> Option<Unpinned> {
    assert!(placement.cpu.iter().all(Option::is_none));
    assert_eq!(placement.distinct_cpus(), None);
    placement.why_unpinned.clone()
}

#[test]
fn auto_is_the_default_and_takes_the_mask_in_order() {
    let placement = place(3, &Bind::default(), &machine(&[1, 4, 5, 9]), true).unwrap();
    assert_eq!(placement.cpu, [Some(1), Some(4), Some(5)]);
    assert_eq!(placement.why_unpinned, None);
    assert_eq!(placement.distinct_cpus(), Some(3));
}

#[test]
fn auto_pins_only_alone_with_a_cpu_for_each_and_the_quota_for_all() {
    let two = machine(&[0, 1]);
    assert_eq!(
        why(&place(2, &Bind::Auto, &two, false).unwrap()),
        Some(Unpinned::NotAlone)
    );
    assert_eq!(
        why(&auto(3, &two)),
        Some(Unpinned::Crowded { ranks: 3, cpus: 2 })
    );
    assert_eq!(why(&auto(1, &machine(&[]))), Some(Unpinned::MaskUnknown));
    assert_eq!(
        why(&auto(1, &with_quota(&[0, 1], 1.9))),
        Some(Unpinned::Quota {
            quota: 1.9,
            cpus: 2
        })
    );
    assert_eq!(auto(2, &with_quota(&[0, 1], 2.0)).distinct_cpus(), Some(2));
}

#[test]
fn compact_is_a_wish_that_company_and_quota_do_not_stop() {
    let compact = |ranks, cpus: &Cpus| place(ranks, &Bind::Compact, cpus, false).unwrap();
    assert_eq!(
        compact(2, &with_quota(&[3, 5], 0.5)).cpu,
        [Some(3), Some(5)]
    );
    assert_eq!(
        why(&compact(3, &machine(&[3, 5]))),
        Some(Unpinned::Crowded { ranks: 3, cpus: 2 })
    );
    assert_eq!(why(&compact(1, &machine(&[]))), Some(Unpinned::MaskUnknown));
}

#[test]
fn none_pins_nobody() {
    let placement = place(2, &Bind::None, &machine(&[0, 1]), true).unwrap();
    assert_eq!(why(&placement), Some(Unpinned::NotAsked));
    assert_eq!(placement.cpu.len(), 2);
}

#[test]
fn a_list_is_taken_in_its_own_order_and_wraps() {
    let placement = place(5, &Bind::Cpus(vec![5, 0]), &machine(&[0, 3, 5]), false).unwrap();
    assert_eq!(placement.cpu, [5, 0, 5, 0, 5].map(Some));
    assert_eq!(placement.distinct_cpus(), Some(2));
    assert_eq!(placement.why_unpinned, None);
}

#[test]
fn a_wrong_list_is_an_error_that_names_the_cpu_and_the_mask() {
    let cpus = machine(&[0, 1, 2, 8]);
    let bind = |list: &[usize]| place(1, &Bind::Cpus(list.to_vec()), &cpus, true).unwrap_err();
    assert_eq!(bind(&[]), BindError::NoCpus);
    // Even if no rank would have been placed on it.
    let outside = bind(&[0, 7]);
    assert_eq!(
        outside,
        BindError::OutsideMask {
            cpu: 7,
            mask: vec![0, 1, 2, 8]
        }
    );
    assert_eq!(
        outside.to_string(),
        "cannot bind to CPU 7: the mask is 0-2,8"
    );
    assert_eq!(
        bind(&[]).to_string(),
        "cannot bind to an empty list of CPUs"
    );
}

#[test]
fn a_list_cannot_be_wrong_where_the_mask_is_unknown() {
    let placement = place(2, &Bind::Cpus(vec![4]), &machine(&[]), true).unwrap();
    assert_eq!(why(&placement), Some(Unpinned::MaskUnknown));
}

#[test]
fn a_small_world_prints_a_line_for_each_rank() {
    let mask: Vec<usize> = (3..14).collect();
    let table = auto(11, &machine(&mask)).to_string();
    assert!(
        table.starts_with("rank 0   cpu 3\nrank 1   cpu 4\n"),
        "{table}"
    );
    assert!(
        table.ends_with("\nrank 9   cpu 12\nrank 10  cpu 13"),
        "{table}"
    );
    assert_eq!(table.lines().count(), 11);
    assert_eq!(auto(0, &machine(&[0])).to_string(), "");
}

#[test]
fn a_large_world_prints_runs() {
    let two_halves: Vec<usize> = (0..16).chain(64..80).collect();
    assert_eq!(
        auto(32, &machine(&two_halves)).to_string(),
        "ranks 0-15   cpus 0-15\nranks 16-31  cpus 64-79"
    );
    let even: Vec<usize> = (0..64).step_by(2).collect();
    assert_eq!(
        auto(32, &machine(&even)).to_string(),
        "ranks 0-31  cpus 0-62 by 2"
    );
    let one = place(64, &Bind::Cpus(vec![3]), &machine(&[3]), true).unwrap();
    assert_eq!(one.to_string(), "ranks 0-63  cpu 3");
}

#[test]
fn a_table_does_not_grow_without_end() {
    let wrapped = place(64, &Bind::Cpus(vec![1, 0]), &machine(&[0, 1]), true).unwrap();
    let table = wrapped.to_string();
    assert!(
        table.starts_with("rank 0       cpu 1\nranks 1-2    cpus 0-1\n"),
        "{table}"
    );
    assert!(
        table.ends_with("\nranks 29-30  cpus 0-1\n... 33 more"),
        "{table}"
    );
    assert_eq!(table.lines().count(), 17);
}

#[test]
fn the_reason_is_printed_once() {
    let lines = [
        (
            place(1, &Bind::None, &machine(&[0]), true),
            "rank 0  unpinned: not asked for",
        ),
        (
            place(4, &Bind::Auto, &machine(&[0]), false),
            "ranks 0-3  unpinned: other ranks live in this process",
        ),
        (
            place(64, &Bind::Auto, &machine(&[0, 1]), true),
            "ranks 0-63  unpinned: 64 ranks on 2 CPUs",
        ),
        (
            place(2, &Bind::Compact, &machine(&[6]), true),
            "ranks 0-1  unpinned: 2 ranks on 1 CPU",
        ),
        (
            place(2, &Bind::Auto, &with_quota(&[0, 1], 0.5), true),
            "ranks 0-1  unpinned: a quota of 0.50 for 2 CPUs",
        ),
        (
            place(2, &Bind::Compact, &machine(&[]), true),
            "ranks 0-1  unpinned: the affinity mask is unknown",
        ),
    ];
    for (placement, line) in lines {
        assert_eq!(placement.unwrap().to_string(), line);
    }
}

/// Masks with gaps, with some quota or none.
fn cpus() -> impl Strategy<Value = Cpus> {
    let quota = proptest::option::of(0.1..40.0);
    (btree_set(0usize..1024, 0..40), quota).prop_map(|(mask, quota)| Cpus {
        mask: mask.into_iter().collect(),
        quota,
    })
}

/// A machine, and a list of its CPUs, with or without repetition.
fn cpus_and_list() -> impl Strategy<Value = (Cpus, Vec<usize>)> {
    let some = cpus().prop_filter("a CPU to list", |cpus| !cpus.mask.is_empty());
    some.prop_flat_map(|cpus| {
        let list = vec(proptest::sample::select(cpus.mask.clone()), 1..10);
        (Just(cpus), list)
    })
}

proptest! {
    #[test]
    fn without_a_list_all_ranks_have_a_cpu_of_their_own_or_none_has_any(
        ranks in 0usize..60, compact: bool, cpus in cpus(), alone: bool,
    ) {
        let bind = if compact { Bind::Compact } else { Bind::Auto };
        let placement = place(ranks, &bind, &cpus, alone).unwrap();
        prop_assert_eq!(placement.cpu.len(), ranks);
        match &placement.why_unpinned {
            Some(_) => prop_assert_eq!(placement.distinct_cpus(), None),
            None => {
                prop_assert_eq!(placement.distinct_cpus().unwrap_or(0), ranks);
                prop_assert!(placement.cpu.iter().flatten().eq(cpus.mask.iter().take(ranks)));
            }
        }
    }

    #[test]
    fn auto_never_pins_more_than_is_usable(ranks in 1usize..60, cpus in cpus()) {
        let pinned = auto(ranks, &cpus).distinct_cpus();
        prop_assert!(pinned.is_none_or(|n| n == ranks && n <= cpus.usable()));
    }

    #[test]
    fn a_list_is_obeyed_and_wraps((cpus, list) in cpus_and_list(), ranks in 0usize..60, alone: bool) {
        let placement = place(ranks, &Bind::Cpus(list.clone()), &cpus, alone).unwrap();
        prop_assert_eq!(placement.cpu.len(), ranks);
        for (rank, cpu) in placement.cpu.iter().enumerate() {
            prop_assert_eq!(*cpu, Some(list[rank % list.len()]));
        }
        let used: HashSet<_> = list.iter().take(ranks).collect();
        prop_assert_eq!(placement.distinct_cpus().unwrap_or(0), used.len());
    }

    #[test]
    fn one_cpu_outside_the_mask_spoils_a_list((cpus, mut list) in cpus_and_list(), wrong in 1024usize.., at: prop::sample::Index) {
        list.insert(at.index(list.len() + 1), wrong);
        let error = place(1, &Bind::Cpus(list), &cpus, true).unwrap_err();
        prop_assert_eq!(error, BindError::OutsideMask { cpu: wrong, mask: cpus.mask });
    }

    /// Reads the table back: whatever rows it joins, it must say the same as the numbers.
    #[test]
    fn the_table_tells_the_truth((cpus, list) in cpus_and_list(), ranks in 0usize..60) {
        let placement = place(ranks, &Bind::Cpus(list), &cpus, true).unwrap();
        let told = read_back(&placement.to_string());
        prop_assert_eq!(&told[..], &placement.cpu[..told.len()]);
        prop_assert!(told.len() == ranks || told.len() >= 16);
    }
}

/// Returns the CPUs in a table of pinned ranks, in rank order, as far as it goes.
fn read_back(table: &str) -> Vec<Option<usize>> {
    let rows = table.lines().filter(|row| !row.starts_with("..."));
    rows.flat_map(|row| {
        let words: Vec<&str> = row.split_whitespace().collect();
        let (ranks, cpus) = (ends(words[1]), ends(words[3]));
        let by = words
            .get(5)
            .map_or(usize::from(cpus.0 != cpus.1), |by| by.parse().unwrap());
        (0..=ranks.1 - ranks.0).map(move |i| Some(cpus.0 + i * by))
    })
    .collect()
}

fn ends(range: &str) -> (usize, usize) {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    (first.parse().unwrap(), last.parse().unwrap())
}
