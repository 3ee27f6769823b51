//! Collectives follow the machine automatically: on simulated machines of several kinds, the automatic choice gives the
//! result of the plainest code, and the number of messages across each bound is minimal.

use std::env;
use std::process::Command;

use rankfold::collective::{Algorithm, Call, Choice, Collective};
use rankfold::machine::{Machine, ObjectKind, Unpinned};
use rankfold::op::{self, Element, Operator};
use rankfold::span::Blocks;
use rankfold::topology::Levels;
use rankfold::{Bind, Comm, Error, Result, World, WorldError};

mod again;
mod common;

use common::{Compose, Map, compose, fold, map};

/// Machines, and the number of ranks on each: groups of one size and of several, in two levels and in more.
const MACHINES: [(&str, usize); 6] = [
    ("package:2 core:8", 16),
    ("package:2 numa:2 l3:2 core:4", 32),
    ("l3:4 core:3", 11),
    ("numa:3 core:4", 10),
    (
        "{ package:1 numa:1 core:5 + package:1 { numa:1 l3:2 core:2 + numa:1 core:3 } }",
        12,
    ),
    ("package:2 core:2 cpu:2", 8),
];

const FOLLOWING: [Collective; 6] = [
    Collective::Barrier,
    Collective::Broadcast,
    Collective::Reduce,
    Collective::AllReduce,
    Collective::ReduceScatter,
    Collective::AllGather,
];

fn world(text: &str, ranks: usize) -> World {
    let machine = Machine::from_text(text).unwrap();
    World::new(ranks).machine(machine).bind(Bind::Compact)
}

fn levels(world: &World) -> Option<Levels> {
    let mut all = world.run(|comm| Ok(comm.levels().cloned())).unwrap();
    let first = all.pop().unwrap();
    assert!(
        all.iter().all(|levels| *levels == first),
        "the same on every rank"
    );
    first
}

/// Runs one collective of vectors of `n` elements; returns this rank's result.
fn run<T: Element>(
    comm: &Comm,
    (collective, root, n): (Collective, usize, usize),
    element: impl Fn(usize, usize) -> T,
    op: impl Operator<T>,
) -> Result<Vec<T>> {
    let mut whole: Vec<T> = (0..n).map(|i| element(comm.rank(), i)).collect();
    let blocks = Blocks::even(n, comm.size());
    let mut own = vec![element(0, 0); blocks.count(comm.rank())];
    match collective {
        Collective::Barrier => return comm.barrier().map(|()| Vec::new()),
        Collective::Broadcast => comm.broadcast(root, &mut whole)?,
        Collective::Reduce => comm.reduce(root, &mut whole, op)?,
        Collective::AllReduce => comm.all_reduce(&mut whole, op)?,
        Collective::ReduceScatter => {
            comm.reduce_scatter(&whole, &mut own, op)?;
            return Ok(own);
        }
        _ => {
            let mine = whole[blocks.run(comm.rank()..comm.rank() + 1)].to_vec();
            let counts: Vec<usize> = (0..comm.size()).map(|rank| blocks.count(rank)).collect();
            comm.all_gather_v(&mine, &counts, &mut whole)?;
        }
    }
    Ok(whole)
}

/// The same by the plainest code, rank by rank.
fn meant<T: Element>(
    (collective, root, n): (Collective, usize, usize),
    ranks: usize,
    element: impl Fn(usize, usize) -> T,
    op: impl Fn(T, T) -> T,
) -> Vec<Vec<T>> {
    let vector = |rank: usize| -> Vec<T> { (0..n).map(|i| element(rank, i)).collect() };
    let inputs: Vec<Vec<T>> = (0..ranks).map(vector).collect();
    let total = fold(&inputs, op);
    let block = |rank: usize| rank * n / ranks..(rank + 1) * n / ranks;
    let gathered = |_| -> Vec<T> {
        (0..ranks)
            .flat_map(|r| inputs[r][block(r)].to_vec())
            .collect()
    };
    let of_rank = |rank: usize| match collective {
        Collective::Barrier => Vec::new(),
        Collective::Broadcast => inputs[root].clone(),
        Collective::Reduce if rank != root => inputs[rank].clone(),
        Collective::ReduceScatter => total[block(rank)].to_vec(),
        Collective::AllGather => gathered(rank),
        _ => total.clone(),
    };
    (0..ranks).map(of_rank).collect()
}

fn sum(rank: usize, i: usize) -> u64 {
    (rank * 1000 + i) as u64
}

/// Returns the senders, receivers and bytes of all messages in a run of one collective.
fn sent<T: Element + PartialEq + std::fmt::Debug>(
    world: &World,
    call: (Collective, usize, usize),
    (element, meaning): (impl Fn(usize, usize) -> T + Sync, fn(T, T) -> T),
    op: impl Operator<T> + Copy + Sync,
) -> Vec<((usize, usize), usize)> {
    let traced = world.clone().trace(true);
    let report = traced.run_each(|comm| run(comm, call, &element, op));
    let trace = report.trace().unwrap();
    let results = report.into_result().unwrap();
    let ranks = results.len();
    assert_eq!(results, meant(call, ranks, &element, meaning), "{call:?}");
    let messages = trace.messages.iter();
    messages.map(|m| ((m.from, m.to), m.bytes)).collect()
}

#[test]
fn each_collective_is_right_and_sends_no_message_more_between_groups_than_must() {
    for (text, ranks) in MACHINES {
        let world = world(text, ranks);
        let levels = levels(&world).unwrap();
        assert!(levels.have_groups() && levels.are_runs(), "{text}");
        for collective in FOLLOWING {
            for root in if collective.has_root() {
                vec![0, ranks - 1]
            } else {
                vec![0]
            } {
                let call = (collective, root, 2 * ranks + 1);
                let numbers = sent(&world, call, (sum, |a, b| a + b), op::Sum);
                let maps = sent(&world, call, (map, compose as fn(Map, Map) -> Map), Compose);
                for level in 0..levels.depth() - 1 {
                    let name = format!("{collective} on {text}, level {level}");
                    least(&name, collective, &levels, level, (&numbers, 8));
                    least(&name, collective, &levels, level, (&maps, size_of::<Map>()));
                }
            }
        }
    }
}

type Messages = [((usize, usize), usize)];

/// Checks that the traffic across the bounds of a level is minimal: for whole vectors one message for each group but
/// one, and twice as many for both directions; for blocks all that are not a group's own.
fn least(
    name: &str,
    collective: Collective,
    levels: &Levels,
    level: usize,
    (messages, element): (&Messages, usize),
) {
    let groups = levels.groups(level);
    let crossing = |ends| levels.crossings(&[ends], level) == 1;
    let crossed: Vec<usize> = messages
        .iter()
        .filter(|(ends, _)| crossing(*ends))
        .map(|(_, bytes)| *bytes)
        .collect();
    let n = 2 * levels.ranks() + 1;
    let blocks = Blocks::even(n, levels.ranks());
    let own = |group: &Vec<usize>| group.iter().map(|&rank| blocks.count(rank)).sum::<usize>();
    match collective {
        Collective::ReduceScatter | Collective::AllGather => {
            let volume: usize = groups.iter().map(|group| n - own(group)).sum();
            assert_eq!(crossed.iter().sum::<usize>(), volume * element, "{name}");
        }
        Collective::Broadcast | Collective::Reduce => {
            assert_eq!(crossed.len(), groups.len() - 1, "{name}");
        }
        _ => assert_eq!(crossed.len(), 2 * (groups.len() - 1), "{name}"),
    }
}

#[test]
fn the_choice_follows_the_machine_for_short_vectors_and_goes_to_neighbours_with_long_ones() {
    for (text, ranks) in MACHINES {
        let world = world(text, ranks);
        let choices = |collective: Collective, n: usize| -> Choice {
            let call = Call::new(collective, ranks, n).commuting();
            let all = world.run(|comm| comm.explain::<u64>(&call)).unwrap();
            assert!(all.iter().all(|choice| *choice == all[0]));
            all[0].clone()
        };
        for collective in FOLLOWING {
            let short = choices(collective, ranks);
            assert_eq!(short.algorithm, Algorithm::HIERARCHICAL, "{collective}");
            assert_eq!(
                short.to_string().rsplit("; ").next(),
                Some(&*short.levels),
                "{short}"
            );
            let long = choices(collective, 1 << 16);
            assert_eq!(
                long.algorithm == Algorithm::HIERARCHICAL,
                collective == Collective::Barrier,
                "{long}"
            );
        }
        let scan = choices(Collective::Scan, ranks);
        assert_eq!(scan.algorithm, Algorithm::Doubling);
    }
}

#[test]
fn long_vectors_are_right_too() {
    let world = world("l3:2 core:3", 6);
    for collective in FOLLOWING {
        let call = (collective, 0, 5000);
        sent(&world, call, (sum, |a, b| a + b), op::Sum);
        sent(&world, call, (map, compose as fn(Map, Map) -> Map), Compose);
    }
}

#[test]
fn what_is_asked_for_by_name_follows_the_communicators_own_levels() {
    let report = world("package:2 core:4", 8).trace(true).run_each(|comm| {
        let mut v = [comm.rank()];
        comm.using(Algorithm::HIERARCHICAL)
            .all_reduce(&mut v, op::Sum)?;
        comm.using(Algorithm::HIERARCHICAL).barrier()?;
        Ok(v[0])
    });
    let trace = report.trace().unwrap();
    let crossing = trace.messages.iter().filter(|m| m.from / 4 != m.to / 4);
    assert_eq!(crossing.count(), 2 + 2);
    assert_eq!(report.placement.why_unpinned, Some(Unpinned::StandIn));
    assert_eq!(report.into_result().unwrap(), [28; 8]);
}

#[test]
fn parts_of_a_world_have_levels_of_their_own() {
    let world = world("package:2 numa:2 core:4", 16);
    let said = world.run(|comm| {
        let text = |comm: &Comm| comm.levels().map(|levels| levels.to_string());
        let turned = comm.split(0, -(comm.rank() as i64))?;
        let even = comm.split(comm.rank() as u32 % 2, 0)?;
        let package = comm.split(comm.rank() as u32 / 8, 0)?;
        let node = comm.split(comm.rank() as u32 / 4, 0)?;
        let mixed = comm.split(0, (comm.rank() % 4) as i64)?;
        let runs = mixed.levels().is_some_and(Levels::are_runs);
        let mut v = [(comm.rank() as u32 + 2, 1)];
        mixed.all_reduce(&mut v, Compose)?; // groups are not runs: a flat form keeps rank order
        let maps: Vec<Map> = (0..16).map(|i| ((i % 4) * 4 + i / 4 + 2, 1)).collect();
        assert_eq!(v[0], maps.into_iter().reduce(compose).unwrap());
        Ok((
            [text(&turned), text(&even), text(&package), text(&node)],
            runs,
        ))
    });
    for (texts, runs) in said.unwrap() {
        let [turned, even, package, node] = texts.map(|text| text.unwrap_or_default());
        assert_eq!(turned, "16 ranks in 4 NUMA nodes in 2 packages in one");
        assert_eq!(even, "8 ranks in 4 NUMA nodes in 2 packages in one");
        assert_eq!(package, "8 ranks in 2 NUMA nodes in one");
        assert_eq!((node.as_str(), runs), ("", false));
    }
}

#[test]
fn levels_that_are_switched_off_are_not_followed() {
    let world = world("package:2 numa:2 l3:2 core:2", 16);
    let text = |kinds: &[ObjectKind]| {
        let levels = levels(&world.clone().levels(kinds));
        levels.map(|levels| levels.to_string()).unwrap_or_default()
    };
    assert_eq!(
        text(&[ObjectKind::L3, ObjectKind::Package]),
        "16 ranks in 8 L3 caches in 2 packages in one"
    );
    assert_eq!(text(&[ObjectKind::Node]), "16 ranks in 4 NUMA nodes in one");
    assert_eq!(text(&[]), "");
    let flat = world.levels(&[]).run(|comm| {
        let call = Call::new(Collective::AllReduce, 16, 1).commuting();
        comm.explain::<u64>(&call)
    });
    let flat = &flat.unwrap()[0];
    let call = Call::new(Collective::AllReduce, 16, 1).commuting();
    assert_eq!(flat.algorithm, Choice::quickly::<u64>(&call));
    assert_ne!(flat.algorithm, Algorithm::HIERARCHICAL);
    assert_eq!(
        flat.levels,
        "no hierarchy: the world looks at no level of the machine"
    );
}

#[test]
fn where_there_is_nothing_to_follow_the_choice_is_flat_and_says_why() {
    let explained = |world: World, ranks: usize| {
        let choice = world.run(|comm| {
            let call = Call::new(Collective::AllReduce, ranks, 3).commuting();
            assert_eq!(
                comm.explain::<u64>(&call)?.algorithm,
                Choice::quickly::<u64>(&call)
            );
            Ok(comm.explain::<u64>(&call)?.levels)
        });
        choice.unwrap().pop().unwrap()
    };
    let domain = "no hierarchy: no package, NUMA node or L3 cache tells the ranks apart";
    assert_eq!(explained(world("l3:1 core:8", 8), 8), domain);
    assert_eq!(
        explained(world("package:2 core:8", 8), 8),
        domain,
        "compact: all in the first package"
    );
    assert_eq!(
        explained(world("package:4 core:2", 4).bind(Bind::Scatter), 4),
        "no hierarchy: the ranks here are all together, or each by itself"
    );
    assert_eq!(
        explained(world("package:2 core:2", 3), 3),
        "no hierarchy: of 3 ranks in 2 packages in one, at most one has more than one rank"
    );
    assert_eq!(
        explained(world("package:2 core:2", 9), 9),
        "no hierarchy: no rank is pinned: 9 ranks on 4 CPUs"
    );
    assert_eq!(
        explained(World::new(4).bind(Bind::None), 4),
        "no hierarchy: no rank is pinned: not asked for"
    );
}

#[test]
fn a_rank_that_dies_or_goes_elsewhere_ends_what_follows_the_machine_for_all_who_need_it() {
    let world = world("package:2 l3:2 core:2", 8);
    for collective in FOLLOWING {
        for victim in [0, 3, 4, 7] {
            let report = world.run_each(|comm| {
                if comm.rank() == victim {
                    return Err(Error::user("had enough"));
                }
                run(comm, (collective, 0, 9), sum, op::Sum).map(|_| ())
            });
            assert_eq!(report.culprit, Some(victim), "{collective}");
            let failed = report.outcomes.iter().filter(|o| o.value().is_none());
            let all = matches!(collective, Collective::Barrier | Collective::AllReduce);
            assert!(!all || failed.count() == 8, "{collective}, {victim}");
        }
    }
    for check in [false, true] {
        let mixed = world.clone().check(check).run_each(|comm| {
            if comm.rank() == 5 {
                return comm.barrier();
            }
            comm.all_reduce(&mut [comm.rank()], op::Sum)
        });
        assert!(mixed.mismatch.is_some(), "checked: {check}");
        assert!(mixed.outcomes.iter().all(|o| o.value().is_none()));
    }
}

#[test]
fn who_is_left_after_a_death_has_groups_of_the_living() {
    let world = world("package:2 core:3", 6);
    let report = world.run_each(|comm| {
        assert_ne!(comm.rank(), 1, "rank 1 fails");
        assert!(comm.barrier().is_err());
        let living = comm.shrink()?;
        let mut v = [comm.rank()];
        living.all_reduce(&mut v, op::Sum)?;
        Ok((living.levels().map(|levels| levels.groups(0)), v[0]))
    });
    let groups = vec![vec![0, 1], vec![2, 3, 4]];
    let outcomes = report.outcomes.iter().filter_map(|o| o.value());
    assert!(
        outcomes
            .clone()
            .all(|value| *value == (Some(groups.clone()), 14))
    );
    assert_eq!(outcomes.count(), 5);
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[
        "levels_that_are_switched_off",
        "where_there_is_nothing_to_follow",
        "worlds_that_choose_no_machine",
    ]);
}

/// The algorithm of a barrier of three ranks, if their world can start.
fn barrier_of(world: &World) -> Result<Algorithm, WorldError> {
    let chosen = world.run(|comm| comm.explain::<u8>(&Call::new(Collective::Barrier, 3, 0)));
    chosen.map(|all: Vec<Choice>| all[0].algorithm)
}

#[test]
fn worlds_that_choose_no_machine_plan_for_the_one_that_the_environment_names() {
    let own = World::new(3).machine(Machine::from_text("core:1").unwrap());
    let chosen = barrier_of(&World::new(3));
    match env::var("RANKFOLD_MACHINE").ok().as_deref() {
        None => ["core:1", "core:64", "cores:64", ""]
            .iter()
            .for_each(|text| assert_again_on(text)),
        Some("") => assert!(chosen.is_ok()),
        Some("core:1") => assert_eq!(chosen.unwrap(), Algorithm::Gate),
        Some("core:64") => assert_eq!(chosen.unwrap(), Algorithm::Cells),
        Some(_) => {
            let Err(WorldError::Usage(says)) = chosen else {
                panic!("a machine of cores");
            };
            assert!(says.starts_with("RANKFOLD_MACHINE: "), "{says}");
            assert!(says.ends_with("; or unset RANKFOLD_MACHINE"), "{says}");
        }
    }
    assert_eq!(barrier_of(&own).unwrap(), Algorithm::Gate);
}

/// Runs the test above once more, on this machine.
fn assert_again_on(machine: &str) {
    let test = "worlds_that_choose_no_machine_plan_for_the_one_that_the_environment_names";
    let mut run = Command::new(env::current_exe().unwrap());
    let run = run.args(["--exact", test]).env("RANKFOLD_MACHINE", machine);
    let output = run.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{machine}: {said}");
    assert!(said.contains("1 passed"), "{machine}: {said}");
}
