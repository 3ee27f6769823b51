//! Tables that were measured, and worlds that follow a table or refuse it.

use std::env;
use std::process::Command;
use std::time::Duration;

use rankfold::collective::{
    Algorithm, Call, Collective, Fingerprint, Rule, TuningTable, violations,
};
use rankfold::machine::{Bind, Machine};
use rankfold::measure::Control;
use rankfold::tune::{Plan, Tuned, tune};
use rankfold::{Comm, Error, World, WorldError, op};

use super::{below, of, random};
use crate::common::{Compose, Map, compose, fold, map, noise, scaled};

fn started(world: World) -> String {
    match world.run(|comm| comm.barrier()) {
        Err(WorldError::Usage(line)) => line,
        other => panic!("it should not have started: {other:?}"),
    }
}

/// What differs from this machine or setting in one thing, and what is said of it.
fn others(here: &Fingerprint) -> [(Fingerprint, &'static str); 5] {
    [
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
    ]
}

#[test]
fn a_table_of_another_machine_or_setting_is_refused_when_the_world_starts() {
    let here = Fingerprint::of(&Machine::here(), &Bind::Auto);
    let table = |of: Fingerprint| TuningTable::new(Some(of), Vec::new()).unwrap();
    World::new(2)
        .tuned(table(here.clone()))
        .run(|comm| comm.barrier())
        .unwrap();
    for (of, says) in others(&here) {
        let line = started(World::new(2).tuned(table(of)));
        assert!(
            line.contains(says) && line.ends_with("`rankfold tune`"),
            "{line}"
        );
    }
    let line = started(World::new(2).bind(Bind::None).tuned(table(here)));
    assert!(line.ends_with("`rankfold tune --bind none`"), "{line}");
}

// ── results ──

/// Runs one call of each collective, and compares all results with their definitions.
fn all_right(comm: &Comm, seed: u64) -> Result<(), Error> {
    let ranks = comm.size();
    // Blocks are equally long.
    let length = ranks * below(seed, 0, 4) * below(seed, 1, 80);
    let root = below(seed, 2, ranks);
    let maps = |rank: usize| -> Vec<Map> { (0..length).map(|i| map(rank, i)).collect() };
    let all: Vec<Vec<Map>> = (0..ranks).map(maps).collect();
    comm.barrier()?;
    vectors_right(comm, root, &all)?;
    blocks_right(comm, root, &all)?;
    exchange_right(comm)
}

/// The collectives of whole vectors.
fn vectors_right(comm: &Comm, root: usize, all: &[Vec<Map>]) -> Result<(), Error> {
    let (me, length) = (comm.rank(), all[0].len());
    let folded = fold(all, compose);
    let mut v = all[me].clone();
    comm.all_reduce(&mut v, Compose)?;
    assert_eq!(v, folded);
    let numbers =
        |rank: usize| -> Vec<u64> { (0..length).map(|i| noise(rank as u64, i as u64)).collect() };
    let mut v = numbers(me);
    comm.all_reduce(&mut v, op::Sum)?;
    let sums = fold(
        &(0..all.len()).map(numbers).collect::<Vec<_>>(),
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
    Ok(())
}

/// The collectives of one block for each rank.
fn blocks_right(comm: &Comm, root: usize, all: &[Vec<Map>]) -> Result<(), Error> {
    let (me, ranks, length) = (comm.rank(), comm.size(), all[0].len());
    let folded = fold(all, compose);
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
    Ok(())
}

/// The exchange of all ranks with all.
fn exchange_right(comm: &Comm) -> Result<(), Error> {
    let (me, ranks) = (comm.rank(), comm.size());
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

/// With this table 4 ranks all-reduce 8 bytes along a binomial tree, there and back: 6 messages.
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/cli/tuned.txt");

#[test]
fn a_world_explains_what_it_runs_whatever_machine_and_table_the_environment_names() {
    let report = World::new(4).check(false).run_each(|comm| {
        let call = Call::new(Collective::AllReduce, 4, 1).commuting();
        let choice = comm.explain::<f64>(&call)?;
        comm.all_reduce(&mut [1.0], op::Sum)?;
        Ok((choice.algorithm, choice.reason))
    });
    let sent: u64 = report.counts.iter().map(|rank| rank.messages).sum();
    let (algorithm, reason) = report.into_result().unwrap().remove(0);
    let named = |name| env::var_os(name).is_some();
    match (named("RANKFOLD_MACHINE"), named("RANKFOLD_TUNING")) {
        (false, false) => {
            let both = [("RANKFOLD_TUNING", TABLE), ("RANKFOLD_MACHINE", "core:4")];
            [&both[..1], &both[1..], &both]
                .iter()
                .for_each(|named| assert_again(named));
        }
        (false, true) => {
            assert_eq!((algorithm.to_string(), sent), ("binomial".into(), 6));
            assert!(reason.contains("were measured"), "{reason}");
        }
        (true, _) => {
            assert_eq!((algorithm, sent), (Algorithm::Cells, 4 * 3));
            assert!(!reason.contains("table"), "{reason}");
        }
    }
}

/// Runs the test above once more, with these variables.
fn assert_again(named: &[(&str, &str)]) {
    let test =
        "worlds::a_world_explains_what_it_runs_whatever_machine_and_table_the_environment_names";
    let mut run = Command::new(env::current_exe().unwrap());
    let output = run
        .args(["--exact", test])
        .envs(named.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{named:?}: {said}"
    );
}

// ── a measured table ──

/// A short measurement of three collectives.
fn short_plan() -> Plan {
    Plan {
        collectives: vec![
            Collective::AllReduce,
            Collective::Broadcast,
            Collective::Barrier,
        ],
        ranks: vec![1, 2, 3],
        bytes: vec![8, 1024],
        time: Duration::from_secs(2),
        ..Plan::of(&Machine::here())
    }
}

/// Checks that the short plan was measured whole.
fn is_whole(tuned: &Tuned) {
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
}

#[test]
fn a_measured_table_is_whole_good_here_and_followed() {
    let mut last = Duration::ZERO;
    let tuned = tune(&short_plan(), &Control::default(), &mut |progress| {
        assert!(progress.elapsed >= last && progress.point.refused().is_none());
        last = progress.elapsed;
    });
    let tuned = tuned.unwrap();
    is_whole(&tuned);
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
