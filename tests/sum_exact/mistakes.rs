//! Calls that differ, operators of the same name, and ranks that end.

use rankfold::collective::Algorithm;
use rankfold::op::{self, Operator, OperatorKind, SumExact};
use rankfold::topology::Topology;
use rankfold::{Comm, Error, ErrorKind, Result, World};

use crate::support::guarded;

/// The error of each rank, where every rank has one.
fn errors(ranks: usize, what: &str, call: impl Fn(&Comm) -> Result<()> + Sync) -> Vec<Error> {
    let world = World::new(ranks).check(true);
    let run = || world.run(|comm| Ok(call(comm).unwrap_err()));
    guarded(&|| format!("{what}, {ranks} ranks"), run).unwrap()
}

#[test]
fn another_operator_type_or_length_is_a_mismatch_of_the_calls_that_were_written() {
    for ranks in [2, 3, 8] {
        for n in [1, 4, 3_000] {
            let other = errors(ranks, "Sum", |comm| match comm.rank() {
                1 => comm.all_reduce(&mut vec![1.0; n], op::Sum),
                _ => comm.all_reduce(&mut vec![1.0; n], op::SumExact),
            });
            let single = errors(ranks, "f32", |comm| match comm.rank() {
                1 => comm.all_reduce(&mut vec![1.0f32; n], op::SumExact),
                _ => comm.all_reduce(&mut vec![1.0f64; n], op::SumExact),
            });
            let longer = errors(ranks, "length", |comm| {
                let n = n + usize::from(comm.rank() == 1);
                comm.scan(&mut vec![1.0f64; n], op::SumExact)
            });
            for (all, texts) in [
                (other, ["all_reduce", "f64", "SumExact"]),
                (single, ["all_reduce", "f32", "SumExact"]),
                (longer, ["scan", "f64", "SumExact"]),
            ] {
                for error in all {
                    let text = error.to_string();
                    assert!(matches!(error.kind(), ErrorKind::Mismatch(_)), "{text}");
                    assert!(text.contains("sum_exact/mistakes.rs"), "{text}");
                    assert!(!text.contains("Wide"), "{text}");
                    for part in texts {
                        assert!(text.contains(part), "no {part} in {text}");
                    }
                }
            }
        }
    }
}

/// An operator of the user's that has the name of another one.
struct Impostor;

impl Operator<f64> for Impostor {
    fn combine(&self, left: f64, right: f64) -> f64 {
        left + right
    }
    fn commutes(&self) -> bool {
        true
    }
    fn kind(&self) -> OperatorKind {
        OperatorKind::SumExact
    }
}

#[test]
fn an_operator_of_the_same_name_gets_no_accumulators() {
    for ranks in [3, 8] {
        for n in [1, 2, 100, 3_000] {
            for by in [None, Some(Algorithm::Halving)] {
                let call = |comm: &Comm| {
                    let mut v = vec![1.0; n];
                    let tree = Topology::chain(ranks);
                    match (comm.rank(), by) {
                        (1, None) if n == 2 => comm.reduce_over(&tree, &mut v, Impostor).run(),
                        (_, None) if n == 2 => comm.reduce_over(&tree, &mut v, SumExact).run(),
                        (1, None) => comm.all_reduce(&mut v, Impostor),
                        (_, None) => comm.all_reduce(&mut v, SumExact),
                        (1, Some(by)) => comm.using(by).all_reduce(&mut v, Impostor),
                        (_, Some(by)) => comm.using(by).all_reduce(&mut v, SumExact),
                    }?;
                    Ok(())
                };
                let case = || format!("{ranks} ranks, {n} elements, {by:?}");
                let world = World::new(ranks).check(true);
                let report = guarded(&case, || world.run_each(call));
                for outcome in &report.outcomes {
                    let error = outcome.error();
                    let kind = error.map(|error| error.kind());
                    let mismatch = matches!(kind, Some(ErrorKind::Mismatch(_)));
                    assert!(mismatch, "{}: {outcome:?}", case());
                }
            }
        }
    }
}

#[test]
fn a_rank_that_ends_is_named_to_those_in_the_call() {
    let calls: [fn(&Comm) -> Result<()>; 4] = [
        |comm| comm.all_reduce(&mut [1.0; 2], op::SumExact),
        |comm| comm.all_reduce(&mut [1.0; 2_000], op::SumExact),
        |comm| comm.scan(&mut [1.0f32; 2_000], op::SumExact),
        |comm| {
            comm.using(Algorithm::Halving)
                .reduce(0, &mut [1.0; 2_000], op::SumExact)
        },
    ];
    for ranks in [2, 3, 8] {
        for call in calls {
            let run = || {
                World::new(ranks).run(|comm| match comm.rank() {
                    1 => panic!("as asked"),
                    _ => call(comm),
                })
            };
            let error = guarded(&|| format!("{ranks} ranks"), run).unwrap_err();
            assert_eq!(error.culprit(), Some(1), "{error}");
        }
    }
}

#[test]
fn wrong_arguments_are_refused_at_the_line_of_the_call() {
    let run = || {
        World::new(3).run(|comm| {
            let line = line!() + 1;
            let error = comm.reduce(9, &mut [1.0], op::SumExact).unwrap_err();
            assert_eq!(error.site().map(|site| site.line()), Some(line));
            let short = comm.reduce_scatter(&[1.0; 3], &mut [0.0; 7], op::SumExact);
            assert!(short.unwrap_err().to_string().contains("output"));
            let by = comm.using(Algorithm::Cells);
            let long = by.all_reduce(&mut [1.0; 20], op::SumExact).unwrap_err();
            assert!(long.to_string().contains("no room in a cell"), "{long}");
            Ok(())
        })
    };
    guarded(&|| "refused".into(), run).unwrap();
}
