//! Collectives among the neighbours in graphs and on grids: every block against a naive oracle, ranks that run ahead,
//! failures at every operation, and the reports of wrong programs.

mod again;
#[path = "neighborhoods/deaths.rs"]
mod deaths;
#[path = "neighborhoods/edges.rs"]
mod edges;
#[path = "neighborhoods/mismatches.rs"]
mod mismatches;
#[path = "neighborhoods/order.rs"]
mod order;
mod support;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use rankfold::error::Mismatch;
use rankfold::{
    Buffering, Cartesian, Comm, Error, ErrorKind, Graph, Neighborhood, Rank, Report, Result, World,
};
use support::neighbors::{Edges, UNTOUCHED, block, drawn, graph_of, grid_of, length, make};
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
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
