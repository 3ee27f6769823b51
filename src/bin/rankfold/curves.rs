//! Curves of times that a model gives: over bytes, ranks, segments or stages of halving, with the places where another
//! algorithm becomes the fastest.

use std::num::NonZeroUsize;

use clap::ValueEnum;
use rankfold::collective::Algorithm;
use rankfold::draw::{Axis, Chart, Crossing, Curve};

use super::stop::Stop;

/// The horizontal axis of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Over {
    /// The length of the vector.
    Bytes,
    /// The number of ranks.
    Ranks,
    /// The number of segments of pipelines: 1, 2, 4, ...
    Segments,
    /// The stages of halving of hybrids, from none to all.
    Stages,
}

/// Most segments that are tried: more are never best for a vector that a machine holds.
const MOST_SEGMENTS: usize = 1 << 16;

impl Over {
    /// Returns the axis that is asked for, or the one along which the points differ.
    pub fn of(asked: Option<Over>, lengths: usize, ranks: usize) -> Over {
        match asked {
            Some(over) => over,
            None if lengths == 1 && ranks > 1 => Over::Ranks,
            None => Over::Bytes,
        }
    }

    /// Returns the algorithms with every number on the axis, if that is segments or stages; else as they are.
    pub fn expanded(self, all: Vec<Algorithm>, ranks: usize, length: usize) -> Vec<Algorithm> {
        let mut expanded: Vec<Algorithm> = Vec::new();
        for algorithm in all {
            let each: Vec<Algorithm> = match (self, algorithm) {
                (Over::Bytes | Over::Ranks, _) => vec![algorithm],
                (Over::Stages, Algorithm::Hybrid { .. }) => (0..=ranks.max(1).ilog2())
                    .map(|stages| Algorithm::Hybrid { stages })
                    .collect(),
                (Over::Stages, _) => Vec::new(),
                (Over::Segments, _) => doubled(length)
                    .filter_map(|segments| in_segments(algorithm, segments))
                    .collect(),
            };
            expanded.extend(
                each.into_iter()
                    .filter(|one| !expanded.contains(one))
                    .collect::<Vec<_>>(),
            );
        }
        expanded
    }

    fn axis(self) -> Axis {
        match self {
            Over::Bytes => Axis::bytes("bytes of the vector"),
            Over::Ranks => Axis::count("ranks"),
            Over::Segments => Axis::count("segments"),
            Over::Stages => Axis::count("parts after the stages of halving, 2^stages"),
        }
    }
}

fn doubled(length: usize) -> impl Iterator<Item = usize> {
    let most = length.clamp(1, MOST_SEGMENTS);
    std::iter::successors(Some(1), |k| Some(2 * k)).take_while(move |k| *k <= most)
}

/// Returns the algorithm with another number of segments; `None` if it has none.
pub fn in_segments(algorithm: Algorithm, segments: usize) -> Option<Algorithm> {
    let segments = NonZeroUsize::new(segments)?;
    match algorithm {
        Algorithm::Tree {
            tree,
            segments: Some(_),
        } => Some(Algorithm::Tree {
            tree,
            segments: Some(segments),
        }),
        Algorithm::TwoTree { .. } => Some(Algorithm::TwoTree { segments }),
        Algorithm::Esbt { .. } => Some(Algorithm::Esbt { segments }),
        Algorithm::Circulant { .. } => Some(Algorithm::Circulant { segments }),
        _ => None,
    }
}

/// Returns the name of an algorithm without its number of segments or stages.
pub fn family(algorithm: Algorithm) -> String {
    let name = algorithm.to_string();
    match algorithm {
        Algorithm::Hybrid { .. } => "hybrid".into(),
        _ => name.split(":segments=").next().unwrap_or(&name).into(),
    }
}

/// One time of an algorithm.
pub struct Dot {
    /// What the curve is called, over bytes or ranks.
    pub name: String,
    /// What ran, with its number of segments or stages.
    pub algorithm: Algorithm,
    pub ranks: usize,
    pub bytes: usize,
    pub seconds: f64,
}

impl Dot {
    /// Returns the place on the axis; `None` if it has none there.
    fn place(&self, over: Over) -> Option<f64> {
        let place = match (over, self.algorithm) {
            (Over::Bytes, _) => self.bytes,
            (Over::Ranks, _) => self.ranks,
            (Over::Stages, Algorithm::Hybrid { stages }) => 1 << stages.min(62),
            (Over::Stages, _) => return None,
            (Over::Segments, algorithm) => {
                let name = algorithm.to_string();
                name.split_once(":segments=")?.1.parse().ok()?
            }
        };
        (place > 0 && self.seconds > 0.0).then_some(place as f64)
    }

    fn name(&self, over: Over, several: (bool, bool)) -> String {
        let mut name = match over {
            Over::Bytes | Over::Ranks => self.name.clone(),
            Over::Segments | Over::Stages => family(self.algorithm),
        };
        if several.0 && over != Over::Ranks {
            name += &format!(", {} ranks", self.ranks);
        }
        if several.1 && over != Over::Bytes {
            name += &format!(", {} B", self.bytes);
        }
        name
    }
}

/// Returns the names of the `most` curves that are nearest to the fastest one, by the factors at all their points.
pub fn nearest(dots: &[&Dot], most: usize) -> Vec<String> {
    let fastest = |one: &Dot| {
        let beside = dots
            .iter()
            .filter(|dot| (dot.ranks, dot.bytes) == (one.ranks, one.bytes));
        beside.map(|dot| dot.seconds).fold(f64::INFINITY, f64::min)
    };
    let mut names: Vec<(f64, &str)> = Vec::new();
    for dot in dots.iter().filter(|dot| dot.seconds > 0.0) {
        let factor = (dot.seconds / fastest(dot)).ln();
        match names.iter_mut().find(|one| one.1 == dot.name) {
            Some(one) => one.0 += factor,
            None => names.push((factor, &dot.name)),
        }
    }
    names.sort_by(|a, b| a.0.total_cmp(&b.0));
    names
        .into_iter()
        .take(most)
        .map(|one| one.1.to_owned())
        .collect()
}

/// Most curves of a picture.
const MOST: usize = 24;

/// Returns the chart of these times.
pub fn chart(title: &str, over: Over, dots: &[&Dot]) -> Result<Chart, Stop> {
    let mut chart = Chart::new(title, over.axis(), Axis::seconds("time of a call"));
    chart.curves = curves(over, dots);
    match chart.curves.len() {
        0 => return Err(Stop::Input(format!("--plot: {}", no_curve(over, dots)))),
        many if many > MOST => {
            let line = format!("--plot: {many} curves; at most {MOST}: name algorithms");
            return Err(Stop::Input(line));
        }
        _ => {}
    }
    if matches!(over, Over::Bytes | Over::Ranks) {
        chart.crossings = crossings(&chart.curves);
    }
    Ok(chart)
}

/// Why there is no curve: the axes are logarithmic, and have no place for 0.
fn no_curve(over: Over, dots: &[&Dot]) -> &'static str {
    let all = |is_zero: fn(&Dot) -> bool| dots.iter().all(|dot| is_zero(dot));
    match over {
        Over::Segments | Over::Stages if dots.is_empty() => {
            "no algorithm named has segments or stages"
        }
        _ if all(|dot| dot.ranks == 1) => {
            "a single rank takes no time, which the axis cannot show: name more --ranks"
        }
        Over::Bytes if all(|dot| dot.bytes == 0) => "0 bytes have no place on the axis",
        _ => "every time is 0, which the axis cannot show",
    }
}

fn curves(over: Over, dots: &[&Dot]) -> Vec<Curve> {
    let differ = |of: fn(&Dot) -> usize| dots.windows(2).any(|two| of(two[0]) != of(two[1]));
    let several = (differ(|dot| dot.ranks), differ(|dot| dot.bytes));
    let mut curves: Vec<Curve> = Vec::new();
    for dot in dots {
        let Some(place) = dot.place(over) else {
            continue;
        };
        let (name, point) = (dot.name(over, several), (place, dot.seconds));
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve {
                name,
                points: vec![point],
            }),
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    curves
}

/// Logarithms of times that differ by less are the same: one algorithm by two names.
const SAME: f64 = 1e-3;

/// Returns the places where another curve becomes the lowest, between two neighbouring points that both curves have.
pub fn crossings(curves: &[Curve]) -> Vec<Crossing> {
    let at = |curve: &Curve, x: f64| curve.points.iter().find(|p| p.0 == x).map(|p| p.1);
    let lowest = |x: f64| {
        let heights = curves
            .iter()
            .filter_map(|curve| Some((at(curve, x)?, curve)));
        heights.min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let mut places: Vec<f64> = curves
        .iter()
        .flat_map(|c| c.points.iter().map(|p| p.0))
        .collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let mut current = places.first().and_then(|x| lowest(*x)).map(|one| one.1);
    let crossing = |two: &[f64]| {
        let [from, to] = [two[0], two[1]];
        let (before, after) = (current?, lowest(to)?.1);
        let ends = [(before, from), (before, to), (after, from), (after, to)];
        let [a, b, c, d] = ends.map(|(curve, x)| at(curve, x).map(f64::ln));
        let (a, b, c, d) = (a?, b?, c?, d?);
        if b - d <= SAME {
            return None;
        }
        current = Some(after);
        let share = ((c - a) / ((c - a) + (b - d))).clamp(0.0, 1.0);
        Some(Crossing {
            x: from * (to / from).powf(share),
            y: (a + share * (b - a)).exp(),
            name: format!("{} | {}", before.name, after.name),
        })
    };
    let pairs = places.windows(2);
    pairs.filter_map(crossing).collect()
}
