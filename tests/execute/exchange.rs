//! An all-reduce of two ranks by messages, which is one exchange, beside the same steps one after another: the same bits,
//! and the same errors.

use rankfold::check::Goal;
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::op::{self, Element, Operator};
use rankfold::{Comm, Error, ErrorKind, Outcome, Report, Result, Transport, World};

use crate::zoo::{Affine, compose};

const LENGTHS: [usize; 6] = [1, 2, 7, 513, 9_000, 40_000];

fn world() -> World {
    World::new(2).transport(Transport::Channels)
}

/// Runs the steps of the exchange by their executor.
fn by_steps<T: Element>(comm: &Comm, vector: &mut [T], op: impl Operator<T>) -> Result<()> {
    let call = Call::new(Collective::AllReduce, 2, vector.len());
    let call = if op.commutes() {
        call.commuting()
    } else {
        call
    };
    let schedule = Algorithm::Exchange.schedule(&call).unwrap();
    comm.run_schedule(&schedule, &Goal::all_reduce(vector.len()), &[], vector, op)
}

fn same<T: Element + PartialEq + std::fmt::Debug>(
    comm: &Comm,
    input: &[T],
    op: impl Operator<T> + Copy,
) -> Result<()> {
    let [mut steps, mut in_place] = [(); 2].map(|()| input.to_vec());
    by_steps(comm, &mut steps, op)?;
    comm.using(Algorithm::Exchange)
        .all_reduce(&mut in_place, op)?;
    let mut output = vec![input[0]; input.len()];
    for _ in 0..2 {
        comm.using(Algorithm::Exchange)
            .all_reduce_into(input, &mut output, op)?;
    }
    assert!(
        in_place == steps && output == steps,
        "{} elements",
        input.len()
    );
    Ok(())
}

#[test]
fn an_exchange_folds_the_same_bits_as_its_steps() {
    let run = world().run(|comm| {
        for length in LENGTHS {
            let me = comm.rank() as f64;
            // Neither associative nor, for what is no number, without a difference between the operands.
            let numbers: Vec<f64> = (0..length).map(|i| 0.1 + me * 1e-9 * i as f64).collect();
            same(comm, &numbers, op::Sum)?;
            same(comm, &numbers, |a: f64, b: f64| a * 3.0 - b)?;
            let maps: Vec<Affine> = (0..length)
                .map(|i| (2 * i as u64 + 3, me as u64 + 5))
                .collect();
            same(comm, &maps, compose)?;
        }
        Ok(())
    });
    run.unwrap();
}

/// What the second rank does instead.
type Other = fn(&Comm, &mut [u64]) -> Result<()>;

const OTHERS: [Other; 5] = [
    |comm, vector| all_reduce(comm, &mut [vector, &mut [0]].concat()),
    |comm, vector| {
        comm.using(Algorithm::Exchange)
            .all_reduce(&mut vec![1.5; vector.len()], op::Sum)
    },
    |comm, vector| comm.broadcast(1, vector),
    |_, _| panic!("boom"),
    |_, _| Err(Error::user("boom")),
];

fn all_reduce(comm: &Comm, vector: &mut [u64]) -> Result<()> {
    comm.using(Algorithm::Exchange).all_reduce(vector, op::Sum)
}

/// What the ranks of a world have come to, without lines and names of calls.
fn ends(report: &Report<(), Error>) -> Vec<String> {
    let outcomes = report.outcomes.iter().map(|outcome| match outcome {
        Outcome::Failed(error) => match error.kind() {
            ErrorKind::Mismatch(_) => "mismatch".into(),
            ErrorKind::RankGone { rank, why, .. } => format!("{rank} {why}"),
            ErrorKind::Broken { rank, .. } => format!("broken by {rank}"),
            other => other.to_string(),
        },
        Outcome::Returned(()) => "returned".into(),
        other => format!("{other:?}"),
    });
    outcomes.chain([format!("{:?}", report.culprit)]).collect()
}

#[test]
fn an_exchange_fails_as_its_steps_do() {
    for length in [1, 700, 40_000] {
        for (case, other) in OTHERS.iter().enumerate() {
            let run = |call: fn(&Comm, &mut [u64]) -> Result<()>| {
                world().run_each(|comm| {
                    let mut vector = vec![7; length];
                    match comm.rank() {
                        0 => call(comm, &mut vector),
                        _ => other(comm, &mut vector),
                    }
                })
            };
            let exchange = run(all_reduce);
            let first = &ends(&exchange)[0];
            match case {
                0..=2 => assert!(
                    exchange.mismatch.is_some() && first != "returned",
                    "{exchange}"
                ),
                _ => assert!(first.contains('1') && first != "returned", "{exchange}"),
            }
            if case > 2 {
                let steps = run(|comm, vector| by_steps(comm, vector, op::Sum));
                assert_eq!(ends(&exchange), ends(&steps), "{case}, {length}: {steps}");
            }
        }
    }
}

/// The operator of one rank panics: the other one has its result, as it needs nothing more of it.
#[test]
fn an_operator_that_panics_in_an_exchange_ends_its_rank_alone() {
    for by in [all_reduce_by as fn(&Comm, usize) -> Result<()>, steps_by] {
        for victim in 0..2 {
            let report = world().run_each(|comm| by(comm, victim));
            assert_eq!(report.culprit, Some(victim), "{report}");
            assert!(
                matches!(report.outcomes[1 - victim], Outcome::Returned(())),
                "{report}"
            );
        }
    }
}

fn fails_in(comm: &Comm, victim: usize) -> impl Fn(u64, u64) -> u64 + use<> {
    let me = comm.rank();
    move |a, b| {
        assert_ne!(me, victim, "boom");
        a + b
    }
}

fn all_reduce_by(comm: &Comm, victim: usize) -> Result<()> {
    let op = fails_in(comm, victim);
    comm.using(Algorithm::Exchange).all_reduce(&mut [1; 5], op)
}

fn steps_by(comm: &Comm, victim: usize) -> Result<()> {
    by_steps(comm, &mut [1; 5], fails_in(comm, victim))
}
