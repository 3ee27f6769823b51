//! Operators that panic or call, and what they cost whom.

use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::topology::Topology;
use rankfold::{Comm, Error, ErrorKind, Outcome, Report, WorldError, op};

use super::{LENGTHS, for_all_sizes};

/// An operator that panics on the contribution of the last rank.
fn fragile(a: u64, b: u64) -> u64 {
    assert!(a < 1 << 40 && b < 1 << 40, "too much");
    a + b
}

fn big_in_the_last(comm: &Comm) -> u64 {
    if comm.rank() + 1 == comm.size() {
        1 << 40
    } else {
        1
    }
}

/// A rank that applied the operator panicked, the first of them is the culprit, and all others name one of them.
fn judge_fragile<R>(ranks: usize, report: Report<R>) {
    let culprit = report.culprit.expect("the operator panicked in a rank");
    let panicked = |rank: usize| matches!(&report.outcomes[rank], Outcome::Panicked { message, .. } if &**message == "too much");
    assert!(panicked(culprit));
    for rank in (0..ranks).filter(|&rank| !panicked(rank)) {
        let outcome = &report.outcomes[rank];
        let named = outcome.error().and_then(Error::culprit);
        assert!(outcome.value().is_some() || named.is_some_and(panicked));
    }
    assert!(
        matches!(report.into_result(), Err(WorldError::Panicked { rank, .. }) if rank == culprit)
    );
}

#[test]
fn an_operator_that_panics_is_the_failure_of_the_rank_that_ran_it() {
    let all_reduce = |comm: &Comm| {
        let mut data = vec![big_in_the_last(comm); LENGTHS[1]];
        comm.all_reduce(&mut data, fragile)
    };
    let reduce = |comm: &Comm| {
        let mut data = vec![big_in_the_last(comm); LENGTHS[0]];
        comm.reduce(comm.size() - 1, &mut data, fragile)
    };
    let over = |comm: &Comm| {
        let mut data = vec![big_in_the_last(comm); LENGTHS[1]];
        let flat = Topology::flat(comm.size());
        comm.reduce_over(&flat, &mut data, op::commutative(fragile))
            .run()
    };
    let values = |comm: &Comm| {
        let chain = Topology::chain(comm.size());
        let mine = Box::new(big_in_the_last(comm)); // owned, and not copied
        let sum = comm
            .values()
            .reduce_over(&chain, mine, |a, b| Box::new(fragile(*a, *b)));
        sum.run().map(|_| ())
    };
    for_all_sizes("all_reduce", all_reduce, judge_fragile);
    for_all_sizes("reduce", reduce, judge_fragile);
    for_all_sizes("reduce_over", over, judge_fragile);
    for_all_sizes("reduce_value_over", values, judge_fragile);
}

#[test]
fn an_operator_may_not_call_a_communicator() {
    let program = |comm: &Comm| {
        let mut data = [1u32];
        let refused = AtomicUsize::new(0);
        comm.all_reduce(&mut data, |a, b| {
            let error = comm.send(0, 1, &[0u8]).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
            assert!(matches!(
                comm.barrier().unwrap_err().kind(),
                ErrorKind::Usage(_)
            ));
            refused.fetch_add(1, Ordering::Relaxed);
            a + b
        })?;
        comm.barrier()?;
        Ok((data[0], refused.into_inner()))
    };
    for_all_sizes("operator", program, |ranks, report| {
        let values = report.into_result().expect("an operator may try");
        assert!(values.iter().all(|(sum, _)| *sum as usize == ranks));
        let refused = values.iter().map(|(_, refused)| refused).sum::<usize>();
        assert!(refused >= ranks - 1, "{refused} of {ranks}");
    });
}
