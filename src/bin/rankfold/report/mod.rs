//! `rankfold report`: one page with everything about this machine and what is measured on it.
//!
//! - `data`: the data of a report, stored as JSON; `work`: what is measured for it, and in how much time;
//! - `model`: the cost model that fits, and its predictions;
//! - `figures`: the charts; `page`: the whole as one HTML file, `choices`: one of its sections;
//! - `html`: the elements of a page; `words`: times and bytes; `date`: a date.

mod choices;
mod data;
mod date;
mod figures;
mod html;
mod model;
mod page;
mod words;
mod work;

use std::path::PathBuf;

use clap::Args;

use super::numbers::Time;
use super::output::{Output, to_stdout};
use super::stop::Stop;
use super::table::pretty;

/// Measure this machine and write one page about it.
///
/// Its tree, latencies, scaling, limits, model and choices are on it. The page is one HTML file that needs no other file, no script and no network. Everything on it is measured in the
/// same run, in about the time that --time says; what the machine did meanwhile is on the page too. Ctrl-C ends it,
/// and no file is written then.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold report
  rankfold report --time 2m -o report.html --data report.json
  rankfold report --from report.json -o again.html")]
pub struct Arguments {
    /// Write the page to this file.
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// About how long is measured, in seconds or as `2m`; with less than 10 s, vectors end at 256 KiB.
    #[arg(long, value_name = "TIME", default_value = "40")]
    time: Time,
    /// Measure nothing: draw what `report --data` or `bench --format json` has written.
    #[arg(long, value_name = "RUN.json", conflicts_with_all = ["time", "data"])]
    from: Option<PathBuf>,
    /// Write all figures to this file too, as JSON; see docs/report.schema.json.
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
}

/// Maximum seconds for a page.
const MOST_SECONDS: f64 = 3600.0;

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    let time = arguments.time.at_most(MOST_SECONDS)?;
    let page = Output::open(Some(&arguments.output))?;
    let kept = Output::perhaps(arguments.data.as_deref())?;
    page.apart_from(kept.as_ref(), "--data")?;
    let data = match &arguments.from {
        Some(path) => data::read(path)?,
        None => work::measured(time.as_secs_f64())?,
    };
    if let Some(kept) = kept {
        kept.write(&pretty(&data))?;
    }
    page.write(&page::html(&data))?;
    let name = arguments.output.display();
    to_stdout(&format!("{name}: {}\n", summary(&data)))
}

fn summary(data: &data::Data) -> String {
    let pairs = data.latency.as_ref().map_or(0, |latency| {
        latency.cpus.len() * latency.cpus.len().saturating_sub(1) / 2
    });
    format!(
        "{} points, {pairs} pairs of CPUs, {} choices",
        data.run.results.len(),
        data.choices.len()
    )
}
