//! Wrong programs that mix what must not be mixed: forms of one collective, epochs of windows, exact and fused sums. Each
//! report must name the calls with their ranks and lines.

mod again;
mod support;

use rankfold::{AtomicWindow, Comm, ErrorKind, Rank, Result, World, WorldError, op};
use support::{each_error, guarded};

type Wrong = fn(&Comm) -> Result<()>;

/// Ranks and calls of a report.
type Named = Vec<(Rank, String)>;

fn calls_of(case: &str, error: &WorldError) -> Named {
    let file = |site: &str| assert!(site.contains("forms_wrong.rs"), "{case}");
    match error {
        WorldError::Mismatch(found) => {
            let named = found.calls.iter().map(|called| {
                file(&called.site.expect(case).to_string());
                (called.rank, called.call.clone())
            });
            named.collect()
        }
        WorldError::Deadlock(found) => {
            let named = found.stuck.iter().map(|stuck| {
                file(&stuck.site.to_string());
                (stuck.rank, stuck.call.clone())
            });
            named.collect()
        }
        _ => panic!("neither a mismatch nor a deadlock: {case}"),
    }
}

/// Rank 1 makes the call `theirs`, and each other rank that is named `ours`; rank 1 and another one are named.
fn rank_1_differs(program: Wrong, theirs: &str, ours: &str) {
    each_error(2..=5, program, |case, _, error| {
        let named = calls_of(case, error);
        assert!(
            named.iter().any(|(rank, _)| *rank == 1) && named.len() > 1,
            "{case}"
        );
        for (rank, call) in named {
            let want = if rank == 1 { theirs } else { ours };
            assert!(
                call.starts_with(want),
                "rank {rank}: {call}, not {want}: {case}"
            );
        }
    });
}

/// The same, and it is a deadlock.
fn rank_1_is_stuck(program: Wrong, theirs: &str, ours: &str) {
    each_error(2..=5, program, |case, _, error| {
        assert!(matches!(error, WorldError::Deadlock(_)), "{case}");
    });
    rank_1_differs(program, theirs, ours);
}

// ── forms of one collective ──

#[test]
fn a_persistent_call_and_a_blocking_one() {
    let program: Wrong = |comm| {
        if comm.rank() == 1 {
            return comm.all_reduce(&mut [1], op::Sum);
        }
        let mut call = comm.all_reduce_init(vec![1], op::Sum)?;
        call.start()?;
        call.wait()
    };
    rank_1_differs(program, "all_reduce(1 x i32", "iall_reduce(1 x i32");
}

#[test]
fn persistent_calls_with_another_root() {
    let program: Wrong = |comm| {
        let mut call = comm.broadcast_init(usize::from(comm.rank() == 1), vec![1])?;
        call.start()?;
        call.wait()
    };
    rank_1_differs(program, "ibroadcast(root 1", "ibroadcast(root 0");
}

#[test]
fn persistent_calls_started_in_different_orders() {
    let program: Wrong = |comm| {
        let mut sum = comm.all_reduce_init(vec![1], op::Sum)?;
        let mut most = comm.all_reduce_init(vec![1], op::Max)?;
        let calls = if comm.rank() == 1 {
            [&mut most, &mut sum]
        } else {
            [&mut sum, &mut most]
        };
        let [first, second] = calls;
        first.start()?;
        second.start()?;
        first.wait()?;
        second.wait()
    };
    rank_1_differs(
        program,
        "iall_reduce(1 x i32, Max)",
        "iall_reduce(1 x i32, Sum)",
    );
}

#[test]
fn a_persistent_call_that_one_rank_starts_once_less() {
    let program: Wrong = |comm| {
        let mut call = comm.barrier_init()?;
        for _ in 0..if comm.rank() == 1 { 2 } else { 3 } {
            call.start()?;
            call.wait()?;
        }
        Ok(())
    };
    each_error(2..=5, program, |case, _, error| {
        let WorldError::ReturnedEarly { rank, .. } = error else {
            panic!("{case}");
        };
        assert!(*rank == 1 && case.contains("forms_wrong.rs"), "{case}");
    });
}

#[test]
fn a_persistent_call_that_is_active_is_refused_a_second_start_and_its_buffers() {
    let report = World::new(2).run_each(|comm| {
        let mut call = comm.all_reduce_init(vec![1], op::Sum)?;
        call.start()?;
        for refused in [
            call.start().map(drop),
            call.input_mut().map(drop),
            call.output().map(drop),
        ] {
            let error = refused.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
            let lines = error.to_string().matches("forms_wrong.rs").count();
            assert_eq!(
                lines, 2,
                "that of this call and that of the description: {error}"
            );
        }
        call.wait()?;
        assert_eq!(call.output()?, [2]);
        Ok(())
    });
    report.into_result().unwrap();
}

#[test]
fn a_started_call_that_is_never_waited_for_is_listed_with_its_line() {
    let report = guarded(&|| "dropped".into(), || {
        World::new(3).strict().run_each(|comm| {
            let sum = comm.iall_reduce(vec![1], op::Sum)?;
            if comm.rank() == 1 {
                drop(sum);
                return Ok(());
            }
            assert_eq!(sum.wait()?, [3]);
            Ok(())
        })
    });
    let text = report.into_result().unwrap_err().to_string();
    assert!(
        text.contains("iall_reduce") && text.contains("forms_wrong.rs"),
        "{text}"
    );
}

// ── sums of another kind ──

#[test]
fn a_fused_call_and_a_plain_one() {
    let program: Wrong = |comm| match comm.rank() {
        1 => comm.all_reduce(&mut [1_u64], op::Sum),
        _ => {
            let (mut sum, mut most) = ([1_u64], [1_i32]);
            comm.fused(|f| {
                f.all_reduce(&mut sum, op::Sum);
                f.all_reduce(&mut most, op::Max);
            })
        }
    };
    rank_1_differs(program, "all_reduce(1 x u64, Sum)", "");
}

#[test]
fn an_exact_sum_and_a_plain_one() {
    let program: Wrong = |comm| match comm.rank() {
        1 => comm.all_reduce(&mut [1.0], op::Sum),
        _ => comm.sum_exact(&[1.0]).map(drop),
    };
    rank_1_differs(program, "all_reduce(1 x f64, Sum)", "all_reduce(1 x");
}

#[test]
fn an_exact_sum_and_an_exact_product() {
    let program: Wrong = |comm| match comm.rank() {
        1 => comm.dot_exact(&[1.0], &[1.0]).map(drop),
        _ => comm.sum_exact(&[1.0]).map(drop),
    };
    rank_1_differs(program, "all_reduce(1 x", "all_reduce(1 x");
}

// ── epochs of windows ──

#[test]
fn a_fence_and_a_barrier() {
    let program: Wrong = |comm| {
        let mut win = comm.window(vec![0])?;
        match comm.rank() {
            1 => comm.barrier(),
            _ => win.fence().map(drop),
        }
    };
    rank_1_is_stuck(program, "barrier", "fence");
}

#[test]
fn a_fence_and_an_access_that_awaits_its_exposure() {
    let program: Wrong = |comm| {
        let mut win = comm.window(vec![0])?;
        match comm.rank() {
            1 => win.start(&[0]).map(drop),
            _ => win.fence().map(drop),
        }
    };
    rank_1_is_stuck(program, "start([0])", "fence");
}

#[test]
fn a_fence_and_an_exposure_that_awaits_its_origin() {
    let program: Wrong = |comm| {
        let mut win = comm.window(vec![0])?;
        match comm.rank() {
            1 => win.post(&[0])?.wait(),
            _ => win.fence().map(drop),
        }
    };
    rank_1_is_stuck(program, "wait", "fence");
}

#[test]
fn an_exposure_to_an_origin_that_locks_instead_and_then_meets() {
    let program: Wrong = |comm| {
        let win = comm.window(vec![0])?;
        if comm.rank() == 1 {
            return win.post(&[0])?.wait();
        }
        drop(win.lock_exclusive(1)?);
        comm.barrier()
    };
    rank_1_is_stuck(program, "wait", "barrier");
}

#[test]
fn a_lock_that_its_holder_keeps_over_a_barrier_which_the_waiter_has_not_reached() {
    let program: Wrong = |comm| {
        let win = comm.window(vec![0])?;
        let _held = (comm.rank() == 0).then(|| win.local_mut()).transpose()?;
        comm.barrier()?;
        match comm.rank() {
            1 => win.lock_exclusive(0).map(drop),
            _ => comm.barrier(),
        }
    };
    rank_1_is_stuck(program, "lock_exclusive(part 0)", "barrier");
}

#[test]
fn the_fences_of_atomics_and_of_a_window() {
    let program: Wrong = |comm| {
        let (mut win, atomics) = (comm.window(vec![0])?, AtomicWindow::new(comm, vec![0])?);
        match comm.rank() {
            1 => atomics.fence(),
            _ => win.fence().map(drop),
        }
    };
    rank_1_is_stuck(program, "fence", "fence");
}

#[test]
fn a_window_that_one_rank_does_not_make() {
    let program: Wrong = |comm| match comm.rank() {
        1 => comm.barrier(),
        _ => comm.window(vec![0]).map(drop),
    };
    rank_1_differs(program, "barrier", "window");
}

#[test]
fn a_window_and_one_of_atomics() {
    let program: Wrong = |comm| match comm.rank() {
        1 => AtomicWindow::new(comm, vec![0]).map(drop),
        _ => comm.window(vec![0]).map(drop),
    };
    rank_1_differs(program, "", "window");
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
