//! A rank dies in collectives and reductions.

use rankfold::topology::Topology;
use rankfold::{Comm, Order, Result, op};

use super::{LENGTHS, every, left, right};
use crate::support::Spoiled;
use crate::support::sweep::{assert_from, assert_sum, buffer};

#[test]
fn in_barriers() {
    every("barrier", |comm| {
        for _ in 0..3 {
            comm.barrier()?;
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_broadcasts() {
    every("broadcast", |comm| {
        for (length, root) in LENGTHS.into_iter().zip([0, comm.size() - 1]) {
            let mut data = buffer(comm.rank(), length);
            comm.broadcast(root, &mut data)?;
            assert_from(root, &data, length);
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_reduces() {
    every("reduce", |comm| {
        for (length, root) in LENGTHS.into_iter().zip([0, comm.size() - 1]) {
            let mut data = buffer(comm.rank(), length);
            comm.reduce(root, &mut data, op::Sum)?;
            if comm.rank() == root {
                assert_sum(0..comm.size(), &data);
            } else {
                assert_from(comm.rank(), &data, length);
            }
        }
        Ok(comm.rank() as u64)
    });
}

/// Composition of maps x -> 2 x + b: any other order gives another map.
fn compose(f: (u64, u64), g: (u64, u64)) -> (u64, u64) {
    (
        f.0.wrapping_mul(g.0),
        f.0.wrapping_mul(g.1).wrapping_add(f.1),
    )
}

fn composed(ranks: usize) -> (u64, u64) {
    let maps = (0..ranks).map(|rank| (2, rank as u64));
    maps.reduce(compose).expect("there is a rank")
}

#[test]
fn in_reduces_that_keep_the_order() {
    every("reduce with a closure", |comm| {
        for (length, root) in LENGTHS.into_iter().zip([0, comm.size() - 1]) {
            let mut maps = vec![(2, comm.rank() as u64); length];
            comm.reduce(root, &mut maps, compose)?;
            if comm.rank() == root {
                assert!(maps.iter().all(|map| *map == composed(comm.size())));
            }
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_all_reduces() {
    every("all_reduce", |comm| {
        for length in LENGTHS {
            let mut data = buffer(comm.rank(), length);
            comm.all_reduce(&mut data, op::Sum)?;
            assert_sum(0..comm.size(), &data);
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_all_reduces_from_one_buffer_into_another() {
    every("all_reduce_into", |comm| {
        let mut sums = Spoiled::new(vec![0; LENGTHS[1]]);
        comm.all_reduce_into(&buffer(comm.rank(), LENGTHS[1]), &mut sums, op::Sum)?;
        assert_sum(0..comm.size(), &sums);
        Ok(comm.rank() as u64)
    });
}

/// Returns one topology of each family.
fn topologies(n: usize) -> [Topology; 7] {
    [
        Topology::chain(n),
        Topology::binomial(n).rooted(n - 1),
        Topology::k_tree(n, 2),
        Topology::flat(n),
        Topology::k_ary(n, 2),
        Topology::fibonacci(n),
        Topology::in_order(n),
    ]
}

fn sum_over(comm: &Comm, order: Order) -> Result<u64> {
    for (i, topology) in topologies(comm.size()).iter().enumerate() {
        if order == Order::Rank && !topology.is_in_rank_order() {
            continue;
        }
        let mut data = buffer(comm.rank(), LENGTHS[i % 2]);
        comm.reduce_over(topology, &mut data, op::Sum)
            .order(order)
            .run()?;
        if comm.rank() == topology.root() {
            assert_sum(0..comm.size(), &data);
        }
    }
    Ok(comm.rank() as u64)
}

#[test]
fn in_reductions_over_topologies_by_arrival() {
    every("by arrival", |comm| sum_over(comm, Order::Arrival));
}

#[test]
fn in_reductions_over_topologies_by_step() {
    every("by step", |comm| sum_over(comm, Order::Step));
}

#[test]
fn in_reductions_over_topologies_by_rank() {
    every("by rank", |comm| sum_over(comm, Order::Rank));
}

#[test]
fn in_reductions_of_values() {
    every("values", |comm| {
        let text: String = (0..comm.size()).map(|rank| format!("{rank},")).collect();
        for topology in topologies(comm.size())
            .iter()
            .filter(|topology| topology.is_in_rank_order())
        {
            let mine = Box::new(format!("{},", comm.rank()));
            let all = comm
                .values()
                .reduce_over(topology, mine, |a, b| Box::new(*a + &b));
            let all = all.run()?;
            assert_eq!(all.is_some(), comm.rank() == topology.root());
            assert!(all.is_none_or(|all| *all == text));
        }
        Ok(comm.rank() as u64)
    });
}

/// The sum must be that of the contributors that it names, whichever they are.
#[test]
fn in_reductions_over_survivors() {
    every("survivors", |comm| {
        for (i, topology) in topologies(comm.size()).iter().enumerate() {
            let mut data = buffer(comm.rank(), LENGTHS[i % 2]);
            let sum = comm
                .reduce_over(topology, &mut data, op::Sum)
                .order(Order::Arrival);
            if let Some(who) = sum.survivors()? {
                assert_sum(who.contributors.iter().copied(), &data);
                assert_eq!(who.contributors.len() + who.missing.len(), comm.size());
            }
        }
        Ok(comm.rank() as u64)
    });
}

#[test]
fn in_a_program_of_everything() {
    every("everything", |comm| {
        let mut data = buffer(comm.rank(), LENGTHS[1]);
        comm.barrier()?;
        comm.broadcast(1, &mut data)?;
        let (got, _) = comm.sendrecv(right(comm), 3, &data, left(comm), 3)?;
        assert_from(1, &got, LENGTHS[1]);
        let mut ones = [1u64; 2];
        comm.all_reduce(&mut ones, op::Sum)?;
        let chain = Topology::chain(comm.size());
        comm.reduce_over(&chain, &mut ones, op::Max).run()?;
        comm.send_value(left(comm), 4, ones.to_vec())?;
        Ok(comm.recv_value::<Vec<u64>>(right(comm), 4)?.0[0])
    });
}
