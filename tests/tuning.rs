//! Tuning tables: look-up, refusals and output formats, and that results are right with any table.

mod common;
#[path = "tuning/texts.rs"]
mod texts;
#[path = "tuning/worlds.rs"]
mod worlds;

use common::{cases, noise};
use proptest::collection::vec;
use proptest::prelude::*;
use rankfold::collective::{
    Algorithm, Call, Choice, Collective, Entry, Fingerprint, Guideline, Rule, Timed, TuningTable,
    violations,
};
use rankfold::machine::{Bind, Machine};
use rankfold::topology::Levels;

// ── random tables ──

fn fingerprint(room: usize) -> Fingerprint {
    let machine = Machine::from_text(&format!("core:{room}")).unwrap();
    Fingerprint::of(&machine, &Bind::Auto)
}

/// Returns a number below `n` that is derived from a seed.
fn below(seed: u64, i: u64, n: usize) -> usize {
    (noise(seed, i) % n as u64) as usize
}

fn timed(seed: u64, collective: Collective, but: Option<Algorithm>) -> Timed {
    let all = Algorithm::all(collective).filter(|algorithm| Some(*algorithm) != but);
    let all: Vec<Algorithm> = all.collect();
    let ns = (!noise(seed, 1).is_multiple_of(3)).then(|| noise(seed, 2) >> below(seed, 3, 64));
    Timed {
        algorithm: all[below(seed, 0, all.len())],
        ns,
    }
}

fn rules(seed: u64, collective: Collective) -> Vec<Rule> {
    let mut from: Vec<usize> = (0..=below(seed, 0, 4) as u64)
        .map(|i| (noise(seed, 10 + i) >> (20 + below(seed, 20 + i, 44))) as usize)
        .collect();
    from.sort_unstable();
    from.dedup();
    let rule = |(i, from): (usize, usize)| {
        let seed = noise(seed, 30 + i as u64);
        let best = timed(noise(seed, 0), collective, None);
        let next = timed(noise(seed, 1), collective, Some(best.algorithm));
        Rule {
            from,
            best,
            next: (!noise(seed, 2).is_multiple_of(3)).then_some(next),
            at: (!noise(seed, 3).is_multiple_of(3)).then(|| noise(seed, 4) as usize),
        }
    };
    from.into_iter().enumerate().map(rule).collect()
}

/// Returns a table with entries for some collectives and numbers of ranks; one in three is for a specific machine.
fn random(seed: u64, most_ranks: usize) -> TuningTable {
    let mut entries = Vec::new();
    for (i, collective) in (0..).zip(Collective::all()) {
        for ranks in 1..=most_ranks {
            let seed = noise(seed, 100 * i + ranks as u64);
            if seed.is_multiple_of(3) {
                entries.push(Entry {
                    collective,
                    ranks,
                    rules: rules(seed, collective),
                });
            }
        }
    }
    let of = (seed.is_multiple_of(3)).then(|| fingerprint(1 + below(seed, 7, 9)));
    let table = TuningTable::new(of, entries).unwrap();
    table
        .with_remarks(vec!["drawn by chance: `#` 1, 2".into()])
        .unwrap()
}

// ── the look-up ──

/// Returns whether an algorithm can run a call of plain bytes, as the documentation of the table says.
fn serves(algorithm: Algorithm, call: &Call, element: usize) -> bool {
    let most = call.most_written();
    let fits = most as u128 * element as u128 <= 4096 && u32::try_from(most).is_ok();
    let cells = (2..=64).contains(&call.ranks()) && fits;
    let groups = call
        .levels
        .as_ref()
        .is_some_and(|levels| levels.have_groups());
    algorithm.refused(call).is_none()
        && match algorithm {
            Algorithm::Cells => cells,
            Algorithm::Hierarchical { .. } => groups,
            _ => true,
        }
}

/// The look-up, step by step as documented.
fn naive(table: &TuningTable, call: &Call, element: usize) -> Option<Algorithm> {
    let bytes = call.length().saturating_mul(element);
    for entry in near(table, call.collective, call.ranks()) {
        let Some(rule) = entry.rules.iter().rev().find(|rule| rule.from <= bytes) else {
            continue;
        };
        for timed in [Some(rule.best), rule.next].into_iter().flatten() {
            if serves(timed.algorithm, call, element) {
                return Some(timed.algorithm);
            }
        }
    }
    None
}

/// Returns the entry for so many ranks, or those of the next smaller and larger numbers that may stand for it, the
/// nearest first.
fn near(table: &TuningTable, collective: Collective, ranks: usize) -> Vec<&Entry> {
    let room = table.fingerprint().map_or(0, |of| of.room);
    let of = table.entries().iter();
    let of: Vec<&Entry> = of.filter(|e| e.collective == collective).collect();
    if let Some(exact) = of.iter().find(|e| e.ranks == ranks) {
        return vec![*exact];
    }
    let low = of
        .iter()
        .filter(|e| e.ranks < ranks)
        .max_by_key(|e| e.ranks);
    let high = of
        .iter()
        .filter(|e| e.ranks > ranks)
        .min_by_key(|e| e.ranks);
    let mut both: Vec<&Entry> = low.into_iter().chain(high).copied().collect();
    both.retain(|e| e.ranks <= 2 * ranks && ranks <= 2 * e.ranks);
    both.retain(|e| (e.ranks > room) == (ranks > room));
    let ratio = |e: &Entry| (e.ranks as f64).max(ranks as f64) / (e.ranks as f64).min(ranks as f64);
    both.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    both
}

fn any_call() -> impl Strategy<Value = (Call, usize)> {
    let collective = (0..11usize).prop_map(|i| Collective::all().nth(i).unwrap());
    let length = prop_oneof![
        0..40usize,
        0..10_000usize,
        0..=usize::MAX / 64,
        Just(usize::MAX)
    ];
    let element = prop_oneof![Just(0usize), 1..17usize, Just(usize::MAX)];
    let flags = (any::<bool>(), 0..3usize);
    (
        collective,
        1..40usize,
        length,
        any::<usize>(),
        flags,
        element,
    )
        .prop_map(
            |(collective, ranks, length, root, (commutes, groups), element)| {
                let mut call = Call::new(collective, ranks, length);
                call.root = if collective.has_root() {
                    root % ranks
                } else {
                    0
                };
                call.commutes = commutes;
                if groups > 0 {
                    call = call.on(Levels::runs(ranks, &[groups + 1]));
                }
                (call, element)
            },
        )
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn every_call_finds_what_the_documentation_says_and_never_what_refuses_it(
        seed: u64,
        (call, element) in any_call(),
    ) {
        let table = random(seed, 20);
        let choice = Choice::by(Some(&table), &call, element);
        let untuned = Choice::of(&call, element);
        prop_assert_eq!(choice.algorithm.refused(&call), None);
        let expected = naive(&table, &call, element);
        prop_assert_eq!(choice.algorithm, expected.unwrap_or(untuned.algorithm));
        prop_assert_eq!(choice.reason.contains("no rule for it"), expected.is_none());
        if let Some(next) = choice.runner_up {
            prop_assert!(next != choice.algorithm && serves(next, &call, element), "{}", next);
        }
        prop_assert_eq!(Choice::by(Some(&table), &call, element), choice);
    }

    #[test]
    fn a_table_is_read_as_it_was_written(seed: u64) {
        let table = random(seed, 12);
        let text = table.to_string();
        prop_assert_eq!(text.parse(), Ok(table.clone()), "{}", text);
        #[cfg(feature = "json")]
        {
            let json = table.to_json();
            prop_assert_eq!(TuningTable::from_json(&json), Ok(table.clone()));
            prop_assert_eq!(TuningTable::read(&json), Ok(table));
        }
    }

    #[test]
    fn whatever_is_done_to_a_text_it_is_read_or_refused(seed: u64, at in vec((any::<usize>(), any::<u8>()), 1..6)) {
        let table = random(seed, 3);
        let spoilt = |text: String| {
            let mut bytes = text.into_bytes();
            for (place, byte) in &at {
                let place = place % bytes.len();
                match byte % 3 {
                    0 => bytes[place] = *byte,
                    1 => drop(bytes.drain(place..(place + 9).min(bytes.len()))),
                    _ => bytes.splice(place..place, b"18446744073709551616".iter().copied()).for_each(drop),
                }
                bytes.push(b'\n');
            }
            String::from_utf8_lossy(&bytes).into_owned()
        };
        for text in [spoilt(table.to_string()), spoilt(json(&table))] {
            match TuningTable::read(&text) {
                Ok(read) => prop_assert_eq!(read.to_string().parse(), Ok(read)),
                Err(error) => prop_assert!(!error.to_string().contains('\n') || text.contains('\n')),
            }
        }
    }
}

#[cfg(feature = "json")]
fn json(table: &TuningTable) -> String {
    table.to_json()
}

#[cfg(not(feature = "json"))]
fn json(_: &TuningTable) -> String {
    "{}".into()
}

fn of(lines: &str) -> TuningTable {
    format!("rankfold tuning 1\n{lines}").parse().unwrap()
}

#[test]
fn a_number_of_ranks_that_was_not_measured_follows_the_nearest_by_ratio() {
    let table = of("scan on 4 ranks\nfrom 0 bytes: exchange\nscan on 9 ranks\nfrom 0 bytes: chain");
    let chosen = |ranks| {
        let choice = Choice::by(Some(&table), &Call::new(Collective::Scan, ranks, 1), 8);
        (choice.algorithm.to_string(), choice.reason)
    };
    for (ranks, wanted) in [
        (2, "exchange"),
        (4, "exchange"),
        (7, "chain"),
        (9, "chain"),
        (18, "chain"),
        (1, "doubling"),
        (19, "cells"),
    ] {
        assert_eq!(chosen(ranks).0, wanted, "{ranks} ranks");
    }
    assert_eq!(chosen(5).0, "chain", "exchange needs a power of two");
    assert_eq!(chosen(18).1, "the tuning table says so on 9 ranks");
}

#[test]
fn crowded_ranks_follow_no_entry_of_ranks_that_have_a_core_each() {
    let entry = |ranks, algorithm: Algorithm| Entry {
        collective: Collective::Scan,
        ranks,
        rules: vec![Rule {
            from: 0,
            best: algorithm.into(),
            next: None,
            at: None,
        }],
    };
    let chain: Algorithm = "chain".parse().unwrap();
    let entries = vec![entry(4, chain), entry(10, Algorithm::Doubling)];
    let table = TuningTable::new(Some(fingerprint(5)), entries).unwrap();
    let chosen =
        |ranks| Choice::by(Some(&table), &Call::new(Collective::Scan, ranks, 1), 8).algorithm;
    assert_eq!([5, 6].map(chosen), [chain, Algorithm::Doubling]);
}

#[test]
fn what_would_be_quicker_and_is_refused_is_named() {
    let table =
        of("all_reduce on 4 ranks\nfrom 0 bytes: ring, 900 ns at 64 bytes; then halving, 12300 ns");
    let call = Call::new(Collective::AllReduce, 4, 100);
    let ordered = Choice::by(Some(&table), &call, 8);
    assert_eq!(ordered.algorithm, Algorithm::Halving);
    assert_eq!(
        ordered.reason,
        "12 µs were measured at 64 B on 4 ranks; ring would be quicker, and cannot be used"
    );
    let commuting = Choice::by(Some(&table), &call.commuting(), 8);
    assert_eq!(
        commuting.reason,
        "900 ns against 12 µs were measured at 64 B on 4 ranks"
    );
    assert_eq!(commuting.runner_up, Some(Algorithm::Halving));
}

// ── guidelines ──

/// Returns the guidelines that these lines break, each with its collective and size.
fn found(lines: &str) -> Vec<(Guideline, Collective, usize)> {
    let all = violations(&of(lines)).into_iter();
    all.map(|one| (one.guideline, one.collective, one.bytes))
        .collect()
}

/// Returns an entry with these times, of the sizes from which they hold.
fn entry(collective: &str, ranks: usize, times: &[(usize, u64)]) -> String {
    let rule =
        |(at, ns): &(usize, u64)| format!("from {at} bytes: binomial, {ns} ns at {at} bytes\n");
    let rules: String = times.iter().map(rule).collect();
    format!("{collective} on {ranks} ranks\n{rules}")
}

#[test]
fn times_that_break_a_guideline_are_found_and_others_are_not() {
    let parts = entry("reduce", 4, &[(64, 2000)]) + &entry("broadcast", 4, &[(64, 1000)]);
    let slow = parts.clone() + &entry("all_reduce", 4, &[(64, 4100)]);
    assert_eq!(
        found(&slow),
        [(Guideline::ReduceAndBroadcast, Collective::AllReduce, 64)]
    );
    let scatter = entry("scatter", 4, &[(64, 200)])
        + "all_gather on 4 ranks\nfrom 0 bytes: ring, 300 ns at 64 bytes\n";
    let slow = parts.clone() + &scatter;
    assert_eq!(
        found(&slow),
        [(Guideline::ScatterAndAllGather, Collective::Broadcast, 64)]
    );
    let cliff = entry("barrier", 4, &[(0, 1000)]) + &entry("barrier", 5, &[(0, 4000)]);
    assert_eq!(
        found(&cliff),
        [(Guideline::NextToAPowerOfTwo, Collective::Barrier, 0)]
    );
    let falls = entry("reduce", 4, &[(64, 9000), (1024, 2000)]);
    assert_eq!(
        found(&falls),
        [(Guideline::FewerBytes, Collective::Reduce, 64)]
    );
    let good = parts
        + &entry("all_reduce", 4, &[(64, 3500), (1024, 3400), (4096, 9000)])
        + &entry("barrier", 4, &[(0, 1000)])
        + &entry("barrier", 5, &[(0, 1900)])
        + &entry("barrier", 6, &[(0, 99_000)]);
    assert_eq!(found(&good), []);
    let untimed = "scan on 4 ranks\nfrom 0 bytes: chain\nfrom 9 bytes: doubling";
    assert_eq!(found(untimed), []);
}
