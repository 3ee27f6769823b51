//! The results of a run as plain structs, which are printed, stored as JSON (feature `json`, described by
//! `docs/bench.schema.json`), drawn and compared.

use super::host::Host;
use super::noise::Noise;
use super::point::Point;
use super::run::{Pass, Proved};
use super::statistics::{Interval, mean, median, median_interval, quantile, sorted};
use crate::names::Transport;

/// Name and version of the format in which a run is stored.
pub const SCHEMA: &str = "rankfold.bench/1";

impl Run {
    /// The JSON schema of a run.
    pub const JSON_SCHEMA: &str = include_str!("../../docs/bench.schema.json");
}

/// A run: the program, the machine, what was measured, and the results.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Run {
    /// [`SCHEMA`].
    pub schema: String,
    /// The program.
    pub build: Build,
    /// The words of the command line.
    pub command: Vec<String>,
    /// Start time, in seconds since 1970.
    pub started: u64,
    /// The machine.
    pub machine: Host,
    /// The effort of the measurement.
    pub settings: Settings,
    /// Other load on the machine during the run.
    pub noise: Noise,
    /// Caveats for the reader, one sentence each.
    pub remarks: Vec<String>,
    /// The limits of the machine without messages, measured in the same run.
    pub limits: Vec<Limit>,
    /// Whether the run was interrupted: points then have fewer passes, or are missing.
    pub interrupted: bool,
    /// The results, one per point.
    pub results: Vec<Measured>,
}

/// The program that measured.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Build {
    /// Its version.
    pub version: String,
    /// The commit it was built from, with `-dirty` if the working tree had changes; `None` if unknown.
    pub git: Option<String>,
    /// Whether it was built with optimisations.
    pub optimised: bool,
}

/// The effort of a measurement.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// Number of passes over all points.
    pub passes: usize,
    /// Seconds for which a pass takes samples of a point.
    pub pass_s: f64,
    /// Number of samples of a pass, if that was given instead.
    pub samples: Option<usize>,
    /// The requested binding of the ranks.
    pub bind: String,
    /// Whether each rank rewrote its vector before each call.
    pub fresh: bool,
}

/// Time that the machine takes to copy or add `bytes` bytes without a message, each core working on its share. No
/// algorithm that copies or adds each byte once can be faster.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Limit {
    /// Number of bytes, shared by the cores.
    pub bytes: usize,
    /// Number of cores that work at the same time.
    pub cores: usize,
    /// Microseconds to copy the bytes, each core from its own memory to its own memory.
    pub copy_us: f64,
    /// Microseconds to add the bytes, as `f32`, to as many others.
    pub add_us: f64,
}

/// The result of a point over all passes. Times are in microseconds per call.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Measured {
    /// The collective, or `send`.
    pub collective: String,
    /// The algorithm, or `auto`.
    pub algorithm: String,
    /// The automatic choice, if the algorithm was left open.
    pub chosen: Option<String>,
    /// What carried the messages; runs stored before there was a choice went over memory.
    #[cfg_attr(feature = "json", serde(default = "over_memory"))]
    pub transport: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Bytes of the whole vector, as counted by nccl-tests.
    pub bytes: usize,
    /// Bytes of a block where the vector has blocks, else of the vector.
    pub block_bytes: usize,
    /// The type of the elements.
    #[cfg_attr(feature = "json", serde(rename = "type"))]
    pub kind: String,
    /// The operator, if the collective has one.
    pub op: Option<String>,
    /// The root, if the collective has one.
    pub root: Option<usize>,
    /// Whether an all_reduce had a separate input.
    pub into: bool,
    /// Whether vectors were rewritten before each call.
    pub fresh: bool,
    /// The CPU of each rank.
    pub cpus: Vec<Option<usize>>,
    /// Its times.
    pub time_us: Times,
    /// Confidence interval of the median of the distribution that the passes' medians are drawn from.
    pub median_us: Interval,
    /// The median of each pass.
    pub passes_us: Vec<f64>,
    /// Mean time of each rank that took part.
    pub ranks_us: Vec<f64>,
    /// Time from the first rank's exit to the last rank's: the median over samples.
    pub skew_us: f64,
    /// Processor time of all ranks together per call.
    pub cpu_us: f64,
    /// Bytes divided by time, in 10⁹ bytes per second; 0 if there are no bytes.
    pub algbw_gbs: f64,
    /// Bandwidth that the machine must provide for that, whatever the number of ranks.
    pub busbw_gbs: f64,
    /// Number of messages of one call, over all ranks.
    pub messages: u64,
    /// Number of bytes in those messages.
    pub bytes_sent: u64,
    /// Number of samples.
    pub samples: usize,
    /// Number of timed calls.
    pub calls: u64,
    /// Number of results that were compared element by element on every rank. All were right; a wrong one leaves no
    /// result. 0 where a call leaves no elements, as a barrier.
    pub compared: u64,
    /// Number of times a rank slept.
    pub sleeps: u64,
    /// Whether results were compared.
    pub checked: bool,
}

/// Minimum, median, 99th percentile and maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Times {
    /// The minimum of all samples.
    pub min: f64,
    /// The median of the passes' medians.
    pub p50: f64,
    /// The value that 99 of 100 samples do not exceed.
    pub p99: f64,
    /// The maximum of all samples.
    pub max: f64,
}

/// The confidence that intervals should have.
const CONFIDENCE: f64 = 0.95;

impl Measured {
    /// Summarises a point over these passes; returns `None` if there is no pass.
    pub fn new(point: &Point, proved: &Proved, passes: &[Pass]) -> Option<Measured> {
        let subject = point.subject;
        let samples = in_all(passes, |pass| &pass.samples);
        let passes_us = medians_of(passes);
        let medians = sorted(passes_us.iter().copied());
        let time_us = Times::of(&samples, &medians)?;
        let calls = sum(passes, |pass| pass.calls);
        let compared = compared(point, passes);
        let algbw_gbs = bandwidth(point.bytes(), time_us.p50);
        Some(Measured {
            collective: subject.name().into(),
            algorithm: point.algorithm.map_or("auto".into(), |by| by.to_string()),
            chosen: proved.chosen.clone(),
            transport: point.transport.to_string(),
            ranks: point.ranks,
            bytes: point.bytes(),
            block_bytes: point.block() * point.kind.bytes(),
            kind: point.kind.to_string(),
            op: subject.folds().then(|| point.op.to_string()),
            root: subject.has_root().then_some(point.root),
            into: point.into,
            fresh: point.fresh,
            cpus: proved.placement.cpu.clone(),
            time_us,
            median_us: median_interval(&medians, CONFIDENCE),
            passes_us,
            ranks_us: means_of_ranks(passes),
            skew_us: median(&in_all(passes, |pass| &pass.skews)),
            cpu_us: us(passes.iter().map(|pass| pass.cpu).sum()) / calls.max(1) as f64,
            algbw_gbs,
            busbw_gbs: algbw_gbs * subject.bus_factor(point.ranks),
            messages: proved.messages,
            bytes_sent: proved.bytes,
            samples: samples.len(),
            calls,
            compared,
            sleeps: sum(passes, |pass| pass.sleeps),
            checked: compared > 0,
        })
    }

    /// Returns the algorithm, as `ring` or `ring over channels`.
    pub fn algorithm_and_transport(&self) -> String {
        match self.transport == over_memory() {
            true => self.algorithm.clone(),
            false => format!("{} over {}", self.algorithm, self.transport),
        }
    }

    /// Returns what must be equal for two results to be of the same point.
    pub fn key(&self) -> impl PartialEq + Clone + '_ {
        let by = (&self.algorithm, &self.transport);
        let what = (&self.collective, by, &self.kind, &self.op);
        (
            what, self.ranks, self.bytes, self.root, self.into, self.fresh,
        )
    }
}

impl Times {
    /// Computes the times from all samples and the passes' medians, both sorted.
    fn of(samples: &[f64], medians: &[f64]) -> Option<Times> {
        let (&min, &max) = (samples.first()?, samples.last()?);
        let p50 = median(medians);
        Some(Times {
            min,
            p50,
            p99: quantile(samples, 0.99).max(p50),
            max,
        })
    }
}

/// The transport of every run before there was a choice.
fn over_memory() -> String {
    Transport::Memory.to_string()
}

/// Converts seconds to microseconds.
fn us(seconds: f64) -> f64 {
    1e6 * seconds
}

/// Returns bytes divided by microseconds, in 10⁹ bytes per second; 0 if there are no bytes.
fn bandwidth(bytes: usize, us: f64) -> f64 {
    match bytes {
        0 => 0.0,
        bytes => bytes as f64 / (1e3 * us),
    }
}

/// Returns the number of compared results, with the one of the first call.
fn compared(point: &Point, passes: &[Pass]) -> u64 {
    u64::from(point.has_output()) + sum(passes, |pass| pass.checked)
}

fn sum(passes: &[Pass], of: fn(&Pass) -> u64) -> u64 {
    passes.iter().map(of).sum()
}

/// Returns the median of each pass, in microseconds.
fn medians_of(passes: &[Pass]) -> Vec<f64> {
    passes.iter().map(|pass| us(pass.median())).collect()
}

/// Returns the times of all passes, sorted, in microseconds.
fn in_all(passes: &[Pass], of: fn(&Pass) -> &[f64]) -> Vec<f64> {
    sorted(passes.iter().flat_map(of).copied().map(us))
}

/// Returns the mean time of each rank, with equal weight for each pass.
fn means_of_ranks(passes: &[Pass]) -> Vec<f64> {
    let ranks = passes.first().map_or(0, |pass| pass.ranks.len());
    let of = |rank: usize| passes.iter().map(move |pass| us(pass.ranks[rank]));
    (0..ranks)
        .map(|rank| mean(&of(rank).collect::<Vec<_>>()))
        .collect()
}
