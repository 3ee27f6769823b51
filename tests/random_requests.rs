//! Random programs with requests: right ones end without reports at every buffering with the messages of a sequential
//! model, wrong ones end as the model of stuck ranks says.
//!
//! A program is a sequence of stages. In each stage, a rank first posts without waiting, and waits after that, so a
//! right program needs no buffer: whatever stage the slowest rank is in, everything it waits for there is posted by
//! ranks that have come at least as far.
//!
//! `RANKFOLD_CASES` and `RANKFOLD_SEED` set how many random programs run, and the first seed.

mod again;
#[path = "random_requests/draft.rs"]
mod draft;
#[path = "random_requests/model.rs"]
mod model;
#[path = "random_requests/player.rs"]
mod player;
mod support;

use draft::draw;
use model::completes;
use rankfold::{Buffering, Error, Rank, World};
use support::{Random, guarded, mix, scale, setting};

/// A message: everything that sender and receiver must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Message {
    id: usize,
    from: Rank,
    to: Rank,
    tag: u32,
    length: usize,
    /// Sent as one moved value.
    moved: bool,
    /// Received from any source: its tag is unique.
    wild: bool,
}

/// How a blocking call receives a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Plain,
    Into,
    Probed,
    Matched,
    Polled,
}

/// How a set of requests is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    Each,
    All,
    Any,
    Some,
    Tested,
    TestedAll,
    TestedAny,
    TestedSome,
}

#[derive(Clone, Debug)]
enum Act {
    Isend(Message),
    Send(Message),
    Irecv {
        message: Message,
        any_tag: bool,
    },
    Recv {
        message: Message,
        any_tag: bool,
        how: How,
    },
    /// Posts a receive without a matching send, to be cancelled at the end.
    Never(usize),
    /// Sends and receives all of these from and into borrowed buffers.
    Scope {
        sends: Vec<Message>,
        receives: Vec<Message>,
    },
    /// Waits for these requests, by the numbers of their messages.
    WaitSends(Ends, Vec<usize>),
    WaitReceives(Ends, Vec<usize>),
    Barrier,
    Sum(usize),
}

/// What each rank does, in order.
#[derive(Clone, Debug)]
struct Program(Vec<Vec<Act>>);

/// Returns the contents of a message.
fn elements(id: usize, length: usize) -> Vec<u64> {
    (0..length)
        .map(|i| mix((id as u64) << 32 ^ i as u64))
        .collect()
}

// ── the tests ──

fn cases(all: usize) -> usize {
    let all = setting("RANKFOLD_CASES").unwrap_or(all);
    ((all as f64 * scale()) as usize).max(1)
}

fn first_seed() -> u64 {
    setting("RANKFOLD_SEED").unwrap_or(1)
}

/// Returns every way of buffering, with a budget that depends on the seed.
fn bufferings(seed: u64) -> [Buffering; 3] {
    let bytes = mix(seed) as usize % 5000;
    [
        Buffering::Zero,
        Buffering::Bytes(bytes),
        Buffering::Unbounded,
    ]
}

#[test]
fn right_programs_end_silently_at_every_buffering() {
    for seed in (first_seed()..).take(cases(150)) {
        let program = draw(seed, true);
        for buffering in bufferings(seed) {
            let case = format!("seed {seed}, {buffering:?}");
            let world = World::new(program.0.len())
                .buffering(buffering)
                .check(seed % 2 == 0)
                .strict();
            guarded(&|| case.clone(), || {
                world.run(|comm| program.play(comm, true))
            })
            .unwrap_or_else(|error| panic!("{case}: {error}\n{program:#?}"));
        }
    }
}

#[test]
fn the_model_knows_that_right_programs_are_right() {
    for seed in 0..300 {
        let program = draw(seed, false);
        assert!(
            completes(&program).into_iter().all(|all| all),
            "{program:#?}"
        );
    }
}

/// Removes one act from a program: a send, a receive or a barrier of one rank, with its wait.
fn spoil(program: &mut Program, random: &mut Random) -> bool {
    let rank = random.below(program.0.len());
    let acts = &mut program.0[rank];
    let spoils = |act: &Act| !matches!(act, Act::WaitSends(..) | Act::WaitReceives(..));
    let places: Vec<_> = (0..acts.len()).filter(|&i| spoils(&acts[i])).collect();
    if places.is_empty() {
        return false;
    }
    let gone = acts.remove(random.of(&places));
    let (Act::Isend(Message { id, .. })
    | Act::Irecv {
        message: Message { id, .. },
        ..
    }) = gone
    else {
        return true;
    };
    for act in acts {
        match (act, &gone) {
            (Act::WaitSends(_, ids), Act::Isend(_))
            | (Act::WaitReceives(_, ids), Act::Irecv { .. }) => ids.retain(|other| *other != id),
            _ => {}
        }
    }
    true
}

#[test]
fn wrong_programs_end_as_the_model_says() {
    let mut stuck = 0;
    for seed in (first_seed()..).take(cases(300)) {
        let mut program = draw(seed, false);
        let mut random = Random::new(!seed);
        if !spoil(&mut program, &mut random) {
            continue;
        }
        let want = completes(&program);
        stuck += usize::from(want.contains(&false));
        for buffering in bufferings(seed) {
            let case = format!("seed {seed}, {buffering:?}");
            ends_as_the_model_says(&program, &want, buffering, &case);
        }
    }
    assert!(stuck > 0 || cases(300) < 50, "some programs must be wrong");
}

fn ends_as_the_model_says(program: &Program, want: &[bool], buffering: Buffering, case: &str) {
    let world = World::new(program.0.len())
        .buffering(buffering)
        .check(false);
    let report = guarded(&|| case.into(), || {
        world.run_each(|comm| program.play(comm, false))
    });
    let got: Vec<_> = report
        .outcomes
        .iter()
        .map(|outcome| outcome.value().is_some())
        .collect();
    // With less room a rank may also fail for a message that no rank receives any more.
    let right = match buffering {
        Buffering::Unbounded => got == want,
        _ => got.iter().zip(want).all(|(got, want)| *want || !*got),
    };
    assert!(
        right,
        "{case}: {want:?}\n{:?}\n{program:#?}",
        report.outcomes
    );
    let consequence = |error: &Error| error.is_consequence();
    assert!(
        report
            .outcomes
            .iter()
            .filter_map(|o| o.error())
            .all(consequence),
        "{case}"
    );
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
