//! Communicators made from others: their members, simultaneous traffic on them, and how the surviving ranks shrink away
//! the failed ones.

mod again;
mod common;
#[path = "communicators/grids.rs"]
mod grids;
#[path = "communicators/idup.rs"]
mod idup;
#[path = "communicators/shrinking.rs"]
mod shrinking;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{noise, team};
use rankfold::{
    Cartesian, Comm, Error, ErrorKind, Outcome, Rank, Result, Source, World, WorldError, op,
};

/// Returns the members of a rank's part of a split, in order, by the plainest code.
fn group(wishes: &[(Option<u32>, i64)], me: Rank) -> Option<Vec<Rank>> {
    let color = wishes[me].0?;
    let mut group: Vec<Rank> = (0..wishes.len())
        .filter(|&r| wishes[r].0 == Some(color))
        .collect();
    group.sort_by_key(|&rank| (wishes[rank].1, rank));
    Some(group)
}

fn wishes(p: usize, seed: u64) -> Vec<(Option<u32>, i64)> {
    let wish = |rank: usize| {
        let dice = noise(seed, rank as u64);
        let color = (!dice.is_multiple_of(4)).then_some((dice >> 8) as u32 % 3);
        (color, (dice >> 20) as i64 % 3 - 1)
    };
    (0..p).map(wish).collect()
}

#[test]
fn a_split_has_the_ranks_of_one_colour_in_the_order_of_their_keys() {
    for p in [1, 2, 3, 5, 8, 13] {
        for seed in 0..10 {
            let wishes = wishes(p, seed);
            team(p)
                .run(|comm| {
                    let (color, key) = wishes[comm.rank()];
                    let part = comm.split_if(color, key)?;
                    let expected = group(&wishes, comm.rank());
                    assert_eq!(part.is_some(), expected.is_some());
                    let (Some(part), Some(expected)) = (part, expected) else {
                        return Ok(());
                    };
                    let members: Vec<Rank> = (0..part.size()).map(|r| part.world_rank(r)).collect();
                    assert_eq!(members, expected);
                    assert_eq!(part.world_rank(part.rank()), comm.rank());
                    all_goes_well_in(&part, &expected)
                })
                .unwrap();
        }
    }
}

/// Runs collectives and messages of every kind in a communicator of these ranks of the world.
fn all_goes_well_in(comm: &Comm, members: &[Rank]) -> Result<()> {
    let (me, p) = (comm.rank(), comm.size());
    let mut v = vec![members[me] as u64; 20];
    comm.all_reduce(&mut v, op::Sum)?;
    assert_eq!(v, vec![members.iter().sum::<usize>() as u64; 20]);
    let names = comm.values().all_gather(members[me])?;
    assert_eq!(names, members);
    let root = p / 2;
    let mut word = [if me == root { 77 } else { 0 }; 3];
    comm.broadcast(root, &mut word)?;
    assert_eq!(word, [77; 3]);
    let firsts = comm.gather(root, &[members[me]])?;
    assert_eq!(firsts, (me == root).then(|| members.to_vec()));
    comm.barrier()?;
    comm.send((me + 1) % p, 3, &[me])?;
    let (got, status) = comm.recv::<usize>(Source::Any, 3)?;
    assert_eq!(
        (got[0], status.source),
        ((me + p - 1) % p, (me + p - 1) % p)
    );
    Ok(())
}

#[test]
fn parts_of_parts_go_their_own_ways_at_the_same_time() {
    let p = 12;
    team(p)
        .run(|comm| {
            let me = comm.rank();
            let (row, column) = (comm.split(me as u32 / 4, 0)?, comm.split(me as u32 % 4, 0)?);
            let half = row.split(row.rank() as u32 % 2, -(row.rank() as i64))?;
            for time in 0..50 {
                let mut v = [me + time; 3];
                let turn = |comm: &Comm, v: &mut [usize]| comm.all_reduce(v, op::Max);
                turn(&row, &mut v)?;
                assert_eq!(v[0], me / 4 * 4 + 3 + time);
                turn(&column, &mut v)?;
                assert_eq!(v[0], 11 + time);
                let mut mine = [me];
                turn(&half, &mut mine)?;
                assert_eq!(mine[0], me / 4 * 4 + 2 + me % 2);
                comm.barrier()?;
            }
            assert_eq!(
                half.world_rank(0),
                me / 4 * 4 + 2 + me % 2,
                "keys turn the order round"
            );
            Ok(())
        })
        .unwrap();
}

#[test]
fn messages_of_one_communicator_are_never_taken_for_those_of_another() {
    team(3)
        .run(|comm| {
            let twin = comm.dup()?;
            let turned = comm.split(0, -(comm.rank() as i64))?;
            let (me, p) = (comm.rank(), comm.size());
            let next = (me + 1) % p;
            comm.send(next, 1, &["world"])?;
            twin.send(next, 1, &["twin"])?;
            turned.send(2 - next, 1, &["turned"])?;
            let from = (me + 2) % p;
            let (got, status) = turned.recv::<&str>(Source::Any, 1)?;
            assert_eq!((got[0], status.source), ("turned", 2 - from));
            assert_eq!(twin.recv::<&str>(from, 1)?.0, ["twin"]);
            assert_eq!(comm.recv::<&str>(Source::Any, 1)?.0, ["world"]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_deadlock_across_communicators_is_found() {
    let report = World::new(4).run_each(|comm| {
        let part = comm.split(comm.rank() as u32 / 2, 0)?;
        match comm.rank() {
            0 => comm.recv::<u8>(2, 0).map(|_| ()),
            1 => part.barrier(),                    // waits for rank 0
            2 => part.recv::<u8>(1, 0).map(|_| ()), // waits for rank 3
            _ => comm.recv::<u8>(1, 0).map(|_| ()),
        }
    });
    let Err(WorldError::Deadlock(knot)) = report.into_result() else {
        panic!("it is a deadlock");
    };
    let stuck: Vec<Rank> = knot.stuck.iter().map(|stuck| stuck.rank).collect();
    assert_eq!(stuck, [0, 1, 2, 3], "{knot}");
}

#[test]
fn a_mismatch_in_a_part_names_its_ranks_and_leaves_the_others_in_peace() {
    let report = World::new(5).run_each(|comm| {
        let part = comm.split(comm.rank() as u32 % 2, 0)?;
        let mut v = [1u32; 4];
        match comm.rank() {
            3 => part.all_reduce(&mut v[..2], op::Sum)?,
            _ => part.all_reduce(&mut v, op::Sum)?,
        }
        Ok(v[0])
    });
    let mismatch = report.mismatch.clone().unwrap();
    let ranks: Vec<Rank> = mismatch.calls.iter().map(|call| call.rank).collect();
    assert_eq!(ranks, [1, 3]);
    for even in [0, 2, 4] {
        assert_eq!(report.outcomes[even].value(), Some(&3));
    }
}

#[test]
fn a_wildcard_of_a_part_hopes_only_for_its_members() {
    // Rank 2 goes on and could send, but is not in the part.
    let freed = AtomicUsize::new(0);
    let report = World::new(3).run_each(|comm| {
        let part = comm.split_if((comm.rank() < 2).then_some(0), 0)?;
        match (comm.rank(), part) {
            (0, Some(part)) => {
                let error = part.recv::<u8>(Source::Any, 0).unwrap_err();
                freed.store(1, Ordering::Release);
                comm.send(2, 0, &[0u8])?;
                Err(error)
            }
            (1, Some(part)) => part.recv::<u8>(0, 0).map(|_| ()),
            _ => comm.recv::<u8>(0, 0).map(|_| ()),
        }
    });
    assert_eq!(freed.load(Ordering::Acquire), 1);
    let kind = report.outcomes[0].error().unwrap().kind();
    assert!(matches!(kind, ErrorKind::Deadlock(_)), "{kind:?}");
}

#[test]
fn a_dead_rank_fails_the_parts_it_is_in_and_no_others() {
    let report = World::new(4).run_each(|comm| {
        let part = comm.split(comm.rank() as u32 % 2, 0)?;
        assert_ne!(comm.rank(), 3, "rank 3 fails");
        let mut v = [comm.rank()];
        part.all_reduce(&mut v, op::Sum)?;
        Ok(v[0])
    });
    assert_eq!(report.outcomes[0].value(), Some(&2));
    assert_eq!(report.outcomes[2].value(), Some(&2));
    let gone = report.outcomes[1].error().and_then(Error::culprit);
    assert_eq!(gone, Some(3));
}

#[test]
fn many_communicators_come_and_go() {
    team(4)
        .run(|comm| {
            let mut sizes = BTreeMap::new();
            for time in 0..500u32 {
                let part = comm.split((comm.rank() as u32 + time) % 2, 0)?;
                part.barrier()?;
                *sizes.entry(part.size()).or_insert(0) += 1;
            }
            assert_eq!(sizes, BTreeMap::from([(2, 500)]));
            Ok(())
        })
        .unwrap();
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}

/// Calls on duplicates share their description, and are told of the communicator on which they were made.
#[test]
fn a_mismatch_on_a_duplicate_names_that_one_and_the_calls_made_there() {
    let sum = |comm: &Comm| comm.all_reduce(&mut [1], op::Sum);
    let before = line!();
    let error = World::new(2).run(|comm| {
        let one = comm.dup()?;
        let other = comm.dup()?;
        for _ in 0..9 {
            [comm, &one, &other].into_iter().try_for_each(sum)?;
        }
        sum(&one)?;
        match comm.rank() {
            0 => sum(&other),
            _ => other.broadcast(0, &mut [1]),
        }
    });
    let text = error.unwrap_err().to_string();
    let there = format!("tests/communicators.rs:{}:", before + 3);
    for part in [
        "dup of world at ",
        "all_reduce(1 x i32, Sum)",
        "broadcast(root 0, 1 x i32)",
        &there,
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn ranks_that_are_not_there_have_no_place() {
    type Ask = fn(&Comm, Rank);
    let asks: &[Ask] = &[
        |comm, rank| _ = comm.world_rank(rank),
        #[cfg(feature = "mpi")]
        |comm, rank| _ = comm.is_near(rank),
    ];
    for ask in asks {
        for part in [false, true] {
            let report = World::new(2).run_each(|comm| {
                let comm = if part { comm.split(0, 0)? } else { comm.dup()? };
                (0..2).for_each(|rank| ask(&comm, rank));
                ask(&comm, 2);
                Ok(())
            });
            let says = "rank 2 is not one of the 2 ranks";
            for outcome in report.outcomes {
                let Outcome::Panicked { message, site } = &outcome else {
                    panic!("{outcome:?}");
                };
                assert!(message.contains(says), "{message}");
                assert!(site.as_ref().unwrap().starts_with(file!()), "{site:?}");
            }
        }
    }
}

#[test]
fn what_belongs_to_a_rank_can_be_printed() {
    #[derive(Debug)]
    struct Solver {
        _grid: Cartesian,
    }
    let printed = World::new(2).run(|comm| {
        let grid = Cartesian::new(comm, &[2], &[true])?;
        Ok((format!("{comm:?}"), format!("{:?}", Solver { _grid: grid })))
    });
    for (rank, (comm, solver)) in printed.unwrap().iter().enumerate() {
        assert_eq!(*comm, format!("Comm {{ rank: {rank}, size: 2, .. }}"));
        let start = format!("Solver {{ _grid: Cartesian {{ rank: {rank}, size: 2, comm: cartesian");
        assert!(solver.starts_with(&start), "{solver}");
    }
    let seats = World::connect(1);
    assert_eq!(format!("{seats:?}"), "Seats { size: 1, .. }");
    assert_eq!(format!("{:?}", seats.take(0)), "Ok(Seat { rank: 0, .. })");
}
