//! What a rank keeps of a collective call for the next one at the same line is valid either for operators that commute
//! or for those that do not, never for both: the order of operands is that of the current operator.

mod again;
mod common;

use common::{Map, compose, fold, map};
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::op::Operator;
use rankfold::{Comm, ErrorKind, Rank, Result, World};

/// Composes maps in any case, and declares itself commutative or not.
#[derive(Clone, Copy)]
struct Says {
    commutes: bool,
}

impl Operator<Map> for Says {
    fn combine(&self, left: Map, right: Map) -> Map {
        compose(left, right)
    }
    fn commutes(&self) -> bool {
        self.commutes
    }
}

/// The same as two types.
#[derive(Clone, Copy)]
struct AnyOrder;
#[derive(Clone, Copy)]
struct InOrder;

impl Operator<Map> for AnyOrder {
    fn combine(&self, left: Map, right: Map) -> Map {
        compose(left, right)
    }
    fn commutes(&self) -> bool {
        true
    }
}

impl Operator<Map> for InOrder {
    fn combine(&self, left: Map, right: Map) -> Map {
        compose(left, right)
    }
}

/// A reduction, at one line for all operators; `None` if it was refused.
fn reduction(
    comm: &Comm,
    (collective, algorithm): (Collective, Algorithm),
    root: Rank,
    op: impl Operator<Map>,
) -> Result<Option<Vec<Map>>> {
    let mut v = input(comm.rank());
    let done = match collective {
        Collective::Reduce => comm.using(algorithm).reduce(root, &mut v, op),
        _ => comm.using(algorithm).all_reduce(&mut v, op),
    };
    match done {
        Ok(()) => Ok(Some(v)),
        Err(error) if matches!(error.kind(), ErrorKind::Usage(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

const LENGTH: usize = 24;

fn input(rank: Rank) -> Vec<Map> {
    (0..LENGTH).map(|i| map(rank, i)).collect()
}

/// Runs every reduction on every algorithm with an operator that commutes and then, at the same line, with one that
/// does not; both twice. Returns the number of cases in which the first operator changed the order of operands.
fn alternate(ranks: usize, any_order: impl Op, in_order: impl Op) -> usize {
    let inputs: Vec<_> = (0..ranks).map(input).collect();
    let ordered = fold(&inputs, compose);
    let mut moved = 0;
    for collective in [Collective::Reduce, Collective::AllReduce] {
        for algorithm in Algorithm::all(collective) {
            let shape = Call::new(collective, ranks, LENGTH);
            let root = ranks - 1;
            let refused = algorithm.refused(&shape).is_some();
            if algorithm.refused(&shape.clone().commuting()).is_some() {
                continue;
            }
            let what = (collective, algorithm);
            let run = World::new(ranks).check(false).run(|comm| {
                let mut both = Vec::new();
                for _ in 0..2 {
                    let first = reduction(comm, what, root, any_order)?;
                    let second = reduction(comm, what, root, in_order)?;
                    both.push((first, second));
                }
                Ok(both)
            });
            let all = run.unwrap_or_else(|error| panic!("{what:?} of {ranks}: {error}"));
            let of_root = &all[root];
            for (first, second) in of_root {
                let kept = second.as_ref().is_none_or(|second| *second == ordered);
                assert!(kept, "{what:?} of {ranks} ranks changed the order");
                assert_eq!(second.is_none(), refused, "{what:?} of {ranks}");
                moved += usize::from(first.as_ref().is_some_and(|first| *first != ordered));
            }
        }
    }
    moved
}

trait Op: Operator<Map> + Copy + Sync {}
impl<O: Operator<Map> + Copy + Sync> Op for O {}

#[test]
fn an_operator_that_commutes_in_one_call_and_not_in_the_next_keeps_its_order_in_the_next() {
    let says = |commutes| Says { commutes };
    let moved = [2, 3, 6].map(|ranks| alternate(ranks, says(true), says(false)));
    assert!(
        moved.iter().sum::<usize>() > 0,
        "no algorithm moves operands"
    );
}

#[test]
fn of_two_operators_in_one_generic_line_the_one_that_does_not_commute_keeps_its_order() {
    let moved = [2, 3, 6].map(|ranks| alternate(ranks, AnyOrder, InOrder));
    assert!(
        moved.iter().sum::<usize>() > 0,
        "no algorithm moves operands"
    );
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
