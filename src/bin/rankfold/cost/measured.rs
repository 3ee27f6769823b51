//! Model and simulator over the times of a measured run: one number of ranks, algorithms by name.

use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::cost::{Model, closed_form};
use rankfold::draw::{Axis, Chart, Curve, Intervals};
use rankfold::measure::{self, Measured, Run, Type};
use rankfold::simulate::MachineModel;

use super::super::curves::crossings;
use super::super::simulate::seconds;
use super::super::stop::Stop;
use super::super::table::{Object, table};
use super::note;

/// Folds a byte for which a model is fitted, in nanoseconds: the best of them is taken.
const FOLDS: [f64; 12] = [
    0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0,
];

/// The times of an algorithm.
struct Series {
    name: String,
    /// Bytes, and the seconds that were measured, computed and simulated.
    points: Vec<(usize, [f64; 3])>,
    spread: Intervals,
}

pub struct Fitted {
    title: String,
    note: String,
    series: Vec<Series>,
}

/// Fits a model to all times of a collective with a closed form.
pub fn fitted(run: &Run, collective: Collective) -> Result<Fitted, Stop> {
    let own = results(run, collective);
    let Some((first, ..)) = own.first() else {
        let line = format!("--measured: no {collective} by an algorithm with a closed form");
        return Err(Stop::Input(line));
    };
    let element = first.kind.parse::<Type>().map_err(Stop::input)?.bytes();
    let (ranks, over) = (first.ranks, first.transport.clone());
    if own
        .iter()
        .any(|(one, ..)| one.ranks != ranks || one.transport != over)
    {
        return Err(Stop::input(
            "--measured: more than one number of ranks or transport",
        ));
    }
    let samples: Vec<_> = own
        .iter()
        .filter_map(|(one, algorithm, call)| {
            Some((
                closed_form(*algorithm, call)?.cost(),
                1e-6 * one.time_us.p50,
            ))
        })
        .collect();
    let model = best_fit(&samples, element)
        .ok_or_else(|| Stop::input("--measured: too few lengths for a model"))?;
    Ok(Fitted {
        title: format!("{collective} of {ranks} ranks over {over}: measured, model, simulator"),
        note: format!(
            "{}; {} CPUs; {}",
            run.machine.model,
            run.machine.usable,
            note(&model, element)
        ),
        series: series(&own, &model),
    })
}

/// Returns the model with the least error among the best ones for some times of a fold.
fn best_fit(samples: &[measure::Sample], element: usize) -> Option<Model> {
    let error = |model: &Model| -> f64 {
        let one = |(cost, seconds): &measure::Sample| (cost.time(model) / seconds).ln().powi(2);
        samples.iter().map(one).sum()
    };
    let fits = FOLDS
        .iter()
        .filter_map(|fold| measure::fit(samples, fold * 1e-9 * element as f64));
    fits.min_by(|a, b| error(a).total_cmp(&error(b)))
}

/// Returns the times of each algorithm.
fn series(own: &[(&Measured, Algorithm, Call)], model: &Model) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for (one, algorithm, call) in own {
        let Some(point) = point(one, *algorithm, call, model) else {
            continue;
        };
        if series.last().is_none_or(|last| last.name != one.algorithm) {
            series.push(Series {
                name: one.algorithm.clone(),
                points: Vec::new(),
                spread: Vec::new(),
            });
        }
        if let Some(last) = series.last_mut() {
            last.points.push((one.bytes, point));
            let interval = one.median_us;
            // A single pass has no interval.
            if interval.confidence > 0.0 {
                last.spread
                    .push((one.bytes as f64, 1e-6 * interval.low, 1e-6 * interval.high));
            }
        }
    }
    for one in &mut series {
        one.points.sort_by_key(|point| point.0);
    }
    series
}

/// Returns the results of a collective with a closed form, with their calls.
fn results(run: &Run, collective: Collective) -> Vec<(&Measured, Algorithm, Call)> {
    let own = run.results.iter().filter_map(|one| {
        let element = one.kind.parse::<Type>().ok()?.bytes();
        let algorithm: Algorithm = one.algorithm.parse().ok()?;
        let sane = (1..=4096).contains(&one.ranks) && (one.bytes as u64) < 1 << 40 && one.bytes > 0;
        let is_own = one.collective == collective.name() && one.time_us.p50 > 0.0;
        let call =
            (sane && is_own).then(|| Call::new(collective, one.ranks, one.bytes / element))?;
        let call = call.commuting();
        closed_form(algorithm, &call)?;
        Some((one, algorithm, call))
    });
    own.collect()
}

fn point(one: &Measured, algorithm: Algorithm, call: &Call, model: &Model) -> Option<[f64; 3]> {
    let machine = MachineModel::alpha_beta_gamma(model.alpha, model.beta, model.gamma);
    let computed = closed_form(algorithm, call)?.time(model);
    Some([
        1e-6 * one.time_us.p50,
        computed,
        seconds(algorithm, call, &machine)?,
    ])
}

impl Fitted {
    pub fn text(&self) -> String {
        let heads = [
            "algorithm",
            "bytes",
            "measured/us",
            "model/us",
            "simulated/us",
        ];
        let mut rows = Vec::new();
        for series in &self.series {
            rows.extend(series.points.iter().map(|(bytes, times)| {
                let mut row = vec![series.name.clone(), bytes.to_string()];
                row.extend(times.map(|time| format!("{:.3}", time * 1e6)));
                row
            }));
        }
        table(&heads, &rows) + &self.note + "\n"
    }

    pub fn json(&self) -> String {
        let mut lines = String::new();
        for series in &self.series {
            lines.extend(
                series
                    .points
                    .iter()
                    .map(|(bytes, [measured, model, simulated])| {
                        Object::new("rankfold.cost-measured/1")
                            .text("algorithm", &series.name)
                            .value("bytes", bytes)
                            .value("measured_us", measured * 1e6)
                            .value("model_us", model * 1e6)
                            .value("simulated_us", simulated * 1e6)
                            .line()
                    }),
            );
        }
        lines
    }

    pub fn chart(&self) -> Chart {
        let (x, y) = (
            Axis::bytes("bytes of the vector"),
            Axis::seconds("time of a call"),
        );
        let mut chart = Chart::new(&self.title, x, y);
        chart.note = format!("{}; dashed: model; crosses: simulator", self.note);
        let curve = |series: &Series, which: usize| Curve {
            name: series.name.clone(),
            points: series
                .points
                .iter()
                .map(|(bytes, times)| (*bytes as f64, times[which]))
                .collect(),
        };
        let all = |which: usize| {
            self.series
                .iter()
                .map(|one| curve(one, which))
                .collect::<Vec<_>>()
        };
        (chart.curves, chart.models, chart.crosses) = (all(0), all(1), all(2));
        chart.spreads = self.series.iter().map(|one| one.spread.clone()).collect();
        chart.crossings = crossings(&chart.models);
        chart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of so many passes; the file has those of six, in another order than that of bytes.
    fn run(passes: usize) -> Run {
        let text = include_str!("../../../../tests/golden/cli/before.json");
        let mut run: Run = serde_json::from_str(text).unwrap();
        for one in &mut run.results {
            one.algorithm = "exchange".into();
            if passes == 1 {
                one.median_us.confidence = 0.0;
            }
        }
        run
    }

    #[test]
    fn only_what_has_an_interval_has_a_bar() {
        for (passes, bars) in [(1, 0), (6, 4)] {
            let fitted = fitted(&run(passes), Collective::AllReduce).unwrap();
            assert_eq!(fitted.series.len(), 1);
            assert_eq!(fitted.series[0].points.len(), 4);
            assert_eq!(fitted.series[0].spread.len(), bars, "{passes} passes");
        }
    }

    #[test]
    fn points_go_from_left_to_right() {
        let fitted = fitted(&run(6), Collective::AllReduce).unwrap();
        let points = &fitted.series[0].points;
        assert!(points.is_sorted_by_key(|point| point.0));
    }
}
