//! Barrier, broadcast, reduce and all_reduce against plain folds: every number of ranks up to 33, every kind of length,
//! every root, operators that commute and one that does not, call upon call.

mod again;
mod common;

use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Compose, assert_usage, fold, map, noise, scaled, stride, team};
use rankfold::machine::Machine;
use rankfold::op::{self, Element, Operator};
use rankfold::{Comm, Rank, Result, Source, Tag, Team, World, WorldError};

// ── the table ──

/// A kind of element with an operator on it.
struct Kind<T, O> {
    input: fn(Rank, usize) -> T,
    op: O,
}

/// All buffers of one length, and their fold.
struct Case<T> {
    inputs: Vec<Vec<T>>,
    want: Vec<T>,
}

impl<T: Element, O: Operator<T> + Copy> Kind<T, O> {
    fn case(&self, ranks: usize, len: usize) -> Case<T> {
        let of = |rank| (0..len).map(|i| (self.input)(rank, i)).collect();
        let inputs: Vec<Vec<T>> = (0..ranks).map(of).collect();
        let want = fold(&inputs, |a, b| self.op.combine(a, b));
        Case { inputs, want }
    }
}

fn lengths(ranks: usize) -> Vec<usize> {
    let mut all = vec![
        0,
        1,
        2,
        3,
        4,
        5,
        ranks - 1,
        ranks,
        ranks + 1,
        100,
        1000,
        4099,
    ];
    all.sort_unstable();
    all.dedup();
    all
}

fn roots(ranks: usize) -> Vec<Rank> {
    if ranks <= 9 {
        (0..ranks).collect()
    } else {
        vec![0, 1, ranks - 1]
    }
}

/// Runs every collective with this kind, for every length, without a pause in between.
fn all_lengths<T, O>(team: &Team, kind: &Kind<T, O>)
where
    T: Element + PartialEq + Debug,
    O: Operator<T> + Copy + Sync,
{
    let ranks = team.size();
    let cases: Vec<_> = lengths(ranks)
        .into_iter()
        .map(|len| kind.case(ranks, len))
        .collect();
    let all = |comm: &Comm| {
        cases
            .iter()
            .try_for_each(|case| all_collectives(comm, case, kind.op))
    };
    team.run(all).unwrap();
}

fn all_collectives<T, O>(comm: &Comm, case: &Case<T>, op: O) -> Result<()>
where
    T: Element + PartialEq + Debug,
    O: Operator<T> + Copy,
{
    let mine = &case.inputs[comm.rank()];
    let by = |a, b| op.combine(a, b);
    for root in roots(comm.size()) {
        let mut buf = mine.clone();
        comm.broadcast(root, &mut buf)?;
        same(comm, "broadcast", root, &buf, &case.inputs[root]);

        let want = if comm.rank() == root {
            &case.want
        } else {
            mine
        };
        let mut buf = mine.clone();
        comm.reduce(root, &mut buf, op)?;
        same(comm, "reduce", root, &buf, want);
        let mut buf = mine.clone();
        comm.reduce(root, &mut buf, by)?;
        same(comm, "reduce with a closure", root, &buf, want);
    }
    let mut buf = mine.clone();
    comm.all_reduce(&mut buf, op)?;
    same(comm, "all_reduce", 0, &buf, &case.want);
    let mut buf = mine.clone();
    comm.all_reduce(&mut buf, by)?;
    same(comm, "all_reduce with a closure", 0, &buf, &case.want);
    let mut buf = case.inputs[0].clone();
    comm.all_reduce_into(mine, &mut buf, op)?;
    same(comm, "all_reduce_into", 0, &buf, &case.want);
    Ok(())
}

#[track_caller]
fn same<T: PartialEq + Debug>(comm: &Comm, call: &str, root: Rank, got: &[T], want: &[T]) {
    let place = (0..want.len()).find(|&i| got.get(i) != want.get(i));
    if let Some(i) = place {
        let (me, ranks, len) = (comm.rank(), comm.size(), want.len());
        panic!(
            "{call}, root {root}, rank {me} of {ranks}, element {i} of {len}: {:?}, not {:?}",
            got[i], want[i]
        );
    }
    assert_eq!(got.len(), want.len());
}

fn integers() -> Kind<u64, op::Sum> {
    Kind {
        input: |rank, i| noise(rank as u64, i as u64),
        op: op::Sum,
    }
}

/// Elements with padding, with a closure that is declared commutative.
fn padded() -> Kind<(u8, u64), impl Operator<(u8, u64)> + Copy + Sync> {
    let both = |a: (u8, u64), b: (u8, u64)| (a.0.wrapping_add(b.0), a.1.max(b.1));
    Kind {
        input: |rank, i| ((rank + i) as u8, noise(i as u64, rank as u64)),
        op: op::commutative(both),
    }
}

fn maps() -> Kind<common::Map, Compose> {
    Kind {
        input: map,
        op: Compose,
    }
}

fn every_kind(team: &Team) {
    all_lengths(team, &integers());
    all_lengths(team, &padded());
    all_lengths(team, &maps());
}

#[test]
fn collectives_are_plain_folds_for_up_to_9_ranks_and_every_root() {
    (1..=9).for_each(|ranks| every_kind(&team(ranks)));
}

#[test]
fn collectives_are_plain_folds_for_10_to_20_ranks() {
    (10..=20)
        .step_by(stride())
        .for_each(|ranks| every_kind(&team(ranks)));
}

#[test]
fn collectives_are_plain_folds_for_21_to_33_ranks_and_64() {
    let many = (21..=33).step_by(stride()).chain([64]);
    many.for_each(|ranks| every_kind(&team(ranks)));
}

#[test]
fn collectives_are_the_same_with_a_round_of_agreement_before_each() {
    for ranks in [1, 2, 3, 5, 8, 13] {
        every_kind(&World::new(ranks).check(true).start().unwrap());
    }
}

#[test]
fn built_in_operators_reduce_as_they_combine() {
    fn each<T: Element + PartialEq + Debug, O: Operator<T> + Copy + Sync>(
        teams: &[Team],
        op: O,
        input: fn(Rank, usize) -> T,
    ) {
        for team in teams {
            let case = Kind { input, op }.case(team.size(), 7);
            team.run(|comm| all_collectives(comm, &case, op)).unwrap();
        }
    }
    let small: fn(Rank, usize) -> i32 = |rank, i| noise(rank as u64, i as u64) as i32;
    let float: fn(Rank, usize) -> f64 = |rank, i| (noise(rank as u64, i as u64) % 1000) as f64;
    let truth: fn(Rank, usize) -> bool = |rank, i| noise(rank as u64, i as u64).is_multiple_of(2);
    let place: fn(Rank, usize) -> (f32, u32) =
        |rank, i| ((noise(i as u64, rank as u64) % 3) as f32, rank as u32);
    let teams = [1, 2, 3, 6, 11].map(team);
    each(&teams, op::Product, small);
    each(&teams, op::Min, small);
    each(&teams, op::Max, float);
    each(&teams, op::Sum, float); // whole numbers, so that every order gives the same
    each(&teams, op::Or, truth);
    each(&teams, op::And, truth);
    each(&teams, op::Xor, small);
    each(&teams, op::MinLoc, place);
    each(&teams, op::MaxLoc, place);
}

// ── the same bits ──

/// Returns the bits of a sum of numbers that round, on every rank.
fn rounded_sums(team: &Team, len: usize) -> Vec<Vec<u64>> {
    let number =
        |rank: Rank, i: usize| 1.0 / (1.0 + (noise(rank as u64, i as u64) % 10_000) as f64);
    let sums = team.run(|comm| {
        let mut sum: Vec<f64> = (0..len).map(|i| number(comm.rank(), i)).collect();
        comm.all_reduce(&mut sum, op::Sum)?;
        Ok(sum.iter().map(|x| x.to_bits()).collect())
    });
    sums.unwrap()
}

#[test]
fn rounded_sums_have_the_same_bits_on_all_ranks_and_in_every_run() {
    for ranks in 1..=17 {
        let (team, other) = (team(ranks), World::new(ranks).check(true).start().unwrap());
        for len in [1, 5, 300] {
            let first = rounded_sums(&team, len);
            assert!(
                first.iter().all(|sum| *sum == first[0]),
                "{ranks} ranks, {len} elements"
            );
            assert_eq!(
                first,
                rounded_sums(&team, len),
                "{ranks} ranks, {len} elements, again"
            );
            assert_eq!(
                first,
                rounded_sums(&other, len),
                "{ranks} ranks, {len} elements, elsewhere"
            );
        }
    }
}

#[test]
fn a_reduction_has_the_same_bits_in_every_run_whatever_the_root() {
    for ranks in 2..=9 {
        let team = team(ranks);
        let run = |root: Rank| {
            let sums = team.run(|comm| {
                let mut sum = [1.0 / (3.0 + comm.rank() as f64), 0.1 * comm.rank() as f64];
                comm.reduce(root, &mut sum, op::Sum)?;
                Ok(sum.map(f64::to_bits))
            });
            sums.unwrap()[root]
        };
        (0..ranks).for_each(|root| assert_eq!(run(root), run(root), "{ranks} ranks, root {root}"));
    }
}

// ── barriers, and calls that overlap ──

#[test]
fn nobody_leaves_a_barrier_before_all_have_come() {
    let rounds = scaled(60);
    for ranks in (1..=17).chain([33, 64]) {
        let here = AtomicUsize::new(0);
        team(ranks)
            .run(|comm| {
                for round in 1..=rounds {
                    here.fetch_add(1, Ordering::Relaxed);
                    comm.barrier()?;
                    let come = here.load(Ordering::Relaxed);
                    assert!(
                        (round * ranks..=(round + 1) * ranks).contains(&come),
                        "{come} in {round}"
                    );
                }
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn ranks_run_ahead_through_broadcasts_from_one_root_after_another() {
    let calls = scaled(400);
    for ranks in [2, 3, 5, 8, 13] {
        team(ranks)
            .run(|comm| {
                for call in 0..calls {
                    let (root, len) = (call % comm.size(), [1, 4, 5, 700][call % 4]);
                    let mut buf = vec![(comm.rank(), call); len];
                    comm.broadcast(root, &mut buf)?;
                    assert_eq!(buf, vec![(root, call); len]);
                }
                Ok(())
            })
            .unwrap();
    }
}

/// The root of a reduction waits for a message that the others send only after all their calls. No program may rely on
/// a collective to buffer, and this one gets a deadlock report.
#[test]
fn a_program_that_needs_reductions_to_buffer_is_a_deadlock() {
    for length in [1, 50] {
        let report = World::new(4).run_each(|comm| {
            if comm.rank() == 0 {
                (1..4).try_for_each(|from| common::await_signal(comm, from))?;
            }
            for _ in 0..100 {
                comm.reduce(0, &mut vec![1; length], op::Sum)?;
            }
            if comm.rank() > 0 {
                common::signal(comm, 0)
            } else {
                Ok(())
            }
        });
        let error = report.into_result().unwrap_err();
        assert!(matches!(error, WorldError::Deadlock(_)), "{error}");
    }
}

#[test]
fn all_collectives_mix_without_a_pause() {
    let calls = scaled(300);
    for ranks in [1, 2, 3, 6, 12] {
        team(ranks)
            .run(|comm| {
                let n = comm.size() as u64;
                // The root changes it before each broadcast, the others do not.
                let mut x = [1u64, 0];
                for call in 0..calls as u64 {
                    let root = call as usize % comm.size();
                    match noise(7, call) % 4 {
                        0 => comm.barrier()?,
                        1 => {
                            x[1] += u64::from(comm.rank() == root);
                            comm.broadcast(root, &mut x)?;
                        }
                        2 => comm.reduce(root, &mut x.clone(), op::Max)?,
                        _ => {
                            let mut ones = [1u64];
                            comm.all_reduce(&mut ones, op::Sum)?;
                            assert_eq!(ones, [n]);
                        }
                    }
                }
                Ok(x)
            })
            .map(|all| assert!(all.iter().all(|x| *x == all[0]), "{all:?}"))
            .unwrap();
    }
}

#[test]
fn messages_and_collectives_do_not_see_each_other() {
    let rounds = scaled(100) as u32;
    World::new(4)
        .strict()
        .run(|comm| {
            let (me, n) = (comm.rank(), comm.size());
            for round in 0..rounds {
                comm.send((me + 1) % n, round, &[me as u64; 9])?;
                let mut sum = [1u64; 9];
                comm.all_reduce(&mut sum, op::Sum)?;
                assert_eq!(sum, [4; 9]);
                let (v, status) = comm.recv::<u64>(Source::Any, Tag::Any)?;
                assert_eq!((v, status.tag), (vec![((me + n - 1) % n) as u64; 9], round));
            }
            Ok(())
        })
        .unwrap();
}

/// Ranks released by a barrier may be asleep in the next one before the last ranks of the first are woken: that is no
/// deadlock.
#[test]
fn barriers_of_crowded_worlds_follow_each_other_without_a_false_alarm() {
    for round in 0..scaled(120) {
        let ranks = 64 + round;
        World::new(ranks)
            .check(true)
            .run(|comm| {
                comm.barrier()?;
                let next = (comm.rank() + 1) % ranks;
                comm.sendrecv(next, 0, &[1u8], Source::Any, Tag::Any)?;
                comm.barrier()
            })
            .unwrap_or_else(|error| panic!("{ranks} ranks: {error}"));
    }
}

// ── refusals ──

#[test]
fn calls_with_wrong_arguments_are_refused_and_as_if_not_made() {
    for check in [false, true] {
        World::new(3)
            .check(check)
            .run(|comm| {
                let mut v = [comm.rank() as u64];
                assert_usage(
                    comm.broadcast(3, &mut v),
                    "root 3 is not one of the 3 ranks",
                );
                assert_usage(comm.reduce(7, &mut v, op::Sum), "root 7");
                assert_usage(comm.reduce(3, &mut v, |a, _| a), "root 3");
                let mut two = [1u64, 2];
                let into = comm.all_reduce_into(&v, &mut two, op::Sum);
                assert_usage(into, "this rank's input must have 2 elements, and has 1");
                assert_eq!((v[0], two), (comm.rank() as u64, [1, 2]));
                // Not all ranks need to make the same mistake.
                if comm.rank() == 1 {
                    assert!(comm.broadcast(9, &mut v).is_err());
                }
                comm.all_reduce(&mut v, op::Sum)?;
                assert_eq!(v, [3]);
                Ok(())
            })
            .unwrap();
    }
}

/// The operations and messages of each rank in one call of each kind over cells.
fn counted(world: &World) -> Vec<(u64, u64, u64)> {
    let report = world.run_each(|comm| {
        let (p, me) = (comm.size(), comm.rank() as u64);
        let (mut one, mut all) = ([me], vec![me; p]);
        comm.barrier()?;
        comm.all_reduce(&mut one, op::Sum)?;
        comm.reduce(p - 1, &mut one, op::Sum)?;
        comm.all_gather(&[me], &mut all)?;
        comm.all_to_all(&all.clone(), &mut all)?;
        comm.reduce_scatter(&all, &mut one, op::Sum)?;
        comm.scan(&mut one, op::Sum)
    });
    let of = |rank: &rankfold::Counts| (rank.operations, rank.messages, rank.bytes);
    let counts = report.counts.iter().map(of).collect();
    report.into_result().unwrap();
    counts
}

#[test]
fn reads_that_are_counted_at_once_are_as_many_as_those_that_are_traced() {
    for ranks in [1, 2, 3, 5] {
        let machine = Machine::from_text("core:8").unwrap();
        let world = World::new(ranks).check(false).machine(machine);
        assert_eq!(counted(&world), counted(&world.clone().trace(true)));
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}

#[test]
fn all_of_it_holds_where_each_rank_has_a_cpu() {
    again::where_each_rank_has_a_cpu(&[]);
}
