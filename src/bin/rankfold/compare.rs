//! `rankfold compare`: compares runs of `rankfold bench` before a change and after it.

use std::path::{Path, PathBuf};

use clap::Args;
use rankfold::measure::{self, COMPARE_SCHEMA, ComparedPoint, Comparison, Run, SCHEMA, Verdict};
use serde_json::{Value, json};

use super::bench::figure;
use super::input;
use super::output::{Results, TextOrJson};
use super::stop::Stop;
use super::style::Style;
use super::table::table;

/// Put runs of `bench --format json` side by side, before and after.
///
/// That is, their ratios, and whether these are more than chance. Runs of one program differ too, since each process has its own
/// place in memory and on the machine: one run before and one after show only what is far beyond that, a factor of 1.5 to 2 in
/// quiet runs. Two of each and more, measured in turn, show less. A point is `faster` or `slower` where chance gives such a
/// ratio to any of the points with less than 5 % (t-test on the runs' medians, Holm's correction), `same` where the 95 %
/// interval of its ratio is within 5 % of 1, and `inconclusive` otherwise.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold compare before.json after.json
  rankfold compare b1.json b2.json --against a1.json a2.json
  rankfold compare before.json after.json --format json")]
pub struct Arguments {
    /// The run before and the run after; with --against, all runs before.
    #[arg(value_name = "RUN.json", required = true)]
    runs: Vec<PathBuf>,
    /// The runs after.
    #[arg(long, value_name = "RUN.json", num_args = 1..)]
    against: Vec<PathBuf>,
    #[command(flatten)]
    results: Results<TextOrJson>,
}

/// More runs give no more information.
const MOST_RUNS: usize = 100;

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    let output = arguments.results.to.open()?;
    let (before, after) = sides(arguments)?;
    let comparison = measure::compare(&read_all(before)?, &read_all(after)?);
    let style = arguments.results.to.style();
    output.write(&match arguments.results.format {
        TextOrJson::Text => text(&comparison, style),
        TextOrJson::Json => format!("{:#}\n", json(&comparison)),
    })
}

/// Returns the files of both sides.
fn sides(arguments: &Arguments) -> Result<(&[PathBuf], &[PathBuf]), Stop> {
    let (runs, against) = (&arguments.runs[..], &arguments.against[..]);
    if runs.len().max(against.len()) > MOST_RUNS {
        return Err(Stop::Input(format!("at most {MOST_RUNS} runs of each")));
    }
    match (runs, against) {
        ([_, _], []) => Ok(runs.split_at(1)),
        (_, []) => Err(Stop::input(
            "two runs are compared, one before and one after; name more of each as BEFORE... --against AFTER...",
        )),
        _ => Ok((runs, against)),
    }
}

/// Reads all runs of a side. A repeated run is refused, since it would look like runs that agree.
fn read_all(paths: &[PathBuf]) -> Result<Vec<Run>, Stop> {
    let mut runs: Vec<Run> = Vec::new();
    for path in paths {
        let run = read(path)?;
        if let Some(at) = runs.iter().position(|known| *known == run) {
            return Err(Stop::Input(format!(
                "{} is the same run as {}: each run counts once",
                path.display(),
                paths[at].display()
            )));
        }
        runs.push(run);
    }
    Ok(runs)
}

pub fn read(path: &Path) -> Result<Run, Stop> {
    let name = path.display();
    let text = input::read(path)?;
    let read = |error| format!("{name} is no run of `rankfold bench --format json`: {error}");
    match &*input::schema(&text).map_err(read).map_err(Stop::Input)? {
        SCHEMA => serde_json::from_str(&text)
            .map_err(read)
            .map_err(Stop::Input),
        other => Err(Stop::Input(format!(
            "{name}: this is {other:?}, not {SCHEMA:?}"
        ))),
    }
}

fn text(comparison: &Comparison, style: Style) -> String {
    let Comparison {
        points: lines,
        alone,
        remarks,
        ..
    } = comparison;
    let mut text = coloured(&rows(lines), style) + "\n" + &summary(comparison);
    if *alone != (0, 0) {
        text += &format!(
            "{} points before and {} after are not in all runs.\n",
            alone.0, alone.1
        );
    }
    for remark in remarks {
        text += &style.warn(&format!("note: {remark}\n"));
    }
    text
}

fn rows(lines: &[ComparedPoint]) -> String {
    let heads = [
        "collective",
        "algorithm",
        "ranks",
        "bytes",
        "before/us",
        "after/us",
        "ratio",
        "95 % interval",
        "by chance",
        "verdict",
    ];
    let row = |line: &ComparedPoint| {
        let one = &line.before;
        let interval = line
            .interval
            .map(|interval| format!("{:.3}..{:.3}", interval.low, interval.high));
        vec![
            one.collective.clone(),
            one.algorithm_and_transport(),
            one.ranks.to_string(),
            one.bytes.to_string(),
            figure(line.time_us.0),
            figure(line.time_us.1),
            format!("{:.3}", line.ratio),
            interval.unwrap_or_else(|| "-".into()),
            format!("{:.3}", line.chance),
            line.verdict.to_string(),
        ]
    };
    table(&heads, &lines.iter().map(row).collect::<Vec<_>>())
}

/// Returns how many points have which verdict, and the method behind the verdicts.
fn summary(comparison: &Comparison) -> String {
    let Comparison {
        points: lines,
        runs,
        ..
    } = comparison;
    let count = |verdict| lines.iter().filter(|line| line.verdict == verdict).count();
    let counts = Verdict::ALL.map(|verdict| format!("{} {verdict}", count(verdict)));
    format!(
        "{} points in all runs, {} before and {} after: {}.\n{}\n",
        lines.len(),
        runs.0,
        runs.1,
        counts.join(", "),
        method(*runs),
    )
}

/// Describes how a difference is distinguished from chance.
fn method(runs: (usize, usize)) -> &'static str {
    match runs {
        (1, 1) => {
            "One run before and one after do not show what two runs of one program differ by: 10 % are assumed (one standard\n\
             deviation), or what passes scatter by where that is more. by chance: t-test, corrected for all points; below 0.05 counts."
        }
        _ => {
            "What two runs of one program differ by is taken from the runs of each side. by chance: t-test on their medians,\n\
             corrected for all points; below 0.05 counts. same: the 95 % interval is within 5 % of 1."
        }
    }
}

fn coloured(table: &str, style: Style) -> String {
    let line = |(at, line): (usize, &str)| match line {
        head if at == 0 => style.dim(head),
        line if line.ends_with(Verdict::Faster.name()) => style.good(line),
        line if line.ends_with(Verdict::Slower.name()) => style.bad(line),
        line => line.to_owned(),
    };
    table
        .lines()
        .enumerate()
        .map(|line_of| line(line_of) + "\n")
        .collect()
}

fn json(comparison: &Comparison) -> Value {
    let line = |line: &ComparedPoint| {
        json!({
            "collective": line.before.collective,
            "algorithm": line.before.algorithm,
            "transport": line.before.transport,
            "ranks": line.before.ranks,
            "bytes": line.before.bytes,
            "before_us": line.time_us.0,
            "after_us": line.time_us.1,
            "ratio": line.ratio,
            "interval": line.interval,
            "chance": line.chance,
            "verdict": line.verdict.name(),
        })
    };
    json!({
        "schema": COMPARE_SCHEMA,
        "test": "two-sided t-test on the logarithms of the runs' medians, Holm's correction, 5 %; same: 95 % interval within 5 %",
        "runs_before": comparison.runs.0,
        "runs_after": comparison.runs.1,
        "results": comparison.points.iter().map(line).collect::<Vec<_>>(),
        "only_before": comparison.alone.0,
        "only_after": comparison.alone.1,
        "remarks": comparison.remarks,
    })
}
