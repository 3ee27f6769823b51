//! Calls in a row while ranks run ahead, and which messages meet.

use rankfold::testing::explore;
use rankfold::{Comm, Rank, World, op};

use super::{all_four, equal, in_world, varying};
use crate::support::neighbors::{drawn, make};
use crate::support::{Random, guarded};

/// Every rank is late in turn: it draws how long it spins before a call.
#[test]
fn many_calls_in_a_row_match_in_order_while_ranks_run_ahead() {
    for ranks in [2, 3, 5, 8] {
        for seed in 0..3u64 {
            let edges = drawn(ranks, seed << 8 | 0x77);
            let show = || format!("{ranks} ranks, seed {seed}");
            let program = |comm: &Comm| {
                let mut random = Random::new(seed << 8 | comm.rank() as u64);
                let graph = make(comm, &edges)?;
                for call in 0..200 {
                    let turns = random.of(&[0, 0, 0, 1, 2000]);
                    (0..turns).for_each(|_| std::hint::spin_loop());
                    match call % 3 {
                        0 => varying(&graph, &edges, call)?,
                        _ => equal(&graph, &edges, call, (call % 5) as usize)?,
                    }
                    if call % 16 == 0 {
                        graph.all_reduce(&mut [call], op::Max)?;
                    }
                }
                Ok(())
            };
            let world = World::new(ranks).check(false).strict();
            guarded(&show, || world.run(program))
                .unwrap_or_else(|error| panic!("{}: {error}", show()));
        }
    }
}

/// A rank with short blocks runs ahead of one with long blocks, until there is no room for more.
#[test]
fn a_rank_that_has_run_ahead_does_not_wait_out_of_turn() {
    for times in 1..=9 {
        for run in 0..20 {
            let program = |comm: &Comm| {
                let (short, long) = (1, 100);
                let (graph, mine, counts) = match comm.rank() {
                    0 => (comm.graph(&[2], &vec![2; times])?, short, vec![long]),
                    2 => (comm.graph(&vec![0; times], &[0])?, long, vec![short; times]),
                    _ => (comm.graph(&[], &[])?, 7, vec![]),
                };
                let mut got = vec![0; counts.iter().sum()];
                (0..6).try_for_each(|call| {
                    graph.neighbor_all_gather_v(&vec![call; mine], &counts, &mut got)?;
                    assert!(got.iter().all(|got| *got == call));
                    Ok(())
                })
            };
            let world = World::new(3).check(false).strict();
            guarded(&|| format!("{times} times, {run}"), || world.run(program)).unwrap();
        }
    }
}

#[test]
fn a_rank_without_neighbours_waits_for_nobody() {
    let program = |comm: &Comm| {
        let (me, last) = (comm.rank(), comm.size() - 1);
        let ring = [(me + last.max(1) - 1) % last.max(1)];
        let neighbours = if me == last { &[][..] } else { &ring };
        let next = [(me + 1) % last.max(1)];
        let graph = comm.graph(neighbours, if me == last { &[] } else { &next })?;
        if me < last {
            // The others begin only after it has made all its calls.
            comm.recv::<u8>(last, 0)?;
        }
        let mut got = vec![0; neighbours.len()];
        for call in 0..300 {
            graph.neighbor_all_gather(&[me + call], &mut got)?;
            graph.neighbor_all_to_all(&vec![me; neighbours.len()], &mut got)?;
        }
        if me == last {
            (0..last).try_for_each(|to| comm.send(to, 0, &[0u8]))?;
        }
        graph.barrier()
    };
    for ranks in [1, 2, 3, 6] {
        let world = World::new(ranks).check(false).strict();
        guarded(&|| format!("{ranks} ranks"), || world.run(program)).unwrap();
    }
}

#[test]
fn a_rank_that_only_sends_short_blocks_is_several_calls_ahead() {
    let program = |comm: &Comm| {
        let (me, n) = (comm.rank(), comm.size());
        let sources: Vec<Rank> = me.checked_sub(1).into_iter().collect();
        let destinations: Vec<Rank> = Some(me + 1).filter(|to| *to < n).into_iter().collect();
        let chain = comm.graph(&sources, &destinations)?;
        if me == 1 {
            // Rank 0 has made all its calls.
            comm.recv::<u8>(0, 0)?;
        }
        for call in 0..4 {
            let mut got = vec![0; sources.len()];
            chain.neighbor_all_gather(&[10 * call + me], &mut got)?;
            assert!(got.iter().all(|got| *got == 10 * call + me - 1));
        }
        match me {
            0 if n > 1 => comm.send(1, 0, &[0u8]),
            _ => Ok(()),
        }
    };
    for ranks in 1..=5 {
        let world = World::new(ranks).check(false).strict();
        guarded(&|| format!("{ranks} ranks"), || world.run(program)).unwrap();
    }
}

#[test]
fn a_program_of_neighbours_has_one_order_of_messages() {
    for (ranks, seed) in [(2, 1), (3, 2), (3, 3), (4, 4)] {
        let edges = drawn(ranks, seed);
        let explored = guarded(&|| format!("{edges:?}"), || {
            explore(ranks, |comm| {
                let graph = make(comm, &edges)?;
                all_four(&graph, &edges, seed, 2)?;
                all_four(&graph, &edges, seed + 9, 20)
            })
        });
        assert_eq!((explored.orders, explored.complete), (1, true));
    }
}

#[test]
fn seeded_worlds_give_the_same_blocks() {
    for seed in 0..20 {
        let edges = drawn(5, seed);
        let world = World::new(5).seed(seed);
        in_world(world, &edges, &|| format!("seed {seed}"));
    }
}

#[test]
fn messages_of_a_graph_do_not_meet_those_of_its_parent_or_of_itself() {
    let program = |comm: &Comm| {
        let (me, n) = (comm.rank(), comm.size());
        let (up, down) = ((me + 1) % n, (me + n - 1) % n);
        let ring = comm.graph(&[down], &[up])?;
        comm.send(up, 0, &[me, 1])?;
        ring.send(up, 0, &[me, 2])?;
        let mut got = [0; 2];
        ring.neighbor_all_gather(&[me, 3], &mut got)?;
        assert_eq!(got, [down, 3]);
        assert_eq!(ring.recv::<Rank>(down, 0)?.0, [down, 2]);
        assert_eq!(comm.recv::<Rank>(down, 0)?.0, [down, 1]);
        Ok(())
    };
    for ranks in 1..=6 {
        World::new(ranks).strict().run(program).unwrap();
    }
}

#[test]
fn a_graph_of_a_part_of_the_ranks_counts_its_own() {
    let program = |comm: &Comm| {
        let part = comm.split(comm.rank() as u32 % 2, 0)?;
        let (me, n) = (part.rank(), part.size());
        let ring = part.graph(&[(me + n - 1) % n], &[(me + 1) % n])?;
        let mut got = [0];
        ring.neighbor_all_gather(&[comm.rank()], &mut got)?;
        assert_eq!(got[0], part.world_rank((me + n - 1) % n));
        Ok(())
    };
    for ranks in 2..=9 {
        World::new(ranks).strict().run(program).unwrap();
    }
}
