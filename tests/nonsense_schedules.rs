//! Schedules of the caller that panic, lie, or consist of random numbers: in worlds that check and in worlds that do
//! not, every rank ends, with its own panic or with an error that says what is wrong.

mod again;
mod support;

use std::any::type_name;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::check::Goal;
use rankfold::op::{Element, Operator};
use rankfold::schedule::{
    Buffer, Clash, Combine, FoldAlong, Lengths, LocalCopy, Region, Schedule, Step, Transfer,
};
use rankfold::topology::Topology;
use rankfold::{Comm, ErrorKind, Outcome, Rank, Report, Result, World, op};
use support::{Random, guarded, scale};

/// Elements that travel in their packet, and elements that are lent.
const LENGTHS: [usize; 2] = [3, 40];

/// The misbehaviour of a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trick {
    PanicInStep(usize),
    PanicInLengths,
    PanicInNextActive,
    /// The next step is the same one.
    StandStill,
    GoBack,
    /// There is always a next step.
    GoOn,
    /// A scratch buffer larger than any machine's memory.
    Scratch(usize),
    /// A repeated query gets another answer.
    Waver,
    ManyRuns(usize),
    Peer(Rank),
    Clash,
}

/// A correct all-reduce along a chain, except for the trick of one rank.
struct Tricky {
    inner: Box<dyn Schedule>,
    trick: Option<Trick>,
    asked: AtomicUsize,
}

impl Tricky {
    fn new(comm: &Comm, n: usize, trick: Option<Trick>) -> Self {
        let chain = FoldAlong::new(Topology::chain(comm.size()).single_port(), n);
        Tricky {
            inner: Box::new(chain.clone().then(chain.reversed())),
            trick,
            asked: AtomicUsize::new(0),
        }
    }

    fn is(&self, trick: Trick) -> bool {
        self.trick == Some(trick)
    }
}

/// Returns very many runs that are all the same few elements, or lie far outside.
fn many_runs(stride: usize) -> Region {
    Region {
        buffer: Buffer::Output,
        start: 0,
        length: 1,
        stride,
        count: usize::MAX,
    }
}

impl Schedule for Tricky {
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    fn steps(&self) -> usize {
        self.inner.steps()
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        assert!(!self.is(Trick::PanicInStep(step)), "no step today");
        if step >= self.steps() {
            return Step::IDLE;
        }
        let mut now = self.inner.step(rank, step);
        let transfers = now.send.iter_mut().chain(&mut now.recv);
        match self.trick {
            Some(Trick::Waver) if asked.is_multiple_of(2) => return Step::IDLE,
            Some(Trick::ManyRuns(stride)) => transfers.for_each(|t| t.region = many_runs(stride)),
            Some(Trick::Peer(peer)) => transfers.for_each(|t| t.peer = peer),
            Some(Trick::Clash) => now.clash = Some(Clash::Sends),
            Some(Trick::Scratch(_)) => transfers.for_each(|t| t.region.buffer = Buffer::Scratch),
            _ => {}
        }
        now
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        assert!(!self.is(Trick::PanicInNextActive), "nothing is next");
        match (self.trick, after) {
            (Some(Trick::StandStill), Some(_)) => after,
            (Some(Trick::GoBack), Some(_)) => Some(0),
            (Some(Trick::GoOn), _) => Some(after.map_or(0, |step| step + 1)),
            _ => self.inner.next_active(rank, after),
        }
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        assert!(!self.is(Trick::PanicInLengths), "any length");
        let mut lengths = self.inner.lengths(rank);
        if let Some(Trick::Scratch(scratch)) = self.trick {
            lengths.scratch = scratch;
        }
        lengths
    }
}

const TRICKS: [Trick; 18] = [
    Trick::PanicInStep(0),
    Trick::PanicInStep(1),
    Trick::PanicInStep(3),
    Trick::PanicInLengths,
    Trick::PanicInNextActive,
    Trick::StandStill,
    Trick::GoBack,
    Trick::GoOn,
    Trick::Scratch(usize::MAX),
    Trick::Scratch(usize::MAX / 16),
    Trick::Scratch(1 << 50),
    Trick::Waver,
    Trick::ManyRuns(0),
    Trick::ManyRuns(1),
    Trick::ManyRuns(usize::MAX),
    Trick::Peer(usize::MAX),
    Trick::Peer(1),
    Trick::Clash,
];

/// Returns whether a rank ended properly: it succeeded, an error says why not, or it panicked itself.
fn ended_well(trick: Trick, player: bool, outcome: &Outcome<()>) -> bool {
    let panics = matches!(
        trick,
        Trick::PanicInStep(_) | Trick::PanicInLengths | Trick::PanicInNextActive
    );
    match outcome {
        Outcome::Returned(()) => true,
        Outcome::Failed(error) => !matches!(error.kind(), ErrorKind::User(_)),
        Outcome::Panicked { .. } => panics && player,
        _ => false,
    }
}

fn play(ranks: usize, n: usize, check: bool, player: Option<Rank>, trick: Trick) {
    let case = || format!("{trick:?}, {ranks} ranks, {n} elements, check({check}), by {player:?}");
    let plays = |rank: Rank| player.is_none_or(|player| player == rank);
    let report = guarded(&case, || {
        World::new(ranks).check(check).run_each(|comm| {
            let mine = plays(comm.rank()).then_some(trick);
            let tricky = Tricky::new(comm, n, mine);
            let mut v = vec![1u64; n];
            comm.run_schedule(&tricky, &Goal::all_reduce(n), &[], &mut v, op::Sum)
        })
    });
    for (rank, outcome) in report.outcomes.iter().enumerate() {
        assert!(
            ended_well(trick, plays(rank), outcome),
            "{}: rank {rank}: {outcome:?}",
            case()
        );
    }
}

#[test]
fn a_schedule_that_plays_a_trick_holds_nobody_up() {
    for trick in TRICKS {
        for ranks in 1..=4 {
            for n in LENGTHS {
                for check in [false, true] {
                    play(ranks, n, check, None, trick);
                    play(ranks, n, check, Some(ranks - 1), trick);
                    play(ranks, n, check, Some(0), trick);
                }
            }
        }
    }
}

/// A rank that catches the panic of its schedule has left the world nevertheless.
#[test]
fn a_rank_that_catches_the_panic_of_its_schedule_has_ended() {
    for check in [false, true] {
        let case = || format!("check({check})");
        let report = guarded(&case, || {
            World::new(3).check(check).run_each(|comm| {
                let mine = (comm.rank() == 1).then_some(Trick::PanicInStep(1));
                let tricky = Tricky::new(comm, 40, mine);
                let mut v = [1u64; 40];
                let goal = Goal::all_reduce(40);
                let run = || comm.run_schedule(&tricky, &goal, &[], &mut v, op::Sum);
                match catch_unwind(AssertUnwindSafe(run)) {
                    Ok(done) => done,
                    Err(_) => comm.barrier(),
                }
            })
        });
        assert_eq!(report.culprit, Some(1), "{report:?}");
        let failed = |outcome: &Outcome<()>| outcome.error().is_some();
        assert!(report.outcomes.iter().all(failed), "{report:?}");
    }
}

/// A schedule of random numbers.
struct Noise {
    lengths: Lengths,
    ranks: usize,
    steps: Vec<Vec<Step>>,
}

impl Schedule for Noise {
    fn ranks(&self) -> usize {
        self.ranks
    }
    fn steps(&self) -> usize {
        self.steps.len()
    }
    fn step(&self, rank: Rank, step: usize) -> Step {
        self.steps[step][rank]
    }
    fn lengths(&self, _: Rank) -> Lengths {
        self.lengths
    }
}

fn number(random: &mut Random, small: usize) -> usize {
    let large = [
        usize::MAX,
        usize::MAX - 1,
        usize::MAX / 2,
        isize::MAX as usize,
        1 << 40,
    ];
    if random.one_in(12) {
        random.of(&large)
    } else {
        random.below(small)
    }
}

fn region(random: &mut Random) -> Region {
    Region {
        buffer: random.of(&[Buffer::Input, Buffer::Output, Buffer::Scratch]),
        start: number(random, 12),
        length: number(random, 30),
        stride: number(random, 40),
        count: if random.one_in(3) {
            number(random, 4)
        } else {
            1
        },
    }
}

fn noise(random: &mut Random) -> Noise {
    let ranks = 2 + random.below(3);
    Noise {
        lengths: Lengths {
            input: 40,
            output: 40,
            scratch: 40,
        },
        ranks,
        steps: (0..6).map(|_| noisy_step(random, ranks)).collect(),
    }
}

/// Returns one step of all ranks. Half of the messages have two ends that agree about their length.
fn noisy_step(random: &mut Random, ranks: usize) -> Vec<Step> {
    let combines = [Combine::Replace, Combine::FoldLeft, Combine::FoldRight];
    let mut all = vec![Step::IDLE; ranks];
    for rank in 0..ranks {
        let peer = number(random, ranks);
        let sent = region(random);
        let mut wanted = region(random);
        if random.one_in(2) {
            (wanted.length, wanted.count) = (sent.length, sent.count);
        }
        if random.one_in(3) {
            wanted = sent;
        }
        all[rank].combine = random.of(&combines);
        all[rank].send = Some(Transfer { peer, region: sent });
        let recv = Transfer {
            peer: rank,
            region: wanted,
        };
        match all.get_mut(peer) {
            Some(other) => other.recv = Some(recv),
            None => all[rank].recv = Some(Transfer { peer, ..recv }),
        }
        if random.one_in(4) {
            let (from, to) = (region(random), region(random));
            all[rank].local = Some(LocalCopy::new(from, to));
        }
    }
    all
}

fn run_noise(seed: u64, check: bool) -> Report<()> {
    run_noise_on(seed, check, [7u64, 9], op::Max)
}

/// Runs a schedule of random numbers on an input of the first element and an output of the second one.
fn run_noise_on<T: Element + Debug + PartialEq>(
    seed: u64,
    check: bool,
    [first, second]: [T; 2],
    op: impl Operator<T> + Copy + Sync,
) -> Report<()> {
    let ranks = noise(&mut Random::new(seed)).ranks;
    let case = || format!("seed {seed}, check({check}), {}", type_name::<T>());
    guarded(&case, || {
        World::new(ranks).check(check).run_each(|comm| {
            let noise = noise(&mut Random::new(seed));
            let (input, mut output) = (vec![first; 40], vec![second; 40]);
            let ran = comm.run_schedule(&noise, &Goal::barrier(), &input, &mut output, op);
            let known = output.iter().all(|x| [first, second].contains(x));
            assert!(known, "an element of no rank: {output:?}");
            ran
        })
    })
}

#[test]
fn schedules_of_random_numbers_end_in_errors_and_no_rank_panics() {
    for seed in 0..(1500.0 * scale()) as u64 {
        for check in [false, true] {
            let report = run_noise(seed, check);
            for outcome in &report.outcomes {
                let fine = matches!(outcome, Outcome::Returned(()) | Outcome::Failed(_));
                assert!(fine, "seed {seed}, check({check}): {outcome:?}");
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Line(u8);

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(4096))]
struct Page(u16);

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(256))]
struct Nothing;

/// Padding, strict alignments, no bytes at all.
#[test]
fn schedules_of_random_numbers_move_elements_of_any_layout() {
    fn all<T: Element + Debug + PartialEq>(seed: u64, elements: [T; 2]) {
        for outcome in run_noise_on(seed, false, elements, op::First).outcomes {
            let fine = matches!(outcome, Outcome::Returned(()) | Outcome::Failed(_));
            assert!(fine, "seed {seed}, {}: {outcome:?}", type_name::<T>());
        }
    }
    for seed in 0..(200.0 * scale()) as u64 {
        all(seed, [(1u8, 2u32), (3, 4)]);
        all(seed, [Line(1), Line(2)]);
        all(seed, [Page(1), Page(2)]);
        all(seed, [Nothing, Nothing]);
        all(seed, [(), ()]);
        all(seed, [[1u8; 3], [2; 3]]);
    }
}

/// Schedules combined from schedules pass nonsense on without panicking themselves.
#[test]
fn combinations_of_random_numbers_end_in_errors_too() {
    let run = |comm: &Comm, schedule: &dyn Schedule| -> Result<()> {
        let Lengths { input, output, .. } = schedule.lengths(comm.rank());
        if input.max(output) > 1000 {
            return Ok(());
        }
        let (input, mut output) = (vec![7u64; input], vec![9u64; output]);
        comm.run_schedule(schedule, &Goal::barrier(), &input, &mut output, op::Max)
    };
    for seed in 0..(300.0 * scale()) as u64 {
        let ranks = noise(&mut Random::new(seed)).ranks;
        for which in 0..4 {
            let case = || format!("seed {seed}, combination {which}");
            let report = guarded(&case, || {
                World::new(ranks).check(false).run_each(|comm| {
                    let noise = || noise(&mut Random::new(seed));
                    match which {
                        0 => run(comm, &noise().reversed()),
                        1 => run(comm, &noise().then(noise())),
                        2 => run(comm, &noise().overlay(noise())),
                        _ => run(comm, &noise().rooted(ranks - 1)),
                    }
                })
            });
            for outcome in &report.outcomes {
                let fine = matches!(outcome, Outcome::Returned(()) | Outcome::Failed(_));
                assert!(fine, "{}: {outcome:?}", case());
            }
        }
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
