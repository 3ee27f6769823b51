//! Worlds beside worlds, and worlds inside ranks.

use std::thread;

use rankfold::{Error, World, WorldError};

use super::{all_sum, triangle, triangle_by_message};
use crate::common::scaled;

#[test]
fn eight_worlds_run_at_once() {
    let sums: Vec<Vec<u64>> = thread::scope(|scope| {
        let run = |ranks: usize| {
            scope.spawn(move || {
                let world = World::new(ranks).check(false);
                (0..scaled(20))
                    .map(|_| world.run(triangle_by_message).unwrap()[ranks - 1])
                    .collect()
            })
        };
        let worlds: Vec<_> = (1..=8).map(run).collect();
        worlds
            .into_iter()
            .map(|world| world.join().unwrap())
            .collect()
    });
    for (i, sums) in sums.iter().enumerate() {
        assert!(sums.iter().all(|&sum| sum == triangle(i + 1)), "{sums:?}");
    }
}

#[test]
fn a_rank_may_run_a_world_of_its_own_which_is_not_pinned() {
    let sums = World::new(3).strict().run(|comm| {
        let inner = World::new(comm.rank() + 1).strict().run_each(|inner| {
            inner.sendrecv(inner.rank(), 1, &[0u8], inner.rank(), 1)?;
            triangle_by_message(inner)
        });
        assert!(
            inner.placement.cpu.iter().all(Option::is_none),
            "{:?}",
            inner.placement
        );
        let sums = inner
            .into_result()
            .map_err(|error| Error::user(error.to_string()))?;
        all_sum(comm, sums[0])
    });
    assert_eq!(sums.unwrap(), [1 + 3 + 6; 3]);
}

#[test]
fn the_failure_of_an_inner_world_is_a_value_to_the_outer_one() {
    let outer = World::new(2).run(|comm| {
        let inner = World::new(2).run(|inner| {
            assert_ne!(inner.rank(), 1, "inner trouble");
            inner.barrier()
        });
        assert!(matches!(inner, Err(WorldError::Panicked { rank: 1, .. })));
        triangle_by_message(comm)
    });
    assert_eq!(outer.unwrap(), [3, 3]);
}
