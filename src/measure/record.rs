//! What came of a run, as plain structs: what is printed, kept as JSON (feature `json`, described by
//! `docs/bench.schema.json`), drawn and compared.

use super::host::Host;
use super::noise::Noise;
use super::point::Point;
use super::run::{Pass, Proved};
use super::statistics::{Interval, mean, median, median_interval, quantile, sorted};

/// The name and the version of the form in which a run is kept.
pub const SCHEMA: &str = "rankfold.bench/1";

impl Run {
    /// The JSON schema of a run.
    pub const JSON_SCHEMA: &str = include_str!("../../docs/bench.schema.json");
}

/// A run: which program measured what, on which machine, and what came of it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Run {
    /// [`SCHEMA`].
    pub schema: String,
    /// The program.
    pub build: Build,
    /// The words of the command line.
    pub command: Vec<String>,
    /// When it began, in seconds since 1970.
    pub started: u64,
    /// The machine.
    pub machine: Host,
    /// How carefully it was measured.
    pub settings: Settings,
    /// What else went on.
    pub noise: Noise,
    /// What a reader must know of all this, a sentence each.
    pub remarks: Vec<String>,
    /// What the machine can do without messages, measured in the same run.
    pub limits: Vec<Limit>,
    /// Whether it was ended before its end: then points have fewer passes, or are missing.
    pub interrupted: bool,
    /// What was measured.
    pub results: Vec<Measured>,
}

/// The program that measured.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Build {
    /// Its version.
    pub version: String,
    /// The commit that it was built from, with `-dirty` if there was more; `None` where that is not known.
    pub git: Option<String>,
    /// Whether it was built with optimisations.
    pub optimised: bool,
}

/// How carefully something was measured.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// How often all points were gone through.
    pub passes: usize,
    /// For how many seconds a pass takes samples of a point.
    pub pass_s: f64,
    /// Or how many samples.
    pub samples: Option<usize>,
    /// Where the ranks were to run.
    pub bind: String,
    /// Whether each rank wrote its vector anew before each call.
    pub fresh: bool,
}

/// How long the machine takes for so many bytes without a message, each core for its share of them: what no
/// algorithm that copies or adds each byte once can go below.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Limit {
    /// So many bytes, shared by the cores.
    pub bytes: usize,
    /// How many cores work at the same time.
    pub cores: usize,
    /// Microseconds to copy them, from memory of the core's own to memory of its own.
    pub copy_us: f64,
    /// Microseconds to add them, as `f32`, to as many others.
    pub add_us: f64,
}

/// What came of a point in all passes. Times are in microseconds a call.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Measured {
    /// The collective, or `send`.
    pub collective: String,
    /// The algorithm, or `auto`.
    pub algorithm: String,
    /// What the automatic choice chose, where it was asked.
    pub chosen: Option<String>,
    /// How many ranks.
    pub ranks: usize,
    /// The bytes of the whole vector, as the nccl-tests count them.
    pub bytes: usize,
    /// The bytes of a block, where there are blocks, else of the vector.
    pub block_bytes: usize,
    /// The type of the elements.
    #[cfg_attr(feature = "json", serde(rename = "type"))]
    pub kind: String,
    /// The operator, where there is one.
    pub op: Option<String>,
    /// The root, where there is one.
    pub root: Option<usize>,
    /// Whether an all_reduce had an input of its own.
    pub into: bool,
    /// Whether vectors were written anew before each call.
    pub fresh: bool,
    /// On which CPU each rank was.
    pub cpus: Vec<Option<usize>>,
    /// Its times.
    pub time_us: Times,
    /// What holds the median of what the passes' medians are drawn from.
    pub median_us: Interval,
    /// The median of each pass.
    pub passes_us: Vec<f64>,
    /// The mean time of each rank that took part.
    pub ranks_us: Vec<f64>,
    /// From the first rank's exit to the last one's: the median over samples.
    pub skew_us: f64,
    /// How long all ranks together ran for a call.
    pub cpu_us: f64,
    /// Bytes over time, in 10⁹ a second; 0 where there are no bytes.
    pub algbw_gbs: f64,
    /// The bandwidth that the machine must have for that, whatever the number of ranks.
    pub busbw_gbs: f64,
    /// Messages of one call, of all ranks.
    pub messages: u64,
    /// The bytes in them.
    pub bytes_sent: u64,
    /// How many samples there are.
    pub samples: usize,
    /// How many calls were timed.
    pub calls: u64,
    /// How many results were compared element by element on every rank. All were right: else there is no
    /// result.
    pub compared: u64,
    /// How often a rank slept.
    pub sleeps: u64,
    /// That results were compared.
    pub checked: bool,
}

/// The least, the middle, nearly the greatest, and the greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Times {
    /// The least of all samples.
    pub min: f64,
    /// The median of the passes' medians.
    pub p50: f64,
    /// What 99 of 100 samples do not exceed.
    pub p99: f64,
    /// The greatest of all samples.
    pub max: f64,
}

/// The confidence that intervals should have.
const CONFIDENCE: f64 = 0.95;

impl Measured {
    /// What came of a point in these passes; nothing if there is no pass.
    pub fn new(point: &Point, proved: &Proved, passes: &[Pass]) -> Option<Measured> {
        let subject = point.subject;
        let samples = in_all(passes, |pass| &pass.samples);
        let passes_us: Vec<f64> = passes.iter().map(|pass| us(pass.median())).collect();
        let medians = sorted(passes_us.iter().copied());
        let time_us = Times::of(&samples, &medians)?;
        let calls: u64 = passes.iter().map(|pass| pass.calls).sum();
        let cpu: f64 = passes.iter().map(|pass| pass.cpu).sum();
        let algbw_gbs = match point.bytes() {
            0 => 0.0,
            bytes => bytes as f64 / (1e3 * time_us.p50),
        };
        Some(Measured {
            collective: subject.name().into(),
            algorithm: point.algorithm.map_or("auto".into(), |by| by.to_string()),
            chosen: proved.chosen.clone(),
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
            cpu_us: us(cpu) / calls.max(1) as f64,
            algbw_gbs,
            busbw_gbs: algbw_gbs * subject.bus_factor(point.ranks),
            messages: proved.messages,
            bytes_sent: proved.bytes,
            samples: samples.len(),
            calls,
            compared: 1 + passes.iter().map(|pass| pass.checked).sum::<u64>(),
            sleeps: passes.iter().map(|pass| pass.sleeps).sum(),
            checked: true,
        })
    }

    /// What must be the same for two results to be of the same thing.
    pub fn key(&self) -> impl PartialEq + Clone + '_ {
        let what = (&self.collective, &self.algorithm, &self.kind, &self.op);
        (
            what, self.ranks, self.bytes, self.root, self.into, self.fresh,
        )
    }
}

impl Times {
    /// Of all samples and of the passes' medians, both in order.
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

/// Microseconds.
fn us(seconds: f64) -> f64 {
    1e6 * seconds
}

/// Times of all passes in order, in microseconds.
fn in_all(passes: &[Pass], of: impl Fn(&Pass) -> &[f64]) -> Vec<f64> {
    sorted(passes.iter().flat_map(of).copied().map(us))
}

/// The mean time of each rank, the passes alike.
fn means_of_ranks(passes: &[Pass]) -> Vec<f64> {
    let ranks = passes.first().map_or(0, |pass| pass.ranks.len());
    let of = |rank: usize| passes.iter().map(move |pass| us(pass.ranks[rank]));
    (0..ranks)
        .map(|rank| mean(&of(rank).collect::<Vec<_>>()))
        .collect()
}
