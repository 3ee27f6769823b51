//! Started collectives that are dropped, cancelled or forgotten; and every order of their messages.

use std::sync::Barrier;

use rankfold::testing::explore;
use rankfold::{Comm, Rank, Result, Source, World, op};

use crate::support::guarded;

#[test]
fn one_that_is_dropped_or_cancelled_goes_on_for_the_others() {
    for p in [2, 3, 9] {
        let run = |comm: &Comm| {
            let sum = comm.iall_reduce(vec![1u32; 50], op::Sum)?;
            match comm.rank() {
                0 => drop(sum),
                1 => assert!(!sum.cancel()?),
                _ => assert_eq!(sum.wait()?, vec![p as u32; 50]),
            }
            comm.barrier()
        };
        let report = guarded(&|| format!("{p} ranks"), || World::new(p).run_each(run));
        assert!(
            report.outcomes.iter().all(|one| one.value().is_some()),
            "{report}"
        );
        assert_eq!(report.unfinished.len(), 1, "{report}");
        assert_eq!(report.unfinished[0].rank, 0);
        assert!(
            report.unfinished[0]
                .call
                .starts_with("iall_reduce(50 x u32"),
            "{report}"
        );
    }
}

#[test]
fn one_that_is_dropped_at_the_end_of_its_rank_is_no_mismatch() {
    let turn = Barrier::new(2);
    let run = |comm: &Comm| {
        let sum = comm.iall_reduce(vec![1u32; 2], op::Sum)?;
        // Both have sent; neither has looked for the other's message since.
        turn.wait();
        match comm.rank() {
            0 => drop(sum),
            _ => assert_eq!(sum.wait()?, [2, 2]),
        }
        Ok(())
    };
    for _ in 0..50 {
        let report = guarded(&|| "dropped".into(), || World::new(2).run_each(run));
        assert!(
            report.outcomes.iter().all(|one| one.value().is_some()),
            "{report}"
        );
        assert!(report.mismatch.is_none(), "{report}");
        assert!(
            report.unfinished.iter().all(|one| one.rank == 0),
            "{report}"
        );
    }
}

/// Ends a sum of all ranks without its result.
fn give_up(comm: &Comm, in_scope: bool, fails: bool) -> Result<()> {
    if !in_scope {
        return comm.iall_reduce(vec![1u64], op::Sum)?.cancel().map(drop);
    }
    let mut sum = [1u64];
    let ended = comm.scope(|s| {
        let request = s.iall_reduce(&mut sum, op::Sum)?;
        match fails {
            true => comm.send(99, 0, &[1u8]),
            false => request.cancel().map(drop),
        }
    });
    assert_eq!(ended.is_err(), fails);
    Ok(())
}

#[test]
fn one_that_is_cancelled_at_the_end_of_its_rank_is_no_mismatch() {
    for (in_scope, fails) in [(false, false), (true, false), (true, true)] {
        let (first, second) = (Barrier::new(2), Barrier::new(2));
        let run = |comm: &Comm| {
            // The message of rank 0 comes when rank 1 is in no call any more.
            if comm.rank() == 0 {
                first.wait();
            }
            let done = give_up(comm, in_scope, fails);
            if comm.rank() == 1 {
                first.wait();
            }
            second.wait();
            done
        };
        let case = || format!("in a scope: {in_scope}, that fails: {fails}");
        let report = guarded(&case, || World::new(2).run_each(run));
        assert!(report.mismatch.is_none(), "{report}");
        report.into_result().unwrap();
    }
}

#[test]
fn a_forgotten_result_is_dropped_with_its_rank() {
    // No rank ends while another one is in a call: that would be told that the all-reduce can never end.
    let all_are_out = Barrier::new(4);
    let run = |comm: &Comm| {
        std::mem::forget(comm.iall_reduce(vec![1u32], op::Sum)?);
        let met = comm.barrier();
        all_are_out.wait();
        met
    };
    let report = guarded(&|| "forgotten".into(), || World::new(4).run_each(run));
    assert_eq!(report.unfinished.len(), 4, "{report}");
}

// ── every order of messages ──

#[test]
fn exploring_finds_no_order_in_which_they_fail() {
    let run = |comm: &Comm| {
        let me = comm.rank();
        let sum = comm.iall_reduce(vec![me], op::Sum)?;
        if me == 0 {
            let (first, _) = comm.recv::<Rank>(Source::Any, 0)?;
            let (second, _) = comm.recv::<Rank>(Source::Any, 0)?;
            assert_eq!(first[0] + second[0], 3);
        } else {
            comm.send(0, 0, &[me])?;
        }
        assert_eq!(sum.wait()?, [3]);
        Ok(())
    };
    let explored = guarded(&|| "explore".into(), || explore(3, run));
    assert!(explored.complete, "{explored}");
    assert_eq!(explored.orders, 2);
}
