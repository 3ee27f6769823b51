//! `rankfold compare`: two runs of `rankfold bench` side by side.

use std::path::{Path, PathBuf};

use clap::Args;
use rankfold::measure::{self, Comparison, Line, Run, SCHEMA};
use serde_json::json;

use super::bench::figure;
use super::input;
use super::output::{Results, TextOrJson};
use super::stop::Stop;
use super::style::Style;
use super::table::table;

/// Put two runs of `bench --format json` side by side.
///
/// That is, their ratios, and whether these may be chance. A difference counts if the exact rank-sum test on the medians of the passes gives it less than 1 % by chance.
/// It says that the runs differ, not why: what their machines did is below the table.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold compare before.json after.json
  rankfold compare before.json after.json --format json")]
pub struct Arguments {
    /// The run that came first.
    #[arg(value_name = "BEFORE.json")]
    before: PathBuf,
    /// The run that is compared with it.
    #[arg(value_name = "AFTER.json")]
    after: PathBuf,
    #[command(flatten)]
    results: Results<TextOrJson>,
}

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    let output = arguments.results.to.open()?;
    let comparison = measure::compare(&read(&arguments.before)?, &read(&arguments.after)?);
    let style = arguments.results.to.style();
    output.write(&match arguments.results.format {
        TextOrJson::Text => text(&comparison, style),
        TextOrJson::Json => format!("{:#}\n", json(&comparison)),
    })
}

fn read(path: &Path) -> Result<Run, Stop> {
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
        lines,
        alone,
        remarks,
    } = comparison;
    let mut text = coloured(&rows(lines), style) + "\n" + &verdict(lines);
    if *alone != (0, 0) {
        text += &format!(
            "{} points are in the first run only, {} in the second only.\n",
            alone.0, alone.1
        );
    }
    for remark in remarks {
        text += &style.warn(&format!("note: {remark}\n"));
    }
    text
}

fn rows(lines: &[Line]) -> String {
    let heads = [
        "collective",
        "algorithm",
        "ranks",
        "bytes",
        "before/us",
        "after/us",
        "ratio",
        "by chance",
        "",
    ];
    let row = |line: &Line| {
        let one = &line.before;
        vec![
            one.collective.clone(),
            one.algorithm.clone(),
            one.ranks.to_string(),
            one.bytes.to_string(),
            figure(one.time_us.p50),
            figure(line.after.time_us.p50),
            format!("{:.3}", line.ratio),
            format!("{:.3}", line.chance),
            line.verdict().to_owned(),
        ]
    };
    table(&heads, &lines.iter().map(row).collect::<Vec<_>>())
}

/// How many points differ, and how many would without a difference.
fn verdict(lines: &[Line]) -> String {
    let (faster, slower) = (count(lines, "faster"), count(lines, "slower"));
    format!(
        "{} points in both: {faster} faster, {slower} slower, {} not told from chance (rank-sum test on the passes' \
         medians, 1 %:\nof as many points without a difference some {:.1} would show one).\n",
        lines.len(),
        lines.len() - faster - slower,
        lines.len() as f64 * 0.01,
    )
}

fn count(lines: &[Line], verdict: &str) -> usize {
    lines
        .iter()
        .filter(|line| line.verdict() == verdict)
        .count()
}

fn coloured(table: &str, style: Style) -> String {
    let line = |(at, line): (usize, &str)| match line {
        head if at == 0 => style.dim(head),
        line if line.ends_with("faster") => style.good(line),
        line if line.ends_with("slower") => style.bad(line),
        line => line.to_owned(),
    };
    table
        .lines()
        .enumerate()
        .map(|line_of| line(line_of) + "\n")
        .collect()
}

fn json(comparison: &Comparison) -> serde_json::Value {
    let line = |line: &Line| {
        json!({
            "collective": line.before.collective,
            "algorithm": line.before.algorithm,
            "ranks": line.before.ranks,
            "bytes": line.before.bytes,
            "before_us": line.before.time_us.p50,
            "after_us": line.after.time_us.p50,
            "ratio": line.ratio,
            "chance": line.chance,
            "verdict": match line.verdict() { "" => "same", other => other },
        })
    };
    json!({
        "schema": "rankfold.compare/1",
        "test": "two-sided exact rank-sum test on the medians of the passes, 1 %",
        "results": comparison.lines.iter().map(line).collect::<Vec<_>>(),
        "only_before": comparison.alone.0,
        "only_after": comparison.alone.1,
        "remarks": comparison.remarks,
    })
}
