//! Many ranks, many elements and ranks far ahead; and worlds of every kind.

use rankfold::collective::Algorithm;
use rankfold::op::{self, Sum};
use rankfold::{Buffering, Comm, Result, Source, World, testing};

use super::{KINDS, Step, VERBS};
use crate::support::{Random, guarded, scale, sweep};

/// Some collectives, with cells requested where the automatic choice would not use them.
fn over_cells(comm: &Comm, n: usize) -> Result<()> {
    const CELLS: Algorithm = Algorithm::Cells;
    let (me, p) = (comm.rank() as u64, comm.size());
    let sum: u64 = (0..p as u64).sum();
    let mut v = vec![me; n];
    comm.using(CELLS).all_reduce(&mut v, Sum)?;
    assert_eq!(v, vec![sum; n]);
    for root in [0, p / 2, p - 1] {
        let mut v = vec![me; n];
        comm.using(CELLS).broadcast(root, &mut v)?;
        assert_eq!(v, vec![root as u64; n]);
        let mut v = vec![me; n];
        comm.using(CELLS).reduce(root, &mut v, Sum)?;
        assert_eq!(v, vec![if comm.rank() == root { sum } else { me }; n]);
    }
    let mut all = vec![0; p];
    comm.using(CELLS).all_gather(&[me], &mut all)?;
    assert!(all.into_iter().eq(0..p as u64));
    comm.using(CELLS).barrier()
}

#[test]
fn far_more_ranks_than_processors_meet_at_the_cells() {
    for ranks in [1, 2, 3, 64, 65, 300] {
        let run = guarded(&|| format!("{ranks} ranks"), || {
            World::new(ranks).run(|comm| (0..7).try_for_each(|n| over_cells(comm, n * n * 14)))
        });
        run.unwrap();
    }
}

#[test]
fn more_empty_elements_than_a_cell_can_count_go_another_way() {
    const MANY: usize = u32::MAX as usize + 1;
    let run = World::new(2).run(|comm| {
        let mut v = vec![(); MANY];
        let done = comm.broadcast(0, &mut v);
        // Whatever the result, there is no panic.
        assert!(done.is_ok() || comm.barrier().is_err());
        Ok(())
    });
    run.unwrap();
}

#[test]
fn a_root_that_is_far_ahead_of_a_slow_reader_overtakes_nothing() {
    let calls = (10_000.0 * scale()) as u64;
    let run = World::new(3).run(|comm| {
        for call in 0..calls {
            let mut v = [if comm.rank() == 0 { call } else { 0 }; 5];
            if comm.rank() == 1 && call % 1024 == 0 {
                (0..100).for_each(|_| std::thread::yield_now());
            }
            comm.broadcast(0, &mut v)?;
            assert_eq!(v, [call; 5]);
        }
        Ok(())
    });
    run.unwrap();
}

/// Every way to send and to read, one after the other; returns at the end whether the rank has the right result.
fn all_sorts(comm: &Comm) -> Result<u64> {
    for n in [1, 4, 5, 512, 513] {
        let mut random = Random::new(n as u64);
        for verb in VERBS {
            let root = random.below(comm.size());
            let apart = false;
            let kind = random.of(&KINDS);
            let step = Step {
                verb,
                kind,
                n,
                root,
                apart,
            };
            step.play([comm, comm])?;
        }
    }
    Ok(comm.rank() as u64)
}

#[test]
fn a_rank_that_dies_at_the_cells_takes_nobody_with_it() {
    sweep::sweep("at the cells", 2..=4, 0.1, |comm| {
        to_and_fro(comm, 5)?;
        Ok(comm.rank() as u64)
    });
}

/// A root that runs ahead, readers that answer, and a rank that only writes.
fn to_and_fro(comm: &Comm, n: usize) -> Result<()> {
    let mut v = vec![comm.rank() as u64; n];
    (0..6).try_for_each(|_| comm.broadcast(0, &mut v))?;
    (0..6).try_for_each(|_| comm.reduce(comm.size() - 1, &mut v, Sum))?;
    comm.gather(0, &v)?;
    comm.all_reduce(&mut v, op::Max)
}

#[test]
fn all_sorts_of_calls_come_out_right_in_every_world() {
    for ranks in [1, 2, 3, 5, 8] {
        for buffering in [Buffering::Zero, Buffering::Bytes(64), Buffering::Unbounded] {
            for seed in [None, Some(3)] {
                let world = World::new(ranks).buffering(buffering).strict();
                let world = match seed {
                    Some(seed) => world.seed(seed),
                    None => world,
                };
                let case = || format!("{ranks} ranks, {buffering:?}, {seed:?}");
                guarded(&case, || world.run(all_sorts)).unwrap();
            }
        }
    }
}

#[test]
fn cells_and_receives_from_any_source_go_together_in_every_order() {
    let explored = testing::explore(3, |comm| {
        let mut v = [comm.rank() as u64];
        if comm.rank() > 0 {
            comm.send(0, 0, &v)?;
        }
        comm.all_reduce(&mut v, Sum)?;
        assert_eq!(v, [3]);
        let mut came = Vec::new();
        if comm.rank() == 0 {
            for _ in 0..2 {
                came.push(comm.recv::<u64>(Source::Any, 0)?.0[0]);
            }
        }
        comm.broadcast(0, &mut v)?;
        Ok(came)
    });
    assert!(explored.complete);
}
