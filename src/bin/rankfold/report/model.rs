//! The cost model that fits simple exchange, and its predictions for algorithms that it was not fitted to.

use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::cost::{Model, simple_exchange};
use rankfold::draw::Spread;
use rankfold::measure::{self, Measured, Run, Type, median, sorted};
use rankfold::simulate::Machine;

use super::figures::bar;
use crate::simulate::seconds;

/// Of no more ranks and elements than these a file is believed.
const MOST_RANKS: usize = 4096;
const MOST_ELEMENTS: u64 = 1 << 40;

/// A model with what it was fitted to.
pub struct Fitted {
    pub model: Model,
    pub ranks: usize,
    /// Bytes of an element.
    pub element: usize,
    /// What was measured, and what the model says: simple exchange first, which it was fitted to.
    pub series: Vec<Series>,
}

/// An algorithm: bytes, measured and predicted seconds.
pub struct Series {
    pub algorithm: String,
    pub points: Vec<(f64, f64, f64)>,
    /// The intervals of the measured medians, by bytes.
    pub spread: Spread,
}

impl Series {
    /// The middle and the greatest factor between measurement and model.
    pub fn worst(&self) -> Option<(f64, f64)> {
        let pairs: Vec<_> = self.points.iter().map(|(_, a, b)| (*a, *b)).collect();
        measure::worst(&pairs)
    }
}

/// The model of a run's all_reduce, if there is simple exchange of two lengths or more among ranks that have a CPU each.
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

/// Results of all_reduce that a model may speak of: in place, one type, no rank without a CPU of its own; those that
/// were asked for by name, or where there are none, the automatic ones by what was chosen.
fn results(run: &Run) -> Vec<&Measured> {
    let can = |one: &&Measured| {
        one.collective == "all_reduce"
            && !one.into
            && one.bytes > 0
            && (one.bytes as u64) < MOST_ELEMENTS
            && one.ranks <= run.machine.usable.min(MOST_RANKS)
            && one.kind == run.results[0].kind
    };
    let (named, auto): (Vec<_>, Vec<_>) = run
        .results
        .iter()
        .filter(can)
        .partition(|one| one.algorithm != "auto");
    match named.iter().any(|one| one.algorithm == "exchange") {
        true => named,
        false => auto,
    }
}

/// By what it was run.
fn by(one: &Measured) -> &str {
    match one.algorithm.as_str() {
        "auto" => one.chosen.as_deref().unwrap_or("auto"),
        named => named,
    }
}

/// How long one core takes to add an element to another: the middle of what was measured over the lengths.
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
    let machine = Machine::alpha_beta_gamma(model.alpha, model.beta, model.gamma);
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
