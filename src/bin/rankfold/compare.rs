//! `rankfold compare`: two runs of `rankfold bench` side by side.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rankfold::measure::{self, Comparison, Line, Run, SCHEMA};
use serde_json::json;

use super::bench::figure;
use super::output::Output;
use super::stop::Stop;
use super::style::Style;
use super::table::table;

/// Put two runs of `rankfold bench --format json` side by side: ratios, and whether they may be chance.
///
/// A difference counts if the exact rank-sum test on the medians of the passes gives it less than 1 % by chance.
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
    /// How it is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write to this file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A table.
    Text,
    /// One object.
    Json,
}

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    let output = Output::open(arguments.output.clone())?;
    let comparison = measure::compare(&read(&arguments.before)?, &read(&arguments.after)?);
    let style = Style::of_stdout(arguments.output.is_none());
    output.write(&match arguments.format {
        Format::Text => text(&comparison, style),
        Format::Json => format!("{:#}\n", json(&comparison)),
    })
}

fn read(path: &Path) -> Result<Run, Stop> {
    let name = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| Stop::Input(format!("cannot read {name}: {error}")))?;
    let run: Result<Run, _> = serde_json::from_str(&text);
    match run {
        Ok(run) if run.schema == SCHEMA => Ok(run),
        Ok(run) => Err(Stop::Input(format!(
            "{name}: this is {:?}, not {SCHEMA:?}",
            run.schema
        ))),
        Err(error) => Err(Stop::Input(format!(
            "{name} is no run of `rankfold bench --format json`: {error}"
        ))),
    }
}

fn text(comparison: &Comparison, style: Style) -> String {
    let Comparison {
        lines,
        alone,
        remarks,
    } = comparison;
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
    let rows: Vec<_> = lines.iter().map(row).collect();
    let table = table(&heads, &rows);
    let mut text = coloured(&table, style);
    let (faster, slower) = (count(lines, "faster"), count(lines, "slower"));
    let wrong = lines.len() as f64 * 0.01;
    text += &format!(
        "\n{} points in both: {faster} faster, {slower} slower, {} not told from chance (rank-sum test on the passes' \
         medians, 1 %:\nof as many points without a difference some {wrong:.1} would show one).\n",
        lines.len(),
        lines.len() - faster - slower,
    );
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
