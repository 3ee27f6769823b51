//! Tuning tables: look-up, refusals and output formats, and that results are right with any table.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use rankfold::collective::{
    Algorithm, Call, Choice, Collective, Entry, Fingerprint, Guideline, Rule, TableError, Timed,
    TuningTable, violations,
};
use rankfold::machine::{Bind, Machine};
use rankfold::measure::Control;
use rankfold::topology::Levels;
use rankfold::tune::{Plan, tune};
use rankfold::{Comm, Error, World, WorldError, op};

mod common;
use common::{Compose, Map, cases, compose, fold, map, noise, scaled};

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
    let cells =
        (2..=64).contains(&call.ranks()) && call.most_written() as u128 * element as u128 <= 4096;
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
    let room = table.fingerprint().map_or(0, |of| of.room);
    let ranks = call.ranks();
    let of: Vec<&Entry> = table
        .entries()
        .iter()
        .filter(|e| e.collective == call.collective)
        .collect();
    let near: Vec<&Entry> = match of.iter().find(|e| e.ranks == ranks) {
        Some(exact) => vec![*exact],
        None => {
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
            let ratio =
                |e: &Entry| (e.ranks as f64).max(ranks as f64) / (e.ranks as f64).min(ranks as f64);
            both.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
            both
        }
    };
    for entry in near {
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
        (19, "doubling"),
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

// ── what is refused ──

#[test]
fn a_text_that_is_no_table_is_refused_with_its_line() {
    for (text, says) in [
        ("", "line 1: it is empty"),
        (
            "tuning",
            "line 1: a tuning table begins with `rankfold tuning 1`",
        ),
        ("rankfold tuning 2", "line 1: a tuning table begins with"),
        (
            "\n\nrankfold tuning 1\n\nnonsense",
            "line 5: `nonsense` is no line of a tuning table",
        ),
        (
            "rankfold tuning 1\nfrom 0 bytes: ring",
            "line 2: a rule before the first",
        ),
        (
            "rankfold tuning 1\nallreduce on 4 ranks",
            "line 2: no collective is called `allreduce`; did you mean",
        ),
        (
            "rankfold tuning 1\nscan on -4 ranks",
            "line 2: `-4` should be a whole number",
        ),
        (
            "rankfold tuning 1\nscan on 4 ranks",
            "scan on 4 ranks: an entry has at least one rank and one rule",
        ),
        (
            "rankfold tuning 1\nscan on 4 ranks\nfrom 0 bytes: dubling",
            "line 3: no algorithm is called `dubling`",
        ),
        (
            "rankfold tuning 1\nscan on 4 ranks\nfrom 0 bytes: ring",
            "scan on 4 ranks: ring does not do scan; these do:",
        ),
        (
            "rankfold tuning 1\nscan on 4 ranks\nfrom 18446744073709551616 bytes: chain",
            "line 3: `18446744073709551616`",
        ),
        (
            "rankfold tuning 1\nscan on 4 ranks\nfrom 0 bytes: chain, 1.5 ns",
            "line 3: `1.5 ns` should be",
        ),
        (
            "rankfold tuning 1\nscan on 4 ranks\nfrom 0 bytes; chain",
            "line 3: a rule is written",
        ),
        (
            "rankfold tuning 1\nscan on 4 ranks\nfrom 8 bytes: chain\nfrom 8 bytes: doubling",
            "from 8 bytes on comes too late",
        ),
        (
            "rankfold tuning 1\nscan on 4 ranks\nfrom 0 bytes: chain; then chain",
            "chain is its own runner-up",
        ),
        (
            "rankfold tuning 1\nscan on 4 ranks\nfrom 0 bytes: chain\nscan on 4 ranks\nfrom 0 bytes: chain",
            "there are two",
        ),
        (
            "rankfold tuning 1\nroom: 2",
            "there is no line `version: ...`",
        ),
        (
            "rankfold tuning 1\nroom: 2\nroom: 2",
            "line 3: `room` a second time",
        ),
    ] {
        let error = text.parse::<TuningTable>().unwrap_err().to_string();
        assert!(error.contains(says), "{text:?}: {error}");
    }
}

#[cfg(feature = "json")]
#[test]
fn json_that_is_no_table_is_refused_with_its_place() {
    let table =
        |inner: &str| format!(r#"{{"schema": "rankfold.tuning/1", "collectives": {{{inner}}}}}"#);
    let deep = "[".repeat(100_000);
    for (json, says) in [
        ("".into(), "EOF while parsing a value at line 1"),
        (deep, "invalid type: sequence"),
        (
            r#"{"schema": "rankfold.tuning/2", "collectives": {}}"#.into(),
            "schema: `rankfold.tuning/2` is none",
        ),
        (
            r#"{"schema": "rankfold.tuning/1"}"#.into(),
            "missing field `collectives`",
        ),
        (
            table(r#""scna": []"#),
            "collectives: no collective is called `scna`; did you mean `scan`?",
        ),
        (
            table(r#""scan": [], "scan": [], "x": 1"#),
            "invalid type: integer `1`",
        ),
        (
            table(r#""scan": [{"ranks": -1, "rules": []}]"#),
            "invalid value: integer `-1`",
        ),
        (
            table(r#""scan": [{"ranks": 1e30, "rules": []}]"#),
            "invalid type: floating point",
        ),
        (
            table(r#""scan": [{"ranks": 4, "rules": []}]"#),
            "scan on 4 ranks: an entry has at least",
        ),
        (
            table(r#""scan": [{"ranks": 4, "ranks": 4, "rules": []}]"#),
            "duplicate field `ranks`",
        ),
        (
            table(r#""scan": [{"ranks": 4, "rules": [{"from_bytes": 0, "alg": "chain"}]}]"#),
            "unknown field `alg`",
        ),
        (
            table(r#""scan": [{"ranks": 4, "rules": [{"from_bytes": 0, "algorithm": "cain"}]}]"#),
            "collectives: scan on 4 ranks: no algorithm is called `cain`; did you mean `chain`?",
        ),
        (
            table(
                r#""scan": [{"ranks": 4, "rules": [{"from_bytes": 0, "algorithm": "chain"}]}], "scan": [{"ranks": 4, "rules": [{"from_bytes": 0, "algorithm": "chain"}]}]"#,
            ),
            "scan on 4 ranks: there are two entries",
        ),
        (
            r#"{"schema": "rankfold.tuning/1", "remarks": ["a\nb"], "collectives": {}}"#.into(),
            "a remark must be one line",
        ),
    ] {
        let error = TuningTable::from_json(&json).unwrap_err().to_string();
        assert!(
            error.contains(says),
            "{}: {error}",
            &json[..json.len().min(200)]
        );
    }
}

#[test]
fn a_name_of_two_lines_is_refused_before_it_is_written() {
    let of = Fingerprint {
        model: "a\nb".into(),
        ..fingerprint(2)
    };
    assert_eq!(
        TuningTable::new(Some(of), Vec::new()),
        Err(TableError::Words { field: "processor" })
    );
}

fn started(world: World) -> String {
    match world.run(|comm| comm.barrier()) {
        Err(WorldError::Usage(line)) => line,
        other => panic!("it should not have started: {other:?}"),
    }
}

#[test]
fn a_table_of_another_machine_or_setting_is_refused_when_the_world_starts() {
    let here = Fingerprint::of(&Machine::here(), &Bind::Auto);
    let table = |of: Fingerprint| TuningTable::new(Some(of), Vec::new()).unwrap();
    World::new(2)
        .tuned(table(here.clone()))
        .run(|comm| comm.barrier())
        .unwrap();
    for (of, says) in [
        (
            Fingerprint {
                version: "0.0.1".into(),
                ..here.clone()
            },
            "another version of rankfold: it was written by 0.0.1, and this is",
        ),
        (
            Fingerprint {
                model: "Other".into(),
                ..here.clone()
            },
            "another machine: its processor is Other",
        ),
        (
            Fingerprint {
                parts: "core 999".into(),
                ..here.clone()
            },
            "another machine: it has core 999",
        ),
        (
            Fingerprint {
                cpus: "no CPU".into(),
                ..here.clone()
            },
            "it may use no CPU",
        ),
        (
            Fingerprint {
                bind: "none".into(),
                ..here.clone()
            },
            "its binding is none, and here it is auto",
        ),
    ] {
        let line = started(World::new(2).tuned(table(of)));
        assert!(
            line.contains(says) && line.ends_with("`rankfold tune`"),
            "{line}"
        );
    }
    let line = started(World::new(2).bind(Bind::None).tuned(table(here)));
    assert!(line.ends_with("`rankfold tune --bind none`"), "{line}");
}

// ── guidelines ──

#[test]
fn times_that_break_a_guideline_are_found_and_others_are_not() {
    let found = |lines: &str| {
        let all = violations(&of(lines)).into_iter();
        all.map(|one| (one.guideline, one.collective, one.bytes))
            .collect::<Vec<_>>()
    };
    let line = |collective: &str, ranks: usize, times: &[(usize, u64)]| {
        let rule =
            |(at, ns): &(usize, u64)| format!("from {at} bytes: binomial, {ns} ns at {at} bytes\n");
        format!(
            "{collective} on {ranks} ranks\n{}",
            times.iter().map(rule).collect::<String>()
        )
    };
    let parts = line("reduce", 4, &[(64, 2000)]) + &line("broadcast", 4, &[(64, 1000)]);
    let slow = parts.clone() + &line("all_reduce", 4, &[(64, 4100)]);
    assert_eq!(
        found(&slow),
        [(Guideline::ReduceAndBroadcast, Collective::AllReduce, 64)]
    );
    let scatter = line("scatter", 4, &[(64, 200)])
        + "all_gather on 4 ranks\nfrom 0 bytes: ring, 300 ns at 64 bytes\n";
    let slow = parts.clone() + &scatter;
    assert_eq!(
        found(&slow),
        [(Guideline::ScatterAndAllGather, Collective::Broadcast, 64)]
    );
    let cliff = line("barrier", 4, &[(0, 1000)]) + &line("barrier", 5, &[(0, 4000)]);
    assert_eq!(
        found(&cliff),
        [(Guideline::NextToAPowerOfTwo, Collective::Barrier, 0)]
    );
    let falls = line("reduce", 4, &[(64, 9000), (1024, 2000)]);
    assert_eq!(
        found(&falls),
        [(Guideline::FewerBytes, Collective::Reduce, 64)]
    );
    let good = parts
        + &line("all_reduce", 4, &[(64, 3500), (1024, 3400), (4096, 9000)])
        + &line("barrier", 4, &[(0, 1000)])
        + &line("barrier", 5, &[(0, 1900)])
        + &line("barrier", 6, &[(0, 99_000)]);
    assert_eq!(found(&good), []);
    assert_eq!(
        found("scan on 4 ranks\nfrom 0 bytes: chain\nfrom 9 bytes: doubling"),
        []
    );
}

// ── results ──

/// Runs one call of each collective, and compares all results with their definitions.
fn all_right(comm: &Comm, seed: u64) -> Result<(), Error> {
    let (me, ranks) = (comm.rank(), comm.size());
    // Blocks are equally long.
    let length = ranks * below(seed, 0, 4) * below(seed, 1, 80);
    let root = below(seed, 2, ranks);
    let maps = |rank: usize, n: usize| -> Vec<Map> { (0..n).map(|i| map(rank, i)).collect() };
    let all: Vec<Vec<Map>> = (0..ranks).map(|rank| maps(rank, length)).collect();
    let folded = fold(&all, compose);
    comm.barrier()?;
    let mut v = all[me].clone();
    comm.all_reduce(&mut v, Compose)?;
    assert_eq!(v, folded);
    let numbers =
        |rank: usize| -> Vec<u64> { (0..length).map(|i| noise(rank as u64, i as u64)).collect() };
    let mut v = numbers(me);
    comm.all_reduce(&mut v, op::Sum)?;
    let sums = fold(
        &(0..ranks).map(numbers).collect::<Vec<_>>(),
        u64::wrapping_add,
    );
    assert_eq!(v, sums);
    let mut v = all[me].clone();
    comm.reduce(root, &mut v, Compose)?;
    assert_eq!(&v, if me == root { &folded } else { &all[me] });
    let mut v = all[me].clone();
    comm.broadcast(root, &mut v)?;
    assert_eq!(v, all[root]);
    let mut v = all[me].clone();
    comm.scan(&mut v, Compose)?;
    assert_eq!(v, fold(&all[..=me], compose));
    let block = |rank: usize| rank * length / ranks..(rank + 1) * length / ranks;
    let mut own = vec![(0, 0); block(me).len()];
    comm.scatter(root, (me == root).then_some(&all[root][..]), &mut own)?;
    assert_eq!(own, all[root][block(me)]);
    comm.reduce_scatter(&all[me], &mut own, Compose)?;
    assert_eq!(own, folded[block(me)]);
    let mut whole = vec![(0, 0); length];
    comm.all_gather(&own, &mut whole)?;
    assert_eq!(whole, folded);
    let gathered = comm.gather(root, &own)?;
    assert_eq!(gathered, (me == root).then_some(folded));
    let pieces: Vec<(usize, usize)> = (0..3 * ranks).map(|i| (me, i)).collect();
    let mut got = vec![(0, 0); 3 * ranks];
    comm.all_to_all(&pieces, &mut got)?;
    let sent = |i: usize| (i / 3, 3 * me + i % 3);
    assert_eq!(got, (0..3 * ranks).map(sent).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn results_are_right_by_whatever_table() {
    for seed in 0..scaled(250) as u64 {
        let ranks = 2 + below(seed, 1, 5);
        let table = random(3 * seed + 1, 8);
        assert_eq!(table.fingerprint(), None);
        let mut world = World::new(ranks).tuned(table).check(seed % 2 == 0);
        if seed % 5 == 0 {
            world = world
                .machine(Machine::from_text("package:2 core:3").unwrap())
                .bind(Bind::Scatter);
        }
        let ran = world.run(|comm| (0..2).try_for_each(|i| all_right(comm, noise(seed, i))));
        ran.unwrap_or_else(|error| panic!("seed {seed}, {ranks} ranks: {error}"));
    }
}

#[test]
fn a_barrier_by_a_table_passes_no_gate() {
    let table = of("barrier on 4 ranks\nfrom 0 bytes: dissemination");
    let report = World::new(4)
        .check(false)
        .tuned(table)
        .run_each(|comm| comm.barrier());
    assert!(
        report.counts.iter().all(|rank| rank.messages == 2),
        "{:?}",
        report.counts
    );
}

#[test]
fn a_communicator_follows_the_entry_of_its_own_size_and_says_so() {
    let table = of(
        "all_reduce on 2 ranks\nfrom 0 bytes: binomial, 1200 ns at 4096 bytes; then cells, 1900 ns",
    );
    let said = World::new(4).tuned(table).run(|comm| {
        let half = comm.split(comm.rank() as u32 / 2, 0)?;
        let of = |comm: &Comm| {
            comm.explain::<f32>(&Call::new(Collective::AllReduce, comm.size(), 9).commuting())
        };
        Ok((of(&half)?.reason, of(comm)?.reason))
    });
    for (half, whole) in said.unwrap() {
        assert_eq!(
            half,
            "1.2 µs against 1.9 µs were measured at 4 KiB on 2 ranks"
        );
        assert!(
            whole.contains("were measured at 4 KiB on 2 ranks"),
            "{whole}"
        );
    }
}

// ── a measured table ──

#[test]
fn a_measured_table_is_whole_good_here_and_followed() {
    let plan = Plan {
        collectives: vec![
            Collective::AllReduce,
            Collective::Broadcast,
            Collective::Barrier,
        ],
        ranks: vec![1, 2, 3],
        bytes: vec![8, 1024],
        time: Duration::from_secs(2),
        ..Plan::of(&Machine::here())
    };
    let mut last = Duration::ZERO;
    let tuned = tune(&plan, &Control::default(), &mut |progress| {
        assert!(progress.elapsed >= last && progress.point.refused().is_none());
        last = progress.elapsed;
    });
    let tuned = tuned.unwrap();
    assert_eq!((tuned.places.0, tuned.interrupted), (10, false));
    assert!(tuned.places.1 > 0 && tuned.passes > 0);
    // The noise of the whole measurement: without it a table cannot be refused.
    assert!(tuned.noise.wall_s > 0.0);
    let entries = tuned.table.entries();
    let rules: Vec<&Rule> = entries.iter().flat_map(|entry| &entry.rules).collect();
    assert_eq!(rules.len(), tuned.places.1);
    assert!(
        rules
            .iter()
            .all(|rule| rule.at.is_some() && rule.best.ns > Some(0))
    );
    assert!(entries.iter().all(|entry| entry.rules[0].from == 0));
    assert_eq!(tuned.violations, violations(&tuned.table));
    assert_eq!(tuned.table.to_string().parse(), Ok(tuned.table.clone()));
    let best = tuned.table.entry(Collective::AllReduce, 2).unwrap().rules[0].best;
    let ran = World::new(2).tuned(tuned.table).run(|comm| {
        let call = Call::new(Collective::AllReduce, 2, 1).commuting();
        let choice = comm.explain::<f32>(&call)?;
        assert_eq!(choice.algorithm, best.algorithm);
        assert!(
            choice.reason.contains("measured at 8 B on 2 ranks"),
            "{}",
            choice.reason
        );
        all_right(comm, 1)
    });
    ran.unwrap();
}

#[test]
fn tuning_that_is_stopped_says_so() {
    let control = Control::default();
    control
        .stop
        .store(true, std::sync::atomic::Ordering::Relaxed);
    let tuned = tune(&Plan::of(&Machine::here()), &control, &mut |_| {
        panic!("nothing is measured")
    })
    .unwrap();
    assert!(tuned.interrupted && tuned.table.entries().is_empty());
}
