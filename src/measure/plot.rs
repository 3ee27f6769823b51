//! A run as a chart: times over bytes, or over ranks where there is only one length.

use std::collections::BTreeSet;

use super::record::{Measured, Run};
use super::statistics::Interval;
use crate::draw::{Axis, Chart, Curve};

/// Returns the chart of a run, with what the machine can do without messages as limits. `None` if there is nothing to
/// plot: no result, or none with bytes.
pub fn chart(run: &Run) -> Option<Chart> {
    let shown: Vec<&Measured> = run.results.iter().filter(|one| one.bytes > 0).collect();
    let lengths: BTreeSet<usize> = shown.iter().map(|one| one.bytes).collect();
    let over_ranks = lengths.len() == 1;
    let first = shown.first()?;
    let x = match over_ranks {
        true => Axis::count("ranks"),
        false => Axis::bytes("bytes of the vector"),
    };
    let mut chart = Chart::new(title(first, &shown), x, Axis::seconds("time of a call"));
    chart.note = note(run, first, &shown);
    chart.warnings = run.remarks.clone();
    let varies = Varies::of(&shown);
    let at = |one: &Measured| if over_ranks { one.ranks } else { one.bytes };
    let place = |one: &Measured| at(one) as f64;
    for name in varies.names(&shown, over_ranks) {
        let mut own: Vec<&Measured> = shown
            .iter()
            .copied()
            .filter(|one| varies.name(one, over_ranks) == name)
            .collect();
        own.sort_by_key(|one| at(one));
        let points = own.iter().map(|one| (place(one), 1e-6 * one.time_us.p50));
        let bars = own.iter().filter_map(|one| bar(place(one), one));
        chart.spreads.push(bars.collect());
        chart.curves.push(Curve {
            name,
            points: points.collect(),
        });
    }
    if !over_ranks {
        chart.limits = limits(run);
    }
    Some(chart)
}

/// Returns the interval of a median as a bar at this place, in seconds; `None` for a single pass, which has no
/// interval.
fn bar(place: f64, one: &Measured) -> Option<(f64, f64, f64)> {
    let Interval {
        low,
        high,
        confidence,
    } = one.median_us;
    (confidence > 0.0).then_some((place, 1e-6 * low, 1e-6 * high))
}

fn limits(run: &Run) -> Vec<Curve> {
    let cores = run.limits.first().map_or(1, |limit| limit.cores);
    let shared = match cores {
        1 => "one core".to_owned(),
        n => format!("each of {n} cores"),
    };
    let line = |name: String, of: fn(&super::record::Limit) -> f64| Curve {
        name,
        points: run
            .limits
            .iter()
            .map(|limit| (limit.bytes as f64, 1e-6 * of(limit)))
            .collect(),
    };
    match run.limits.is_empty() {
        true => Vec::new(),
        false => vec![
            line(format!("limit: {shared} adds its share"), |limit| {
                limit.add_us
            }),
            line(format!("limit: {shared} copies its share"), |limit| {
                limit.copy_us
            }),
        ],
    }
}

fn title(first: &Measured, shown: &[&Measured]) -> String {
    let same = shown.iter().all(|one| one.collective == first.collective);
    let what = if same {
        first.collective.as_str()
    } else {
        "collectives"
    };
    let op = first.op.as_ref().filter(|_| same);
    let op = op.map_or(String::new(), |op| format!(", {op}"));
    let how = match (first.into, first.fresh) {
        (_, true) => ", fresh vectors",
        (true, _) => ", into another vector",
        _ => "",
    };
    format!("{what} of {}{op}{how}", first.kind)
}

/// Describes the bars of these results in words.
pub fn spread_in_words(results: &[&Measured]) -> String {
    let confidence = results.iter().map(|one| one.median_us.confidence);
    match confidence.fold(1.0, f64::min) {
        none if none <= 0.0 => {
            "medians of one pass, which does not show how far they are off".into()
        }
        some => format!("medians with their {:.0} % intervals", 100.0 * some),
    }
}

fn note(run: &Run, first: &Measured, shown: &[&Measured]) -> String {
    let bytes = match run.results.iter().all(|one| one.bytes == first.bytes) {
        true => format!("; {} bytes", first.bytes),
        false => String::new(),
    };
    format!(
        "{}; {} usable CPUs{bytes}; {}",
        run.machine.model,
        run.machine.usable,
        spread_in_words(shown)
    )
}

/// The attributes that distinguish the results, and so are part of a curve's name.
struct Varies {
    collective: bool,
    algorithm: bool,
    ranks: bool,
}

impl Varies {
    fn of(shown: &[&Measured]) -> Varies {
        let differ = |a: &Measured, b: &Measured| Varies {
            collective: a.collective != b.collective,
            algorithm: a.algorithm_and_transport() != b.algorithm_and_transport(),
            ranks: a.ranks != b.ranks,
        };
        let none = Varies {
            collective: false,
            algorithm: false,
            ranks: false,
        };
        let pairs = shown.iter().map(|one| differ(shown[0], one));
        pairs.fold(none, |a, b| Varies {
            collective: a.collective || b.collective,
            algorithm: a.algorithm || b.algorithm,
            ranks: a.ranks || b.ranks,
        })
    }

    /// Returns the names of the curves.
    fn names(&self, shown: &[&Measured], over_ranks: bool) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for one in shown {
            let name = self.name(one, over_ranks);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn name(&self, one: &Measured, over_ranks: bool) -> String {
        let ranks = match one.ranks {
            1 => "1 rank".to_owned(),
            n => format!("{n} ranks"),
        };
        let mut words = Vec::new();
        words.extend(self.collective.then(|| one.collective.clone()));
        words.extend(self.algorithm.then(|| one.algorithm_and_transport()));
        words.extend((self.ranks && !over_ranks).then(|| ranks.clone()));
        match (words.is_empty(), over_ranks) {
            (true, true) => one.algorithm_and_transport(),
            (true, false) => ranks,
            _ => words.join(", "),
        }
    }
}
