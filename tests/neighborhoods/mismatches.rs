//! Neighbours in different calls, and arguments that are refused.

use rankfold::{Cartesian, ErrorKind, Graph, Result, World, WorldError};

use super::{assert_calls, braid, calls, error, found, run_each, small};

/// A wrong call, and what its error says.
type Wrong = (&'static str, fn(&Graph) -> Result<()>);

/// Neighbours that are not there, and blocks of one length that do not fit.
const WRONG: [Wrong; 6] = [
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
];

/// Counts that do not fit.
const WRONG_COUNTS: [Wrong; 5] = [
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

#[test]
fn neighbours_out_of_range_and_buffers_that_do_not_fit_are_refused_before_anything_is_sent() {
    let run = World::new(3).strict().run(|comm| {
        let graph = braid(comm)?;
        for (told, call) in WRONG.into_iter().chain(WRONG_COUNTS) {
            let refused = call(&graph).unwrap_err();
            assert!(matches!(refused.kind(), ErrorKind::Usage(_)), "{refused}");
            assert!(refused.to_string().contains(told), "{refused}");
        }
        graph.barrier()
    });
    run.unwrap();
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
