//! Tuning: measures the candidate algorithms on this machine and makes a table of the fastest.
//!
//! - `plan`: which collectives, ranks, bytes and algorithms; `decide`: from times to rules.
//!
//! A place is a collective among some number of ranks on some number of bytes. Its candidates are measured one right
//! after the other by [`measure::pass`](crate::measure::pass), which compares every result. After a first pass over all
//! places, candidates that are far behind are dropped. The others are measured again, pass by pass, until the time is
//! over, so that disturbances of the machine affect all of them alike. Candidates are compared within each pass; the
//! median pass counts. Places that break a [guideline](crate::collective::Guideline) are measured once more, together
//! with the algorithms of their neighbours.
//!
//! # Examples
//!
//! ```no_run
//! use std::time::Duration;
//! use rankfold::World;
//! use rankfold::machine::Machine;
//! use rankfold::measure::Control;
//! use rankfold::tune::{Plan, tune};
//!
//! let plan = Plan { time: Duration::from_secs(30), ..Plan::of(&Machine::here()) };
//! let table = tune(&plan, &Control::default(), &mut |_| ())?.table;
//! World::new(2).tuned(table).run(|comm| comm.barrier())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::time::{Duration, Instant};

use crate::collective::{
    Algorithm, Choice, Fingerprint, TableError, TuningTable, Violation, violations,
};
use crate::machine::Machine;
use crate::measure::{Control, Effort, Failure, Noise, Pair, Point, Watch, call, pass};
use crate::{Comm, op};

mod decide;
mod plan;

pub use plan::Plan;

/// The measured element: its size matters, its type hardly does.
type Element = f32;

/// After the first pass, a candidate that took this many times as long as the best is dropped.
const FAR_BEHIND: f64 = 1.6;

/// Share of the time by which the first pass should end, and the share after which places that break a guideline are
/// measured again.
const FIRST: f64 = 0.4;
const REPAIR: f64 = 0.85;

/// Minimum and maximum time for which a candidate is measured in a pass.
const LEAST: Duration = Duration::from_micros(300);
const MOST: Duration = Duration::from_millis(30);

/// Progress of the tuning.
#[derive(Clone, Debug)]
pub struct TuningProgress {
    /// Time since the start.
    pub elapsed: Duration,
    /// Time limit.
    pub time: Duration,
    /// The point that is being measured.
    pub point: Point,
}

/// The result of tuning.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The table.
    pub table: TuningTable,
    /// Guidelines that the table breaks nevertheless.
    pub violations: Vec<Violation>,
    /// Number of places, and number of those that were measured before the time was over.
    pub places: (usize, usize),
    /// Number of passes of the least measured of those.
    pub passes: usize,
    /// Other load on the machine during the measurements.
    pub noise: Noise,
    /// Whether it was stopped from outside.
    pub interrupted: bool,
}

/// Why there is no table.
#[derive(Debug)]
#[non_exhaustive]
pub enum TuneError {
    /// A candidate could not be measured.
    Failed(Box<Point>, Failure),
    /// The measurements make no valid table.
    Table(TableError),
}

impl fmt::Display for TuneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TuneError::Failed(point, failure) => write!(f, "{}: {failure}", words(point)),
            TuneError::Table(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TuneError {}

/// Describes a point in words.
pub fn words(point: &Point) -> String {
    let by = point.algorithm.map_or("auto".into(), |by| by.to_string());
    let Point { subject, ranks, .. } = point;
    format!("{subject} by {by}, {ranks} ranks, {} bytes", point.bytes())
}

/// A collective among some number of ranks on some number of bytes, with the candidate algorithms.
#[derive(Clone, Debug)]
struct TuningPoint {
    /// The point; its algorithm is the automatic choice.
    point: Point,
    candidates: Vec<Candidate>,
}

#[derive(Clone, Debug)]
struct Candidate {
    algorithm: Algorithm,
    /// The time of each pass in seconds; `None` for passes that left the candidate out.
    passes: Vec<Option<f64>>,
    /// Whether it is so far behind that it is no longer measured.
    out: bool,
}

impl Candidate {
    fn new(algorithm: Algorithm, passes: usize) -> Candidate {
        Candidate {
            algorithm,
            passes: vec![None; passes],
            out: false,
        }
    }
}

impl TuningPoint {
    fn passes(&self) -> usize {
        let first = self.candidates.first();
        first.map_or(0, |candidate| candidate.passes.len())
    }

    /// Drops the candidates that are far behind the best of the last pass.
    fn thin_out(&mut self) {
        let last = |candidate: &Candidate| candidate.passes.last().copied().flatten();
        let best = self.candidates.iter().filter_map(last);
        let best = best.fold(f64::INFINITY, f64::min);
        for candidate in &mut self.candidates {
            candidate.out = last(candidate).is_none_or(|time| time > FAR_BEHIND * best);
        }
    }

    /// Takes all dropped candidates back in, and adds those of `algorithms` that support the call.
    fn reopen(&mut self, algorithms: impl Iterator<Item = Algorithm>) {
        let passes = self.passes();
        for algorithm in algorithms {
            let known = |candidate: &Candidate| candidate.algorithm == algorithm;
            let point = Point {
                algorithm: Some(algorithm),
                ..self.point.clone()
            };
            if !self.candidates.iter().any(known) && point.refused().is_none() {
                self.candidates.push(Candidate::new(algorithm, passes));
            }
        }
        for candidate in &mut self.candidates {
            candidate.out = false;
        }
    }
}

/// Measures, and makes a table of the fastest algorithms.
///
/// It takes the time of the plan, and a little more where single calls are long. A program built without optimisations
/// measures itself. Nothing else should run meanwhile: [`Tuned::noise`] tells whether it did, and [`Noise::is_busy`]
/// whether the table is worth keeping.
///
/// # Errors
///
/// [`TuneError::Failed`] if a result is wrong, or a world cannot start.
pub fn tune(
    plan: &Plan,
    control: &Control,
    progress: &mut dyn FnMut(&TuningProgress),
) -> Result<Tuned, TuneError> {
    // Before the clock starts: on a busy machine the first look alone may take as long as a short plan.
    let mut watch = Watch::start(Pair::first(&plan.machine));
    let mut session = TuningRun {
        plan,
        control,
        progress,
        begin: Instant::now(),
    };
    let mut places = plan.places();
    session.first_pass(&mut places)?;
    watch.look();
    while session.go_on(REPAIR) && places.iter().any(|place| place.passes() > 0) {
        for place in &mut places {
            if !session.go_on(REPAIR) {
                break;
            }
            if place.passes() > 0 {
                session.measure(place, session.of_pass(&[]))?;
            }
        }
        watch.look();
    }
    let table = session.repaired(&mut places)?;
    let measured = places.iter().filter(|place| place.passes() > 0);
    Ok(Tuned {
        violations: violations(&table),
        table,
        places: (places.len(), measured.clone().count()),
        passes: measured.map(TuningPoint::passes).min().unwrap_or(0),
        noise: watch.finish(),
        interrupted: control.is_stopped(),
    })
}

struct TuningRun<'a> {
    plan: &'a Plan,
    control: &'a Control,
    progress: &'a mut dyn FnMut(&TuningProgress),
    begin: Instant,
}

impl TuningRun<'_> {
    /// Returns whether to go on: not stopped, and less than `share` of the time has passed.
    fn go_on(&self, share: f64) -> bool {
        !self.control.is_stopped() && self.begin.elapsed() < self.plan.time.mul_f64(share)
    }

    /// Measures every candidate once. If time is short, the last places are left unmeasured.
    fn first_pass(&mut self, places: &mut [TuningPoint]) -> Result<(), TuneError> {
        for i in 0..places.len() {
            if !self.go_on(REPAIR) {
                break;
            }
            let time = self.of_pass(&places[i..]);
            self.measure(&mut places[i], time)?;
            places[i].thin_out();
        }
        Ok(())
    }

    /// Returns how long to measure each candidate so that the places left fit into the first pass's share of the time.
    fn of_pass(&self, left: &[TuningPoint]) -> Duration {
        let candidates: usize = left.iter().map(|place| place.candidates.len()).sum();
        let until = self.plan.time.mul_f64(FIRST);
        let left = until.saturating_sub(self.begin.elapsed());
        let each = match candidates {
            0 => self.plan.time.mul_f64(FIRST / 400.0),
            some => left.div_f64(2.0 * some as f64),
        };
        each.clamp(LEAST, MOST)
    }

    /// Measures the candidates of a place that are not dropped, for one pass.
    fn measure(&mut self, place: &mut TuningPoint, time: Duration) -> Result<(), TuneError> {
        for candidate in &mut place.candidates {
            if candidate.out || self.control.is_stopped() {
                candidate.passes.push(None);
                continue;
            }
            let point = Point {
                algorithm: Some(candidate.algorithm),
                ..place.point.clone()
            };
            (self.progress)(&TuningProgress {
                elapsed: self.begin.elapsed(),
                time: self.plan.time,
                point: point.clone(),
            });
            let median = timed(&point, time, self.control);
            let failed = |failure| TuneError::Failed(Box::new(point), failure);
            candidate.passes.push(Some(median.map_err(failed)?));
        }
        Ok(())
    }

    /// Returns the table after measuring the places that break a guideline once more.
    fn repaired(&mut self, places: &mut [TuningPoint]) -> Result<TuningTable, TuneError> {
        let table = self.table(places)?;
        let broken = violations(&table);
        if broken.is_empty() || !self.go_on(1.0) {
            return Ok(table);
        }
        for violation in broken {
            let here = |place: &&mut TuningPoint| violation_is_at(&violation, place);
            if let Some(place) = places.iter_mut().find(here) {
                let entry = table.entry(violation.collective, violation.ranks);
                let rules = entry.iter().flat_map(|entry| &entry.rules);
                place.reopen(rules.map(|rule| rule.best.algorithm));
                self.measure_again(place)?;
            }
        }
        self.table(places)
    }

    /// Measures a few more passes of a place, while there is time.
    fn measure_again(&mut self, place: &mut TuningPoint) -> Result<(), TuneError> {
        for _ in 0..3 {
            if self.go_on(1.0) {
                self.measure(place, MOST / 4)?;
            }
        }
        Ok(())
    }

    fn table(&self, places: &[TuningPoint]) -> Result<TuningTable, TuneError> {
        let machine = &self.plan.machine;
        let fingerprint = Fingerprint::of(machine, &self.plan.bind);
        let table = TuningTable::new(Some(fingerprint), decide::entries(places));
        table.map_err(TuneError::Table)
    }
}

fn violation_is_at(violation: &Violation, place: &TuningPoint) -> bool {
    let Point { subject, ranks, .. } = place.point;
    let there = (subject, ranks, place.point.bytes());
    let Violation {
        collective, ranks, ..
    } = *violation;
    there == (collective.into(), ranks, violation.bytes)
}

/// Returns the median time of a call in one pass.
fn timed(point: &Point, time: Duration, control: &Control) -> Result<f64, Failure> {
    let body = |comm: &Comm, vectors: &mut _| call(point, comm, vectors, op::Sum);
    let pass = pass::<Element>(point, &Effort::time(time), control, &body)?;
    Ok(pass.median())
}

/// Returns the algorithm that would be chosen for a point without a table.
fn untuned(point: &Point, machine: &Machine) -> Option<Algorithm> {
    let call = plan::in_groups(point.shape()?, point, machine);
    Some(Choice::of(&call, size_of::<Element>()).algorithm)
}
