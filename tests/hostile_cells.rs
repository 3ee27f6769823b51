//! Programs that go wrong where ranks read each other's cells, or where some of them send messages instead. A rank
//! whose call succeeds has the right result, no rank hangs, and the error is reported.

mod again;
#[path = "hostile_cells/crowds.rs"]
mod crowds;
#[path = "hostile_cells/failures.rs"]
mod failures;
#[path = "hostile_cells/keys.rs"]
mod keys;
#[path = "hostile_cells/part.rs"]
mod part;
mod support;

use std::fmt::Debug;

use part::Part;
use rankfold::op::Element;
use rankfold::{Buffering, Comm, Outcome, Rank, Report, Result, World};
use support::{Random, guarded, mix, scale};

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
    fn play_in<T: Element + PartialEq + Debug>(
        &self,
        comm: &Comm,
        make: impl Fn(u64) -> T,
    ) -> Result<()> {
        let part = Part {
            step: self,
            mark: self.mark(),
            comm,
            make,
        };
        match self.verb {
            Verb::Barrier => comm.barrier(),
            Verb::Reduce
            | Verb::AllReduce
            | Verb::ReduceScatter
            | Verb::Scan
            | Verb::ReduceOver => part.reduce(),
            Verb::Broadcast | Verb::Scatter | Verb::Value => part.receive(),
            Verb::AllGather | Verb::Gather | Verb::AllToAll => part.collect(),
            Verb::Split => {
                let all = comm.split(0, comm.rank() as i64)?;
                assert_eq!((all.rank(), all.size()), (comm.rank(), comm.size()));
                Ok(())
            }
        }
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

#[test]
fn all_of_it_holds_where_each_rank_has_a_cpu() {
    again::where_each_rank_has_a_cpu(&[]);
}
