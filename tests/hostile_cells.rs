//! Programs that go wrong where ranks read each other's cells, or where some of them send messages instead. A rank
//! whose call succeeds has the right result, no rank hangs, and the error is reported.

mod support;

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rankfold::collective::Algorithm;
use rankfold::op::{self, Element, Sum};
use rankfold::topology::Topology;
use rankfold::{
    Buffering, Comm, ErrorKind, Outcome, Rank, Report, Result, Source, World, WorldError, testing,
};
use support::{Random, guarded, mix, scale, sweep};

/// The element types of a vector: some have the same size, so that their bytes do not tell them apart.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Unsigned,
    Signed,
    Two,
    Byte,
}

const KINDS: [Kind; 4] = [Kind::Unsigned, Kind::Signed, Kind::Two, Kind::Byte];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verb {
    Barrier,
    Broadcast,
    Reduce,
    AllReduce,
    ReduceScatter,
    AllGather,
    Gather,
    Scatter,
    AllToAll,
    Scan,
    ReduceOver,
    Value,
    Split,
}

const VERBS: [Verb; 13] = [
    Verb::Barrier,
    Verb::Broadcast,
    Verb::Reduce,
    Verb::AllReduce,
    Verb::ReduceScatter,
    Verb::AllGather,
    Verb::Gather,
    Verb::Scatter,
    Verb::AllToAll,
    Verb::Scan,
    Verb::ReduceOver,
    Verb::Value,
    Verb::Split,
];

/// One call of a random program.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    verb: Verb,
    kind: Kind,
    /// Elements of a block.
    n: usize,
    root: Rank,
    /// Whether it is on the other communicator.
    apart: bool,
}

/// Bytes of a short vector: the capacity of a cell, and about what fits beside a number.
const ROOM: usize = 4096;
const NEAR: usize = 32;

impl Step {
    fn random(random: &mut Random, ranks: usize) -> Step {
        let kind = random.of(&KINDS);
        let size = if kind == Kind::Byte { 1 } else { 8 };
        let around = random.of(&[0, size, NEAR, ROOM / ranks, ROOM]) / size;
        Step {
            verb: random.of(&VERBS),
            kind,
            n: (around + random.below(3)).saturating_sub(1),
            root: random.below(ranks),
            apart: random.one_in(4),
        }
    }

    /// Returns the same step with one thing changed.
    fn other(self, random: &mut Random, ranks: usize) -> Step {
        let fresh = Step::random(random, ranks);
        match random.below(5) {
            0 => Step { n: fresh.n, ..self },
            1 => Step {
                kind: fresh.kind,
                ..self
            },
            2 => Step {
                root: fresh.root,
                ..self
            },
            3 => Step {
                apart: !self.apart,
                ..self
            },
            _ => Step {
                verb: fresh.verb,
                ..self
            },
        }
    }

    fn play(&self, comms: [&Comm; 2]) -> Result<()> {
        let comm = comms[usize::from(self.apart)];
        match self.kind {
            Kind::Unsigned => self.play_in::<u64>(comm, |x| x),
            Kind::Signed => self.play_in::<i64>(comm, |x| x as i64),
            Kind::Two => self.play_in::<[u32; 2]>(comm, |x| [x as u32, !x as u32]),
            Kind::Byte => self.play_in::<u8>(comm, |x| x as u8),
        }
    }

    /// Runs its part with elements made of numbers, and checks that all the results are right.
    fn play_in<T: Element + PartialEq + std::fmt::Debug>(
        &self,
        comm: &Comm,
        make: impl Fn(u64) -> T,
    ) -> Result<()> {
        let (me, p, n, root) = (comm.rank(), comm.size(), self.n, self.root);
        let mark = self.mark();
        let element = |rank: Rank, i: usize| make(mark * 1000 + (rank * 7 + i % 5) as u64);
        let block = |rank: Rank| (0..n).map(|i| element(rank, i)).collect::<Vec<T>>();
        let all = || (0..p).flat_map(block).collect::<Vec<T>>();
        let whole = |rank: Rank| (0..n * p).map(|i| element(rank, i)).collect::<Vec<T>>();
        // Neither sums nor rounding: the fold of all is the first rank's vector.
        let first = |left: T, _: T| left;
        let mut v = block(me);
        match self.verb {
            Verb::Barrier => comm.barrier()?,
            Verb::Broadcast => {
                comm.broadcast(root, &mut v)?;
                assert_eq!(v, block(root), "{self:?}");
            }
            Verb::Reduce => {
                comm.reduce(root, &mut v, first)?;
                assert_eq!(v, block(if me == root { 0 } else { me }), "{self:?}");
            }
            Verb::AllReduce => {
                comm.all_reduce(&mut v, first)?;
                assert_eq!(v, block(0), "{self:?}");
            }
            Verb::ReduceScatter => {
                comm.reduce_scatter(&whole(me), &mut v, first)?;
                assert_eq!(v, whole(0)[me * n..][..n], "{self:?}");
            }
            Verb::AllGather => {
                let mut to = whole(me);
                comm.all_gather(&v, &mut to)?;
                assert_eq!(to, all(), "{self:?}");
            }
            Verb::Gather => {
                let to = comm.gather(root, &v)?;
                assert_eq!(to, (me == root).then(all), "{self:?}");
            }
            Verb::Scatter => {
                let from = whole(me);
                comm.scatter(root, (me == root).then_some(&from[..]), &mut v)?;
                assert_eq!(v, whole(root)[me * n..][..n], "{self:?}");
            }
            Verb::AllToAll => {
                let mut to = whole(me);
                comm.all_to_all(&whole(me), &mut to)?;
                let from = |rank| whole(rank)[me * n..][..n].to_vec();
                assert_eq!(to, (0..p).flat_map(from).collect::<Vec<T>>(), "{self:?}");
            }
            Verb::Scan => {
                comm.scan(&mut v, first)?;
                assert_eq!(v, block(0), "{self:?}");
            }
            Verb::ReduceOver => {
                let chain = Topology::chain(p);
                comm.reduce_over(&chain, &mut v, first).run()?;
            }
            Verb::Value => {
                // The length of a value is not part of the call.
                let got = comm
                    .values()
                    .broadcast(root, (me == root).then(|| element(root, 0)))?;
                assert_eq!(got, element(root, 0), "{self:?}");
            }
            Verb::Split => {
                let all = comm.split(0, me as i64)?;
                assert_eq!((all.rank(), all.size()), (me, p));
            }
        }
        Ok(())
    }
}

/// How rank `odd` differs from the others.
#[derive(Clone, Copy, Debug)]
enum Twist {
    Nothing,
    Skips,
    Repeats,
    Makes(Step),
}

/// A program that all ranks run, except for one call of one of them.
#[derive(Debug)]
struct Program {
    seed: u64,
    ranks: usize,
    steps: Vec<Step>,
    odd: Rank,
    at: usize,
    twist: Twist,
    check: bool,
    buffering: Buffering,
    steered: bool,
}

impl Program {
    fn random(seed: u64) -> Program {
        let mut random = Random::new(seed);
        let ranks = random.of(&[2, 3, 5]);
        let steps: Vec<Step> = (0..1 + random.below(9))
            .map(|_| Step::random(&mut random, ranks))
            .collect();
        let at = random.below(steps.len());
        let twist = match random.below(8) {
            0 => Twist::Nothing,
            1 => Twist::Skips,
            2 => Twist::Repeats,
            _ => Twist::Makes(steps[at].other(&mut random, ranks)),
        };
        Program {
            seed,
            ranks,
            at,
            twist,
            odd: random.below(ranks),
            check: random.one_in(3),
            buffering: random.of(&[Buffering::Unbounded, Buffering::Bytes(100), Buffering::Zero]),
            steered: random.one_in(4),
            steps,
        }
    }

    /// Returns the calls of a rank.
    fn of(&self, rank: Rank) -> Vec<Step> {
        let mut steps = self.steps.clone();
        if rank == self.odd {
            match self.twist {
                Twist::Nothing => {}
                Twist::Skips => drop(steps.remove(self.at)),
                Twist::Repeats => steps.insert(self.at, steps[self.at]),
                Twist::Makes(other) => steps[self.at] = other,
            }
        }
        steps
    }

    /// Returns whether the ranks make different calls. Elements, and the root of calls without one, are not part of the
    /// call.
    fn is_wrong(&self) -> bool {
        let calls = |rank| {
            let steps = self.of(rank).into_iter();
            steps.map(|step| step.call()).collect::<Vec<_>>()
        };
        (0..self.ranks).any(|rank| calls(rank) != calls(0))
    }

    fn run(&self) -> Report<()> {
        let world = World::new(self.ranks)
            .check(self.check)
            .buffering(self.buffering);
        let world = match self.steered {
            true => world.seed(self.seed),
            false => world,
        };
        guarded(&|| format!("{self:?}"), || {
            world.run_each(|comm| {
                let apart = comm.dup()?;
                let steps = self.of(comm.rank());
                steps.iter().try_for_each(|step| step.play([comm, &apart]))
            })
        })
    }

    fn judge(&self) {
        let report = self.run();
        for (rank, outcome) in report.outcomes.iter().enumerate() {
            let panicked = matches!(outcome, Outcome::Panicked { .. });
            assert!(!panicked, "rank {rank}: {outcome:?}\n{self:#?}");
        }
        let result = report.into_result();
        assert_eq!(result.is_err(), self.is_wrong(), "{result:?}\n{self:#?}");
    }
}

impl Step {
    /// Returns a number for its elements: the same in equal calls.
    fn mark(&self) -> u64 {
        let (verb, kind, n, root, apart) = self.call();
        let small = verb as u64 | (kind as u64) << 8 | u64::from(apart) << 12 | (root as u64) << 16;
        mix(small | (n as u64) << 32) % 1_000_000
    }

    /// Returns what all ranks must have in common.
    fn call(&self) -> (Verb, Kind, usize, Rank, bool) {
        use Verb::*;
        let rooted = matches!(self.verb, Broadcast | Reduce | Gather | Scatter | Value);
        let (kind, n) = match self.verb {
            Barrier | Split => (Kind::Byte, 0),
            Value => (self.kind, 0),
            _ => (self.kind, self.n),
        };
        let root = if rooted { self.root } else { 0 };
        (self.verb, kind, n, root, self.apart)
    }
}

#[test]
fn whoever_comes_out_of_a_call_well_has_what_it_brings_and_every_mismatch_is_told() {
    let first: u64 = support::setting("RANKFOLD_SEED").unwrap_or(0);
    let count = (300.0 * scale()) as u64;
    (first..first + count).for_each(|seed| Program::random(seed).judge());
}

/// One line for calls of every kind: what is kept from the call before must not be used for this one.
fn at_one_line<T: Element>(comm: &Comm, v: &mut [T], op: impl op::Operator<T>) -> Result<()> {
    comm.all_reduce(v, op)
}

/// The same with a closure.
fn by_a_closure<T: Element>(comm: &Comm, v: &mut [T], op: impl Fn(T, T) -> T) -> Result<()> {
    comm.all_reduce(v, op)
}

#[test]
fn calls_at_one_line_are_told_apart_by_type_length_operator_and_communicator() {
    let sums = World::new(3).run(|comm| {
        let comms = [
            comm.dup()?,
            comm.dup()?,
            comm.split(0, -(comm.rank() as i64))?,
        ];
        let mut random = Random::new(1);
        for _ in 0..600 {
            let comm = random.of(&[comm, &comms[0], &comms[1], &comms[2]]);
            let n = random.of(&[0, 1, 2, 5, 511, 512, 513]);
            let me = comm.rank() as u64 + 1;
            match random.below(7) {
                0 => {
                    let mut v = vec![me; n];
                    at_one_line(comm, &mut v, Sum)?;
                    assert_eq!(v, vec![6; n]);
                }
                1 => {
                    let mut v = vec![me as i64; n];
                    at_one_line(comm, &mut v, op::Max)?;
                    assert_eq!(v, vec![3; n]);
                }
                2 => {
                    let mut v = vec![me as f64; n];
                    at_one_line(comm, &mut v, op::Product)?;
                    assert_eq!(v, vec![6.0; n]);
                }
                3 => {
                    let mut v = vec![me; n];
                    at_one_line(comm, &mut v, op::commutative(|a, b| a ^ b))?;
                    assert_eq!(v, vec![1 ^ 2 ^ 3; n]);
                }
                4 => {
                    let mut v = vec![me; n];
                    by_a_closure(comm, &mut v, |a, b| 10 * a + b)?;
                    assert_eq!(v, vec![123; n]);
                }
                5 => {
                    let mut v = vec![me; n];
                    by_a_closure(comm, &mut v, |a, _| a)?;
                    assert_eq!(v, vec![1; n]);
                }
                _ => {
                    let mut v = vec![[me as u32, 7]; n];
                    by_a_closure(comm, &mut v, |a, b| [a[0] + b[0], 7])?;
                    assert_eq!(v, vec![[6, 7]; n]);
                }
            }
        }
        Ok(())
    });
    sums.unwrap();
}

#[test]
fn communicators_made_in_a_loop_at_one_line_are_told_apart() {
    let run = World::new(2).run(|comm| {
        for turn in 0..500u64 {
            let other = comm.split(0, (turn % 2) as i64 * -(comm.rank() as i64))?;
            let mut v = [turn + other.rank() as u64];
            other.all_reduce(&mut v, Sum)?;
            assert_eq!(v, [2 * turn + 1]);
            other.broadcast((turn % 2) as Rank, &mut v)?;
            assert_eq!(v, [2 * turn + 1]);
        }
        Ok(())
    });
    run.unwrap();
}

/// Calls on a communicator inside calls on others, with an operator that enters a world of its own.
#[test]
fn a_whole_world_inside_an_operator_has_cells_of_its_own() {
    let run = World::new(2).run(|comm| {
        let mut v = [comm.rank() as u64 + 1];
        comm.all_reduce(&mut v, |a, b| {
            let inner = World::new(2).run(|comm| {
                let mut v = [a + comm.rank() as u64];
                comm.all_reduce(&mut v, Sum)?;
                Ok(v[0])
            });
            assert_eq!(inner.unwrap(), [2 * a + 1; 2]);
            assert!(comm.barrier().is_err());
            a + b
        })?;
        Ok(v[0])
    });
    assert_eq!(run.unwrap(), [3, 3]);
}

#[test]
fn an_operator_that_panics_in_a_cell_breaks_its_communicator_and_hurts_no_other() {
    // Among more than two ranks one folds for all: the last to arrive if they take turns.
    for (ranks, n, villain) in [
        (2, 1, Some(0)),
        (2, 512, Some(1)),
        (3, 1, None),
        (5, 40, None),
    ] {
        let panicked = AtomicUsize::new(0);
        let report = guarded(&|| format!("{ranks} ranks, {n}, {villain:?}"), || {
            World::new(ranks).run_each(|comm| {
                let apart = comm.dup()?;
                let folded = catch_unwind(AssertUnwindSafe(|| {
                    comm.all_reduce(&mut vec![1u64; n], |a, b| {
                        let panics = villain.is_none_or(|villain| comm.rank() == villain);
                        assert!(!panics, "an operator that panics");
                        a + b
                    })
                }));
                // It has ended, whatever it caught.
                let then = apart.barrier();
                panicked.fetch_add(folded.is_err().into(), Ordering::Relaxed);
                assert!(villain.is_none_or(|villain| folded.is_err() == (comm.rank() == villain)));
                assert!(then.is_err(), "the rank is gone");
                assert!(comm.barrier().is_err());
                Ok(())
            })
        });
        assert!(report.outcomes.iter().all(|rank| rank.value().is_some()));
        assert_eq!(panicked.into_inner(), 1);
    }
}

#[test]
fn a_communicator_that_is_forgotten_harms_nobody() {
    let run = World::new(3).run(|comm| {
        for turn in 0..20 {
            let other = comm.dup()?;
            let mut v = [comm.rank()];
            other.broadcast(turn % 3, &mut v)?;
            assert_eq!(v, [turn % 3]);
            if comm.rank() == 1 {
                mem::forget(other);
            }
        }
        comm.barrier()
    });
    run.unwrap();
}

/// Each rank is the root of its own broadcast: none waits, and none reads.
fn each_is_a_root(comm: &Comm) -> Result<()> {
    comm.broadcast(comm.rank(), &mut [comm.rank()])
}

fn is_mismatch<R: std::fmt::Debug>(result: std::result::Result<R, WorldError>) {
    assert!(matches!(result, Err(WorldError::Mismatch(_))), "{result:?}");
}

#[test]
fn what_nobody_read_on_a_communicator_that_is_gone_is_told_at_the_end() {
    is_mismatch(World::new(2).check(false).run(|comm| {
        each_is_a_root(&comm.dup()?)?;
        // A new one reuses the place of old ones.
        (0..3).try_for_each(|_| comm.dup()?.barrier())
    }));
}

#[test]
fn what_nobody_read_is_told_though_the_call_is_long_ago() {
    is_mismatch(World::new(2).check(false).run(|comm| {
        let other = comm.dup()?;
        each_is_a_root(&other)?;
        (0..100).try_for_each(|_| comm.barrier())
    }));
}

#[test]
fn more_ranks_than_cells_serve_see_at_the_gate_that_an_earlier_call_differed() {
    is_mismatch(World::new(65).check(false).run(|comm| {
        each_is_a_root(comm)?;
        comm.barrier()
    }));
}

/// Some collectives, with cells requested where the automatic choice would not use them.
fn over_cells(comm: &Comm, n: usize) -> Result<()> {
    const CELLS: Algorithm = Algorithm::Cells;
    let (me, p) = (comm.rank() as u64, comm.size());
    let sum: u64 = (0..p as u64).sum();
    let mut v = vec![me; n];
    comm.using(CELLS).all_reduce(&mut v, Sum)?;
    assert_eq!(v, vec![sum; n]);
    for root in [0, p / 2, p - 1] {
        let mut v = vec![me; n];
        comm.using(CELLS).broadcast(root, &mut v)?;
        assert_eq!(v, vec![root as u64; n]);
        let mut v = vec![me; n];
        comm.using(CELLS).reduce(root, &mut v, Sum)?;
        assert_eq!(v, vec![if comm.rank() == root { sum } else { me }; n]);
    }
    let mut all = vec![0; p];
    comm.using(CELLS).all_gather(&[me], &mut all)?;
    assert!(all.into_iter().eq(0..p as u64));
    comm.using(CELLS).barrier()
}

#[test]
fn far_more_ranks_than_processors_meet_at_the_cells() {
    for ranks in [1, 2, 3, 64, 65, 300] {
        let run = guarded(&|| format!("{ranks} ranks"), || {
            World::new(ranks).run(|comm| (0..7).try_for_each(|n| over_cells(comm, n * n * 14)))
        });
        run.unwrap();
    }
}

#[test]
fn more_empty_elements_than_a_cell_can_count_go_another_way() {
    const MANY: usize = u32::MAX as usize + 1;
    let run = World::new(2).run(|comm| {
        let mut v = vec![(); MANY];
        let done = comm.broadcast(0, &mut v);
        // Whatever the result, there is no panic.
        assert!(done.is_ok() || comm.barrier().is_err());
        Ok(())
    });
    run.unwrap();
}

#[test]
fn a_root_that_is_far_ahead_of_a_slow_reader_overtakes_nothing() {
    let calls = (10_000.0 * scale()) as u64;
    let run = World::new(3).run(|comm| {
        for call in 0..calls {
            let mut v = [if comm.rank() == 0 { call } else { 0 }; 5];
            if comm.rank() == 1 && call % 1024 == 0 {
                (0..100).for_each(|_| std::thread::yield_now());
            }
            comm.broadcast(0, &mut v)?;
            assert_eq!(v, [call; 5]);
        }
        Ok(())
    });
    run.unwrap();
}

/// Every way to send and to read, one after the other; returns at the end whether the rank has the right result.
fn all_sorts(comm: &Comm) -> Result<u64> {
    for n in [1, 4, 5, 512, 513] {
        let mut random = Random::new(n as u64);
        for verb in VERBS {
            let root = random.below(comm.size());
            let apart = false;
            let kind = random.of(&KINDS);
            let step = Step {
                verb,
                kind,
                n,
                root,
                apart,
            };
            step.play([comm, comm])?;
        }
    }
    Ok(comm.rank() as u64)
}

#[test]
fn a_rank_that_dies_at_the_cells_takes_nobody_with_it() {
    sweep::sweep("at the cells", 2..=4, 0.1, |comm| {
        to_and_fro(comm, 5)?;
        Ok(comm.rank() as u64)
    });
}

/// A root that runs ahead, readers that answer, and a rank that only writes.
fn to_and_fro(comm: &Comm, n: usize) -> Result<()> {
    let mut v = vec![comm.rank() as u64; n];
    (0..6).try_for_each(|_| comm.broadcast(0, &mut v))?;
    (0..6).try_for_each(|_| comm.reduce(comm.size() - 1, &mut v, Sum))?;
    comm.gather(0, &v)?;
    comm.all_reduce(&mut v, op::Max)
}

#[test]
fn all_sorts_of_calls_come_out_right_in_every_world() {
    for ranks in [1, 2, 3, 5, 8] {
        for buffering in [Buffering::Zero, Buffering::Bytes(64), Buffering::Unbounded] {
            for seed in [None, Some(3)] {
                let world = World::new(ranks).buffering(buffering).strict();
                let world = match seed {
                    Some(seed) => world.seed(seed),
                    None => world,
                };
                let case = || format!("{ranks} ranks, {buffering:?}, {seed:?}");
                guarded(&case, || world.run(all_sorts)).unwrap();
            }
        }
    }
}

#[test]
fn cells_and_receives_from_any_source_go_together_in_every_order() {
    let explored = testing::explore(3, |comm| {
        let mut v = [comm.rank() as u64];
        if comm.rank() > 0 {
            comm.send(0, 0, &v)?;
        }
        comm.all_reduce(&mut v, Sum)?;
        assert_eq!(v, [3]);
        let mut came = Vec::new();
        if comm.rank() == 0 {
            for _ in 0..2 {
                came.push(comm.recv::<u64>(Source::Any, 0)?.0[0]);
            }
        }
        comm.broadcast(0, &mut v)?;
        Ok(came)
    });
    assert!(explored.complete);
}

#[test]
fn who_has_waited_too_long_at_a_cell_breaks_the_call_for_who_comes_later() {
    let late = AtomicBool::new(false);
    let report = World::new(2)
        .timeout(Duration::from_millis(20))
        .run_each(|comm| {
            if comm.rank() == 0 {
                let error = comm.all_reduce(&mut [1], Sum).unwrap_err();
                assert!(
                    matches!(error.kind(), ErrorKind::TimedOut { .. }),
                    "{error}"
                );
                late.store(true, Ordering::Release);
                return Ok(());
            }
            while !late.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            assert!(comm.all_reduce(&mut [1], Sum).is_err());
            Ok(())
        });
    assert!(
        report
            .outcomes
            .iter()
            .all(|outcome| outcome.value().is_some()),
        "{report:?}"
    );
}
