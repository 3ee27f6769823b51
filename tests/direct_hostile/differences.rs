//! Calls of which one rank's differs in one thing.

use rankfold::collective::Algorithm::Direct;
use rankfold::{Comm, ErrorKind, Outcome, Result, World, op, span};

use crate::support::guarded;

/// The call of each rank; the last one makes another call.
type Odd = fn(&Comm, bool) -> Result<()>;

fn lengths(comm: &Comm, odd: bool) -> Result<()> {
    let mut v = vec![5u64; 900 + usize::from(odd)];
    let result = comm.using(Direct).all_reduce(&mut v, op::Sum);
    assert!(v.iter().all(|&x| x == 5));
    result
}

fn empty(comm: &Comm, odd: bool) -> Result<()> {
    let mut v = vec![5u64; if odd { 0 } else { 900 }];
    let result = comm.using(Direct).all_reduce(&mut v, op::Sum);
    assert!(v.iter().all(|&x| x == 5));
    result
}

fn types(comm: &Comm, odd: bool) -> Result<()> {
    if odd {
        return comm.using(Direct).all_reduce(&mut [5i64; 900], op::Sum);
    }
    let mut v = vec![5u64; 900];
    let result = comm.using(Direct).all_reduce(&mut v, op::Sum);
    assert!(v.iter().all(|&x| x == 5));
    result
}

fn shapes(comm: &Comm, odd: bool) -> Result<()> {
    if odd {
        return comm.using(Direct).broadcast(0, &mut [[5u32; 2]; 900]);
    }
    comm.using(Direct).broadcast(0, &mut [5u64; 900])
}

fn roots(comm: &Comm, odd: bool) -> Result<()> {
    let mut v = vec![comm.rank(); 900];
    let result = comm.using(Direct).broadcast(usize::from(odd), &mut v);
    assert!(v.iter().all(|&x| x == comm.rank()));
    result
}

fn operators(comm: &Comm, odd: bool) -> Result<()> {
    let mut v = vec![5u64; 900];
    if odd {
        return comm.using(Direct).all_reduce(&mut v, op::Max);
    }
    comm.using(Direct).all_reduce(&mut v, op::Sum)
}

fn gathers(comm: &Comm, odd: bool) -> Result<()> {
    let block = vec![comm.rank() as u64; 90 + usize::from(odd)];
    comm.using(Direct).gather(0, &block).map(drop)
}

fn halves(comm: &Comm, odd: bool) -> Result<()> {
    let mut v = vec![comm.rank() as u64; 900];
    if odd {
        let mut block = vec![0; span::block(900, comm.size(), comm.rank()).len()];
        return comm.using(Direct).reduce_scatter(&v, &mut block, op::Sum);
    }
    comm.using(Direct).all_reduce(&mut v, op::Sum)
}

#[test]
fn a_difference_in_one_thing_is_found_before_anything_is_touched() {
    let kinds: [Odd; 8] = [
        lengths, empty, types, shapes, roots, operators, gathers, halves,
    ];
    for (which, kind) in kinds.into_iter().enumerate() {
        for (ranks, check) in [(2, false), (2, true), (5, false), (12, false)] {
            let case = || format!("{which} among {ranks}");
            let world = World::new(ranks).check(check);
            let report = guarded(&case, || {
                world.run_each(|comm| kind(comm, comm.rank() == ranks - 1))
            });
            for outcome in report.outcomes.iter() {
                let Outcome::Failed(error) = outcome else {
                    panic!("{}: {outcome:?}", case());
                };
                let mismatch = matches!(error.kind(), ErrorKind::Mismatch(_));
                assert!(mismatch || error.culprit().is_some(), "{}: {error}", case());
            }
        }
    }
}
