//! The charts of a report, as SVG.

use std::collections::BTreeSet;

use rankfold::draw::{Axis, Chart, Curve, Intervals};
use rankfold::measure::{self, Limit, Measured, Run, spread_in_words};

use super::model::{Fitted, Series, bar};
use super::words::bytes_in_words;

/// Maximum number of curves, one for each length.
const LENGTHS: usize = 6;

/// Returns the results of the collective that the report is about, by the automatic choice if there are any, over one
/// transport: that of the first of them. They come in the order of ranks, then of bytes.
pub fn main_results(run: &Run) -> Vec<&Measured> {
    let about = |name: &str| run.results.iter().any(|one| one.collective == name);
    let name = match about("all_reduce") {
        true => "all_reduce",
        false => &run.results[0].collective,
    };
    let own = || {
        run.results
            .iter()
            .filter(|one| one.collective == name && one.bytes > 0)
    };
    let auto = own().find(|one| one.algorithm == "auto");
    let Some(first) = auto.or_else(|| own().next()) else {
        return Vec::new();
    };
    let by = |one: &Measured| (one.algorithm.clone(), one.transport.clone());
    let mut main: Vec<_> = own().filter(|one| by(one) == by(first)).collect();
    main.sort_by_key(|one| (one.ranks, one.bytes));
    main
}

/// Draws times over bytes, a curve for each number of ranks.
pub fn over_bytes(run: &Run) -> Option<String> {
    let results = main_results(run).into_iter().cloned().collect();
    let own = Run {
        results,
        ..run.clone()
    };
    Some(measure::chart(&own)?.svg())
}

/// Draws times over ranks, a curve for each of some lengths.
pub fn over_ranks(run: &Run) -> Option<String> {
    let results = main_results(run);
    let lengths: Vec<usize> = results
        .iter()
        .map(|one| one.bytes)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let ranks: BTreeSet<usize> = results.iter().map(|one| one.ranks).collect();
    if ranks.len() < 2 {
        return None;
    }
    let first = results.first()?;
    let title = format!("{}: time over ranks", first.collective);
    let mut chart = Chart::new(title, Axis::count("ranks"), Axis::seconds("time of a call"));
    chart.note = format!(
        "{} usable CPUs: more ranks share them; {}",
        run.machine.usable,
        spread_in_words(&results)
    );
    chart.warnings = run.remarks.clone();
    let step = lengths.len().div_ceil(LENGTHS).max(1);
    for bytes in lengths.iter().rev().step_by(step) {
        let own = || results.iter().filter(|one| one.bytes == *bytes);
        chart.curves.push(Curve {
            name: bytes_in_words(*bytes),
            points: own()
                .map(|one| (one.ranks as f64, 1e-6 * one.time_us.p50))
                .collect(),
        });
        let bars = own().filter_map(|one| bar(one.ranks, one, |us| 1e-6 * us));
        chart.spreads.push(bars.collect());
    }
    Some(chart.svg())
}

/// A bandwidth, and the limit that it is compared with.
struct Roof {
    title: &'static str,
    value: fn(&Measured) -> f64,
    /// Whether a core's share of a limit's bytes counts, instead of all of them.
    shared: bool,
}

/// Draws the bytes per second of a call, compared with what all cores together can copy and add.
pub fn algbw(run: &Run) -> Option<String> {
    roof(
        run,
        &Roof {
            title: "algbw: bytes of the vector over time",
            value: |one| one.algbw_gbs,
            shared: false,
        },
    )
}

/// Draws the bytes per second that each rank must send, compared with what a core can copy and add while all others do.
pub fn busbw(run: &Run) -> Option<String> {
    roof(
        run,
        &Roof {
            title: "busbw: what each rank must send and receive over time",
            value: |one| one.busbw_gbs,
            shared: true,
        },
    )
}

fn roof(run: &Run, roof: &Roof) -> Option<String> {
    let results = main_results(run);
    let title = format!("{}, {}", results.first()?.collective, roof.title);
    let mut chart = Chart::new(
        title,
        Axis::bytes("bytes of the vector"),
        Axis::rate("bandwidth"),
    );
    let ranks: BTreeSet<usize> = results.iter().map(|one| one.ranks).collect();
    chart.note = spread_in_words(&results);
    chart.warnings = run.remarks.clone();
    let curves = ranks
        .into_iter()
        .map(|ranks| (roof.curve(&results, ranks), roof.spread(&results, ranks)));
    (chart.curves, chart.spreads) = curves.filter(|(curve, _)| !curve.points.is_empty()).unzip();
    if chart.curves.is_empty() {
        return None;
    }
    // Curves, so that the axis extends to include them: a roof outside the picture would show no bound.
    let limits = [
        roof.limit(run, "add", |limit| limit.add_us),
        roof.limit(run, "copy", |limit| limit.copy_us),
    ];
    chart.roofs = limits.into();
    chart.roofs.retain(|curve| !curve.points.is_empty());
    Some(chart.svg())
}

impl Roof {
    /// Returns the bandwidths that `ranks` ranks reached.
    fn curve(&self, results: &[&Measured], ranks: usize) -> Curve {
        let own = results.iter().filter(|one| one.ranks == ranks);
        let points = own.map(|one| (one.bytes as f64, (self.value)(one)));
        Curve {
            name: format!("{ranks} ranks"),
            points: points.filter(|(_, rate)| *rate > 0.0).collect(),
        }
    }

    /// Returns the intervals of these bandwidths.
    fn spread(&self, results: &[&Measured], ranks: usize) -> Intervals {
        let own = results
            .iter()
            .filter(|one| one.ranks == ranks && (self.value)(one) > 0.0);
        let rate = |one: &Measured, us: f64| (self.value)(one) * one.time_us.p50 / us;
        own.filter_map(|one| bar(one.bytes, one, |us| rate(one, us)))
            .collect()
    }

    /// Returns the bandwidth of the cores.
    fn limit(&self, run: &Run, what: &str, time: fn(&Limit) -> f64) -> Curve {
        let cores = run.limits.first().map_or(1, |limit| limit.cores);
        let (who, share) = match (self.shared, cores) {
            (true, n) if n > 1 => (format!("one of {n} cores"), n),
            (false, n) if n > 1 => (format!("{n} cores"), 1),
            _ => ("one core".into(), 1),
        };
        let rate = |limit: &Limit| limit.bytes as f64 / share as f64 / (1e3 * time(limit));
        let points = run.limits.iter();
        let points = points.map(|limit| (limit.bytes as f64, rate(limit)));
        Curve {
            name: format!("{who}: {what}"),
            points: points
                .filter(|(x, y)| *x > 0.0 && *y > 0.0 && y.is_finite())
                .collect(),
        }
    }
}

/// Draws the measured points and the lines of the model.
pub fn model(run: &Run, fitted: &Fitted) -> String {
    let title = format!(
        "all_reduce among {} ranks: measured, and by the model",
        fitted.ranks
    );
    let mut chart = Chart::new(
        title,
        Axis::bytes("bytes of the vector"),
        Axis::seconds("time of a call"),
    );
    chart.note = "marks: measured; broken lines: the model".into();
    chart.warnings = run.remarks.clone();
    for (at, series) in fitted.series.iter().enumerate() {
        let how = if at == 0 { "fitted" } else { "predicted" };
        let curve = |of: fn(&(f64, f64, f64)) -> (f64, f64)| Curve {
            name: format!("{}, {how}", series.algorithm),
            points: series.points.iter().map(of).collect(),
        };
        chart
            .curves
            .push(curve(|(bytes, measured, _)| (*bytes, *measured)));
        chart.spreads.push(series.spread.clone());
        chart
            .models
            .push(curve(|(bytes, _, predicted)| (*bytes, *predicted)));
    }
    chart.svg()
}

/// Draws measured over predicted times.
pub fn residuals(run: &Run, fitted: &Fitted) -> String {
    let title = "measured over predicted: 1 is right, above it the model is too fast";
    let mut chart = Chart::new(
        title,
        Axis::bytes("bytes of the vector"),
        Axis::number("ratio"),
    );
    chart.warnings = run.remarks.clone();
    for series in &fitted.series {
        let (curve, spread) = ratios(series);
        chart.curves.push(curve);
        chart.spreads.push(spread);
    }
    let ends = |curve: &Curve| Some((curve.points.first()?.0, curve.points.last()?.0));
    if let Some((low, high)) = chart.curves.first().and_then(ends) {
        chart.roofs.push(Curve {
            name: "right".into(),
            points: vec![(low, 1.0), (high, 1.0)],
        });
    }
    chart.svg()
}

/// Returns measured over predicted times, and the intervals of these ratios.
fn ratios(series: &Series) -> (Curve, Intervals) {
    let points = series.points.iter();
    let points = points.map(|(bytes, measured, predicted)| (*bytes, measured / predicted));
    let curve = Curve {
        name: series.algorithm.clone(),
        points: points.collect(),
    };
    let ratio = |&(at, low, high): &(f64, f64, f64)| {
        let (_, _, predicted) = series.points.iter().find(|point| point.0 == at)?;
        Some((at, low / predicted, high / predicted))
    };
    (curve, series.spread.iter().filter_map(ratio).collect())
}
