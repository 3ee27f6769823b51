//! Collective calls of which one is not like the others.

use rankfold::topology::Topology;
use rankfold::{ErrorKind, Order, op};

use super::{Wrong, differs, each, last};

const ALL_REDUCE: Wrong = |comm, lines| {
    here!(lines, comm);
    comm.all_reduce(&mut [1u32; 50], op::Sum)
};

#[test]
fn another_collective() {
    differs(ALL_REDUCE, |comm, lines| {
        here!(lines, comm);
        comm.barrier()
    });
    differs(
        |comm, lines| {
            here!(lines, comm);
            comm.barrier()
        },
        |comm, lines| {
            here!(lines, comm);
            comm.broadcast(0, &mut [0u8])
        },
    );
}

#[test]
fn another_length() {
    differs(ALL_REDUCE, |comm, lines| {
        here!(lines, comm);
        comm.all_reduce(&mut [1u32; 51], op::Sum)
    });
}

#[test]
fn another_type() {
    differs(ALL_REDUCE, |comm, lines| {
        here!(lines, comm);
        comm.all_reduce(&mut [1i32; 50], op::Sum)
    });
}

#[test]
fn another_operator() {
    differs(ALL_REDUCE, |comm, lines| {
        here!(lines, comm);
        comm.all_reduce(&mut [1u32; 50], op::Max)
    });
    differs(ALL_REDUCE, |comm, lines| {
        here!(lines, comm);
        comm.all_reduce(&mut [1u32; 50], |a, b| a + b)
    });
}

#[test]
fn another_root() {
    // A broadcast: every rank waits for another, so all have arrived when it is found.
    differs(
        |comm, lines| {
            comm.barrier()?;
            here!(lines, comm);
            comm.broadcast(comm.size() - 1, &mut [1u32; 3])
        },
        |comm, lines| {
            comm.barrier()?;
            here!(lines, comm);
            comm.broadcast(0, &mut [1u32; 3])
        },
    );
}

#[test]
fn another_topology() {
    differs(
        |comm, lines| {
            let chain = Topology::chain(comm.size());
            let mut one = [1u8];
            here!(lines, comm);
            let sum = comm.reduce_over(&chain, &mut one, op::Sum);
            sum.run()
        },
        |comm, lines| {
            let chain = Topology::chain(comm.size()).rooted(comm.size() - 1);
            let mut one = [1u8];
            here!(lines, comm);
            let sum = comm.reduce_over(&chain, &mut one, op::Sum);
            sum.run()
        },
    );
}

#[test]
fn another_order() {
    differs(
        |comm, lines| {
            let chain = Topology::chain(comm.size());
            let mut one = [1u8];
            here!(lines, comm);
            let sum = comm.reduce_over(&chain, &mut one, op::Sum);
            sum.order(Order::Arrival).run()
        },
        |comm, lines| {
            let chain = Topology::chain(comm.size());
            let mut one = [1u8];
            here!(lines, comm);
            let sum = comm.reduce_over(&chain, &mut one, op::Sum);
            sum.order(Order::Step).run()
        },
    );
}

#[test]
fn one_call_more_before_the_others() {
    differs(ALL_REDUCE, |comm, lines| {
        here!(lines, comm);
        comm.barrier()?;
        comm.all_reduce(&mut [1u32; 50], op::Sum)
    });
}

#[test]
fn one_call_fewer_before_the_others() {
    differs(
        |comm, lines| {
            here!(lines, comm);
            comm.barrier()?;
            comm.all_reduce(&mut [1u32; 50], op::Sum)
        },
        ALL_REDUCE,
    );
}

#[test]
fn two_calls_in_swapped_order() {
    differs(
        |comm, lines| {
            here!(lines, comm);
            comm.barrier()?;
            comm.broadcast(0, &mut [1u32; 50])
        },
        |comm, lines| {
            here!(lines, comm);
            comm.broadcast(0, &mut [1u32; 50])?;
            comm.barrier()
        },
    );
}

/// Every rank in a different call: there is no majority, so no rank is blamed.
#[test]
fn everybody_in_another_call() {
    let program: Wrong = |comm, lines| {
        let mut data = vec![0u8; comm.rank() + 1];
        here!(lines, comm);
        comm.all_reduce(&mut data, op::Sum)
    };
    each(3, program, |run| {
        assert!(run.mismatch(&[]).odd.is_empty());
        assert_eq!(run.report.culprit, None);
    });
}

#[test]
fn one_call_more_after_all_others_have_returned() {
    let program: Wrong = |comm, lines| {
        comm.barrier()?;
        if !last(comm) {
            return Ok(());
        }
        here!(lines, comm);
        comm.barrier()
    };
    each(2, program, |run| {
        if run.ranks > 2 {
            // Most ranks have returned without it.
            assert_eq!(run.report.culprit, Some(run.ranks - 1));
            let found = run.report.mismatch.as_deref().unwrap();
            assert_eq!(found.odd, [run.ranks - 1], "{found}");
            return;
        }
        let error = run.error(run.ranks - 1);
        assert!(
            matches!(error.kind(), ErrorKind::RankGone { .. }),
            "{error}"
        );
        assert!(run.lines.is(run.ranks - 1, error.site().unwrap()));
        assert_eq!(run.report.culprit, error.culprit());
        assert_ne!(run.report.culprit, Some(run.ranks - 1));
    });
}
