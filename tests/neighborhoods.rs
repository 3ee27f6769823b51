//! Collectives among the neighbours in graphs and on grids: every block against a naive oracle, ranks that run ahead,
//! failures at every operation, and the reports of wrong programs.

mod channels;
mod support;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use rankfold::error::Mismatch;
use rankfold::testing::explore;
use rankfold::{
    Buffering, Cartesian, Comm, Error, ErrorKind, Graph, Neighborhood, Rank, Report, Result, World,
    WorldError, op,
};
use support::neighbors::{Edges, UNTOUCHED, block, drawn, graph_of, grid_of, length, make};
use support::sweep::{sweep, sweep_bufferings};
use support::{Random, Sieve, guarded};

/// Makes all four calls with blocks of `n` elements, and of drawn lengths.
fn all_four(ranks: &Neighborhood, edges: &Edges, call: u64, n: usize) -> Result<()> {
    equal(ranks, edges, call, n)?;
    varying(ranks, edges, call)
}

fn equal(ranks: &Neighborhood, edges: &Edges, call: u64, n: usize) -> Result<()> {
    let me = ranks.rank();
    let (incoming, outgoing) = (edges.sources[me].len(), edges.destinations[me].len());
    let mut got = vec![UNTOUCHED; incoming * n];
    ranks.neighbor_all_gather(&block(call, me, 0, n), &mut got)?;
    let right = edges.received(me, |_| n, |from, _| block(call, from, 0, n));
    assert_eq!(got, right.concat(), "all_gather {call} of {n} at {me}");

    let sent: Vec<_> = (0..outgoing)
        .map(|place| block(call, me, place, n))
        .collect();
    let mut got = vec![UNTOUCHED; incoming * n];
    ranks.neighbor_all_to_all(&sent.concat(), &mut got)?;
    let right = edges.received(me, |_| n, |from, place| block(call, from, place, n));
    assert_eq!(got, right.concat(), "all_to_all {call} of {n} at {me}");
    Ok(())
}

fn varying(ranks: &Neighborhood, edges: &Edges, call: u64) -> Result<()> {
    let me = ranks.rank();
    let counts = |blocks: &[Vec<u64>]| blocks.iter().map(Vec::len).collect::<Vec<_>>();
    let whole = |from: Rank| block(call, from, 0, length(call, from, 0));
    let right = edges.received(me, |place| place % 3, |from, _| whole(from));
    let mut got = vec![UNTOUCHED; right.concat().len()];
    ranks.neighbor_all_gather_v(&whole(me), &counts(&right), &mut got)?;
    assert_eq!(got, right.concat(), "all_gather_v {call} at {me}");

    let piece = |from: Rank, place| block(call, from, place, length(call, from, place));
    let outgoing = 0..edges.destinations[me].len();
    let sent: Vec<_> = outgoing.map(|place| piece(me, place)).collect();
    let right = edges.received(me, |place| place % 3, piece);
    let mut got = vec![UNTOUCHED; right.concat().len()];
    ranks.neighbor_all_to_all_v(&sent.concat(), &counts(&sent), &mut got, &counts(&right))?;
    assert_eq!(got, right.concat(), "all_to_all_v {call} at {me}");
    Ok(())
}

const LENGTHS: [usize; 4] = [0, 1, 4, 100];

fn in_world(world: World, edges: &Edges, show: &dyn Fn() -> String) {
    let program = |comm: &Comm| {
        let graph = make(comm, edges)?;
        for (call, n) in LENGTHS.into_iter().enumerate() {
            all_four(&graph, edges, call as u64, n)?;
        }
        // All ranks have made the same calls, whatever their neighbours are.
        graph.barrier()
    };
    let run = guarded(show, || world.strict().run(program));
    run.unwrap_or_else(|error| panic!("{}: {error}", show()));
}

// ── right programs ──

#[test]
fn every_block_of_a_graph_comes_from_its_source_for_every_number_of_ranks() {
    for ranks in (1..=17).chain([33, 64]) {
        for seed in 0..6 {
            let edges = drawn(ranks, seed << 8 | ranks as u64);
            let world = World::new(ranks).check(seed % 2 == 0);
            in_world(world, &edges, &|| format!("{ranks} ranks, seed {seed}"));
        }
    }
}

#[test]
fn no_buffer_is_needed() {
    for ranks in (1..=9).chain([17]) {
        for seed in 0..6 {
            for buffering in [Buffering::Zero, Buffering::Bytes(50)] {
                let edges = drawn(ranks, seed << 8 | ranks as u64 | 1 << 20);
                let world = World::new(ranks).check(false).buffering(buffering);
                let show = || format!("{ranks} ranks, seed {seed}, {buffering:?}");
                in_world(world, &edges, &show);
            }
        }
    }
}

#[test]
fn all_ranks_are_neighbours_of_all_in_orders_of_their_own() {
    for ranks in [1, 2, 3, 8, 17] {
        let all = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
        let edges = graph_of(ranks, &all.collect::<Vec<_>>(), &mut Random::new(5));
        for buffering in [Buffering::Zero, Buffering::Unbounded] {
            let world = World::new(ranks).check(false).buffering(buffering);
            in_world(world, &edges, &|| format!("{ranks} ranks, {buffering:?}"));
        }
    }
}

#[test]
fn every_block_on_a_grid_comes_from_its_side_and_missing_ones_stay_untouched() {
    let grids: [&[usize]; 15] = [
        &[1],
        &[2],
        &[3],
        &[7],
        &[1, 1],
        &[2, 2],
        &[1, 4],
        &[3, 4],
        &[2, 1, 3],
        &[2, 2, 2],
        &[3, 3, 3],
        &[1, 1, 1, 1],
        &[2, 1, 2, 2],
        &[2, 3, 1, 2],
        &[3, 2, 3, 2],
    ];
    // All cases from a fifth of the scale.
    let mut cases = Sieve::part(1, 5.0);
    for dims in grids {
        for ends in 0..1 << dims.len() {
            let periodic: Vec<bool> = (0..dims.len())
                .map(|place| ends >> place & 1 == 1)
                .collect();
            for buffering in [Buffering::Unbounded, Buffering::Zero] {
                if cases.takes() {
                    on_grid(dims, &periodic, buffering);
                }
            }
        }
    }
}

fn on_grid(dims: &[usize], periodic: &[bool], buffering: Buffering) {
    let edges = grid_of(dims, periodic);
    let show = || format!("{dims:?}, {periodic:?}, {buffering:?}");
    let world = World::new(edges.ranks()).buffering(buffering).strict();
    let program = |comm: &Comm| {
        let grid = Cartesian::new(comm, dims, periodic)?;
        let mut lengths = LENGTHS.into_iter().enumerate();
        lengths.try_for_each(|(call, n)| all_four(&grid, &edges, call as u64, n))
    };
    let run = guarded(&show, || world.run(program));
    run.unwrap_or_else(|error| panic!("{}: {error}", show()));
}

#[test]
fn a_grid_without_dimensions_has_no_neighbours() {
    let run = World::new(1).run(|comm| {
        let point = Cartesian::new(comm, &[], &[])?;
        point.neighbor_all_to_all::<u8>(&[], &mut [])?;
        point.neighbor_all_gather(&[1u8, 2], &mut [])
    });
    run.unwrap();
}

/// Edges, a seed for their orders, and the length of equal blocks.
fn graphs() -> impl Strategy<Value = (usize, Vec<(Rank, Rank)>, u64, usize)> {
    (1usize..10).prop_flat_map(|ranks| {
        let edge = (0..ranks, 0..ranks);
        let edges = prop::collection::vec(edge, 0..4 * ranks);
        (Just(ranks), edges, any::<u64>(), 0usize..12)
    })
}

fn cases(count: f64) -> ProptestConfig {
    ProptestConfig::with_cases((count * support::scale()).ceil() as u32)
}

proptest! {
    #![proptest_config(cases(300.0))]

    #[test]
    fn every_block_of_a_random_graph_comes_from_its_source(
        (ranks, edges, seed, n) in graphs(),
        check: bool,
        zero: bool,
    ) {
        random_graph(ranks, &edges, (seed, n), (check, zero))?;
    }
}

fn random_graph(
    ranks: usize,
    edges: &[(Rank, Rank)],
    (seed, n): (u64, usize),
    (check, zero): (bool, bool),
) -> TestCaseResult {
    let edges = graph_of(ranks, edges, &mut Random::new(seed));
    let buffering = match zero {
        true => Buffering::Zero,
        false => Buffering::Unbounded,
    };
    let world = World::new(ranks).check(check).buffering(buffering).strict();
    let program = |comm: &Comm| {
        let graph = make(comm, &edges)?;
        (0..3).try_for_each(|call| all_four(&graph, &edges, call, n))
    };
    let run = guarded(&|| format!("{edges:?}, {n}, {check}, {zero}"), || {
        world.run(program)
    });
    prop_assert!(run.is_ok(), "{run:?}");
    Ok(())
}

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

// ── failures ──

/// Edges to the next two ranks, twice to the first, and to oneself.
fn braid(comm: &Comm) -> Result<Graph> {
    let (me, n) = (comm.rank(), comm.size());
    let to = [1, 1, 2, 0].map(|by| (me + by) % n);
    let from = [0, 2, 1, 1].map(|by| (me + 2 * n - by) % n);
    comm.graph(&from, &to)
}

fn in_a_braid(comm: &Comm) -> Result<u64> {
    let graph = braid(comm)?;
    let me = comm.rank() as u64;
    let mut sum = 0;
    for n in [1, 100] {
        let mut got = vec![0; 4 * n];
        graph.neighbor_all_gather(&vec![me; n], &mut got)?;
        sum += got.iter().sum::<u64>();
        graph.neighbor_all_to_all(&vec![me; 4 * n], &mut got)?;
        sum += got.iter().sum::<u64>();
        graph.neighbor_all_gather_v(&vec![me; n], &[n; 4], &mut got)?;
        graph.neighbor_all_to_all_v(&vec![me; 4 * n], &[n; 4], &mut got, &[n; 4])?;
        sum += got.iter().sum::<u64>();
    }
    Ok(sum)
}

#[test]
fn a_death_at_any_operation_is_named_by_all_ranks() {
    sweep("neighbours", 2..=4, 0.4, in_a_braid);
}

#[test]
fn a_death_at_any_operation_is_named_whatever_the_buffers() {
    sweep_bufferings("neighbours", |comm| {
        let graph = braid(comm)?;
        let mut got = [0; 4];
        graph.neighbor_all_to_all(&[comm.rank() as u64; 4], &mut got)?;
        let mut long = [0; 80];
        graph.neighbor_all_gather(&[got[0]; 20], &mut long)?;
        Ok(long.iter().sum())
    });
}

#[test]
fn a_death_on_a_grid_is_named_by_all_ranks() {
    sweep("grid", 2..=5, 1.0, |comm| {
        let ring = Cartesian::new(comm, &[comm.size()], &[true])?;
        let mut halo = [0; 60];
        ring.neighbor_all_to_all(&[comm.rank() as u64; 60], &mut halo)?;
        ring.neighbor_all_to_all_v(&[1; 40], &[0, 40], &mut halo[..40], &[40, 0])?;
        Ok(halo.iter().sum())
    });
}

// ── wrong programs ──

fn run_each(ranks: usize, check: bool, program: impl Fn(&Comm) -> Result<()> + Sync) -> Report<()> {
    let world = World::new(ranks).check(check);
    let show = || format!("{ranks} ranks, check({check})");
    guarded(&show, || world.run_each(program))
}

fn error(report: &Report<()>, rank: Rank) -> &Error {
    let outcome = &report.outcomes[rank];
    outcome
        .error()
        .unwrap_or_else(|| panic!("rank {rank}: {outcome:?}"))
}

/// An error without the names of files and columns.
fn text(error: &impl std::fmt::Display) -> String {
    let shown = error.to_string();
    let words = shown.split_inclusive([' ', '\n']);
    let plain = |word: &str| {
        let mut parts = word.split(':');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(file), Some(line), Some(rest)) if file.ends_with(".rs") => {
                let column = rest.trim_end_matches(|c: char| !c.is_ascii_digit());
                let end = word.len()
                    - parts
                        .next()
                        .map_or(rest.len(), |more| rest.len() + 1 + more.len());
                let after = &word[end + column.len()..];
                format!("line {line}{after}")
            }
            _ => word.to_string(),
        }
    };
    let all: String = words.map(plain).collect();
    all.lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn edges_that_only_one_end_names_are_refused_on_every_rank() {
    let first = line!() + 4;
    for check in [false, true] {
        let report = run_each(4, check, |comm| {
            let refused = match comm.rank() {
                1 => comm.graph(&[], &[3, 0]),
                0 => comm.graph(&[1], &[]),
                _ => comm.graph(&[], &[]),
            };
            comm.barrier()?; // usable still
            refused.map(drop)
        });
        for rank in 0..4 {
            let line = first + [1, 0, 2, 2][rank];
            let degrees = ["1, out-degree 0", "0, out-degree 2", "0, out-degree 0"][rank.min(2)];
            let told = format!(
                "graph(in-degree {degrees}) at line {line}: mismatch: the ranks are in different collective calls\n  \
                 rank 1  graph with 1 edge to rank 3     line {first}\n  \
                 rank 3  graph with no edge from rank 1  line {}",
                first + 2
            );
            assert_eq!(text(error(&report, rank)), told);
        }
        let whole = report.into_result().unwrap_err();
        assert!(matches!(whole, WorldError::Mismatch(_)), "{whole}");
    }
}

#[test]
fn edges_that_both_ends_name_but_not_equally_often_are_refused() {
    let report = run_each(3, false, |comm| {
        let part = comm.split(0, -(comm.rank() as i64))?; // in the opposite order
        let graph = match part.rank() {
            0 => part.graph(&[0, 2, 2], &[0]),
            2 => part.graph(&[], &[0, 0, 0]),
            _ => part.graph(&[], &[]),
        };
        graph.map(drop)
    });
    for rank in 0..3 {
        let ErrorKind::Mismatch(found) = error(&report, rank).kind() else {
            panic!("{}", error(&report, rank));
        };
        let calls: Vec<_> = found
            .calls
            .iter()
            .map(|it| (it.rank, &it.call[..]))
            .collect();
        let told = [
            (0, "graph with 3 edges to rank 2"),
            (2, "graph with 2 edges from rank 0"),
        ];
        assert_eq!(calls, told, "world ranks");
        assert!(found.comm.as_deref().unwrap().starts_with("split colour 0"));
    }
}

#[test]
fn neighbours_out_of_range_and_buffers_that_do_not_fit_are_refused_before_anything_is_sent() {
    type Call = fn(&Graph) -> Result<()>;
    let calls: [(&str, Call); 11] = [
        ("the source 7 is not one of the 3", |g| {
            g.graph(&[0, 7], &[]).map(drop)
        }),
        ("the destination 3 is not one of the 3", |g| {
            g.graph(&[], &[3]).map(drop)
        }),
        (
            "4 blocks as long as the input, which has 2 elements, do not fit an output of 7",
            |g| g.neighbor_all_gather(&[0; 2], &mut [0; 7]),
        ),
        (
            "4 blocks as long as the input, which has 1 elements, do not fit an output of 8",
            |g| g.neighbor_all_gather(&[0; 1], &mut [0; 8]),
        ),
        (
            "4 equal pieces do not fit an input of 5 elements, with 4 as long in an output of 4",
            |g| g.neighbor_all_to_all(&[0; 5], &mut [0; 4]),
        ),
        (
            "4 equal pieces do not fit an input of 4 elements, with 4 as long in an output of 8",
            |g| g.neighbor_all_to_all(&[0; 4], &mut [0; 8]),
        ),
        (
            "there must be 4 counts of the output, one a neighbour, and not 3",
            |g| g.neighbor_all_gather_v(&[0; 1], &[1; 3], &mut [0; 3]),
        ),
        (
            "the counts of the output add up to 4, and it has 3 elements",
            |g| g.neighbor_all_gather_v(&[0; 1], &[1; 4], &mut [0; 3]),
        ),
        ("the counts add up to more than can be counted", |g| {
            g.neighbor_all_to_all_v(&[0; 1], &[usize::MAX; 4], &mut [0; 3], &[1; 4])
        }),
        (
            "this rank's piece for itself has 1 elements going out and 2 coming in",
            |g| g.neighbor_all_to_all_v(&[0; 4], &[1; 4], &mut [0; 5], &[2, 1, 1, 1]),
        ),
        (
            "this rank's piece for itself has 3 elements going out and 1 coming in",
            |g| g.neighbor_all_gather_v(&[0; 3], &[1; 4], &mut [0; 4]),
        ),
    ];
    let run = World::new(3).strict().run(|comm| {
        let graph = braid(comm)?;
        for (told, call) in calls {
            let refused = call(&graph).unwrap_err();
            assert!(matches!(refused.kind(), ErrorKind::Usage(_)), "{refused}");
            assert!(refused.to_string().contains(told), "{refused}");
        }
        graph.barrier()
    });
    run.unwrap();
}

/// A pair of neighbours, and a third rank that sends to the first.
fn small(comm: &Comm) -> Result<Graph> {
    match comm.rank() {
        0 => comm.graph(&[1, 2], &[1]),
        1 => comm.graph(&[0], &[0]),
        2 => comm.graph(&[], &[0]),
        _ => comm.graph(&[], &[]),
    }
}

fn found(report: &Report<()>) -> &Mismatch {
    let found = report.mismatch.as_deref();
    found.unwrap_or_else(|| panic!("{:?}", report.outcomes))
}

fn calls(found: &Mismatch) -> Vec<(Rank, &str, u32)> {
    let line = |site: Option<rankfold::error::SourceLine>| site.map_or(0, |site| site.line());
    let calls = found.calls.iter();
    calls
        .map(|it| (it.rank, &it.call[..], line(it.site)))
        .collect()
}

/// Whether all that is known of the ranks' calls is in `right`, and the calls of ranks 0 and 1 are known.
fn assert_calls(report: &Report<()>, right: &[(Rank, &str, u32)]) {
    let found = found(report);
    let calls = calls(found);
    assert!(calls.iter().all(|call| right.contains(call)), "{found}");
    let knows = |rank: Rank| calls.iter().any(|call| call.0 == rank);
    assert!(knows(0) && (knows(1) || knows(2)), "{found}");
    let comm = found.comm.as_deref().unwrap();
    assert!(comm.starts_with("graph of world at "), "{comm}");
    for error in report.outcomes.iter().filter_map(|outcome| outcome.error()) {
        assert!(matches!(error.kind(), ErrorKind::Mismatch(_)), "{error}");
    }
}

#[test]
fn neighbours_in_different_calls_are_reported_with_both_lines() {
    let first = line!() + 5;
    for check in [false, true] {
        let report = run_each(3, check, |comm| {
            let graph = small(comm)?;
            match comm.rank() {
                0 => graph.neighbor_all_gather(&[1], &mut [0; 2]),
                1 => graph.neighbor_all_to_all(&[1], &mut [0]),
                _ => graph.neighbor_all_gather(&[1], &mut []),
            }
        });
        let right = [
            (0, "neighbor_all_gather(i32, blocks of 1)", first),
            (1, "neighbor_all_to_all(i32, blocks of 1)", first + 1),
            (2, "neighbor_all_gather(i32, blocks of 1)", first + 2),
        ];
        assert_calls(&report, &right);
    }
}

#[test]
fn neighbours_with_elements_of_different_types_are_reported_with_both_lines() {
    let first = line!() + 5;
    for check in [false, true] {
        let report = run_each(2, check, |comm| {
            let pair = comm.graph(&[1 - comm.rank()], &[1 - comm.rank()])?;
            match comm.rank() {
                0 => pair.neighbor_all_to_all_v(&[1u32], &[1], &mut [0u32], &[1]),
                _ => pair.neighbor_all_to_all_v(&[1f32], &[1], &mut [0f32], &[1]),
            }
        });
        let right = [
            (0, "neighbor_all_to_all_v(u32)", first),
            (1, "neighbor_all_to_all_v(f32)", first + 1),
        ];
        assert_calls(&report, &right);
    }
}

/// The error of a rank that gets a block of another length than it awaits: it names both ranks and lines.
#[test]
fn blocks_of_different_lengths_are_reported_with_both_lines() {
    let first = line!() + 6;
    for check in [false, true] {
        for n in [1, 100] {
            let report = run_each(2, check, |comm| {
                let one_way = comm.graph(&[0][..comm.rank()], &[1][comm.rank()..])?;
                match comm.rank() {
                    0 => one_way.neighbor_all_gather(&vec![7u64; n], &mut []),
                    _ => one_way.neighbor_all_gather(&vec![7u64; n + 1], &mut vec![0; n + 1]),
                }
            });
            let (mine, theirs) = (n + 1, n);
            let told = format!(
                "neighbor_all_gather(u64, blocks of {mine}) awaits {mine} elements from rank 0"
            );
            let sent = format!("neighbor_all_gather(u64, blocks of {theirs}) sends {theirs} x u64");
            let right = [(1, &told[..], first + 1), (0, &sent[..], first)];
            assert_eq!(calls(found(&report)), right);
            let whole = report.into_result().unwrap_err();
            assert!(matches!(whole, WorldError::Mismatch(_)), "{whole}");
        }
    }
}

#[test]
fn pieces_whose_counts_differ_are_reported_with_both_lines() {
    let first = line!() + 5;
    for n in [0, 3, 50] {
        let report = run_each(2, false, |comm| {
            let pair = comm.graph(&[1 - comm.rank()], &[1 - comm.rank()])?;
            match comm.rank() {
                0 => pair.neighbor_all_to_all_v(&vec![0u8; n], &[n], &mut [0; 4], &[4]),
                _ => pair.neighbor_all_to_all_v(&[0u8; 4], &[4], &mut [0; 70], &[70]),
            }
        });
        let told = "neighbor_all_to_all_v(u8) awaits 70 elements from rank 0";
        let sent = format!("neighbor_all_to_all_v(u8) sends {n} x u8");
        let right = [(1, told, first + 1), (0, &sent[..], first)];
        assert_eq!(calls(found(&report)), right);
    }
}

#[test]
fn a_grid_whose_blocks_differ_in_length_names_the_odd_rank() {
    for ranks in [3, 5] {
        for check in [false, true] {
            let report = run_each(ranks, check, |comm| {
                let ring = Cartesian::new(comm, &[comm.size()], &[true])?;
                let n = if comm.rank() == 1 { 4 } else { 5 };
                ring.neighbor_all_gather(&vec![0u8; n], &mut vec![0; 2 * n])?;
                ring.barrier()
            });
            let found = found(&report);
            assert!(found.odd.is_empty() || found.odd == [1], "{found}");
            let odd = found.calls.iter().find(|it| it.rank == 1).unwrap();
            assert_eq!(odd.call, "neighbor_all_gather(4 x u8)");
        }
    }
}

#[test]
fn a_neighbour_in_another_collective_of_the_graph_is_reported() {
    for check in [false, true] {
        let report = run_each(3, check, |comm| {
            let graph = small(comm)?;
            match comm.rank() {
                0 => graph.neighbor_all_gather(&[1], &mut [0; 2]),
                _ => graph.barrier(),
            }
        });
        let found = found(&report);
        let told = "neighbor_all_gather(i32, blocks of 1)";
        let call = |rank| found.calls.iter().find(|it| it.rank == rank).unwrap();
        assert_eq!(
            (&call(0).call[..], &call(1).call[..]),
            (told, "barrier"),
            "{found}"
        );
    }
}

#[test]
fn a_neighbour_that_waits_for_something_else_is_a_deadlock_in_the_call() {
    let first = line!() + 4;
    let report = run_each(3, false, |comm| {
        let graph = small(comm)?;
        match comm.rank() {
            0 => graph.neighbor_all_to_all(&[1], &mut [0; 2]),
            1 => comm.recv::<u8>(0, 3).map(drop),
            _ => graph.neighbor_all_to_all(&[1], &mut []),
        }
    });
    assert!(report.outcomes[2].value().is_some(), "its block is short");
    let knot = &*report.deadlocks[0];
    let stuck: Vec<_> = knot
        .stuck
        .iter()
        .map(|it| (it.rank, it.call.as_ref()))
        .collect();
    let right = [
        (0, "neighbor_all_to_all(i32, blocks of 1)"),
        (1, "recv(from 0, tag 3)"),
    ];
    assert_eq!(stuck, right, "{knot}");
    assert_eq!(
        [knot.stuck[0].site.line(), knot.stuck[1].site.line()],
        [first, first + 1]
    );
    let comm = knot.stuck[0].comm.as_deref().unwrap();
    assert!(comm.starts_with("graph of world at "), "{knot}");
}

#[test]
fn a_neighbour_that_returns_without_the_call_is_named() {
    for check in [false, true] {
        for n in [1, 100] {
            let report = run_each(3, check, |comm| {
                let graph = small(comm)?;
                match comm.rank() {
                    0 => graph.neighbor_all_gather(&vec![1; n], &mut vec![0; 2 * n]),
                    1 => Ok(()),
                    _ => graph.neighbor_all_gather(&vec![1; n], &mut []),
                }
            });
            assert_eq!(
                error(&report, 0).culprit(),
                Some(1),
                "{}",
                error(&report, 0)
            );
        }
    }
}

// ── edges that other ranks name ──

#[test]
fn a_graph_has_the_edges_that_all_ranks_name_in_the_order_of_these_ranks() {
    for ranks in (1..=17).chain([33, 64]) {
        let mut random = Random::new(ranks as u64);
        let mut edge = || (random.below(ranks), random.below(ranks));
        let count = |rank: Rank| (rank * 7 + ranks) % 4;
        let named: Vec<Vec<(Rank, Rank)>> = (0..ranks)
            .map(|rank| (0..count(rank)).map(|_| edge()).collect())
            .collect();
        let all = named.concat();
        let case = || format!("{ranks} ranks, {named:?}");
        let got = guarded(&case, || {
            World::new(ranks).run(|comm| {
                let graph = Graph::from_edges(comm, &named[comm.rank()])?;
                let mut sources = vec![Rank::MAX; graph.in_degree()];
                graph.neighbor_all_gather(&[comm.rank()], &mut sources)?;
                assert_eq!(sources, graph.sources());
                Ok((sources, graph.destinations().to_vec()))
            })
        });
        for (rank, (sources, destinations)) in got.unwrap().into_iter().enumerate() {
            let into = all.iter().filter(|edge| edge.1 == rank).map(|edge| edge.0);
            let out = all.iter().filter(|edge| edge.0 == rank).map(|edge| edge.1);
            assert_eq!(sources, into.collect::<Vec<_>>(), "{}", case());
            assert_eq!(destinations, out.collect::<Vec<_>>(), "{}", case());
        }
    }
}

#[test]
fn an_edge_to_no_rank_is_refused_and_graphs_of_either_kind_do_not_mix() {
    guarded(&|| "wrong edges".into(), || {
        World::new(1)
            .run(|comm| {
                for edge in [(0, 1), (1, 0)] {
                    let error = Graph::from_edges(comm, &[edge]).err().unwrap();
                    assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
                    assert!(
                        error.to_string().contains("1 is not one of the 1 ranks"),
                        "{error}"
                    );
                }
                assert_eq!(Graph::from_edges(comm, &[(0, 0)])?.sources(), [0]);
                Ok(())
            })
            .unwrap();
    });
    let report = guarded(&|| "graph and from_edges".into(), || {
        World::new(3).run_each(|comm| match comm.rank() {
            1 => comm.graph(&[], &[]).map(drop),
            _ => Graph::from_edges(comm, &[]).map(drop),
        })
    });
    let found = report.mismatch.expect("the calls differ");
    assert_eq!(found.odd, [1], "{found}");
    assert!(found.to_string().contains("graph_from_edges"), "{found}");
}

#[test]
fn a_rank_dies_while_a_graph_is_made_from_edges() {
    sweep("from_edges", 1..=5, 1.0, |comm| {
        let next = |rank| (rank, (rank + 1) % comm.size());
        let edges: Vec<_> = (0..comm.size()).map(next).collect();
        let graph = Graph::from_edges(comm, if comm.rank() == 0 { &edges } else { &[] })?;
        let mut left = [0];
        graph.neighbor_all_to_all(&[comm.rank() as u64], &mut left)?;
        Ok(left[0])
    });
}

#[test]
fn all_of_it_holds_over_channels() {
    channels::again(&[]);
}
