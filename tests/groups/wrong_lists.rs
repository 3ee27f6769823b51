//! Lists of members that differ, and members in other calls.

use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::{ErrorKind, Outcome, Rank, Report, World, WorldError};

use super::{each, mismatch};
use crate::support::guarded;

#[test]
fn ranks_whose_lists_differ_are_shown_with_their_lists_and_lines() {
    const LINE: u32 = line!() + 5;
    let lists: [&[Rank]; 2] = [&[0, 1], &[1, 0]];
    each(
        2,
        |comm| comm.subset(lists[comm.rank()]).map(drop),
        |report| {
            for rank in 0..2 {
                let found = mismatch(report, rank);
                let calls: Vec<_> = found.calls.iter().map(|it| (it.rank, &*it.call)).collect();
                assert_eq!(calls, [(0, "subset([0, 1])"), (1, "subset([1, 0])")]);
                assert!(
                    found
                        .calls
                        .iter()
                        .all(|it| it.site.unwrap().line() == LINE - 1)
                );
                assert!(found.odd.is_empty(), "{found}");
            }
        },
    );
}

#[test]
fn the_rank_that_leaves_one_out_is_found() {
    let lists: [&[Rank]; 4] = [&[0, 1, 2, 3], &[0, 1, 2, 3], &[0, 1, 2], &[0, 1, 2, 3]];
    each(
        4,
        |comm| comm.subset(lists[comm.rank()]).map(drop),
        |report| {
            assert_eq!(mismatch_or_gone(report), [true; 4]);
            let found = (0..4).find_map(|rank| match report.outcomes[rank].error()?.kind() {
                ErrorKind::Mismatch(found) => Some(found),
                _ => None,
            });
            let found = found.expect("two ranks differ");
            let of = |call: &str| found.calls.iter().filter(|it| it.call == call).count();
            assert_eq!(of("subset([0, 1, 2])"), 1, "{found}");
            assert!(of("subset([0, 1, 2, 3])") > 0, "{found}");
            assert!(found.odd.is_empty() || found.odd == [2], "{found}");
        },
    );
}

/// Whether each rank failed with a mismatch, or because a rank failed with one.
fn mismatch_or_gone(report: &Report<()>) -> Vec<bool> {
    let fails = |outcome: &Outcome<(), rankfold::Error>| {
        let error = outcome.error();
        error.is_some_and(|error| {
            matches!(
                error.kind(),
                ErrorKind::Mismatch(_) | ErrorKind::RankGone { .. }
            )
        })
    };
    report.outcomes.iter().map(fails).collect()
}

#[test]
fn the_odd_one_of_those_that_have_come_is_named() {
    let lists: [&[Rank]; 3] = [&[0, 1, 2], &[0, 1, 2], &[1, 2]];
    let at = AtomicUsize::new(0);
    let report = guarded(&|| "one after another".into(), || {
        World::new(3).check(false).run_each(|comm| {
            // Ranks 0 and 1 wait before rank 2 comes: each is counted right before its call.
            if comm.rank() == 2 {
                while at.load(Ordering::Relaxed) < 2 {
                    std::thread::yield_now();
                }
            }
            at.fetch_add(1, Ordering::Relaxed);
            comm.subset(lists[comm.rank()]).map(drop)
        })
    });
    let found = mismatch(&report, 2);
    assert!(found.odd == [2] || found.calls.len() < 3, "{found}");
    let error = report.into_result().unwrap_err();
    assert!(matches!(error, WorldError::Mismatch(_)), "{error}");
}

#[test]
fn lists_in_a_circle_are_a_deadlock() {
    let lists: [&[Rank]; 3] = [&[0, 1], &[1, 2], &[2, 0]];
    each(
        3,
        |comm| comm.subset(lists[comm.rank()]).map(drop),
        |report| {
            assert_eq!(report.deadlocks.len(), 1, "{:?}", report.deadlocks);
            let knot = &report.deadlocks[0];
            assert_eq!(knot.cycle, [0, 1, 2], "{knot}");
            assert!(knot.to_string().contains("subset([1, 2])"), "{knot}");
        },
    );
}

#[test]
fn a_member_in_another_call_is_a_deadlock() {
    each(
        3,
        |comm| match comm.rank() {
            0 => comm.subset(&[0, 1]).map(drop),
            1 => comm.recv::<u8>(0, 0).map(drop),
            _ => Ok(()),
        },
        |report| {
            assert_eq!(report.deadlocks[0].cycle, [0, 1]);
            assert!(matches!(report.outcomes[2], Outcome::Returned(())));
        },
    );
    each(
        2,
        |comm| match comm.rank() {
            0 => comm.subset(&[0, 1]).map(drop),
            _ => comm.barrier(),
        },
        |report| assert_eq!(report.deadlocks[0].cycle, [0, 1]),
    );
}

/// A rank whose list agrees with most ranks' in that both leave it out is not the odd one.
#[test]
fn a_rank_that_is_on_no_other_list_but_that_of_the_odd_one_is_not_named() {
    for round in 0..40 {
        let report = guarded(&|| format!("round {round}"), || {
            World::new(6).run_each(|comm| {
                let list: &[Rank] = match comm.rank() {
                    3 => &[4, 3],
                    4 => &[4, 3, 0],
                    _ => &[4, 2, 5, 1, 0],
                };
                comm.subset(list).map(drop)
            })
        });
        for error in report.outcomes.iter().filter_map(|one| one.error()) {
            if let ErrorKind::Mismatch(found) = error.kind() {
                assert!(!found.odd.contains(&3), "round {round}: {found}");
            }
        }
    }
}
