//! Lists that differ, operators that panic, ranks that are missing, and calls that are refused.

use rankfold::collective::Algorithm;
use rankfold::{Comm, ErrorKind, Result, World, op};

use super::mismatch;
use crate::support::guarded;

/// A list that one rank fuses instead of the others' `all_reduce(2 x u64, Sum), all_reduce(1 x f64, Max)`.
type Other = fn(&Comm) -> Result<()>;

/// With the beginning of its description.
const OTHERS: [(&str, Other); 9] = [
    ("fused()", |comm| comm.fused(|_| ())),
    ("fused(all_reduce(2 x u64, Sum))", |comm| {
        let mut a = [1u64; 2];
        comm.fused(|f| f.all_reduce(&mut a, op::Sum))
    }),
    (
        "fused(all_reduce(3 x u64, Sum), all_reduce(1 x f64, Max))",
        |comm| {
            let (mut a, mut b) = ([1u64; 3], [1.0]);
            comm.fused(|f| {
                f.all_reduce(&mut a, op::Sum);
                f.all_reduce(&mut b, op::Max);
            })
        },
    ),
    (
        "fused(all_reduce(2 x i64, Sum), all_reduce(1 x f64, Max))",
        |comm| {
            let (mut a, mut b) = ([1i64; 2], [1.0]);
            comm.fused(|f| {
                f.all_reduce(&mut a, op::Sum);
                f.all_reduce(&mut b, op::Max);
            })
        },
    ),
    (
        "fused(all_reduce(2 x u64, Product), all_reduce(1 x f64, Max))",
        |comm| {
            let (mut a, mut b) = ([1u64; 2], [1.0]);
            comm.fused(|f| {
                f.all_reduce(&mut a, op::Product);
                f.all_reduce(&mut b, op::Max);
            })
        },
    ),
    (
        "fused(all_reduce(1 x f64, Max), all_reduce(2 x u64, Sum))",
        |comm| {
            let (mut a, mut b) = ([1u64; 2], [1.0]);
            comm.fused(|f| {
                f.all_reduce(&mut b, op::Max);
                f.all_reduce(&mut a, op::Sum);
            })
        },
    ),
    (
        "fused(all_reduce(2 x u64, Closure), all_reduce(1 x f64, Max))",
        |comm| {
            let (mut a, mut b) = ([1u64; 2], [1.0]);
            comm.fused(|f| {
                f.all_reduce(&mut a, |_, _| panic!("it was folded"));
                f.all_reduce(&mut b, op::Max);
            })
        },
    ),
    (
        "fused(all_reduce(1 x u64, Sum), all_reduce(1 x u64, Sum)",
        |comm| {
            let mut v = [[1u64]; 40];
            comm.fused(|f| v.iter_mut().for_each(|v| f.all_reduce(v, op::Sum)))
        },
    ),
    ("all_reduce(2 x u64, Sum)", |comm| {
        comm.all_reduce(&mut [1u64; 2], op::Sum)
    }),
];

/// The usual list, whose call is at the line that is returned.
fn usual(comm: &Comm) -> (u32, Result<()>) {
    let (mut a, mut b) = ([1u64; 2], [1.0]);
    let line = line!() + 1;
    let done = comm.fused(|f| {
        f.all_reduce(&mut a, op::Sum);
        f.all_reduce(&mut b, op::Max);
    });
    assert!(done.is_err() || a == [comm.size() as u64; 2]);
    (line, done)
}

#[test]
fn a_rank_that_lists_other_vectors_is_named_with_its_line() {
    for (text, other) in OTHERS {
        for ranks in [3, 4, 5, 12] {
            for (odd, check) in [(0, true), (1, false), (0, false), (ranks - 1, true)] {
                let case = || format!("{text}, rank {odd} of {ranks}, check({check})");
                let run = || {
                    World::new(ranks).check(check).run_each(|comm| {
                        let done = match comm.rank() == odd {
                            true => other(comm),
                            false => usual(comm).1,
                        };
                        done.and_then(|()| comm.barrier())
                    })
                };
                let found = mismatch(guarded(&case, run));
                let told = found.comm.unwrap();
                assert_eq!(found.odd, [odd], "{}: {told}", case());
                let usual = "fused(all_reduce(2 x u64, Sum), all_reduce(1 x f64, Max))";
                assert!(
                    told.contains(text) && told.contains(usual),
                    "{}: {told}",
                    case()
                );
                let lines = told.matches("fused/mistakes.rs:").count();
                assert_eq!(lines, told.lines().count() - 1, "{}: {told}", case());
            }
        }
    }
}

#[test]
fn of_two_ranks_with_different_lists_both_learn_of_it() {
    for (text, other) in OTHERS {
        let run = || {
            World::new(2).run_each(|comm| match comm.rank() {
                0 => usual(comm).1.and_then(|()| comm.barrier()),
                _ => other(comm).and_then(|()| comm.barrier()),
            })
        };
        let report = guarded(&|| text.to_owned(), run);
        assert!(
            report
                .outcomes
                .iter()
                .all(|outcome| outcome.error().is_some()),
            "{text}"
        );
        assert!(mismatch(report).odd.is_empty(), "{text}");
    }
}

#[test]
fn a_long_list_that_differs_where_it_is_not_shown_says_so() {
    let report = World::new(3).run_each(|comm| {
        let mut v = [[1u8]; 30];
        comm.fused(|f| {
            for (i, v) in v.iter_mut().enumerate() {
                match i == 25 && comm.rank() == 1 {
                    true => f.all_reduce(v, op::Max),
                    false => f.all_reduce(v, op::Sum),
                }
            }
        })?;
        comm.barrier()
    });
    let found = mismatch(report);
    assert_eq!(found.odd, [1]);
    let told = found.comm.unwrap();
    assert!(told.contains(", and 14 more) with other vectors"), "{told}");
}

#[test]
fn a_refused_call_names_the_line_of_the_list_and_changes_nothing() {
    World::new(3)
        .run(|comm| {
            let mut v = [comm.rank() as u64];
            let barriers = comm.using(Algorithm::Dissemination);
            let line = line!() + 1;
            let error = barriers.fused(|f| f.all_reduce(&mut v, op::Sum));
            let error = error.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Usage { .. }), "{error}");
            assert_eq!(error.site().unwrap().line(), line);
            assert_eq!(v, [comm.rank() as u64]);
            comm.fused(|f| f.all_reduce(&mut v, op::Sum))?;
            assert_eq!(v, [3]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_panic_in_one_of_the_operators_fails_all_ranks_and_names_its_rank() {
    for ranks in [2, 3, 5, 16] {
        for (length, check) in [(1, false), (1, true), (300, false), (1000, false)] {
            let run = || {
                World::new(ranks).check(check).run_each(|comm| {
                    let (mut a, mut b, mut c) = ([1u64], vec![2u64; length], [1.0]);
                    let bad = |_: u64, _: u64| -> u64 { panic!("no fold") };
                    comm.fused(|f| {
                        f.all_reduce(&mut a, op::Sum);
                        f.all_reduce(&mut b, bad);
                        f.all_reduce(&mut c, op::Max);
                    })?;
                    comm.barrier()
                })
            };
            let case = || format!("{ranks} ranks, {length} elements, check({check})");
            let report = guarded(&case, run);
            assert!(report.culprit.is_some(), "{}", case());
            let failed = |outcome: &rankfold::Outcome<()>| outcome.value().is_none();
            assert!(report.outcomes.iter().all(failed), "{}", case());
            let told = report.into_result().unwrap_err().to_string();
            assert!(told.contains("no fold"), "{}: {told}", case());
        }
    }
}

#[test]
fn a_rank_that_returns_or_panics_instead_is_named() {
    for ranks in [2, 3, 7] {
        for gone in [0, ranks - 1] {
            for panics in [false, true] {
                let run = || {
                    World::new(ranks).run_each(|comm| {
                        if comm.rank() == gone {
                            assert!(!panics, "instead of the call");
                            return Ok(());
                        }
                        usual(comm).1.and_then(|()| comm.barrier())
                    })
                };
                let case = || format!("rank {gone} of {ranks} is gone, panics: {panics}");
                let report = guarded(&case, run);
                let others = report.outcomes.iter().enumerate();
                let mut others = others.filter(|(rank, _)| *rank != gone);
                assert!(
                    others.all(|(_, outcome)| outcome.error().is_some()),
                    "{}",
                    case()
                );
                let told = report.into_result().unwrap_err().to_string();
                assert!(told.contains(&format!("rank {gone}")), "{}: {told}", case());
            }
        }
    }
}

#[test]
fn a_panic_while_vectors_are_listed_makes_no_call() {
    let report = World::new(2).run_each(|comm| {
        let mut v = [1u64];
        comm.fused(|f| {
            f.all_reduce(&mut v, op::Sum);
            assert!(comm.rank() == 0, "while it lists");
        })
    });
    assert_eq!(report.culprit, Some(1));
}

#[test]
fn exact_sums_are_refused_before_anything_is_sent() {
    let run = |comm: &Comm| {
        let (mut sum, mut most) = ([0.5], [1]);
        let refused = comm.fused(|f| {
            f.all_reduce(&mut most, op::Max);
            f.all_reduce(&mut sum, op::SumExact);
        });
        let refused = refused.unwrap_err();
        assert!(
            matches!(refused.kind(), rankfold::ErrorKind::Usage(_)),
            "{refused}"
        );
        comm.barrier()
    };
    World::new(3).strict().run(run).unwrap();
}
