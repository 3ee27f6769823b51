//! The loop that times a point: all ranks start together, and each reads the clock itself.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::clock::thread_cpu;
use super::point::{Point, Subject};
use super::seat::{Body, Case, Seat, Typed};
use super::statistics::{mean, median, sorted};
use super::vectors::{Number, Wrong};
use crate::collective::Collective;
use crate::machine::Placement;
use crate::{Comm, Rank, Result, World, WorldError};

/// Minimum time of a batch of calls: long enough that reading the clock does not count.
pub const BATCH: Duration = Duration::from_micros(50);
/// Minimum number of samples in a pass, even when its time is up, and the maximum.
const FEWEST: usize = 2;
const MOST: usize = 2000;
/// Maximum number of calls in a batch.
const MOST_CALLS: u64 = 1 << 20;

/// The time for which a pass takes samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Time for which samples are taken, unless `samples` is set.
    pub time: Duration,
    /// Number of samples to take instead, however long that takes.
    pub samples: Option<usize>,
}

impl Effort {
    /// An effort of `count` samples.
    pub fn samples(count: usize) -> Effort {
        Effort {
            time: Duration::from_millis(1),
            samples: Some(count),
        }
    }

    /// An effort of `time` of sampling.
    pub fn time(time: Duration) -> Effort {
        Effort {
            time,
            samples: None,
        }
    }

    fn most(&self) -> usize {
        self.samples.unwrap_or(MOST).max(1)
    }

    fn warm_up(&self) -> Duration {
        (self.time / 4).min(Duration::from_millis(20))
    }

    /// Returns whether a pass with this many samples after `elapsed` has enough.
    fn is_over(&self, samples: usize, elapsed: Duration) -> bool {
        match self.samples {
            Some(_) => false,
            None => samples >= FEWEST && elapsed >= self.time,
        }
    }
}

/// Stops a run from outside.
#[derive(Debug, Default)]
pub struct Control {
    /// Set to stop the run: the sample being taken is the last.
    pub stop: Arc<AtomicBool>,
}

impl Control {
    /// Returns whether the run has been told to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The result of the first call, whose output is compared on every rank.
#[derive(Clone, Debug)]
pub struct Proved {
    /// Number of messages of one call, over all ranks.
    pub messages: u64,
    /// Number of bytes in those messages.
    pub bytes: u64,
    /// The placement of the ranks.
    pub placement: Placement,
    /// The automatic choice, if the point left the algorithm open.
    pub chosen: Option<String>,
}

/// The result of a pass. Times are in seconds.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Time of one call in each sample.
    pub samples: Vec<f64>,
    /// Time from the first rank's exit to the last rank's, in each sample.
    pub skews: Vec<f64>,
    /// Mean time of a call on each rank.
    pub ranks: Vec<f64>,
    /// Number of timed calls.
    pub calls: u64,
    /// Processor time of all ranks together during the samples. For calls that are timed one by one it includes the
    /// barrier before each.
    pub cpu: f64,
    /// Number of results that were compared, element by element, on all ranks; 0 where a call leaves no elements.
    pub checked: u64,
    /// Number of times a rank stopped polling for a message and slept.
    pub sleeps: u64,
}

impl Pass {
    /// Returns the median of the samples.
    pub fn median(&self) -> f64 {
        median(&sorted(self.samples.iter().copied()))
    }
}

/// Why a point could not be measured.
#[derive(Debug)]
pub enum Failure {
    /// A result is wrong.
    Wrong(Wrong),
    /// A rank failed.
    World(WorldError),
    /// A thread that measures the machine itself could not be started; holds the system's error.
    Thread(io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Wrong(wrong) => write!(f, "the result is wrong: {wrong}"),
            Failure::World(error) => error.fmt(f),
            Failure::Thread(error) => {
                write!(f, "a thread to measure with could not be started: {error}")
            }
        }
    }
}

impl std::error::Error for Failure {}

fn world(point: &Point) -> World {
    // No agreement round before each call, even where that is the default.
    World::new(point.ranks)
        .bind(point.bind.clone())
        .transport(point.transport)
        .check(false)
}

/// Runs a point once, compares every element on every rank, and counts the messages.
///
/// # Errors
///
/// [`Failure::Wrong`] with the first wrong element of the lowest rank that has one.
pub fn prove<T: Number>(point: &Point, body: &Body<'_, T>) -> Result<Proved, Failure> {
    prove_case(&Typed { point, body })
}

fn prove_case(case: &dyn Case) -> Result<Proved, Failure> {
    let report = world(case.point()).try_run_each(|comm: &Comm| {
        let chosen = chosen(case, comm)?;
        Ok((checked_call(case, comm, 0)?, chosen))
    });
    let report = report.map_err(Failure::World)?;
    let placement = report.placement.clone();
    let messages = report.counts.iter().map(|rank| rank.messages).sum();
    let bytes = report.counts.iter().map(|rank| rank.bytes).sum();
    let found = report.into_result().map_err(Failure::World)?;
    let mut chosen = None;
    for (wrong, by) in found {
        if let Some(wrong) = wrong {
            return Err(Failure::Wrong(wrong));
        }
        chosen = chosen.or(by);
    }
    Ok(Proved {
        messages,
        bytes,
        placement,
        chosen,
    })
}

/// Returns the automatic choice. A barrier without an explicit algorithm has none: it passes a gate.
fn chosen(case: &dyn Case, comm: &Comm) -> Result<Option<String>> {
    let point = case.point();
    let barrier = Subject::from(Collective::Barrier);
    let asked = point.algorithm.is_none() && point.subject != barrier && comm.rank() == 0;
    match point.shape().filter(|_| asked) {
        Some(call) => Ok(Some(case.explain(comm, &call)?.algorithm.to_string())),
        None => Ok(None),
    }
}

/// Runs one call on vectors of its own; returns the first error in its result on this rank.
fn checked_call(case: &dyn Case, comm: &Comm, turn: usize) -> Result<Option<Wrong>> {
    let mut seat = case.seat(comm.rank());
    seat.fill(turn);
    seat.call(comm, 1)?;
    Ok(seat.check(turn).err())
}

/// Times a point for one pass. Results are compared before and after the samples, and after every sample on fresh
/// vectors.
///
/// # Errors
///
/// As [`prove`].
pub fn pass<T: Number>(
    point: &Point,
    effort: &Effort,
    control: &Control,
    body: &Body<'_, T>,
) -> Result<Pass, Failure> {
    time_case(&Typed { point, body }, effort, control)
}

fn time_case(case: &dyn Case, effort: &Effort, control: &Control) -> Result<Pass, Failure> {
    let shared = Shared {
        case,
        point: case.point(),
        effort,
        control,
        origin: Instant::now(),
        last: AtomicUsize::new(usize::MAX),
    };
    let report = world(shared.point).try_run_each(|comm: &Comm| shared.rank(comm));
    let report = report.map_err(Failure::World)?;
    let sleeps = report.counts.iter().map(|rank| rank.sleeps).sum();
    let ranks = report.into_result().map_err(Failure::World)?;
    match ranks.iter().find_map(|rank| rank.wrong.clone()) {
        Some(wrong) => Err(Failure::Wrong(wrong)),
        None => Ok(shared.collect(&ranks, sleeps)),
    }
}

/// State shared by all ranks of a pass.
struct Shared<'a> {
    case: &'a dyn Case,
    point: &'a Point,
    effort: &'a Effort,
    control: &'a Control,
    origin: Instant,
    /// Index of the first sample that is not taken. Rank 0 writes it before the barrier that precedes that sample, and
    /// the other ranks read it after that barrier. So all ranks leave at the same sample, even if rank 0 is ahead.
    last: AtomicUsize,
}

/// Entry and exit, since the origin.
type Span = (Duration, Duration);

/// The measurements of one rank.
#[derive(Default)]
struct Seen {
    /// One span per sample.
    spans: Vec<Span>,
    calls: u64,
    cpu: f64,
    checked: u64,
    wrong: Option<Wrong>,
}

impl Seen {
    fn compared(&mut self, result: Result<(), Wrong>) {
        self.checked += 1;
        self.wrong = self.wrong.take().or(result.err());
    }
}

impl Shared<'_> {
    fn rank(&self, comm: &Comm) -> Result<Seen> {
        let mut seen = Seen::default();
        let mut seat = self.case.seat(comm.rank());
        let seat = &mut *seat;
        compare(comm, seat, &mut seen, 1)?;
        seat.fill(2);
        let calls = self.warm_up(comm, seat)?;
        self.samples(comm, seat, &mut seen, calls)?;
        compare(comm, seat, &mut seen, 3)?;
        Ok(seen)
    }

    /// Repeats the call until everything is warm, in batches that grow until one lasts long enough. Returns the number
    /// of calls in a batch. Rank 0 decides for all ranks.
    fn warm_up(&self, comm: &Comm, seat: &mut dyn Seat) -> Result<u64> {
        let begin = Instant::now();
        // Number of calls in the next batch, and 1 once there is no next batch.
        let mut next = [1u64, 0];
        while next[1] == 0 {
            comm.barrier()?;
            let start = Instant::now();
            seat.call(comm, next[0])?;
            if comm.rank() == 0 {
                next = self.after(next[0], start.elapsed(), begin.elapsed());
            }
            comm.broadcast(0, &mut next)?;
        }
        Ok(if self.point.one_by_one() { 1 } else { next[0] })
    }

    fn after(&self, calls: u64, took: Duration, so_far: Duration) -> [u64; 2] {
        if took < BATCH && calls < MOST_CALLS {
            // A little more than needed, so that a faster batch is still long enough.
            let wanted = 1.3 * BATCH.as_secs_f64() / took.as_secs_f64().max(1e-9);
            let factor = wanted.clamp(1.5, 100.0);
            let more = (calls as f64 * factor).ceil() as u64;
            return [more.min(MOST_CALLS), 0];
        }
        let enough = so_far >= self.effort.warm_up() || self.control.is_stopped();
        [calls, enough.into()]
    }

    fn samples(&self, comm: &Comm, seat: &mut dyn Seat, seen: &mut Seen, calls: u64) -> Result<()> {
        let (fresh, one_by_one) = (self.point.fresh, self.point.one_by_one());
        let me = comm.rank();
        let begin = Instant::now();
        for sample in 0..self.effort.most() {
            let turn = 4 + sample;
            if fresh {
                seat.fill(turn);
            }
            if me == 0 && self.is_last(sample, begin.elapsed()) {
                self.last.store(sample, Ordering::Relaxed);
            }
            let before = if one_by_one { thread_cpu() } else { 0.0 };
            comm.barrier()?;
            if self.last.load(Ordering::Relaxed) == sample {
                break;
            }
            let before = if one_by_one { before } else { thread_cpu() };
            let entry = self.origin.elapsed();
            seat.call(comm, calls)?;
            let exit = self.origin.elapsed();
            seen.cpu += thread_cpu() - before;
            seen.spans.push((entry, exit));
            seen.calls += calls;
            if fresh {
                seen.compared(seat.check(turn));
            }
        }
        Ok(())
    }

    fn is_last(&self, samples: usize, elapsed: Duration) -> bool {
        self.effort.is_over(samples, elapsed) || (samples > 0 && self.control.is_stopped())
    }

    fn collect(&self, ranks: &[Seen], sleeps: u64) -> Pass {
        let first = &ranks[0];
        let samples = 0..first.spans.len();
        let per_call = self.messages_in_batch(first);
        let idle = |rank: Rank| self.point.subject == Subject::Send && rank ^ 1 >= self.point.ranks;
        let active = || (0..ranks.len()).filter(|rank| !idle(*rank));
        let spans = |sample: usize| -> Vec<Span> {
            active().map(|rank| ranks[rank].spans[sample]).collect()
        };
        let time = |sample: usize| self.time(&spans(sample)).as_secs_f64() / per_call;
        let mean = |rank: Rank| mean_length(&ranks[rank].spans) / per_call;
        Pass {
            samples: samples.clone().map(time).collect(),
            skews: samples.map(|sample| skew(&spans(sample))).collect(),
            ranks: active().map(mean).collect(),
            calls: first.calls,
            cpu: ranks.iter().map(|rank| rank.cpu).sum(),
            checked: match self.point.has_output() {
                true => first.checked,
                false => 0,
            },
            sleeps,
        }
    }

    /// Returns the divisor of a batch's time.
    fn messages_in_batch(&self, seen: &Seen) -> f64 {
        let calls = (seen.calls as f64 / seen.spans.len().max(1) as f64).max(1.0);
        // A round trip is two messages.
        match self.point.subject {
            Subject::Send => 2.0 * calls,
            Subject::Collective(_) => calls,
        }
    }

    /// Returns the time of a sample: from the first rank's entry to the last rank's exit where calls are timed one by
    /// one, else the longest time that any rank spent in its batch.
    fn time(&self, spans: &[Span]) -> Duration {
        if !self.point.one_by_one() {
            let longest = spans.iter().map(|(entry, exit)| *exit - *entry).max();
            return longest.unwrap_or_default();
        }
        let entry = spans.iter().map(|(entry, _)| *entry).min();
        let exit = spans.iter().map(|(_, exit)| *exit).max();
        let time = exit.zip(entry).map(|(exit, entry)| exit - entry);
        time.unwrap_or_default()
    }
}

/// Runs one call and compares its result.
fn compare(comm: &Comm, seat: &mut dyn Seat, seen: &mut Seen, turn: usize) -> Result<()> {
    seat.fill(turn);
    seat.call(comm, 1)?;
    seen.compared(seat.check(turn));
    Ok(())
}

/// Returns the time from the first rank's exit to the last rank's, in seconds.
fn skew(spans: &[Span]) -> f64 {
    let exits = || spans.iter().map(|(_, exit)| *exit);
    let spread = exits().max().zip(exits().min());
    spread.map_or(0.0, |(last, first)| (last - first).as_secs_f64())
}

/// Returns the mean length of the spans, in seconds.
fn mean_length(spans: &[Span]) -> f64 {
    let lengths = spans.iter().map(|(entry, exit)| *exit - *entry);
    mean(
        &lengths
            .map(|length| length.as_secs_f64())
            .collect::<Vec<_>>(),
    )
}
