//! Random programs over processes: right ones end without a report, wrong ones end as the model of `support::random` says.

use rankfold::{ErrorKind, Outcome, World};

use super::programs::world;
use super::support::random::{Act, Calls, Kinds, Program, Whole};
use super::support::random_draft::draw;
use super::support::random_meetings::Meeting;
use super::support::random_model::completes;
use super::support::{Random, scale};

/// Number of right programs, and of wrong ones.
const RIGHT: f64 = 300.0;
const WRONG: f64 = 60.0;

/// The programs of as many ranks as all processes have together, with their seeds.
fn programs(ranks: usize, kinds: Kinds, count: f64) -> impl Iterator<Item = (u64, Program)> {
    let size = world(ranks).run(|comm| Ok(comm.size())).unwrap()[0];
    let drawn = (0..).map(move |seed| (seed, draw(seed, kinds)));
    drawn
        .filter(move |(_, program)| program.ranks.len() == size)
        .take((count * scale()).ceil() as usize)
}

/// Replaces what is for ranks of one process alone: values that are moved, subsets, windows.
fn spread(program: &mut Program) {
    for acts in &mut program.ranks {
        acts.retain(|act| !matches!(act, Act::Epoch { .. } | Act::Touch(_)));
        for act in acts {
            match act {
                Act::Send(message) | Act::Recv { message, .. } => message.moved = false,
                Act::Whole { what, .. } => {
                    if let Whole::Meeting(Meeting::Values { .. } | Meeting::Subset { .. }) = what {
                        *what = Whole::Meeting(Meeting::Exact { length: 3 });
                    }
                }
                _ => {}
            }
        }
    }
}

pub fn right(ranks: usize) {
    let kinds = Kinds {
        rich: true,
        calls: Calls::All,
        spins: true,
    };
    for (seed, mut program) in programs(ranks, kinds, RIGHT) {
        spread(&mut program);
        let world = world(ranks).check(seed.is_multiple_of(2)).strict();
        let report = world.run_each(|comm| program.play(comm));
        assert_eq!(report.culprit, None, "seed {seed}: {report}");
        assert!(report.deadlocks.is_empty(), "seed {seed}: {report}");
        let ended = report.into_result();
        ended.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

pub fn wrong(ranks: usize) {
    let kinds = Kinds {
        rich: false,
        calls: Calls::Barriers,
        spins: false,
    };
    for (seed, mut program) in programs(ranks, kinds, WRONG) {
        spread(&mut program);
        let mut random = Random::new(seed);
        (0..1 + random.below(3)).for_each(|_| spoil(&mut program, &mut random));
        compare(seed, &program, world(ranks).check(false));
    }
}

/// Removes something from a program, or sends it with another tag.
fn spoil(program: &mut Program, random: &mut Random) {
    let rank = random.below(program.ranks.len());
    let acts = &mut program.ranks[rank];
    if acts.is_empty() {
        return;
    }
    let place = random.below(acts.len());
    match &mut acts[place] {
        Act::Send(message) if random.one_in(2) => message.tag += 7,
        _ => _ = acts.remove(place),
    }
}

/// A rank that the model lets end may fail all the same, as others that fail break its communicator; one that cannot end
/// fails, and blames no rank without cause.
fn compare(seed: u64, program: &Program, world: World) {
    let right = completes(program);
    let report = world.run_each(|comm| program.play(comm));
    for (rank, outcome) in report.outcomes.iter().enumerate() {
        let rank = report.first_rank + rank;
        let ended = match outcome {
            Outcome::Returned(()) => true,
            Outcome::Failed(error) => {
                let timed_out = matches!(error.kind(), ErrorKind::TimedOut { .. });
                assert!(!timed_out, "seed {seed}: rank {rank}: {error}");
                false
            }
            _ => panic!("seed {seed}: rank {rank}: {outcome:?}"),
        };
        assert!(!ended || right[rank], "seed {seed}: rank {rank} has ended");
        let all = right.iter().all(|right| *right);
        assert!(!all || ended, "seed {seed}: rank {rank}: {outcome:?}");
    }
}
