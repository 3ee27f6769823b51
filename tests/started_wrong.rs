//! Wrong programs with started collectives, and the report that each must cause: its kind, its ranks, their calls and
//! lines.

mod again;
mod support;

use std::sync::Arc;

use rankfold::error::{Deadlock, Mismatch};
use rankfold::{Comm, ErrorKind, Rank, Request, Result, World, WorldError, op};
use support::{each_error, guarded};

type Wrong = fn(&Comm) -> Result<()>;

fn mismatch(case: &str, error: &WorldError) -> Arc<Mismatch> {
    match error {
        WorldError::Mismatch(found) => found.clone(),
        _ => panic!("no mismatch: {case}"),
    }
}

fn deadlock(case: &str, error: &WorldError) -> Arc<Deadlock> {
    match error {
        WorldError::Deadlock(found) => found.clone(),
        _ => panic!("no deadlock: {case}"),
    }
}

/// A mismatch in which only `odd` makes the call `theirs` and all others that are named make `ours`. Among more than two
/// ranks it is the odd one, also if others came to the call after the mismatch was found.
fn differs(least: usize, program: Wrong, odd: Rank, theirs: &str, ours: &str) {
    each_error(least..=8, program, |case, ranks, error| {
        let found = mismatch(case, error);
        assert_eq!(found.odd, vec![odd; usize::from(ranks > 2)], "{case}");
        assert!(
            found.calls.iter().any(|called| called.rank == odd),
            "{case}"
        );
        for called in &found.calls {
            let call = if called.rank == odd { theirs } else { ours };
            assert!(called.call.starts_with(call), "{case}");
            let site = called.site.expect(case);
            assert!(site.file().ends_with("started_wrong.rs"), "{case}");
        }
    });
}

fn sum(comm: &Comm) -> Result<Request<'static, Vec<i32>>> {
    comm.iall_reduce(vec![1], op::Sum)
}

// ── calls that differ ──

#[test]
fn started_in_different_orders() {
    let program: Wrong = |comm| {
        if comm.rank() == 1 {
            let barrier = comm.ibarrier()?;
            let sum = comm.iall_reduce(vec![1], op::Sum)?;
            barrier.wait()?;
            return sum.wait().map(drop);
        }
        let sum = comm.iall_reduce(vec![1], op::Sum)?;
        comm.ibarrier()?.wait()?;
        sum.wait().map(drop)
    };
    differs(3, program, 1, "ibarrier", "iall_reduce(1 x i32, Sum)");
}

#[test]
fn another_length() {
    let program: Wrong = |comm| {
        let length = 1 + usize::from(comm.rank() == 2);
        comm.iall_reduce(vec![1; length], op::Sum)?.wait().map(drop)
    };
    differs(
        3,
        program,
        2,
        "iall_reduce(2 x i32, Sum)",
        "iall_reduce(1 x i32, Sum)",
    );
}

#[test]
fn another_type() {
    let program: Wrong = |comm| match comm.rank() {
        2 => comm.iall_reduce(vec![1u8], op::Sum)?.wait().map(drop),
        _ => comm.iall_reduce(vec![1i8], op::Sum)?.wait().map(drop),
    };
    differs(
        3,
        program,
        2,
        "iall_reduce(1 x u8, Sum)",
        "iall_reduce(1 x i8, Sum)",
    );
}

#[test]
fn another_root() {
    let program: Wrong = |comm| {
        let root = usize::from(comm.rank() == 2);
        comm.ibroadcast(root, vec![1])?.wait().map(drop)
    };
    differs(
        3,
        program,
        2,
        "ibroadcast(root 1, 1 x i32)",
        "ibroadcast(root 0, 1 x i32)",
    );
}

#[test]
fn another_operator() {
    let program: Wrong = |comm| match comm.rank() {
        0 => comm.iall_reduce(vec![1], op::Max)?.wait().map(drop),
        _ => sum(comm)?.wait().map(drop),
    };
    differs(
        3,
        program,
        0,
        "iall_reduce(1 x i32, Max)",
        "iall_reduce(1 x i32, Sum)",
    );
}

#[test]
fn another_algorithm() {
    let program: Wrong = |comm| {
        let chain = comm.using("chain".parse().expect("an algorithm"));
        let sum = match comm.rank() {
            0 => sum(comm)?,
            _ => chain.iall_reduce(vec![1], op::Sum)?,
        };
        sum.wait().map(drop)
    };
    let call = "iall_reduce(1 x i32, Sum)";
    differs(3, program, 0, call, call);
}

#[test]
fn a_blocking_call_and_the_started_one() {
    let program: Wrong = |comm| match comm.rank() {
        0 => comm.all_reduce(&mut [1], op::Sum),
        _ => sum(comm)?.wait().map(drop),
    };
    differs(
        3,
        program,
        0,
        "all_reduce(1 x i32, Sum)",
        "iall_reduce(1 x i32, Sum)",
    );
}

#[test]
fn a_blocking_call_before_and_after_the_started_one() {
    let program: Wrong = |comm| {
        if comm.rank() == 0 {
            comm.barrier()?;
            return sum(comm)?.wait().map(drop);
        }
        let sum = sum(comm)?;
        comm.barrier()?;
        sum.wait().map(drop)
    };
    differs(3, program, 0, "barrier", "iall_reduce(1 x i32, Sum)");
}

#[test]
fn other_collectives() {
    let program: Wrong = |comm| match comm.rank() {
        1 => comm.ibarrier()?.wait(),
        _ => comm.iscan(vec![1], op::Sum)?.wait().map(drop),
    };
    differs(3, program, 1, "ibarrier", "iscan(1 x i32, Sum)");
}

#[test]
fn pieces_whose_two_ranks_count_differently() {
    let program: Wrong = |comm| {
        let (me, p) = (comm.rank(), comm.size());
        let mut to = vec![1; p];
        to[(me + 1) % p] += usize::from(me == 0);
        let input = vec![0u8; to.iter().sum()];
        comm.iall_to_all_v(input, &to, vec![0; p], &vec![1; p])?
            .wait()
            .map(drop)
    };
    each_error(2..=8, program, |case, _, error| {
        let found = mismatch(case, error);
        let ranks: Vec<Rank> = found.calls.iter().map(|called| called.rank).collect();
        assert_eq!(ranks, [1, 0], "{case}");
        assert!(
            found.calls[0]
                .call
                .contains("awaits 1 elements from rank 0"),
            "{case}"
        );
        assert!(found.calls[1].call.contains("sends 2 x u8"), "{case}");
    });
}

// ── ranks that are missing ──

#[test]
fn one_rank_returns_without_starting_it() {
    let program: Wrong = |comm| match comm.rank() {
        1 => Ok(()),
        _ => sum(comm)?.wait().map(drop),
    };
    each_error(2..=8, program, |case, _, error| {
        assert_eq!(error.culprit(), Some(1), "{case}");
        assert!(
            matches!(
                error,
                WorldError::ReturnedEarly { .. } | WorldError::Mismatch(_)
            ),
            "{case}"
        );
    });
}

#[test]
fn one_rank_returns_before_its_part_is_done() {
    let program: Wrong = |comm| {
        let chain = comm.using("chain".parse().expect("an algorithm"));
        let passed = chain.ibroadcast(0, vec![1])?;
        match comm.rank() {
            // Rank 1 waits for the broadcast before it begins to be sent.
            0 => comm.recv::<u8>(comm.size() - 1, 0).map(drop),
            _ => passed.wait().map(drop),
        }
    };
    each_error(2..=8, program, |case, ranks, error| {
        // Rank 0 has sent its part at once, so the last rank gets it, and returns without the message.
        assert_eq!(error.culprit(), Some(ranks - 1), "{case}");
    });
}

#[test]
fn a_rank_that_waits_before_it_starts() {
    let program: Wrong = |comm| {
        if comm.rank() == 1 {
            comm.recv::<u8>(0, 1)?;
        }
        sum(comm)?.wait()?;
        match comm.rank() {
            0 => comm.send(1, 1, &[1u8]),
            _ => Ok(()),
        }
    };
    each_error(2..=8, program, |case, _, error| {
        let found = deadlock(case, error);
        assert_eq!(found.cycle, [0, 1], "{case}");
        assert!(
            found.stuck[0]
                .call
                .starts_with("wait for iall_reduce(1 x i32, Sum) of line"),
            "{case}"
        );
        assert_eq!(found.stuck[1].call, "recv(from 0, tag 1)", "{case}");
    });
}

#[test]
fn two_communicators_in_turn() {
    let program: Wrong = |comm| {
        let (first, second) = (comm.dup()?, comm.dup()?);
        let (first, second) = match comm.rank() {
            0 => (&first, &second),
            _ => (&second, &first),
        };
        first.ibarrier()?.wait()?;
        second.ibarrier()?.wait()
    };
    each_error(2..=8, program, |case, _, error| {
        let found = deadlock(case, error);
        assert_eq!(found.cycle[0], 0, "{case}");
        assert!(
            found.stuck[0]
                .comm
                .as_ref()
                .expect(case)
                .starts_with("dup of world"),
            "{case}"
        );
    });
}

/// Rank 2 has started its part and waits for a message that never comes; no rank waits for it but rank 3, which
/// has not started.
#[test]
fn a_started_call_that_awaits_a_rank_which_waits_for_a_third() {
    let program: Wrong = |comm| {
        let chain = comm.using("chain".parse().expect("an algorithm"));
        if comm.rank() == 3 {
            return comm.recv::<u8>(0, 9).map(drop);
        }
        let sum = chain.iall_reduce(vec![1], op::Sum)?;
        if comm.rank() == 2 {
            comm.recv::<u8>(1, 8)?;
        }
        sum.wait()?;
        match comm.rank() {
            0 => comm.send(3, 9, &[1u8]),
            1 => comm.send(2, 8, &[1u8]),
            _ => Ok(()),
        }
    };
    for check in [false, true] {
        let case = format!("check({check})");
        let report = guarded(&|| case.clone(), || {
            World::new(4).check(check).run_each(program)
        });
        let error = report.into_result().expect_err(&case);
        let found = deadlock(&format!("{case}: {error}"), &error);
        let stuck: Vec<Rank> = found.stuck.iter().map(|one| one.rank).collect();
        assert!(stuck.contains(&0) && stuck.contains(&3), "{error}");
    }
}

#[test]
fn only_the_ranks_of_a_deadlock_are_told_while_the_others_go_on() {
    let program = |comm: &Comm| {
        let pair = comm.split(u32::from(comm.rank() > 1), 0)?;
        let sum = pair.iall_reduce(vec![1], op::Sum)?;
        match comm.rank() {
            // Ranks 0 and 1 wait for each other; the sum of the others is none of that.
            0 | 1 => pair.recv::<u8>(1 - pair.rank(), 3).map(drop),
            _ => {
                assert_eq!(sum.wait()?, [2]);
                Ok(())
            }
        }
    };
    let report = guarded(&|| "pairs".into(), || World::new(4).run_each(program));
    assert!(
        report.outcomes[2].value().is_some() && report.outcomes[3].value().is_some(),
        "{report}"
    );
    let error = report.into_result().unwrap_err();
    assert_eq!(deadlock("pairs", &error).cycle, [0, 1], "{error}");
}

// ── wrong use of a request ──

fn usage(program: Wrong, says: &str) {
    each_error(1..=8, program, |case, _, error| {
        let WorldError::Failed { error, .. } = error else {
            panic!("{case}");
        };
        assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{case}");
        assert!(case.contains(says), "{case}");
    });
}

#[test]
fn a_result_is_given_once() {
    usage(
        |comm| {
            let mut sum = sum(comm)?;
            while sum.test()?.is_none() {}
            sum.wait().map(drop)
        },
        "is over: its result was given already",
    );
}

#[test]
fn arguments_are_refused_before_anything_is_sent() {
    usage(
        |comm| comm.ireduce(9, vec![1], op::Sum)?.wait().map(drop),
        "the root 9 is not one of",
    );
    let no_count = |comm: &Comm| comm.iall_gather_v(vec![1], &[], vec![0]).map(drop);
    usage(no_count, "one a rank, and not 0");
    let too_short = |comm: &Comm| {
        let counts = vec![1; comm.size()];
        comm.igather_v(0, vec![1; 2], &counts, vec![]).map(drop)
    };
    usage(
        too_short,
        "this rank's input must have 1 elements, and has 2",
    );
    let refused = |comm: &Comm| {
        let dissemination = rankfold::collective::Algorithm::Dissemination;
        comm.using(dissemination)
            .iall_reduce(vec![1], op::Sum)
            .map(drop)
    };
    usage(refused, "dissemination");
}

#[test]
fn a_collective_cannot_be_started_on_a_broken_communicator() {
    let program = |comm: &Comm| {
        if comm.rank() == 1 {
            panic!("on purpose");
        }
        // A rank of another process may have heard of the panic before its start.
        let first = sum(comm).and_then(|request| request.wait()).unwrap_err();
        let again = sum(comm).map(drop).unwrap_err();
        assert_eq!((first.culprit(), again.culprit()), (Some(1), Some(1)));
        Ok(())
    };
    let report = guarded(&|| "broken".into(), || World::new(3).run_each(program));
    assert!(
        report.outcomes[0].value().is_some() && report.outcomes[2].value().is_some(),
        "{report}"
    );
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
