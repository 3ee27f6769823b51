//! How large a problem keeps a number of ranks busy: the isoefficiency and the scalability function of a program around a
//! collective, from the collective's closed form.

use rankfold::collective::{Algorithm, Collective};
use rankfold::cost::{Model, Scaling, closed_form, constant_for};
use rankfold::draw::{Axis, Chart, Curve};

use super::super::choice::call;
use super::super::numbers::elements;
use super::super::output::TextOrJson;
use super::super::stop::Stop;
use super::super::table::{Object, table};
use super::which::{Which, which};
use super::{Arguments, no_form, sizes};

/// The longest vector of a collective that is considered; a problem that needs longer ones is too large.
const MOST: f64 = (1u64 << 40) as f64;

/// One number of ranks.
pub struct Line {
    name: String,
    ranks: usize,
    /// The problem's size, and the elements of it that each rank holds; `None` if no size is large enough.
    size: Option<(f64, f64)>,
}

/// The program around a collective.
struct Program<'a> {
    collective: Collective,
    which: &'a Which,
    model: Model,
    /// The length of the vectors of a sum.
    length: usize,
}

impl Program<'_> {
    /// Returns the time of one call of `n` elements.
    fn call(&self, n: f64, ranks: usize) -> f64 {
        if n > MOST {
            return f64::INFINITY;
        }
        let Ok(call) = call(self.collective, ranks, n.ceil() as usize, 0, false) else {
            return f64::INFINITY;
        };
        let algorithm: Algorithm = self.which.at(&call, &self.model);
        closed_form(algorithm, &call).map_or(f64::INFINITY, |form| form.time(&self.model))
    }

    /// Returns whether the algorithm has a closed form among this many ranks.
    fn has_form(&self, ranks: usize) -> bool {
        [1.0, 1e6].iter().any(|&n| self.call(n, ranks).is_finite())
    }

    /// Returns the problem's size, and the elements that each rank holds.
    fn size(&self, constant: f64, ranks: usize) -> Option<(f64, f64)> {
        let (gamma, length) = (self.model.gamma, self.length as f64);
        let is_sum = matches!(self.collective, Collective::Reduce | Collective::AllReduce);
        let is_floyd = self.collective == Collective::Broadcast;
        let memory = |n: f64| if is_sum { n * length } else { n * n };
        let scaling = Scaling {
            work: |n: f64| gamma * memory(n) * if is_floyd { n } else { 1.0 },
            overhead: |n: f64, ranks: usize| {
                let call = self.call(if is_sum { length } else { n }, ranks);
                ranks as f64 * call * if is_floyd { n } else { 1.0 }
            },
            memory,
        };
        let n = scaling.isoefficiency(constant, ranks)?;
        Some((n, scaling.scalability(constant, ranks)?))
    }
}

fn check(collective: Collective, efficiency: f64) -> Result<(), Stop> {
    if !(efficiency > 0.0 && efficiency < 1.0) {
        let line = format!("--efficiency: {efficiency} is not between 0 and 1");
        return Err(Stop::Input(line));
    }
    use Collective::*;
    if !matches!(
        collective,
        Broadcast | Reduce | AllReduce | AllGather | ReduceScatter
    ) {
        let line = format!("--efficiency: there is no program around {collective} here");
        return Err(Stop::Input(line));
    }
    Ok(())
}

pub fn lines(arguments: &Arguments, efficiency: f64) -> Result<Vec<Line>, Stop> {
    let collective = arguments.collective;
    check(collective, efficiency)?;
    let model = arguments.model.closed(arguments.element_bytes)?;
    let bytes = arguments
        .bytes
        .as_ref()
        .map_or(arguments.element_bytes, |_| sizes(arguments)[0]);
    let length = elements(bytes, arguments.element_bytes).map_err(Stop::Input)?;
    let all = which(collective, &arguments.algorithm);
    let (mut lines, mut is_known) = (Vec::new(), false);
    for which in &all {
        let program = Program {
            collective,
            which,
            model,
            length,
        };
        is_known |= arguments.ranks.iter().any(|ranks| program.has_form(ranks));
        lines.extend(arguments.ranks.iter().map(|ranks| Line {
            name: which.to_string(),
            ranks,
            size: program.size(constant_for(efficiency), ranks),
        }));
    }
    match is_known {
        true => Ok(lines),
        false => Err(Stop::Input(no_form(arguments, &all))),
    }
}

pub fn written(lines: &[Line], format: TextOrJson) -> String {
    let shown =
        |size: Option<f64>| size.map_or("none".to_owned(), |size| format!("{}", size.ceil()));
    let row = |line: &Line| {
        vec![
            line.name.clone(),
            line.ranks.to_string(),
            shown(line.size.map(|size| size.0)),
            shown(line.size.map(|size| size.1)),
        ]
    };
    let json = |line: &Line| {
        let number = |size: Option<f64>| size.map_or("null".to_owned(), |size| size.to_string());
        Object::new("rankfold.scaling/1")
            .text("algorithm", &line.name)
            .value("ranks", line.ranks)
            .value("isoefficiency", number(line.size.map(|size| size.0)))
            .value("scalability", number(line.size.map(|size| size.1)))
            .line()
    };
    match format {
        TextOrJson::Text => {
            let heads = ["algorithm", "ranks", "n", "elements a rank"];
            table(&heads, &lines.iter().map(row).collect::<Vec<_>>())
        }
        TextOrJson::Json => lines.iter().map(json).collect(),
    }
}

/// Draws both functions: the size as curves, the elements of each rank as dashed lines of the same colours.
pub fn picture(collective: Collective, efficiency: f64, lines: &[Line]) -> Result<String, Stop> {
    let title = format!("a program around {collective}, efficiency {efficiency}");
    let mut chart = Chart::new(
        title,
        Axis::count("ranks"),
        Axis::number("n, and elements a rank"),
    );
    chart.note = "marks: the isoefficiency function n; dashed: the scalability function".into();
    for line in lines {
        let Some((n, memory)) = line.size else {
            continue;
        };
        let x = line.ranks as f64;
        if chart
            .curves
            .last()
            .is_none_or(|curve| curve.name != line.name)
        {
            for curves in [&mut chart.curves, &mut chart.models] {
                curves.push(Curve {
                    name: line.name.clone(),
                    points: Vec::new(),
                });
            }
        }
        let last = chart.curves.len() - 1;
        chart.curves[last].points.push((x, n));
        chart.models[last].points.push((x, memory));
    }
    for curve in chart.curves.iter_mut().chain(&mut chart.models) {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    match chart.curves.is_empty() {
        true => Err(Stop::input("--plot: no size is large enough")),
        false => Ok(chart.svg()),
    }
}
