//! Calls that make communicators: which differ, and how they print.

use rankfold::op::Sum;
use rankfold::topology::Topology;
use rankfold::{Cartesian, Comm, Level, Result};

use super::{Odd, mismatch};
use crate::support::Sieve;

type Make = fn(&Comm) -> Result<()>;

/// Returns the calls that make another communicator of the same ranks, with their names up to the number of ranks.
fn makers() -> Vec<(&'static str, Make)> {
    vec![
        ("dup", |comm| comm.dup().map(drop)),
        ("split(colour 0, key 0)", |comm| comm.split(0, 0).map(drop)),
        ("split_by(package)", |comm| {
            comm.split_by(Level::Package).map(drop)
        }),
        ("split_by(L3 cache)", |comm| {
            comm.split_by(Level::L3).map(drop)
        }),
        ("cartesian([", |comm| {
            Cartesian::new(comm, &[comm.size()], &[false]).map(drop)
        }),
        ("cartesian([", |comm| {
            Cartesian::new(comm, &[comm.size()], &[true]).map(drop)
        }),
        ("cartesian([1, ", |comm| {
            Cartesian::new(comm, &[1, comm.size()], &[false; 2]).map(drop)
        }),
        ("cartesian([", |comm| {
            Cartesian::new(comm, &[comm.size(), 1], &[false; 2]).map(drop)
        }),
        ("cartesian([1, 1, 1, 1, 1, 1, ..]", |comm| {
            let mut dims = [1; 8];
            dims[7] = comm.size();
            Cartesian::new(comm, &dims, &[false; 8]).map(drop)
        }),
        ("cartesian([1, 1, 1, 1, 1, 1, ..]", |comm| {
            let mut dims = [1; 8];
            dims[6] = comm.size();
            Cartesian::new(comm, &dims, &[false; 8]).map(drop)
        }),
        ("graph(in-degree 1, out-degree 2)", |comm| {
            let me = comm.rank();
            comm.graph(&[me], &[me, me]).map(drop)
        }),
    ]
}

#[test]
fn a_rank_that_makes_another_kind_of_communicator_or_another_grid_is_named() {
    let makers = makers();
    // All cases from a fifth of the scale.
    let mut cases = Sieve::part(1, 5.0);
    for one in 0..makers.len() {
        for two in (0..makers.len()).filter(|two| *two != one) {
            for (ranks, rank) in [(2, 0), (2, 1), (3, 0), (3, 2), (4, 1)] {
                for check in [false, true] {
                    if !cases.takes() {
                        continue;
                    }
                    let odd = Odd { rank, ranks, check };
                    let [(mine, make), (theirs, make_theirs)] = [makers[one], makers[two]];
                    let what = format!("{mine} of {one} against {theirs} of {two}");
                    odd.is_named_in(&what, 1, |comm, is_odd| match is_odd {
                        true => make(comm),
                        false => make_theirs(comm),
                    });
                }
            }
        }
    }
}

#[test]
fn calls_that_make_communicators_print_as_they_were_called() {
    for (one, (text, make)) in makers().into_iter().enumerate() {
        let found = mismatch(3, |comm| match comm.rank() {
            1 => make(comm),
            _ => comm.barrier(),
        });
        let call = found.calls.iter().find(|call| call.rank == 1).unwrap();
        assert!(call.call.starts_with(text), "{one}: {found}");
    }
    let found = mismatch(3, |comm| match comm.rank() {
        1 => Cartesian::new(comm, &[3, 1], &[false, true]).map(drop),
        2 => comm.split_if(None, 7).map(drop),
        _ => comm.split(5, -1).map(drop),
    });
    let calls: Vec<&str> = found.calls.iter().map(|call| call.call.as_str()).collect();
    let all = [
        "split(colour 5, key -1)",
        "cartesian([3, 1], [false, true])",
        "split(no colour, key 7)",
    ];
    assert_eq!(calls, all);
    assert_eq!(
        found.odd,
        [1],
        "a rank that stays out of a split takes part in it"
    );
}

#[test]
fn calls_that_differ_in_what_does_not_print_say_so() {
    let found = mismatch(3, |comm| {
        let tree = match comm.rank() {
            1 => Topology::flat(3),
            _ => Topology::chain(3),
        };
        comm.reduce_over(&tree, &mut [1], Sum).run()
    });
    let odd = found.calls.iter().find(|call| call.rank == 1).unwrap();
    assert!(
        odd.call
            .ends_with(" over another topology, or in another order"),
        "{found}"
    );
    let others = found.calls.iter().filter(|call| call.rank != 1);
    assert!(
        others
            .into_iter()
            .all(|call| !call.call.contains("another")),
        "{found}"
    );
}
