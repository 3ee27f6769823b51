//! Wrong programs with started collectives among neighbours, and the report that each must cause: its kind, its ranks,
//! their calls and lines.

mod again;
mod support;

use rankfold::error::{Called, Mismatch};
use rankfold::{
    Cartesian, Comm, ErrorKind, Graph, Rank, Report, Request, Result, World, WorldError, op,
};
use support::guarded;

/// Each rank sends to the next one and receives from the one before it.
fn ring(comm: &Comm) -> Result<Graph> {
    let (me, p) = (comm.rank(), comm.size());
    comm.graph(&[(me + p - 1) % p], &[(me + 1) % p])
}

fn run_each(ranks: usize, check: bool, program: impl Fn(&Comm) -> Result<()> + Sync) -> Report<()> {
    let world = World::new(ranks).check(check);
    let show = || format!("{ranks} ranks, check({check})");
    guarded(&show, || world.run_each(program))
}

/// Runs a program from 2 to 8 ranks, with check and without, and shows its report to `judge`.
fn each(program: impl Fn(&Comm) -> Result<()> + Sync, judge: impl Fn(&str, &Report<()>)) {
    for ranks in 2..=8 {
        for check in [false, true] {
            let report = run_each(ranks, check, &program);
            judge(&format!("{ranks} ranks, check({check}): {report}"), &report);
        }
    }
}

fn mismatch<'r>(case: &str, report: &'r Report<()>) -> &'r Mismatch {
    let found = report.mismatch.as_deref();
    found.unwrap_or_else(|| panic!("no mismatch: {case}"))
}

fn odd(report: &Report<()>) -> &[Rank] {
    if report.outcomes.len() > 2 { &[1] } else { &[] }
}

/// The line at which a rank has made its call.
fn line(case: &str, called: &Called) -> u32 {
    let site = called.site.expect(case);
    assert!(
        site.file().ends_with("started_neighbors_wrong.rs"),
        "{case}"
    );
    site.line()
}

/// A mismatch on the graph in which rank 1 makes the call `theirs` and every other rank that is named `ours`, each with its
/// line; rank 1 and one of its neighbours are named, and no other rank is said to differ.
fn differs(
    program: impl Fn(&Comm) -> Result<()> + Sync,
    (theirs, their_line): (&str, u32),
    (ours, our_line): (&str, u32),
) {
    each(program, |case, report| {
        let found = mismatch(case, report);
        assert_eq!(found.odd, odd(report), "{case}");
        assert!(found.calls.len() >= 2, "{case}");
        assert!(found.calls.iter().any(|it| it.rank == 1), "{case}");
        for called in &found.calls {
            let (call, at) = match called.rank {
                1 => (theirs, their_line),
                _ => (ours, our_line),
            };
            assert_eq!((&called.call[..], line(case, called)), (call, at), "{case}");
        }
        let comm = found.comm.as_deref().expect(case);
        assert!(comm.starts_with("graph of world at "), "{case}");
    });
}

// ── calls that differ ──

#[test]
fn started_in_different_orders() {
    let first = line!() + 5;
    let program = |comm: &Comm| {
        let graph = ring(comm)?;
        match comm.rank() {
            1 => {
                let swapped = graph.ineighbor_all_to_all(vec![1], vec![0])?;
                let all = graph.ineighbor_all_gather(vec![1], vec![0])?;
                Request::wait_all(vec![swapped, all]).map(drop)
            }
            _ => {
                let all = graph.ineighbor_all_gather(vec![1], vec![0])?;
                let swapped = graph.ineighbor_all_to_all(vec![1], vec![0])?;
                Request::wait_all(vec![swapped, all]).map(drop)
            }
        }
    };
    differs(
        program,
        ("ineighbor_all_to_all(i32, blocks of 1)", first),
        ("ineighbor_all_gather(i32, blocks of 1)", first + 5),
    );
}

#[test]
fn a_blocking_call_and_the_started_one() {
    let first = line!() + 4;
    let program = |comm: &Comm| {
        let graph = ring(comm)?;
        match comm.rank() {
            1 => graph.neighbor_all_gather(&[1], &mut [0]),
            _ => graph
                .ineighbor_all_gather(vec![1], vec![0])?
                .wait()
                .map(drop),
        }
    };
    differs(
        program,
        ("neighbor_all_gather(i32, blocks of 1)", first),
        ("ineighbor_all_gather(i32, blocks of 1)", first + 2),
    );
}

#[test]
fn another_type() {
    let first = line!() + 5;
    let program = |comm: &Comm| {
        let graph = ring(comm)?;
        match comm.rank() {
            1 => {
                let all = graph.ineighbor_all_gather_v(vec![1u32], &[1], vec![0])?;
                all.wait().map(drop)
            }
            _ => {
                let all = graph.ineighbor_all_gather_v(vec![1f32], &[1], vec![0.0])?;
                all.wait().map(drop)
            }
        }
    };
    differs(
        program,
        ("ineighbor_all_gather_v(u32)", first),
        ("ineighbor_all_gather_v(f32)", first + 4),
    );
}

#[test]
fn a_started_collective_of_all_ranks() {
    let first = line!() + 4;
    let program = |comm: &Comm| {
        let graph = ring(comm)?;
        let done = match comm.rank() {
            1 => graph.iall_reduce(vec![1], op::Sum)?,
            _ => graph.ineighbor_all_to_all_v(vec![1], &[1], vec![0], &[1])?,
        };
        done.wait().map(drop)
    };
    differs(
        program,
        ("iall_reduce(1 x i32, Sum)", first),
        ("ineighbor_all_to_all_v(i32)", first + 1),
    );
}

#[test]
fn a_persistent_call_that_differs_is_named_with_the_line_that_describes_it() {
    let first = line!() + 5;
    let program = |comm: &Comm| {
        let graph = ring(comm)?;
        let counts = &[1];
        let mut call = match comm.rank() {
            1 => graph.neighbor_all_gather_v_init(vec![1], counts, vec![0])?,
            _ => graph.neighbor_all_to_all_init(vec![1], vec![0])?,
        };
        call.start()?;
        call.wait()
    };
    differs(
        program,
        ("ineighbor_all_gather_v(i32)", first),
        ("ineighbor_all_to_all(i32, blocks of 1)", first + 1),
    );
}

/// Rank 1 gets a block of another length than it awaits: its error names both ranks and lines.
#[test]
fn a_count_that_differs() {
    let first = line!() + 5;
    for n in [0, 1, 100] {
        let program = |comm: &Comm| {
            let graph = ring(comm)?;
            let done = match comm.rank() {
                1 => graph.ineighbor_all_gather_v(vec![7u8; n], &[n + 2], vec![0; n + 2])?,
                _ => graph.ineighbor_all_gather_v(vec![7u8; n], &[n], vec![0; n])?,
            };
            done.wait().map(drop)
        };
        each(program, |case, report| {
            let found = mismatch(case, report);
            let calls = found.calls.iter();
            let calls: Vec<_> = calls
                .map(|it| (it.rank, &it.call[..], line(case, it)))
                .collect();
            let awaits = format!(
                "ineighbor_all_gather_v(u8) awaits {} elements from rank 0",
                n + 2
            );
            let sends = format!("ineighbor_all_gather_v(u8) sends {n} x u8");
            assert_eq!(
                calls,
                [(1, &awaits[..], first), (0, &sends[..], first + 1)],
                "{case}"
            );
        });
    }
}

#[test]
fn blocks_of_a_grid_that_differ_in_length_name_the_odd_rank() {
    let first = line!() + 4;
    let program = |comm: &Comm| {
        let n = if comm.rank() == 1 { 4 } else { 5 };
        let grid = Cartesian::new(comm, &[comm.size()], &[true])?;
        grid.ineighbor_all_gather(vec![0u8; n], vec![0; 2 * n])?
            .wait()?;
        grid.barrier()
    };
    each(program, |case, report| {
        let found = mismatch(case, report);
        assert_eq!(found.odd, odd(report), "{case}");
        for called in &found.calls {
            let n = if called.rank == 1 { 4 } else { 5 };
            let call = format!("ineighbor_all_gather({n} x u8)");
            assert_eq!((&called.call, line(case, called)), (&call, first), "{case}");
        }
        assert!(found.calls.iter().any(|it| it.rank == 1), "{case}");
    });
}

// ── ranks that are missing ──

#[test]
fn a_neighbour_that_returns_without_starting_it_is_named() {
    let program = |comm: &Comm| {
        let graph = ring(comm)?;
        match comm.rank() {
            1 => Ok(()),
            _ => graph
                .ineighbor_all_gather(vec![1], vec![0])?
                .wait()
                .map(drop),
        }
    };
    each(program, |case, report| {
        let error = report.outcomes[2 % report.outcomes.len()].error();
        assert_eq!(error.expect(case).culprit(), Some(1), "{case}");
    });
}

/// Rank 2 waits in its started call for rank 1, which waits for rank 2.
#[test]
fn a_neighbour_that_waits_before_it_starts_is_a_deadlock_with_both_lines() {
    let first = line!() + 5;
    let program = |comm: &Comm| {
        let graph = ring(comm)?;
        let right = (comm.rank() + 1) % comm.size();
        if comm.rank() == 1 {
            comm.recv::<u8>(right, 1)?;
        }
        let all = graph.ineighbor_all_gather(vec![1], vec![0])?;
        all.wait()?;
        match right {
            3 => comm.send(1, 1, &[1u8]),
            _ => Ok(()),
        }
    };
    for ranks in 3..=8 {
        let report = run_each(ranks, false, program);
        let [found] = &report.deadlocks[..] else {
            panic!("{report}");
        };
        assert_eq!(found.cycle, [1, 2], "{found}");
        let stuck: Vec<_> = found
            .stuck
            .iter()
            .filter(|it| [1, 2].contains(&it.rank))
            .collect();
        let call = "wait for ineighbor_all_gather(i32, blocks of 1) of line";
        assert_eq!(stuck[0].call, "recv(from 2, tag 1)", "{found}");
        assert!(stuck[1].call.starts_with(call), "{found}");
        let lines = [0, 1].map(|one| stuck[one].site.line());
        assert_eq!(lines, [first, first + 3], "{found}");
    }
}

/// Ranks 0 and 1 wait for each other, while the neighbours beyond them go on.
#[test]
fn ranks_that_are_no_neighbours_of_a_deadlock_end_their_calls() {
    let program = |comm: &Comm| {
        let me = comm.rank();
        let graph = comm.graph(&[me ^ 1], &[me ^ 1])?;
        let all = graph.ineighbor_all_gather(vec![me], vec![9])?;
        match me {
            0 | 1 => comm.recv::<u8>(1 - me, 3).map(drop),
            _ => {
                assert_eq!(all.wait()?, [me ^ 1]);
                Ok(())
            }
        }
    };
    let report = run_each(6, false, program);
    let ended = (2..6).all(|rank| report.outcomes[rank].value().is_some());
    assert!(ended, "{report}");
    assert_eq!(report.deadlocks[0].cycle, [0, 1], "{report}");
}

/// Rank 2 waits in its second call for rank 1, which has started the first one only.
#[test]
fn a_neighbour_that_starts_fewer_calls_is_named() {
    let program = |comm: &Comm| {
        let graph = ring(comm)?;
        let first = graph.ineighbor_all_gather(vec![1], vec![0])?;
        if comm.rank() == 1 {
            return first.wait().map(drop);
        }
        let second = graph.ineighbor_all_gather(vec![2], vec![0])?;
        Request::wait_all(vec![second, first]).map(drop)
    };
    each(program, |case, report| {
        let error = report.outcomes[2 % report.outcomes.len()].error();
        assert_eq!(error.expect(case).culprit(), Some(1), "{case}");
        assert_eq!(report.culprit, Some(1), "{case}");
    });
}

// ── requests that are not ended ──

#[test]
fn one_that_is_dropped_before_its_end_is_listed_and_is_no_mismatch() {
    let turn = std::sync::Barrier::new(2);
    let first = line!() + 3;
    let program = |comm: &Comm| {
        let graph = ring(comm)?;
        let all = graph.ineighbor_all_gather(vec![comm.rank()], vec![9])?;
        // Both have sent; neither has looked for the other's message since.
        turn.wait();
        match comm.rank() {
            0 => drop(all),
            _ => assert_eq!(all.wait()?, [0]),
        }
        Ok(())
    };
    for _ in 0..50 {
        let report = run_each(2, false, program);
        let returned = report.outcomes.iter().all(|one| one.value().is_some());
        assert!(returned && report.mismatch.is_none(), "{report}");
        for left in &report.unfinished {
            assert_eq!((left.rank, left.site.line()), (0, first), "{report}");
        }
    }
}

#[test]
fn one_that_is_forgotten_is_listed_with_its_line() {
    let first = line!() + 3;
    let program = |comm: &Comm| {
        let graph = ring(comm)?;
        std::mem::forget(graph.ineighbor_all_gather(vec![1u8], vec![0])?);
        comm.barrier()
    };
    each(program, |case, report| {
        assert_eq!(report.unfinished.len(), report.outcomes.len(), "{case}");
        for left in &report.unfinished {
            assert!(left.call.starts_with("ineighbor_all_gather("), "{case}");
            assert_eq!(left.site.line(), first, "{case}");
        }
    });
}

// ── wrong arguments ──

type Call = fn(&Graph) -> Result<()>;

/// Calls with buffers that do not fit, and what their refusals say.
const MISFITS: [(&str, Call); 9] = [
    (
        "1 blocks as long as the input, which has 2 elements, do not fit an output of 3",
        |g| g.ineighbor_all_gather(vec![0; 2], vec![0; 3]).map(drop),
    ),
    (
        "1 equal pieces do not fit an input of 4 elements, with 1 as long in an output of 5",
        |g| g.ineighbor_all_to_all(vec![0; 4], vec![0; 5]).map(drop),
    ),
    (
        "there must be 1 counts of the output, one a neighbour, and not 2",
        |g| {
            g.ineighbor_all_gather_v(vec![0], &[1; 2], vec![0; 2])
                .map(drop)
        },
    ),
    (
        "the counts of the output add up to 4, and it has 3 elements",
        |g| {
            g.ineighbor_all_gather_v(vec![0], &[4], vec![0; 3])
                .map(drop)
        },
    ),
    (
        "the counts of the input add up to 7, and it has 1 elements",
        |g| {
            g.ineighbor_all_to_all_v(vec![0], &[7], vec![0; 3], &[3])
                .map(drop)
        },
    ),
    ("do not fit an output of 3", |g| {
        g.neighbor_all_gather_init(vec![0; 2], vec![0; 3]).map(drop)
    }),
    ("do not fit an input of 4 elements", |g| {
        g.neighbor_all_to_all_init(vec![0; 4], vec![0; 5]).map(drop)
    }),
    ("add up to 4, and it has 3 elements", |g| {
        g.neighbor_all_gather_v_init(vec![0], &[4], vec![0; 3])
            .map(drop)
    }),
    ("add up to 7, and it has 1 elements", |g| {
        g.neighbor_all_to_all_v_init(vec![0], &[7], vec![0; 3], &[3])
            .map(drop)
    }),
];

#[test]
fn buffers_that_do_not_fit_are_refused_before_anything_is_sent() {
    let run = World::new(3).strict().run(|comm| {
        let graph = ring(comm)?;
        for (told, call) in MISFITS {
            let refused = call(&graph).unwrap_err();
            assert!(matches!(refused.kind(), ErrorKind::Usage(_)), "{refused}");
            assert!(refused.to_string().contains(told), "{refused}");
        }
        // Nothing was sent, and no call was numbered.
        graph
            .ineighbor_all_gather(vec![1], vec![0])?
            .wait()
            .map(drop)
    });
    run.unwrap();
}

#[test]
fn none_is_started_on_a_broken_communicator() {
    let program = |comm: &Comm| {
        let graph = ring(comm)?;
        let mut later = graph.neighbor_all_gather_init(vec![1], vec![0])?;
        if comm.rank() == 1 {
            panic!("on purpose");
        }
        // The rank before it notices nothing by itself.
        let first = graph.barrier().unwrap_err();
        let again = graph.ineighbor_all_gather(vec![1], vec![0]).map(drop);
        let told = [first, again.unwrap_err(), later.start().unwrap_err()];
        assert_eq!(told.map(|error| error.culprit()), [Some(1); 3]);
        Ok(())
    };
    let report = run_each(4, false, program);
    let fine = |rank: Rank| report.outcomes[rank].value().is_some();
    assert!([0, 2, 3].into_iter().all(fine), "{report}");
    let error = report.into_result().unwrap_err();
    assert!(matches!(error, WorldError::Panicked { .. }), "{error}");
}

#[test]
fn the_failure_of_a_persistent_call_names_the_line_that_waits_for_it() {
    let program = |comm: &Comm| {
        let graph = ring(comm)?;
        let mut all = graph.neighbor_all_gather_init(vec![1], vec![0])?;
        if comm.rank() == 1 {
            return Ok(());
        }
        all.start()?;
        if comm.rank() != 2 % comm.size() {
            return all.wait();
        }
        let here = line!() + 1;
        let error = all.wait().unwrap_err();
        assert_eq!(error.site().map(|site| site.line()), Some(here), "{error}");
        let gone = all.start().unwrap_err();
        assert!(matches!(gone.kind(), ErrorKind::Usage(_)), "{gone}");
        Err(error)
    };
    for ranks in 2..=8 {
        let report = run_each(ranks, false, program);
        assert_eq!(report.culprit, Some(1), "{report}");
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
