//! `rankfold cost`: the closed forms of algorithms, without a run and without a simulation.
//!
//! - `mod` the arguments, and the time of each call; `which`: algorithms with their best number of segments or stages
//! - `scaling` isoefficiency and scalability of a program around a collective
//! - `measured` model and simulator over the times of a measured run

mod measured;
mod scaling;
mod which;

use std::path::PathBuf;

use clap::Args;
use rankfold::collective::Collective;
use rankfold::cost::{Model, closed_form};
use rankfold::simulate::MOST_RANKS;

use super::choice::call;
use super::curves::{self, Dot, Over};
use super::numbers::{Ranges, Sizes, elements};
use super::output::{Pictured, TextOrJson};
use super::stop::Stop;
use super::table::{Object, table};
use super::{compare, simulate};
use which::{Which, which};

/// Compute the times of algorithms by their closed forms.
///
/// A closed form counts steps of a start-up, elements moved and elements folded. Pipelines have the number of segments,
/// and hybrids the stages of halving, with which they are fastest, unless --algorithm names a number. Roots are rank 0. Without --alpha, --beta and --gamma a message takes 200 ns and 0.1 ns a
/// byte, and a fold 0.2 ns: round figures, not a measurement.
///
/// With --efficiency E: how large a problem must be to keep as many ranks busy for that share of their time (its
/// isoefficiency function), and how many elements of it each rank then holds (its scalability function). The program around
/// a broadcast is Floyd's shortest paths among n nodes, with a row for each of n relaxations; around a reduce or an
/// all_reduce the sum of n vectors; around an all_gather or a reduce_scatter the product of a matrix of n rows and a vector.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold cost all_reduce --ranks 64 --plot costs.svg
  rankfold cost broadcast --algorithm chain:segments=best --bytes 1Mi
  rankfold cost all_reduce --ranks 64 --over stages --plot stages.svg
  rankfold cost broadcast --efficiency 0.8 --ranks 2..64")]
pub struct Arguments {
    /// The collective.
    #[arg(value_name = "COLLECTIVE", default_value = "all_reduce")]
    collective: Collective,
    /// Algorithms, as `halving`, `chain:segments=16`, `chain:segments=best` or `hybrid:best`; without any, all with a
    /// closed form.
    #[arg(long, value_name = "ALGORITHM", value_delimiter = ',')]
    algorithm: Vec<Which>,
    /// Numbers of ranks, with ranges whose both ends count: `8`, `1..64`, `1..8,16`.
    #[arg(long, value_name = "RANGES", default_value = "8")]
    ranks: Ranges,
    /// Lengths of the vector in bytes: `8,64Ki,16Mi`; `8..16Mi` doubles.
    #[arg(long, value_name = "SIZES")]
    bytes: Option<Sizes>,
    /// The bytes of an element.
    #[arg(long, value_name = "BYTES", default_value_t = 8)]
    element_bytes: usize,
    /// The share of their time that all ranks are to spend on work that a single rank would do, from 0 to 1.
    #[arg(long, value_name = "E", conflicts_with_all = ["over", "measured"])]
    efficiency: Option<f64>,
    /// What the picture is drawn over; without it, bytes, or ranks if there is one length.
    #[arg(long, value_name = "AXIS")]
    over: Option<Over>,
    /// A run of `rankfold bench --format json`: the model is fitted to it, and drawn over its times with the simulator's.
    /// Needs `--plot`.
    #[arg(long, value_name = "FILE", requires = "plot")]
    measured: Option<PathBuf>,
    #[command(flatten)]
    model: simulate::Model,
    #[command(flatten)]
    out: Pictured<TextOrJson>,
}

/// Most calls of one table.
const MOST_CALLS: usize = 100_000;

/// How many calls the search for the size of a problem counts for.
const SEARCH: usize = 10;

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    check(arguments)?;
    let both = arguments.out.open()?;
    if let Some(path) = &arguments.measured {
        let fitted = measured::fitted(&compare::read(path)?, arguments.collective)?;
        let text = match arguments.out.results.format {
            TextOrJson::Text => fitted.text(),
            TextOrJson::Json => fitted.json(),
        };
        return both.write(&text, || Ok(fitted.chart().svg()));
    }
    if let Some(efficiency) = arguments.efficiency {
        let lines = scaling::lines(arguments, efficiency)?;
        let text = scaling::written(&lines, arguments.out.results.format);
        return both.write(&text, || {
            scaling::picture(arguments.collective, efficiency, &lines)
        });
    }
    let lines = lines(arguments)?;
    let text = match arguments.out.results.format {
        TextOrJson::Text => text(&lines),
        TextOrJson::Json => lines
            .iter()
            .map(|line| json(arguments.collective, line))
            .collect(),
    };
    both.write(&text, || picture(arguments, &lines))
}

fn check(arguments: &Arguments) -> Result<(), Stop> {
    if let Some(many) = arguments.ranks.iter().find(|&ranks| ranks > MOST_RANKS) {
        let line = format!("--ranks: {many} ranks are too many; at most {MOST_RANKS}");
        return Err(Stop::Input(line));
    }
    let each = match arguments.efficiency {
        Some(_) => SEARCH * which(arguments.collective, &arguments.algorithm).len(),
        None => {
            let lengths = lengths(arguments)?;
            lengths.len() * all(arguments, &lengths).len()
        }
    };
    let calls = arguments.ranks.iter().take(MOST_CALLS + 1).count();
    match calls.saturating_mul(each) > MOST_CALLS {
        true => Err(Stop::Input(format!(
            "more than {MOST_CALLS} calls, by all algorithms of all lengths and numbers of ranks: ask for fewer"
        ))),
        false => Ok(()),
    }
}

/// Lengths for a picture over bytes, if none are asked for.
const FIRST: usize = 8;
const LAST: usize = 16 << 20;

fn sizes(arguments: &Arguments) -> Vec<usize> {
    if arguments.collective == Collective::Barrier {
        return vec![0];
    }
    let doubled = || std::iter::successors(Some(FIRST), |bytes| Some(2 * bytes));
    match &arguments.bytes {
        Some(sizes) => sizes.0.clone(),
        None if arguments.out.plot.is_some()
            && arguments.over.unwrap_or(Over::Bytes) == Over::Bytes =>
        {
            doubled().take_while(|bytes| *bytes <= LAST).collect()
        }
        None => vec![8, 64 << 10, LAST],
    }
}

/// Returns bytes with the number of elements in them.
fn lengths(arguments: &Arguments) -> Result<Vec<(usize, usize)>, Stop> {
    let lengths: Result<_, _> = sizes(arguments)
        .into_iter()
        .map(|bytes| Ok((bytes, elements(bytes, arguments.element_bytes)?)))
        .collect();
    lengths.map_err(Stop::Input)
}

/// One call by one algorithm.
struct Line {
    dot: Dot,
    steps: usize,
    moved: f64,
    folded: f64,
}

fn lines(arguments: &Arguments) -> Result<Vec<Line>, Stop> {
    let model = arguments.model.closed(arguments.element_bytes)?;
    let lengths = lengths(arguments)?;
    let all = all(arguments, &lengths);
    let mut lines = Vec::new();
    for ranks in arguments.ranks.iter() {
        for &(bytes, length) in &lengths {
            for which in &all {
                lines.extend(line(arguments, which, (ranks, bytes, length), &model)?);
            }
        }
    }
    match lines.is_empty() {
        true => Err(Stop::Input(no_form(arguments, &all))),
        false => Ok(lines),
    }
}

/// Returns what to say where there is no closed form to compute.
fn no_form(arguments: &Arguments, all: &[Which]) -> String {
    let names = |all: &[Which]| {
        let names = all.iter().map(Which::to_string);
        names.collect::<Vec<_>>().join(", ")
    };
    let asked = names(&which(arguments.collective, &arguments.algorithm));
    match arguments.over {
        Some(Over::Stages) if all.is_empty() => {
            return format!("--over stages: there is no hybrid among: {asked}");
        }
        Some(Over::Segments) if all.is_empty() => {
            return format!("--over segments: there is no pipeline among: {asked}");
        }
        _ => {}
    }
    let (collective, known) = (
        arguments.collective,
        names(&which(arguments.collective, &[])),
    );
    match (asked.as_str(), known.as_str()) {
        (_, "") => format!("there is no closed form of {collective}; `rankfold simulate` times it"),
        ("", _) => format!("no closed form of {collective} for these numbers of ranks"),
        _ => format!(
            "no closed form of {collective} by {asked} for these numbers of ranks; these have one: {known}; `rankfold simulate` times the others"
        ),
    }
}

/// Returns the algorithms: over segments or stages, with every number of them.
fn all(arguments: &Arguments, lengths: &[(usize, usize)]) -> Vec<Which> {
    let all = which(arguments.collective, &arguments.algorithm);
    match arguments.over {
        Some(over @ (Over::Segments | Over::Stages)) => {
            let ranks = arguments.ranks.iter().max().unwrap_or(1);
            let length = lengths.iter().map(|one| one.1).max().unwrap_or(1);
            let named = all.iter().map(Which::algorithm).collect();
            let expanded = over.expanded(named, ranks, length);
            expanded.into_iter().map(Which::Fixed).collect()
        }
        _ => all,
    }
}

fn line(
    arguments: &Arguments,
    which: &Which,
    (ranks, bytes, length): (usize, usize, usize),
    model: &Model,
) -> Result<Option<Line>, Stop> {
    let call = call(arguments.collective, ranks, length, 0, false)?;
    let algorithm = which.at(&call, model);
    Ok(closed_form(algorithm, &call).map(|form| Line {
        dot: Dot {
            name: which.to_string(),
            algorithm,
            ranks,
            bytes,
            seconds: form.time(model),
        },
        steps: form.cost().messages,
        moved: form.cost().moved,
        folded: form.cost().folded,
    }))
}

/// Most curves of a picture for which no algorithm is named: those nearest to the fastest.
const SHOWN: usize = 8;

fn picture(arguments: &Arguments, lines: &[Line]) -> Result<String, Stop> {
    let ranks = arguments.ranks.iter().take(2).count();
    let over = Over::of(arguments.over, sizes(arguments).len(), ranks);
    let mut dots: Vec<&Dot> = lines.iter().map(|line| &line.dot).collect();
    if arguments.algorithm.is_empty() && matches!(over, Over::Bytes | Over::Ranks) {
        let shown = curves::nearest(&dots, SHOWN);
        dots.retain(|dot| shown.is_empty() || shown.contains(&dot.name));
    }
    let title = match (over, ranks) {
        (Over::Ranks, _) | (_, 2..) => arguments.collective.to_string(),
        _ => format!("{} of {} ranks", arguments.collective, lines[0].dot.ranks),
    };
    let mut chart = curves::chart(&format!("{title}, closed forms"), over, &dots)?;
    let model = arguments.model.closed(arguments.element_bytes)?;
    chart.note = note(&model, arguments.element_bytes);
    Ok(chart.svg())
}

fn note(model: &Model, element: usize) -> String {
    format!(
        "α = {:.3} µs, β = {:.4} ns a byte, γ = {:.4} ns a fold of {element} bytes",
        model.alpha * 1e6,
        model.beta * 1e9 / element as f64,
        model.gamma * 1e9,
    )
}

/// Formats a number of elements.
fn count(elements: f64) -> String {
    format!("{}", (elements * 10.0).round() / 10.0)
}

fn text(lines: &[Line]) -> String {
    let heads = [
        "algorithm",
        "ranks",
        "bytes",
        "messages",
        "moved",
        "folded",
        "time/us",
    ];
    let row = |line: &Line| {
        vec![
            line.dot.algorithm.to_string(),
            line.dot.ranks.to_string(),
            line.dot.bytes.to_string(),
            line.steps.to_string(),
            count(line.moved),
            count(line.folded),
            format!("{:.3}", line.dot.seconds * 1e6),
        ]
    };
    table(&heads, &lines.iter().map(row).collect::<Vec<_>>())
}

fn json(collective: Collective, line: &Line) -> String {
    Object::new("rankfold.cost/1")
        .text("collective", collective.name())
        .text("algorithm", &line.dot.algorithm.to_string())
        .value("ranks", line.dot.ranks)
        .value("bytes", line.dot.bytes)
        .value("messages", line.steps)
        .value("elements_moved", line.moved)
        .value("elements_folded", line.folded)
        .value("time_us", line.dot.seconds * 1e6)
        .line()
}
