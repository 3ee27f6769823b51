//! The cost model that fits simple exchange, and its predictions for algorithms that it was not fitted to.

use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::cost::{Model, simple_exchange};
use rankfold::draw::Intervals;
use rankfold::measure::{self, Measured, Run, Type, median, sorted};
use rankfold::simulate::MachineModel;

use crate::simulate::seconds;

/// Files with more ranks or elements than these are not trusted.
const MOST_RANKS: usize = 4096;
const MOST_ELEMENTS: u64 = 1 << 40;

/// Returns the interval of a result's median as a bar, in the unit of the chart; `None` for a single pass. Bandwidths
/// fall where times rise, so the ends are sorted.
pub fn bar(place: usize, one: &Measured, unit: impl Fn(f64) -> f64) -> Option<(f64, f64, f64)> {
    let interval = one.median_us;
    let (a, b) = (unit(interval.low), unit(interval.high));
    (interval.confidence > 0.0).then(|| (place as f64, a.min(b), a.max(b)))
}

/// A model with the measurements it was fitted to.
pub struct Fitted {
    pub model: Model,
    pub ranks: usize,
    /// Bytes per element.
    pub element: usize,
    /// Measured and predicted times: simple exchange first, to which the model was fitted.
    pub series: Vec<Series>,
}

/// An algorithm: bytes, measured and predicted seconds.
pub struct Series {
    pub algorithm: String,
    pub points: Vec<(f64, f64, f64)>,
    /// The intervals of the measured medians, by bytes.
    pub spread: Intervals,
}

impl Series {
    /// Returns the median and the maximum factor between measurement and model.
    pub fn worst(&self) -> Option<(f64, f64)> {
        let pairs: Vec<_> = self.points.iter().map(|(_, a, b)| (*a, *b)).collect();
        measure::worst(&pairs)
    }
}

/// Fits a model to a run's all_reduce, if there is simple exchange of two or more lengths among ranks that have a CPU
/// each.
pub fn fitted(run: &Run) -> Option<Fitted> {
    let all = results(run);
    let fits = |one: &&&Measured| by(one) == "exchange" && one.ranks > 1;
    let ranks = all.iter().filter(fits).map(|one| one.ranks).max()?;
    let own: Vec<&Measured> = all.into_iter().filter(|one| one.ranks == ranks).collect();
    let element = own[0].kind.parse::<Type>().ok()?.bytes();
    let cost = |one: &Measured| simple_exchange(ranks, one.bytes / element).cost();
    let samples: Vec<_> = own
        .iter()
        .filter(|one| by(one) == "exchange")
        .map(|one| (cost(one), 1e-6 * one.time_us.p50))
        .collect();
    let room = samples.iter().map(|(cost, seconds)| seconds / cost.folded);
    // Cores that add by themselves may be disturbed more than the calls were. Then the calls give the tighter bound.
    let gamma = room.fold(fold_seconds(run, element), f64::min);
    let model = measure::fit(&samples, gamma)?;
    let mut names = vec!["exchange"];
    for one in &own {
        if !names.contains(&by(one)) {
            names.push(by(one));
        }
    }
    let series = names
        .into_iter()
        .filter_map(|name| series(name, &own, &model, element));
    let series = series.collect();
    Some(Fitted {
        model,
        ranks,
        element,
        series,
    })
}

/// Returns the results of all_reduce that a model applies to: in place, of one type and over one transport, every rank
/// with its own CPU, in the order of bytes. These are the ones requested by name if simple exchange is among them,
/// otherwise the automatic ones by their choice.
fn results(run: &Run) -> Vec<&Measured> {
    let is_own = |one: &&Measured| one.collective == "all_reduce";
    let over = run.results.iter().find(is_own).map(|one| &one.transport);
    let can = |one: &&Measured| {
        is_own(one)
            && Some(&one.transport) == over
            && !one.into
            && one.bytes > 0
            && (one.bytes as u64) < MOST_ELEMENTS
            && one.ranks <= run.machine.usable.min(MOST_RANKS)
            && one.kind == run.results[0].kind
    };
    let mut all: Vec<&Measured> = run.results.iter().filter(can).collect();
    all.sort_by_key(|one| one.bytes);
    let (named, auto): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.algorithm != "auto");
    match named.iter().any(|one| one.algorithm == "exchange") {
        true => named,
        false => auto,
    }
}

/// Returns the algorithm that was run.
fn by(one: &Measured) -> &str {
    match one.algorithm.as_str() {
        "auto" => one.chosen.as_deref().unwrap_or("auto"),
        named => named,
    }
}

/// Returns the time that one core takes to add an element to another: the median over the measured lengths.
fn fold_seconds(run: &Run, element: usize) -> f64 {
    let of = |limit: &measure::Limit| {
        let share = limit.bytes as f64 / limit.cores.max(1) as f64;
        1e-6 * limit.add_us * element as f64 / share
    };
    let all = sorted(
        run.limits
            .iter()
            .map(of)
            .filter(|seconds| seconds.is_finite()),
    );
    match all.is_empty() {
        true => 0.0,
        false => median(&all),
    }
}

fn series(name: &str, own: &[&Measured], model: &Model, element: usize) -> Option<Series> {
    let algorithm: Algorithm = name.parse().ok()?;
    let machine = MachineModel::alpha_beta_gamma(model.alpha, model.beta, model.gamma);
    let point = |one: &&Measured| {
        let length = one.bytes / element;
        let call = Call::new(Collective::AllReduce, one.ranks, length).commuting();
        let predicted = seconds(algorithm, &call, &machine).filter(|time| *time > 0.0)?;
        Some((one.bytes as f64, 1e-6 * one.time_us.p50, predicted))
    };
    let own = || own.iter().filter(|one| by(one) == name);
    let points: Vec<_> = own().filter_map(point).collect();
    (!points.is_empty()).then(|| Series {
        algorithm: name.into(),
        points,
        spread: own()
            .filter_map(|one| bar(one.bytes, one, |us| 1e-6 * us))
            .collect(),
    })
}
