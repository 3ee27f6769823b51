//! The loop that times a point: all ranks start together, and read the clock themselves.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::clock::thread_cpu;
use super::point::{Point, Subject};
use super::statistics::{mean, median, sorted};
use super::vectors::{Number, Vectors, Wrong};
use crate::collective::Collective;
use crate::machine::Placement;
use crate::{Comm, Rank, Result, World, WorldError};

/// How long a batch of calls lasts at least: so long that reading the clock does not count.
pub const BATCH: Duration = Duration::from_micros(50);
/// Samples that a pass takes at least, also where its time is up, and at most.
const FEWEST: usize = 2;
const MOST: usize = 2000;
/// Calls in a batch at most.
const MOST_CALLS: u64 = 1 << 20;

/// What a point does on one rank.
pub type Body<'a, T> = dyn Fn(&Comm, &mut Vectors<T>) -> Result<()> + Sync + 'a;

/// How much a pass takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// For so long samples are taken.
    pub time: Duration,
    /// Or so many of them, however long that takes.
    pub samples: Option<usize>,
}

impl Effort {
    /// So many samples.
    pub fn samples(count: usize) -> Effort {
        Effort {
            time: Duration::from_millis(1),
            samples: Some(count),
        }
    }

    /// Samples for so long.
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

    /// Whether a pass that has so many samples after this long has enough.
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
    /// Set by whoever wants no more: the sample that is being taken is the last.
    pub stop: Arc<AtomicBool>,
}

impl Control {
    /// Whether somebody wants no more.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// What came of the first call, whose result was compared on every rank.
#[derive(Clone, Debug)]
pub struct Proved {
    /// The messages of one call, of all ranks.
    pub messages: u64,
    /// The bytes in them.
    pub bytes: u64,
    /// Where the ranks were.
    pub placement: Placement,
    /// What the automatic choice chose, where it was asked.
    pub chosen: Option<String>,
}

/// What came of a pass. Times are in seconds.
#[derive(Clone, Debug)]
pub struct Pass {
    /// The time of a call in each sample.
    pub samples: Vec<f64>,
    /// In each sample, from the first rank's exit to the last one's.
    pub skews: Vec<f64>,
    /// Of each rank the mean time of a call.
    pub ranks: Vec<f64>,
    /// How many calls were timed.
    pub calls: u64,
    /// For how long all ranks together ran meanwhile; of calls that are timed one by one, with the barrier before each.
    pub cpu: f64,
    /// How many results were compared, element by element, on all ranks.
    pub checked: u64,
    /// How often a rank gave up looking for a message and slept.
    pub sleeps: u64,
}

impl Pass {
    /// The median of its samples.
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
    /// A thread that measures the machine itself could not be started: what the system said.
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
    // No round of agreement before each call, also where that is the default.
    let world = World::new(point.ranks)
        .bind(point.bind.clone())
        .check(false);
    match point.channels {
        true => world.channel_lanes(),
        false => world,
    }
}

/// Runs a point once, compares every element on every rank, and counts the messages.
///
/// # Errors
///
/// [`Failure::Wrong`] with the first element that is wrong on the lowest rank that has one.
pub fn prove<T: Number>(point: &Point, body: &Body<'_, T>) -> Result<Proved, Failure> {
    let report = world(point).try_run_each(|comm: &Comm| {
        let chosen = chosen::<T>(point, comm)?;
        Ok((checked_call(point, comm, body, 0)?, chosen))
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

/// What the automatic choice is here. A barrier that is not told how is no algorithm: it passes a gate.
fn chosen<T: Number>(point: &Point, comm: &Comm) -> Result<Option<String>> {
    let barrier = Subject::from(Collective::Barrier);
    let asked = point.algorithm.is_none() && point.subject != barrier && comm.rank() == 0;
    match point.shape().filter(|_| asked) {
        Some(call) => Ok(Some(comm.explain::<T>(&call)?.algorithm.to_string())),
        None => Ok(None),
    }
}

/// One call on vectors of its own; what is wrong with its result on this rank.
fn checked_call<T: Number>(
    point: &Point,
    comm: &Comm,
    body: &Body<'_, T>,
    turn: usize,
) -> Result<Option<Wrong>> {
    let mut vectors = Vectors::new(point, comm.rank());
    vectors.fill(point, comm.rank(), turn);
    body(comm, &mut vectors)?;
    Ok(vectors.check(point, comm.rank(), turn).err())
}

/// Times a point: one pass, with results that are compared before and after, and each of them on fresh vectors.
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
    let shared = Shared {
        point,
        effort,
        control,
        body,
        origin: Instant::now(),
        last: AtomicUsize::new(usize::MAX),
    };
    let report = world(point).try_run_each(|comm: &Comm| shared.rank(comm));
    let report = report.map_err(Failure::World)?;
    let sleeps = report.counts.iter().map(|rank| rank.sleeps).sum();
    let ranks = report.into_result().map_err(Failure::World)?;
    match ranks.iter().find_map(|rank| rank.wrong.clone()) {
        Some(wrong) => Err(Failure::Wrong(wrong)),
        None => Ok(shared.collect(&ranks, sleeps)),
    }
}

/// What all ranks of a pass see.
struct Shared<'a, T> {
    point: &'a Point,
    effort: &'a Effort,
    control: &'a Control,
    body: &'a Body<'a, T>,
    origin: Instant,
    /// The sample that is not taken any more. Written by rank 0 before the barrier that comes before that
    /// sample, and read after it: so all ranks leave at the same one, though rank 0 may be ahead.
    last: AtomicUsize,
}

/// Entry and exit, since the origin.
type Span = (Duration, Duration);

/// What one rank saw.
#[derive(Default)]
struct Seen {
    /// A span for each sample.
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

impl<T: Number> Shared<'_, T> {
    fn rank(&self, comm: &Comm) -> Result<Seen> {
        let (point, me) = (self.point, comm.rank());
        let mut seen = Seen::default();
        let mut vectors = Vectors::new(point, me);
        self.compare(comm, &mut vectors, &mut seen, 1)?;
        vectors.fill(point, me, 2);
        let calls = self.warm_up(comm, &mut vectors)?;
        self.samples(comm, &mut vectors, &mut seen, calls)?;
        self.compare(comm, &mut vectors, &mut seen, 3)?;
        Ok(seen)
    }

    fn compare(
        &self,
        comm: &Comm,
        vectors: &mut Vectors<T>,
        seen: &mut Seen,
        turn: usize,
    ) -> Result<()> {
        vectors.fill(self.point, comm.rank(), turn);
        (self.body)(comm, vectors)?;
        seen.compared(vectors.check(self.point, comm.rank(), turn));
        Ok(())
    }

    fn calls(&self, comm: &Comm, vectors: &mut Vectors<T>, calls: u64) -> Result<()> {
        (0..calls).try_for_each(|_| (self.body)(comm, vectors))
    }

    /// Calls until all is warm, in batches of so many that one lasts long enough: how many these are. Rank 0
    /// decides for all.
    fn warm_up(&self, comm: &Comm, vectors: &mut Vectors<T>) -> Result<u64> {
        let begin = Instant::now();
        // Calls of the next batch, and whether there is none.
        let mut next = [1u64, 0];
        while next[1] == 0 {
            comm.barrier()?;
            let start = Instant::now();
            self.calls(comm, vectors, next[0])?;
            if comm.rank() == 0 {
                next = self.after(next[0], start.elapsed(), begin.elapsed());
            }
            comm.broadcast(0, &mut next)?;
        }
        Ok(if self.point.one_by_one() { 1 } else { next[0] })
    }

    fn after(&self, calls: u64, took: Duration, so_far: Duration) -> [u64; 2] {
        if took < BATCH && calls < MOST_CALLS {
            // A little more than enough, so that a quicker batch is long enough too.
            let wanted = 1.3 * BATCH.as_secs_f64() / took.as_secs_f64().max(1e-9);
            let factor = wanted.clamp(1.5, 100.0);
            let more = (calls as f64 * factor).ceil() as u64;
            return [more.min(MOST_CALLS), 0];
        }
        let enough = so_far >= self.effort.warm_up() || self.control.is_stopped();
        [calls, enough.into()]
    }

    fn samples(
        &self,
        comm: &Comm,
        vectors: &mut Vectors<T>,
        seen: &mut Seen,
        calls: u64,
    ) -> Result<()> {
        let Point { fresh, .. } = *self.point;
        let me = comm.rank();
        let begin = Instant::now();
        for sample in 0..self.effort.most() {
            let turn = 4 + sample;
            if fresh {
                vectors.fill(self.point, me, turn);
            }
            if me == 0 && self.is_last(sample, begin.elapsed()) {
                self.last.store(sample, Ordering::Relaxed);
            }
            let before = if calls == 1 { thread_cpu() } else { 0.0 };
            comm.barrier()?;
            if self.last.load(Ordering::Relaxed) == sample {
                break;
            }
            let before = if calls == 1 { before } else { thread_cpu() };
            let entry = self.origin.elapsed();
            self.calls(comm, vectors, calls)?;
            let exit = self.origin.elapsed();
            seen.cpu += thread_cpu() - before;
            seen.spans.push((entry, exit));
            seen.calls += calls;
            if fresh {
                seen.compared(vectors.check(self.point, me, turn));
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
            checked: first.checked,
            sleeps,
        }
    }

    /// By what the time of a batch is divided.
    fn messages_in_batch(&self, seen: &Seen) -> f64 {
        let calls = (seen.calls as f64 / seen.spans.len().max(1) as f64).max(1.0);
        // There and back again is two messages.
        match self.point.subject {
            Subject::Send => 2.0 * calls,
            Subject::Collective(_) => calls,
        }
    }

    /// How long a sample took: from the first rank's entry to the last one's exit where calls stand alone, else the
    /// longest that a rank was in its batch.
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

/// From the first rank's exit to the last one's, in seconds.
fn skew(spans: &[Span]) -> f64 {
    let exits = || spans.iter().map(|(_, exit)| *exit);
    let spread = exits().max().zip(exits().min());
    spread.map_or(0.0, |(last, first)| (last - first).as_secs_f64())
}

/// In seconds.
fn mean_length(spans: &[Span]) -> f64 {
    let lengths = spans.iter().map(|(entry, exit)| *exit - *entry);
    mean(
        &lengths
            .map(|length| length.as_secs_f64())
            .collect::<Vec<_>>(),
    )
}
