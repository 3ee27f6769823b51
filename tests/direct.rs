//! Collectives over shared memory: every element equals the plain fold for vectors of every shape, in crowds and in
//! worlds of every kind. When a rank fails on its way in or inside, no rank hangs, and no rank's memory is touched
//! after it has left.

mod again;
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;
use rankfold::collective::Algorithm::Direct;
use rankfold::op::{self, Operator};
use rankfold::{Buffering, Comm, ErrorKind, Fault, Outcome, Result, World, span};
use support::guarded;

/// Element `i` of rank `rank`: a map x -> a x + b; composition of maps does not commute.
fn map(rank: usize, i: usize) -> (u64, u64) {
    ((2 * rank + 3) as u64, (i * 31 + rank * 7) as u64)
}

#[derive(Clone, Copy)]
struct Compose;

impl Operator<(u64, u64)> for Compose {
    fn combine(&self, f: (u64, u64), g: (u64, u64)) -> (u64, u64) {
        let (a, b) = (
            f.0.wrapping_mul(g.0),
            f.0.wrapping_mul(g.1).wrapping_add(f.1),
        );
        (a, b)
    }
}

/// Folds all ranks' elements `i`, in rank order.
fn composed(ranks: usize, i: usize) -> (u64, u64) {
    let maps = (0..ranks).map(|rank| map(rank, i));
    maps.reduce(|f, g| Compose.combine(f, g)).unwrap()
}

fn vector(rank: usize, n: usize) -> Vec<(u64, u64)> {
    (0..n).map(|i| map(rank, i)).collect()
}

/// Checks a run of elements.
fn assert_each<T: PartialEq + std::fmt::Debug>(got: &[T], want: impl Fn(usize) -> T) {
    for (i, got) in got.iter().enumerate() {
        assert_eq!(*got, want(i), "element {i}");
    }
}

/// Runs all collectives that fold, with vectors that begin `shift` elements into their memory.
fn fold_all(comm: &Comm, n: usize, root: usize, shift: usize) -> Result<()> {
    all_reduce_both_ways(comm, n, shift)?;
    reduce_both_ways(comm, n, root, shift)?;
    scan_both_ways(comm, n, shift)?;

    let (me, ranks) = (comm.rank(), comm.size());
    let block = span::block(n, ranks, me);
    let mut own = vec![(9, 9); block.len()];
    comm.using(Direct)
        .reduce_scatter(&vector(me, n), &mut own, Compose)?;
    assert_each(&own, |i| composed(ranks, block.start + i));
    Ok(())
}

/// Runs an all-reduce in place, and one that is in place on some ranks only.
fn all_reduce_both_ways(comm: &Comm, n: usize, shift: usize) -> Result<()> {
    let (me, ranks) = (comm.rank(), comm.size());
    let room = || vec![(9, 9); n + shift];
    let mine = vector(me, n);

    let mut v = room();
    v[shift..].copy_from_slice(&mine);
    comm.using(Direct).all_reduce(&mut v[shift..], Compose)?;
    assert_each(&v[shift..], |i| composed(ranks, i));
    assert_each(&v[..shift], |_| (9, 9));

    // Some in place, some into another vector.
    let mut out = room();
    if me % 2 == 0 {
        comm.using(Direct)
            .all_reduce_into(&mine, &mut out[shift..], Compose)?;
    } else {
        out[shift..].copy_from_slice(&mine);
        comm.using(Direct).all_reduce(&mut out[shift..], Compose)?;
    }
    assert_each(&out[shift..], |i| composed(ranks, i));
    assert_eq!(mine, vector(me, n));
    Ok(())
}

/// Runs a reduce in place, and one into another vector on the root and some other ranks.
fn reduce_both_ways(comm: &Comm, n: usize, root: usize, shift: usize) -> Result<()> {
    let (me, ranks) = (comm.rank(), comm.size());
    let mine = vector(me, n);

    let mut v = mine.clone();
    comm.using(Direct).reduce(root, &mut v, Compose)?;
    match me == root {
        true => assert_each(&v, |i| composed(ranks, i)),
        false => assert_eq!(v, mine),
    }

    // The others cannot tell which of the two the root calls.
    let mut out = vec![(9, 9); n + shift];
    let mut v = mine.clone();
    match me == root || me % 2 == 0 {
        true => comm
            .using(Direct)
            .reduce_into(root, &mine, &mut out[shift..], Compose)?,
        false => comm.using(Direct).reduce(root, &mut v, Compose)?,
    }
    assert_eq!((&v, &mine), (&vector(me, n), &vector(me, n)));
    match me == root {
        true => assert_each(&out[shift..], |i| composed(ranks, i)),
        false => assert_each(&out, |_| (9, 9)),
    }
    Ok(())
}

/// Runs a scan and an exclusive scan.
fn scan_both_ways(comm: &Comm, n: usize, shift: usize) -> Result<()> {
    let me = comm.rank();
    let mut v = vec![(9, 9); n + shift];
    v[shift..].copy_from_slice(&vector(me, n));
    let mut w = v.clone();
    comm.using(Direct).scan(&mut v[shift..], Compose)?;
    assert_each(&v[shift..], |i| composed(me + 1, i));
    comm.using(Direct)
        .exclusive_scan(&mut w[shift..], (1, 0), Compose)?;
    assert_each(&w[shift..], |i| match me {
        0 => (1, 0),
        _ => composed(me, i),
    });
    assert_each(&[&v[..shift], &w[..shift]].concat(), |_| (9, 9));
    Ok(())
}

/// Elements of no size may lie anywhere.
#[test]
fn scans_of_elements_of_no_size() {
    for ranks in 1..6 {
        let scanned = World::new(ranks).run(|comm| {
            let mut v = [(); 9];
            comm.using(Direct).scan(&mut v, |(), ()| ())?;
            comm.using(Direct).exclusive_scan(&mut v, (), |(), ()| ())
        });
        assert_eq!(scanned.unwrap().len(), ranks);
    }
}

/// Runs all collectives that only move elements, with `each` elements per rank.
fn move_all(comm: &Comm, each: usize, root: usize) -> Result<()> {
    let (me, ranks) = (comm.rank(), comm.size());
    let n = each * ranks;
    let mine = vector(me, n);
    let own = each * me..each * (me + 1);

    let mut v = mine.clone();
    comm.using(Direct).broadcast(root, &mut v)?;
    assert_eq!(v, vector(root, n));

    let mut all = vec![(9, 9); n];
    comm.using(Direct)
        .all_gather(&mine[own.clone()], &mut all)?;
    assert_each(&all, |i| map(i / each, i));

    let gathered = comm.using(Direct).gather(root, &mine[own.clone()])?;
    assert_eq!(gathered.is_some(), me == root);
    gathered.inspect(|all| assert_each(all, |i| map(i / each, i)));

    let mut block = vec![(9, 9); each];
    comm.using(Direct)
        .scatter(root, (me == root).then_some(&mine[..]), &mut block)?;
    assert_each(&block, |i| map(root, own.start + i));

    let mut all = vec![(9, 9); n];
    comm.using(Direct).all_to_all(&mine, &mut all)?;
    assert_each(&all, |i| map(i / each, own.start + i % each));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_element_is_folded_once_in_rank_order(
        ranks in 1..10usize, n in prop_oneof![0..40usize, 500..700usize], root in 0..10usize, shift in 0..5usize,
    ) {
        let root = root % ranks;
        World::new(ranks).run(|comm| fold_all(comm, n, root, shift)).unwrap();
    }

    #[test]
    fn every_element_comes_to_its_place(ranks in 1..10usize, each in 0..90usize, root in 0..10usize) {
        let root = root % ranks;
        World::new(ranks).run(|comm| move_all(comm, each.max(1), root)).unwrap();
    }
}

#[test]
fn in_worlds_of_every_kind() {
    let plain = || World::new(3);
    let worlds = [
        plain().check(true),
        plain().check(false),
        plain().buffering(Buffering::Zero),
        plain().record(false),
        World::new(40),
    ];
    for world in worlds {
        let run = |comm: &Comm| {
            for n in [1, 33, 1000] {
                fold_all(comm, n, 1, 3)?;
                move_all(comm, n, 2)?;
            }
            Ok(())
        };
        world.run(run).unwrap();
    }
}

#[test]
fn in_parts_of_a_world_one_beside_the_other() {
    let run = |comm: &Comm| {
        let half = comm.split(comm.rank() as u32 % 2, 0)?;
        for n in 0..50 {
            fold_all(&half, n, 0, 1)?;
        }
        fold_all(comm, 300, 4, 0)
    };
    World::new(5).run(run).unwrap();
}

/// Long enough for ranks to read the clock, and often enough that each rank tries both ways of storing.
#[test]
fn long_vectors_are_the_same_however_they_are_stored() {
    for (ranks, n) in [(2, 8_192), (3, 9_001)] {
        World::new(ranks)
            .run(|comm| {
                (0..10).try_for_each(|call| {
                    fold_all(comm, n, call % ranks, call % 5)?;
                    move_all(comm, n / ranks, call % ranks)
                })
            })
            .unwrap();
    }
}

/// An operator panics while other ranks' memory is being written by stores that bypass the caches.
#[test]
fn an_operator_that_panics_late_in_a_long_vector_leaves_memory_alone() {
    for culprit in 0..2 {
        let report = World::new(2).run_each(|comm| {
            let n = 40_000;
            let (mine, mut out) = (vec![1u64; n], vec![0; n]);
            for call in 0.. {
                let left = std::cell::Cell::new(if call < 7 { usize::MAX } else { n / 3 });
                let op = op::commutative(|a: u64, b| {
                    left.set(left.get().saturating_sub(1));
                    assert!(comm.rank() != culprit || left.get() > 0, "as asked");
                    a + b
                });
                let done = catch_unwind(AssertUnwindSafe(|| {
                    comm.using(Direct).all_reduce_into(&mine, &mut out, op)
                }));
                if !matches!(done, Ok(Ok(()))) {
                    out.fill(7);
                    assert!(out.iter().all(|&x| x == 7));
                    return done.unwrap_or_else(|payload| std::panic::resume_unwind(payload));
                }
            }
            Ok(())
        });
        for (rank, outcome) in report.outcomes.iter().enumerate() {
            let as_asked = match outcome {
                Outcome::Panicked { .. } => rank == culprit,
                Outcome::Failed(error) => rank != culprit && error.culprit() == Some(culprit),
                _ => false,
            };
            assert!(as_asked, "rank {rank}: {outcome:?}");
        }
    }
}

#[test]
fn what_is_chosen_for_long_vectors_is_direct() {
    World::new(2)
        .run(|comm| {
            let call = rankfold::collective::Call::new(
                rankfold::collective::Collective::AllReduce,
                comm.size(),
                1 << 16,
            );
            assert_eq!(comm.explain::<f32>(&call)?.algorithm, Direct);
            Ok(())
        })
        .unwrap();
}

/// A rank fails at its n-th operation, until no operation is left: on its way in, among waiting ranks, as the last one,
/// in the middle of the next call. Every rank has exclusive access to its vector again at once.
#[test]
fn a_rank_that_fails_at_any_point_takes_nobodys_memory_along() {
    for fault in [Fault::Panic, Fault::Error, Fault::Return, Fault::Delay] {
        for ranks in [2, 3, 5] {
            for victim in [0, ranks - 1] {
                for at in 1..8 {
                    let case = || format!("{fault:?} in {victim} of {ranks} at {at}");
                    let run = |comm: &Comm| {
                        let mut v = vector(comm.rank(), 600);
                        let done =
                            (0..2).try_for_each(|_| comm.using(Direct).all_reduce(&mut v, Compose));
                        // No other rank writes here any more, so what is written stays.
                        v.fill((1, comm.rank() as u64));
                        assert!(v.iter().all(|&x| x == (1, comm.rank() as u64)));
                        done
                    };
                    let world = World::new(ranks).inject(victim, at, fault);
                    let report = guarded(&case, || world.run_each(run));
                    for (rank, outcome) in report.outcomes.iter().enumerate() {
                        if let Outcome::Failed(error) = outcome {
                            let knot = matches!(error.kind(), ErrorKind::Deadlock(_));
                            assert!(!knot, "{}, rank {rank}: {error}", case());
                            let blamed = rank == victim || error.culprit() == Some(victim);
                            assert!(blamed, "{}, rank {rank}: {error}", case());
                        }
                        let clean = matches!(outcome, Outcome::Returned(()));
                        assert!(clean || fault != Fault::Delay, "{}, rank {rank}", case());
                    }
                }
            }
        }
    }
}

#[test]
fn an_operator_that_panics_fails_the_call_of_everybody_and_leaves_memory_alone() {
    for culprit in 0..3 {
        let report = World::new(3).run_each(|comm| {
            let mut v = vec![comm.rank() as u64; 3000];
            let call = || {
                comm.using(Direct).all_reduce(
                    &mut v,
                    op::commutative(|a: u64, b| {
                        assert_ne!(comm.rank(), culprit, "as asked");
                        a + b
                    }),
                )
            };
            let done = catch_unwind(AssertUnwindSafe(call));
            v.fill(7);
            assert!(v.iter().all(|&x| x == 7));
            match done {
                Ok(result) => result,
                Err(payload) => std::panic::resume_unwind(payload),
            }
        });
        for (rank, outcome) in report.outcomes.iter().enumerate() {
            match outcome {
                Outcome::Panicked { .. } => assert_eq!(rank, culprit),
                Outcome::Failed(error) => {
                    assert!(rank != culprit, "{error}");
                    assert_eq!(error.culprit(), Some(culprit), "{error}");
                }
                Outcome::Returned(()) => panic!("rank {rank} has a result"),
                _ => panic!("rank {rank}"),
            }
        }
    }
}

#[test]
fn ranks_that_do_not_mean_the_same_call_get_a_mismatch() {
    let lengths = |comm: &Comm| {
        let mut v = vec![1u32; 3000 + comm.rank()];
        comm.using(Direct).all_reduce(&mut v, op::Sum)
    };
    let types = |comm: &Comm| match comm.rank() {
        0 => comm.using(Direct).all_reduce(&mut [1u32; 3000], op::Sum),
        _ => comm.using(Direct).all_reduce(&mut [1i32; 3000], op::Sum),
    };
    let collectives = |comm: &Comm| match comm.rank() {
        0 => comm.using(Direct).all_reduce(&mut [1u32; 3000], op::Sum),
        _ => comm.using(Direct).broadcast(1, &mut [1u32; 3000]),
    };
    let algorithms = |comm: &Comm| match comm.rank() {
        0 => comm.using(Direct).all_reduce(&mut [1u32; 3000], op::Sum),
        _ => comm
            .using(rankfold::collective::Algorithm::Halving)
            .all_reduce(&mut [1u32; 3000], op::Sum),
    };
    type Wrong<'a> = &'a (dyn Fn(&Comm) -> Result<()> + Sync);
    let calls: [Wrong<'_>; 4] = [&lengths, &types, &collectives, &algorithms];
    for (which, call) in calls.into_iter().enumerate() {
        for check in [false, true] {
            let report = World::new(2).check(check).run_each(|comm| call(comm));
            for outcome in report.outcomes.iter() {
                let Outcome::Failed(error) = outcome else {
                    panic!("call {which} went through");
                };
                assert!(
                    matches!(error.kind(), ErrorKind::Mismatch(_)),
                    "{which}: {error}"
                );
            }
        }
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[
        "ranks_that_do_not_mean_the_same_call",
        "what_is_chosen_for_long_vectors",
    ]);
}

#[test]
fn two_ranks_read_in_place_what_is_longer_than_what_goes_through_their_cells() {
    use rankfold::collective::{Algorithm::Cells, Call, Choice, Collective};
    let longest = [
        (Collective::Broadcast, 4 << 10),
        (Collective::Reduce, 4 << 10),
        (Collective::Scatter, 8 << 10),
        (Collective::AllReduce, 2 << 10),
        (Collective::AllGather, 8 << 10),
        (Collective::Scan, 4 << 10),
        (Collective::ExclusiveScan, 4 << 10),
    ];
    for (collective, bytes) in longest {
        let choice = |bytes| Choice::quickly::<u8>(&Call::new(collective, 2, bytes));
        assert_eq!(choice(bytes), Cells, "{collective}");
        assert_eq!(choice(bytes + 2), Direct, "{collective}");
    }
}
