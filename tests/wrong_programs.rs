//! Wrong programs and the report that each must cause: the kind, the ranks, the cycle, the odd rank, and the line of
//! every rank; and random ones, against a sequential model of stuck ranks.

mod channels;
mod support;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use rankfold::error::{Deadlock, Mismatch, SourceLine};
use rankfold::topology::Topology;
use rankfold::{
    Comm, Error, ErrorKind, Order, Outcome, Rank, Report, Result, Source, Tag, World, WorldError,
    op,
};
use support::random::{Act, Calls, Kinds, Program, completes, draw};
use support::{Random, guarded, setting};

/// The line of each rank's wrong call.
struct Lines(Vec<AtomicU32>);

impl Lines {
    fn new(ranks: usize) -> Self {
        Lines((0..ranks).map(|_| AtomicU32::new(0)).collect())
    }

    fn note(&self, comm: &Comm, line: u32) {
        self.0[comm.rank()].store(line, Ordering::Relaxed);
    }

    /// Returns whether `site` is what `rank` noted.
    fn is(&self, rank: Rank, site: impl Into<SourceLine>) -> bool {
        let site = site.into();
        site.file().ends_with("wrong_programs.rs")
            && site.line() == self.0[rank].load(Ordering::Relaxed)
    }
}

/// Notes that the wrong call is on the next line.
macro_rules! here {
    ($lines:expr, $comm:expr) => {
        $lines.note($comm, line!() + 1)
    };
}

type Wrong = fn(&Comm, &Lines) -> Result<()>;

/// Runs `program` from `least` to 8 ranks, with check and without.
fn each(least: usize, program: Wrong, judge: impl Fn(&Run)) {
    for ranks in least..=8 {
        for check in [false, true] {
            let lines = Lines::new(ranks);
            let world = World::new(ranks).check(check);
            let case = format!("{ranks} ranks, check({check})");
            let report = guarded(&|| case.clone(), || world.run_each(|c| program(c, &lines)));
            judge(&Run {
                ranks,
                check,
                case,
                lines,
                report,
            });
        }
    }
}

/// The result of one run.
struct Run {
    ranks: usize,
    check: bool,
    case: String,
    lines: Lines,
    report: Report<()>,
}

impl Run {
    fn error(&self, rank: Rank) -> &Error {
        let outcome = &self.report.outcomes[rank];
        outcome
            .error()
            .unwrap_or_else(|| panic!("{}: rank {rank}: {outcome:?}", self.case))
    }

    fn returned(&self, ranks: impl IntoIterator<Item = Rank>) {
        for rank in ranks {
            let outcome = &self.report.outcomes[rank];
            assert!(
                outcome.value().is_some(),
                "{}: rank {rank}: {outcome:?}",
                self.case
            );
        }
    }

    /// Checks for one knot, which includes these ranks and no rank without a right line, and that all `failed` got it.
    fn knot(&self, core: &[Rank], failed: impl IntoIterator<Item = Rank>) -> &Deadlock {
        assert_eq!(
            self.report.deadlocks.len(),
            1,
            "{}: {:?}",
            self.case,
            self.report.deadlocks
        );
        assert!(self.report.mismatch.is_none() && self.report.culprit.is_none());
        let knot = &*self.report.deadlocks[0];
        for stuck in &knot.stuck {
            assert!(
                self.lines.is(stuck.rank, stuck.site),
                "{}: {knot}",
                self.case
            );
        }
        let stuck: Vec<Rank> = knot.stuck.iter().map(|stuck| stuck.rank).collect();
        assert!(
            core.iter().all(|rank| stuck.contains(rank)),
            "{}: {knot}",
            self.case
        );
        for rank in failed {
            let error = self.error(rank);
            assert!(
                matches!(error.kind(), ErrorKind::Deadlock(_)),
                "{}: {error}",
                self.case
            );
            assert!(
                self.lines.is(rank, error.site().unwrap()),
                "{}: {error}",
                self.case
            );
        }
        knot
    }

    /// Checks for exactly these ranks in the knot, with this cycle; all others returned.
    fn exact_knot(&self, stuck: &[Rank], cycle: &[Rank]) {
        let knot = self.knot(stuck, stuck.iter().copied());
        assert_eq!(knot.stuck.len(), stuck.len(), "{}: {knot}", self.case);
        assert_eq!(knot.cycle, cycle, "{}: {knot}", self.case);
        self.returned((0..self.ranks).filter(|rank| !stuck.contains(rank)));
    }

    /// Checks for a mismatch in which `odd` differs. It may be found before all ranks have arrived: then no rank is
    /// blamed unless most have.
    fn mismatch(&self, odd: &[Rank]) -> &Mismatch {
        let found = self.report.mismatch.as_deref();
        let found = found.unwrap_or_else(|| panic!("{}: {:?}", self.case, self.report.outcomes));
        let odd = if self.ranks > 2 { odd } else { &[] };
        let whole = found.calls.len() == self.ranks;
        assert!(
            found.odd == odd || !whole && found.odd.is_empty(),
            "{}: {found}",
            self.case
        );
        for called in &found.calls {
            assert!(
                called
                    .site
                    .is_some_and(|site| self.lines.is(called.rank, site)),
                "{}: {found}",
                self.case
            );
        }
        let some = self.report.outcomes.iter().filter_map(Outcome::error);
        for error in some {
            assert!(
                matches!(error.kind(), ErrorKind::Mismatch(_)),
                "{}: {error}",
                self.case
            );
        }
        found
    }

    fn world_error(self, is: impl Fn(&WorldError) -> bool) {
        let error = self.report.into_result().unwrap_err();
        assert!(is(&error), "{}: {error}", self.case);
    }
}

fn right(comm: &Comm) -> Rank {
    (comm.rank() + 1) % comm.size()
}

fn left(comm: &Comm) -> Rank {
    (comm.rank() + comm.size() - 1) % comm.size()
}

fn last(comm: &Comm) -> bool {
    comm.rank() + 1 == comm.size()
}

fn all(run: &Run) -> Vec<Rank> {
    (0..run.ranks).collect()
}

#[test]
fn everybody_receives_first_round_a_ring() {
    let program: Wrong = |comm, lines| {
        here!(lines, comm);
        comm.recv::<u8>(right(comm), 7)?;
        comm.send(left(comm), 7, &[0u8])
    };
    each(1, program, |run| run.exact_knot(&all(run), &all(run)));
}

#[test]
fn two_receive_from_each_other_while_others_return() {
    let program: Wrong = |comm, lines| {
        if comm.rank() > 1 {
            return Ok(());
        }
        here!(lines, comm);
        comm.recv::<u8>(1 - comm.rank(), 0).map(|_| ())
    };
    each(2, program, |run| run.exact_knot(&[0, 1], &[0, 1]));
}

#[test]
fn three_in_a_cycle_against_the_order_of_ranks() {
    let program: Wrong = |comm, lines| {
        if comm.rank() > 2 {
            return Ok(());
        }
        here!(lines, comm);
        comm.recv_value::<String>((comm.rank() + 2) % 3, 0)
            .map(|_| ())
    };
    each(3, program, |run| run.exact_knot(&[0, 1, 2], &[0, 2, 1]));
}

#[test]
fn a_rank_receives_from_itself() {
    let program: Wrong = |comm, lines| {
        if !last(comm) {
            return Ok(());
        }
        here!(lines, comm);
        comm.recv::<u8>(comm.rank(), Tag::Any).map(|_| ())
    };
    each(1, program, |run| {
        run.exact_knot(&[run.ranks - 1], &[run.ranks - 1])
    });
}

#[test]
fn a_wildcard_starves_when_all_others_have_ended() {
    let program: Wrong = |comm, lines| {
        if comm.rank() > 0 {
            return comm.send(0, 1, &[0u8]);
        }
        for _ in 1..comm.size() {
            comm.recv::<u8>(Source::Any, 1)?;
        }
        here!(lines, comm);
        comm.recv::<u8>(Source::Any, 1).map(|_| ())
    };
    each(1, program, |run| {
        run.exact_knot(&[0], &[]);
        let note = run.report.deadlocks[0].stuck[0].note.as_deref();
        assert_eq!(note, Some("every other rank has ended"));
    });
}

#[test]
fn everybody_waits_for_anybody() {
    let program: Wrong = |comm, lines| {
        here!(lines, comm);
        comm.probe(Source::Any, Tag::Any).map(|_| ())
    };
    each(2, program, |run| run.exact_knot(&all(run), &[0, 1]));
}

#[test]
fn a_wildcard_and_a_rank_that_waits_for_it() {
    let program: Wrong = |comm, lines| match comm.rank() {
        0 => {
            here!(lines, comm);
            comm.recv::<u8>(Source::Any, 3).map(|_| ())
        }
        1 => {
            here!(lines, comm);
            comm.discard(0, 3).map(|_| ())
        }
        _ => Ok(()),
    };
    each(2, program, |run| run.exact_knot(&[0, 1], &[0, 1]));
}

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

#[test]
fn the_tag_is_another() {
    let program: Wrong = |comm, lines| match comm.rank() {
        0 => {
            comm.send(1, 1, &[0u8])?;
            here!(lines, comm);
            comm.recv::<u8>(1, 3).map(|_| ())
        }
        1 => {
            here!(lines, comm);
            comm.recv::<u8>(0, 2).map(|_| ())
        }
        _ => Ok(()),
    };
    each(2, program, |run| {
        run.exact_knot(&[0, 1], &[0, 1]);
        assert_eq!((run.report.lost.len(), run.report.lost[0].tag), (1, 1));
    });
}

#[test]
fn the_type_is_another() {
    let program: Wrong = |comm, lines| match comm.rank() {
        0 => comm.send(1, 1, &[0u8; 100]),
        1 => {
            here!(lines, comm);
            comm.recv::<i8>(0, 1).map(|_| ())
        }
        _ => Ok(()),
    };
    each(2, program, |run| {
        let error = run.error(1);
        let ErrorKind::WrongType {
            sent: "u8",
            wanted: "i8",
            ..
        } = error.kind()
        else {
            panic!("{error}");
        };
        assert!(run.lines.is(1, error.site().unwrap()));
        assert_eq!(run.report.culprit, Some(1));
        assert_eq!(run.report.lost[0].contents, "100 x u8");
    });
}

#[test]
fn the_buffer_is_too_short() {
    let program: Wrong = |comm, lines| match comm.rank() {
        0 => comm.send(1, 1, &[0u8; 100]),
        1 => {
            here!(lines, comm);
            comm.recv_into(0, 1, &mut [0u8; 99]).map(|_| ())
        }
        _ => Ok(()),
    };
    each(2, program, |run| {
        let error = run.error(1);
        assert!(matches!(
            error.kind(),
            ErrorKind::TooShort {
                sent: 100,
                room: 99,
                ..
            }
        ));
        assert!(run.lines.is(1, error.site().unwrap()));
        assert_eq!(run.report.culprit, Some(1));
    });
}

#[test]
fn everybody_exchanges_with_the_wrong_neighbour() {
    let program: Wrong = |comm, lines| {
        here!(lines, comm);
        comm.sendrecv(right(comm), 0, &[0u64], right(comm), 0)
            .map(|_| ())
    };
    each(3, program, |run| {
        run.exact_knot(&all(run), &all(run));
        assert_eq!(run.report.lost.len(), run.ranks);
    });
}

/// All ranks are in one collective, the last in another: `theirs`, then its own.
fn differs(theirs: Wrong, own: Wrong) {
    for ranks in 2..=8 {
        for check in [false, true] {
            let lines = Lines::new(ranks);
            let world = World::new(ranks).check(check);
            let case = format!("{ranks} ranks, check({check})");
            let program = |comm: &Comm| match last(comm) {
                true => own(comm, &lines),
                false => theirs(comm, &lines),
            };
            let report = guarded(&|| case.clone(), || world.run_each(program));
            let run = Run {
                ranks,
                check,
                case,
                lines,
                report,
            };
            run.mismatch(&[ranks - 1]);
            assert!(run.report.deadlocks.is_empty(), "{}", run.case);
            run.world_error(|error| matches!(error, WorldError::Mismatch(_)));
        }
    }
}

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

#[test]
fn a_rank_returns_before_a_barrier() {
    let program: Wrong = |comm, lines| {
        if last(comm) {
            return Ok(());
        }
        here!(lines, comm);
        comm.barrier()
    };
    each(2, program, |run| {
        assert_eq!(run.report.culprit, Some(run.ranks - 1), "{}", run.case);
        for rank in 0..run.ranks - 1 {
            let error = run.error(rank);
            assert_eq!(
                error.culprit(),
                Some(run.ranks - 1),
                "{}: {error}",
                run.case
            );
            assert!(run.lines.is(rank, error.site().unwrap()));
        }
    });
}

#[test]
fn a_rank_returns_before_it_has_sent() {
    let program: Wrong = |comm, lines| {
        if comm.rank() > 0 {
            return Ok(());
        }
        here!(lines, comm);
        comm.recv::<u8>(comm.size() - 1, 0).map(|_| ())
    };
    each(2, program, |run| {
        assert_eq!(run.error(0).culprit(), Some(run.ranks - 1));
        assert_eq!(run.report.culprit, Some(run.ranks - 1));
        assert!(run.report.deadlocks.is_empty());
    });
}

#[test]
fn a_deadlock_that_the_program_handles() {
    let program: Wrong = |comm, lines| {
        here!(lines, comm);
        let knot = comm.recv::<u8>(right(comm), 0).unwrap_err();
        assert!(matches!(knot.kind(), ErrorKind::Deadlock(_)), "{knot}");
        let (got, _) = comm.sendrecv(right(comm), 0, &[comm.rank()], left(comm), 0)?;
        assert_eq!(got, [left(comm)]);
        comm.barrier()
    };
    each(2, program, |run| {
        run.knot(&all(run), []);
        run.returned(all(run));
    });
}

#[test]
fn two_knots_that_know_nothing_of_each_other() {
    let program: Wrong = |comm, lines| {
        if comm.rank() > 3 {
            return Ok(());
        }
        here!(lines, comm);
        comm.recv::<u8>(comm.rank() ^ 1, 0).map(|_| ())
    };
    each(4, program, |run| {
        let mut cycles: Vec<_> = run
            .report
            .deadlocks
            .iter()
            .map(|knot| knot.cycle.clone())
            .collect();
        cycles.sort();
        assert_eq!(cycles, [[0, 1], [2, 3]], "{}", run.case);
        for rank in 0..4 {
            let ErrorKind::Deadlock(knot) = run.error(rank).kind() else {
                panic!("{}", run.case);
            };
            assert!(knot.cycle.contains(&rank));
        }
        run.returned(4..run.ranks);
    });
}

#[test]
fn one_of_two_worlds_is_in_a_knot() {
    for ranks in 2..=8 {
        let case = || format!("two worlds of {ranks} ranks");
        let (wrong, fine) = guarded(&case, || {
            std::thread::scope(|scope| {
                let wrong = scope.spawn(|| {
                    World::new(ranks).run(|comm| comm.recv::<u8>(right(comm), 0).map(|_| ()))
                });
                let fine = scope.spawn(|| {
                    World::new(ranks).run(|comm| (0..50).try_for_each(|_| comm.barrier()))
                });
                (wrong.join().unwrap(), fine.join().unwrap())
            })
        });
        assert!(matches!(wrong, Err(WorldError::Deadlock(knot)) if knot.stuck.len() == ranks));
        fine.expect("the other world is right");
    }
}

#[test]
fn a_rank_that_waits_for_a_knot_is_told_of_it() {
    let program: Wrong = |comm, lines| {
        let from = [1, 0, 0, 2][comm.rank().min(3)];
        here!(lines, comm);
        comm.recv::<u8>(from, 0).map(|_| ())
    };
    each(3, program, |run| {
        let knot = run.knot(&[0, 1], all(run));
        assert_eq!(knot.cycle, [0, 1]);
        let outside = knot.stuck.iter().filter(|stuck| stuck.rank > 1);
        outside.for_each(|stuck| assert!(stuck.note.is_some()));
    });
}

#[test]
fn a_survivors_reduction_where_others_want_everybody() {
    differs(
        |comm, lines| {
            let chain = Topology::chain(comm.size());
            let mut one = [1u8; 40];
            here!(lines, comm);
            let sum = comm.reduce_over(&chain, &mut one, op::Sum);
            sum.run()?;
            comm.all_reduce(&mut one, op::Sum)
        },
        |comm, lines| {
            let chain = Topology::chain(comm.size());
            let mut one = [1u8; 40];
            here!(lines, comm);
            let sum = comm.reduce_over(&chain, &mut one, op::Sum);
            sum.survivors()?;
            comm.all_reduce(&mut one, op::Sum)
        },
    );
}

/// Only the last rank of a knot to go to sleep finds it: no rank wakes up to look, so none sleeps twice.
#[test]
fn a_knot_is_reported_as_soon_as_its_last_rank_lies_down() {
    for ranks in 2..=8 {
        let all_here = Barrier::new(ranks);
        let report = guarded(&|| format!("a knot of {ranks}"), || {
            World::new(ranks).run_each(|comm| {
                all_here.wait();
                comm.recv::<u8>(right(comm), 0).map(|_| ())
            })
        });
        assert_eq!(report.deadlocks.len(), 1, "{report:?}");
        for (outcome, counts) in report.outcomes.iter().zip(&report.counts) {
            let error = outcome.error().expect("nothing was sent");
            assert!(matches!(error.kind(), ErrorKind::Deadlock(_)), "{error}");
            assert_eq!(counts.sleeps, 1, "{report:?}");
        }
    }
}

/// Removes one event of one rank, or gives one message another tag; collectives only if `any`.
fn spoil(program: &mut Program, random: &mut Random, any: bool) {
    let rank = random.below(program.ranks.len());
    let acts = &mut program.ranks[rank];
    if acts.is_empty() {
        return;
    }
    let place = random.below(acts.len());
    match &mut acts[place] {
        Act::Whole { .. } if !any => {}
        Act::Send(message) if random.one_in(2) => message.tag += 7,
        _ => {
            acts.remove(place);
        }
    }
}

/// Compares the model's prediction for each rank with the result.
fn compare(seed: u64, program: &Program, exact: bool) {
    let right = completes(program);
    let world = World::new(program.ranks.len()).check(false);
    let case = || format!("seed {seed}");
    let report = guarded(&case, || world.run_each(|comm| program.play(comm)));
    for (rank, outcome) in report.outcomes.iter().enumerate() {
        let told = match outcome {
            Outcome::Returned(()) => true,
            Outcome::Failed(error) if error.is_consequence() => false,
            _ => panic!("seed {seed}: rank {rank}: {outcome:?}\n{program:?}"),
        };
        // A broken communicator also ends collectives that would have succeeded.
        let fine = told == right[rank] || !exact && right[rank];
        assert!(
            fine,
            "seed {seed}: rank {rank}, model {right:?}: {outcome:?}\n{program:?}"
        );
    }
    for knot in &report.deadlocks {
        assert!(
            knot.stuck.iter().all(|stuck| !right[stuck.rank]) || !exact,
            "seed {seed}: {knot}"
        );
    }
    let failed = right.contains(&false);
    assert_eq!(report.into_result().is_err(), failed, "seed {seed}");
}

fn compare_many(calls: Calls) {
    let mut stuck = 0;
    let seeds = setting("RANKFOLD_CASES").unwrap_or(200);
    let first: u64 = setting("RANKFOLD_SEED").unwrap_or(1);
    for seed in first..first + seeds {
        let kinds = Kinds {
            rich: false,
            calls,
            spins: seed % 2 == 0,
        };
        let mut program = draw(seed, kinds);
        assert!(completes(&program).iter().all(|&ends| ends), "seed {seed}");
        let exact = calls == Calls::Barriers;
        spoil(&mut program, &mut Random::new(seed), exact);
        compare(seed, &program, exact);
        stuck += usize::from(completes(&program).contains(&false));
    }
    assert!(
        stuck as u64 > seeds / 8,
        "the spoilt programs are hardly wrong: {stuck}"
    );
}

#[test]
fn of_random_wrong_programs_exactly_those_ranks_fail_that_are_stuck() {
    compare_many(Calls::Barriers);
}

#[test]
fn of_random_wrong_programs_with_reductions_all_ranks_fail_that_are_stuck() {
    compare_many(Calls::Meetings);
}

#[test]
fn all_of_it_holds_over_channels() {
    channels::again(&[]);
}
