//! Communicators made from others: their members, simultaneous traffic on them, and how the surviving ranks shrink away
//! the failed ones.

mod channels;
mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::{noise, team};
use rankfold::{
    Cartesian, Comm, Error, ErrorKind, Fault, Outcome, Rank, Result, Source, World, WorldError, op,
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

// ── shrinking ──

/// All-reduces until a rank is missing, then goes on with the survivors; returns how many there were at last.
fn stubborn(comm: &Comm, calls: usize) -> Result<usize> {
    let mut small: Option<Comm> = None;
    let mut done = 0;
    while done < calls {
        let here = small.as_ref().unwrap_or(comm);
        let mut v = [1usize, here.world_rank(here.rank())];
        match here.all_reduce(&mut v, op::Sum) {
            Ok(()) => {
                assert_eq!(v[0], here.size());
                let world = (0..here.size()).map(|rank| here.world_rank(rank));
                assert_eq!(v[1], world.sum::<usize>());
                done += 1;
            }
            Err(error) if matches!(error.kind(), ErrorKind::Injected) => return Err(error),
            // Ranks that are done leave one by one; the others go on.
            Err(_) => small = Some(here.shrink()?),
        }
    }
    Ok(small.map_or(comm.size(), |small| small.size()))
}

#[test]
fn whoever_dies_at_any_operation_the_others_go_on() {
    for p in 2..=5 {
        for victim in 0..p {
            for nth in 1..=12 {
                for fault in [Fault::Panic, Fault::Error, Fault::Return] {
                    let place = format!("{fault:?} in rank {victim} of {p} at operation {nth}");
                    let world = World::new(p).inject(victim, nth, fault);
                    let report = world.run_each(|comm| stubborn(comm, 3));
                    for rank in (0..p).filter(|&rank| rank != victim) {
                        let outcome = &report.outcomes[rank];
                        assert!(
                            outcome.value().is_some(),
                            "{place}: rank {rank} {outcome:?}"
                        );
                    }
                }
            }
        }
    }
}

/// Sends when it is dropped, and says so.
struct SendsOnDrop<'a>(&'a Comm, &'a AtomicBool);

impl Drop for SendsOnDrop<'_> {
    fn drop(&mut self) {
        let _ = self.0.send(1, 0, &[0u8]);
        self.1.store(true, Ordering::Release);
    }
}

/// Rank 0 counts as ended while it sleeps until the others no longer use its vector, and afterwards.
#[test]
fn a_rank_that_ended_before_it_slept_is_left_behind() {
    let (ended, first) = (AtomicBool::new(false), AtomicBool::new(true));
    let report = World::new(2).check(false).run_each(|comm| {
        let fold = |a: u64, b: u64| {
            if comm.rank() == 0 {
                let _sends = SendsOnDrop(comm, &ended);
                panic!("rank 0 fails in its operator");
            }
            if first.swap(false, Ordering::Relaxed) {
                while !ended.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                // Rank 0 gives up looking and sleeps meanwhile; however long this takes, the result is the same.
                (0..50_000).for_each(|_| std::thread::yield_now());
            }
            a + b
        };
        let failed = comm.all_reduce(&mut vec![1; 40_000], fold);
        assert!(failed.is_err());
        assert!(comm.send(0, 0, &[1u8]).is_err(), "rank 0 has ended");
        comm.shrink().map(|small| small.size())
    });
    assert_eq!(report.outcomes[1].value(), Some(&1));
}

/// An attempt that fails is not taken for a member that waits, and is made again.
#[test]
fn a_shrink_that_failed_can_be_made_again() {
    let report = World::new(2).check(false).run_each(|comm| {
        let part = comm.dup()?;
        let failed = match comm.rank() {
            0 => part.shrink().map(drop),
            _ => comm.recv::<u8>(0, 1).map(drop),
        };
        let error = failed.expect_err("neither comes to what the other waits for");
        assert!(matches!(error.kind(), ErrorKind::Deadlock(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains("shrink "), "{text}");
        assert!(!text.contains("on world\n  rank 1  recv"), "{text}");
        let small = part.shrink()?;
        small.barrier()?;
        Ok(small.size())
    });
    let sizes = report.into_result().unwrap();
    assert_eq!(sizes, [2, 2]);
}

#[test]
fn shrinking_keeps_the_order_and_leaves_all_dead_behind() {
    let dead = [1, 4, 5];
    let report = World::new(8).run_each(|comm| {
        assert!(!dead.contains(&comm.rank()), "it dies");
        let small = comm.shrink()?;
        let members: Vec<Rank> = (0..small.size())
            .map(|rank| small.world_rank(rank))
            .collect();
        all_goes_well_in(&small, &members)?;
        let again = small.split(small.rank() as u32 % 2, 0)?;
        Ok((members, again.size()))
    });
    for rank in [0, 2, 3, 6, 7] {
        let (members, _) = report.outcomes[rank].value().unwrap();
        // A rank that had not failed when all had arrived is still a member; no rank waits for it.
        let living: Vec<Rank> = members
            .iter()
            .copied()
            .filter(|r| !dead.contains(r))
            .collect();
        assert_eq!(living, [0, 2, 3, 6, 7]);
    }
}

#[test]
fn whoever_waits_in_a_communicator_that_is_left_hears_of_it() {
    let report = World::new(3).run_each(|comm| match comm.rank() {
        0 => {
            // Rank 1 goes on, so this could wait forever.
            let error = comm.recv::<u8>(1, 0).unwrap_err();
            let text = error.to_string();
            comm.shrink()?.barrier()?;
            Ok(text)
        }
        1 => {
            comm.recv::<u8>(2, 0).unwrap_err();
            comm.shrink()?.barrier()?;
            Ok(String::new())
        }
        _ => panic!("rank 2 fails"),
    });
    let text = report.outcomes[0].value().unwrap();
    assert!(
        text.contains("rank 1") && text.contains("has left it"),
        "{text}"
    );
}

#[test]
fn a_communicator_that_was_left_is_of_no_more_use() {
    World::new(2)
        .run(|comm| {
            let small = comm.shrink()?;
            for refused in [
                comm.barrier(),
                comm.send(0, 0, &[1]),
                comm.probe(0, 0).map(|_| ()),
            ] {
                let error = refused.unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::Broken { .. }), "{error}");
            }
            small.barrier()
        })
        .unwrap();
}

#[test]
fn who_never_comes_to_the_shrinking_is_a_deadlock() {
    let report = World::new(2).run_each(|comm| match comm.rank() {
        0 => comm.shrink().map(|_| ()),
        _ => {
            let other = comm.dup();
            other.map(|_| ())
        }
    });
    // Rank 1's dup fails as soon as rank 0 has left; then it ends, and rank 0 goes on alone.
    assert!(
        matches!(report.outcomes[0], Outcome::Returned(())),
        "{report:?}"
    );
    let report = World::new(2).run_each(|comm| {
        let twin = comm.dup()?;
        match comm.rank() {
            0 => comm.shrink().map(|_| ()),
            _ => twin.recv::<u8>(0, 0).map(|_| ()),
        }
    });
    assert!(matches!(report.into_result(), Err(WorldError::Deadlock(_))));
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

// ── grids ──

#[test]
fn coordinates_and_ranks_are_each_others_inverse_and_neighbours_are_one_apart() {
    for (dims, periodic) in [
        (vec![6], vec![true]),
        (vec![2, 3], vec![false, true]),
        (vec![3, 1, 2], vec![true, true, false]),
        (vec![1, 6], vec![false, false]),
    ] {
        team(6)
            .run(|comm| {
                let grid = Cartesian::new(comm, &dims, &periodic)?;
                for rank in 0..6 {
                    let coords: Vec<isize> =
                        grid.coords(rank).into_iter().map(|c| c as isize).collect();
                    assert_eq!(grid.rank_at(&coords), Some(rank));
                }
                let here = grid.coords(grid.rank());
                for d in 0..dims.len() {
                    let (below, above) = grid.shift(d, 1);
                    let inside = here[d] + 1 < dims[d] || periodic[d];
                    assert_eq!(above.is_some(), inside);
                    assert_eq!(below.is_some(), here[d] > 0 || periodic[d]);
                    if let Some(above) = above {
                        let mut there = here.clone();
                        there[d] = (there[d] + 1) % dims[d];
                        assert_eq!(grid.coords(above), there);
                    }
                }
                Ok(())
            })
            .unwrap();
    }
}

/// Returns where a shift leads on a periodic line, by addition modulo its length in the widest type.
fn around(here: usize, by: i128, length: usize) -> usize {
    (here as i128 + by).rem_euclid(length as i128) as usize
}

#[test]
fn a_shift_by_any_distance_leads_where_addition_does() {
    let far = [isize::MIN, isize::MIN + 1, isize::MAX - 1, isize::MAX];
    for dims in [vec![1], vec![2], vec![3], vec![7], vec![3, 2], vec![2, 5]] {
        let ranks = dims.iter().product();
        let grids = team(ranks).run(|comm| {
            for periodic in [true, false] {
                let grid = Cartesian::new(comm, &dims, &vec![periodic; dims.len()])?;
                let here = grid.coords(grid.rank());
                for (d, by) in
                    (0..dims.len()).flat_map(|d| (-20..=20).chain(far).map(move |by| (d, by)))
                {
                    let expected = |by: i128| {
                        let there = here[d] as i128 + by;
                        let inside = (0..dims[d] as i128).contains(&there);
                        (periodic || inside).then(|| {
                            let mut coords = here.clone();
                            coords[d] = around(here[d], by, dims[d]);
                            coords
                        })
                    };
                    let (below, above) = grid.shift(d, by);
                    let coords = |rank: Option<Rank>| rank.map(|rank| grid.coords(rank));
                    let both = (coords(below), coords(above));
                    let by = by as i128;
                    assert_eq!(
                        both,
                        (expected(-by), expected(by)),
                        "{dims:?}, {here:?}, {d}, {by}"
                    );
                }
            }
            Ok(())
        });
        grids.unwrap();
    }
}

#[test]
fn halos_are_exchanged_with_all_neighbours() {
    for (dims, periodic) in [
        (vec![5], vec![true]),
        (vec![5], vec![false]),
        (vec![2, 4], vec![true, false]),
        (vec![1, 4], vec![true, true]),
        (vec![2, 2, 2], vec![true, true, true]),
    ] {
        for length in [0, 1, 100] {
            let p = dims.iter().product();
            team(p)
                .run(|comm| {
                    let grid = Cartesian::new(comm, &dims, &periodic)?;
                    let value = |rank: Rank, side: usize, i: usize| (rank, side, i);
                    let me = grid.rank();
                    let pieces = 2 * dims.len();
                    let input: Vec<_> = (0..pieces)
                        .flat_map(|side| (0..length).map(move |i| value(me, side, i)))
                        .collect();
                    let mut output = vec![(99, 99, 99); input.len()];
                    grid.neighbor_all_to_all(&input, &mut output)?;
                    for side in 0..pieces {
                        let (below, above) = grid.shift(side / 2, 1);
                        let from = [below, above][side % 2];
                        for i in 0..length {
                            // The piece received from below is the one that its sender had for above.
                            let expected =
                                from.map_or((99, 99, 99), |from| value(from, side ^ 1, i));
                            assert_eq!(output[side * length + i], expected);
                        }
                    }
                    Ok(())
                })
                .unwrap();
        }
    }
}

#[test]
fn a_grid_that_does_not_fit_is_refused_and_as_if_not_made() {
    team(6)
        .run(|comm| {
            for (dims, periodic) in [(vec![4], vec![true]), (vec![2, 3], vec![true])] {
                let refused = Cartesian::new(comm, &dims, &periodic).err().unwrap();
                assert!(matches!(refused.kind(), ErrorKind::Usage(_)), "{refused}");
            }
            let grid = Cartesian::new(comm, &[6], &[true])?;
            let refused = grid
                .neighbor_all_to_all(&[1, 2, 3], &mut [0, 0, 0])
                .unwrap_err();
            assert!(
                refused.to_string().contains("2 equal pieces do not fit"),
                "{refused}"
            );
            comm.barrier()
        })
        .unwrap();
}

#[test]
fn grids_are_as_even_as_they_can_be() {
    for ranks in 1..200 {
        for dimensions in 1..4 {
            let grid = rankfold::even_grid(ranks, dimensions);
            assert_eq!(
                (grid.iter().product::<usize>(), grid.len()),
                (ranks, dimensions)
            );
            assert!(grid.is_sorted_by(|a, b| a >= b));
        }
    }
    assert_eq!(rankfold::even_grid(64, 3), [4, 4, 4]);
    assert_eq!(rankfold::even_grid(36, 2), [6, 6]);
}

#[test]
fn all_of_it_holds_over_channels() {
    channels::again(&[]);
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
