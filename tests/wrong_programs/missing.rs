//! Ranks that are missing in a collective, and knots of some ranks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rankfold::topology::Topology;
use rankfold::{Comm, Order, World, WorldError, op};

use super::{Lines, Run, Wrong, all, each, last};
use crate::support::guarded;

#[test]
fn a_rank_is_missing_in_a_barrier() {
    let program: Wrong = |comm, lines| {
        if last(comm) {
            here!(lines, comm);
            return comm.recv::<u8>(0, 0).map(|_| ());
        }
        here!(lines, comm);
        comm.barrier()
    };
    each(2, program, |run| {
        // A rank that is late to the barrier is not in the knot, and gets its report.
        let knot = run.knot(&[0, run.ranks - 1], all(run));
        // In levels the ranks wait for their leader, and that one for others.
        let ends = [0, run.ranks - 1];
        let has_ends = ends.iter().all(|rank| knot.cycle.contains(rank));
        assert!(has_ends, "{}: {knot}", run.case);
    });
}

#[test]
fn a_rank_is_missing_in_an_all_reduce() {
    let program: Wrong = |comm, lines| {
        if last(comm) {
            here!(lines, comm);
            return comm.recv::<u8>(0, 0).map(|_| ());
        }
        let mut data = [0u64; 100];
        here!(lines, comm);
        comm.all_reduce(&mut data, op::Sum)
    };
    each(2, program, |run| {
        let knot = run.knot(&[0, run.ranks - 1], all(run));
        assert!(knot.cycle.contains(&0) && knot.cycle.contains(&(run.ranks - 1)));
    });
}

#[test]
fn the_root_is_missing_in_a_broadcast() {
    let program: Wrong = |comm, lines| {
        if comm.rank() == 0 {
            here!(lines, comm);
            return comm.recv::<u8>(1, 0).map(|_| ());
        }
        here!(lines, comm);
        comm.broadcast(0, &mut [0u8])
    };
    each(2, program, |run| {
        assert_eq!(run.knot(&[0, 1], all(run)).cycle, [0, 1]);
    });
}

#[test]
fn a_reduction_by_arrival_misses_one_of_many() {
    let program: Wrong = |comm, lines| {
        if last(comm) {
            here!(lines, comm);
            return comm.recv::<u8>(0, 0).map(|_| ());
        }
        let flat = Topology::flat(comm.size());
        let mut one = [1u8];
        here!(lines, comm);
        let sum = comm.reduce_over(&flat, &mut one, op::Sum);
        sum.order(Order::Arrival).run()
    };
    each(2, program, |run| {
        let failed = if run.check {
            all(run)
        } else {
            vec![0, run.ranks - 1]
        };
        let knot = run.knot(&[0, run.ranks - 1], failed);
        assert_eq!(knot.cycle, [0, run.ranks - 1]);
    });
}

/// A rank of the knot tells the others to go on, after its error: so they ran all the time.
#[test]
fn a_partial_knot_is_found_while_the_others_run() {
    for ranks in 3..=8 {
        let found = AtomicBool::new(false);
        let lines = Lines::new(ranks);
        let program = |comm: &Comm| {
            if comm.rank() > 1 {
                while !found.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                return Ok(());
            }
            here!(lines, comm);
            let knot = comm.recv::<u8>(1 - comm.rank(), 0).map(|_| ());
            found.store(true, Ordering::Release);
            knot
        };
        let case = format!("{ranks} ranks");
        let report = guarded(&|| case.clone(), || World::new(ranks).run_each(program));
        assert_eq!(report.deadlocks[0].others, ranks - 2);
        let run = Run {
            ranks,
            check: false,
            case,
            lines,
            report,
        };
        run.exact_knot(&[0, 1], &[0, 1]);
        run.world_error(|error| matches!(error, WorldError::Deadlock(_)));
    }
}

/// The others wait for a message from the knot: asleep, but not stuck until the knot has its error.
#[test]
fn a_partial_knot_handles_its_error_and_frees_those_who_wait_for_it() {
    let program: Wrong = |comm, lines| {
        if comm.rank() > 1 {
            return comm
                .recv_timeout::<u8>(0, 5, Duration::from_secs(3600))
                .map(|_| ());
        }
        here!(lines, comm);
        let knot = comm.recv::<u8>(1 - comm.rank(), 0).map(|_| ());
        if comm.rank() == 1 {
            return knot;
        }
        assert!(knot.is_err());
        (2..comm.size()).try_for_each(|to| comm.send(to, 5, &[0u8]))
    };
    each(2, program, |run| {
        assert_eq!(run.knot(&[0, 1], [1]).cycle, [0, 1]);
        run.returned((0..run.ranks).filter(|&rank| rank != 1));
    });
}
