//! The runs of a team: each is like a run of a new world, whatever the runs before it left behind, and whichever thread
//! calls.

mod again;
#[path = "team_runs/callers.rs"]
mod callers;
mod common;
#[path = "team_runs/ended_early.rs"]
mod ended_early;
#[path = "team_runs/endings.rs"]
mod endings;
#[path = "team_runs/pinned_callers.rs"]
mod pinned_callers;
mod support;

use std::cell::RefCell;
use std::mem;
use std::time::Duration;

use common::{cases, scaled};
use proptest::prelude::*;
use rankfold::check::Goal;
use rankfold::collective::Algorithm;
use rankfold::schedule::{Lengths, Region, Schedule, Step, Transfer};
use rankfold::{
    Buffering, Comm, Error, ErrorKind, Fault, Outcome, Report, Result, Source, Tag, World,
    WorldError, op,
};

fn all_sum(comm: &Comm, x: u64) -> Result<u64> {
    let mut v = [x];
    comm.all_reduce(&mut v, op::Sum)?;
    Ok(v[0])
}

/// Returns the sum over all ranks of rank + 1.
fn triangle(comm: &Comm) -> Result<u64> {
    all_sum(comm, comm.rank() as u64 + 1)
}

fn right(comm: &Comm) -> usize {
    (comm.rank() + 1) % comm.size()
}

fn left(comm: &Comm) -> usize {
    (comm.rank() + comm.size() - 1) % comm.size()
}

thread_local! {
    /// Communicators that outlive their run, until the next program clears them or the thread ends.
    static HIDDEN: RefCell<Vec<Comm>> = const { RefCell::new(Vec::new()) };
}

/// A rank's program in a run; its result must not depend on earlier runs.
type Program = fn(&Comm) -> Result<u64>;

/// Runs that succeed and leave nothing.
const CLEAN: [Program; 9] = [
    |comm| Ok(comm.rank() as u64),
    |comm| comm.barrier().map(|()| 1),
    triangle,
    |comm| {
        let mut long = vec![comm.rank() as u64; 5000];
        comm.all_reduce(&mut long, op::Sum)?;
        comm.broadcast(1, &mut long)?;
        Ok(long[4999])
    },
    |comm| {
        comm.send(right(comm), 7, &[comm.rank() as u64])?;
        Ok(comm.recv::<u64>(left(comm), 7)?.0[0])
    },
    |comm| {
        let odd = comm.split(comm.rank() as u32 % 2, 0)?;
        Ok(10 * triangle(&odd)? + odd.dup()?.size() as u64)
    },
    |comm| {
        let request = comm.isend(right(comm), 3, vec![1u64; 3000])?;
        let got = comm.recv::<u64>(Source::Any, 3)?.0.len();
        request.wait()?;
        Ok(got as u64)
    },
    |comm| {
        comm.reduce(1, &mut [1.5f32; 3], op::Max)?;
        let all = comm
            .values()
            .all_reduce(vec![comm.rank()], |mut a: Vec<_>, b| {
                a.extend(b);
                a
            })?;
        Ok(all.len() as u64)
    },
    // A refused call, and a probe for a message that no rank sent.
    |comm| {
        let refused = comm.send(99, 0, &[1u8]).is_err();
        let nothing = comm.recv_timeout::<u8>(Source::Any, Tag::Any, Duration::ZERO);
        let late = |error: Error| matches!(error.kind(), ErrorKind::TimedOut { .. });
        Ok(u64::from(refused) + 2 * u64::from(nothing.is_err_and(late)))
    },
];

/// Runs that fail, or leave something.
const UNCLEAN: [Program; 14] = [
    |comm| {
        assert!(comm.rank() + 1 < comm.size(), "boom");
        comm.barrier().map(|()| 0)
    },
    |comm| {
        assert!(comm.rank() > 0, "boom in the first rank");
        comm.barrier().map(|()| 0)
    },
    |comm| match comm.rank() {
        0 => Err(Error::user("no luck")),
        _ => comm.barrier().map(|()| 0),
    },
    |comm| match comm.rank() {
        0 => Ok(5),
        _ => comm.barrier().map(|()| 0),
    },
    |comm| comm.recv::<u8>(right(comm), 1).map(|_| 0),
    |comm| {
        let mut uneven = vec![0u8; 1 + comm.rank()];
        comm.all_reduce(&mut uneven, op::Xor).map(|()| 0)
    },
    |comm| comm.send(right(comm), 9, &[1u8, 2]).map(|()| 0),
    |comm| comm.send_value(0, 9, String::from("unread")).map(|()| 0),
    |comm| match comm.rank() {
        // The others end when it has been sent, and do not read it.
        0 => {
            comm.broadcast(0, &mut [1u8])?;
            (1..comm.size()).try_for_each(|rank| comm.send(rank, 1, &[1u8]))?;
            Ok(0)
        }
        _ => comm.recv::<u8>(0, 1).map(|_| 0),
    },
    |comm| {
        mem::forget(comm.irecv::<u8>(left(comm), 2)?);
        Ok(0)
    },
    |comm| {
        mem::forget(comm.dup()?);
        Ok(0)
    },
    |comm| {
        let hidden = comm.split(0, -(comm.rank() as i64))?;
        HIDDEN.with_borrow_mut(|all| all.push(hidden));
        Ok(0)
    },
    |comm| {
        if comm.rank() == 1 {
            return Err(Error::user("dead"));
        }
        comm.barrier().unwrap_err();
        triangle(&comm.shrink()?)
    },
    // An error that is handled, and a communicator that is broken by it.
    |comm| {
        let other = comm.dup()?;
        let length = 1 + usize::from(comm.rank() == 0);
        // The root may have finished before any rank sees it.
        let broken = other.broadcast(0, &mut vec![0u8; length]).is_err();
        if comm.rank() > 0 {
            return Ok(u64::from(broken));
        }
        // Not an error that follows from this one.
        comm.send(0, 0, &[1u8])?;
        comm.recv::<u8>(0, 0)?;
        Err(Error::user("handled"))
    },
];

fn program(number: usize) -> Program {
    let all: Vec<Program> = CLEAN.into_iter().chain(UNCLEAN).collect();
    all[number % all.len()]
}

/// Describes a rank's outcome, as far as it is the same in every run.
fn outcome(outcome: &Outcome<u64>) -> String {
    match outcome {
        Outcome::Failed(error) => match error.kind() {
            ErrorKind::User(what) => format!("failed: {what}"),
            _ => "failed".into(),
        },
        other => format!("{other:?}"),
    }
}

/// The same for a run. How far ranks had come when others failed is left to chance.
fn told(report: &Report<u64>) -> String {
    let outcomes: Vec<String> = report.outcomes.iter().map(outcome).collect();
    let whole = report.outcomes.iter().all(|one| one.value().is_some());
    let counts = report.counts.iter();
    let counts: Vec<_> = counts
        .map(|c| (c.operations, c.messages, c.bytes))
        .collect();
    let recent: Vec<Vec<_>> = report.recent().iter().map(|rank| calls(rank)).collect();
    format!(
        "{outcomes:?} culprit {:?} lost {:?} unfinished {:?} knots {} mismatch {} {:?}",
        report.culprit,
        report.lost,
        report.unfinished.len(),
        report.deadlocks.len(),
        report.mismatch.is_some(),
        whole.then_some((counts, recent)),
    )
}

fn calls(operations: &[rankfold::Operation]) -> Vec<String> {
    let one =
        |call: &rankfold::Operation| format!("{} {} {:?}", call.number, call.call, call.progress);
    operations.iter().map(one).collect()
}

/// Returns the first words of a run's result.
fn came_to(result: &Result<Vec<u64>, WorldError>) -> String {
    match result {
        Ok(values) => format!("{values:?}"),
        Err(WorldError::Deadlock(_)) => "deadlock".into(),
        Err(WorldError::Mismatch(_)) => "mismatch".into(),
        // Where ranks take turns it is chance which one arrives last, and whether any still needs a rank that leaves a
        // call.
        Err(WorldError::ReturnedEarly { rank, .. }) => format!("rank {rank} returned early"),
        Err(error) => error.to_string().lines().next().unwrap_or_default().into(),
    }
}

/// Runs the programs one after the other on one team, and each in a separate world as well.
fn compare(world: &World, programs: &[(usize, bool)]) {
    let team = world.start().unwrap();
    for (run, &(number, reported)) in programs.iter().enumerate() {
        let f = program(number);
        let here = || format!("run {run} of {programs:?}");
        if reported {
            let (ours, fresh) = (team.try_run_each(f).unwrap(), world.run_each(f));
            assert_eq!(told(&ours), told(&fresh), "{}", here());
        } else {
            assert_eq!(came_to(&team.run(f)), came_to(&world.run(f)), "{}", here());
        }
        if number % 3 > 0 {
            HIDDEN.with_borrow_mut(Vec::clear);
        }
    }
    HIDDEN.with_borrow_mut(Vec::clear);
}

/// Mostly runs that end clean, so that their fabric is reused.
fn programs() -> impl Strategy<Value = Vec<(usize, bool)>> {
    let clean = 0..CLEAN.len();
    let any = 0..CLEAN.len() + UNCLEAN.len();
    let reported = prop::bool::weighted(0.3);
    prop::collection::vec((prop_oneof![3 => clean, 1 => any], reported), 1..12)
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn every_run_of_a_team_is_as_one_of_a_new_world(programs in programs(), check in any::<bool>()) {
        for ranks in [2, 3] {
            compare(&World::new(ranks).check(check), &programs);
        }
    }

    #[test]
    fn injected_failures_strike_every_run_alike(
        programs in programs(), rank in 0..3_usize, nth in 1..6_u64, fault in 0..4_usize
    ) {
        let fault = [Fault::Panic, Fault::Error, Fault::Return, Fault::Delay][fault];
        let clean: Vec<_> = programs.iter().map(|&(n, _)| (n % 3, false)).collect();
        compare(&World::new(3).check(false).inject(rank, nth, fault), &clean);
    }

    #[test]
    fn no_run_takes_of_another_ones_buffers(programs in programs()) {
        let clean: Vec<_> = programs.iter().map(|&(n, told)| (n % CLEAN.len(), told)).collect();
        compare(&World::new(3).buffering(Buffering::Bytes(30_000)), &clean);
    }
}

#[test]
fn a_seeded_team_chooses_alike_in_every_run() {
    let order: Program = |comm| {
        if comm.rank() > 0 {
            return comm.send(0, 0, &[comm.rank() as u64]).map(|()| 0);
        }
        let mut order = 0;
        for _ in 1..comm.size() {
            order = 10 * order + comm.recv::<u64>(Source::Any, 0)?.0[0];
        }
        Ok(order)
    };
    for seed in 0..scaled(20) as u64 {
        let team = World::new(5).seed(seed).start().unwrap();
        let runs: Vec<_> = (0..3).map(|_| team.run(order).unwrap()).collect();
        assert!(
            runs.iter().all(|run| *run == runs[0]),
            "seed {seed}: {runs:?}"
        );
    }
}

#[test]
fn a_report_stays_what_it_was_when_the_team_runs_on() {
    let team = World::new(2).start().unwrap();
    let report = team.try_run_each(triangle).unwrap();
    let before = told(&report);
    for _ in 0..5 {
        team.run(CLEAN[3]).unwrap();
        let later = team.try_run_each(CLEAN[4]).unwrap();
        assert_ne!(told(&later), before);
    }
    assert_eq!(told(&report), before);
}

/// Rank 0 sends an element that rank 1 does not receive.
struct Unread;

impl Schedule for Unread {
    fn ranks(&self) -> usize {
        2
    }
    fn steps(&self) -> usize {
        1
    }
    fn step(&self, rank: usize, _: usize) -> Step {
        let send = Transfer {
            peer: 1,
            region: Region::output(0..1),
        };
        match rank {
            0 => Step {
                send: Some(send),
                ..Step::IDLE
            },
            _ => Step::IDLE,
        }
    }
    fn lengths(&self, _: usize) -> Lengths {
        Lengths {
            output: 1,
            ..Lengths::default()
        }
    }
}

#[test]
fn a_packet_that_nobody_took_is_told_after_its_run_and_is_not_there_in_the_next() {
    let team = World::new(2).check(false).start().unwrap();
    let by_exchange = |comm: &Comm| {
        let mut v = [comm.rank() as u64 + 1];
        comm.using(Algorithm::Exchange)
            .all_reduce(&mut v, op::Sum)?;
        Ok(v[0])
    };
    for _ in 0..3 {
        assert_eq!(team.run(by_exchange).unwrap(), [3, 3]);
        let unread = team.run(|comm| {
            let goal = Goal::broadcast(0, 1);
            comm.run_schedule(&Unread, &goal, &[], &mut [7u64], op::First)
        });
        let told = unread.map_err(|error| error.to_string()).unwrap_err();
        assert!(told.contains("run_schedule"), "{told}");
        assert_eq!(team.run(by_exchange).unwrap(), [3, 3]);
    }
}

#[test]
fn a_communicator_that_outlives_its_run_is_dead_and_in_nobodys_way() {
    let team = World::new(2).start().unwrap();
    team.run(UNCLEAN[11]).unwrap();
    let alone = |_: &Comm| Ok::<_, Error>(());
    HIDDEN.with_borrow(|hidden| {
        assert_eq!(hidden.len(), 1);
        assert!(matches!(
            hidden[0].barrier().unwrap_err().kind(),
            ErrorKind::RankGone { .. }
        ));
        assert_eq!(team.run(triangle).unwrap(), [3, 3]);
    });
    // This thread is no longer considered a rank either.
    assert!(team.try_run_each(alone).is_ok());
    HIDDEN.with_borrow_mut(Vec::clear);
    assert_eq!(team.run(triangle).unwrap(), [3, 3]);
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
