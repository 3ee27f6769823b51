//! Started collectives among neighbours: every block against a naive oracle in graphs and on grids,
//! several at a time in every order of ending, beside other calls, in worlds that choose the order of messages; deaths.

mod again;
mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::testing::explore;
use rankfold::{Buffering, Cartesian, Comm, Neighborhood, Rank, Request, Result, World, op};
use support::neighbors::{Edges, KINDS, Kind, case, drawn, graph_of, grid_of, make, right};
use support::sweep::{sweep, sweep_bufferings};
use support::{Random, guarded};

const LENGTHS: [usize; 4] = [0, 1, 4, 100];

/// Each collective at each length, one at a time.
fn each(ranks: &Neighborhood, edges: &Edges) -> Result<()> {
    for (id, n) in LENGTHS.into_iter().enumerate() {
        for kind in KINDS {
            let case = case(edges, ranks.rank(), kind, (id as u64, n));
            case.check(&case.start(ranks)?.wait()?, "started");
        }
    }
    Ok(())
}

// ── the definitions ──

#[test]
fn every_block_of_a_graph_comes_from_its_source_for_every_number_of_ranks() {
    for ranks in (1..=17).chain([33, 64]) {
        for seed in 0..4 {
            let edges = drawn(ranks, seed << 8 | ranks as u64);
            let world = World::new(ranks).check(seed % 2 == 0);
            right(world, &|| format!("{ranks} ranks, seed {seed}"), |comm| {
                let graph = make(comm, &edges)?;
                each(&graph, &edges)?;
                comm.barrier()
            });
        }
    }
}

#[test]
fn every_block_on_a_grid_comes_from_its_side_and_missing_ones_stay_untouched() {
    let grids: [&[usize]; 8] = [
        &[1],
        &[2],
        &[7],
        &[1, 4],
        &[3, 4],
        &[2, 1, 3],
        &[2, 2, 2],
        &[2, 3, 1, 2],
    ];
    for dims in grids {
        for ends in 0..1 << dims.len() {
            let periodic: Vec<bool> = (0..dims.len())
                .map(|place| ends >> place & 1 == 1)
                .collect();
            let edges = grid_of(dims, &periodic);
            let world = World::new(edges.ranks()).check(ends % 2 == 0);
            right(world, &|| format!("{dims:?}, {periodic:?}"), |comm| {
                let grid = Cartesian::new(comm, dims, &periodic)?;
                each(&grid, &edges)
            });
        }
    }
}

#[test]
fn no_buffer_is_needed() {
    for ranks in (1..=9).chain([17]) {
        for buffering in [Buffering::Zero, Buffering::Bytes(50)] {
            let edges = drawn(ranks, ranks as u64 | 1 << 20);
            let world = World::new(ranks).check(false).buffering(buffering);
            right(world, &|| format!("{ranks} ranks, {buffering:?}"), |comm| {
                let graph = make(comm, &edges)?;
                each(&graph, &edges)
            });
        }
    }
}

/// A started call awaits no more than 64 messages at a time.
#[test]
fn two_ranks_may_have_more_edges_than_messages_that_are_awaited_at_a_time() {
    for (ranks, times) in [
        (1, 200),
        (2, 63),
        (2, 64),
        (2, 65),
        (2, 200),
        (3, 40),
        (5, 30),
    ] {
        let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
        let all: Vec<(Rank, Rank)> = pairs.flat_map(|edge| vec![edge; times]).collect();
        let edges = graph_of(ranks, &all, &mut Random::new(times as u64));
        right(
            World::new(ranks),
            &|| format!("{ranks} ranks, {times} times"),
            |comm| {
                let graph = make(comm, &edges)?;
                let cases = KINDS.map(|kind| case(&edges, comm.rank(), kind, (7, 3)));
                let open: Result<Vec<_>> = cases.iter().map(|one| one.start(&graph)).collect();
                for (one, got) in cases.iter().zip(Request::wait_all(open?)?) {
                    one.check(&got, "started");
                }
                Ok(())
            },
        );
    }
}

// ── several at a time ──

/// All orders of three.
const ORDERS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

fn three_at_a_time(comm: &Comm, edges: &Edges, turns: usize) -> Result<()> {
    let graph = make(comm, edges)?;
    let mut random = Random::new(edges.ranks() as u64);
    for turn in 0..turns {
        let kinds: [Kind; 3] = std::array::from_fn(|_| random.of(&KINDS));
        let n = random.of(&[0, 1, 9, 300]);
        let id = |one: usize| (3 * turn + one) as u64;
        let cases = [0, 1, 2].map(|one| case(edges, comm.rank(), kinds[one], (id(one), n)));
        let mut open = Vec::new();
        for one in &cases {
            open.push(Some(one.start(&graph)?));
        }
        for one in ORDERS[(turn + comm.rank()) % ORDERS.len()] {
            let got = open[one].take().expect("once").wait()?;
            cases[one].check(&got, "one of three");
        }
    }
    Ok(())
}

#[test]
fn three_at_a_time_end_in_every_order_and_another_one_on_every_rank() {
    for ranks in (1..=17).chain([33, 64]) {
        let turns = if ranks > 17 { 6 } else { 30 };
        let edges = drawn(ranks, ranks as u64 | 3 << 16);
        right(World::new(ranks), &|| format!("{ranks} ranks"), |comm| {
            three_at_a_time(comm, &edges, turns)
        });
    }
}

/// Neighbours, the whole graph and its parent: started, blocking and messages, drawn alike on all ranks.
fn mixed(comm: &Comm, edges: &Edges, seed: u64) -> Result<()> {
    let graph = make(comm, edges)?;
    let (me, p) = (comm.rank(), comm.size());
    let mut random = Random::new(seed);
    let (mut open, mut sums) = (Vec::new(), Vec::new());
    for id in 0..40 {
        let (kind, n) = (random.of(&KINDS), random.of(&[0, 2, 60]));
        let one = case(edges, me, kind, (id, n));
        match random.below(8) {
            0 => one.block(&graph)?,
            1 => sums.push(graph.iall_reduce(vec![me; n], op::Sum)?),
            2 => sums.push(comm.iall_reduce(vec![me; n], op::Sum)?),
            3 => graph.all_reduce(&mut [id], op::Max)?,
            4 => {
                let tag = id as u32;
                let (got, _) = graph.sendrecv((me + 1) % p, tag, &[me], (me + p - 1) % p, tag)?;
                assert_eq!(got, [(me + p - 1) % p]);
            }
            _ => open.push((one.start(&graph)?, one)),
        }
        // Each rank ends others, at other times.
        if !open.is_empty() && (id + me as u64).is_multiple_of(3) {
            let (request, one) = open.swap_remove(id as usize % open.len());
            one.check(&request.wait()?, "mixed");
        }
    }
    for sum in Request::wait_all(sums)? {
        assert!(sum.iter().all(|one| *one == p * (p - 1) / 2));
    }
    for (request, one) in open {
        one.check(&request.wait()?, "mixed");
    }
    Ok(())
}

#[test]
fn they_are_open_beside_other_calls_of_the_graph_and_of_its_parent() {
    for ranks in 1..=12 {
        for seed in 0..6 {
            let edges = drawn(ranks, seed << 8 | ranks as u64 | 5 << 16);
            let buffering = match seed % 2 {
                0 => Buffering::Zero,
                _ => Buffering::Unbounded,
            };
            let world = World::new(ranks).check(seed % 3 == 0).buffering(buffering);
            right(world, &|| format!("{ranks} ranks, seed {seed}"), |comm| {
                mixed(comm, &edges, seed)
            });
        }
    }
}

#[test]
fn seeded_worlds_give_the_same_blocks() {
    for seed in 0..20 {
        let edges = drawn(5, seed | 7 << 16);
        right(
            World::new(5).seed(seed),
            &|| format!("seed {seed}"),
            |comm| three_at_a_time(comm, &edges, 6),
        );
    }
}

#[test]
fn exploring_finds_no_order_in_which_they_fail() {
    for (ranks, seed) in [(2, 1), (3, 2), (3, 3), (4, 4)] {
        let edges = drawn(ranks, seed);
        let explored = guarded(&|| format!("{edges:?}"), || {
            explore(ranks, |comm| three_at_a_time(comm, &edges, 2))
        });
        // Which message a receive takes never depends on the order in which they arrive.
        assert_eq!((explored.orders, explored.complete), (1, true));
    }
}

// ── what they wait for ──

#[test]
fn a_rank_that_receives_nothing_is_done_at_once() {
    for ranks in 2..=9 {
        for check in [false, true] {
            let started = AtomicUsize::new(0);
            let world = World::new(ranks).check(check);
            right(
                world,
                &|| format!("{ranks} ranks, check({check})"),
                |comm| {
                    // All send to rank 0, which starts only after all others have ended the call.
                    let (me, others) = (comm.rank(), comm.size() - 1);
                    let graph = match me {
                        0 => comm.graph(&(1..=others).collect::<Vec<_>>(), &[])?,
                        _ => comm.graph(&[], &[0])?,
                    };
                    if me > 0 {
                        let sent = graph.ineighbor_all_gather(vec![me; 500], vec![])?;
                        assert!(sent.is_done());
                        started.fetch_add(1, Ordering::SeqCst);
                        comm.send(0, 0, &[me])?;
                        return sent.wait().map(drop);
                    }
                    (1..=others).try_for_each(|from| comm.recv::<Rank>(from, 0).map(drop))?;
                    assert_eq!(started.load(Ordering::SeqCst), others);
                    let all = graph.ineighbor_all_gather(vec![0; 500], vec![0; 500 * others])?;
                    let right: Vec<Rank> = (1..=others).flat_map(|from| vec![from; 500]).collect();
                    assert_eq!(all.wait()?, right);
                    Ok(())
                },
            );
        }
    }
}

/// Rank 0 is in another call while the blocks arrive that rank 1 waits for it to have taken.
#[test]
fn they_are_taken_in_while_their_rank_is_in_another_call() {
    for buffering in [Buffering::Unbounded, Buffering::Bytes(64), Buffering::Zero] {
        let world = World::new(2).buffering(buffering);
        right(world, &|| format!("{buffering:?}"), |comm| {
            let pair = comm.graph(&[1 - comm.rank()], &[1 - comm.rank()])?;
            let first = pair.ineighbor_all_to_all(vec![comm.rank(); 900], vec![9; 900])?;
            let second = pair.ineighbor_all_gather(vec![comm.rank()], vec![9])?;
            if comm.rank() == 1 {
                assert_eq!(second.wait()?, [0]);
                assert_eq!(first.wait()?, vec![0; 900]);
                return comm.send(0, 0, &[7]);
            }
            comm.recv::<i32>(1, 0)?;
            assert!(first.is_done() && second.is_done());
            assert_eq!((first.wait()?, second.wait()?), (vec![1; 900], vec![1]));
            Ok(())
        });
    }
}

#[test]
fn a_graph_may_be_dropped_before_its_calls_have_ended() {
    for ranks in [1, 2, 5] {
        let edges = drawn(ranks, ranks as u64 | 11 << 16);
        right(World::new(ranks), &|| format!("{ranks} ranks"), |comm| {
            let graph = make(comm, &edges)?;
            let cases = KINDS.map(|kind| case(&edges, comm.rank(), kind, (3, 50)));
            let open: Result<Vec<_>> = cases.iter().map(|one| one.start(&graph)).collect();
            drop(graph);
            comm.barrier()?;
            for (one, got) in cases.iter().zip(Request::wait_all(open?)?) {
                one.check(&got, "of a graph that is gone");
            }
            Ok(())
        });
    }
}

// ── ranks that leave ──

/// Two calls are open at a time, of blocks to the next two ranks, twice to the first, and to oneself.
fn in_a_braid(comm: &Comm) -> Result<u64> {
    let (me, n) = (comm.rank(), comm.size());
    let to = [1, 1, 2, 0].map(|by| (me + by) % n);
    let from = [0, 2, 1, 1].map(|by| (me + 2 * n - by) % n);
    let graph = comm.graph(&from, &to)?;
    let mut swapped = graph.neighbor_all_to_all_init(vec![me as u64; 4 * 30], vec![0; 4 * 30])?;
    let mut sum = 0;
    for _ in 0..2 {
        let all = graph.ineighbor_all_gather(vec![me as u64], vec![0; 4])?;
        swapped.start()?;
        let counted = graph.ineighbor_all_gather_v(vec![me as u64; 9], &[9; 4], vec![0; 36])?;
        swapped.wait()?;
        sum += swapped.output()?.iter().sum::<u64>();
        sum += counted.wait()?.iter().sum::<u64>() + all.wait()?.iter().sum::<u64>();
    }
    Ok(sum)
}

#[test]
fn a_death_at_any_operation_is_named_by_all_ranks() {
    sweep("started neighbours", 2..=5, 0.5, in_a_braid);
}

#[test]
fn a_death_at_any_operation_is_named_whatever_the_buffers() {
    sweep_bufferings("started neighbours", in_a_braid);
}

#[test]
fn a_death_on_a_grid_is_named_by_all_ranks() {
    sweep("started on a grid", 2..=6, 1.0, |comm| {
        let ring = Cartesian::new(comm, &[comm.size()], &[true])?;
        let halo = ring.ineighbor_all_to_all(vec![comm.rank() as u64; 60], vec![0; 60])?;
        let last = ring.ineighbor_all_to_all_v(vec![1; 40], &[0, 40], vec![0; 40], &[40, 0])?;
        let both = Request::wait_all(vec![halo, last])?;
        Ok(both.concat().iter().sum())
    });
}

#[test]
fn one_that_is_dropped_or_cancelled_goes_on_for_the_others() {
    for ranks in [2, 3, 9] {
        let run = |comm: &Comm| {
            let ring = Cartesian::new(comm, &[ranks], &[true])?;
            let me = ring.rank();
            let all = ring.ineighbor_all_gather(vec![me; 50], vec![ranks; 100])?;
            match me {
                0 => drop(all),
                1 => assert!(!all.cancel()?),
                _ => {
                    let sides = [ranks - 1, 1].map(|by| vec![(me + by) % ranks; 50]);
                    assert_eq!(all.wait()?, sides.concat());
                }
            }
            ring.barrier()
        };
        let report = guarded(&|| format!("{ranks} ranks"), || {
            World::new(ranks).run_each(run)
        });
        assert!(
            report.outcomes.iter().all(|one| one.value().is_some()),
            "{report}"
        );
        let [left] = &report.unfinished[..] else {
            panic!("{report}");
        };
        assert_eq!((left.rank, &left.call[..21]), (0, "ineighbor_all_gather("));
        assert!(report.mismatch.is_none(), "{report}");
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
