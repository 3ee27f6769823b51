//! Schedules on threads: every rank ends with exactly the elements of the plainest execution of the same schedule, and
//! sends as much as the checker has counted.

mod again;
mod common;
#[path = "execute/drawn.rs"]
mod drawn;
#[path = "execute/exchange.rs"]
mod exchange;
mod zoo;

use std::ops::Range;

use common::{scaled, stride};
use drawn::{SIDE, any_schedule};
use rankfold::check::{Certificate, CheckError, Goal, check};
use rankfold::op::{self, Operator};
use rankfold::schedule::{FoldAlong, Lengths, Region, Schedule, Step, Transfer};
use rankfold::topology::{Circle, Hypercube, Topology};
use rankfold::{Comm, ErrorKind, Outcome, Result, World};
use zoo::{Affine, Buffers, Exhibit, add, compose, execute, noise, start, zoo};

/// Composition, which does not commute, or addition, which does.
#[derive(Clone, Copy)]
struct Either {
    commutes: bool,
}

impl Either {
    fn of(self) -> zoo::Operator {
        if self.commutes { add } else { compose }
    }
}

impl Operator<Affine> for Either {
    fn combine(&self, left: Affine, right: Affine) -> Affine {
        self.of()(left, right)
    }
    fn commutes(&self) -> bool {
        self.commutes
    }
}

fn operator(exhibit: &Exhibit) -> Either {
    Either {
        commutes: !exhibit.ordered,
    }
}

/// Runs one rank's part on numbers, and returns its output.
fn on_thread(comm: &Comm, exhibit: &Exhibit, n: usize) -> Result<Vec<Affine>> {
    let [input, mut output, _] = start(&*exhibit.schedule, exhibit.meaning, n, comm.rank());
    let op = operator(exhibit);
    comm.run_schedule(&*exhibit.schedule, &exhibit.goal, &input, &mut output, op)?;
    Ok(output)
}

/// Returns all ranks' outputs of the plainest execution.
fn plainly(exhibit: &Exhibit, n: usize) -> Vec<Vec<Affine>> {
    let start = |rank| start(&*exhibit.schedule, exhibit.meaning, n, rank);
    let mut buffers: Vec<Buffers> = (0..exhibit.schedule.ranks()).map(start).collect();
    execute(&*exhibit.schedule, &mut buffers, operator(exhibit).of()).unwrap();
    buffers.into_iter().map(|[_, output, _]| output).collect()
}

fn agree(p: usize, n: usize, check: bool) {
    let world = World::new(p).check(check);
    let outputs = world.run(|comm| {
        let all = zoo(p, n);
        let run = |exhibit: &Exhibit| on_thread(comm, exhibit, n);
        all.iter().map(run).collect::<Result<Vec<_>>>()
    });
    let outputs = outputs.unwrap();
    for (number, exhibit) in zoo(p, n).iter().enumerate() {
        for (rank, expected) in plainly(exhibit, n).iter().enumerate() {
            let place = format!("{}, {n} elements, rank {rank} of {p}", exhibit.name);
            assert_eq!(&outputs[rank][number], expected, "{place}");
        }
    }
}

#[test]
fn every_schedule_leaves_what_its_plainest_run_leaves() {
    for p in (1..=9).chain([13, 16, 33, 64]).step_by(stride()) {
        let lengths: &[usize] = if p <= 9 {
            &[0, 1, 2, 7, 37, 1000]
        } else {
            &[37]
        };
        lengths.iter().for_each(|&n| agree(p, n, false));
    }
}

#[test]
fn a_world_that_checks_runs_all_that_is_right() {
    for p in [1, 2, 5, 8] {
        agree(p, 11, true);
    }
}

#[test]
fn executed_messages_and_elements_are_those_that_the_checker_counts() {
    for (p, n) in [(1, 5), (2, 3), (5, 100), (8, 37), (13, 1)] {
        // Each rank makes all schedules again for each: of the largest world, every third.
        let step = if p > 9 { 3 } else { 1 } * stride();
        for (number, exhibit) in zoo(p, n).iter().enumerate().step_by(step) {
            let proof = check(&exhibit.schedule, &exhibit.goal).unwrap();
            let world = World::new(p).check(false);
            let report = world.run_each(|comm| on_thread(comm, &zoo(p, n)[number], n));
            assert_eq!(
                counted(&proof),
                executed(&report.counts),
                "{} {p} {n}",
                exhibit.name
            );
        }
    }
}

/// Returns the messages and bytes of each rank.
fn counted(proof: &Certificate) -> Vec<(u64, u64)> {
    let sent = |rank: &rankfold::check::Traffic| {
        let bytes = rank.elements_out * size_of::<Affine>();
        (rank.messages_out as u64, bytes as u64)
    };
    proof.traffic.iter().map(sent).collect()
}

fn executed(counts: &[rankfold::Counts]) -> Vec<(u64, u64)> {
    let sent = |rank: &rankfold::Counts| (rank.messages, rank.bytes);
    counts.iter().map(sent).collect()
}

#[test]
fn calls_follow_each_other_without_a_barrier_between_them() {
    let calls = scaled(300);
    for p in [2, 3, 8] {
        let chain = FoldAlong::new(Topology::chain(p).single_port(), 2).reversed();
        let cube = FoldAlong::new(Circle::new(p), 1);
        World::new(p)
            .check(false)
            .run(|comm| {
                for call in 0..calls {
                    // Rank 0 runs ahead as far as the lanes allow.
                    let mut word = if comm.rank() == 0 {
                        [call, call]
                    } else {
                        [0; 2]
                    };
                    comm.run_schedule(&chain, &Goal::broadcast(0, 2), &[], &mut word, op::Sum)?;
                    assert_eq!(word, [call, call]);
                    if call % 50 == 0 {
                        comm.run_schedule(&cube, &Goal::barrier(), &[], &mut [0], op::Sum)?;
                    }
                }
                Ok(())
            })
            .unwrap();
    }
}

/// A schedule as a table.
struct Table {
    lengths: Lengths,
    steps: Vec<Vec<Step>>,
}

impl Schedule for Table {
    fn ranks(&self) -> usize {
        self.steps[0].len()
    }
    fn steps(&self) -> usize {
        self.steps.len()
    }
    fn step(&self, rank: usize, step: usize) -> Step {
        self.steps.get(step).map_or(Step::IDLE, |all| all[rank])
    }
    fn lengths(&self, _: usize) -> Lengths {
        self.lengths
    }
}

#[test]
fn random_schedules_leave_what_their_plainest_run_leaves() {
    let first: u64 = std::env::var("RANKFOLD_SEED").map_or(1, |seed| seed.parse().unwrap());
    for seed in first..first + scaled(600) as u64 {
        let table = any_schedule(seed);
        let p = table.ranks();
        let numbers = |rank: usize, of: Range<usize>| -> Vec<Affine> {
            of.map(|i| (noise((rank * 100 + i) as u64) % 97, i as u64))
                .collect()
        };
        let begin = |rank| [numbers(rank, 0..SIDE), numbers(rank, SIDE..2 * SIDE)];
        let mut plain: Vec<Buffers> = (0..p)
            .map(|rank| {
                let [input, output] = begin(rank);
                [input, output, vec![(0, 0); SIDE]]
            })
            .collect();
        execute(&table, &mut plain, compose).unwrap();
        let outputs = World::new(p).check(false).run(|comm| {
            let [input, mut output] = begin(comm.rank());
            let op = Either { commutes: false };
            comm.run_schedule(&table, &Goal::barrier(), &input, &mut output, op)?;
            Ok(output)
        });
        let outputs = outputs.unwrap_or_else(|error| panic!("RANKFOLD_SEED={seed}: {error}"));
        for rank in 0..p {
            assert_eq!(
                outputs[rank], plain[rank][1],
                "RANKFOLD_SEED={seed}, rank {rank} of {p}"
            );
        }
    }
}

#[test]
fn a_wrong_schedule_is_refused_on_every_rank_and_the_communicator_stays_whole() {
    let wrong = FoldAlong::new(Circle::new(3), 5);
    let report = World::new(3).check(true).run_each(|comm| {
        let mut v = [1; 5];
        let refused = comm.run_schedule(&wrong, &Goal::all_reduce(5), &[], &mut v, op::Sum);
        let error = refused.unwrap_err();
        let ErrorKind::Refused(fault) = error.kind() else {
            panic!("{error}")
        };
        assert!(
            matches!(
                fault.downcast_ref(),
                Some(CheckError::CountedTwice { step: 1, .. })
            ),
            "{fault:?}"
        );
        assert!(
            error
                .to_string()
                .contains("rank 0 counts rank 0 twice in step 1"),
            "{error}"
        );
        assert_eq!(v, [1; 5]);
        comm.all_reduce(&mut v, op::Sum)?;
        Ok(v[0])
    });
    assert_eq!(report.into_result().unwrap(), [3; 3]);
}

#[test]
fn an_operator_that_does_not_commute_is_refused_where_order_is_lost() {
    let ring = rankfold::collective::RingReduceScatter::new(3, 6);
    let run = |op: Either| {
        let goal = Goal::reduce_scatter(6);
        let world = World::new(3).check(true);
        world.run(|comm| comm.run_schedule(&ring, &goal, &[], &mut [(1, 1); 6], op))
    };
    run(Either { commutes: true }).unwrap();
    let error = run(Either { commutes: false }).unwrap_err();
    assert!(error.to_string().contains("out of rank order"), "{error}");
}

#[test]
fn a_schedule_for_others_is_refused_before_anything_is_sent() {
    let four = FoldAlong::new(Hypercube::new(2), 5);
    let says = |length: usize, what: &str| {
        let goal = Goal::all_reduce(5);
        let run = World::new(2).run(|comm| {
            let two = FoldAlong::new(Hypercube::new(1), 5);
            let mut v = vec![0; length];
            if length == 5 {
                comm.run_schedule(&four, &goal, &[], &mut v, op::Sum)
            } else {
                comm.run_schedule(&two, &goal, &[], &mut v, op::Sum)
            }
        });
        let error = run.unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    says(5, "the schedule is for 4 ranks, not for 2");
    says(
        4,
        "the schedule wants 0 elements of input and 5 of output, not 0 and 4",
    );
}

/// One rank's behaviour in the only step; the others may do anything.
fn in_one_step(steps: [Step; 2]) -> rankfold::Report<()> {
    let table = |steps: [Step; 2]| Table {
        lengths: Lengths {
            input: 20,
            output: 20,
            scratch: 0,
        },
        steps: vec![steps.to_vec()],
    };
    World::new(2).check(false).run_each(|comm| {
        let table = table(steps);
        comm.run_schedule(&table, &Goal::barrier(), &[1u64; 20], &mut [2; 20], op::Sum)
    })
}

/// The steps of both ranks, and the error that one of them gets.
type Wrong = (Step, Step, &'static str);

fn send(peer: usize, run: Range<usize>) -> Step {
    Step {
        send: Some(Transfer {
            peer,
            region: Region::output(run),
        }),
        ..Step::IDLE
    }
}

fn recv(peer: usize, region: Region) -> Step {
    Step {
        recv: Some(Transfer { peer, region }),
        ..Step::IDLE
    }
}

/// Returns sends of elements that are not there, and to ranks that are not there.
fn wrong_sends() -> Vec<Wrong> {
    vec![
        (
            send(1, 10..21),
            recv(0, Region::output(0..11)),
            "output 10..21, which is not there",
        ),
        (
            send(7, 0..1),
            Step::IDLE,
            "the schedule's peer 7 is not one of the 2 ranks",
        ),
        (
            send(0, 0..1),
            Step::IDLE,
            "in the schedule rank 0 talks to itself",
        ),
    ]
}

/// Returns receives into elements that are not there or must not be written.
fn wrong_receives() -> Vec<Wrong> {
    vec![
        (
            send(1, 0..3),
            recv(0, Region::input(0..3)),
            "the schedule writes to the input",
        ),
        (
            send(1, 0..3),
            recv(0, Region::scratch(0..3)),
            "scratch 0..3, which is not there",
        ),
        (
            send(1, 0..3),
            recv(0, Region::output(18..21)),
            "output 18..21, which is not there",
        ),
        (
            send(1, 0..9),
            recv(0, Region::output(15..24)),
            "output 15..24, which is not there",
        ),
    ]
}

/// Returns ends that do not fit each other.
fn unmatched_ends() -> Vec<Wrong> {
    vec![
        (send(1, 0..9), recv(0, Region::output(0..8)), "9 x u64"),
        (send(1, 0..2), recv(0, Region::output(0..1)), "2 x u64"),
        (send(1, 0..9), Step::IDLE, "rank 1 is gone"),
        (Step::IDLE, recv(0, Region::output(0..1)), "rank 0 is gone"),
    ]
}

#[test]
fn steps_that_cannot_be_run_are_named_and_nobody_waits_for_ever() {
    let wrong = [wrong_sends(), wrong_receives(), unmatched_ends()];
    for (zero, one, says) in wrong.into_iter().flatten() {
        let report = in_one_step([zero, one]);
        let failed = report.outcomes.iter().any(|outcome| match outcome {
            Outcome::Failed(error) => error.to_string().contains(says),
            _ => false,
        });
        assert!(failed, "{says}: {:?}", report.outcomes);
    }
}

#[test]
fn ranks_with_different_schedules_get_a_mismatch() {
    let report = World::new(2).check(false).run_each(|comm| {
        let goal = Goal::all_reduce(3 + comm.rank());
        let exchange = FoldAlong::new(Hypercube::new(1), 3 + comm.rank());
        comm.run_schedule(
            &exchange,
            &goal,
            &[],
            &mut vec![1u8; 3 + comm.rank()],
            op::Sum,
        )
    });
    assert!(report.mismatch.is_some(), "{report:?}");
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&["steps_that_cannot_be_run"]);
}
